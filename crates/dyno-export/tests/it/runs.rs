//! Runs to export, and what Dyno itself shows of them.

use crate::common::{Builder, summary};
use dyno_model::plan::Refusal;
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Access, Arrivals, Metric, Nanos, PayloadSize, RateHz, Workload};
use dyno_report::{Format, RenderOptions, Summary, render};
use serde_json::Value;

/// A run with its summary and its JSON.
pub(crate) struct Shown {
    pub(crate) run: Run,
    pub(crate) summary: Summary,
    pub(crate) json: Value,
}

impl Shown {
    pub(crate) fn of(run: Run) -> Shown {
        let summary = summary(&run);
        let json = render(&summary, Format::Json, &RenderOptions::default());
        let json = serde_json::from_str(&json).unwrap();
        Shown { run, summary, json }
    }

    /// The experiments as `dyno show --format json` has them.
    pub(crate) fn experiments(&self) -> &[Value] {
        self.json["experiments"].as_array().unwrap()
    }
}

/// What a real run holds: failed and disturbed trials, loss, several metrics, refused quantiles, a cell
/// that was not measured and one that cannot be.
pub(crate) fn full() -> Shown {
    Shown::of(run(1.0))
}

/// The same with latencies this many times as large.
pub(crate) fn run(slower: f64) -> Run {
    let mut b = Builder::new("full", "what exports hold", "stacks");
    let floor = b.experiment("floor-futex", |e| e.added = true);
    b.trials(floor, &[(Metric::Rtt, 6_900.0, 3_000, 0)]);
    let plain = b.experiment("uds-stream", |e| e.floor = Some(floor));
    b.trials(plain, &[(Metric::Rtt, 12_300.0 * slower, 4_000, 0)]);
    b.trial(plain, &[(Metric::Rtt, 90_000.0 * slower, 4_000, 0)])
        .disturbed = vec![dyno_model::Cause::Told(
        "other processes took 20 % of CPUs 0 and 1".into(),
    )];
    let lossy = b.experiment("udp", |e| {
        e.name = "periodic".into();
        e.payload = PayloadSize::new(1_024).unwrap();
        e.access = Access::All;
        e.raw_samples = 100;
        e.workload = Workload::Stream {
            rate: RateHz::new(1_000.0).unwrap(),
            arrivals: Arrivals::Fixed,
        };
    });
    b.trials(
        lossy,
        &[
            (Metric::Response, 23_000.0 * slower, 900, 100),
            (Metric::Service, 16_000.0 * slower, 900, 100),
        ],
    );
    let dead = b.experiment("dead", |e| {
        e.name = "periodic".into();
        e.workload = Workload::Flood;
    });
    b.trials(dead, &[(Metric::Response, 50_000.0 * slower, 100, 900)]);
    let failing = b.experiment("posix-mq", |e| e.floor = Some(floor));
    b.trial(failing, &[(Metric::Rtt, 14_100.0 * slower, 1_000, 0)]);
    b.failed(
        failing,
        FailureKind::Crash,
        "window",
        "echo ended by signal 11 (SIGSEGV)",
        &[
            "adapter posix-mq 1.0",
            "\x1b[31mmq_receive: <bad> & descriptor\x1b[0m",
        ],
    );
    b.failed(
        failing,
        FailureKind::Inconsistent,
        "collect",
        "7 of 5 arrived",
        &[],
    );
    let few = b.experiment("tcp", |e| e.floor = Some(floor));
    b.trial(few, &[(Metric::Rtt, 81_000.0 * slower, 4, 0)]);
    let start = b.experiment("pipe", |e| {
        e.name = "start".into();
        e.workload = Workload::FirstMessage {
            period: Nanos::from_millis(1),
        };
    });
    b.trials(start, &[(Metric::FirstMessage, 1_500_000.0 * slower, 1, 0)]);
    b.experiment("null", |_| {});
    b.plan().refused.push(Refusal {
        experiment: "round-trip".into(),
        stack: "zenoh-shm".into(),
        factors: "ping-pong, 64 B, spin".into(),
        reason: "it cannot wait by spin; write wait = \"natural\"".into(),
    });
    b.build()
}

/// The value of a quantile of the headline in Dyno's own JSON: infinite where it is so, `None` where it was
/// refused.
pub(crate) fn headline(e: &Value, quantile: &str) -> Option<f64> {
    let metric = e["headline"].as_str().unwrap();
    of_metric(&e["metrics"][metric], quantile)
}

pub(crate) fn of_metric(metric: &Value, quantile: &str) -> Option<f64> {
    let q = &metric[quantile];
    match q["infinite"].as_bool()? {
        true => Some(f64::INFINITY),
        false => q["value"].as_f64(),
    }
}

/// Whether two figures are the same within a share.
#[track_caller]
pub(crate) fn assert_close(found: f64, expected: f64, within: f64, what: &str) {
    let far = (found - expected).abs() > within * expected.abs();
    assert!(!far, "{what}: {found}, expected {expected}");
}
