//! JUnit XML, in the form that CI servers agree on: a test suite for the run, a test case for each
//! experiment. Failed trials are `failure` (counts that contradict each other) or `error` (all else)
//! with what the agents said; cells that could not be measured are `skipped`; key figures are
//! properties. Limits are not judged here: that is `dyno check`, which has JUnit XML of its own.

use crate::{factors, names};
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Cause, TrialFigure};
use dyno_report::{
    ExperimentSummary, FailedAs, FailureGroup, QUANTILES, Summary, clean, escaped_xml, exported,
};
use dyno_stats::{Latency, Quantile};
use jiff::Timestamp;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::fmt::Display;
use std::io;

/// The run as a JUnit XML document, ended by a newline.
///
/// # Errors
/// None in practice: it is written into memory; what the XML writer reports is passed on.
pub fn render(run: &Run, summary: &Summary) -> io::Result<String> {
    let cases = cases(run, summary);
    let count = |kind: Kind| {
        let has = |c: &&Case| c.results.iter().any(|r| r.kind == kind);
        cases.iter().filter(has).count().to_string()
    };
    let seconds: f64 = cases.iter().map(|c| c.seconds).sum();
    let counts = [
        ("tests", cases.len().to_string()),
        ("failures", count(Kind::Failure)),
        ("errors", count(Kind::Error)),
        ("skipped", count(Kind::Skipped)),
        ("time", format!("{seconds:.3}")),
    ];
    let counts = || counts.iter().map(|(key, text)| (*key, text.as_str()));
    let head = &summary.run;
    let host = head.host_names();
    let timestamp = iso(head.started_unix_ms);
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    xml.create_element("testsuites")
        .with_attribute(("name", "dyno"))
        .with_attributes(counts())
        .write_inner_content(|xml| {
            xml.create_element("testsuite")
                .with_attribute(("name", head.suite.as_str()))
                .with_attributes(counts())
                .with_attribute(("timestamp", timestamp.as_str()))
                .with_attribute(("hostname", host.as_str()))
                .write_inner_content(|xml| {
                    properties(xml, &of_run(summary))?;
                    cases.iter().try_for_each(|c| c.write(xml))
                })?;
            Ok(())
        })?;
    let text = String::from_utf8(xml.into_inner()).map_err(io::Error::other)?;
    Ok(escaped_xml(&text) + "\n")
}

/// How a test case can end other than well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Failure,
    Error,
    Skipped,
}

impl Kind {
    const fn element(self) -> &'static str {
        match self {
            Kind::Failure => "failure",
            Kind::Error => "error",
            Kind::Skipped => "skipped",
        }
    }
}

struct Ended {
    kind: Kind,
    /// The attribute `type`, which `skipped` has not.
    what: String,
    message: String,
    text: String,
}

struct Case {
    class: String,
    name: String,
    seconds: f64,
    properties: Vec<(String, String)>,
    /// None: it passed.
    results: Vec<Ended>,
    remarks: Vec<String>,
}

impl Case {
    fn write(&self, xml: &mut Writer<Vec<u8>>) -> io::Result<()> {
        let time = format!("{:.3}", self.seconds);
        xml.create_element("testcase")
            .with_attribute(("classname", self.class.as_str()))
            .with_attribute(("name", self.name.as_str()))
            .with_attribute(("time", time.as_str()))
            .write_inner_content(|xml| {
                properties(xml, &self.properties)?;
                for r in &self.results {
                    let element = xml
                        .create_element(r.kind.element())
                        .with_attribute(("message", r.message.as_str()));
                    if r.kind == Kind::Skipped {
                        element.write_empty()?;
                        continue;
                    }
                    element
                        .with_attribute(("type", r.what.as_str()))
                        .write_text_content(BytesText::new(&r.text))?;
                }
                if !self.remarks.is_empty() {
                    let text = self.remarks.join("\n");
                    xml.create_element("system-out")
                        .write_text_content(BytesText::new(&text))?;
                }
                Ok(())
            })?;
        Ok(())
    }
}

