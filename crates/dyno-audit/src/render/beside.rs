//! A claim beside what was measured here, in words.

use crate::measure::Beside;

/// What a ratio is not.
pub(super) const NO_VERDICT: &str =
    "Machines and methods differ, so a ratio far from 1 does not show that a figure is wrong.";

/// What was measured and the ratio; or why there is none.
pub(super) fn beside(one: &Beside) -> (String, String) {
    match &one.measured {
        Some(m) => (format!("{}: {}", m.what, m.text), m.ratio_text()),
        None => (one.reason.clone().unwrap_or_default(), String::new()),
    }
}
