//! The floor: every run measures the same exchange with nothing in between, so that each result
//! can stand as × floor.

use crate::capability;
use crate::cell::Cell;
use crate::configured::FloorStack;
use crate::remote;
use dyno_model::factors;
use dyno_model::machine::SHARING;
use dyno_model::plan::{Experiment, ExperimentId, NoFloor, PlanWarning};
use dyno_model::{Placement, Stack, Testbed, WorkloadKind};
use std::collections::{BTreeMap, HashMap};

/// The CPUs of both sides. Those of gateways stand behind them, and a floor has none.
fn cpus(e: &Experiment) -> &[u32] {
    let sides = e.topology.participants() * usize::from(e.topology.copies);
    e.cpus.get(..sides).unwrap_or(&e.cpus)
}

/// All that a floor's experiment shares with those it stands for, as a key.
pub(crate) fn key(e: &Experiment) -> String {
    // A floor has no gateways, and stands for flows as for exchanges alone.
    let shared = factors::all().filter(|f| !f.is_name() && f.title != "CPUs");
    let keys: Vec<String> = shared.map(|f| f.key(e)).collect();
    format!("{keys:?} {:?} {:?}", e.warmup, cpus(e))
}

/// Whether messages on a floor's stack would go over a link, as those of the experiment do.
fn is_over_link(e: &Experiment, floor: &Stack) -> bool {
    e.placement == Placement::Host && floor.adapter != SHARING
}

/// Why a floor over a link is none of the experiment, where that is so.
fn not_carried(e: &Experiment, floor: &FloorStack<'_>) -> Option<NoFloor> {
    let most = floor.adapter.capabilities.fragments_above;
    match most.filter(|most| e.payload.bytes() as u64 > *most) {
        // A socket loses what is not taken in time.
        _ if e.workload.kind() == WorkloadKind::Flood => Some(NoFloor::FloodOverLink),
        Some(most) => Some(NoFloor::Fragments { most }),
        None => None,
    }
}

/// Reasons with the number of experiments that each holds for, in the order of their first.
pub(crate) struct Reasons<T>(pub(crate) Vec<(T, usize)>);

impl<T> Default for Reasons<T> {
    fn default() -> Self {
        Reasons(Vec::new())
    }
}

impl<T: PartialEq> Reasons<T> {
    pub(crate) fn add(&mut self, reason: T) {
        match self.0.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, n)) => *n += 1,
            None => self.0.push((reason, 1)),
        }
    }
}

/// Links every experiment to its floor, and adds the floors that the suite does not hold.
/// Returns a remark for each stack and reason that leaves experiments without a floor.
pub(crate) fn link(
    experiments: &mut Vec<Experiment>,
    stacks: &mut BTreeMap<String, Stack>,
    floors: &[FloorStack<'_>],
    testbed: &Testbed,
) -> Vec<PlanWarning> {
    let mut by_key: HashMap<String, ExperimentId> = HashMap::new();
    // Where no floor in shared memory serves.
    let mut over_link: HashMap<String, ExperimentId> = HashMap::new();
    for e in experiments.iter() {
        let Some(stack) = stacks.get(&e.stack).filter(|s| s.floor) else {
            continue;
        };
        let adapter = floors.iter().find(|f| f.stack.name == e.stack);
        let ids = match (is_over_link(e, stack), adapter) {
            (false, _) => &mut by_key,
            (true, Some(floor)) if not_carried(e, floor).is_none() => &mut over_link,
            (true, _) => continue,
        };
        ids.entry(key(e)).or_insert(e.id);
    }
    let mut without = Reasons::default();
    for i in 0..experiments.len() {
        let e = &experiments[i];
        // A poll of shared memory is no read of what a broker keeps, silence is not carried, and nothing recovers faster than
        // the floor that was not struck.
        let has_none = |s: &Stack| {
            let is_yardstick = s.floor || s.loopback;
            is_yardstick || s.asks || !e.workload.kind().has_messages() || !e.faults.is_empty()
        };
        if stacks.get(&e.stack).is_none_or(has_none) {
            continue;
        }
        if e.flow.is_some() {
            without.add(NoFloor::Flows);
            continue;
        }
        let key = key(e);
        let floor = match by_key.get(&key) {
            Some(id) => *id,
            None => match added(e, experiments.len(), floors, testbed) {
                Ok((floor, stack)) => {
                    let id = floor.id;
                    stacks.entry(stack.name.clone()).or_insert(stack);
                    experiments.push(floor);
                    by_key.insert(key, id);
                    id
                }
                Err(reason) => match over_link.get(&key) {
                    Some(id) => *id,
                    None => {
                        without.add(reason);
                        continue;
                    }
                },
            },
        };
        experiments[i].floor = Some(floor);
        let trials = experiments[i].trials;
        let floor = &mut experiments[floor.0 as usize];
        if floor.added {
            floor.trials = floor.trials.max(trials);
        }
    }
    let warning = |(reason, experiments)| PlanWarning::NoFloor {
        experiments,
        reason,
    };
    without.0.into_iter().map(warning).collect()
}

/// The floor's experiment for `e`, or why there is none.
fn added(
    e: &Experiment,
    next: usize,
    floors: &[FloorStack<'_>],
    testbed: &Testbed,
) -> Result<(Experiment, Stack), NoFloor> {
    let wait = e.wait;
    let cell = Cell {
        workload: e.workload,
        wait,
        topology: e.topology,
        placement: e.placement,
        access: e.access,
        scheduling: e.scheduling,
        payload: e.payload,
        scenario: 0,
    };
    let mut reason = NoFloor::Wait { wait };
    for floor in floors.iter().filter(|f| f.stack.waits.contains(&wait)) {
        if is_over_link(e, &floor.stack) {
            reason = not_carried(e, floor).unwrap_or_else(|| NoFloor::NotNamed {
                stack: floor.stack.name.clone(),
            });
            continue;
        }
        let hosts = testbed.hosts.len();
        let memory = || {
            let why = remote::lacks_memory(&cell, &floor.stack, testbed)?;
            let without = remote::is_without_memory(&why, &floor.stack, testbed);
            Some(if without {
                NoFloor::NoSharedMemory
            } else {
                NoFloor::Refused(why)
            })
        };
        let refused = capability::refusal(&cell, &floor.stack, floor.adapter, hosts)
            .or_else(|| remote::lives_in_one_container(&floor.stack, &[floor.adapter], e.start))
            .map(NoFloor::Refused)
            .or_else(memory);
        match refused {
            Some(why) => reason = why,
            None => {
                let mut library_cpus = e.library_cpus.clone();
                library_cpus.truncate(cpus(e).len());
                let experiment = Experiment {
                    id: ExperimentId(u32::try_from(next).unwrap_or(u32::MAX)),
                    stack: floor.stack.name.clone(),
                    floor: None,
                    added: true,
                    paired: capability::is_paired(&cell, &[floor.adapter]),
                    counted: false,
                    legs: Vec::new(),
                    faults: Vec::new(),
                    flow: None,
                    machine: None,
                    cpus: cpus(e).to_vec(),
                    library_cpus,
                    ..e.clone()
                };
                return Ok((experiment, floor.stack.clone()));
            }
        }
    }
    Err(reason)
}
