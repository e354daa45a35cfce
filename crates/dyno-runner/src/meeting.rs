//! Where the two sides of a trial meet that take turns: they wait for each other once, and agree on the start.

use dyno_model::cause::{Cause, Warning};
use dyno_model::{HostNoise, Nanos};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// What the host does by itself, and what could not be told of it.
type Before = (HostNoise, Vec<Cause<Warning>>);

/// Where the two sides of a trial meet.
#[derive(Default)]
pub(crate) struct Meeting {
    before: OnceLock<Before>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// When the warm-up begins, once both are there.
    proposed: Nanos,
    came: u8,
    /// A side has come to its end.
    left: bool,
}

/// What has become of a wait for the other side.
pub(crate) enum Met {
    /// Both begin then.
    Start(Nanos),
    /// Not yet.
    NotYet,
    /// The other side has ended.
    Left,
}

impl Meeting {
    /// What the machine does by itself before the trial, which the first of both sides looks at while the other one
    /// waits.
    pub(crate) fn before(&self, look: impl FnOnce() -> Before) -> Before {
        self.before.get_or_init(look).clone()
    }

    /// This side is ready.
    pub(crate) fn come(&self) {
        self.state().came += 1;
        self.changed.notify_all();
    }

    /// Waits for the other side, for at most `within`. The first to see that both are there says when they begin.
    pub(crate) fn wait(&self, within: Duration, start: impl FnOnce() -> Nanos) -> Met {
        let state = self.state();
        let alone = |s: &mut State| s.came < 2 && !s.left;
        let waited = self.changed.wait_timeout_while(state, within, alone);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.came == 2 && state.proposed == Nanos::ZERO && !state.left {
            state.proposed = start();
        }
        match (state.proposed, state.left) {
            (Nanos::ZERO, true) => Met::Left,
            (Nanos::ZERO, false) => Met::NotYet,
            (at, _) => Met::Start(at),
        }
    }

    /// This side has ended, in order or not: the other one waits no more.
    pub(crate) fn leave(&self) {
        self.state().left = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
