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
    /// Whether there is no figure because trials or samples are too few, and for no other reason.
    pub(super) is_too_few: bool,
}

impl Finding {
    pub(super) fn new(standing: Standing, found: Found, reason: String) -> Finding {
        Finding {
            standing,
            found: Some(found),
            reason,
            but: None,
            further: None,
            is_too_few: false,
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
            is_too_few: false,
        }
    }

    /// No figure, because trials or samples are too few.
    pub(super) fn too_few(reason: impl Into<String>) -> Finding {
        Finding {
            is_too_few: true,
            ..Finding::unknown(reason)
        }
    }
}
