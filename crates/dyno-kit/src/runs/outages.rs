//! Runs with faults: trials that recover, one that stays deaf, one of which half the receivers do, and one that fails.

use super::builder::Builder;
use dyno_model::fault::{DetectedBy, Detection, FaultKind, Target};
use dyno_model::plan::{Timeout, TimeoutBy};
use dyno_model::record::{FailureKind, Run};
use dyno_model::*;

const MS: f64 = 1e6;

/// A stream at 1 kHz whose receiver is without a link for a second.
pub fn unplugged(e: &mut Experiment) {
    e.name = "link-down".into();
    e.workload = Workload::Stream {
        rate: RateHz::new(1e3).unwrap(),
        arrivals: Arrivals::Fixed,
    };
    e.window = Extent::Duration(Nanos::from_secs(4));
    e.faults = vec![Fault {
        what: FaultKind::LinkDown,
        who: Target::Receiver { number: 0 },
        at: Nanos::from_secs(1),
        lasts: Nanos::from_secs(1),
        share: None,
        burst: None,
        rate_bits: None,
        way: Default::default(),
    }];
}

/// What came of a fault of one second at a receiver that has a newer message so many milliseconds after its end; `None`: never.
pub fn end(receiver: u16, recovery_ms: Option<f64>) -> Outage {
    let recovery = recovery_ms.map(|ms| Nanos((ms * MS) as u64));
    let second = Nanos::from_secs(1);
    let before = (-200..0).map(|i| i * 1_000_000 * 5);
    let after = recovery.into_iter().flat_map(|r| {
        let first = (second.0 + r.0) as i64;
        (0..100).map(move |i| first + i * 5_000_000)
    });
    Outage {
        channel: 0,
        receiver,
        silence: recovery.map(|r| second.saturating_add(r)),
        recovery,
        steady: recovery.map(|r| r.saturating_add(Nanos::from_millis(20))),
        seen: Nanos::from_secs(2),
        lost: recovery.map_or(3_000, |r| 1_000 + r.0 / 1_000_000),
        repeated: 0,
        reordered: 0,
        burst: recovery.map_or(0, |_| 10),
        oldest: Nanos::from_millis(40),
        before_p50: Some(Nanos::from_micros(80)),
        before_max: Some(Nanos::from_micros(200)),
        steady_max: recovery.map(|_| Nanos::from_micros(300)),
        arrivals: before.chain(after).collect(),
    }
}

/// Adds a trial in which that came of the fault at its receivers.
pub fn add_outage(
    b: &mut Builder,
    id: ExperimentId,
    ends: Vec<Outage>,
    told: Option<(DetectedBy, f64)>,
) {
    let of =
        |of: fn(&Outage) -> Option<Nanos>| ends.iter().map(move |o| of(o).map(|ns| ns.0 as f64));
    // The worst of its receivers: infinite where one never recovers.
    let worst = |value: fn(&Outage) -> Option<Nanos>| {
        of(value).try_fold(0.0, |most: f64, ns| ns.map(|ns| most.max(ns)))
    };
    let one = |metric, ns: Option<f64>| match ns {
        Some(ns) => (metric, ns, 1, 0),
        None => (metric, 1.0, 0, 1),
    };
    let lost: u64 = ends.iter().map(|o| o.lost).sum();
    let first = of(|o| o.recovery).flatten().reduce(f64::min);
    let latencies = [
        (
            Metric::Response,
            80_000.0,
            4_000 * ends.len() as u64 - lost,
            lost,
        ),
        (
            Metric::Service,
            79_000.0,
            4_000 * ends.len() as u64 - lost,
            lost,
        ),
        one(Metric::Recovery, worst(|o| o.recovery)),
        one(Metric::RecoveryFirst, first),
        one(Metric::Steady, worst(|o| o.steady)),
        one(Metric::Silence, worst(|o| o.silence)),
        one(Metric::Detection, told.map(|(_, ms)| ms * MS)),
    ];
    let trial = b.trial(id, &latencies);
    // The builder draws around a value; what a trial has one of is that value.
    for (metric, value, n, infinite) in &latencies[2..] {
        let exact = super::builder::exactly(*value as u64, *n, *infinite);
        trial.distributions.insert(*metric, exact);
    }
    let begin = Nanos::from_secs(1);
    let end = Nanos::from_secs(2);
    trial.faults = vec![FaultMade {
        fault: 0,
        who: "link of h2".into(),
        begin: [begin, begin],
        end: Some([end, end]),
    }];
    trial.detections = told
        .map(|(by, ms)| Detection {
            participant: 0,
            by,
            after: Nanos((ms * MS) as u64),
        })
        .into_iter()
        .collect();
    trial.outages = ends;
}

/// Twenty trials of a stack that recovers within 0.6 to 1.4 s in all of them.
pub fn add_recovering(b: &mut Builder, stack: &str) -> ExperimentId {
    let id = b.experiment(stack, |e| {
        unplugged(e);
        e.trials = 20;
    });
    for i in 0..20 {
        let ms = 600.0 + 40.0 * f64::from(i);
        add_outage(
            b,
            id,
            vec![end(1, Some(ms))],
            Some((DetectedBy::Peers, 900.0)),
        );
    }
    id
}

/// Recovers in all trials; stays deaf in one of twenty; half deaf in one of twenty with two receivers; one trial fails.
pub fn outages() -> Run {
    let mut b = Builder::new("outage", "what happens when something breaks", "stacks");
    add_recovering(&mut b, "cyclonedds");
    b.stack("cyclonedds", false).timeouts = vec![Timeout {
        name: "lease".into(),
        time: Nanos::from_secs(10),
        by: TimeoutBy::Library,
        text: "a peer that is silent this long is taken for gone".into(),
    }];
    let deaf = b.experiment("zenoh", |e| {
        unplugged(e);
        e.trials = 20;
    });
    for i in 0..20 {
        let ms = (i != 7).then_some(200.0 + f64::from(i));
        add_outage(&mut b, deaf, vec![end(1, ms)], None);
    }
    let half = b.experiment("fastdds", |e| {
        unplugged(e);
        e.topology.receivers = 2;
        e.trials = 20;
    });
    for i in 0..19 {
        let other = (i != 3).then_some(2_000.0);
        let ends = vec![end(1, Some(1_500.0 + f64::from(i))), end(2, other)];
        add_outage(&mut b, half, ends, Some((DetectedBy::Send, 12_000.0)));
    }
    let message = "step `window` did not end within 5.0 s for agent (sink 1) with adapter fastdds";
    b.failed(half, FailureKind::Hang, "window", message, &[]);
    b.build()
}
