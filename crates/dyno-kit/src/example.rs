//! A small run with everything that a run directory can hold. The golden directory of format 4 was
//! written from it, and those of formats 1 to 3 from what [`manifest_v1`], [`completed_v1`] and their like leave of it;
//! change it only together with the format.

use dyno_model::adapter::{AdapterDescription, Capabilities};
use dyno_model::cause::{
    BareShare, Cause, Disturbance, Exit, FailureCause, NotGranted, Warning, Who,
};
use dyno_model::origin::{Binary, Origin, Request, Text};
use dyno_model::plan::{
    Experiment, ExperimentId, Extent, Host, NoFloor, Plan, PlanWarning, Reach, Refusal,
    RefusalReason, Scheduling, Stack, Testbed, TrialId,
};
use dyno_model::record::{
    ClockFacts, Cost, Counts, Distribution, Environment, FORMAT, FailureKind, FlowCounts, HdrText,
    Outcome, ProcessCost, RawSample, RunManifest, Throughput, TrialRecord,
};
use dyno_model::{
    Against, BareMachine, CpuGaps, FullSocket, HostLoad, HostNetwork, HostNoise, Metric, Nanos,
    NetworkCounter, OptionKind, OptionSpec, OptionValue, PayloadSize, Place, Placement, Precision,
    RateHz, Role, Wait, Workload,
};
use std::collections::BTreeMap;

/// The id of a trial.
pub fn id(experiment: u32, number: u32) -> TrialId {
    TrialId {
        experiment: ExperimentId(experiment),
        number,
    }
}

fn experiment(number: u32, workload: Workload, stack: &str) -> Experiment {
    let (id, payload) = (ExperimentId(number), PayloadSize::new(64).unwrap());
    Experiment {
        warmup: Extent::Duration(Nanos::from_millis(50)),
        window: Extent::Duration(Nanos::from_millis(300)),
        drain: Nanos::from_millis(200),
        deadline: Nanos::from_secs(5),
        cpus: vec![0, 1],
        scheduling: Scheduling::Fifo(10),
        mlock: true,
        trials: 3,
        raw_samples: 2,
        floor: (number > 0).then_some(ExperimentId(0)),
        added: number == 0,
        settle: Some(Nanos::from_secs(1)),
        base: (number > 1).then_some(ExperimentId(1)),
        ..Experiment::blank(id, stack, workload, payload)
    }
}

