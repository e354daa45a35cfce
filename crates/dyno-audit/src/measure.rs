//! Claims beside this machine: the experiments that a source's file names as the nearest, and what they gave. Pure: the caller
//! plans and runs them. A ratio between two machines and two methods is no verdict.

use crate::context::{interval, printed, size_of};
use crate::interval::{Interval, with_unit};
use crate::statement::{
    Access, Dimension, Figure, Loop, Nearest, Quantity, Statements, Statistic, Trip,
};
use dyno_model::probe::Probe;
use dyno_model::{Metric, TrialFigure, Workload};
use dyno_report::{ExperimentSummary, LEAST_TRIALS, NoRatio, QUANTILES, Summary, sig3};
use dyno_stats::{Latency, Quantile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// An experiment to measure, and the figures that it comes nearest to.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its name in the suite.
    pub name: String,
    /// Its stack.
    pub stack: String,
    /// It as a `[[experiment]]` of a suite.
    pub experiment: String,
    figures: Vec<String>,
    /// The metric that the figures are of; that of the experiment's headline where `None`.
    metric: Option<Metric>,
    /// Neither the figures nor the file say a payload.
    has_no_size: bool,
    differs: Vec<String>,
}

/// A claim with the measured value, or with the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "beside"))]
pub struct Beside {
    /// The figure.
    pub figure: String,
    /// Where the source has it.
    pub place: String,
    /// As printed.
    pub claim: String,
    /// The stack that it is set beside.
    pub stack: String,
    /// The experiment's conditions; empty where it was not run.
    pub conditions: String,
    /// What was measured.
    pub measured: Option<Measured>,
    /// Why nothing was.
    pub reason: Option<String>,
    /// What else differs between the two, as far as it is known.
    pub differs: Vec<String>,
}

/// What was measured, in base units: seconds, per second, bytes per second.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "measured"))]
pub struct Measured {
    /// Which figure of Dyno it is.
    pub what: String,
    /// As people read it.
    pub text: String,
    /// Its value.
    pub value: f64,
    /// Lower end of its interval; `None` where too few trials count for one.
    pub lo: Option<f64>,
    /// Upper end; `None` where it has no bound, or there is no interval.
    pub hi: Option<f64>,
    /// The claim by the value.
    pub ratio: f64,
    /// The least that the claim's digits and the interval leave open; `None` where there is no interval.
    pub ratio_lo: Option<f64>,
    /// The most; `None` where it has no bound, or there is no interval.
    pub ratio_hi: Option<f64>,
}

/// A suite of these experiments.
pub fn suite(title: &str, cells: &[&Cell]) -> String {
    let title = toml::Value::String(format!("nearest to the figures of {title}"));
    let mut text = format!("title = {title}\n");
    for cell in cells {
        writeln!(text, "[[experiment]]\n{}", cell.experiment)
            .expect("writing to a string cannot fail");
    }
    text
}

impl Statements {
    /// The experiments that come nearest to the figures, one for each stack and payload, with names that begin with `prefix`; and the
    /// figures that nothing can stand beside. Empty where the file names none.
    pub fn cells(&self, prefix: &str) -> (Vec<Cell>, Vec<Beside>) {
        let mut cells: Vec<Cell> = Vec::new();
        let mut left_out = Vec::new();
        for (i, nearest) in self.nearest.iter().enumerate() {
            let mut by_payload: BTreeMap<Option<u64>, Vec<String>> = BTreeMap::new();
            let fits = |f: &&Figure| nearest.of.iter().any(|p| crate::formula::fits(p, &f.id));
            for figure in self.figures.iter().filter(fits) {
                if let Err(reason) = counterpart(figure) {
                    left_out.push(without(figure, nearest, reason));
                    continue;
                }
                let payload = match nearest.has_payload {
                    true => None,
                    false => payload(figure),
                };
                by_payload
                    .entry(payload)
                    .or_default()
                    .push(figure.id.clone());
            }
            for (payload, figures) in by_payload {
                let name = match payload {
                    Some(bytes) => format!("{prefix}{i}-{bytes}"),
                    None => format!("{prefix}{i}"),
                };
                let mut experiment =
                    format!("name = \"{name}\"\nstacks = [\"{}\"]\n", nearest.stack);
                if let Some(bytes) = payload {
                    experiment += &format!("payload = \"{bytes} B\"\n");
                }
                experiment += &nearest.experiment;
                cells.push(Cell {
                    name,
                    stack: nearest.stack.clone(),
                    experiment,
                    figures,
                    metric: nearest.metric,
                    has_no_size: payload.is_none() && !nearest.has_payload,
                    differs: nearest.differs.clone(),
                });
            }
        }
        (cells, left_out)
    }

