//! Tables I and II, Fig. 3 b and Fig. 4 b: a block of rows for each line, a column for each placement
//! and topology.

use super::lines::{Cell, Line, Reasons, Table};
use crate::grid::{Grid, Mark, Text};
use crate::number::{self, Measured, TimeUnit, sig3};
use crate::published::{Latencies, Place};
use crate::summary::{ExperimentSummary, MetricSummary};
use dyno_model::{Metric, WorkloadKind};

/// What delivers less of what it was offered is no candidate for the fastest.
pub(super) const ENOUGH: f64 = 0.99;

const MS: f64 = TimeUnit::Milli.ns();

/// Table I: what was asked for, and what the paper has.
pub(super) fn message_types(table: &Table<'_>) -> Grid {
    let row = |m: &super::lines::MessageType| {
        let paper = table.study.messages.iter().find(|p| p.name == m.first.name);
        let paper = paper.map_or_else(
            || "–".to_owned(),
            |p| format!("{} Hz, {} kB", p.rate_hz, p.size_kb),
        );
        [
            m.first.name.clone(),
            m.first.workload.to_string(),
            m.first.payload.to_string(),
            paper,
        ]
        .map(Text::from)
        .to_vec()
    };
    Grid {
        head: ["message type", "workload", "payload", "paper"]
            .map(str::to_owned)
            .to_vec(),
        labels: 1,
        rows: table.messages.iter().map(row).collect(),
    }
}

/// Table II, one line each: the stacks with their options, and what the paper says of its own.
pub(super) fn configurations(table: &Table<'_>) -> Vec<String> {
    let one = |line: &Line| {
        let stacks = line.stacks().into_iter().filter_map(|name| {
            let stack = table.summary.run.stacks.get(name)?;
            let options = stack
                .options
                .iter()
                .map(|(key, value)| format!("{key} = {value}"));
            let options: Vec<String> = options.collect();
            Some(match options.is_empty() {
                true => format!("{name} (default settings)"),
                false => format!("{name} ({})", options.join(", ")),
            })
        });
        let stacks: Vec<String> = stacks.collect();
        let paper = table.study.configurations.iter().find(|c| {
            line.variant.is_none() && line.paper == Some((c.reliability, c.middleware.as_str()))
        });
        let paper = paper.map_or_else(String::new, |c| format!("; the paper: {}", c.text));
        format!("{}: {}{paper}", line.label, stacks.join("; "))
    };
    table.lines.iter().map(one).collect()
}

/// What a block shows of a cell.
type Quantity<'t> = (&'static str, Box<dyn Fn(&ExperimentSummary) -> String + 't>);

/// A quantity of which the extremes are marked.
struct Marked {
    title: &'static str,
    /// In nanoseconds.
    value: fn(&ExperimentSummary) -> Option<f64>,
    text: fn(&ExperimentSummary) -> String,
}

/// Fig. 3 b.
pub(super) fn first_message(table: &Table<'_>, reasons: &mut Reasons) -> Grid {
    let wanted = |e: &dyno_model::Experiment| e.workload.kind() == WorkloadKind::FirstMessage;
    let all = &table.summary.experiments;
    let Some(first) = all.iter().find(|e| wanted(&e.experiment)) else {
        return Grid::default();
    };
    let name = first.experiment.name.clone();
    let marked = [
        Marked {
            title: "p50",
            value: |e| p50(e, Metric::FirstMessage),
            text: |e| quantile(e, Metric::FirstMessage, 0),
        },
        Marked {
            title: "max",
            value: |e| max(e, Metric::FirstMessage),
            text: |e| shown(max(e, Metric::FirstMessage)),
        },
    ];
    let others: Vec<Quantity<'_>> = vec![
        ("p90", Box::new(|e| quantile(e, Metric::FirstMessage, 1))),
        (
            "its parts",
            Box::new(|e| {
                let parts = [Metric::Open, Metric::Match, Metric::FirstDelivery];
                match parts.map(|m| p50(e, m)) {
                    [Some(a), Some(b), Some(c)] => [a, b, c].map(|v| sig3(v / MS)).join(" + "),
                    _ => String::new(),
                }
            }),
        ),
        (
            "starts",
            Box::new(|e| match e.metrics.get(&Metric::FirstMessage) {
                Some(m) => (m.n + m.infinite).to_string(),
                None => String::new(),
            }),
        ),
    ];
    let places = table.places(wanted);
    let paper = Some((&table.study.first_message, "imu"));
    let of = |line: &Line, at: Place| table.cell(line, at, &name, wanted);
    blocks(table, &places, &marked, &others, paper, of, reasons)
}

