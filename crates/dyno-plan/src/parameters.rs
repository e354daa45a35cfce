//! What the command line may change: a suite's own `[parameters]`, and any setting.

use crate::overrides::Override;
use crate::presets;
use crate::settings::{self, Form, Settings};
use dyno_toml::{Entry, Node, Problem, Problems, Table, Value, suggest};

/// The `[parameters]` of a suite, with the values of `--set` in their places.
pub(crate) struct Parameters {
    values: Vec<Parameter>,
    /// A reference named no parameter: which of them are unused cannot be said.
    dangling: bool,
}

struct Parameter {
    entry: Entry,
    used: bool,
}

impl Parameters {
    /// Reads the `[parameters]` of `suite` and lays `--set` over them. What names no parameter is
    /// a setting for all experiments and comes back as such.
    pub(crate) fn read(
        suite: &Table,
        overrides: Vec<Override>,
        problems: &mut Problems,
    ) -> (Parameters, Settings, Vec<Entry>) {
        let declared = suite
            .get("parameters")
            .and_then(|n| n.table("`parameters`", problems));
        let mut values: Vec<Parameter> = Vec::new();
        for entry in declared.map(|t| t.0.as_slice()).unwrap_or_default() {
            if matches!(entry.node.value, Value::Table(_) | Value::Other(_)) {
                problems.push(entry.node.wrong_kind(
                    &format!("parameter `{}`", entry.key),
                    "text, a number, true or false, or a list of these",
                ));
            }
            values.push(Parameter {
                entry: entry.clone(),
                used: false,
            });
        }
        let groups: Vec<String> = presets::names(suite).into_keys().collect();
        let mut settings = Settings::default();
        let mut set: Vec<Entry> = Vec::new();
        for Override { entry } in overrides {
            if let Some(p) = values.iter_mut().find(|p| p.entry.key == entry.key) {
                p.entry.node = entry.node;
            } else if settings.read(&entry, Form::Several, problems) {
                set.push(entry);
            } else {
                problems.push(unknown(&entry, &values, &groups));
            }
        }
        let parameters = Parameters {
            values,
            dangling: false,
        };
        (parameters, settings, set)
    }

    /// Puts parameters in the place of every text `"$name"` in `node`.
    pub(crate) fn substitute(&mut self, node: &mut Node, problems: &mut Problems) {
        match &mut node.value {
            Value::Text(text) => {
                let Some(name) = text.strip_prefix('$') else {
                    return;
                };
                match self.values.iter_mut().find(|p| p.entry.key == name) {
                    Some(parameter) => {
                        parameter.used = true;
                        *node = parameter.entry.node.clone();
                    }
                    None => {
                        self.dangling = true;
                        let names = self.values.iter().map(|p| p.entry.key.as_str());
                        Problem::at(&node.at, format!("there is no parameter `{name}`"))
                            .label("not declared in [parameters]")
                            .help(suggest::instead(name, "parameters", names))
                            .note(problems);
                    }
                }
            }
            Value::List(items) => {
                for item in items {
                    self.substitute(item, problems);
                }
            }
            Value::Table(table) => self.substitute_table(table, problems),
            _ => {}
        }
    }

    /// The same for every value of a table, except for `[parameters]` itself.
    pub(crate) fn substitute_table(&mut self, table: &mut Table, problems: &mut Problems) {
        for entry in &mut table.0 {
            if entry.key != "parameters" {
                self.substitute(&mut entry.node, problems);
            }
        }
    }

    /// Refuses parameters that nothing refers to: setting them would change nothing.
    pub(crate) fn refuse_unused(&self, problems: &mut Problems) {
        for p in self.values.iter().filter(|p| !p.used && !self.dangling) {
            Problem::at(
                &p.entry.key_at,
                format!("nothing uses the parameter `{}`", p.entry.key),
            )
            .label("declared, and never used")
            .help(format!(
                "write \"${}\" where its value belongs",
                p.entry.key
            ))
            .note(problems);
        }
    }
}

fn unknown(entry: &Entry, parameters: &[Parameter], groups: &[String]) -> Problem {
    let advice = match entry.key.as_str() {
        "stack" | "stacks" => Some("choose stacks with --stack A,B"),
        "testbed" => Some("choose the testbed with --testbed NAME"),
        "seed" => Some("choose the seed with --seed N"),
        "name" | "workload" => {
            Some("the names and workloads of a suite cannot be changed with --set")
        }
        _ => None,
    };
    let problem = Problem::at(
        &entry.key_at,
        format!("--set cannot change `{}`", entry.key),
    )
    .label("no parameter or setting of that name");
    if let Some(advice) = advice {
        return problem.help(advice);
    }
    let keys: Vec<&str> = parameters
        .iter()
        .map(|p| p.entry.key.as_str())
        .chain(groups.iter().map(String::as_str))
        .chain(settings::keys(|_| true))
        .collect();
    let mut help = suggest::instead(&entry.key, "keys", keys.iter().copied());
    if suggest::hint(&entry.key, &keys).is_none() {
        help += ". Options of a stack, such as queue_depth, stand under [options] in its stack file: copy it to DIR/stacks/ and add --files DIR";
    }
    problem.help(help)
}
