//! Presets: what `--set GROUP=NAME` changes, and what is wrong with one.

use crate::common::{plan_text, plan_with, refusal_of};
use dyno_model::plan::Extent;
use dyno_model::{Nanos, Plan};
use dyno_plan::Catalog;

const SUITE: &str = r#"
title = "t"

[parameters]
few = 2

[defaults]
trials = 9
window = "9 s"

[presets.scale.full]

[presets.scale.short]
trials = "$few"
window = "1 s"
payload = ["8 B", "64 B"]

[presets.scale.short.counted]
messages = 7
payload = "32 B"

[presets.machine.quiet]
mlock = true

[[experiment]]
name = "timed"
workload = "ping-pong"
stacks = "tcp"
trials = 8

[[experiment]]
name = "counted"
workload = "stream"
rate = "1 kHz"
stacks = "tcp"
messages = 70
"#;

fn planned(set: &[(&str, &str)]) -> Plan {
    let text = SUITE
        .replace("\"$few\"", "2")
        .replace("[parameters]\nfew = 2\n", "");
    plan_with(&text, set, |_| {}).unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)))
}

/// Trials, window, number of cells and `mlock` of an experiment on its own stack.
fn of(plan: &Plan, name: &str) -> (u32, Extent, usize, bool) {
    let cells: Vec<_> = plan
        .experiments
        .iter()
        .filter(|e| e.name == name && !e.added)
        .collect();
    let first = cells[0];
    (first.trials, first.window, cells.len(), first.mlock)
}

#[test]
fn a_preset_wins_over_the_file_and_loses_to_other_settings() {
    let second = Extent::Duration(Nanos::from_secs(1));
    for set in [&[][..], &[("scale", "full")]] {
        let plan = planned(set);
        let nine = Extent::Duration(Nanos::from_secs(9));
        assert_eq!(of(&plan, "timed"), (8, nine, 1, false));
        assert_eq!(of(&plan, "counted"), (9, Extent::Messages(70), 1, false));
    }
    let plan = planned(&[("scale", "short")]);
    assert_eq!(of(&plan, "timed"), (2, second, 2, false));
    assert_eq!(of(&plan, "counted"), (2, Extent::Messages(7), 1, false));
    let plan = planned(&[("scale", "short"), ("machine", "quiet"), ("trials", "5")]);
    assert_eq!(of(&plan, "timed"), (5, second, 2, true));
    let plan = planned(&[("scale", "short"), ("scale", "full")]);
    assert_eq!(of(&plan, "timed").0, 8, "the last of two holds");
}

#[test]
fn parameters_stand_in_presets_too() {
    let text = SUITE.replace("payload = [\"8 B\", \"64 B\"]\n", "");
    let set = [("scale", "short"), ("few", "3")];
    let plan = plan_with(&text, &set, |_| {});
    // `trials` takes no text, so the parameter must have been put in its place before.
    let plan = plan.unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)));
    assert_eq!(of(&plan, "timed").0, 3);
}

#[test]
fn a_preset_sets_parameters_and_the_command_line_wins() {
    let text = SUITE.replace(
        "[presets.machine.quiet]",
        "[presets.machine.quiet]\nfew = 4",
    );
    let trials = |set: &[(&str, &str)]| {
        let plan = plan_with(&text, set, |_| {});
        of(
            &plan.unwrap_or_else(|e| panic!("{}", crate::common::shown(&e))),
            "timed",
        )
        .0
    };
    assert_eq!(trials(&[("scale", "short")]), 2);
    assert_eq!(trials(&[("scale", "short"), ("machine", "quiet")]), 4);
    let all = [("few", "3"), ("scale", "short"), ("machine", "quiet")];
    assert_eq!(trials(&all), 3);
}

#[test]
fn the_list_of_suites_names_presets() {
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", SUITE);
    let listed = catalog.suites();
    let mine = listed.iter().find(|l| l.name == "mine").unwrap();
    assert_eq!(mine.presets["scale"], ["full", "short"]);
    assert_eq!(mine.presets["machine"], ["quiet"]);
    let quick = listed.iter().find(|l| l.name == "quick").unwrap();
    assert!(quick.presets.is_empty());
}

fn with_presets(lines: &str) -> String {
    let text = format!(
        "title = \"t\"\n[parameters]\nn = 1\n{lines}\n[[experiment]]\nname = \"x\"\n\
         workload = \"ping-pong\"\nround_trips = \"$n\"\nstacks = \"tcp\"\n"
    );
    refusal_of(plan_text(&text))
}

#[test]
fn mistakes() {
    let unknown = plan_with(SUITE, &[("scale", "shrot")], |_| {});
    let number = plan_with(SUITE, &[("scale", "3")], |_| {});
    let near = plan_with(SUITE, &[("sclae", "short")], |_| {});
    let cases = [
        ("an unknown preset", refusal_of(unknown)),
        ("a number for a preset", refusal_of(number)),
        ("an unknown group", refusal_of(near)),
        ("an empty group", with_presets("[presets.scale]")),
        (
            "a setting in the group",
            with_presets("[presets.scale]\ntrials = 3"),
        ),
        (
            "an unknown key",
            with_presets("[presets.scale.short]\ntrails = 3"),
        ),
        (
            "an unknown key of an experiment",
            with_presets("[presets.scale.short.x]\ntrails = 3"),
        ),
        (
            "a key of another workload",
            with_presets("[presets.scale.short.x]\nmessages = 3"),
        ),
        (
            "a key that no experiment has",
            with_presets("[presets.scale.short]\nrate = \"1 kHz\""),
        ),
        (
            "a setting's name",
            with_presets("[presets.trials.few]\ntrials = 3"),
        ),
        (
            "a parameter's name",
            with_presets("[presets.n.few]\ntrials = 3"),
        ),
    ];
    let shown: Vec<String> = cases
        .iter()
        .map(|(what, text)| format!("### {what}\n{text}\n"))
        .collect();
    snapshot!(shown.join("\n"));
}
