//! The tables of the study beside those of latency and throughput: what a message has beside its payload, what its time is
//! spent on, requirements, the spread of repetitions, the parts of the way, and what a gateway changes.

use super::cells::{
    NONE, SIZES, alone, cpu_of, empty, is_apart, or_none, quantile, rate, rtt, sd, size, table,
    value,
};
use crate::chains;
use crate::grid::{Grid, Text};
use crate::number::{duration, share, sig3, with_prefix};
use crate::published::PrintedTables;
use crate::summary::{ExperimentSummary, PartSummary, Summary};
use dyno_model::TrialFigure;

/// `8B`, as some tables of the study call a size.
fn short(e: &ExperimentSummary) -> Option<&'static str> {
    size(e)?.split(['(', ')']).nth(1)
}

fn cells(study: &PrintedTables, table: &str, label: &str) -> Option<String> {
    study.row(table, label).map(|cells| cells.join(" · "))
}

/// What travels beside the payload.
pub(super) fn overhead(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    let titles = [
        "payload bytes/s",
        "beside the payload",
        "study: bytes/s · beside · total · share",
    ];
    table(&titles, rows, |e| {
        let of_study = short(e).filter(|_| !is_apart(e));
        let of_study = of_study.and_then(|label| cells(study, "overhead", label));
        let beside = match is_apart(e) {
            true => "not counted: headers of frames and protocols",
            false => "not counted: it stays on the host",
        };
        let bytes = e.median(TrialFigure::DeliveredBytesPerS);
        vec![
            or_none(rate(e).and(bytes).map(|b| with_prefix(b, "B"))),
            beside.to_owned(),
            or_none(of_study),
        ]
    })
}

/// CPU time and the rest of a round trip.
pub(super) fn spent(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    let titles = [
        "round trip",
        "on CPUs",
        "share",
        "rest",
        "share of rest",
        "study: CPU; rest",
    ];
    table(&titles, rows, |e| {
        let printed = match size(e).filter(|_| !is_apart(e)) {
            Some("Tiny (8B)") => Some(("breakdown-small", "IPC Messaging", "OS & Scheduling")),
            Some("XXLarge (1MB)") => Some(("breakdown-large", "CPU Processing", "Memory & I/O")),
            _ => None,
        };
        let printed = printed.and_then(|(table, cpu, rest)| {
            let two = |label| {
                let row = study.row(table, label)?;
                Some(row.get(..2)?.join(" · "))
            };
            Some(format!("{}; {}", two(cpu)?, two(rest)?))
        });
        let both = rtt(e).and_then(|m| m.mean).zip(cpu_of(e));
        let mut cells = match both {
            Some((mean, cpu)) => {
                let rest = mean - cpu.median;
                let of_rest = match rest >= 0.0 {
                    true => [duration(rest), share(rest / mean)],
                    false => ["none: several CPUs at once".into(), share(0.0)],
                };
                let of_cpu = [
                    duration(mean),
                    duration(cpu.median),
                    share(cpu.median / mean),
                ];
                of_cpu.into_iter().chain(of_rest).collect()
            }
            None => empty(5),
        };
        cells.push(or_none(printed));
        cells
    })
}

/// How many of the trials' means lie within one standard deviation of their mean.
pub(super) fn within(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    table(&["trials", "share", "study"], rows, |e| {
        let means = rtt(e).and_then(|m| m.means);
        let label = short(e).filter(|_| !is_apart(e));
        let label = label.map(|size| format!("{size} payload:"));
        let of_study = label.and_then(|label| cells(study, "within", &label));
        let counted = means.map(|m| format!("{} of {}", m.within_sd, m.n));
        let part = means.map(|m| match m.n {
            // Two values are always within one σ of their middle.
            0..=2 => format!("{} trials are too few", m.n),
            n => share(m.within_sd as f64 / n as f64),
        });
        vec![or_none(counted), or_none(part), or_none(of_study)]
    })
}

