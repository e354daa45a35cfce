//! `cpus` of a suite or a flag: sets of CPUs, as they are written.

use crate::quantity::At;
use dyno_model::cpus::parse_set;
use dyno_toml::{Node, Problem, Problems, Value};

/// What `cpus` says.
#[derive(Debug, Clone)]
pub(crate) enum Cpus {
    /// A core for each participant.
    Auto,
    /// Not pinned.
    None,
    /// A set for each participant of one exchange, senders first.
    Listed(Listed),
}

impl Cpus {
    /// The CPUs of a list, each once, in its order; `None` where there is none.
    pub(crate) fn listed(&self) -> Option<Vec<u32>> {
        match self {
            Cpus::Listed(listed) => Some(listed.cpus()),
            Cpus::Auto | Cpus::None => None,
        }
    }
}

/// Sets that a suite or a flag names.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) sets: Vec<At<Vec<u32>>>,
    /// Participants may have the same CPUs.
    pub(crate) share: bool,
}

impl Listed {
    /// The CPUs of all sets, each once, in the list's order.
    pub(crate) fn cpus(&self) -> Vec<u32> {
        let mut all: Vec<u32> = Vec::new();
        for cpu in self.sets.iter().flat_map(|set| &set.value) {
            if !all.contains(cpu) {
                all.push(*cpu);
            }
        }
        all
    }
}

const FORMS: &str =
    "write for example [0, 1] or [\"0-1\", \"2,3\"]: CPUs for each participant, senders first";

/// Reads `"auto"`, `"none"`, a list of sets, or `{ sets = […], share = true }`. A set is a number, a text
/// such as `"2-3,8"`, or a list of numbers.
pub(crate) fn read(node: &Node, problems: &mut Problems) -> Option<At<Cpus>> {
    let value = match &node.value {
        Value::Text(t) if t == "auto" => Cpus::Auto,
        Value::Text(t) if t == "none" => Cpus::None,
        Value::List(items) => Cpus::Listed(Listed {
            sets: sets(items, problems)?,
            share: false,
        }),
        Value::Table(table) => {
            let (mut listed, mut share) = (None, false);
            for entry in &table.0 {
                match (entry.key.as_str(), &entry.node.value) {
                    ("sets", Value::List(items)) => listed = Some(sets(items, problems)?),
                    ("sets", _) => {
                        return entry
                            .node
                            .wrong_kind("`sets`", "a list of sets of CPUs")
                            .refuse(problems);
                    }
                    ("share", _) => share = entry.node.bool("`share`", problems)?,
                    (key, _) => {
                        return Problem::at(&entry.key_at, format!("`cpus` has no key `{key}`"))
                            .label("not known")
                            .help("keys: sets, share")
                            .refuse(problems);
                    }
                }
            }
            let Some(sets) = listed else {
                return Problem::at(&node.at, "`cpus` lacks its key `sets`")
                    .help("write for example { sets = [0, 0], share = true }")
                    .refuse(problems);
            };
            Cpus::Listed(Listed { sets, share })
        }
        _ => {
            return Problem::at(
                &node.at,
                "`cpus` must be \"auto\", \"none\" or a list of sets of CPUs",
            )
            .label("none of these")
            .help(FORMS)
            .refuse(problems);
        }
    };
    Some(At::new(value, &node.at))
}

fn sets(items: &[Node], problems: &mut Problems) -> Option<Vec<At<Vec<u32>>>> {
    // All mistakes are reported, not the first alone.
    let sets: Vec<Option<At<Vec<u32>>>> = items.iter().map(|item| set(item, problems)).collect();
    sets.into_iter().collect()
}

fn set(node: &Node, problems: &mut Problems) -> Option<At<Vec<u32>>> {
    let text = match &node.value {
        Value::Int(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        Value::List(numbers) => {
            let numbers: Option<Vec<String>> = numbers
                .iter()
                .map(|n| match n.value {
                    Value::Int(n) => Some(n.to_string()),
                    _ => n
                        .wrong_kind("a CPU of a set", "a whole number")
                        .refuse(problems),
                })
                .collect();
            numbers?.join(",")
        }
        _ => {
            return node
                .wrong_kind("a set of CPUs", "a number or text")
                .refuse(problems);
        }
    };
    match parse_set(&text) {
        Ok(value) => Some(At::new(value, &node.at)),
        Err(e) => Problem::at(&node.at, format!("not a set of CPUs: {}", e.reason))
            .label("one set for each participant")
            .help(FORMS)
            .refuse(problems),
    }
}
