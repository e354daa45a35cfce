//! The machine that a plan is for, and what it has too little of.

use dyno_model::plan::Experiment;
use dyno_model::{AdapterDescription, Placement, Wait};
use std::collections::BTreeSet;

/// What planning must know of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostFacts {
    /// The CPUs that this process may run on; empty where that is not known.
    pub cpus: Vec<u32>,
    /// The same CPUs, those of one core together. Empty: each is taken for a core of its own.
    pub cores: Vec<Vec<u32>>,
    /// CPUs that the scheduler leaves to those who ask for them by name (`isolcpus`), and that this process may ask
    /// for. They are none of `cpus` unless it has done so.
    pub isolated: Vec<u32>,
    /// Free bytes of `/dev/shm`, where that is known.
    pub shm_free_bytes: Option<u64>,
    /// Available bytes of main memory, where that is known.
    pub memory_bytes: Option<u64>,
    /// Those of [`Catalog::programs`](crate::Catalog::programs) that are not installed.
    pub missing_programs: BTreeSet<String>,
}

/// Remarks on what the machine has too little of, one sentence for each kind.
pub(crate) fn warnings<'a>(
    experiments: &'a [Experiment],
    facts: &HostFacts,
    adapter: impl Fn(&str) -> Option<&'a AdapterDescription>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let uses_two = |e: &Experiment| adapter(&e.stack).is_some_and(|a| !a.capabilities.loopback);
    let crowded: Vec<&Experiment> = experiments
        .iter()
        .filter(|e| e.wait == Wait::Spin && uses_two(e))
        .filter(|e| !facts.cpus.is_empty() && e.participants() > facts.cpus.len())
        .collect();
    if let Some(most) = crowded.iter().map(|e| e.participants()).max() {
        warnings.push(format!(
            "{} of {} experiments have more spinning participants than CPUs (up to {most} on {}): \
             they measure how the kernel shares a CPU, not the stack; wait by block, or use a \
             machine with more CPUs",
            crowded.len(),
            experiments.len(),
            facts.cpus.len(),
        ));
    }
    let in_shm = experiments.iter().filter(|e| {
        e.placement != Placement::Host
            && adapter(&e.stack).is_some_and(|a| a.capabilities.loan && !a.capabilities.loopback)
    });
    if let Some(w) = too_large("/dev/shm", facts.shm_free_bytes, in_shm) {
        warnings.push(w);
    }
    if let Some(w) = too_large("main memory", facts.memory_bytes, experiments.iter()) {
        warnings.push(w);
    }
    warnings
}

fn too_large<'a>(
    what: &str,
    free: Option<u64>,
    experiments: impl Iterator<Item = &'a Experiment>,
) -> Option<String> {
    let free = free?;
    let largest = experiments.reduce(|a, b| {
        if least_channel_bytes(b) > least_channel_bytes(a) {
            b
        } else {
            a
        }
    })?;
    let need = least_channel_bytes(largest);
    (need > free).then(|| {
        format!(
            "experiment `{}` with {} on {} holds at least {need} bytes of messages, and {what} has \
             {free} free: its trials will fail; use smaller payloads or fewer participants",
            largest.name, largest.payload, largest.stack
        )
    })
}

/// The least that the channels of an experiment hold: per channel one message under way and one
/// in the hands of each receiver.
fn least_channel_bytes(e: &Experiment) -> u64 {
    let (s, r) = (
        u64::from(e.topology.senders),
        u64::from(e.topology.receivers),
    );
    let there = s * (1 + r);
    let back = match e.workload.kind().is_closed_loop() {
        true => s * r * 2,
        false => 0,
    };
    (there + back) * e.payload.bytes() as u64
}
