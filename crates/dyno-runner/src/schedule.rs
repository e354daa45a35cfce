//! Which trials a run still needs: those of the plan, one more for each that the host disturbed, and
//! as many as the precision asked for takes.

use crate::guide::Guide;
use crate::order::{self, Group};
use dyno_model::event::RunEvent;
use dyno_model::record::Outcome;
use dyno_model::{Experiment, ExperimentId, Metric, Plan, Precision, TrialId, TrialRecord};
use dyno_stats::{Bootstrap, Pairing, TrialSamples};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Pairs before the first look at the precision of a ratio. Stopping as soon as an interval is narrow
/// stops too often while the scatter is underestimated by luck: after five pairs a nominal false-alarm
/// rate of 5 % becomes up to 9.8 %, after ten up to 7.5 % (simulated in `dyno-stats`,
/// tests/it/false_alarms.rs).
const LEAST_COMPARED: u32 = 10;

/// So many trials beyond the plan's in a row that the host disturbed again end the repeats: on a host that
/// leaves one trial of three alone, nine of a hundred such rows are bad luck.
const IN_VAIN: u32 = 6;

/// Walks through a run's trials round by round.
pub(crate) struct Schedule<'p> {
    plan: &'p Plan,
    groups: Vec<Group>,
    state: BTreeMap<ExperimentId, State>,
    /// What is left of the current round.
    round: VecDeque<TrialId>,
    next_round: u32,
    /// The last trials beyond the plan's that the host disturbed again, in a row.
    in_vain: u32,
    /// That repeats ended has been said.
    told: bool,
}

/// What is known of one experiment.
#[derive(Default)]
struct State {
    /// Trials that are done, whatever their end.
    done: u32,
    /// The numbers of those among them that the host disturbed.
    disturbed: BTreeSet<u32>,
    /// Those that have a measurement, disturbed or not.
    completed: u32,
    /// Of trials that count, by number: the samples of the metric that the precision is about. Kept
    /// only where a precision was asked for.
    samples: BTreeMap<u32, TrialSamples>,
    /// The precision has been reached.
    precise: bool,
    /// Trials that count at the next look at the precision.
    next_look: u32,
}

impl State {
    fn counted(&self) -> u32 {
        self.done - self.disturbed.len() as u32
    }
}

