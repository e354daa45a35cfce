//! Runs of a history, which tell how far runs of one build are apart: the intervals of two stored runs must cover that
//! too.

use super::comparison::CompareOptions;
use crate::book::Machine;
use crate::cell::question_and_exchange;
use crate::difference::between;
use crate::figure::Figure;
use crate::number::counted;
use dyno_model::Experiment;
use dyno_model::record::RunManifest;
use dyno_stats::BetweenRuns;

/// The degrees of freedom that the scatter of runs needs: those of three runs of one build.
const LEAST: f64 = 2.0;

/// Runs of a history, taken one by one so that only one is in memory; then
/// [`compare_with_history`](crate::compare_with_history).
#[derive(Debug, Clone)]
pub struct CompareHistory {
    pub(super) how: CompareOptions,
    /// The two that are compared, which have no cells here, and those of the history.
    runs: Vec<RunManifest>,
    cells: Vec<PastCell>,
}

/// A cell in a run of the history.
#[derive(Debug, Clone)]
struct PastCell {
    /// The place of its run in [`CompareHistory::runs`].
    run: usize,
    experiment: Experiment,
    means: Means,
}

/// The geometric mean of each figure over the trials of a run; of losses the mean share.
pub(super) type Means = Vec<(Figure, f64)>;

/// The runs of a history that have a cell, those of one build together.
pub(super) struct Builds<'a>(Vec<Vec<&'a PastCell>>);

impl CompareHistory {
    /// No runs yet, for the comparison of these two, which are no part of their own history.
    pub fn new(how: &CompareOptions, base: &RunManifest, new: &RunManifest) -> CompareHistory {
        CompareHistory {
            how: how.clone(),
            runs: vec![base.clone(), new.clone()],
            cells: Vec::new(),
        }
    }

    /// Adds a run with its cells, unless it is there already.
    pub(super) fn note(&mut self, run: &RunManifest, cells: Vec<(Experiment, Means)>) {
        let id = |run: &RunManifest| (run.id.clone(), run.started_unix_ms);
        if self.runs.iter().any(|known| id(known) == id(run)) {
            return;
        }
        let number = self.runs.len();
        self.runs.push(run.clone());
        let cells = cells.into_iter().map(|(experiment, means)| PastCell {
            run: number,
            experiment,
            means,
        });
        self.cells.extend(cells);
    }

    /// How many runs it has.
    pub(super) fn len(&self) -> usize {
        self.runs.len() - 2
    }

    /// The runs that have the cell `e` of a side, on that side's machine and testbed.
    pub(super) fn builds(&self, side: &RunManifest, e: &Experiment) -> Builds<'_> {
        let question = question_and_exchange(e);
        let place = |run: &RunManifest| {
            let testbed = run.plan.testbed.name.clone();
            (Machine::of(&run.environment), testbed)
        };
        let is_alike = |cell: &&PastCell| {
            cell.experiment.stack == e.stack
                && question_and_exchange(&cell.experiment) == question
                && place(&self.runs[cell.run]) == place(side)
        };
        let mut builds: Vec<Vec<&PastCell>> = Vec::new();
        for cell in self.cells.iter().filter(is_alike) {
            let is_same = |build: &&mut Vec<&PastCell>| {
                let [a, b] = [build[0], cell].map(|c| &self.runs[c.run]);
                between(a, b, &cell.experiment).is_empty()
            };
            match builds.iter_mut().find(is_same) {
                Some(build) => build.push(cell),
                None => builds.push(vec![cell]),
            }
        }
        Builds(builds)
    }
}

impl Builds<'_> {
    /// How far the runs are apart in the logarithm of a figure, to which `half` is added, or that they are too few.
    pub(super) fn scatter(&self, figure: Figure, half: f64) -> Result<BetweenRuns, String> {
        let of = |cell: &&PastCell| {
            let mut means = cell.means.iter();
            let known = means.find(|(own, _)| *own == figure);
            known.map(|(_, mean)| (mean + half).ln())
        };
        let all = self.0.iter();
        let builds: Vec<Vec<f64>> = all.map(|b| b.iter().filter_map(of).collect()).collect();
        let known = BetweenRuns::of(&builds).filter(|known| known.freedom >= LEAST);
        known.ok_or_else(|| {
            format!(
                "the history has {} with this figure, and three of one build are needed, or two of each of two builds",
                counted(builds.concat().len() as u64, "run")
            )
        })
    }
}
