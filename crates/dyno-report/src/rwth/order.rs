//! Which middleware is faster than which, in words, with intervals, and whether the paper says the same.

use super::latency::delivers;
use super::lines::{Cell, Line, MessageType, Table};
use crate::number::{Measured, TimeUnit, latency_ns, share, sig3};
use crate::published::{Place, Reliability};
use crate::summary::ExperimentSummary;
use dyno_model::{Metric, Placement, Topology};
use dyno_stats::Estimate;
use std::collections::BTreeSet;

/// A response time of more than so many service times is said beside it.
const HELD_UP: f64 = 2.0;

/// One middleware with what was measured and what the paper has.
struct Entry<'a> {
    line: &'a Line,
    middleware: &'static str,
    p50: Estimate,
    e: &'a ExperimentSummary,
    /// The paper's median in milliseconds.
    paper: Option<f64>,
}

impl Entry<'_> {
    /// Value and ends of the interval, in nanoseconds.
    fn ns(&self) -> [f64; 3] {
        [&self.p50.lo, &self.p50.value, &self.p50.hi].map(latency_ns)
    }

    /// Beyond what the intervals leave open.
    fn is_below(&self, other: &Entry<'_>) -> bool {
        self.ns()[2] < other.ns()[0]
    }

    fn text(&self) -> String {
        let mut text = format!("{} {}", self.middleware, figure(&self.p50));
        match self.e.delivered_ratio() {
            Some(ratio) if !delivers(self.e) => {
                text.push_str(&format!(" (delivers {})", share(ratio)));
            }
            _ => {}
        }
        let response = self.e.metrics.get(&Metric::Response);
        if let Some(response) = response.and_then(|m| m.quantiles[0].estimate())
            && latency_ns(&response.value) > HELD_UP * self.ns()[1]
        {
            text.push_str(&format!(
                " (its sender is delayed: response {})",
                figure(response)
            ));
        }
        text
    }
}

fn figure(p50: &Estimate) -> String {
    let shown = Measured::estimate(p50, TimeUnit::Milli.ns());
    match shown.value.as_str() {
        "∞" => shown.line(),
        _ => format!("{} ms", shown.line()),
    }
}

/// One sentence for each message type in C1-1 and D1-1.
pub(super) fn sentences(table: &Table<'_>) -> Vec<String> {
    let mut all = Vec::new();
    // What different machines measured is not put in an order.
    let of_rows = table.summary.experiments.iter();
    let machines: BTreeSet<Option<String>> =
        of_rows.map(|e| e.experiment.machine.clone()).collect();
    for placement in [Placement::Process, Placement::Host] {
        let at = Place {
            placement,
            topology: Topology::ONE_TO_ONE,
        };
        for machine in &machines {
            let of = table.messages.iter();
            all.extend(of.filter_map(|m| sentence(table, at, m, machine.as_deref())));
        }
    }
    all
}

fn sentence(
    table: &Table<'_>,
    at: Place,
    message: &MessageType,
    machine: Option<&str>,
) -> Option<String> {
    // A latency of what arrived says little where much did not.
    let (mut entries, lossy): (Vec<Entry<'_>>, Vec<Entry<'_>>) =
        entries(table, at, message, machine)
            .into_iter()
            .partition(|e| delivers(e.e));
    if entries.is_empty() || entries.len() + lossy.len() < 2 {
        return None;
    }
    entries.sort_by(|a, b| a.ns()[1].total_cmp(&b.ns()[1]));
    let on = machine.map_or_else(String::new, |m| format!(" on {}", m));
    let mut text = format!("{at} {}{on}: {}", message.name(), entries[0].text());
    let mut all_apart = true;
    for pair in entries.windows(2) {
        let apart = pair[0].is_below(&pair[1]);
        all_apart &= apart;
        let sign = if apart { "<" } else { "≈" };
        text.push_str(&format!(" {sign} {}", pair[1].text()));
    }
    for (line, e) in variants(table, at, message, machine) {
        if let Some(p50) = service(e) {
            text.push_str(&format!("; {} {}", line.label, figure(&p50)));
        }
    }
    for entry in &lossy {
        text.push_str(&format!(
            "; not compared, because messages are dropped: {}",
            entry.text()
        ));
    }
    text.push('.');
    if let Some(paper) = in_paper(&entries, all_apart) {
        text.push_str(&format!(" {paper}"));
    }
    Some(text)
}

