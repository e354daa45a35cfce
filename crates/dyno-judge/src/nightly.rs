//! A nightly gate: is the newest run as the history of its machine has it, or worse?
//!
//! For each measure of each cell the runs before say where one more usual run may lie: logarithms of their
//! figures, their level and scatter ([`dyno_stats::Usual`]), and how far the next one may be from it
//! ([`dyno_stats::Expectation`]). The chance of a false alarm is shared by all figures of the table
//! (Bonferroni), so it is stated for the whole of it. Each figure is then held against its line by the one
//! comparison of all judgements. What is infinite is beyond every line. A time between hosts has an interval there:
//! what their clocks may have changed it and the level by.
//!
//! Losses of a machine that usually loses nothing have no scatter: there the trials that lost something are
//! counted, and the line is the most of them that chance would deal to one run (Fisher's exact test).
//!
//! A history that is too short, or scatters so much that not even [`BLIND`] times as much would be seen, is
//! undecided, never passed.

mod export;
mod render;

use crate::book::{Book, Entry, HistoryRun, Key, Machine};
use crate::cell;
use crate::check::{Measure, Status};
use crate::number::{counted, sig3};
use crate::reading::{self, Reading, by_clocks, median, slack_of};
use crate::standing::{Found, Line, Standing};
use dyno_model::Experiment;
use dyno_model::record::{Run, RunManifest};
use dyno_report::Basis;
use dyno_stats::{Expectation, Usual, chance_of_hits};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Where only a figure so many times as bad would be told from a usual one, nothing is passed.
const BLIND: f64 = 5.0;

/// A run that loses something is usual where more than one in so many runs did.
const SELDOM: usize = 5;

/// How a run is held against its history.
#[derive(Debug, Clone, PartialEq)]
pub struct NightlyOptions {
    /// The chance of a false alarm anywhere in the table.
    pub level: f64,
    /// Figures that are worse than usual by no more than this share are as usual.
    pub margin: f64,
    /// The quantiles of the headline metric that are watched.
    pub quantiles: Vec<f64>,
    /// The least number of runs of the history that a figure takes.
    pub least_runs: usize,
    /// Only so many of the newest runs of the history; `None`: all.
    pub last: Option<usize>,
}

impl Default for NightlyOptions {
    /// 1 %, 5 %, p50 and p99, six runs, all of them.
    fn default() -> Self {
        NightlyOptions {
            level: 0.01,
            margin: 0.05,
            quantiles: vec![0.5, 0.99],
            least_runs: 6,
            last: None,
        }
    }
}

/// Runs of a history, taken one by one so that only one is in memory; then [`Nights::judge`].
#[derive(Debug, Clone)]
pub struct Nights {
    how: NightlyOptions,
    book: Book,
    left_out: BTreeMap<String, Vec<String>>,
}

/// A run held against its history.
#[derive(Debug, Clone, PartialEq)]
pub struct Nightly {
    /// The run that is judged.
    pub run: HistoryRun,
    /// Its suite.
    pub suite: String,
    /// Its machine.
    pub machine: Machine,
    /// How it was done.
    pub options: NightlyOptions,
    /// The chance of a false alarm of each figure.
    pub level_each: f64,
    /// The runs of its history, the oldest first.
    pub history: Vec<HistoryRun>,
    /// Runs that are no part of it, by the reason.
    pub left_out: Vec<OtherRuns>,
    /// Figure by figure: what is worse first, then what is undecided.
    pub results: Vec<Night>,
    /// Remarks on the whole.
    pub notes: Vec<String>,
}

/// Runs that say nothing of the judged one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OtherRuns {
    /// Why.
    pub reason: String,
    /// Their names, or their directories where they could not be read.
    pub runs: Vec<String>,
}

