//! Counts over a logarithmic scale: what a picture of a distribution in little room is made of.

use crate::samples::{TrialSamples, extent};

/// Finite samples in bins of equal width on a logarithmic scale.
#[derive(Debug, Clone, PartialEq)]
pub struct LogBins {
    /// The smallest sample, and where the first bin begins; at least 1.
    pub lo: f64,
    /// The largest sample, and where the last bin ends.
    pub hi: f64,
    /// Samples in each bin, ascending.
    pub counts: Vec<u64>,
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
    let mut counts = vec![0; bins];
    let per_bin = (hi / lo).ln() / bins as f64;
    for cell in trials.iter().flat_map(|t| &t.blocks).flat_map(|b| &b.cells) {
        let bin = match per_bin > 0.0 {
            // Not negative, because no value is below `lo`.
            true => ((cell.value.max(lo) / lo).ln() / per_bin) as usize,
            false => 0,
        };
        counts[bin.min(last)] += cell.count;
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
        assert_eq!(bins.counts, [2, 1, 3]);
    }

    #[test]
    fn every_finite_sample_of_every_block_and_trial_counts_once() {
        let mut trials = of(&[vec![3.0, 5.0, 5.0], vec![8.0]], 2);
        trials.extend(of(&[vec![1.0; 7]], 0));
        let bins = log_bins(&trials, 5).unwrap();
        assert_eq!(bins.counts.iter().sum::<u64>(), 11);
    }

    #[test]
    fn equal_samples_are_in_the_first_bin() {
        let bins = log_bins(&of(&[vec![7.0, 7.0]], 0), 4).unwrap();
        assert_eq!(bins.counts, [2, 0, 0, 0]);
    }

    #[test]
    fn zeros_count_as_one() {
        let bins = log_bins(&of(&[vec![0.0, 100.0]], 0), 2).unwrap();
        assert_eq!((bins.lo, bins.counts), (1.0, vec![1, 1]));
    }

    #[test]
    fn without_a_sample_there_are_no_bins() {
        assert_eq!(log_bins(&of(&[], 3), 4), None);
        assert_eq!(log_bins(&of(&[vec![1.0]], 0), 0), None);
    }
}
