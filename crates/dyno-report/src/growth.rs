//! How the figures of idle participants change with their number: the series of a run, and a fit for each of their figures.

mod words;

pub(crate) use words::{reason, render, undecided};

use crate::counted::counted_trials;
use crate::law::Shortfall;
use crate::summary::{FigureGrowth, GrowthSummary, Lacking, NoFit, Spread};
use dyno_model::record::Run;
use dyno_model::{Experiment, Topology, TrialFigure, TrialRecord, factors};
use dyno_stats::{NoGrowth, growth};
use std::collections::BTreeSet;

/// The figures of all participants together, in the order of tables.
const FIGURES: [TrialFigure; 8] = [
    TrialFigure::BusyCpus,
    TrialFigure::WakeUpsHz,
    TrialFigure::PacketsHz,
    TrialFigure::PacketBytesPerS,
    TrialFigure::PssBytes,
    TrialFigure::SharedBytes,
    TrialFigure::Threads,
    TrialFigure::OpenFiles,
];

/// Shapes of topologies. Two of one shape differ in their number of participants only.
const SHAPES: [fn(Topology) -> bool; 6] = [
    |t| t.copies == 1 && t.senders == t.receivers,
    |t| t.copies == 1 && t.senders == 1,
    |t| t.copies == 1 && t.receivers == 1,
    |t| t.copies == 1 && t.senders != t.receivers && t.senders != 1 && t.receivers != 1,
    |t| t.alone() == Topology::ONE_TO_ONE,
    |t| t.copies > 1 && t.alone() != Topology::ONE_TO_ONE,
];

/// One summary for each group of idle experiments that differ in their number of participants only.
pub(crate) fn summarise(run: &Run) -> Vec<GrowthSummary> {
    let plan = &run.manifest.plan;
    let bases = plan.bases();
    let is_alike = |a: &Experiment, b: &Experiment| {
        // More participants stand on more CPUs.
        let mut others = factors::all().filter(|f| !["topology", "CPUs"].contains(&f.title));
        let own = |e: &Experiment| (bases.contains(&e.id), e.cpus.is_empty());
        (&a.name, &a.stack, own(a)) == (&b.name, &b.stack, own(b))
            && others.all(|f| f.key(a) == f.key(b))
    };
    let mut groups: Vec<Vec<&Experiment>> = Vec::new();
    let idle = |e: &&Experiment| e.workload.kind().is_idle() && !e.counted;
    for e in plan.here().filter(idle) {
        match groups.iter_mut().find(|g| is_alike(g[0], e)) {
            Some(group) => group.push(e),
            None => groups.push(vec![e]),
        }
    }
    let series: Vec<Vec<&Experiment>> = groups.into_iter().flat_map(series).collect();
    dyno_parallel::map(&series, |series| of_series(run, series))
}

fn participants(e: &Experiment) -> u64 {
    e.topology.participants() as u64 * u64::from(e.topology.copies)
}

fn sizes(group: &[&Experiment]) -> usize {
    let all: BTreeSet<u64> = group.iter().map(|e| participants(e)).collect();
    all.len()
}

/// The experiments of a group by their number of participants; where several have the same number, one series for each shape.
fn series(mut group: Vec<&Experiment>) -> Vec<Vec<&Experiment>> {
    group.sort_by_key(|e| participants(e));
    let of_shape = |is: &fn(Topology) -> bool| -> Vec<&Experiment> {
        let own = group.iter().filter(|e| is(e.topology));
        own.copied().collect()
    };
    let all = match sizes(&group) == group.len() {
        true => vec![group],
        false => SHAPES.iter().map(of_shape).collect(),
    };
    all.into_iter().filter(|one| sizes(one) > 1).collect()
}

/// The trials of one number of participants that count.
type Trials<'a> = (u64, Vec<&'a TrialRecord>);

fn of_series(run: &Run, series: &[&Experiment]) -> GrowthSummary {
    let trials: Vec<Trials<'_>> = series
        .iter()
        .map(|e| (participants(e), counted_trials(run, e.id)))
        .collect();
    let lacking = |e: &&Experiment| {
        let (trials, of) = Shortfall::of(run, e.id)?.counts();
        Some(Lacking {
            participants: participants(e),
            trials,
            of,
        })
    };
    let lacking: Vec<Lacking> = series.iter().filter_map(lacking).collect();
    let of_figure = |figure: &TrialFigure| of_figure(*figure, &trials, &lacking);
    GrowthSummary {
        experiments: series.iter().map(|e| e.id).collect(),
        ends: [series[0], series[series.len() - 1]].map(Clone::clone),
        participants: series.iter().map(|e| participants(e)).collect(),
        figures: FIGURES.iter().filter_map(of_figure).collect(),
        lacking,
    }
}

/// A figure of a trial. The memory of all is known where that of each is.
fn value(figure: TrialFigure, trial: &TrialRecord) -> Option<f64> {
    match figure {
        TrialFigure::PssBytes => TrialFigure::PssEach.of(trial).and(figure.of(trial)),
        _ => figure.of(trial),
    }
}

/// [`None`] where no trial tells the figure. There is no fit beside trials that failed or are missing (ADR 34), and no number of
/// participants is left out: a law of those that did well would be another stack's.
fn of_figure(
    figure: TrialFigure,
    trials: &[Trials<'_>],
    lacking: &[Lacking],
) -> Option<FigureGrowth> {
    let values = |(n, all): &Trials<'_>| {
        let known: Vec<f64> = all.iter().filter_map(|t| value(figure, t)).collect();
        (*n, known)
    };
    let values: Vec<(u64, Vec<f64>)> = trials.iter().map(values).collect();
    if values.iter().all(|(_, known)| known.is_empty()) {
        return None;
    }
    let pairs = || trials.iter().zip(&values);
    let unknown = pairs().find_map(|((n, all), (_, known))| match (all.len(), known.len()) {
        (0, _) => Some(NoFit::NoTrial { n: *n }),
        (all, known) if known < all => Some(NoFit::Unknown { n: *n }),
        _ => None,
    });
    let disturbed = |(_, all): &&Trials<'_>| all.iter().all(|t| !t.disturbed.is_empty());
    let disturbed = trials.iter().find(disturbed);
    let why = unknown
        .or_else(|| lacking.first().copied().map(NoFit::Lacking))
        .or_else(|| disturbed.map(|(n, _)| NoFit::Disturbed { n: *n }));
    let spread = |(n, known): &(u64, Vec<f64>)| Some((*n, Spread::of(known.iter().copied())?));
    Some(FigureGrowth {
        figure,
        at: values.iter().filter_map(spread).collect(),
        fit: match (growth(&values), why) {
            // No trial that is added changes this.
            (Err(few @ (NoGrowth::FewSizes { .. } | NoGrowth::Narrow { .. })), _) => {
                Err(NoFit::Data(few))
            }
            (_, Some(why)) => Err(why),
            (fit, None) => fit.map_err(NoFit::Data),
        },
    })
}
