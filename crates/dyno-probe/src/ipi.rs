//! From one CPU to the first instruction on another: what it takes to reach a thread there that sleeps, or that polls.

use crate::ground::{Window, own_cost, per_piece};
use crate::{Ground, Outcome, Place, ProbeError, Reading};
use dyno_measure::{Clock, pin};
use dyno_model::probe::{Rest, Ring};
use dyno_model::unit::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::{read, write};
use rustix::thread::futex;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two rings: long enough for the other side to fall asleep.
const PAUSE: Duration = Duration::from_micros(50);

/// A word with lines to itself; processors also fetch the neighbouring one.
#[repr(align(128))]
struct Line<T>(T);

/// What both sides share.
struct Bell {
    clock: Clock,
    by: Ring,
    rest: Rest,
    /// The last ring, from 1.
    rung: Line<AtomicU32>,
    /// The last ring that the other side has heard, and when it did.
    heard: Line<AtomicU32>,
    woke: AtomicU64,
    /// The other side's thread id, once it is about to wait.
    thread: AtomicI32,
    over: AtomicBool,
    eventfd: Option<OwnedFd>,
}

thread_local! {
    /// The bell that a signal to this thread rings.
    static MINE: Cell<*const Bell> = const { Cell::new(std::ptr::null()) };
}

/// A real-time signal that nothing else here uses.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 6
}

/// Stamps the ring. Atomics, arithmetic and a reading of the clock alone, which is async-signal-safe.
extern "C" fn on_signal(_signal: libc::c_int) {
    let bell = MINE.get();
    // SAFETY: the thread sets `MINE` to a bell that it owns a share of before it lets the signal in, and clears it
    // after it has blocked the signal again; nobody else sets this thread's.
    if let Some(bell) = unsafe { bell.as_ref() } {
        bell.hear();
    }
}

/// The handler is there while at least one of these is; then the one before it stands again.
struct Handler;

/// How many there are, and what was there before.
static BEFORE: Mutex<(usize, Option<libc::sigaction>)> = Mutex::new((0, None));

impl Handler {
    fn install() -> Result<Handler, ProbeError> {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        if before.0 == 0 {
            // SAFETY: zeros are valid for a plain C struct; the handler has the type that `sa_sigaction` without
            // SA_SIGINFO stands for and is async-signal-safe; both pointers are valid for the call.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
                let mut old: libc::sigaction = std::mem::zeroed();
                if libc::sigaction(signal(), &action, &mut old) != 0 {
                    return Err(ProbeError::last("sigaction"));
                }
                before.1 = Some(old);
            }
        }
        before.0 += 1;
        Ok(Handler)
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 -= 1;
        if before.0 == 0
            && let Some(old) = before.1.take()
        {
            // SAFETY: `old` is what the kernel gave for this signal.
            unsafe { libc::sigaction(signal(), &old, std::ptr::null_mut()) };
        }
    }
}

/// Blocks or lets in the signal for the calling thread.
fn mask(how: libc::c_int) -> libc::sigset_t {
    // SAFETY: zeros are valid for a plain C struct, which sigemptyset then sets; the pointers are valid for the calls,
    // and a valid `how` leaves nothing to refuse.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal());
        libc::pthread_sigmask(how, &set, std::ptr::null_mut());
        set
    }
}

impl Bell {
    fn hear(&self) {
        self.woke.store(self.clock.arrival().0, Ordering::Relaxed);
        self.heard.0.fetch_add(1, Ordering::Release);
    }

    #[inline(always)]
    fn ring(&self, n: u32) -> Result<(), ProbeError> {
        self.rung.0.store(n, Ordering::Release);
        match (self.by, &self.eventfd) {
            (Ring::Eventfd, Some(fd)) => write(fd, &1u64.to_ne_bytes())
                .map(|_| ())
                .map_err(ProbeError::system("write to an eventfd")),
            (Ring::Eventfd, None) => Ok(()),
            // One that polls looks at the word alone.
            (Ring::Futex, _) if self.rest == Rest::Polls => Ok(()),
            (Ring::Futex, _) => futex::wake(&self.rung.0, futex::Flags::PRIVATE, 1)
                .map(|_| ())
                .map_err(ProbeError::system("futex")),
            (Ring::Signal, _) => {
                let thread = self.thread.load(Ordering::Relaxed);
                // SAFETY: tgkill takes three numbers; the thread is of this process and not joined before the last ring.
                let sent =
                    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal()) };
                match sent {
                    0 => Ok(()),
                    _ => Err(ProbeError::last("tgkill")),
                }
            }
        }
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The other side: hears each ring until it is over.
    fn listen(&self) {
        let signals = mask(match self.rest {
            Rest::Sleeps => libc::SIG_BLOCK,
            Rest::Polls => {
                MINE.set(self);
                libc::SIG_UNBLOCK
            }
        });
        self.thread.store(
            rustix::thread::gettid().as_raw_nonzero().get(),
            Ordering::Release,
        );
        let mut n = 0u32;
        while !self.over() {
            n = n.wrapping_add(1);
            match self.by {
                Ring::Eventfd => {
                    let mut count = [0u8; 8];
                    while let Some(fd) = &self.eventfd
                        && read(fd, &mut count).is_err()
                        && !self.over()
                    {}
                    self.hear();
                }
                Ring::Futex => {
                    while self.rung.0.load(Ordering::Acquire) != n && !self.over() {
                        match self.rest {
                            Rest::Polls => std::hint::spin_loop(),
                            // Any result leads to another look at the word.
                            Rest::Sleeps => {
                                let _ = futex::wait(
                                    &self.rung.0,
                                    futex::Flags::PRIVATE,
                                    n.wrapping_sub(1),
                                    None,
                                );
                            }
                        }
                    }
                    self.hear();
                }
                Ring::Signal if self.rest == Rest::Sleeps => {
                    // SAFETY: `signals` is an initialised set; no details are wanted.
                    while unsafe { libc::sigwaitinfo(&signals, std::ptr::null_mut()) } < 0
                        && !self.over()
                    {}
                    self.hear();
                }
                // The handler hears.
                Ring::Signal => {
                    while self.heard.0.load(Ordering::Acquire) != n && !self.over() {
                        std::hint::spin_loop();
                    }
                }
            }
        }
        mask(libc::SIG_BLOCK);
        MINE.set(std::ptr::null());
    }
}

