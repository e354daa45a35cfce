//! The one time of each start, compared between runs.

use crate::check::one;
use crate::common::Builder;
use dyno_judge::{CompareOptions, Figure, Finding, Status, compare};
use dyno_model::record::{FailureKind, Outcome, Run};
use dyno_model::{Metric, Nanos, Workload};

/// Ten starts that differ by a few percent.
fn starts(day: u64, ms: f64) -> Run {
    let mut b = Builder::new(day);
    let e = b.experiment("tcp", |e| {
        let period = Nanos::from_millis(1);
        e.workload = Workload::FirstMessage { period };
    });
    for _ in 0..10 {
        let trial = b.trial(e, ms * 1e6, 1, 0);
        let one = trial.distributions.remove(&Metric::Response).unwrap();
        trial.distributions.insert(Metric::FirstMessage, one);
    }
    b.build()
}

#[test]
fn starts_are_compared_by_their_one_time_and_by_no_other_quantile() {
    let c = compare(
        &starts(1, 10.0),
        &starts(2, 20.0),
        &CompareOptions::default(),
    );
    let figures: Vec<Figure> = c.cells[0].rows.iter().map(|r| r.figure).collect();
    let p50 = Figure::Quantile {
        metric: Metric::FirstMessage,
        q: 0.5,
    };
    assert_eq!(figures, [p50, Figure::CpuPerMessage, Figure::Failed]);
    let first = c.cells[0].rows[0].result.as_ref().unwrap();
    assert_eq!(first.finding, Finding::Higher);
    let ratio = first.ratio.unwrap().estimate.value.finite().unwrap();
    assert!((ratio - 2.0).abs() < 0.3, "{ratio}");
}

#[test]
fn silence_is_compared_by_its_cpu_time_alone_and_has_limits_of_its_own() {
    let silent = |mut run: Run| {
        run.manifest.plan.experiments[0].workload = Workload::Idle;
        for t in &mut run.trials {
            let one = t.distributions.remove(&Metric::FirstMessage).unwrap();
            t.distributions.insert(Metric::IdleCpu, one);
            t.idle = Some(dyno_model::Idle {
                participants: 4,
                ..dyno_model::Idle::default()
            });
            t.cost.processes = vec![dyno_model::record::ProcessCost {
                pss_bytes: 40 << 20,
                ..Default::default()
            }];
        }
        run
    };
    let (base, new) = (silent(starts(1, 1.0)), silent(starts(2, 2.0)));
    let c = compare(&base, &new, &CompareOptions::default());
    let figures: Vec<Figure> = c.cells[0].rows.iter().map(|r| r.figure).collect();
    let p50 = Figure::Quantile {
        metric: Metric::IdleCpu,
        q: 0.5,
    };
    assert_eq!(figures, [p50, Figure::Failed]);
    let first = c.cells[0].rows[0].result.as_ref().unwrap();
    assert_eq!(first.finding, Finding::Higher);
    for (keys, status) in [
        ("metric = \"idle_cpu\"\nat_most = \"2 ms\"", Status::Pass),
        ("metric = \"idle_cpu\"\nat_most = \"500 us\"", Status::Fail),
        ("metric = \"idle_pss\"\nat_most = \"11 MiB\"", Status::Pass),
        ("metric = \"idle_pss\"\nat_most = \"9 MiB\"", Status::Fail),
    ] {
        assert_eq!(one(&base, keys).0, status, "{keys}");
    }
}

#[test]
fn a_start_that_failed_is_infinitely_late() {
    let (base, mut new) = (starts(1, 10.0), starts(2, 10.0));
    let half = new.trials.len() / 2;
    for t in &mut new.trials[half..] {
        t.outcome = Outcome::Failed {
            kind: FailureKind::Hang,
            step: "match".into(),
            cause: dyno_model::Cause::Told("nobody was matched".into()),
            stderr: Vec::new(),
        };
    }
    let c = compare(&base, &new, &CompareOptions::default());
    let p50 = c.cells[0].rows[0].result.as_ref().unwrap();
    assert!(p50.new.is_infinite(), "{p50:?}");
    assert_ne!(c.status(), Status::Pass);
}

#[test]
fn another_quantile_of_one_time_is_refused() {
    let how = CompareOptions {
        quantiles: vec![0.9],
        ..CompareOptions::default()
    };
    let c = compare(&starts(1, 10.0), &starts(2, 20.0), &how);
    let reason = c.cells[0].rows[0].result.as_ref().unwrap_err();
    assert!(
        reason.contains("a trial has only one first message"),
        "{reason}"
    );
}
