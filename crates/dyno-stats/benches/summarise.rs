//! How long it takes to summarise a large run: 150 experiments, five trials each, four quantiles,
//! 1,000 resamples. Prints one line; asserts nothing.

use dyno_stats::{Bootstrap, TrialSamples, quantiles};
use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::time::Instant;

const EXPERIMENTS: usize = 150;
const TRIALS: usize = 5;
const BLOCKS: usize = 20;
const PER_BLOCK: usize = 3_000;

fn main() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut block = || {
        let mut h = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3)
            .expect("these bounds are valid");
        for _ in 0..PER_BLOCK {
            let u: f64 = rng.random_range(1e-6..1.0);
            h.saturating_record((10_000.0 * u.powf(-0.5)) as u64);
        }
        h
    };
    let trials: Vec<TrialSamples> = (0..TRIALS)
        .map(|_| {
            TrialSamples::from_histograms(&(0..BLOCKS).map(|_| block()).collect::<Vec<_>>(), 3)
        })
        .collect();
    let start = Instant::now();
    for seed in 0..EXPERIMENTS as u64 {
        let how = Bootstrap {
            seed,
            ..Bootstrap::default()
        };
        std::hint::black_box(quantiles(&trials, &[0.5, 0.9, 0.99, 0.999], &how));
    }
    println!(
        "{EXPERIMENTS} experiments of {TRIALS} trials, {BLOCKS} blocks of {PER_BLOCK} samples: {:.2} s",
        start.elapsed().as_secs_f64()
    );
}
