//! The time that the faults of a trial span.

use super::seen::Seen;
use dyno_model::Nanos;
use dyno_model::fault::Outage;

/// From the first fault's begin to the last one's end, each with its two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin: [Nanos; 2],
    pub(super) end: [Nanos; 2],
    /// For how long messages must come in time until that counts as steady.
    pub(super) proof: Nanos,
}

impl Span {
    /// `None`: there was no fault, or the window ended too soon after it for any figure.
    pub(super) fn of(seen: &Seen<'_>) -> Option<Self> {
        // What has no end lasts, which nobody can wait for: its begin is earlier than any end could be.
        let ends = seen.made.iter().map(|made| made.end.unwrap_or(made.begin));
        let period = seen.experiment.workload.due_period().unwrap_or_default();
        let span = Span {
            begin: seen.made.iter().map(|made| made.begin).min()?,
            end: ends.max()?,
            proof: Outage::proof(period),
        };
        // A fault that ended so late, such as of a process that Dyno started late, leaves no time in which anything could be seen.
        let seen_until = span.end[1]
            .saturating_add(period)
            .saturating_add(span.proof);
        (seen_until <= seen.window[1]).then_some(span)
    }
}