/// What the study holds its figures against, of the smallest size of each stack; throughput of the size with most bytes.
pub(super) fn requirements(
    study: &PrintedTables,
    echo: &[&ExperimentSummary],
    flood: &[&ExperimentSummary],
) -> Grid {
    let smallest = echo.iter().map(|e| e.experiment.payload).min();
    let tiny = echo
        .iter()
        .filter(|e| Some(e.experiment.payload) == smallest);
    let rows: Vec<&ExperimentSummary> = tiny.copied().collect();
    let asked = |table: &str, label: &str| {
        let row = study.row(table, label)?;
        Some(format!("{} (study: {})", row.get(1)?, row.first()?))
    };
    let titled = |title: &str, asked: Option<String>| match asked {
        Some(asked) => format!("{title}: {asked}"),
        None => title.to_owned(),
    };
    let titles = [
        titled("p99", asked("context", "p99 latency")),
        titled("σ/mean", asked("context", "Latency variance")),
        titled(
            "most bytes/s",
            asked("context-throughput", "Throughput (peak)"),
        ),
        titled("σ", asked("context-rest", "Determinism")),
        titled("CPU/wall", asked("context-rest", "CPU efficiency")),
    ];
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    table(&titles, &rows, |e| {
        let x = &e.experiment;
        let m = rtt(e);
        let mean = m.and_then(|m| m.mean);
        let spread = m.and_then(|m| sd(e, m.means?));
        let own = flood.iter().filter(|f| {
            let y = &f.experiment;
            (&x.stack, x.wait, x.placement) == (&y.stack, y.wait, y.placement)
        });
        let most = own.filter_map(|f| f.median(TrialFigure::DeliveredBytesPerS));
        let most = most.fold(0.0, f64::max);
        let cpu = cpu_of(e).zip(mean);
        vec![
            m.map_or_else(|| NONE.into(), |m| quantile(m, 2)),
            or_none(spread.zip(mean).map(|(sd, mean)| share(sd / mean))),
            or_none((most > 0.0).then(|| with_prefix(most, "B"))),
            or_none(spread.map(duration)),
            or_none(cpu.map(|(cpu, mean)| share(cpu.median / mean))),
        ]
    })
}

/// One of the figures that the study has of both its paths: the table and row of the study, and our text and number.
struct Changed {
    title: &'static str,
    printed: (&'static str, &'static str),
    of: fn(&ExperimentSummary) -> Option<f64>,
    text: fn(f64) -> String,
    test: Which,
}

#[derive(Clone, Copy, PartialEq)]
enum Which {
    Echo,
    Flood,
    Stress,
}

const fn changed(
    title: &'static str,
    printed: (&'static str, &'static str),
    of: fn(&ExperimentSummary) -> Option<f64>,
    text: fn(f64) -> String,
    test: Which,
) -> Changed {
    Changed {
        title,
        printed,
        of,
        text,
        test,
    }
}

fn per_second(hz: f64) -> String {
    with_prefix(hz, "")
}

fn bytes_per_second(b: f64) -> String {
    with_prefix(b, "B")
}

const CHANGES: [Changed; 11] = [
    changed(
        "mean",
        ("someip-latency", "Mean Latency"),
        |e| rtt(e)?.mean,
        duration,
        Which::Echo,
    ),
    changed(
        "p50",
        ("someip-quantiles", "Median (p50)"),
        |e| value(rtt(e)?, 0),
        duration,
        Which::Echo,
    ),
    changed(
        "σ of the trials",
        ("someip-quantiles", "Std Dev"),
        |e| sd(e, rtt(e)?.means?),
        duration,
        Which::Echo,
    ),
    changed(
        "p90",
        ("someip-quantiles", "p90"),
        |e| value(rtt(e)?, 1),
        duration,
        Which::Echo,
    ),
    changed(
        "p99",
        ("someip-quantiles", "p99"),
        |e| value(rtt(e)?, 2),
        duration,
        Which::Echo,
    ),
    changed(
        "range of the trials",
        ("someip-range", "Latency Range"),
        |e| rtt(e)?.means.map(|m| m.max - m.min),
        duration,
        Which::Echo,
    ),
    changed(
        "messages/s",
        ("someip-throughput", "Messages/sec"),
        rate,
        per_second,
        Which::Flood,
    ),
    changed(
        "bytes/s",
        ("someip-throughput", "Bytes/sec"),
        |e| rate(e).and(e.median(TrialFigure::DeliveredBytesPerS)),
        bytes_per_second,
        Which::Flood,
    ),
    changed(
        "time per message",
        ("someip-time", "Time per Message"),
        |e| rate(e).map(|hz| 1e9 / hz),
        duration,
        Which::Flood,
    ),
    changed(
        "messages/s, of 100",
        ("someip-stress", "Messages/sec"),
        rate,
        per_second,
        Which::Stress,
    ),
    changed(
        "time of 100",
        ("someip-stress-time", "Time per 100 msgs"),
        |e| rate(e).map(|hz| 100e9 / hz),
        duration,
        Which::Stress,
    ),
];

