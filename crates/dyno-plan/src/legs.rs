//! `--legs`: each leg of a chain alone, so that a report has what the chain adds to the sum of its legs.
//!
//! Where a message goes over a leg, it goes from one participant to the next: the leg alone has a sender and a receiver
//! on the CPUs of these two.

use crate::capability;
use crate::cell::Cell;
use crate::daemon::missing_daemon;
use crate::floor::{self, Reasons};
use crate::host::HostFacts;
use crate::mistakes::PlanError;
use crate::remote;
use dyno_model::chain::{Chain, ChainLeg};
use dyno_model::plan::{NoLegs, PlanWarning};
use dyno_model::{
    AdapterDescription, Experiment, ExperimentId, Options, Placement, Stack, Testbed, Topology,
    Wait,
};
use dyno_toml::{Place, Problem};
use std::collections::BTreeMap;

/// Adds what is missing of the legs alone, and links each chain's experiments to them. `direct` has a stack by name with
/// its adapter. Returns a remark for each reason that leaves chains without, and for each leg that is set otherwise in its chain.
///
/// # Errors
///
/// Where no experiment is on a chain.
pub(crate) fn add<'a>(
    experiments: &mut Vec<Experiment>,
    stacks: &mut BTreeMap<String, Stack>,
    testbed: &Testbed,
    facts: &HostFacts,
    direct: &mut dyn FnMut(&str) -> Option<(Stack, &'a AdapterDescription)>,
) -> Result<Vec<PlanWarning>, PlanError> {
    let mut without = Reasons::default();
    let mut otherwise: Vec<PlanWarning> = Vec::new();
    let mut chains = 0;
    for i in 0..experiments.len() {
        let e = experiments[i].clone();
        let chain = stacks.get(&e.stack).and_then(|s| s.chain.clone());
        let Some(chain) = chain else {
            continue;
        };
        chains += 1;
        let found = alone(&e, &chain).and_then(|all| {
            let numbered = (1..).zip(all.into_iter().zip(&chain.legs));
            let checked = numbered.map(|(number, (leg, own))| {
                let not_read = || NoLegs::NotRead {
                    stack: leg.stack.clone(),
                };
                let (stack, adapter) = direct(&leg.stack).ok_or_else(not_read)?;
                if stack.options != own.options {
                    // What a program bridges is set for that program.
                    if !chain.foreign().contains(&true) {
                        return Err(NoLegs::Options { stack: leg.stack });
                    }
                    let set = PlanWarning::LegSetOtherwise {
                        leg: number,
                        chain: e.stack.clone(),
                        stack: leg.stack.clone(),
                        options: differing(&own.options, &stack.options),
                    };
                    if !otherwise.contains(&set) {
                        otherwise.push(set);
                    }
                }
                check(leg, stack, adapter, testbed, facts)
            });
            checked.collect::<Result<Vec<_>, NoLegs>>()
        });
        match found {
            Ok(all) => {
                let ids = all.into_iter().map(|(leg, stack)| {
                    stacks.entry(stack.name.clone()).or_insert(stack);
                    place(experiments, leg)
                });
                experiments[i].legs = ids.collect();
            }
            Err(reason) => without.add(reason),
        }
    }
    if chains == 0 {
        return Err(Problem::at(&Place::flag("--legs", ""), "no stack of this run is a chain")
            .label("nothing has legs")
            .help("name a chain with --stack, or leave --legs out; `dyno list stacks` shows which stacks are chains")
            .into());
    }
    let warning = |(reason, experiments)| PlanWarning::LegsNotAlone {
        experiments,
        reason,
    };
    let without = without.0.into_iter().map(warning);
    Ok(without.chain(otherwise).collect())
}

