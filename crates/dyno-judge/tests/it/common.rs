//! Synthetic runs: histograms encoded as the recorder encodes them, from a seeded generator, so that
//! every table is the same on every machine.

use base64::Engine as _;
use dyno_model::origin::{PROGRAM, Text};
use dyno_model::plan::{Host, Plan, Reach, Scheduling, Stack, TableKind, Testbed};
use dyno_model::record::{
    ClockFacts, Cost, Environment, FORMAT, FailureKind, HdrText, Outcome, Run, RunManifest,
    Throughput,
};
use dyno_model::*;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::collections::BTreeMap;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

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
pub(crate) fn distribution(p50_ns: f64, n: u64, infinite: u64, seed: u64) -> Distribution {
    let mut random = Lcg(seed ^ 0x9e37_79b9_7f4a_7c15);
    let mut h = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    let (mut sum, mut min, mut max) = (0.0, u64::MAX, 0);
    for _ in 0..n {
        let body = 0.9 + 0.2 * random.unit();
        let tail = 1.0 + 4.0 * random.unit().powi(40);
        let value = (p50_ns * body * tail).max(1.0) as u64;
        h.record(value).unwrap();
        sum += value as f64;
        min = min.min(value);
        max = max.max(value);
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&h, &mut bytes)
        .unwrap();
    Distribution {
        total: HdrText(base64::engine::general_purpose::STANDARD.encode(bytes)),
        blocks: Vec::new(),
        n,
        infinite,
        saturated: 0,
        sum,
        min: if n == 0 { 0 } else { min },
        max,
    }
}

fn text(text: &str) -> Text {
    Text {
        path: "a file".into(),
        text: text.into(),
    }
}

/// A run under construction.
pub(crate) struct Builder(Run);