/// Each chain at the study's smallest size beside its first leg alone, figure by figure.
pub(super) fn changes(
    summary: &Summary,
    study: &PrintedTables,
    all: [&[&ExperimentSummary]; 3],
) -> Grid {
    let mut rows = Vec::new();
    let mut ways: Vec<(String, _, _)> = Vec::new();
    for e in all.iter().flat_map(|rows| rows.iter()) {
        let x = &e.experiment;
        let way = (x.stack.clone(), x.wait, x.placement);
        if e.chain.is_some() && !ways.contains(&way) {
            ways.push(way);
        }
    }
    for way in &ways {
        for c in &CHANGES {
            let own = all[c.test as usize].iter().filter(|e| {
                let x = &e.experiment;
                (&x.stack, x.wait, x.placement) == (&way.0, way.1, way.2)
                    && size(e) == Some(SIZES[0].1)
            });
            let own: Vec<&&ExperimentSummary> = own.collect();
            for e in &own {
                rows.push(change(summary, study, c, e, own.len() > 1));
            }
        }
    }
    Grid {
        head: [
            "stack",
            "figure",
            "through gateways",
            "local",
            "difference",
            "study: SOME/IP · LoLa · difference",
        ]
        .map(str::to_owned)
        .to_vec(),
        labels: 2,
        rows,
    }
}

/// One row of that; `named`: other experiments have the same figure on the same stack.
fn change(
    summary: &Summary,
    study: &PrintedTables,
    c: &Changed,
    own: &ExperimentSummary,
    named: bool,
) -> Vec<Text> {
    let x = &own.experiment;
    let title = match named {
        true => format!("{} of {}, {}", c.title, x.name, x.topology),
        false => c.title.to_owned(),
    };
    let local = alone(summary, own);
    let (a, b) = ((c.of)(own), local.and_then(|l| (c.of)(l)));
    let sign = |d: f64| match d < 0.0 {
        true => format!("-{}", (c.text)(-d)),
        false => format!("+{}", (c.text)(d)),
    };
    let cells = [
        x.stack.clone(),
        title,
        or_none(a.map(c.text)),
        match local {
            Some(l) => or_none(b.map(|b| format!("{} ({})", (c.text)(b), l.experiment.stack))),
            None => "its first leg was not measured alone".to_owned(),
        },
        or_none(
            a.zip(b)
                .map(|(a, b)| format!("{} (× {})", sign(a - b), sig3(a / b))),
        ),
        or_none(cells(study, c.printed.0, c.printed.1)),
    ];
    cells.map(Text::from).to_vec()
}

/// One table for each chain and size, with its title.
pub(super) fn parts(rows: &[&ExperimentSummary]) -> Vec<(String, Grid)> {
    let one = |e: &&ExperimentSummary| {
        let chain = e.chain.as_ref()?;
        let row = |p: &PartSummary| {
            [
                chains::name(p.stage, p.stack.as_deref(), p.back),
                chains::time(&p.mean),
                chains::time(&p.p50),
                p.p99
                    .as_ref()
                    .map_or_else(|| "too few messages".to_owned(), chains::time),
                share(p.share),
                p.in_tail
                    .map_or_else(|| "too few messages".to_owned(), duration),
            ]
            .map(Text::from)
            .to_vec()
        };
        let grid = Grid {
            head: ["part", "mean", "p50", "p99", "share", "in the slowest 1 %"]
                .map(str::to_owned)
                .to_vec(),
            labels: 1,
            rows: chain.parts.iter().map(row).chain(whole(e)).collect(),
        };
        let residual = chain
            .residual_ns
            .map(|ns| format!(", largest residual of a message {ns} ns"));
        let least = chain.least_ns.map(|ns| format!(", smallest part {ns} ns"));
        let title = format!(
            "Where the round trip of {} on {} goes (its 10.5); {} messages{}{}",
            e.experiment.payload,
            e.experiment.stack,
            chain.messages,
            residual.unwrap_or_default(),
            least.unwrap_or_default()
        );
        Some((title, grid))
    };
    rows.iter().filter_map(one).collect()
}

/// The whole, below its parts.
fn whole(e: &ExperimentSummary) -> Option<Vec<Text>> {
    let m = rtt(e)?;
    let cells = [
        "whole round trip".to_owned(),
        or_none(m.mean.map(duration)),
        quantile(m, 0),
        quantile(m, 2),
        share(1.0),
        NONE.to_owned(),
    ];
    Some(cells.map(Text::from).to_vec())
}
