//! Where and how long a probe measures, what it found, and what all kinds share: threads that start together, the
//! probe's own cost, and the record of samples.

use crate::ProbeError;
use crate::counters::Core;
use dyno_measure::{Clock, Recorder, pin, set_deadline, set_fifo};
use dyno_model::cause::Warning;
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::record::Distribution;
use dyno_model::unit::Nanos;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where one copy of a probe runs. Kinds with one side use `cpu` alone; the two may be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The CPU of the side that measures.
    pub cpu: u32,
    /// The CPU of the other side.
    pub peer: u32,
}

impl Place {
    /// Both sides on one CPU.
    pub const fn on(cpu: u32) -> Place {
        Place { cpu, peer: cpu }
    }
}

/// Where and how long to measure.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The clock of all samples but those of timers, which are on the kernel's CLOCK_MONOTONIC like their due times.
    pub clock: Clock,
    /// One copy of the probe runs at each, all at once.
    pub places: Vec<Place>,
    /// The class of the threads that measure and of their peers.
    pub scheduling: Scheduling,
    /// The same is done for so long before, and not recorded.
    pub warmup: Nanos,
    /// How long is measured: time, or samples of each copy.
    pub window: Extent,
    /// Each distribution is cut into so many blocks; at least 1.
    pub blocks: usize,
}

/// What one copy of a probe found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The CPUs that it was on.
    pub cpus: Vec<u32>,
    /// What the kind measures, in nanoseconds, the probe's own cost taken out; what would be below zero is zero.
    /// `share`: the pauses of the thread longer than [`dyno_measure::noise::THRESHOLD`].
    pub time: Distribution,
    /// `timer`: from the first instruction until the handler has recorded it. `ipi`: the waking call itself, on the
    /// CPU that makes it.
    pub within: Option<Distribution>,
    /// `timer`: from the due time until the handler has recorded it.
    pub served: Option<Distribution>,
    /// What was taken out of each sample of `time` (of each batch, where there are batches), in nanoseconds.
    pub own_ns: f64,
    /// What was done: calls, round trips, due times, rings, copies, turns of a spinning thread, touched pages.
    pub done: u64,
    /// `timer`: due times that had passed when the thread woke for an earlier one. `switch` by `yield`: yields after
    /// which it was not the other's turn. `fault`: huge pages that the kernel did not make.
    pub missed: u64,
    /// Bytes moved in the window.
    pub bytes: u64,
    /// Length of the window; of `copy` the time spent on copying alone.
    pub wall: Nanos,
    /// CPU time of the thread in the window; of `share` alone.
    pub busy: Nanos,
    /// Core cycles and instructions per `done`, where the machine lets them be read; of `syscall` and `switch`.
    pub core: Option<Core>,
    /// The same of the other side of a `switch`.
    pub peer_core: Option<Core>,
}

impl Reading {
    /// Bytes per second; `None` where none were moved.
    pub fn bandwidth(&self) -> Option<f64> {
        (self.bytes > 0 && self.wall > Nanos::ZERO)
            .then(|| self.bytes as f64 / self.wall.as_secs_f64())
    }

    /// The thread's share of a CPU, 0 to 1, of a spinning thread; else `None`.
    pub fn share(&self) -> Option<f64> {
        (self.busy > Nanos::ZERO && self.wall > Nanos::ZERO)
            .then(|| self.busy.0 as f64 / self.wall.0 as f64)
    }
}

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Copy by copy, in the order of [`Ground::places`].
    pub readings: Vec<Reading>,
    /// What a reader must know of them, in plain sentences, each once.
    pub warnings: Vec<Warning>,
}

impl Outcome {
    pub(crate) fn new(readings: Vec<Reading>, warnings: Vec<Warning>) -> Outcome {
        Outcome { readings, warnings }
    }
}

impl Ground {
    /// A recorder of one metric over the window.
    pub(crate) fn recorder(&self) -> Recorder {
        let blocks = self.blocks.max(1);
        match self.window {
            Extent::Duration(d) => Recorder::by_time(blocks, Nanos(d.0 / blocks as u64)),
            Extent::Messages(n) => Recorder::by_count(blocks, n.div_ceil(blocks as u64)),
        }
    }

    /// The window, from `now` on.
    pub(crate) fn window(&self, now: Nanos) -> Window {
        match self.window {
            Extent::Duration(d) => Window {
                end: now.saturating_add(d),
                left: u64::MAX,
            },
            Extent::Messages(n) => Window {
                end: Nanos(u64::MAX),
                left: n,
            },
        }
    }

