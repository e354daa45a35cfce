//! The meaning of a table's columns, in words below it.

use crate::chains;
use crate::columns::{CACHED_COPY_RATIO, COPY_RATIO, HOST_CPU, HOST_P99, IDLE_CPU};
use crate::outage;
use crate::settings;
use crate::summary::{ExperimentSummary, RunSummary};
use crate::view::{Kind, View};
use dyno_model::{Against, Metric, TrialFigure};
use dyno_stats::{Latency, Quantile};

/// What one reads in the columns. `relative`: intervals are relative to their numbers; `left_out`:
/// titles of columns that are not shown.
pub(crate) fn legend(view: &View<'_>, relative: bool, left_out: &[&str]) -> Vec<String> {
    [
        of_times(view, relative, left_out),
        of_intervals(view, relative),
        of_ground(view, left_out),
        of_marks(view),
        of_cost(view, relative, left_out),
        settings::lines(&view.summary.run, view.rows.iter().copied()),
    ]
    .concat()
}

/// What the columns of idle experiments are of.
fn idle(relative: bool) -> [String; 2] {
    let extremes = if relative { "" } else { " (min–max)" };
    [
        format!(
            "{IDLE_CPU}: user and system time of all participants and daemons, per participant and second, median trial{extremes}; \
             without what Dyno's own timeouts take."
        ),
        "wake-ups/s, packets/s, threads, files: of all participants and daemons together, those of Dyno's own processes among the \
         threads and files. PSS each: memory of all of them, divided by the participants. packets/s: sent by all network devices of \
         the hosts, whoever sends."
            .into(),
    ]
}

/// The columns of the headline, of what it consists of, and of its ratio to the floor.
fn of_times(view: &View<'_>, relative: bool, left_out: &[&str]) -> Vec<String> {
    let shown = |title: &str| !left_out.contains(&title);
    let mut lines = Vec::new();
    if view.kind == Kind::Idle {
        lines.extend(idle(relative));
    }
    let has_quantiles = ![Kind::Outages, Kind::Idle].contains(&view.kind);
    if let Some(headlines) = headlines(view).filter(|_| has_quantiles) {
        let interval = match relative {
            true => "Each with its relative 95 % interval.",
            false => "With 95 % intervals.",
        };
        let columns = shown_times(view, left_out);
        lines.push(format!("{columns}: {headlines}. {interval}"));
    }
    if view.kind == Kind::Outages {
        lines.extend(outage::legend(relative, left_out));
    }
    if view.kind == Kind::Starts && ["open", "match", "delivery"].iter().any(|t| shown(t)) {
        lines.push(
            "open, match, delivery: medians of its parts: until the last participant has its \
             endpoints, until the last one sees its peers, and until the message is at every \
             receiver."
                .into(),
        );
    }
    let mut floors: Vec<&str> = view
        .rows
        .iter()
        .filter_map(|e| Some(e.floor.as_ref()?.stack.as_str()))
        .collect();
    floors.sort_unstable();
    floors.dedup();
    let title = view.ratio_title();
    if !floors.is_empty() && shown(title) {
        lines.push(format!(
            "{title}: p50 divided by the p50 of {} under the same conditions.",
            floors.join(" or ")
        ));
    }
    if view.stacks_wait_differently() {
        lines.push(
            "wait: stacks with different wait strategies are not compared; --set wait=block \
             measures all stacks that can block."
                .into(),
        );
    }
    lines
}

/// What stands where a quantile has no figure, or no end.
fn of_intervals(view: &View<'_>, relative: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if quantiles(view).any(|q| matches!(q, Quantile::Refused { .. })) {
        let what = match relative {
            true => "n< samples needed",
            false => "samples measured/samples needed",
        };
        lines.push(format!(
            "–: withheld, too few samples for a 95 % interval ({what})."
        ));
    }
    if quantiles(view).any(|q| matches!(q, Quantile::Wide { .. })) {
        lines.push(WIDE[usize::from(relative)].into());
    }
    let infinite = |l: &Latency| matches!(l, Latency::Infinite);
    let shows_infinity = |q: &Quantile| {
        q.estimate()
            .is_some_and(|e| infinite(&e.value) || infinite(&e.hi))
    };
    if quantiles(view).any(shows_infinity) {
        lines.push(match view.kind {
            Kind::Outages => outage::INFINITE.into(),
            _ => "∞: a message that was lost, or still under way when the drain ended, counts as infinitely late; an interval that ends with ∞ has no known upper end.".into(),
        });
    }
    lines
}

