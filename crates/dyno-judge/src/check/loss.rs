//! Losses: rare events that come in bursts, so they have an interval of their own; and trials in which a receiver never got a newer
//! message after the faults, which are counted like them.

use super::finding::Finding;
use super::limits::{Bound, Limit};
use super::report::CheckOptions;
use crate::number::{Unit, latency, percent};
use crate::standing::{Found, Standing};
use dyno_model::{Counts, TrialRecord};
use dyno_report::{add_counts, is_deaf, missing_messages};
use dyno_stats::{Pairing, ratio};

/// All losses of the counted trials against the limit. Messages that were under way when the drain ended are lost too, and
/// named apart.
pub(super) fn judge(records: &[&TrialRecord], limit: &Limit, how: &CheckOptions) -> Finding {
    let own = Losses::of(records, limit, how);
    let Counts { lost, offered, .. } = own.counts;
    if offered == 0 {
        return Finding::unknown("no message was offered");
    }
    let (n, observed) = (offered as f64, own.text());
    let line = limit.bound.line();
    let standing = line.standing(Some(&own.judged));
    let text = |v| Unit::Share.text(v);
    let ends = || {
        let Found { lo, hi, .. } = own.share;
        format!("{observed}; {} to {}", text(lo), text(hi))
    };
    let mut reason = match (limit.bound, standing) {
        (Bound::AtMostCount(0), Standing::Keeps) => {
            format!("{observed}; {}", rule_of_three(n, how))
        }
        (Bound::AtMostCount(_), _) => observed.clone(),
        (_, Standing::Keeps) => format!("{}: the whole interval is within the limit", ends()),
        (_, Standing::Breaks) => format!("{}: the whole interval is outside of the limit", ends()),
        (_, Standing::Between | Standing::Refused) => format!(
            "{}: the limit lies between; {}",
            ends(),
            further(lost, n, line.bound(), how)
        ),
    };
    if standing != Standing::Keeps && own.counts.under_way > 0 {
        reason.push_str("; a longer `drain` would show how many of those under way arrive");
    }
    Finding::new(standing, own.share, reason)
}

/// The deaf trials among those that count against the limit, which is a number of trials.
pub(super) fn judge_deaf(records: &[&TrialRecord], limit: &Limit, how: &CheckOptions) -> Finding {
    let told = records.iter().filter(|t| !t.outages.is_empty());
    let (deaf, of) = (
        records.iter().filter(|t| is_deaf(t)).count() as u64,
        told.count() as u64,
    );
    if of == 0 {
        return Finding::unknown(
            "no trial says whether a receiver got a newer message after the fault",
        );
    }
    let (lo, hi) = share(&[], deaf, of, how.confidence);
    let found = Found {
        value: deaf as f64 / of as f64,
        lo,
        hi,
    };
    let judged = Found::exactly(deaf as f64);
    let standing = limit.bound.line().standing(Some(&judged));
    let observed =
        format!("in {deaf} of {of} trials a receiver got no newer message after the fault");
    let reason = match (deaf, standing) {
        (0, Standing::Keeps) => format!("{observed}; {}", rule_of_three(of as f64, how)),
        _ => format!(
            "{observed}; {} to {}",
            Unit::Share.text(lo),
            Unit::Share.text(hi)
        ),
    };
    let untold = records.len() as u64 - of;
    let finding = Finding::new(standing, found, reason);
    match untold {
        0 => finding,
        n => finding.unless(format!(
            "{n} of {} trials do not say whether a receiver got a newer message",
            records.len()
        )),
    }
}

/// The losses of some trials.
struct Losses {
    counts: Counts,
    /// Of what was offered, with its interval.
    share: Found,
    /// What the limit is on: a number of messages is what was observed; a share is what would be observed again.
    judged: Found,
}

impl Losses {
    fn of(records: &[&TrialRecord], limit: &Limit, how: &CheckOptions) -> Losses {
        let counts = add_counts(records.iter().map(|t| &t.counts));
        let (lo, hi) = share(records, counts.lost, counts.offered, how.confidence);
        let share = Found {
            value: counts.lost as f64 / counts.offered as f64,
            lo,
            hi,
        };
        let judged = match limit.bound {
            Bound::AtMostCount(_) => Found::exactly(counts.lost as f64),
            _ => share,
        };
        Losses {
            counts,
            share,
            judged,
        }
    }

