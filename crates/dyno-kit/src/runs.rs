//! Runs that tests look at, from a [`Builder`].

mod builder;
pub mod held;
pub mod idle;
pub mod l4re;
pub mod outages;
pub mod rwth;
pub mod sodev;
pub mod starts;

pub use builder::*;

use Metric::{Response, Rtt, Service};
use dyno_model::plan::{Extent, Host, Reach, Refusal, Scheduling};
use dyno_model::record::{FailureKind, ProcessCost, Run};
use dyno_model::*;

/// A run of a suite like `quick`, with everything that can happen to a row.
pub fn quick() -> Run {
    let mut b = Builder::new(
        "quick",
        "every stack of this machine, side by side",
        "stacks",
    );
    let spin = b.experiment("floor-spin", |e| {
        e.wait = Wait::Spin;
        e.added = true;
    });
    b.trials(spin, &[(Rtt, 182.0, 6_000, 0)]);
    let futex = b.experiment("floor-futex", |_| {});
    b.trials(futex, &[(Rtt, 6_900.0, 3_000, 0)]);
    let on_futex = |e: &mut Experiment| e.floor = Some(futex);
    let null = b.experiment("null", |e| e.wait = Wait::Spin);
    b.stack("null", false).loopback = true;
    b.trials(null, &[(Rtt, 31.0, 6_000, 0)]);
    let stream = b.experiment("uds-stream", on_futex);
    b.trials(stream, &[(Rtt, 12_300.0, 1_500, 0)]);
    let unstable = b.experiment("tcp", on_futex);
    for p50 in [11_000.0, 51_000.0, 11_200.0, 50_500.0, 10_900.0] {
        b.trial(unstable, &[(Rtt, p50, 2_000, 0)]);
    }
    let queue = b.experiment("posix-mq", on_futex);
    for _ in 0..3 {
        b.trial(queue, &[(Rtt, 14_100.0, 1_000, 0)]);
    }
    for _ in 0..2 {
        b.failed(
            queue,
            FailureKind::Crash,
            "window",
            "echo ended by signal 11 (SIGSEGV)",
            &[
                "adapter posix-mq 1.0",
                "\x1b[31mmq_receive: |bad| <descriptor>\x1b[0m",
            ],
        );
    }
    let hung = b.experiment("iceoryx2", |e| {
        e.floor = Some(spin);
        e.wait = Wait::Spin;
    });
    for _ in 0..5 {
        b.failed(
            hung,
            FailureKind::Hang,
            "open",
            "participant 1 (echo) does not return from `open` within 5 s; look at its log",
            &[],
        );
    }
    let few = b.experiment("zenoh-tcp", on_futex);
    b.trial(few, &[(Rtt, 81_000.0, 30, 0)]).warnings = vec![dyno_model::Cause::Told(
        "SCHED_FIFO not granted: run as root or set rtprio".into(),
    )];
    let lossy = b.experiment("udp", on_futex);
    b.trials(lossy, &[(Rtt, 13_700.0, 900, 120)]);
    let long = b.experiment(
        "通信スタック-with_a|very*long~name-that-never-seems-to-end",
        on_futex,
    );
    b.trials(long, &[(Rtt, 20_200.0, 800, 0)]);
    b.plan().refused.push(Refusal {
        experiment: "round-trip".into(),
        stack: "zenoh-shm".into(),
        factors: "ping-pong, 64 B, spin".into(),
        reason: "it cannot wait by spin; write wait = \"natural\"".into(),
    });
    b.plan().warnings.push(dyno_model::Cause::Told(
        "CPU 1 is shared with interrupts".into(),
    ));
    b.build()
}

