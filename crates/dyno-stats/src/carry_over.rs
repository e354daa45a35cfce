//! Whether what ran before a trial changes what the trial shows: a randomisation test over the order of a run.
//!
//! The order of trials is random within each round, so the order that was run is one of many that could have
//! been, all alike. If what ran before makes no difference, each trial would have shown the same in every
//! other order, also where the machine drifts from round to round. So the orders are drawn again, and what
//! the real one shows is held against them (Fisher, *The Design of Experiments*, 1935; Edgington and
//! Onghena, *Randomization Tests*, 2007, chapter 3).
//!
//! Every suspect and every measure has a statistic: the sum, over the trials that it came before, of their
//! centred ranks within their experiment (van Elteren, Bulletin of the ISI 37, 1960), standardised over the
//! drawn orders. The largest of all of them in each drawn order is what each is held against, so that the
//! chance of any false alarm in the whole run is the level (Westfall and Young, *Resampling-Based Multiple
//! Testing*, 1993, section 2.3).

use crate::rank::doubled_ranks;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;

/// Drawn orders, the real one not among them. The smallest p is one over this and one.
const ORDERS: usize = 1_999;
/// Orders that are held at once.
const AT_ONCE: usize = 50;
/// With fewer orders that could have been, even the rarest could not be told from chance at 5 %.
const LEAST_ORDERS: f64 = 20.0;

/// How long what a suspect leaves behind is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Memory {
    /// In the very next trial.
    Next,
    /// In all trials that begin within so many seconds of its end.
    Seconds(f64),
}

/// A trial in the order of its run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OrderedTrial {
    /// The experiment: trials of one are alike but for what ran before them.
    pub experiment: usize,
    /// The round: its trials could have been run in another order.
    pub round: u32,
    /// Trials of a round that stay side by side, whatever their order.
    pub group: usize,
    /// How long it took, with what came between it and the next one.
    pub seconds: f64,
    /// What it showed, one value for each measure; higher is worse, infinite is worst. NaN: nothing.
    pub values: Vec<f64>,
    /// The suspects that it is one of, as indices.
    pub suspects: Vec<usize>,
}

/// What the test says of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CarryOver {
    /// One for each suspect and measure, in this order.
    pub findings: Vec<Vec<Finding>>,
    /// The chance of what the most suspicious of them shows, or more, if nothing carries over.
    pub p: f64,
}

/// What the trials after one suspect show in one measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// The chance that any suspect and measure of the run shows as much if nothing carries over.
    pub p: f64,
    /// Of all pairs of a trial after the suspect and one of the same experiment that was not after it: the
    /// share in which the former is the higher one, equal ones by half. `None` without a pair.
    pub higher: Option<f64>,
    /// Trials after the suspect that show anything.
    pub after: usize,
}

/// Tests whether trials that ran after a suspect differ from others of their experiment. `None` where the
/// run has too few orders for that, or nothing that differs.
///
/// `trials` stand in the order in which they ran; each has as many values as every other.
pub fn carry_over(trials: &[OrderedTrial], memories: &[Memory], seed: u64) -> Option<CarryOver> {
    let measures = trials.first()?.values.len();
    let rounds = Rounds::of(trials);
    if memories.is_empty() || measures == 0 || rounds.orders() < LEAST_ORDERS {
        return None;
    }
    let ranks: Vec<Vec<f64>> = (0..measures).map(|m| centred_ranks(trials, m)).collect();
    let statistics = |order: &[usize]| -> Vec<f64> {
        let mut sums = vec![0.0; memories.len() * measures];
        exposed(trials, memories, order, |suspect, trial| {
            for (measure, ranks) in ranks.iter().enumerate() {
                sums[suspect * measures + measure] += ranks[trial];
            }
        });
        sums
    };
    let real: Vec<usize> = (0..trials.len()).collect();
    let mut drawn = vec![statistics(&real)];
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // Drawn one after the other, some at a time, so that equal seeds give equal orders and few are held at once.
    let mut orders = vec![real.clone(); AT_ONCE];
    while drawn.len() <= ORDERS {
        let left = ORDERS + 1 - drawn.len();
        orders.truncate(left);
        for order in &mut orders {
            rounds.draw(&mut random, order);
        }
        drawn.extend(dyno_parallel::map(&orders, |order| statistics(order)));
    }
    standardise(&mut drawn);
    if drawn[0].iter().all(|z| *z == 0.0) && drawn.iter().flatten().all(|z| *z == 0.0) {
        return None;
    }
    let mut largest: Vec<f64> = drawn
        .iter()
        .map(|all| all.iter().fold(0.0, |a: f64, z| a.max(z.abs())))
        .collect();
    largest.sort_by(f64::total_cmp);
    let chance = |z: f64| {
        // What differs by rounding alone is as large.
        let below = largest.partition_point(|l| *l < z.abs() - 1e-9);
        (largest.len() - below) as f64 / largest.len() as f64
    };
    let mut after = vec![Vec::new(); memories.len()];
    exposed(trials, memories, &real, |suspect, trial| {
        after[suspect].push(trial);
    });
    let finding = |suspect: usize, measure: usize| {
        let (after, shown) = (&after[suspect], |t: &usize| {
            !trials[*t].values[measure].is_nan()
        });
        Finding {
            p: chance(drawn[0][suspect * measures + measure]),
            higher: higher(trials, after, measure),
            after: after.iter().filter(|t| shown(t)).count(),
        }
    };
    let findings: Vec<Vec<Finding>> = (0..memories.len())
        .map(|suspect| (0..measures).map(|m| finding(suspect, m)).collect())
        .collect();
    let p = findings.iter().flatten().map(|f| f.p).fold(1.0, f64::min);
    Some(CarryOver { findings, p })
}