/// A manifest with all its parts.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
pub fn manifest() -> RunManifest {
    let ping_pong = Workload::PingPong {
        gap: Nanos::ZERO,
        timeout: Nanos::from_secs(1),
    };
    let stream = Workload::Stream {
        rate: RateHz::new(1_000.0).unwrap(),
        arrivals: dyno_model::Arrivals::Poisson,
    };
    let stack = |name: &str, adapter: &str, floor| Stack {
        name: name.into(),
        adapter: adapter.into(),
        description: "for the example".into(),
        waits: vec![Wait::Block],
        options: BTreeMap::from([("rcvbuf".into(), OptionValue::Int(4_096))]),
        floor,
        ..Stack::default()
    };
    let stacks = [
        stack("floor-futex", "floor", true),
        stack("udp", "udp", false),
    ];
    RunManifest {
        format: FORMAT,
        id: "example-20251121-033203".into(),
        started_unix_ms: 1_763_695_923_999,
        command: ["dyno", "run", "example"].map(String::from).to_vec(),
        plan: Plan {
            suite: "example".into(),
            title: "What a run directory holds".into(),
            table: "stacks".into(),
            seed: u64::MAX,
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
            stacks: stacks.map(|s| (s.name.clone(), s)).into(),
            experiments: vec![
                experiment(0, ping_pong, "floor-futex"),
                experiment(1, stream, "udp"),
                experiment(2, stream, "udp"),
            ],
            refused: vec![Refusal {
                experiment: "stream".into(),
                stack: "floor-futex".into(),
                factors: "64 B callback".into(),
                reason: "it has no callback delivery".into(),
            }],
            warnings: vec![
                Cause::Told("more spinning roles than CPUs".into()),
                Cause::Known(PlanWarning::NoFloor {
                    experiments: 2,
                    reason: NoFloor::Refused(RefusalReason::OneHost),
                }),
            ],
            against: Some(Against::Build {
                program: "/opt/dyno-0.0.9/bin/dyno".into(),
                version: "0.0.9".into(),
            }),
            precision: Some(Precision {
                within: 0.05,
                metric: Some(Metric::Response),
                quantile: 0.99,
                max_trials: 30,
                max_time: Some(Nanos::from_secs(600)),
            }),
            repeats: 3,
            ..Plan::default()
        },
        environment: Environment {
            dyno_version: "0.1.0".into(),
            build_profile: "release".into(),
            commit: Some("0123456789abcdef0123456789abcdef01234567".into()),
            modified: Some(false),
            binaries: BTreeMap::from([(
                "dyno".into(),
                vec![Binary {
                    path: "/opt/dyno-0.1.0/bin/dyno".into(),
                    sha256: Some(
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into(),
                    ),
                }],
            )]),
            distribution: Some("Example Linux 1.0".into()),
            host: "bench-1".into(),
            cpu_model: "An example CPU".into(),
            cpus: vec![0, 1],
            memory_bytes: 8 << 30,
            kernel: "6.12.0".into(),
            kernel_cmdline: "quiet".into(),
            irq_time: None,
            timer_slack: None,
            governors: BTreeMap::from([(0, "performance".into())]),
            mitigations: BTreeMap::from([("meltdown".into(), "Not affected".into())]),
            clock_source: "tsc".into(),
            clock: ClockFacts {
                source: "tsc".into(),
                cost_ns: 7.3,
                resolution_ns: 0.5,
                frequency_hz: Some(2.1e9),
            },
            hypervisor: Some("KVM".into()),
            emulated: None,
            limits: BTreeMap::from([("RLIMIT_MEMLOCK".into(), "8388608".into())]),
        },
        adapters: vec![AdapterDescription {
            name: "udp".into(),
            version: "Linux 6.12.0".into(),
            summary: "UDP sockets; larger messages in fragments".into(),
            capabilities: Capabilities {
                waits: vec![Wait::Spin, Wait::Block],
                best_effort: true,
                placements: vec![Placement::Thread, Placement::Process],
                max_message: Some(1 << 20),
                fragments_above: Some(65_507),
                ..Capabilities::default()
            },
            options: vec![OptionSpec {
                name: "rcvbuf".into(),
                kind: OptionKind::Int,
                default: None,
                least: None,
                most: None,
                doc: "receive buffer in bytes".into(),
            }],
            ..AdapterDescription::default()
        }],
        bare: Some(BareMachine {
            gaps: vec![gaps(0), gaps(1)],
            load: HostLoad {
                foreign: Nanos(2_500_000),
                hungriest: vec![("sshd".into(), Nanos(1_700_000))],
                frequency_khz: frequencies(),
                ..load()
            },
        }),
        origin: Some(origin()),
    }
}

fn origin() -> Origin {
    let text = |path: &str, text: &str| Text {
        path: path.into(),
        text: text.into(),
    };
    Origin {
        request: Request {
            suite: "example".into(),
            testbed: "local".into(),
            set: vec![("window".into(), "1 s".into())],
            seed: u64::MAX,
            repeats: 3,
            ..Request::default()
        },
        suite: text(
            "suites/example.toml",
            "title = \"What a run directory holds\"\n",
        ),
        testbed: text(
            "built-in testbeds/local.toml",
            "[[host]]\nname = \"here\"\n",
        ),
        stacks: BTreeMap::from([(
            "udp".into(),
            text("built-in stacks/udp.toml", "adapter = \"udp\"\n"),
        )]),
        study: None,
    }
}

/// What is left of [`manifest`] in format 3.
pub fn manifest_v3() -> RunManifest {
    let mut manifest = RunManifest {
        format: 3,
        ..manifest()
    };
    manifest.plan.warnings.truncate(1);
    manifest
}

/// What is left of [`completed`] in format 3, which has sentences in the place of causes.
pub fn completed_v3(id: TrialId) -> TrialRecord {
    let disturbed = "other processes took 20 % of CPUs 0 and 1 (rustc)";
    TrialRecord {
        format: 3,
        warnings: vec![Cause::Told(
            "SCHED_FIFO not granted: needs CAP_SYS_NICE".into(),
        )],
        disturbed: vec![Cause::Told(disturbed.into())],
        ..completed(id)
    }
}

/// What is left of [`manifest`] where format 2 has no place for it.
pub fn manifest_v2() -> RunManifest {
    let mut manifest = manifest_v3();
    manifest.format = 2;
    manifest.origin = None;
    let e = &mut manifest.environment;
    (e.commit, e.modified, e.distribution) = (None, None, None);
    e.binaries.clear();
    manifest
}

