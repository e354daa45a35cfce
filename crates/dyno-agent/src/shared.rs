//! What the control thread and the role threads share: the phase, and where each thread is.

use dyno_measure::{Clock, Memory, Meter, Tracepoints, Usage, Used, memory_of, usage_of_self};
use dyno_model::Nanos;
use dyno_model::record::ProcessCost;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The step of the trial. Only the control thread moves it, and only forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Endpoints are being made and matched; those that are matched exchange probes.
    Setup,
    /// All are matched; probes are exchanged until every receiver has seen one.
    Link,
    /// Warm-up and window, from [`Shared::start`] on.
    Run,
    /// Active roles are done; sinks take what is still under way.
    Drain,
    /// Everybody ends.
    Stop,
}

/// What has arrived at one reading end, as the control thread sees it. Two plain stores per message: only the
/// thread that receives writes.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Measured messages that arrived in whatever state, each once.
    count: AtomicU64,
    /// The last of them, on the run's clock.
    last: AtomicU64,
}

impl Arrivals {
    #[inline]
    pub(crate) fn note(&self, count: u64, at: Nanos) {
        self.last.store(at.0, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

/// State of one trial within the agent.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    phase: AtomicU8,
    /// Guards nothing but the moment between looking at `phase` and sleeping on `moved`.
    moving: Mutex<()>,
    moved: Condvar,
    start: AtomicU64,
    /// When the window begins; `u64::MAX` until that is known.
    window_at: AtomicU64,
    /// Ends whose series is still moving.
    moving_ends: AtomicUsize,
    /// By channel id: measured messages offered and accepted, valid from `Drain` on.
    offered: Vec<AtomicU64>,
    sent: Vec<AtomicU64>,
    /// What this process uses. Role threads touch it before the window only.
    meter: Mutex<Meter>,
    metered: AtomicBool,
    /// Counts what this process asks of the kernel, where the experiment is counted.
    tracepoints: Option<Tracepoints>,
    /// The reading ends of this process, by channel.
    ends: Mutex<Vec<(u16, Arc<Arrivals>)>>,
    /// The end of the last send of this process.
    last_send: AtomicU64,
    /// When the drain began; zero before.
    drain_at: AtomicU64,
    /// The warm-up is a number of messages: the first of them begins the cost.
    counts_warmup: bool,
    linked: AtomicUsize,
    drained: AtomicUsize,
    threads: Mutex<Vec<Arc<ThreadState>>>,
}

impl Shared {
    /// `counts_warmup`: the warm-up is a number of messages.
    pub(crate) fn new(clock: Clock, channels: usize, counts_warmup: bool) -> Self {
        let counters = || (0..channels).map(|_| AtomicU64::new(0)).collect();
        Shared {
            clock,
            phase: AtomicU8::new(Phase::Setup as u8),
            moving: Mutex::new(()),
            moved: Condvar::new(),
            start: AtomicU64::new(0),
            window_at: AtomicU64::new(u64::MAX),
            moving_ends: AtomicUsize::new(0),
            offered: counters(),
            sent: counters(),
            meter: Mutex::new(Meter::default()),
            metered: AtomicBool::new(false),
            tracepoints: None,
            ends: Mutex::new(Vec::new()),
            last_send: AtomicU64::new(0),
            drain_at: AtomicU64::new(0),
            counts_warmup,
            linked: AtomicUsize::new(0),
            drained: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
        }
    }

    /// The same with counters of what the process asks of the kernel.
    pub(crate) fn with(mut self, tracepoints: Option<Tracepoints>) -> Self {
        self.tracepoints = tracepoints;
        self
    }

    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Setup,
            1 => Phase::Link,
            2 => Phase::Run,
            3 => Phase::Drain,
            _ => Phase::Stop,
        }
    }

    pub(crate) fn advance(&self, phase: Phase) {
        let _moving = lock(&self.moving);
        self.phase.fetch_max(phase as u8, Ordering::Release);
        self.moved.notify_all();
    }

