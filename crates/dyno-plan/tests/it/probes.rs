//! Probes: what a suite's keys make of them, which CPUs they get, and what is refused.

use crate::common::plan_text;
use dyno_model::plan::{Plan, PlanWarning, Scheduling};
use dyno_model::probe::{Alarm, Call, HandOver, Probe, ProbeKind, Rest, Ring, Sides};
use dyno_model::{Cause, Nanos, Wait, Workload};
use std::collections::BTreeSet;

/// A suite of one probe with these further lines; two CPUs, 0 and 1.
fn probe(lines: &str) -> Result<Plan, String> {
    let text =
        format!("title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"probe\"\n{lines}\n");
    plan_text(&text).map_err(|e| format!("{e:?}"))
}

fn cells(lines: &str) -> Vec<(Workload, Vec<u32>)> {
    let plan = probe(lines).unwrap();
    assert_eq!(plan.refused, []);
    assert!(
        plan.experiments
            .iter()
            .all(|e| e.stack == "ground" && e.floor.is_none())
    );
    plan.experiments
        .into_iter()
        .map(|e| (e.workload, e.cpus))
        .collect()
}

fn alone(probe: Probe) -> Workload {
    Workload::Probe {
        probe,
        each: 1,
        copies: 1,
    }
}

#[test]
fn a_kind_alone_is_measured_by_its_first_way_on_the_cpu_that_the_kernel_uses_least() {
    let syscall = Probe::Syscall {
        by: Call::Getppid,
        batch: 1,
    };
    assert_eq!(cells("probe = \"syscall\""), [(alone(syscall), vec![1])]);
    let timer = Probe::Timer {
        by: Alarm::Nanosleep,
        period: Nanos::from_micros(100),
        slack: None,
    };
    assert_eq!(cells("probe = \"timer\""), [(alone(timer), vec![1])]);
    let ipi = Workload::Probe {
        probe: Probe::Ipi {
            by: Ring::Eventfd,
            rest: Rest::Sleeps,
        },
        each: 2,
        copies: 1,
    };
    assert_eq!(cells("probe = \"ipi\""), [(ipi, vec![1, 0])]);
    for kind in ProbeKind::ALL {
        assert_eq!(cells(&format!("probe = \"{kind}\"")).len(), 1, "{kind}");
    }
}

#[test]
fn a_switch_is_multiplied_by_ways_sides_and_cpus() {
    let all = cells(
        "probe = \"switch\"\n[experiment.matrix]\nby = [\"futex\", \"pipe\"]\n\
         sides = [\"threads\", \"processes\"]\non = [\"one\", \"two\"]",
    );
    let distinct: BTreeSet<String> = all
        .iter()
        .map(|(w, cpus)| format!("{w} {cpus:?}"))
        .collect();
    assert_eq!((all.len(), distinct.len()), (8, 8));
    let last = Workload::Probe {
        probe: Probe::Switch {
            by: HandOver::Pipe,
            sides: Sides::Processes,
        },
        each: 2,
        copies: 1,
    };
    assert!(all.contains(&(last, vec![1, 0])));
}

#[test]
fn copies_get_cpus_of_their_own_as_many_as_asked_for_or_all() {
    let cpus = |lines: &str| cells(&format!("probe = \"syscall\"\n{lines}"))[0].1.clone();
    assert_eq!(cpus("parallel = 2"), [1, 0]);
    assert_eq!(cpus("parallel = \"each-cpu\""), [0, 1]);
    assert_eq!(cpus("cpus = [[0]]\nparallel = \"each-cpu\""), [0]);
    assert_eq!(cpus("cpus = [0, 1]"), [0]);
    let (workload, cpus) = &cells("probe = \"ipi\"\nparallel = \"each-cpu\"")[0];
    assert!(matches!(
        workload,
        Workload::Probe {
            copies: 1,
            each: 2,
            ..
        }
    ));
    assert_eq!(*cpus, [0, 1]);
}

