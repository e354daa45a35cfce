//! A run of the suite `sodev` on a host and an emulated guest, with something in each of its tables.

use super::builder::Builder;
use dyno_model::machine::{Accelerator, Machine};
use dyno_model::plan::{Host, Reach, Refusal};
use dyno_model::probe::{Alarm, HandOver, Probe, Sides};
use dyno_model::record::{CopyRecord, MemoryUse, ProcessCost, Run};
use dyno_model::*;

const US: f64 = 1e3;
const MS: f64 = 1e6;
const HOST: usize = 0;
const GUEST: usize = 1;

/// The testbed `vm`.
fn hosts() -> Vec<Host> {
    let machine = Machine {
        kernel: Some("/boot/vmlinuz-6.1.0-cloud-amd64".into()),
        memory_bytes: 512 << 20,
        cpus: 1,
        pinned: Vec::new(),
        accelerator: Accelerator::Tcg,
        vsock: None,
        shared_bytes: Some(64 << 20),
    };
    let host = |name: &str, address: &str, reach| Host {
        name: name.into(),
        reach,
        address: address.into(),
        link: None,
        own_clock: false,
    };
    vec![
        host("host", "10.77.0.1", Reach::Namespace),
        host("guest", "10.77.0.2", Reach::Vm(machine)),
    ]
}

fn probe(b: &mut Builder, name: &str, on_host: usize, probe: Probe) -> ExperimentId {
    b.experiment("ground", |e| {
        e.name = name.into();
        e.on_host = on_host;
        e.cpus = vec![0];
        e.workload = Workload::Probe {
            probe,
            each: 1,
            copies: 1,
        };
    })
}

/// What the monitor of the guest used, in window and drain.
fn monitor(cpu: Nanos, wall: Nanos) -> ProcessCost {
    ProcessCost {
        label: "monitor of guest".into(),
        user: cpu,
        wall,
        pss_bytes: 180 << 20,
        peak_rss_bytes: 200 << 20,
        ..ProcessCost::default()
    }
}

fn throughput(b: &mut Builder) {
    let id = b.experiment("tcp", |e| {
        e.name = "throughput".into();
        e.workload = Workload::Flood;
        e.placement = Placement::Host;
        e.payload = PayloadSize::new(128 << 10).unwrap();
    });
    b.trials(id, &[(Metric::Service, 20.0 * MS, 300, 0)]);
    for trial in b.records(id) {
        // 0.4 s within a window of 0.3 s and a drain of 0.2 s: more than the window has.
        let wall = Nanos::from_millis(500);
        trial.cost.machines = vec![monitor(Nanos::from_millis(400), wall)];
        for (process, label) in trial.cost.processes.iter_mut().zip(["source", "sink"]) {
            process.label = label.into();
            process.user = Nanos::from_millis(100);
            process.system = Nanos::from_millis(25);
            process.wall = wall;
        }
    }
}

fn shares(b: &mut Builder, name: &str, on_host: usize) {
    let id = probe(b, name, on_host, Probe::Share { threads: 2 });
    b.trials(id, &[(Metric::Probe, 4.0 * MS, 100, 0)]);
    for trial in b.records(id) {
        let copy = |done| CopyRecord {
            cpus: vec![0],
            n: 50,
            mean_ns: 4.0 * MS,
            p50: Nanos::from_millis(4),
            p99: Nanos::from_millis(5),
            max: Nanos::from_millis(6),
            own_ns: 30.0,
            done,
            missed: 0,
            bytes_per_s: None,
            share: Some(0.5),
            core: None,
            peer_core: None,
        };
        trial.copies = vec![copy(5_100), copy(4_900)];
    }
}

/// All tables but those of what cannot be measured.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
pub fn sodev() -> Run {
    let mut b = Builder::new("sodev", "across the border", "sodev");
    b.plan().testbed.name = "vm".into();
    b.plan().testbed.hosts = hosts();
    b.run.manifest.environment.emulated = Some("guest by QEMU's TCG".into());
    b.plan().refused.push(Refusal {
        experiment: "border".into(),
        stack: "vsock".into(),
        factors: "ping-pong".into(),
        reason: "there is no vsock device".into(),
    });
    let border = b.experiment("tcp", |e| {
        e.name = "border".into();
        e.placement = Placement::Host;
    });
    b.trials(border, &[(Metric::Rtt, 1.9 * MS, 400, 0)]);
    for trial in b.records(border) {
        let wall = Nanos::from_millis(300);
        trial.cost.machines = vec![monitor(Nanos::from_millis(90), wall)];
        let used = |label: &str, at_rest_bytes, in_use_bytes| MemoryUse {
            label: label.into(),
            at_rest_bytes,
            in_use_bytes,
        };
        trial.cost.memory = vec![
            used("monitor of guest", 150 << 20, 181 << 20),
            used("within guest", 60 << 20, 75 << 20),
        ];
    }
    let memory = b.experiment("floor-spin", |e| {
        e.name = "border".into();
        e.placement = Placement::Host;
        e.wait = Wait::Spin;
    });
    b.trials(memory, &[(Metric::Rtt, 2.0 * US, 400, 0)]);
    let timer = Probe::Timer {
        by: Alarm::Timerfd,
        period: Nanos::from_micros(100),
        slack: None,
    };
    for (name, on_host, times) in [("timer-guest", GUEST, 10.0), ("timer-host", HOST, 1.0)] {
        let id = probe(&mut b, name, on_host, timer);
        let parts = [
            (Metric::Probe, 3.0 * US * times, 2_000, 0),
            (Metric::Within, 0.2 * US * times, 2_000, 0),
            (Metric::Served, 3.2 * US * times, 2_000, 0),
        ];
        b.trials(id, &parts);
    }
    let switch = Probe::Switch {
        by: HandOver::Futex,
        sides: Sides::Threads,
    };
    for (name, on_host, times) in [("switch-guest", GUEST, 3.0), ("switch-host", HOST, 1.0)] {
        let id = probe(&mut b, name, on_host, switch);
        b.trials(id, &[(Metric::Probe, 9.0 * US * times, 2_000, 0)]);
    }
    let boot = b.experiment("tcp", |e| {
        e.name = "boot".into();
        e.placement = Placement::Host;
        e.reboot = true;
        e.workload = Workload::FirstMessage {
            period: Nanos::from_millis(10),
        };
    });
    let stages = [
        (Metric::FirstMessage, 40.0 * MS, 1, 0),
        (Metric::BootMonitor, 900.0 * MS, 1, 0),
        (Metric::BootKernel, 1_500.0 * MS, 1, 0),
        (Metric::BootInit, 300.0 * MS, 1, 0),
        (Metric::BootAgent, 200.0 * MS, 1, 0),
        (Metric::Boot, 2_900.0 * MS, 1, 0),
    ];
    for _ in 0..6 {
        b.trials(boot, &stages);
    }
    for (name, start, times) in [
        ("container", Start::Container, 1.5),
        ("start", Start::Process, 1.0),
    ] {
        let id = b.experiment("tcp", |e| {
            e.name = name.into();
            e.start = Some(start);
            e.workload = Workload::FirstMessage {
                period: Nanos::from_millis(1),
            };
        });
        let parts = [
            (Metric::FirstMessage, 4.0 * MS, 1, 0),
            (Metric::Boot, 8.0 * MS * times, 1, 0),
        ];
        for _ in 0..6 {
            b.trials(id, &parts);
        }
    }
    throughput(&mut b);
    shares(&mut b, "share", GUEST);
    shares(&mut b, "share-host", HOST);
    b.build()
}
