//! What arrived at one reading end, and waiting for it.

use super::pattern;
use dyno_adapter::Error;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a condition may take to become true. Generous: it only ends what would never end.
pub(super) const DEADLINE: Duration = Duration::from_secs(30);

/// A sequence number and a length in bytes.
pub(super) type Message = (u64, usize);

/// What a reading end has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) matched: bool,
    pub(super) probes: u64,
    /// Intact messages in the order of their arrival, without probes.
    pub(super) messages: Vec<Message>,
    pub(super) damage: Vec<String>,
    pub(super) error: Option<String>,
}

/// The record of one reading end, shared with the thread that fills it.
pub(super) struct Log {
    name: String,
    /// The channel whose tags are expected.
    channel: u16,
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Log {
    pub(super) fn new(name: String, channel: u16) -> Self {
        Log {
            name,
            channel,
            seen: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Notes a message.
    pub(super) fn note(&self, bytes: &[u8]) {
        let tag = pattern::check(bytes);
        self.change(|seen| match tag {
            Err(damage) => seen.damage.push(damage),
            Ok(tag) if tag.channel != self.channel => seen.damage.push(format!(
                "a message of channel {} on channel {}",
                tag.channel, self.channel
            )),
            Ok(tag) if tag.probe => seen.probes += 1,
            Ok(tag) => seen.messages.push((tag.sequence, bytes.len())),
        });
    }

    /// Notes that the adapter returned an error.
    pub(super) fn fail(&self, error: &Error) {
        self.change(|seen| seen.error = Some(error.to_string()));
    }

    /// Notes that the sender is known.
    pub(super) fn set_matched(&self) {
        self.change(|seen| seen.matched = true);
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// What was seen so far.
    pub(super) fn lock(&self) -> MutexGuard<'_, Seen> {
        // A panic elsewhere fails the test anyway; what was seen stays readable.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `done`; false if it has not become true within `limit` or never can because the
    /// reading end has failed.
    pub(super) fn wait_at_most(&self, limit: Duration, done: impl Fn(&Seen) -> bool) -> bool {
        let start = Instant::now();
        let mut seen = self.lock();
        loop {
            if done(&seen) {
                return true;
            }
            let left = limit.saturating_sub(start.elapsed());
            if left.is_zero() || seen.error.is_some() {
                return false;
            }
            seen = match self.changed.wait_timeout(seen, left) {
                Ok((seen, _)) => seen,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    /// Waits until `done`, or panics with what was seen instead.
    pub(super) fn wait(&self, what: &str, done: impl Fn(&Seen) -> bool) {
        if !self.wait_at_most(DEADLINE, done) {
            panic!("{}: {what} did not come; {}", self.name, self.summary());
        }
    }

    fn summary(&self) -> String {
        let seen = self.lock();
        format!(
            "matched: {}, probes: {}, messages: {}, last: {:?}, damaged: {:?}, error: {:?}",
            seen.matched,
            seen.probes,
            seen.messages.len(),
            seen.messages.last(),
            seen.damage.first(),
            seen.error
        )
    }

    /// Asserts that of the messages `accepted` by the stack all arrived, in order, intact and once;
    /// with `may_lose`, that what arrived was in order, intact and once.
    pub(super) fn assert_arrived(&self, accepted: &[Message], may_lose: bool) {
        if !may_lose {
            self.wait("every accepted message", |seen| {
                seen.messages.len() >= accepted.len()
            });
        }
        let seen = self.lock();
        assert!(
            seen.damage.is_empty(),
            "{}: {} damaged messages, the first: {}",
            self.name,
            seen.damage.len(),
            seen.damage[0]
        );
        let mut rest = accepted.iter();
        for (place, message) in seen.messages.iter().enumerate() {
            let found = match may_lose {
                true => rest.any(|m| m == message),
                false => rest.next() == Some(message),
            };
            assert!(
                found,
                "{}: (sequence number, bytes) {message:?} arrived in place {place} after {:?}; it \
                 was duplicated, reordered, cut or never accepted",
                self.name,
                place.checked_sub(1).map(|before| seen.messages[before])
            );
        }
    }
}
