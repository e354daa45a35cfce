//! Participants that are matched and silent: what they take all the same, and those that never see their peers.

use crate::harness::{Place, count, experiments, failure, on_stack};
use serde_json::Value;

/// Of each experiment: a trial whose costs could not be read in time, on a busy machine, has none.
const TRIALS: u64 = 4;

fn suite(stacks: &str, topology: &str, more: &str) -> String {
    format!(
        "title = \"idle\"\n\
         [defaults]\nwait = \"block\"\ntrials = {TRIALS}\ndeadline = \"30 s\"\ncpus = \"none\"\n\
         [[experiment]]\nname = \"idle\"\nworkload = \"idle\"\nwarmup = \"200 ms\"\nwindow = \"1 s\"\n\
         stacks = [{stacks}]\ntopology = \"{topology}\"\n{more}\n"
    )
}

/// The median trial of a figure of an idle experiment.
#[track_caller]
fn figure(e: &Value, name: &str) -> f64 {
    let found = e["idle"][name]["median"].as_f64();
    found.unwrap_or_else(|| panic!("no {name} in {e:#}"))
}

#[test]
fn nobody_sends_and_what_all_have_is_told() {
    let place = Place::new();
    let stacks = r#""udp", "tcp", "iceoryx2""#;
    place.suite("idle", &suite(stacks, "2-3", ""));
    let shown = place.measure("idle", &[]);
    assert_eq!(experiments(&shown).len(), 3, "no floor: {shown:#}");
    for e in experiments(&shown) {
        assert_eq!(e["failed_trials"], 0, "{e:#}");
        assert_eq!(e["headline"], "idle_cpu_ns");
        for sent in ["offered", "sent", "received", "lost"] {
            assert_eq!(count(e, sent), 0, "{sent}: {e:#}");
        }
        assert_eq!(figure(e, "participants"), 5.0);
        // Each has a process of its own, with a thread that plays the role and one that leads it.
        assert!(figure(e, "threads") >= 10.0 && figure(e, "open_files") >= 15.0);
        assert!(figure(e, "pss_each_bytes") > 100_000.0, "{e:#}");
        let each = figure(e, "cpu_each_ns_per_s");
        let metric = |key: &str| e["metrics"]["idle_cpu_ns"][key].as_f64().unwrap();
        assert!(metric("n") >= 1.0 && metric("max") + 1.0 >= each, "{e:#}");
        // All were matched, once in each trial.
        assert_eq!(e["metrics"]["match_ns"]["n"], TRIALS, "{e:#}");
        assert!(e["metrics"]["response_ns"].is_null(), "{e:#}");
    }
    let shared = on_stack(&shown, "iceoryx2")["idle"]["shared_bytes"]["median"].as_f64();
    assert!(shared > Some(0.0), "iceoryx2 has shared memory");
    let table = place.run(&["show", "out"]).with_code(0);
    table.says("idle CPU").says("wake-ups/s");
}

#[test]
fn a_library_that_wakes_up_for_nothing_is_found() {
    let place = Place::new();
    let stack = |more: &str| {
        format!(
            "description = \"polls\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
             [options]\ninner = \"uds\"\n{more}\n"
        )
    };
    place.stack("quiet", &stack(""));
    place.stack(
        "busy",
        &stack("wake_every_us = 5_000\nwake_spin_us = 1_000"),
    );
    place.suite("idle", &suite(r#""quiet", "busy""#, "2-2", ""));
    let shown = place.measure("idle", &[]);
    let [quiet, busy] = ["quiet", "busy"].map(|stack| on_stack(&shown, stack));
    // Up to 166 wake-ups in a second, fewer where others have the CPUs.
    let [less, more] = [quiet, busy].map(|e| figure(e, "wakeups_each_hz"));
    assert!(more > less + 20.0, "{less} and {more}");
    let [less, more] = [quiet, busy].map(|e| figure(e, "cpu_each_ns_per_s"));
    assert!(more > less + 20e6, "{less} and {more}");
}

#[test]
fn a_participant_that_never_hears_its_peers_is_named() {
    let place = Place::new();
    place.stack(
        "deaf",
        "description = \"one is deaf\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n\
         [options]\ninner = \"uds\"\ndeaf_after = 0\nparticipant = 4\n",
    );
    place.suite("idle", &suite("\"deaf\"", "2-3", ""));
    let run = [
        "run",
        "idle",
        "--out",
        "out",
        "--quiet",
        "--trials",
        "1",
        "--set",
        "deadline=3s",
    ];
    place.run(&run).with_code(4);
    let trials = place.trials("out");
    let cause = failure(&trials[0]);
    assert!(cause.contains("sink 4"), "{cause}");
    assert!(
        !cause.contains("sink 3") && !cause.contains("source"),
        "{cause}"
    );
    assert!(trials[0]["idle"].is_null());
}

#[test]
fn laws_of_growth_are_shown_of_runs_that_have_several_numbers_of_participants() {
    let place = Place::new();
    place.suite("one", &suite(r#""udp""#, "1-1", ""));
    place.measure("one", &[]);
    let shown = place.run(&["show", "out", "--growth"]).with_code(2);
    shown.says("`dyno run growth`");
    let several = "[experiment.matrix]\ntopology = [\"1-1\", \"2-2\"]";
    let text = suite(r#""udp""#, "1-1", several);
    place.suite("several", &text.replacen("topology = \"1-1\"\n", "", 1));
    let run = ["run", "several", "--out", "grown", "--quiet"];
    place.run(&run).with_code(0);
    let shown = place.run(&["show", "grown", "--growth"]).with_code(0);
    shown
        .says("busy CPUs")
        .says("needs 4 numbers of participants, has 2");
    let growth = &place.show("grown")["growth"];
    assert_eq!(growth[0]["participants"], serde_json::json!([2, 4]));
    for refused in [["--format", "json"], ["--columns", "p50"]] {
        let more = ["show", "grown", "--growth", refused[0], refused[1]];
        place.run(&more).with_code(2).says(refused[0]);
    }
}
