//! Google Benchmark's `compare.py` over two runs, the second of which is twice as slow.

use crate::runs::{self, Shown, assert_close, full, headline};
use dyno_export::gbench::render;
use dyno_kit::python::{compare_script, python, run};
use dyno_model::{ExperimentId, Metric};
use serde_json::Value;

/// What `compare.py benchmarks A B` says of two documents, as the JSON that it can dump.
fn compared(a: &str, b: &str) -> Option<Value> {
    let (python, script) = (python()?, compare_script()?);
    let place = tempfile::tempdir().unwrap();
    let [left, right, dump] = ["a.json", "b.json", "dump.json"].map(|n| place.path().join(n));
    std::fs::write(&left, a).unwrap();
    std::fs::write(&right, b).unwrap();
    let options = ["--no-color", "-d"].map(std::ffi::OsStr::new);
    let arguments = [
        script.as_os_str(),
        options[0],
        options[1],
        dump.as_os_str(),
        "benchmarks".as_ref(),
        left.as_os_str(),
        right.as_os_str(),
    ];
    let printed = run(&python, &arguments);
    assert!(printed.contains("Time Old"), "{printed}");
    Some(serde_json::from_slice(&std::fs::read(&dump).unwrap()).unwrap())
}

fn named<'a>(all: &'a Value, name: &str) -> &'a Value {
    let mut all = all.as_array().unwrap().iter();
    all.find(|b| b["name"] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

const UDS: &str = "full/round-trip/uds-stream/payload:64/load:ping-pong/wait:block/access:stamp/placement:process/topology:1-1";

#[test]
fn its_script_compares_two_runs_with_its_u_test() {
    let before = full();
    let after = Shown::of(runs::run(2.0));
    let (a, b) = (
        render(&before.run, &before.summary),
        render(&after.run, &after.summary),
    );
    let Some(compared) = compared(&a, &b) else {
        return;
    };
    let uds = named(&compared, UDS);
    assert_eq!(
        (&uds["run_type"], &uds["time_unit"]),
        (&"iteration".into(), &"ns".into())
    );
    // The disturbed trial is not among them.
    let measurements = uds["measurements"].as_array().unwrap();
    assert_eq!(measurements.len(), 5);
    let (old, new) = (&before.experiments()[1], &after.experiments()[1]);
    assert_eq!(old["trials"], 5);
    for m in measurements {
        let number = |key: &str| m[key].as_f64().unwrap();
        // A trial's p50 is near that of all trials.
        assert_close(
            number("real_time"),
            headline(old, "p50").unwrap(),
            0.03,
            "old",
        );
        let expected = headline(new, "p50").unwrap();
        assert_close(number("real_time_other"), expected, 0.03, "new");
        assert_close(number("time"), 1.0, 0.05, "change");
        let cpu = old["cost"]["cpu_ns_per_message"]["median"]
            .as_f64()
            .unwrap();
        assert_close(number("cpu_time"), cpu, 0.03, "processor time");
    }
    let test = &uds["utest"];
    assert_eq!(
        (&test["nr_of_repetitions"], &test["nr_of_repetitions_other"]),
        (&5.into(), &5.into())
    );
    // The least that 5 against 5 can give: 2 of 252 orders.
    assert_close(
        test["time_pvalue"].as_f64().unwrap(),
        2.0 / 252.0,
        0.01,
        "p",
    );
    // Its figures over repetitions are compared as such.
    let mean = named(&compared, &format!("{UDS}_mean"));
    assert_eq!(
        (&mean["run_type"], &mean["aggregate_name"]),
        (&"aggregate".into(), &"mean".into())
    );
    // Every entry has a time, so that there is a mean of all: what failed is not among them.
    let all = named(&compared, "OVERALL_GEOMEAN");
    assert_close(
        all["measurements"][0]["time"].as_f64().unwrap(),
        0.75,
        0.4,
        "all",
    );
    let same = self::compared(&a, &a).unwrap();
    for m in named(&same, UDS)["measurements"].as_array().unwrap() {
        assert_eq!(
            (m["time"].as_f64(), m["cpu"].as_f64()),
            (Some(0.0), Some(0.0))
        );
    }
}

fn document(shown: &Shown) -> Value {
    serde_json::from_str(&render(&shown.run, &shown.summary)).unwrap()
}

#[test]
fn a_document_has_what_the_library_writes() {
    let shown = full();
    let document = document(&shown);
    let context = &document["context"];
    assert_eq!(context["host_name"], "bench");
    assert_eq!(context["num_cpus"], 2);
    assert_eq!(context["mhz_per_cpu"], 3_000);
    assert_eq!(context["date"], "2026-11-21T03:26:00+00:00");
    let all = &document["benchmarks"];
    let first = named(all, UDS);
    assert_eq!(first["run_type"], "iteration");
    assert_eq!(first["repetitions"], 5);
    assert_eq!(first["iterations"], 4_000);
    let ratio = first["floor_ratio"].as_f64().unwrap();
    assert_close(ratio, 12_300.0 / 6_900.0, 0.05, "× floor");
    for counter in [
        "p90",
        "p99",
        "p999",
        "delivered_ratio",
        "messages_per_second",
    ] {
        assert!(first[counter].as_f64().unwrap() > 0.0, "{first:#}");
    }
    for (name, unit) in [
        ("mean", "time"),
        ("median", "time"),
        ("stddev", "time"),
        ("cv", "percentage"),
    ] {
        let aggregate = named(all, &format!("{UDS}_{name}"));
        assert_eq!(aggregate["aggregate_name"], name);
        assert_eq!(aggregate["aggregate_unit"], unit);
        assert_eq!(aggregate["iterations"], 5);
    }
    assert!(
        named(all, &format!("{UDS}_cv"))["real_time"]
            .as_f64()
            .unwrap()
            < 0.05
    );
}

#[test]
fn lost_messages_count_in_every_quantile() {
    let document = document(&full());
    let lossy = "full/periodic/udp/payload:1024/load:stream_1_kHz/wait:block/access:all/placement:process/topology:1-1";
    let trial = named(&document["benchmarks"], lossy);
    assert_eq!(trial["delivered_ratio"], 0.9);
    assert_eq!(trial["iterations"], 1_000);
    // One in ten is lost: the p90 is the largest that arrived, and beyond it there is no figure.
    assert!(trial["p90"].as_f64().unwrap() > trial["real_time"].as_f64().unwrap());
    assert_eq!(
        (&trial["p99"], &trial["p999"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn what_has_no_figure_stands_apart_with_its_reason() {
    let document = document(&full());
    let failed = document["context"]["dyno_without_figure"]
        .as_array()
        .unwrap();
    let says = |text: &str| {
        let mut found = failed.iter();
        let found = found.find(|b| b["reason"].as_str().unwrap().contains(text));
        found.unwrap_or_else(|| panic!("nothing failed with {text:?}: {failed:#?}"))
    };
    let crashed = says("crash in window: echo ended by signal 11 (SIGSEGV)");
    let name = crashed["name"].as_str().unwrap();
    assert!(name.starts_with("full/round-trip/posix-mq/"), "{name}");
    assert_eq!(crashed["trial"], 1);
    says("inconsistent in collect");
    let dead = says("900 of 1000 messages never arrived: the p50 of response_ns is infinite");
    let all = document["benchmarks"].as_array().unwrap();
    assert!(
        all.iter()
            .all(|b| b["real_time"].as_f64().is_some_and(|t| t > 0.0))
    );
    assert!(all.iter().all(|b| b["run_name"] != dead["name"]));
    // A start has one sample for each trial, and that is its time.
    let shown = full();
    let start = all
        .iter()
        .find(|b| b["name"].as_str().unwrap().contains("/start/"));
    let stored = shown.run.trials_of(ExperimentId(6)).next().unwrap();
    let sample = stored.distributions[&Metric::FirstMessage].sum;
    assert_close(
        start.unwrap()["real_time"].as_f64().unwrap(),
        sample,
        0.001,
        "first message",
    );
}

/// Zero would be the best processor time of all.
#[test]
fn a_trial_without_costs_stands_apart() {
    let mut shown = full();
    let name = |document: &Value| named(&document["benchmarks"], UDS)["repetitions"].clone();
    assert_eq!(name(&document(&shown)), 5);
    let mut trials = shown.run.trials.iter_mut();
    let trial = trials.find(|t| t.id.experiment == ExperimentId(1)).unwrap();
    trial.cost.processes.clear();
    let document = document(&Shown::of(shown.run));
    assert_eq!(name(&document), 4);
    let apart = &document["context"]["dyno_without_figure"];
    let mut apart = apart.as_array().unwrap().iter();
    let found = apart.find(|b| b["reason"].as_str().unwrap().contains("has no costs"));
    assert!(found.unwrap()["name"].as_str().unwrap().starts_with(UDS));
}

#[test]
fn how_long_an_echo_sleeps_is_named_in_every_run_where_it_does() {
    let name = |poll: Option<u64>| {
        let mut b = crate::common::Builder::new("one", "", "stacks");
        let id = b.experiment("pipe", |e| e.echo_poll = poll.map(dyno_model::Nanos));
        b.trials(id, &[(Metric::Rtt, 1_000.0, 100, 0)]);
        let document = document(&Shown::of(b.build()));
        let name = document["benchmarks"][0]["name"].as_str().unwrap();
        name.to_owned()
    };
    let polls = name(Some(50_000_000));
    assert_eq!(polls, format!("{}/echo_poll_ns:50000000", name(None)));
}

#[test]
fn experiments_that_differ_in_little_have_different_names() {
    let shown = Shown::of(crate::common::iceperf());
    let document = document(&shown);
    let families = document["benchmarks"].as_array().unwrap().iter();
    let mut names: Vec<(u64, &str)> = families
        .map(|b| {
            (
                b["family_index"].as_u64().unwrap(),
                b["run_name"].as_str().unwrap(),
            )
        })
        .collect();
    names.dedup();
    let mut unique: Vec<&str> = names.iter().map(|(_, name)| *name).collect();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());

    // Equal in all but where they run, and in nothing at all.
    let mut b = crate::common::Builder::new("twins", "", "stacks");
    for cpus in [vec![0, 1], vec![0, 0], vec![0, 0]] {
        let id = b.experiment("pipe", |e| e.cpus = cpus);
        b.trials(id, &[(Metric::Rtt, 1_000.0, 100, 0)]);
    }
    let shown = Shown::of(b.build());
    let document = self::document(&shown);
    let mut names: Vec<&str> = document["benchmarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|b| b["run_name"].as_str().unwrap())
        .collect();
    names.dedup();
    assert_eq!(names.len(), 3, "{names:#?}");
    assert!(names[0].ends_with("/cpus:0_1/scheduling:other/mlock:false/window_ns:300000000"));
    assert!(names[2].ends_with("/id:2"), "{names:#?}");
}
