//! The columns of the table of results.

use super::row::{Ended, Row};
use super::table::{Column, Get, constructors};
use dyno_model::factors::{self, Of};
use dyno_model::figure::Group;
use dyno_model::{COUNTS, CountInfo, HostLoad, TrialFigure};
use dyno_report::TOLD_BY;
use std::borrow::Cow;
use std::fmt::Display;

fn known(text: &str) -> Option<Cow<'_, str>> {
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

constructors!('a, Row<'a>);

fn of_run<'a>() -> Columns<'a> {
    vec![
        text("run", |r| known(&r.summary.run.id)),
        instant("run_started", |r| Some(r.summary.run.started_unix_ms)),
        text("suite", |r| known(&r.summary.run.suite)),
        text("testbed", |r| known(&r.summary.run.testbed)),
        text("dyno_version", |r| known(&r.environment().dyno_version)),
        text("build_profile", |r| known(&r.environment().build_profile)),
        text("machine", |r| {
            known(r.summary.run.machine_of(&r.e.experiment))
        }),
        text("host", |r| known(&r.environment().host)),
        text("cpu_model", |r| known(&r.environment().cpu_model)),
        text("kernel", |r| known(&r.environment().kernel)),
        text("hypervisor", |r| {
            let hypervisor = r.environment().hypervisor.as_deref();
            hypervisor.map(Cow::Borrowed)
        }),
        text("emulated", |r| {
            r.environment().emulated.as_deref().map(Cow::Borrowed)
        }),
        text("clock", |r| known(&r.environment().clock.source)),
    ]
}

fn of_factors<'a>() -> Columns<'a> {
    let mut all = vec![
        count("id", |r| Some(u64::from(r.e.experiment.id.0))),
        text("experiment", |r| known(&r.e.experiment.name)),
        text("flow", |r| {
            r.e.experiment
                .flow
                .as_ref()
                .map(|_| r.e.experiment.flow_text().into())
        }),
        text("stack", |r| known(&r.e.experiment.stack)),
        text("adapter", |r| r.adapter.map(Cow::Borrowed)),
    ];
    all.extend(factors::in_files().flat_map(|f| f.columns).map(of_factor));
    all.extend([
        flag("is_floor", |r| Some(r.e.is_floor)),
        flag("is_leg", |r| Some(r.e.is_leg)),
        flag("is_loopback", |r| Some(r.e.is_loopback)),
        flag("is_base", |r| Some(r.e.is_base)),
        count("base", |r| r.e.experiment.base.map(|id| u64::from(id.0))),
        count("floor", |r| r.e.floor.as_ref().map(|f| u64::from(f.id.0))),
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
        count("trial", |r| Some(u64::from(r.trial?.id.number))),
        count("position", |r| Some(u64::from(r.trial?.position))),
        instant("started", |r| Some(r.trial?.started_unix_ms)),
        count("wall_ns", |r| Some(r.trial?.wall.0)),
        text("outcome", |r| known(r.ended.as_str())),
        flag("counted", |r| Some(r.counted)),
        text("disturbed", |r| lines(&r.trial?.disturbed)),
        text("warnings", |r| lines(&r.trial?.warnings)),
        text("failure_kind", |r| match &r.ended {
            Ended::Failed { kind, .. } => Some(Cow::Owned(kind.to_string())),
            _ => None,
        }),
        text("failure_step", |r| match &r.ended {
            Ended::Failed { step, .. } => known(step),
            _ => None,
        }),
        text("failure_message", |r| match &r.ended {
            Ended::Failed { cause, .. } => Some(Cow::Owned(cause.to_string())),
            Ended::Unreadable(reason) => known(reason),
            _ => None,
        }),
        text("failure_stderr", |r| match &r.ended {
            Ended::Failed { stderr, .. } => lines(stderr),
            _ => None,
        }),
    ]
}

fn of_metric<'a>() -> Columns<'a> {
    vec![
        text("metric", |r| known(r.metric.as_str())),
        flag("is_headline", |r| Some(r.metric == r.e.headline())),
        count("n", |r| Some(r.figures?.n)),
        count("infinite", |r| Some(r.figures?.infinite)),
        count("saturated", |r| Some(r.figures?.saturated)),
        count("min", |r| r.figures.filter(|d| d.n > 0).map(|d| d.min)),
        float("mean", |r| {
            r.figures.filter(|d| d.n > 0).map(|d| d.sum / d.n as f64)
        }),
        count("max", |r| r.figures.filter(|d| d.n > 0).map(|d| d.max)),
        float("p50", |r| r.quantiles[0]),
        float("p90", |r| r.quantiles[1]),
        float("p99", |r| r.quantiles[2]),
        float("p999", |r| r.quantiles[3]),
    ]
}

fn of_counts<'a>() -> Columns<'a> {
    let of_messages = |count: &'static CountInfo| {
        let of = |r: &Row<'_>| Some((count.of)(&r.measured()?.counts));
        column(count.name, Get::CountOf(Box::new(of)))
    };
    let mut all: Columns<'a> = COUNTS.iter().map(of_messages).collect();
    for rate in TrialFigure::all_of(Group::Throughput) {
        if rate == TrialFigure::InWindowHz {
            all.push(count("in_window", |r| r.measured()?.counts.in_window));
        }
        all.push(figure(rate));
    }
    all.push(text("load_outcome", |r| known(r.e.load()?.as_str())));
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
    let groups = [Group::Cost, Group::Idle].into_iter();
    let mut all: Columns<'a> = groups.flat_map(TrialFigure::all_of).map(figure).collect();
    all.extend([
        count("daemon_cpu_ns", |r| {
            r.daemons(|p| p.user.0.saturating_add(p.system.0))
        }),
        count("daemon_pss_bytes", |r| r.daemons(|p| p.pss_bytes)),
        count("open_ns", |r| Some(r.measured()?.open.0)),
        count("matching_ns", |r| Some(r.measured()?.matching.0)),
    ]);
    all
}

