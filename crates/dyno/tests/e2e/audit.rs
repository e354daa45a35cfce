//! `dyno audit`: published files in each form, Dyno's own runs and their exports, and what is refused.

use crate::harness::{Ended, Place, is_as_the_schema_says, on_stack};
use serde_json::Value;
use std::path::{Path, PathBuf};

const PUBLISHED: [&str; 5] = [
    "iceperf-2020",
    "l4re-2025",
    "rwth-2025",
    "s-core-2025",
    "sodev-2025",
];

fn published(name: &str) -> String {
    format!("{}/../../published/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Arguments that audit all published files, and `more`.
fn all_published(more: &[&str]) -> Vec<String> {
    let files = PUBLISHED.iter().map(|name| published(name));
    std::iter::once("audit".to_owned())
        .chain(files)
        .chain(more.iter().map(|&m| m.to_owned()))
        .collect()
}

fn run(place: &Place, arguments: &[String]) -> Ended {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    place.run(&arguments)
}

/// Two stacks and two workloads; the run is in `out`.
fn measured() -> Place {
    let place = Place::new();
    place.suite(
        "honest",
        r#"
        title = "honest"
        [defaults]
        trials = 6
        settle = "0 s"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        round_trips = 200
        stacks = ["pipe"]
        [[experiment]]
        name = "one-way"
        workload = "stream"
        rate = "1 kHz"
        messages = 100
        raw_samples = 100
        stacks = ["uds-stream"]
        "#,
    );
    place
        .run(&["run", "honest", "--out", "out", "--quiet"])
        .with_code(0);
    place
}

fn audited(place: &Place, source: &Path) -> Value {
    let source = source.to_str().unwrap();
    let ended = place
        .run(&["audit", source, "--format", "json"])
        .with_code(0);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}\n{}", ended.stdout))
}

/// Asserts that nothing is objected to, and that much was looked at.
#[track_caller]
fn no_objection(place: &Place, source: &Path) {
    let document = audited(place, source);
    let audit = &document["audits"][0];
    let objects = |o: &&Value| {
        ["impossible", "inconsistent", "not-what-it-is-called"]
            .contains(&o["verdict"].as_str().unwrap())
    };
    let outcomes = audit["outcomes"].as_array().unwrap();
    let objections: Vec<&Value> = outcomes.iter().filter(objects).collect();
    assert!(objections.is_empty(), "{source:?}: {objections:#?}");
    assert!(
        audit["counts"]["no-objection"].as_u64().unwrap() > 5,
        "{audit:#}"
    );
}

#[test]
fn the_published_files_print_as_a_table_and_as_markdown() {
    let place = Place::new();
    run(&place, &all_published(&[]))
        .with_code(0)
        .says(
            "12,000 1/s and 3.2 ms contradict each other for one client that waits for each answer",
        )
        .says("11.631")
        .says("impossible (");
    run(&place, &all_published(&["--format", "markdown"]))
        .with_code(0)
        .says("| check | place | finding | calculation |");
}

#[test]
fn json_of_an_audit_is_as_its_schema_says() {
    let place = Place::new();
    let ended = run(&place, &all_published(&["--format", "json"])).with_code(0);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(
        document["audits"].as_array().unwrap().len(),
        PUBLISHED.len()
    );
    is_as_the_schema_says(&document, "audit.schema.json");
}

#[test]
fn the_page_of_the_published_files_marks_their_cells() {
    let place = Place::new();
    let page = place.path("audit.html");
    let more = ["--format", "html", "-o", page.to_str().unwrap()];
    let ended = run(&place, &all_published(&more)).with_code(0);
    assert_eq!(ended.stdout, "");
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<article>").count(), PUBLISHED.len());
    for verdict in [
        "impossible",
        "inconsistent",
        "not-what-it-is-called",
        "cannot-be-known",
    ] {
        assert!(
            page.contains(&format!("<td class=\"{verdict}\">")),
            "{verdict}"
        );
    }
    // It needs nothing from elsewhere.
    assert!(!page.contains("<script src") && !page.contains("<link"));
}

#[test]
fn the_exit_code_follows_the_worst_finding() {
    let place = Place::new();
    let sodev = published("sodev-2025");
    let audit = |file: &str, limit: &str| place.run(&["audit", file, "--fail-on", limit]);
    audit(&sodev, "impossible").with_code(9);
    let l4re = published("l4re-2025");
    audit(&l4re, "impossible").with_code(0);
    audit(&l4re, "inconsistent").with_code(9);
}

#[test]
fn a_run_and_its_exports_are_not_objected_to() {
    let place = measured();
    no_objection(&place, Path::new("out"));
    place
        .run(&["show", "out", "--format", "gbench", "-o", "out.json"])
        .with_code(0);
    no_objection(&place, Path::new("out.json"));
    place
        .run(&["show", "out", "--format", "hdr", "-o", "hdr"])
        .with_code(0);
    let files = std::fs::read_dir(place.path("hdr")).unwrap();
    let files: Vec<PathBuf> = files.map(|f| f.unwrap().path()).collect();
    assert!(files.len() > 8, "{files:?}");
    for file in &files {
        no_objection(&place, file);
    }
}

/// The figure of this name, in the audit of a file.
fn stated(document: &Value, id: &str) -> Option<f64> {
    let figures = document["audits"][0]["figures"].as_array().unwrap();
    let found = figures.iter().find(|f| f["id"] == id)?;
    Some(found["value"].as_f64().unwrap())
}

#[track_caller]
fn figure(document: &Value, id: &str) -> f64 {
    stated(document, id).unwrap_or_else(|| panic!("no {id} in {document:#}"))
}

#[test]
fn what_is_exported_is_imported_as_it_was_measured() {
    let place = measured();
    let own = audited(&place, Path::new("out"));
    let round_trip = |statistic: &str| format!("round-trip.pipe.0/rtt_ns-{statistic}");
    place
        .run(&["show", "out", "--format", "hdr", "-o", "hdr"])
        .with_code(0);
    let stem = "hdr/e0000_round-trip_pipe_64B_rtt_ns";
    let log = audited(&place, Path::new(&format!("{stem}.hlog")));
    let text = audited(&place, Path::new(&format!("{stem}.hgrm")));
    // All are of the same buckets, which the run's interpolates within.
    let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 0.02, "{a} against {b}");
    for statistic in ["mean", "median", "max"] {
        let id = format!("rtt_ns/{statistic}");
        near(1e3 * figure(&text, &id), figure(&log, &id));
        // A busy machine may leave the p50 so wide that the run refuses it.
        match stated(&own, &round_trip(statistic)) {
            Some(value) => near(figure(&log, &id), value),
            None => assert_eq!(statistic, "median", "{own:#}"),
        }
    }
    place
        .run(&["show", "out", "--format", "gbench", "-o", "out.json"])
        .with_code(0);
    // There a row is a trial: the median is over their p50s.
    let exported = std::fs::read_to_string(place.path("out.json")).unwrap();
    let exported: Value = serde_json::from_str(&exported).unwrap();
    let rows = exported["benchmarks"].as_array().unwrap().iter();
    let rows = rows.filter(|r| r["run_type"] == "iteration");
    let rows = rows.filter(|r| r["name"].as_str().unwrap().contains("/pipe/"));
    let mut p50s: Vec<f64> = rows.map(|r| r["real_time"].as_f64().unwrap()).collect();
    p50s.sort_by(f64::total_cmp);
    let middle = p50s.len() / 2;
    let median = match p50s.len() % 2 {
        0 => (p50s[middle - 1] + p50s[middle]) / 2.0,
        _ => p50s[middle],
    };
    let gbench = audited(&place, Path::new("out.json"));
    let ids = gbench["audits"][0]["figures"].as_array().unwrap();
    let ids: Vec<&str> = ids.iter().filter_map(|f| f["id"].as_str()).collect();
    let id = ids
        .iter()
        .find(|id| id.contains("/pipe/") && id.ends_with("/median"));
    near(figure(&gbench, id.unwrap()), median);
}

