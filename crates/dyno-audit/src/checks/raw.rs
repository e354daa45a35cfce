//! Raw values against what is printed of them.

use super::assumption::Assumption;
use crate::context::{Context, interval, outcome, printed};
use crate::interval::{short, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Figure, Loop, Quantity, Samples, Statistic};

/// Every statistic of a data set with raw values is computed from them. Percentiles may be any value between their two neighbours in
/// order, and σ may divide by n or n − 1; each value counts as known to its last digit.
pub(super) fn recomputed(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.whole {
        let [samples] = set.samples.as_slice() else {
            continue;
        };
        if samples.left_out > 0 || samples.values.len() < 2 {
            continue;
        }
        let mut sorted = samples.values.clone();
        sorted.sort_by(f64::total_cmp);
        for figure in &set.figures {
            found.extend(of_figure(figure, samples, &sorted));
        }
    }
    found
}

fn of_figure(figure: &Figure, samples: &Samples, sorted: &[f64]) -> Option<Outcome> {
    let (lo, hi) = statistic(figure, sorted)?;
    let n = sorted.len();
    // Each value is known to a step: σ moves by less than two, and what is divided by the mean by that share of it.
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let known = match figure.statistic {
        Statistic::Cv => 2.0 * samples.step / mean.abs(),
        Statistic::Sd => 2.0 * samples.step,
        _ => samples.step,
    };
    // Google Benchmark takes the square of the mean from the mean of squares, which leaves few digits of a small σ.
    let cancelled = match figure.statistic {
        Statistic::Sd => mean * mean / lo.abs(),
        Statistic::Cv => 1.0 / lo.abs(),
        _ => 0.0,
    };
    let cancelled = 8.0 * n as f64 * f64::EPSILON * cancelled;
    let slack = known.max(1e-12 * hi.abs()).max(cancelled);
    let is = interval(figure);
    let fits = is.lo <= hi + slack && is.hi >= lo - slack;
    let dimension = figure.printed.unit.dimension;
    let own = match with_unit(lo, dimension) == with_unit(hi, dimension) {
        true => with_unit(lo, dimension),
        false => format!(
            "{} to {}",
            with_unit(lo, dimension),
            with_unit(hi, dimension)
        ),
    };
    let calculation = format!(
        "{} of the {n} raw values ({}) is {own}; printed is {}",
        figure.statistic,
        samples.id,
        printed(figure)
    );
    Some(match fits {
        true => outcome(
            "raw-values",
            Verdict::NoObjection,
            &[figure],
            "it matches the raw values",
            calculation,
        ),
        false => outcome(
            "raw-values",
            Verdict::Inconsistent,
            &[figure],
            format!(
                "the printed {} of {} differs from that of the raw values, {own}",
                figure.statistic,
                printed(figure)
            ),
            calculation,
        ),
    })
}

/// The least and the most that a statistic of these values is by any usual definition.
fn statistic(figure: &Figure, sorted: &[f64]) -> Option<(f64, f64)> {
    let n = sorted.len();
    let mean = sorted.iter().sum::<f64>() / n as f64;
    let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
    let sd = (
        (squares / n as f64).sqrt(),
        (squares / (n as f64 - 1.0)).sqrt(),
    );
    let (min, max) = (sorted[0], sorted[n - 1]);
    let both = |v| Some((v, v));
    match figure.statistic {
        Statistic::Mean => both(mean),
        Statistic::Min => both(min),
        Statistic::Max => both(max),
        Statistic::Spread => both(max - min),
        Statistic::Sd => Some(sd),
        Statistic::Cv if mean > 0.0 => Some((sd.0 / mean, sd.1 / mean)),
        Statistic::Percentile(p) => {
            let at = p / 100.0;
            let rank = |r: f64| sorted[(r.max(0.0) as usize).min(n - 1)];
            // All of Hyndman and Fan's definitions lie between these two ranks.
            Some((
                rank((n as f64 * at - 1.0).floor()),
                rank((n as f64 * at + 1.0).ceil() - 1.0),
            ))
        }
        Statistic::WithinOneSd => {
            let within = |sd: f64| {
                let count = sorted.iter().filter(|v| (*v - mean).abs() <= sd).count();
                count as f64 / n as f64
            };
            Some((within(sd.0), within(sd.1)))
        }
        _ => None,
    }
}

/// Messages are sent by the clock.
pub(super) const SCHEDULE: Assumption = Assumption {
    says: "messages are due by a schedule",
    innocent: "a closed loop misses no message in a pause, because none is due before the last answer",
};

/// Times of sending: a gap of many intervals whose messages are not late means that what was due in it was never sent, or its
/// lateness is not counted (Tene: coordinated omission).
pub(super) fn omission(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in &context.sets {
        if set.quantity != Quantity::Latency {
            continue;
        }
        for samples in &set.samples {
            // Who waits for each answer owes nothing while he waits.
            if samples.method.load == Some(Loop::Closed) {
                continue;
            }
            if let Some((verdict, says, calculation)) = gap(samples) {
                let figures: Vec<&Figure> = set.figures.iter().copied().take(1).collect();
                let mut outcome = outcome("omission", verdict, &figures, says, calculation);
                if figures.is_empty() {
                    outcome.figures.push(samples.id.clone());
                }
                found.push(SCHEDULE.unless(samples.method.load == Some(Loop::Open), outcome));
            }
        }
    }
    found
}

/// A gap counts from so many usual intervals on.
const GAP: f64 = 20.0;

fn gap(samples: &Samples) -> Option<(Verdict, String, String)> {
    let sent = &samples.sent;
    if sent.len() < 20 || sent.len() != samples.values.len() {
        return None;
    }
    let mut steps: Vec<f64> = sent.windows(2).map(|w| w[1] - w[0]).collect();
    let (i, largest) = steps
        .iter()
        .copied()
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    steps.sort_by(f64::total_cmp);
    let usual = steps[steps.len() / 2];
    let latest = samples.values[i.saturating_sub(1)..(i + 3).min(sent.len())]
        .iter()
        .copied()
        .fold(0.0, f64::max);
    let time = |v| with_unit(v, crate::statement::Dimension::Time);
    let calculation = format!(
        "a gap of {} between sends that are {} apart ({} left out); the latest sample around it took {}",
        time(largest),
        time(usual),
        short((largest / usual - 1.0).round()),
        time(latest)
    );
    let omitted = usual > 0.0 && largest > GAP * usual && latest < largest / 2.0;
    Some(match omitted {
        true => (
            Verdict::NotWhatItIsCalled,
            format!(
                "the sender paused for {} and no sample is late: the messages that were due then are missing",
                time(largest)
            ),
            calculation,
        ),
        false => (
            Verdict::NoObjection,
            "no gap without late samples".to_owned(),
            calculation,
        ),
    })
}
