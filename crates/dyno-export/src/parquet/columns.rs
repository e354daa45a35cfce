//! The columns of the table of results.

use super::results::{Ended, Row};
use super::table::{Column, Get};
use dyno_model::factors::{self, Of};
use dyno_model::figure::Group;
use dyno_model::record::{Environment, ProcessCost};
use dyno_model::{COUNTS, CountInfo, HostLoad, Outage, TrialFigure, TrialRecord};
use dyno_report::TOLD_BY;
use std::borrow::Cow;
use std::fmt::Display;

impl Row<'_> {
    /// The trial, where it has a measurement.
    fn measured(&self) -> Option<&TrialRecord> {
        self.trial
            .filter(|_| matches!(self.ended, Ended::Completed))
    }

    /// A sum over the daemons of the stack, zero where it has none.
    fn daemons(&self, of: fn(&ProcessCost) -> u64) -> Option<u64> {
        let processes = &self.measured()?.cost.processes;
        let daemons = processes.iter().filter(|p| p.daemon).map(of);
        // Where no process told what it used, no daemon did.
        (!processes.is_empty()).then(|| daemons.fold(0, u64::saturating_add))
    }

    /// A sum over the receivers of a trial with faults.
    fn outages(&self, of: fn(&Outage) -> u64) -> Option<u64> {
        let outages = &self.measured()?.outages;
        let sum = outages.iter().map(of).fold(0, u64::saturating_add);
        (!outages.is_empty()).then_some(sum)
    }

    fn load(&self) -> Option<&HostLoad> {
        self.trial?.noise.window.as_ref()
    }

    /// The machine and the build that the row is of.
    fn environment(&self) -> &Environment {
        self.summary.run.environment_of(&self.e.experiment)
    }

    /// Rates of starts are zero and mean nothing.
    fn figure(&self, figure: TrialFigure) -> Option<f64> {
        let is_of_starts = self.e.experiment.workload.kind().is_start();
        let is_rate = figure.info().group == Group::Throughput;
        figure.of(self.measured().filter(|_| !(is_of_starts && is_rate))?)
    }
}

fn text(text: &str) -> Option<Cow<'_, str>> {
    Some(Cow::Borrowed(text))
}

/// Several causes, a line each; null for none.
fn lines<T: Display>(causes: &[T]) -> Option<Cow<'_, str>> {
    let lines: Vec<String> = causes.iter().map(ToString::to_string).collect();
    (!lines.is_empty()).then(|| Cow::Owned(lines.join("\n")))
}

pub(super) fn columns<'a>() -> Vec<Column<Row<'a>>> {
    let mut all = of_run();
    all.extend(of_factors());
    all.extend(of_trial());
    all.extend(of_metric());
    all.extend(of_counts());
    all.extend(of_cost());
    all.extend(of_host());
    all.extend(of_outage());
    all
}

type Columns<'a> = Vec<Column<Row<'a>>>;

fn column<'a>(name: &'static str, get: Get<Row<'a>>) -> Column<Row<'a>> {
    Column { name, get }
}

fn of_run<'a>() -> Columns<'a> {
    vec![
        column("run", Get::Text(|r| text(&r.summary.run.id))),
        column(
            "run_started",
            Get::Instant(|r| Some(r.summary.run.started_unix_ms)),
        ),
        column("suite", Get::Text(|r| text(&r.summary.run.suite))),
        column("testbed", Get::Text(|r| text(&r.summary.run.testbed))),
        column(
            "dyno_version",
            Get::Text(|r| text(&r.environment().dyno_version)),
        ),
        column(
            "build_profile",
            Get::Text(|r| text(&r.environment().build_profile)),
        ),
        column(
            "machine",
            Get::Text(|r| text(r.summary.run.machine_of(&r.e.experiment))),
        ),
        column("host", Get::Text(|r| text(&r.environment().host))),
        column("cpu_model", Get::Text(|r| text(&r.environment().cpu_model))),
        column("kernel", Get::Text(|r| text(&r.environment().kernel))),
        column(
            "hypervisor",
            Get::Text(|r| {
                let hypervisor = r.environment().hypervisor.as_deref();
                hypervisor.map(Cow::Borrowed)
            }),
        ),
        column(
            "emulated",
            Get::Text(|r| r.environment().emulated.as_deref().map(Cow::Borrowed)),
        ),
        column("clock", Get::Text(|r| text(&r.environment().clock.source))),
    ]
}

