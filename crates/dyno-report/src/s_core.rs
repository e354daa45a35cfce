//! The tables of S-CORE's study of its SOME/IP gateway, from a run: round trips over sizes, tails, CPU, throughput, 100
//! messages back to back, variation, the parts of the way, and local against gateway; the study's figures beside ours.
//!
//! The study's standard deviations and ranges are of the means of its repetitions. So are ours, of the trials' means;
//! quantiles are of single messages, as they are everywhere in Dyno.

mod cells;
mod rest;

use self::cells::{
    BATCH, NONE, SIZES, Test, alone, cpu_of, empty, is_apart, or_none, quantile, rate, rtt, sd,
    size, table, value,
};
use crate::chains;
use crate::columns::Columns;
use crate::grid::{Grid, Text};
use crate::notes;
use crate::number::{duration, share, sig3, with_prefix};
use crate::published::PrintedTables;
use crate::settings;
use crate::study::Page;
use crate::summary::{ExperimentSummary, Spread, Summary};
use crate::view::View;
use dyno_model::{PayloadSize, TrialFigure};

/// Whether an experiment has a row here; one leg of a chain alone has its row in the table of stacks.
pub(crate) fn shows(e: &ExperimentSummary) -> bool {
    !e.is_base && !e.is_leg && Test::of(e).is_some()
}

