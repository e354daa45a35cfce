//! Histories: when did the level of a series over stored runs change, and what changed with it.
//!
//! One series per cell; its values are the medians over the counted trials of each run. Changes are
//! found by E-divisive ([`dyno_stats::change_points`]), as in Daly et al., "The Use of Change Point
//! Detection to Identify Software Performance Regressions in a Continuous Integration System" (ICPE
//! 2020). The level is shared by all series of a table (Bonferroni).

mod export;
mod render;

use crate::cell::{self, Factors};
use crate::difference::{Difference, Differences, RunFacts};
use crate::figure::{Figure, Trials};
use dyno_model::record::{Run, RunManifest};
use dyno_model::{Experiment, Metric};
use dyno_stats::{ChangeOptions, change_points};

/// The most permutations of one test: enough for 2,000 series at 5 %.
const MOST_PERMUTATIONS: f64 = 99_999.0;

/// How a history is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendOptions {
    /// The metric; `None`: the headline of each cell.
    pub metric: Option<Metric>,
    /// The quantile of each trial, 0 to 1.
    pub quantile: f64,
    /// The chance of a first false change anywhere in the table.
    pub level: f64,
    /// The least number of runs between changes; at least 2.
    pub min_segment: usize,
    /// Only so many of the newest runs; `None`: all.
    pub last: Option<usize>,
}

impl Default for TrendOptions {
    /// p50 of the headline, 5 % over the table, three runs.
    fn default() -> Self {
        TrendOptions {
            metric: None,
            quantile: 0.5,
            level: 0.05,
            min_segment: 3,
            last: None,
        }
    }
}

impl TrendOptions {
    /// The least number of runs in which a change can lie.
    pub fn least_runs(&self) -> usize {
        2 * self.min_segment.max(2)
    }
}

/// Runs of a history, taken one by one so that only one is in memory; then [`History::trend`].
#[derive(Debug)]
pub struct History {
    how: TrendOptions,
    runs: Vec<RunManifest>,
    /// In the order of their first appearance.
    series: Vec<Collected>,
}

/// The values of one cell so far.
#[derive(Debug)]
struct Collected {
    key: Key,
    /// Number of the run, its experiment, and the value or why there is none.
    values: Vec<(usize, Experiment, Result<f64, String>)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Key {
    suite: String,
    stack: String,
    factors: Factors,
    metric: Metric,
    /// Cells of one run that agree in all of the above are told apart by their order.
    occurrence: usize,
}

/// One run of a trend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendRun {
    /// Its name.
    pub id: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
}

/// Series and their changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// How it was done.
    pub options: TrendOptions,
    /// The level of each series' own tests.
    pub level_each: f64,
    /// The runs, the oldest first.
    pub runs: Vec<TrendRun>,
    /// Cell by cell.
    pub series: Vec<Series>,
    /// Remarks on the whole.
    pub notes: Vec<String>,
}

/// The history of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The suite that it belongs to.
    pub suite: String,
    /// The cell, as in its newest run.
    pub experiment: Experiment,
    /// The metric.
    pub metric: Metric,
    /// Index into [`Trend::runs`] and median over the trials, in nanoseconds, the oldest first.
    pub values: Vec<(usize, f64)>,
    /// Runs that have the cell and no value for it, with the reason.
    pub missing: Vec<(usize, String)>,
    /// Its changes, the oldest first; none where there are too few values.
    pub changes: Vec<Change>,
}

/// A change of level.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The first run of the new level, as an index into [`Trend::runs`].
    pub run: usize,
    /// The last run of the series before it.
    pub previous: usize,
    /// The chance that a series without changes shows one as large.
    pub p: f64,
    /// Median of the level before, in nanoseconds.
    pub before: f64,
    /// Median of the level from here on.
    pub after: f64,
    /// What differs between those two runs.
    pub differences: Vec<Difference>,
}

impl Change {
    /// After over before.
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

impl Series {
    /// Whether there are enough values for a change to be found.
    pub fn is_long_enough(&self, how: &TrendOptions) -> bool {
        self.values.len() >= how.least_runs()
    }
}

impl Trend {
    /// Whether the newest change of some series made it slower.
    pub fn has_slower(&self) -> bool {
        let mut newest = self.series.iter().filter_map(|s| s.changes.last());
        newest.any(|c| c.ratio() > 1.0)
    }
}

impl History {
    /// No runs yet.
    pub fn new(how: TrendOptions) -> History {
        History {
            how,
            runs: Vec::new(),
            series: Vec::new(),
        }
    }

