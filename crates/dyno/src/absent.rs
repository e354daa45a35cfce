//! What a build without its feature says in place of a command. The features are those of Cargo.toml; packages
//! have all of them, and a first build from source none.

use crate::exit::Result;

/// Refuses `what`, which needs `feature`.
pub(crate) fn absent<T>(what: &str, feature: &str) -> Result<T> {
    Err(failure!(
        Usage,
        "this dyno was built without {what}, to make the build faster; use a packaged dyno, or in Dyno's source run `cargo run \
             --release --features {feature} -- …`, or install everything with `cargo xtask install`"
    ))
}

/// The live view, of which there is none.
#[cfg(not(feature = "live"))]
pub(crate) mod view {
    use super::absent;
    use crate::exit::Result;
    use dyno_model::event::RunEvent;
    use dyno_model::{RunManifest, TrialRecord};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// Is never made.
    pub(crate) enum Live {}

    impl Live {
        pub(crate) fn start(
            _: &RunManifest,
            _: &[TrialRecord],
            _: Arc<AtomicBool>,
        ) -> Result<Live> {
            check_terminal("")
        }

        pub(crate) fn on_event(&self, _: &RunEvent) {
            match *self {}
        }
    }

    // The real one gives the terminal back.
    impl Drop for Live {
        fn drop(&mut self) {
            match *self {}
        }
    }

    /// Refuses the view, whatever the terminal.
    pub(crate) fn check_terminal<T>(_: &str) -> Result<T> {
        absent("the live view", "live")
    }
}
