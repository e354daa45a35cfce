//! A run of a suite like `rwth`: some of its cells, and everything that can happen to one.

use super::builder::Builder;
use dyno_model::Metric::{FirstDelivery, FirstMessage, Match, Open, Response, Service};
use dyno_model::plan::{Extent, Refusal};
use dyno_model::record::{FailureKind, Run};
use dyno_model::*;

fn stream(hz: f64) -> Workload {
    Workload::Stream {
        rate: RateHz::new(hz).unwrap(),
        arrivals: Arrivals::Fixed,
    }
}

/// An experiment of a message type: name, rate, size, `C1-1` or `D3-1`.
fn of(name: &str, hz: f64, bytes: u64, at: &str) -> impl FnOnce(&mut Experiment) + use<> {
    let (name, at) = (name.to_owned(), at.to_owned());
    move |e| {
        e.name = name;
        e.workload = stream(hz);
        e.payload = PayloadSize::new(bytes).unwrap();
        e.wait = Wait::Callback;
        e.placement = match &at[..1] {
            "C" => Placement::Process,
            _ => Placement::Host,
        };
        e.topology = at[1..].parse().unwrap();
        e.window = Extent::Duration(Nanos::from_secs(5));
        e.cpus = Vec::new();
    }
}

/// Adds trials with that service time in milliseconds; messages that arrive and are lost.
fn add(
    b: &mut Builder,
    stack: &str,
    e: impl FnOnce(&mut Experiment),
    ms: f64,
    n: (u64, u64),
) -> ExperimentId {
    let id = b.experiment(stack, e);
    let (service, response) = (ms * 1e6, ms * 1.1e6);
    b.trials(
        id,
        &[(Service, service, n.0, n.1), (Response, response, n.0, n.1)],
    );
    id
}

/// The run.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
pub fn rwth() -> Run {
    let mut b = Builder::new("rwth", "RWTH's comparison", "rwth");
    let imu = |at: &str| of("imu", 200.0, 1_000, at);
    let camera = |at: &str| of("camera", 50.0, 4_000_000, at);
    for (stack, at, ms) in [
        ("fastdds-shm-best-effort", "C1-1", 0.09),
        ("zenoh-udp", "C1-1", 0.14),
        ("vsomeip-defaults", "C1-1", 0.12),
        ("vsomeip", "C1-1", 0.11),
        ("iceoryx2", "C1-1", 0.008),
        ("fastdds-best-effort", "D1-1", 0.21),
        ("zenoh-udp", "D1-1", 0.19),
        ("vsomeip-udp-defaults", "D1-1", 7.9),
        ("vsomeip-udp", "D1-1", 0.26),
        ("fastdds-best-effort", "D1-3", 0.35),
        ("zenoh-udp", "D1-3", 0.34),
    ] {
        add(&mut b, stack, imu(at), ms, (1_000, 0));
    }
    let floor = add(&mut b, "floor-futex", imu("C1-1"), 0.006, (1_000, 0));
    b.plan().experiments[floor.0 as usize].added = true;
    // Cameras: one drops and is fast, one holds up, one fails, one partly.
    add(
        &mut b,
        "fastdds-best-effort",
        camera("D1-1"),
        33.0,
        (600, 400),
    );
    // One that takes its time before it sends.
    let slow = add(
        &mut b,
        "vsomeip-tcp-defaults",
        camera("D1-1"),
        56.0,
        (990, 0),
    );
    for record in b.records(slow) {
        let held_up = super::builder::distribution(900e6, 990, 0, 7);
        record.distributions.insert(Response, held_up);
    }
    b.failed(
        slow,
        FailureKind::Hang,
        "window",
        "the sender does not end within 20 s",
        &[],
    );
    let failed = b.experiment("zenoh-udp", camera("D1-1"));
    for _ in 0..5 {
        b.failed(
            failed,
            FailureKind::Crash,
            "window",
            "sink ended by signal 11 (SIGSEGV)",
            &[],
        );
    }
    add(
        &mut b,
        "fastdds-shm-best-effort",
        camera("C1-1"),
        1.8,
        (1_000, 0),
    );
    add(&mut b, "zenoh-udp", camera("C1-1"), 3.9, (1_000, 0));
    b.experiment("zenoh-tcp", camera("D1-1"));
    b.plan().refused.push(Refusal {
        experiment: "camera".into(),
        stack: "iceoryx2".into(),
        factors: "stream 50 Hz, 4.00 MB, spin, stamp, process, 1-1".into(),
        reason: "a message is too large | for it".into(),
    });
    for (stack, ms) in [
        ("fastdds-best-effort", 51.0),
        ("zenoh-udp", 12.0),
        ("vsomeip-udp-defaults", 900.0),
    ] {
        let id = b.experiment(stack, |e| {
            of("first-message", 1.0, 1_000, "D1-1")(e);
            e.workload = Workload::FirstMessage {
                period: Nanos::from_millis(1),
            };
        });
        for i in 0..40 {
            let total = ms * (1.0 + 0.01 * f64::from(i % 7)) * 1e6;
            let part = |share: f64| total * share;
            b.trial(
                id,
                &[
                    (FirstMessage, total, 1, 0),
                    (Open, part(0.2), 1, 0),
                    (Match, part(0.7), 1, 0),
                    (FirstDelivery, part(0.1), 1, 0),
                ],
            );
        }
    }
    for (stack, slope) in [
        ("fastdds-best-effort", 8.4),
        ("zenoh-udp", 8.9),
        ("zenoh-tcp", 0.0),
    ] {
        for i in 0..5 {
            let bytes = 100_000 + i * 780_000;
            let e = of("scaling", 20.0, bytes, "D1-1");
            let n = if slope == 0.0 && i > 3 {
                (40, 60)
            } else {
                (100, 0)
            };
            let id = add(&mut b, stack, e, 0.2 + slope * bytes as f64 / 1e6, n);
            b.plan().experiments[id.0 as usize].window = Extent::Messages(100);
        }
    }
    let options = &mut b.stack("fastdds-best-effort", false).options;
    options.insert("transport".into(), OptionValue::Text("udp".into()));
    options.insert("reliable".into(), OptionValue::Bool(false));
    b.plan().warnings.push(dyno_model::Cause::Told(
        "camera 1-1 on zenoh-tcp: 1.6 Gbit/s offered on the 1 Gbit/s link of h1: at most 62 % can arrive".into(),
    ));
    b.build()
}
