//! The output of other tools where runs stand. The outputs are real ones, of `dyno-audit`'s tests.

use dyno_audit::Statements;
use dyno_audit::import::import;
use dyno_judge::{ImportSheet, Limits, Standing, Status, check_imported, compare_imported};
use dyno_report::{Format, RenderOptions};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn outputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-audit/tests/data")
}

#[track_caller]
fn read(name: &str, text: &str) -> Statements {
    import(&mut text.as_bytes(), name, None).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn output(name: &str) -> Statements {
    let text = std::fs::read_to_string(outputs().join(name)).unwrap();
    read(name, &text)
}

fn shown(statements: &Statements) -> Value {
    let sheet = ImportSheet::new(statements);
    let json = sheet.render(Format::Json, &RenderOptions::default());
    serde_json::from_str(&json).unwrap()
}

/// Every output that holds results.
fn all() -> Vec<Statements> {
    let folders = std::fs::read_dir(outputs()).unwrap();
    let folders = folders.map(|f| f.unwrap().path()).filter(|f| f.is_dir());
    let mut all = Vec::new();
    for file in folders.flat_map(|f| std::fs::read_dir(f).unwrap()) {
        let file = file.unwrap().path();
        if !file.ends_with("iperf3/refused.json") {
            let text = std::fs::read_to_string(&file).unwrap();
            all.push(read(&file.display().to_string(), &text));
        }
    }
    assert!(all.len() >= 40, "{}", all.len());
    all
}

#[test]
fn every_figure_of_every_output_is_shown_once_and_none_with_an_interval() {
    for statements in all() {
        let document = shown(&statements);
        let results = document["results"].as_array().unwrap();
        let figures: Vec<&Value> = results
            .iter()
            .flat_map(|r| r["figures"].as_array().unwrap())
            .collect();
        let mut ids: Vec<&str> = figures.iter().filter_map(|f| f["id"].as_str()).collect();
        ids.sort_unstable();
        let mut stated: Vec<&str> = statements.figures.iter().map(|f| f.id.as_str()).collect();
        stated.sort_unstable();
        assert_eq!(ids, stated, "{}", statements.source.title);
        let has_interval = |f: &&Value| f.get("lo").is_some() || f.get("hi").is_some();
        assert!(!figures.iter().any(has_interval));
        assert!(
            document["not_said"]
                .as_array()
                .unwrap()
                .contains(&"placement".into())
        );
        let text = ImportSheet::new(&statements).render(Format::Table, &RenderOptions::default());
        assert!(text.contains("imported: the output of a tool"), "{text}");
        for result in statements.results() {
            assert!(text.contains(result.name.trim()), "{}: {text}", result.name);
        }
    }
}

#[test]
fn raw_values_give_what_the_tool_does_not_state() {
    let statements = read(
        "x",
        "Benchmark      Time     CPU   Iterations UserCounters...\n\
         copy/repeats:2    4 ns    3 ns    100\ncopy/repeats:2    8 ns    5 ns    100\n",
    );
    let document = shown(&statements);
    let time = &document["results"][0];
    assert_eq!((&time["n"], &time["of"]), (&2.into(), &"means".into()));
    let figures = time["figures"].as_array().unwrap();
    let value = |statistic: &str| {
        let found = figures.iter().find(|f| f["statistic"] == statistic);
        let found = found.unwrap_or_else(|| panic!("no {statistic}: {time:#}"));
        assert!(found["id"].is_null());
        found["value"].as_f64().unwrap()
    };
    for (statistic, ns) in [("min", 4.0), ("mean", 6.0), ("median", 6.0), ("max", 8.0)] {
        assert!((value(statistic) * 1e9 - ns).abs() < 1e-6, "{statistic}");
    }
}

#[test]
fn an_output_beside_itself_is_the_same_within_its_digits() {
    for statements in all() {
        let comparison = compare_imported(&statements, &statements);
        assert!(comparison.left_out.is_empty());
        let figures: usize = statements.results().iter().map(|r| r.figures.len()).sum();
        assert_eq!(
            comparison.pairs().count(),
            figures,
            "{}",
            statements.source.title
        );
        for (_, pair) in comparison.pairs() {
            match &pair.ratio {
                Ok([value, lo, hi]) => assert!(
                    *value == 1.0 && *lo <= 1.0 && 1.0 <= *hi,
                    "{}: {pair:?}",
                    statements.source.title
                ),
                Err(reason) => {
                    assert!(pair.new.value <= 0.0, "{reason}: {pair:?}");
                }
            }
        }
    }
}

#[test]
fn what_differs_as_printed_is_not_judged_and_what_is_alike_in_name_alone_has_no_ratio() {
    let google = |header: &str, rows: &str| read("x", &format!("{header}\n{rows}"));
    let header = "Benchmark      Time     CPU   Iterations UserCounters...";
    let base = google(
        header,
        "copy    4.00 ns    3.00 ns    100\nold    1.00 ns    1.00 ns    100\n",
    );
    let new = google(
        header,
        "copy    8.00 ns    3.00 ns    100\nnew    1.00 ns    1.00 ns    100\n",
    );
    let comparison = compare_imported(&base, &new);
    let [value, lo, hi] = *comparison.results[0].1[0].ratio.as_ref().unwrap();
    // A whole step of the last digit is open on both sides.
    assert_eq!(value, 2.0);
    assert!(
        (lo - 7.99 / 4.01).abs() < 1e-9 && (hi - 8.01 / 3.99).abs() < 1e-9,
        "{lo} {hi}"
    );
    let text = comparison.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("differs; no verdict"), "{text}");
    for only in ["only in x: old (time", "only in x: new (time"] {
        assert!(text.contains(only), "{text}");
    }
    // The same name, but of means in one file.
    let means = google(
        header,
        "copy    4.00 ns    3.00 ns    100\ncopy    5.00 ns    3.00 ns    100\n\
         copy_mean    4.50 ns    3.00 ns    2\ncopy_median    4.50 ns    3.00 ns    2\ncopy_stddev    0.70 ns    0.00 ns    2\n",
    );
    let comparison = compare_imported(&base, &means);
    let mean = comparison
        .pairs()
        .find(|(_, p)| p.new.id.as_deref() == Some("copy/mean"));
    let reason = mean.unwrap().1.ratio.as_ref().unwrap_err();
    assert_eq!(reason, "one is of means, the other of samples");
}

