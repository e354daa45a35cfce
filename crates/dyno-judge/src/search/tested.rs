//! The result of one rung, also in words.

use super::climb::Rung;
use crate::check::{Checked, Status};
use crate::number::{Unit, counted};
use crate::standing::Standing;
use dyno_model::plan::Extent;
use dyno_model::record::Outcome;
use dyno_model::{Experiment, Raised, TrialRecord};
use dyno_stats::most_marked;

/// A source that sends less than this share of what is due did not put the load on.
const PUT_ON: f64 = 0.95;

/// A rung that was held against the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// Its experiment.
    pub experiment: Experiment,
    /// Its value of the raised factor.
    pub value: f64,
    /// By further trials that confirm an earlier result.
    pub confirms: bool,
    /// Its result.
    pub rung: Rung,
    /// Trials that it was judged by.
    pub judged: usize,
    /// Trials that it took: these, and those that the host disturbed.
    pub taken: usize,
    /// Trials among the judged ones that the host disturbed.
    pub disturbed: usize,
    /// It may be undecided, or broken, by what the host did.
    pub is_hidden: bool,
    /// Trials among the judged ones that failed.
    pub failed: usize,
    /// Trials among these that completed without a lost message.
    pub lossless: usize,
    /// Confidence of each interval that a limit is held against: higher where it is looked at more than once.
    pub confidence: f64,
    /// Each limit with what was found.
    pub checks: Vec<Checked>,
    /// Messages per second that arrived, all receivers together: the median of its trials.
    pub delivered_hz: Option<f64>,
    /// The median share of the due rate that the sources sent, where that was too little.
    pub sent_share: Option<f64>,
    /// Why the first failed trial failed.
    pub failure: Option<String>,
}

impl Tested {
    pub(super) fn new(
        e: &Experiment,
        raise: Raised,
        confirms: bool,
        confidence: f64,
        checks: Vec<Checked>,
        trials: &[TrialRecord],
    ) -> Tested {
        let completed = || {
            let all = trials.iter();
            all.filter(|t| matches!(t.outcome, Outcome::Completed))
        };
        let failure = trials.iter().find_map(|t| match &t.outcome {
            Outcome::Failed { step, cause, .. } => Some(format!("{step}: {cause}")),
            Outcome::Completed => None,
        });
        // Of a number of messages the offered rate is that of the sending itself.
        let senders = f64::from(e.topology.senders) * f64::from(e.topology.copies);
        let due = match e.window {
            Extent::Messages(_) => e.workload.messages_per_second().map(|hz| hz * senders),
            Extent::Duration(_) => None,
        };
        let share = |t: &TrialRecord| t.throughput.sent_hz / due.unwrap_or(t.throughput.offered_hz);
        let sent = median(completed().map(share).filter(|share| share.is_finite()));
        let sent_share = match e.workload.kind().info().has_due_times {
            true => sent.filter(|share| *share < PUT_ON),
            false => None,
        };
        let has = |status| checks.iter().any(|c| c.status == status);
        let rung = if has(Status::Fail) || sent_share.is_some() {
            Rung::Broken
        } else if !has(Status::Undecided) {
            Rung::Kept
        } else if checks.iter().any(|c| c.standing == Standing::Refused) {
            Rung::NoFigure
        } else {
            Rung::Undecided
        };
        Tested {
            experiment: e.clone(),
            value: raise.of(e),
            confirms,
            rung,
            judged: trials.len(),
            failed: trials.len() - completed().count(),
            lossless: completed().filter(|t| t.counts.lost == 0).count(),
            taken: trials.len(),
            disturbed: 0,
            is_hidden: false,
            confidence,
            checks,
            delivered_hz: median(completed().map(|t| t.throughput.delivered_hz)),
            sent_share,
            failure,
        }
    }

    /// The limits that it breaks, each with what was found; the load itself first, where it could not be put on.
    pub fn broken(&self) -> Vec<String> {
        let load = self.sent_share.map(|share| {
            let share = Unit::Share.text(share);
            format!("the sources sent only {share} of what was due")
        });
        let failed = self.checks.iter().filter(|c| c.status == Status::Fail);
        load.into_iter().chain(failed.map(Checked::brief)).collect()
    }

    /// The finding for each limit.
    pub fn found(&self) -> String {
        let all: Vec<String> = self.checks.iter().map(Checked::brief).collect();
        all.join("; ")
    }

    /// The share of such trials that may lose messages or fail: more is excluded at the confidence of the rung.
    pub fn lossy_below(&self) -> f64 {
        let lossy = self.judged - self.lossless;
        most_marked(lossy as u64, self.judged as u64, self.confidence)
    }

    /// `3 of 3 trials lossless, which excludes at 95 % that more than 63.2 % of trials lose`.
    pub(super) fn losses(&self) -> String {
        let (lossless, trials) = (self.lossless, counted(self.judged as u64, "trial"));
        match self.lossless {
            0 => format!("0 of {trials} lossless"),
            _ => format!(
                "{lossless} of {trials} lossless, so with {} confidence at most {} of trials lose messages",
                Unit::Share.text(self.confidence),
                Unit::Share.text(self.lossy_below())
            ),
        }
    }

    /// Why it came to that.
    pub fn why(&self) -> String {
        let undecided = self.checks.iter().filter(|c| c.status == Status::Undecided);
        let open = || {
            undecided
                .clone()
                .map(|c| format!("{}: {}", c.limit.name(), c.reason))
        };
        match (self.rung, &self.failure) {
            (Rung::Kept, _) => self.found(),
            (Rung::Broken, _) => self.broken().join("; "),
            (_, Some(failure)) => {
                format!("{} failed, {failure}", counted(self.failed as u64, "trial"))
            }
            (Rung::Undecided | Rung::NoFigure, None) => {
                let open: Vec<String> = open().collect();
                // All limits are met, but not with the load that was due.
                let all = if open.is_empty() { self.broken() } else { open };
                all.join("; ")
            }
        }
    }

    /// `5 trials`, or `5 trials, of which the host disturbed 2`, each named so.
    pub(super) fn judged_by(&self, name: &str) -> String {
        let trials = counted(self.judged as u64, name);
        match self.disturbed {
            0 => trials,
            disturbed => format!("{trials}, of which the host disturbed {disturbed}"),
        }
    }

    pub(super) fn label(&self) -> String {
        format!("{} on {}", self.experiment.name, self.experiment.stack)
    }

    /// `16 kHz meets all limits in 2 trials: …`.
    pub(super) fn sentence(&self, raise: Raised) -> String {
        let value = raise.text(self.value);
        let [trials, further] = ["trial", "further trial"].map(|w| self.judged_by(w));
        let said = match (self.rung, self.confirms) {
            (Rung::Kept, true) => format!("{value} is confirmed by {further}"),
            (Rung::Kept, false) => format!("{value} meets all limits in {trials}"),
            (Rung::Broken, true) => format!("{value} violates a limit in {further}"),
            (Rung::Broken, false) => format!("{value} violates a limit in {trials}"),
            (Rung::Undecided, _) => format!("{value} is undecided after {trials}"),
            (Rung::NoFigure, _) => format!("{value} has no figure after {trials}"),
        };
        match (self.rung, self.confirms) {
            (Rung::Kept, true) => format!("{said}: {}; {}", self.why(), self.losses()),
            _ => format!("{said}: {}", self.why()),
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut all: Vec<f64> = values.collect();
    all.sort_by(f64::total_cmp);
    let (low, high) = (all.len().checked_sub(1)? / 2, all.len() / 2);
    Some(f64::midpoint(all[low], all[high]))
}
