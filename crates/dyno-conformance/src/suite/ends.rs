//! The ends of channels as cases use them: a writing end that keeps account, and a reading end that
//! is served on a thread of its own or by the library.

use super::log::{DEADLINE, Log, Message};
use super::pattern::{self, Tag};
use super::signal;
use dyno_adapter::{ChannelSpec, Error, Node, Receiver, Sender, Sent, Subscription, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What a case tells the thread of a reading end.
#[derive(Default)]
struct Control {
    stop: AtomicBool,
    closed: AtomicBool,
}

impl Control {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// Waits while the gate is closed.
    fn pass(&self) {
        while self.closed.load(Ordering::Relaxed) && !self.stopped() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A reading end that logs what arrives.
pub(super) struct Reader {
    pub(super) log: Arc<Log>,
    control: Arc<Control>,
    served: Served,
}

enum Served {
    ByUs(Option<JoinHandle<()>>),
    ByLibrary(Option<Box<dyn Subscription>>),
}

impl Reader {
    /// Opens a reading end for messages tagged with the channel's own number.
    pub(super) fn open(node: &mut dyn Node, channel: &ChannelSpec, wait: Wait) -> Self {
        Self::open_expecting(node, channel, wait, channel.id)
    }

    /// Opens a reading end for messages tagged with the channel `tagged`, which an echo sent back.
    pub(super) fn open_expecting(
        node: &mut dyn Node,
        channel: &ChannelSpec,
        wait: Wait,
        tagged: u16,
    ) -> Self {
        signal::install();
        let log = Arc::new(Log::new(format!("{}, wait {wait}", channel.name), tagged));
        let control = Arc::new(Control::default());
        let served = if wait == Wait::Callback {
            let (log, control) = (log.clone(), control.clone());
            let subscription = node.subscribe(
                channel,
                Box::new(move |bytes| {
                    control.pass();
                    log.note(bytes);
                }),
            );
            Served::ByLibrary(Some(must("subscribe", subscription)))
        } else {
            let receiver = must("receiver", node.receiver(channel, wait));
            let (log, control) = (log.clone(), control.clone());
            Served::ByUs(Some(std::thread::spawn(move || {
                serve(receiver, wait, &log, &control);
            })))
        };
        Reader {
            log,
            control,
            served,
        }
    }

    /// Lets no message through until [`Reader::let_through`]: a receiver that is too slow.
    pub(super) fn hold_up(&self) {
        self.control.closed.store(true, Ordering::Relaxed);
    }
    /// Ends [`Reader::hold_up`].
    pub(super) fn let_through(&self) {
        self.control.closed.store(false, Ordering::Relaxed);
    }

    /// Whether the sender is known.
    pub(super) fn matched(&mut self) -> bool {
        match &mut self.served {
            Served::ByUs(_) => self.log.lock().matched,
            Served::ByLibrary(Some(subscription)) => must("matched", subscription.matched()),
            Served::ByLibrary(None) => false,
        }
    }

    /// Interrupts the system call that the reading thread is in.
    pub(super) fn nudge(&self) {
        if let Served::ByUs(Some(thread)) = &self.served {
            signal::nudge(thread);
        }
    }

    /// Ends and drops the reading end; panics if its calls do not return.
    pub(super) fn close(&mut self) {
        self.control.stop.store(true, Ordering::Relaxed);
        match &mut self.served {
            Served::ByUs(thread) => {
                if let Some(thread) = thread.take() {
                    signal::join_nudged(thread, DEADLINE, "take");
                }
            }
            Served::ByLibrary(subscription) => *subscription = None,
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.close();
        }
    }
}

/// Takes until told to stop or until the adapter returns an error.
fn serve(mut receiver: Box<dyn Receiver>, wait: Wait, log: &Log, control: &Control) {
    let mut matched = false;
    while !control.stopped() {
        let step = if !matched {
            receiver.matched().map(|now| {
                matched = now;
                if now {
                    log.set_matched();
                } else {
                    std::thread::sleep(Duration::from_millis(1));
                }
            })
        } else {
            control.pass();
            receiver.take(&mut |bytes| log.note(bytes)).map(|taken| {
                if !taken && wait == Wait::Spin {
                    std::thread::yield_now();
                }
            })
        };
        if let Err(error) = step {
            return log.fail(&error);
        }
    }
}

/// A writing end that keeps account of what the stack accepted.
pub(super) struct Writer {
    sender: Box<dyn Sender>,
    channel: u16,
    next: u64,
    probes: u64,
    /// Messages that the stack accepted, in order.
    pub(super) accepted: Vec<Message>,
    /// The last message whose send returned an error.
    pub(super) failed: Option<Message>,
}

impl Writer {
    pub(super) fn open(node: &mut dyn Node, channel: &ChannelSpec) -> Self {
        Writer {
            sender: must("sender", node.sender(channel)),
            channel: channel.id,
            next: 0,
            probes: 0,
            accepted: Vec::new(),
            failed: None,
        }
    }

    /// Closes the end; returns what the stack had accepted.
    pub(super) fn close(self) -> Vec<Message> {
        self.accepted
    }

    pub(super) fn matched(&mut self) -> usize {
        must("matched", self.sender.matched())
    }

    /// Sends the next message; what the stack did not accept is not expected to arrive.
    pub(super) fn try_send(&mut self, len: usize) -> Result<Sent, Error> {
        let sequence = self.next;
        self.next += 1;
        let sent = self.put(false, sequence, len);
        let sent = sent.inspect_err(|_| self.failed = Some((sequence, len)))?;
        if sent != Sent::Refused {
            self.accepted.push((sequence, len));
        }
        Ok(sent)
    }

    /// As [`Writer::try_send`] where an error is a failure.
    pub(super) fn send(&mut self, len: usize) -> Sent {
        must("send", self.try_send(len))
    }

    /// Sends a message that proves the match.
    pub(super) fn probe(&mut self) {
        let sequence = self.probes;
        self.probes += 1;
        must("send", self.put(true, sequence, pattern::TAG_BYTES));
    }

    fn put(&mut self, probe: bool, sequence: u64, len: usize) -> Result<Sent, Error> {
        let tag = Tag {
            probe,
            channel: self.channel,
            sequence,
        };
        let mut filled = 0;
        let sent = self.sender.send(len, &mut |room| {
            filled += 1;
            assert_eq!(room.len(), len, "fill got a room of another length");
            pattern::fill(room, tag);
        })?;
        match sent {
            Sent::Refused => assert!(filled <= 1, "fill was called {filled} times"),
            _ => assert_eq!(filled, 1, "fill was called {filled} times"),
        }
        Ok(sent)
    }
}

/// Unwraps a result of the adapter, or fails the test with its words.
pub(super) fn must<T>(call: &str, result: Result<T, Error>) -> T {
    result.unwrap_or_else(|error| panic!("{call}: {error}"))
}

/// Waits until each writer sees `readers_each` receivers and each reader its sender.
pub(super) fn await_match(writers: &mut [Writer], readers_each: usize, readers: &mut [Reader]) {
    let start = Instant::now();
    loop {
        let counts: Vec<usize> = writers.iter_mut().map(Writer::matched).collect();
        let seen: Vec<bool> = readers.iter_mut().map(Reader::matched).collect();
        if counts.iter().all(|n| *n == readers_each) && seen.iter().all(|known| *known) {
            return;
        }
        for reader in readers.iter() {
            if let Some(error) = &reader.log.lock().error {
                panic!("while matching: {error}");
            }
        }
        assert!(
            start.elapsed() < DEADLINE,
            "no match: senders see {counts:?} receivers of {readers_each}, receivers see their \
             senders: {seen:?}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits for the match, then sends probes until every reader has seen one: the path works.
pub(super) fn link(writers: &mut [Writer], readers_each: usize, readers: &mut [Reader]) {
    await_match(writers, readers_each, readers);
    let start = Instant::now();
    while readers.iter().any(|r| r.log.lock().probes == 0) {
        for writer in writers.iter_mut() {
            writer.probe();
        }
        std::thread::sleep(Duration::from_millis(2));
        assert!(
            start.elapsed() < DEADLINE,
            "all ends say that they are matched, but probes do not reach every receiver"
        );
    }
}

/// Sends messages of `len` bytes until one has arrived at every reader: exactly one where the stack
/// may not lose any. Returns whether one arrived within the attempts that a lossy stack has.
pub(super) fn deliver(writer: &mut Writer, readers: &[Reader], len: usize, may_lose: bool) -> bool {
    const ATTEMPTS: u32 = 25;
    let start = Instant::now();
    for _ in 0..ATTEMPTS {
        while writer.send(len) == Sent::Refused {
            assert!(
                start.elapsed() < DEADLINE,
                "a message of {len} B is always refused"
            );
            std::thread::sleep(Duration::from_micros(100));
        }
        let message = *writer.accepted.last().expect("a message was just accepted");
        let limit = if may_lose {
            Duration::from_millis(200)
        } else {
            DEADLINE
        };
        if readers.iter().all(|reader| {
            reader
                .log
                .wait_at_most(limit, |seen| seen.messages.last() == Some(&message))
        }) {
            return true;
        }
        for reader in readers {
            let seen = reader.log.lock();
            assert!(seen.damage.is_empty(), "{len} B: {}", seen.damage[0]);
            assert!(seen.error.is_none(), "{len} B: {:?}", seen.error);
        }
        assert!(may_lose, "a message of {len} B did not arrive");
    }
    false
}
