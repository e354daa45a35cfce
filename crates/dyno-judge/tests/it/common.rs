//! Synthetic runs to be judged, built with what the reports' tests build theirs with.

use dyno_kit::runs as builder;
use dyno_model::origin::{PROGRAM, Text};
use dyno_model::plan::{Plan, Stack};
use dyno_model::record::{ClockFacts, Cost, FailureKind, Outcome, Run, RunManifest, Throughput};
use dyno_model::*;
use std::collections::BTreeMap;

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// A distribution around `p50_ns` with a tail to the right, of up to five times as much, in one piece.
pub(crate) fn distribution(p50_ns: f64, n: u64, infinite: u64, seed: u64) -> Distribution {
    Distribution {
        blocks: Vec::new(),
        ..builder::distribution_of_blocks(&[p50_ns], n, infinite, seed)
    }
}

fn text(text: &str) -> Text {
    Text {
        path: "a file".into(),
        text: text.into(),
    }
}

/// A run under construction.
pub(crate) struct Builder(builder::Builder);

impl Builder {
    /// A run of the suite `quick` that started `day` days after a fixed one.
    pub(crate) fn new(day: u64) -> Self {
        let mut built = builder::Builder::new("quick", "every stack", "stacks");
        let manifest = &mut built.run.manifest;
        manifest.id = format!("quick-{day:03}");
        manifest.started_unix_ms += day * DAY;
        manifest.command = vec!["dyno".into()];
        let environment = &mut manifest.environment;
        environment.commit = Some("0123456789abcdef0123456789abcdef01234567".into());
        environment.modified = Some(false);
        environment.distribution = Some("Example Linux 1".into());
        let program = Binary {
            path: "/usr/bin/dyno".into(),
            sha256: Some("89abcdef".into()),
        };
        environment.binaries = BTreeMap::from([(PROGRAM.to_owned(), vec![program])]);
        environment.kernel = "6.12.0 #1 SMP".into();
        environment.clock = ClockFacts {
            source: "tsc".into(),
            ..ClockFacts::default()
        };
        environment.hypervisor = None;
        manifest.origin = Some(Origin {
            study: None,
            request: Request {
                suite: "quick".into(),
                testbed: "local".into(),
                ..Request::default()
            },
            suite: text("title = \"every stack\""),
            testbed: text("description = \"this machine\""),
            stacks: BTreeMap::new(),
        });
        Builder(built)
    }

    pub(crate) fn manifest(&mut self) -> &mut RunManifest {
        &mut self.0.run.manifest
    }

    pub(crate) fn plan(&mut self) -> &mut Plan {
        self.0.plan()
    }

    /// A stack that blocks.
    pub(crate) fn stack(&mut self, name: &str) -> &mut Stack {
        let is_new = !self.plan().stacks.contains_key(name);
        let stack = self.0.stack(name, name.starts_with("floor"));
        if is_new {
            stack.waits = vec![Wait::Block];
        }
        stack
    }

    /// Adds a round trip of 64 B; `change` sets what differs from that.
    pub(crate) fn experiment(
        &mut self,
        stack: &str,
        change: impl FnOnce(&mut Experiment),
    ) -> ExperimentId {
        self.stack(stack);
        self.0.experiment(stack, change)
    }

    /// Adds a completed trial of the headline metric.
    pub(crate) fn trial(
        &mut self,
        id: ExperimentId,
        p50_ns: f64,
        n: u64,
        lost: u64,
    ) -> &mut TrialRecord {
        let kind = self
            .0
            .run
            .manifest
            .plan
            .experiment(id)
            .unwrap()
            .workload
            .kind();
        let metric = match kind {
            WorkloadKind::PingPong => Metric::Rtt,
            _ => Metric::Response,
        };
        let mut record = self.0.blank(id, Outcome::Completed);
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
        self.0.run.trials.push(record);
        self.0.run.trials.last_mut().unwrap()
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
        let message = "echo ended by signal 11 (SIGSEGV)";
        self.0
            .failed(id, FailureKind::Crash, "window", message, &[]);
    }

    /// The run, complete: no trial that the plan asks for is missing.
    pub(crate) fn build(self) -> Run {
        let mut run = self.0.build();
        let stored: Vec<usize> = {
            let all = run.manifest.plan.experiments.iter();
            all.map(|e| run.trials_of(e.id).count()).collect()
        };
        for (e, stored) in run.manifest.plan.experiments.iter_mut().zip(stored) {
            if stored > 0 && run.manifest.plan.search.is_none() {
                e.trials = e.trials.min(stored as u32);
            }
        }
        run
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