/// Fig. 4 b, one table for each message type, with its title.
pub(super) fn communication(table: &Table<'_>, reasons: &mut Reasons) -> Vec<(String, Grid)> {
    let marked = [
        Marked {
            title: "p50",
            value: |e| p50(e, Metric::Service),
            text: |e| quantile(e, Metric::Service, 0),
        },
        Marked {
            title: "max",
            value: |e| max(e, Metric::Service),
            text: |e| shown(max(e, Metric::Service)),
        },
        Marked {
            title: "response p50",
            value: |e| p50(e, Metric::Response),
            text: |e| quantile(e, Metric::Response, 0),
        },
    ];
    let others: Vec<Quantity<'_>> = vec![(
        "delivered",
        Box::new(|e| e.delivered_ratio().map_or_else(String::new, number::share)),
    )];
    let one = |message: &super::lines::MessageType| {
        let places = table.places_of(message);
        let paper = table
            .in_paper(message)
            .map(|name| (&table.study.communication, name));
        let of = |line: &Line, at: Place| table.of_message(line, at, message);
        let grid = blocks(table, &places, &marked, &others, paper, of, reasons);
        (message.title(), grid)
    };
    table.messages.iter().map(one).collect()
}

/// A block of rows for each line that has an experiment.
fn blocks<'a>(
    table: &Table<'a>,
    places: &[Place],
    marked: &[Marked],
    others: &[Quantity<'_>],
    paper: Option<(&Latencies, &str)>,
    of: impl Fn(&Line, Place) -> Cell<'a>,
    reasons: &mut Reasons,
) -> Grid {
    let mut head = vec!["line".to_owned(), String::new()];
    head.extend(places.iter().map(Place::to_string));
    let ran = |line: &&Line| {
        places
            .iter()
            .any(|at| matches!(of(line, *at), Cell::Ran(_)))
    };
    let lines: Vec<&Line> = table.lines.iter().filter(ran).collect();
    let mut rows: Vec<Vec<Text>> = Vec::new();
    for line in &lines {
        let cells: Vec<Cell<'a>> = places.iter().map(|at| of(line, *at)).collect();
        // Reasons stand once in a block, beside or instead of its first figure.
        let codes: Vec<String> = cells.iter().map(|cell| absence(cell, reasons)).collect();
        for (i, quantity) in marked.iter().enumerate() {
            let label = if i == 0 { line.label.as_str() } else { "" };
            let mut row: Vec<Text> = vec![label.into(), quantity.title.into()];
            for ((cell, at), code) in cells.iter().zip(places).zip(&codes) {
                let mut text = match cell {
                    Cell::Ran(e) if e.trials.counted > 0 => (quantity.text)(e),
                    _ => String::new(),
                };
                if i == 0 && matches!(cell, Cell::Ran(e) if e.is_unstable()) {
                    text.insert_str(0, "~ ");
                }
                if i == 0 && !code.is_empty() {
                    text = format!("{text} {code}").trim_start().to_owned();
                }
                let column = lines.iter().map(|l| (*l, of(l, *at)));
                let mark = match cell {
                    Cell::Ran(e) if !line.floor => mark(quantity, e, column),
                    _ => Mark::None,
                };
                row.push(Text { text, mark });
            }
            rows.push(row);
        }
        for (title, text) in others {
            let mut row: Vec<Text> = vec!["".into(), (*title).into()];
            row.extend(cells.iter().map(|cell| match cell {
                Cell::Ran(e) if e.trials.counted > 0 => Text::from(text(e)),
                _ => Text::default(),
            }));
            rows.push(row);
        }
        if let (Some((figures, message)), Some((reliability, middleware))) = (paper, line.paper) {
            let mut row: Vec<Text> = vec!["".into(), "paper".into()];
            row.extend(places.iter().map(|at| {
                match figures.figures(reliability, middleware, message, *at) {
                    (Some(median), Some(max)) => Text::from(format!("{median:.3} / {max:.3}")),
                    _ => "–".into(),
                }
            }));
            rows.push(row);
        }
    }
    Grid {
        head,
        labels: 2,
        rows,
    }
}

