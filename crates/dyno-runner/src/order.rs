//! The order of a run's trials: rounds, each with one trial of every open experiment, shuffled.
//!
//! A randomised complete block design: what drifts over the run (temperature, neighbours on the
//! host) meets all experiments alike, and an interrupted run has measured all of them equally
//! often. Hoefler & Belli, "Scientific Benchmarking of Parallel Computing Systems", SC 2015.
//! Experiments that are compared with each other stand side by side, in random order: a pair shares
//! what the host does meanwhile.

use dyno_model::{Experiment, ExperimentId, Plan, TrialId};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Experiments that are measured side by side: one alone, or a base with those compared with it; each with all of its
/// flows.
pub(crate) type Group = Vec<ExperimentId>;

/// The groups of a plan that are run here, in the plan's order.
pub(crate) fn groups(plan: &Plan) -> Vec<Group> {
    let compared = |base: ExperimentId| {
        let of_base = move |e: &&Experiment| e.base == Some(base);
        plan.experiments.iter().filter(of_base).map(|e| e.id)
    };
    let alone = plan.experiments.iter().filter(|e| e.base.is_none());
    alone
        .filter(|e| plan.is_here(e.id) && e.lead() == e.id)
        .map(|e| {
            let own = plan.together(e).into_iter().map(|e| e.id);
            own.flat_map(|id| std::iter::once(id).chain(compared(id)))
                .collect()
        })
        .collect()
}

/// The trials of round `number` of these groups; a function of the plan's seed.
pub(crate) fn round(plan: &Plan, number: u32, mut open: Vec<Group>) -> Vec<TrialId> {
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(u64::from(number));
    open.shuffle(&mut random);
    for group in &mut open {
        group.shuffle(&mut random);
    }
    // Flows that run at the same time have one trial, which is their first's.
    let leads = |id: &ExperimentId| plan.experiment(*id).is_some_and(|e| e.lead() == *id);
    open.into_iter()
        .flatten()
        .filter(leads)
        .map(|experiment| TrialId { experiment, number })
        .collect()
}

/// The trials of the plan in the order in which they are run where the host disturbs none and no
/// precision asks for more; a function of the plan's seed.
pub fn order(plan: &Plan) -> Vec<TrialId> {
    let rounds = plan.experiments.iter().map(|e| e.trials).max().unwrap_or(0);
    let trials = |id| plan.experiment(id).map_or(0, |e| e.trials);
    (0..rounds)
        .flat_map(|number| {
            let mut open = groups(plan);
            open.retain(|group| group.iter().any(|id| number < trials(*id)));
            round(plan, number, open)
        })
        .collect()
}

/// The seed of one trial's random choices: the same for the same plan and trial.
pub(crate) fn trial_seed(plan_seed: u64, id: TrialId) -> u64 {
    let ExperimentId(experiment) = id.experiment;
    // SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014) spreads neighbouring numbers.
    let mut z = plan_seed ^ (u64::from(experiment) << 32 | u64::from(id.number));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
