//! How late a periodic thread is: from each due time to its first instruction, as `cyclictest` of rt-tests asks, and
//! how long its handler then takes. Due times are on CLOCK_MONOTONIC and so are the samples: over ten minutes another
//! clock would drift away from them.

use crate::ground::own_cost;
use crate::{Ground, Outcome, Place, ProbeError, Reading};
use dyno_measure::{Clock, Recorder};
use dyno_model::cause::Warning;
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::probe::{Alarm, SHORTEST_PERIOD};
use dyno_model::protocol::ClockSpec;
use dyno_model::unit::Nanos;
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read};
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;
use std::num::NonZeroU64;

/// Runs a periodic thread on each of the places' CPUs. Every due time of the window is a sample, also one that had
/// passed when the thread woke for an earlier one; how many those are is counted.
///
/// # Errors
///
/// [`ProbeError::TooOften`] for a period below [`SHORTEST_PERIOD`]; where a thread cannot be placed, its class is not
/// granted, or a timer cannot be made.
pub fn timer(
    ground: &Ground,
    by: Alarm,
    period: Nanos,
    slack: Option<Nanos>,
) -> Result<Outcome, ProbeError> {
    if period < SHORTEST_PERIOD {
        return Err(ProbeError::TooOften {
            period,
            shortest: SHORTEST_PERIOD,
        });
    }
    let results = ground.together(
        |_| {
            if let Some(slack) = slack.and_then(|s| NonZeroU64::new(s.0)) {
                set_current_timer_slack(Some(slack))
                    .map_err(ProbeError::system("prctl(PR_SET_TIMERSLACK)"))?;
            }
            let alarm = Source::open(by, period)?;
            Ok((alarm, ground.classify_periodic(period)?))
        },
        |(alarm, unpinned), place| Ok((run(ground, alarm, period, place)?, unpinned)),
    )?;
    let mut warnings = Vec::new();
    if results.iter().any(|(_, unpinned)| *unpinned) {
        warnings.push(Warning::NotPinned);
    }
    let missed: u64 = results.iter().map(|(r, _)| r.missed).sum();
    let done: u64 = results.iter().map(|(r, _)| r.done).sum();
    if missed * 100 > done {
        warnings.push(Warning::DueTimesMissed {
            missed,
            done,
            period,
        });
    }
    if slack.is_some() && (by != Alarm::Nanosleep || ground.scheduling != Scheduling::Other) {
        warnings.push(Warning::SlackUnused);
    }
    Ok(Outcome::new(
        results.into_iter().map(|(r, _)| r).collect(),
        warnings,
    ))
}

/// A source of wake-ups, stopped when dropped.
enum Source {
    Nanosleep,
    Timerfd(OwnedFd),
    Signal(PosixTimer),
}

impl Source {
    fn open(by: Alarm, period: Nanos) -> Result<Source, ProbeError> {
        Ok(match by {
            Alarm::Nanosleep => Source::Nanosleep,
            Alarm::Timerfd => Source::Timerfd(
                timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)
                    .map_err(ProbeError::system("timerfd_create"))?,
            ),
            Alarm::Signal => Source::Signal(PosixTimer::new(period)?),
        })
    }

    /// The first due time is `first`, and then one comes each `period`.
    fn begin(&self, first: Nanos, period: Nanos) -> Result<(), ProbeError> {
        match self {
            Source::Nanosleep => Ok(()),
            Source::Timerfd(fd) => timerfd_settime(
                fd,
                TimerfdTimerFlags::ABSTIME,
                &Itimerspec {
                    it_interval: timespec(period),
                    it_value: timespec(first),
                },
            )
            .map(|_| ())
            .map_err(ProbeError::system("timerfd_settime")),
            Source::Signal(timer) => timer.begin(first),
        }
    }

    /// Waits for the next due time, which is `due`; how many had come by then, at least 1.
    #[inline(always)]
    fn wait(&self, due: Nanos) -> Result<u64, ProbeError> {
        match self {
            Source::Nanosleep => loop {
                match clock_nanosleep_absolute(ClockId::Monotonic, &timespec(due)) {
                    Ok(()) => return Ok(1),
                    Err(Errno::INTR) => {}
                    Err(e) => return Err(ProbeError::system("clock_nanosleep")(e)),
                }
            },
            Source::Timerfd(fd) => {
                let mut expired = [0u8; 8];
                loop {
                    match read(fd, &mut expired) {
                        Ok(_) => return Ok(u64::from_ne_bytes(expired).max(1)),
                        Err(Errno::INTR) => {}
                        Err(e) => return Err(ProbeError::system("read of a timerfd")(e)),
                    }
                }
            }
            Source::Signal(timer) => timer.wait(),
        }
    }
}

fn timespec(t: Nanos) -> Timespec {
    Timespec {
        tv_sec: (t.0 / 1_000_000_000) as i64,
        tv_nsec: (t.0 % 1_000_000_000) as i64,
    }
}

/// A periodic POSIX timer whose signal goes to the thread that made it, which has it blocked and waits for it. The
/// mask and what is pending end with the thread.
struct PosixTimer {
    id: libc::timer_t,
    signals: libc::sigset_t,
    period: Nanos,
}