/// One figure of the judged run beside its history.
#[derive(Debug, Clone, PartialEq)]
pub struct Night {
    /// The cell; of the newest run of the history that has it where the judged one has it not.
    pub experiment: Experiment,
    /// The measure.
    pub measure: Measure,
    /// Pass: as usual or better. Fail: worse.
    pub status: Status,
    /// Where the figure alone stands to its line.
    pub standing: Standing,
    /// The figure, in the unit of the measure; `None` where there is none.
    pub found: Option<f64>,
    /// The level of the history; `None` where it has none.
    pub usual: Option<f64>,
    /// The farthest that a usual run may lie, in the unit of the measure; of rare losses `None`.
    pub line: Option<f64>,
    /// Number of runs of the history that have it.
    pub runs: usize,
    /// Why, in plain words.
    pub reason: String,
}

impl Nightly {
    /// Number of results of a status.
    pub fn count(&self, status: Status) -> usize {
        self.results.iter().filter(|r| r.status == status).count()
    }

    /// Whether nothing at all was judged, or something is undecided.
    pub fn is_blind(&self) -> bool {
        self.results.is_empty() || self.count(Status::Undecided) > 0
    }
}

impl Nights {
    /// No runs yet.
    pub fn new(how: NightlyOptions) -> Nights {
        Nights {
            how,
            book: Book::default(),
            left_out: BTreeMap::new(),
        }
    }

    /// Adds a run; the order does not matter. A run that is there already is not taken twice.
    pub fn add(&mut self, run: &Run) {
        let quantiles = &self.how.quantiles;
        self.book
            .add(run, |e| reading::usual_measures(run, e, quantiles));
    }

    /// Notes something of the history that could not be read, by its name and the reason.
    pub fn leave_out(&mut self, name: String, reason: String) {
        self.left_out.entry(reason).or_default().push(name);
    }

    /// Holds `run` against its history, or the newest run of all. `None` where there is no run, or that one
    /// was not added.
    pub fn judge(&self, run: Option<&RunManifest>) -> Option<Nightly> {
        let mut left_out = self.left_out.clone();
        let order = self.book.in_time();
        let judged = match run {
            Some(manifest) => self.book.number_of(manifest)?,
            None => *order.last()?,
        };
        let own = &self.book.runs[judged];
        let mut history = Vec::new();
        for number in order.into_iter().filter(|n| *n != judged) {
            let other = &self.book.runs[number];
            match stranger(own, other) {
                None => history.push(number),
                Some(reason) => {
                    let runs = left_out.entry(reason).or_default();
                    runs.push(other.id.clone());
                }
            }
        }
        if let Some(last) = self.how.last {
            history.drain(..history.len().saturating_sub(last));
        }
        let watched = watched(&self.book, judged, &history);
        Some(Table::new(&self.how, watched).finish(
            own,
            history.iter().map(|n| &self.book.runs[*n]).collect(),
            left_out,
        ))
    }
}

/// Why a run says nothing of the judged one.
fn stranger(own: &RunManifest, other: &RunManifest) -> Option<String> {
    let (a, b) = (&own.environment, &other.environment);
    if other.plan.suite != own.plan.suite {
        return Some(format!("another suite, {}", other.plan.suite));
    }
    if Machine::of(a) != Machine::of(b) {
        return Some(format!("another machine, {}", Machine::of(b)));
    }
    if other.plan.testbed.name != own.plan.testbed.name {
        return Some(format!("another testbed, {}", other.plan.testbed.name));
    }
    if a.build_profile != b.build_profile {
        return Some(format!("a {} build of Dyno", b.build_profile));
    }
    if a.timer_slack != b.timer_slack {
        return Some(format!("another timer slack, {}", b.timer_slack_text()));
    }
    (other.started_unix_ms > own.started_unix_ms).then(|| "a later run".into())
}

/// One figure with its history, the oldest first.
struct Watched {
    key: Key,
    /// The judged run's entry; of the newest run of the history that has one where the judged one has none.
    entry: Result<Entry, (Entry, String)>,
    history: Vec<Result<Reading, String>>,
}