impl<'p> Schedule<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let groups = order::groups(plan);
        let state = plan.experiments.iter().map(|e| (e.id, State::default()));
        Schedule {
            plan,
            groups,
            state: state.collect(),
            round: VecDeque::new(),
            next_round: 0,
            in_vain: 0,
            told: false,
        }
    }

    /// Whether a trial of the current round is still needed: repeats may have ended within it.
    fn is_wanted(&self, id: TrialId, elapsed: Duration) -> bool {
        if self.in_vain < IN_VAIN {
            return true;
        }
        let Some(group) = self.groups.iter().find(|g| g.contains(&id.experiment)) else {
            return true;
        };
        // What is compared counts in pairs: the other side of this round may have been measured.
        let done = |id: &ExperimentId| self.state[id].done;
        let begun = group.iter().any(|other| done(other) > done(&id.experiment));
        begun || self.is_open(group, elapsed)
    }

    /// What is left of the current round, with all flows of each.
    fn due(&self) -> usize {
        let flows = |id: &TrialId| 1 + self.plan.beside(*id).len();
        self.round.iter().map(flows).sum()
    }

    /// How many rounds of a group are repeated: those in which the host disturbed any of it, since
    /// what is compared counts in pairs. None where repeats have proved to be in vain.
    fn repeats(&self, group: &Group) -> u32 {
        if self.in_vain >= IN_VAIN {
            return 0;
        }
        let disturbed: BTreeSet<u32> = group
            .iter()
            .flat_map(|id| &self.state[id].disturbed)
            .copied()
            .collect();
        (disturbed.len() as u32).min(self.plan.repeats)
    }

    /// Whether any experiment of the group needs a further trial: then all of it gets one.
    fn is_open(&self, group: &Group, elapsed: Duration) -> bool {
        let experiments = group.iter().filter_map(|id| self.plan.experiment(*id));
        experiments.into_iter().any(|e| {
            let state = &self.state[&e.id];
            let least = e.trials;
            if state.done < least {
                return true;
            }
            let repeats = self.repeats(group);
            if state.done < least + repeats {
                return true;
            }
            let Some(precision) = &self.plan.precision else {
                return false;
            };
            let in_time = precision
                .max_time
                .is_none_or(|longest| elapsed < Duration::from(longest));
            // A base is as precise as what is compared with it.
            let asks = !self.plan.is_base(e.id);
            // An experiment that only fails must not go on for ever.
            let tries = precision.max_trials + self.plan.repeats;
            // Times of what is counted are nobody's figures.
            asks && !e.counted
                && !state.precise
                && in_time
                && state.counted() < precision.max_trials
                && state.done < tries
                && state.completed > 0
        })
    }

    fn look_at_precision(&mut self) {
        let Some(precision) = self.plan.precision else {
            return;
        };
        for e in self.plan.here() {
            let state = &self.state[&e.id];
            let least = match e.base {
                Some(_) => LEAST_COMPARED,
                None => e.trials,
            };
            if state.counted() < least.max(state.next_look) || state.samples.is_empty() {
                continue;
            }
            let reached = match e.base {
                Some(base) => compared(e, state, &self.state[&base], precision.quantile),
                None => alone(state, precision.quantile),
            }
            .is_some_and(|within| within <= precision.within);
            if let Some(state) = self.state.get_mut(&e.id) {
                state.precise = reached;
                // Seldom looks stop less often by luck, and cost less.
                state.next_look = state.counted() + (state.counted() / 10).max(1);
            }
        }
    }
}

impl Guide for Schedule<'_> {
    /// The next trial; nothing when no experiment needs one. `elapsed` is how long the run has taken.
    fn next(&mut self, elapsed: Duration) -> Option<TrialId> {
        loop {
            if self.round.is_empty() {
                self.look_at_precision();
                let open: Vec<Group> = self
                    .groups
                    .iter()
                    .filter(|g| self.is_open(g, elapsed))
                    .cloned()
                    .collect();
                self.round = order::round(self.plan, self.next_round, open).into();
                self.next_round += 1;
            }
            let id = self.round.pop_front()?;
            if self.is_wanted(id, elapsed) {
                return Some(id);
            }
        }
    }

    /// Takes note of a trial that is done.
    fn note(&mut self, record: &TrialRecord) {
        let Some(experiment) = self.plan.experiment(record.id.experiment) else {
            return;
        };
        let state = self.state.entry(experiment.id).or_default();
        state.done += 1;
        state.completed += u32::from(matches!(record.outcome, Outcome::Completed));
        // Flows that run at the same time are disturbed at the same time: their first counts.
        let leads = experiment.lead() == experiment.id;
        let beyond = leads && record.id.number >= experiment.trials;
        if !record.disturbed.is_empty() {
            state.disturbed.insert(record.id.number);
            self.in_vain += u32::from(beyond);
            return;
        }
        if beyond {
            self.in_vain = 0;
        }
        if let Some(precision) = &self.plan.precision
            && matches!(record.outcome, Outcome::Completed)
            && let Some(d) = record.distributions.get(&metric(experiment, precision))
            // Written by this very run, or checked when it was read for a resume; a damaged one
            // only makes the run look for more.
            && let Ok(samples) = TrialSamples::from_distribution(d)
        {
            state.samples.insert(record.id.number, samples);
        }
    }

    /// Trials of the run as far as it is known: those done and those that follow for certain.
    fn known(&self) -> usize {
        let of_groups = self.groups.iter().map(|group| {
            let least = group.iter().filter_map(|id| self.plan.experiment(*id));
            least
                .map(|e| {
                    let state = &self.state[&e.id];
                    state.done.max(e.trials + self.repeats(group)) as usize
                })
                .sum::<usize>()
        });
        let done: usize = self.state.values().map(|s| s.done as usize).sum();
        of_groups.sum::<usize>().max(done + self.due())
    }

    /// That repeats do not help on this host, once that is so.
    fn news(&mut self) -> Vec<RunEvent> {
        let says = self.in_vain >= IN_VAIN && !self.told;
        self.told |= says;
        let remark = says.then(|| {
            format!(
                "Dyno repeats no more disturbed trials, because the host disturbed the last \
                 {IN_VAIN} repeats as well; `dyno doctor` shows what keeps the host busy"
            )
        });
        remark.map(RunEvent::Warning).into_iter().collect()
    }
}

