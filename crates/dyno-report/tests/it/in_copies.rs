//! A large payload's latency in copies of the payload, where the run has the probe of one.

use crate::common::Builder;
use dyno_model::probe::{Probe, Writer};
use dyno_model::{Metric, PayloadSize, Workload};
use dyno_report::{Format, RenderOptions, Summary, render};
use dyno_stats::Latency;

/// A round trip of 40 µs with a payload of so many bytes, and a copy of `copied` that takes 10 µs, and 20 µs where another CPU has written it.
fn summary(payload: u64, copied: u64, lost: u64) -> Summary {
    let mut b = Builder::new("test", "", "stacks");
    let pipe = b.experiment("pipe", |e| e.payload = PayloadSize::new(payload).unwrap());
    b.trials(pipe, &[(Metric::Rtt, 40_000.0, 800, lost)]);
    for (by, p50) in [(Writer::Own, 10_000.0), (Writer::Other, 20_000.0)] {
        let probe = b.experiment("ground", |e| {
            e.cpus = vec![1];
            e.workload = Workload::Probe {
                probe: Probe::Copy { bytes: copied, by },
                each: 1,
                copies: 1,
            };
        });
        b.trials(probe, &[(Metric::Probe, p50, 800, 0)]);
    }
    crate::common::summary(&b.build())
}

#[test]
fn a_latency_is_told_in_copies_of_its_payload() {
    let summary = summary(65_536, 65_536, 0);
    let e = &summary.experiments[0];
    let (Some(ratio), Some(cached)) = (&e.in_copies, &e.in_cached_copies) else {
        panic!("no ratio")
    };
    let times = |l: &Latency| match l {
        Latency::Finite(times) => *times,
        Latency::Infinite => f64::INFINITY,
    };
    assert!((times(&ratio.value) - 2.0).abs() < 0.1, "{ratio:?}");
    assert!((times(&cached.value) - 4.0).abs() < 0.2, "{cached:?}");
    assert!(ratio.lo <= ratio.value && ratio.value <= ratio.hi && ratio.lo < ratio.hi);
    let shown = render(&summary, Format::Table, &RenderOptions::default());
    assert!(
        shown.contains("× copy: p50") && shown.contains("× cached copy: the"),
        "{shown}"
    );
    let json = render(&summary, Format::Json, &RenderOptions::default());
    assert!(
        json.contains("\"p50_over_copy\"") && json.contains("\"p50_over_copy_of_other\""),
        "{json}"
    );
}

#[test]
fn without_a_copy_of_that_size_there_is_no_ratio() {
    for (payload, copied) in [(65_536, 4_096), (64, 64)] {
        let summary = summary(payload, copied, 0);
        assert_eq!(summary.experiments[0].in_copies, None);
        let shown = render(&summary, Format::Table, &RenderOptions::default());
        assert!(!shown.contains("× copy"), "{shown}");
    }
}

#[test]
fn what_loses_most_of_its_messages_is_infinitely_many_copies() {
    let summary = summary(65_536, 65_536, 2_000);
    let ratio = summary.experiments[0].in_copies.as_ref();
    assert!(
        ratio.is_none_or(|r| r.value == Latency::Infinite),
        "{ratio:?}"
    );
}
