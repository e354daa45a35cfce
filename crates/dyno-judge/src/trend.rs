//! Histories: when did the level of a series over stored runs change, and what changed with it.
//!
//! One series per cell, measure and machine; its values are the medians over the counted trials of each
//! run. Changes are found by E-divisive ([`dyno_stats::change_points`]) in their logarithms, because runs
//! differ by factors, as in Daly et al., "The Use of Change Point Detection to Identify Software Performance
//! Regressions in a Continuous Integration System" (ICPE 2020). What is infinite, and a rate of zero, is not
//! left out: it counts as ten times worse than the worst that is finite. The level is shared by all series
//! of a table (Bonferroni). A change of times between hosts that their clocks may have made is undecided.

mod export;
mod render;

use crate::book::{Book, Collected, Entry, HistoryRun, Machine};
use crate::check::Measure;
use crate::difference::{Difference, between};
use crate::number::sig3;
use crate::reading::{self, Reading, by_clocks, median, slack_of};
use dyno_model::Experiment;
use dyno_model::record::{Run, RunManifest};
use dyno_report::Basis;
use dyno_stats::{ChangeOptions, change_points};

/// The most permutations of one test: enough for 200 series at 5 %.
const MOST_PERMUTATIONS: f64 = 99_999.0;

/// By how much what is infinite is worse than the worst that is finite, as a logarithm. Any other number
/// that is clearly beyond the scatter finds the same changes.
const BEYOND: f64 = std::f64::consts::LN_10;

/// How a history is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendOptions {
    /// The measure; `None`: the headline of each cell at `quantile`, its losses, its rate where that is not
    /// the headline once more, its processor time and its memory.
    pub measure: Option<Measure>,
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
    /// All measures, p50 of the headline, 5 % over the table, three runs.
    fn default() -> Self {
        TrendOptions {
            measure: None,
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
#[derive(Debug, Clone)]
pub struct History {
    how: TrendOptions,
    book: Book,
}

/// Series and their changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    /// How it was done.
    pub options: TrendOptions,
    /// The level of each series' own tests.
    pub level_each: f64,
    /// The runs, the oldest first.
    pub runs: Vec<HistoryRun>,
    /// Cell by cell.
    pub series: Vec<Series>,
    /// Remarks on the whole.
    pub notes: Vec<String>,
}

/// The history of one measure of one cell on one machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The suite that it belongs to.
    pub suite: String,
    /// The machine.
    pub machine: Machine,
    /// The cell, as in its newest run.
    pub experiment: Experiment,
    /// The measure.
    pub measure: Measure,
    /// Index into [`Trend::runs`] and median over the trials, in the unit of the measure, the oldest first;
    /// infinite where more messages were lost than the quantile allows.
    pub values: Vec<(usize, f64)>,
    /// Runs that have the cell, or must answer for lacking it, and no value for it, with the reason.
    pub missing: Vec<(usize, String)>,
    /// Its changes, the oldest first; none where there are too few values.
    pub changes: Vec<Change>,
    /// Why a change in it could not be seen; `None` where it could.
    pub blind: Option<String>,
    /// The logarithms of `values`.
    logs: Vec<f64>,
    /// What the clocks of hosts may have changed each of `values` by, as a share of it.
    slacks: Vec<f64>,
    /// What the newest run shows on every other basis that says something else.
    others: Vec<(Basis, Result<Reading, String>)>,
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
    /// Median of the level before, in the unit of the measure; it may be infinite or zero.
    pub before: f64,
    /// Median of the level from here on.
    pub after: f64,
    /// The clocks of the hosts may have made all of it.
    pub within_clocks: bool,
    /// What differs between those two runs.
    pub differences: Vec<Difference>,
}

impl Change {
    /// After over before; infinite from nothing to something.
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }

    /// Whether the level is higher than before.
    pub fn is_higher(&self) -> bool {
        self.after > self.before
    }
}

