//! The rows of AGL SoDeV's section on its signal broker from a run, its figures beside ours, and what a loop that waits
//! for each answer says beside one that keeps to a schedule.

use crate::columns::Columns;
use crate::grid::{Grid, Text};
use crate::notes;
use crate::number::{duration, latency_ns, share, sig3, with_prefix};
use crate::published::PrintedTables;
use crate::settings;
use crate::study::Page;
use crate::summary::{ExperimentSummary, Summary};
use crate::view::View;
use dyno_model::{Metric, OptionValue, Topology, TrialFigure, Wait, WorkloadKind};
use dyno_stats::Quantile;

/// Where nothing can be said.
const NONE: &str = "–";

/// Behind the figures of a call where the stack has no request-response of its own.
const PAIR: &str = " (pair)";

/// Whether an experiment has a row here.
pub(crate) fn shows(e: &ExperimentSummary) -> bool {
    let kind = e.experiment.workload.kind();
    let has_row = matches!(
        kind,
        WorkloadKind::PingPong | WorkloadKind::Call | WorkloadKind::Flood | WorkloadKind::Stream
    );
    has_row
        && !e.is_base
        && !e.is_leg
        && !e.experiment.added
        && e.experiment.topology == Topology::ONE_TO_ONE
}

/// All tables, legend and remarks. With `markdown` the width is ignored.
pub(crate) fn render(summary: &Summary, limit: Option<usize>, markdown: bool) -> String {
    let study = PrintedTables::sodev();
    let mut out = Page::new(limit, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let all: Vec<&ExperimentSummary> = summary.experiments.iter().filter(|e| shows(e)).collect();
    out.part(
        "The study's table (its section 4)",
        &table(study, summary, &all),
    );
    out.part(
        "A loop that waits, and a schedule that does not",
        &loops(summary, &all),
    );
    out.list("How to read this", &legend(summary));
    let flaws = study.flaws.iter();
    let flaws: Vec<String> = flaws.map(|f| format!("{}: {}", f.about, f.says)).collect();
    out.list(
        &format!("Before comparing with the study ({})", study.title),
        &flaws,
    );
    let remarks = notes::sections(&View::new(summary, shows, &Columns::All));
    match markdown {
        true => crate::markdown::sections(&mut out.lines.text, &remarks),
        false => out.lines.sections(&remarks),
    }
    out.lines.text
}

fn legend(summary: &Summary) -> Vec<String> {
    let mut lines = vec![
        "writes, one client that waits: round trips per second of a provider that waits until the \
         subscriber's answer is back through the broker; the study's script waits only for the \
         broker's answer."
            .to_owned(),
        "writes, as fast as accepted: values per second that the subscriber received from a provider that never waits; only for stacks \
         that send each value to the subscriber.".into(),
        format!(
            "set and get: a call that sets a value at its provider and gets the answer, with the broker's own mechanism (Kuksa: Actuate, \
             and the answer as a published value);{PAIR}: the broker has none, and the call uses two channels."
        ),
        "reads: a reader asks the broker for the value that it keeps and asks again as soon as it has the answer (Kuksa: GetValue, kuksa-get). Each \
         answer is a read, whether the value is new or not; the rate is the median of the trials, with the lowest and the highest, and the \
         sum over several clients. The time of a read is from the question to its answer, with one client. Nobody writes: the provider \
         writes at most one value within the window; otherwise as many per second as stated. A stall is one slow read, however long it \
         lasts. The study read over a WebSocket, and does not say how many clients there were and whether anybody wrote."
            .into(),
        "WebSocket: the time from one set to the next of a client that waits for the broker's answer to each, as the study's script does; the mean, as the \
         study's (Kuksa: VISS, kuksa-viss-set). The round trip below it is to the subscriber and back."
            .into(),
        "clients before degradation: how many subscribers one provider can have. A number counts \
         if, with it and with each smaller number that was tried, nothing was lost and the whole \
         interval of p99 ends before the next value is due; ≥: the largest number of the run counts. To find the exact number: dyno run signals --experiment clients --search clients --until limits/signals.toml"
            .into(),
        "p99 of a schedule counts from the due time of a value, p99 of a loop from its send; ratio: the first divided by half the second. \
         The ratio does not show all that a loop hides, because rare values find sleeping CPUs. While a loop waits, nothing is due: a \
         stall of 10 ms is one late value in a loop, but twenty late values at 2,000 values per second."
            .into(),
        format!("{NONE}: not measured, or too few samples or trials for this figure; lost values are infinitely late (∞)."),
    ];
    lines.extend(settings::lines(&summary.run, &summary.experiments));
    lines
}

/// The stacks in the order of the run, each with its wait where it has several.
fn stacks<'a>(all: &[&'a ExperimentSummary]) -> Vec<(&'a str, Wait)> {
    let mut stacks = Vec::new();
    for e in all {
        let key = (e.experiment.stack.as_str(), e.experiment.wait);
        if !stacks.contains(&key) {
            stacks.push(key);
        }
    }
    stacks
}

