//! The columns of a table of outages.

use super::View;
use crate::cells::{absence, column_unit, quantile_ns, unresolved};
use crate::layout::Column;
use crate::number::{self, Measured, TimeUnit};
use crate::summary::{ExperimentSummary, OutageSummary, Spread, TOLD_BY};
use dyno_model::Metric;

/// A time of an outage: its metric, the title of its median and that of its longest with the rank of each, and what it means
/// that it is infinite.
pub(crate) struct Time {
    pub(crate) metric: Metric,
    pub(crate) median: (&'static str, u8),
    longest: Option<(&'static str, u8)>,
    never: &'static str,
}

/// In the order of the table. The headline always stays.
pub(crate) const TIMES: [Time; 4] = [
    Time {
        metric: Metric::Silence,
        median: ("silence", 1),
        longest: Some(("silence max", 7)),
        never: "never ends",
    },
    Time {
        metric: Metric::Recovery,
        median: ("recovery", 0),
        longest: Some(("worst", 1)),
        never: "never",
    },
    Time {
        metric: Metric::Steady,
        median: ("steady again", 4),
        longest: None,
        never: "never",
    },
    Time {
        metric: Metric::Detection,
        median: ("detection", 3),
        longest: None,
        never: "not told",
    },
];

/// What is counted for each trial: its title, its rank, its meaning and its value.
type Counted = (
    &'static str,
    u8,
    &'static str,
    fn(&OutageSummary) -> Option<Spread>,
);

/// In the order of the table.
pub(crate) const COUNTED: [Counted; 3] = [
    (
        "lost",
        5,
        "messages that were due after the fault began and never arrived",
        |o| o.lost,
    ),
    ("repeated", 8, "further copies of messages", |o| o.repeated),
    (
        "burst",
        6,
        "messages within 10 ms of the first one after the silence",
        |o| o.burst,
    ),
];

impl View<'_> {
    /// How many trials recovered, the times of the outage, and what was counted.
    pub(super) fn outages(&self, columns: &mut Vec<Column>) {
        columns.push(self.column("recovered", "", 1, recovered));
        let all = TIMES.iter().map(|t| t.metric);
        let medians = all.flat_map(|m| self.rows.iter().map(move |e| quantile_ns(e, m, 0)));
        let base = TimeUnit::for_column(medians);
        for time in &TIMES {
            self.outage_time(columns, time, base);
        }
        columns.push(self.text("told by", 9, told_by));
        if self.rows.iter().any(|e| !stated(e).is_empty()) {
            columns.push(self.text("stated", 10, stated));
        }
        for (title, rank, _, of) in COUNTED {
            columns.push(self.column(title, "", rank, |e| {
                e.outage
                    .as_ref()
                    .and_then(of)
                    .map_or_else(Measured::default, spread)
            }));
        }
    }

    fn outage_time(&self, columns: &mut Vec<Column>, time: &Time, base: TimeUnit) {
        let metric = time.metric;
        let is_headline = |e: &ExperimentSummary| e.headline() == metric;
        let values = self.rows.iter().map(|e| quantile_ns(e, metric, 0));
        let unit = column_unit(base, values);
        let (title, rank) = time.median;
        columns.push(self.column(
            title,
            unit.as_str(),
            rank,
            |e| match e.metrics.get(&metric) {
                Some(_) if e.unresolved().is_some() && is_headline(e) => unresolved(e, 0),
                Some(_) if e.is_resolvable(metric) == Some(false) => Measured::default(),
                Some(m) => Measured::quantile_or(&m.quantiles[0], unit.ns(), time.never),
                None if is_headline(e) => absence(e),
                None => Measured::default(),
            },
        ));
        if let Some((title, rank)) = time.longest {
            let longest = |e: &ExperimentSummary| {
                let m = e.metrics.get(&metric)?;
                match m.infinite {
                    0 => m.max.map(|ns| ns as f64),
                    _ => Some(f64::INFINITY),
                }
            };
            columns.push(self.time(title, rank, unit, longest));
        }
    }
}

/// `19 of 20`: of all trials that completed or failed, since nobody knows what a failed one would have shown.
fn recovered(e: &ExperimentSummary) -> Measured {
    match &e.outage {
        Some(outage) if e.trials.counted + e.trials.failed > 0 => Measured::bare(format!(
            "{} of {}",
            outage.recovered,
            e.trials.counted + e.trials.failed
        )),
        _ => Measured::default(),
    }
}

/// `peers 18, never 2`.
fn told_by(e: &ExperimentSummary) -> String {
    let Some(outage) = &e.outage else {
        return String::new();
    };
    let ways = TOLD_BY.iter().zip(outage.told);
    let ways = ways.filter(|(_, n)| *n > 0);
    let ways: Vec<String> = ways.map(|((_, word), n)| format!("{word} {n}")).collect();
    ways.join(", ")
}

/// `lease 10 s (library), retry 1 s (stack)`: the times after which the stack takes a peer for gone or tries again.
fn stated(e: &ExperimentSummary) -> String {
    let timeouts = e.outage.iter().flat_map(|o| &o.timeouts);
    let texts = timeouts.map(|t| format!("{} {} ({})", t.name, t.time, t.by.as_str()));
    texts.collect::<Vec<_>>().join(", ")
}

/// The median trial, and the extremes beside it.
fn spread(s: Spread) -> Measured {
    let [median, min, max] = [s.median, s.min, s.max].map(number::whole);
    Measured {
        beside: match min == max {
            true => String::new(),
            false => format!("({min}–{max})"),
        },
        value: median,
        below: String::new(),
    }
}