impl Series {
    /// Whether there are enough values for a change to be found.
    pub fn is_long_enough(&self, how: &TrendOptions) -> bool {
        self.values.len() >= how.least_runs()
    }

    /// Whether a change of it is to the worse.
    pub fn is_worse(&self, change: &Change) -> bool {
        change.is_higher() != self.measure.is_better_higher()
    }

    /// Why it is not shown that nothing became worse, where other trials of the newest run say that something did.
    fn split(
        &self,
        newest: usize,
        runs: &[&RunManifest],
        options: &ChangeOptions,
    ) -> Option<String> {
        let became_worse = |s: &Series| s.changes.last().is_some_and(|c| s.is_worse(c));
        if became_worse(self) || self.values.last().is_none_or(|v| v.0 != newest) {
            return None;
        }
        self.others.iter().find_map(|(basis, other)| match other {
            Err(reason) => Some(format!("no value {}: {reason}", basis.phrase())),
            Ok(reading) => {
                let mut other = self.clone();
                let last = other.logs.len() - 1;
                (other.values[last].1, other.logs[last]) = (reading.value, reading.log);
                other.slacks[last] = reading.slack;
                other.changes = changes(&other, runs, options);
                became_worse(&other).then(|| {
                    let phrase = basis.phrase();
                    format!("it became worse {phrase} of the newest run, but not otherwise")
                })
            }
        })
    }

    /// That the newest change may be none, because clocks may have made it.
    fn unclear(&self) -> Option<String> {
        let newest = self.changes.last().filter(|c| c.within_clocks)?;
        Some(format!(
            "the clocks of the hosts may account for the whole change of ×{}",
            sig3(newest.ratio())
        ))
    }

    fn has_run(&self, run: usize) -> bool {
        self.values.iter().any(|v| v.0 == run) || self.missing.iter().any(|m| m.0 == run)
    }
}

impl Trend {
    /// Whether the newest change of some series for which clocks do not account made it worse.
    pub fn has_slower(&self) -> bool {
        let is_slower = |s: &Series| {
            let newest = s.changes.iter().rfind(|c| !c.within_clocks);
            newest.is_some_and(|c| s.is_worse(c))
        };
        self.series.iter().any(is_slower)
    }

    /// Whether in some series of the newest run no change could be seen: it has too few runs, or no figure
    /// in the newest one, or clocks may have made its newest change. Also where there are no series.
    pub fn is_blind(&self) -> bool {
        let newest = self.runs.len().saturating_sub(1);
        let mut of_newest = self.series.iter().filter(|s| s.has_run(newest)).peekable();
        of_newest.peek().is_none() || of_newest.any(|s| s.blind.is_some())
    }
}

impl History {
    /// No runs yet.
    pub fn new(how: TrendOptions) -> History {
        History {
            how,
            book: Book::default(),
        }
    }

    /// Adds a run; the order does not matter. A run that is there already (same name and start) is
    /// not taken twice.
    pub fn add(&mut self, run: &Run) {
        let how = self.how;
        self.book.add(run, |e| match how.measure {
            Some(measure) => {
                let applies = measure.applies_to(e);
                applies.then_some(measure).into_iter().collect()
            }
            None => reading::usual_measures(run, e, &[how.quantile]),
        });
    }

