//! What an output counts twice: contradictions are found, and honest neighbours of each are left alone.

use crate::import::samples::bytes;
use dyno_audit::import::import;
use dyno_audit::{Audit, Outcome, Statements, Verdict};

fn sample(name: &str) -> String {
    String::from_utf8(bytes(name)).unwrap()
}

/// With another text in place of one that must be there.
#[track_caller]
fn with(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "no {old:?} in\n{text}");
    text.replace(old, new)
}

fn outcomes(text: &str) -> Vec<Outcome> {
    let statements = import(&mut text.as_bytes(), "x", None);
    Audit::of(&statements.unwrap_or_else(|e| panic!("{e}\n{text}"))).outcomes
}

fn stated(text: &str) -> Vec<Outcome> {
    Audit::of(&Statements::parse(text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))).outcomes
}

fn of<'a>(all: &'a [Outcome], check: &str, verdict: Verdict) -> Vec<&'a Outcome> {
    let of_check = |o: &&Outcome| o.check == check && o.verdict == verdict;
    all.iter().filter(of_check).collect()
}

#[track_caller]
fn finds(text: &str, check: &str, verdict: Verdict, with: &str) {
    let all = outcomes(text);
    let found = of(&all, check, verdict);
    let says = |o: &&&Outcome| format!("{} {}", o.says, o.calculation).contains(with);
    assert!(found.iter().any(|o| says(&o)), "no {with:?} among {all:#?}");
}

#[track_caller]
fn silent(text: &str) {
    let all = outcomes(text);
    let worst = [Verdict::Impossible, Verdict::Inconsistent];
    let found: Vec<_> = all.iter().filter(|o| worst.contains(&o.verdict)).collect();
    assert!(found.is_empty(), "{found:#?}");
    let checks = ["spread", "sizes", "received", "parts"];
    let lowered = |o: &&Outcome| o.verdict == Verdict::CannotBeKnown && checks.contains(&o.check);
    let found: Vec<_> = all.iter().filter(lowered).collect();
    assert!(found.is_empty(), "{found:#?}");
}

use Verdict::{CannotBeKnown, Impossible, Inconsistent};

#[test]
fn a_largest_value_weighs_in_the_mean_of_n() {
    let ping = sample("ddsperf/ping.txt");
    let hostile = with(&ping, "max 2766.896us", "max 27668960.896us");
    finds(&hostile, "spread", Impossible, "20.164 µs");
    let line = |max: u32| {
        format!("T: 0 ( 5156) P:80 I:1000 C:   5000 Min:      3 Act:    4 Avg:    5 Max: {max}\n")
    };
    finds(&line(7_300_000), "spread", Impossible, "of 5000 values");
    // All others are the smallest, and the average is cut.
    silent(&line(14_000));
    silent(&ping);
}

#[test]
fn percentiles_of_a_part_of_the_values_say_nothing_of_their_mean() {
    // Behind 20,000 values ddsperf keeps none for its percentiles.
    let ping = sample("ddsperf/ping.txt");
    let slow_end = with(&ping, "mean 20.164us", "mean 300.164us");
    silent(&slow_end);
    let few = with(&slow_end, "cnt 24657", "cnt 14657");
    finds(&few, "spread", Impossible, "300.164 µs");
}

#[test]
fn percentiles_weigh_in_the_mean() {
    let wrk = |mean: &str, sd: &str| {
        format!(
            "Running 10s test @ http://h/\n  3 threads and 100 connections\n  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
             Latency     {mean}    {sd}  58.13ms   92.61%\n    Req/Sec    41.02k     6.31k   62.11k    70.33%\n  Latency Distribution\n     \
             50%  650.00us\n     75%    1.28ms\n     90%    3.05ms\n     99%   11.60ms\n  1225130 requests in 10.10s, 194.27MB read\n\
             Requests/sec: 121301.02\nTransfer/sec:     19.23MB\n"
        )
    };
    silent(&wrk("1.37ms", "2.41ms"));
    finds(
        &wrk("41.37ms", "7.41ms"),
        "spread",
        Impossible,
        "no such values have a mean of 41.37 ms",
    );
    finds(
        &wrk("1.37ms", "82.41ms"),
        "spread",
        Impossible,
        "σ of 82.41 ms",
    );
    // Half at nothing and half at the largest: the most that σ can be.
    silent(&wrk("1.37ms", "8.80ms"));
}