/// Two outputs that differ in one text of a real one.
#[track_caller]
fn but(name: &str, changes: &[(&str, &str)]) -> [Statements; 2] {
    let base = std::fs::read_to_string(outputs().join(name)).unwrap();
    let change = |text: String, (from, to): &(&str, &str)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let new = changes.iter().fold(base.clone(), change);
    [read("base", &base), read("new", &new)]
}

#[test]
fn what_outputs_say_of_senders_rate_and_clock_must_not_differ() {
    for (name, change, quantity, reason) in [
        (
            "iperf3/tcp.json",
            ("\"num_streams\":\t1", "\"num_streams\":\t8"),
            "bandwidth",
            "senders: 1 → 8",
        ),
        (
            "performance_test/documented.csv",
            ("Publishing rate: 1000", "Publishing rate: 10"),
            "latency",
            "offered: 1000 per s → 10 per s",
        ),
    ] {
        let [base, new] = but(name, &[change]);
        let comparison = compare_imported(&base, &new);
        let of = |(r, _): &(&dyno_audit::ToolResult<'_>, _)| r.quantity.as_str() == quantity;
        let pairs: Vec<_> = comparison.pairs().filter(of).collect();
        assert!(!pairs.is_empty(), "{name}");
        for (_, pair) in pairs {
            assert_eq!(pair.ratio.as_ref().unwrap_err(), reason, "{name}");
        }
    }
    let sheet = ImportSheet::new(&output("performance_test/documented.csv"))
        .render(Format::Table, &RenderOptions::default());
    assert!(sheet.contains("offered 1000 per s"), "{sheet}");
}

#[test]
fn two_runs_of_a_tool_have_figures_of_one_name_whatever_their_processes_and_instants() {
    for (name, changes) in [
        (
            "ddsperf/ping.txt",
            &[("6851", "7102"), ("6838", "7101"), (" 3.003", " 3.004")][..],
        ),
        (
            "ddsperf/sub.txt",
            &[("6932", "7202"), (" 2.003", " 2.001")][..],
        ),
        (
            "performance_test/documented.csv",
            &[("3.000512", "3.000377")][..],
        ),
    ] {
        let [base, new] = but(name, changes);
        let comparison = compare_imported(&base, &new);
        assert!(comparison.left_out.is_empty(), "{:?}", comparison.left_out);
        let figures: usize = base.results().iter().map(|r| r.figures.len()).sum();
        assert_eq!(comparison.pairs().count(), figures, "{name}");
        // The means of the whole run come first, where there are any.
        if !base.samples.is_empty() {
            assert!(comparison.pairs().next().unwrap().1.new.id.is_none());
        }
    }
}

#[test]
fn rows_of_different_figures_can_be_told_apart() {
    for name in ["performance_test/documented.csv", "iperf3/tcp.json"] {
        let statements = output(name);
        let options = RenderOptions::default();
        let comparison = compare_imported(&statements, &statements);
        let sheet = ImportSheet::new(&statements).render(Format::Csv, &options);
        for csv in [comparison.render(Format::Csv, &options), sheet] {
            for figure in &statements.figures {
                let id = &figure.id;
                let ends = |line: &&str| {
                    line.ends_with(&format!(",{id}")) || line.ends_with(&format!(",\"{id}\""))
                };
                assert_eq!(csv.lines().filter(ends).count(), 1, "{id}: {csv}");
            }
        }
        let json = comparison.render(Format::Json, &options);
        let document: Value = serde_json::from_str(&json).unwrap();
        let pairs = document["pairs"].as_array().unwrap().iter();
        let mut ids: Vec<&str> = pairs.filter_map(|p| p["id"].as_str()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!((ids.len(), all), (statements.figures.len(), all));
        let table = comparison.render(Format::Table, &options);
        let figure = if name.starts_with("iperf3") {
            "remote_total cpu-share"
        } else {
            "test_topic  received  "
        };
        assert!(table.contains(figure), "{table}");
    }
}

#[test]
fn an_ipc_is_half_of_a_call_in_cycles_too() {
    let document = shown(&output("l4re-ipcbench/documented.txt"));
    let results = document["results"].as_array().unwrap();
    let ipc = results.iter().find(|r| r["quantity"] == "cycles").unwrap();
    assert_eq!(ipc["factors"]["trip"], "half", "{ipc:#}");
    let not_said = document["not_said"].as_array().unwrap();
    assert!(!not_said.contains(&"trip".into()), "{not_said:?}");
}

#[test]
fn only_a_rate_of_the_whole_run_answers_to_a_throughput() {
    let throughput = limits("metric = \"throughput\"\nat_least = \"1 k/s\"");
    let wrk = output("wrk/wrk.txt");
    let report = check_imported(&wrk, &throughput).unwrap();
    let names: Vec<&str> = report.results.iter().map(|r| r.result.name).collect();
    assert_eq!(names, ["http://127.0.0.1:8765/ (2 threads)"]);
    let counter = read(
        "x",
        "Benchmark      Time     CPU   Iterations UserCounters...\n\
         copy/real_time    4.00 ns    3.00 ns    100 errors=5k/s\n",
    );
    check_imported(&counter, &throughput).unwrap_err();
}

#[test]
fn errors_among_the_answers_and_what_was_only_sent_keep_no_limit() {
    let throughput = limits("metric = \"throughput\"\nat_least = \"1 k/s\"");
    let wrk = |errors: &str| {
        let text = format!(
            "Running 10s test @ http://192.0.2.7/a\n  2 threads and 8 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n  \
             20000 requests in 10.00s, 4.00MB read\n{errors}Requests/sec:   2000.00\nTransfer/sec:    409.60KB\n"
        );
        let wrk = read("x", &text);
        let report = check_imported(&wrk, &throughput).unwrap();
        (
            report.results[0].standing,
            report.results[0].figure.text.clone(),
        )
    };
    assert_eq!(wrk("").0, Standing::Keeps);
    assert_eq!(wrk("  Non-2xx or 3xx responses: 200\n").0, Standing::Keeps);
    let (standing, text) = wrk("  Non-2xx or 3xx responses: 20000\n");
    assert_eq!(standing, Standing::Breaks);
    assert!(text.contains("20000 of 20000 answers are errors"), "{text}");
    check_imported(&output("sockperf/throughput.txt"), &throughput).unwrap_err();
}

#[test]
fn a_limit_on_loss_is_held_against_a_share_or_a_count() {
    let line = "Length:   200  Packets:  30000  Packets/s(ave):  10000  Mbps(ave):    16.0  Lost:   300 (0.99%)";
    let perftest = read("x", line);
    for (at_most, standing) in [
        ("\"2 %\"", Standing::Keeps),
        ("\"0.5 %\"", Standing::Breaks),
        ("300", Standing::Keeps),
        ("299", Standing::Breaks),
    ] {
        let limits = limits(&format!("metric = \"loss\"\nat_most = {at_most}"));
        let report = check_imported(&perftest, &limits).unwrap();
        assert_eq!(report.results.len(), 1);
        assert_eq!(report.results[0].standing, standing, "{at_most}");
    }
    // It does not say how many were lost.
    let limits = limits("metric = \"loss\"\nat_most = 0");
    check_imported(&output("wrk/wrk.txt"), &limits).unwrap_err();
}

fn limits(more: &str) -> Limits {
    let text = format!("[[limit]]\nname = \"in time\"\n{more}\n");
    Limits::parse("limits.toml", &text).unwrap()
}

#[test]
fn a_limit_on_an_output_is_undecided_and_says_what_is_printed() {
    let perftest = output("rtiperftest/documented-publisher.txt");
    let all = perftest.results();
    let latency = all
        .iter()
        .find(|r| r.payload_bytes.is_some() && r.figure(P99).is_some());
    let latency = latency.unwrap_or_else(|| panic!("{all:#?}"));
    // What is printed is half of a round trip.
    let us = 2.0 * latency.figure(P99).unwrap().value * 1e6;
    let limit = |us: f64| {
        limits(&format!(
            "metric = \"rtt\"\nquantile = \"p99\"\nat_most = \"{us} us\""
        ))
    };
    for (at_most, standing) in [
        (us * 2.0, Standing::Keeps),
        (us / 2.0, Standing::Breaks),
        (us, Standing::Between),
    ] {
        let report = check_imported(&perftest, &limit(at_most)).unwrap();
        let held = &report.results[0];
        assert_eq!(
            (held.status(), held.standing),
            (Status::Undecided, standing),
            "{held:?}"
        );
        assert!(
            held.reason
                .contains("the difference to a repeat is unknown")
        );
        let xml = report.junit().unwrap();
        assert!(
            xml.contains("type=\"undecided\"") && !xml.contains("timestamp"),
            "{xml}"
        );
    }
}

const P99: dyno_audit::statement::Statistic = dyno_audit::statement::Statistic::Percentile(99.0);

#[test]
fn a_limit_on_what_the_output_does_not_say_is_refused() {
    // Half of a round trip is no time of one way.
    let sockperf = output("sockperf/ping-pong.txt");
    for more in [
        "metric = \"service\"\nquantile = \"p99\"\nat_most = \"1 s\"",
        "metric = \"memory\"\nat_most = \"1 GB\"",
    ] {
        let e = check_imported(&sockperf, &limits(more)).unwrap_err();
        assert!(
            e.to_string()
                .contains("no figure of this output matches the limit `in time`"),
            "{e}"
        );
    }
    let publisher = output("rtiperftest/documented-publisher.txt");
    let round_trip = "metric = \"rtt\"\nquantile = \"p99\"\nat_most = \"1 s\"";
    check_imported(&publisher, &limits(round_trip)).unwrap();
    for selector in [
        "stack = \"tcp\"",
        "wait = \"spin\"",
        "experiment = \"other\"",
        "workload = \"stream\"",
    ] {
        let limits = limits(&format!("{round_trip}\n{selector}"));
        check_imported(&publisher, &limits).unwrap_err();
    }
}