    fn text(&self) -> String {
        let Counts { lost, offered, .. } = self.counts;
        match missing_messages(&self.counts) {
            None => format!("none of {offered} messages lost"),
            Some(missing) if self.counts.under_way > 0 => {
                format!("{missing} of {offered} messages")
            }
            Some(_) => format!("{lost} of {offered} messages lost"),
        }
    }
}

/// With none lost of `n`, the true share is below `-ln(1 - confidence)/n`: 3/n at 95 % (Hanley &
/// Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983).
fn rule_of_three(n: f64, how: &CheckOptions) -> String {
    let bound = (-(1.0 - how.confidence).ln() / n).min(1.0);
    format!(
        "with {} confidence, the true share is below {} (rule of three)",
        percent(how.confidence),
        Unit::Share.text(bound)
    )
}

/// How much further to measure where nothing, or little, was lost.
fn further(lost: u64, n: f64, most: f64, how: &CheckOptions) -> String {
    let alpha = (1.0 - how.confidence) / 2.0;
    if lost == 0 {
        let needed = (-alpha.ln() / -(-most).ln_1p()).ceil();
        return format!("if none is lost, {needed:.0} messages are needed in all");
    }
    format!(
        "the share is {} the limit; measure more trials",
        if lost as f64 / n <= most {
            "below"
        } else {
            "above"
        }
    )
}

/// The interval of a share: Chernoff's bounds for independent losses (Hoeffding, JASA 58, 1963,
/// theorem 1: `n·KL(p̂‖p) <= ln(2/(1-confidence))`; with none lost the exact one), united with
/// Student's interval over the trials' own shares, because losses come in bursts.
fn share(records: &[&TrialRecord], lost: u64, offered: u64, confidence: f64) -> (f64, f64) {
    let n = offered as f64;
    let p = lost as f64 / n;
    let reach = (2.0 / (1.0 - confidence)).ln() / n;
    let (mut lo, mut hi) = (
        bisect(p, 0.0, |x| divergence(p, x) <= reach),
        bisect(p, 1.0, |x| divergence(p, x) <= reach),
    );
    let own: Vec<f64> = records
        .iter()
        .filter(|t| t.counts.offered > 0)
        .map(|t| t.counts.lost as f64 / t.counts.offered as f64)
        .collect();
    if lost > 0 {
        // The interval of an arithmetic mean as that of the logarithms of its exponentials.
        let exponentials: Vec<f64> = own.iter().map(|v| v.exp()).collect();
        let ones = vec![1.0; own.len()];
        if let Some(r) = ratio(&exponentials, &ones, Pairing::Paired, confidence) {
            lo = lo.min(latency(r.estimate.lo).ln()).max(0.0);
            hi = hi.max(latency(r.estimate.hi).ln()).min(1.0);
        }
    }
    (lo, hi)
}

/// Kullback-Leibler divergence of two coins, in nats.
fn divergence(p: f64, x: f64) -> f64 {
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    term(p, x) + term(1.0 - p, 1.0 - x)
}

/// The point farthest from `inside`, towards `outside`, that `holds`; 200 halvings reach any double.
fn bisect(inside: f64, outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(outside) {
        return outside;
    }
    let (mut a, mut b) = (inside, outside);
    for _ in 0..200 {
        let middle = f64::midpoint(a, b);
        if holds(middle) {
            a = middle;
        } else {
            b = middle;
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_none_lost_the_bound_is_that_of_the_rule_of_three() {
        // One-sided 95 % is two-sided 90 %.
        let (lo, hi) = share(&[], 0, 10_000, 0.90);
        assert_eq!(lo, 0.0);
        assert!((hi - 3.0 / 10_000.0).abs() < 1e-6, "{hi}");
    }

    #[test]
    fn the_interval_is_wider_than_the_exact_one_and_not_by_much() {
        // Clopper-Pearson at 95 % of 10 in 1,000: 0.004805 to 0.018314 (R's binom.test).
        let (lo, hi) = share(&[], 10, 1_000, 0.95);
        assert!(lo < 0.004_805 && lo > 0.003, "{lo}");
        assert!(hi > 0.018_314 && hi < 0.024, "{hi}");
        assert_eq!(share(&[], 50, 50, 0.95).1, 1.0);
    }
}
