//! Two sides that take turns within one trial: `dyno run --against … --slices`.

use crate::harness::Place;
use crate::judge::calm;
use dyno_model::{Nanos, Slices, TrialId};
use serde_json::Value;

/// Round trips of some stacks, all of whose receivers wait alike.
fn place(wait: &str, stacks: &[&str]) -> Place {
    let place = Place::new();
    place.suite(
        "pairs",
        &format!(
            "title = \"pairs\"\n[defaults]\ntrials = 4\nwarmup = \"40 ms\"\nwindow = \"300 ms\"\nwait = \"{wait}\"\n\
             raw_samples = 100000\n[[experiment]]\nname = \"round-trip\"\nworkload = \"ping-pong\"\nstacks = {stacks:?}\n"
        ),
    );
    place
}

/// A stack over uds sockets whose every message of the initiator is this late, in µs.
fn late(delay_us: u32) -> String {
    format!(
        "description = \"late\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\nparticipant = 0\n\
         delay_every = 1\ndelay_us = {delay_us}\n"
    )
}

fn run(place: &Place, more: &[&str]) {
    let mut arguments = vec!["run", "pairs", "--out", "out", "--quiet"];
    arguments.extend(more);
    place.run(&arguments).with_code(0);
    calm(&place.path("out"));
}

fn compared(place: &Place) -> Value {
    let said = place.run(&["compare", "out", "--format", "json"]);
    serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}\n{}", said.stderr))
}

#[track_caller]
fn row<'a>(compared: &'a Value, figure: &str) -> &'a Value {
    let rows = compared["cells"][0]["rows"].as_array();
    let found = rows.and_then(|rows| rows.iter().find(|row| row["figure"] == figure));
    found.unwrap_or_else(|| panic!("no {figure} in {compared:#}"))
}

/// Both sides of each trial were measured in slices of their own: whenever the sender of counted messages changes, there is
/// a gap and a guard in between.
fn assert_turns(place: &Place) {
    let dir = place.path("out");
    let run = dyno_store::read_run(&dir).unwrap().run;
    let plan = &run.manifest.plan;
    let new = plan.experiments.iter().find(|e| e.base.is_some()).unwrap();
    let slices = new.slices.unwrap();
    let mut pauses: Vec<Nanos> = Vec::new();
    for number in 0..new.trials {
        let mut sent: Vec<(Nanos, bool)> = Vec::new();
        for (experiment, is_base) in [(new.id, false), (new.base.unwrap(), true)] {
            let id = TrialId { experiment, number };
            let raw = dyno_store::read_raw(&dir, id).unwrap();
            sent.extend(raw.iter().map(|sample| (sample.sent, is_base)));
        }
        sent.sort_unstable();
        let switches = sent.windows(2).filter(|two| two[0].1 != two[1].1);
        pauses.extend(switches.map(|two| two[1].0.saturating_sub(two[0].0)));
    }
    // A busy machine lets slices go by, and may stop a sender between its look at the clock and the stamp.
    let least = slices.guard.saturating_add(slices.gap);
    let kept = pauses.iter().filter(|pause| **pause >= least).count();
    assert!(
        pauses.len() >= 3 && 4 * kept >= 3 * pauses.len(),
        "{pauses:?}"
    );
}

