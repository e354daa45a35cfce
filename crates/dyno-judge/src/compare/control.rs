//! The floor in shared memory as control: it has no software of the stacks in it, so when it moves, the machine did.

use super::comparison::{CompareOptions, Comparison, Finding, Grade, MovedFloor};
use crate::cell;
use crate::difference::{Aspect, Difference};
use crate::figure::{Figure, Trials, all_disturbed};
use crate::number::latency;
use dyno_model::record::Run;
use dyno_model::{Experiment, ExperimentId};
use dyno_report::{Basis, Shortfall, counted_trials};
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
                && cell::is_control(&base.manifest.plan, x)
                && cell::is_control(&new.manifest.plan, y)
        })
        .map(|(x, y)| (x.id, y.id, x.stack.as_str()))
        .collect();
    if floors.is_empty() {
        comparison.notes.push(
            "no floor in shared memory was measured in both runs, so Dyno cannot tell whether the \
             machine itself changed between them; measure both interleaved with --against"
                .into(),
        );
        return;
    }
    let disturbed = |run, id| all_disturbed(&counted_trials(run, id));
    let unknown = floors.iter().find_map(|(x, y, stack)| {
        let short = Shortfall::of(base, *x).or_else(|| Shortfall::of(new, *y));
        match short {
            Some(short) => Some(short.text_of(&format!(" of the floor {stack}"))),
            None if disturbed(base, *x) || disturbed(new, *y) => Some(format!(
                "the host disturbed every trial of the floor {stack} in one of the runs"
            )),
            None => None,
        }
    });
    if let Some(why) = &unknown {
        comparison.notes.push(format!(
            "{why}, so Dyno cannot tell whether the machine itself changed between the runs; \
             measure both interleaved with --against"
        ));
    }
    comparison.moved = moved_floor(base, new, &floors, &comparison.options);
    let is_moved = comparison.moved.is_some();
    for row in comparison.cells.iter_mut().flat_map(|c| &mut c.rows) {
        let grade = row.grade();
        let differs = row.figure.has_ratio() && [Grade::Better, Grade::Worse].contains(&grade);
        let Ok(compared) = &mut row.result else {
            continue;
        };
        if differs && is_moved {
            compared.finding = Finding::MachineMoved;
        } else if differs && grade == Grade::Better && unknown.is_some() {
            compared.finding = Finding::Undecided { more: None };
            row.but.clone_from(&unknown);
        }
    }
}

/// Of the floors measured in both runs (base, new, stack) the one whose p50 moved farthest: by more
/// than the margin, on any basis, with its own interval, at the table's confidence, excluding 1. That interval is not
/// a simultaneous one: a control is to be sensitive, and a false alarm of it only leaves undecided
/// what could have been decided.
fn moved_floor(
    base: &Run,
    new: &Run,
    floors: &[(ExperimentId, ExperimentId, &str)],
    how: &CompareOptions,
) -> Option<MovedFloor> {
    let ratio_on = |(x, of_x), (y, of_y)| {
        let metrics = base.manifest.plan.experiment(x)?.headline();
        let a = Trials::read(base, x, metrics, of_x);
        let b = Trials::read(new, y, metrics, of_y);
        let figure = Figure::Quantile {
            metric: a.metric()?,
            q: 0.5,
        };
        // A floor that cannot be compared is no control; its row says why.
        let values = |t: &Trials<'_>| -> Option<Vec<f64>> {
            if t.all_disturbed() {
                return None;
            }
            let all = t.values(figure).ok()?;
            Some(all.into_iter().map(|(_, v)| v).collect())
        };
        let (base, new) = (values(&a)?, values(&b)?);
        let estimate = ratio(&new, &base, Pairing::Independent, how.confidence)?.estimate;
        let [value, lo, hi] = [estimate.value, estimate.lo, estimate.hi].map(latency);
        let beyond = value > 1.0 + how.margin || value < 1.0 / (1.0 + how.margin);
        (beyond && (lo > 1.0 || hi < 1.0)).then_some(value)
    };
    let moved = floors.iter().flat_map(|(x, y, stack)| {
        let others = Basis::others(&Basis::all(base, *x), &Basis::all(new, *y));
        let bases = std::iter::once((Basis::COUNTED, Basis::COUNTED)).chain(others);
        let ratios = bases.filter_map(|(a, b)| ratio_on((*x, a), (*y, b)));
        let ratios: Vec<f64> = ratios.collect();
        ratios.into_iter().map(|ratio| MovedFloor {
            stack: (*stack).to_owned(),
            ratio,
        })
    });
    moved.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}
