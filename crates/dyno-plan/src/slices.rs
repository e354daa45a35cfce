//! What `--slices` makes of a plan: each experiment and its base take turns within one trial, or why they cannot.

use crate::mistakes::PlanError;
use dyno_model::plan::{Extent, NoSlices, PlanWarning, Reach};
use dyno_model::{
    Experiment, Nanos, Request, Role, Slices, Stack, Testbed, Workload, WorkloadKind,
};
use dyno_toml::{Place, Problem};
use std::collections::BTreeMap;

/// More pairs of slices in a window would take more memory for their histograms than caches and small machines have.
const MOST_PAIRS: u64 = 500;

/// The least pairs of slices in a window: fewer tell little more than the window as a whole.
const LEAST_PAIRS: u64 = 10;

/// Lets every experiment with a base and the base itself take turns, as far as `--slices` was asked for. The window and
/// the warm-up get twice as long, so that each side has as much of them as the suite says; and the warm-up is that time,
/// since nobody waits within slices for a series to settle. Returns a remark for each pair that a gate measures in
/// whole trials.
///
/// # Errors
///
/// Where there are no two sides, or they cannot be open at the same time, or what is measured needs whole trials; the
/// latter two are no errors of a gate.
pub(crate) fn arrange(
    experiments: &mut [Experiment],
    stacks: &BTreeMap<String, Stack>,
    testbed: &Testbed,
    request: &Request,
) -> Result<Vec<PlanWarning>, PlanError> {
    let mut remarks = Vec::new();
    let Some(length) = request.slices else {
        return Ok(remarks);
    };
    // Without the length: who typed the flag alone gave none.
    let place = Place::flag("--slices", "");
    let refuse = |what: String, help: &str| -> Result<_, PlanError> {
        Err(Problem::at(&place, what).help(help).into())
    };
    if request.against.is_none() {
        return refuse(
            "--slices needs two sides, and this run has only one".into(),
            "name the other side with --against, such as --against tcp or --against same",
        );
    }
    if !(Slices::SHORTEST..=Slices::LONGEST).contains(&length) {
        let (from, to) = (Slices::SHORTEST, Slices::LONGEST);
        return refuse(
            format!("a slice is {from} to {to} long, found {length}"),
            "shorter slices would be almost all guard time, and between longer ones the state of the host changes",
        );
    }
    let slices = Slices::of(length);
    let mut turns: Vec<usize> = Vec::new();
    let pairs: Vec<(usize, usize)> = pairs(experiments);
    for (base_at, new_at) in &pairs {
        let (base, new) = (&experiments[*base_at], &experiments[*new_at]);
        let shared = pairs
            .iter()
            .filter(|(other, _)| experiments[*other].id == base.id);
        let why = match shared.count() {
            1 => objection(new, base, slices, stacks, testbed),
            n => Some(NoSlices::SharedBase {
                stacks: n,
                base: base.stack.clone(),
            }),
        };
        match why {
            None => turns.extend([*base_at, *new_at]),
            Some(why) if request.gate => {
                remarks.push(PlanWarning::WholeTrials {
                    experiment: new.name.clone(),
                    stack: new.stack.clone(),
                    base: base.stack.clone(),
                    reason: why,
                });
            }
            Some(why) => {
                return refuse(
                    format!("{} on {} and {}: {why}", new.name, new.stack, base.stack),
                    "leave --slices out, and Dyno interleaves whole trials of both sides; or choose experiments and stacks \
                     that can take turns, with --experiment and --stack",
                );
            }
        }
    }
    for at in turns {
        let e = &mut experiments[at];
        e.slices = Some(slices);
        e.settle = None;
        for extent in [&mut e.warmup, &mut e.window] {
            if let Extent::Duration(time) = extent {
                *time = slices.both(*time);
            }
        }
    }
    Ok(remarks)
}