/// The options of `own` that are not among `others`.
fn differing(own: &Options, others: &Options) -> Options {
    let all = own
        .iter()
        .filter(|(name, value)| others.get(*name) != Some(value));
    all.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The experiments of the legs alone.
fn alone(e: &Experiment, chain: &Chain) -> Result<Vec<Experiment>, NoLegs> {
    let legs = &chain.legs;
    const ONE: Topology = Topology {
        senders: 1,
        receivers: 1,
        copies: 1,
    };
    if e.topology != ONE {
        return Err(NoLegs::Topology {
            topology: e.topology,
        });
    }
    if let Some(n) = (1..legs.len()).find(|n| legs[n - 1].placement == Placement::Host) {
        return Err(NoLegs::OtherHost { leg: n + 1 });
    }
    // Participants are numbered sender, receiver, gateways; a program that bridges legs is none.
    let own = chain.foreign().iter().filter(|foreign| !**foreign).count();
    if !e.cpus.is_empty() && e.cpus.len() != own + 2 {
        return Err(NoLegs::FewCpus {
            cpus: e.cpus.len(),
            participants: own + 2,
        });
    }
    let ends = ends(&chain.foreign());
    let pairs = || legs.iter().zip(&ends);
    let on_one = |(leg, ends): (&ChainLeg, &[usize; 2])| {
        let same = !e.cpus.is_empty() && e.cpus[ends[0]] == e.cpus[ends[1]];
        same && leg.wait.unwrap_or(e.wait) == Wait::Spin
    };
    if let Some(n) = pairs().position(on_one) {
        return Err(NoLegs::OneCpu { leg: n + 1 });
    }
    let last = legs.len() - 1;
    let leg = |(number, (leg, ends)): (usize, (&ChainLeg, &[usize; 2]))| Experiment {
        stack: leg.stack.clone(),
        wait: leg.wait.unwrap_or(e.wait),
        placement: leg.placement,
        cpus: ends
            .iter()
            .filter_map(|p| e.cpus.get(*p).copied())
            .collect(),
        library_cpus: ends
            .iter()
            .filter_map(|p| e.library_cpus.get(*p).cloned())
            .collect(),
        // The echo is on the last leg alone.
        echo_poll: e.echo_poll.filter(|_| number == last),
        sink_pause: e.sink_pause.filter(|_| number == last),
        sink_cycle: e.sink_cycle.filter(|_| number == last),
        added: true,
        ..e.clone()
    };
    Ok(pairs().enumerate().map(leg).collect())
}

/// The participants at both ends of each leg: the ends of the way, and the gateways between that are participants.
fn ends(foreign: &[bool]) -> Vec<[usize; 2]> {
    let mut next = 2;
    let mut here = |is_foreign: &bool| {
        (!is_foreign).then(|| {
            next += 1;
            next - 1
        })
    };
    let between: Vec<Option<usize>> = foreign.iter().map(&mut here).collect();
    let leg = |number: usize| {
        let before = between[..number].iter().flatten().next_back();
        let behind = between[number..].iter().flatten().next();
        [before.copied().unwrap_or(0), behind.copied().unwrap_or(1)]
    };
    (0..=foreign.len()).map(leg).collect()
}

/// A leg alone as it is measured, or why it cannot be.
fn check(
    mut leg: Experiment,
    stack: Stack,
    adapter: &AdapterDescription,
    testbed: &Testbed,
    facts: &HostFacts,
) -> Result<(Experiment, Stack), NoLegs> {
    let cell = Cell {
        workload: leg.workload,
        wait: leg.wait,
        topology: leg.topology,
        placement: leg.placement,
        access: leg.access,
        scheduling: leg.scheduling,
        payload: leg.payload,
        scenario: 0,
    };
    let reason = capability::refusal(&cell, &stack, adapter, testbed.hosts.len())
        .or_else(|| remote::lacks_memory(&cell, &stack, testbed))
        .or_else(|| remote::refusal(&stack, testbed, facts))
        .or_else(|| missing_daemon(&stack, facts));
    if let Some(reason) = reason {
        return Err(NoLegs::Refused(reason));
    }
    leg.paired = capability::is_paired(&cell, &[adapter]);
    Ok((leg, stack))
}

/// Its number: of the experiment that there is already, or of a new one.
fn place(experiments: &mut Vec<Experiment>, leg: Experiment) -> ExperimentId {
    let key = floor::key(&leg);
    let same =
        |e: &&mut Experiment| e.name == leg.name && e.stack == leg.stack && floor::key(e) == key;
    if let Some(there) = experiments.iter_mut().find(same) {
        there.trials = there.trials.max(leg.trials);
        return there.id;
    }
    // At most eight legs for each of MOST_CELLS experiments.
    let id = ExperimentId(experiments.len() as u32);
    experiments.push(Experiment { id, ..leg });
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leg_ends_at_the_participants_on_its_way() {
        assert_eq!(ends(&[false, false]), [[0, 2], [2, 3], [3, 1]]);
        assert_eq!(ends(&[true]), [[0, 1], [0, 1]]);
        assert_eq!(ends(&[false, true]), [[0, 2], [2, 1], [2, 1]]);
    }
}