/// Every figure of the judged run, and every one that its history has and the run must answer for.
fn watched(book: &Book, judged: usize, history: &[usize]) -> Vec<Watched> {
    let mut all = Vec::new();
    for series in &book.series {
        let own = series.of(judged);
        let of_cost = |e: &Entry| e.cost_apart(series.key.measure, own?);
        let entry = match (own, book.gone(series, judged, history)) {
            (Some(entry), _) => Ok(entry.clone()),
            (None, Some((before, reason))) => Err((before.clone(), reason)),
            (None, None) => continue,
        };
        let entries = history.iter().filter_map(|run| series.of(*run));
        // What a run with failed or missing trials shows of its others is no measure of what is usual.
        let readings = entries.map(|e| match e.doubt.clone().or_else(|| of_cost(e)) {
            Some(doubt) => Err(doubt),
            None => e.reading.clone(),
        });
        all.push(Watched {
            key: series.key.clone(),
            entry,
            history: readings.collect(),
        });
    }
    all
}

/// What is known of a figure before its line is drawn.
enum Before {
    /// A level to hold it against.
    Level(Level),
    /// Lossy trials and all trials of a history that seldom loses.
    Seldom { lossy: u64, trials: u64 },
    /// Nothing can be said.
    Nothing(String),
}

/// The level of a history, in logarithms by which more is worse.
struct Level {
    usual: Usual,
    /// The variance between the trials of a run.
    within: f64,
    /// How many trials a run has.
    trials: f64,
    /// What the clocks of hosts may have changed the level by, as a share.
    slack: f64,
}

/// The rows under construction: lines can be drawn once their number is known.
struct Table<'a> {
    how: &'a NightlyOptions,
    rows: Vec<(Watched, Before)>,
    notes: Vec<String>,
}

