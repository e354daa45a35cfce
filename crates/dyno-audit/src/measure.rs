//! Claims beside this machine: the experiments that a source's file names as the nearest, and what they gave. Pure: the caller
//! plans and runs them. A ratio between two machines and two methods is no verdict.

use crate::context::{interval, printed, size_of};
use crate::interval::{Interval, with_unit};
use crate::statement::{
    Access, Dimension, Figure, Loop, Nearest, Quantity, Statements, Statistic, Trip,
};
use dyno_model::{Metric, TrialFigure};
use dyno_report::{ExperimentSummary, QUANTILES, Summary, sig3};
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
    differs: Vec<String>,
}

/// A claim with what was measured, or with why nothing stands beside it.
#[derive(Debug, Clone, PartialEq, Serialize)]
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
pub struct Measured {
    /// Which figure of Dyno it is.
    pub what: String,
    /// As people read it.
    pub text: String,
    /// Its value.
    pub value: f64,
    /// Lower end of its interval.
    pub lo: f64,
    /// Upper end; `None` where it has no bound.
    pub hi: Option<f64>,
    /// The claim by the value.
    pub ratio: f64,
    /// The least that the claim's digits and the interval leave open.
    pub ratio_lo: f64,
    /// The most.
    pub ratio_hi: f64,
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
                    differs: nearest.differs.clone(),
                });
            }
        }
        (cells, left_out)
    }

    /// The figures of a cell beside what a run has of it.
    pub fn beside(&self, cell: &Cell, summary: &Summary) -> Vec<Beside> {
        let own = |e: &&ExperimentSummary| {
            e.experiment.name == cell.name && e.experiment.stack == cell.stack
        };
        let Some(e) = summary.experiments.iter().find(own) else {
            return self.refused(cell, "it was not measured");
        };
        let figures = self.figures_of(cell);
        figures.map(|f| set_beside(f, cell, summary, e)).collect()
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
    match (figure.printed.unit.dimension, figure.quantity) {
        (Dimension::Time, Quantity::Latency | Quantity::Time) => {}
        (Dimension::Rate, Quantity::Rate) => {
            return Ok(Counterpart::Rate(TrialFigure::DeliveredHz));
        }
        (Dimension::Bandwidth, Quantity::Bandwidth) => {
            return Ok(Counterpart::Rate(TrialFigure::DeliveredBytesPerS));
        }
        (Dimension::Cycles, _) | (_, Quantity::Instructions) => {
            return Err(
                "it counts events of another processor; Dyno's times are in seconds, and no clock rate is said that would turn one into \
                 the other",
            );
        }
        _ => return Err("Dyno measures no such quantity of an experiment"),
    }
    let rank = match figure.statistic {
        Statistic::Mean | Statistic::Value => 0.5,
        Statistic::Percentile(p) => p / 100.0,
        Statistic::Max | Statistic::Min => {
            return Err(
                "an extreme grows with the number of samples and has no interval that could be set beside it",
            );
        }
        _ => return Err("Dyno states no such statistic"),
    };
    let known = QUANTILES
        .iter()
        .position(|(_, _, of)| (of - rank).abs() < 1e-9);
    let known = known.ok_or("Dyno states no quantile of this rank");
    known.map(Counterpart::Quantile)
}

/// Whether the headline times what the claim does; how many of the claim make one of it.
fn trips(figure: &Figure, headline: Metric) -> Result<f64, &'static str> {
    let round = headline == Metric::Rtt;
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
    let (measured, reason) = match measure(figure, e) {
        Ok(measured) => (Some(measured), None),
        Err(reason) => (None, Some(reason)),
    };
    let experiment = &e.experiment;
    Beside {
        stack: cell.stack.clone(),
        conditions: format!(
            "{} · {} · wait {} · access {} · placement {} · topology {}",
            experiment.exchange(),
            experiment.payload,
            experiment.wait,
            experiment.access,
            experiment.placement,
            experiment.topology
        ),
        measured,
        reason,
        differs: differences(figure, cell, summary, e),
        ..claim(figure)
    }
}

