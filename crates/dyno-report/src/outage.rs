//! Results of faults: summaries of the outages that trials record, and sentences about them.

mod words;

use crate::counted::is_deaf;
use crate::remark::Item;
use crate::summary::{DeafEnd, ExperimentSummary, OutageSummary, Relapse, Spread, TOLD_BY};
use crate::view::View;
use dyno_model::plan::Stack;
use dyno_model::{Experiment, Nanos, Outage, TrialRecord};
pub(crate) use words::{INFINITE, legend};
pub use words::{deaf_for_ever, half_deaf, relapse, verdict};

/// Of the trials of an experiment that count; `None` where it has no faults.
pub(crate) fn summarise(
    e: &Experiment,
    stack: Option<&Stack>,
    trials: &[&TrialRecord],
) -> Option<OutageSummary> {
    if e.faults.is_empty() {
        return None;
    }
    let told: Vec<&TrialRecord> = trials
        .iter()
        .copied()
        .filter(|t| !t.outages.is_empty())
        .collect();
    let proof = Outage::proof(e.workload.due_period().unwrap_or_default());
    let count = |of: fn(&TrialRecord) -> bool| told.iter().filter(|t| of(t)).count() as u64;
    let sum = |of: fn(&Outage) -> u64| {
        let one = |t: &&TrialRecord| t.outages.iter().map(of).fold(0, u64::saturating_add) as f64;
        Spread::of(told.iter().map(one))
    };
    let most = |of: fn(&Outage) -> u64| {
        let one = |t: &&TrialRecord| t.outages.iter().map(of).max().unwrap_or(0) as f64;
        Spread::of(told.iter().map(one))
    };
    let deaf_ends = told.iter().flat_map(|t| {
        let deaf = t.outages.iter().filter(|o| o.recovery.is_none());
        deaf.map(|o| DeafEnd {
            trial: t.id.number,
            receiver: o.receiver,
            channel: o.channel,
        })
    });
    let is_unended = |t: &&&TrialRecord| t.faults.iter().any(|f| f.end.is_none());
    Some(OutageSummary {
        faults: e.faults.clone(),
        timeouts: stack.map_or_else(Vec::new, |s| s.timeouts.clone()),
        trials: told.len() as u64,
        untold: (trials.len() - told.len()) as u64,
        unended: trials.iter().filter(is_unended).count() as u64,
        recovered: count(|t| !is_deaf(t)),
        undisturbed: count(|t| t.outages.iter().all(|o| o.recovery == Some(Nanos::ZERO))),
        deaf_ends: deaf_ends.collect(),
        half_deaf: count(|t| is_deaf(t) && t.outages.iter().any(|o| o.recovery.is_some())),
        relapses: told
            .iter()
            .filter_map(|t| t.outages.iter().filter_map(|o| relapse_of(o, proof)).max())
            .collect(),
        told: TOLD_BY.map(|(by, _)| {
            let first = |t: &TrialRecord| t.detections.iter().min_by_key(|d| d.after).map(|d| d.by);
            told.iter().filter(|t| first(t) == by).count() as u64
        }),
        lost: sum(|o| o.lost),
        repeated: sum(|o| o.repeated),
        reordered: sum(|o| o.reordered),
        burst: most(|o| o.burst),
        oldest_ns: most(|o| o.oldest.0),
    })
}

/// Of a receiver that recovered: whether no steady state began within one `proof` of that.
fn relapse_of(o: &Outage, proof: Nanos) -> Option<Relapse> {
    let latest = o.recovery?.saturating_add(proof);
    match o.steady {
        Some(steady) => (steady > latest).then_some(Relapse::Until(steady)),
        // Older records do not have it, and what is missing there must not soften the verdict.
        None if o.seen > Nanos::ZERO && o.seen < latest.saturating_add(proof) => {
            Some(Relapse::Unknown)
        }
        None => Some(Relapse::ToTheEnd),
    }
}

/// The verdict on each row with faults.
pub(crate) fn verdicts(view: &View<'_>) -> Vec<Item> {
    said(view, verdict)
}

/// The rows with trials in which a receiver never got a newer message.
pub(crate) fn deaf(view: &View<'_>) -> Vec<Item> {
    said(view, deaf_for_ever)
}

/// Those with trials in which some receivers did.
pub(crate) fn partly_deaf(view: &View<'_>) -> Vec<Item> {
    said(view, half_deaf)
}

fn said(
    view: &View<'_>,
    say: fn(&ExperimentSummary, &OutageSummary, &str) -> Option<String>,
) -> Vec<Item> {
    let one = |e: &&ExperimentSummary| {
        let named = match view.conditions_of(e, "fault") {
            conditions if conditions.is_empty() => e.experiment.stack.clone(),
            conditions => format!("{} ({conditions})", e.experiment.stack),
        };
        say(e, e.outage.as_ref()?, &named).map(Item::from)
    };
    view.rows.iter().filter_map(one).collect()
}
