//! L4Re's table of messages and system calls, from a run: a message between two threads of one process (intra) and
//! between two processes (inter) on one CPU, and a system call, in the page's cycles and in time, alone and on every CPU
//! at once.
//!
//! What Dyno measures are round trips. A message is half of one here, as it is on the page, and the headings say so.

use crate::columns::Columns;
use crate::factors;
use crate::grid::{Grid, Text};
use crate::notes;
use crate::number::{Measured, sig3};
use crate::page::Page;
use crate::published::{L4re, Operation, Processor};
use crate::settings;
use crate::summary::{ExperimentSummary, MetricSummary, Spread, Summary};
use crate::view::View;
use dyno_model::probe::Probe;
use dyno_model::record::ClockFacts;
use dyno_model::{Wait, Workload, WorkloadKind};
use std::collections::BTreeSet;

/// The factors that tables, rows and columns stand for.
const TOLD: [&str; 8] = [
    "flow",
    "workload",
    "wait",
    "payload",
    "topology",
    "placement",
    "CPUs",
    "window",
];

/// Whether an experiment has a row here.
pub(crate) fn shows(e: &ExperimentSummary) -> bool {
    !e.is_leg && Row::of(e).is_some()
}

/// Heading, both tables, legend and remarks. With `markdown` tables and headings are Markdown's and the width is
/// ignored.
pub(crate) fn render(summary: &Summary, limit: Option<usize>, markdown: bool) -> String {
    let page = L4re::published();
    let cells = cells(summary);
    let view = View::new(summary, shows, &Columns::All);
    let nearest = page.nearest(&summary.run.environment);
    let mut out = Page::new(limit, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let conditions = notes::conditions(&view);
    if !conditions.is_empty() {
        out.lines.add(&conditions, 2);
    }
    let title = "Cycles of one message, which is half a round trip, and of one system call: means (the page's table)";
    out.part(title, &cycles(summary, &cells, nearest));
    let title = "Time of one message, which is half a round trip, and of one system call: p50 [ns]";
    out.part(title, &times(&cells));
    out.list("How to read this", &legend(summary, &cells, nearest));
    let flaws = page
        .flaws
        .iter()
        .map(|f| format!("{}: {}", f.about, f.says));
    let source = &page.source;
    let title = format!(
        "Before comparing with the page ({}, {}, {})",
        source.title, source.place, source.year
    );
    out.list(&title, &flaws.collect::<Vec<_>>());
    let remarks = notes::sections(&view);
    out.remarks(&remarks);
    out.lines.text
}

/// Every experiment with a place. What varies beside what rows and columns stand for is added to its way.
fn cells(summary: &Summary) -> Vec<Cell<'_>> {
    let shown = summary.experiments.iter().filter(|e| shows(e));
    let mut cells: Vec<Cell<'_>> = shown.filter_map(Cell::new).collect();
    let (_, mut varying) = factors::split(cells.iter().map(|c| &c.e.experiment));
    varying.retain(|f| !TOLD.contains(&f.title));
    for cell in &mut cells {
        let label = factors::label(&varying, &cell.e.experiment);
        if !label.is_empty() {
            cell.row.how = format!("{}, {label}", cell.row.how);
        }
        // Probes move nothing; what a stack moves is its own.
        if !matches!(cell.e.experiment.workload, Workload::Probe { .. }) {
            cell.row.how = format!("{}, {}", cell.row.how, cell.e.experiment.payload);
        }
    }
    cells
}

/// What tells one row of times from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    /// `false`: both sides are on one CPU, as the page has it.
    two_cpus: bool,
    operation: Operation,
    /// `futex`, or the stack's name.
    how: String,
    wait: Wait,
}

impl Row {
    fn of(e: &ExperimentSummary) -> Option<Row> {
        let x = &e.experiment;
        let how = match x.workload {
            Workload::Probe { probe, .. } => probe.way().unwrap_or_default().to_owned(),
            _ => x.stack.clone(),
        };
        // On two CPUs there is no such operation of the page's; it is named by what it would be on one.
        let (two_cpus, operation) = match x.workload {
            Workload::Probe {
                probe: probe @ Probe::Switch { .. },
                each: 2,
                copies,
            } => {
                let mut on_one = x.clone();
                on_one.workload = Workload::Probe {
                    probe,
                    each: 1,
                    copies,
                };
                (true, Operation::of(&on_one))
            }
            _ => (false, Operation::of(x)),
        };
        Some(Row {
            two_cpus,
            operation: operation?,
            how,
            wait: x.wait,
        })
    }
}

/// An experiment with its place.
struct Cell<'a> {
    row: Row,
    /// Copies at once.
    copies: u32,
    e: &'a ExperimentSummary,
}