/// The other side's thread; ended and joined when dropped.
struct Listener {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
    _handler: Option<Handler>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.bell.over.store(true, Ordering::Release);
        // One that polls sees that it is over; one that sleeps is woken to see it. Where the ring fails as all before
        // it did, that error is reported already.
        if self.bell.rest == Rest::Sleeps {
            let next = self.bell.rung.0.load(Ordering::Relaxed).wrapping_add(1);
            let _ = self.bell.ring(next);
        }
        if let Some(thread) = self.thread.take() {
            // It has no panic of its own to report.
            let _ = thread.join();
        }
    }
}

/// Reaches from each place's `cpu` to a thread on its `peer`, over and over, with a pause in which that one falls
/// asleep.
///
/// # Errors
///
/// [`ProbeError::SameCpu`] where both are one CPU; where the threads cannot be placed, or a call fails.
pub fn ipi(ground: &Ground, by: Ring, rest: Rest) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    if let Some(p) = ground.places.iter().find(|p| p.cpu == p.peer) {
        return Err(ProbeError::SameCpu(p.cpu));
    }
    let readings = ground.together(
        |place| start(ground.clock, by, rest, place),
        |listener, place| run(ground, &listener.bell, place),
    )?;
    Ok(Outcome::new(readings, Vec::new()))
}

fn start(clock: Clock, by: Ring, rest: Rest, place: Place) -> Result<Listener, ProbeError> {
    let flags = match rest {
        Rest::Sleeps => EventfdFlags::CLOEXEC,
        Rest::Polls => EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
    };
    let bell = Arc::new(Bell {
        clock,
        by,
        rest,
        rung: Line(AtomicU32::new(0)),
        heard: Line(AtomicU32::new(0)),
        woke: AtomicU64::new(0),
        thread: AtomicI32::new(0),
        over: AtomicBool::new(false),
        eventfd: match by {
            Ring::Eventfd => Some(eventfd(0, flags).map_err(ProbeError::system("eventfd"))?),
            Ring::Futex | Ring::Signal => None,
        },
    });
    let handler = match (by, rest) {
        (Ring::Signal, Rest::Polls) => Some(Handler::install()?),
        _ => None,
    };
    // The other side inherits its CPU, so that a refusal is ours to report.
    pin(place.peer)?;
    let theirs = Arc::clone(&bell);
    let listener = Listener {
        bell,
        thread: Some(std::thread::spawn(move || theirs.listen())),
        _handler: handler,
    };
    pin(place.cpu)?;
    while listener.bell.thread.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    Ok(listener)
}

fn run(ground: &Ground, bell: &Bell, place: Place) -> Result<Reading, ProbeError> {
    let clock = ground.clock;
    let own_ns = own_cost(clock, || ());
    let mut reached = ground.recorder();
    let mut call = ground.recorder();
    let mut n = 0u32;
    let mut ring = || -> Result<(Nanos, Nanos, Nanos), ProbeError> {
        std::thread::sleep(PAUSE);
        n = n.wrapping_add(1);
        let called = clock.departure();
        bell.ring(n)?;
        let returned = clock.arrival();
        while bell.heard.0.load(Ordering::Acquire) != n {
            std::thread::yield_now();
        }
        let woke = Nanos(bell.woke.load(Ordering::Relaxed));
        let since = |t: Nanos| per_piece(t.saturating_sub(called), own_ns, 1);
        Ok((woke.max(returned), since(woke), since(returned)))
    };
    let mut warmup = Window::warmup(clock.now(), ground.warmup);
    while warmup.goes_on(clock.now()) {
        ring()?;
    }
    let began = clock.now();
    reached.begin(began);
    call.begin(began);
    let mut window = ground.window(began);
    let mut now = began;
    while window.goes_on(now) {
        let (ended, latency, calling) = ring()?;
        reached.record(ended, latency);
        call.record(ended, calling);
        now = ended;
    }
    Ok(Reading {
        cpus: vec![place.cpu, place.peer],
        done: reached.len(),
        time: reached.finish(0)?,
        within: Some(call.finish(0)?),
        own_ns,
        wall: now.saturating_sub(began),
        ..Reading::default()
    })
}
