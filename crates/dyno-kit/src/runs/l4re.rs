//! A run of a suite like `l4re`: some of its cells, alone and at once, one without trials.

use super::builder::Builder;
use dyno_model::probe::{Call, HandOver, Probe, Sides};
use dyno_model::record::{CopyRecord, Run};
use dyno_model::*;

fn switch(by: HandOver, sides: Sides) -> Probe {
    Probe::Switch { by, sides }
}

/// Adds trials of a probe with that p50 in ns; the last copy is a tenth slower.
fn add(b: &mut Builder, name: &str, probe: Probe, each: u32, copies: u32, ns: f64) {
    let id = b.experiment("ground", |e| {
        e.name = name.into();
        e.workload = Workload::Probe {
            probe,
            each,
            copies,
        };
        e.cpus = (0..each * copies).rev().collect();
    });
    if ns == 0.0 {
        return;
    }
    b.trials(id, &[(Metric::Probe, ns, 800, 0)]);
    for trial in b.records(id) {
        trial.copies = (0..copies)
            .map(|i| CopyRecord {
                cpus: vec![i],
                n: 800,
                p50: Nanos((ns * (1.0 + 0.1 * f64::from(i))) as u64),
                p99: Nanos(2 * ns as u64),
                own_ns: 20.0,
                ..CopyRecord::default()
            })
            .collect();
    }
}

/// The run.
pub fn l4re() -> Run {
    let mut b = Builder::new("l4re", "L4Re's study", "l4re");
    let by = |by| (switch(by, Sides::Threads), switch(by, Sides::Processes));
    let (intra, inter) = by(HandOver::Futex);
    for (name, probe, ns) in [("intra", intra, 2_000.0), ("inter", inter, 2_600.0)] {
        add(&mut b, name, probe, 1, 1, ns);
        add(&mut b, name, probe, 1, 2, 1.2 * ns);
        add(&mut b, "two-cpus", probe, 2, 1, 5.0 * ns);
    }
    let (intra, inter) = by(HandOver::Pipe);
    add(&mut b, "intra", intra, 1, 1, 3_000.0);
    add(&mut b, "inter", inter, 1, 1, 0.0);
    let syscall = Probe::Syscall {
        by: Call::Getppid,
        batch: 100,
    };
    add(&mut b, "syscall", syscall, 1, 1, 120.0);
    add(&mut b, "syscall", syscall, 1, 2, 121.0);
    let id = b.experiment("tcp", |e| {
        e.name = "stacks".into();
        e.payload = PayloadSize::new(8).unwrap();
        e.cpus = vec![0, 0];
    });
    b.trials(id, &[(Metric::Rtt, 18_000.0, 800, 0)]);
    let id = b.experiment("tcp", |e| {
        e.name = "stacks".into();
        e.payload = PayloadSize::new(8).unwrap();
        e.topology = "1-1x2".parse().unwrap();
        e.cpus = vec![0, 0, 1, 1];
    });
    b.trials(id, &[(Metric::Rtt, 21_000.0, 800, 0)]);
    for trial in b.records(id) {
        trial.copies = [19_000, 23_000]
            .into_iter()
            .zip(0..)
            .map(|(ns, cpu)| CopyRecord {
                cpus: vec![cpu],
                n: 400,
                p50: Nanos(ns),
                p99: Nanos(2 * ns),
                ..CopyRecord::default()
            })
            .collect();
    }
    b.build()
}
