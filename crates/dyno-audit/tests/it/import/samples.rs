//! The samples, and what holds for each of them.

use dyno_audit::Statements;
use dyno_audit::import::{ImportError, Tool, import};
use dyno_audit::statement::{Figure, Samples};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Every file in `tests/data` with the tool that wrote it, but for the one that holds an error.
pub(crate) const SAMPLES: &[(&str, Tool)] = &[
    ("caret/made-up.yaml", Tool::Caret),
    ("vlink-bench/made-up.json", Tool::VlinkBench),
    ("criterion/console.txt", Tool::Criterion),
    ("criterion/estimates.json", Tool::Criterion),
    ("criterion/made-up-messages.json", Tool::Criterion),
    ("criterion/sample.json", Tool::Criterion),
    ("cyclictest/made-up-pmqtest.json", Tool::Cyclictest),
    ("cyclone-roundtrip/made-up.txt", Tool::CycloneRoundtrip),
    ("fastdds-latencytest/made-up.txt", Tool::FastddsLatencytest),
    ("iceoryx2/made-up.txt", Tool::Iceoryx2),
    ("iceperf/made-up-newer.md", Tool::Iceperf),
    ("performance_test/made-up.json", Tool::PerformanceTest),
    ("z_ping/made-up.txt", Tool::ZPing),
    ("cyclictest/histogram.json", Tool::Cyclictest),
    ("cyclictest/histogram.txt", Tool::Cyclictest),
    ("cyclictest/live.txt", Tool::Cyclictest),
    ("cyclictest/quiet.txt", Tool::Cyclictest),
    ("cyclictest/summary.json", Tool::Cyclictest),
    ("cyclictest/verbose.txt", Tool::Cyclictest),
    ("ddsperf/ping.txt", Tool::Ddsperf),
    ("ddsperf/pub.txt", Tool::Ddsperf),
    ("ddsperf/sub.txt", Tool::Ddsperf),
    ("fio/json-plus.json", Tool::Fio),
    ("fio/randrw.json", Tool::Fio),
    ("google-benchmark/console.txt", Tool::GoogleBenchmark),
    ("google-benchmark/repetitions.json", Tool::GoogleBenchmark),
    ("google-benchmark/tabular.txt", Tool::GoogleBenchmark),
    ("hdrhistogram/java.csv", Tool::HdrPercentiles),
    ("hdrhistogram/java.hgrm", Tool::HdrPercentiles),
    ("hdrhistogram/java.hlog", Tool::HdrLog),
    ("iceperf/leader.txt", Tool::Iceperf),
    ("iperf3/bidir.json", Tool::Iperf3),
    ("iperf3/tcp.json", Tool::Iperf3),
    ("iperf3/udp.json", Tool::Iperf3),
    ("kuksa-perf/own-numbers.txt", Tool::KuksaPerf),
    ("l4re-ipcbench/documented-x86.txt", Tool::L4reIpcbench),
    ("l4re-ipcbench/documented.txt", Tool::L4reIpcbench),
    ("performance_test/documented.csv", Tool::PerformanceTest),
    ("rtiperftest/documented-publisher.csv", Tool::Rtiperftest),
    ("rtiperftest/documented-publisher.txt", Tool::Rtiperftest),
    ("rtiperftest/documented-subscriber.csv", Tool::Rtiperftest),
    ("rtiperftest/documented-subscriber.txt", Tool::Rtiperftest),
    ("rtiperftest/documented.json", Tool::Rtiperftest),
    ("sockperf/full-log.csv", Tool::Sockperf),
    ("sockperf/full-rtt.txt", Tool::Sockperf),
    ("sockperf/ping-pong.txt", Tool::Sockperf),
    ("sockperf/throughput.txt", Tool::Sockperf),
    ("sockperf/under-load.txt", Tool::Sockperf),
    ("wrk/documented-wrk2.txt", Tool::Wrk2),
    ("wrk/wrk.txt", Tool::Wrk2),
];

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

pub(crate) fn imported(name: &str) -> Statements {
    import(&mut bytes(name).as_slice(), name, None).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn refused(bytes: &[u8], tool: Option<Tool>) -> ImportError {
    match import(&mut &*bytes, "file", tool) {
        Err(e) => e,
        Ok(s) => panic!("{} figures were read", s.figures.len()),
    }
}

/// The figure of this name.
pub(crate) fn figure<'a>(statements: &'a Statements, id: &str) -> &'a Figure {
    let all = || {
        statements
            .figures
            .iter()
            .map(|f| f.id.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let found = statements.figures.iter().find(|f| f.id == id);
    found.unwrap_or_else(|| panic!("no {id} among\n{}", all()))
}

/// Its value in base units: seconds, bytes, …
pub(crate) fn value(statements: &Statements, id: &str) -> f64 {
    let figure = figure(statements, id);
    figure.printed.value * figure.printed.unit.factor
}

pub(crate) fn raw<'a>(statements: &'a Statements, id: &str) -> &'a Samples {
    let found = statements.samples.iter().find(|s| s.id == id);
    found.unwrap_or_else(|| {
        panic!(
            "no {id} among {:?}",
            statements.samples.iter().map(|s| &s.id).collect::<Vec<_>>()
        )
    })
}

