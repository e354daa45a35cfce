//! The tables of studies that are written as data: byte for byte as the program printed them when they were code.

use crate::common::{Builder, summary};
use dyno_model::chain::{Chain, ChainLeg, Gateway, Stage};
use dyno_model::factor::Arrivals;
use dyno_model::plan::{Extent, Refusal};
use dyno_model::record::FailureKind;
use dyno_model::unit::RateHz;
use dyno_model::{Metric, Nanos, OptionValue, PayloadSize, Placement, Topology, Wait, Workload};
use dyno_report::{ChainSummary, Format, PartSummary, RenderOptions, Summary, render};
use dyno_stats::Mean;

const US: f64 = 1e3;

fn shown(summary: &Summary) -> String {
    let show = |format, width| {
        let options = RenderOptions {
            width,
            ..RenderOptions::default()
        };
        render(summary, format, &options)
    };
    let all = [
        show(Format::Table, None),
        show(Format::Table, Some(80)),
        show(Format::Markdown, None),
    ];
    all.join("\n=====\n")
}

#[test]
fn a_study_that_this_version_does_not_know_is_named() {
    let mut b = Builder::new("later", "of a later version", "no-such-study");
    b.experiment("tcp", |_| {});
    let summary = summary(&b.run);
    assert!(summary.run.is_of_stacks());
    for format in [Format::Table, Format::Markdown] {
        let text = render(&summary, format, &RenderOptions::default());
        assert!(
            text.contains("does not know the study `no-such-study`"),
            "{text}"
        );
    }
}

/// Stacks of S-CORE's suite: a local one, a chain of it, and one to another host.
fn s_core() -> Summary {
    let mut b = Builder::new("s-core", "paths", "s-core");
    let leg = |stack: &str, placement| ChainLeg {
        stack: stack.into(),
        adapter: stack.into(),
        options: Default::default(),
        wait: None,
        placement,
        daemons: Vec::new(),
    };
    let way = Chain {
        legs: vec![
            leg("local", Placement::Process),
            leg("local", Placement::Process),
        ],
        gateways: vec![Gateway::default()],
    };
    b.stack("way", false).chain = Some(way);
    for (stack, placement, times) in [
        ("local", Placement::Process, 1.0),
        ("way", Placement::Process, 2.5),
        ("someip", Placement::Host, 9.0),
    ] {
        for (i, bytes) in [8, 1 << 10, 64 << 10, 1 << 20, 300].into_iter().enumerate() {
            let id = b.experiment(stack, |e| {
                e.name = "echo".into();
                e.placement = placement;
                e.payload = PayloadSize::new(bytes).unwrap();
                e.echo_poll = (stack == "way").then_some(Nanos::from_millis(1));
            });
            match (stack, i) {
                ("local", 3) => b.failed(id, FailureKind::Hang, "window", "no reply", &[]),
                ("way", 2) => {
                    b.trial(id, &[(Metric::Rtt, 70.0 * US, 900, 0)]);
                }
                ("someip", 2) => b.trials(id, &[(Metric::Rtt, 90.0 * US, 12, 0)]),
                _ => {
                    let lost = u64::from(i == 4);
                    let p50 = 20.0 * US * times * (1.0 + i as f64);
                    b.trials(id, &[(Metric::Rtt, p50, 3_000, lost)]);
                }
            }
        }
        for (name, bytes, messages) in [
            ("throughput", 32, None),
            ("throughput", 1 << 20, None),
            ("stress", 32, Some(100)),
        ] {
            let id = b.experiment(stack, |e| {
                e.name = name.into();
                e.workload = Workload::Flood;
                e.placement = placement;
                e.payload = PayloadSize::new(bytes).unwrap();
                if let Some(n) = messages {
                    e.window = Extent::Messages(n);
                }
            });
            let lost = if stack == "someip" { 40 } else { 0 };
            b.trials(id, &[(Metric::Service, 30.0 * US * times, 3_000, lost)]);
        }
    }
    // Another experiment of the same figure, and one whose first leg was not measured alone.
    for wait in [Wait::Block, Wait::Spin] {
        let id = b.experiment("way", |e| {
            e.name = "again".into();
            e.wait = wait;
            e.payload = PayloadSize::new(8).unwrap();
            e.topology = Topology {
                receivers: 2,
                ..Topology::ONE_TO_ONE
            };
        });
        b.trials(id, &[(Metric::Rtt, 80.0 * US, 3_000, 0)]);
    }
    // One that has no row.
    let id = b.experiment("local", |e| {
        e.name = "stream".into();
        e.workload = Workload::Stream {
            rate: RateHz::new(100.0).unwrap(),
            arrivals: Arrivals::Fixed,
        };
    });
    b.trials(id, &[(Metric::Response, 400.0 * US, 300, 0)]);
    let mut summary = summary(&b.build());
    let mean = |value: f64| Mean {
        value,
        interval: Some((0.9 * value, 1.1 * value)),
        n: 5,
    };
    let part = |stage, stack: Option<&str>, back, ns: f64, known: bool| PartSummary {
        stage,
        stack: stack.map(str::to_owned),
        back,
        mean: mean(ns),
        p50: mean(0.9 * ns),
        p90: None,
        p99: known.then(|| mean(2.0 * ns)),
        share: ns / (100.0 * US),
        at_median: ns,
        in_tail: known.then_some(3.0 * ns),
    };
    for e in &mut summary.experiments {
        if e.experiment.stack == "way" && e.experiment.name == "echo" {
            let known = e.experiment.payload.bytes() != 8;
            e.chain = Some(ChainSummary {
                messages: 500,
                least_ns: known.then_some(-3),
                residual_ns: Some(0),
                parts: vec![
                    part(Stage::Leg(1), Some("local"), false, 40.0 * US, known),
                    part(Stage::Gateway(1), None, false, 10.0 * US, true),
                    part(Stage::Leg(2), Some("local"), true, 50.0 * US, true),
                ],
                programs: Vec::new(),
                legs: Vec::new(),
                gateways: Vec::new(),
                processes: Vec::new(),
                added: None,
            });
        }
    }
    summary
}

