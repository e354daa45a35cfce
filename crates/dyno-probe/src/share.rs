//! How the CPU is shared between equal threads that only spin.

use crate::{Ground, Outcome, Place, ProbeError, Reading};
use dyno_measure::noise::THRESHOLD;
use dyno_model::plan::Extent;
use dyno_model::unit::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Spins with `threads` equal threads, pinned one after the other to the places' CPUs and again from the first, for
/// the window. With as many threads as CPUs, and each on its own, it is how the host shares its CPUs between virtual
/// ones, as far as the guest sees it.
///
/// # Errors
///
/// Where the window is not a time, or threads cannot be placed.
pub fn share(ground: &Ground, threads: u32) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    if threads == 0 {
        return Err(ProbeError::Zero {
            what: "the number of threads",
        });
    }
    let length = match ground.window {
        Extent::Duration(length) => length,
        Extent::Messages(_) => return Err(ProbeError::Endless),
    };
    let places = ground.places.iter().cycle().take(threads as usize);
    let spread = Ground {
        places: places.map(|p| Place::on(p.cpu)).collect(),
        ..ground.clone()
    };
    // One window for all: a thread that gets no CPU in it has a share of nothing, not a window of its own later.
    let first = AtomicU64::new(0);
    let readings = spread.together(
        |_| Ok(ground.recorder()),
        |mut pauses, place| {
            let clock = ground.clock;
            // No thread sleeps before the window, and so none comes into it with a credit.
            let own = clock.now().saturating_add(ground.warmup);
            let start = match first.compare_exchange(0, own.0, Relaxed, Relaxed) {
                Ok(_) => own,
                Err(of_first) => Nanos(of_first),
            };
            while clock.now() < start {}
            let used = cpu_time();
            let end = start.saturating_add(length);
            pauses.begin(start);
            let (mut last, mut done) = (start, 0);
            while last < end {
                let now = clock.now();
                let gap = now.saturating_sub(last);
                if gap > THRESHOLD {
                    pauses.record(now, gap);
                }
                last = now;
                done += 1;
            }
            Ok(Reading {
                cpus: vec![place.cpu],
                time: pauses.finish(0)?,
                done,
                wall: last.max(end).saturating_sub(start),
                busy: cpu_time().saturating_sub(used),
                ..Reading::default()
            })
        },
    )?;
    Ok(Outcome::new(readings, Vec::new()))
}

/// CPU time of the calling thread.
fn cpu_time() -> Nanos {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Jain's index of fairness: `(Σx)² / (n Σx²)`, from 1/n where one has all to 1 where all have the same (Jain, Chiu,
/// Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984). `None` where nobody has anything.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_shares_are_fair_and_one_for_all_is_not() {
        assert_eq!(jain(&[0.5; 4]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[]), None);
        assert_eq!(jain(&[0.0, 0.0]), None);
    }

    proptest! {
        #[test]
        fn the_index_lies_between_one_nth_and_one_whatever_the_unit(
            shares in prop::collection::vec(0.001f64..1000.0, 1..40),
            unit in 0.01f64..100.0,
        ) {
            let index = jain(&shares).unwrap();
            let n = shares.len() as f64;
            prop_assert!(index >= 1.0 / n - 1e-9 && index <= 1.0 + 1e-9);
            let scaled: Vec<f64> = shares.iter().map(|x| x * unit).collect();
            prop_assert!((jain(&scaled).unwrap() - index).abs() < 1e-9);
        }

        #[test]
        fn k_of_n_with_equal_shares_have_an_index_of_k_over_n(n in 1usize..40, k in 1usize..40) {
            let k = k.min(n);
            let shares: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i < k))).collect();
            prop_assert!((jain(&shares).unwrap() - k as f64 / n as f64).abs() < 1e-12);
        }
    }
}