/// The middlewares of the paper: best effort where it has that, else reliable.
fn entries<'t>(
    table: &'t Table<'_>,
    at: Place,
    message: &MessageType,
    machine: Option<&str>,
) -> Vec<Entry<'t>> {
    let mut middlewares: Vec<&'static str> = Vec::new();
    for beside in &table.study.beside {
        if !middlewares.contains(&beside.middleware.as_str()) {
            middlewares.push(&beside.middleware);
        }
    }
    let name = table.in_paper(message).unwrap_or("");
    let median = |reliability, middleware| {
        let all = &table.study.communication;
        all.figures(reliability, middleware, name, at).0
    };
    let one = |middleware: &'static str| {
        let best = median(Reliability::BestEffort, middleware);
        let (reliability, paper) = match best {
            Some(_) => (Reliability::BestEffort, best),
            None => match median(Reliability::Reliable, middleware) {
                Some(m) => (Reliability::Reliable, Some(m)),
                None => (Reliability::BestEffort, None),
            },
        };
        let wanted = Some((reliability, middleware));
        let lines = table.lines.iter().filter(|l| l.variant.is_none());
        let (line, e) = lines
            .filter(|l| l.paper == wanted)
            .find_map(|l| Some((l, measured(table, l, at, message, machine)?)))?;
        Some(Entry {
            line,
            middleware,
            p50: service(e)?,
            e,
            paper,
        })
    };
    middlewares.into_iter().filter_map(one).collect()
}

/// What a line measured there, if that was on `machine`.
fn measured<'t>(
    table: &'t Table<'_>,
    line: &Line,
    at: Place,
    message: &MessageType,
    machine: Option<&str>,
) -> Option<&'t ExperimentSummary> {
    match table.of_message(line, at, message) {
        Cell::Ran(e) if e.experiment.machine.as_deref() == machine => Some(e),
        _ => None,
    }
}

/// The lines that are set up otherwise than in the paper; of equal experiments the first.
fn variants<'t>(
    table: &'t Table<'_>,
    at: Place,
    message: &MessageType,
    machine: Option<&str>,
) -> Vec<(&'t Line, &'t ExperimentSummary)> {
    let mut found: Vec<(&Line, &ExperimentSummary)> = Vec::new();
    for line in table.lines.iter().filter(|l| l.variant.is_some()) {
        if let Some(e) = measured(table, line, at, message, machine)
            && !found
                .iter()
                .any(|(_, known)| known.experiment.id == e.experiment.id)
        {
            found.push((line, e));
        }
    }
    found
}

fn service(e: &ExperimentSummary) -> Option<Estimate> {
    if e.is_resolvable(Metric::Service) == Some(false) {
        return None;
    }
    e.metrics.get(&Metric::Service)?.quantiles[0]
        .estimate()
        .copied()
}

/// The paper's order, and whether ours contradicts it.
fn in_paper(entries: &[Entry<'_>], all_apart: bool) -> Option<String> {
    let mut known: Vec<(&Entry<'_>, f64)> =
        entries.iter().filter_map(|e| Some((e, e.paper?))).collect();
    if known.len() < 2 {
        return None;
    }
    let mut contradictions = Vec::new();
    for (i, (a, a_paper)) in known.iter().enumerate() {
        for (b, b_paper) in &known[i + 1..] {
            if a.is_below(b) && a_paper > b_paper {
                contradictions.push(format!("{} before {}", a.middleware, b.middleware));
            }
        }
    }
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let order: Vec<String> = known
        .iter()
        .map(|(e, paper)| format!("{} {}", e.middleware, sig3(*paper)))
        .collect();
    let verdict = match (contradictions.as_slice(), all_apart) {
        ([], true) => "the same order".to_owned(),
        ([], false) => {
            "no contradiction, but stacks joined by ≈ cannot be distinguished here".to_owned()
        }
        (several, _) => format!("another order here: {}", several.join(", ")),
    };
    let reliable: Vec<&str> = known
        .iter()
        .filter(|(e, _)| matches!(e.line.paper, Some((Reliability::Reliable, _))))
        .map(|(e, _)| e.middleware)
        .collect();
    let reliable = match reliable.is_empty() {
        true => String::new(),
        false => format!(" ({} reliable)", reliable.join(" and ")),
    };
    Some(format!(
        "The paper: {} ms{reliable}: {verdict}.",
        order.join(" < ")
    ))
}