#[test]
fn both_sides_take_turns_in_one_trial_and_are_compared_slice_by_slice() {
    let place = place("block", &["uds-stream", "tcp"]);
    run(
        &place,
        &["--slices", "--stack", "uds-stream", "--against", "tcp"],
    );
    assert_turns(&place);
    let trials = place.trials("out");
    let of_slices = trials.iter().filter(|t| {
        let blocks = t["distributions"]["rtt_ns"]["blocks"].as_array();
        blocks.is_some_and(|blocks| blocks.len() == 30)
    });
    assert_eq!(of_slices.count(), 8, "a block for each pair, of each side");
    place
        .run(&["compare", "out"])
        .says("in slices of 10.0 ms")
        .says("p50");
    let compared = compared(&place);
    assert_eq!(compared["paired"], true);
    assert_eq!(row(&compared, "rtt_ns p50")["new_trials"], 4);
    let rows = compared["cells"][0]["rows"].as_array().unwrap();
    assert!(rows.iter().all(|r| r["figure"] != "cpu_ns_per_message"));
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn a_planted_delay_is_found_and_nothing_is_found_in_the_same() {
    let place = place("block", &["late"]);
    place.stack("late", &late(300)).stack("usual", &late(0));
    run(
        &place,
        &["--slices", "--stack", "late", "--against", "usual"],
    );
    assert_eq!(row(&compared(&place), "rtt_ns p50")["verdict"], "higher");
    place
        .run(&["compare", "out", "--fail-on", "slower"])
        .with_code(8);
}

#[test]
fn who_polls_rests_while_the_other_side_has_its_slice() {
    for (wait, stack) in [("spin", "floor-spin"), ("callback", "floor-callback")] {
        let place = place(wait, &[stack]);
        run(&place, &["--against", "same", "--slices=5ms"]);
        assert_turns(&place);
    }
}

#[test]
fn a_library_of_its_own_takes_turns_with_the_kernel() {
    let place = place("block", &["tcp", "iceoryx2"]);
    run(
        &place,
        &["--slices", "--stack", "iceoryx2", "--against", "tcp"],
    );
    assert_turns(&place);
    assert!(row(&compared(&place), "rtt_ns p50")["ratio"].as_f64() > Some(0.0));
}

#[test]
fn where_one_side_fails_its_trial_has_failed_on_both_and_can_be_repeated() {
    let place = place("block", &["crashes", "uds-stream"]);
    place.stack(
        "crashes",
        "description = \"crashes\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n\
         crash_in = \"send\"\ncrash_after = 300\n",
    );
    place
        .run(&[
            "run",
            "pairs",
            "--out",
            "out",
            "--quiet",
            "--slices",
            "--stack",
            "crashes",
            "--against",
            "uds-stream",
            "--trials",
            "2",
        ])
        .with_code(4);
    let trials = place.trials("out");
    let failed = trials.iter().filter(|t| t["outcome"] == "failed");
    assert!(failed.count() >= 4, "{trials:#?}");
    let others = trials.iter().map(ToString::to_string);
    assert!(others.filter(|t| t.contains("other-side")).count() >= 2);
    place.run(&["compare", "out"]).says("failed");
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn what_cannot_take_turns_is_refused_with_the_way_of_whole_trials() {
    let place = place("block", &["uds-stream", "tcp", "pipe"]);
    let refused = |arguments: &[&str], says: &str| {
        let all = [&["run", "pairs", "--dry-run"], arguments].concat();
        place.run(&all).with_code(3).says(says);
    };
    refused(&["--slices"], "--against");
    refused(
        &["--against", "tcp", "--slices"],
        "2 stacks have the same base",
    );
    let pair = ["--stack", "pipe", "--against", "tcp"];
    let with = |more: &[&'static str]| [&pair[..], more].concat();
    refused(
        &with(&["--slices=1ms"]),
        "a slice is 2.00 ms to 50.0 ms long",
    );
    refused(
        &with(&["--slices", "--set", "window=20 ms"]),
        "choose another",
    );
    refused(
        &with(&["--slices", "--set", "round_trips=100"]),
        "number of messages",
    );
    place.suite(
        "streams",
        "title = \"streams\"\n[[experiment]]\nname = \"one-way\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nstacks = [\"tcp\"]\n",
    );
    place
        .run(&[
            "run",
            "streams",
            "--dry-run",
            "--against",
            "same",
            "--slices",
        ])
        .with_code(3)
        .says("leave --slices out");
    place.suite(
        "hasty",
        "title = \"hasty\"\n[[experiment]]\nname = \"trips\"\nworkload = \"ping-pong\"\nwindow = \"500 ms\"\n\
         timeout = \"30 ms\"\nstacks = [\"tcp\"]\n",
    );
    place
        .run(&["run", "hasty", "--dry-run", "--against", "same", "--slices"])
        .with_code(3)
        .says("its timeout of 30.0 ms ends while a reply waits");
    assert_eq!(Slices::USUAL, Nanos::from_millis(10));
}
