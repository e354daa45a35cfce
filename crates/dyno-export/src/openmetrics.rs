//! The OpenMetrics text format (OpenMetrics 1.0.0, "Text format"): a family for each kind of figure, a
//! sample for each experiment. Base units, told by each name: seconds, bytes, ratios from 0 to 1.
//!
//! Written by hand: `prometheus-client`, the library for it, does not escape the values of labels
//! (0.24), and a stack's name may be any text.
//!
//! A run is over: what other exporters have as counters are gauges here, because the next run's do not
//! go on where these end.

use crate::factors;
use dyno_model::record::Environment;
use dyno_model::{COUNTS, Experiment, TrialFigure};
use dyno_report::{
    ExperimentSummary, HostSummary, QUANTILES, Spread, Summary, exported, printable,
};
use dyno_stats::{Estimate, Latency};
use std::fmt::Write as _;

/// The run as OpenMetrics text, ended by `# EOF` and a newline.
pub fn render(summary: &Summary) -> String {
    let mut text = String::new();
    for family in [of_run(summary), of_experiments(summary)].concat() {
        family.write(&mut text);
    }
    text.push_str("# EOF\n");
    text
}

type Labels = Vec<(&'static str, String)>;

/// Samples of one name.
#[derive(Clone)]
struct Family {
    name: &'static str,
    kind: &'static str,
    /// What the name ends with; empty: it has none.
    unit: &'static str,
    help: &'static str,
    samples: Vec<Sample>,
}

#[derive(Clone)]
struct Sample {
    /// After the family's name, such as `_count`.
    suffix: &'static str,
    labels: Labels,
    value: f64,
}

impl Family {
    fn new(name: &'static str, kind: &'static str, unit: &'static str, help: &'static str) -> Self {
        Family {
            name,
            kind,
            unit,
            help,
            samples: Vec::new(),
        }
    }

    fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Self {
        Family::new(name, "gauge", unit, help)
    }

    fn add(&mut self, suffix: &'static str, labels: Labels, value: f64) {
        let sample = Sample {
            suffix,
            labels,
            value,
        };
        self.samples.push(sample);
    }

    /// Nothing for a family without samples.
    fn write(&self, out: &mut String) {
        if self.samples.is_empty() {
            return;
        }
        let name = self.name;
        // Writing into a String cannot fail.
        let _ = writeln!(out, "# TYPE {name} {}", self.kind);
        if !self.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {name} {}", self.unit);
        }
        let _ = writeln!(out, "# HELP {name} {}", escaped(self.help));
        for s in &self.samples {
            let labels: Vec<String> = s
                .labels
                .iter()
                .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
                .collect();
            let _ = writeln!(
                out,
                "{name}{}{{{}}} {}",
                s.suffix,
                labels.join(","),
                number(s.value)
            );
        }
    }
}

/// Section "Escaping": backslash, line feed and quote. It has no escape for a control character, which is U+FFFD here.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text, false).chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".into(),
        f64::NEG_INFINITY => "-Inf".into(),
        value => value.to_string(),
    }
}

/// Nanoseconds with the digits that every export has, in seconds.
fn seconds(ns: f64) -> f64 {
    exported(ns) / 1e9
}

fn of_run(summary: &Summary) -> Vec<Family> {
    let run = &summary.run;
    let mut info = Family::new(
        "dyno_run",
        "info",
        "",
        "The run, its machine and its build; of a merged run one for each machine.",
    );
    let machines: Vec<&Environment> = match run.machines.is_empty() {
        true => vec![&run.environment],
        false => run.machines.values().collect(),
    };
    let labels = |e: &Environment| {
        [
            ("run", run.id.clone()),
            ("suite", run.suite.clone()),
            ("title", run.title.clone()),
            ("testbed", run.testbed.clone()),
            ("seed", run.seed.to_string()),
            ("dyno_version", e.dyno_version.clone()),
            ("build_profile", e.build_profile.clone()),
            ("host", e.host.clone()),
            ("cpu_model", e.cpu_model.clone()),
            ("kernel", e.kernel.clone()),
            ("hypervisor", e.hypervisor.clone().unwrap_or_default()),
            ("clock", e.clock.source.clone()),
        ]
        .into_iter()
        .chain(e.emulated.clone().map(|what| ("emulated", what)))
    };
    for e in machines {
        info.add("_info", labels(e).collect(), 1.0);
    }
    let mut start = Family::gauge(
        "dyno_run_start_time_seconds",
        "seconds",
        "When the run started, since the Unix epoch.",
    );
    let of_run = || vec![("run", run.id.clone())];
    start.add("", of_run(), run.started_unix_ms as f64 / 1e3);
    let mut refused = Family::gauge(
        "dyno_run_refused_cells",
        "",
        "Cells of the suite that cannot be measured here.",
    );
    refused.add("", of_run(), summary.refused.len() as f64);
    vec![info, start, refused]
}

