//! Trials in which a receiver never got a newer message after the faults: rare, like losses, and counted like them.

use super::CheckOptions;
use super::judge::Finding;
use super::limits::Limit;
use super::loss::{rule_of_three, share};
use crate::number::Unit;
use crate::standing::{Found, Standing};
use dyno_model::TrialRecord;
use dyno_report::is_deaf;

/// The deaf trials among those that count against the limit, which is a number of trials.
pub(super) fn judge(records: &[&TrialRecord], limit: &Limit, how: &CheckOptions) -> Finding {
    let told = records.iter().filter(|t| !t.outages.is_empty());
    let (deaf, of) = (
        records.iter().filter(|t| is_deaf(t)).count() as u64,
        told.count() as u64,
    );
    if of == 0 {
        return Finding::unknown("no trial tells what came of its faults at a receiver");
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
            "{n} of {} trials do not tell whether a receiver got a newer message",
            records.len()
        )),
    }
}