#[track_caller]
pub(crate) fn close(found: f64, expected: f64) {
    let scale = expected.abs().max(1e-30);
    assert!(
        (found - expected).abs() / scale < 1e-9,
        "{found}, expected {expected}"
    );
}

#[test]
fn every_file_of_the_data_is_a_sample() {
    let mut files = BTreeSet::new();
    for folder in std::fs::read_dir(path("")).unwrap() {
        let folder = folder.unwrap();
        if folder.file_name() == "corpus" || !folder.file_type().unwrap().is_dir() {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let (folder, file) = (folder.file_name(), file.unwrap().file_name());
            files.insert(format!("{}/{}", folder.display(), file.display()));
        }
    }
    let mut known: BTreeSet<String> = SAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    known.insert("iperf3/refused.json".to_owned());
    assert_eq!(files, known);
}

#[test]
fn a_tool_is_recognised_by_the_beginning_of_its_output() {
    for (name, tool) in SAMPLES {
        let named = import(&mut bytes(name).as_slice(), name, Some(*tool))
            .unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(imported(name), named, "{name}");
        // iperf3 repeats what the kernel measures.
        // Another of rt-tests writes the same form.
        let known = [tool_of(name).as_str(), "the kernel (TCP_INFO)", "pmqtest"];
        let of = |tool: &Option<String>| tool.as_deref().is_some_and(|t| known.contains(&t));
        assert!(named.figures.iter().all(|f| of(&f.method.tool)), "{name}");
    }
}

fn tool_of(name: &str) -> &'static Tool {
    &SAMPLES.iter().find(|(n, _)| *n == name).unwrap().1
}

#[test]
fn figures_have_names_of_their_own_and_the_text_of_their_line() {
    for (name, _) in SAMPLES {
        let text = String::from_utf8(bytes(name)).unwrap();
        let lines: Vec<&str> = text.split('\n').collect();
        let statements = imported(name);
        let mut ids = BTreeSet::new();
        for f in &statements.figures {
            assert!(ids.insert(&f.id), "{name}: {} twice", f.id);
            assert!(
                f.printed.value.is_finite() && f.printed.half_step >= 0.0,
                "{name}: {f:?}"
            );
            assert!(
                !f.data.is_empty() && f.conditions.contains_key("benchmark"),
                "{name}: {f:?}"
            );
            let Some(line) = f.place.section.strip_prefix("line ") else {
                continue;
            };
            let line = lines[line.parse::<usize>().unwrap() - 1];
            // What is computed from histograms stands in no line as text.
            let of_buckets = name.ends_with("histogram.txt") && line.starts_with("000000");
            if !name.ends_with("hlog") && !of_buckets {
                let digits = f.printed.text.trim_start_matches('0');
                assert!(
                    line.contains(digits),
                    "{name}: {} is not in {line:?}",
                    f.printed.text
                );
            }
        }
        for s in &statements.samples {
            assert_eq!(s.values.len(), s.each.len(), "{name}: {}", s.id);
            assert!(
                s.sent.is_empty() || s.sent.len() == s.values.len(),
                "{name}: {}",
                s.id
            );
        }
    }
}

#[test]
fn words_of_tools_are_their_own() {
    for tool in Tool::ALL {
        assert_eq!(Tool::from_word(tool.as_str()), Some(*tool));
    }
    assert_eq!(Tool::from_word("netperf"), None);
}

/// Prints what each sample becomes; for the eyes.
#[test]
#[ignore = "prints"]
fn show() {
    for (name, _) in SAMPLES {
        let s = imported(name);
        println!(
            "== {name}: tested {:?}, {} banners",
            s.source.tested,
            s.banners.len()
        );
        for f in s.figures.iter().take(40) {
            let p = &f.printed;
            println!(
                "  {} = {} ±{} {} | {} n={:?} {:?} each={:?} | {}",
                f.id,
                p.text,
                p.half_step,
                p.unit.text,
                f.statistic,
                f.n,
                f.of,
                f.each,
                f.place.section
            );
        }
        for r in &s.samples {
            println!(
                "  raw {} line {}: {} values {:?}… each {:?}… step {} out {}",
                r.id,
                r.line,
                r.values.len(),
                &r.values[..r.values.len().min(3)],
                &r.each[..r.each.len().min(3)],
                r.step,
                r.left_out
            );
        }
    }
}
