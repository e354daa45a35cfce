//! The machine that a plan is for, and what it has too little of.

use dyno_model::machine::VsockBackEnd;
use dyno_model::plan::{Crowded, Experiment, PlanWarning, Store, together};
use dyno_model::{AdapterDescription, Channel, Graph, Placement, Wait};
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
    /// What vsock devices of virtual machines can be here.
    pub vsock: Option<VsockBackEnd>,
}

/// Remarks on what the machine has too little of, one for each kind. `asks`: whether readers of a stack do, which
/// sleep until they are answered. `graph` is that of experiments that run at the same time.
pub(crate) fn warnings<'a>(
    experiments: &'a [Experiment],
    facts: &HostFacts,
    adapter: impl Fn(&str) -> Option<&'a AdapterDescription>,
    asks: impl Fn(&str) -> bool,
    graph: impl Fn(&[&Experiment]) -> Graph,
) -> Vec<PlanWarning> {
    let mut warnings = Vec::new();
    let leads = || experiments.iter().filter(|e| e.lead() == e.id);
    let participants = |e: &Experiment| graph(&together(experiments, e)).participants.len();
    let uses_two = |e: &Experiment| adapter(&e.stack).is_some_and(|a| !a.capabilities.loopback);
    let crowded: Vec<usize> = leads()
        .filter(|e| {
            e.wait == Wait::Spin && uses_two(e) && !asks(&e.stack) && e.sink_cycle.is_none()
        })
        .map(participants)
        .filter(|n| !facts.cpus.is_empty() && *n > facts.cpus.len())
        .collect();
    if let Some(most) = crowded.iter().max() {
        warnings.push(PlanWarning::CrowdedSpin(Crowded {
            experiments: crowded.len(),
            of: leads().count(),
            most: *most,
            cpus: facts.cpus.len(),
        }));
    }
    let in_shm = leads().filter(|e| {
        e.placement != Placement::Host
            && adapter(&e.stack).is_some_and(|a| a.capabilities.loan && !a.capabilities.loopback)
    });
    // Per channel one message under way and one in the hands of each receiver.
    let need = |e: &Experiment| {
        let flows = together(experiments, e);
        let graph = graph(&flows);
        let of = |c: &Channel| {
            let flow = graph.participant(c.writer)?.flow;
            let payload = flows.get(usize::from(flow))?.payload.bytes() as u64;
            Some((1 + c.readers.len() as u64) * payload)
        };
        graph.channels.iter().filter_map(of).sum()
    };
    let in_shm = too_large(Store::Shm, facts.shm_free_bytes, in_shm, need);
    let in_memory = too_large(Store::Main, facts.memory_bytes, leads(), need);
    warnings.extend(in_shm.into_iter().chain(in_memory));
    warnings
}

fn too_large<'a>(
    store: Store,
    free: Option<u64>,
    experiments: impl Iterator<Item = &'a Experiment>,
    need: impl Fn(&Experiment) -> u64,
) -> Option<PlanWarning> {
    let free = free?;
    // Of equals the first.
    let all = experiments.map(|e| (need(e), e));
    let (need, largest) = all.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    (need > free).then(|| PlanWarning::TooLarge {
        experiment: largest.name.clone(),
        stack: largest.stack.clone(),
        payload: largest.flow.is_none().then_some(largest.payload),
        need,
        store,
        free,
    })
}