fn of_factors<'a>() -> Columns<'a> {
    let mut all = vec![
        column("id", Get::Count(|r| Some(u64::from(r.e.experiment.id.0)))),
        column("experiment", Get::Text(|r| text(&r.e.experiment.name))),
        column(
            "flow",
            Get::Text(|r| {
                r.e.experiment
                    .flow
                    .as_ref()
                    .map(|_| r.e.experiment.flow_text().into())
            }),
        ),
        column("stack", Get::Text(|r| text(&r.e.experiment.stack))),
        column("adapter", Get::Text(|r| r.adapter.map(Cow::Borrowed))),
    ];
    all.extend(factors::in_files().flat_map(|f| f.columns).map(of_factor));
    all.extend([
        column("is_floor", Get::Bool(|r| Some(r.e.is_floor))),
        column("is_leg", Get::Bool(|r| Some(r.e.is_leg))),
        column("is_loopback", Get::Bool(|r| Some(r.e.is_loopback))),
        column("is_base", Get::Bool(|r| Some(r.e.is_base))),
        column(
            "base",
            Get::Count(|r| r.e.experiment.base.map(|id| u64::from(id.0))),
        ),
        column(
            "floor",
            Get::Count(|r| r.e.floor.as_ref().map(|f| u64::from(f.id.0))),
        ),
    ]);
    all
}

fn of_factor<'a>((name, of): &'static factors::Column) -> Column<Row<'a>> {
    let get: Get<Row<'a>> = match of {
        Of::Text(of) => Get::TextOf(Box::new(move |r| of(&r.e.experiment))),
        Of::Count(of) | Of::Detail(of) => Get::CountOf(Box::new(move |r| of(&r.e.experiment))),
        Of::Number(of) => Get::FloatOf(Box::new(move |r| of(&r.e.experiment))),
        Of::Flag(of) => Get::BoolOf(Box::new(move |r| of(&r.e.experiment))),
    };
    column(name, get)
}

fn of_trial<'a>() -> Columns<'a> {
    vec![
        column("trial", Get::Count(|r| Some(u64::from(r.trial?.id.number)))),
        column(
            "position",
            Get::Count(|r| Some(u64::from(r.trial?.position))),
        ),
        column("started", Get::Instant(|r| Some(r.trial?.started_unix_ms))),
        column("wall_ns", Get::Count(|r| Some(r.trial?.wall.0))),
        column("outcome", Get::Text(|r| text(r.ended.as_str()))),
        column("counted", Get::Bool(|r| Some(r.counted))),
        column("disturbed", Get::Text(|r| lines(&r.trial?.disturbed))),
        column("warnings", Get::Text(|r| lines(&r.trial?.warnings))),
        column(
            "failure_kind",
            Get::Text(|r| match &r.ended {
                Ended::Failed { kind, .. } => Some(Cow::Owned(kind.to_string())),
                _ => None,
            }),
        ),
        column(
            "failure_step",
            Get::Text(|r| match &r.ended {
                Ended::Failed { step, .. } => text(step),
                _ => None,
            }),
        ),
        column(
            "failure_message",
            Get::Text(|r| match &r.ended {
                Ended::Failed { cause, .. } => Some(Cow::Owned(cause.to_string())),
                Ended::Unreadable(reason) => text(reason),
                _ => None,
            }),
        ),
        column(
            "failure_stderr",
            Get::Text(|r| match &r.ended {
                Ended::Failed { stderr, .. } => lines(stderr),
                _ => None,
            }),
        ),
    ]
}

fn of_metric<'a>() -> Columns<'a> {
    vec![
        column("metric", Get::Text(|r| text(r.metric.as_str()))),
        column(
            "is_headline",
            Get::Bool(|r| Some(r.metric == r.e.headline())),
        ),
        column("n", Get::Count(|r| Some(r.figures?.n))),
        column("infinite", Get::Count(|r| Some(r.figures?.infinite))),
        column("saturated", Get::Count(|r| Some(r.figures?.saturated))),
        column(
            "min",
            Get::Count(|r| r.figures.filter(|d| d.n > 0).map(|d| d.min)),
        ),
        column(
            "mean",
            Get::Float(|r| r.figures.filter(|d| d.n > 0).map(|d| d.sum / d.n as f64)),
        ),
        column(
            "max",
            Get::Count(|r| r.figures.filter(|d| d.n > 0).map(|d| d.max)),
        ),
        column("p50", Get::Float(|r| r.quantiles[0])),
        column("p90", Get::Float(|r| r.quantiles[1])),
        column("p99", Get::Float(|r| r.quantiles[2])),
        column("p999", Get::Float(|r| r.quantiles[3])),
    ]
}