/// Open loops: a stream with a freeze, a flood, bursts, and more than one varying factor.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
pub fn streams() -> Run {
    let mut b = Builder::new("streams", "what an open loop sees", "stacks");
    let rate = RateHz::new(1_000.0).unwrap();
    let stream = |e: &mut Experiment| {
        e.name = "periodic".into();
        e.workload = Workload::Stream {
            rate,
            arrivals: Arrivals::Fixed,
        };
        e.window = Extent::Messages(5_000);
    };
    let floor = b.experiment("floor-futex", |e| {
        stream(e);
        e.added = true;
    });
    b.trials(
        floor,
        &[(Response, 9_000.0, 5_000, 0), (Service, 7_000.0, 5_000, 0)],
    );
    let uds = b.experiment("uds-dgram", |e| {
        stream(e);
        e.floor = Some(floor);
    });
    b.trials(
        uds,
        &[
            (Response, 21_000.0, 5_000, 0),
            (Service, 15_000.0, 5_000, 0),
        ],
    );
    let udp = b.experiment("udp", |e| {
        stream(e);
        e.floor = Some(floor);
    });
    b.trials(
        udp,
        &[
            (Response, 23_000.0, 2_200, 2_800),
            (Service, 16_000.0, 2_200, 2_800),
        ],
    );
    for trial in b.run.trials.iter_mut().filter(|t| t.id.experiment == udp) {
        trial.counts.duplicated = 2;
        trial.counts.reordered = 1;
        trial.counts.late = 400;
    }
    let poisson = b.experiment("tcp", |e| {
        stream(e);
        e.name = "random".into();
        e.wait = Wait::Callback;
        e.workload = Workload::Stream {
            rate,
            arrivals: Arrivals::Poisson,
        };
        e.topology = Topology {
            senders: 3,
            receivers: 2,
            copies: 1,
        };
        e.payload = PayloadSize::new(4096).unwrap();
        e.access = Access::All;
        e.cpus = Vec::new();
        e.placement = Placement::Thread;
        e.scheduling = Scheduling::Fifo(20);
        e.mlock = true;
    });
    b.trials(
        poisson,
        &[
            (Response, 2_100_000.0, 4_000, 0),
            (Service, 1_000_000.0, 4_000, 0),
        ],
    );
    let flood = b.experiment("pipe", |e| {
        e.name = "flood".into();
        e.workload = Workload::Flood;
    });
    b.trials(flood, &[(Service, 900_000.0, 6_000, 0)]);
    for trial in b.run.trials.iter_mut().filter(|t| t.id.experiment == flood) {
        trial.throughput.blocked_share = 0.62;
    }
    let burst = b.experiment("uds-stream", |e| {
        e.name = "burst".into();
        e.workload = Workload::Burst {
            messages: 50,
            period: Nanos::from_millis(10),
        };
    });
    b.trial(
        burst,
        &[
            (Response, 70_000.0, 1_500, 0),
            (Service, 40_000.0, 1_500, 0),
        ],
    );
    b.build()
}

/// Cameras of 1 MB at 20 Hz on a link of 1 Gbit/s: five of them fit; with six and seven the backlog grows.
/// And one stack that drops what does not go through.
pub fn cameras() -> Run {
    let mut b = Builder::new("cameras", "how many cameras fit", "stacks");
    let host = |i: u16| Host {
        name: format!("h{i}"),
        reach: Reach::Namespace,
        address: format!("10.0.0.{i}"),
        link: Some(dyno_model::plan::Link {
            rate_bits: 1_000_000_000,
            buffer_bytes: 1 << 19,
        }),
        own_clock: false,
    };
    b.plan().testbed.hosts = (1..=8).map(host).collect();
    for (stack, senders, growth, lost) in [
        ("tcp", 5, 0.0, 0),
        ("tcp", 6, 0.02, 0),
        ("tcp", 7, 0.2, 0),
        ("udp", 7, 0.0, 30),
    ] {
        let id = b.experiment(stack, |e| {
            e.name = "camera".into();
            e.workload = Workload::Stream {
                rate: RateHz::new(20.0).unwrap(),
                arrivals: Arrivals::Fixed,
            };
            e.payload = PayloadSize::new(1_000_000).unwrap();
            e.placement = Placement::Host;
            e.topology = Topology {
                senders,
                receivers: 1,
                copies: 1,
            };
            e.window = Extent::Duration(Nanos::from_secs(2));
            e.cpus = Vec::new();
        });
        let offered = 40 * u64::from(senders);
        for _ in 0..3 {
            let received = offered - lost;
            let trial = b.trial(id, &[(Metric::Response, 45e6, received, lost)]);
            let in_window = received - (growth * offered as f64) as u64;
            let by_half = received / 2 - (growth * offered as f64 / 2.0) as u64;
            trial.flows = vec![dyno_model::record::FlowCounts {
                received,
                in_window: Some(in_window),
                by_half: Some(by_half),
                ..Default::default()
            }];
            trial.counts.in_window = Some(in_window);
            trial.throughput.in_window_hz = Some(in_window as f64 / 2.0);
        }
    }
    b.build()
}