fn of<'a>(
    all: &'a [&'a ExperimentSummary],
    (stack, wait): (&'a str, Wait),
    kind: WorkloadKind,
) -> impl Iterator<Item = &'a ExperimentSummary> {
    all.iter().copied().filter(move |e| {
        let x = &e.experiment;
        (x.stack.as_str(), x.wait, x.workload.kind()) == (stack, wait, kind)
            && x.topology == Topology::ONE_TO_ONE
    })
}

/// A row for each of the study's, a column for each stack.
fn table(study: &PrintedTables, summary: &Summary, all: &[&ExperimentSummary]) -> Grid {
    let stacks = stacks(all);
    // Whether a stack has this option set so.
    let is_set = |(stack, _): (&str, Wait), option: &str, to: &str| {
        let options = summary.run.stacks.get(stack).map(|stack| &stack.options);
        let value = options.and_then(|options| options.get(option));
        matches!(value, Some(OptionValue::Text(text)) if text == to)
    };
    let several = |stack: &str| stacks.iter().filter(|(s, _)| *s == stack).count() > 1;
    let title = |(stack, wait): &(&str, Wait)| match several(stack) {
        true => format!("{} ({wait})", stack),
        false => stack.to_string(),
    };
    let head = ["", "study"].map(str::to_owned).into_iter();
    let printed = |table: &str, label: &str| {
        let cell = study.row(table, label).and_then(<[String]>::first);
        cell.cloned().unwrap_or_else(|| NONE.into())
    };
    let row = |label: &str, printed: String, cell: &dyn Fn(usize) -> String| -> Vec<Text> {
        let own = (0..stacks.len()).map(cell);
        [label.to_owned(), printed]
            .into_iter()
            .chain(own)
            .map(Text::from)
            .collect()
    };
    let writes = printed("vss-rate", "Messages/second (write)");
    let rate = |stack: usize, kind| {
        let found = of(all, stacks[stack], kind).find_map(|e| e.median(TrialFigure::DeliveredHz));
        found
            .filter(|hz| *hz > 0.0)
            .map_or(NONE.into(), |hz| with_prefix(hz, "/s"))
    };
    let trip = |stack: usize, kind, rank| {
        let found = of(all, stacks[stack], kind).next();
        found.map_or(NONE.into(), |e| quantile(e, Metric::Rtt, rank))
    };
    // What a call took, with a mark where two channels carried it.
    let call = |stack: usize, figure: String| {
        let found = of(all, stacks[stack], WorkloadKind::Call).next();
        match found.is_some_and(|e| e.experiment.paired) && figure != NONE {
            true => figure + PAIR,
            false => figure,
        }
    };
    let asks = |s: usize| asks(summary, stacks[s].0);
    let sets = |s: usize| is_set(stacks[s], "publish", "viss");
    let set = |s: usize| {
        let flood = of(all, stacks[s], WorkloadKind::Flood).next();
        let hz = flood
            .filter(|_| sets(s))
            .and_then(|e| e.median(TrialFigure::SentHz));
        hz.filter(|hz| *hz > 0.0)
            .map_or(NONE.into(), |hz| duration(1e9 / hz))
    };
    Grid {
        head: head.chain(stacks.iter().map(title)).collect(),
        labels: 1,
        rows: vec![
            row("writes/s, one client that waits", writes.clone(), &|s| {
                rate(s, WorkloadKind::PingPong)
            }),
            row(
                "writes/s, as fast as accepted",
                writes,
                &|s| match asks(s) || sets(s) {
                    true => NONE.to_owned(),
                    false => rate(s, WorkloadKind::Flood),
                },
            ),
            row(
                "reads/s, one client, nobody writes",
                printed("vss-rate", "Messages/second (read)"),
                &|s| reads(summary, stacks[s], false, false),
            ),
            row("a read, p50", NONE.into(), &|s| read(summary, stacks[s], 0)),
            row("a read, p99", NONE.into(), &|s| read(summary, stacks[s], 2)),
            row(
                "reads/s, several clients, nobody writes",
                NONE.into(),
                &|s| reads(summary, stacks[s], true, false),
            ),
            row("reads/s, one client beside a writer", NONE.into(), &|s| {
                reads(summary, stacks[s], false, true)
            }),
            row(
                "reads/s, several clients beside a writer",
                NONE.into(),
                &|s| reads(summary, stacks[s], true, true),
            ),
            row(
                "WebSocket: a set with its answer",
                printed("vss-latency", "WebSocket latency (avg)"),
                &set,
            ),
            row("round trip, p50", NONE.into(), &|s| {
                trip(s, WorkloadKind::PingPong, 0)
            }),
            row("round trip, p99", NONE.into(), &|s| {
                trip(s, WorkloadKind::PingPong, 2)
            }),
            row("set and get, one client that waits", NONE.into(), &|s| {
                call(s, rate(s, WorkloadKind::Call))
            }),
            row("set and get, p50", NONE.into(), &|s| {
                call(s, trip(s, WorkloadKind::Call, 0))
            }),
            row("set and get, p99", NONE.into(), &|s| {
                call(s, trip(s, WorkloadKind::Call, 2))
            }),
            row(
                "clients before degradation",
                printed("vss-clients", "Concurrent clients (max)"),
                &|s| clients(summary, stacks[s]),
            ),
        ],
    }
}