#[test]
fn what_cannot_be_read_is_said() {
    let place = Place::new();
    let refused = |source: &str, code: i32| place.run(&["audit", source]).with_code(code);
    refused("none.toml", 1).says("cannot read none.toml");
    refused("none.json", 1).says("cannot read none.json");
    refused("none", 5).says("cannot find a run in none");
    place.file("words.txt", "nothing of a tool\n");
    refused("words.txt", 3).says("Dyno does not recognise the tool that wrote this file");
    place.file(
        "half.toml",
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\n",
    );
    refused("half.toml", 3).says("half.toml:3: missing field `rows`");
}

const BROKERS: &str = r#"
[source]
title = "Two brokers"

[[table]]
id = "t"
place = "table 1"
quantity = "latency"
unit = "ms"
statistic = "median"
n = 100
method = { loop = "closed", clients = 1, trip = "half", wait = "block" }
conditions = { machine = "a laptop" }
columns = [
    { label = "payload" }, { id = "pipe" }, { id = "tcp" }, { id = "bus" },
    { id = "cycles", quantity = "cycles", unit = "cycles" },
    { id = "flood", quantity = "bandwidth", unit = "MB/s", statistic = "mean" },
]
rows = '''
64 B | 1.0 | 2.0 | 3.0 | 400 | 5.0
'''