    /// Adds a run; the order does not matter. A run that is there already (same name and start) is
    /// not taken twice.
    pub fn add(&mut self, run: &Run) {
        let manifest = &run.manifest;
        let same =
            |m: &RunManifest| m.id == manifest.id && m.started_unix_ms == manifest.started_unix_ms;
        if self.runs.iter().any(same) {
            return;
        }
        let number = self.runs.len();
        let plan = &manifest.plan;
        let mut seen: Vec<Key> = Vec::new();
        for e in plan.experiments.iter().filter(|e| cell::is_own(plan, e)) {
            let headline;
            let metrics = match &self.how.metric {
                Some(metric) => {
                    headline = [*metric];
                    &headline[..]
                }
                None => cell::headline_candidates(e.workload.kind()),
            };
            let trials = Trials::read(run, e.id, metrics);
            let Some(metric) = trials.metric().or_else(|| {
                // Without a completed trial the run still has the cell.
                let none = trials.records().is_empty() && self.how.metric.is_none();
                none.then(|| metrics[0])
            }) else {
                continue;
            };
            let mut key = Key {
                suite: plan.suite.clone(),
                stack: e.stack.clone(),
                factors: Factors::of(e),
                metric,
                occurrence: 0,
            };
            key.occurrence = seen.iter().filter(|k| **k == key).count();
            seen.push(Key {
                occurrence: 0,
                ..key.clone()
            });
            let figure = Figure::Quantile {
                metric,
                q: self.how.quantile,
            };
            let value = trials.values(figure).map(median);
            let entry = (number, e.clone(), value);
            match self.series.iter_mut().find(|s| s.key == key) {
                Some(series) => series.values.push(entry),
                None => self.series.push(Collected {
                    key,
                    values: vec![entry],
                }),
            }
        }
        self.runs.push(manifest.clone());
    }

    /// Finds the changes.
    pub fn trend(self) -> Trend {
        let how = self.how;
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|i| (self.runs[*i].started_unix_ms, &self.runs[*i].id));
        let left_out = order.len() - how.last.unwrap_or(order.len()).min(order.len());
        order.drain(..left_out);
        let mut place = vec![None; self.runs.len()];
        for (at, number) in order.iter().enumerate() {
            place[*number] = Some(at);
        }
        let runs: Vec<&RunManifest> = order.iter().map(|i| &self.runs[*i]).collect();
        let mut series: Vec<Series> = self
            .series
            .into_iter()
            .filter_map(|s| ordered(s, &place))
            .collect();
        let tested = series.iter().filter(|s| s.is_long_enough(&how)).count();
        let level_each = how.level / tested.max(1) as f64;
        let permutations = (2.0 / level_each).ceil().clamp(999.0, MOST_PERMUTATIONS);
        let options = ChangeOptions {
            level: level_each,
            min_segment: how.min_segment.max(2),
            permutations: permutations as u32,
            ..ChangeOptions::default()
        };
        for s in series.iter_mut().filter(|s| s.is_long_enough(&how)) {
            s.changes = changes(s, &runs, &options);
        }
        Trend {
            notes: notes(&series, runs.len(), &how, level_each),
            options: how,
            level_each,
            runs: runs
                .iter()
                .map(|m| TrendRun {
                    id: m.id.clone(),
                    started_unix_ms: m.started_unix_ms,
                })
                .collect(),
            series,
        }
    }
}

/// Looks at runs that are in memory already.
pub fn trend(runs: &[Run], how: &TrendOptions) -> Trend {
    let mut history = History::new(*how);
    for run in runs {
        history.add(run);
    }
    history.trend()
}

