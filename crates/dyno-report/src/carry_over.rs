//! Whether earlier trials influenced the results of a trial: asked of every run, over its random order. Flows that ran
//! together are one trial in that order, with what each of them shows.

use crate::counted::counted_trials;
use crate::decoded::Samples;
use crate::number::exported;
use crate::remark::Item;
use crate::summary::{CarryOverFinding, CarryOverSummary};
use dyno_model::record::{Outcome, Run};
use dyno_model::{Experiment, ExperimentId, Plan, TrialId, TrialRecord};
use dyno_stats::{Memory, OrderedTrial};
use std::collections::{BTreeMap, BTreeSet};

/// The chance of any false alarm in one run.
const LEVEL: f64 = 0.05;
/// How long a kernel keeps fragments of datagrams that were never completed (`net.ipv4.ipfrag_time`).
const LINGERS: f64 = 30.0;
/// More than this between two trials is a pause of the run, and not part of the first one, in seconds.
const PAUSE: f64 = 10.0;
/// What trials are held against each other by.
const MEASURES: [&str; 2] = ["p50", "loss"];

/// Tests the order of a run; `None` where it had none to choose from, or where trials of several runs were
/// merged. `medians`: those of the headline metric, as far as they are computed already.
pub(crate) fn summarise(
    from: Samples<'_>,
    medians: &BTreeMap<TrialId, f64>,
    seed: u64,
) -> Option<CarryOverSummary> {
    let run = from.run;
    let plan = &run.manifest.plan;
    let ran = in_order(run)?;
    let suspects = Suspects::of(plan, &ran);
    let counted: BTreeSet<TrialId> = plan
        .here()
        .flat_map(|e| counted_trials(run, e.id))
        .map(|t| t.id)
        .collect();
    // Each flow is a series of its own within the trials of its experiment; what has no flows is one without a name.
    let flows: BTreeSet<Option<&str>> = ran.iter().flatten().map(|t| flow(plan, t)).collect();
    let shown_by = |together: &[&TrialRecord], wanted: Option<&str>| -> [f64; MEASURES.len()] {
        let trial = together.iter().find(|t| flow(plan, t) == wanted);
        match trial.filter(|t| counted.contains(&t.id)) {
            Some(trial) => values(from, trial, medians.get(&trial.id).copied()),
            None => [f64::NAN; MEASURES.len()],
        }
    };
    let trials: Vec<OrderedTrial> = ran
        .iter()
        .enumerate()
        .map(|(i, together)| {
            let lead = lead(plan, together[0]);
            let base = plan.experiment(lead).and_then(|e| e.base);
            OrderedTrial {
                experiment: lead.0 as usize,
                round: together[0].id.number,
                group: base.unwrap_or(lead).0 as usize,
                seconds: seconds(together[0], ran.get(i + 1).map(|next| next[0])),
                values: flows.iter().flat_map(|f| shown_by(together, *f)).collect(),
                suspects: suspects.numbers(plan, together),
            }
        })
        .collect();
    let found = dyno_stats::carry_over(&trials, &suspects.memories(), seed)?;
    let mut findings = Vec::new();
    let of_flows = || {
        flows
            .iter()
            .flat_map(|f| MEASURES.iter().map(move |m| (f, m)))
    };
    for (suspect, of_one) in suspects.0.iter().zip(&found.findings) {
        for ((flow, measure), finding) in of_flows().zip(of_one) {
            if finding.p <= LEVEL {
                findings.push(CarryOverFinding {
                    after: suspect.label.clone(),
                    measure,
                    flow: flow.map(str::to_owned),
                    p: exported(finding.p),
                    trials: finding.after,
                    higher: finding.higher.map(exported),
                });
            }
        }
    }
    findings.sort_by(|a, b| a.p.total_cmp(&b.p));
    let shown = trials
        .iter()
        .filter(|t| t.values.iter().any(|v| !v.is_nan()));
    Some(CarryOverSummary {
        trials: shown.count(),
        suspects: suspects.0.len(),
        p: exported(found.p),
        findings,
    })
}

/// The trials in the order in which they ran; those of flows that ran together share their place in it. `None` where
/// others do, as in merged runs.
fn in_order(run: &Run) -> Option<Vec<Vec<&TrialRecord>>> {
    let plan = &run.manifest.plan;
    let mut ran: BTreeMap<u32, Vec<&TrialRecord>> = BTreeMap::new();
    let known = run.trials.iter();
    for trial in known.filter(|t| plan.experiment(t.id.experiment).is_some()) {
        ran.entry(trial.position).or_default().push(trial);
    }
    let place = |t: &TrialRecord| (lead(plan, t), t.id.number);
    let is_one = |together: &Vec<&TrialRecord>| {
        let ids: BTreeSet<TrialId> = together.iter().map(|t| t.id).collect();
        ids.len() == together.len() && together.iter().all(|t| place(t) == place(together[0]))
    };
    ran.values()
        .all(is_one)
        .then(|| ran.into_values().collect())
}

