//! What a copy from memory to memory costs: the floor of every stack that copies.

use crate::ground::{Window, own_cost, per_piece, timed};
use crate::{Ground, Outcome, ProbeError, Reading};
use dyno_model::unit::Nanos;
use std::hint::black_box;

/// Smaller copies are timed in batches that move about so many bytes, so that a reading of the clock is a small part
/// of each sample.
const BATCH_BYTES: u64 = 16 * 1024;
/// Touched bytes, so that every page is there before the window.
const FILL: u8 = 0xa5;

/// Copies `bytes` from one buffer to another, over and over the same two, on each of the places' CPUs: what fits a
/// cache comes from it. Buffers are made on the CPU that uses them.
///
/// # Errors
///
/// [`ProbeError::TooLarge`] where the buffers do not fit into available memory; where threads cannot be placed.
pub fn copy(ground: &Ground, bytes: u64) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    if bytes == 0 {
        return Err(ProbeError::Zero {
            what: "the size of a copy",
        });
    }
    fits(bytes, ground.places.len(), available_bytes())?;
    let batch = (BATCH_BYTES / bytes).max(1) as u32;
    let readings = ground.together(
        |_| Ok((vec![FILL; bytes as usize], vec![!FILL; bytes as usize])),
        |(from, mut to), place| {
            let clock = ground.clock;
            let own_ns = own_cost(clock, || {
                for _ in 0..batch {
                    black_box(());
                }
            });
            let mut piece = || {
                for _ in 0..batch {
                    // Neither the source nor the copy may be known to the compiler, or it would leave the copy out.
                    black_box(to.as_mut_slice()).copy_from_slice(black_box(&from));
                }
            };
            let mut recorder = ground.recorder();
            let mut warmup = Window::warmup(clock.now(), ground.warmup);
            while warmup.goes_on(clock.now()) {
                piece();
            }
            let began = clock.now();
            recorder.begin(began);
            let mut window = ground.window(began);
            let (mut now, mut moving) = (began, 0.0);
            while window.goes_on(now) {
                let (ended, took) = timed(clock, &mut piece);
                recorder.record(ended, per_piece(took, own_ns, batch));
                moving += (took.0 as f64 - own_ns).max(0.0);
                now = ended;
            }
            black_box(&to);
            let done = recorder.len() * u64::from(batch);
            Ok(Reading {
                cpus: vec![place.cpu],
                time: recorder.finish(0)?,
                own_ns,
                done,
                bytes: done * bytes,
                wall: Nanos(moving as u64),
                ..Reading::default()
            })
        },
    )?;
    Ok(Outcome::new(readings, Vec::new()))
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
