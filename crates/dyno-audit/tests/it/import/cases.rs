//! Kinds of output that were once accused, misread or refused, each with an input of its own; and the cases beside the checkout, where
//! they are.

use crate::import::samples::{bytes, close, figure, imported, raw, refused, value};
use dyno_audit::import::{Tool, import};
use dyno_audit::statement::{Quantity, Statistic, Trip};
use dyno_audit::{Audit, Statements, Verdict};
use std::path::PathBuf;

fn read(text: &str) -> Statements {
    import(&mut text.as_bytes(), "x", None).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn stated(text: &str) -> Statements {
    Statements::parse(text, "x.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Checks with their verdicts, of what is objected to.
fn objections(statements: &Statements) -> Vec<(&'static str, Verdict, String)> {
    let audit = Audit::of(statements);
    let objecting = audit.outcomes.into_iter().filter(|o| o.verdict.objects());
    objecting
        .map(|o| (o.check, o.verdict, format!("{}: {}", o.says, o.calculation)))
        .collect()
}

#[track_caller]
fn clean(statements: &Statements) {
    assert_eq!(objections(statements), []);
}

#[track_caller]
fn objects(statements: &Statements, check: &str, verdict: Verdict, with: &str) {
    let all = objections(statements);
    let found = all
        .iter()
        .any(|(c, v, words)| *c == check && *v == verdict && words.contains(with));
    assert!(found, "no {check} with {with:?}: {all:#?}");
}

/// iperf3's UDP output, in little.
fn iperf3(sum: &str, more: &str) -> String {
    format!(
        "{{\"start\":{{\"connected\":[],\"version\":\"iperf 3.12\",\"test_start\":{{\"protocol\":\"UDP\",\"num_streams\":1,\"blksize\":1000}}}},\n\
         \"end\":{{\"streams\":[{{\"udp\":{{\"seconds\":2.0}}}}],\n\"sum\":{{\"seconds\":2.01,\"bytes\":5000000,\"bits_per_second\":20000000.0,{sum}}}{more}}}}}"
    )
}

const SOUND: &str = "\"jitter_ms\":0.02,\"lost_packets\":37,\"packets\":5000,\"lost_percent\":0.74";

/// The cases beside the checkout, where they are.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases")
}

#[test]
fn the_whole_folder_of_cases_is_read_without_a_false_word() {
    let folder = folder();
    let Ok(files) = std::fs::read_dir(folder) else {
        eprintln!("no cases beside the checkout: only those written here are tested");
        return;
    };
    const WRONG: [(&str, &str, Verdict); 12] = [
        ("wrk-all-errors.txt", "errors", Verdict::NotWhatItIsCalled),
        ("fio-job-error.json", "errors", Verdict::NotWhatItIsCalled),
        ("iperf3-udp-over-100.json", "range", Verdict::Impossible),
        ("iperf3-udp-negative.json", "range", Verdict::Impossible),
        (
            "iperf3-udp-jitter-19-months.json",
            "length",
            Verdict::Impossible,
        ),
        (
            "iperf3-udp-share-and-rate-contradict.json",
            "arithmetic",
            Verdict::Inconsistent,
        ),
        (
            "cyclictest-histogram-contradicts.txt",
            "arithmetic",
            Verdict::Inconsistent,
        ),
        (
            "performance-test-negative.csv",
            "range",
            Verdict::Impossible,
        ),
        ("statement-negative.toml", "range", Verdict::Impossible),
        (
            "kuksa-perf-more-than-sent.txt",
            "arithmetic",
            Verdict::Inconsistent,
        ),
        (
            "ddsperf-counts-fall.txt",
            "arithmetic",
            Verdict::Inconsistent,
        ),
        (
            "rtiperftest-rate-contradicts.txt",
            "arithmetic",
            Verdict::Inconsistent,
        ),
    ];
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        if name == "README.md" || name.starts_with("suite-") {
            continue;
        }
        let result = match name.strip_suffix(".toml") {
            Some(_) => Ok(stated(&text)),
            None => import(&mut text.as_bytes(), &name, None),
        };
        match result {
            Err(e) => {
                let named = ["oslat", "BM_err"].iter().any(|w| e.reason.contains(w));
                assert!(named && !e.reason.contains("cut"), "{name}: {e}");
            }
            Ok(s) => {
                match WRONG.iter().find(|(wrong, ..)| *wrong == name) {
                    Some((_, check, verdict)) => objects(&s, check, *verdict, ""),
                    // Half of a round trip is printed as a latency by several honest tools, and is called so.
                    None => {
                        let mut others = objections(&s);
                        others.retain(|(check, ..)| *check != "half-trip");
                        assert_eq!(others, [], "{name}");
                    }
                }
                assert!(!Audit::of(&s).outcomes.is_empty(), "{name} has no check");
            }
        }
    }
}

/// Figures of cases with their values in base units, or the number of their values behind `n of`.
const VALUES: &[(&str, &[(&str, f64)])] = &[
    (
        "criterion-change-and-throughput.txt",
        &[
            ("transfer/same seed/value", 0.1884),
            ("transfer/same seed/bandwidth-rate", 21.231 * 1048576.0),
        ],
    ),
    (
        "cyclictest-histogram-contradicts.txt",
        &[
            ("thread 0/total", 9_001.0),
            ("thread 0/in-buckets", 1_001.0),
            ("thread 0/max", 400e-6),
            ("thread 0/highest-bucket", 4_990e-6),
            ("thread 0/p99.9", 5e-6),
        ],
    ),
    (
        "cyclone-roundtrip.txt",
        &[
            ("second 1/median", 42e-6),
            ("second 2/max", 106e-6),
            ("n of second 2/max", 11_085.0),
        ],
    ),
    (
        "ddsperf-counts-fall.txt",
        &[
            ("subscriber 1, interval 1/total", 1_000.0),
            ("subscriber 1, interval 2/total", 900.0),
        ],
    ),
    (
        "ddsperf-prefixed.txt",
        &[
            ("subscriber 1, interval 1/total", 1_047_377.0),
            ("subscriber 1, interval 1/rate", 31_930.0),
        ],
    ),
    (
        "fastdds-latencytest.txt",
        &[
            ("16 B/median", 0.89e-6),
            ("1024 B/p99.99", 22.765e-6),
            ("n of 1024 B/mean", 10_000.0),
        ],
    ),
    (
        "fio-3.12.json",
        &[
            ("n of j/read/lat_ns/mean", 1_000.0),
            ("j/read/lat_ns/mean", 1_096.985_052e-9),
        ],
    ),
    (
        "fio-job-error.json",
        &[
            ("n of rr/read/lat_ns/max", 16_902.0),
            ("rr/read/lat_ns/max", 12_724_751e-9),
        ],
    ),
    (
        "iceoryx2-benchmark.txt",
        &[
            ("iceoryx2::service::ipc::Service/mean", 221e-9),
            ("n of iceoryx2::service::local::Service/mean", 1e7),
        ],
    ),
    (
        "iceperf-newer.md",
        &[
            ("16 B/mean", 0.69e-6),
            ("4 MB/mean", 0.53e-6),
            ("n of 1 kB/mean", 10_000.0),
        ],
    ),
    (
        "iperf3-udp-bidir-reverse-loses-10.json",
        &[
            ("bidir reverse/packets", 5_001.0),
            ("bidir reverse/lost_packets", 500.0),
        ],
    ),
    (
        "iperf3-udp-ordinary-12.5.json",
        &[
            ("datagrams/packets", 18_745.0),
            ("datagrams/lost_packets", 2_345.0),
        ],
    ),
    (
        "kuksa-perf-more-than-sent.txt",
        &[
            ("all groups/received", 1_915.0),
            ("all groups/skipped", 768.0),
            ("all groups/sent", 2_283.0),
        ],
    ),
    (
        "performance-test.json",
        &[
            ("interval 1/min", 0.000_811),
            ("interval 1/lost", 2.0),
            ("n of interval 1/mean", 98.0),
        ],
    ),
    (
        "rt-tests-cyc-N.json",
        &[("thread 0/min", 33_924e-9), ("n of thread 0/max", 980.0)],
    ),
    (
        "rt-tests-cyclictest-N.txt",
        &[("thread 0/min", 33_017e-9), ("thread 0/max", 7_336_325e-9)],
    ),
    (
        "rt-tests-pmqtest.json",
        &[
            ("thread 0/min", 3e-6),
            ("thread 0/max", 2_161e-6),
            ("n of thread 0/mean", 878.0),
        ],
    ),
    ("rt-tests-signaltest.txt", &[("thread 1/max", 13_701e-6)]),
    (
        "sockperf-throughput.md",
        &[
            ("client (2)/sent-count", 9_750_678.0),
            ("client (2)/sent-rate", 325_020.0),
        ],
    ),
    (
        "wrk-all-errors.txt",
        &[
            ("http://192.0.2.1/missing (5 threads)/errors", 59_956.0),
            ("http://192.0.2.1/missing (5 threads)/count", 59_956.0),
        ],
    ),
];

/// What findings, results, notes and refusals of cases must say.
const WORDS: &[(&str, &[&str])] = &[
    (
        "cyclictest-histogram-contradicts.txt",
        &["9001 samples ≠ 1001 samples", "400 µs ≠ 4990 µs"],
    ),
    ("ddsperf-counts-fall.txt", &["1000 samples > 900 samples"]),
    ("fio-job-error.json", &["error 5"]),
    (
        "fio-warning-then-json.txt",
        &["2 lines outside of the JSON, from line 1 on"],
    ),
    (
        "gbench-nan-counter.json",
        &["`NaN` is not a number", "`Infinity` is not a number"],
    ),
    (
        "gbench-only-error.json",
        &["BM_err failed or was skipped: peer gone"],
    ),
    (
        "iperf3-udp-bidir-reverse-loses-10.json",
        &["lost_percent 10%"],
    ),
    (
        "iperf3-udp-jitter-19-months.json",
        &["longer than the whole test"],
    ),
    (
        "iperf3-udp-negative.json",
        &["-1919 datagrams is below zero"],
    ),
    (
        "iperf3-udp-ordinary-12.5.json",
        &["lost_percent 12.51 %", "host_total 7.03 %"],
    ),
    (
        "iperf3-udp-over-100.json",
        &[
            "more than the whole",
            "\"lost_percent\" is not \"lost_packets\" / \"packets\"",
            "179.649 % against 179.65 %",
            "\"lost_packets\" is more than \"packets\"",
        ],
    ),
    (
        "iperf3-udp-share-and-rate-contradict.json",
        &["against 12.51 %", "apart by 10"],
    ),
    (
        "kuksa-perf-more-than-sent.txt",
        &["1915 updates + 768 updates > 2283 updates: 2683 against 2283"],
    ),
    (
        "performance-test-negative.csv",
        &["no figure of this set is the time that it is called"],
    ),
    ("rt-tests-oslat.json", &["`oslat`"]),
    (
        "rtiperftest-rate-contradicts.txt",
        &["7370.4 Mbps ≠ 2880385 1/s * 32", "apart by 10"],
    ),
    (
        "sockperf-prefixed.md",
        &["Dyno removed the prefixes of lines"],
    ),
    (
        "statement-negative.toml",
        &["no figure of this set is the time that it is called"],
    ),
    (
        "statement-sigma-two-clocks.toml",
        &[
            "an offset of 336.865 ms would explain the whole of the smallest figure",
            "316.243 ms",
        ],
    ),
    ("statement-small-slower.toml", &["Nagle"]),
    ("wrk-all-errors.txt", &["59956 answers of 59956 requests"]),
];

/// All that is said of a case.
fn said(name: &str) -> (Option<Statements>, String) {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let read = match name.ends_with(".toml") {
        true => Statements::parse(&text, name).map_err(|e| e.to_string()),
        false => import(&mut text.as_bytes(), name, None).map_err(|e| e.to_string()),
    };
    let s = match read {
        Ok(s) => s,
        Err(e) => return (None, e),
    };
    let mut words = s.notes.join("\n");
    for o in Audit::of(&s).findings() {
        words += &format!("\n{}: {}", o.says, o.calculation);
    }
    for result in s.results() {
        for f in &result.figures {
            let id = f.id.clone().unwrap_or_default();
            words += &format!("\n{} {}", id.rsplit('/').next().unwrap_or_default(), f.text);
        }
    }
    (Some(s), words)
}

#[test]
fn the_cases_have_the_values_that_their_readme_gives() {
    if !folder().exists() {
        eprintln!("no cases beside the checkout");
        return;
    }
    for (name, values) in VALUES {
        let (s, words) = said(name);
        let s = s.unwrap_or_else(|| panic!("{words}"));
        for (id, expected) in *values {
            match id.strip_prefix("n of ") {
                Some(id) => assert_eq!(figure(&s, id).n, Some(*expected as u64), "{name}: {id}"),
                None => close(value(&s, id), *expected),
            }
        }
    }
    for (name, all) in WORDS {
        let (_, found) = said(name);
        for words in *all {
            assert!(found.contains(words), "{name}: no {words:?} in\n{found}");
        }
    }
    // A rate of sent messages is none of delivered ones, and σ no time between two clocks.
    let (sent, _) = said("sockperf-throughput.md");
    let sent = sent.unwrap();
    assert_eq!(
        figure(&sent, "client (2)/sent-rate").method.payload_bytes,
        Some(14.0)
    );
    assert!(sent.figures.iter().all(|f| f.quantity != Quantity::Rate));
    let (clocks, _) = said("statement-sigma-two-clocks.toml");
    let audit = Audit::of(&clocks.unwrap());
    let mut of_clocks = audit
        .findings()
        .filter(|o| o.check == "half-trip")
        .peekable();
    assert!(of_clocks.peek().is_some());
    assert!(of_clocks.all(|o| o.figures.iter().all(|id| !id.ends_with("/sd"))));
    let (ping, _) = said("zenoh-ping.txt");
    close(raw(&ping.unwrap(), "32 B/latency").values[1], 393e-6);
}

#[test]
fn each_run_between_two_clocks_has_its_own_smallest_time() {
    let s = stated(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nn = 50\n\
         method = { trip = \"one-way\", clocks = \"two\" }\ncolumns = [{ label = \"stack\" }, { id = \"min\", statistic = \"min\" }, \
         { id = \"max\", statistic = \"max\" }, { id = \"sd\", statistic = \"sd\" }]\nrows = '''\n| a | 120.25 | 190.1 | 2.0 |\n| b | 80.5 | 90.1 | 2.0 |\n'''",
    );
    let audit = Audit::of(&s);
    let found = audit.findings().filter(|o| o.check == "half-trip");
    let said: Vec<&str> = found.map(|o| o.calculation.as_str()).collect();
    assert_eq!(
        said,
        [
            "an offset of 120.25 µs would explain the whole of the smallest figure",
            "an offset of 80.5 µs would explain the whole of the smallest figure",
        ]
    );
}

#[test]
fn a_share_outside_of_its_whole_and_a_negative_count_are_impossible() {
    clean(&read(&iperf3(SOUND, "")));
    let over = SOUND.replace("0.74", "140.5");
    objects(
        &read(&iperf3(&over, "")),
        "range",
        Verdict::Impossible,
        "more than the whole",
    );
    let negative = SOUND.replace("37", "-37").replace("0.74", "-0.74");
    objects(
        &read(&iperf3(&negative, "")),
        "range",
        Verdict::Impossible,
        "below zero",
    );
    let long = SOUND.replace("0.02", "86400000.5");
    objects(
        &read(&iperf3(&long, "")),
        "length",
        Verdict::Impossible,
        "longer than the whole test",
    );
    let share = SOUND.replace("0.74", "7.4");
    objects(
        &read(&iperf3(&share, "")),
        "arithmetic",
        Verdict::Inconsistent,
        "0.74 %",
    );
    // What differs in the last digits is shown with them.
    let last = SOUND.replace("0.74", "0.7400009");
    objects(
        &read(&iperf3(&last, "")),
        "arithmetic",
        Verdict::Inconsistent,
        "datagrams: \"lost_percent\" is not \"lost_packets\" / \"packets\": 0.7400009 % ≠ 37 datagrams / 5000 datagrams: 0.740001 % against 0.74 %",
    );
    let rate = iperf3(SOUND, "").replace("20000000.0", "2000000.0");
    objects(
        &read(&rate),
        "arithmetic",
        Verdict::Inconsistent,
        "apart by 10",
    );
}

#[test]
fn what_is_no_number_has_no_figure_and_is_said() {
    let s = read(&iperf3(&SOUND.replace("0.74", "-NaN"), ""));
    assert!(s.figures.iter().all(|f| !f.id.ends_with("lost_percent")));
    close(value(&s, "datagrams/lost_packets"), 37.0);
    assert!(
        s.notes
            .iter()
            .any(|n| n.contains("line 3") && n.contains("-NaN")),
        "{:?}",
        s.notes
    );
}

#[test]
fn a_percentage_of_json_keeps_its_sign() {
    let s = read(&iperf3(&SOUND.replace("0.74", "0.7400026673779"), ""));
    let results = s.results();
    let loss = results
        .iter()
        .find(|r| r.quantity == Quantity::Loss)
        .unwrap();
    assert_eq!(loss.figure(Statistic::Share).unwrap().text, "0.74 %");
}

#[test]
fn the_reverse_direction_has_its_own_loss() {
    let reverse = ",\"sum_bidir_reverse\":{\"seconds\":2.01,\"bytes\":4000000,\"bits_per_second\":16000000.0,\"jitter_ms\":0.1,\"lost_packets\":80,\
                   \"packets\":4000,\"lost_percent\":2.0}";
    let s = read(&iperf3(SOUND, reverse));
    close(value(&s, "bidir reverse/lost_packets"), 80.0);
    close(value(&s, "bidir reverse/lost_percent"), 0.02);
    clean(&s);
}

#[test]
fn lines_around_json_are_passed_over_and_said() {
    let text = format!(
        "warning: old kernel\n\n{}\niperf3: interrupt\n",
        iperf3(SOUND, "")
    );
    let s = read(&text);
    assert_eq!(s.figures.len(), read(&iperf3(SOUND, "")).figures.len());
    assert!(
        s.notes
            .iter()
            .any(|n| n.contains("2 lines") && n.contains("line 1")),
        "{:?}",
        s.notes
    );
}

#[test]
fn each_test_of_a_file_is_a_result_also_as_a_stream_of_events() {
    let one = iperf3(SOUND, "");
    let two = read(&format!("{one}\n{one}"));
    close(value(&two, "datagrams (2)/packets"), 5_000.0);
    let document: serde_json::Value = serde_json::from_str(&one).unwrap();
    let event = |name: &str| serde_json::json!({"event": name, "data": document[name]}).to_string();
    let stream = read(&format!(
        "{}\n{{\"event\":\"interval\",\"data\":{{}}}}\n{}\n",
        event("start"),
        event("end")
    ));
    assert_eq!(stream.figures, read(&one).figures);
}

#[test]
fn fio_without_n_has_that_of_its_operations_and_a_failed_job_is_named() {
    let document: serde_json::Value = serde_json::from_slice(&bytes("fio/randrw.json")).unwrap();
    let mut old = document.clone();
    for times in ["lat_ns", "clat_ns", "slat_ns"] {
        old["jobs"][0]["read"][times]
            .as_object_mut()
            .unwrap()
            .remove("N");
    }
    let s = read(&old.to_string());
    let job = document["jobs"][0]["jobname"].as_str().unwrap();
    let total = document["jobs"][0]["read"]["total_ios"].as_u64();
    assert_eq!(figure(&s, &format!("{job}/read/clat_ns/mean")).n, total);
    clean(&s);
    let mut failed = document.clone();
    failed["jobs"][0]["error"] = 28.into();
    objects(
        &read(&failed.to_string()),
        "errors",
        Verdict::NotWhatItIsCalled,
        "error 28",
    );
    let mut long = document.clone();
    long["jobs"][0]["read"]["lat_ns"]["max"] = 9_000_000_000_000u64.into();
    objects(
        &read(&long.to_string()),
        "length",
        Verdict::Impossible,
        "longer than the whole test",
    );
    let mut rate = document;
    let bytes = rate["jobs"][0]["read"]["bw_bytes"].as_u64().unwrap();
    rate["jobs"][0]["read"]["bw_bytes"] = (bytes + bytes / 100).into();
    objects(
        &read(&rate.to_string()),
        "arithmetic",
        Verdict::Inconsistent,
        "read",
    );
}

#[test]
fn bins_of_fio_are_as_many_as_its_values() {
    let mut document: serde_json::Value =
        serde_json::from_slice(&bytes("fio/json-plus.json")).unwrap();
    clean(&read(&document.to_string()));
    let bins = document["jobs"][0]["read"]["clat_ns"]["bins"]
        .as_object_mut()
        .unwrap();
    let first = bins.keys().next().unwrap().clone();
    bins[&first] = (bins[&first].as_u64().unwrap() + 1_000).into();
    objects(
        &read(&document.to_string()),
        "arithmetic",
        Verdict::Inconsistent,
        "operations",
    );
}

#[test]
fn a_counter_that_is_no_number_and_a_failure_are_passed_over_in_the_console_too() {
    let s = read(
        "Benchmark      Time     CPU   Iterations UserCounters...\n\
         BM_a        4.00 ns    3.00 ns    100 ratio=nan x=2\n\
         BM_b        ERROR OCCURRED: 'no peer'\n",
    );
    close(value(&s, "BM_a/x"), 2.0);
    assert!(s.figures.iter().all(|f| !f.id.ends_with("ratio")));
    assert_eq!(s.notes, ["BM_b failed: no peer"]);
}

#[test]
fn a_failed_benchmark_is_refused_by_name_and_not_called_cut_off() {
    let text = "{\"context\":{},\"benchmarks\":[{\"name\":\"BM_send\",\"error_occurred\":true,\"error_message\":\"no peer\"}]}";
    let e = refused(text.as_bytes(), None);
    assert!(
        e.reason.contains("BM_send") && e.reason.contains("no peer") && !e.reason.contains("cut"),
        "{e}"
    );
}

const WRK: &str = "\
Running 10s test @ http://192.0.2.7/a
  2 threads and 8 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.10ms  500.00us  20.00ms   80.00%
    Req/Sec     1.00k    50.00     1.20k    70.00%
  20000 requests in 10.00s, 4.00MB read
Requests/sec:   2000.00
Transfer/sec:    409.60KB
";

#[test]
fn answers_that_are_errors_are_told_from_the_others() {
    clean(&read(WRK));
    for (errors, words) in [
        ("20000", "all answers are errors"),
        ("300", "of all answers 300 answers are errors"),
    ] {
        let text = WRK.replace(
            "Requests/sec",
            &format!("  Non-2xx or 3xx responses: {errors}\nRequests/sec"),
        );
        objects(&read(&text), "errors", Verdict::NotWhatItIsCalled, words);
    }
    let rate = WRK.replace("2000.00", "2400.00");
    objects(&read(&rate), "arithmetic", Verdict::Inconsistent, "2400.00");
    let long = WRK.replace("20.00ms", "12.50s");
    objects(&read(&long), "length", Verdict::Impossible, "12.50 s");
}

#[test]
fn buckets_and_two_distributions_of_wrk2_are_no_contradiction() {
    let wrk2 = "\
Running 10s test @ http://192.0.2.7/a
  2 threads and 8 connections
  Thread calibration: mean lat.: 1.200ms, rate sampling interval: 10ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.10ms  900.00us  65.47ms   80.00%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    1.90ms
100.000%   65.53ms
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)
#[Max     =       65.472, Total count    =        10000]
----------------------------------------------------------
  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%    0.40ms
100.000%    7.10ms
  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)
#[Max     =        7.100, Total count    =         9000]
----------------------------------------------------------
  20000 requests in 10.00s, 4.00MB read
Requests/sec:   2000.00
Transfer/sec:    409.60KB
";
    let s = read(wrk2);
    clean(&s);
    let own = figure(&s, "http://192.0.2.7/a (2 threads), uncorrected/median");
    assert_eq!(own.n, Some(9_000));
    // Beyond its buckets it is one.
    objects(
        &read(&wrk2.replace("65.53ms", "65.93ms")),
        "same-figure",
        Verdict::Inconsistent,
        "65.93",
    );
}