impl<'a> Cell<'a> {
    fn new(e: &'a ExperimentSummary) -> Option<Cell<'a>> {
        Some(Cell {
            row: Row::of(e)?,
            copies: e.experiment.at_once(),
            e,
        })
    }

    fn metric(&self) -> Option<&'a MetricSummary> {
        self.e.metrics.get(&self.e.headline())
    }

    /// Pieces of the page in one sample of ours.
    fn pieces(&self) -> f64 {
        match self.row.operation {
            Operation::Syscall => 1.0,
            Operation::Intra | Operation::Inter => 2.0,
        }
    }

    /// p50 of one piece in nanoseconds.
    fn p50_ns(&self) -> Option<f64> {
        match self.metric()?.quantiles[0].estimate()?.value {
            dyno_stats::Latency::Finite(ns) => Some(ns / self.pieces()),
            dyno_stats::Latency::Infinite => None,
        }
    }

    /// The smallest and the largest median of its copies, for one piece in nanoseconds.
    fn copies_ns(&self) -> Option<Spread> {
        Spread::with_infinite(
            self.e
                .copies
                .iter()
                .map(|c| c.p50_ns.median / self.pieces()),
        )
    }

    fn instead(&self) -> &'static str {
        match self.e.trials.failed {
            0 => "not run",
            _ => "failed",
        }
    }
}

/// The rate of the time stamp counter, where the run's clock is one: the counter of Arm's timer counts no cycles, and the
/// page has none of it.
fn tsc_hz(clock: &ClockFacts) -> Option<f64> {
    clock.frequency_hz.filter(|_| clock.source == "tsc")
}

