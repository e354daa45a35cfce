//! The factors of an experiment as names and texts, for formats whose labels and properties are texts.

use dyno_model::plan::{Extent, Scheduling};
use dyno_model::{Experiment, Workload};

/// Every factor that applies, with the names of the CSV's columns.
pub(crate) fn all(e: &Experiment) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    if let Some(machine) = &e.machine {
        all.push(("machine", machine.clone()));
    }
    all.extend([
        ("workload", e.workload.kind().to_string()),
        ("paired", e.paired.to_string()),
    ]);
    match e.workload {
        Workload::Stream { rate, arrivals } => {
            all.push(("rate_hz", rate.hz().to_string()));
            all.push(("arrivals", arrivals.to_string()));
        }
        Workload::Burst { messages, period } => {
            all.push(("burst_messages", messages.to_string()));
            all.push(("period_ns", period.0.to_string()));
        }
        Workload::FirstMessage { period } => all.push(("period_ns", period.0.to_string())),
        Workload::PingPong { gap, .. } | Workload::Call { gap, .. } => {
            all.push(("gap_ns", gap.0.to_string()));
        }
        Workload::Flood => {}
    }
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
    }
}