/// What is left of [`completed`] where format 2 has no place for it.
pub fn completed_v2(id: TrialId) -> TrialRecord {
    let mut record = completed_v3(id);
    record.format = 2;
    record.machines.clear();
    record.networks.clear();
    (record.counts.under_way, record.counts.in_window) = (0, None);
    (
        record.throughput.in_window_hz,
        record.throughput.blocked_above,
    ) = (None, None);
    (record.cost.host_cpu, record.cost.host_cpu_ns_per_message) = (None, None);
    for flow in &mut record.flows {
        (flow.in_window, flow.by_half) = (None, None);
        (flow.lead_in, flow.under_way) = (0, 0);
    }
    record
}

/// What is left of [`manifest`] where format 1 has no place for it.
pub fn manifest_v1() -> RunManifest {
    let mut manifest = manifest_v2();
    manifest.format = 1;
    manifest.bare = None;
    let plan = &mut manifest.plan;
    plan.experiments.truncate(2);
    for experiment in &mut plan.experiments {
        experiment.warmup = Extent::Messages(100);
        experiment.settle = None;
    }
    (plan.against, plan.precision, plan.repeats) = (None, None, 0);
    manifest
}

/// What is left of [`completed`] where format 1 has no place for it.
pub fn completed_v1(id: TrialId) -> TrialRecord {
    TrialRecord {
        format: 1,
        warmup: Nanos::ZERO,
        unsteady: false,
        noise: HostNoise::default(),
        disturbed: Vec::new(),
        places: Vec::new(),
        clocks: Vec::new(),
        one_way_bound: None,
        ..completed_v2(id)
    }
}

/// Four gaps of one CPU: 12,300 ns twice, 12,306 ns and 25,000 ns.
fn gaps(cpu: u32) -> CpuGaps {
    CpuGaps {
        cpu,
        watched: Nanos::from_millis(5),
        count: 4,
        longest: Nanos(25_000),
        lost: Nanos(61_906),
        lengths: HdrText(TOTAL.into()),
    }
}

fn load() -> HostLoad {
    HostLoad {
        wall: Nanos::from_millis(300),
        cpus: vec![0, 1],
        stolen: Nanos::from_millis(10),
        foreign: Nanos::from_millis(120),
        hungriest: vec![
            ("rustc".into(), Nanos(115_250_000)),
            ("sshd".into(), Nanos(1_700_000)),
        ],
        interrupts: 412,
        context_switches: 1_907,
        frequency_khz: BTreeMap::new(),
        throttled: Some(1),
        ..HostLoad::default()
    }
}

/// What the kernel shows of frequencies where it shows any.
pub fn frequencies() -> BTreeMap<u32, (u64, u64)> {
    BTreeMap::from([(0, (2_100_000, 3_400_000)), (1, (2_100_000, 2_100_000))])
}