fn of_counts<'a>() -> Columns<'a> {
    let count = |count: &'static CountInfo| {
        let of = |r: &Row<'_>| Some((count.of)(&r.measured()?.counts));
        column(count.name, Get::CountOf(Box::new(of)))
    };
    let mut all: Columns<'a> = COUNTS.iter().map(count).collect();
    for rate in TrialFigure::all_of(Group::Throughput) {
        if rate == TrialFigure::InWindowHz {
            all.push(column(
                "in_window",
                Get::Count(|r| r.measured()?.counts.in_window),
            ));
        }
        all.push(figure(rate));
    }
    all.push(column(
        "load_outcome",
        Get::Text(|r| text(r.e.load()?.as_str())),
    ));
    all
}

/// A rate or a cost of the trial.
fn figure<'a>(figure: TrialFigure) -> Column<Row<'a>> {
    let get = match figure.info().is_whole {
        // Below 2^53, or it is not exact.
        true => Get::CountOf(Box::new(move |r: &Row<'_>| Some(r.figure(figure)? as u64))),
        false => Get::FloatOf(Box::new(move |r: &Row<'_>| r.figure(figure))),
    };
    column(figure.as_str(), get)
}

fn of_cost<'a>() -> Columns<'a> {
    let mut all: Columns<'a> = TrialFigure::all_of(Group::Cost).map(figure).collect();
    all.extend([
        column(
            "daemon_cpu_ns",
            Get::Count(|r| r.daemons(|p| p.user.0.saturating_add(p.system.0))),
        ),
        column(
            "daemon_pss_bytes",
            Get::Count(|r| r.daemons(|p| p.pss_bytes)),
        ),
        column("open_ns", Get::Count(|r| Some(r.measured()?.open.0))),
        column(
            "matching_ns",
            Get::Count(|r| Some(r.measured()?.matching.0)),
        ),
    ]);
    all
}

/// The first format that has these; of older trials nothing is claimed.
const LOOKED_FOR_SINCE: u32 = 2;

fn of_host<'a>() -> Columns<'a> {
    vec![
        column(
            "warmup_ns",
            Get::Count(|r| {
                let trial = r.measured()?;
                (trial.format >= LOOKED_FOR_SINCE).then_some(trial.warmup.0)
            }),
        ),
        column(
            "unsteady",
            Get::Bool(|r| {
                let trial = r.measured()?;
                (trial.format >= LOOKED_FOR_SINCE).then_some(trial.unsteady)
            }),
        ),
        column(
            "foreign_share",
            Get::Float(|r| r.load().map(HostLoad::foreign_share)),
        ),
        column(
            "kernel_share",
            Get::Float(|r| r.load().and_then(HostLoad::kernel_share)),
        ),
        column(
            "stolen_share",
            Get::Float(|r| r.load().map(HostLoad::stolen_share)),
        ),
        column(
            "gap_share",
            Get::Float(|r| {
                let gaps = &r.trial?.noise.gaps;
                let watched: f64 = gaps.iter().map(|g| g.watched.0 as f64).sum();
                let lost: f64 = gaps.iter().map(|g| g.lost.0 as f64).sum();
                (watched > 0.0).then(|| lost / watched)
            }),
        ),
        column(
            "longest_gap_ns",
            Get::Count(|r| r.trial?.noise.gaps.iter().map(|g| g.longest.0).max()),
        ),
        column("line_ns", Get::Float(|r| r.trial?.noise.line_ns)),
        column("interrupts", Get::Count(|r| Some(r.load()?.interrupts))),
        column(
            "context_switches",
            Get::Count(|r| Some(r.load()?.context_switches)),
        ),
        column("throttled", Get::Count(|r| r.load()?.throttled)),
        column(
            "clock_bound_ns",
            Get::Count(|r| r.trial?.one_way_bound.map(|n| n.0)),
        ),
    ]
}

/// What came of the faults of the trial, all its receivers together.
fn of_outage<'a>() -> Columns<'a> {
    vec![
        column("outage_ends", Get::Count(|r| r.outages(|_| 1))),
        column(
            "outage_deaf_ends",
            Get::Count(|r| r.outages(|o| u64::from(o.recovery.is_none()))),
        ),
        column("outage_lost", Get::Count(|r| r.outages(|o| o.lost))),
        column("outage_repeated", Get::Count(|r| r.outages(|o| o.repeated))),
        column(
            "outage_reordered",
            Get::Count(|r| r.outages(|o| o.reordered)),
        ),
        column("outage_burst", Get::Count(|r| r.outages(|o| o.burst))),
        column("told_by", Get::Text(told_by)),
    ]
}

/// How the library first told of the fault; null of a trial without one.
fn told_by<'a>(r: &'a Row<'_>) -> Option<Cow<'a, str>> {
    let trial = r.measured().filter(|t| !t.outages.is_empty())?;
    let first = trial.detections.iter().min_by_key(|d| d.after);
    let by = first.map(|d| d.by);
    let (_, word) = TOLD_BY.iter().find(|(one, _)| *one == by)?;
    text(word)
}
