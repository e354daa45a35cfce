//! Whether what ran before a trial changed what it shows: asked of every run, over its random order.

use crate::counted::counted_trials;
use crate::decoded::Samples;
use crate::number::exported;
use crate::remark::Item;
use crate::summary::{CarryOverFinding, CarryOverSummary};
use crate::text::clean;
use dyno_model::record::Outcome;
use dyno_model::{Plan, TrialId, TrialRecord};
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
    let mut ran: Vec<&TrialRecord> = run
        .trials
        .iter()
        .filter(|t| plan.experiment(t.id.experiment).is_some())
        .collect();
    ran.sort_by_key(|t| t.position);
    let positions: BTreeSet<u32> = ran.iter().map(|t| t.position).collect();
    if positions.len() < ran.len() {
        return None;
    }
    let suspects = Suspects::of(plan, &ran);
    let counted: BTreeSet<TrialId> = plan
        .here()
        .flat_map(|e| counted_trials(run, e.id))
        .map(|t| t.id)
        .collect();
    let trials: Vec<OrderedTrial> = ran
        .iter()
        .enumerate()
        .map(|(i, trial)| {
            let experiment = plan.experiment(trial.id.experiment);
            let group = experiment.map_or(trial.id.experiment, |e| e.base.unwrap_or(e.id));
            OrderedTrial {
                experiment: trial.id.experiment.0 as usize,
                round: trial.id.number,
                group: group.0 as usize,
                seconds: seconds(trial, ran.get(i + 1).copied()),
                values: match counted.contains(&trial.id) {
                    true => values(from, trial, medians.get(&trial.id).copied()),
                    false => vec![f64::NAN; MEASURES.len()],
                },
                suspects: suspects.numbers(plan, trial),
            }
        })
        .collect();
    let found = dyno_stats::carry_over(&trials, &suspects.memories(), seed)?;
    let mut findings = Vec::new();
    for (suspect, of_one) in suspects.0.iter().zip(&found.findings) {
        for (measure, finding) in MEASURES.iter().zip(of_one) {
            if finding.p <= LEVEL {
                findings.push(CarryOverFinding {
                    after: suspect.label.clone(),
                    measure,
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
fn values(from: Samples<'_>, trial: &TrialRecord, median: Option<f64>) -> Vec<f64> {
    let p50 = median.or_else(|| own_median(from, trial));
    let counts = &trial.counts;
    let loss = match counts.offered {
        0 => f64::NAN,
        offered => counts.lost as f64 / offered as f64,
    };
    vec![p50.unwrap_or(f64::NAN), loss]
}

/// The median of the trial's headline metric; infinite where that is a lost message.
fn own_median(from: Samples<'_>, trial: &TrialRecord) -> Option<f64> {
    let experiment = from.run.manifest.plan.experiment(trial.id.experiment)?;
    let mut candidates = experiment.workload.kind().info().headline.iter();
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
    fn of(plan: &Plan, ran: &[&TrialRecord]) -> Self {
        let mut all = Vec::new();
        let experiment = |t: &TrialRecord| plan.experiment(t.id.experiment);
        let names = |of: fn(&dyno_model::Experiment) -> &str| -> BTreeMap<String, usize> {
            let mut found = BTreeMap::new();
            for e in ran.iter().filter_map(|t| experiment(t)) {
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
                    label: format!("a trial of {kind} {}", clean(&name)),
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
            (
                "after a trial that lost messages",
                Memory::Next,
                lossy as Is,
            ),
            (lingers.as_str(), Memory::Seconds(LINGERS), lossy),
            ("after a trial that failed", Memory::Next, failed),
        ] {
            if ran.iter().any(|t| is_one(plan, t)) {
                all.push(Suspect {
                    label: label.trim_start_matches("after ").to_owned(),
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

    fn numbers(&self, plan: &Plan, trial: &TrialRecord) -> Vec<usize> {
        let all = self.0.iter().enumerate();
        all.filter(|(_, s)| (s.is_one)(plan, trial))
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
