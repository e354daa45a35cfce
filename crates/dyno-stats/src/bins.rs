//! Counts over a logarithmic scale: what a picture of a distribution in little room is made of.

use crate::samples::{TrialSamples, extent};

/// Finite samples in bins of equal width on a logarithmic scale; each trial weighs the same.
#[derive(Debug, Clone, PartialEq)]
pub struct LogBins {
    /// The smallest sample, and where the first bin begins; at least 1.
    pub lo: f64,
    /// The largest sample, and where the last bin ends.
    pub hi: f64,
    /// Samples in each bin, ascending: of trials of different size, what they weigh, and together as much as
    /// there are.
    pub counts: Vec<f64>,
}

/// Counts the finite samples of all trials from their smallest to their largest. `None` without a
/// sample or without a bin.
///
/// Samples below 1 count as 1: nanoseconds have no finer steps. Where all samples are equal they are in
/// the first bin.
pub fn log_bins(trials: &[TrialSamples], bins: usize) -> Option<LogBins> {
    let range = extent(trials);
    let lo = range.min?.max(1.0);
    let hi = range.max?.max(lo);
    let last = bins.checked_sub(1)?;
    let mut counts = vec![0.0; bins];
    let per_bin = (hi / lo).ln() / bins as f64;
    let filled = trials.iter().filter(|t| t.finite() > 0);
    let average = range.finite() as f64 / filled.clone().count() as f64;
    for trial in filled {
        let weight = average / trial.finite() as f64;
        for cell in trial.blocks.iter().flat_map(|b| b.cells.iter()) {
            let bin = match per_bin > 0.0 {
                // Not negative, because no value is below `lo`.
                true => ((cell.value.max(lo) / lo).ln() / per_bin) as usize,
                false => 0,
            };
            counts[bin.min(last)] += weight * cell.count as f64;
        }
    }
    Some(LogBins { lo, hi, counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(blocks: &[Vec<f64>], infinite: u64) -> Vec<TrialSamples> {
        vec![TrialSamples::from_values(blocks, infinite)]
    }

    #[test]
    fn bins_are_equal_on_a_logarithmic_scale() {
        let values: Vec<f64> = vec![10.0, 20.0, 200.0, 2_000.0, 9_000.0, 10_000.0];
        let bins = log_bins(&of(&[values], 0), 3).unwrap();
        assert_eq!((bins.lo, bins.hi), (10.0, 10_000.0));
        assert_eq!(bins.counts, [2.0, 1.0, 3.0]);
    }

    #[test]
    fn every_finite_sample_counts_once_and_every_trial_weighs_the_same() {
        let mut trials = of(&[vec![3.0, 5.0, 5.0], vec![8.0]], 2);
        trials.extend(of(&[vec![1.0; 6]], 0));
        let bins = log_bins(&trials, 5).unwrap();
        assert_eq!(bins.counts.iter().sum::<f64>(), 10.0);
        assert_eq!(bins.counts[0], 5.0);
        trials.pop();
        let bins = log_bins(&trials, 2).unwrap();
        assert_eq!(bins.counts, [1.0, 3.0]);
    }

    #[test]
    fn equal_samples_are_in_the_first_bin() {
        let bins = log_bins(&of(&[vec![7.0, 7.0]], 0), 4).unwrap();
        assert_eq!(bins.counts, [2.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn zeros_count_as_one() {
        let bins = log_bins(&of(&[vec![0.0, 100.0]], 0), 2).unwrap();
        assert_eq!((bins.lo, bins.counts), (1.0, vec![1.0, 1.0]));
    }

    #[test]
    fn without_a_sample_there_are_no_bins() {
        assert_eq!(log_bins(&of(&[], 3), 4), None);
        assert_eq!(log_bins(&of(&[vec![1.0]], 0), 0), None);
    }
}
