//! What a copy from memory to memory costs: the floor of every stack that copies.

use crate::ground::{Window, own_cost, per_piece, timed};
use crate::{Ground, Outcome, Place, ProbeError, Reading};
use dyno_measure::pin;
use dyno_model::probe::Writer;
use dyno_model::unit::Nanos;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Smaller copies are timed in batches that move about so many bytes, so that a reading of the clock is a small part
/// of each sample.
const BATCH_BYTES: u64 = 16 * 1024;
/// Touched bytes, so that every page is there before the window.
const FILL: u8 = 0xa5;

/// Copies `bytes` from one buffer to another, over and over the same two, on each of the places' CPUs. With [`Writer::Own`]
/// what fits a cache comes from it. With [`Writer::Other`] the place's other CPU writes what is copied before each sample, so that
/// it comes from there or from memory, as a message comes to its receiver. Buffers are made on the CPU that copies.
///
/// # Errors
///
/// [`ProbeError::TooLarge`] where the buffers do not fit into available memory; where threads cannot be placed;
/// [`ProbeError::SameCpu`] where the other CPU is the same one.
pub fn copy(ground: &Ground, bytes: u64, by: Writer) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    if bytes == 0 {
        return Err(ProbeError::Zero {
            what: "the size of a copy",
        });
    }
    fits(bytes, ground.places.len(), available_bytes())?;
    let alone = |p: &&Place| by == Writer::Other && p.cpu == p.peer;
    if let Some(place) = ground.places.iter().find(alone) {
        return Err(ProbeError::SameCpu(place.cpu));
    }
    let batch = (BATCH_BYTES / bytes).max(1) as u32;
    // Each copy of a batch is of bytes of its own where another CPU has written them: the second of the same would not be.
    let sources = match by {
        Writer::Own => 1,
        Writer::Other => batch as usize,
    };
    let readings = ground.together(
        |_| {
            let from = vec![FILL; bytes as usize * sources];
            Ok((Shared::new(from), vec![!FILL; bytes as usize]))
        },
        |(shared, mut to), place| match by {
            Writer::Own => measure(ground, &shared, &mut to, batch, place, || ()),
            Writer::Other => std::thread::scope(|scope| {
                let writer = scope.spawn(|| shared.write(ground, place.peer));
                let over = Over(&shared.turn);
                let measured = measure(ground, &shared, &mut to, batch, place, || shared.renew());
                drop(over);
                match writer.join() {
                    Ok(written) => written.and(measured),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }),
        },
    )?;
    Ok(Outcome::new(readings, Vec::new()))
}

/// What is copied, and whose turn it is: an even number is that of the CPU that copies, an odd one the writer's.
struct Shared {
    from: Mutex<Vec<u8>>,
    turn: AtomicU32,
}

/// Neither has another turn.
const OVER: u32 = u32::MAX;

/// Ends the writer, also where the one who copies panics.
struct Over<'a>(&'a AtomicU32);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(OVER, Ordering::Release);
    }
}

impl Shared {
    fn new(from: Vec<u8>) -> Shared {
        Shared {
            from: Mutex::new(from),
            turn: AtomicU32::new(0),
        }
    }

    fn from(&self) -> MutexGuard<'_, Vec<u8>> {
        self.from.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes on `cpu` whenever it is asked to, until there is nothing more to ask.
    fn write(&self, ground: &Ground, cpu: u32) -> Result<(), ProbeError> {
        let placed = pin(cpu).map_err(ProbeError::from);
        let placed = placed.and_then(|()| ground.classify());
        if placed.is_err() {
            drop(Over(&self.turn));
        }
        placed?;
        loop {
            match self.turn.load(Ordering::Acquire) {
                OVER => return Ok(()),
                turn if turn % 2 == 1 => {
                    black_box(self.from().as_mut_slice()).fill(turn as u8);
                    // Over by now, perhaps.
                    let next = turn.wrapping_add(1);
                    let _ = self.turn.compare_exchange(
                        turn,
                        next,
                        Ordering::Release,
                        Ordering::Relaxed,
                    );
                }
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Has everything written anew, and waits for that.
    fn renew(&self) {
        let turn = self.turn.load(Ordering::Relaxed);
        if turn == OVER {
            return;
        }
        // The last odd number is OVER.
        let asked = (turn + 1) % (OVER - 1);
        let asked = self
            .turn
            .compare_exchange(turn, asked, Ordering::Release, Ordering::Relaxed);
        while asked.is_ok() {
            match self.turn.load(Ordering::Acquire) {
                turn if turn == OVER || turn % 2 == 0 => return,
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// Copies in batches, each after `renew`, which is not timed.
fn measure(
    ground: &Ground,
    shared: &Shared,
    to: &mut [u8],
    batch: u32,
    place: Place,
    mut renew: impl FnMut(),
) -> Result<Reading, ProbeError> {
    let (clock, bytes) = (ground.clock, to.len());
    let own_ns = own_cost(clock, || {
        for _ in 0..batch {
            black_box(());
        }
    });
    let mut sample = || {
        renew();
        let from = shared.from();
        timed(clock, || {
            // Neither the source nor the copy may be known to the compiler, or it would leave the copy out.
            let mut copy = |from: &[u8]| black_box(&mut *to).copy_from_slice(black_box(from));
            match from.len() == bytes {
                true => (0..batch).for_each(|_| copy(&from)),
                false => from.chunks_exact(bytes).for_each(copy),
            }
        })
    };
    let mut recorder = ground.recorder();
    let mut warmup = Window::warmup(clock.now(), ground.warmup);
    while warmup.goes_on(clock.now()) {
        sample();
    }
    let began = clock.now();
    recorder.begin(began);
    let mut window = ground.window(began);
    let (mut now, mut moving) = (began, 0.0);
    while window.goes_on(now) {
        let (ended, took) = sample();
        recorder.record(ended, per_piece(took, own_ns, batch));
        moving += (took.0 as f64 - own_ns).max(0.0);
        now = ended;
    }
    black_box(&to);
    let done = recorder.len() * u64::from(batch);
    let cpus = match place.cpu == place.peer {
        true => vec![place.cpu],
        false => vec![place.cpu, place.peer],
    };
    Ok(Reading {
        cpus,
        time: recorder.finish(0)?,
        own_ns,
        done,
        bytes: done * bytes as u64,
        wall: Nanos(moving as u64),
        ..Reading::default()
    })
}

/// Refuses buffers that memory does not hold.
fn fits(bytes: u64, copies: usize, available: u64) -> Result<(), ProbeError> {
    let needed = bytes.saturating_mul(2).saturating_mul(copies as u64);
    match needed <= available {
        true => Ok(()),
        false => Err(ProbeError::TooLarge {
            bytes,
            copies,
            needed,
            available,
        }),
    }
}

/// Bytes that can be had without swapping (`MemAvailable`, proc(5)); as good as endless where the kernel does not say.
fn available_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .map_or(u64::MAX, |kib| kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_beyond_memory_are_refused_with_both_sizes() {
        assert!(fits(100, 2, 400).is_ok());
        let e = fits(100, 2, 399).unwrap_err().to_string();
        assert!(e.contains("400 bytes") && e.contains("399"), "{e}");
        assert!(fits(u64::MAX, 2, u64::MAX - 1).is_err());
    }

    #[test]
    fn this_machine_says_what_is_available() {
        assert!((1..u64::MAX).contains(&available_bytes()));
    }
}
