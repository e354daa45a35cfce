//! What the control thread and the role threads share: the phase, and where each thread is.

use dyno_measure::{Clock, Usage, usage_of_self};
use dyno_model::Nanos;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

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

/// What the process had used at an instant of the run's clock.
pub(crate) type Reading = (Nanos, Usage);

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
    window_begun: AtomicBool,
    usage: OnceLock<Reading>,
    usage_end: Mutex<Option<Reading>>,
    linked: AtomicUsize,
    drained: AtomicUsize,
    threads: Mutex<Vec<Arc<ThreadState>>>,
}

impl Shared {
    pub(crate) fn new(clock: Clock, channels: usize) -> Self {
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
            window_begun: AtomicBool::new(false),
            usage: OnceLock::new(),
            usage_end: Mutex::new(None),
            linked: AtomicUsize::new(0),
            drained: AtomicUsize::new(0),
            threads: Mutex::new(Vec::new()),
        }
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
        let _moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        self.phase.fetch_max(phase as u8, Ordering::Release);
        self.moved.notify_all();
    }

    /// Sleeps until the trial has come to `phase` or beyond, and returns where it is.
    pub(crate) fn wait_for(&self, phase: Phase) -> Phase {
        let mut moving = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        while self.phase() < phase {
            moving = self
                .moved
                .wait(moving)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.phase()
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

    /// Called by each role thread when it first touches the window: the first of them in this
    /// process notes the process's usage.
    #[inline]
    pub(crate) fn window_begins(&self) {
        if !self.window_begun.load(Ordering::Relaxed) {
            self.note_window();
        }
    }

    #[cold]
    fn note_window(&self) {
        if !self.window_begun.swap(true, Ordering::Relaxed) {
            // Cannot be set already: the swap above lets one thread through.
            let _ = self.usage.set((self.clock.now(), usage_of_self()));
        }
    }

    /// Called by each role thread when it leaves the window: the last of them in this process
    /// notes the process's usage.
    pub(crate) fn window_ends(&self) {
        let now = (self.clock.now(), usage_of_self());
        *self
            .usage_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// The process's usage when its first role entered the window and when its last left it.
    pub(crate) fn usage(&self) -> Option<(Reading, Reading)> {
        let end = *self
            .usage_end
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Some((*self.usage.get()?, end?))
    }

    /// Registers the calling thread, so that it can be interrupted and located.
    pub(crate) fn register(&self, participant: u16, role: &'static str) -> Arc<ThreadState> {
        let state = Arc::new(ThreadState {
            participant,
            role,
            thread: AtomicI32::new(crate::nudge::thread_id()),
            position: AtomicU64::new(0),
        });
        self.threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(state.clone());
        state
    }

    /// Interrupts the system calls of all threads that have not ended.
    pub(crate) fn nudge_all(&self) {
        for t in self
            .threads
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
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
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
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
        Shared::new(Clock::new(ClockSpec::Monotonic), 2)
    }

    #[test]
    fn phases_only_move_forward() {
        let s = shared();
        s.advance(Phase::Drain);
        s.start_at(Nanos(5), None);
        assert_eq!(s.phase(), Phase::Drain);
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
