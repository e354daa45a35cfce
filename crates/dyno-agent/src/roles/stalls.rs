//! Whether a gateway stood still: a thread of its own that looks at the clock now and then, and finds that it was not run.
//!
//! A process that is frozen takes no messages and notes nothing. Those that came to it meanwhile lie in the library of the
//! leg before it, and without this their wait would look like that leg's.

use crate::job::Job;
use crate::shared::Phase;
use dyno_model::protocol::Stall;
use std::time::Duration;

/// How often it looks.
const TICK: Duration = Duration::from_millis(10);
/// No busy host keeps a thread from running for so long that has slept; a process that is frozen is.
const LEAST: Duration = Duration::from_millis(100);
/// Stalls that are kept.
const MOST: usize = 64;

/// Looks until the trial ends. What it found, in order.
pub(super) fn watch(job: &Job) -> Vec<Stall> {
    let mut found = Vec::new();
    let mut last = job.shared.clock.now();
    while job.shared.phase() < Phase::Stop {
        std::thread::sleep(TICK);
        let now = job.shared.clock.now();
        if Duration::from(now.saturating_sub(last)) > LEAST && found.len() < MOST {
            found.push(Stall {
                participant: job.participant.index,
                from: last,
                to: now,
            });
        }
        last = now;
    }
    found
}