/// Which trials have which places, and which of them could change theirs.
struct Rounds {
    /// Of each round: its places in ascending order, and the trials of each of its groups.
    rounds: Vec<(Vec<usize>, Vec<Vec<usize>>)>,
}

impl Rounds {
    fn of(trials: &[OrderedTrial]) -> Self {
        type Groups = BTreeMap<usize, Vec<usize>>;
        let mut rounds: BTreeMap<u32, (Vec<usize>, Groups)> = BTreeMap::new();
        for (place, trial) in trials.iter().enumerate() {
            let (places, groups) = rounds.entry(trial.round).or_default();
            places.push(place);
            groups.entry(trial.group).or_default().push(place);
        }
        let rounds = rounds.into_values();
        Rounds {
            rounds: rounds
                .map(|(places, groups)| (places, groups.into_values().collect()))
                .collect(),
        }
    }

    /// How many orders could have been; may be infinite.
    fn orders(&self) -> f64 {
        let factorial = |n: usize| (2..=n).map(|i| i as f64).product::<f64>();
        let of_round = |(_, groups): &(Vec<usize>, Vec<Vec<usize>>)| {
            let within: f64 = groups.iter().map(|g| factorial(g.len())).product();
            factorial(groups.len()) * within
        };
        self.rounds.iter().map(of_round).product()
    }

    /// Another order: the trial at each place.
    fn draw(&self, random: &mut ChaCha8Rng, order: &mut [usize]) {
        let (mut groups, mut trials) = (Vec::new(), Vec::new());
        for (places, of_round) in &self.rounds {
            groups.clear();
            groups.extend(of_round);
            groups.shuffle(random);
            trials.clear();
            for group in &groups {
                let first = trials.len();
                trials.extend_from_slice(group);
                trials[first..].shuffle(random);
            }
            for (place, trial) in places.iter().zip(&trials) {
                order[*place] = *trial;
            }
        }
    }
}

/// Calls `each` with every suspect and every trial that ran after it in this order.
fn exposed(
    trials: &[OrderedTrial],
    memories: &[Memory],
    order: &[usize],
    mut each: impl FnMut(usize, usize),
) {
    let lasting = memories
        .iter()
        .enumerate()
        .filter_map(|(i, memory)| match memory {
            Memory::Next => None,
            Memory::Seconds(seconds) => Some((i, *seconds)),
        });
    let lasting: Vec<(usize, f64)> = lasting.collect();
    // When each suspect of a longer memory was last seen to end.
    let mut ended = vec![f64::NEG_INFINITY; memories.len()];
    let mut before: &[usize] = &[];
    let mut now = 0.0;
    for trial in order {
        for suspect in before {
            if matches!(memories.get(*suspect), Some(Memory::Next)) {
                each(*suspect, *trial);
            }
        }
        for (suspect, seconds) in &lasting {
            if now - ended[*suspect] < *seconds {
                each(*suspect, *trial);
            }
        }
        let OrderedTrial {
            seconds, suspects, ..
        } = &trials[*trial];
        now += seconds;
        for suspect in suspects {
            if let Some(ended) = ended.get_mut(*suspect) {
                *ended = now;
            }
        }
        before = suspects;
    }
}

