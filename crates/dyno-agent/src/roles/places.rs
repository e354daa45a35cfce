//! Where a participant that is not pinned to one CPU runs: its CPU, looked at about once in a millisecond by its
//! own thread.

use crate::job::Job;
use dyno_model::{Nanos, Place};

/// The time from one look to the next. A look costs a few nanoseconds (vDSO).
const PERIOD: Nanos = Nanos::from_millis(1);

/// More changes than this are not kept: the participant moves all the time.
const MOST: usize = 4_096;

/// The CPUs of one participant over the window.
pub(super) struct Places {
    participant: u16,
    /// Not pinned to one CPU.
    watched: bool,
    begun: Nanos,
    next: Nanos,
    places: Vec<Place>,
}

impl Places {
    pub(super) fn new(job: &Job) -> Self {
        Places {
            participant: job.participant.index,
            // Where the library calls, its threads are those that move.
            watched: job.participant.cpu.is_none()
                || job.by_callback() && job.participant.library_cpus.len() > 1,
            begun: Nanos::ZERO,
            next: Nanos::ZERO,
            places: Vec::new(),
        }
    }

    /// Whether there is anything to note: for threads that read no clock of their own.
    #[inline]
    pub(super) fn is_watched(&self) -> bool {
        self.watched
    }

    /// Called within the window, by the participant's own thread.
    #[inline]
    pub(super) fn note(&mut self, now: Nanos) {
        if self.watched && now >= self.next {
            self.look(now);
        }
    }

    #[cold]
    fn look(&mut self, now: Nanos) {
        if self.next == Nanos::ZERO {
            self.begun = now;
        }
        self.next = now.saturating_add(PERIOD);
        // SAFETY: the call takes no arguments and only reads.
        let Ok(cpu) = u32::try_from(unsafe { libc::sched_getcpu() }) else {
            return;
        };
        let moved = self.places.last().is_none_or(|last| last.cpu != cpu);
        if moved && self.places.len() < MOST {
            self.places.push(Place {
                participant: self.participant,
                since: now.saturating_sub(self.begun),
                cpu,
            });
        }
    }

    pub(super) fn finish(self) -> Vec<Place> {
        self.places
    }
}
