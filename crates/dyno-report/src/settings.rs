//! What stacks were set to where they differ, and the versions of their libraries: below each table.

use crate::summary::{ExperimentSummary, RunSummary};
use crate::text::clean;
use dyno_model::adapter::QUEUE_DEPTH;
use dyno_model::{OptionValue, Options, Stack};

/// Options that have one name and one meaning in all adapters, and what they are called in prose.
const COMMON: [(&str, &str); 3] = [
    (QUEUE_DEPTH, "queue depth in messages"),
    (BROKER_QUEUE, "queue of the broker in messages"),
    ("send_timeout_ms", "longest wait of a send in milliseconds"),
];
/// The option of a stack whose messages wait in its broker.
const BROKER_QUEUE: &str = "broker_queue";
/// What NATS calls the queue of its library.
const PENDING: &str = "pending";
/// The option of a stack whose library's own settings hold.
const AS_SHIPPED: &str = "as_shipped";
/// What stands for a value that Dyno does not set.
const OWN: &str = "the stack's own";

/// Whether a common setting has no effect, because another one of the stack goes before it.
trait Exempt {
    fn is_exempt(&self, key: &str) -> bool;
}

impl Exempt for Options {
    fn is_exempt(&self, key: &str) -> bool {
        let option = |name: &str| self.get(name);
        match key {
            // Only the last samples are kept.
            QUEUE_DEPTH => matches!(option("history"), Some(OptionValue::Int(1..))),
            // Nothing waits for room.
            "send_timeout_ms" => {
                option("reliable") == Some(&OptionValue::Bool(false))
                    || option("congestion") == Some(&OptionValue::Text("drop".into()))
            }
            _ => false,
        }
    }
}

/// A line for each common setting that differs, and one for the versions.
pub(crate) fn lines<'a>(
    run: &RunSummary,
    rows: impl IntoIterator<Item = &'a ExperimentSummary>,
) -> Vec<String> {
    let stacks = stacks_of(run, rows);
    let mut lines: Vec<String> = COMMON
        .iter()
        .filter_map(|(key, what)| {
            let of = |adapter: &str, options: &Options| {
                let shipped = options.get(AS_SHIPPED) == Some(&OptionValue::Bool(true));
                let keys: &[&str] = match *key {
                    QUEUE_DEPTH => &[QUEUE_DEPTH, PENDING],
                    _ => &[*key],
                };
                let defaults = run.option_defaults.get(adapter);
                let set = keys.iter().find_map(|k| {
                    let default = || defaults?.get(*k);
                    options.get(*k).or_else(default)
                });
                let applies = !shipped && !options.is_exempt(key);
                set.filter(|_| applies).map(ToString::to_string)
            };
            let value = |stack: &Stack| match &stack.chain {
                None => of(&stack.adapter, &stack.options),
                Some(chain) => {
                    let legs = chain.legs.iter();
                    along(legs.map(|leg| of(&leg.adapter, &leg.options)).collect())
                }
            };
            let has = |adapter: &str, options: &Options| {
                let defaults = run.option_defaults.get(adapter);
                options.contains_key(BROKER_QUEUE)
                    || defaults.is_some_and(|d| d.contains_key(BROKER_QUEUE))
            };
            let queues_in_broker = |s: &Stack| match &s.chain {
                Some(chain) => chain.legs.iter().any(|l| has(&l.adapter, &l.options)),
                None => has(&s.adapter, &s.options),
            };
            let asked = stacks.iter().copied().filter(|s| match *key {
                QUEUE_DEPTH => !queues_in_broker(s),
                BROKER_QUEUE => queues_in_broker(s),
                _ => true,
            });
            let asked: Vec<&Stack> = asked.collect();
            let all_named = asked.len() < stacks.len() && *key == BROKER_QUEUE;
            differing(&asked, value, all_named).map(|text| format!("{what}: {text}."))
        })
        .collect();
    lines.extend(versions(run, &stacks));
    lines
}

/// The versions of the libraries in these rows; `None` where none is known.
pub(crate) fn versions_of<'a>(
    run: &RunSummary,
    rows: impl IntoIterator<Item = &'a ExperimentSummary>,
) -> Option<String> {
    versions(run, &stacks_of(run, rows))
}

/// The stacks of these rows, each once.
fn stacks_of<'r, 'a>(
    run: &'r RunSummary,
    rows: impl IntoIterator<Item = &'a ExperimentSummary>,
) -> Vec<&'r Stack> {
    let mut stacks: Vec<&Stack> = Vec::new();
    for e in rows {
        let stack = run.stacks.get(&e.experiment.stack);
        stacks.extend(stack.filter(|s| !stacks.iter().any(|known| known.name == s.name)));
    }
    stacks
}

/// The values of a chain's legs in their order, or the one that all of them have.
fn along(legs: Vec<Option<String>>) -> Option<String> {
    match legs.split_first() {
        Some((first, rest)) if rest.iter().any(|leg| leg != first) => {
            let text = |leg: Option<String>| leg.unwrap_or_else(|| OWN.to_owned());
            Some(legs.into_iter().map(text).collect::<Vec<_>>().join(" > "))
        }
        first => first?.0.clone(),
    }
}

/// Which stacks have which value, in the order of the table; nothing where all have the same or none has one, unless
/// `all_named`: others stand beside them that have no such setting.
fn differing(
    stacks: &[&Stack],
    value: impl Fn(&Stack) -> Option<String>,
    all_named: bool,
) -> Option<String> {
    let groups = grouped(stacks.iter().map(|s| (value(s), s.name.as_str())));
    if groups.is_empty() || groups.len() < 2 && !all_named {
        return None;
    }
    let texts: Vec<String> = groups
        .iter()
        .map(|(value, names)| {
            let value = value.as_deref().unwrap_or(OWN);
            format!("{} {}", clean(&names.join(", ")), clean(value))
        })
        .collect();
    Some(texts.join("; "))
}

/// Adapters by the version that their libraries report.
fn versions(run: &RunSummary, stacks: &[&Stack]) -> Option<String> {
    let used = |name: &str| stacks.iter().any(|s| s.adapters().contains(&name));
    let adapters = run.adapters.iter();
    let groups = grouped(
        adapters
            .filter(|(name, _)| used(name))
            .map(|(name, version)| (version.as_str(), name.as_str())),
    );
    let texts: Vec<String> = groups
        .iter()
        .map(|(version, names)| format!("{} {}", clean(&names.join(", ")), clean(version)))
        .collect();
    (!texts.is_empty()).then(|| format!("versions: {}.", texts.join("; ")))
}

/// Names by what they share, each group where its first member stood.
fn grouped<'a, K: PartialEq>(all: impl Iterator<Item = (K, &'a str)>) -> Vec<(K, Vec<&'a str>)> {
    let mut groups: Vec<(K, Vec<&str>)> = Vec::new();
    for (key, name) in all {
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, names)) => names.push(name),
            None => groups.push((key, vec![name])),
        }
    }
    groups
}