/// The first format that has these; of older trials nothing is claimed.
const LOOKED_FOR_SINCE: u32 = 2;

fn of_host<'a>() -> Columns<'a> {
    vec![
        count("warmup_ns", |r| {
            let trial = r.measured()?;
            (trial.format >= LOOKED_FOR_SINCE).then_some(trial.warmup.0)
        }),
        flag("unsteady", |r| {
            let trial = r.measured()?;
            (trial.format >= LOOKED_FOR_SINCE).then_some(trial.unsteady)
        }),
        float("foreign_share", |r| r.load().map(HostLoad::foreign_share)),
        float("kernel_share", |r| {
            r.load().and_then(HostLoad::kernel_share)
        }),
        float("stolen_share", |r| r.load().map(HostLoad::stolen_share)),
        float("gap_share", |r| {
            let gaps = &r.trial?.noise.gaps;
            let watched: f64 = gaps.iter().map(|g| g.watched.0 as f64).sum();
            let lost: f64 = gaps.iter().map(|g| g.lost.0 as f64).sum();
            (watched > 0.0).then(|| lost / watched)
        }),
        count("longest_gap_ns", |r| {
            r.trial?.noise.gaps.iter().map(|g| g.longest.0).max()
        }),
        float("line_ns", |r| r.trial?.noise.line_ns),
        count("interrupts", |r| Some(r.load()?.interrupts)),
        count("context_switches", |r| Some(r.load()?.context_switches)),
        count("throttled", |r| r.load()?.throttled),
        count("clock_bound_ns", |r| r.trial?.one_way_bound.map(|n| n.0)),
    ]
}

/// Results of the faults of the trial, all its receivers together.
fn of_outage<'a>() -> Columns<'a> {
    vec![
        count("outage_ends", |r| r.outages(|_| 1)),
        count("outage_deaf_ends", |r| {
            r.outages(|o| u64::from(o.recovery.is_none()))
        }),
        count("outage_lost", |r| r.outages(|o| o.lost)),
        count("outage_repeated", |r| r.outages(|o| o.repeated)),
        count("outage_reordered", |r| r.outages(|o| o.reordered)),
        count("outage_burst", |r| r.outages(|o| o.burst)),
        text("told_by", told_by),
    ]
}

/// How the library first told of the fault; null of a trial without one.
fn told_by<'a>(r: &'a Row<'_>) -> Option<Cow<'a, str>> {
    let trial = r.measured().filter(|t| !t.outages.is_empty())?;
    let first = trial.detections.iter().min_by_key(|d| d.after);
    let by = first.map(|d| d.by);
    let (_, word) = TOLD_BY.iter().find(|(one, _)| *one == by)?;
    known(word)
}