[[nearest]]
of = ["t/*/pipe", "t/*/cycles"]
stack = "pipe"
experiment = { workload = "ping-pong", round_trips = 200, trials = 8, wait = "block" }
differs = ["no broker in between"]

[[nearest]]
of = ["t/*/tcp"]
stack = "tcp"
experiment = { workload = "ping-pong", round_trips = 200, trials = 8, wait = "block" }

[[nearest]]
of = ["t/*/bus"]
stack = "no-such-bus"
experiment = { workload = "ping-pong" }

[[nearest]]
of = ["t/*/flood"]
stack = "uds-stream"
experiment = { workload = "flood", trials = 3, warmup = "20 ms", window = "100 ms", wait = "block" }
"#;

/// Asserts that what stands beside a claim is what the run has of it, in base units: its value and its ends, as far as the run
/// states them. What a busy machine makes Dyno refuse stands there as a reason.
#[track_caller]
fn stands(beside: &Value, claimed: f64, value: Option<f64>, ends: Option<(f64, f64)>) {
    let measured = &beside["measured"];
    let Some(value) = value.filter(|v| *v > 0.0) else {
        assert!(measured.is_null(), "{beside:#}");
        let reason = beside["reason"].as_str().unwrap();
        let known = ["its p50 is refused", "its trials failed", "is zero"];
        assert!(known.iter().any(|k| reason.contains(k)), "{reason}");
        return;
    };
    let is = |key: &str, of: f64| {
        let found = measured[key].as_f64();
        let near = found.is_some_and(|found| (found / of - 1.0).abs() < 1e-6);
        assert!(near, "{key} is not {of}: {beside:#}");
    };
    is("value", value);
    is("ratio", claimed / value);
    match ends {
        Some((lo, hi)) => {
            is("lo", lo);
            is("hi", hi);
            let ratio = |key: &str| measured[key].as_f64().unwrap();
            assert!(
                ratio("ratio_lo") < claimed / hi && claimed / lo < ratio("ratio_hi"),
                "the claim's digits widen the interval: {beside:#}"
            );
        }
        None => assert!(
            measured["lo"].is_null() && measured["ratio_lo"].is_null(),
            "{beside:#}"
        ),
    }
}

