//! The texts around a table: the heading that names its conditions, and below it everything that
//! a reader must know before trusting a number.

use crate::carry_over;
use crate::causes;
use crate::chains;
use crate::clocks;
use crate::factors;
use crate::findings;
use crate::lateness;
use crate::number::{duration, sig3};
use crate::outage;
use crate::remark::Item;
use crate::summary::{DaemonCost, ExperimentSummary, MemorySummary, MetricSummary, RunSummary};
use crate::view::View;
use dyno_model::TrialFigure;
use dyno_model::cause::{Cause, Warning};
use dyno_model::plan::Refusal;
use dyno_model::record::Environment;
use dyno_stats::{Instability, Stability};

/// More late sends than this share of those offered are worth a remark.
const LATE_SHARE: f64 = 0.01;

/// A titled list below a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) title: &'static str,
    pub(crate) items: Vec<Item>,
}

/// The suite and its question.
pub(crate) fn title(run: &RunSummary) -> String {
    match run.title.trim_end() {
        "" => run.suite.clone(),
        title => format!("{}: {title}", run.suite),
    }
}

/// Where the run took place and how far it came.
pub(crate) fn origin(run: &RunSummary) -> String {
    let environment = &run.environment;
    let mut parts = vec![
        format!("run {}", run.id),
        format!("testbed {}", run.testbed),
    ];
    let emulated = run.environment.emulated.as_deref();
    parts.extend(emulated.map(|what| format!("EMULATED: {what}")));
    if run.machines.is_empty() {
        parts.extend(machine(environment));
    } else {
        let names: Vec<&str> = run.machines.keys().map(String::as_str).collect();
        parts.push(format!("machines {}", names.join(", ")));
    }
    if let Some(part) = &run.shard {
        parts.push(part.to_string());
    }
    parts.push(run.trials.progress());
    if !run.more.is_empty() {
        let added: u64 = run.more.iter().map(|more| u64::from(more.trials)).sum();
        parts.push(format!("{added} trials of each experiment added later"));
    }
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
    known.map(|(lead, fact)| format!("{lead}{fact}")).collect()
}

/// The conditions that all rows share.
pub(crate) fn conditions(view: &View<'_>) -> String {
    factors::heading(&view.constant, view.rows.first().map(|e| &e.experiment))
}

/// Items of one section at most; `--format json` has all.
const MOST_ITEMS: usize = 1_000;

/// Everything below the table, most serious first; sections without an item are left out.
#[expect(clippy::too_many_lines, reason = "one row for each section")]
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let summary = view.summary;
    let refused = Refusal::lines(&summary.refused);
    let refused = refused.iter().map(|line| Item::from(line.clone()));
    let machines = summary.run.machines.iter().map(|(name, environment)| {
        let facts = machine(environment).split_off(1).join(", ");
        Item::from(format!("{name}: {facts}"))
    });
    let own = summary.warnings.iter().map(|w| Item::from(w.clone()));
    let of_trials = view.rows.iter().flat_map(|e| {
        let all = e.warnings.iter().map(|(cause, count)| (cause, *count));
        let line = |(text, count)| format!("{}: {}{text}", view.label(e), times(count));
        findings::read_alike(all)
            .into_iter()
            .map(line)
            .map(Item::from)
    });
    let all = [
        (
            "Emulated",
            emulated(summary.run.environment.emulated.as_deref()),
        ),
        (
            "Virtual machines",
            summary
                .run
                .guests
                .iter()
                .map(|g| Item::from(g.clone()))
                .collect(),
        ),
        (
            "Machines: rows from different machines are not compared",
            machines.collect(),
        ),
        ("Failed", failures(view)),
        ("Still deaf at the end of the window", outage::deaf(view)),
        ("Half deaf", outage::partly_deaf(view)),
        ("Results of the faults", outage::verdicts(view)),
        ("Clocks of the hosts", clocks::remarks(view)),
        ("Cost of the other flows", crate::flows::costs(view)),
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
            "Parts of a round trip, estimated from the probes",
            crate::made_of::remarks(view),
        ),
        ("Flows at the same time", crate::flows::remarks(view)),
        ("Copies at once", crate::copies::remarks(view)),
        ("Host noise", findings::host(view)),
        ("Precision", findings::precision(view)),
        ("Not run", rows(view, missing)),
        ("Load", rows(view, load)),
        ("Counts", counted(view)),
        (
            "Parts of the way through gateways, with 95 % intervals over trials",
            chains::remarks(view),
        ),
        (
            "Causes of loss, from counters of the kernels",
            causes::remarks(view),
        ),
        ("Cost of the daemons", rows(view, daemons)),
        (
            "Cost of virtual machine monitors and devices, not included above",
            rows(view, monitors),
        ),
        (
            "Order of trials",
            carry_over::remarks(summary.carry_over.as_ref()),
        ),
        ("Refused", refused.collect()),
        ("Warnings", own.chain(of_trials).collect()),
    ];
    all.into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(title, mut items)| {
            let more = items.len().saturating_sub(MOST_ITEMS);
            if more > 0 {
                items.truncate(MOST_ITEMS);
                items.push(Item::from(Cause::<Warning>::More(more as u64).to_string()));
            }
            Section { title, items }
        })
        .collect()
}