#[test]
fn a_deviation_has_bounds_by_mean_and_extremes() {
    let fast = sample("fastdds-latencytest/made-up.txt");
    silent(&fast);
    // One value of 2,000 is 46 above the mean.
    for sd in ["0.118", "41.18"] {
        finds(&with(&fast, "4.118", sd), "spread", Impossible, sd);
    }
    silent(&with(&fast, "4.118", "1.118"));
}

#[test]
fn a_connection_delivers_no_more_than_was_sent() {
    let tcp = sample("iperf3/tcp.json");
    silent(&tcp);
    let mut root: serde_json::Value = serde_json::from_str(&tcp).unwrap();
    let sent = root["end"]["sum_sent"]["bytes"].as_u64().unwrap();
    let mut set = |key: &str, bytes: u64| {
        let sum = &mut root["end"][key];
        let seconds = sum["seconds"].as_f64().unwrap();
        sum["bytes"] = bytes.into();
        sum["bits_per_second"] = (bytes as f64 * 8.0 / seconds).into();
        root.to_string()
    };
    // A sender that is stopped has written a block that it has not counted.
    silent(&set("sum_received", sent + 131_072));
    let more = set("sum_received", 3 * sent);
    finds(
        &more,
        "arithmetic",
        Inconsistent,
        "\"received, size-sum\" is more than \"sent",
    );
    // What was under way when counting began is received too.
    silent(&with(&more, "\"omit\":0", "\"omit\":1"));
}

#[test]
fn datagrams_make_the_bytes() {
    let udp = sample("iperf3/udp.json");
    silent(&udp);
    let mut root: serde_json::Value = serde_json::from_str(&udp).unwrap();
    let packets = root["end"]["sum"]["packets"].as_u64().unwrap();
    root["end"]["sum"]["packets"] = (100 * packets).into();
    root["end"]["sum"]["lost_percent"] = 0.0.into();
    finds(&root.to_string(), "arithmetic", Inconsistent, "packets");
}

#[test]
fn with_seconds_left_out_more_may_be_lost_than_was_sent() {
    let udp = sample("iperf3/udp.json");
    let mut root: serde_json::Value = serde_json::from_str(&udp).unwrap();
    let packets = root["end"]["sum"]["packets"].as_u64().unwrap();
    root["end"]["sum"]["lost_packets"] = (2 * packets).into();
    root["end"]["sum"]["lost_percent"] = 200.0.into();
    finds(&root.to_string(), "range", Impossible, "200");
    root["start"]["test_start"]["omit"] = 1.into();
    silent(&root.to_string());
}

#[test]
fn more_samples_than_a_process_sent_may_be_of_others() {
    let one = sample("performance_test/made-up.json");
    silent(&one);
    let more = with(&one, "_received\":49", "_received\":4900");
    finds(
        &more,
        "received",
        CannotBeKnown,
        "another process may send too",
    );
    let lost = with(&one, "_lost\":1", "_lost\":777777");
    finds(&lost, "received", CannotBeKnown, "777777");
    // A process that only subscribes.
    silent(&with(&more, "_sent\":50", "_sent\":0"));
}

#[test]
fn totals_of_ddsperf_are_those_before_and_what_came_since() {
    let sub = sample("ddsperf/sub.txt");
    silent(&sub);
    for (old, new, says) in [
        (
            "delta 999 ",
            "delta 9 ",
            "\"subscriber 1, interval 3, total\" is more than (\"subscriber 1, interval 2, total\" + \"subscriber 1, interval 3, delta\")",
        ),
        ("total 2549 lost 0", "total 2549 lost 999999", "lost"),
        (
            "delta 999 lost 0 rate 1.00",
            "delta 999 lost 0 rate 7.00",
            "\"rate\" * 0.995 is more than \"delta\"",
        ),
    ] {
        finds(&with(&sub, old, new), "arithmetic", Inconsistent, says);
    }
    // The size is that of the last sample: others may have been larger.
    let bits = with(&sub, "1.00 kS/s 0.80 Mb/s", "1.00 kS/s 80.80 Mb/s");
    finds(&bits, "sizes", CannotBeKnown, "messages of other sizes");
    // A copy from which a line was left out.
    let lines: Vec<&str> = sub.lines().filter(|l| !l.contains("total 1550")).collect();
    silent(&(lines.join("\n") + "\n"));
}

