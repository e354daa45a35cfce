//! What a suite multiplies out to, what is left out of it, and where its floors come from.

use crate::common::{plan_text, plan_with, said, suite};
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::{Access, Nanos, Placement, Wait, Workload};
use proptest::prelude::*;
use proptest::sample::subsequence;

const STACKS: &[&str] = &["null", "floor-spin", "tcp", "udp", "iceoryx2", "zenoh-shm"];
const WAITS: &[&str] = &["spin", "block", "callback"];
const TOPOLOGIES: &[&str] = &["1-1", "1-3", "3-1", "2-2"];
const PLACEMENTS: &[&str] = &["thread", "process", "host"];
const PAYLOADS: &[&str] = &["32 B", "64 B", "4 KiB", "1 MB"];
const RATES: &[&str] = &["1 kHz", "2.5 kHz"];

fn list(values: &[&str]) -> String {
    format!("{values:?}")
}

fn some(values: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(values, 1..=values.len())
}

proptest! {
    #[test]
    fn cells_are_the_product_of_the_factors_less_the_refused(
        stacks in some(STACKS), waits in some(WAITS), topologies in some(TOPOLOGIES),
        placements in some(PLACEMENTS), payloads in some(PAYLOADS), rates in some(RATES),
    ) {
        // One cell per stack that always runs, so that no stack is refused as a whole.
        let text = format!(
            "title = \"t\"\n[[experiment]]\nname = \"anchor\"\nworkload = \"ping-pong\"\n\
             stacks = {stacks}\n[[experiment]]\nname = \"x\"\nworkload = \"stream\"\n\
             [experiment.matrix]\nstack = {stacks}\nwait = {}\ntopology = {}\n\
             placement = {}\npayload = {}\nrate = {}\n",
            list(&waits), list(&topologies), list(&placements), list(&payloads), list(&rates),
            stacks = list(&stacks),
        );
        match plan_text(&text) {
            Ok(plan) => {
                let product = stacks.len() * waits.len() * topologies.len() * placements.len()
                    * payloads.len() * rates.len();
                let cells: Vec<_> = plan.experiments.iter()
                    .filter(|e| e.name == "x" && !e.added).collect();
                prop_assert_eq!(cells.len() + plan.refused.len(), product);
                for (i, e) in plan.experiments.iter().enumerate() {
                    prop_assert_eq!(e.id.0 as usize, i);
                }
                for (i, a) in cells.iter().enumerate() {
                    for b in &cells[i + 1..] {
                        prop_assert!(
                            (&a.stack, a.wait, a.topology, a.placement, a.payload)
                                != (&b.stack, b.wait, b.topology, b.placement, b.payload)
                            || a.workload != b.workload
                        );
                    }
                }
            }
            // The only mistake these suites can hold.
            Err(e) => {
                prop_assert_eq!(&placements, &vec!["host"]);
                prop_assert!(e.to_string().contains("two hosts"), "{}", e);
            }
        }
    }

    #[test]
    fn no_text_makes_the_planner_panic(text in "\\PC{0,200}", key in "[a-z_]{1,12}", value in "\\PC{0,20}") {
        let _ = plan_text(&text);
        let _ = plan_text(&format!("title = \"t\"\n{text}"));
        let one = suite(&format!("workload = \"stream\"\nrate = \"1 kHz\"\n{key} = {value}"));
        let _ = plan_text(&one);
        let _ = plan_with(&suite("workload = \"flood\""), &[(&key, &value)], |_| {});
    }
}

#[test]
fn ranges_multiply_up_to_their_end() {
    let text = suite(
        "workload = \"ping-pong\"\nstacks = [\"tcp\"]\n[experiment.matrix]\n\
         payload = { from = \"1 KiB\", to = \"4 MiB\", factor = 2 }",
    );
    let plan = plan_text(&text).unwrap();
    let sizes: Vec<usize> = plan
        .experiments
        .iter()
        .filter(|e| !e.added)
        .map(|e| e.payload.bytes())
        .collect();
    assert_eq!(sizes, (0..13).map(|i| 1024 << i).collect::<Vec<_>>());
}

#[test]
fn the_command_line_wins_over_the_experiment_and_that_over_the_defaults() {
    let text = "title = \"t\"\n[defaults]\nwindow = \"1 s\"\ntrials = 2\naccess = \"all\"\n\
                [[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\nstacks = \"tcp\"\n\
                trials = 3\n[experiment.matrix]\npayload = [\"8 B\", \"16 B\"]\n";
    let plan = plan_text(text).unwrap();
    let e = &plan.experiments[0];
    assert_eq!((e.trials, e.access), (3, Access::All));
    assert_eq!(e.window, Extent::Duration(dyno_model::Nanos::from_secs(1)));
    let set = [
        ("payload", "1KiB"),
        ("round_trips", "50"),
        ("scheduling", "fifo:20"),
        ("trials", "9"),
    ];
    let plan = plan_with(text, &set, |r| r.trials = Some(4)).unwrap();
    let e = &plan.experiments[0];
    assert_eq!(e.payload.bytes(), 1024);
    assert_eq!(e.window, Extent::Messages(50));
    assert_eq!(e.scheduling, Scheduling::Fifo(20));
    assert_eq!(e.trials, 4);
    assert_eq!(plan.experiments.iter().filter(|e| !e.added).count(), 1);
}