    /// The figures of a cell beside what a run has of it: each beside every experiment that the cell became, which are several
    /// where it leaves a factor such as the wait open.
    pub fn beside(&self, cell: &Cell, summary: &Summary) -> Vec<Beside> {
        let own = |e: &&ExperimentSummary| {
            let of = &e.experiment;
            of.name == cell.name && of.stack == cell.stack && !of.added
        };
        let own: Vec<_> = summary.experiments.iter().filter(own).collect();
        if own.is_empty() {
            return self.refused(cell, "it was not measured");
        }
        let figures = self.figures_of(cell);
        let all = figures.flat_map(|f| own.iter().map(move |e| (f, *e)));
        all.map(|(f, e)| set_beside(f, cell, summary, e)).collect()
    }

    /// The figures of a cell that cannot be run, with why.
    pub fn refused(&self, cell: &Cell, reason: &str) -> Vec<Beside> {
        let figures = self.figures_of(cell);
        let one = |f: &Figure| Beside {
            stack: cell.stack.clone(),
            reason: Some(reason.to_owned()),
            ..claim(f)
        };
        figures.map(one).collect()
    }

    fn figures_of(&self, cell: &Cell) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|f| cell.figures.contains(&f.id))
    }
}

fn payload(figure: &Figure) -> Option<u64> {
    let bytes = figure.method.payload_bytes;
    let bytes = bytes.or_else(|| size_of(&figure.conditions))?;
    (bytes >= 1.0).then_some(bytes.round() as u64)
}

fn claim(figure: &Figure) -> Beside {
    Beside {
        figure: figure.id.clone(),
        place: figure.place.section.clone(),
        claim: printed(figure),
        stack: String::new(),
        conditions: String::new(),
        measured: None,
        reason: None,
        differs: Vec::new(),
    }
}

fn without(figure: &Figure, nearest: &Nearest, reason: &str) -> Beside {
    Beside {
        stack: nearest.stack.clone(),
        reason: Some(reason.to_owned()),
        ..claim(figure)
    }
}

/// What of Dyno stands beside a figure.
enum Counterpart {
    /// A quantile of the headline metric, by its place in [`QUANTILES`].
    Quantile(usize),
    /// A rate.
    Rate(TrialFigure),
}

fn counterpart(figure: &Figure) -> Result<Counterpart, &'static str> {
    let rate = match (figure.printed.unit.dimension, figure.quantity) {
        (Dimension::Time, Quantity::Latency | Quantity::Time) => None,
        (Dimension::Rate, Quantity::Rate) => Some(TrialFigure::DeliveredHz),
        (Dimension::Bandwidth, Quantity::Bandwidth) => Some(TrialFigure::DeliveredBytesPerS),
        (Dimension::Cycles, _) | (_, Quantity::Instructions) => {
            return Err(
                "it counts processor cycles or events, and the source states no clock rate that \
                 would convert them to seconds; `dyno run l4re` shows the counts of L4Re beside \
                 measured ones",
            );
        }
        _ => return Err("Dyno does not measure this quantity"),
    };
    let rank = match (figure.statistic, rate) {
        (Statistic::Max | Statistic::Min, _) => {
            return Err(
                "a minimum or maximum depends on the number of samples and has no interval",
            );
        }
        (Statistic::Mean | Statistic::Value, _) | (Statistic::Rate, Some(_)) => 0.5,
        (Statistic::Percentile(p), _) => p / 100.0,
        _ => return Err("Dyno states no such statistic"),
    };
    let known = QUANTILES
        .iter()
        .position(|(_, _, of)| (of - rank).abs() < 1e-9);
    match (rate, known) {
        (Some(rate), Some(0)) => Ok(Counterpart::Rate(rate)),
        (Some(_), _) => Err("for a rate Dyno states only the median of its trials"),
        (None, Some(known)) => Ok(Counterpart::Quantile(known)),
        (None, None) => Err("Dyno states no quantile of this rank"),
    }
}