/// A series in order of time; `place` is that of each run, `None` for a run that is left out. Nothing
/// for a series without runs.
fn ordered(collected: Collected, place: &[Option<usize>]) -> Option<Series> {
    let mut all: Vec<(usize, Experiment, Result<f64, String>)> = collected
        .values
        .into_iter()
        .filter_map(|(number, e, value)| Some((place[number]?, e, value)))
        .collect();
    all.sort_by_key(|(at, _, _)| *at);
    let experiment = all.last()?.1.clone();
    let (mut values, mut missing) = (Vec::new(), Vec::new());
    for (at, _, value) in all {
        match value {
            Ok(v) if v.is_finite() => values.push((at, v)),
            Ok(_) => {
                let reason = "so many messages were lost that the quantile is infinite";
                missing.push((at, reason.to_owned()));
            }
            Err(reason) => missing.push((at, reason)),
        }
    }
    Some(Series {
        suite: collected.key.suite,
        experiment,
        metric: collected.key.metric,
        values,
        missing,
        changes: Vec::new(),
    })
}

fn changes(series: &Series, runs: &[&RunManifest], how: &ChangeOptions) -> Vec<Change> {
    let values: Vec<f64> = series.values.iter().map(|(_, v)| *v).collect();
    let points = change_points(&values, how).into_iter();
    // A change begins after the first value, so each has a run before it.
    points
        .filter(|p| p.index > 0)
        .map(|p| {
            let (run, previous) = (series.values[p.index].0, series.values[p.index - 1].0);
            Change {
                run,
                previous,
                p: p.p,
                before: p.before,
                after: p.after,
                differences: between(runs[previous], runs[run], &series.experiment),
            }
        })
        .collect()
}

/// What differs between two runs for one cell.
fn between(before: &RunManifest, after: &RunManifest, e: &Experiment) -> Vec<Difference> {
    let mut found = Differences::default();
    found.environments(&before.environment, &after.environment);
    let adapter = after.plan.stacks.get(&e.stack).map(|s| s.adapter.as_str());
    let (old, new) = (RunFacts::of(before), RunFacts::of(after));
    found.adapters(&old, &new, |name| adapter == Some(name));
    found.stack_options(&before.plan, &after.plan, &e.stack);
    let of = |m: &RunManifest| {
        let mut all = m.plan.experiments.iter();
        all.find(|x| x.stack == e.stack && Factors::of(x) == Factors::of(e))
            .cloned()
    };
    if let (Some(x), Some(y)) = (of(before), of(after)) {
        found.parameters(&x, &y);
    }
    found.0
}

fn notes(series: &[Series], runs: usize, how: &TrendOptions, level: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let least = how.least_runs();
    if runs < least {
        notes.push(format!(
            "a change takes at least {least} runs, there are {runs}: store more of them"
        ));
        return notes;
    }
    let longest = series.iter().map(|s| s.values.len()).max().unwrap_or(0);
    if longest >= least && smallest_p(longest) > level {
        let enough = (longest..).find(|n| smallest_p(*n) <= level);
        notes.push(format!(
            "with {longest} runs not even a clear step can be told from chance at this level: it takes {}",
            enough.map_or_else(|| "more".into(), |n| n.to_string())
        ));
    }
    notes
}

/// The least p that a permutation test of `n` values can give: a step in the middle, in either
/// direction, among all ways to choose its side.
fn smallest_p(n: usize) -> f64 {
    let half = n / 2;
    let ways: f64 = (1..=half)
        .map(|i| (n - half + i) as f64 / i as f64)
        .product();
    2.0 / ways
}

fn median(values: Vec<(u32, f64)>) -> f64 {
    let mut all: Vec<f64> = values.into_iter().map(|(_, v)| v).collect();
    all.sort_by(f64::total_cmp);
    let n = all.len();
    match n % 2 {
        1 => all[n / 2],
        _ if n == 0 => f64::INFINITY,
        _ => f64::midpoint(all[n / 2 - 1], all[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_in_the_middle() {
        assert_eq!(median(vec![(0, 3.0), (1, 1.0), (2, 2.0)]), 2.0);
        assert_eq!(median(vec![(0, 3.0), (1, 1.0)]), 2.0);
    }

    #[test]
    fn few_runs_cannot_show_a_change() {
        assert!((smallest_p(6) - 0.1).abs() < 1e-12);
        assert!((smallest_p(10) - 2.0 / 252.0).abs() < 1e-12);
    }
}