/// A completed trial with all its parts.
#[expect(clippy::too_many_lines, reason = "data, row after row")]
pub fn completed(id: TrialId) -> TrialRecord {
    TrialRecord {
        machines: vec!["bench-1".into()],
        format: FORMAT,
        id,
        position: 4,
        started_unix_ms: 1_763_695_924_500,
        wall: Nanos::from_millis(412),
        outcome: Outcome::Completed,
        distributions: BTreeMap::from([(Metric::Response, distribution())]),
        counts: Counts {
            offered: 5,
            sent: 5,
            received: 4,
            lost: 1,
            under_way: 1,
            reordered: 1,
            in_window: Some(3),
            ..Counts::default()
        },
        flows: vec![FlowCounts {
            channel: 0,
            receiver: 1,
            received: 4,
            bytes: 256,
            reordered: 1,
            first: Nanos(1_000_000_012_345),
            last: Nanos(1_000_000_912_345),
            in_window: Some(3),
            by_half: Some(2),
            lead_in: 2,
            under_way: 1,
            ..FlowCounts::default()
        }],
        throughput: Throughput {
            offered_hz: 1_000.25,
            sent_hz: 1_000.25,
            delivered_hz: 800.1,
            delivered_bytes_per_s: 51_206.4,
            blocked_share: 0.0,
            blocked_above: Some(Nanos(14_000)),
            in_window_hz: Some(600.5),
            reads_hz: None,
        },
        cost: Cost {
            processes: vec![ProcessCost {
                label: "source".into(),
                user: Nanos(120_000),
                system: Nanos(80_000),
                pacing: Nanos(100_000),
                wall: Nanos::from_millis(300),
                voluntary_switches: 5,
                peak_rss_bytes: 3 << 20,
                pss_bytes: 1 << 20,
                ..ProcessCost::default()
            }],
            cpu: Nanos(100_000),
            cpu_ns_per_message: Some(25_000.0),
            host_cpu: Some(Nanos(260_000)),
            host_cpu_ns_per_message: Some(26_666.5),
            switches_per_message: Some(1.25),
            pss_bytes: 1 << 20,
            peak_rss_bytes: 3 << 20,
            ..Cost::default()
        },
        open: Nanos(52_000),
        matching: Nanos(310_000),
        raw: vec![raw_sample(0), raw_sample(1)],
        warnings: vec![
            Warning::NotGranted {
                who: Who::Participant {
                    index: 1,
                    role: Role::Sink,
                },
                refused: NotGranted::Fifo {
                    priority: 10,
                    limit: "0".into(),
                    answer: "Operation not permitted (os error 1)".into(),
                },
            }
            .into(),
        ],
        warmup: Nanos::from_secs(1),
        unsteady: true,
        noise: HostNoise {
            gaps: vec![gaps(0), gaps(1)],
            line_ns: Some(182.5),
            window: Some(load()),
        },
        disturbed: vec![
            Disturbance::ForeignLoad {
                share: 0.2,
                cpus: vec![0, 1],
                used: Nanos::from_millis(120),
                named: Nanos(116_950_000),
                hungriest: Some((Some("rustc".into()), Nanos(115_250_000))),
                bare: BareShare {
                    share: 0.0041,
                    taken: 0.0041,
                },
            }
            .into(),
        ],
        places: vec![
            Place {
                participant: 0,
                since: Nanos::ZERO,
                cpu: 1,
            },
            Place {
                participant: 1,
                since: Nanos(120_000_000),
                cpu: 0,
            },
        ],
        networks: vec![HostNetwork {
            host: "here".into(),
            fresh: true,
            counters: BTreeMap::from([(NetworkCounter::ReceiveBufferErrors, 1)]),
            sockets: vec![FullSocket {
                port: 4_242,
                receive_buffer: 212_992,
                dropped: 1,
            }],
            ..HostNetwork::default()
        }],
        ..TrialRecord::default()
    }
}

/// 12,300 ns twice, 12,306 ns and 25,000 ns, one message lost; two blocks.
fn distribution() -> Distribution {
    let text = |t: &str| HdrText(t.into());
    Distribution {
        total: text(TOTAL),
        blocks: vec![text(FIRST), text(SECOND)],
        n: 4,
        infinite: 1,
        saturated: 0,
        sum: 61_906.0,
        min: 12_300,
        max: 25_000,
    }
}

const TOTAL: &str = "HISTFAAAACh4nJNpmSzMwMDAzgABzFCaEch0M9ixgMH+A0Sg0YOFaa0AEwB02gXg";
const FIRST: &str = "HISTFAAAACN4nJNpmSzMwMDAzAABMJoRyHQz2LGAwf4DRKDRgwUAXZ0FGw==";
const SECOND: &str = "HISTFAAAACd4nJNpmSzMwMDAxgABzFCaEch0M9ixgMH+A0Sg2YNprQATAG+QBd0=";

fn raw_sample(sequence: u64) -> RawSample {
    let due = 1_000_000_000_000 + sequence * 1_000_000;
    RawSample {
        channel: 0,
        receiver: 1,
        sequence,
        intended: Nanos(due),
        sent: Nanos(due + 45),
        arrival: Nanos(due + 12_345),
    }
}

/// A failed trial.
pub fn failed(id: TrialId, kind: FailureKind) -> TrialRecord {
    TrialRecord {
        machines: Vec::new(),
        outcome: Outcome::Failed {
            kind,
            step: "window".into(),
            cause: FailureCause::AgentEnded {
                agent: "agent (sink 1) with adapter udp".into(),
                exit: Exit::Signal(11),
                connection: false,
                after_result: false,
            }
            .into(),
            stderr: vec!["a last line".into()],
        },
        distributions: BTreeMap::new(),
        counts: Counts::default(),
        flows: Vec::new(),
        throughput: Throughput::default(),
        cost: Cost::default(),
        raw: Vec::new(),
        ..completed(id)
    }
}
