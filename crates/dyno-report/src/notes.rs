//! What stands around a table: the heading that names its conditions, and below it everything that
//! a reader must know before trusting a number.

use crate::carry_over;
use crate::causes;
use crate::clocks;
use crate::columns::{HOST_CPU, HOST_P99};
use crate::factors;
use crate::findings;
use crate::number::{duration, sig3};
use crate::settings;
use crate::summary::{
    DaemonCost, ExperimentSummary, FailureGroup, MetricSummary, QUANTILES, RunSummary,
};
use crate::text::clean;
use crate::view::View;
use dyno_model::plan::Refusal;
use dyno_model::record::Environment;
use dyno_model::{Against, Metric, TrialFigure};
use dyno_stats::{Instability, Latency, Quantile, Stability};

/// More late sends than this share of those offered are worth a remark.
const LATE_SHARE: f64 = 0.01;

/// A titled list below a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) items: Vec<Item>,
}

/// One remark, with lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) lines: Vec<String>,
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item {
            text,
            lines: Vec::new(),
        }
    }
}

/// The suite and its question.
pub(crate) fn title(run: &RunSummary) -> String {
    match clean(&run.title).as_str() {
        "" => clean(&run.suite),
        title => format!("{}: {title}", clean(&run.suite)),
    }
}

/// Where the run took place and how far it came.
pub(crate) fn origin(run: &RunSummary) -> String {
    let environment = &run.environment;
    let mut parts = vec![
        format!("run {}", clean(&run.id)),
        format!("testbed {}", clean(&run.testbed)),
    ];
    if run.machines.is_empty() {
        parts.extend(machine(environment));
    } else {
        let names: Vec<String> = run.machines.keys().map(|name| clean(name)).collect();
        parts.push(format!("machines {}", names.join(", ")));
    }
    if let Some(part) = &run.shard {
        parts.push(part.to_string());
    }
    parts.push(progress(run));
    parts.join(" · ")
}

/// What is known of a machine.
fn machine(environment: &Environment) -> Vec<String> {
    let hypervisor = environment.hypervisor.clone().unwrap_or_default();
    let facts = [
        ("", &environment.host),
        ("", &environment.cpu_model),
        ("kernel ", &environment.kernel),
        ("clock ", &environment.clock.source),
        ("hypervisor ", &hypervisor),
    ];
    let known = facts.into_iter().filter(|(_, fact)| !fact.is_empty());
    known
        .map(|(lead, fact)| format!("{lead}{}", clean(fact)))
        .collect()
}

fn progress(run: &RunSummary) -> String {
    let trials = &run.trials;
    let mut text = match trials.completed > trials.planned {
        // Precision or repeats added some.
        true => format!(
            "{} trials completed, {} planned",
            trials.completed, trials.planned
        ),
        false => format!(
            "{} of {} trials completed",
            trials.completed, trials.planned
        ),
    };
    for (n, what) in [(trials.disturbed, "disturbed"), (trials.failed, "failed")] {
        if n > 0 {
            text.push_str(&format!(", {n} {what}"));
        }
    }
    text
}

/// The conditions that all rows share.
pub(crate) fn conditions(view: &View<'_>) -> String {
    factors::heading(&view.constant, view.rows.first().map(|e| &e.experiment))
}