    /// Runs one copy at each place, on a thread of its own, pinned to `cpu` and of the class asked for. All are
    /// prepared before any begins to measure, and none measures where one could not be prepared.
    pub(crate) fn together<P, T: Send>(
        &self,
        prepare: impl Fn(Place) -> Result<P, ProbeError> + Sync,
        measure: impl Fn(P, Place) -> Result<T, ProbeError> + Sync,
    ) -> Result<Vec<T>, ProbeError> {
        if self.places.is_empty() {
            return Err(ProbeError::Nowhere);
        }
        let start = Barrier::new(self.places.len());
        let refused = AtomicBool::new(false);
        let one = |place: Place| {
            let prepared = pin(place.cpu)
                .map_err(ProbeError::from)
                .and_then(|()| self.classify())
                .and_then(|()| prepare(place));
            if prepared.is_err() {
                refused.store(true, Ordering::Release);
            }
            // Also where it was refused: the others wait for us.
            start.wait();
            let prepared = prepared?;
            match refused.load(Ordering::Acquire) {
                true => Ok(None),
                false => measure(prepared, place).map(Some),
            }
        };
        let results: Vec<Result<Option<T>, ProbeError>> = std::thread::scope(|scope| {
            let copies: Vec<_> = self
                .places
                .iter()
                .map(|&place| scope.spawn(move || one(place)))
                .collect();
            copies
                .into_iter()
                .map(|copy| match copy.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect()
        });
        let all: Result<Vec<Option<T>>, ProbeError> = results.into_iter().collect();
        Ok(all?.into_iter().flatten().collect())
    }

    /// Gives the calling thread its class. A thread of SCHED_DEADLINE is given it where its period is known.
    pub(crate) fn classify(&self) -> Result<(), ProbeError> {
        match self.scheduling {
            Scheduling::Other | Scheduling::Deadline => Ok(()),
            Scheduling::Fifo(priority) => Ok(set_fifo(priority)?),
        }
    }

    /// Gives the calling thread SCHED_DEADLINE for a due time each `period`, where that is asked for. The kernel
    /// grants it to a thread that may use all CPUs, so that a refusal to the pinned thread leads to another attempt
    /// unpinned; says whether it had to be.
    pub(crate) fn classify_periodic(&self, period: Nanos) -> Result<bool, ProbeError> {
        if self.scheduling != Scheduling::Deadline {
            return Ok(false);
        }
        // A third of the period is far more than a wake-up takes, and leaves two copies on one CPU admissible.
        let runtime = Nanos(period.0 / 3);
        if set_deadline(runtime, period).is_ok() {
            return Ok(false);
        }
        let everywhere = dyno_measure::host::online_cpus();
        dyno_measure::confine(&everywhere)?;
        set_deadline(runtime, period)?;
        Ok(true)
    }

    /// The class is not one that cannot start the other side.
    pub(crate) fn not_deadline(&self) -> Result<(), ProbeError> {
        match self.scheduling {
            Scheduling::Deadline => Err(ProbeError::Deadline),
            Scheduling::Other | Scheduling::Fifo(_) => Ok(()),
        }
    }
}

/// How much longer to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    end: Nanos,
    left: u64,
}

impl Window {
    /// The rest of a warm-up of this length.
    pub(crate) fn warmup(now: Nanos, length: Nanos) -> Window {
        Window {
            end: now.saturating_add(length),
            left: u64::MAX,
        }
    }

    /// Whether one more sample is to be taken, now that it is `now`; counts it.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self, now: Nanos) -> bool {
        if self.left == 0 || now >= self.end {
            return false;
        }
        self.left -= 1;
        true
    }
}

/// The time that `work` takes, its readings of the clock included.
#[inline(always)]
pub(crate) fn timed(clock: Clock, work: impl FnOnce()) -> (Nanos, Nanos) {
    let began = clock.departure();
    work();
    let ended = clock.arrival();
    (ended, ended.saturating_sub(began))
}

/// Pieces of nothing, of which the median is the probe's own cost.
const EMPTY: usize = 2_001;

/// What [`timed`] reads around `nothing`: the median in nanoseconds, over as many pieces as are done in a few
/// milliseconds.
pub(crate) fn own_cost(clock: Clock, mut nothing: impl FnMut()) -> f64 {
    let mut times: Vec<u64> = (0..EMPTY).map(|_| timed(clock, &mut nothing).1.0).collect();
    let middle = EMPTY / 2;
    let (below, median, _) = times.select_nth_unstable(middle);
    // Between two steps of the clock the median moves with the share of samples on either: finer than one step.
    let same = *median;
    let lower = below.iter().filter(|t| **t < same).count() as f64;
    let equal = times.iter().filter(|t| **t == same).count() as f64;
    same as f64 - 0.5 + (middle as f64 + 0.5 - lower) / equal
}

/// A sample of a batch with its own cost taken out, per piece.
#[inline(always)]
pub(crate) fn per_piece(whole: Nanos, own_ns: f64, batch: u32) -> Nanos {
    // Negative becomes zero in the conversion.
    Nanos(((whole.0 as f64 - own_ns) / f64::from(batch) + 0.5) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_ends_by_time_or_by_count() {
        let mut by_time = Window::warmup(Nanos(100), Nanos(50));
        assert!(by_time.goes_on(Nanos(149)) && !by_time.goes_on(Nanos(150)));
        let mut by_count = Window {
            end: Nanos(u64::MAX),
            left: 2,
        };
        let taken = (0..5).filter(|t| by_count.goes_on(Nanos(*t))).count();
        assert_eq!(taken, 2);
    }

    #[test]
    fn own_cost_is_taken_out_once_per_batch_and_never_below_zero() {
        assert_eq!(per_piece(Nanos(120), 20.0, 10), Nanos(10));
        assert_eq!(per_piece(Nanos(126), 20.4, 10), Nanos(11));
        assert_eq!(per_piece(Nanos(10), 20.0, 1), Nanos(0));
    }
}