/// The places of each base and of what is compared with it.
fn pairs(experiments: &[Experiment]) -> Vec<(usize, usize)> {
    let with_base = experiments.iter().enumerate();
    let pair = |(new, e): (usize, &Experiment)| {
        let base = experiments.iter().position(|b| Some(b.id) == e.base)?;
        Some((base, new))
    };
    with_base.filter_map(pair).collect()
}

/// Why these two cannot take turns.
fn objection(
    new: &Experiment,
    base: &Experiment,
    slices: Slices,
    stacks: &BTreeMap<String, Stack>,
    testbed: &Testbed,
) -> Option<NoSlices> {
    let kind = new.workload.kind();
    if ![WorkloadKind::PingPong, WorkloadKind::Call].contains(&kind) {
        return Some(NoSlices::Workload { workload: kind });
    }
    if new.flow.is_some()
        || !new.faults.is_empty()
        || new.start.is_some()
        || new.reboot
        || new.counted
    {
        return Some(NoSlices::Whole);
    }
    of_times(new, slices).or_else(|| of_sides([base, new], stacks, testbed))
}

/// What speaks against it in the times of an experiment.
fn of_times(new: &Experiment, slices: Slices) -> Option<NoSlices> {
    if let Workload::PingPong { gap, .. } | Workload::Call { gap, .. } = new.workload
        && gap.0 >= slices.length.0 / 2
    {
        return Some(NoSlices::Gap {
            gap,
            slice: slices.length,
        });
    }
    if let Workload::PingPong { timeout, .. } | Workload::Call { timeout, .. } = new.workload
        && timeout.0 < 4 * slices.length.0
    {
        return Some(NoSlices::Timeout { timeout });
    }
    if let Some(poll) = new.echo_poll
        && poll > slices.gap
    {
        return Some(NoSlices::EchoPoll { poll });
    }
    if let Extent::Messages(_) = new.warmup {
        return Some(NoSlices::WarmupOfMessages);
    }
    let pairs = |time: Nanos| time.0.div_ceil(slices.length.0);
    match new.window {
        Extent::Messages(_) => Some(NoSlices::WindowOfMessages),
        Extent::Duration(time) if !(LEAST_PAIRS..=MOST_PAIRS).contains(&pairs(time)) => {
            Some(NoSlices::Pairs {
                window: time,
                slice: slices.length,
                pairs: pairs(time),
                least: LEAST_PAIRS,
                most: MOST_PAIRS,
            })
        }
        Extent::Duration(_) => None,
    }
}

/// What speaks against it in where the sides are and in their daemons.
fn of_sides(
    sides: [&Experiment; 2],
    stacks: &BTreeMap<String, Stack>,
    testbed: &Testbed,
) -> Option<NoSlices> {
    let [base, new] = sides;
    if new.cpus != base.cpus {
        return Some(NoSlices::OtherCpus);
    }
    let sides = sides.map(|e| (e, stacks.get(&e.stack)));
    for (e, stack) in sides {
        let graph = e.graph(stack, testbed);
        let is_here = |host: usize| {
            testbed
                .hosts
                .get(host)
                .is_some_and(|h| h.reach == Reach::Local)
        };
        if !graph.hosts().into_iter().all(is_here) {
            return Some(NoSlices::OtherMachines);
        }
        let roles = [Role::Initiator, Role::Echo];
        if !graph.participants.iter().all(|p| roles.contains(&p.role)) {
            return Some(NoSlices::CannotPause {
                stack: e.stack.clone(),
            });
        }
    }
    let exclusive = |stack: &Option<&Stack>| {
        let daemons = stack.map_or(Vec::new(), |s| s.daemons_of(0).iter().collect());
        daemons
            .into_iter()
            .find(|d| d.exclusive)
            .map(|d| d.name.clone())
    };
    let [of_base, of_new] = sides.map(|(_, stack)| exclusive(&stack));
    let is_one = of_base == of_new;
    of_base
        .filter(|_| is_one)
        .map(|daemon| NoSlices::OneDaemon { daemon })
}