/// All tables, legend and remarks. With `markdown` the width is ignored.
pub(crate) fn render(summary: &Summary, limit: Option<usize>, markdown: bool) -> String {
    let study = PrintedTables::s_core();
    let mut out = Page::new(limit, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let all = |test: Test| -> Vec<&ExperimentSummary> {
        let own = summary.experiments.iter();
        own.filter(|e| shows(e) && Test::of(e) == Some(test))
            .collect()
    };
    let (echo, flood, stress) = (all(Test::Echo), all(Test::Throughput), all(Test::Stress));
    out.part(
        "Round trips (the study's 1.1, 10.2)",
        &latency(study, &echo),
    );
    out.part("Percentiles (its 2.1, 10.2)", &tails(study, &echo));
    out.part("CPU of all processes (its section 3)", &cpu(study, &echo));
    out.part("CPU over size (its section 3)", &growth(study, &echo));
    out.part("Throughput (its 4.1, 10.3)", &throughput(study, &flood));
    out.part(
        "100 messages back to back (its 4.2, 10.4)",
        &batches(study, &stress, &flood),
    );
    out.part("p50 of the round trip over size (its 5.1)", &sizes(&echo));
    out.part("Payload overhead (its 5.2)", &rest::overhead(study, &flood));
    out.part(
        "Variation of the trials (its 6.1)",
        &variation(study, &echo),
    );
    out.part(
        "What a round trip is spent on (its 6.3)",
        &rest::spent(study, &echo),
    );
    out.part(
        "What the study calls typical requirements (its 7.1)",
        &rest::requirements(study, &echo, &flood),
    );
    out.part(
        "Trials whose mean is within one σ of all (its 8.1)",
        &rest::within(study, &echo),
    );
    out.part(
        "What a gateway changes, at 8 B (its 10.2, 10.3, 10.4)",
        &rest::changes(summary, study, [&echo, &flood, &stress]),
    );
    for (title, grid) in rest::parts(&echo) {
        out.part(&title, &grid);
    }
    let printed = study.rows("gw-stage").iter().map(|row| row.join(": "));
    let printed: Vec<String> = printed.collect();
    if echo.iter().any(|e| e.chain.is_some()) {
        out.list(
            "The study's own breakdown, which is estimated (its 10.5)",
            &printed,
        );
    }
    out.part(
        "Local against gateway (its 10.6)",
        &compared(summary, &echo, &flood),
    );
    out.list("How to read this", &legend(summary));
    let flaws = study
        .flaws
        .iter()
        .map(|f| format!("{}: {}", f.about, f.says));
    let title = format!(
        "Before comparing with the study ({}, {})",
        study.title, study.place
    );
    out.list(&title, &flaws.collect::<Vec<_>>());
    let remarks = notes::sections(&View::new(summary, shows, &Columns::All));
    match markdown {
        true => crate::markdown::sections(&mut out.lines.text, &remarks),
        false => out.lines.sections(&remarks),
    }
    out.lines.text
}

fn legend(summary: &Summary) -> Vec<String> {
    let mut lines = vec![
        "p50, p90 and p99: of single messages, with 95 % intervals; mean, σ, range and spread: of the trials' own means, as \
         the study's are of its repetitions'."
            .to_owned(),
        format!("{NONE}: too few samples or trials for this figure, or the trials failed; the remarks below say which."),
        "study: as printed, in the order of the columns; LoLa beside local rows, SOME/IP beside rows that go to another host."
            .into(),
        "CPU: user and system time of all processes, including gateways and daemons, per round trip; the study counts only its client. \
         CPU/wall: divided by the mean round trip, so 100 % is one busy CPU."
            .into(),
        "Payload overhead: the study's formula subtracts kilobytes per second from bytes. Dyno \
         does not count what a network carries besides the payload; those cells say where it \
         occurs."
            .into(),
        "What a round trip is spent on: CPU time is the sum over all processes, so it may exceed \
         the elapsed time. The rest is at least the time for which no process of the stack was on \
         a CPU."
            .into(),
        "Requirements: `dyno check RUN limits/s-core.toml` judges them by intervals, and says pass, fail or undecided."
            .into(),
        "One-way messages have at least 32 B, because they carry the tag that verifies their receipt; they are shown beside the study's 8 B."
            .into(),
        "Parts of the way: means add up to the mean of the whole, quantiles need not. Each part ends with the stamp at which the next one \
         begins, so a residual shows that something is wrong. If records of different messages were combined, the smallest part would be \
         below zero."
            .into(),
    ];
    let all: Vec<&ExperimentSummary> = summary.experiments.iter().collect();
    lines.extend(chains::of_sleep(&all));
    lines.extend(settings::lines(&summary.run, all));
    lines
}

/// What the study printed beside: for local paths a row of a table by size, else the `someip` column of rows by metric,
/// which it has of 8 B only.
fn printed(
    study: &PrintedTables,
    e: &ExperimentSummary,
    table: &str,
    apart: &[(&str, &str)],
) -> String {
    let Some(size) = size(e) else {
        return NONE.into();
    };
    let cells: Vec<&str> = match is_apart(e) {
        false => study
            .row(table, size)
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect(),
        true if size == SIZES[0].1 => apart
            .iter()
            .filter_map(|(table, label)| study.row(table, label)?.first())
            .map(String::as_str)
            .collect(),
        true => Vec::new(),
    };
    match cells.is_empty() {
        true => NONE.into(),
        false => cells.join(" · "),
    }
}

fn latency(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    const APART: &[(&str, &str)] = &[
        ("someip-quantiles", "Median (p50)"),
        ("someip-latency", "Mean Latency"),
        ("someip-quantiles", "Std Dev"),
        ("someip-range", "Latency Range"),
    ];
    let titles = ["p50", "mean", "σ", "range", "spread", "study"];
    table(&titles, rows, |e| {
        let mut cells = match rtt(e).and_then(|m| Some((m, m.means?))) {
            Some((m, means)) => vec![
                quantile(m, 0),
                or_none(m.mean.map(duration)),
                or_none(sd(e, means).map(duration)),
                // A single trial has no range.
                or_none(
                    sd(e, means)
                        .map(|_| format!("{} to {}", duration(means.min), duration(means.max))),
                ),
                or_none(sd(e, means).map(|_| duration(means.max - means.min))),
            ],
            None => empty(5),
        };
        cells.push(printed(study, e, "latency", APART));
        cells
    })
}

fn tails(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    const APART: &[(&str, &str)] = &[
        ("someip-quantiles", "Median (p50)"),
        ("someip-quantiles", "p90"),
        ("someip-quantiles", "p99"),
    ];
    table(&["p50", "p90", "p99", "p99 - p50", "study"], rows, |e| {
        let mut cells = match rtt(e) {
            Some(m) => {
                let mut cells: Vec<String> = (0..3).map(|i| quantile(m, i)).collect();
                let tail = value(m, 0).zip(value(m, 2));
                cells.push(or_none(tail.map(|(p50, p99)| {
                    format!("{} (+{})", duration(p99 - p50), share((p99 - p50) / p50))
                })));
                cells
            }
            None => empty(4),
        };
        cells.push(printed(study, e, "tail", APART));
        cells
    })
}

fn cpu(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    const APART: &[(&str, &str)] = &[("gw-activity", "CPU Processing")];
    table(&["CPU", "CPU/wall", "σ", "study"], rows, |e| {
        let cpu = cpu_of(e);
        let mean = rtt(e).and_then(|m| m.mean);
        vec![
            or_none(cpu.map(|c| duration(c.median))),
            or_none(cpu.zip(mean).map(|(c, mean)| share(c.median / mean))),
            or_none(cpu.and_then(|c| sd(e, c)).map(duration)),
            printed(study, e, "cpu", APART),
        ]
    })
}

/// What a further kilobyte costs from one size to the next.
fn growth(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    let pairs: Vec<[&ExperimentSummary; 2]> = steps(rows);
    let row = |[a, b]: &[&ExperimentSummary; 2]| {
        let (from, to) = (&a.experiment, &b.experiment);
        let kib = (to.payload.bytes() - from.payload.bytes()) as f64 / 1024.0;
        let more = cpu_of(a).zip(cpu_of(b)).map(|(a, b)| b.median - a.median);
        let sign = |ns: f64| {
            if ns < 0.0 {
                format!("-{}", duration(-ns))
            } else {
                format!("+{}", duration(ns))
            }
        };
        let bytes = |e: &ExperimentSummary| size(e)?.split(['(', ')']).nth(1);
        let label = bytes(a).zip(bytes(b)).map(|(a, b)| format!("{a} → {b}"));
        let label = label.filter(|_| !is_apart(a));
        let printed = label.and_then(|label| study.row("cpu-growth", &label));
        [
            from.stack.clone(),
            format!("{} → {}", from.payload, to.payload),
            or_none(more.map(sign)),
            or_none(more.map(|ns| format!("{}/KiB", sign(ns / kib)))),
            or_none(printed.map(|cells| cells.join(" · "))),
        ]
        .map(Text::from)
        .to_vec()
    };
    Grid {
        head: ["stack", "payload", "CPU", "per KiB", "study"]
            .map(str::to_owned)
            .to_vec(),
        labels: 2,
        rows: pairs.iter().map(row).collect(),
    }
}

/// Rows of one stack and wait whose sizes follow each other.
fn steps<'a>(rows: &[&'a ExperimentSummary]) -> Vec<[&'a ExperimentSummary; 2]> {
    let next = |e: &&'a ExperimentSummary| {
        let alike = |o: &&&ExperimentSummary| {
            let (x, y) = (&e.experiment, &o.experiment);
            (&x.name, &x.stack, x.wait, x.placement) == (&y.name, &y.stack, y.wait, y.placement)
                && y.payload > x.payload
        };
        let larger = rows
            .iter()
            .filter(alike)
            .min_by_key(|o| o.experiment.payload)?;
        Some([*e, *larger])
    };
    rows.iter().filter_map(next).collect()
}

