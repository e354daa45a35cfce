//! What a system call costs: what every blocking exchange pays several times, and what mitigations of processor
//! bugs make slow.

use crate::counters::CoreMeter;
use crate::ground::{Window, own_cost, per_piece, timed};
use crate::{Ground, Outcome, ProbeError, Reading};
use dyno_measure::Clock;
use dyno_model::probe::Call;
use dyno_model::unit::Nanos;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{pread, write};
use std::hint::black_box;

/// Bytes that [`Call::Pread`] moves.
const MOVED: usize = 64;

/// Times `by`, `batch` calls between two readings of the clock, on each of the places' CPUs.
///
/// # Errors
///
/// Where the threads cannot be placed, or the call fails.
pub fn syscall(ground: &Ground, by: Call, batch: u32) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    if batch == 0 {
        return Err(ProbeError::Zero { what: "a batch" });
    }
    let readings = ground.together(
        |_| match by {
            Call::Pread => file().map(Some),
            Call::Getppid | Call::Nothing => Ok(None),
        },
        |file, place| {
            let own_ns = own_cost(ground.clock, || repeat(batch, nothing));
            let mut into = [0u8; MOVED];
            // A closure for each call, so that each is a loop of its own around nothing else.
            let (reading, done) = match (by, file) {
                (Call::Pread, Some(file)) => {
                    let read = || {
                        black_box(pread(&file, black_box(&mut into), 0).is_ok());
                    };
                    run(ground, own_ns, batch, read)?
                }
                (Call::Getppid, _) => run(ground, own_ns, batch, || {
                    // SAFETY: getppid takes no arguments and touches no memory.
                    black_box(unsafe { libc::syscall(libc::SYS_getppid) });
                })?,
                (Call::Nothing | Call::Pread, _) => run(ground, own_ns, batch, nothing)?,
            };
            Ok(Reading {
                cpus: vec![place.cpu],
                done: done * u64::from(batch),
                own_ns,
                bytes: match by {
                    Call::Pread => done * u64::from(batch) * MOVED as u64,
                    Call::Getppid | Call::Nothing => 0,
                },
                ..reading
            })
        },
    )?;
    Ok(Outcome::new(readings, Vec::new()))
}

/// What the loop does where there is nothing to measure.
#[inline(always)]
fn nothing() {
    black_box(());
}

/// A file in memory with as many bytes as are moved.
fn file() -> Result<OwnedFd, ProbeError> {
    let file = memfd_create("dyno-probe", MemfdFlags::CLOEXEC)
        .map_err(ProbeError::system("memfd_create"))?;
    write(&file, &[0x5a; MOVED]).map_err(ProbeError::system("write to a memfd"))?;
    let read =
        pread(&file, &mut [0u8; MOVED], 0).map_err(ProbeError::system("pread of a memfd"))?;
    debug_assert_eq!(read, MOVED);
    Ok(file)
}

#[inline(always)]
fn repeat(batch: u32, mut call: impl FnMut()) {
    for _ in 0..batch {
        call();
    }
}

/// Warms up and measures; the number of batches that were recorded.
#[inline(always)]
fn run(
    ground: &Ground,
    own_ns: f64,
    batch: u32,
    mut call: impl FnMut(),
) -> Result<(Reading, u64), ProbeError> {
    let clock: Clock = ground.clock;
    let mut recorder = ground.recorder();
    let mut warmup = Window::warmup(clock.now(), ground.warmup);
    while warmup.goes_on(clock.now()) {
        repeat(batch, &mut call);
    }
    let meter = CoreMeter::start();
    let began = clock.now();
    recorder.begin(began);
    let mut window = ground.window(began);
    let mut now = began;
    while window.goes_on(now) {
        let (ended, took) = timed(clock, || repeat(batch, &mut call));
        recorder.record(ended, per_piece(took, own_ns, batch));
        now = ended;
    }
    let done = recorder.len();
    Ok((
        Reading {
            core: meter.ok().and_then(|m| m.per(done * u64::from(batch))),
            time: recorder.finish(0)?,
            wall: now.saturating_sub(began),
            busy: Nanos::ZERO,
            ..Reading::default()
        },
        done,
    ))
}