    /// Sleeps until the trial has come to `phase` or beyond, and returns where it is.
    pub(crate) fn wait_for(&self, phase: Phase) -> Phase {
        let mut moving = lock(&self.moving);
        while self.phase() < phase {
            moving = self
                .moved
                .wait(moving)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.phase()
    }

    /// Sleeps until the run's clock passes `at`, or the trial has come to `phase`; returns the time.
    pub(crate) fn sleep_until(&self, at: Nanos, phase: Phase) -> Nanos {
        let mut moving = lock(&self.moving);
        loop {
            let now = self.clock.now();
            if now >= at || self.phase() >= phase {
                return now;
            }
            let left = at.saturating_sub(now).into();
            let woken = self.moved.wait_timeout(moving, left);
            moving = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// One more reading end has seen a probe.
    pub(crate) fn one_linked(&self) {
        self.linked.fetch_add(1, Ordering::Relaxed);
    }

    /// Reading ends that have seen a probe.
    pub(crate) fn linked(&self) -> usize {
        self.linked.load(Ordering::Relaxed)
    }

    /// `ends` more reading ends of passive roles have got everything.
    pub(crate) fn have_drained(&self, ends: usize) {
        self.drained.fetch_add(ends, Ordering::Relaxed);
    }

    /// Reading ends of passive roles that have got everything.
    pub(crate) fn drained(&self) -> usize {
        self.drained.load(Ordering::Relaxed)
    }

    /// Sets when the warm-up begins and, where it is known beforehand, the window; then enters
    /// [`Phase::Run`].
    pub(crate) fn start_at(&self, at: Nanos, window: Option<Nanos>) {
        self.start.store(at.0, Ordering::Relaxed);
        if let Some(window) = window {
            self.begin_window_at(window);
        }
        self.advance(Phase::Run);
    }

    /// The window begins with the first message that is due at or after `at`.
    pub(crate) fn begin_window_at(&self, at: Nanos) {
        self.window_at.store(at.0, Ordering::Relaxed);
    }

    /// When the window begins; later than every instant until that is known.
    #[inline]
    pub(crate) fn window_at(&self) -> Nanos {
        Nanos(self.window_at.load(Ordering::Relaxed))
    }

    /// An end has found its series moving, or steady again.
    pub(crate) fn one_moving(&self, moving: bool) {
        if moving {
            self.moving_ends.fetch_add(1, Ordering::Relaxed);
        } else {
            self.moving_ends.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether no end has found its series moving at its last look.
    pub(crate) fn is_steady(&self) -> bool {
        self.moving_ends.load(Ordering::Relaxed) == 0
    }

    /// When the warm-up begins; valid from [`Phase::Run`] on.
    pub(crate) fn start(&self) -> Nanos {
        Nanos(self.start.load(Ordering::Relaxed))
    }

    /// Sets what was sent over the channels, then enters [`Phase::Drain`].
    pub(crate) fn drain(&self, sent: &[dyno_model::protocol::Sent]) {
        for s in sent {
            if let (Some(offered), Some(accepted)) = (
                self.offered.get(usize::from(s.channel)),
                self.sent.get(usize::from(s.channel)),
            ) {
                offered.store(s.offered, Ordering::Relaxed);
                accepted.store(s.sent, Ordering::Relaxed);
            }
        }
        self.drain_at.store(self.clock.now().0, Ordering::Relaxed);
        self.advance(Phase::Drain);
    }

    /// Measured messages offered on a channel; valid from [`Phase::Drain`] on.
    pub(crate) fn offered(&self, channel: u16) -> u64 {
        self.offered
            .get(usize::from(channel))
            .map_or(0, |n| n.load(Ordering::Relaxed))
    }

    /// Measured messages accepted on a channel; valid from [`Phase::Drain`] on.
    pub(crate) fn sent(&self, channel: u16) -> u64 {
        self.sent
            .get(usize::from(channel))
            .map_or(0, |n| n.load(Ordering::Relaxed))
    }

    /// Takes the reading with which the cost begins, once: right before the window, or before go where the start
    /// is what is measured. Without effect from `window` on: whoever comes so late must not disturb it, and knows
    /// nothing of its first part. Whether there is such a reading.
    pub(crate) fn begin_metering(&self, window: Nanos) -> bool {
        let mut meter = lock(&self.meter);
        if !meter.has_begun() && self.clock.now() < window {
            let usage = self.usage();
            if usage.at() <= window {
                meter.note(usage);
                self.metered.store(true, Ordering::Relaxed);
            }
        }
        meter.has_begun()
    }

    /// Called for each message of the warm-up, and of no effect for one that is measured. Where the warm-up is a number
    /// of messages, its first one begins the cost: before it who polls has only waited, and when its last one comes
    /// nobody knows beforehand.
    #[inline]
    pub(crate) fn on_message(&self, measured: bool) {
        if self.counts_warmup {
            self.on_counted(measured);
        }
    }

    /// Apart, so that where the warm-up is a time the compiler cannot ask first whether it is over: the processor would
    /// foresee another way there.
    #[cold]
    fn on_counted(&self, measured: bool) {
        if !std::hint::black_box(self.is_metering()) && !measured {
            self.begin_metering(Nanos(u64::MAX));
        }
    }

    /// Whether the cost has begun.
    #[inline]
    pub(crate) fn is_metering(&self) -> bool {
        self.metered.load(Ordering::Relaxed)
    }

    /// When the drain began; valid from [`Phase::Drain`] on.
    pub(crate) fn drain_at(&self) -> Nanos {
        Nanos(self.drain_at.load(Ordering::Relaxed))
    }

    /// Takes a further reading, after the window, of a cost that has begun.
    pub(crate) fn meter(&self) {
        let mut meter = lock(&self.meter);
        if meter.has_begun() {
            meter.note(self.usage());
        }
    }

    fn usage(&self) -> Usage {
        let asked = self.tracepoints.as_ref().map(Tracepoints::asked);
        usage_of_self(self.clock, &self.thread_ids()).with_asked(asked)
    }

    /// What this process used from the window's beginning until `last`; `None` if it never came to the window, or came
    /// too late to read before it.
    pub(crate) fn cost_until(&self, last: Nanos, used: Used) -> Option<ProcessCost> {
        lock(&self.meter).cost_until(last, used)
    }

    /// The memory of this process.
    pub(crate) fn memory(&self) -> Memory {
        memory_of("self")
    }

    /// One more reading end of measured messages.
    pub(crate) fn add_end(&self, channel: u16) -> Arc<Arrivals> {
        let arrivals = Arc::new(Arrivals::default());
        lock(&self.ends).push((channel, arrivals.clone()));
        arrivals
    }

    /// A sender has ended its last send at `at`.
    pub(crate) fn note_last_send(&self, at: Nanos) {
        self.last_send.fetch_max(at.0, Ordering::Relaxed);
    }

    /// Whether everything that was accepted has arrived here; valid from [`Phase::Drain`] on.
    pub(crate) fn has_everything(&self) -> bool {
        let ends = lock(&self.ends);
        ends.iter().all(|(id, end)| end.count() >= self.sent(*id))
    }

    /// The end of the last send, or the last arrival, in this process; zero where there was none.
    pub(crate) fn last(&self) -> Nanos {
        let ends = lock(&self.ends);
        let arrivals = ends.iter().map(|(_, end)| end.last.load(Ordering::Relaxed));
        let sends = self.last_send.load(Ordering::Relaxed);
        Nanos(arrivals.max().unwrap_or(0).max(sends))
    }

    fn thread_ids(&self) -> Vec<libc::pid_t> {
        let threads = lock(&self.threads);
        let ids = threads.iter().map(|t| t.thread.load(Ordering::Relaxed));
        ids.filter(|id| *id != 0).collect()
    }

    /// Registers the calling thread, so that it can be interrupted and located.
    pub(crate) fn register(&self, participant: u16, role: &'static str) -> Arc<ThreadState> {
        let state = Arc::new(ThreadState {
            participant,
            role,
            thread: AtomicI32::new(crate::nudge::thread_id()),
            position: AtomicU64::new(0),
        });
        lock(&self.threads).push(state.clone());
        state
    }

    /// Interrupts the system calls of all threads that have not ended.
    pub(crate) fn nudge_all(&self) {
        for t in lock(&self.threads).iter() {
            let id = t.thread.load(Ordering::Relaxed);
            if id != 0 {
                crate::nudge::nudge(id);
            }
        }
    }

    /// Interrupts the threads that are in the same `take` now as before.
    pub(crate) fn nudge_stalled(&self, before: &[Position], now: &[Position]) {
        for p in now
            .iter()
            .filter(|p| p.call == Call::Take && before.contains(p))
        {
            crate::nudge::nudge(p.thread);
        }
    }

    /// Where every live thread is now.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let threads = lock(&self.threads);
        threads
            .iter()
            .filter(|t| t.thread.load(Ordering::Relaxed) != 0)
            .map(|t| Position {
                thread: t.thread.load(Ordering::Relaxed),
                participant: t.participant,
                role: t.role,
                call: Call::from_bits(t.position.load(Ordering::Relaxed)),
                count: t.position.load(Ordering::Relaxed) >> 8,
            })
            .collect()
    }
}

/// Nothing is left half done by a thread that panics, and the agent aborts then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call into the adapter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Call {
    /// In none.
    Outside,
    Open,
    Sender,
    Receiver,
    Subscribe,
    Matched,
    Send,
    Take,
    Drop,
}

impl Call {
    const ALL: [Call; 9] = [
        Call::Outside,
        Call::Open,
        Call::Sender,
        Call::Receiver,
        Call::Subscribe,
        Call::Matched,
        Call::Send,
        Call::Take,
        Call::Drop,
    ];

    fn from_bits(bits: u64) -> Call {
        Call::ALL
            .get((bits & 0xff) as usize)
            .copied()
            .unwrap_or(Call::Outside)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Call::Outside => "nothing",
            Call::Open => "open",
            Call::Sender => "sender",
            Call::Receiver => "receiver",
            Call::Subscribe => "subscribe",
            Call::Matched => "matched",
            Call::Send => "send",
            Call::Take => "take",
            Call::Drop => "drop",
        }
    }
}

/// Where a thread was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The kernel's thread id.
    pub(crate) thread: libc::pid_t,
    pub(crate) participant: u16,
    pub(crate) role: &'static str,
    pub(crate) call: Call,
    pub(crate) count: u64,
}

/// One role thread, as the control thread sees it.
pub(crate) struct ThreadState {
    participant: u16,
    role: &'static str,
    /// The kernel's thread id; 0 once the thread has ended.
    thread: AtomicI32,
    /// Number of calls made (upper 56 bits) and the current call (lower 8).
    position: AtomicU64,
}

impl ThreadState {
    /// Runs a call into the adapter and lets others see that we are in it. Two plain stores: only
    /// the owning thread writes.
    #[inline]
    pub(crate) fn inside<T>(&self, call: Call, f: impl FnOnce() -> T) -> T {
        let count = (self.position.load(Ordering::Relaxed) >> 8) + 1;
        self.position
            .store(count << 8 | call as u64, Ordering::Relaxed);
        let result = f();
        self.position.store(count << 8, Ordering::Relaxed);
        result
    }

