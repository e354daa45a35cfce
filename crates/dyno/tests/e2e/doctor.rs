//! `dyno doctor` on the host that the tests run on, whatever that is.

use crate::harness::Place;
use serde_json::Value;

fn examined(place: &Place) -> Value {
    let found = place.run(&["doctor", "--json", "--quiet"]).with_code(0);
    assert_eq!(found.stderr, "", "quiet says nothing");
    serde_json::from_str(&found.stdout).unwrap()
}

/// What programs may rely on; docs/reference/host-noise.md.
#[test]
fn its_json_has_the_documented_shape() {
    let place = Place::new();
    let found = examined(&place);
    assert_eq!(found["format"], 1);
    for key in [
        "build_profile",
        "machine",
        "settings",
        "clock",
        "clocks",
        "syscall",
        "core_to_core",
        "wake_up",
        "timers",
        "speeds",
        "gaps",
        "load",
        "interrupts",
        "limits",
        "rights",
        "libraries",
        "unavailable",
        "failed",
    ] {
        assert!(!found[key].is_null(), "no {key} in {found:#}");
    }
    for gap in found["gaps"].as_array().unwrap() {
        assert!(gap["watched"].as_u64().unwrap() > 0, "{gap:#}");
    }
    assert!(found["syscall"]["cost_ns"].as_f64().unwrap() > 0.0);
    assert!(found["load"]["wall"].as_u64().unwrap() > 0);
    assert!(place.leftovers().is_empty());
}

#[test]
fn findings_come_worst_first_and_each_that_hurts_says_what_to_do() {
    let found = examined(&Place::new());
    let findings = found["findings"].as_array().unwrap();
    let severities = ["hurts", "may-hurt", "unknown", "fine"];
    let rank = |f: &Value| {
        let severity = f["severity"].as_str().unwrap();
        severities
            .iter()
            .position(|s| *s == severity)
            .unwrap_or_else(|| panic!("unknown severity in {f:#}"))
    };
    assert!(findings.is_sorted_by_key(rank), "{findings:#?}");
    for f in findings {
        assert!(!f["what"].as_str().unwrap().is_empty(), "{f:#}");
        let fix = &f["fix"];
        match rank(f) {
            0 | 1 => {
                let text = fix["command"].as_str().or(fix["instead"].as_str());
                assert!(text.is_some_and(|t| !t.is_empty()), "{f:#}");
            }
            _ => assert!(fix.is_null(), "{f:#}"),
        }
    }
    let ids: Vec<_> = findings.iter().map(|f| f["id"].as_str().unwrap()).collect();
    for id in [
        "build",
        "foreign-load",
        "gaps",
        "virtual-machine",
        "steal",
        "governor",
        "turbo",
        "smt",
        "isolated-cpus",
        "nohz-full",
        "idle-states",
        "clock-source",
        "timers",
        "mitigations",
        "swap",
        "huge-pages",
        "numa-balancing",
        "interrupts",
        "irqbalance",
        "realtime-right",
        "realtime-throttling",
        "locked-memory",
        "cpu-quota",
        "load-average",
    ] {
        assert!(ids.contains(&id), "{id} is not among {ids:?}");
    }
    let level = found["verdict"]["level"].as_str().unwrap();
    let expected = ["poor", "usable", "good", "good"][rank(&findings[0])];
    assert_eq!(level, expected);
}

/// The tests run in the profile that they are built in.
#[test]
fn a_debug_build_is_told_apart() {
    let found = examined(&Place::new());
    let build = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["id"] == "build")
        .unwrap();
    if cfg!(debug_assertions) {
        assert_eq!(build["severity"], "hurts");
        assert_eq!(build["fix"]["command"], "cargo build --release");
    } else {
        assert_eq!(build["severity"], "fine");
    }
}

#[test]
fn its_text_begins_with_the_verdict() {
    let shown = Place::new().run(&["doctor"]).with_code(0);
    assert!(shown.stdout.starts_with("Verdict: "), "{}", shown.stdout);
    shown
        .says("most serious first")
        .says("Core to core")
        .says("time stamps come from")
        .says("a sleep of")
        .says("gaps in")
        .says("Limits")
        // Progress, on standard error.
        .says("1/5 calibrating the clock");
}
