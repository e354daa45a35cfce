//! A distribution in one line of text: a bar for each bin of latency, from the smallest to the largest
//! sample, both on logarithmic scales, so that the tail shows beside the body.

use crate::summary::{ExperimentSummary, MetricSummary};
use dyno_stats::LogBins;

/// Bins of a line, and cells that it takes.
pub(crate) const BINS: usize = 10;

/// Eighths of a cell: U+2581 to U+2588.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What the column means.
pub(crate) const LEGEND: &str = "shape: samples from the smallest to the largest of the row, both scales logarithmic; blank: none.";

/// A bar for each bin: a blank where it is empty, else at least an eighth.
pub(crate) fn line(bins: &LogBins) -> String {
    let most = bins.counts.iter().copied().fold(0.0, f64::max);
    let bar = |count: &f64| match *count > 0.0 {
        false => ' ',
        true => {
            let eighths = BARS.len() as f64 * count.ln_1p() / most.ln_1p();
            BARS[(eighths.ceil() as usize).clamp(1, BARS.len()) - 1]
        }
    };
    bins.counts.iter().map(bar).collect()
}

/// The line of an experiment's headline; empty where it has none that the clocks bear.
pub(crate) fn of(e: &ExperimentSummary) -> String {
    match e.unresolved() {
        Some(_) => String::new(),
        None => e.headline_metric().map_or_else(String::new, of_metric),
    }
}

/// The line of a metric; empty where it has no finite sample.
pub(crate) fn of_metric(m: &MetricSummary) -> String {
    m.shape.as_ref().map_or_else(String::new, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(counts: &[f64]) -> String {
        line(&LogBins {
            lo: 1.0,
            hi: 1e6,
            counts: counts.to_vec(),
        })
    }

    #[test]
    fn a_single_late_sample_shows_beside_a_million() {
        assert_eq!(shown(&[1e6, 1e3, 0.0, 0.0, 1.0]), "█▅  ▁");
    }

    #[test]
    fn every_bin_has_a_cell() {
        assert_eq!(shown(&[7.0, 7.0, 7.0]), "███");
        assert_eq!(shown(&[0.0, 0.0]), "  ");
        assert_eq!(shown(&[1.0, 0.0, 0.0]), "█  ");
    }
}