#[test]
fn a_prefix_of_others_is_taken_off() {
    let line = "[7] 3.000  size 100 total 500 lost 0 delta 500 lost 0 rate 0.50 kS/s 0.40 Mb/s (0.50 kS/s 0.40 Mb/s)";
    let syslog = format!("Nov 22 17:56:21 h dds[9]: {line}");
    close(
        value(
            &read(&format!("[7] participant h:7: new (self)\n{syslog}\n")),
            "subscriber 1, interval 1/total",
        ),
        500.0,
    );
    close(
        value(
            &read(&format!(
                "[7] participant h:7: new (self)\nINFO out: {line}\n"
            )),
            "subscriber 1, interval 1/total",
        ),
        500.0,
    );
    for before in [
        "sub-1  | ",
        "[sub-1] ",
        "2026-01-02T03:04:05.123456Z ",
        "sub-1 | 2026-01-02T03:04:05Z ",
    ] {
        let s = read(&format!(
            "{before}[7] participant h:7: new (self)\n{before}{line}\n"
        ));
        close(value(&s, "subscriber 1, interval 1/total"), 500.0);
        assert!(
            s.notes.iter().any(|n| n.contains(before.trim())),
            "{:?}",
            s.notes
        );
    }
    // Two containers, whose processes have the same number.
    let two = format!(
        "[7] participant h:7: new (self)\na-1 | {line}\nb-1 | {}\n",
        line.replace("500", "400")
    );
    clean(&read(&two));
    let falls = format!(
        "[7] participant h:7: new (self)\n{line}\n{}\n",
        line.replace("total 500", "total 400")
    );
    objects(
        &read(&falls),
        "arithmetic",
        Verdict::Inconsistent,
        "500 samples > 400 samples",
    );
}