#[test]
fn claims_stand_beside_what_this_machine_gives() {
    let place = Place::new();
    place.file("brokers.toml", BROKERS);
    let ended = place
        .run(&["audit", "brokers.toml", "--measure", "--format", "json"])
        .with_code(0);
    assert!(
        ended.stderr.contains("stored in runs/audit-"),
        "{}",
        ended.stderr
    );
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    is_as_the_schema_says(&document, "audit.schema.json");
    let all = document["audits"][0]["measured"].as_array().unwrap();
    let figures: Vec<&str> = all.iter().map(|b| b["figure"].as_str().unwrap()).collect();
    assert_eq!(
        figures,
        ["pipe", "tcp", "bus", "cycles", "flood"].map(|column| format!("t/64-b/{column}"))
    );
    let shown = place.show("latest");
    for (beside, claimed) in all[..2].iter().zip([2e-3, 4e-3]) {
        let differs = beside["differs"].as_array().unwrap();
        let says = |text: &str| differs.iter().any(|d| d.as_str().unwrap().contains(text));
        assert!(
            says("half of a round trip") && says("a laptop against"),
            "{differs:?}"
        );
        let p50 = &on_stack(&shown, beside["stack"].as_str().unwrap())["metrics"]["rtt_ns"]["p50"];
        let at = |key: &str| p50[key].as_f64().map(|ns| ns * 1e-9);
        stands(beside, claimed, at("value"), at("lo").zip(at("hi")));
    }
    let flood = on_stack(&shown, "uds-stream");
    let spread = &flood["throughput"]["delivered_bytes_per_s"];
    let at = |key: &str| spread[key].as_f64();
    // A busy machine may disturb all trials but one.
    let several = flood["trials"].as_u64().unwrap() > 1;
    let ends = at("min").zip(at("max")).filter(|_| several);
    stands(&all[4], 5e6, at("median"), ends);
    let reason = |i: usize| all[i]["reason"].as_str().unwrap();
    assert!(
        reason(2).contains("Dyno has no stack `no-such-bus`"),
        "{}",
        reason(2)
    );
    assert!(reason(3).contains("clock rate"), "{}", reason(3));
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn measuring_ends_cleanly_when_it_is_interrupted() {
    let place = Place::new();
    let long = BROKERS.replace(
        "round_trips = 200, trials = 8",
        "round_trips = 200, trials = 1000",
    );
    place.file("brokers.toml", &long);
    let run = place.start(&["audit", "brokers.toml", "--measure"]);
    run.agents(2);
    run.signal(libc::SIGINT);
    let ended = run.end().with_code(130).says("interrupted");
    assert!(
        ended.stdout.contains("Beside this machine"),
        "{}",
        ended.stdout
    );
    assert!(place.leftovers().is_empty(), "{:?}", place.leftovers());
}

#[test]
fn nothing_is_measured_where_nothing_comes_near() {
    let place = Place::new();
    place
        .run(&["audit", &published("s-core-2025"), "--measure"])
        .with_code(2)
        .says("[[nearest]]");
    assert!(!place.path("runs").exists());
    place.file(
        "wrong.toml",
        &BROKERS.replace("of = [\"t/*/tcp\"]", "of = [\"t/*/udp\"]"),
    );
    place
        .run(&["audit", "wrong.toml"])
        .with_code(3)
        .says("no figure is named `t/*/udp`");
}

/// A figure of `dyno show FILE` as JSON, in its base unit.
#[track_caller]
fn shown(document: &Value, id: &str) -> f64 {
    let results = document["results"].as_array().unwrap().iter();
    let mut figures = results.flat_map(|r| r["figures"].as_array().unwrap());
    let found = figures.find(|f| f["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {document:#}"))["value"]
        .as_f64()
        .unwrap()
}

#[test]
fn exports_stand_where_runs_do_and_say_the_same() {
    let place = measured();
    let own = place.show("out");
    let rtt = &on_stack(&own, "pipe")["metrics"]["rtt_ns"];
    place
        .run(&["show", "out", "--format", "hdr", "-o", "hdr"])
        .with_code(0);
    place
        .run(&["show", "out", "--format", "gbench", "-o", "out.json"])
        .with_code(0);
    let log = "hdr/e0000_round-trip_pipe_64B_rtt_ns.hlog";
    let document = place.show(log);
    for (id, key) in [
        ("rtt_ns/mean", "mean"),
        ("rtt_ns/max", "max"),
        ("rtt_ns/min", "min"),
    ] {
        let (found, ns) = (shown(&document, id) * 1e9, rtt[key].as_f64().unwrap());
        assert!(
            (found / ns - 1.0).abs() < 0.005,
            "{id}: {found} against {ns}"
        );
    }
    assert_eq!(document["results"][0]["n"], rtt["n"]);
    place
        .run(&["show", "out.json"])
        .with_code(0)
        .says("imported: the output of a tool");
    place
        .run(&["compare", "out.json", "out.json"])
        .with_code(0)
        .says("the same within the printed digits");
    place
        .run(&["compare", "out.json", "out.json", "--fail-on", "slower"])
        .with_code(7);
    place.file(
        "limits.toml",
        "[[limit]]\nname = \"in time\"\nmetric = \"rtt\"\nquantile = \"p99\"\nat_most = \"100 s\"\n",
    );
    place
        .run(&["check", log, "limits.toml", "--junit", "junit.xml"])
        .with_code(7)
        .says("as printed it keeps the limit");
    assert!(place.path("junit.xml").exists());
    place
        .run(&["report", log, "out.json", "-o", "page.html"])
        .with_code(0);
    let page = std::fs::read_to_string(place.path("page.html")).unwrap();
    assert_eq!(page.matches("<article>").count(), 2);
    assert!(page.contains("<td class=\"no-objection\">"), "{page}");
}

#[test]
fn outputs_and_runs_are_not_mixed() {
    let place = measured();
    place
        .run(&["show", "out", "--format", "gbench", "-o", "out.json"])
        .with_code(0);
    let refused = |arguments: &[&str], code: i32| place.run(arguments).with_code(code);
    let mixed = "out is a run and out.json is the output of another tool";
    refused(&["compare", "out", "out.json"], 2).says(mixed);
    refused(&["compare", "out.json", "out"], 2).says(mixed);
    refused(&["report", "out", "out.json", "-o", "page.html"], 2).says(mixed);
    refused(&["compare", "out.json"], 2).says("name a second output");
    refused(&["show", "out.json", "--format", "hdr", "-o", "x"], 2)
        .says("which Dyno cannot export");
    place.file("words.txt", "nothing of a tool\n");
    for command in ["show", "report"] {
        refused(&[command, "words.txt"], 3).says("Dyno does not recognise the tool");
    }
    assert!(!place.path("page.html").exists() && !place.path("x").exists());
}

/// Two intervals of ddsperf without the lines by which it is recognised.
const PING: &str = "\
[68] 2.003  vm:38 size 12 mean 30.774us min 9.028us 50% 12.704us 90% 14.876us 99% 847.896us max 3672.863us cnt 16242
[68] 3.003  vm:38 size 12 mean 20.164us min 9.058us 50% 11.727us 90% 13.950us 99% 50.344us max 2766.896us cnt 24657
";

#[test]
fn an_output_is_read_by_the_tool_that_is_named_and_from_a_pipe() {
    let place = Place::new();
    place.file("ping.txt", PING).file(
        "limits.toml",
        "[[limit]]\nname = \"in time\"\nmetric = \"rtt\"\nquantile = \"p99\"\nat_most = \"1 s\"\n",
    );
    let all: [(&[&str], i32); 4] = [
        (&["show", "ping.txt"], 0),
        (&["compare", "ping.txt", "ping.txt"], 0),
        (&["check", "ping.txt", "limits.toml"], 7),
        (&["report", "ping.txt", "-o", "-"], 0),
    ];
    place.file("other.txt", "p50 3.2 us p99 4\n");
    place
        .run(&["show", "other.txt"])
        .with_code(3)
        .says("name it with --tool: google-benchmark,");
    for (arguments, code) in all {
        place
            .run(arguments)
            .with_code(code)
            .says("peer 1, interval 2");
        let named = [arguments, &["--tool", "ddsperf"]].concat();
        place.run(&named).with_code(code).says("peer 1, interval 2");
    }
    place
        .run(&["show", "ping.txt", "--tool", "ddspref"])
        .with_code(2)
        .says("known are google-benchmark");
    place
        .run(&["show", "none.txt", "--tool", "ddsperf"])
        .with_code(1)
        .says("cannot read none.txt");
    place
        .shell(
            "cat ping.txt | dyno show /dev/stdin --tool ddsperf | grep 'interval 2'
             { echo '[68] participant vm:38: new'; cat ping.txt; } > whole.txt
             dyno show <(cat whole.txt) | grep 'interval 2'
             dyno compare <(cat whole.txt) whole.txt | grep 'the same within the printed digits'",
        )
        .with_code(0);
}
