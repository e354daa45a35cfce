//! Suite files: from TOML to experiments whose settings are read and located, but not yet
//! multiplied out.

use crate::catalog::{Texts, is_study};
use crate::fault;
use crate::flow;
use crate::overrides::Override;
use crate::parameters::Parameters;
use crate::presets;
use crate::quantity::{At, name, one};
use crate::settings::{self, Form, Settings, check_workload};
use crate::spec::{ExperimentSpec, StackChoice, refuse_idle, refuse_set};
use dyno_model::WorkloadKind;
use dyno_model::plan::{STACKS, STUDIES};
use dyno_toml::{Node, Place, Problem, Problems, Source, Table, Value, parse, unknown_key};

/// A suite as written, with `--set` in its place.
pub(crate) struct Suite {
    pub(crate) title: String,
    pub(crate) table: String,
    pub(crate) defaults: Settings,
    /// From `--set`: wins over everything else.
    pub(crate) overrides: Settings,
    pub(crate) experiments: Vec<ExperimentSpec>,
}

const SUITE_KEYS: &[&str] = &[
    "title",
    "description",
    "table",
    "parameters",
    "presets",
    "defaults",
    "experiment",
];

/// Reads a suite, whose table may be one of the `studies`; mistakes go to `problems`.
pub(crate) fn read(
    source: &Source,
    studies: &Texts,
    overrides: Vec<Override>,
    problems: &mut Problems,
) -> Option<Suite> {
    let mut table = parse(source, problems)?;
    table.refuse_unknown("a suite", SUITE_KEYS, problems);
    let (choices, overrides) = presets::choices(&table, overrides, problems);
    let (mut parameters, settings, set) = Parameters::read(&table, overrides, problems);
    parameters.substitute_table(&mut table, problems);
    parameters.refuse_unused(problems);

    let title = match table.get("title") {
        Some(node) => node.text("`title`", problems).unwrap_or("").to_owned(),
        None => {
            Problem::at(&Place::top(source), "the suite has no title")
                .label("`title` is missing")
                .help("write `title = \"…\"` at the top: the question that the suite answers, in one line")
                .note(problems);
            String::new()
        }
    };
    table.text("description", problems);
    let mut defaults = Settings::default();
    for entry in table.table("defaults", problems).map_or(&[][..], |t| &t.0) {
        if !defaults.read(entry, Form::Single, problems) {
            problems.push(unknown_key(entry, "[defaults]", &settings::keys(|_| true)));
        }
    }
    let mut experiments = experiments(source, &table, problems);
    refuse_idle(&set, &experiments, problems);
    refuse_set(&set, &experiments, problems);
    let chosen = presets::read(&table, &choices, &experiments, problems);
    for spec in &mut experiments {
        spec.presets = chosen
            .iter()
            .flat_map(|c| c.settings_of(&spec.name))
            .collect();
    }
    Some(Suite {
        title,
        table: shown_by(&table, studies, problems),
        defaults,
        overrides: settings,
        experiments,
    })
}

/// The word of the table that shows the suite; a study of its own is no word.
fn shown_by(table: &Table, studies: &Texts, problems: &mut Problems) -> String {
    let node = table.get("table");
    let text = node.and_then(|node| Some((node, node.text("`table`", problems)?)));
    match text {
        Some((_, word)) if STUDIES.contains(&word) => return word.to_owned(),
        None | Some((_, STACKS)) => {}
        Some((node, path)) if is_study(path) => {
            if !studies.contains_key(path) {
                Problem::at(&node.at, format!("there is no study file {path}"))
                    .label("no such file")
                    .help("the path is relative to the folder of the suite's file")
                    .note(problems);
            }
        }
        Some((node, other)) => {
            let tables = [STACKS].into_iter().chain(STUDIES);
            let help = dyno_toml::suggest::instead(other, "tables", tables);
            Problem::at(&node.at, format!("there is no table {other:?}"))
                .label("unknown table")
                .help(format!(
                    "{help}, or the path of a study file, which ends with .toml"
                ))
                .note(problems);
        }
    }
    STACKS.to_owned()
}

fn experiments(source: &Source, table: &Table, problems: &mut Problems) -> Vec<ExperimentSpec> {
    let advice = "write [[experiment]] with two brackets, once for each experiment";
    let nodes = match table.get("experiment") {
        Some(node) => node.tables("`experiment`", advice, problems),
        None => Some(&[][..]),
    };
    let Some(nodes) = nodes else {
        return Vec::new();
    };
    if nodes.is_empty() {
        Problem::at(&Place::top(source), "the suite has no experiment")
            .label("nothing to measure")
            .help("add [[experiment]] with `name` and `workload`")
            .note(problems);
    }
    let mut found: Vec<ExperimentSpec> = Vec::new();
    for node in nodes {
        let specs = experiment(node, problems);
        let Some(spec) = specs.first() else {
            continue;
        };
        if found.iter().any(|e| e.name == spec.name) {
            let at = match &node.value {
                Value::Table(t) => t.get("name").map(|n| &n.at),
                _ => None,
            };
            Problem::at(
                at.unwrap_or(&node.at),
                format!("two experiments are called {:?}", spec.name),
            )
            .label("the name is taken")
            .help("give each experiment a name of its own")
            .note(problems);
        }
        found.extend(specs);
    }
    found
}