impl Builder {
    /// A run of the suite `quick` that started `day` days after a fixed one.
    pub(crate) fn new(day: u64) -> Self {
        let plan = Plan {
            suite: "quick".into(),
            title: "every stack".into(),
            table: TableKind::Stacks,
            seed: 7,
            testbed: Testbed {
                name: "local".into(),
                description: "this machine".into(),
                keeps_state: false,
                hosts: vec![Host {
                    name: "here".into(),
                    reach: Reach::Local,
                    address: "127.0.0.1".into(),
                    link: None,
                    own_clock: false,
                }],
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
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            modified: Some(false),
            distribution: Some("Example Linux 1".into()),
            binaries: BTreeMap::from([(
                PROGRAM.to_owned(),
                vec![Binary {
                    path: "/usr/bin/dyno".into(),
                    sha256: Some("89abcdef".into()),
                }],
            )]),
            host: "bench".into(),
            cpu_model: "Example CPU @ 3.00GHz".into(),
            cpus: vec![0, 1],
            memory_bytes: 8 << 30,
            kernel: "6.12.0 #1 SMP".into(),
            clock: ClockFacts {
                source: "tsc".into(),
                ..ClockFacts::default()
            },
            ..Environment::default()
        };
        Builder(Run {
            machines: Default::default(),
            manifest: RunManifest {
                format: FORMAT,
                id: format!("quick-{day:03}"),
                started_unix_ms: 1_795_231_560_000 + day * DAY,
                command: vec!["dyno".into()],
                plan,
                environment,
                adapters: Vec::new(),
                bare: None,
                origin: Some(Origin {
                    request: Request {
                        suite: "quick".into(),
                        testbed: "local".into(),
                        ..Request::default()
                    },
                    suite: text("title = \"every stack\""),
                    testbed: text("description = \"this machine\""),
                    stacks: BTreeMap::new(),
                }),
            },
            trials: Vec::new(),
        })
    }

    pub(crate) fn manifest(&mut self) -> &mut RunManifest {
        &mut self.0.manifest
    }

    pub(crate) fn plan(&mut self) -> &mut Plan {
        &mut self.0.manifest.plan
    }

    pub(crate) fn stack(&mut self, name: &str) -> &mut Stack {
        let stack = Stack {
            name: name.into(),
            adapter: name.split('-').next().unwrap_or(name).into(),
            description: String::new(),
            waits: vec![Wait::Block],
            options: BTreeMap::new(),
            floor: name.starts_with("floor"),
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

    /// Adds a round trip of 64 B; `change` sets what differs from that.
    pub(crate) fn experiment(
        &mut self,
        stack: &str,
        change: impl FnOnce(&mut Experiment),
    ) -> ExperimentId {
        self.stack(stack);
        let id = ExperimentId(self.plan().experiments.len() as u32);
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
            settle: None,
            window: Extent::Duration(Nanos::from_millis(300)),
            echo_poll: None,
            sink_pause: None,
            drain: Nanos::from_millis(100),
            deadline: Nanos::from_secs(5),
            cpus: vec![0, 1],
            scheduling: Scheduling::Other,
            mlock: false,
            on_host: 0,
            reboot: false,
            trials: 5,
            raw_samples: 0,
            floor: None,
            added: false,
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

    /// Adds a completed trial of the headline metric.
    pub(crate) fn trial(
        &mut self,
        id: ExperimentId,
        p50_ns: f64,
        n: u64,
        lost: u64,
    ) -> &mut TrialRecord {
        let kind = self.0.manifest.plan.experiment(id).unwrap().workload.kind();
        let metric = match kind {
            WorkloadKind::PingPong => Metric::Rtt,
            _ => Metric::Response,
        };
        let mut record = self.blank(id, Outcome::Completed);
        let seed = u64::from(id.0) * 1_000 + u64::from(record.id.number);
        let drawn = distribution(p50_ns, n, lost, seed);
        record.distributions.insert(metric, drawn);
        record.counts = Counts {
            offered: n + lost,
            sent: n + lost,
            received: n,
            lost,
            ..Counts::default()
        };
        // A stream delivers at its rate, a closed loop at that of its round trips.
        let wobble = 1.0 + 0.001 * f64::from(record.id.number % 3);
        let delivered_hz = match kind {
            WorkloadKind::PingPong => 1e9 / p50_ns,
            _ => n as f64 / 0.3 * wobble,
        };
        record.throughput = Throughput {
            delivered_hz,
            ..Throughput::default()
        };
        record.cost = Cost {
            cpu_ns_per_message: (n > 0).then_some(p50_ns * 0.8),
            pss_bytes: (4 << 20) + u64::from(record.id.number) * 4096,
            ..Cost::default()
        };
        record.open = Nanos::from_millis(12 + u64::from(record.id.number));
        record.matching = Nanos::from_millis(3);
        self.0.trials.push(record);
        self.0.trials.last_mut().unwrap()
    }

    /// Five completed trials of 2,000 samples around `p50_ns`, that differ by a percent.
    pub(crate) fn trials(&mut self, id: ExperimentId, p50_ns: f64) {
        for drift in [1.0, 1.006, 0.995, 1.003, 0.998] {
            self.trial(id, p50_ns * drift, 2_000, 0);
        }
    }

    /// An experiment with five trials around `p50_ns`.
    pub(crate) fn measured(&mut self, stack: &str, p50_ns: f64) -> ExperimentId {
        let id = self.experiment(stack, |_| {});
        self.trials(id, p50_ns);
        id
    }

    pub(crate) fn failed(&mut self, id: ExperimentId) {
        let outcome = Outcome::Failed {
            kind: FailureKind::Crash,
            step: "window".into(),
            message: "echo ended by signal 11 (SIGSEGV)".into(),
            stderr: Vec::new(),
        };
        let record = self.blank(id, outcome);
        self.0.trials.push(record);
    }

    fn blank(&self, experiment: ExperimentId, outcome: Outcome) -> TrialRecord {
        let number = self.0.trials_of(experiment).count() as u32;
        TrialRecord {
            started_unix_ms: self.0.manifest.started_unix_ms,
            wall: Nanos::from_millis(500),
            warmup: Nanos::from_millis(50),
            ..TrialRecord::blank(
                TrialId { experiment, number },
                self.0.trials.len() as u32,
                outcome,
            )
        }
    }

    pub(crate) fn build(self) -> Run {
        self.0
    }
}

/// Turns an experiment into a stream of 1 kHz.
pub(crate) fn stream(e: &mut Experiment) {
    e.name = "one-way".into();
    e.workload = Workload::Stream {
        rate: RateHz::new(1_000.0).unwrap(),
        arrivals: Arrivals::Fixed,
    };
}