/// A real-time signal that nothing else here uses.
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 5
}

impl PosixTimer {
    fn new(period: Nanos) -> Result<PosixTimer, ProbeError> {
        // SAFETY: zeros are valid for all three plain C types, and each is set before it is read; the calls get
        // pointers to them that are valid for their duration. The thread's own id is what SIGEV_THREAD_ID asks for.
        unsafe {
            let mut signals: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut signals);
            libc::sigaddset(&mut signals, signal());
            if libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut()) != 0 {
                return Err(ProbeError::last("pthread_sigmask"));
            }
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = signal();
            event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
            let mut id: libc::timer_t = std::mem::zeroed();
            if libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut id) != 0 {
                return Err(ProbeError::last("timer_create"));
            }
            Ok(PosixTimer {
                id,
                signals,
                period,
            })
        }
    }

    fn begin(&self, first: Nanos) -> Result<(), ProbeError> {
        let spec = |t: Nanos| libc::timespec {
            tv_sec: (t.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (t.0 % 1_000_000_000) as libc::c_long,
        };
        let times = libc::itimerspec {
            it_interval: spec(self.period),
            it_value: spec(first),
        };
        // SAFETY: `id` is a timer that `new` made and `drop` has not yet deleted; `times` is valid for the call.
        let set = unsafe {
            libc::timer_settime(self.id, libc::TIMER_ABSTIME, &times, std::ptr::null_mut())
        };
        match set {
            0 => Ok(()),
            _ => Err(ProbeError::last("timer_settime")),
        }
    }

    #[inline(always)]
    fn wait(&self) -> Result<u64, ProbeError> {
        loop {
            // SAFETY: `signals` is an initialised set; a null pointer says that no details are wanted.
            if unsafe { libc::sigwaitinfo(&self.signals, std::ptr::null_mut()) } >= 0 {
                break;
            }
            let e = io::Error::last_os_error();
            if e.kind() != io::ErrorKind::Interrupted {
                return Err(ProbeError::system("sigwaitinfo")(e));
            }
        }
        // SAFETY: `id` is a timer of ours that still exists.
        let overrun = unsafe { libc::timer_getoverrun(self.id) };
        Ok(1 + overrun.max(0) as u64)
    }
}

impl Drop for PosixTimer {
    fn drop(&mut self) {
        // SAFETY: `id` is a timer that `new` made, and nobody uses it any more.
        unsafe { libc::timer_delete(self.id) };
    }
}

fn run(ground: &Ground, alarm: Source, period: Nanos, place: Place) -> Result<Reading, ProbeError> {
    let clock = Clock::new(ClockSpec::Monotonic);
    // One reading of the clock stands between a due time and its sample.
    let own_ns = own_cost(clock, || ()) / 2.0;
    let mut lateness = ground.recorder();
    let mut handler = ground.recorder();
    let mut served = ground.recorder();
    let ahead = Nanos(2 * period.0);
    let first = clock.now().saturating_add(ahead);
    let warm = ground.warmup.0.div_ceil(period.0);
    let last = match ground.window {
        Extent::Duration(d) => warm + d.0.div_ceil(period.0),
        Extent::Messages(n) => warm.saturating_add(n),
    };
    let began = Nanos(first.0 + warm * period.0);
    lateness.begin(began);
    handler.begin(began);
    served.begin(began);
    alarm.begin(first, period)?;
    let due_of = |i: u64| Nanos(first.0 + i * period.0);
    let (mut i, mut missed) = (0, 0);
    while i < last {
        let came = alarm.wait(due_of(i))?;
        let woke = clock.now();
        let came = came.min(last - i);
        record(&mut lateness, i..i + came, warm, woke, due_of, own_ns);
        let done = clock.now();
        if i >= warm {
            missed += came - 1;
            // A sleep until what has passed does not sleep.
            missed += u64::from(matches!(alarm, Source::Nanosleep) && woke >= due_of(i + 1));
            handler.record(woke, done.saturating_sub(woke));
        }
        // The handler was that of all of them.
        record(&mut served, i..i + came, warm, done, due_of, own_ns);
        i += came;
    }
    let wall = clock.now().saturating_sub(began);
    Ok(Reading {
        cpus: vec![place.cpu],
        done: lateness.len(),
        time: lateness.finish(0)?,
        within: Some(handler.finish(0)?),
        served: Some(served.finish(0)?),
        own_ns,
        missed,
        wall,
        ..Reading::default()
    })
}

/// Records how long ago every due time was at `instant`, which is the answer to all of them.
#[inline(always)]
fn record(
    recorder: &mut Recorder,
    due: std::ops::Range<u64>,
    warm: u64,
    instant: Nanos,
    due_of: impl Fn(u64) -> Nanos,
    own_ns: f64,
) {
    for i in due {
        if i >= warm {
            let late = instant.saturating_sub(due_of(i));
            recorder.record(due_of(i), crate::ground::per_piece(late, own_ns, 1));
        }
    }
}
