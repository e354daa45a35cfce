//! Presets: named sets of settings that a suite offers, chosen with `--set GROUP=NAME`.
//!
//! `[presets.GROUP.NAME]` holds settings for all experiments that have them, and a table of settings
//! for each experiment that needs its own; parameters of the suite stand among them. A chosen preset wins over the file and loses
//! to settings and parameters of the command line. All presets are checked, chosen or not.

use crate::overrides::Override;
use crate::settings::{self, Form, Settings, check_workload, setting};
use crate::spec::{ExperimentSpec, refuse_idle};
use dyno_toml::{Entry, Node, Place, Problem, Problems, Table, Value, suggest, unknown_key};
use std::collections::BTreeMap;

/// A preset that was chosen.
pub(crate) struct Chosen {
    for_all: Settings,
    /// By the name of the experiment.
    for_one: BTreeMap<String, Settings>,
}

impl Chosen {
    /// What it says of one experiment, the settings that win first.
    pub(crate) fn settings_of(&self, experiment: &str) -> Vec<Settings> {
        let own = self.for_one.get(experiment).cloned();
        own.into_iter().chain([self.for_all.clone()]).collect()
    }
}

/// The tables of a table, with their keys; what is no table is a problem where one is wanted.
fn tables<'a>(
    node: Option<&'a Node>,
    subject: &str,
    problems: &mut Problems,
) -> Vec<(&'a Entry, &'a Table)> {
    let Some(table) = node.and_then(|n| n.table(subject, problems)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in &table.0 {
        let subject = format!("`{}` in {subject}", entry.key);
        found.extend(entry.node.table(&subject, problems).map(|t| (entry, t)));
    }
    found
}

/// Names of the groups and of their presets, as far as the text can be read.
pub(crate) fn names(suite: &Table) -> BTreeMap<String, Vec<String>> {
    let ignored = &mut Problems::default();
    tables(suite.get("presets"), "presets", ignored)
        .into_iter()
        .map(|(group, presets)| {
            let names = presets.0.iter().map(|preset| preset.key.clone());
            (group.key.clone(), names.collect())
        })
        .collect()
}

/// Names of the suite's parameters that no setting has, which presets may set.
fn parameters(suite: &Table) -> Vec<&str> {
    let Some(Value::Table(declared)) = suite.get("parameters").map(|n| &n.value) else {
        return Vec::new();
    };
    let keys = declared.0.iter().map(|e| e.key.as_str());
    keys.filter(|key| setting(key).is_none()).collect()
}

/// Takes those of `overrides` out that name a group of presets; of two with one group the last holds. Parameters that the chosen
/// presets set stand before those of the command line, which win.
pub(crate) fn choices(
    suite: &Table,
    overrides: Vec<Override>,
    problems: &mut Problems,
) -> (Vec<Entry>, Vec<Override>) {
    let groups = tables(suite.get("presets"), "`presets`", problems);
    for (group, _) in &groups {
        refuse_taken(group, suite, problems);
    }
    let is_choice = |o: &Override| groups.iter().any(|(group, _)| group.key == o.entry.key);
    let (chosen, others): (Vec<Override>, Vec<Override>) =
        overrides.into_iter().partition(is_choice);
    let mut choices: Vec<Entry> = Vec::new();
    for Override { entry } in chosen {
        choices.retain(|c| c.key != entry.key);
        choices.push(entry);
    }
    let parameters = parameters(suite);
    let named = |choice: &Entry| {
        let (_, presets) = groups.iter().find(|(group, _)| group.key == choice.key)?;
        let Value::Text(name) = &choice.node.value else {
            return None;
        };
        match &presets.get(name)?.value {
            Value::Table(preset) => Some(preset.0.clone()),
            _ => None,
        }
    };
    let set = choices.iter().filter_map(named).flatten();
    let set = set.filter(|entry| parameters.contains(&entry.key.as_str()));
    let overrides = set.map(|entry| Override { entry }).chain(others).collect();
    (choices, overrides)
}

/// A group must not hide a setting or a parameter from `--set`.
fn refuse_taken(group: &Entry, suite: &Table, problems: &mut Problems) {
    let key = group.key.as_str();
    let parameter = match suite.get("parameters").map(|n| &n.value) {
        Some(Value::Table(declared)) => declared.entry(key).is_some(),
        _ => false,
    };
    let taken_by = match (setting(key).is_some(), parameter) {
        (true, _) => "a setting",
        (_, true) => "a parameter",
        _ => return,
    };
    Problem::at(
        &group.key_at,
        format!("`{key}` is {taken_by} and a group of presets"),
    )
    .label("--set could not tell them apart")
    .help("give the group another name")
    .note(problems);
}

/// Reads every preset of the suite; returns those that `choices` name.
pub(crate) fn read(
    suite: &Table,
    choices: &[Entry],
    experiments: &[ExperimentSpec],
    problems: &mut Problems,
) -> Vec<Chosen> {
    let mut chosen = Vec::new();
    // What is no table was refused with the choices.
    for (group, presets) in tables(suite.get("presets"), "`presets`", &mut Problems::default()) {
        let owner = format!("`{}`", group.key);
        if presets.0.is_empty() {
            Problem::at(&group.key_at, format!("{owner} has no presets"))
                .label("an empty group")
                .help(format!("write [presets.{}.NAME] with settings", group.key))
                .note(problems);
        }
        let choice = choices.iter().find(|c| c.key == group.key);
        let wanted = choice.and_then(|c| c.node.text(&owner, problems));
        let all = tables(Some(&group.node), &owner, problems);
        if let (Some(choice), Some(name)) = (choice, wanted)
            && !presets.0.iter().any(|p| p.key == name)
        {
            let names = presets.0.iter().map(|p| p.key.as_str());
            problems.push(unknown(&choice.node.at, &group.key, name, names));
        }
        for (preset, settings) in all {
            let read = one(settings, experiments, &parameters(suite), problems);
            if wanted == Some(preset.key.as_str()) {
                chosen.push(read);
            }
        }
    }
    chosen
}

fn unknown<'a>(
    at: &Place,
    group: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Problem {
    Problem::at(at, format!("the suite has no preset {group}={name}"))
        .label("unknown")
        .help(suggest::instead(
            name,
            &format!("values of `{group}`"),
            names,
        ))
}

fn one(
    table: &Table,
    experiments: &[ExperimentSpec],
    parameters: &[&str],
    problems: &mut Problems,
) -> Chosen {
    let mut for_all = Settings::default();
    let mut for_one = BTreeMap::new();
    let mut general: Vec<Entry> = Vec::new();
    for entry in &table.0 {
        let key = entry.key.as_str();
        if setting(key).is_some() {
            for_all.read(entry, Form::Several, problems);
            general.push(entry.clone());
        } else if let Some(spec) = experiments.iter().find(|e| e.name == key) {
            let subject = format!("`{key}`");
            if let Some(own) = entry.node.table(&subject, problems) {
                for_one.insert(spec.name.clone(), of_experiment(own, spec, problems));
            }
        } else if !parameters.contains(&key) {
            let mut keys = settings::keys(|_| true);
            keys.extend(parameters);
            keys.extend(experiments.iter().map(|e| e.name.as_str()));
            problems.push(unknown_key(entry, "a preset", &keys));
        }
    }
    refuse_idle(&general, experiments, problems);
    Chosen { for_all, for_one }
}

fn of_experiment(table: &Table, spec: &ExperimentSpec, problems: &mut Problems) -> Settings {
    let mut settings = Settings::default();
    for entry in &table.0 {
        if settings.read(entry, Form::Several, problems) {
            check_workload(entry, Some(&spec.workload), problems);
        } else {
            let owner = format!("a preset of `{}`", spec.name);
            problems.push(unknown_key(entry, &owner, &settings::keys(|_| true)));
        }
    }
    settings.refuse_both_extents(problems);
    settings
}
