//! The floor as control: it has no software of the stacks in it, so when it moves, the machine did.

use super::{CompareOptions, Comparison, Finding, MovedFloor};
use crate::cell;
use crate::difference::{Aspect, Difference};
use crate::figure::{Figure, Trials, all_disturbed};
use crate::number::latency;
use dyno_model::record::Run;
use dyno_model::{Experiment, ExperimentId};
use dyno_report::counted_trials;
use dyno_stats::{Pairing, ratio};

/// Looks at the floors of two runs on the same machine, and takes back what they contradict.
pub(super) fn control(
    comparison: &mut Comparison,
    base: &Run,
    new: &Run,
    pairs: &[(&Experiment, &Experiment)],
) {
    let other_machine = |d: &Difference| matches!(d.aspect, Aspect::Host | Aspect::Kernel);
    if comparison.differences.iter().any(other_machine) {
        return;
    }
    let floors: Vec<(ExperimentId, ExperimentId, &str)> = pairs
        .iter()
        .filter(|(x, y)| {
            x.stack == y.stack
                && cell::is_floor(&base.manifest.plan, x)
                && cell::is_floor(&new.manifest.plan, y)
        })
        .map(|(x, y)| (x.id, y.id, x.stack.as_str()))
        .collect();
    if floors.is_empty() {
        comparison.notes.push(
            "no floor was measured in both runs, so nothing shows whether the machine itself moved \
             between them; measure both interleaved with --against"
                .into(),
        );
        return;
    }
    let undisturbed = |run, id| !all_disturbed(&counted_trials(run, id));
    let floors: Vec<_> = floors
        .into_iter()
        .filter(|(x, y, _)| undisturbed(base, *x) && undisturbed(new, *y))
        .collect();
    if floors.is_empty() {
        comparison.notes.push(
            "the host disturbed every trial of the floor in one of the runs, so nothing shows whether the machine \
             itself moved between them; measure both interleaved with --against"
                .into(),
        );
    }
    comparison.moved = moved_floor(base, new, &floors, &comparison.options);
    if comparison.moved.is_none() {
        return;
    }
    for row in comparison.cells.iter_mut().flat_map(|c| &mut c.rows) {
        if let Ok(compared) = &mut row.result
            && matches!(compared.finding, Finding::Lower | Finding::Higher)
        {
            compared.finding = Finding::MachineMoved;
        }
    }
}

/// Of the floors measured in both runs (base, new, stack) the one whose p50 moved farthest: by more
/// than the margin, with its own interval, at the table's confidence, excluding 1. That interval is not
/// a simultaneous one: a control is to be sensitive, and a false alarm of it only leaves undecided
/// what could have been decided.
fn moved_floor(
    base: &Run,
    new: &Run,
    floors: &[(ExperimentId, ExperimentId, &str)],
    how: &CompareOptions,
) -> Option<MovedFloor> {
    let moved = floors.iter().filter_map(|(x, y, stack)| {
        let kind = base.manifest.plan.experiment(*x)?.workload.kind();
        let metrics = kind.info().headline;
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
