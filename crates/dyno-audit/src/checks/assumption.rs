//! What checks take for granted.

use crate::outcome::{Outcome, Verdict};

/// What a check takes for granted. Where the source does not say it, the most that the check says is *cannot be known*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumption {
    /// What must be so.
    pub says: &'static str,
    /// What an honest source may have done otherwise.
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