/// The page's table with our rows first.
fn cycles(summary: &Summary, cells: &[Cell<'_>], nearest: Option<&Processor>) -> Grid {
    let mut ways: Vec<&str> = Vec::new();
    let alone = || cells.iter().filter(|c| c.copies == 1 && !c.row.two_cpus);
    for cell in alone() {
        if !ways.contains(&cell.row.how.as_str()) {
            ways.push(&cell.row.how);
        }
    }
    let hz = tsc_hz(&summary.run.environment.clock);
    let processor = summary.run.environment.cpu_model.clone();
    let of = |operation, way: &str| -> Text {
        let is_it = |c: &&Cell<'_>| c.row.operation == operation && c.row.how == way;
        let Some(cell) = alone().find(is_it) else {
            return Text::default();
        };
        our_cycles(cell, hz, nearest)
            .unwrap_or_else(|| cell.instead().into())
            .into()
    };
    let ours = ways.iter().map(|way| {
        let mut row: Vec<Text> = vec![format!("{processor}, Linux, {way}").into()];
        row.extend(Operation::ALL.map(|operation| of(operation, way)));
        row
    });
    let theirs = L4re::published().processors.iter().map(|p| {
        let is_nearest = nearest.is_some_and(|n| n.id == p.id);
        let near = if is_nearest { " (nearest)" } else { "" };
        let mut row: Vec<Text> = vec![format!("{}, {}{near}", p.name, p.platform).into()];
        row.extend(Operation::ALL.map(|o| {
            let mark = if p.is_of_another_run(o) { " †" } else { "" };
            Text::from(format!("{}{mark}", p.cycles(o).text))
        }));
        row
    });
    Grid {
        head: ["Processor, platform", "Intra", "Inter", "Syscall"]
            .map(str::to_owned)
            .to_vec(),
        labels: 1,
        rows: match cells.is_empty() {
            true => Vec::new(),
            false => ours.chain(theirs).collect(),
        },
    }
}

/// `3578 (× 7.00)`, or `3578/4012/3300 (× 7.00)` where the machine lets core cycles and instructions be read.
fn our_cycles(cell: &Cell<'_>, hz: Option<f64>, nearest: Option<&Processor>) -> Option<String> {
    let mean = cell.metric()?.mean? / cell.pieces();
    let ticks = hz.map(|hz| mean * hz / 1e9);
    let core = cell.e.copies.first().and_then(|c| c.core);
    let core = core.map(|c| c.map(|v| v / cell.pieces()));
    let text = match (ticks, core) {
        (Some(ticks), Some([cycles, instructions])) => {
            format!("{ticks:.0}/{cycles:.0}/{instructions:.0}")
        }
        (Some(ticks), None) => format!("{ticks:.0}"),
        (None, Some([cycles, instructions])) => format!("–/{cycles:.0}/{instructions:.0}"),
        (None, None) => return Some("–".into()),
    };
    let ratio = nearest.and_then(|p| {
        let operation = cell.row.operation;
        let theirs = p.cycles(operation);
        match p.has_ticks {
            // Its clock was another one than that of the row.
            _ if p.is_of_another_run(operation) => None,
            true => Some(ticks? / theirs.first),
            false => Some(core?[0] / theirs.core),
        }
    });
    Some(match ratio {
        Some(ratio) => format!("{text} (× {})", sig3(ratio)),
        None => text,
    })
}

/// A row for each way, alone and at once.
fn times(cells: &[Cell<'_>]) -> Grid {
    let counts: BTreeSet<u32> = cells.iter().map(|c| c.copies).filter(|n| *n > 1).collect();
    let mut head: Vec<String> = ["", "by", "wait", "CPUs", "alone"]
        .map(str::to_owned)
        .to_vec();
    for n in &counts {
        head.extend([
            format!("{n} at once"),
            "× alone".to_owned(),
            "fastest to slowest copy".to_owned(),
        ]);
    }
    let rows: BTreeSet<&Row> = cells.iter().map(|c| &c.row).collect();
    let line = |row: &Row| {
        let cell = |n: u32| cells.iter().find(|c| c.copies == n && c.row == *row);
        let alone = cell(1);
        let mut line: Vec<Text> = vec![
            row.operation.to_string().into(),
            row.how.as_str().into(),
            row.wait.as_str().into(),
            if row.two_cpus { "two" } else { "one" }.into(),
            alone.map(p50).unwrap_or_default().into(),
        ];
        for n in &counts {
            let at_once = cell(*n);
            let ratio = || Some(at_once?.p50_ns()? / alone?.p50_ns()?);
            let spread = at_once.and_then(Cell::copies_ns);
            line.extend([
                at_once.map(p50).unwrap_or_default().into(),
                ratio().map(sig3).unwrap_or_default().into(),
                spread
                    .map(|s| format!("{} to {}", sig3(s.min), sig3(s.max)))
                    .unwrap_or_default()
                    .into(),
            ]);
        }
        line
    };
    Grid {
        head,
        labels: 4,
        rows: rows.into_iter().map(line).collect(),
    }
}

fn p50(cell: &Cell<'_>) -> String {
    match cell.metric() {
        None => cell.instead().to_owned(),
        Some(metric) => {
            let text = Measured::quantile(&metric.quantiles[0], cell.pieces()).line();
            match cell.e.is_unstable() {
                true => format!("~ {text}"),
                false => text,
            }
        }
    }
}

fn legend(summary: &Summary, cells: &[Cell<'_>], nearest: Option<&Processor>) -> Vec<String> {
    let mut lines = vec![
        "intra: between two threads of one process (placement thread); inter: between two processes (placement process); \
         both sides on the same CPU unless CPUs says two; the page has no such rows."
            .to_owned(),
    ];
    let clock = &summary.run.environment.clock;
    lines.push(match tsc_hz(clock) {
        Some(hz) => format!(
            "Our figures are ticks of the time stamp counter, which counts {} per second, independent of the core clock; the first of \
             three figures in the page's x86 rows is the same quantity.",
            crate::number::with_prefix(hz, "")
        ),
        None => format!(
            "No ticks: the run's clock is {}, which is not a time stamp counter.",
            clock.source
        ),
    });
    match cells.iter().any(|c| c.e.copies.iter().any(|x| x.core.is_some())) {
        true => lines.push(
            "Three figures: ticks / core cycles / instructions, of both sides together.".into(),
        ),
        false => lines.push(
            "We have no core cycles or instructions: the machine does not permit reading them (see the remarks)."
                .into(),
        ),
    }
    match nearest {
        Some(p) => lines.push(format!(
            "×: ours over those of {}, the page's nearest processor, {}.",
            p.name,
            match p.has_ticks {
                true => "ticks over ticks; a ratio of ticks and not of times: the rates of the counters differ",
                false => "core cycles over core cycles",
            }
        )),
        None => lines.push("No ×: the page has no processor like this one.".into()),
    }
    let mixes = |p: &Processor| Operation::ALL.into_iter().any(|o| p.is_of_another_run(o));
    if L4re::published().processors.iter().any(mixes) {
        lines.push(
            "†: the ratio of its clocks differs from the other columns of the row: it comes from another run, for example with all cores \
             busy. It has no ×."
                .into(),
        );
    }
    lines.push(
        "fastest to slowest copy: each copy's p50, median over the trials; if the cores share \
         nothing, all copies are equal and × alone is 1."
            .into(),
    );
    let refused = |c: &Cell<'_>| {
        c.metric()
            .is_some_and(|m| m.quantiles[0].estimate().is_none())
    };
    if cells.iter().any(refused) {
        lines.push("–: withheld; the reason is beside it.".into());
    }
    if cells.iter().any(|c| c.e.is_unstable()) {
        lines.push(
            "~: the p50 of a repeated run may differ; --format json says by how much.".into(),
        );
    }
    if cells
        .iter()
        .any(|c| c.e.experiment.workload.kind() != WorkloadKind::Probe)
    {
        lines.push("Messages of a stack carry a payload; those by futex, eventfd, pipe and yield carry no useful data.".into());
    }
    lines.extend(settings::lines(&summary.run, cells.iter().map(|c| c.e)));
    lines
}