fn throughput(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    const APART: &[(&str, &str)] = &[
        ("someip-throughput", "Messages/sec"),
        ("someip-throughput", "Bytes/sec"),
        ("someip-time", "Time per Message"),
    ];
    let titles = ["messages/s", "bytes/s", "per message", "delivered", "study"];
    table(&titles, rows, |e| {
        vec![
            or_none(rate(e).map(|hz| with_prefix(hz, ""))),
            or_none(
                rate(e)
                    .and_then(|_| e.median(TrialFigure::DeliveredBytesPerS))
                    .map(|b| with_prefix(b, "B")),
            ),
            or_none(rate(e).map(|hz| duration(1e9 / hz))),
            or_none(e.delivered_ratio().map(share)),
            printed(study, e, "throughput", APART),
        ]
    })
}

/// How long a batch takes until all of it is there; never, where any of it was lost.
fn all_in(e: &ExperimentSummary) -> Option<String> {
    let ns = BATCH as f64 * 1e9 / rate(e)?;
    Some(match e.delivered_ratio() {
        Some(ratio) if ratio < 1.0 => "∞".to_owned(),
        _ => duration(ns),
    })
}

fn batches(
    study: &PrintedTables,
    rows: &[&ExperimentSummary],
    single: &[&ExperimentSummary],
) -> Grid {
    const APART: &[(&str, &str)] = &[
        ("someip-stress", "Messages/sec"),
        ("someip-stress-time", "Time per 100 msgs"),
    ];
    let titles = [
        "messages/s",
        "all 100 in",
        "against a flood",
        "delivered",
        "study",
    ];
    table(&titles, rows, |e| {
        let x = &e.experiment;
        let flood = single.iter().find(|s| {
            let y = &s.experiment;
            (&x.stack, x.wait, x.placement, x.payload) == (&y.stack, y.wait, y.placement, y.payload)
        });
        let ratio = rate(e).zip(flood.and_then(|f| rate(f))).map(|(a, b)| a / b);
        vec![
            or_none(rate(e).map(|hz| with_prefix(hz, ""))),
            or_none(all_in(e)),
            or_none(ratio.map(|r| format!("{:+.1} %", 100.0 * (r - 1.0)))),
            or_none(e.delivered_ratio().map(share)),
            printed(study, e, "stress", APART),
        ]
    })
}

