//! The factors of an experiment as names and texts, for formats whose labels and properties are texts.

use dyno_model::Experiment;
use dyno_model::plan::{Extent, Scheduling};

/// Every factor that applies, with the names of the CSV's columns.
pub(crate) fn all(e: &Experiment) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    if let Some(machine) = &e.machine {
        all.push(("machine", machine.clone()));
    }
    if e.flow.is_some() {
        all.push(("flow", e.flow_text()));
    }
    all.extend([
        ("workload", e.workload.kind().to_string()),
        ("paired", e.paired.to_string()),
    ]);
    let n = e.workload.numbers();
    let numbers = [
        ("rate_hz", n.rate.map(|rate| rate.hz().to_string())),
        ("arrivals", n.arrivals.map(|a| a.to_string())),
        ("burst_messages", n.messages.map(|m| m.to_string())),
        ("period_ns", n.period.map(|t| t.0.to_string())),
        ("gap_ns", n.gap.map(|t| t.0.to_string())),
        ("probe", e.workload.probe_text()),
        ("echo_poll_ns", e.echo_poll.map(|t| t.0.to_string())),
        ("sink_pause_ns", e.sink_pause.map(|t| t.0.to_string())),
    ];
    let known = numbers.into_iter();
    all.extend(known.filter_map(|(name, value)| Some((name, value?))));
    all.push(("payload_bytes", e.payload.bytes().to_string()));
    all.push(("wait", e.wait.to_string()));
    all.push(("access", e.access.to_string()));
    all.push(("placement", e.placement.to_string()));
    all.push(("topology", e.topology.to_string()));
    if !e.cpus.is_empty() {
        all.push(("cpus", cpus(e)));
    }
    all.push(("scheduling", scheduling(e)));
    all.push(("mlock", e.mlock.to_string()));
    match e.window {
        Extent::Duration(d) => all.push(("window_ns", d.0.to_string())),
        Extent::Messages(n) => all.push(("window_messages", n.to_string())),
    }
    all
}

/// The CPUs of the participants, separated by blanks; empty where they are not pinned.
pub(crate) fn cpus(e: &Experiment) -> String {
    let cpus: Vec<String> = e.cpus.iter().map(u32::to_string).collect();
    cpus.join(" ")
}

/// `other`, or `fifo` with its priority.
pub(crate) fn scheduling(e: &Experiment) -> String {
    match e.scheduling {
        Scheduling::Other => "other".into(),
        Scheduling::Fifo(priority) => format!("fifo {priority}"),
        Scheduling::Deadline => "deadline".into(),
    }
}