impl<'a> Table<'a> {
    fn new(how: &'a NightlyOptions, watched: Vec<Watched>) -> Table<'a> {
        let (mut rows, mut hopeless, mut unborne) = (Vec::new(), Vec::new(), 0);
        for w in watched {
            let known: Vec<&Reading> = w.history.iter().filter_map(|r| r.as_ref().ok()).collect();
            let reading = w.entry.as_ref().ok().map(|e| &e.reading);
            // A quantile that neither this run nor its history has samples for is watched by nobody.
            if matches!(reading, Some(Err(_))) && known.is_empty() && is_tail(w.key.measure) {
                unborne += 1;
                continue;
            }
            let before = before(how, &w, &known);
            match before {
                Ok(before) => rows.push((w, before)),
                Err(AlreadyWorst) => hopeless.push(label(&w)),
            }
        }
        let mut notes = Vec::new();
        if unborne > 0 {
            notes.push(format!(
                "{} not watched: neither this run nor its history has enough samples for the quantile",
                counted(unborne, "figure")
            ));
        }
        notes.extend(hopeless.into_iter().map(|label| {
            format!("{label}: infinite or zero in most of its history, so it cannot get worse")
        }));
        Table { how, rows, notes }
    }

    fn finish(
        self,
        own: &RunManifest,
        history: Vec<&RunManifest>,
        left_out: BTreeMap<String, Vec<String>>,
    ) -> Nightly {
        // By the history alone: what the judged run lacks must not make the lines of its other figures narrower or wider.
        let is_judged = |(_, before): &&(Watched, Before)| !matches!(before, Before::Nothing(_));
        let judged = self.rows.iter().filter(is_judged).count();
        let level_each = self.how.level / judged.max(1) as f64;
        let mut factors = Factors(BTreeMap::new());
        let mut results: Vec<Night> = self
            .rows
            .into_iter()
            .map(|(w, before)| night(self.how, w, before, level_each, &mut factors))
            .collect();
        results.sort_by_key(|r| Reverse(r.status));
        let of = left_out.into_iter();
        Nightly {
            run: HistoryRun::of(own),
            suite: own.plan.suite.clone(),
            machine: Machine::of(&own.environment),
            options: self.how.clone(),
            level_each,
            history: history.into_iter().map(HistoryRun::of).collect(),
            left_out: of
                .map(|(reason, runs)| OtherRuns { reason, runs })
                .collect(),
            results,
            notes: self.notes,
        }
    }
}

fn is_tail(measure: Measure) -> bool {
    matches!(measure, Measure::Latency(_, q) if q > 0.5)
}

fn label(w: &Watched) -> String {
    let e = match &w.entry {
        Ok(entry) | Err((entry, _)) => &entry.experiment,
    };
    format!("{}, {}", cell::label(e), w.key.measure.text())
}

/// The level of a history is the worst that there is.
struct AlreadyWorst;

fn before(how: &NightlyOptions, w: &Watched, known: &[&Reading]) -> Result<Before, AlreadyWorst> {
    let least = how.least_runs.max(4);
    if known.len() < least {
        return Ok(Before::Nothing(format!(
            "too few runs: {} in the history {} this figure, but {least} are needed",
            known.len(),
            if known.len() == 1 { "has" } else { "have" }
        )));
    }
    if w.key.measure.is_seldom() {
        let nights = known.iter().filter(|r| r.lossy > 0).count();
        if nights * SELDOM <= known.len() {
            return Ok(Before::Seldom {
                lossy: known.iter().map(|r| r.lossy).sum(),
                trials: known.iter().map(|r| r.trials).sum(),
            });
        }
    }
    let logs: Vec<f64> = known.iter().map(|r| badness(w.key.measure, r)).collect();
    let usual = Usual::of(&logs).ok_or(AlreadyWorst)?;
    let within = median(known.iter().filter_map(|r| r.within).collect());
    let trials = median(known.iter().map(|r| r.trials as f64).collect());
    let values: Vec<(f64, f64)> = known.iter().map(|r| (r.value, r.slack)).collect();
    let level = |values: Vec<f64>| {
        let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
        Usual::of(&logs).map_or(0.0, |usual| usual.level.exp())
    };
    Ok(Before::Level(Level {
        usual,
        within,
        trials,
        slack: slack_of(&values, level),
    }))
}

/// The logarithm of a figure, or its negative: more is worse.
fn badness(measure: Measure, r: &Reading) -> f64 {
    match measure.is_better_higher() {
        true => -r.log,
        false => r.log,
    }
}

/// How far the next value may lie, by the length of the history.
struct Factors(BTreeMap<usize, Option<f64>>);

impl Factors {
    fn of(&mut self, length: usize, level: f64) -> Option<f64> {
        let factor = || Expectation::new(length).map(|e| e.factor(level));
        *self.0.entry(length).or_insert_with(factor)
    }
}

fn night(
    how: &NightlyOptions,
    w: Watched,
    before: Before,
    level: f64,
    factors: &mut Factors,
) -> Night {
    let measure = w.key.measure;
    let known = w.history.iter().filter(|r| r.is_ok()).count();
    let (entry, reading) = match w.entry {
        Ok(entry) => {
            let reading = entry.reading.clone();
            (entry, reading)
        }
        Err((entry, reason)) => (entry, Err(reason)),
    };
    let mut night = Night {
        experiment: entry.experiment,
        measure,
        status: Status::Undecided,
        standing: Standing::Refused,
        found: reading.as_ref().ok().map(|r| r.value),
        usual: None,
        line: None,
        runs: known,
        reason: String::new(),
    };
    let found = match (reading, &before) {
        (Err(reason), _) => return Night { reason, ..night },
        (_, Before::Nothing(reason)) => {
            let reason = reason.clone();
            return Night { reason, ..night };
        }
        (Ok(found), _) => found,
    };
    let Some(factor) = factors.of(known, level) else {
        return night;
    };
    let held = |found: &Reading| hold(how, measure, &before, found, level, factor);
    let own = held(&found);
    night.usual = own.usual;
    night.line = own.line;
    night.standing = own.standing;
    night.status = own.standing.into();
    night.reason = own.reason;
    if night.status != Status::Pass {
        return night;
    }
    let but = |(basis, other): &(Basis, Result<Reading, String>)| {
        let other = other.as_ref().map(held);
        let reason = match other {
            Ok(held) if held.standing == Standing::Keeps => return None,
            Ok(held) => held.reason,
            Err(reason) => reason.clone(),
        };
        Some(format!(
            "{}, but not {}: {reason}",
            night.reason,
            basis.phrase()
        ))
    };
    let undecided = match &entry.doubt {
        Some(doubt) => Some(format!("{doubt}; the others: {}", night.reason)),
        None => entry.others.iter().find_map(but),
    };
    let blind = || match measure {
        _ if own.sees <= BLIND => None,
        measure if measure.is_seldom() && own.sees.is_infinite() => Some(format!(
            "{}: with so few trials, even a loss in all of them could be chance",
            night.reason
        )),
        _ => Some(format!(
            "its history scatters so much that only ×{} could be distinguished from a usual run",
            sig3(own.sees)
        )),
    };
    if let Some(reason) = undecided.or_else(blind) {
        night.status = Status::Undecided;
        night.reason = reason;
    }
    night
}

/// A figure held against what is usual.
struct Held {
    usual: Option<f64>,
    line: Option<f64>,
    standing: Standing,
    reason: String,
    /// How many times as bad a figure must be to be told from a usual one.
    sees: f64,
}

fn hold(
    how: &NightlyOptions,
    measure: Measure,
    before: &Before,
    found: &Reading,
    level: f64,
    factor: f64,
) -> Held {
    match before {
        Before::Nothing(reason) => Held {
            usual: None,
            line: None,
            standing: Standing::Refused,
            reason: reason.clone(),
            sees: f64::INFINITY,
        },
        Before::Seldom { lossy, trials } => {
            let (all, marked) = (trials + found.trials, lossy + found.lossy);
            let rare = |hits: &u64| chance_of_hits(all, marked, found.trials, *hits) <= level;
            // Chance deals this run fewer lossy trials than this.
            let first = (0..=found.trials).find(rare);
            // Were all of its trials lossy, would that be seen?
            let worst = chance_of_hits(all, lossy + found.trials, found.trials, found.trials);
            let line = Line::AtMost(first.map_or(found.trials, |n| n - 1) as f64);
            Held {
                usual: Some(0.0),
                line: None,
                standing: line.standing(Some(&Found::exactly(found.lossy as f64))),
                reason: format!(
                    "{} of {} trials {}, {lossy} of {trials} in its history",
                    found.lossy,
                    found.trials,
                    match measure {
                        Measure::Deaf => "were deaf",
                        _ => "lost messages",
                    }
                ),
                sees: if worst <= level { 1.0 } else { f64::INFINITY },
            }
        }
        Before::Level(level) => level.hold(how, measure, found, factor),
    }
}

impl Level {
    fn hold(&self, how: &NightlyOptions, measure: Measure, found: &Reading, factor: f64) -> Held {
        let usual = &self.usual;
        // A run with fewer trials than usual scatters more than the history shows.
        let extra = self.within * (1.0 / found.trials as f64 - 1.0 / self.trials);
        let extra = if extra.is_finite() {
            extra.max(0.0)
        } else {
            0.0
        };
        let far = ((factor * usual.scatter).powi(2) + extra * factor.powi(2)).sqrt();
        let far = far.max(how.margin.ln_1p());
        let natural = |badness: f64| match measure.is_better_higher() {
            true => (-badness).exp(),
            false => badness.exp(),
        };
        let value = badness(measure, found);
        // Only times have a share of clocks, and of times more is worse.
        let (lo, hi) = by_clocks(1.0, (found.slack, self.slack));
        let held = Found {
            value,
            lo: value + lo.ln(),
            hi: value + hi.ln(),
        };
        let standing = Line::AtMost(usual.level + far).standing(Some(&held));
        let mut reason = times(value - usual.level, far, measure);
        if standing == Standing::Between {
            let [lo, hi] = [held.lo, held.hi].map(|end| sig3((end - usual.level).exp()));
            reason += &format!("; the clocks of the hosts leave it between ×{lo} and ×{hi}");
        }
        Held {
            usual: Some(natural(usual.level)),
            line: Some(natural(usual.level + far)),
            standing,
            reason,
            sees: far.exp() / lo,
        }
    }
}

/// `×1.52 of usual; up to ×1.21 is chance`.
fn times(apart: f64, far: f64, measure: Measure) -> String {
    let sign = if measure.is_better_higher() {
        -1.0
    } else {
        1.0
    };
    let chance = sig3((sign * far).exp());
    let bound = match measure.is_better_higher() {
        true => "down to",
        false => "up to",
    };
    format!(
        "×{} of the usual value; {bound} ×{chance} counts as usual",
        sig3((sign * apart).exp())
    )
}