fn measure(figure: &Figure, e: &ExperimentSummary) -> Result<Measured, String> {
    let dimension = figure.printed.unit.dimension;
    let failed = || match e.failures.first() {
        Some(group) => format!("its trials failed: {}", group.message),
        None => "none of its trials counts".to_owned(),
    };
    let (what, value, lo, hi, trips) = match counterpart(figure).map_err(str::to_owned)? {
        Counterpart::Rate(of) => {
            let spread = e.figure(of).ok_or_else(failed)?;
            let counted = e.trials.counted;
            let what = format!("median of {counted} trials, smallest to largest");
            (what, spread.median, spread.min, spread.max, 1.0)
        }
        Counterpart::Quantile(at) => {
            let headline = e.headline();
            let trips = trips(figure, headline).map_err(str::to_owned)?;
            let metric = e.headline_metric().ok_or_else(failed)?;
            let (_, name, _) = QUANTILES[at];
            let what = format!("{name} of the {}", headline.info().title);
            let estimate = match &metric.quantiles[at] {
                Quantile::Estimated(estimate) => *estimate,
                Quantile::Refused { have, need } => {
                    return Err(format!("its {name} is refused: {have} samples of {need}"));
                }
                Quantile::Wide { interval, .. } => {
                    return Err(format!(
                        "its {name} is refused: it lies anywhere between {} and {}",
                        time(interval.lo),
                        time(interval.hi)
                    ));
                }
            };
            let seconds = |l: Latency| l.finite().map_or(f64::INFINITY, |ns| ns * 1e-9);
            let value = seconds(estimate.value);
            if value.is_infinite() {
                return Err(format!(
                    "its {name} is infinite: so many messages were lost"
                ));
            }
            (
                what,
                value,
                seconds(estimate.lo),
                seconds(estimate.hi),
                trips,
            )
        }
    };
    let is = interval(figure).times(Interval::exactly(trips));
    let claimed = figure.printed.value * figure.printed.unit.factor * trips;
    let upper = match hi.is_finite() {
        true => with_unit(hi, dimension),
        false => "∞".to_owned(),
    };
    Ok(Measured {
        what,
        text: format!(
            "{} [{}, {upper}]",
            with_unit(value, dimension),
            with_unit(lo, dimension)
        ),
        value,
        lo,
        hi: hi.is_finite().then_some(hi),
        ratio: claimed / value,
        ratio_lo: is.lo.max(0.0) / hi,
        ratio_hi: is.hi / lo,
    })
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
    let (said, own) = (&figure.method, crate::own::method(e));
    let mut found = Vec::new();
    let timed = figure.printed.unit.dimension == Dimension::Time;
    if timed && said.trip == Some(Trip::Half) {
        found
            .push("the claim is half of a round trip: twice it stands beside the whole".to_owned());
    }
    if timed && said.trip.is_none() {
        found.push("whether the claim is a round trip or one way is not said".to_owned());
    }
    match figure.statistic {
        Statistic::Mean if timed => found.push("the claim is a mean, this a median".to_owned()),
        Statistic::Value if timed => {
            found.push("what the claim is of its values is not said; this is a median".to_owned());
        }
        _ => {}
    }
    let mut hold = |what: &str, claim: Option<&str>, own: Option<&str>| match (claim, own) {
        (Some(claim), Some(own)) if claim != own => {
            found.push(format!("{what}: {claim} against {own}"));
        }
        (None, Some(own)) => found.push(format!("{what}: not said against {own}")),
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
            "the payload",
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
    let environment = &summary.run.environment;
    let cpu = match environment.cpu_model.as_str() {
        "" => "this machine",
        model => model,
    };
    hold("the machine", machine.map(String::as_str), Some(cpu));
    if let Some(hypervisor) = &environment.hypervisor {
        found.push(format!("this machine is a guest of {hypervisor}"));
    }
    if environment.build_profile == "debug" {
        found.push("this is a debug build of Dyno".to_owned());
    }
    found.extend(cell.differs.iter().cloned());
    found
}

impl Measured {
    /// The ratio with its interval.
    pub fn ratio_text(&self) -> String {
        format!(
            "the claim is {} × it [{}, {}]",
            sig3(self.ratio),
            sig3(self.ratio_lo),
            sig3(self.ratio_hi)
        )
    }
}