/// The load, and what the host and its memory have in a figure.
fn of_ground(view: &View<'_>, left_out: &[&str]) -> Vec<String> {
    let shown = |title: &str| !left_out.contains(&title);
    let mut lines = Vec::new();
    if view.shows_load() && shown("load") {
        lines.push(
            "load: fits, loses messages, or saturated (the backlog was still growing when the \
             window ended). in window: share of the offered messages that arrived before the \
             window ended; delivered: includes later arrivals."
                .into(),
        );
    }
    if view.has_host() && shown(HOST_P99) {
        lines.push(format!(
            "{HOST_P99}: the delay that gaps of the host cause in one of a hundred such operations \
             (the share of p99 − p50 that it may explain)."
        ));
    }
    if view.rows.iter().any(|e| e.in_copies.is_some()) && shown(COPY_RATIO) {
        lines.push(format!(
            "{COPY_RATIO}: p50 divided by the time in which one CPU copies the payload once after another CPU has written it; a round trip \
             carries the payload there and back."
        ));
    }
    if view.rows.iter().any(|e| e.in_cached_copies.is_some()) && shown(CACHED_COPY_RATIO) {
        lines.push(format!(
            "{CACHED_COPY_RATIO}: the same with a payload in the caches of the copying CPU, as far as it fits."
        ));
    }
    lines
}

/// The marks behind a stack's name.
fn of_marks(view: &View<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    if view.rows.iter().any(|e| e.is_loopback) {
        lines.push("(loopback): without a second side; shows the cost of Dyno itself.".into());
    }
    if view.rows.iter().any(|e| e.is_leg) {
        lines.push("(leg): one leg of a chain alone.".into());
    }
    lines.extend(chains::of_sleep(&view.rows));
    if view.rows.iter().any(|e| e.experiment.paired) {
        lines.push(
            "(pair): the stack has no request-response, so the call uses two channels.".into(),
        );
    }
    if view.rows.iter().any(|e| e.is_base) {
        lines.push(format!("(base): {}.", base(&view.summary.run)));
    }
    if view.rows.iter().any(|e| e.trials.all_disturbed()) {
        lines.push("(disturbed): the host disturbed every trial of the row.".into());
    }
    lines
}

/// What it costs, per start or per message.
fn of_cost(view: &View<'_>, relative: bool, left_out: &[&str]) -> Vec<String> {
    let shown = |title: &str| !left_out.contains(&title);
    let mut lines = Vec::new();
    let has_cpu = |e: &ExperimentSummary| e.figure(TrialFigure::CpuPerMessage).is_some();
    let extremes = if relative { "" } else { " (min–max)" };
    if view.kind == Kind::Starts
        && view
            .rows
            .iter()
            .any(|e| e.figure(TrialFigure::CpuNs).is_some())
        && shown("CPU")
    {
        lines.push(format!(
            "CPU: user and system time of all processes of the stack from go until the first \
             message was known to have arrived everywhere, median trial{extremes}."
        ));
    } else if view.rows.iter().any(|e| has_cpu(e)) && shown("CPU/msg") {
        let run = &view.summary.run;
        let is_apart =
            |e: &&ExperimentSummary| run.environment_of(&e.experiment).irq_time == Some(true);
        let interrupts = match view.rows.iter().any(is_apart) {
            true => ", with interrupts on their CPUs,",
            false => "",
        };
        lines.push(format!(
            "CPU/msg: user and system time of all processes of the stack{interrupts} per message that arrived, \
             median trial{extremes}."
        ));
    }
    let has_host_cpu = |e: &&ExperimentSummary| e.figure(TrialFigure::HostCpuPerMessage).is_some();
    if view.rows.iter().any(has_host_cpu) && view.kind != Kind::Starts && shown(HOST_CPU) {
        lines.push(format!(
            "{HOST_CPU}: the same for the whole machine, including softirqs, kernel threads and all other programs."
        ));
    }
    lines
}

/// The columns of the headline that are shown.
fn shown_times(view: &View<'_>, hidden: &[&str]) -> String {
    let all: &[&str] = match view.kind {
        Kind::Starts => &["p50", "p90", "max"],
        Kind::Outages => &["recovery", "worst"],
        Kind::Windows => &["p50", "p90", "p99", "p99.9"],
        Kind::Idle => &[IDLE_CPU],
    };
    let shown: Vec<&str> = all
        .iter()
        .copied()
        .filter(|t| !hidden.contains(t))
        .collect();
    shown.join(", ")
}

