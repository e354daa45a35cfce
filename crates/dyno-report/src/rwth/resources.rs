//! Fig. 5: the scaling factor, and memory and CPU beside those of the baseline.

use super::lines::{Cell, Line, MessageType, Reasons, Table, place};
use crate::grid::{Grid, Text};
use crate::number::{Measured, share, sig3};
use crate::published::Place;
use crate::summary::{ExperimentSummary, ScalingSummary, Spread};
use dyno_model::{Placement, TrialFigure};

/// Bytes in the MB of the table.
const MB: f64 = 1e6;

/// The line that others are compared with, as in the paper.
pub(super) fn baseline<'t>(table: &'t Table<'_>) -> Option<&'t Line> {
    let memory = &table.study.memory;
    let wanted = Some((memory.reliability, memory.middleware.as_str()));
    table
        .lines
        .iter()
        .find(|l| l.paper == wanted && l.variant.is_none())
}

/// S of each line and place, its ratio to that of the baseline, and the paper's. Nanoseconds per byte
/// are milliseconds per MB.
pub(super) fn scaling(table: &Table<'_>, reasons: &mut Reasons) -> Grid {
    let of = |line: &Line, at: Place| {
        let mut all = table.summary.scaling.iter();
        all.find(|s| place(&s.first) == at && table.is_of(line, &s.first))
    };
    let slope = |s: &ScalingSummary| s.fit.as_ref()?.slope.value.finite();
    let base = baseline(table);
    let rows = &table.study.scaling.rows;
    let figure = |line: &Line| {
        let row = rows
            .iter()
            .find(|r| Some((r.reliability, r.middleware.as_str())) == line.paper)?;
        Some((row.s.0, row.arrived))
    };
    let base_figure = base.and_then(figure).and_then(|(s, _)| s);
    let mut grid = Grid {
        head: [
            "line",
            "",
            "S [ms/MB]",
            "× baseline",
            "at 0 B [ms]",
            "sizes",
            "arrived/offered",
            "delivered",
            "paper S",
            "paper × baseline",
            "paper arrived",
        ]
        .map(str::to_owned)
        .to_vec(),
        labels: 2,
        rows: Vec::new(),
    };
    let mut places: Vec<Place> = table
        .summary
        .scaling
        .iter()
        .map(|s| place(&s.first))
        .collect();
    places.sort_unstable();
    places.dedup();
    for at in places {
        for line in &table.lines {
            let Some(s) = of(line, at) else { continue };
            let base_slope = base.and_then(|b| slope(of(b, at)?));
            let ratio = |own: Option<f64>, base: Option<f64>| match (own, base) {
                (Some(own), Some(base)) if base > 0.0 => sig3(own / base),
                _ => "–".into(),
            };
            let value = match &s.fit {
                Some(fit) => Measured::estimate(&fit.slope, 1.0).line(),
                None => {
                    let why = s.reason.clone().unwrap_or_default();
                    format!("– {}", reasons.code(format!("no scaling factor: {why}")))
                }
            };
            let zero = s.fit.as_ref().map(|fit| signed(fit.intercept / 1e6));
            let paper = figure(line).filter(|_| at == table.study.scaling.topology);
            let paper_s = paper.and_then(|(s, _)| s);
            let delivered = s.received as f64 / s.offered.max(1) as f64;
            grid.rows.push(
                [
                    line.label.clone(),
                    at.to_string(),
                    value,
                    ratio(slope(s), base_slope),
                    zero.unwrap_or_else(|| "–".into()),
                    s.sizes.to_string(),
                    format!("{}/{}", s.received, s.offered),
                    if s.offered > 0 {
                        share(delivered)
                    } else {
                        "–".into()
                    },
                    paper_s.map_or_else(|| "–".into(), |s| s.to_string()),
                    ratio(paper_s, base_figure),
                    paper.map_or_else(
                        || "–".into(),
                        |(_, arrived)| format!("{arrived}/{}", table.study.scaling.samples),
                    ),
                ]
                .map(Text::from)
                .to_vec(),
            );
        }
    }
    grid
}

