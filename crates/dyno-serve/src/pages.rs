//! Reports that were made, kept until their run changes.
//!
//! A report is made once for all who ask for it at the same time. Those that were not asked for longest
//! are dropped when all together are too large. While a run is measured its report may be a little old:
//! making it takes time on a machine that perhaps is the one that measures, so after each report there is
//! a pause of [`PAUSE`] times as long as it took. Following a run thus costs at most a twentieth of one CPU,
//! however many follow it.

use crate::name;
use crate::shelf::lock;
use bytes::Bytes;
use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The pause after a report of a run that is being measured, in times that it took to make.
pub(crate) const PAUSE: u32 = 20;
/// The least pause, and the time between two looks at the state of a run.
pub(crate) const LEAST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause, so that a long campaign is still seen to go on.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);
/// What all kept reports may take, in bytes; the newest is kept whatever it takes.
const ROOM: usize = 96 << 20;

/// Whose report.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// One run's.
    One(OsString),
    /// Of two runs, the base first.
    Two(OsString, OsString),
}

impl Key {
    pub(crate) fn names(&self) -> Vec<&OsString> {
        match self {
            Key::One(name) => vec![name],
            Key::Two(base, new) => vec![base, new],
        }
    }

    /// Where the data of the report is.
    pub(crate) fn data_address(&self) -> String {
        match self {
            Key::One(name) => format!("/runs/{}/data.json", name::encode(name)),
            Key::Two(base, new) => format!(
                "/compare/data.json?base={}&new={}",
                name::encode(base),
                name::encode(new)
            ),
        }
    }
}

/// A report.
#[derive(Debug)]
pub(crate) struct Made {
    /// The state of the runs that it shows, or an earlier one than it shows.
    pub(crate) version: u64,
    pub(crate) html: Bytes,
    /// Its content security policy.
    pub(crate) policy: String,
    pub(crate) json: Bytes,
    /// When its making began and ended.
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
}

impl Made {
    fn pause(&self) -> Duration {
        let took = self.ended.saturating_duration_since(self.began);
        (took * PAUSE).clamp(LEAST_PAUSE, LONGEST_PAUSE)
    }

    /// Whether it can be shown of runs in that state.
    fn serves(&self, version: u64, running: bool) -> bool {
        self.version == version || (running && self.ended.elapsed() < self.pause())
    }

    fn size(&self) -> usize {
        self.html.len() + self.json.len()
    }
}

/// The place of one report.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    /// Held by who makes the report.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    made: Mutex<Option<Arc<Made>>>,
    /// When it was last asked for, by the number of the question.
    used: AtomicU64,
}

impl Slot {
    /// The report, if it can be shown of runs in that state.
    pub(crate) fn serving(&self, version: u64, running: bool) -> Option<Arc<Made>> {
        let made = lock(&self.made).clone()?;
        made.serves(version, running).then_some(made)
    }

    /// The report, if its making began after `asked`.
    pub(crate) fn since(&self, asked: Instant) -> Option<Arc<Made>> {
        let made = lock(&self.made).clone()?;
        (made.began >= asked).then_some(made)
    }
}

/// All kept reports.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    questions: AtomicU64,
}

impl Pages {
    /// The place of a report, made if there is none. Only for who is about to make the report of runs that there
    /// are: there are as many places as pairs of runs.
    pub(crate) fn slot(&self, key: &Key) -> Arc<Slot> {
        let slot = lock(&self.slots).entry(key.clone()).or_default().clone();
        self.use_now(&slot);
        slot
    }

    /// The report, if there is one that can be shown of runs in that state.
    pub(crate) fn serving(&self, key: &Key, version: u64, running: bool) -> Option<Arc<Made>> {
        let slot = lock(&self.slots).get(key).cloned()?;
        self.use_now(&slot);
        slot.serving(version, running)
    }

    fn use_now(&self, slot: &Slot) {
        let question = self.questions.fetch_add(1, Ordering::Relaxed);
        slot.used.store(question, Ordering::Relaxed);
    }

    /// The version that would be shown of a run in this state.
    pub(crate) fn shown(&self, key: &Key, version: u64, running: bool) -> u64 {
        let slot = lock(&self.slots).get(key).cloned();
        let made = slot.and_then(|slot| slot.serving(version, running));
        made.map_or(version, |made| made.version)
    }

    /// Keeps a report, and drops those that there is no room for.
    pub(crate) fn keep(&self, slot: &Slot, made: Arc<Made>) {
        *lock(&slot.made) = Some(made);
        let mut slots = lock(&self.slots);
        let size = |slot: &Slot| lock(&slot.made).as_ref().map_or(0, |m| m.size());
        let mut by_use: Vec<(u64, usize, Key)> = slots
            .iter()
            .map(|(key, slot)| (slot.used.load(Ordering::Relaxed), size(slot), key.clone()))
            .collect();
        by_use.sort_by_key(|(used, _, _)| std::cmp::Reverse(*used));
        let mut room = ROOM;
        for (place, (_, size, key)) in by_use.iter().enumerate() {
            match room.checked_sub(*size) {
                Some(left) => room = left,
                None if place == 0 => room = 0,
                None => {
                    slots.remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(version: u64, size: usize, took: Duration) -> Arc<Made> {
        let ended = Instant::now();
        Arc::new(Made {
            version,
            html: Bytes::from(vec![b'x'; size]),
            policy: String::new(),
            json: Bytes::new(),
            began: ended.checked_sub(took).unwrap_or(ended),
            ended,
        })
    }

    fn key(number: usize) -> Key {
        Key::One(number.to_string().into())
    }

    #[test]
    fn a_report_serves_its_state_and_while_measured_those_that_follow_soon() {
        let pages = Pages::default();
        let slot = pages.slot(&key(1));
        assert!(slot.serving(7, true).is_none());
        pages.keep(&slot, made(7, 1, Duration::from_secs(1)));
        assert!(slot.serving(7, false).is_some());
        assert!(slot.serving(8, true).is_some(), "within the pause");
        assert!(slot.serving(8, false).is_none(), "the run has ended");
        assert_eq!(pages.shown(&key(1), 8, true), 7);
        assert_eq!(pages.shown(&key(1), 8, false), 8);
        assert_eq!(pages.shown(&key(2), 8, true), 8);
    }

    #[test]
    fn the_pause_follows_the_cost_within_limits() {
        let pause = |ms| made(0, 0, Duration::from_millis(ms)).pause();
        assert_eq!(pause(0), LEAST_PAUSE);
        assert_eq!(pause(500), Duration::from_secs(10));
        assert_eq!(pause(60_000), LONGEST_PAUSE);
    }

    #[test]
    fn what_was_not_asked_for_longest_is_dropped_first() {
        let pages = Pages::default();
        for number in 0..4 {
            let slot = pages.slot(&key(number));
            pages.keep(&slot, made(0, ROOM / 4, Duration::ZERO));
        }
        pages.slot(&key(0));
        let last = pages.slot(&key(4));
        pages.keep(&last, made(0, ROOM / 4, Duration::ZERO));
        let mut kept: Vec<Key> = lock(&pages.slots).keys().cloned().collect();
        kept.sort_by_key(|k| k.names()[0].clone());
        assert_eq!(kept, [key(0), key(2), key(3), key(4)]);
        // One that alone is too large is shown all the same.
        let huge = pages.slot(&key(5));
        pages.keep(&huge, made(0, ROOM + 1, Duration::ZERO));
        let kept: Vec<Key> = lock(&pages.slots).keys().cloned().collect();
        assert_eq!(kept, [key(5)]);
        assert!(huge.serving(0, false).is_some());
    }
}
