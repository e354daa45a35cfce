//! Synthetic runs that look like real ones: histograms encoded as the recorder encodes them, from a
//! seeded generator, so that every table is the same on every machine.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "a module of several test binaries, of which each uses a part"
)]

use base64::Engine as _;
use dyno_model::plan::{Host, Plan, Reach, Refusal, Scheduling, Stack, TableKind, Testbed};
use dyno_model::record::{
    ClockFacts, Cost, Environment, FailureKind, HdrText, Outcome, ProcessCost, Run, RunManifest,
    Throughput,
};
use dyno_model::*;
use dyno_report::{Summary, SummaryOptions, summarise};
use dyno_stats::Bootstrap;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::collections::BTreeMap;

pub mod held;
pub mod l4re;
pub mod rwth;
pub mod starts;

const BLOCKS: usize = 4;

/// Few resamples: tests look at forms, `dyno-stats` looks at coverage.
pub fn summary(run: &Run) -> Summary {
    let bootstrap = Bootstrap {
        resamples: 200,
        ..Bootstrap::default()
    };
    summarise(run, &SummaryOptions { bootstrap })
}

/// A small linear congruential generator (Knuth, MMIX).
struct Lcg(u64);

impl Lcg {
    fn unit(&mut self) -> f64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A distribution around `p50_ns` with a tail to the right, of up to five times as much.
pub fn distribution(p50_ns: f64, n: u64, infinite: u64, seed: u64) -> Distribution {
    distribution_of_blocks(&[p50_ns; BLOCKS], n, infinite, seed)
}

/// The same with a p50 for each block of the window.
pub fn distribution_of_blocks(p50s_ns: &[f64], n: u64, infinite: u64, seed: u64) -> Distribution {
    let mut random = Lcg(seed ^ 0x9e37_79b9_7f4a_7c15);
    let mut total = empty_histogram();
    let mut blocks: Vec<_> = p50s_ns.iter().map(|_| empty_histogram()).collect();
    let (mut sum, mut min, mut max) = (0.0, u64::MAX, 0);
    for i in 0..n {
        let block = i as usize % p50s_ns.len();
        let body = 0.9 + 0.2 * random.unit();
        let tail = 1.0 + 4.0 * random.unit().powi(40);
        let value = (p50s_ns[block] * body * tail).max(1.0) as u64;
        total.record(value).unwrap();
        blocks[block].record(value).unwrap();
        sum += value as f64;
        min = min.min(value);
        max = max.max(value);
    }
    Distribution {
        total: encode(&total),
        blocks: blocks.iter().map(encode).collect(),
        n,
        infinite,
        saturated: 0,
        sum,
        min: if n == 0 { 0 } else { min },
        max,
    }
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap()
}

fn encode(histogram: &Histogram<u64>) -> HdrText {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .unwrap();
    HdrText(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// A run under construction.
pub struct Builder {
    run: Run,
}

impl Builder {
    pub fn new(suite: &str, title: &str, table: TableKind) -> Builder {
        let host = Host {
            name: "here".into(),
            reach: Reach::Local,
            address: "127.0.0.1".into(),
            link: None,
            own_clock: false,
        };
        let plan = Plan {
            suite: suite.into(),
            title: title.into(),
            table,
            seed: 7,
            testbed: Testbed {
                name: "local".into(),
                description: "this machine".into(),
                keeps_state: false,
                hosts: vec![host],
            },
            stacks: BTreeMap::new(),
            experiments: Vec::new(),
            refused: Vec::new(),
            warnings: Vec::new(),
            against: None,
            precision: None,
            repeats: 0,
            search: None,
            shard: None,
        };
        let environment = Environment {
            dyno_version: "0.1.0".into(),
            build_profile: "release".into(),
            host: "bench".into(),
            cpu_model: "Example CPU @ 3.00GHz".into(),
            cpus: vec![0, 1],
            memory_bytes: 8 << 30,
            kernel: "6.12.0".into(),
            clock: ClockFacts {
                source: "tsc".into(),
                cost_ns: 9.5,
                resolution_ns: 1.0,
                frequency_hz: Some(3e9),
            },
            hypervisor: Some("kvm".into()),
            emulated: None,
            ..Environment::default()
        };
        let manifest = RunManifest {
            format: record::FORMAT,
            id: format!("{suite}-20261121-032600"),
            started_unix_ms: 1_795_231_560_000,
            command: vec!["dyno".into(), "run".into(), suite.into()],
            plan,
            environment,
            adapters: Vec::new(),
            bare: None,
            origin: None,
        };
        Builder {
            run: Run {
                machines: BTreeMap::new(),
                manifest,
                trials: Vec::new(),
            },
        }
    }

    pub fn plan(&mut self) -> &mut Plan {
        &mut self.run.manifest.plan
    }

    pub fn stack(&mut self, name: &str, floor: bool) -> &mut Stack {
        let stack = Stack {
            name: name.into(),
            adapter: name.split('-').next().unwrap_or(name).into(),
            description: String::new(),
            waits: vec![Wait::Spin],
            options: BTreeMap::new(),
            floor,
            sends_later: false,
            loopback: false,
            channels: None,
            placements: Vec::new(),
            daemons: Vec::new(),
            install: None,
            chain: None,
        };
        self.plan().stacks.entry(name.into()).or_insert(stack)
    }

    /// Adds an experiment of five trials; `change` sets what differs from the usual.
    pub fn experiment(
        &mut self,
        stack: &str,
        change: impl FnOnce(&mut Experiment),
    ) -> ExperimentId {
        self.stack(stack, stack.starts_with("floor"));
        let id = ExperimentId(self.run.manifest.plan.experiments.len() as u32);
        let mut experiment = Experiment {
            id,
            name: "round-trip".into(),
            stack: stack.into(),
            workload: Workload::PingPong {
                gap: Nanos::ZERO,
                timeout: Nanos::from_secs(1),
            },
            payload: PayloadSize::new(64).unwrap(),
            wait: Wait::Block,
            access: Access::Stamp,
            placement: Placement::Process,
            topology: Topology::ONE_TO_ONE,
            warmup: Extent::Duration(Nanos::from_millis(50)),
            window: Extent::Duration(Nanos::from_millis(300)),
            echo_poll: None,
            sink_pause: None,
            drain: Nanos::from_millis(100),
            deadline: Nanos::from_secs(5),
            cpus: vec![0, 1],
            scheduling: Scheduling::Other,
            mlock: false,
            trials: 5,
            raw_samples: 0,
            floor: None,
            added: false,
            settle: None,
            base: None,
            legs: Vec::new(),
            paired: false,
            library_cpus: Vec::new(),
            daemon_cpus: Vec::new(),
            counted: false,
            flow: None,
            machine: None,
        };
        change(&mut experiment);
        self.plan().experiments.push(experiment);
        id
    }

    /// Adds a completed trial with these latencies: (metric, p50, samples, lost).
    pub fn trial(
        &mut self,
        id: ExperimentId,
        latencies: &[(Metric, f64, u64, u64)],
    ) -> &mut TrialRecord {
        let experiment = self.run.manifest.plan.experiment(id).unwrap();
        let bytes = experiment.payload.bytes() as f64;
        let one_way = experiment.workload.is_one_way();
        let mut record = self.blank(id, Outcome::Completed);
        let seed = u64::from(id.0) * 1_000 + u64::from(record.id.number);
        for (i, (metric, p50, n, lost)) in latencies.iter().enumerate() {
            let drawn = distribution(*p50, *n, *lost, seed + 100 * i as u64);
            record.distributions.insert(*metric, drawn);
        }
        let (_, p50, received, lost) = latencies[0];
        let offered = received + lost;
        record.counts = Counts {
            offered,
            sent: offered,
            received,
            lost,
            ..Counts::default()
        };
        record.throughput = Throughput {
            offered_hz: offered as f64 / 0.3,
            sent_hz: offered as f64 / 0.3,
            delivered_hz: received as f64 / 0.3,
            delivered_bytes_per_s: received as f64 * bytes / 0.3,
            blocked_share: 0.0,
            blocked_above: one_way.then(|| Nanos::from_micros(14)),
            in_window_hz: None,
        };
        let cpu = (p50 * 0.8 * received as f64) as u64;
        let process = |label: &str| ProcessCost {
            label: label.into(),
            user: Nanos(cpu / 4),
            system: Nanos(cpu / 4),
            wall: Nanos::from_millis(300),
            voluntary_switches: received,
            minor_faults: 12,
            peak_rss_bytes: 5 << 20,
            pss_bytes: 2 << 20,
            ..ProcessCost::default()
        };
        record.cost = Cost {
            processes: vec![process("initiator"), process("echo")],
            cpu: Nanos(cpu),
            cpu_ns_per_message: (received > 0).then(|| cpu as f64 / received as f64),
            switches_per_message: (received > 0).then_some(2.0),
            pss_bytes: 4 << 20,
            peak_rss_bytes: 10 << 20,
            ..Cost::default()
        };
        record.open = Nanos(1_200_000);
        record.matching = Nanos(300_000);
        self.run.trials.push(record);
        self.run.trials.last_mut().unwrap()
    }

    /// Adds a completed trial of round trips with a p50 for each block of its window.
    pub fn blocks(&mut self, id: ExperimentId, p50s_ns: &[f64]) -> &mut TrialRecord {
        let median = p50s_ns[p50s_ns.len() / 2];
        let n = 100 * p50s_ns.len() as u64;
        let trial = self.trial(id, &[(Metric::Rtt, median, n, 0)]);
        let seed = u64::from(id.0) * 1_000 + u64::from(trial.id.number);
        let drawn = distribution_of_blocks(p50s_ns, n, 0, seed);
        trial.distributions.insert(Metric::Rtt, drawn);
        trial
    }

    /// The trials of an experiment, to change them.
    pub fn records(&mut self, id: ExperimentId) -> impl Iterator<Item = &mut TrialRecord> {
        let all = self.run.trials.iter_mut();
        all.filter(move |t| t.id.experiment == id)
    }

    /// Five completed trials that differ by a percent.
    pub fn trials(&mut self, id: ExperimentId, latencies: &[(Metric, f64, u64, u64)]) {
        for drift in [1.0, 1.006, 0.995, 1.003, 0.998] {
            let drifted: Vec<_> = latencies
                .iter()
                .map(|(m, p50, n, lost)| (*m, p50 * drift, *n, *lost))
                .collect();
            self.trial(id, &drifted);
        }
    }

    pub fn failed(
        &mut self,
        id: ExperimentId,
        kind: FailureKind,
        step: &str,
        message: &str,
        stderr: &[&str],
    ) {
        let outcome = Outcome::Failed {
            kind,
            step: step.into(),
            message: message.into(),
            stderr: stderr.iter().map(|l| l.to_string()).collect(),
        };
        let record = self.blank(id, outcome);
        self.run.trials.push(record);
    }

    fn blank(&self, experiment: ExperimentId, outcome: Outcome) -> TrialRecord {
        let number = self.run.trials_of(experiment).count() as u32;
        TrialRecord {
            started_unix_ms: 1_795_231_560_000,
            wall: Nanos::from_millis(500),
            warmup: Nanos::from_millis(50),
            ..TrialRecord::blank(
                TrialId { experiment, number },
                self.run.trials.len() as u32,
                outcome,
            )
        }
    }

    pub fn build(self) -> Run {
        self.run
    }
}

use Metric::{Response, Rtt, Service};
use dyno_model::plan::Extent;

/// A run of a suite like `quick`, with everything that can happen to a row.
pub fn quick() -> Run {
    let mut b = Builder::new(
        "quick",
        "every stack of this machine, side by side",
        TableKind::Stacks,
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
    b.trial(few, &[(Rtt, 81_000.0, 30, 0)]).warnings =
        vec!["SCHED_FIFO not granted: run as root or set rtprio".into()];
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
    b.plan()
        .warnings
        .push("CPU 1 is shared with interrupts".into());
    b.build()
}

/// Open loops: a stream with a freeze, a flood, bursts, and more than one varying factor.
pub fn streams() -> Run {
    let mut b = Builder::new("streams", "what an open loop sees", TableKind::Stacks);
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
    let mut b = Builder::new("cameras", "how many cameras fit", TableKind::Stacks);
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
    let mut b = Builder::new("iceperf", "iceperf's table", TableKind::Iceperf);
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
    let mut b = Builder::new("broker", "a stack with a daemon", TableKind::Stacks);
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
    Builder::new("empty", "", TableKind::Stacks).build()
}

/// One row that was never run, and one that is plain.
pub fn small() -> Run {
    let mut b = Builder::new("small", "two rows", TableKind::Stacks);
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
        ("l4re", l4re::l4re()),
    ]
}