#[test]
fn wait_and_payload_follow_from_the_probe() {
    let plan =
        probe("probe = \"copy\"\n[experiment.matrix]\npayload = [\"64 B\", \"1 MiB\"]").unwrap();
    let sizes: Vec<usize> = plan.experiments.iter().map(|e| e.payload.bytes()).collect();
    assert_eq!(sizes, [64, 1 << 20]);
    let wait = |lines: &str| probe(lines).unwrap().experiments[0].wait;
    assert_eq!(wait("probe = \"ipi\"\nrest = \"polls\""), Wait::Spin);
    assert_eq!(wait("probe = \"ipi\""), Wait::Block);
}

#[test]
fn what_cannot_be_probed_is_refused_with_the_reason() {
    let refused = |lines: &str, why: &str| {
        let said = probe(lines).unwrap_err();
        assert!(said.contains(why), "{lines}: {said}");
    };
    refused("probe = \"syscall\"\nparallel = 3", "more than the 2");
    refused("probe = \"ipi\"\nparallel = 2", "4 CPUs at once");
    refused(
        "probe = \"timer\"\nperiod = \"1 us\"",
        "never done before the next",
    );
    refused(
        "probe = \"switch\"\nby = \"yield\"\non = \"two\"",
        "on one CPU only",
    );
    refused(
        "probe = \"copy\"\nscheduling = \"deadline\"",
        "SCHED_DEADLINE is for timers",
    );
    refused("probe = \"share\"\nmessages = 10", "measured over a time");
    refused(
        "probe = \"copy\"\npayload = \"1 GiB\"\nparallel = 5",
        "CPUs at once",
    );
    refused("probe = \"switch\"\nby = \"tube\"", "there is no switch by");
    refused("probe = \"copy\"\nby = \"futex\"", "there is no copy by");
    refused(
        "probe = \"copy\"\nby = \"other\"\nparallel = 2",
        "4 CPUs at once",
    );
    refused("probe = \"share\"\nby = \"futex\"", "a share has no `by`");
    refused("probe = \"syscal\"", "syscall");
    refused("", "has no `probe`");
    refused("probe = \"syscall\"\ncpus = [[7]]", "there is no CPU 7");
    refused(
        "probe = \"syscall\"\nstacks = [\"tcp\"]",
        "runs on `ground`",
    );
}

#[test]
fn a_copy_larger_than_memory_is_refused() {
    let text = "title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"probe\"\nprobe = \"copy\"\n\
                payload = \"1 GiB\"\nparallel = ";
    let refused = |copies: &str, memory: u64| {
        let mut catalog = dyno_plan::Catalog::builtin();
        catalog.add_suite("mine", "mine.toml", format!("{text}{copies}\n"));
        let facts = dyno_plan::HostFacts {
            memory_bytes: Some(memory),
            ..crate::common::facts()
        };
        let plan = dyno_plan::plan(
            &catalog,
            &crate::common::request("mine"),
            &crate::common::adapters(),
            &facts,
        );
        plan.map(|plan| plan.experiments.len())
            .map_err(|e| format!("{e:?}"))
    };
    let said = refused("1", (2 << 30) - 1).unwrap_err();
    assert!(said.contains("do not fit"), "{said}");
    assert_eq!(refused("1", 2 << 30), Ok(1));
    assert!(refused("\"each-cpu\"", 2 << 30).is_err());
}

#[test]
fn the_ground_carries_no_messages() {
    let text = "title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\nstacks = ";
    let said = plan_text(&format!("{text}[\"ground\"]\n")).unwrap_err();
    assert!(format!("{said:?}").contains("runs only probes"), "{said:?}");
    // Who asks for all stacks means those that carry messages.
    let plan = plan_text(&format!("{text}\"all\"\n")).unwrap();
    assert!(plan.experiments.iter().all(|e| e.stack != "ground"));
    assert!(plan.refused.iter().all(|r| r.stack != "ground"));
}

#[test]
fn a_timer_may_be_of_any_class() {
    let plan = probe(
        "probe = \"timer\"\n[experiment.matrix]\nscheduling = [\"other\", \"fifo:50\", \"deadline\"]",
    );
    let classes: Vec<Scheduling> = plan
        .unwrap()
        .experiments
        .iter()
        .map(|e| e.scheduling)
        .collect();
    assert_eq!(
        classes,
        [
            Scheduling::Other,
            Scheduling::Fifo(50),
            Scheduling::Deadline
        ]
    );
}

