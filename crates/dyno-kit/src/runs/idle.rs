//! Runs in which nobody sends.

use super::builder::Builder;
use dyno_model::record::{FailureKind, Run};
use dyno_model::{
    Experiment, ExperimentId, Extent, Idle, LinkTraffic, Metric, Nanos, Topology, Workload,
};

fn silent(e: &mut Experiment, side: u16) {
    e.name = "asleep".into();
    e.workload = Workload::Idle;
    e.warmup = Extent::Duration(Nanos::from_secs(1));
    e.window = Extent::Duration(Nanos::from_secs(10));
    e.topology = Topology {
        senders: side,
        receivers: side,
        copies: 1,
    };
}

/// Six trials of so many participants on each side, in each of which a participant uses about `each_us` of CPU time per second.
pub fn add_idle(b: &mut Builder, stack: &str, side: u16, each_us: u64) -> ExperimentId {
    let id = b.experiment(stack, |e| silent(e, side));
    let n = 2 * u64::from(side);
    for i in 0..6 {
        let each = each_us * 1_000 * (100 + i) / 100;
        let trial = b.trial(id, &[(Metric::IdleCpu, each as f64, 1, 0)]);
        trial.counts = Default::default();
        trial.throughput = Default::default();
        for p in &mut trial.cost.processes {
            // Two processes stand for all.
            (p.user, p.system) = (Nanos(5 * n * each), Nanos::ZERO);
            p.wall = Nanos::from_secs(10);
            p.voluntary_switches = 40 * n;
            (p.shared_bytes, p.open_files, p.threads) = (1 << 19, 9 * n, 4 * n);
        }
        trial.cost.cpu_ns_per_message = None;
        trial.cost.switches_per_message = None;
        trial.idle = Some(Idle {
            participants: n,
            wall: Nanos::from_secs(10),
            links: Some(vec![LinkTraffic {
                host: "local".into(),
                device: "lo".into(),
                packets: 3 * n * n,
                bytes: 300 * n * n,
            }]),
        });
    }
    id
}

/// Two stacks with two sizes each, and one whose participants never match.
pub fn idle() -> Run {
    let mut b = Builder::new("growth", "what more participants cost", "stacks");
    for (stack, each_us) in [("udp", 40), ("cyclonedds", 700)] {
        for side in [1, 8] {
            add_idle(&mut b, stack, side, each_us * u64::from(side));
        }
    }
    let broken = b.experiment("tcp", |e| silent(e, 1));
    let message = "step `match` did not end within 10.0 s for agent (sink 1) with adapter tcp";
    b.failed(broken, FailureKind::Hang, "match", message, &[]);
    b.build()
}

/// CPU time that grows with n, with n·log n and with n², of 2 to 32 participants; packets grow with n², and one stack sends none.
pub fn growing() -> Run {
    let mut b = Builder::new("growth", "what more participants cost", "stacks");
    for side in [1, 2, 4, 8, 16] {
        let n = 2 * u64::from(side);
        let id = add_idle(&mut b, "udp", side, 200);
        for trial in b.records(id) {
            trial.idle.as_mut().unwrap().links = Some(Vec::new());
        }
        add_idle(&mut b, "zenoh-udp", side, 200 * u64::from(n.ilog2()));
        add_idle(&mut b, "cyclonedds", side, 50 * n);
    }
    b.build()
}
