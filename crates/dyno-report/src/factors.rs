//! The factors of experiments as text. What is the same for a whole table stands in its heading,
//! what varies in its columns, so that no number stands without its conditions.

use dyno_model::Experiment;
use dyno_model::plan::{Extent, Scheduling};

/// One factor of an experiment.
#[derive(Debug)]
pub(crate) struct Factor {
    /// Title of its column.
    pub(crate) title: &'static str,
    /// Its value in a column or in a label.
    pub(crate) value: fn(&Experiment) -> String,
    /// What stands before the value in a heading.
    pub(crate) lead: &'static str,
    /// Rank of its column; see [`crate::layout::Column::rank`].
    pub(crate) rank: u8,
}

const fn factor(
    title: &'static str,
    lead: &'static str,
    value: fn(&Experiment) -> String,
) -> Factor {
    Factor {
        title,
        value,
        lead,
        rank: 0,
    }
}

/// Every factor, in the order of columns and headings.
pub(crate) static FACTORS: [Factor; 14] = [
    factor("machine", "machine ", |e| {
        e.machine.clone().unwrap_or_default()
    }),
    factor("flow", "flow ", |e| e.flow_text()),
    factor("workload", "", Experiment::exchange),
    factor("wait", "wait ", |e| e.wait.to_string()),
    factor("payload", "payload ", Experiment::payload_text),
    factor("access", "access ", |e| e.access.to_string()),
    factor("topology", "topology ", |e| e.topology.to_string()),
    factor("placement", "placement ", |e| e.placement.to_string()),
    factor("CPUs", "", Experiment::cpus_text),
    factor("scheduling", "", scheduling),
    factor("memory", "memory ", |e| match e.mlock {
        true => "locked".into(),
        false => "not locked".into(),
    }),
    factor("echo", "echo ", |e| {
        let poll = e
            .echo_poll
            .map(|poll| format!("sleeps {poll} after each answer"));
        poll.unwrap_or_default()
    }),
    factor("sink", "sink ", |e| {
        let pause = e.sink_pause;
        pause.map_or(String::new(), |pause| {
            format!("sleeps {pause} after each message")
        })
    }),
    Factor {
        rank: 8,
        ..factor("window", "window ", |e| window(&e.window))
    },
];

fn scheduling(e: &Experiment) -> String {
    match e.scheduling {
        Scheduling::Other => "SCHED_OTHER".into(),
        Scheduling::Fifo(priority) => format!("SCHED_FIFO {priority}"),
        Scheduling::Deadline => "SCHED_DEADLINE".into(),
    }
}

fn window(extent: &Extent) -> String {
    match extent {
        Extent::Duration(d) => d.to_string(),
        Extent::Messages(n) => format!("{n} messages"),
    }
}

/// The factors that have the same value in all of these experiments, and those that have not.
pub(crate) fn split<'a>(
    experiments: impl Iterator<Item = &'a Experiment> + Clone,
) -> (Vec<&'static Factor>, Vec<&'static Factor>) {
    FACTORS.iter().partition(|f| {
        let mut values = experiments.clone().map(f.value);
        let first = values.next();
        values.all(|v| Some(&v) == first.as_ref())
    })
}

/// The values of constant factors as a heading; empty without an experiment.
pub(crate) fn heading(constant: &[&Factor], experiment: Option<&Experiment>) -> String {
    let Some(experiment) = experiment else {
        return String::new();
    };
    // What measures its start alone has no window.
    let has_window = !experiment.workload.kind().is_start();
    let parts: Vec<String> = constant
        .iter()
        .filter(|f| f.title != "memory" || experiment.mlock)
        .filter(|f| f.title != "window" || has_window)
        .map(|f| (f.lead, (f.value)(experiment)))
        // A run of one machine names it elsewhere.
        .filter(|(_, value)| !value.is_empty())
        .map(|(lead, value)| format!("{lead}{value}"))
        .collect();
    parts.join(" · ")
}

/// All factors of an experiment in one line.
pub fn conditions(experiment: &Experiment) -> String {
    let all: Vec<&Factor> = FACTORS.iter().collect();
    heading(&all, Some(experiment))
}

/// For each of these experiments, in their order, what tells it from the others: the values of those
/// factors that are not the same in all of them.
pub fn varying_conditions<'a>(
    experiments: impl Iterator<Item = &'a Experiment> + Clone,
) -> Vec<String> {
    let (_, varying) = split(experiments.clone());
    experiments.map(|e| label(&varying, e)).collect()
}

/// The values of varying factors, to tell one experiment from another.
pub(crate) fn label(varying: &[&Factor], experiment: &Experiment) -> String {
    let parts: Vec<String> = varying
        .iter()
        .filter(|f| f.title != "memory" || experiment.mlock)
        .map(|f| match f.title {
            // "locked" alone would not say what.
            "memory" => format!("{}{}", f.lead, (f.value)(experiment)),
            _ => (f.value)(experiment),
        })
        .filter(|value| !value.is_empty())
        .collect();
    parts.join(", ")
}
