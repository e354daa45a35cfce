//! Names for experiments: unique within a run, and the same in every run of the same suite, so that
//! tools that compare by name compare like with like.

use dyno_model::factors::{self, Column, Factor};
use dyno_model::{Experiment, Metric};
use dyno_report::{ExperimentSummary, Summary, conditions};

/// The factors that are named only where experiments would have one name without them.
const IF_ALIKE: [&str; 4] = ["CPUs", "scheduling", "memory", "window"];

/// `suite/experiment/stack/payload:64/load:ping-pong/wait:block/…` for each experiment, in the
/// summary's order. The number of the experiment is a part where nothing else tells it from others.
pub(crate) fn paths(summary: &Summary) -> Vec<String> {
    let words = |x: &Experiment, is_told: fn(&Factor) -> bool| -> String {
        let told = factors::all().filter(|f| !f.is_name() && is_told(f));
        let word = |(key, of): &Column| {
            let value = of.value(x)?.to_string();
            Some(format!("/{key}:{}", value.replace(' ', "_")))
        };
        told.flat_map(Factor::plain).filter_map(word).collect()
    };
    let path = |e: &ExperimentSummary| {
        let x = &e.experiment;
        let base = if e.is_base { "/base" } else { "" };
        let machine = match &x.machine {
            Some(machine) => format!("/machine:{}", machine.replace(' ', "_")),
            None => String::new(),
        };
        let flow = match &x.flow {
            Some(_) => format!("/flow:{}", x.flow_text().replace(' ', "-")),
            None => String::new(),
        };
        let is_told = |f: &Factor| {
            let is_first = ["workload", "payload"].contains(&f.title);
            !is_first && !IF_ALIKE.contains(&f.title)
        };
        format!(
            "{}/{}/{}{flow}/payload:{}/load:{}{}{machine}{base}",
            summary.run.suite,
            x.name,
            x.stack,
            x.payload.bytes(),
            x.exchange().replace(' ', "_"),
            words(x, is_told),
        )
    };
    let rest = |x: &Experiment| words(x, |f| IF_ALIKE.contains(&f.title));
    unique(summary, path, rest, |x| format!("/id:{}", x.id.0))
}

/// `stack: conditions` for each experiment, in the summary's order.
pub(crate) fn labels(summary: &Summary) -> Vec<String> {
    let label = |e: &ExperimentSummary| {
        let base = if e.is_base { " (base)" } else { "" };
        let x = &e.experiment;
        format!("{}: {}{base}", x.stack, conditions(x))
    };
    unique(
        summary,
        label,
        |_| String::new(),
        |x| format!(" #{}", x.id.0),
    )
}

/// Names that differ: `first` for all; `second` after those that have it in common with others of the
/// same experiment; `last` after those that still have.
fn unique(
    summary: &Summary,
    first: impl Fn(&ExperimentSummary) -> String,
    second: impl Fn(&Experiment) -> String,
    last: impl Fn(&Experiment) -> String,
) -> Vec<String> {
    let experiments = || summary.experiments.iter();
    let key = |e: &ExperimentSummary| (e.experiment.name.clone(), first(e));
    let names: Vec<(String, String)> = experiments().map(key).collect();
    let names: Vec<String> = experiments()
        .zip(&names)
        .map(|(e, name)| match occurs(&names, name) {
            1 => name.1.clone(),
            _ => format!("{}{}", name.1, second(&e.experiment)),
        })
        .collect();
    experiments()
        .zip(&names)
        .map(|(e, name)| match occurs(&names, name) {
            1 => name.clone(),
            _ => format!("{name}{}", last(&e.experiment)),
        })
        .collect()
}

fn occurs<T: PartialEq>(all: &[T], one: &T) -> usize {
    all.iter().filter(|other| *other == one).count()
}

/// The longest part of a file's name that comes from a name of the user's.
const LONGEST: usize = 40;

/// A file's name without its ending: `e0012_round-trip_uds-stream_64B_rtt_ns`. The number makes it
/// unique; of names that the user gave, what is not a letter, a digit, `.`, `_` or `-` of ASCII is `-`.
pub(crate) fn file_stem(e: &Experiment, metric: Metric) -> String {
    let safe = |text: &str| -> String {
        let safe = text.chars().take(LONGEST).map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' => c,
            _ => '-',
        });
        safe.collect()
    };
    format!(
        "e{:04}_{}{}_{}_{}B_{metric}",
        e.id.0,
        safe(&e.name),
        e.flow_name()
            .map(|flow| format!("-{}", safe(flow)))
            .unwrap_or_default(),
        safe(&e.stack),
        e.payload.bytes()
    )
}