/// The metric that the precision is about.
pub(crate) fn metric(experiment: &Experiment, precision: &Precision) -> Metric {
    let headline = experiment.headline();
    precision.metric.unwrap_or(headline[0])
}

fn alone(state: &State, q: f64) -> Option<f64> {
    let samples: Vec<TrialSamples> = state.samples.values().cloned().collect();
    let found = dyno_stats::quantile(&samples, q, &Bootstrap::default());
    found.interval().map(dyno_stats::within)
}

fn compared(experiment: &Experiment, new: &State, base: &State, q: f64) -> Option<f64> {
    let of = |samples: &TrialSamples| {
        let one = std::slice::from_ref(samples);
        let own = dyno_stats::trial_quantiles(one, q).into_iter().next()?;
        Some(own.finite().unwrap_or(f64::INFINITY))
    };
    let pairs = new.samples.iter().filter_map(|(number, n)| {
        let b = base.samples.get(number)?;
        match experiment.slices {
            Some(_) => dyno_stats::slice_quantiles(n, b, q),
            None => Some((of(n)?, of(b)?)),
        }
    });
    let (news, bases): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let ratio = dyno_stats::ratio(
        &news,
        &bases,
        Pairing::Paired,
        Bootstrap::default().confidence,
    )?;
    Some(dyno_stats::within(&ratio.estimate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::plan::{Host, Reach, Testbed};
    use dyno_model::{Against, Distribution, Nanos, PayloadSize, Shard, Workload};

    fn experiment(id: u32, base: Option<u32>) -> Experiment {
        let workload = Workload::PingPong {
            gap: Nanos::ZERO,
            timeout: Nanos::from_secs(1),
        };
        let payload = PayloadSize::new(64).unwrap();
        Experiment {
            trials: 3,
            base: base.map(ExperimentId),
            ..Experiment::blank(ExperimentId(id), "s", workload, payload)
        }
    }

    fn plan(experiments: Vec<Experiment>) -> Plan {
        Plan {
            suite: "x".into(),
            title: "x".into(),
            table: "stacks".into(),
            seed: 7,
            testbed: Testbed {
                name: "local".into(),
                description: String::new(),
                keeps_state: false,
                hosts: vec![Host {
                    name: "here".into(),
                    reach: Reach::Local,
                    address: "127.0.0.1".into(),
                    link: None,
                    own_clock: false,
                }],
            },
            stacks: BTreeMap::new(),
            experiments,
            refused: Vec::new(),
            warnings: Vec::new(),
            against: None,
            precision: None,
            repeats: 2,
            search: None,
            shard: None,
            more: Vec::new(),
        }
    }

    /// A trial whose samples all lie around `level`; `level` 0: disturbed.
    fn trial(id: TrialId, level: u64) -> TrialRecord {
        let mut recorder = dyno_measure::Recorder::by_count(10, 10);
        recorder.begin(Nanos::ZERO);
        for i in 0..100 {
            recorder.record(Nanos::ZERO, Nanos(level.max(1_000) + i));
        }
        let distribution: Distribution = recorder.finish(0).unwrap();
        let mut record = crate::aggregate::blank(id, 0);
        record.distributions.insert(Metric::Rtt, distribution);
        if level == 0 {
            record
                .disturbed
                .push(dyno_model::Cause::Told("the host did something".into()));
        }
        record
    }

    /// Runs the schedule; `level` says what each trial measures.
    fn walk(plan: &Plan, level: impl Fn(TrialId) -> u64) -> Vec<TrialId> {
        let mut schedule = Schedule::new(plan);
        let mut ids = Vec::new();
        while let Some(id) = schedule.next(Duration::ZERO) {
            schedule.note(&trial(id, level(id)));
            ids.push(id);
            assert!(schedule.known() >= ids.len());
            assert!(ids.len() < 10_000, "it ends");
        }
        assert_eq!(schedule.known(), ids.len());
        ids
    }

    fn count(ids: &[TrialId], experiment: u32) -> usize {
        ids.iter()
            .filter(|id| id.experiment.0 == experiment)
            .count()
    }

    #[test]
    fn a_calm_run_is_the_plan_in_its_order() {
        let plan = plan(vec![experiment(0, None), experiment(1, None)]);
        let ids = walk(&plan, |_| 10_000);
        assert_eq!(ids, crate::order(&plan));
        assert_eq!((count(&ids, 0), count(&ids, 1)), (3, 3));
    }

    #[test]
    fn a_part_runs_its_own_experiments_alone() {
        let mut plan = plan(vec![
            experiment(0, None),
            experiment(1, None),
            experiment(2, Some(1)),
        ]);
        plan.shard = Some(Shard {
            index: 2,
            count: 2,
            experiments: vec![ExperimentId(1), ExperimentId(2)],
        });
        let ids = walk(&plan, |_| 10_000);
        assert_eq!(ids, crate::order(&plan));
        let counts = [0, 1, 2].map(|experiment| count(&ids, experiment));
        assert_eq!(counts, [0, 3, 3]);
        assert_eq!(plan.trial_count(), 6);
    }

    #[test]
    fn disturbed_trials_are_repeated_so_often_and_no_oftener() {
        let plan = plan(vec![experiment(0, None), experiment(1, None)]);
        let once = walk(&plan, |id| {
            u64::from(id.number != 1 || id.experiment.0 == 1) * 10_000
        });
        assert_eq!((count(&once, 0), count(&once, 1)), (4, 3));
        let always = walk(&plan, |id| u64::from(id.experiment.0 == 1) * 10_000);
        assert_eq!((count(&always, 0), count(&always, 1)), (5, 3));
    }

    #[test]
    fn repeats_end_where_the_host_disturbs_them_all() {
        let mut plan = plan((0..10).map(|i| experiment(i, None)).collect());
        plan.repeats = 5;
        let mut schedule = Schedule::new(&plan);
        let (mut n, mut said) = (0, Vec::new());
        while let Some(id) = schedule.next(Duration::ZERO) {
            schedule.note(&trial(id, 0));
            said.extend(schedule.news());
            n += 1;
        }
        assert_eq!(n, 30 + IN_VAIN);
        assert_eq!(schedule.known(), n as usize);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            matches!(&said[0], RunEvent::Warning(text) if text.contains("repeats no more")),
            "{said:?}"
        );
        // Where every other repeat is calm, they go on.
        let ids = walk(&plan, |id| {
            let calm = id.number >= 3 && (id.number + id.experiment.0) % 2 == 0;
            u64::from(calm) * 10_000
        });
        assert_eq!(ids.len(), 10 * (3 + 3 + 2), "at most so many of each");
    }

    #[test]
    fn a_pair_is_measured_side_by_side_and_repeated_together() {
        let mut plan = plan(vec![
            experiment(0, Some(2)),
            experiment(1, None),
            experiment(2, None),
        ]);
        plan.against = Some(Against::Same);
        let ids = walk(&plan, |id| {
            u64::from(id.number != 0 || id.experiment.0 != 2) * 10_000
        });
        assert_eq!((count(&ids, 0), count(&ids, 2), count(&ids, 1)), (4, 4, 3));
        // One side disturbed in one round, the other in another: two pairs are incomplete.
        let ids_of_two = walk(&plan, |id| {
            let disturbed = [(0, 0), (2, 1)].contains(&(id.experiment.0, id.number));
            u64::from(!disturbed) * 10_000
        });
        assert_eq!((count(&ids_of_two, 0), count(&ids_of_two, 2)), (5, 5));
        for number in 0..3 {
            let at = |e| {
                let wanted = TrialId {
                    experiment: ExperimentId(e),
                    number,
                };
                ids.iter().position(|id| *id == wanted).unwrap()
            };
            assert_eq!(at(0).abs_diff(at(2)), 1, "round {number}");
        }
    }

    #[test]
    fn trials_are_added_until_the_precision_or_the_limit_is_reached() {
        let mut plan = plan(vec![experiment(0, None), experiment(1, None)]);
        plan.precision = Some(Precision {
            within: 0.05,
            metric: None,
            quantile: 0.5,
            max_trials: 40,
            max_time: None,
        });
        // Experiment 0 is calm; experiment 1 scatters by 10 % and needs more.
        let ids = walk(&plan, |id| {
            let wobble = u64::from(id.number * 7 % 5) * 500;
            10_000 + u64::from(id.experiment.0) * wobble
        });
        assert_eq!(count(&ids, 0), 3);
        assert!((6..=40).contains(&count(&ids, 1)), "{}", count(&ids, 1));
        // A series that never gets narrow ends at the limit.
        let ids = walk(&plan, |id| 10_000 << (id.number % 3));
        assert_eq!((count(&ids, 0), count(&ids, 1)), (40, 40));
    }

    #[test]
    fn no_trial_is_added_after_the_longest_time() {
        let mut plan = plan(vec![experiment(0, None)]);
        plan.precision = Some(Precision {
            within: 0.001,
            metric: None,
            quantile: 0.5,
            max_trials: 1_000,
            max_time: Some(Nanos::from_secs(5)),
        });
        let mut schedule = Schedule::new(&plan);
        let mut n = 0;
        while let Some(id) = schedule.next(Duration::from_secs(n)) {
            schedule.note(&trial(id, 10_000 << (id.number % 3)));
            n += 1;
        }
        assert_eq!(n, 5);
    }

    #[test]
    fn who_follows_a_run_knows_its_current_trial() {
        let plan = plan(vec![experiment(0, None), experiment(1, None)]);
        // A resumed run: one trial of the last round is there already.
        let early = *crate::order(&plan).last().unwrap();
        let mut follow = crate::Follow::new(&plan);
        follow.note(&trial(early, 10_000));
        let mut seen = Vec::new();
        while let Some(id) = follow.current(Duration::ZERO) {
            assert_eq!(
                follow.current(Duration::ZERO),
                Some(id),
                "until it is stored"
            );
            seen.push(id);
            // The first one is disturbed: one more follows.
            follow.note(&trial(id, u64::from(seen.len() > 1) * 10_000));
        }
        assert_eq!(seen.len(), crate::order(&plan).len() - 1 + 1);
        assert_eq!(follow.known(), seen.len() + 1);
        assert!(!seen.contains(&early));
    }

    #[test]
    fn an_experiment_that_only_fails_ends() {
        let mut plan = plan(vec![experiment(0, None)]);
        plan.precision = Some(Precision {
            within: 0.05,
            metric: None,
            quantile: 0.5,
            max_trials: 40,
            max_time: None,
        });
        let mut schedule = Schedule::new(&plan);
        let mut n = 0;
        while let Some(id) = schedule.next(Duration::ZERO) {
            let mut record = crate::aggregate::blank(id, 0);
            record.outcome = Outcome::Failed {
                kind: dyno_model::record::FailureKind::Crash,
                step: "window".into(),
                cause: dyno_model::cause::FailureCause::Interrupted.into(),
                stderr: Vec::new(),
            };
            schedule.note(&record);
            n += 1;
        }
        assert_eq!(n, 3);
    }
}
