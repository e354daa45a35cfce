//! Hangs, crashes and errors that wait in a call for their turn.

use super::options::{Crash, Faults, Place, Side};
use dyno_adapter::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What happens.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trap {
    Hang,
    Crash(Crash),
    Error,
}

impl Trap {
    pub(super) fn is_error(self) -> bool {
        matches!(self, Trap::Error)
    }
}

/// One trap, and how much it has let pass.
struct Armed {
    trap: Trap,
    place: Place,
    after: u64,
    seen: AtomicU64,
}

/// The traps of one node and of its endpoints.
pub(super) struct Traps {
    armed: Vec<Armed>,
    side: Option<Side>,
}

impl Traps {
    pub(super) fn new(faults: &Faults) -> Arc<Self> {
        let arm = |trap, place, after| Armed {
            trap,
            place,
            after,
            seen: AtomicU64::new(0),
        };
        let mut armed = Vec::new();
        if let Some((place, after, crash)) = faults.crash {
            armed.push(arm(Trap::Crash(crash), place, after));
        }
        if let Some((place, after)) = faults.hang {
            armed.push(arm(Trap::Hang, place, after));
        }
        if let Some((place, after)) = faults.error {
            armed.push(arm(Trap::Error, place, after));
        }
        Arc::new(Traps {
            armed,
            side: faults.side,
        })
    }

    /// Whether a trap of the kind `is` waits in `place`.
    pub(super) fn has(&self, place: Place, is: fn(Trap) -> bool) -> bool {
        self.armed.iter().any(|a| a.place == place && is(a.trap))
    }

    /// Goes off if enough has passed in `place`. `side` is that of the endpoint; `None` for nodes.
    /// For calls that count by themselves (all but send and take) also counts this one.
    pub(super) fn spring(&self, place: Place, side: Option<Side>) -> Result<()> {
        for armed in self.here(place, side) {
            let seen = match place {
                Place::Send | Place::Take => armed.seen.load(Ordering::Relaxed),
                _ => armed.seen.fetch_add(1, Ordering::Relaxed),
            };
            if seen >= armed.after {
                go_off(armed)?;
            }
        }
        Ok(())
    }

    /// As [`Traps::spring`] where no error can be returned: an error is not raised there.
    pub(super) fn spring_or_stay(&self, place: Place, side: Option<Side>) {
        // Options with an error in such a place are refused when the node or subscription is made.
        let _ = self.spring(place, side);
    }

    /// Counts one message in `place`.
    pub(super) fn count(&self, place: Place, side: Option<Side>) {
        for armed in self.here(place, side) {
            armed.seen.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn here(&self, place: Place, side: Option<Side>) -> impl Iterator<Item = &Armed> {
        let applies = match (self.side, side) {
            (Some(wanted), Some(side)) => wanted == side,
            _ => true,
        };
        self.armed
            .iter()
            .filter(move |a| applies && a.place == place)
    }
}

fn go_off(armed: &Armed) -> Result<()> {
    let place = armed.place.as_str();
    match armed.trap {
        Trap::Error => Err(Error::library(
            place,
            format!("faulty fails here after {} that went well", armed.after),
        )),
        Trap::Hang => loop {
            // Not ended by signals that have a handler: the hang must survive a polite request.
            std::thread::sleep(Duration::from_secs(3600));
        },
        Trap::Crash(crash) => {
            eprintln!(
                "faulty: crash in {place} after {} that went well: {crash:?}",
                armed.after
            );
            end_process(crash)
        }
    }
}

/// Ends the process by SIGABRT when it runs what is registered for its exit.
pub(super) fn crash_at_exit() -> Result<()> {
    extern "C" fn crash() {
        eprintln!("faulty: crash at exit");
        std::process::abort();
    }
    // SAFETY: the function lives as long as the process, whose program it is part of.
    match unsafe { libc::atexit(crash) } {
        0 => Ok(()),
        _ => Err(Error::library("atexit", "there is no room for one more")),
    }
}

/// The calling thread hangs in what it does when it ends.
pub(super) fn hang_at_thread_end() {
    struct Hanging;
    impl Drop for Hanging {
        fn drop(&mut self) {
            loop {
                std::thread::sleep(Duration::from_secs(3600));
            }
        }
    }
    thread_local!(static HANGING: Hanging = const { Hanging });
    HANGING.with(|_| ());
}

fn end_process(crash: Crash) -> ! {
    match crash {
        Crash::Panic => panic!("faulty panics as told"),
        Crash::Abort => std::process::abort(),
        Crash::Exit => {
            // SAFETY: `_exit` has no precondition; it runs no destructor of ours, as intended.
            unsafe { libc::_exit(Crash::EXIT_CODE) }
        }
        Crash::Segv => loop {
            // SAFETY: both calls take plain integers; SIG_DFL replaces the runtime's handler,
            // which upholds nothing any more in a process that ends here.
            unsafe {
                libc::signal(libc::SIGSEGV, libc::SIG_DFL);
                libc::raise(libc::SIGSEGV);
            }
        },
    }
}
