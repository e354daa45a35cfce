//! What it costs to hand the CPU to another thread and to get it back: the two wake-ups of every blocking exchange.

use crate::counters::{Core, CoreMeter};
use crate::ground::{Window, own_cost, per_piece};
use crate::{Ground, Outcome, Place, ProbeError, Reading};
use dyno_measure::probe::shared::{Child, Share, Shared};
use dyno_measure::{Clock, pin};
use dyno_model::probe::{HandOver, Sides};
use dyno_model::unit::Nanos;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{read, write};
use rustix::pipe::pipe;
use rustix::thread::{futex, sched_yield};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// One direction; lines of its own, since processors also fetch the neighbouring one.
#[repr(C, align(128))]
struct Turn(AtomicU32);

/// What both sides share.
#[repr(C)]
struct Table {
    /// Odd while it is the peer's turn; of `yield`, and the word of the futex there.
    there: Turn,
    /// The word of the futex back.
    back: Turn,
    /// The peer is about to wait for its first turn.
    ready: AtomicBool,
    /// The exchange is over, or the peer is gone.
    over: AtomicBool,
    /// Thousandths of core cycles and instructions per turn of the peer; 0 where it could not read any.
    peer_cycles: AtomicU64,
    peer_instructions: AtomicU64,
}

// SAFETY: atomics only, for which zeros are valid; no pointers, nothing to drop.
unsafe impl Share for Table {}

/// What carries a turn from one side to the other.
enum Way {
    Futex(futex::Flags),
    /// Read and write ends, there and back. An eventfd is both ends of its direction.
    Descriptors {
        there: Ends,
        back: Ends,
    },
    Yield,
}

struct Ends {
    read: OwnedFd,
    /// `None` where the read end is also written to.
    write: Option<OwnedFd>,
}

impl Ends {
    fn give(&self) -> bool {
        let end = self.write.as_ref().unwrap_or(&self.read);
        // An eventfd takes eight bytes, which add up; a pipe takes any.
        write(end.as_fd(), &1u64.to_ne_bytes()) == Ok(8)
    }

    fn take(&self) -> bool {
        let mut token = [0u8; 8];
        loop {
            match read(self.read.as_fd(), &mut token) {
                Err(rustix::io::Errno::INTR) => {}
                other => return other == Ok(8),
            }
        }
    }
}

/// The two sides' means of reaching each other.
struct Line {
    table: Shared<Table>,
    way: Way,
}

impl Line {
    fn open(by: HandOver, sides: Sides) -> Result<Line, ProbeError> {
        let way = match by {
            HandOver::Futex => Way::Futex(match sides {
                Sides::Threads => futex::Flags::PRIVATE,
                Sides::Processes => futex::Flags::empty(),
            }),
            HandOver::Pipe => {
                let ends = || {
                    let (read, write) = pipe().map_err(ProbeError::system("pipe"))?;
                    Ok::<_, ProbeError>(Ends {
                        read,
                        write: Some(write),
                    })
                };
                Way::Descriptors {
                    there: ends()?,
                    back: ends()?,
                }
            }
            HandOver::Eventfd => {
                let ends = || {
                    let both =
                        eventfd(0, EventfdFlags::empty()).map_err(ProbeError::system("eventfd"))?;
                    Ok::<_, ProbeError>(Ends {
                        read: both,
                        write: None,
                    })
                };
                Way::Descriptors {
                    there: ends()?,
                    back: ends()?,
                }
            }
            HandOver::Yield => Way::Yield,
        };
        Ok(Line {
            table: Shared::zeroed()?,
            way,
        })
    }

    /// Gives the turn to the peer. Of a futex and a yield it is the `n`th turn, from 1.
    #[inline(always)]
    fn give(&self, n: u32) -> bool {
        match &self.way {
            Way::Futex(flags) => ring(&self.table.there.0, n, *flags),
            Way::Descriptors { there, .. } => there.give(),
            Way::Yield => {
                self.table.there.0.store(n, Ordering::Release);
                true
            }
        }
    }

    /// Waits until the peer has given the `n`th turn back; adds the yields that did not lead to it to `idle`.
    #[inline(always)]
    fn await_back(&self, n: u32, idle: &mut u64) -> bool {
        match &self.way {
            Way::Futex(flags) => self.sleep_on(&self.table.back.0, n, *flags),
            Way::Descriptors { back, .. } => back.take(),
            Way::Yield => {
                sched_yield();
                while self.table.back.0.load(Ordering::Acquire) != n && !self.over() {
                    *idle += 1;
                    sched_yield();
                }
                true
            }
        }
    }

