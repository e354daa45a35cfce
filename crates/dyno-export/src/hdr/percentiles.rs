//! Percentile files: the form of `outputPercentileDistribution` of the Java library, which
//! HdrHistogram's plotter reads. Values are microseconds.

use super::head::Head;
use crate::ExportError;
use dyno_model::TrialRecord;
use hdrhistogram::Histogram;
use std::fmt::Write as _;

/// Nanoseconds in the unit of the values.
const UNIT: f64 = 1e3;
/// Rows in each half of the distance to 100 %, the usual choice.
const TICKS_PER_HALF: u32 = 5;

/// One value of the file: a percentile (0 to 1), the largest value at or below it, and the samples up to
/// that value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Row {
    value: u64,
    percentile: f64,
    count: u64,
}

/// The file of these trials together.
pub(super) fn render(
    trials: &[&TrialRecord],
    head: &Head<'_>,
    left_out: &mut Vec<String>,
) -> Result<String, ExportError> {
    let damaged = |trial: &TrialRecord, reason: String| ExportError::Histogram {
        trial: trial.id,
        metric: head.metric,
        reason,
    };
    let mut pooled = Histogram::<u64>::new(3).map_err(|e| std::io::Error::other(e.to_string()))?;
    let mut infinite = 0u64;
    for trial in trials {
        let Some(distribution) = trial.distributions.get(&head.metric) else {
            continue;
        };
        let histogram = match dyno_stats::whole_histogram(distribution) {
            Ok(histogram) => histogram,
            Err(reason) => {
                let (id, metric) = (trial.id, head.metric);
                left_out.push(format!(
                    "trial {id}: {metric}: {reason}; it is in no percentile file"
                ));
                continue;
            }
        };
        pooled
            .add(histogram)
            .map_err(|e| damaged(trial, e.to_string()))?;
        infinite = infinite.saturating_add(distribution.infinite);
    }
    let mut out = String::new();
    for line in head.lines() {
        let _ = writeln!(out, "#{line}");
    }
    out.push_str("#trials: those that count\n");
    if infinite > 0 {
        let _ = writeln!(out, "#lost: {infinite} messages, infinitely late");
        out.push_str(
            "#lost messages count in every percentile and have no value: the rows end before them\n",
        );
    }
    out.push_str("#values in microseconds\n");
    out.push_str("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    for row in rows(&pooled, infinite) {
        let value = row.value as f64 / UNIT;
        let _ = write!(out, "{value:12.3} {:.12} {:10}", row.percentile, row.count);
        // The last row has no distance to 100 %.
        let _ = match row.percentile < 1.0 {
            true => writeln!(out, " {:14.2}", 1.0 / (1.0 - row.percentile)),
            false => writeln!(out),
        };
    }
    let _ = writeln!(
        out,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
        pooled.mean() / UNIT,
        pooled.stdev() / UNIT
    );
    let _ = writeln!(
        out,
        "#[Max     = {:12.3}, Total count    = {:12}]",
        pooled.max() as f64 / UNIT,
        pooled.len()
    );
    let _ = writeln!(
        out,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        pooled.buckets(),
        sub_buckets(pooled.sigfig())
    );
    Ok(out)
}

/// Percentiles from 0 towards 1, each half of what is left in as many steps, until all samples that
/// arrived are below; then the share that arrived, which is 1 if nothing was lost. The same walk as `PercentileIterator` of the Java
/// library makes, but for the lost messages, which count and never come.
fn rows(histogram: &Histogram<u64>, infinite: u64) -> Vec<Row> {
    let all = histogram.len().saturating_add(infinite);
    let mut rows = Vec::new();
    let mut next = 0.0;
    let (mut count, mut last) = (0u64, 0u64);
    for step in histogram.iter_recorded() {
        count += step.count_at_value();
        last = step.value_iterated_to();
        let reached = count as f64 / all as f64;
        while count < all && next <= reached {
            rows.push(Row {
                value: last,
                percentile: next,
                count,
            });
            // log2 of how many times what is left halves the whole.
            let halvings = (1.0 / (1.0 - next)).log2().floor() + 1.0;
            let step = 1.0 / (f64::from(TICKS_PER_HALF) * halvings.exp2());
            // So near to 100 % no double may lie in between.
            next = if next + step > next {
                next + step
            } else {
                f64::INFINITY
            };
        }
    }
    if count > 0 {
        rows.push(Row {
            value: last,
            percentile: count as f64 / all as f64,
            count,
        });
    }
    rows
}

/// Linear steps of a bucket for so many significant digits.
fn sub_buckets(digits: u8) -> u64 {
    (2 * 10u64.pow(u32::from(digits))).next_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram<u64> {
        let mut h = Histogram::new(3).unwrap();
        for v in values {
            h.record(v).unwrap();
        }
        h
    }

    #[test]
    fn rows_go_to_the_maximum() {
        let rows = rows(&histogram(1..=100), 0);
        assert_eq!(rows[0].percentile, 0.0);
        assert_eq!(rows[0].value, 1);
        let last = rows.last().unwrap();
        assert_eq!((last.value, last.percentile, last.count), (100, 1.0, 100));
        for row in &rows {
            assert!(
                row.count as f64 / 100.0 >= row.percentile - 1e-12,
                "{row:?}"
            );
        }
        let half = rows.iter().find(|r| r.percentile >= 0.5).unwrap();
        assert_eq!(half.value, 50);
    }

    #[test]
    fn lost_messages_cut_the_tail_off() {
        let rows = rows(&histogram(1..=90), 10);
        let last = rows.last().unwrap();
        assert_eq!((last.value, last.percentile, last.count), (90, 0.9, 90));
        assert!(rows.iter().all(|r| r.percentile < 1.0));
    }

    #[test]
    fn counts_that_no_double_tells_from_all_end_the_rows() {
        let mut huge = histogram([]);
        huge.record_n(5, u64::MAX / 2).unwrap();
        let rows = rows(&huge, 1);
        assert!(rows.len() < 500, "{}", rows.len());
        assert_eq!(rows.last().unwrap().count, u64::MAX / 2);
    }

    #[test]
    fn nothing_has_no_rows() {
        assert_eq!(rows(&histogram([]), 0), []);
        assert_eq!(rows(&histogram([]), 5), []);
    }
}