/// The ranks of one measure within each experiment, between −1 and 1 and 0 on average; 0 where nothing is shown.
fn centred_ranks(trials: &[OrderedTrial], measure: usize) -> Vec<f64> {
    let mut ranks = vec![0.0; trials.len()];
    let mut experiments: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, trial) in trials.iter().enumerate() {
        if !trial.values[measure].is_nan() {
            experiments.entry(trial.experiment).or_default().push(i);
        }
    }
    for of_one in experiments.values() {
        let values: Vec<f64> = of_one.iter().map(|i| trials[*i].values[measure]).collect();
        let n = values.len() as f64;
        for (i, doubled) in of_one.iter().zip(doubled_ranks(&values)) {
            ranks[*i] = (doubled as f64 - (n + 1.0)) / n;
        }
    }
    ranks
}

/// Brings each statistic to mean 0 and variance 1 over all orders; one that never differs becomes 0.
fn standardise(drawn: &mut [Vec<f64>]) {
    let n = drawn.len() as f64;
    for i in 0..drawn[0].len() {
        let mean = drawn.iter().map(|d| d[i]).sum::<f64>() / n;
        let variance = drawn.iter().map(|d| (d[i] - mean).powi(2)).sum::<f64>() / n;
        let deviation = variance.sqrt();
        for d in drawn.iter_mut() {
            d[i] = match deviation > 1e-9 {
                true => (d[i] - mean) / deviation,
                false => 0.0,
            };
        }
    }
}