#[test]
fn set_takes_lists_and_ranges_for_factors() {
    let text = suite("workload = \"ping-pong\"\nstacks = \"tcp\"");
    for (value, n) in [
        ("8B,64B,4KiB", 3),
        ("[\"8 B\", \"64 B\"]", 2),
        ("{ from = \"8 B\", to = \"64 B\", factor = 2 }", 4),
    ] {
        let plan = plan_with(&text, &[("payload", value)], |_| {}).unwrap();
        assert_eq!(
            plan.experiments.iter().filter(|e| !e.added).count(),
            n,
            "{value}"
        );
    }
}

#[test]
fn parameters_stand_where_a_suite_refers_to_them() {
    let text = "title = \"t\"\n[parameters]\nn = 100\nsizes = [\"8 B\", \"16 B\"]\n\
                [[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\nstacks = \"tcp\"\n\
                round_trips = \"$n\"\n[experiment.matrix]\npayload = \"$sizes\"\n";
    let plan = plan_text(text).unwrap();
    assert_eq!(plan.experiments[0].window, Extent::Messages(100));
    assert_eq!(plan.experiments[1].payload.bytes(), 16);
    let plan = plan_with(text, &[("n", "5")], |_| {}).unwrap();
    assert_eq!(plan.experiments[0].window, Extent::Messages(5));
}

#[test]
fn a_start_has_no_window_even_where_the_defaults_say_one() {
    let text = "title = \"t\"\n[defaults]\nwarmup = \"1 s\"\nwindow = \"2 s\"\n\
                [[experiment]]\nname = \"start\"\nworkload = \"first-message\"\nstacks = [\"tcp\"]\n\
                [experiment.matrix]\nperiod = [\"1 ms\", \"10 ms\"]\n";
    let plan = plan_text(text).unwrap();
    let starts: Vec<_> = plan.experiments.iter().filter(|e| !e.added).collect();
    assert_eq!(starts.len(), 2);
    for (e, period) in starts.iter().zip([1, 10]) {
        let period = Nanos::from_millis(period);
        assert_eq!(e.workload, Workload::FirstMessage { period });
        assert_eq!(e.warmup, Extent::Duration(Nanos::ZERO));
        assert_eq!((e.settle, e.window), (None, Extent::Messages(1)));
    }
    let text = suite("workload = \"first-message\"");
    let plan = plan_text(&text).unwrap();
    let period = Nanos::from_millis(1);
    assert_eq!(
        plan.experiments[0].workload,
        Workload::FirstMessage { period }
    );
}

#[test]
fn natural_waits_come_from_the_stack() {
    let text = suite("workload = \"ping-pong\"\nstacks = [\"iceoryx2\", \"zenoh-tcp\"]");
    let plan = plan_text(&text).unwrap();
    let waits: Vec<Wait> = plan
        .experiments
        .iter()
        .filter(|e| !e.added)
        .map(|e| e.wait)
        .collect();
    assert_eq!(waits, [Wait::Spin, Wait::Block, Wait::Callback]);
}

#[test]
fn a_floor_is_added_once_where_the_suite_has_none() {
    let text = suite("workload = \"ping-pong\"\nstacks = [\"tcp\", \"zenoh-tcp\", \"iceoryx2\"]");
    let plan = plan_text(&text).unwrap();
    let added: Vec<_> = plan.experiments.iter().filter(|e| e.added).collect();
    // One for blocking, shared by tcp and iceoryx2; one for spinning, one for the callback.
    assert_eq!(added.len(), 3);
    for e in plan.experiments.iter().filter(|e| !e.added) {
        let floor = plan.experiment(e.floor.unwrap()).unwrap();
        assert!(plan.stacks[&floor.stack].floor);
        assert_eq!(floor.payload, e.payload);
        assert_eq!(floor.wait, e.wait);
    }
}

#[test]
fn a_floor_in_the_suite_is_used_as_it_is() {
    let text = suite("workload = \"ping-pong\"\nstacks = [\"tcp\", \"floor-futex\", \"null\"]");
    let plan = plan_text(&text).unwrap();
    assert!(plan.experiments.iter().all(|e| !e.added));
    for e in &plan.experiments {
        assert_eq!(e.floor.is_some(), e.stack == "tcp");
    }
}