/// The experiments of a stack with one sender and any number of receivers.
fn fans<'a>(
    summary: &'a Summary,
    (stack, wait): (&'a str, Wait),
    kind: WorkloadKind,
) -> impl Iterator<Item = &'a ExperimentSummary> {
    summary.experiments.iter().filter(move |e| {
        let x = &e.experiment;
        (x.stack.as_str(), x.wait, x.workload.kind()) == (stack, wait, kind)
            && (x.topology.senders, x.topology.copies) == (1, 1)
            && !(e.is_base || e.is_leg || x.added)
    })
}

/// Whether the readers of a stack ask.
fn asks(summary: &Summary, stack: &str) -> bool {
    let stack = summary.run.stacks.get(stack);
    stack.is_some_and(|stack| stack.asks)
}

/// The experiment whose reads are counted, of one reader or of the most that were tried, and while somebody writes or not.
fn read_by<'a>(
    summary: &'a Summary,
    stack: (&'a str, Wait),
    several: bool,
    written: bool,
) -> Option<&'a ExperimentSummary> {
    let is_written = |e: &ExperimentSummary| {
        let values = e
            .experiment
            .paced_window()
            .zip(e.experiment.workload.numbers().rate);
        values.is_some_and(|(window, rate)| window.as_secs_f64() * rate.hz() > 1.0)
    };
    fans(summary, stack, WorkloadKind::Stream)
        .filter(|e| e.figure(TrialFigure::ReadsHz).is_some() && is_written(e) == written)
        .filter(|e| (e.experiment.topology.receivers > 1) == several)
        .max_by_key(|e| e.experiment.topology.receivers)
}

/// Answered reads per second, with what was written meanwhile and by how many they were read where it was several.
fn reads(summary: &Summary, stack: (&str, Wait), several: bool, written: bool) -> String {
    let Some(e) = read_by(summary, stack, several, written) else {
        return NONE.into();
    };
    let Some(hz) = e.figure(TrialFigure::ReadsHz) else {
        return NONE.into();
    };
    let [median, min, max] = [hz.median, hz.min, hz.max].map(|hz| with_prefix(hz, "/s"));
    let mut about = Vec::new();
    if several {
        about.push(format!("{} clients", e.experiment.topology.receivers));
    }
    if let Some(rate) = e.experiment.workload.numbers().rate.filter(|_| written) {
        about.push(format!("{rate} written"));
    }
    match about.is_empty() {
        true => format!("{median} [{min}, {max}]"),
        false => format!("{median} [{min}, {max}] ({})", about.join(", ")),
    }
}

/// What a read takes, of one client while nobody writes.
fn read(summary: &Summary, stack: (&str, Wait), rank: usize) -> String {
    let found = read_by(summary, stack, false, false);
    found.map_or(NONE.into(), |e| quantile(e, Metric::Read, rank))
}

