//! The warm-up: how long it lasts, and when what is recorded has become steady.
//!
//! Where the plan lets the warm-up depend on the series ([`Experiment::settle`]), each recording end
//! cuts its latencies into [`SLICES`] slices of the shortest warm-up and tests them for a change of
//! level (Pettitt's rank test). While there is one the series is still moving, and the test slides on
//! by a slice. The first steady look, or the longest warm-up, ends it.

use super::progress::Progress;
use crate::event::Event;
use crate::job::Job;
use crate::shared::Shared;
use dyno_model::plan::Extent;
use dyno_model::{Experiment, Nanos};
use dyno_stats::SteadyTest;
use std::hint::select_unpredictable;
use std::sync::{Arc, mpsc};

/// Slices that are tested at a time.
const SLICES: usize = 20;

/// A steady series is taken for a moving one in this share of looks.
const LEVEL: f64 = 0.05;

/// So many messages of a closed loop go on when the time of the warm-up is over. The instant falls into what takes
/// long, and a message that follows an interruption is not like the others: where the machine lost 3 % of its time,
/// the first sample stood out in 4 % of the trials.
const MORE: u32 = 16;
/// They end after this time from the first of them on, where messages take long or are lost.
const REST: Nanos = Nanos::from_millis(100);

/// Tells which messages still belong to the warm-up.
pub(super) struct Warmup<'a> {
    shared: &'a Shared,
    /// For a warm-up that is a number of messages.
    counted: Option<Progress>,
    /// Messages that still belong to it when its time is over, and until when; later than any time before the first
    /// of them.
    more: u32,
    until: Nanos,
}

impl<'a> Warmup<'a> {
    pub(super) fn new(shared: &'a Shared, experiment: &Experiment) -> Self {
        let counted = matches!(experiment.warmup, Extent::Messages(_)).then(|| {
            let mut progress = Progress::new(experiment.warmup);
            progress.begin(shared.start());
            progress
        });
        let is_closed = experiment.workload.kind().is_closed_loop();
        Warmup {
            shared,
            counted,
            // What others share as well waits for nobody.
            more: match is_closed && !experiment.has_common_window() {
                true => MORE,
                false => 0,
            },
            until: Nanos(u64::MAX),
        }
    }

    /// Whether a message due at `due` belongs to the warm-up. As [`Progress::admits`] without a branch on how far it
    /// has come: a message before which the processor foresaw one wrongly took 13 ns longer, where a round trip takes
    /// 300 ns.
    #[inline]
    pub(super) fn admits(&mut self, due: Nanos) -> bool {
        match &mut self.counted {
            Some(progress) => progress.admits(due),
            None => {
                let is_over = due >= self.shared.window_at();
                let none_before = Nanos(u64::MAX * u64::from(!is_over));
                self.until = self.until.min(due.saturating_add(REST).max(none_before));
                let goes_on = (self.more > 0) & (due < self.until);
                self.more -= u32::from(is_over & (self.more > 0));
                !is_over | goes_on
            }
        }
    }
}

/// Watches one series of latencies until it is steady.
pub(super) struct Settling {
    shared: Arc<Shared>,
    events: mpsc::Sender<Event>,
    /// The shortest warm-up; `None` where nothing is to be watched, or not any more.
    least: Option<Nanos>,
    slice: Nanos,
    slice_end: Nanos,
    sum: f64,
    n: u32,
    means: Vec<f64>,
    test: SteadyTest,
    moving: bool,
}

impl Settling {
    pub(super) fn new(job: &Job) -> Self {
        let experiment = job.experiment();
        let least = match (experiment.settle, experiment.warmup) {
            (Some(_), Extent::Duration(least)) => Some(least),
            _ => None,
        };
        Settling {
            shared: job.shared.clone(),
            events: job.events.clone(),
            least,
            slice: Nanos((least.unwrap_or(Nanos::ZERO).0 / SLICES as u64).max(1)),
            slice_end: Nanos::ZERO,
            sum: 0.0,
            n: 0,
            means: Vec::with_capacity(SLICES),
            test: SteadyTest::new(SLICES, LEVEL),
            moving: false,
        }
    }

    /// The warm-up is over, steady or not, or goes on.
    #[inline]
    pub(super) fn end_if(&mut self, is_over: bool) {
        self.least = select_unpredictable(is_over, None, self.least);
    }

    /// A latency of the warm-up that was seen at `at`.
    #[inline]
    pub(super) fn note(&mut self, at: Nanos, latency: Nanos) {
        let Some(least) = self.least else { return };
        if at >= self.slice_end {
            self.next_slice(at, least);
        }
        self.sum += latency.0 as f64;
        self.n += 1;
    }

    #[cold]
    fn next_slice(&mut self, at: Nanos, least: Nanos) {
        self.slice_end = at.saturating_add(self.slice);
        if self.n == 0 {
            return;
        }
        if self.means.len() == SLICES {
            self.means.remove(0);
        }
        self.means.push(self.sum / f64::from(self.n));
        (self.sum, self.n) = (0.0, 0);
        if self.means.len() < SLICES || at < self.shared.start().saturating_add(least) {
            return;
        }
        let steady = self.test.is_steady(&self.means);
        if self.moving == steady {
            self.moving = !steady;
            self.shared.one_moving(self.moving);
        }
        if steady {
            self.least = None;
            // The control thread is gone only when the whole agent ends.
            let _ = self.events.send(Event::Settled);
        }
    }
}
