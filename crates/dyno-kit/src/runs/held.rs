//! Runs with everything that bears on whether figures hold.

use super::builder::{Builder, empty_histogram, encode};
use dyno_model::Metric::Rtt;
use dyno_model::cause::{BareShare, Disturbance};
use dyno_model::record::Run;
use dyno_model::*;

/// Gaps of these lengths on one CPU, watched for 10 ms.
pub fn gaps(cpu: u32, lengths_ns: &[u64]) -> CpuGaps {
    let mut lengths = empty_histogram();
    for ns in lengths_ns {
        lengths.record(*ns).unwrap();
    }
    CpuGaps {
        cpu,
        watched: Nanos::from_millis(10),
        count: lengths_ns.len() as u64,
        longest: Nanos(lengths_ns.iter().copied().max().unwrap_or(0)),
        lost: Nanos(lengths_ns.iter().sum()),
        lengths: encode(&lengths),
    }
}

/// Counters of a window of 300 ms on CPUs 0 and 1, with these shares of them taken.
pub fn load(foreign: f64, stolen: f64) -> HostLoad {
    let part = |share: f64| Nanos((600e6 * share) as u64);
    HostLoad {
        wall: Nanos::from_millis(300),
        cpus: vec![0, 1],
        stolen: part(stolen),
        foreign: part(foreign),
        ..HostLoad::default()
    }
}

/// The noise of a trial on a machine that is calm but for a few gaps.
pub fn calm(trial: &mut TrialRecord) {
    trial.noise.gaps = vec![gaps(0, &[3_000, 9_000]), gaps(1, &[4_000])];
    trial.noise.window = Some(load(0.004, 0.0));
    trial.noise.line_ns = Some(180.0);
}

/// Puts the two participants on these CPUs, block by block of a window of 300 ms.
pub fn place(trial: &mut TrialRecord, by_block: &[(u32, u32)]) {
    let block = 300_000_000 / by_block.len() as u64;
    let mut last = [None, None];
    for (i, (a, b)) in by_block.iter().enumerate() {
        for (participant, cpu) in [(0, *a), (1, *b)] {
            if last[usize::from(participant)].replace(cpu) != Some(cpu) {
                trial.places.push(Place {
                    participant,
                    since: Nanos(i as u64 * block),
                    cpu,
                });
            }
        }
    }
}

fn builder(title: &str, precision: f64) -> Builder {
    let mut b = Builder::new("held", title, "stacks");
    let plan = b.plan();
    plan.repeats = 2;
    plan.precision = Some(Precision {
        within: precision,
        metric: None,
        quantile: 0.5,
        max_trials: 30,
        max_time: Some(Nanos::from_secs(60)),
    });
    b.run.manifest.bare = Some(BareMachine {
        gaps: vec![gaps(0, &[2_000]), gaps(1, &[45_000])],
        load: load(0.002, 0.01),
    });
    b
}

/// Five or more trials that differ by a percent, on a calm machine.
fn steady(b: &mut Builder, id: ExperimentId, p50: f64) {
    for drift in [1.0, 1.006, 0.995, 1.003, 0.998] {
        calm(b.trial(id, &[(Rtt, p50 * drift, 1_000, 0)]));
    }
}