/// Whether the metric times what the claim does; how many of the claim make one of it.
fn trips(figure: &Figure, metric: Metric) -> Result<f64, &'static str> {
    let round = metric == Metric::Rtt;
    match (figure.method.trip, round) {
        (Some(Trip::Half), true) => Ok(2.0),
        (Some(Trip::Round), false) => {
            Err("the claim is a round trip, and the nearest experiment times one way")
        }
        (Some(Trip::OneWay), true) => {
            Err("the claim is one way, and the nearest experiment times a round trip")
        }
        (Some(Trip::Half), false) => {
            Err("the claim is half of a round trip, and the nearest experiment times one way")
        }
        _ => Ok(1.0),
    }
}

fn set_beside(figure: &Figure, cell: &Cell, summary: &Summary, e: &ExperimentSummary) -> Beside {
    let (measured, reason) = match measure(figure, cell, e) {
        Ok(measured) => (Some(measured), None),
        Err(reason) => (None, Some(reason)),
    };
    Beside {
        stack: cell.stack.clone(),
        conditions: dyno_report::conditions(&e.experiment),
        measured,
        reason,
        differs: differences(figure, cell, summary, e),
        ..claim(figure)
    }
}

fn measure(figure: &Figure, cell: &Cell, e: &ExperimentSummary) -> Result<Measured, String> {
    let dimension = figure.printed.unit.dimension;
    let failed = || match e.failures.first() {
        Some(group) => format!("its trials failed: {}", group.cause),
        None => "it has no trial that counts".to_owned(),
    };
    let (what, value, within, trips) = match counterpart(figure).map_err(str::to_owned)? {
        Counterpart::Rate(of) => {
            let spread = e.figure(of).ok_or_else(failed)?;
            let counted = e.trials.counted;
            match has_few_trials(e) {
                true => ("its one trial".to_owned(), spread.median, None, 1.0),
                false => (
                    format!("median of {counted} trials, smallest to largest"),
                    spread.median,
                    Some((spread.min, spread.max)),
                    1.0,
                ),
            }
        }
        Counterpart::Quantile(at) => {
            let of = cell.metric.unwrap_or(e.headline());
            let trips = trips(figure, of).map_err(str::to_owned)?;
            let metric = e.metrics.get(&of).ok_or_else(|| match e.trials.counted {
                0 => failed(),
                _ => format!("its trials have no {}", of.info().title),
            })?;
            let (_, name, _) = QUANTILES[at];
            let what = format!("{name} of the {}", of.info().title);
            let estimate = match &metric.quantiles[at] {
                Quantile::Estimated(estimate) => *estimate,
                Quantile::Refused { have, need } => {
                    return Err(format!("its {name} is withheld: {have} of {need} samples"));
                }
                Quantile::Wide { interval, .. } => {
                    return Err(format!(
                        "its {name} is withheld: it lies anywhere between {} and {}",
                        time(interval.lo),
                        time(interval.hi)
                    ));
                }
            };
            let seconds = |l: Latency| l.finite().map_or(f64::INFINITY, |ns| ns * 1e-9);
            let value = seconds(estimate.value);
            if value.is_infinite() {
                return Err(format!(
                    "its {name} is infinite, because too many messages were lost"
                ));
            }
            let within = Some((seconds(estimate.lo), seconds(estimate.hi)));
            (what, value, within, trips)
        }
    };
    if value == 0.0 {
        return Err(format!("{what} is zero, so there is no ratio"));
    }
    let is = interval(figure).times(Interval::exactly(trips));
    let claimed = figure.printed.value * figure.printed.unit.factor * trips;
    let finite = |x: f64| x.is_finite().then_some(x);
    let shown = with_unit(value, dimension);
    let text = match within {
        Some((lo, hi)) => {
            let hi = finite(hi).map_or("∞".to_owned(), |hi| with_unit(hi, dimension));
            format!("{shown} [{}, {hi}]", with_unit(lo, dimension))
        }
        None => shown,
    };
    Ok(Measured {
        what,
        text,
        value,
        lo: within.map(|(lo, _)| lo),
        hi: within.and_then(|(_, hi)| finite(hi)),
        ratio: claimed / value,
        ratio_lo: within.map(|(_, hi)| is.lo.max(0.0) / hi),
        ratio_hi: within.and_then(|(lo, _)| finite(is.hi / lo)),
    })
}

/// Whether too few trials count to say how far they differ.
fn has_few_trials(e: &ExperimentSummary) -> bool {
    e.trials.counted < LEAST_TRIALS as u64
}

fn time(latency: Latency) -> String {
    match latency {
        Latency::Finite(ns) => with_unit(ns * 1e-9, Dimension::Time),
        Latency::Infinite => "∞".to_owned(),
    }
}