/// A row for each stack, a column for each size.
fn sizes(rows: &[&ExperimentSummary]) -> Grid {
    let mut sizes: Vec<_> = rows.iter().map(|e| e.experiment.payload).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let way = |e: &ExperimentSummary| {
        let x = &e.experiment;
        (x.name.clone(), x.stack.clone(), x.wait, x.placement)
    };
    let mut ways = Vec::new();
    for e in rows {
        if !ways.contains(&way(e)) {
            ways.push(way(e));
        }
    }
    let row = |key: &(_, String, _, _)| {
        let cell = |size: &PayloadSize| {
            let own = |e: &&&ExperimentSummary| way(e) == *key && e.experiment.payload == *size;
            let p50 = rows.iter().find(own).and_then(|e| value(rtt(e)?, 0));
            Text::from(or_none(p50.map(duration)))
        };
        let label = [key.1.to_string(), format!("{}", key.2)].map(Text::from);
        label.into_iter().chain(sizes.iter().map(cell)).collect()
    };
    let titles = ["stack", "wait"].map(str::to_owned);
    Grid {
        head: titles
            .into_iter()
            .chain(sizes.iter().map(ToString::to_string))
            .collect(),
        labels: 2,
        rows: ways.iter().map(row).collect(),
    }
}

fn variation(study: &PrintedTables, rows: &[&ExperimentSummary]) -> Grid {
    table(
        &[
            "round trip σ/median",
            "CPU σ/median",
            "study: σ/mean, 8 B · 1 MiB",
        ],
        rows,
        |e| {
            let of = |spread: Option<Spread>| {
                let spread = spread.filter(|s| s.median > 0.0)?;
                Some(share(sd(e, spread)? / spread.median))
            };
            let printed = |label: &str| {
                study
                    .row("determinism", label)
                    .map(|cells| cells.join(" · "))
            };
            let both = printed("Latency CV").zip(printed("CPU Time CV"));
            let both = both
                .filter(|_| !is_apart(e))
                .map(|(a, b)| format!("{a}; CPU {b}"));
            vec![
                or_none(of(rtt(e).and_then(|m| m.means))),
                or_none(of(cpu_of(e))),
                or_none(both),
            ]
        },
    )
}

/// Each chain beside that.
fn compared(summary: &Summary, echo: &[&ExperimentSummary], flood: &[&ExperimentSummary]) -> Grid {
    let through: Vec<&ExperimentSummary> =
        echo.iter().copied().filter(|e| e.chain.is_some()).collect();
    let titles = [
        "local",
        "p50",
        "local p50",
        "times",
        "p99 - p50",
        "CPU",
        "messages/s",
    ];
    table(&titles, &through, |e| {
        let x = &e.experiment;
        let alone = alone(summary, e);
        let p50 = |e: &ExperimentSummary| value(rtt(e)?, 0);
        let (own, other) = (p50(e), alone.and_then(p50));
        let tail = rtt(e).and_then(|m| Some(value(m, 2)? - value(m, 0)?));
        // The study's 8 B are our 32 B where messages go one way.
        let sent = flood.iter().find(|f| {
            let y = &f.experiment;
            let same = (&x.stack, x.wait, x.placement) == (&y.stack, y.wait, y.placement);
            same && x.topology == y.topology && size(e).is_some() && size(f) == size(e)
        });
        vec![
            or_none(alone.map(|l| l.experiment.stack.clone())),
            or_none(own.map(duration)),
            or_none(other.map(duration)),
            or_none(own.zip(other).map(|(a, b)| format!("× {}", sig3(a / b)))),
            or_none(tail.map(duration)),
            or_none(cpu_of(e).map(|c| duration(c.median))),
            or_none(sent.and_then(|f| rate(f)).map(|hz| with_prefix(hz, ""))),
        ]
    })
}