/// Stacks of the suite `signals`, with something in each row.
fn signals() -> Summary {
    let mut b = Builder::new("signals", "signals through brokers", "signals");
    let stream = |hz: f64| Workload::Stream {
        rate: RateHz::new(hz).unwrap(),
        arrivals: Arrivals::Fixed,
    };
    let to = |receivers| Topology {
        receivers,
        ..Topology::ONE_TO_ONE
    };
    for (stack, wait, times) in [
        ("kuksa", Wait::Block, 1.0),
        ("kuksa", Wait::Spin, 0.7),
        ("mqtt-qos0", Wait::Block, 2.0),
    ] {
        let closed = b.experiment(stack, |e| {
            e.name = "closed".into();
            e.wait = wait;
        });
        b.trials(closed, &[(Metric::Rtt, 400.0 * US * times, 3_000, 0)]);
        for (hz, receivers, lost) in [
            (2_000.0, 1, 3),
            (100.0, 1, 0),
            (100.0, 8, 0),
            (100.0, 24, 9),
        ] {
            let id = b.experiment(stack, |e| {
                e.name = "open".into();
                e.wait = wait;
                e.workload = stream(hz);
                e.topology = to(receivers);
            });
            b.trials(id, &[(Metric::Response, 300.0 * US * times, 3_000, lost)]);
        }
        let flood = b.experiment(stack, |e| {
            e.name = "flood".into();
            e.wait = wait;
            e.workload = Workload::Flood;
        });
        b.trials(flood, &[(Metric::Service, 300.0 * US * times, 3_000, 0)]);
    }
    let call = b.experiment("mqtt-qos0", |e| {
        e.name = "call".into();
        e.workload = Workload::Call {
            gap: Nanos::ZERO,
            timeout: Nanos::from_secs(1),
        };
        e.paired = true;
    });
    b.trials(call, &[(Metric::Rtt, 900.0 * US, 3_000, 0)]);
    for (hz, receivers) in [(1.0, 1), (1.0, 4), (1_000.0, 1), (1_000.0, 4), (1_000.0, 2)] {
        let id = b.experiment("kuksa-get", |e| {
            e.name = "reads".into();
            e.workload = stream(hz);
            e.topology = to(receivers);
        });
        let samples = 3_000 * u64::from(receivers);
        b.trials(id, &[(Metric::Read, 100.0 * US, samples, 0)]);
    }
    b.stack("kuksa-get", false).asks = true;
    let set = b.experiment("kuksa-viss-set", |e| {
        e.name = "flood".into();
        e.workload = Workload::Flood;
    });
    b.trials(set, &[(Metric::Service, 300.0 * US, 3_000, 0)]);
    let options = &mut b.stack("kuksa-viss-set", false).options;
    options.insert("publish".into(), OptionValue::Text("viss".into()));
    b.plan().refused.push(Refusal {
        experiment: "open".into(),
        stack: "nats".into(),
        factors: "stream".into(),
        reason: "there is no broker".into(),
    });
    summary(&b.build())
}

#[test]
fn s_core_is_shown_as_it_was() {
    insta::assert_snapshot!(shown(&s_core()));
}

#[test]
fn signals_are_shown_as_they_were() {
    insta::assert_snapshot!(shown(&signals()));
}