#[test]
fn what_stands_in_a_name_is_no_form_and_words_of_others_cut_nothing_off() {
    let target = "http://192.0.2.7/{id}?q={mean}$size";
    let s = read(&WRK.replace("http://192.0.2.7/a", target));
    close(value(&s, &format!("{target} (2 threads)/rate")), 2_000.0);
    // A word that begins a form, in a line of somebody else.
    let pings = String::from_utf8(bytes("sockperf/ping-pong.txt")).unwrap();
    let whole = read(&pings);
    for line in [
        "kernel bypass: No",
        "then print the Total",
        "Latency",
        "Running",
    ] {
        assert_eq!(read(&format!("{pings}{line}\n")).figures, whole.figures);
        assert_eq!(read(&format!("{WRK}{line}\n")).figures, read(WRK).figures);
    }
}

#[test]
fn a_rate_of_sent_messages_is_called_so() {
    let s = imported("sockperf/throughput.txt");
    assert_eq!(figure(&s, "client/sent-rate").quantity, Quantity::Sent);
    assert!(s.figures.iter().all(|f| f.quantity != Quantity::Rate));
    assert!(
        figure(&s, "client/sent-rate")
            .method
            .payload_bytes
            .is_some()
    );
}

/// An interval log of one V0 or V1 histogram of three digits, whose buckets at these values have these counts.
fn hdr_log(first: u32, counts: &[(usize, u64)], total: i64) -> String {
    let mut bytes = first.to_be_bytes().to_vec();
    let mut buckets = vec![0u8; 8 * (2_048 + 1_024 * 4)];
    for (at, count) in counts {
        // From 2,048 on a bucket holds two values.
        let i = if *at < 2_048 { *at } else { 1_024 + at / 2 };
        buckets[8 * i..8 * i + 8].copy_from_slice(&count.to_be_bytes());
    }
    match first & 0xf {
        8 => bytes.extend(3u32.to_be_bytes()),
        _ => {
            bytes.extend((buckets.len() as u32).to_be_bytes());
            bytes.extend(0u32.to_be_bytes());
            bytes.extend(3u32.to_be_bytes());
        }
    }
    bytes.extend(1u64.to_be_bytes());
    bytes.extend(3_600_000u64.to_be_bytes());
    match first & 0xf {
        8 => bytes.extend(total.to_be_bytes()),
        _ => bytes.extend(1f64.to_be_bytes()),
    }
    bytes.extend(buckets);
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    format!(
        "#[Histogram log format version 1.1]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n0.1,1.0,3.0,{text}\n"
    )
}