#[test]
fn the_ground_of_a_run_is_probed_with_copies_of_its_own_payloads() {
    let text = "title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\nstacks = [\"pipe\"]\n\
                payload = \"4 KiB\"\n";
    let plan = |ground| crate::common::plan_with(text, &[], |r| r.ground = ground).unwrap();
    let (without, with) = (plan(false), plan(true));
    assert_eq!(
        with.experiments[..without.experiments.len()],
        without.experiments
    );
    let more = &with.experiments[without.experiments.len()..];
    assert!(more.iter().all(|e| e.added));
    let (probes, twins): (Vec<_>, Vec<_>) = more.iter().partition(|e| e.stack == "ground");
    // Each round trip is counted once more, last of all.
    assert!(
        twins
            .iter()
            .all(|e| e.counted && e.trials == 1 && e.floor.is_none())
    );
    let counted: Vec<_> = twins
        .iter()
        .map(|e| (&e.stack, e.wait, e.payload))
        .collect();
    let own = without.experiments.iter();
    let own: Vec<_> = own.map(|e| (&e.stack, e.wait, e.payload)).collect();
    assert_eq!(counted, own);
    assert!(probes.iter().all(|e| !e.counted && e.id < twins[0].id));
    let said: Vec<String> = probes.iter().map(|e| e.workload.to_string()).collect();
    assert_eq!(
        said,
        [
            "syscall by getppid in batches of 100",
            "switch by futex between threads",
            "switch by futex between processes",
            "ipi by futex to one that sleeps on 2 cpus",
            "copy",
            "copy by other on 2 cpus"
        ]
    );
    assert!(probes[4..].iter().all(|e| e.payload.bytes() == 4096));
    for (i, e) in with.experiments.iter().enumerate() {
        assert_eq!(e.id.0 as usize, i);
    }
}

#[test]
fn the_ground_is_probed_with_the_classes_and_on_the_cpus_of_the_run() {
    let text = "title = \"t\"\n[defaults]\nwait = \"block\"\nmlock = true\n\
                [[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\nstacks = [\"pipe\"]\ncpus = [1, 0]\n\
                [experiment.matrix]\nscheduling = [\"other\", \"fifo:50\"]\n\
                [[experiment]]\nname = \"y\"\nworkload = \"ping-pong\"\nstacks = [\"pipe\"]\ncpus = [1, 1]\n";
    let plan = crate::common::plan_with(text, &[], |r| r.ground = true).unwrap();
    let at = |kind| -> Vec<(Scheduling, Vec<u32>)> {
        let probes = plan.experiments.iter().filter(|e| e.stack == "ground");
        let of_kind = probes.filter(
            |e| matches!(e.workload, Workload::Probe { probe, .. } if probe.kind() == kind),
        );
        of_kind
            .inspect(|e| assert!(e.mlock))
            .map(|e| (e.scheduling, e.cpus.clone()))
            .collect()
    };
    let classes = [Scheduling::Fifo(50), Scheduling::Other];
    assert_eq!(at(ProbeKind::Ipi), classes.map(|c| (c, vec![1, 0])));
    // What both places of one class have is measured once.
    assert_eq!(at(ProbeKind::Syscall), classes.map(|c| (c, vec![1])));
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
}

#[test]
fn a_ground_without_a_round_trip_to_break_down_says_so() {
    let suite = |workload: &str| {
        let text = format!(
            "title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = {workload}\nstacks = [\"tcp\"]\n"
        );
        let plan = crate::common::plan_with(&text, &[], |r| r.ground = true).unwrap();
        let breakdown = Cause::Known(PlanWarning::NoBreakdown);
        plan.warnings.iter().filter(|w| **w == breakdown).count()
    };
    assert_eq!(suite("\"stream\"\nrate = \"1 kHz\""), 1);
    assert_eq!(suite("\"ping-pong\""), 0);
}
