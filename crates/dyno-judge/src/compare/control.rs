//! The floor as control: it has no software of the stacks in it, so when it moves, the machine did.

use super::{CompareOptions, MovedFloor};
use crate::cell;
use crate::figure::{Figure, Trials};
use crate::number::latency;
use dyno_model::ExperimentId;
use dyno_model::record::Run;
use dyno_stats::{Pairing, ratio};

/// Of the floors measured in both runs (base, new, stack) the one whose p50 moved farthest: by more
/// than the margin, with its own interval, at the table's confidence, excluding 1. That interval is not
/// a simultaneous one: a control is to be sensitive, and a false alarm of it only leaves undecided
/// what could have been decided.
pub(super) fn moved_floor(
    base: &Run,
    new: &Run,
    floors: &[(ExperimentId, ExperimentId, &str)],
    how: &CompareOptions,
) -> Option<MovedFloor> {
    let moved = floors.iter().filter_map(|(x, y, stack)| {
        let kind = base.manifest.plan.experiment(*x)?.workload.kind();
        let metrics = cell::headline_candidates(kind);
        let a = Trials::read(base, *x, metrics);
        let b = Trials::read(new, *y, metrics);
        let figure = Figure::Quantile {
            metric: a.metric()?,
            q: 0.5,
        };
        // A floor that cannot be compared is no control; its row says why.
        let values = |t: &Trials<'_>| -> Option<Vec<f64>> {
            let all = t.values(figure).ok()?;
            Some(all.into_iter().map(|(_, v)| v).collect())
        };
        let (base, new) = (values(&a)?, values(&b)?);
        let estimate = ratio(&new, &base, Pairing::Independent, how.confidence)?.estimate;
        let [value, lo, hi] = [estimate.value, estimate.lo, estimate.hi].map(latency);
        let beyond = value > 1.0 + how.margin || value < 1.0 / (1.0 + how.margin);
        (beyond && (lo > 1.0 || hi < 1.0)).then(|| MovedFloor {
            stack: (*stack).to_owned(),
            ratio: value,
        })
    });
    moved.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}
