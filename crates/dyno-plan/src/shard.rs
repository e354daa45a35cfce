//! Dealing a plan out to several runners: which experiments each part runs, from the plan alone, so
//! that all of them come to the same without a word between them.
//!
//! Experiments that are compared with each other run side by side and stay together. Those that stand
//! beside one floor stay together as long as the parts take about equally long; else their × floor is
//! there once the parts are merged. Every experiment is in exactly one part.

use crate::estimate::nominal_time;
use dyno_model::{ExperimentId, Plan, Shard};
use std::collections::BTreeMap;

/// The longest part may take so many times what it takes when nothing but comparisons stays together.
const BALANCED: f64 = 1.1;

/// Why a plan has no such part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShardError {
    /// Some part would have nothing to do.
    #[error(
        "the plan cannot be divided into {count} parts: only {most} of its experiments can be \
         separated; use at most {most} parts"
    )]
    TooMany {
        /// The parts asked for.
        count: u32,
        /// The most parts that this plan has.
        most: usize,
    },
    /// The number of the part is 0 or above their count.
    #[error("there is no part {index} of {count}; write from 1/{count} to {count}/{count}")]
    NoSuchPart {
        /// The part asked for.
        index: u32,
        /// Of so many.
        count: u32,
    },
}

/// Part `index` (from 1) of `count` parts of a plan.
///
/// # Errors
///
/// When there is no such part, or when the plan has too few experiments for so many.
pub fn shard(plan: &Plan, index: u32, count: u32) -> Result<Shard, ShardError> {
    if index == 0 || index > count {
        return Err(ShardError::NoSuchPart { index, count });
    }
    let together = units(plan);
    if together.len() < count as usize {
        return Err(ShardError::TooMany {
            count,
            most: together.len(),
        });
    }
    let mut parts = deal(together, count as usize);
    let mut experiments = parts.swap_remove(index as usize - 1);
    experiments.sort_unstable();
    Ok(Shard {
        index,
        count,
        experiments,
    })
}

/// A seed that all runners of a plan's parts come to by themselves: a hash of its experiments.
pub fn common_seed(plan: &Plan) -> u64 {
    let mut text = format!("{}\n{}\n", plan.suite, plan.testbed.name);
    for e in &plan.experiments {
        text.push_str(&format!(
            "{} {} {} {} {} {} {} {} {}\n",
            e.name,
            e.stack,
            e.exchange(),
            e.payload,
            e.wait,
            e.access,
            e.placement,
            e.topology,
            e.trials
        ));
    }
    // FNV-1a (Fowler, Noll, Vo), 64 bits; folded to 32, which every reader of JSON keeps exactly.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) ^ (hash & 0xffff_ffff)
}

/// Experiments that run side by side.
struct Unit {
    experiments: Vec<ExperimentId>,
    /// About how long all of their trials take, in nanoseconds.
    time: u64,
    /// Units with the same number stand beside the same floors.
    floor: usize,
}

/// A base with what is compared with it, or one experiment alone; in the plan's order.
fn units(plan: &Plan) -> Vec<Unit> {
    let mut of_base: BTreeMap<ExperimentId, usize> = BTreeMap::new();
    let mut units: Vec<Unit> = Vec::new();
    for e in &plan.experiments {
        // Flows run with each other, and beside themselves alone; what leads them comes before them.
        let lead = plan.experiment(e.lead()).unwrap_or(e);
        let number = *of_base
            .entry(lead.base.unwrap_or(lead.id))
            .or_insert_with(|| {
                units.push(Unit {
                    experiments: Vec::new(),
                    time: 0,
                    floor: units.len(),
                });
                units.len() - 1
            });
        let unit = &mut units[number];
        unit.experiments.push(e.id);
        unit.time = unit.time.saturating_add(nominal_time(plan, e).0);
    }
    let home = |e: ExperimentId| {
        let lead = plan.experiment(plan.experiment(e)?.lead())?;
        of_base.get(&lead.base.unwrap_or(lead.id)).copied()
    };
    for e in &plan.experiments {
        if let (Some(a), Some(b)) = (home(e.id), e.floor.and_then(home)) {
            let (a, b) = (units[a].floor, units[b].floor);
            for unit in units.iter_mut().filter(|u| u.floor == a.max(b)) {
                unit.floor = a.min(b);
            }
        }
    }
    units
}

/// What is dealt out as a whole.
struct Bundle {
    units: Vec<Unit>,
    time: u64,
}

impl From<Vec<Unit>> for Bundle {
    fn from(units: Vec<Unit>) -> Self {
        let time = units.iter().map(|u| u.time).fold(0, u64::saturating_add);
        Bundle { units, time }
    }
}

/// The experiments of each part. At first what stands beside one floor is one bundle; the longest
/// bundle is undone as long as that makes the parts more equal.
fn deal(units: Vec<Unit>, count: usize) -> Vec<Vec<ExperimentId>> {
    let times: Vec<u64> = units.iter().map(|u| u.time).collect();
    let best = longest(&times, &share_out(&times, count), count);
    let mut by_floor: BTreeMap<usize, Vec<Unit>> = BTreeMap::new();
    for unit in units {
        by_floor.entry(unit.floor).or_default().push(unit);
    }
    let mut bundles: Vec<Bundle> = by_floor.into_values().map(Bundle::from).collect();
    loop {
        let times: Vec<u64> = bundles.iter().map(|b| b.time).collect();
        let part_of = share_out(&times, count);
        let balanced = longest(&times, &part_of, count) as f64 <= BALANCED * best as f64
            && times.len() >= count;
        let divisible = |b: &&Bundle| b.units.len() > 1;
        let largest = bundles.iter().filter(divisible).map(|b| b.time).max();
        let Some(largest) = largest.filter(|_| !balanced) else {
            let mut parts = vec![Vec::new(); count];
            for (bundle, part) in bundles.into_iter().zip(part_of) {
                let ids = bundle.units.into_iter().flat_map(|u| u.experiments);
                parts[part].extend(ids);
            }
            return parts;
        };
        let undone = bundles
            .iter()
            .position(|b| b.units.len() > 1 && b.time == largest);
        if let Some(undone) = undone {
            let bundle = bundles.remove(undone);
            bundles.extend(bundle.units.into_iter().map(|u| Bundle::from(vec![u])));
        }
    }
}

/// The part of each item: the longest first, each to the part that has the least so far (Graham,
/// "Bounds on Multiprocessing Timing Anomalies", SIAM J. Appl. Math. 17, 1969).
fn share_out(times: &[u64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(times[*i]));
    let mut loads = vec![0u64; count];
    let mut part_of = vec![0; times.len()];
    for item in order {
        let least = (0..count).min_by_key(|part| loads[*part]).unwrap_or(0);
        loads[least] = loads[least].saturating_add(times[item]);
        part_of[item] = least;
    }
    part_of
}

fn longest(times: &[u64], part_of: &[usize], count: usize) -> u64 {
    let mut loads = vec![0u64; count];
    for (time, part) in times.iter().zip(part_of) {
        loads[*part] = loads[*part].saturating_add(*time);
    }
    loads.into_iter().max().unwrap_or(0)
}
