//! Synthetic runs that look like real ones: histograms encoded as the recorder encodes them, from a
//! seeded generator, so that every table is the same on every machine.

use base64::Engine as _;
use dyno_model::plan::{Extent, Host, Plan, Reach, Stack, Testbed};
use dyno_model::record::{
    ClockFacts, Cost, Environment, FailureKind, HdrText, Outcome, ProcessCost, Run, RunManifest,
    Throughput,
};
use dyno_model::*;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::collections::BTreeMap;

const BLOCKS: usize = 4;

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

/// `n` samples of that value in one block, and some that never came.
pub fn exactly(value: u64, n: u64, infinite: u64) -> Distribution {
    let mut total = empty_histogram();
    total.record_n(value.max(1), n).unwrap();
    Distribution {
        total: encode(&total),
        blocks: vec![encode(&total)],
        n,
        infinite,
        saturated: 0,
        sum: value as f64 * n as f64,
        min: if n == 0 { 0 } else { value },
        max: if n == 0 { 0 } else { value },
    }
}

/// With the bounds of the recorder.
pub fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).unwrap()
}

/// As a record holds it.
pub fn encode(histogram: &Histogram<u64>) -> HdrText {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .unwrap();
    HdrText(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// A run under construction.
pub struct Builder {
    /// What is built so far.
    pub run: Run,
}

impl Builder {
    /// A run of that suite on one machine, without experiments.
    pub fn new(suite: &str, title: &str, table: &str) -> Builder {
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
            table: table.into(),
            seed: 7,
            testbed: Testbed {
                name: "local".into(),
                description: "this machine".into(),
                keeps_state: false,
                hosts: vec![host],
            },
            ..Plan::default()
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

    /// The plan, to change it.
    pub fn plan(&mut self) -> &mut Plan {
        &mut self.run.manifest.plan
    }

    /// The stack, which is added where it is new.
    pub fn stack(&mut self, name: &str, floor: bool) -> &mut Stack {
        let stack = Stack {
            name: name.into(),
            adapter: name.split('-').next().unwrap_or(name).into(),
            waits: vec![Wait::Spin],
            floor,
            ..Stack::default()
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
        let workload = Workload::PingPong {
            gap: Nanos::ZERO,
            timeout: Nanos::from_secs(1),
        };
        let mut experiment = Experiment {
            name: "round-trip".into(),
            warmup: Extent::Duration(Nanos::from_millis(50)),
            window: Extent::Duration(Nanos::from_millis(300)),
            drain: Nanos::from_millis(100),
            deadline: Nanos::from_secs(5),
            cpus: vec![0, 1],
            trials: 5,
            ..Experiment::blank(id, stack, workload, PayloadSize::new(64).unwrap())
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
            reads_hz: (latencies[0].0 == Metric::Read).then(|| received as f64 / 0.3),
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

    /// Adds a failed trial.
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
            cause: dyno_model::Cause::Told(message.into()),
            stderr: stderr.iter().map(|l| l.to_string()).collect(),
        };
        let record = self.blank(id, outcome);
        self.run.trials.push(record);
    }

    /// A trial that ended so, with nothing measured.
    pub fn blank(&self, experiment: ExperimentId, outcome: Outcome) -> TrialRecord {
        let number = self.run.trials_of(experiment).count() as u32;
        TrialRecord {
            started_unix_ms: self.run.manifest.started_unix_ms,
            wall: Nanos::from_millis(500),
            warmup: Nanos::from_millis(50),
            ..TrialRecord::blank(
                TrialId { experiment, number },
                self.run.trials.len() as u32,
                outcome,
            )
        }
    }

    /// The run.
    pub fn build(self) -> Run {
        self.run
    }
}