/// What figures of an emulator are good for.
fn emulated(what: Option<&str>) -> Vec<Item> {
    let said = |what: &str| {
        Item::from(format!(
            "{}: its processor is emulated, so these times do not represent any real machine; \
             compare only rows of this run that cross the same border, and never with real \
             machines",
            what
        ))
    };
    what.map(said).into_iter().collect()
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

/// The failures of each row. A trial of several flows fails in all of them, and is told with the first.
fn failures(view: &View<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    for (at, e) in view.rows.iter().enumerate() {
        for f in &e.failures {
            let same = |o: &&&ExperimentSummary| {
                o.experiment.lead() == e.experiment.lead() && o.failures.contains(f)
            };
            let (before, after) = view.rows.split_at(at);
            if before.iter().any(|o| same(&o)) {
                continue;
            }
            let others = match after.iter().filter(same).count() {
                0 | 1 => String::new(),
                2 => " and 1 more flow".to_owned(),
                n => format!(" and {} more flows", n - 1),
            };
            items.push(Item {
                text: format!(
                    "{}{others}: {}{} in {}: {}",
                    view.label(e),
                    times(f.count),
                    f.kind,
                    f.step,
                    f.cause
                ),
                lines: f
                    .stderr
                    .iter()
                    .filter(|l| !l.trim().is_empty())
                    .cloned()
                    .collect(),
            });
        }
    }
    items
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

/// What virtual machines take of this one.
fn monitors(e: &ExperimentSummary) -> Vec<Item> {
    let mib = |bytes: f64| format!("{} MiB", sig3(bytes / f64::from(1 << 20)));
    let of = |label: &str| e.memory.iter().find(|m| m.label == label);
    let line = |d: &DaemonCost| {
        let at_rest = of(&d.label).map(|m| format!(", {} at rest", mib(m.at_rest_bytes.median)));
        Item::from(format!(
            "{}: {} of CPU in the window, {} of memory{}",
            d.label,
            duration(d.cpu_ns.median),
            mib(d.pss_bytes.median),
            at_rest.unwrap_or_default(),
        ))
    };
    let is_process = |m: &&MemorySummary| e.machines.iter().any(|d| d.label == m.label);
    let others = e.memory.iter().filter(|m| !is_process(m));
    let within = others.map(|m| {
        Item::from(format!(
            "{}: {} of memory, {} at rest",
            m.label,
            mib(m.in_use_bytes.median),
            mib(m.at_rest_bytes.median),
        ))
    });
    e.machines.iter().map(line).chain(within).collect()
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
            d.label,
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
            "saturated: the backlog was still growing when the window ended, by {} % of the messages due in its second half",
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
    parts.extend(e.overload.clone());
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
        (lateness::SLEPT, listed(&lateness::slept)),
        (lateness::WAS_LATE, listed(&lateness::was_late)),
        (
            "share of the senders' time in blocked sends",
            listed(&blocked),
        ),
    ];
    for (what, rows) in texts {
        items.extend(rows.map(|rows| Item::from(format!("{what}: {rows}"))));
    }
    items
}

/// What went wrong with messages, and what makes their figures less than they seem.
fn counts(e: &ExperimentSummary) -> Vec<Item> {
    let c = &e.counts;
    let is_paced = e.experiment.workload.kind().info().has_due_times;
    let never_sent = match is_paced {
        true => c.offered.saturating_sub(c.sent + c.refused),
        false => 0,
    };
    let mut parts: Vec<String> = [
        (c.lost.saturating_sub(c.under_way), "lost"),
        (c.under_way, "still under way"),
        (c.corrupted, "corrupted"),
        (c.truncated, "truncated"),
        (c.duplicated, "duplicated"),
        (c.reordered, "reordered"),
        (c.refused, "refused by the stack"),
        (
            never_sent,
            match e.experiment.faults.is_empty() {
                true => "never sent, because sends were blocked until the drain ended",
                false => "never sent, because the sender was away or late",
            },
        ),
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
            "the drain of {} ended while messages were still arriving; a longer `drain` would show how many more arrive",
            e.experiment.drain
        )));
    }
    let saturated = |m: &MetricSummary| m.saturated;
    match e.headline_metric().map_or(0, saturated) {
        0 => {}
        n => items.push(Item::from(format!(
            "{n} samples were above the upper bound of the histogram and were recorded as that bound"
        ))),
    }
    items
}
