//! A claim beside what was measured here, in words.

use crate::measure::Beside;

/// What a ratio is not.
pub(super) const NO_VERDICT: &str = "A ratio between two machines and two methods says how far apart they are, and not that a figure is wrong.";

/// What was measured and the ratio; or why there is none.
pub(super) fn beside(one: &Beside) -> (String, String) {
    match &one.measured {
        Some(m) => (format!("{}: {}", m.what, m.text), m.ratio_text()),
        None => (one.reason.clone().unwrap_or_default(), String::new()),
    }
}