fn higher(trials: &[OrderedTrial], after: &[usize], measure: usize) -> Option<f64> {
    let mut is_after = vec![false; trials.len()];
    for trial in after {
        is_after[*trial] = true;
    }
    // Of each experiment: the values of the trials after it, and those of the others.
    let mut experiments: BTreeMap<usize, [Vec<f64>; 2]> = BTreeMap::new();
    for (trial, is_after) in trials.iter().zip(is_after) {
        let value = trial.values[measure];
        if !value.is_nan() {
            experiments.entry(trial.experiment).or_default()[usize::from(!is_after)].push(value);
        }
    }
    let (mut pairs, mut won) = (0.0, 0.0);
    for [ours, others] in experiments.values_mut() {
        others.sort_unstable_by(f64::total_cmp);
        pairs += ours.len() as f64 * others.len() as f64;
        for value in ours {
            let lower = others.partition_point(|o| o.total_cmp(value).is_lt());
            let equal = others[lower..].partition_point(|o| o.total_cmp(value).is_eq());
            won += lower as f64 + 0.5 * equal as f64;
        }
    }
    (pairs > 0.0).then(|| won / pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::Rng;

    /// A run of `rounds` rounds of `experiments` experiments in random order. What a trial shows is noise, a
    /// drift, and what `carried` says of the experiment before it.
    fn run(
        rounds: u32,
        experiments: usize,
        seed: u64,
        carried: impl Fn(Option<usize>) -> f64,
    ) -> Vec<OrderedTrial> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut trials: Vec<OrderedTrial> = Vec::new();
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..experiments).collect();
            order.shuffle(&mut random);
            for experiment in order {
                let before = trials.last().map(|t| t.experiment);
                let noise: f64 = random.random();
                let value =
                    experiment as f64 * 10.0 + f64::from(round) * 0.1 + noise + carried(before);
                trials.push(OrderedTrial {
                    experiment,
                    round,
                    group: experiment,
                    seconds: 1.0,
                    values: vec![value],
                    suspects: vec![experiment],
                });
            }
        }
        trials
    }

    fn next(experiments: usize) -> Vec<Memory> {
        vec![Memory::Next; experiments]
    }

    #[test]
    fn false_alarms_over_the_whole_run_are_one_in_twenty() {
        let tries = 400;
        let alarms = (0..tries)
            .filter_map(|seed| carry_over(&run(8, 5, seed, |_| 0.0), &next(5), 1))
            .filter(|found| found.p <= 0.05)
            .count();
        // 20 are expected; more than 35 have a chance of 1 in 1,000.
        assert!(alarms <= 35, "{alarms} of {tries}");
    }

    /// The same run where the first three experiments have three flows, with a measure for each, which move together in
    /// part; the others have none of these.
    fn with_flows(mut trials: Vec<OrderedTrial>, seed: u64) -> Vec<OrderedTrial> {
        let mut random = ChaCha8Rng::seed_from_u64(seed + 1_000);
        for trial in &mut trials {
            let own = trial.values[0];
            let mut flow = || own + random.random::<f64>();
            trial.values = match trial.experiment {
                0..3 => vec![f64::NAN, flow(), flow(), flow()],
                _ => vec![own, f64::NAN, f64::NAN, f64::NAN],
            };
        }
        trials
    }

    #[test]
    fn false_alarms_over_all_flows_are_one_in_twenty_too() {
        let tries = 400;
        let alarms = (0..tries)
            .filter_map(|seed| carry_over(&with_flows(run(8, 5, seed, |_| 0.0), seed), &next(5), 1))
            .filter(|found| found.p <= 0.05)
            .count();
        // 20 are expected; more than 35 have a chance of 1 in 1,000.
        assert!(alarms <= 35, "{alarms} of {tries}");
    }

    #[test]
    fn what_is_left_to_one_flow_of_the_next_trial_is_found() {
        let found = (0..40)
            .filter_map(|seed| {
                let mut trials = with_flows(run(12, 5, seed, |_| 0.0), seed);
                for i in 1..trials.len() {
                    if trials[i - 1].experiment == 4 {
                        trials[i].values[3] += 3.0;
                    }
                }
                carry_over(&trials, &next(5), 1)
            })
            .filter(|found| found.findings[4][3].p <= 0.05 && found.findings[4][3].p == found.p)
            .count();
        assert!(found >= 36, "{found} of 40");
    }

    #[test]
    fn what_one_experiment_leaves_to_the_next_trial_is_found_and_named() {
        let found = (0..40)
            .filter_map(|seed| {
                let leaves = |before| if before == Some(2) { 1.5 } else { 0.0 };
                carry_over(&run(8, 5, seed, leaves), &next(5), 1)
            })
            .filter(|found| {
                let worst = found.findings[2][0];
                worst.p <= 0.05 && worst.p == found.p && worst.higher > Some(0.8)
            })
            .count();
        assert!(found >= 38, "{found} of 40");
    }

    #[test]
    fn what_stays_for_a_time_is_found_by_that_time() {
        let trials = |seed| {
            let mut trials = run(40, 3, seed, |_| 0.0);
            let mut lossy = f64::NEG_INFINITY;
            let mut random = ChaCha8Rng::seed_from_u64(seed + 1);
            for (i, trial) in trials.iter_mut().enumerate() {
                let now = i as f64;
                trial.suspects.clear();
                if now - lossy < 6.0 {
                    trial.values[0] = f64::INFINITY;
                }
                if trial.experiment == 0 && random.random::<f64>() < 0.2 {
                    trial.suspects.push(0);
                    lossy = now + 1.0;
                }
            }
            trials
        };
        for seed in 0..10 {
            let found = carry_over(&trials(seed), &[Memory::Seconds(6.0)], 1).unwrap();
            assert!(
                found.p < 0.05 && found.findings[0][0].higher > Some(0.9),
                "{found:?}"
            );
        }
    }

    #[test]
    fn where_no_other_order_could_have_been_nothing_is_said() {
        assert_eq!(carry_over(&[], &next(1), 1), None);
        assert_eq!(carry_over(&run(9, 1, 3, |_| 0.0), &next(1), 1), None);
        assert_eq!(carry_over(&run(2, 3, 3, |_| 0.0), &[], 1), None);
        let mut equal = run(8, 3, 3, |_| 0.0);
        equal.iter_mut().for_each(|t| t.values[0] = 1.0);
        assert_eq!(carry_over(&equal, &next(3), 1), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn only_the_order_of_values_matters(seed in 0u64..1000, rounds in 4u32..7) {
            let trials = run(rounds, 4, seed, |_| 0.0);
            let mut others = trials.clone();
            for t in &mut others {
                t.values[0] = if t.values[0] > 35.0 { f64::INFINITY } else { t.values[0].exp() };
            }
            let mut cut = trials.clone();
            for t in &mut cut {
                t.values[0] = t.values[0].min(35.0);
            }
            let (a, b) = (carry_over(&cut, &next(4), 7), carry_over(&others, &next(4), 7));
            prop_assert_eq!(a, b);
        }

        #[test]
        fn chances_are_chances_and_equal_runs_give_equal_answers(seed in 0u64..1000) {
            let trials = run(5, 4, seed, |_| 0.0);
            let found = carry_over(&trials, &next(4), seed).unwrap();
            let again = carry_over(&trials, &next(4), seed);
            prop_assert_eq!(Some(&found), again.as_ref());
            for f in found.findings.iter().flatten() {
                prop_assert!(f.p > 0.0 && f.p <= 1.0 && f.p >= found.p);
                prop_assert!(f.higher.is_none_or(|h| (0.0..=1.0).contains(&h)));
                prop_assert!(f.after <= trials.len());
            }
        }

        #[test]
        fn the_names_of_experiments_and_groups_do_not_matter(seed in 0u64..1000) {
            let trials = run(5, 4, seed, |_| 0.0);
            let mut renamed = trials.clone();
            for t in &mut renamed {
                t.experiment += 100;
            }
            prop_assert_eq!(
                carry_over(&trials, &next(4), 3),
                carry_over(&renamed, &next(4), 3)
            );
        }
    }
}