    /// The peer waits for its `n`th turn.
    #[inline(always)]
    fn await_there(&self, n: u32) -> bool {
        match &self.way {
            Way::Futex(flags) => self.sleep_on(&self.table.there.0, n, *flags),
            Way::Descriptors { there, .. } => there.take(),
            Way::Yield => {
                while self.table.there.0.load(Ordering::Acquire) != n && !self.over() {
                    sched_yield();
                }
                true
            }
        }
    }

    /// The peer gives the `n`th turn back.
    #[inline(always)]
    fn give_back(&self, n: u32) -> bool {
        match &self.way {
            Way::Futex(flags) => ring(&self.table.back.0, n, *flags),
            Way::Descriptors { back, .. } => back.give(),
            Way::Yield => {
                self.table.back.0.store(n, Ordering::Release);
                // So that a round trip is two hand-overs, and no third one before the next turn.
                sched_yield();
                true
            }
        }
    }

    #[inline(always)]
    fn sleep_on(&self, word: &AtomicU32, value: u32, flags: futex::Flags) -> bool {
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen == value || self.over() {
                return true;
            }
            // Any result leads to another look at the word: woken, too late to sleep, interrupted.
            let _ = futex::wait(word, flags, seen, None);
        }
    }

    fn over(&self) -> bool {
        self.table.over.load(Ordering::Acquire)
    }

    /// Ends the exchange: whoever waits is woken and finds that it is over.
    fn end(&self) {
        self.table.over.store(true, Ordering::Release);
        match &self.way {
            Way::Futex(flags) => {
                for word in [&self.table.there.0, &self.table.back.0] {
                    word.store(NO_TURN, Ordering::Release);
                    // It cannot fail: the word is aligned and mapped (futex(2), FUTEX_WAKE).
                    let _ = futex::wake(word, *flags, 1);
                }
            }
            Way::Descriptors { there, back } => {
                there.give();
                back.give();
            }
            Way::Yield => {}
        }
    }

    /// What the other side does until the exchange is over: takes each turn and gives it back. Only atomics and plain
    /// system calls, as a forked child must.
    fn answer(&self) {
        let meter = CoreMeter::start();
        self.table.ready.store(true, Ordering::Release);
        let mut n = 0u32;
        loop {
            n = next(n);
            if !self.await_there(n) || self.over() || !self.give_back(n) {
                break;
            }
        }
        if let Some(core) = meter.ok().and_then(|m| m.per(u64::from(n))) {
            let thousandths = |x: f64| (x * 1e3) as u64;
            let table = &self.table;
            table
                .peer_cycles
                .store(thousandths(core.cycles), Ordering::Relaxed);
            table
                .peer_instructions
                .store(thousandths(core.instructions), Ordering::Release);
        }
    }
}

/// What stands in a word when there are no more turns: another value than any that a side may be about to sleep on.
const NO_TURN: u32 = u32::MAX;

/// The turn after `n`; from 1 on, since 0 stands before the first, and never [`NO_TURN`].
#[inline(always)]
fn next(n: u32) -> u32 {
    match n + 1 {
        NO_TURN => 1,
        n => n,
    }
}

#[inline(always)]
fn ring(word: &AtomicU32, value: u32, flags: futex::Flags) -> bool {
    word.store(value, Ordering::Release);
    futex::wake(word, flags, 1).is_ok()
}

/// The other side; ended and joined when dropped.
struct Peer {
    line: Arc<Line>,
    thread: Option<JoinHandle<()>>,
    child: Option<Child>,
    watch: Option<JoinHandle<()>>,
}