/// Disturbed trials, modes with and without a cause, drift, host noise, and a precision that some
/// rows reach.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
pub fn held() -> Run {
    let mut b = builder("what may be trusted, and how far", 0.05);
    let pinned = |e: &mut Experiment| e.settle = Some(Nanos::from_secs(1));

    let floor = b.experiment("floor-futex", pinned);
    steady(&mut b, floor, 6_900.0);
    let unpinned = |e: &mut Experiment| {
        pinned(e);
        e.cpus.clear();
        e.trials = 10;
    };

    // Two of seven trials were disturbed, by two reasons.
    let stream = b.experiment("uds-stream", pinned);
    steady(&mut b, stream, 12_300.0);
    for _ in 0..2 {
        let trial = b.trial(stream, &[(Rtt, 60_000.0, 1_000, 0)]);
        trial.disturbed = vec![dyno_model::Cause::Told(
            "other processes took 40 % of CPUs 0 and 1 (rustc)".into(),
        )];
    }

    // One was, and has not been repeated.
    let queue = b.experiment("posix-mq", pinned);
    steady(&mut b, queue, 14_100.0);
    let stolen = Disturbance::Steal {
        share: 0.12,
        cpus: vec![0, 1],
        stolen: Nanos::from_millis(72),
        bare: BareShare {
            share: 0.0,
            taken: 0.0,
        },
    };
    b.run.trials.last_mut().unwrap().disturbed = vec![stolen.into()];

    // All were.
    let tcp = b.experiment("tcp", pinned);
    steady(&mut b, tcp, 16_000.0);
    for trial in b.run.trials.iter_mut().filter(|t| t.id.experiment == tcp) {
        trial.disturbed = vec![dyno_model::Cause::Told(
            "other processes took 40 % of CPUs 0 and 1 (rustc)".into(),
        )];
        trial.unsteady = true;
    }

    // A machine whose gaps are most of the tail.
    let noisy = b.experiment("pipe", pinned);
    steady(&mut b, noisy, 11_000.0);
    for trial in b.run.trials.iter_mut().filter(|t| t.id.experiment == noisy) {
        trial.noise.gaps = vec![gaps(0, &[40_000; 12]), gaps(1, &[30_000; 9])];
        trial.noise.window = Some(load(0.03, 0.05));
        trial.unsteady = trial.id.number == 1;
    }

    // Slow where both are on one CPU, which changes in mid-window.
    let shared = b.experiment("udp", unpinned);
    for trial in 0..10 {
        let same = |block: usize| (trial + block / 2).is_multiple_of(3);
        let p50s: Vec<f64> = (0..10).map(|i| if same(i) { 52e3 } else { 15e3 }).collect();
        let cpus: Vec<_> = (0..10).map(|i| (0, u32::from(!same(i)))).collect();
        place(b.blocks(shared, &p50s), &cpus);
    }

    // Slow where the virtual CPUs are far apart.
    let far = b.experiment("iceoryx2", |e| {
        pinned(e);
        e.wait = Wait::Spin;
        e.trials = 12;
    });
    for trial in 0..12 {
        let is_far = trial % 2 == 1;
        let p50 = if is_far { 900.0 } else { 400.0 };
        let record = b.blocks(far, &[p50; 10]);
        calm(record);
        record.noise.line_ns = Some(if is_far { 420.0 } else { 180.0 } + f64::from(trial));
    }

    // The same with too few trials to tell.
    let few = b.experiment("zenoh-shm", pinned);
    for trial in 0..4 {
        let is_far = trial % 2 == 1;
        let p50s: Vec<f64> = (0..10)
            .map(|i| if is_far || i == 9 { 90e3 } else { 30e3 })
            .collect();
        let record = b.blocks(few, &p50s);
        record.noise.line_ns = Some(if is_far { 420.0 } else { 180.0 });
    }

    // Two modes in every trial, whatever is known of it.
    for stack in ["zenoh-tcp", "zenoh-udp"] {
        let id = b.experiment(stack, pinned);
        for trial in 0..5 {
            let slow = |block: usize| (trial + 3 * block) % 7 < 3;
            let p50s: Vec<f64> = (0..10).map(|i| if slow(i) { 90e3 } else { 60e3 }).collect();
            calm(b.blocks(id, &p50s));
        }
    }

    // The window was not level.
    let drifting = b.experiment("uds-dgram", pinned);
    for level in [1.0, 1.01, 0.99, 1.005, 0.995] {
        let p50s: Vec<f64> = (0..10)
            .map(|i| 13e3 * level * (1.0 + 0.03 * f64::from(i)))
            .collect();
        calm(b.blocks(drifting, &p50s));
    }

    // Measured once: no interval worth the name. And not at all.
    let few = b.experiment("uds-seqpacket", pinned);
    calm(b.trial(few, &[(Rtt, 12_000.0, 4, 0)]));
    b.experiment("null", pinned);
    b.build()
}

/// Pairs: each stack in this build and in another one.
pub fn against() -> Run {
    let mut b = builder("this build against the last one", 0.02);
    b.plan().against = Some(Against::Build {
        program: "/opt/dyno-0.0.9/bin/dyno".into(),
        version: "0.0.9".into(),
    });
    for (stack, p50, scatter) in [("uds-stream", 12_300.0, 1.0), ("tcp", 16_000.0, 1.3)] {
        let base = b.experiment(stack, |_| {});
        let new = b.experiment(stack, |e| e.base = Some(base));
        for (i, drift) in [1.0, 1.006, 0.995, 1.003, 0.998].into_iter().enumerate() {
            let own = if i % 2 == 0 { scatter } else { 1.0 };
            calm(b.trial(base, &[(Rtt, p50 * drift, 1_000, 0)]));
            calm(b.trial(new, &[(Rtt, 1.05 * p50 * drift * own, 1_000, 0)]));
        }
    }
    b.build()
}