    /// Finds the changes.
    pub fn trend(self) -> Trend {
        let how = self.how;
        let mut order = self.book.in_time();
        let left_out = order.len() - how.last.unwrap_or(order.len()).min(order.len());
        order.drain(..left_out);
        let mut place = vec![None; self.book.runs.len()];
        for (at, number) in order.iter().enumerate() {
            place[*number] = Some(at);
        }
        let runs: Vec<&RunManifest> = order.iter().map(|i| &self.book.runs[*i]).collect();
        let all = self.book.series.iter().filter_map(|s| {
            let mut ordered = ordered(s.clone(), &place, runs.len().saturating_sub(1))?;
            ordered.missing.extend(gone(&self.book, s, &order));
            Some(ordered)
        });
        let mut series: Vec<Series> = all.collect();
        // Also those that lack a figure: that must not make the test of others more or less strict.
        let is_long = |s: &&Series| s.values.len() + s.missing.len() >= how.least_runs();
        let tested = series.iter().filter(is_long).count();
        let level_each = how.level / tested.max(1) as f64;
        // So many that a step which just reaches the level is seen whatever is drawn.
        let permutations = (20.0 / level_each).ceil().clamp(999.0, MOST_PERMUTATIONS);
        let options = ChangeOptions {
            level: level_each,
            min_segment: how.min_segment.max(2),
            permutations: permutations as u32,
            ..ChangeOptions::default()
        };
        let newest = runs.len().saturating_sub(1);
        for s in &mut series {
            let mut split = None;
            if s.is_long_enough(&how) {
                s.changes = changes(s, &runs, &options);
                split = s.split(newest, &runs, &options);
            }
            let found = s.blind.take();
            let blind = blind(s, newest, &how, level_each).or(found);
            s.blind = blind.or(split).or_else(|| s.unclear());
        }
        Trend {
            notes: notes(&series, runs.len(), &how, level_each),
            options: how,
            level_each,
            runs: runs.iter().map(|m| HistoryRun::of(m)).collect(),
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

/// That the newest run lacks the cell of a series, where it must answer for that to the runs before it: those of its suite,
/// machine and testbed.
fn gone(book: &Book, series: &Collected, order: &[usize]) -> Option<(usize, String)> {
    let (judged, before) = order.split_last()?;
    let about = |n: usize| {
        let m = &book.runs[n];
        (
            &m.plan.suite,
            Machine::of(&m.environment),
            &m.plan.testbed.name,
        )
    };
    let of = before.iter().copied();
    let history: Vec<usize> = of.filter(|n| about(*n) == about(*judged)).collect();
    let (_, reason) = book.gone(series, *judged, &history)?;
    Some((before.len(), reason))
}

/// A series in order of time; `place` is that of each run, `None` for a run that is left out. Nothing
/// for a series without runs. What an older run with failed or missing trials shows is no value of it, nor are CPU times
/// of a kernel that counts them otherwise than that of the newest.
fn ordered(collected: Collected, place: &[Option<usize>], newest: usize) -> Option<Series> {
    let key = collected.key;
    let mut all: Vec<(usize, Entry)> = collected
        .entries
        .into_iter()
        .filter_map(|entry| Some((place[entry.run]?, entry)))
        .collect();
    all.sort_by_key(|(at, _)| *at);
    let last = all.last()?.1.clone();
    let of_cost = |e: &Entry| e.cost_apart(key.measure, &last);
    let (mut values, mut logs, mut slacks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut missing, mut others, mut blind) = (Vec::new(), Vec::new(), None);
    for (at, entry) in all {
        let doubt = entry.doubt.clone().or_else(|| of_cost(&entry));
        match (entry.reading, doubt) {
            (Ok(_), Some(doubt)) if at != newest => missing.push((at, doubt)),
            (Ok(reading), doubt) => {
                values.push((at, reading.value));
                logs.push(reading.log);
                slacks.push(reading.slack);
                if at == newest {
                    others = entry.others;
                    blind = doubt.map(|doubt| format!("of the newest run {doubt}"));
                }
            }
            (Err(reason), _) => missing.push((at, reason)),
        }
    }
    Some(Series {
        suite: key.suite,
        machine: key.machine,
        experiment: last.experiment,
        measure: key.measure,
        values,
        missing,
        changes: Vec::new(),
        blind,
        logs,
        slacks,
        others,
    })
}

/// The logarithms with what is infinite in its place: beyond all that is finite.
fn placed(logs: &[f64]) -> Vec<f64> {
    let finite = || logs.iter().copied().filter(|v| v.is_finite());
    let (least, most) = (
        finite().fold(f64::INFINITY, f64::min),
        finite().fold(f64::NEG_INFINITY, f64::max),
    );
    let place = |log: f64| match log {
        _ if least > most => log.signum(),
        f64::INFINITY => most + BEYOND,
        f64::NEG_INFINITY => least - BEYOND,
        log => log,
    };
    logs.iter().map(|log| place(*log)).collect()
}

fn changes(series: &Series, runs: &[&RunManifest], how: &ChangeOptions) -> Vec<Change> {
    // A change begins after the first value, so each has a run before it.
    let mut points = change_points(&placed(&series.logs), how);
    points.retain(|p| p.index > 0);
    // Each level with what clocks may have changed it by.
    let level = |from: usize, to: usize| {
        let values: Vec<f64> = series.values[from..to].iter().map(|v| v.1).collect();
        let slacks = series.slacks[from..to].iter().copied();
        let both: Vec<(f64, f64)> = values.iter().copied().zip(slacks).collect();
        (median(values), slack_of(&both, median))
    };
    let begins = |i: usize| points.get(i).map_or(series.values.len(), |p| p.index);
    let mut start = 0;
    let mut found = Vec::with_capacity(points.len());
    for (i, p) in points.iter().enumerate() {
        let (run, previous) = (series.values[p.index].0, series.values[p.index - 1].0);
        let (before, after) = (level(start, p.index), level(p.index, begins(i + 1)));
        let (lo, hi) = by_clocks(after.0 / before.0, (after.1, before.1));
        found.push(Change {
            run,
            previous,
            p: p.p,
            before: before.0,
            after: after.0,
            within_clocks: lo <= 1.0 && 1.0 <= hi && (after.1, before.1) != (0.0, 0.0),
            differences: between(runs[previous], runs[run], &series.experiment),
        });
        start = p.index;
    }
    found
}

/// Why no change of a series could be seen.
fn blind(series: &Series, newest: usize, how: &TrendOptions, level: f64) -> Option<String> {
    let n = series.values.len();
    if let Some((_, reason)) = series.missing.iter().find(|m| m.0 == newest) {
        return Some(format!("no value in the newest run: {reason}"));
    }
    let least = (how.least_runs()..)
        .find(|n| smallest_p(*n) <= level)
        .unwrap_or(how.least_runs());
    (n < least).then(|| format!("too few runs: {n} of {least}"))
}

fn notes(series: &[Series], runs: usize, how: &TrendOptions, level: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let least = how.least_runs();
    if runs < least {
        notes.push(format!(
            "a change needs at least {least} runs, but there are only {runs}: store more runs"
        ));
        return notes;
    }
    let longest = series.iter().map(|s| s.values.len()).max().unwrap_or(0);
    if longest >= least && smallest_p(longest) > level {
        let enough = (longest..).find(|n| smallest_p(*n) <= level);
        notes.push(format!(
            "with {longest} runs not even a clear step can be distinguished from chance at this level: that needs {}",
            enough.map_or_else(|| "more".into(), |n| n.to_string())
        ));
    }
    let mut machines: Vec<String> = series.iter().map(|s| s.machine.to_string()).collect();
    machines.sort_unstable();
    machines.dedup();
    if machines.len() > 1 {
        notes.push(format!(
            "the runs come from {} machines, each of which has its own series: {}",
            machines.len(),
            machines.join("; ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_infinite_lies_beyond_all_that_is_finite() {
        const INF: f64 = f64::INFINITY;
        assert_eq!(
            placed(&[1.0, INF, 2.0, -INF]),
            [1.0, 2.0 + BEYOND, 2.0, 1.0 - BEYOND]
        );
        assert_eq!(placed(&[INF, INF]), [1.0, 1.0]);
        assert_eq!(placed(&[INF, -INF]), [1.0, -1.0]);
    }

    #[test]
    fn few_runs_cannot_show_a_change() {
        assert!((smallest_p(6) - 0.1).abs() < 1e-12);
        assert!((smallest_p(10) - 2.0 / 252.0).abs() < 1e-12);
    }
}