/// iceperf's suite on two stacks: kB sizes on one, 16 B and up on the other.
pub fn iceperf() -> Run {
    let mut b = Builder::new("iceperf", "iceperf's table", "iceperf");
    let row = |bytes: u64, wait: Wait| {
        move |e: &mut Experiment| {
            e.payload = PayloadSize::new(bytes).unwrap();
            e.wait = wait;
            e.window = Extent::Messages(10_000);
        }
    };
    for (i, bytes) in [1_024, 2_048, 4_096, 1_048_576, 4_194_304]
        .into_iter()
        .enumerate()
    {
        let id = b.experiment("posix-mq", row(bytes, Wait::Block));
        match i {
            3 => b.failed(id, FailureKind::Hang, "window", "no reply within 5 s", &[]),
            _ => b.trials(id, &[(Rtt, 15_000.0 * 2f64.powi(i as i32), 1_000, 0)]),
        }
    }
    for (bytes, p50, lost) in [(16, 900.0, 0), (1_024, 1_100.0, 3), (16_384, 1_500.0, 0)] {
        let id = b.experiment("iceoryx2", row(bytes, Wait::Spin));
        b.trials(id, &[(Rtt, p50, 200, lost)]);
    }
    b.experiment("iceoryx2", row(65_536, Wait::Spin));
    b.build()
}

/// A stack with a daemon that takes a tenth of the processor time and half of the memory.
pub fn with_daemon() -> Run {
    let mut b = Builder::new("broker", "a stack with a daemon", "stacks");
    let id = b.experiment("brokered", |_| {});
    b.trials(id, &[(Rtt, 10_000.0, 1_000, 0)]);
    for record in b.records(id) {
        let cost = &mut record.cost;
        let cpu = cost.cpu.0 / 9;
        cost.processes.push(ProcessCost {
            label: "daemon Broker".into(),
            user: Nanos(cpu),
            voluntary_switches: 7,
            pss_bytes: 4 << 20,
            peak_rss_bytes: 9 << 20,
            daemon: true,
            ..ProcessCost::default()
        });
        cost.cpu = Nanos(cost.cpu.0 + cpu);
        cost.cpu_ns_per_message = Some(cost.cpu.0 as f64 / 1_000.0);
        cost.pss_bytes += 4 << 20;
    }
    b.build()
}

/// A plan without experiments.
pub fn empty() -> Run {
    Builder::new("empty", "", "stacks").build()
}

/// One row that was never run, and one that is plain.
pub fn small() -> Run {
    let mut b = Builder::new("small", "two rows", "stacks");
    let floor = b.experiment("floor-futex", |_| {});
    b.trials(floor, &[(Rtt, 6_900.0, 800, 0)]);
    b.experiment("tcp", |e| e.floor = Some(floor));
    b.build()
}

/// Every fixture by name.
pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("quick", quick()),
        ("streams", streams()),
        ("iceperf", iceperf()),
        ("empty", empty()),
        ("small", small()),
        ("with a daemon", with_daemon()),
        ("rwth", rwth::rwth()),
        ("held", held::held()),
        ("against", held::against()),
        ("starts", starts::starts()),
        ("outages", outages::outages()),
        ("idle", idle::idle()),
        ("growing", idle::growing()),
        ("l4re", l4re::l4re()),
    ]
}
