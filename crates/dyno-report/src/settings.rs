//! Settings in which stacks differ, and the versions of their libraries: below each table.

use crate::summary::{ExperimentSummary, RunSummary};
use dyno_model::adapter::{QUEUE_BYTES, QUEUE_DEPTH};
use dyno_model::chain::ChainLeg;
use dyno_model::machine::SHARING;
use dyno_model::{Experiment, OptionValue, Options, Placement, Stack, Wait};

/// A setting that has one meaning in all adapters: what it is called in prose, which stacks have it, whether all are named
/// as soon as others stand beside them that do not, and its value as a line says it; `None`: Dyno does not set it.
struct Setting {
    what: &'static str,
    is_of: fn(&[Part<'_>]) -> bool,
    all_named: bool,
    value: fn(&Part<'_>) -> Option<String>,
}

const COMMON: [Setting; 3] = [
    Setting {
        what: "queue depth in messages",
        is_of: |parts| !queues_in_broker(parts),
        all_named: false,
        value: depth,
    },
    Setting {
        what: "queue of the broker in messages",
        is_of: queues_in_broker,
        all_named: true,
        value: |part| part.get(BROKER_QUEUE).map(ToString::to_string),
    },
    Setting {
        what: "longest wait of a send in milliseconds",
        is_of: |_| true,
        all_named: false,
        value: send_timeout,
    },
];
/// The option of a stack whose messages wait in its broker.
const BROKER_QUEUE: &str = "broker_queue";
/// What stands for a value that Dyno does not set.
const OWN: &str = "the stack's own";

/// A stack, or a leg of a chain, in the rows of a table.
struct Part<'a> {
    /// As the stack sets them.
    options: &'a Options,
    /// What the adapter sets where the stack is silent.
    defaults: Option<&'a Options>,
    /// What one message takes for all receivers of a channel together, in the row where it is most.
    bytes: u64,
    /// Receivers take, at least in one row, and are not called.
    takes: bool,
}

impl Part<'_> {
    fn get(&self, name: &str) -> Option<&OptionValue> {
        let default = || self.defaults?.get(name);
        self.options.get(name).or_else(default)
    }

    fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(OptionValue::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// The library's own settings hold, whatever the other options say.
    fn is_as_shipped(&self) -> bool {
        self.get("as_shipped") == Some(&OptionValue::Bool(true))
    }

    /// The messages of a queue, of which a default holds fewer where they are large.
    fn messages(&self, name: &str) -> Option<String> {
        let most = self.int(name)?;
        let bytes = u64::try_from(most).ok()?.saturating_mul(self.bytes);
        let is_whole = self.options.contains_key(name) || bytes <= QUEUE_BYTES;
        Some(match is_whole {
            true => most.to_string(),
            false => format!("{most} or fewer"),
        })
    }
}

/// How many messages wait for a receiver, by whichever name the adapter has for it.
fn depth(part: &Part<'_>) -> Option<String> {
    // The first that an adapter has; where it has a queue depth, its history is for receivers that come late.
    let queue = || part.messages(QUEUE_DEPTH);
    // What NATS calls the queue of its library.
    let pending = || part.int("pending").map(|n| n.to_string());
    let last = || {
        let kept = part.int("history").filter(|n| *n > 0);
        kept.map(|n| format!("the last {n}"))
    };
    // Fast DDS keeps all up to so many (adapters/fastdds/options.cpp).
    let samples = || {
        Some(match part.int("samples")? {
            0 => "as many as 64 MiB hold, 16 to 4096".to_owned(),
            n => n.to_string(),
        })
    };
    let all = || part.int("history").map(|_| "all".to_owned());
    // What zenoh calls the queue of a receiver that takes.
    let buffer = || part.takes.then(|| part.messages("buffer")).flatten();
    queue()
        .or_else(pending)
        .or_else(last)
        .or_else(samples)
        .or_else(all)
        .or_else(buffer)
}

fn send_timeout(part: &Part<'_>) -> Option<String> {
    let never = || Some("none".to_owned());
    if part.get("reliable") == Some(&OptionValue::Bool(false)) {
        return never();
    }
    let set = part.get("send_timeout_ms");
    match part.get("congestion") == Some(&OptionValue::Text("drop".into())) {
        // How long zenoh waits before it drops is not the option's.
        true if set.is_some() => None,
        true => never(),
        false => set.map(ToString::to_string),
    }
}

fn queues_in_broker(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| part.get(BROKER_QUEUE).is_some())
}

/// A line for each common setting that differs, and one for the versions.
pub(crate) fn lines<'a>(
    run: &RunSummary,
    rows: impl IntoIterator<Item = &'a ExperimentSummary>,
) -> Vec<String> {
    let rows: Vec<&ExperimentSummary> = rows.into_iter().collect();
    let stacks = stacks_of(run, rows.iter().copied());
    let parts = stacks
        .iter()
        .map(|stack| (*stack, parts(run, stack, &rows)));
    let parts: Vec<(&Stack, Vec<Part<'_>>)> = parts.collect();
    let line = |setting: &Setting| {
        let asked = parts.iter().filter(|(_, parts)| (setting.is_of)(parts));
        let values = asked.map(|(stack, parts)| {
            let of = |part: &Part<'_>| match part.is_as_shipped() {
                true => None,
                false => (setting.value)(part),
            };
            (along(parts.iter().map(of).collect()), stack.name.as_str())
        });
        let values: Vec<_> = values.collect();
        let all_named = setting.all_named && values.len() < stacks.len();
        let text = differing(values, all_named)?;
        Some(format!("{}: {text}.", setting.what))
    };
    let mut lines: Vec<String> = COMMON.iter().filter_map(line).collect();
    lines.extend(versions(run, &stacks));
    lines
}

