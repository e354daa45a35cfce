//! The source that this program was built from; `build/main.rs` tells it.

/// The commit that this program was built from; empty where that is not known.
pub(crate) const COMMIT: &str = env!("DYNO_COMMIT");

/// Whether its source differed from that commit: `true`, `false`, or empty where that is not known.
const MODIFIED: &str = env!("DYNO_MODIFIED");

/// [`COMMIT`], where it is known.
pub(crate) fn commit() -> Option<String> {
    Some(COMMIT.to_owned()).filter(|commit| !commit.is_empty())
}

/// Whether the source differed from that commit, where that is known.
pub(crate) fn modified() -> Option<bool> {
    MODIFIED.parse().ok()
}