fn signed(value: f64) -> String {
    match value < 0.0 {
        true => format!("−{}", sig3(-value)),
        false => sig3(value),
    }
}

/// Memory at the end of the window and CPU time of all processes of the stack, by placement and message
/// type: the median over topologies.
pub(super) fn resources(table: &Table<'_>) -> Grid {
    let mut columns: Vec<(Placement, &MessageType)> = Vec::new();
    for placement in [Placement::Thread, Placement::Process, Placement::Host] {
        let ran = |m: &&MessageType| table.places_of(m).iter().any(|p| p.placement == placement);
        columns.extend(table.messages.iter().filter(ran).map(|m| (placement, m)));
    }
    let letter = |placement: Placement| match placement {
        Placement::Thread => 'T',
        Placement::Process => 'C',
        Placement::Host => 'D',
    };
    let mut head = vec!["line".to_owned(), String::new()];
    head.extend(
        columns
            .iter()
            .map(|(p, m)| format!("{} {}", letter(*p), m.name())),
    );
    head.push("paper".into());
    let mut grid = Grid {
        head,
        labels: 2,
        rows: Vec::new(),
    };
    let base = baseline(table);
    for line in &table.lines {
        let over = |f: &dyn Fn(&Line, Place, &MessageType) -> Option<f64>| -> Vec<Option<Spread>> {
            let of = |(placement, message): &(Placement, &MessageType)| {
                let places = table.places_of(message).into_iter();
                let own = places.filter(|p| p.placement == *placement);
                Spread::of(own.filter_map(|at| f(line, at, message)))
            };
            columns.iter().map(of).collect()
        };
        let memory = |line: &Line, at: Place, message: &MessageType| {
            let e = ran(table.of_message(line, at, message))?;
            Some(e.median(TrialFigure::PssBytes)? / MB)
        };
        let used = over(&memory);
        if used.iter().all(Option::is_none) {
            continue;
        }
        let cpu = over(&|line, at, message| {
            ran(table.of_message(line, at, message))?.median(TrialFigure::BusyCpus)
        });
        let text = |values: &[Option<Spread>], f: &dyn Fn(f64) -> String| -> Vec<Text> {
            let one = |s: &Option<Spread>| s.map_or_else(String::new, |s| f(s.median));
            values.iter().map(|s| Text::from(one(s))).collect()
        };
        let mut row = |title: &str, label: &str, cells: Vec<Text>, paper: String| {
            let mut all: Vec<Text> = vec![label.into(), title.into()];
            all.extend(cells);
            all.push(paper.into());
            grid.rows.push(all);
        };
        row(
            "memory [MB]",
            &line.label,
            text(&used, &sig3),
            String::new(),
        );
        if let Some(base) = base.filter(|b| *b != line && !line.floor) {
            let more = over(&|line, at, message| {
                Some(memory(line, at, message)? - memory(base, at, message)?)
            });
            let published = table.study.memory.rows.iter().find(|r| {
                line.variant.is_none() && line.paper == Some((r.reliability, r.middleware.as_str()))
            });
            let published = published.map_or_else(
                || "–".to_owned(),
                |r| format!("+{} ({})", r.more_mb, r.statistic),
            );
            let sign = |v: f64| match v < 0.0 {
                true => signed(v),
                false => format!("+{}", sig3(v)),
            };
            row("− baseline", "", text(&more, &sign), published);
        }
        row(
            "CPU [%]",
            "",
            text(&cpu, &|v| sig3(100.0 * v)),
            String::new(),
        );
    }
    grid
}

fn ran(cell: Cell<'_>) -> Option<&ExperimentSummary> {
    match cell {
        Cell::Ran(e) if e.trials.counted > 0 => Some(e),
        _ => None,
    }
}