/// The most subscribers that surely get all in time, among those that were tried.
fn clients(summary: &Summary, stack: (&str, Wait)) -> String {
    let rate = |e: &ExperimentSummary| e.experiment.workload.numbers().rate;
    let receivers = |e: &ExperimentSummary| e.experiment.topology.receivers;
    if asks(summary, stack.0) {
        return NONE.into();
    }
    let all = || fans(summary, stack, WorkloadKind::Stream);
    let Some(fanned) = all().find(|e| receivers(e) > 1) else {
        return NONE.into();
    };
    let mut steps: Vec<_> = all().filter(|e| rate(e) == rate(fanned)).collect();
    steps.sort_by_key(|e| receivers(e));
    let kept = steps
        .iter()
        .take_while(|e| keeps_up(e) == Some(true))
        .count();
    let before = kept.checked_sub(1).map(|last| receivers(steps[last]));
    // What was planned for other stacks and is missing here tells nothing good of this one.
    let most = summary
        .experiments
        .iter()
        .filter(|e| e.experiment.workload.kind() == WorkloadKind::Stream && rate(e) == rate(fanned))
        .map(receivers)
        .max();
    match (before, steps.get(kept)) {
        (Some(n), None) => match most.filter(|most| *most > n) {
            Some(most) => format!("{n}, {most} not run"),
            None => format!("≥ {n}"),
        },
        (None, None) => NONE.into(),
        (before, Some(next)) => {
            let m = receivers(next);
            match (before, keeps_up(next)) {
                (Some(n), None) => format!("{n}, {m} undecided"),
                (Some(n), Some(_)) => format!("{n}, not {m}"),
                (None, None) => format!("{m} undecided"),
                (None, Some(_)) => format!("not {m}"),
            }
        }
    }
}

/// Whether all values arrive, and surely no later than the next is due; `None`: the trials do not tell.
fn keeps_up(e: &ExperimentSummary) -> Option<bool> {
    let period = 1e9 / e.experiment.workload.numbers().rate?.hz();
    if e.delivered_ratio()? < 1.0 {
        return Some(false);
    }
    let p99 = e.metrics.get(&Metric::Response)?.quantiles[2].estimate()?;
    match (latency_ns(&p99.lo), latency_ns(&p99.hi)) {
        _ if e.trials.failed > 0 => None,
        (_, hi) if hi <= period => Some(true),
        (lo, _) if lo > period => Some(false),
        _ => None,
    }
}

/// A row for each stream: the loop's figures and the schedule's.
fn loops(summary: &Summary, all: &[&ExperimentSummary]) -> Grid {
    let head = [
        "stack",
        "rate",
        "loop: /s",
        "loop: p99",
        "schedule: delivered",
        "schedule: p50",
        "schedule: p99",
        "ratio",
    ];
    let mut rows = Vec::new();
    let told = stacks(all)
        .into_iter()
        .filter(|(stack, _)| !asks(summary, stack));
    for stack in told {
        let closed = of(all, stack, WorkloadKind::PingPong).next();
        let mut streams: Vec<_> = of(all, stack, WorkloadKind::Stream).collect();
        let hz =
            |e: &&ExperimentSummary| e.experiment.workload.numbers().rate.map_or(0.0, |r| r.hz());
        streams.sort_by(|a, b| hz(a).total_cmp(&hz(b)));
        for open in streams {
            let rate = open.experiment.workload.numbers().rate;
            let hz = closed.and_then(|e| e.median(TrialFigure::DeliveredHz));
            let trip = closed.and_then(|e| value(e, Metric::Rtt, 2));
            let ratio = match (value(open, Metric::Response, 2), trip) {
                (Some(p99), Some(trip)) => format!("×{}", sig3(p99 / (trip / 2.0))),
                _ => NONE.into(),
            };
            let cells = [
                stack.0.to_string(),
                rate.map_or(NONE.into(), |rate| rate.to_string()),
                hz.map_or(NONE.into(), |hz| with_prefix(hz, "")),
                closed.map_or(NONE.into(), |e| quantile(e, Metric::Rtt, 2)),
                open.delivered_ratio().map_or(NONE.into(), share),
                quantile(open, Metric::Response, 0),
                quantile(open, Metric::Response, 2),
                ratio,
            ];
            rows.push(cells.map(Text::from).into());
        }
    }
    Grid {
        head: head.map(str::to_owned).into(),
        labels: 2,
        rows,
    }
}

/// By its place among [`crate::QUANTILES`]: 0 is p50, 2 is p99.
pub(crate) fn quantile(e: &ExperimentSummary, metric: Metric, rank: usize) -> String {
    match e.metrics.get(&metric).map(|m| &m.quantiles[rank]) {
        Some(Quantile::Estimated(q)) => {
            let [value, lo, hi] = [q.value, q.lo, q.hi].map(|l| match latency_ns(&l) {
                ns if ns.is_finite() => duration(ns),
                _ => "∞".into(),
            });
            format!("{value} [{lo}, {hi}]")
        }
        Some(Quantile::Refused { .. } | Quantile::Wide { .. }) | None => NONE.into(),
    }
}

fn value(e: &ExperimentSummary, metric: Metric, rank: usize) -> Option<f64> {
    let ns = latency_ns(&e.metrics.get(&metric)?.quantiles[rank].estimate()?.value);
    ns.is_finite().then_some(ns)
}