/// What tells the experiment from all others, and what people select by.
fn labels(summary: &Summary, x: &Experiment) -> Labels {
    let machine = x.machine.iter().map(|m| ("machine", m.clone()));
    let labels = [
        ("run", summary.run.id.clone()),
        ("id", x.id.0.to_string()),
        ("suite", summary.run.suite.clone()),
        ("experiment", x.name.clone()),
        ("stack", x.stack.clone()),
        ("workload", x.workload.kind().to_string()),
        ("payload_bytes", x.payload.bytes().to_string()),
        ("wait", x.wait.to_string()),
    ];
    let flow = x.flow.iter().map(|_| ("flow", x.flow_text()));
    labels.into_iter().chain(flow).chain(machine).collect()
}

fn with(labels: &Labels, more: &[(&'static str, &str)]) -> Labels {
    let more = more.iter().map(|(key, value)| (*key, (*value).to_owned()));
    labels.iter().cloned().chain(more).collect()
}

fn of_experiments(summary: &Summary) -> Vec<Family> {
    let all: Vec<(Labels, &ExperimentSummary)> = summary
        .experiments
        .iter()
        .map(|e| (labels(summary, &e.experiment), e))
        .collect();
    let mut families = vec![info(&all)];
    families.extend(latencies(&all));
    families.extend(counts(&all));
    for f in FIGURES {
        let mut family = Family::gauge(f.name, f.unit, f.help);
        for (labels, e) in &all {
            if let Some(value) = (f.of)(e) {
                family.add("", labels.clone(), value);
            }
        }
        families.push(family);
    }
    families.extend(daemons(&all));
    families
}

type All<'a> = [(Labels, &'a ExperimentSummary)];

fn info(all: &All<'_>) -> Family {
    let mut family = Family::new("dyno_experiment", "info", "", "The experiment's factors.");
    for (labels, e) in all {
        let told: Vec<&str> = labels.iter().map(|l| l.0).collect();
        let mut own = labels.clone();
        let rest = factors::all(&e.experiment).into_iter();
        own.extend(rest.filter(|(name, _)| !told.contains(name)));
        own.push(("headline", e.headline().to_string()));
        for (key, is) in [
            ("floor", e.is_floor),
            ("leg", e.is_leg),
            ("base", e.is_base),
        ] {
            own.push((key, is.to_string()));
        }
        family.add("_info", own, 1.0);
    }
    family
}

/// Quantiles as a summary, their intervals and the extremes as gauges. What was refused has no sample;
/// what is infinite is `+Inf`.
fn latencies(all: &All<'_>) -> Vec<Family> {
    let mut quantiles = Family::new(
        "dyno_latency_seconds",
        "summary",
        "seconds",
        "Latency over all trials that count; a lost message is infinitely late.",
    );
    let end = |name, help| Family::gauge(name, "seconds", help);
    let mut lower = end(
        "dyno_latency_lower_seconds",
        "The lower end of the 95 % interval of a quantile of the latency.",
    );
    let mut upper = end(
        "dyno_latency_upper_seconds",
        "The upper end of the 95 % interval of a quantile of the latency.",
    );
    let mut mean = end(
        "dyno_latency_mean_seconds",
        "The mean latency of the messages that arrived.",
    );
    let mut max = end(
        "dyno_latency_max_seconds",
        "The largest latency of the messages that arrived.",
    );
    let mut lost = Family::gauge(
        "dyno_latency_lost_messages",
        "",
        "Messages that never arrived: infinitely late in every quantile.",
    );
    for (labels, e) in all {
        for (metric, m) in &e.metrics {
            let of_metric = with(labels, &[("metric", metric.word())]);
            for ((_, _, rank), q) in QUANTILES.iter().zip(&m.quantiles) {
                let Some(estimate) = q.estimate() else {
                    continue;
                };
                let Estimate { value, lo, hi } = estimate;
                let own = with(&of_metric, &[("quantile", &rank.to_string())]);
                quantiles.add("", own.clone(), latency(*value));
                lower.add("", own.clone(), latency(*lo));
                upper.add("", own, latency(*hi));
            }
            let n = m.n.saturating_add(m.infinite);
            quantiles.add("_count", of_metric.clone(), n as f64);
            if let Some(ns) = m.mean {
                mean.add("", of_metric.clone(), seconds(ns));
            }
            if let Some(ns) = m.max {
                max.add("", of_metric.clone(), seconds(ns as f64));
            }
            lost.add("", of_metric, m.infinite as f64);
        }
    }
    vec![quantiles, lower, upper, mean, max, lost]
}

