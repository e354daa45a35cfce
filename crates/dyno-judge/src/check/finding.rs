//! What some trials say of a limit, before it is judged whether they may say it.

use crate::standing::{Found, Standing};

/// What some trials say, before anything else is looked at.
pub(super) struct Finding {
    pub(super) standing: Standing,
    pub(super) found: Option<Found>,
    pub(super) reason: String,
    /// Why the limit is not passed although the figure keeps it.
    pub(super) but: Option<String>,
    /// As [`Checked::further`](super::report::Checked::further).
    pub(super) further: Option<u64>,
}

impl Finding {
    pub(super) fn new(standing: Standing, found: Found, reason: String) -> Finding {
        Finding {
            standing,
            found: Some(found),
            reason,
            but: None,
            further: None,
        }
    }

    /// The same, but not passed for this reason.
    pub(super) fn unless(mut self, but: String) -> Finding {
        self.but = Some(but);
        self
    }

    pub(super) fn unknown(reason: impl Into<String>) -> Finding {
        Finding {
            standing: Standing::Refused,
            found: None,
            reason: reason.into(),
            but: None,
            further: None,
        }
    }
}