/// The experiment, or all of its flows.
fn experiment(node: &Node, problems: &mut Problems) -> Vec<ExperimentSpec> {
    let Some(table) = node.table("`experiment`", problems) else {
        return Vec::new();
    };
    let has_flows = table.get("flow").is_some();
    let required = |key, advice: &str, problems: &mut Problems| {
        table.required(key, "the experiment", &node.at, advice, problems)
    };
    let named = required("name", "write for example `name = \"rtt\"`", problems);
    let name = named.and_then(|n| name(n, problems));
    let workload: Option<At<WorkloadKind>> = match has_flows {
        true => None,
        false => {
            let words: Vec<&str> = WorkloadKind::ALL.iter().map(|w| w.as_str()).collect();
            let advice = format!("write one of {}", words.join(", "));
            let said = required("workload", &advice, problems);
            said.and_then(|n| one("workload", n, problems))
        }
    };
    let mut own = Settings::default();
    let mut stacks = table
        .get("stacks")
        .map(|n| stack_choice("stacks", n, problems));
    for entry in &table.0 {
        let handled = match entry.key.as_str() {
            "name" | "workload" | "stacks" | "matrix" | "fault" => true,
            "flow" | "processes" => has_flows,
            _ => false,
        };
        if handled || own.read(entry, Form::Single, problems) {
            check_workload(entry, workload.as_ref(), problems);
            continue;
        }
        let mut keys = vec!["name", "workload", "stacks", "matrix", "flow", "fault"];
        keys.extend(has_flows.then_some("processes"));
        keys.extend(settings::keys(|_| true));
        problems.push(unknown_key(entry, "an experiment", &keys));
    }
    own.refuse_both_extents(problems);
    if let Some(matrix) = table.table("matrix", problems) {
        let named = read_matrix(matrix, table, workload.as_ref(), &mut own, problems);
        stacks = named.or(stacks);
    }
    let stacks = stacks.unwrap_or(StackChoice::All);
    let faults = fault::read(table, workload.as_ref(), problems);
    if has_flows {
        let flows = flow::read(table, problems).into_iter();
        let Some(name) = name else {
            return Vec::new();
        };
        let spec = |flow: flow::ReadFlow| ExperimentSpec {
            name: name.clone(),
            flow: Some(flow.spec),
            workload: flow.workload,
            stacks: stacks.clone(),
            faults: Vec::new(),
            presets: Vec::new(),
            own: flow.own,
        };
        return flows.map(spec).collect();
    }
    let alone = name.zip(workload).map(|(name, workload)| ExperimentSpec {
        name,
        flow: None,
        workload,
        stacks,
        faults,
        presets: Vec::new(),
        own,
    });
    alone.into_iter().collect()
}

/// Reads the factors of an experiment's matrix into its `own` settings; returns the stacks where the matrix names them.
fn read_matrix(
    matrix: &Table,
    experiment: &Table,
    workload: Option<&At<WorkloadKind>>,
    own: &mut Settings,
    problems: &mut Problems,
) -> Option<StackChoice> {
    let mut stacks = None;
    for entry in &matrix.0 {
        let twice = if entry.key == "stack" {
            experiment.entry("stacks").is_some()
        } else {
            experiment.entry(&entry.key).is_some()
        };
        if twice {
            Problem::at(
                &entry.key_at,
                format!("`{}` is set in the experiment and in its matrix", entry.key),
            )
            .label("given twice")
            .help("keep it in the matrix")
            .note(problems);
        }
        check_workload(entry, workload, problems);
        if entry.key == "stack" {
            stacks = Some(stack_choice("stack", &entry.node, problems));
            continue;
        }
        match settings::setting(&entry.key) {
            Some(setting) if setting.varies => {
                own.read(entry, Form::Several, problems);
            }
            Some(_) => Problem::at(
                &entry.key_at,
                format!("`{}` is not a factor of a matrix", entry.key),
            )
            .label("holds for a whole experiment")
            .help("write it in [[experiment]] or in [defaults]")
            .note(problems),
            None => {
                let mut keys = vec!["stack"];
                keys.extend(settings::keys(|s| s.varies));
                problems.push(unknown_key(entry, "a matrix", &keys));
            }
        }
    }
    stacks
}

fn stack_choice(key: &str, node: &Node, problems: &mut Problems) -> StackChoice {
    let items: &[Node] = match &node.value {
        Value::Text(t) if t == "all" => return StackChoice::All,
        Value::Text(_) => std::slice::from_ref(node),
        Value::List(items) => items,
        _ => {
            problems.push(node.wrong_kind(&format!("`{key}`"), "\"all\" or a list of names"));
            &[]
        }
    };
    if matches!(&node.value, Value::List(items) if items.is_empty()) {
        Problem::at(&node.at, format!("`{key}` has no values"))
            .label("an empty list leaves no experiment")
            .help("write names of stacks, or \"all\"")
            .note(problems);
    }
    let mut names: Vec<At<String>> = Vec::new();
    for item in items {
        let Some(name) = item.text(&format!("`{key}`"), problems) else {
            continue;
        };
        if names.iter().any(|n| n.value == name) {
            Problem::at(&item.at, format!("the stack `{name}` is named twice"))
                .label("is already in the list")
                .help("remove one of the two; more trials come from `trials`")
                .note(problems);
            continue;
        }
        names.push(At::new(name.to_owned(), &item.at));
    }
    StackChoice::Listed(names)
}
