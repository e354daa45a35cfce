//! What checks take for granted.

use crate::outcome::{Outcome, Verdict};

/// An assumption of a check. Where the source does not say it, the most that the check says is *cannot be known*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumption {
    /// The assumption.
    pub says: &'static str,
    /// An innocent explanation, if the assumption is wrong.
    pub innocent: &'static str,
}

impl Assumption {
    /// The outcome as it is where the assumption is stated, else lowered, with the reason.
    pub(super) fn unless(&self, stated: bool, mut outcome: Outcome) -> Outcome {
        if !stated && outcome.verdict.objects() {
            outcome.verdict = Verdict::CannotBeKnown;
            let Assumption { says, innocent } = self;
            outcome.says = format!(
                "{}; the source does not say that {says}: {innocent}",
                outcome.says
            );
        }
        outcome
    }
}