#[test]
fn older_encodings_of_hdr_histogram_are_read_and_foreign_ones_not_called_cut() {
    let counts = [(17, 90), (300, 9), (3_000, 1)];
    for first in [0x1c84_9388, 0x1c84_9381] {
        let s = read(&hdr_log(first, &counts, 100));
        assert_eq!(figure(&s, "histogram/max").n, Some(100));
        for (part, value_of) in [
            ("min", 17.0),
            ("median", 17.0),
            ("p99", 300.0),
            ("max", 3_000.5),
        ] {
            close(value(&s, &format!("histogram/{part}")), value_of);
        }
    }
    let e = refused(hdr_log(0x1234_5678, &counts, 100).as_bytes(), None);
    assert!(
        e.reason.contains("no encoding") && !e.reason.contains("cut"),
        "{e}"
    );
}

#[test]
fn totals_of_percentile_texts_are_held_to_their_rows() {
    let text = String::from_utf8(bytes("hdrhistogram/java.hgrm")).unwrap();
    clean(&read(&text));
    let more = text.replace(
        "Total count    =       800000",
        "Total count    =       900000",
    );
    objects(
        &read(&more),
        "arithmetic",
        Verdict::Inconsistent,
        "900000 values",
    );
}

#[test]
fn a_log_of_the_library_for_javascript_is_read() {
    let head = "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    // What it means to say, in the words of the others.
    let mut plain = 0x1c84_9313u32.to_be_bytes().to_vec();
    for word in [3u32, 1, 2] {
        plain.extend(word.to_be_bytes());
    }
    plain.extend(1u64.to_be_bytes());
    plain.extend(4_095u64.to_be_bytes());
    plain.extend(1u64.to_be_bytes());
    // Seven empty buckets, then one of 4 values.
    plain.extend([13, 8]);
    plain[4..8].copy_from_slice(&2u32.to_be_bytes());
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &plain);
    let s = read(&format!("{head}0.1,1.0,0.007,{text}\n"));
    assert_eq!(figure(&s, "histogram/max").n, Some(4));
    close(value(&s, "histogram/max"), 7.0);
    // A shift that is meant is not read.
    plain[11] = 2;
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &plain);
    let e = refused(format!("{head}0.1,1.0,0.007,{text}\n").as_bytes(), None);
    assert!(
        e.reason.contains("shifted") && !e.reason.contains("cut"),
        "{e}"
    );
}