fn latency(latency: Latency) -> f64 {
    seconds(latency.finite().unwrap_or(f64::INFINITY))
}

fn counts(all: &All<'_>) -> Vec<Family> {
    let mut messages = Family::gauge(
        "dyno_messages",
        "",
        "Messages of all trials that count, once for each receiver that should get them.",
    );
    let mut trials = Family::gauge("dyno_trials", "", "Trials by how they ended.");
    for (labels, e) in all {
        for count in COUNTS {
            let own = with(labels, &[("state", count.name)]);
            messages.add("", own, (count.of)(&e.counts) as f64);
        }
        let t = &e.trials;
        for (state, n) in [
            ("planned", t.planned),
            ("completed", t.completed),
            ("failed", t.failed),
            ("disturbed", t.disturbed),
            ("counted", t.counted),
        ] {
            trials.add("", with(labels, &[("state", state)]), n as f64);
        }
    }
    let mut outages = Family::gauge(
        "dyno_outage_trials",
        "",
        "Trials with faults by what came of them: every receiver got a newer message, one never did, some never did.",
    );
    for (labels, e) in all {
        let Some(o) = &e.outage else { continue };
        for (state, n) in [
            ("recovered", o.recovered),
            ("deaf", o.deaf()),
            ("half_deaf", o.half_deaf),
            ("untold", o.untold),
        ] {
            outages.add("", with(labels, &[("state", state)]), n as f64);
        }
    }
    vec![messages, trials, outages]
}

/// A figure that an experiment has one of.
struct Figure {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    of: fn(&ExperimentSummary) -> Option<f64>,
}

macro_rules! figures {
    ($($name:literal, $unit:literal, $help:literal => $of:expr;)+) => {
        const FIGURES: &[Figure] = &[$(Figure { name: $name, unit: $unit, help: $help, of: $of }),+];
    };
}

