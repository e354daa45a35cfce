//! Searches for a capacity that is known: a wall of the kernel's, and one of a planted fault.

use crate::harness::{Place, is_as_the_schema_says};
use crate::judge::calm;
use serde_json::Value;

const NOTHING_LOST: &str = "[[limit]]\nname = \"nothing lost\"\nmetric = \"loss\"\nat_most = 0\n";

/// Searches with the suite `short`; what `dyno check` then says of the run.
fn search(place: &Place, experiment: &str, factor: &str) -> Value {
    let suite = format!(
        "title = \"short\"\n[defaults]\nwait = \"block\"\nwarmup = \"10 ms\"\nsettle = \"10 ms\"\n\
         window = \"100 ms\"\ntrials = 3\n[[experiment]]\n{experiment}"
    );
    place.suite("short", &suite);
    place.file("limits.toml", NOTHING_LOST);
    let until = ["--until", "limits.toml", "--out", "out"];
    let asked = [&["run", "short", "--search", factor], &until[..]].concat();
    let mut shown = place.run(&asked);
    let mut told = shown.stderr.clone();
    // Tests beside this one disturb trials, by which nothing is kept: they are made to count, and the search goes on.
    loop {
        let trials = place.trial_names("out").len();
        calm(&place.path("out"));
        shown = place.run(&["run", "--resume", "out"]);
        told += &shown.stderr;
        if place.trial_names("out").len() == trials {
            break;
        }
    }
    let shown = shown.with_code(0);
    assert!(told.contains("is confirmed by 3 further trials"), "{told}");
    let again = place.run(&["show", "out"]).with_code(0);
    let told = again.stdout.find("capacity: the highest");
    let at = told.expect("a stored run tells its capacity");
    assert!(
        shown.stdout.ends_with(&again.stdout[at..]),
        "{}",
        shown.stdout
    );
    let json = place
        .run(&["check", "out", "--format", "json"])
        .with_code(0);
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    let shown = place.show("out");
    assert_eq!(shown["capacity"], report, "the run itself tells it too");
    is_as_the_schema_says(&shown, "show.schema.json");
    place
        .run(&["report", "out", "-o", "page.html", "--quiet"])
        .with_code(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert!(
        page.contains("\"kind\":\"capacity\""),
        "the page can draw it"
    );
    let tried = report["capacities"][0]["curve"].as_array().unwrap();
    for point in tried {
        let of_experiment = |e: &&Value| e["id"] == point["id"];
        let all = shown["experiments"].as_array().unwrap();
        assert!(all.iter().any(|e| of_experiment(&e)), "{point:#}");
    }
    report
}

fn found(report: &Value) -> (f64, f64, &Value) {
    let one = &report["capacities"][0];
    let number = |key: &str| one[key].as_f64().unwrap_or_else(|| panic!("{one:#}"));
    (number("kept"), number("broken"), one)
}

#[test]
fn the_largest_datagram_is_the_one_that_fits_the_kernels_receive_buffer() {
    let text = std::fs::read_to_string("/proc/sys/net/core/rmem_default").unwrap();
    let buffer: f64 = text.trim().parse().unwrap();
    let place = Place::new();
    let start = (buffer / 2.0) as u64;
    let experiment = format!(
        "name = \"trip\"\nworkload = \"ping-pong\"\ntimeout = \"1 s\"\npayload = \"{start} B\"\n\
         stacks = [\"udp\"]\n"
    );
    let report = search(&place, &experiment, "payload");
    let (kept, broken, one) = found(&report);
    // A datagram counts with the memory that its fragments take, so the wall lies a little below the buffer.
    assert!(kept < broken && kept < buffer, "{one:#}");
    assert!(kept > 0.85 * buffer, "{kept} of {buffer}: {one:#}");
    assert_eq!(one["confirmed"], true);
    assert!(
        one["broke_first"][0]
            .as_str()
            .unwrap()
            .contains("nothing lost"),
        "{one:#}"
    );
}

#[test]
fn a_sender_that_takes_five_milliseconds_is_never_said_to_send_faster() {
    let place = Place::new();
    place.stack(
        "slow",
        "description = \"slow\"\nadapter = \"faulty\"\nwaits = [\"block\"]\n[options]\ninner = \"uds\"\n\
         delay_every = 1\ndelay_us = 5000\n",
    );
    let experiment =
        "name = \"flow\"\nworkload = \"stream\"\nrate = \"20 Hz\"\nstacks = [\"slow\"]\n";
    let report = search(&place, experiment, "rate");
    let (kept, broken, one) = found(&report);
    // 200 /s are the wall, and a rate counts as put on where 95 % of it are sent; of 100 ms the first message is due
    // at once, so that the last gap is missing.
    assert!((20.0..=200.0 / 0.95 * 1.06).contains(&kept), "{one:#}");
    assert!(kept < broken, "{one:#}");
    let why = one["broke_first"][0].as_str().unwrap();
    assert!(why.contains("the sources sent only"), "{one:#}");
}

#[test]
fn what_cannot_be_searched_is_one_clear_error() {
    let place = Place::new();
    place.suite(
        "two",
        "title = \"two\"\n[[experiment]]\nname = \"flow\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nstacks = [\"pipe\"]\n\
         [experiment.matrix]\npayload = [\"64 B\", \"1 KiB\"]\n",
    );
    place.file("limits.toml", NOTHING_LOST);
    let run = |more: &[&str], code: i32| {
        let all = [&["run", "two", "--out", "out"], more].concat();
        let ended = place.run(&all).with_code(code);
        assert!(!place.path("out").exists(), "nothing half-written");
        ended
    };
    run(&["--search", "rate"], 2).says("--until");
    run(&["--search", "speed", "--until", "limits.toml"], 2).says("clients");
    run(&["--search", "payload", "--until", "limits.toml"], 3)
        .says("2 values of the searched factor: 64 B, 1 KiB");
    place.file(
        "trip.toml",
        "[[limit]]\nname = \"x\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"1 s\"\n",
    );
    run(&["--search", "rate", "--until", "trip.toml"], 3).says("this run has none");
    place.suite("trip", "title = \"t\"\n[[experiment]]\nname = \"a\"\nworkload = \"ping-pong\"\nstacks = [\"pipe\"]\n");
    place
        .run(&["run", "trip", "--search", "rate", "--until", "limits.toml"])
        .with_code(3)
        .says("a ping-pong has no rate to raise");
}