#[test]
fn counts_of_one_output_agree() {
    let wrk2 = sample("wrk/documented-wrk2.txt");
    silent(&wrk2);
    let more = with(
        &wrk2,
        "Total count    =        39500",
        "Total count    =       139500",
    );
    finds(&more, "arithmetic", Inconsistent, "139500");
    let mean = with(
        &wrk2,
        "#[Mean    =        6.602",
        "#[Mean    =        9.602",
    );
    finds(&mean, "same-figure", Inconsistent, "9.602");
    let kuksa = sample("kuksa-perf/own-numbers.txt");
    silent(&kuksa);
    let rate = with(&kuksa, "Signal/Second: 250", "Signal/Second: 25000");
    finds(&rate, "arithmetic", Inconsistent, "25000");
    let log = sample("sockperf/full-log.csv");
    silent(&log);
    finds(
        &with(&log, "Total 92 obs", "Total 920 obs"),
        "arithmetic",
        Inconsistent,
        "920",
    );
    let dropped = with(&log, "dropped messages = 0", "dropped messages = 9999");
    finds(&dropped, "arithmetic", Inconsistent, "9999");
    let fio = sample("fio/randrw.json");
    silent(&fio);
    finds(
        &with(&fio, "\"N\" : 16902", "\"N\" : 169020"),
        "arithmetic",
        Inconsistent,
        "169020",
    );
    // A group has the options of one of its jobs, and does not say that it is one.
    silent(&with(&fio, "\"bs\" : \"4k\"", "\"bs\" : \"512\""));
}

#[test]
fn a_histogram_has_the_average_and_the_largest_value_beside_it() {
    let histogram = |average: u32, largest: u32, above: u32| {
        format!(
            "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000003 000100\n000004 000800\n000005 000080\n000012 000019\n000057 000001\n\
             000099 000000\n# Total: 000001000\n# Min Latencies: 00003\n# Avg Latencies: {average:05}\n# Max Latencies: {largest:05}\n\
             # Histogram Overflows: {above:05}\n"
        )
    };
    silent(&histogram(4, 57, 0));
    finds(
        &histogram(44, 57, 0),
        "arithmetic",
        Inconsistent,
        "mean-of-buckets",
    );
    silent(&histogram(4, 700, 1));
    finds(
        &histogram(4, 57, 2),
        "arithmetic",
        Inconsistent,
        "beyond-buckets",
    );
    let log = sample("hdrhistogram/java.hlog");
    silent(&log);
    let largest = with(&log, ",12.116,", ",99912.116,");
    finds(&largest, "arithmetic", Inconsistent, "largest-of-rows");
    // Another ratio than the library's own, in all rows.
    let mut thousand = log.clone();
    for (old, new) in [
        ("12.116", "12116"),
        ("4.108", "4108"),
        ("8.069", "8069"),
        ("4.061", "4061"),
    ] {
        thousand = with(&thousand, &format!(",{old},"), &format!(",{new},"));
    }
    silent(&thousand);
}

#[test]
fn an_estimate_lies_in_its_own_interval() {
    let console = sample("criterion/console.txt");
    silent(&console);
    let outside = with(&console, "[4.7869 ns 5.0351 ns", "[4.7869 ns 50.351 ns");
    finds(&outside, "arithmetic", Inconsistent, "50.351 ns");
    silent(&with(
        &console,
        "[4.7869 ns 5.0351 ns 5.2968 ns]",
        "[4.7869 ns 4.7869 ns 4.7869 ns]",
    ));
    silent(&with(
        &console,
        "[4.7869 ns 5.0351 ns 5.2968 ns]",
        "[998.10 ps 1.0010 ns 1.0200 ns]",
    ));
    let estimates = sample("criterion/estimates.json");
    silent(&estimates);
    let mean = with(&estimates, "1131774.503737089", "2131774.503737089");
    finds(&mean, "arithmetic", Inconsistent, "mean");
}

#[test]
fn the_whole_has_the_extremes_of_its_seconds() {
    let cyclone = sample("cyclone-roundtrip/made-up.txt");
    silent(&cyclone);
    finds(
        &with(&cyclone, "100      301  ", "100      201  "),
        "parts",
        Inconsistent,
        "201 µs",
    );
    finds(
        &with(&cyclone, "Overall     18364", "Overall      8364"),
        "parts",
        Inconsistent,
        "8364",
    );
    // The last part of a second has no line of its own.
    silent(&with(&cyclone, "Overall     18364", "Overall     18901"));
}

