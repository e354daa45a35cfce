//! Ratios of two sides' figures, zero rates included.

use crate::figure::Figure;
use crate::number::latency;
use dyno_stats::{Estimate, Latency, Pairing, Ratio, ratio};

/// A rate of zero is to rates what an infinite time is to times: it has no logarithm and is the worst there
/// is. So rates with a zero among them are compared by the times between two messages, whose ranks decide.
pub(super) fn ratio_of(
    figure: Figure,
    new: &[f64],
    base: &[f64],
    pairing: Pairing,
    confidence: f64,
) -> Result<Ratio, String> {
    let zero = |v: &[f64]| v.contains(&0.0);
    let nothing = |v: &[f64]| v.iter().all(|rate| *rate == 0.0);
    let is_rate = figure == Figure::Delivered && !(nothing(base) && nothing(new));
    let ratio = match is_rate && (zero(base) || zero(new)) {
        true => {
            let gaps = |v: &[f64]| v.iter().map(|rate| 1.0 / rate).collect::<Vec<f64>>();
            ratio(&gaps(new), &gaps(base), pairing, confidence).map(inverse)
        }
        false => ratio(new, base, pairing, confidence),
    };
    ratio.ok_or_else(|| match (zero(base), zero(new)) {
        (true, _) => "the value is zero in a trial of the base, so there is no ratio".into(),
        (_, true) => "the value is zero in a trial of the new side, so there is no ratio".into(),
        _ => "the trials' values have no ratio".into(),
    })
}

/// The ratio of the inverse figures.
fn inverse(ratio: Ratio) -> Ratio {
    let turned = |l: Latency| match l {
        Latency::Finite(0.0) => Latency::Infinite,
        Latency::Finite(v) => Latency::Finite(1.0 / v),
        Latency::Infinite => Latency::Finite(0.0),
    };
    let Estimate { value, lo, hi } = ratio.estimate;
    Ratio {
        estimate: Estimate {
            value: turned(value),
            lo: turned(hi),
            hi: turned(lo),
        },
        ..ratio
    }
}

/// The interval of what the ratio would be with one clock, by the shares (of the new side, of the base) that clocks may have
/// changed the values by.
pub(super) fn widened(ratio: Ratio, shares: (f64, f64)) -> Ratio {
    Ratio {
        estimate: dyno_report::widened(&ratio.estimate, shares),
        ..ratio
    }
}

/// The geometric mean over trials; of what has no ratio, such as losses, the mean.
pub(super) fn mean_of(figure: Figure, values: &[f64]) -> f64 {
    let n = values.len() as f64;
    match figure.has_ratio() {
        true => (values.iter().map(|v| v.ln()).sum::<f64>() / n).exp(),
        false => values.iter().sum::<f64>() / n,
    }
}

/// A finite ratio without scatter of its own.
pub(super) fn exactly(ratio: f64, trials: (usize, usize)) -> Ratio {
    let value = Latency::Finite(ratio);
    Ratio {
        estimate: Estimate {
            value,
            lo: value,
            hi: value,
        },
        error: 0.0,
        freedom: f64::INFINITY,
        n: trials,
    }
}

/// Value and ends of the ratio as numbers; infinite where lost messages make it so.
pub(super) fn ends(ratio: &Ratio) -> (f64, f64, f64) {
    let e = &ratio.estimate;
    (latency(e.value), latency(e.lo), latency(e.hi))
}