/// The experiment whose trial it is: of flows that run together, that of the first.
fn lead(plan: &Plan, trial: &TrialRecord) -> ExperimentId {
    let own = trial.id.experiment;
    plan.experiment(own).map_or(own, Experiment::lead)
}

fn flow<'a>(plan: &'a Plan, trial: &TrialRecord) -> Option<&'a str> {
    let flow = plan.experiment(trial.id.experiment)?.flow.as_ref();
    flow.map(|flow| flow.name.as_str())
}

/// The time from the start of a trial to that of the next one.
fn seconds(trial: &TrialRecord, next: Option<&TrialRecord>) -> f64 {
    let own = trial.wall.as_secs_f64();
    let until = next.map_or(0, |n| {
        n.started_unix_ms.saturating_sub(trial.started_unix_ms)
    });
    let until = until as f64 / 1e3;
    match until > own && until < own + PAUSE {
        true => until,
        false => own,
    }
}

/// What a trial showed, in the order of [`MEASURES`].
fn values(from: Samples<'_>, trial: &TrialRecord, median: Option<f64>) -> [f64; MEASURES.len()] {
    let p50 = median.or_else(|| own_median(from, trial));
    let counts = &trial.counts;
    let loss = match counts.offered {
        0 => f64::NAN,
        offered => counts.lost as f64 / offered as f64,
    };
    [p50.unwrap_or(f64::NAN), loss]
}

/// The median of the trial's headline metric; infinite where that is a lost message.
fn own_median(from: Samples<'_>, trial: &TrialRecord) -> Option<f64> {
    let experiment = from.run.manifest.plan.experiment(trial.id.experiment)?;
    let mut candidates = experiment.headline().iter();
    let headline = candidates.find(|m| trial.distributions.contains_key(m))?;
    let samples = from.of_one(trial, *headline)?;
    let own = dyno_stats::trial_quantiles(std::slice::from_ref(&samples), 0.5);
    Some(own.into_iter().next()?.finite().unwrap_or(f64::INFINITY))
}

/// Whether a trial is one that may have left something behind.
type IsOne = Box<dyn Fn(&Plan, &TrialRecord) -> bool>;

struct Suspect {
    label: String,
    memory: Memory,
    is_one: IsOne,
}

struct Suspects(Vec<Suspect>);

impl Suspects {
    /// Each stack and each experiment where there are several, and what trials may leave behind.
    fn of(plan: &Plan, ran: &[Vec<&TrialRecord>]) -> Self {
        let mut all = Vec::new();
        let experiment = |t: &TrialRecord| plan.experiment(t.id.experiment);
        let names = |of: fn(&dyno_model::Experiment) -> &str| -> BTreeMap<String, usize> {
            let mut found = BTreeMap::new();
            for e in ran.iter().flatten().filter_map(|t| experiment(t)) {
                *found.entry(of(e).to_owned()).or_default() += 1;
            }
            found
        };
        for (kind, of) in [
            (
                "stack",
                (|e| &e.stack) as fn(&dyno_model::Experiment) -> &str,
            ),
            ("experiment", |e| &e.name),
        ] {
            let found = names(of);
            for name in found.keys().filter(|_| found.len() > 1).cloned() {
                all.push(Suspect {
                    label: format!("a trial of {kind} {name}"),
                    memory: Memory::Next,
                    is_one: Box::new(move |plan, t| {
                        plan.experiment(t.id.experiment)
                            .is_some_and(|e| of(e) == name)
                    }),
                });
            }
        }
        let lossy = |_: &Plan, t: &TrialRecord| t.counts.lost > 0;
        let failed = |_: &Plan, t: &TrialRecord| matches!(t.outcome, Outcome::Failed { .. });
        let lingers = format!("in the {LINGERS} s after a trial that lost messages");
        type Is = fn(&Plan, &TrialRecord) -> bool;
        for (label, memory, is_one) in [
            ("a trial that lost messages", Memory::Next, lossy as Is),
            (lingers.as_str(), Memory::Seconds(LINGERS), lossy),
            ("a trial that failed", Memory::Next, failed),
        ] {
            if ran.iter().flatten().any(|t| is_one(plan, t)) {
                all.push(Suspect {
                    label: label.to_owned(),
                    memory,
                    is_one: Box::new(is_one),
                });
            }
        }
        Suspects(all)
    }

    fn memories(&self) -> Vec<Memory> {
        self.0.iter().map(|s| s.memory).collect()
    }

    /// Those that any of these trials is, which ran together.
    fn numbers(&self, plan: &Plan, together: &[&TrialRecord]) -> Vec<usize> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, s)| together.iter().any(|t| (s.is_one)(plan, t)))
            .map(|(number, _)| number)
            .collect()
    }
}

/// What is to be said below a table.
pub(crate) fn remarks(summary: Option<&CarryOverSummary>) -> Vec<Item> {
    let sentences = summary.map(CarryOverSummary::sentences);
    let items = sentences.map(|(text, lines)| Item { text, lines });
    items.into_iter().collect()
}