/// A stack as these rows have it: itself, or the legs of a chain.
fn parts<'r>(run: &'r RunSummary, stack: &'r Stack, rows: &[&ExperimentSummary]) -> Vec<Part<'r>> {
    let own = rows.iter().map(|row| &row.experiment);
    let own: Vec<_> = own.filter(|e| e.stack == stack.name).collect();
    let bytes = |e: &&Experiment| e.payload.bytes() as u64 * u64::from(e.topology.receivers);
    let bytes = own.iter().map(bytes).max().unwrap_or_default();
    // How much of a memory that machines share is one queue's, only the trial knows.
    let shares = |adapter: &str, placement: Option<Placement>| {
        let crosses = |e: &&Experiment| placement.unwrap_or(e.placement) == Placement::Host;
        adapter == SHARING && own.iter().any(crosses)
    };
    let part = |adapter: &str, options: &'r Options, leg: Option<&ChainLeg>| Part {
        options,
        defaults: run.option_defaults.get(adapter),
        bytes: match shares(adapter, leg.map(|l| l.placement)) {
            true => u64::MAX,
            false => bytes,
        },
        takes: own
            .iter()
            .any(|e| leg.and_then(|l| l.wait).unwrap_or(e.wait) != Wait::Callback),
    };
    match &stack.chain {
        None => vec![part(&stack.adapter, &stack.options, None)],
        Some(chain) => {
            let legs = chain.legs.iter();
            legs.map(|leg| part(&leg.adapter, &leg.options, Some(leg)))
                .collect()
        }
    }
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
fn differing(values: Vec<(Option<String>, &str)>, all_named: bool) -> Option<String> {
    let groups = grouped(values.into_iter());
    if groups.is_empty() || groups.len() < 2 && !all_named {
        return None;
    }
    let texts: Vec<String> = groups
        .iter()
        .map(|(value, names)| {
            let value = value.as_deref().unwrap_or(OWN);
            format!("{} {}", names.join(", "), value)
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
        .map(|(version, names)| format!("{} {}", names.join(", "), version))
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