#[test]
fn a_deviation_that_the_library_for_python_does_not_divide_is_left_out_and_said() {
    let text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n        0.23 0.000000000000          1           1.00\n        \
                1.94 1.000000000000         10\n#[Mean    =         0.86, StdDeviation   =       654.70]\n\
                #[Max     =         1.94, TotalCount     =        10.00]\n#[Buckets =           25, SubBuckets     =          256]\n";
    let s = read(text);
    clean(&s);
    assert_eq!(figure(&s, "histogram/mean").n, Some(10));
    assert!(s.figures.iter().all(|f| f.statistic != Statistic::Sd));
    assert!(
        s.notes.iter().any(|n| n.contains("deviation")),
        "{:?}",
        s.notes
    );
    let own = read(&text.replace("654.70", "  0.65"));
    assert!(own.figures.iter().any(|f| f.statistic == Statistic::Sd) && own.notes.is_empty());
}

#[test]
fn what_is_known_and_not_read_is_refused_by_its_name() {
    for (text, name) in [
        (
            "#0: ID7, P0, CPU0, I1000; #1: ID8, P0, CPU0, Cycles 9\n#1 -> #0, Min    1, Cur    1, Avg    3, Max   49\n",
            "ptsematest",
        ),
        ("oslat V 2.40\n        Core:\t 0 1\n", "oslat"),
        (
            "Running in process mode with 10 groups\nTime: 0.061\n",
            "hackbench",
        ),
    ] {
        let e = refused(text.as_bytes(), None);
        assert!(e.reason.contains(name) && !e.reason.contains("cut"), "{e}");
    }
}

#[test]
fn files_of_dyno_that_claim_nothing_are_refused_by_what_they_are() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (folder, says) in [
        (
            "suites",
            "this is a suite, which has no figures to audit; use it with `dyno run ",
        ),
        (
            "limits",
            "this is a limits file, which has no figures to audit; use it with `dyno check RUN ",
        ),
        (
            "testbeds",
            "this is a testbed file, which has no figures to audit; use it with `dyno run SUITE --testbed ",
        ),
        (
            "stacks",
            "this is a stack file, which has no figures to audit; use it with `dyno run SUITE --stack NAME`",
        ),
        (
            "adapters/udp/stacks",
            "this is a stack file, which has no figures to audit; use it with `dyno run SUITE --stack NAME`",
        ),
    ] {
        let files = std::fs::read_dir(root.join(folder)).unwrap();
        let files = files.map(|f| f.unwrap().path());
        let mut seen = 0;
        for file in files.filter(|f| f.extension().is_some_and(|e| e == "toml")) {
            let text = std::fs::read_to_string(&file).unwrap();
            let e = Statements::parse(&text, "x.toml").unwrap_err();
            assert!(e.message.starts_with(says), "{}: {e}", file.display());
            seen += 1;
        }
        assert!(seen > 0, "{folder}");
    }
    let manifest = root.join("crates/dyno-store/tests/golden/run-v3/run.json");
    let e = refused(&std::fs::read(manifest).unwrap(), None);
    assert!(
        e.reason.contains("a run of Dyno") && e.reason.contains("directory"),
        "{e}"
    );
}

/// A histogram of one thread, whose line of totals, largest value and overflows are these.
fn histogram(total: u64, max: u64, over: u64) -> String {
    let mut text = "# Histogram\n".to_owned();
    for at in 0..300 {
        let count = match at {
            4 => 900,
            7 => 90,
            250 => 10,
            _ => 0,
        };
        text += &format!("{at:06} {count:06}\n");
    }
    text + &format!(
        "# Total: {total:09}\n# Min Latencies: 00004\n# Avg Latencies: 00006\n# Max Latencies: {max:05}\n# Histogram Overflows: {over:05}\n"
    )
}