fn properties(xml: &mut Writer<Vec<u8>>, all: &[(String, String)]) -> io::Result<()> {
    // An empty list is not allowed by every reader's schema.
    if all.is_empty() {
        return Ok(());
    }
    xml.create_element("properties")
        .write_inner_content(|xml| {
            for (name, value) in all {
                xml.create_element("property")
                    .with_attribute(("name", name.as_str()))
                    .with_attribute(("value", value.as_str()))
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}

fn of_run(summary: &Summary) -> Vec<(String, String)> {
    let (run, e) = (&summary.run, &summary.run.environment);
    let all = [
        ("run", run.id.clone()),
        ("title", run.title.clone()),
        ("testbed", run.testbed.clone()),
        ("command", run.command.join(" ")),
        ("seed", run.seed.to_string()),
        ("dyno_version", e.dyno_version.clone()),
        ("build_profile", e.build_profile.clone()),
        ("cpu_model", e.cpu_model.clone()),
        ("kernel", e.kernel.clone()),
    ];
    let emulated = e.emulated.clone().map(|what| ("emulated", what));
    let all = all.into_iter().chain(emulated);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn cases(run: &Run, summary: &Summary) -> Vec<Case> {
    let class = |experiment: &str| format!("{}.{experiment}", summary.run.suite);
    let labels = names::labels(summary);
    let measured = summary.experiments.iter().zip(labels).map(|(e, name)| {
        let wall = run.trials_of(e.experiment.id).map(|t| t.wall.as_secs_f64());
        Case {
            class: class(&e.experiment.name),
            name,
            seconds: wall.sum(),
            properties: figures(e),
            results: results(e),
            remarks: remarks(e),
        }
    });
    let refused = summary.refused.iter().map(|r| Case {
        class: class(&r.experiment),
        name: format!("{}: {}", r.stack, r.factors),
        seconds: 0.0,
        properties: Vec::new(),
        results: vec![skipped(format!("refused: {}", r.reason))],
        remarks: Vec::new(),
    });
    measured.chain(refused).collect()
}

fn skipped(message: String) -> Ended {
    Ended {
        kind: Kind::Skipped,
        what: String::new(),
        message,
        text: String::new(),
    }
}

fn results(e: &ExperimentSummary) -> Vec<Ended> {
    let interrupted = |f: &&FailureGroup| f.kind == FailedAs::Trial(FailureKind::Interrupted);
    let failed: Vec<Ended> = e
        .failures
        .iter()
        .filter(|f| !interrupted(f))
        .map(|f| {
            let of = e.trials.completed + e.trials.failed;
            let mut text = vec![f.cause.to_string()];
            text.extend(f.stderr.iter().map(|line| clean(line)));
            Ended {
                kind: match f.kind {
                    FailedAs::Trial(FailureKind::Inconsistent) => Kind::Failure,
                    _ => Kind::Error,
                },
                what: f.kind.to_string(),
                message: format!(
                    "{} of {of} trials: {} in {}: {}",
                    f.count, f.kind, f.step, f.cause
                ),
                text: text.join("\n"),
            }
        })
        .collect();
    if !failed.is_empty() || e.trials.counted > 0 {
        return failed;
    }
    let message = match e.failures.first() {
        Some(_) => "interrupted while it was measured; `dyno run --resume` measures it",
        None => "not measured yet; `dyno run --resume` measures it",
    };
    vec![skipped(message.to_owned())]
}

/// Of the rates and costs.
const KEY_FIGURES: [TrialFigure; 3] = [
    TrialFigure::DeliveredHz,
    TrialFigure::CpuPerMessage,
    TrialFigure::PssBytes,
];

/// Factors and key figures; what is not known is left out.
fn figures(e: &ExperimentSummary) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = factors::all(&e.experiment)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            all.push((name.to_owned(), value));
        }
    };
    let t = &e.trials;
    for (name, n) in [
        ("trials", t.counted),
        ("planned_trials", t.planned),
        ("failed_trials", t.failed),
        ("disturbed_trials", t.disturbed),
    ] {
        add(name, Some(n.to_string()));
    }
    if let Some(o) = &e.outage {
        for (name, n) in [
            ("recovered_trials", o.recovered),
            ("deaf_trials", o.deaf()),
            ("half_deaf_trials", o.half_deaf),
        ] {
            add(name, Some(n.to_string()));
        }
    }
    add("metric", Some(e.headline().to_string()));
    if let Some(m) = e.headline_metric() {
        add("n", Some(m.n.to_string()));
        add("infinite", Some(m.infinite.to_string()));
        for ((name, _, _), q) in QUANTILES.iter().zip(&m.quantiles) {
            match q {
                Quantile::Estimated(estimate) => {
                    add(name, Some(latency(estimate.value)));
                    add(&format!("{name}_lo"), Some(latency(estimate.lo)));
                    add(&format!("{name}_hi"), Some(latency(estimate.hi)));
                }
                Quantile::Refused { have, need } => add(
                    &format!("{name}_refused"),
                    Some(format!("{have} samples of {need}")),
                ),
                Quantile::Wide { interval, .. } => {
                    let (lo, hi) = (latency(interval.lo), latency(interval.hi));
                    let text = format!("an interval from {lo} to {hi} is no figure");
                    add(&format!("{name}_refused"), Some(text));
                }
            }
        }
    }
    let ratio = e.floor.as_ref().and_then(|f| f.p50_ratio);
    add("floor_ratio", ratio.map(|r| latency(r.value)));
    add("delivered_ratio", e.delivered_ratio().map(number));
    for figure in KEY_FIGURES {
        add(figure.as_str(), e.median(figure).map(number));
    }
    all
}

/// What the host did to trials, and what trials remarked.
fn remarks(e: &ExperimentSummary) -> Vec<String> {
    let disturbed = e.disturbances.iter().map(several);
    disturbed.chain(e.warnings.iter().map(several)).collect()
}

fn several<T: Display>((cause, trials): &(Cause<T>, u64)) -> String {
    match trials {
        1 => format!("1 trial: {cause}"),
        n => format!("{n} trials: {cause}"),
    }
}

fn latency(latency: Latency) -> String {
    number(latency.finite().unwrap_or(f64::INFINITY))
}

/// Without an exponent; `inf` for infinity.
fn number(value: f64) -> String {
    exported(value).to_string()
}

/// ISO 8601, to the second.
fn iso(unix_ms: u64) -> String {
    let instant = i64::try_from(unix_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    instant.map_or_else(
        || format!("{unix_ms} ms"),
        |t| t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    )
}
