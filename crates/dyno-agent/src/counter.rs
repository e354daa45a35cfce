//! This host's counter, as the runner of another host is told it.

#[cfg(feature = "clock-lie")]
mod lie;

use dyno_measure::{Clock, ClockSpec, Counters};
use dyno_model::cause::{AgentTrouble, Warning};
use dyno_model::protocol::{Counter, Report};
#[cfg(feature = "clock-lie")]
use lie::Story;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the runner is told of this host's counter.
#[derive(Debug, Default)]
pub(crate) struct OwnCounter {
    story: Story,
    /// The runner asked: this host has a clock of its own.
    asked: AtomicBool,
}

impl OwnCounter {
    pub(crate) fn new() -> Result<Self, String> {
        Ok(OwnCounter {
            story: Story::new()?,
            ..OwnCounter::default()
        })
    }

    /// The answer to a question of the runner that arrived at `now`.
    pub(crate) fn answer(&self, number: u32, counter: Counter, now: Counters) -> Report {
        self.asked.store(true, Ordering::Relaxed);
        let Some(ticks) = now.of(counter) else {
            return Report::Failed {
                step: "clock".into(),
                who: None,
                trouble: AgentTrouble::NoCounter,
                peer_gone: false,
            };
        };
        let (ticks, raw) = self.story.told(counter, ticks, now.raw);
        Report::Tock { number, ticks, raw }
    }

    /// Whether this host has a clock of its own.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The clock for this host's real counter, of the one that the runner found.
    pub(crate) fn clock(&self, found: ClockSpec) -> ClockSpec {
        match self.is_asked() {
            true => self.story.undone(found),
            false => found,
        }
    }

    /// Notes what the clock shows now, where a test wants to know.
    pub(crate) fn note(&self, clock: Clock) {
        self.story.note(clock);
    }

    /// What a test wants to know, as a remark.
    pub(crate) fn remark(&self) -> Option<Warning> {
        self.story.remark(self.is_asked())
    }
}

/// What is told of the counter: the truth.
#[cfg(not(feature = "clock-lie"))]
#[derive(Debug, Default)]
struct Story;

#[cfg(not(feature = "clock-lie"))]
impl Story {
    fn new() -> Result<Self, String> {
        Ok(Story)
    }
    fn told(&self, _: Counter, ticks: u64, raw: dyno_model::Nanos) -> (u64, dyno_model::Nanos) {
        (ticks, raw)
    }
    fn undone(&self, found: ClockSpec) -> ClockSpec {
        found
    }
    fn note(&self, _: Clock) {}
    fn remark(&self, _: bool) -> Option<Warning> {
        None
    }
}