/// What one reads in the columns. `relative`: intervals are relative to their numbers; `left_out`:
/// titles of columns that are not shown.
pub(crate) fn legend(view: &View<'_>, relative: bool, left_out: &[&str]) -> Vec<String> {
    let shown = |title: &str| !left_out.contains(&title);
    let mut lines = Vec::new();
    if let Some(headlines) = headlines(view) {
        let interval = match relative {
            true => "With each: its 95 % interval, relative.",
            false => "With 95 % intervals.",
        };
        let columns = shown_times(view, left_out);
        lines.push(format!("{columns}: {headlines}. {interval}"));
    }
    if view.is_of_starts && ["open", "match", "delivery"].iter().any(|t| shown(t)) {
        lines.push(
            "open, match, delivery: its parts, each by its median: until the last participant has its \
             endpoints, until the last one sees its peers, until the message is at every receiver."
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
            "{title}: p50 over that of {} under the same conditions.",
            clean(&floors.join(" or "))
        ));
    }
    if view.stacks_wait_differently() {
        lines.push(
            "wait: stacks of different blocks are not compared; --set wait=block measures all that can \
             wait alike."
                .into(),
        );
    }
    if quantiles(view).any(|q| matches!(q, Quantile::Refused { .. })) {
        let what = match relative {
            true => "n< the samples that it takes",
            false => "samples there are/samples it takes",
        };
        lines.push(format!(
            "–: refused, too few samples for a 95 % interval ({what})."
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
        lines.push("∞: a message that was lost, or under way when the drain ended, counts as infinitely late; an interval that ends there has no known end.".into());
    }
    if view.shows_load() && shown("load") {
        lines.push(
            "load: fits, loses messages, or saturated: the backlog still grew when the window ended. \
             in window: arrived by then, of those offered; delivered: also what came later."
                .into(),
        );
    }
    if view.has_host() && shown(HOST_P99) {
        lines.push(format!(
            "{HOST_P99}: delay that the machine's own gaps add to one in a hundred such operations \
             (share of p99 − p50 that it may account for)."
        ));
    }
    if view.rows.iter().any(|e| e.is_loopback) {
        lines.push("(loopback): no second side takes part; what Dyno itself costs.".into());
    }
    if view.rows.iter().any(|e| e.experiment.paired) {
        lines.push("(pair): no request-response of its own: the call takes two channels.".into());
    }
    if view.rows.iter().any(|e| e.is_base) {
        lines.push(format!("(base): {}.", base(&view.summary.run)));
    }
    if view.rows.iter().any(|e| e.trials.all_disturbed()) {
        lines.push("(disturbed): the host disturbed every trial of the row.".into());
    }
    let has_cpu = |e: &ExperimentSummary| e.figure(TrialFigure::CpuPerMessage).is_some();
    let extremes = if relative { "" } else { " (min–max)" };
    if view.is_of_starts
        && view
            .rows
            .iter()
            .any(|e| e.figure(TrialFigure::CpuNs).is_some())
        && shown("CPU")
    {
        lines.push(format!(
            "CPU: user and system time of all processes of the stack from go until the first message \
             was known to be everywhere, median trial{extremes}."
        ));
    } else if view.rows.iter().any(|e| has_cpu(e)) && shown("CPU/msg") {
        lines.push(format!(
            "CPU/msg: user and system time of all processes of the stack per message that arrived, \
             median trial{extremes}."
        ));
    }
    let has_host_cpu = |e: &&ExperimentSummary| e.figure(TrialFigure::HostCpuPerMessage).is_some();
    if view.rows.iter().any(has_host_cpu) && !view.is_of_starts && shown(HOST_CPU) {
        lines.push(format!(
            "{HOST_CPU}: the same of the whole machine: with softirqs, kernel threads and all else that ran."
        ));
    }
    lines.extend(settings::lines(
        &view.summary.run,
        view.rows.iter().copied(),
    ));
    lines
}

/// The columns of the headline that are shown.
fn shown_times(view: &View<'_>, hidden: &[&str]) -> String {
    let all: &[&str] = match view.is_of_starts {
        true => &["p50", "p90", "max"],
        false => &["p50", "p90", "p99", "p99.9"],
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
        parts.push(format!("{times}: {headlines}, with 95 % intervals"));
    }
    let any = |found: fn(&Quantile) -> bool| quantiles(view).any(found);
    if any(|q| matches!(q, Quantile::Refused { .. } | Quantile::Wide { .. })) {
        parts.push("–: too few samples or trials for a figure".into());
    }
    if any(|q| {
        q.estimate()
            .is_some_and(|e| matches!(e.hi, Latency::Infinite))
    }) {
        parts.push("∞: messages that did not arrive".into());
    }
    let marks = [
        (
            "~: a repeat may differ by more than 10 %",
            view.rows.iter().any(|e| e.is_unstable()),
        ),
        (
            "(loopback): what Dyno itself costs",
            view.rows.iter().any(|e| e.is_loopback),
        ),
        (
            "(disturbed): in every trial by the host",
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
        parts.push("other wait strategies are not compared (--set wait=block)".into());
    }
    let text = parts.join(" · ");
    match settings::versions_of(&view.summary.run, view.rows.iter().copied()) {
        Some(versions) => format!("{text} · {versions}"),
        None => text,
    }
}

/// What stands in the place of a figure whose interval is too wide: in one line, and below each other.
pub(crate) const WIDE: [&str; 2] = [
    "– (a–b): no figure, because the interval from a to b is wider than a factor of ten; with the trials there \
     are/trials it would take if further ones scatter alike.",
    "–, t< or wide: no figure, because its interval is wider than a factor of ten (t< the trials that it would \
     take if further ones scatter alike).",
];

/// What a base is.
fn base(run: &RunSummary) -> String {
    match &run.against {
        None => "what another row is compared with".into(),
        Some(Against::Same) => "the same once more, for comparison".into(),
        Some(Against::Stack { name }) => {
            format!("the stack {}, for comparison", clean(name))
        }
        Some(Against::Build { program, version }) => format!(
            "measured with dyno {} ({}), for comparison",
            clean(version),
            clean(&program.display().to_string())
        ),
    }
}

/// What the quantiles are of; where it differs, with the workloads that it holds for.
fn headlines(view: &View<'_>) -> Option<String> {
    let mut found: Vec<(Metric, Vec<&str>)> = Vec::new();
    for e in view.rows.iter().filter(|e| e.headline_metric().is_some()) {
        let (metric, workload) = (e.headline(), e.experiment.workload.kind().as_str());
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
    let shown = match view.is_of_starts {
        true => 2,
        false => QUANTILES.len(),
    };
    view.rows
        .iter()
        .filter_map(|e| e.headline_metric())
        .flat_map(move |m| m.quantiles.iter().take(shown))
}

/// Everything below the table, most serious first; sections without an item are left out.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let summary = view.summary;
    let refused = Refusal::lines(&summary.refused);
    let refused = refused.iter().map(|line| Item::from(clean(line)));
    let machines = summary.run.machines.iter().map(|(name, environment)| {
        let facts = machine(environment).split_off(1).join(", ");
        Item::from(format!("{}: {facts}", clean(name)))
    });
    let own = summary.warnings.iter().map(|w| Item::from(clean(w)));
    let of_trials = view.rows.iter().flat_map(|e| {
        e.warnings.iter().map(|(text, count)| {
            Item::from(format!(
                "{}: {}{}",
                view.label(e),
                times(*count),
                clean(text)
            ))
        })
    });
    let all = [
        (
            "Machines: rows of different ones are not compared",
            machines.collect(),
        ),
        ("Failed", rows(view, failures)),
        ("Clocks of the hosts", clocks::remarks(view)),
        (
            "Unstable (~): a repeat of the run may differ by more than 10 %",
            rows(view, unstable),
        ),
        (
            "Two modes: blocks of the window are either fast or slow",
            findings::modes(view),
        ),
        ("Not steady", findings::not_steady(view)),
        ("Floor", findings::floor(view)),
        (
            "What the p50 of a round trip is made of at least",
            crate::made_of::remarks(view),
        ),
        ("Host noise", findings::host(view)),
        ("Precision", findings::precision(view)),
        ("Not run", rows(view, missing)),
        ("Load", rows(view, load)),
        ("Counts", counted(view)),
        (
            "Causes of loss, as the kernels counted",
            causes::remarks(view),
        ),
        ("Daemons: their part of the cost", rows(view, daemons)),
        (
            "Order of trials",
            carry_over::remarks(summary.carry_over.as_ref()),
        ),
        ("Refused", refused.collect()),
        ("Warnings", own.chain(of_trials).collect()),
    ];
    all.into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(title, items)| Section { title, items })
        .collect()
}

/// The remarks on each row, led by what tells the row from the others.
fn rows(view: &View<'_>, remarks: fn(&ExperimentSummary) -> Vec<Item>) -> Vec<Item> {
    let led = view.rows.iter().flat_map(|e| {
        remarks(e).into_iter().map(|item| Item {
            text: format!("{}: {}", view.label(e), item.text),
            lines: item.lines,
        })
    });
    led.collect()
}

fn failures(e: &ExperimentSummary) -> Vec<Item> {
    let item = |f: &FailureGroup| Item {
        text: format!(
            "{}{} in {}: {}",
            times(f.count),
            f.cause,
            clean(&f.step),
            clean(&f.message)
        ),
        lines: f
            .stderr
            .iter()
            .map(|line| clean(line))
            .filter(|l| !l.is_empty())
            .collect(),
    };
    e.failures.iter().map(item).collect()
}

fn times(count: u64) -> String {
    match count {
        1 => String::new(),
        n => format!("{n} × "),
    }
}

fn missing(e: &ExperimentSummary) -> Vec<Item> {
    match e.trials.missing() {
        0 => Vec::new(),
        n => vec![Item::from(format!(
            "{n} of {} trials; `dyno run --resume DIR` measures the rest",
            e.trials.planned
        ))],
    }
}

fn unstable(e: &ExperimentSummary) -> Vec<Item> {
    match &e.stability {
        Some(s) if s.is_unstable() => vec![Item::from(instability(s))],
        _ => Vec::new(),
    }
}

/// Why a p50 is unstable, in words.
pub(crate) fn instability(s: &Stability) -> String {
    let reasons: Vec<String> = s
        .reasons
        .iter()
        .map(|reason| match reason {
            Instability::SingleTrial => {
                "a single trial cannot show how much trials differ".to_owned()
            }
            Instability::Wide if s.repeat_within.is_finite() && s.repeat_within < 10.0 => {
                format!(
                    "the p50 of a repeat may differ by {} %",
                    sig3(100.0 * s.repeat_within)
                )
            }
            Instability::Wide => "the p50 of a repeat may differ by any amount".to_owned(),
            Instability::TwoModes { low, high } => {
                format!(
                    "trials fall into two groups, p50 {} and {}",
                    time(*low),
                    time(*high)
                )
            }
        })
        .collect();
    reasons.join("; ")
}

fn time(ns: f64) -> String {
    match ns.is_finite() {
        true => duration(ns),
        false => "∞ (lost)".into(),
    }
}

/// What of the cost is the daemons'.
fn daemons(e: &ExperimentSummary) -> Vec<Item> {
    let of_all = |part: f64, all: Option<f64>| {
        all.filter(|all| *all > 0.0)
            .map(|all| format!(" ({} % of all)", sig3(100.0 * part / all)))
            .unwrap_or_default()
    };
    let line = |d: &DaemonCost| {
        let cpu = match d.cpu_ns_per_message {
            Some(c) => {
                let all = of_all(c.median, e.median(TrialFigure::CpuPerMessage));
                format!("{} of CPU per message{all}", duration(c.median))
            }
            None => format!("{} of CPU", duration(d.cpu_ns.median)),
        };
        let memory = of_all(d.pss_bytes.median, e.median(TrialFigure::PssBytes));
        Item::from(format!(
            "{}: {cpu}, {} MiB of memory{memory}",
            clean(&d.label),
            sig3(d.pss_bytes.median / f64::from(1 << 20)),
        ))
    };
    e.daemons.iter().map(line).collect()
}

/// A backlog that grew, and a link that cannot carry what is offered.
fn load(e: &ExperimentSummary) -> Vec<Item> {
    let mut parts = Vec::new();
    if let Some(growth) = e.saturated {
        let mut text = format!(
            "saturated: the backlog still grew when the window ended, by {} % of what was due in its second half",
            sig3(100.0 * growth)
        );
        if let Some(share) = e.in_window_ratio() {
            text.push_str(&format!(
                "; {} had arrived by then",
                crate::number::share(share)
            ));
        }
        if let Some(rate) = e.figure(TrialFigure::InWindowHz) {
            text.push_str(&format!(", {} messages/s", sig3(rate.median)));
        }
        parts.push(text);
    }
    parts.extend(e.overload.as_deref().map(clean));
    match parts.is_empty() {
        true => Vec::new(),
        false => vec![Item::from(parts.join("; "))],
    }
}

/// What went wrong with messages, row by row; then what many rows share, in one line each.
fn counted(view: &View<'_>) -> Vec<Item> {
    let mut items = rows(view, counts);
    let listed = |said: &dyn Fn(&ExperimentSummary) -> Option<String>| -> Option<String> {
        let of = |e: &&ExperimentSummary| Some(format!("{} ({})", view.label(e), said(e)?));
        let rows: Vec<String> = view.rows.iter().filter_map(of).collect();
        (!rows.is_empty()).then(|| findings::listed(rows))
    };
    let late = |e: &ExperimentSummary| {
        let (c, kind) = (&e.counts, e.experiment.workload.kind());
        let paced = kind.info().has_due_times;
        let is_much = paced && c.late as f64 > LATE_SHARE * c.offered as f64;
        is_much.then(|| format!("{} of {}", c.late, c.offered))
    };
    let blocked = |e: &ExperimentSummary| {
        let share = e.median(TrialFigure::BlockedShare);
        let much = share.filter(|s| *s >= LATE_SHARE);
        much.map(|s| format!("{} %", sig3(100.0 * s)))
    };
    let texts = [
        ("messages sent late", listed(&late)),
        ("the senders' time in blocked sends", listed(&blocked)),
    ];
    for (what, rows) in texts {
        items.extend(rows.map(|rows| Item::from(format!("{what}: {rows}"))));
    }
    items
}

/// What went wrong with messages, and what makes their figures less than they seem.
fn counts(e: &ExperimentSummary) -> Vec<Item> {
    let c = &e.counts;
    let mut parts: Vec<String> = [
        (c.lost.saturating_sub(c.under_way), "lost"),
        (c.under_way, "still under way"),
        (c.corrupted, "corrupted"),
        (c.truncated, "truncated"),
        (c.duplicated, "duplicated"),
        (c.reordered, "reordered"),
        (c.refused, "refused by the stack"),
    ]
    .iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{n} {what}"))
    .collect();
    if !parts.is_empty() {
        parts.push(format!("of {} offered", c.offered));
    }
    let mut items = Vec::new();
    if !parts.is_empty() {
        items.push(Item::from(parts.join(", ").replace(", of ", " of ")));
    }
    if c.under_way > 0 {
        items.push(Item::from(format!(
            "the drain of {} ended while messages still arrived; a longer `drain` would tell how many more do",
            e.experiment.drain
        )));
    }
    let saturated = |m: &MetricSummary| m.saturated;
    match e.headline_metric().map_or(0, saturated) {
        0 => {}
        n => items.push(Item::from(format!(
            "{n} samples beyond the histogram's upper bound, recorded as that bound"
        ))),
    }
    items
}