#[test]
fn percentiles_of_cyclictest_come_out_of_its_buckets_and_its_sums_are_held_to_them() {
    let s = read(&histogram(1_000, 250, 0));
    clean(&s);
    for (part, us) in [("median", 4.0), ("p99", 7.0), ("p99.9", 250.0)] {
        close(value(&s, &format!("thread 0/{part}")), us * 1e-6);
    }
    assert!(
        s.figures
            .iter()
            .all(|f| f.statistic != Statistic::Percentile(99.99))
    );
    clean(&read(&histogram(1_000, 800, 3)));
    objects(
        &read(&histogram(1_100, 250, 0)),
        "arithmetic",
        Verdict::Inconsistent,
        "1100",
    );
    objects(
        &read(&histogram(1_000, 90, 0)),
        "arithmetic",
        Verdict::Inconsistent,
        "90 µs",
    );
    objects(
        &read(&histogram(1_000, 90, 3)),
        "arithmetic",
        Verdict::Inconsistent,
        "250 µs > 90 µs",
    );
}

#[test]
fn nanoseconds_of_cyclictest_are_told_by_what_no_machine_gives() {
    let line = |i, c, min, avg, max| {
        format!("T: 0 ( 11) P:80 I:{i} C: {c} Min: {min} Act: {avg} Avg: {avg} Max: {max}\n")
    };
    for (text, seconds) in [
        (line(1_000, 2_000, 4_100, 12_500, 61_000), 4_100e-9),
        (line(1_000, 990, 917, 3_647, 2_336_325), 917e-9),
        // A timer of 100 Hz, and one stall in a short test.
        (line(1_000, 2_000, 3_100, 3_900, 9_000), 3_100e-6),
        (line(1_000, 100, 3, 2_100, 200_000), 3e-6),
        (line(200, 10_000, 2, 150, 90_000), 2e-6),
    ] {
        close(value(&read(&text), "thread 0/min"), seconds);
    }
}

#[test]
fn other_programs_of_rt_tests_are_read_by_their_name_or_refused_by_it() {
    let s = imported("cyclictest/made-up-pmqtest.json");
    let min = figure(&s, "thread 0/min");
    assert_eq!(
        (min.method.tool.as_deref(), min.quantity),
        (Some("pmqtest"), Quantity::Latency)
    );
    let signals = read("T: 0 (  9) P: 0 C:    400 Min:     12 Act:   20 Avg:   33 Max:     412\n");
    assert_eq!(
        figure(&signals, "thread 0/max").method.tool.as_deref(),
        Some("signaltest")
    );
    let text = String::from_utf8(bytes("cyclictest/made-up-pmqtest.json")).unwrap();
    let e = refused(
        text.replace("pmqtest -q", "/usr/bin/oslat -q").as_bytes(),
        None,
    );
    assert!(
        e.reason.contains("`oslat`") && !e.reason.contains("cut"),
        "{e}"
    );
}

#[test]
fn what_changed_since_another_run_is_passed_over() {
    let s = read(
        "a/b    time:   [1.10 µs 1.20 µs 1.30 µs]\n  thrpt:  [1.0 MiB/s 2.0 MiB/s 3.0 MiB/s]\n  change:\n    time:   [-1.0% +2.0% +3.0%] (p = 0.01 < 0.05)\n    \
         thrpt:  [-2.0% -1.0% +1.0%]\n",
    );
    assert_eq!(s.figures.len(), 2);
    close(value(&s, "a/b/value"), 1.2e-6);
}