figures! {
    "dyno_floor_ratio", "ratio", "p50 of the headline over that of the floor."
        => |e| {
            let ratio = e.floor.as_ref()?.p50_ratio.as_ref()?.value;
            Some(exported(ratio.finite().unwrap_or(f64::INFINITY)))
        };
    "dyno_delivered_ratio", "ratio", "Messages that arrived intact per message offered."
        => |e| e.delivered_ratio().map(exported);
    "dyno_offered_messages_per_second", "", "Due messages per second, median over the trials that count."
        => |e| Some(median(e.figure(TrialFigure::OfferedHz)?));
    "dyno_delivered_messages_per_second", "", "Intact messages per second, median over the trials that count."
        => |e| Some(median(e.figure(TrialFigure::DeliveredHz)?));
    "dyno_delivered_bytes_per_second", "", "Intact payload bytes per second, median over the trials that count."
        => |e| Some(median(e.figure(TrialFigure::DeliveredBytesPerS)?));
    "dyno_blocked_ratio", "ratio", "Share of the senders' time by which blocked sends took longer than the fastest one."
        => |e| e.figure(TrialFigure::BlockedShare).map(median);
    "dyno_cpu_seconds", "seconds", "Processor time of all processes of the stack in a trial's window, median."
        => |e| Some(in_seconds(e.figure(TrialFigure::CpuNs)?));
    "dyno_cpu_per_message_seconds", "seconds", "Processor time of all processes of the stack per message that arrived, median."
        => |e| Some(in_seconds(e.figure(TrialFigure::CpuPerMessage)?));
    "dyno_host_cpu_per_message_seconds", "seconds", "Processor time of the whole host without Dyno's pacing per message that arrived, median."
        => |e| Some(in_seconds(e.figure(TrialFigure::HostCpuPerMessage)?));
    "dyno_context_switches_per_message", "", "Context switches of all processes of the stack per message that arrived, median."
        => |e| Some(median(e.figure(TrialFigure::SwitchesPerMessage)?));
    "dyno_memory_pss_bytes", "bytes", "Proportional set size of all processes of the stack, median."
        => |e| Some(median(e.figure(TrialFigure::PssBytes)?));
    "dyno_memory_peak_rss_bytes", "bytes", "Peak resident set sizes of all processes of the stack added up, median."
        => |e| Some(median(e.figure(TrialFigure::PeakRssBytes)?));
    "dyno_open_seconds", "seconds", "From go until endpoints existed, median."
        => |e| Some(in_seconds(e.open_ns?));
    "dyno_matching_seconds", "seconds", "From endpoints existing until matched, median."
        => |e| Some(in_seconds(e.matching_ns?));
    "dyno_warmup_seconds", "seconds", "How long the warm-up was, median."
        => |e| Some(in_seconds(e.warmup?.ns));
    "dyno_unstable", "", "1 if a repeated run may show another p50, otherwise 0."
        => |e| Some(f64::from(u8::from(e.stability.as_ref()?.is_unstable())));
    "dyno_host_foreign_ratio", "ratio", "Share of the CPUs used that went to other processes, median."
        => |e| host(e, |h| h.foreign_share);
    "dyno_host_stolen_ratio", "ratio", "Share of the CPUs used that the hypervisor gave to others, median."
        => |e| host(e, |h| h.stolen_share);
    "dyno_host_gap_ratio", "ratio", "Share of its time that the spin-gap probe lost before the trials, median."
        => |e| host(e, |h| h.gap_share);
}

fn median(spread: Spread) -> f64 {
    exported(spread.median)
}

fn in_seconds(spread: Spread) -> f64 {
    seconds(spread.median)
}

fn host(e: &ExperimentSummary, of: fn(&HostSummary) -> Option<Spread>) -> Option<f64> {
    Some(median(of(e.host.as_ref()?)?))
}

/// The parts of the cost that daemons have, which the totals hold too.
fn daemons(all: &All<'_>) -> Vec<Family> {
    let mut cpu = Family::gauge(
        "dyno_daemon_cpu_seconds",
        "seconds",
        "The part of dyno_cpu_seconds that a daemon of the stack has, median.",
    );
    let mut pss = Family::gauge(
        "dyno_daemon_memory_pss_bytes",
        "bytes",
        "The part of dyno_memory_pss_bytes that a daemon of the stack has, median.",
    );
    for (labels, e) in all {
        for d in &e.daemons {
            let name = d.label.strip_prefix("daemon ").unwrap_or(&d.label);
            let own = with(labels, &[("daemon", name)]);
            cpu.add("", own.clone(), in_seconds(d.cpu_ns));
            pss.add("", own, median(d.pss_bytes));
        }
    }
    vec![cpu, pss]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_can_hold_any_text() {
        let mut family = Family::gauge("a_seconds", "seconds", "help");
        let hostile = "q\"uote \\ back\nline {x=\"1\"} 🚗 \u{202e}\u{1b}".to_owned();
        family.add("", vec![("stack", hostile)], f64::INFINITY);
        let mut text = String::new();
        family.write(&mut text);
        assert_eq!(
            text,
            "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n# HELP a_seconds help\n\
             a_seconds{stack=\"q\\\"uote \\\\ back\\nline {x=\\\"1\\\"} 🚗 \u{fffd}\u{fffd}\"} +Inf\n"
        );
    }

    #[test]
    fn every_name_ends_with_its_unit() {
        for f in FIGURES {
            assert!(f.name.ends_with(f.unit), "{}", f.name);
        }
    }
}
