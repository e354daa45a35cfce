//! Senders, receivers and subscriptions that misbehave.

use super::options::{Faults, Place, Side};
use super::trap::Traps;
use dyno_adapter::{Receiver, Result, Sender, Sent, Subscription};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A sender that damages messages and springs traps.
pub(super) struct FaultySender {
    inner: Box<dyn Sender>,
    damage: Damage,
    traps: Arc<Traps>,
}

impl FaultySender {
    pub(super) fn new(
        inner: Box<dyn Sender>,
        max_payload: usize,
        faults: &Faults,
        traps: Arc<Traps>,
    ) -> Self {
        FaultySender {
            inner,
            damage: Damage::new(faults.clone(), max_payload),
            traps,
        }
    }
}

/// The faults of messages, and what they need to remember.
struct Damage {
    faults: Faults,
    /// Messages that the caller has sent.
    number: u64,
    /// Where a message is written before it is damaged. Empty if no fault touches messages.
    buffer: Vec<u8>,
    /// A message held back, and whether there is one.
    held: Vec<u8>,
    holds: bool,
    /// When the last message before the silence was sent.
    silent_since: Option<Instant>,
}

impl Damage {
    fn new(faults: Faults, max_payload: usize) -> Self {
        let room = if faults.touch_messages() {
            max_payload
        } else {
            0
        };
        Damage {
            faults,
            number: 0,
            buffer: vec![0; room],
            held: Vec::with_capacity(room),
            holds: false,
            silent_since: None,
        }
    }

    /// Whether the message of that number falls into the silence.
    fn is_silent(&mut self, number: u64) -> bool {
        let silence = self.faults.silence;
        if silence.lasts.is_zero() || number < silence.after {
            return false;
        }
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        number > silence.after && since.elapsed() < silence.lasts
    }

    fn send(
        &mut self,
        inner: &mut dyn Sender,
        mut len: usize,
        fill: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Sent> {
        if len == 0 || len > self.buffer.len() {
            return inner.send(len, fill);
        }
        fill(&mut self.buffer[..len]);
        self.number += 1;
        if self.is_silent(self.number) {
            return Ok(Sent::Accepted);
        }
        let (faults, number) = (&self.faults, self.number);
        let early = faults.delay_first == 0 || number <= faults.delay_first;
        if early && faults.delay.hits(number) {
            delay(faults.delay_by, faults.delay_spin);
        }
        if faults.drop.hits(number) {
            return Ok(Sent::Accepted);
        }
        if faults.corrupt.hits(number) {
            let last = len - 1;
            let at = faults.corrupt_byte.unwrap_or(last).min(last);
            self.buffer[at] ^= 0xff;
        }
        if faults.truncate.hits(number) {
            len = len.saturating_sub(faults.truncate_by).max(1);
        }
        let bytes = &self.buffer[..len];
        if faults.reorder.hits(number) && !self.holds {
            self.held.clear();
            self.held.extend_from_slice(bytes);
            self.holds = true;
            return Ok(Sent::Accepted);
        }
        let sent = copy(inner, bytes)?;
        if faults.duplicate.hits(number) {
            copy(inner, bytes)?;
        }
        if std::mem::take(&mut self.holds) {
            copy(inner, &self.held)?;
        }
        Ok(sent)
    }
}

fn copy(inner: &mut dyn Sender, bytes: &[u8]) -> Result<Sent> {
    inner.send(bytes.len(), &mut |room| room.copy_from_slice(bytes))
}

/// Lasts so long, asleep or on the CPU.
pub(super) fn delay(by: Duration, spin: bool) {
    let start = Instant::now();
    if !spin {
        std::thread::sleep(by);
    }
    while start.elapsed() < by {
        std::hint::spin_loop();
    }
}

impl Sender for FaultySender {
    fn matched(&mut self) -> Result<usize> {
        self.traps.spring(Place::Matched, Some(Side::Sender))?;
        self.inner.matched()
    }

    fn send(&mut self, len: usize, fill: &mut dyn FnMut(&mut [u8])) -> Result<Sent> {
        self.traps.spring(Place::Send, Some(Side::Sender))?;
        let sent = self.damage.send(self.inner.as_mut(), len, fill);
        self.traps.count(Place::Send, Some(Side::Sender));
        sent
    }
}

impl Drop for FaultySender {
    fn drop(&mut self) {
        self.traps.spring_or_stay(Place::Drop, Some(Side::Sender));
    }
}

/// How much a receiver still shows.
pub(super) struct Hearing {
    left: Option<u64>,
}

impl Hearing {
    pub(super) fn new(faults: &Faults) -> Self {
        let left = faults.deaf_after;
        Hearing { left }
    }

    /// Whether the next message is shown.
    pub(super) fn hears(&mut self) -> bool {
        match &mut self.left {
            None => true,
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
        }
    }
}

/// A receiver that springs traps.
pub(super) struct FaultyReceiver {
    inner: Box<dyn Receiver>,
    hearing: Hearing,
    slow_take: Duration,
    always_matched: bool,
    traps: Arc<Traps>,
}

impl FaultyReceiver {
    pub(super) fn new(inner: Box<dyn Receiver>, faults: &Faults, traps: Arc<Traps>) -> Self {
        FaultyReceiver {
            inner,
            hearing: Hearing::new(faults),
            slow_take: faults.slow_take,
            always_matched: faults.always_matched,
            traps,
        }
    }
}

impl Receiver for FaultyReceiver {
    fn matched(&mut self) -> Result<bool> {
        self.traps.spring(Place::Matched, Some(Side::Receiver))?;
        // Asked in any case: that may drive the connection.
        Ok(self.inner.matched()? || self.always_matched)
    }

    fn take(&mut self, on_message: &mut dyn FnMut(&[u8])) -> Result<bool> {
        self.traps.spring(Place::Take, Some(Side::Receiver))?;
        let (mut is_shown, hearing) = (false, &mut self.hearing);
        let taken = self.inner.take(&mut |bytes| {
            is_shown = hearing.hears();
            if is_shown {
                on_message(bytes);
            }
        })?;
        if taken && !is_shown {
            return Ok(false);
        }
        if taken {
            self.traps.count(Place::Take, Some(Side::Receiver));
        } else {
            // Goes on after a signal.
            std::thread::sleep(self.slow_take);
        }
        Ok(taken)
    }
}

impl Drop for FaultyReceiver {
    fn drop(&mut self) {
        self.traps.spring_or_stay(Place::Drop, Some(Side::Receiver));
    }
}

/// A subscription that springs traps.
pub(super) struct FaultySubscription {
    inner: Box<dyn Subscription>,
    always_matched: bool,
    traps: Arc<Traps>,
}

impl FaultySubscription {
    pub(super) fn new(inner: Box<dyn Subscription>, faults: &Faults, traps: Arc<Traps>) -> Self {
        FaultySubscription {
            inner,
            always_matched: faults.always_matched,
            traps,
        }
    }
}

impl Subscription for FaultySubscription {
    fn matched(&mut self) -> Result<bool> {
        self.traps.spring(Place::Matched, Some(Side::Receiver))?;
        Ok(self.inner.matched()? || self.always_matched)
    }
}

impl Drop for FaultySubscription {
    fn drop(&mut self) {
        self.traps.spring_or_stay(Place::Drop, Some(Side::Receiver));
    }
}