#[test]
fn times_below_zero_are_impossible_and_their_clocks_doubted() {
    let csv = String::from_utf8(bytes("performance_test/documented.csv")).unwrap();
    clean(&read(&csv));
    let statement = stated(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nn = 50\n\
         method = { trip = \"one-way\", clocks = \"two\" }\ncolumns = [{ label = \"stack\" }, { id = \"min\", statistic = \"min\" }, \
         { id = \"max\", statistic = \"max\" }, { id = \"sd\", statistic = \"sd\" }]\nrows = '''\n| a | -12.5 | 90.1 | 20.0 |\n'''",
    );
    objects(
        &statement,
        "range",
        Verdict::Impossible,
        "-12.5 us is below zero",
    );
    objects(
        &statement,
        "range",
        Verdict::NotWhatItIsCalled,
        "differed by at least 12.45 µs",
    );
    let raw = read("64 bytes: seq=1 rtt=-12µs lat=-6µs\n64 bytes: seq=2 rtt=40µs lat=20µs\n");
    objects(&raw, "range", Verdict::Impossible, "1 of 2 raw values");
    let one = read("64 bytes: seq=1 rtt=-1µs lat=0µs\n64 bytes: seq=2 rtt=40µs lat=20µs\n");
    objects(&one, "range", Verdict::Impossible, "1 of 2 raw values");
}

#[test]
fn more_than_was_sent_is_inconsistent() {
    let text = String::from_utf8(bytes("kuksa-perf/own-numbers.txt")).unwrap();
    clean(&read(&text));
    let more = text.replace("Received: 1250", "Received: 1300");
    objects(
        &read(&more),
        "arithmetic",
        Verdict::Inconsistent,
        "1300 updates + 250 updates > 1500 updates",
    );
    let pings = String::from_utf8(bytes("sockperf/ping-pong.txt")).unwrap();
    let at = pings.find("[Valid Duration]").unwrap();
    let (before, valid) = pings.split_at(at);
    let more = format!(
        "{before}{}",
        valid.replacen("ReceivedMessages=", "ReceivedMessages=9", 1)
    );
    objects(
        &read(&more),
        "arithmetic",
        Verdict::Inconsistent,
        "messages >",
    );
}

#[test]
fn size_by_rate_is_the_bit_rate() {
    let line = "Length:   200  Packets:  30000  Packets/s(ave):  10000  Mbps(ave):    16.0  Lost:   300 (0.99%)";
    clean(&read(line));
    objects(
        &read(&line.replace("16.0", "160.0")),
        "arithmetic",
        Verdict::Inconsistent,
        "apart by 10",
    );
    objects(
        &read(&line.replace("0.99", "9.90")),
        "arithmetic",
        Verdict::Inconsistent,
        "9.90 %",
    );
}

/// A table of medians over sizes, of a stack.
fn sizes(stack: &str, rows: &str) -> Statements {
    stated(&format!(
        "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"latency\"\nunit = \"us\"\nstatistic = \"median\"\n\
         conditions = {{ stack = \"{stack}\" }}\ncolumns = [{{ label = \"payload\" }}, {{ id = \"median\" }}]\nrows = '''\n{rows}'''"
    ))
}

#[test]
fn a_small_message_that_is_slower_is_only_objected_to_where_nothing_gathers_it() {
    let rows = "64 B | 40.1\n1 KiB | 9100.0\n4 KiB | 88.0\n";
    clean(&sizes("TCP", rows));
    objects(
        &sizes("UNIX DOMAIN SOCKET", rows),
        "by-size",
        Verdict::Inconsistent,
        "",
    );
    // The first row carries the start.
    clean(&sizes(
        "UNIX DOMAIN SOCKET",
        "64 B | 9100.0\n1 KiB | 41.0\n4 KiB | 88.0\n",
    ));
}

#[test]
fn steady_work_is_no_sleep_unless_the_processor_is_idle() {
    let table = |cpu: &str, row: &str| {
        stated(&format!(
            "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"time\"\nunit = \"ms\"\nn = 500\ncolumns = [{{ label = \"work\" }}, \
             {{ id = \"median\", statistic = \"median\" }}, {{ id = \"sd\", statistic = \"sd\" }}{cpu}]\nrows = '''\n{row}\n'''"
        ))
    };
    clean(&table("", "| filter | 10.21 | 0.004 |"));
    let cpu = ", { id = \"cpu\", quantity = \"cpu-time\", statistic = \"mean\" }";
    clean(&table(cpu, "| filter | 10.21 | 0.004 | 10.2 |"));
    objects(
        &table(cpu, "| filter | 10.21 | 0.004 | 0.1 |"),
        "timer",
        Verdict::NotWhatItIsCalled,
        "10 ms",
    );
}

#[test]
fn a_rate_of_both_directions_is_not_impossible_and_four_times_as_much_is() {
    let table = |rate: &str| {
        stated(&format!(
            "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nn = 100\nmethod = {{ loop = \"closed\", clients = 1, trip = \"round\" }}\n\
             columns = [{{ label = \"stack\" }}, {{ id = \"rtt\", quantity = \"latency\", unit = \"us\", statistic = \"mean\" }}, \
             {{ id = \"rate\", quantity = \"rate\", unit = \"msg/s\", statistic = \"rate\" }}]\nrows = '''\n| a | 20.0 | {rate} |\n'''"
        ))
    };
    clean(&table("99,123"));
    objects(&table("198,123"), "in-flight", Verdict::Impossible, "");
}

#[test]
fn a_share_of_means_is_one_of_all_their_values() {
    let table = |of: &str, share: &str| {
        stated(&format!(
            "[source]\ntitle = \"x\"\n[[table]]\nid = \"t\"\nquantity = \"loss\"\nunit = \"%\"\nn = 100\n{of}\n\
             columns = [{{ label = \"stack\" }}, {{ id = \"loss\", statistic = \"share\" }}]\nrows = '''\n| a | {share} % |\n'''"
        ))
    };
    clean(&table("of = \"means\"\neach = 20", "0.05"));
    objects(
        &table("", "0.05"),
        "granularity",
        Verdict::Impossible,
        "0.05%",
    );
}

#[test]
fn a_closed_loop_is_not_told_that_what_was_due_is_missing() {
    let mut log = String::from_utf8(bytes("sockperf/full-log.csv")).unwrap();
    let last: Vec<&str> = log
        .lines()
        .rfind(|l| l.starts_with(|c: char| c.is_ascii_digit()))
        .unwrap()
        .split(", ")
        .collect();
    let sent: f64 = last[1].parse().unwrap();
    for i in 1..30 {
        let at = sent + 5.0 + f64::from(i) * 1e-4;
        log += &format!("{i}, {at:.9}, {:.9}, 15.000\n", at + 3e-5);
    }
    let objecting = objections(&read(&log));
    assert!(
        objecting.iter().all(|(check, ..)| *check != "omission"),
        "{objecting:?}"
    );
}

#[test]
fn the_stacks_own_tools_are_read() {
    let fastdds = imported("fastdds-latencytest/made-up.txt");
    close(value(&fastdds, "4096 B/p99"), 81.229e-6);
    let mean = figure(&fastdds, "64 B/mean");
    assert_eq!((mean.n, mean.method.trip), (Some(2_000), Some(Trip::Round)));
    let zenoh = imported("z_ping/made-up.txt");
    assert_eq!(raw(&zenoh, "64 B/latency").values.len(), 4);
    close(raw(&zenoh, "64 B/latency").values[2], 1_040e-6);
    let iceoryx2 = imported("iceoryx2/made-up.txt");
    close(
        value(&iceoryx2, "iceoryx2::service::ipc::Service/mean"),
        303e-9,
    );
    let text = String::from_utf8(bytes("iceoryx2/made-up.txt")).unwrap();
    objects(
        &read(&text.replace("303 ns", "606 ns")),
        "arithmetic",
        Verdict::Inconsistent,
        "apart by 2",
    );
    let cyclone = imported("cyclone-roundtrip/made-up.txt");
    close(value(&cyclone, "second 2/max"), 188e-6);
    close(value(&cyclone, "overall/p99"), 100e-6);
    assert_eq!(
        figure(&cyclone, "overall/max").method.payload_bytes,
        Some(256.0)
    );
    let iceperf = imported("iceperf/made-up-newer.md");
    assert_eq!(
        figure(&iceperf, "2 MB/mean").method.payload_bytes,
        Some(2_097_152.0)
    );
    let performance = imported("performance_test/made-up.json");
    close(value(&performance, "interval 1/mean"), 0.000_81);
    let messages = imported("criterion/made-up-messages.json");
    close(raw(&messages, "send/64/time").values[1], 520e-9);
    close(value(&messages, "send/64/median"), 510e-9);
    let caret = imported("caret/made-up.yaml");
    close(value(&caret, "camera_to_brake, best/p99"), 93.004e-3);
    close(value(&caret, "camera_to_brake, worst/max"), 190.346e-3);
    assert_eq!(caret.figures.len(), 12);
    let vlink = imported("vlink-bench/made-up.json");
    let p999 = "latency process dds://bench/a 1024 B, 100 Hz/p99.9";
    close(value(&vlink, p999), 240.375e-6);
    assert_eq!(figure(&vlink, p999).method.sender_rate, Some(100.0));
    close(
        value(&vlink, "throughput local-loop shm://bench/b 65536 B/lost"),
        1_000.0,
    );
    let failed = ["latency process zenoh://bench/c 64 B, 100 Hz failed: node init failed"];
    assert_eq!(vlink.notes, failed);
    assert_eq!(Tool::from_word("z_ping"), Some(Tool::ZPing));
}

#[test]
fn a_process_that_begins_anew_under_its_number_counts_anew() {
    let sub = String::from_utf8(bytes("ddsperf/sub.txt")).unwrap();
    let s = read(&sub.repeat(2));
    clean(&s);
    assert_eq!(
        figure(&s, "subscriber 2, interval 1/total").printed.value,
        547.0
    );
    // One container begins anew while the other goes on.
    let line = |name: &str, t: u32, total: u32| {
        format!(
            "{name} | [1] {t}.000  size 100 total {total} lost 0 delta 100 lost 0 rate 0.10 kS/s 0.08 Mb/s (0.10 kS/s 0.08 Mb/s)\n"
        )
    };
    let begin = |name: &str| format!("{name} | [1] participant vm:1: new (self)\n");
    let mut text = begin("a-1") + &begin("b-1");
    for t in 1..4 {
        text += &(line("a-1", t, 100 * t) + &line("b-1", t, 100 * t));
    }
    text += &(begin("a-1") + &line("a-1", 1, 100) + &line("b-1", 4, 400));
    let s = read(&text);
    clean(&s);
    assert_eq!(
        figure(&s, "subscriber 2, interval 4/total").printed.value,
        400.0
    );
}

/// fio's JSON, in little.
fn fio(job: &str) -> Statements {
    read(&format!("{{\"fio version\": \"fio-3.33\", {job}}}"))
}

#[test]
fn what_fsync_waits_for_is_read() {
    let times =
        "\"min\": 10000, \"max\": 2000000, \"mean\": 300000.0, \"stddev\": 90000.0, \"N\": 512";
    let sync = format!(
        "\"sync\": {{\"total_ios\": 512, \"lat_ns\": {{{times}, \"percentile\": {{\"99.000000\": 1900000}}}}}}"
    );
    let s = fio(&format!("\"jobs\": [{{\"jobname\": \"j\", {sync}}}]"));
    clean(&s);
    close(value(&s, "j/sync/lat_ns/max"), 2e-3);
    close(value(&s, "j/sync/lat_ns/p99"), 1.9e-3);
    assert_eq!(figure(&s, "j/sync/lat_ns/mean").n, Some(512));
    // Of a client the jobs of each server.
    let job = |host: &str| format!("{{\"jobname\": \"j\", \"hostname\": \"{host}\", {sync}}}");
    let s = fio(&format!("\"client_stats\": [{}, {}]", job("h1"), job("h2")));
    close(value(&s, "j on h2/sync/lat_ns/max"), 2e-3);
}

#[track_caller]
fn notes(statements: &Statements, with: &str) {
    let has = statements.notes.iter().any(|n| n.contains(with));
    assert!(has, "no {with:?} in {:?}", statements.notes);
}

#[test]
fn what_is_no_number_of_criterion_is_left_out_and_said() {
    let console = String::from_utf8(bytes("criterion/console.txt")).unwrap();
    let all = read(&console).figures.len();
    let s = read(&console.replace("4.7869 ns 5.0351 ns 5.2968 ns", "NaN ns NaN ns NaN ns"));
    assert_eq!(s.figures.len(), all - 1);
    notes(&s, "line 6: its estimate is not a number");
    // The throughput below belongs to the same benchmark.
    close(value(&s, "copy/64/bandwidth-rate"), 11.838 * 1073741824.0);
    let s = read(
        "a  time:   [1.0 cycles 2.0 cycles 3.0 cycles]\nb  time:   [1.0 ns 2.0 ns 3.0 ns]\n   thrpt:  [1.0 Gb/s 2.0 Gb/s 3.0 Gb/s]\n",
    );
    notes(&s, "`cycles` is not a unit of criterion");
    close(value(&s, "b/bandwidth-rate"), 0.25e9);
    let json = String::from_utf8(bytes("criterion/estimates.json")).unwrap();
    let all = read(&json).figures.len();
    let at = json.find("\"std_dev\"").unwrap();
    let point = at + json[at..].find("\"point_estimate\":").unwrap() + 17;
    let end = point + json[point..].find([',', '}']).unwrap();
    let s = read(&format!("{}null{}", &json[..point], &json[end..]));
    assert_eq!(s.figures.len(), all - 1);
    notes(&s, "std_dev.point_estimate is not a number");
}

#[test]
fn what_is_no_number_of_json_leaves_the_rest() {
    let json = String::from_utf8(bytes("performance_test/made-up.json")).unwrap();
    let all = read(&json).figures.len();
    let at = json.find("\"latency_mean\":").unwrap() + 15;
    let end = at + json[at..].find([',', '}', '\n']).unwrap();
    for word in ["null", " NaN", "-Infinity"] {
        let s = read(&format!("{}{word}{}", &json[..at], &json[end..]));
        assert_eq!(s.figures.len(), all - 1, "{word}");
        notes(&s, "analysis_results[0].latency_mean is not a number");
    }
    let json = String::from_utf8(bytes("google-benchmark/repetitions.json")).unwrap();
    let all = read(&json);
    for word in ["null", "Infinity"] {
        let at = json.find("\"real_time\":").unwrap() + 12;
        let end = at + json[at..].find([',', '}', '\n']).unwrap();
        let s = read(&format!("{}{word}{}", &json[..at], &json[end..]));
        assert_eq!(s.figures.len(), all.figures.len(), "{word}");
        notes(&s, "benchmarks[0].real_time is not a number");
        // The mean is of one value more than there are.
        assert_eq!(objections(&s), objections(&all), "{word}");
    }
}

#[test]
fn clocks_are_only_doubted_between_two_of_them() {
    let negative = |s: &Statements| {
        let all = objections(s);
        let is = |(check, verdict, words): &(&str, Verdict, String)| {
            assert!(!words.contains("clocks"), "{words}");
            *check == "range" && *verdict == Verdict::Impossible
        };
        assert!(all.iter().any(is), "{all:#?}");
    };
    negative(&read(&iperf3(&SOUND.replace("0.02", "-0.2"), "")));
    let sockperf = String::from_utf8(bytes("sockperf/ping-pong.txt")).unwrap();
    let at = sockperf.find("<MIN> observation =").unwrap() + 19;
    let (before, after) = sockperf.split_at(at);
    negative(&read(&format!("{before} -{}", after.trim_start())));
    let ping = "64 bytes: seq=1 rtt=12µs lat=6µs\n64 bytes: seq=2 rtt=-40µs lat=-20µs\n";
    negative(&read(ping));
}

#[test]
fn times_whose_unit_is_not_said_accuse_nobody() {
    let line = |min, avg, max| {
        format!("T: 0 ( 11) P:80 I:1000 C: 5000 Min: {min} Act: {avg} Avg: {avg} Max: {max}\n")
    };
    let s = read(&line(1_733, 2_530, 57_312));
    clean(&s);
    let min = figure(&s, "thread 0/min");
    assert_eq!(
        (min.quantity, min.conditions["unit"].as_str()),
        (Quantity::Other, "assumed: µs")
    );
    notes(&s, "thread 0 is assumed to be in microseconds");
    // No machine wakes within 67 ns.
    assert_eq!(
        figure(&read(&line(67, 2_530, 57_312)), "thread 0/min").quantity,
        Quantity::Time
    );
    // What `-v` prints, and JSON without a command line.
    let verbose = |value: u32| {
        read(&format!(
            "       0:       0:    {value}\n       0:       1:    9999\n"
        ))
    };
    assert_eq!(
        raw(&verbose(2_000), "thread 0/time").quantity,
        Some(Quantity::Other)
    );
    assert_eq!(
        raw(&verbose(20), "thread 0/time").quantity,
        Some(Quantity::Time)
    );
    let json = String::from_utf8(bytes("cyclictest/summary.json")).unwrap();
    let lines: Vec<&str> = json.lines().filter(|l| !l.contains("\"cmdline")).collect();
    let open = lines.join("\n");
    assert_eq!(
        figure(&read(&open), "thread 0/min").quantity,
        Quantity::Time
    );
    let at = open.find("\"min\":").unwrap() + 6;
    let end = at + open[at..].find(',').unwrap();
    let s = read(&format!("{} 900{}", &open[..at], &open[end..]));
    assert_eq!(figure(&s, "thread 0/min").quantity, Quantity::Other);
}