/// The legend in a few words: what the times are, and the signs that need a word. Versions of the libraries
/// stand with it.
pub(crate) fn signs(view: &View<'_>, shaped: bool, hidden: &[&str]) -> String {
    let mut parts = Vec::new();
    if let Some(headlines) = headlines(view) {
        let times = shown_times(view, hidden);
        parts.push(match view.kind {
            Kind::Idle => format!("{times}: {headlines}, median trial"),
            _ => format!("{times}: {headlines}, with 95 % intervals"),
        });
    }
    let any = |found: fn(&Quantile) -> bool| quantiles(view).any(found);
    if any(|q| matches!(q, Quantile::Refused { .. } | Quantile::Wide { .. })) {
        parts.push("–: too few samples or trials for a figure".into());
    }
    if any(|q| {
        q.estimate()
            .is_some_and(|e| matches!(e.hi, Latency::Infinite))
    }) {
        parts.push(match view.kind {
            Kind::Outages => "∞: it never happened".into(),
            _ => "∞: messages that did not arrive".into(),
        });
    }
    let marks = [
        (
            "~: a repeat may differ by more than 10 %",
            view.rows.iter().any(|e| e.is_unstable()),
        ),
        (
            "(loopback): cost of Dyno itself",
            view.rows.iter().any(|e| e.is_loopback),
        ),
        (
            "(disturbed): by the host, in every trial",
            view.rows.iter().any(|e| e.trials.all_disturbed()),
        ),
        (
            "shape: samples from smallest to largest, logarithmic",
            shaped,
        ),
    ];
    parts.extend(
        marks
            .iter()
            .filter(|(_, applies)| *applies)
            .map(|(text, _)| (*text).to_owned()),
    );
    if view.rows.iter().any(|e| e.is_base) {
        parts.push(format!("(base): {}", base(&view.summary.run)));
    }
    if view.stacks_wait_differently() {
        parts.push("different wait strategies are not compared (--set wait=block)".into());
    }
    let text = parts.join(" · ");
    match settings::versions_of(&view.summary.run, view.rows.iter().copied()) {
        Some(versions) => format!("{text} · {versions}"),
        None => text,
    }
}

/// What stands in the place of a figure whose interval is too wide: in one line, and below each other.
pub(crate) const WIDE: [&str; 2] = [
    "– [a, b]: no figure, because its interval is wider than a factor of ten; trials x/y: x were measured, and about y are \
     needed if further trials scatter in the same way.",
    "–, t< or wide: no figure, because its interval is wider than a factor of ten (t< trials needed if further trials scatter in the same \
     way).",
];

/// What a base is.
fn base(run: &RunSummary) -> String {
    match &run.against {
        None => "what another row is compared with".into(),
        Some(Against::Same) => "the same experiment again, for comparison".into(),
        Some(Against::Stack { name }) => {
            format!("the stack {name}, for comparison")
        }
        Some(Against::Build { program, version }) => format!(
            "measured with dyno {} ({}), for comparison",
            version,
            program.display()
        ),
    }
}

/// What the quantiles are of; where it differs, with the workloads that it holds for.
fn headlines(view: &View<'_>) -> Option<String> {
    let mut found: Vec<(Metric, Vec<String>)> = Vec::new();
    for e in view.rows.iter().filter(|e| e.headline_metric().is_some()) {
        let (metric, workload) = (e.headline(), e.experiment.workload.kind().to_string());
        match found.iter_mut().find(|(m, _)| *m == metric) {
            Some((_, workloads)) if workloads.contains(&workload) => {}
            Some((_, workloads)) => workloads.push(workload),
            None => found.push((metric, vec![workload])),
        }
    }
    let texts: Vec<String> = match found.as_slice() {
        [] => return None,
        [(metric, _)] => vec![meaning(*metric)],
        several => several
            .iter()
            .map(|(metric, workloads)| format!("{}: {}", workloads.join(", "), meaning(*metric)))
            .collect(),
    };
    Some(texts.join("; "))
}

fn meaning(metric: Metric) -> String {
    let info = metric.info();
    format!("{} ({})", info.title, info.gist)
}

/// The quantiles that the table shows.
fn quantiles<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a Quantile> {
    let shown = view.kind.quantiles();
    view.rows
        .iter()
        .filter_map(|e| e.headline_metric())
        .flat_map(move |m| m.quantiles.iter().take(shown))
}