impl Peer {
    /// Starts it on the CPU and in the class of the calling thread.
    fn start(line: Arc<Line>, sides: Sides) -> Result<Peer, ProbeError> {
        let mut peer = Peer {
            line: Arc::clone(&line),
            thread: None,
            child: None,
            watch: None,
        };
        match sides {
            Sides::Threads => peer.thread = Some(std::thread::spawn(move || line.answer())),
            Sides::Processes => {
                // SAFETY: `answer` uses atomics, arithmetic and plain system calls alone, through rustix, which makes
                // them without the C library.
                let child = unsafe {
                    Child::fork(|| {
                        line.answer();
                        0
                    })
                }?;
                let pid = child.id();
                peer.child = Some(child);
                // A child that is killed answers no more, and nobody else would say so.
                peer.watch = Some(std::thread::spawn(move || {
                    wait_for_end(pid);
                    line.end();
                }));
            }
        }
        Ok(peer)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.line.end();
        // Kills what has not ended by itself; then the watch has nothing left to wait for.
        self.child = None;
        for thread in [self.thread.take(), self.watch.take()]
            .into_iter()
            .flatten()
        {
            // It has no panic of its own to report.
            let _ = thread.join();
        }
    }
}

/// Waits until the child has ended, and leaves it to be reaped.
fn wait_for_end(pid: i32) {
    loop {
        // SAFETY: `info` is a valid siginfo_t to write to; the call reads nothing else.
        let result = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(
                libc::P_PID,
                pid as libc::id_t,
                &mut info,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if result == 0 || !interrupted {
            return;
        }
    }
}

/// Hands the turn from a thread on `cpu` to one on `peer`, a thread or a process, and back; each sample is a round
/// trip of two hand-overs. Both sides sleep in the kernel while it is not their turn (with [`HandOver::Yield`] they
/// stay ready to run).
///
/// # Errors
///
/// Where the sides cannot be placed or started, [`HandOver::Yield`] is asked for on two CPUs, or the other side is
/// killed.
pub fn switch(ground: &Ground, by: HandOver, sides: Sides) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    for p in &ground.places {
        if by == HandOver::Yield && p.cpu != p.peer {
            return Err(ProbeError::YieldBetween {
                from: p.cpu,
                to: p.peer,
            });
        }
    }
    let readings = ground.together(
        |place| {
            let line = Arc::new(Line::open(by, sides)?);
            // The other side inherits its CPU, so that a refusal is ours to report.
            pin(place.peer)?;
            let peer = Peer::start(Arc::clone(&line), sides)?;
            pin(place.cpu)?;
            while !line.table.ready.load(Ordering::Acquire) && !line.over() {
                sched_yield();
            }
            Ok((line, peer))
        },
        |(line, peer), place| {
            let result = play(ground, &line, place);
            drop(peer);
            let mut reading = result?;
            reading.peer_core = peer_core(&line.table);
            Ok(reading)
        },
    )?;
    Ok(Outcome::new(readings, Vec::new()))
}

fn peer_core(table: &Table) -> Option<Core> {
    let instructions = table.peer_instructions.load(Ordering::Acquire);
    let cycles = table.peer_cycles.load(Ordering::Relaxed);
    (cycles > 0).then_some(Core {
        cycles: cycles as f64 / 1e3,
        instructions: instructions as f64 / 1e3,
    })
}

/// Gives and awaits turn after turn.
fn play(ground: &Ground, line: &Line, place: Place) -> Result<Reading, ProbeError> {
    let clock: Clock = ground.clock;
    let own_ns = own_cost(clock, || ());
    let mut recorder = ground.recorder();
    let (mut n, mut idle) = (0u32, 0u64);
    let mut trip = |idle: &mut u64| {
        n = next(n);
        let began = clock.departure();
        let kept = line.give(n) && line.await_back(n, idle);
        let ended = clock.arrival();
        match kept && !line.over() {
            true => Ok((ended, ended.saturating_sub(began))),
            false => Err(ProbeError::Gone { cpu: place.peer }),
        }
    };
    let mut warmup = Window::warmup(clock.now(), ground.warmup);
    while warmup.goes_on(clock.now()) {
        trip(&mut idle)?;
    }
    idle = 0;
    let meter = CoreMeter::start();
    let began = clock.now();
    recorder.begin(began);
    let mut window = ground.window(began);
    let mut now = began;
    while window.goes_on(now) {
        let (ended, took) = trip(&mut idle)?;
        recorder.record(ended, per_piece(took, own_ns, 1));
        now = ended;
    }
    let done = recorder.len();
    Ok(Reading {
        cpus: if place.cpu == place.peer {
            vec![place.cpu]
        } else {
            vec![place.cpu, place.peer]
        },
        core: meter.ok().and_then(|m| m.per(done)),
        time: recorder.finish(0)?,
        own_ns,
        done,
        missed: idle,
        wall: now.saturating_sub(began),
        busy: Nanos::ZERO,
        ..Reading::default()
    })
}