#[test]
fn what_a_source_does_not_say_lowers_the_level() {
    let row = |more: &str, cells: &str| {
        stated(&format!(
            "[source]\ntitle = \"made up\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\n{more}\n\
             columns = [{{ label = \"stack\" }}, {{ id = \"mean\", statistic = \"mean\" }}, {{ id = \"p50\", statistic = \"median\" }}, \
             {{ id = \"p99\", statistic = \"p99\" }}, {{ id = \"max\", statistic = \"max\" }}]\nrows = '''\na | {cells}\n'''\n"
        ))
    };
    let at = |all: &[Outcome], verdict| of(all, "spread", verdict).len();
    let (one_clock, high) = (
        "n = 1000\nmethod = { clocks = \"one\" }",
        "900.0 | 10.0 | 20.0 | 1000.0",
    );
    let all = row(one_clock, high);
    assert_eq!(
        (at(&all, Impossible), at(&all, CannotBeKnown)),
        (1, 0),
        "{all:#?}"
    );
    // Of how few values a percentile is one is not said.
    let all = row("", high);
    assert_eq!(
        (at(&all, Impossible), at(&all, CannotBeKnown)),
        (0, 1),
        "{all:#?}"
    );
    // A value may be below zero where two clocks are apart.
    let low = "1.0 | 10.0 | 20.0 | 30.0";
    let all = row("n = 1000", low);
    assert_eq!(
        (at(&all, Impossible), at(&all, CannotBeKnown)),
        (0, 1),
        "{all:#?}"
    );
    assert_eq!(at(&row(one_clock, low), Impossible), 1);
    for honest in ["11.0 | 10.0 | 20.0 | 1000.0", "5.1 | 10.0 | 20.0 | 30.0"] {
        let all = row(one_clock, honest);
        assert_eq!(
            (at(&all, Impossible), at(&all, CannotBeKnown)),
            (0, 0),
            "{all:#?}"
        );
    }
}

#[test]
fn two_runs_in_one_file_are_held_to_themselves() {
    for name in [
        "google-benchmark/console.txt",
        "google-benchmark/repetitions.json",
        "google-benchmark/tabular.txt",
        "fio/json-plus.json",
        "fio/randrw.json",
        "iperf3/tcp.json",
        "iperf3/udp.json",
        "cyclone-roundtrip/made-up.txt",
    ] {
        let once = outcomes(&sample(name));
        let all = outcomes(&format!("{0}{0}", sample(name)));
        let worst = |all: &[Outcome]| {
            let accused = |o: &&Outcome| matches!(o.verdict, Impossible | Inconsistent);
            all.iter().filter(accused).count()
        };
        assert_eq!(worst(&once), 0, "{name}");
        assert_eq!(worst(&all), 0, "{name} twice: {all:#?}");
    }
}

#[test]
fn a_signed_jitter_may_scatter_beyond_its_mean() {
    let table = |quantity: &str| {
        stated(&format!(
            "[source]\ntitle = \"made up\"\n[[table]]\nid = \"t\"\nquantity = \"{quantity}\"\nunit = \"us\"\nn = 1000\n\
             columns = [{{ label = \"cycle\" }}, {{ id = \"mean\", statistic = \"mean\" }}, {{ id = \"sd\", statistic = \"sd\" }}, \
             {{ id = \"max\", statistic = \"max\" }}]\nrows = '''\n10 ms | 0.2 | 45.1 | 120.0\n'''\n"
        ))
    };
    for quantity in ["jitter", "time"] {
        let all = table(quantity);
        assert!(of(&all, "bounds", Impossible).is_empty(), "{all:#?}");
        assert!(all.iter().all(|o| o.verdict != Impossible), "{all:#?}");
    }
}

#[test]
fn names_of_criterion_keep_their_sizes() {
    let text = "latency (64 B)/uds      time:   [4.7869 us 5.0351 us 5.2968 us]\n\
                latency (128 B)/uds     time:   [5.7869 us 6.0351 us 6.2968 us]\n";
    let statements = import(&mut text.as_bytes(), "x", None).unwrap();
    let names: Vec<&str> = statements
        .figures
        .iter()
        .filter_map(|f| f.conditions.get("benchmark").map(String::as_str))
        .collect();
    assert_eq!(names, ["latency (64 B)/uds", "latency (128 B)/uds"]);
}
