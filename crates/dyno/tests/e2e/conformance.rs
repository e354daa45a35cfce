//! `dyno conformance` and `dyno new-adapter`: an adapter from nothing to examined, with the program alone.

use crate::brokers;
use crate::foreign::{compile, place as with_liar};
use crate::harness::{Place, commands, is_alive, wait_for};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn every_step_of_the_how_to_works_with_the_program_alone() {
    let page = include_str!("../../../../docs/how-to/add-an-adapter.md");
    // One trial of each experiment shows as much here as several.
    let lines = commands(page).replace(
        "dyno run quick",
        "dyno run quick --quiet --trials 1 --repeats 0",
    );
    assert_eq!(lines.matches("dyno conformance").count(), 5, "{lines}");
    let place = Place::new();
    place
        .shell(&lines)
        .with_code(0)
        .says("0 failed")
        .says("with transport = \"tcp\"")
        .says("mymw");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

/// So long that a path in it no longer fits into 80 bytes, and is cut off at a directory that exists.
#[test]
fn a_long_temporary_directory_does_not_matter_to_the_skeleton() {
    let place = Place::new();
    let mut long = place.path("tmp").into_os_string().into_string().unwrap();
    long.push('/');
    long.push_str(&"x".repeat(71 - long.len()));
    std::fs::create_dir(&long).unwrap();
    let steps = format!(
        "dyno new-adapter mymw; cd mymw; cc -std=gnu11 -fPIC -shared -o libdyno_mymw.so mymw.c; \
         TMPDIR={long} dyno conformance ./libdyno_mymw.so \
         --case replies_flow_back,what_is_created_is_claimed_and_removed,a_long_scratch_path_is_served_or_refused"
    );
    place
        .shell(&steps)
        .with_code(0)
        .says("3 passed, 0 failed, 0 skipped");
    assert_eq!(place.leftovers(), [PathBuf::from(long)]);
}

/// What `dyno conformance` says of the liar with that lie: its exit code is 4, nothing is left.
fn verdicts(lie: &str, cases: &str, more: &[&str]) -> Vec<(String, String, String)> {
    let place = with_liar();
    let (library, lie) = ("adapters/libdyno_liar.so", format!("lie={lie}"));
    let mut arguments = vec![
        "conformance",
        library,
        "--set",
        &lie,
        "--case",
        cases,
        "--json",
    ];
    arguments.extend(more);
    let ended = place.run(&arguments).with_code(4);
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = report["cases"].as_array().unwrap().iter();
    rows.map(|row| (text(row, "case"), text(row, "verdict"), text(row, "reason")))
        .collect()
}

/// The reason with which the first of two cases fails; the second passes.
#[track_caller]
fn caught(lie: &str, case: &str) -> String {
    let rows = verdicts(lie, &format!("{case},description_is_complete"), &[]);
    let verdict = |name: &str| rows.iter().find(|(case, ..)| case == name).unwrap().clone();
    assert_eq!(verdict("description_is_complete").1, "passed", "{rows:?}");
    let (_, verdict, reason) = verdict(case);
    assert_eq!(verdict, "failed", "{rows:?}");
    reason
}

#[test]
fn a_take_that_sleeps_too_long_is_caught_also_where_signals_end_it() {
    let case = "blocking_take_returns_without_a_message";
    let reason = caught("sleep-3-s", case);
    assert!(reason.contains("sleeps for 3."), "{reason}");
    let reason = caught("sleep-for-ever", case);
    assert!(reason.contains("has not returned after 5s"), "{reason}");
}

#[test]
fn a_receiver_that_is_always_matched_is_caught() {
    let reason = caught("always-matched", "no_sender_is_seen_before_there_is_one");
    assert!(reason.contains("before there is one"), "{reason}");
}

#[test]
fn a_path_that_is_cut_off_is_caught() {
    let reason = caught("short-path", "a_long_scratch_path_is_served_or_refused");
    assert!(
        reason.contains("outside of the scratch directory"),
        "{reason}"
    );
}

#[test]
fn a_crash_fails_its_case_with_the_signal() {
    let reason = caught("crash-in-callback", "a_dropped_subscription_is_silent");
    assert!(reason.contains("SIGSEGV"), "{reason}");
}

#[test]
fn a_library_that_hangs_fails_each_case_and_the_next_one_is_played() {
    let cases = "replies_flow_back,processes_exchange_messages";
    let rows = verdicts("hang-in-open", cases, &["--limit", "2 s"]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    for (case, verdict, reason) in rows {
        assert_eq!(verdict, "failed", "{case}");
        assert!(reason.contains("did not end within 2s"), "{case}: {reason}");
    }
}

#[test]
fn a_version_that_does_not_come_from_the_library_is_caught() {
    let place = with_liar();
    let skeleton =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../adapters/c-skeleton/skeleton.c");
    let text = std::fs::read_to_string(skeleton).unwrap();
    let text = text.replace("c-skeleton", "vendor");
    // Filled when it is asked, as with a library that returns text.
    let asks = text
        .replace(
            "static const dyno_description description",
            "static dyno_description description",
        )
        .replace(
            "    return &description;",
            "    description.version = vendor_version();\n    return &description;",
        )
        .replace(
            "struct dyno_node {",
            "const char *vendor_version(void);\nstruct dyno_node {",
        );
    let constant = asks
        .replace(
            "vendor_version();\n    return",
            "VENDOR_VERSION;\n    (void)vendor_version();\n    return",
        )
        .replace(
            "struct dyno_node {",
            "#define VENDOR_VERSION \"4.3.5\"\nstruct dyno_node {",
        );
    place.file(
        "vendor.c",
        "const char *vendor_version(void) { return \"4.3.5\"; }\n",
    );
    let vendor = place.path("libvendor.so");
    compile("cc", &["-shared"], &[place.path("vendor.c")], &vendor);
    for (name, text, code, words) in [
        ("asks", asks, 0, "1 passed"),
        (
            "constant",
            constant,
            4,
            "the version \"4.3.5\" is a constant of the adapter's own file, which uses libvendor.so",
        ),
    ] {
        std::fs::create_dir(place.path(name)).unwrap();
        place.file(&format!("{name}.c"), &text);
        let library = place.path(&format!("{name}/libdyno_vendor.so"));
        let sources = [place.path(&format!("{name}.c")), vendor.clone()];
        let here = format!("-Wl,-rpath,{}", place.path(".").display());
        let soname = ["-std=gnu11", "-shared", here.as_str()];
        compile("cc", &soname, &sources, &library);
        place
            .run(&[
                "conformance",
                library.to_str().unwrap(),
                "--case",
                "version_is_that_of_the_loaded_library",
            ])
            .with_code(code)
            .says(words);
    }
}

#[test]
fn ctrl_c_ends_the_case_and_leaves_nothing() {
    let place = with_liar();
    let running = place.start(&[
        "conformance",
        "adapters/libdyno_liar.so",
        "--set",
        "lie=hang-in-open",
        "--case",
        "description_is_complete,replies_flow_back",
    ]);
    let case = wait_for("the case's process", || {
        let tasks = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.pid()));
        let mut children = tasks
            .ok()?
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
            .into_iter();
        children.find_map(|pid| {
            let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
            // Until it runs its own program, a child shows the arguments of its parent, which name the case as well.
            (arguments.contains("--conformance") && arguments.contains("replies_flow_back"))
                .then(|| pid.parse::<i32>().ok())?
        })
    });
    running.signal(libc::SIGINT);
    running.end().with_code(130).says("interrupted, 1 not run");
    assert!(!is_alive(case));
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn what_cannot_be_examined_is_refused_with_the_reason() {
    let place = with_liar();
    place
        .run(&["conformance", "no-such-stack"])
        .with_code(3)
        .says("there is no stack `no-such-stack`");
    place
        .run(&["conformance", "./nowhere.so"])
        .with_code(3)
        .says("./nowhere.so cannot be tested");
    let library = "adapters/libdyno_liar.so";
    place
        .run(&["conformance", library, "--set", "lye=none"])
        .with_code(3)
        .says("did you mean `lie`?");
    place
        .run(&["conformance", library, "--case", "replies_flow"])
        .with_code(2)
        .says("no conformance case `replies_flow`");
    place
        .run(&["new-adapter", "My MW"])
        .with_code(2)
        .says("lower-case");
    place
        .run(&["new-adapter", "adapters"])
        .with_code(1)
        .says("cannot create adapters");
}

#[test]
fn kuksa_conforms_over_viss_and_where_values_are_read() {
    for stack in ["kuksa-viss", "kuksa-viss-set", "kuksa-get"] {
        if let Some(_turn) = brokers::turn(brokers::DATABROKER) {
            brokers::conforms(stack);
        }
    }
}