#[test]
fn cells_that_a_stack_cannot_do_are_left_out_with_the_reason() {
    let text = suite(
        "workload = \"flood\"\nwait = \"spin\"\n[experiment.matrix]\n\
         topology = [\"1-1\", \"1-3\"]\nplacement = [\"process\", \"host\"]",
    );
    let plan = plan_text(&text).unwrap();
    let mut reasons: Vec<String> = plan
        .refused
        .iter()
        .filter(|r| ["null", "floor-futex", "tcp"].contains(&r.stack.as_str()))
        .map(|r| format!("{}: {} [{}]", r.stack, r.reason, r.factors))
        .collect();
    reasons.dedup();
    snapshot!(reasons.join("\n"));
    assert!(
        plan.experiments
            .iter()
            .all(|e| e.placement == Placement::Process)
    );
}

#[test]
fn auto_spreads_participants_and_warns_where_they_crowd() {
    let text = suite(
        "workload = \"ping-pong\"\nwait = \"spin\"\nstacks = \"tcp\"\n[experiment.matrix]\n\
         topology = [\"1-1\", \"1-3\"]",
    );
    let plan = plan_text(&text).unwrap();
    assert_eq!(plan.experiments[0].cpus, [0, 1]);
    assert_eq!(plan.experiments[1].cpus, [0, 1, 0, 1]);
    snapshot!(said(&plan).join("\n"));
}

#[test]
fn too_little_shared_memory_is_a_warning() {
    let text = suite("workload = \"flood\"\nstacks = \"iceoryx2\"\npayload = \"1 GiB\"");
    let plan = plan_text(&text).unwrap();
    snapshot!(said(&plan).join("\n"));
}

#[test]
fn two_roles_may_share_a_listed_cpu_while_they_sleep() {
    let text = suite("workload = \"ping-pong\"\nwait = \"block\"\nstacks = \"tcp\"\ncpus = [1, 1]");
    let plan = plan_text(&text).unwrap();
    assert!(plan.experiments.iter().all(|e| e.cpus == [1, 1]));
    let none = plan_with(&text, &[("cpus", "none")], |_| {}).unwrap();
    assert!(none.experiments.iter().all(|e| e.cpus.is_empty()));
    let listed = plan_with(&text, &[("cpus", "1,0")], |_| {}).unwrap();
    assert_eq!(listed.experiments[0].cpus, [1, 0]);
}

#[test]
fn sets_of_cpus_are_written_as_numbers_texts_or_lists() {
    let text = suite("workload = \"ping-pong\"\nwait = \"block\"\nstacks = \"tcp\"");
    for cpus in ["[0, 1]", "[\"0\", \"1\"]", "[[0], [1]]", "0,1"] {
        let plan = plan_with(&text, &[("cpus", cpus)], |_| {}).unwrap();
        let e = &plan.experiments[0];
        assert_eq!(e.cpus, [0, 1], "{cpus}");
        assert!(e.library_cpus.is_empty(), "{cpus}");
    }
    let two = "{ sets = [\"0-1\", [1, 0]], share = true }";
    let plan = plan_with(&text, &[("cpus", two)], |_| {}).unwrap();
    let e = &plan.experiments[0];
    assert_eq!(e.cpus, [0, 1]);
    assert_eq!(e.library_cpus, [[0, 1], [0, 1]]);
}

#[test]
fn one_cpu_is_shared_by_spinning_participants_where_the_suite_says_so() {
    let text = suite(
        "workload = \"ping-pong\"\nwait = \"spin\"\nstacks = \"tcp\"\ncpus = { sets = [1, 1], share = true }",
    );
    let plan = plan_text(&text).unwrap();
    assert!(plan.experiments.iter().all(|e| e.cpus == [1, 1]));
    assert!(plan.experiments.iter().all(|e| e.library_cpus.is_empty()));
}

#[test]
fn a_librarys_threads_leave_the_cpu_of_a_source_that_spins() {
    let text = suite("workload = \"stream\"\nrate = \"1 kHz\"\nwait = \"block\"\nstacks = \"tcp\"");
    let plan = plan_text(&text).unwrap();
    let e = &plan.experiments[0];
    assert_eq!((e.cpus.as_slice(), e.library_cpus.len()), (&[0, 1][..], 2));
    assert_eq!(e.library_cpus, [[1], [1]]);
    // Nobody keeps its CPU from others here.
    let text = suite("workload = \"ping-pong\"\nwait = \"block\"\nstacks = \"tcp\"");
    assert!(
        plan_text(&text).unwrap().experiments[0]
            .library_cpus
            .is_empty()
    );
}