/// What stands in the place of a figure, or behind it where only some trials failed.
fn absence(cell: &Cell<'_>, reasons: &mut Reasons) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Refused(r) => format!("refused {}", reasons.code(format!("refused: {}", r.reason))),
        Cell::Ran(e) if e.failures.is_empty() && e.trials.counted == 0 => "not run".into(),
        Cell::Ran(e) => {
            let mut codes = reasons.failures(e);
            if let Some(bound) = e.clock_bound.filter(|_| is_blurred(e, Metric::Service)) {
                let reason = format!(
                    "one way cannot be resolved: the clocks of its hosts are known only to within \
                     {bound}, more than a tenth of the median"
                );
                codes.push_str(&reasons.code(reason));
            }
            match e.trials.counted {
                0 => format!("failed {codes}"),
                _ => codes,
            }
        }
    }
}

/// Whether the experiment is the extreme of its column.
fn mark<'a>(
    quantity: &Marked,
    e: &ExperimentSummary,
    column: impl Iterator<Item = (&'a Line, Cell<'a>)>,
) -> Mark {
    let all: Vec<(f64, bool)> = column
        .filter_map(|(line, cell)| match cell {
            Cell::Ran(e) if !line.floor => Some(((quantity.value)(e)?, delivers(e))),
            _ => None,
        })
        .collect();
    let Some(own) = (quantity.value)(e).filter(|_| all.len() > 1) else {
        return Mark::None;
    };
    let fit = all
        .iter()
        .filter(|(_, delivers)| *delivers)
        .map(|(v, _)| *v);
    let least = fit.fold(f64::INFINITY, f64::min);
    let lowest = all.iter().map(|(v, _)| *v).fold(f64::INFINITY, f64::min);
    let most = all
        .iter()
        .map(|(v, _)| *v)
        .fold(f64::NEG_INFINITY, f64::max);
    if least < most && own == least && delivers(e) {
        Mark::Smallest
    } else if lowest < most && own == most {
        Mark::Largest
    } else {
        Mark::None
    }
}

/// Whether enough arrives for the cell to be compared by its latency.
pub(super) fn delivers(e: &ExperimentSummary) -> bool {
    e.delivered_ratio().is_none_or(|share| share >= ENOUGH)
}

fn metric(e: &ExperimentSummary, metric: Metric) -> Option<&MetricSummary> {
    e.metrics.get(&metric)
}

/// Whether the clocks of the hosts are known too badly for that metric.
fn is_blurred(e: &ExperimentSummary, of: Metric) -> bool {
    e.is_resolvable(of) == Some(false)
}

/// In nanoseconds, infinite where half was lost; `None` where it is refused or not resolvable.
fn p50(e: &ExperimentSummary, of: Metric) -> Option<f64> {
    if is_blurred(e, of) {
        return None;
    }
    let estimate = metric(e, of)?.quantiles[0].estimate()?;
    Some(number::latency_ns(&estimate.value))
}

fn max(e: &ExperimentSummary, of: Metric) -> Option<f64> {
    if is_blurred(e, of) {
        return None;
    }
    Some(metric(e, of)?.max? as f64)
}

fn shown(ns: Option<f64>) -> String {
    ns.map_or_else(String::new, |ns| sig3(ns / MS))
}

fn quantile(e: &ExperimentSummary, of: Metric, index: usize) -> String {
    match metric(e, of) {
        Some(_) if is_blurred(e, of) => "–".into(),
        Some(m) => Measured::quantile(&m.quantiles[index], MS).line(),
        None => String::new(),
    }
}