/// What is known to differ between a claim and its nearest experiment, and what is not said.
fn differences(
    figure: &Figure,
    cell: &Cell,
    summary: &Summary,
    e: &ExperimentSummary,
) -> Vec<String> {
    let mut found = of_trials(e);
    found.extend(of_claim(figure, cell, e));
    found.extend(of_method(figure, summary, e));
    let environment = &summary.run.environment;
    if let Some(hypervisor) = &environment.hypervisor {
        found.push(format!("this machine is a guest of {hypervisor}"));
    }
    if environment.build_profile == "debug" {
        found.push("this is a debug build of Dyno".to_owned());
    }
    found.extend(cell.differs.iter().cloned());
    found
}

/// What the trials beside a claim do not show.
fn of_trials(e: &ExperimentSummary) -> Vec<String> {
    let mut found = Vec::new();
    if e.trials.all_disturbed() {
        found.push(NoRatio::Disturbed.as_str().to_owned());
    }
    if e.is_unstable() {
        found.push("this is unstable: a repeat may differ by more than 10 %".to_owned());
    }
    if e.trials.counted > 0 && has_few_trials(e) {
        found.push(format!(
            "{}, which does not show how much trials differ",
            NoRatio::Few.as_str()
        ));
    }
    found
}

/// What the source leaves open of a claim, or states of something else.
fn of_claim(figure: &Figure, cell: &Cell, e: &ExperimentSummary) -> Vec<String> {
    let said = &figure.method;
    let mut found = Vec::new();
    let has_payload = match e.experiment.workload {
        Workload::Probe { probe, .. } => matches!(probe, Probe::Copy { .. }),
        _ => true,
    };
    if cell.has_no_size && has_payload {
        let own = e.experiment.payload;
        found.push(format!(
            "the source does not say the size; this is for {own}"
        ));
    }
    let timed = figure.printed.unit.dimension == Dimension::Time;
    if timed && said.trip == Some(Trip::Half) {
        found.push(
            "the claim is half of a round trip: twice the claim is compared with the whole"
                .to_owned(),
        );
    }
    if timed && said.trip.is_none() {
        found.push(
            "the source does not say whether the claim is a round trip or one way".to_owned(),
        );
    }
    match figure.statistic {
        Statistic::Mean if timed => found.push("the claim is a mean, this a median".to_owned()),
        Statistic::Value if timed => {
            found.push(
                "the source does not say which statistic the claim is; this is a median".to_owned(),
            );
        }
        _ => {}
    }
    found
}

/// How the claim was measured against how this was.
fn of_method(figure: &Figure, summary: &Summary, e: &ExperimentSummary) -> Vec<String> {
    let (said, own) = (&figure.method, crate::own::method(e));
    let mut found = Vec::new();
    let mut hold = |what: &str, claim: Option<&str>, own: Option<&str>| match (claim, own) {
        (Some(claim), Some(own)) if claim != own => {
            found.push(format!("{what}: {claim} against {own}"));
        }
        (None, Some(own)) => found.push(format!("{what}: not stated, here {own}")),
        _ => {}
    };
    hold(
        "the receiver's wait",
        said.wait.map(|w| w.as_str()),
        own.wait.map(|w| w.as_str()),
    );
    // Who stamps a message leaves the rest of it alone, and a kernel copies it all the same.
    if (said.access, own.access) != (Some(Access::Copied), Some(Access::Untouched)) {
        hold(
            "access to the payload",
            said.access.map(|w| w.as_str()),
            own.access.map(|w| w.as_str()),
        );
    }
    hold(
        "the loop",
        said.load.map(Loop::as_str),
        own.load.map(Loop::as_str),
    );
    let machine = ["machine", "platform", "processor"]
        .iter()
        .find_map(|key| figure.conditions.get(*key));
    let cpu = match summary.run.environment.cpu_model.as_str() {
        "" => "this machine",
        model => model,
    };
    hold("the machine", machine.map(String::as_str), Some(cpu));
    found
}

impl Measured {
    /// The ratio with its interval.
    pub fn ratio_text(&self) -> String {
        let claim = format!("the claim is {} × it", sig3(self.ratio));
        match self.ratio_lo {
            Some(lo) => {
                let hi = self.ratio_hi.map_or("∞".to_owned(), sig3);
                format!("{claim} [{}, {hi}]", sig3(lo))
            }
            None => claim,
        }
    }
}