    /// The thread is about to end and must not be interrupted any more.
    pub(crate) fn ended(&self) {
        self.thread.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::protocol::ClockSpec;

    fn shared() -> Shared {
        Shared::new(Clock::new(ClockSpec::Monotonic), 2, false)
    }

    #[test]
    fn phases_only_move_forward() {
        let s = shared();
        s.advance(Phase::Drain);
        s.start_at(Nanos(5), None);
        assert_eq!(s.phase(), Phase::Drain);
    }

    #[test]
    fn a_reading_that_comes_after_the_window_began_begins_no_cost() {
        let (s, used) = (shared(), Used::default());
        let late = s.clock.now();
        assert!(!s.begin_metering(late));
        s.meter();
        s.meter();
        assert_eq!(s.cost_until(s.clock.now(), used.clone()), None);
        assert!(s.begin_metering(late.saturating_add(Nanos::from_secs(60))));
        s.meter();
        assert!(s.cost_until(s.clock.now(), used).is_some());
    }

    #[test]
    fn a_thread_inside_a_call_is_seen_there() {
        let s = shared();
        let t = s.register(3, "sink");
        let seen = t.inside(Call::Take, || s.positions());
        assert_eq!(
            seen,
            [Position {
                thread: crate::nudge::thread_id(),
                participant: 3,
                role: "sink",
                call: Call::Take,
                count: 1
            }]
        );
        assert_eq!(s.positions()[0].call, Call::Outside);
        t.ended();
        assert!(s.positions().is_empty());
    }
}
