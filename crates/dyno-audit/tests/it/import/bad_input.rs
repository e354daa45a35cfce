//! Truncated, mixed, localised, huge and hostile files: one error at its place, or what is there.

use crate::import::samples::{SAMPLES, bytes, imported, refused};
use dyno_audit::import::{At, ImportError, JSON_LIMIT, LINE_LIMIT, SAMPLES as KEPT, Tool, import};
use std::io::{BufRead, BufReader, Read};

fn line(e: &ImportError) -> Option<u64> {
    match e.at {
        At::Line(line) => Some(line),
        _ => None,
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_read_or_refused_at_a_place_within_it() {
    for (name, tool) in SAMPLES {
        let whole = bytes(name);
        // Every place of the last line, one in 29 before.
        let cuts = (0..whole.len()).filter(|end| end % 29 == 0 || whole.len() - end < 60);
        for end in cuts {
            let Err(e) = import(&mut &whole[..end], "cut", Some(*tool)) else {
                continue;
            };
            let lines = whole[..end].split(|b| *b == b'\n').count() as u64;
            assert!(
                line(&e).is_none_or(|l| l <= lines),
                "{name} up to {end}: {e}"
            );
            assert!(
                e.to_string().starts_with("cut") && e.reason.len() > 10,
                "{name} up to {end}: {e}"
            );
        }
    }
}

#[test]
fn json_that_is_cut_off_is_always_refused() {
    for (name, tool) in SAMPLES.iter().filter(|(name, _)| name.ends_with("json")) {
        let whole = bytes(name);
        let body = whole.trim_ascii_end().len();
        for end in [1, body / 3, body / 2, body - 1] {
            let e = refused(&whole[..end], Some(*tool));
            assert!(
                line(&e).is_some() && e.reason.contains("cut off"),
                "{name} up to {end}: {e}"
            );
        }
    }
}

/// What a tool prints last, of the samples that have such a thing.
const ENDS: &[(&str, &str)] = &[
    ("cyclictest/histogram.txt", "# Histogram Overflows:"),
    ("hdrhistogram/java.hgrm", "#[Buckets"),
    ("iceperf/leader.txt", "Finished!"),
    ("iceperf/made-up-newer.md", "Finished!"),
    ("kuksa-perf/own-numbers.txt", "99% in under"),
    (
        "rtiperftest/documented-publisher.csv",
        "Length (Bytes), Ave (us)",
    ),
    ("rtiperftest/documented-publisher.txt", "Latency: Ave"),
    ("sockperf/full-log.csv", "<MIN>"),
    ("sockperf/full-rtt.txt", "<MIN>"),
    ("sockperf/ping-pong.txt", "<MIN>"),
    ("sockperf/throughput.txt", "Summary: BandWidth"),
    ("sockperf/under-load.txt", "<MIN>"),
    ("wrk/documented-wrk2.txt", "Transfer/sec:"),
    ("wrk/wrk.txt", "Transfer/sec:"),
];

/// Whether this is refused, or read with a note that it may be cut off.
fn is_said_to_be_cut(bytes: &[u8], tool: Tool) -> bool {
    import(&mut &*bytes, "cut", Some(tool))
        .map_or(true, |s| s.notes.iter().any(|n| n.contains("cut off")))
}

#[test]
fn what_ends_before_the_end_that_its_tool_prints_is_never_read_as_whole() {
    for (name, mark) in ENDS {
        let tool = SAMPLES.iter().find(|(n, _)| n == name).unwrap().1;
        let whole = String::from_utf8(bytes(name)).unwrap();
        assert!(!is_said_to_be_cut(whole.as_bytes(), tool), "{name}");
        let end = whole.rfind(mark).unwrap_or_else(|| panic!("{name}"));
        let lines = whole.match_indices('\n').map(|(i, _)| i + 1);
        let mut left_out = 0;
        for at in lines.filter(|at| *at <= end).chain([end / 3, end * 2 / 3]) {
            // One mechanism after another is whole.
            if whole[..at].trim_end().ends_with("Finished!") {
                left_out += 1;
                continue;
            }
            assert!(
                is_said_to_be_cut(&whole.as_bytes()[..at], tool),
                "{name}, up to {:?}",
                &whole[at.saturating_sub(60)..at]
            );
        }
        assert!(left_out < 10, "{name}: {left_out}");
    }
    // A second run of one file begins and does not end.
    let pings = String::from_utf8(bytes("sockperf/ping-pong.txt")).unwrap();
    let at = pings.find("sockperf: Starting test").unwrap();
    let two = format!("{pings}{}", &pings[..at]);
    assert!(is_said_to_be_cut(two.as_bytes(), Tool::Sockperf));
    // A path is one of a list, and each ends with names of files.
    let caret = String::from_utf8(bytes("caret/made-up.yaml")).unwrap();
    let at = caret.find("  worst_p99").unwrap();
    assert!(is_said_to_be_cut(&caret.as_bytes()[..at], Tool::Caret));
    let wrk = bytes("wrk/wrk.txt");
    let e = refused(&wrk[..wrk.len() * 2 / 3], None);
    assert!(
        e.reason
            .contains("there is no `Transfer/sec:`, with which the output of wrk2 ends"),
        "{e}"
    );
}

#[test]
fn a_line_without_its_end_is_said() {
    for (name, tool) in SAMPLES.iter().filter(|(name, _)| !name.ends_with("json")) {
        let whole = bytes(name);
        for at in [whole.len() / 3, whole.len() * 2 / 3, whole.len() - 2] {
            if whole[at - 1] != b'\n' {
                assert!(is_said_to_be_cut(&whole[..at], *tool), "{name} up to {at}");
            }
        }
    }
}

#[test]
fn a_row_that_is_cut_off_is_refused_at_its_line() {
    for (name, after, at) in [
        (
            "google-benchmark/console.txt",
            "copy/64/repeats:3                            4.47 ns",
            15,
        ),
        (
            "iceperf/leader.txt",
            "|               128 |              1.3e",
            20,
        ),
        (
            "l4re-ipcbench/documented.txt",
            "CPU  1 done 20000 IPCs in 4960123",
            5,
        ),
        ("hdrhistogram/java.hgrm", "0.040 0.625000000000", 6),
        (
            "hdrhistogram/java.hlog",
            "0.001,0.080,12.116,HISTFAAAAnN42i1PXUgUURj",
            5,
        ),
        (
            "cyclictest/quiet.txt",
            "T: 1 ( 5157) P: 0 I:1500 C:    350 Min:",
            3,
        ),
        ("cyclictest/histogram.txt", "# Max Latencies: 07288", 206),
        ("sockperf/ping-pong.txt", "percentile 75.000 =", 22),
        ("ddsperf/ping.txt", "99% 847.896us max 3672.863us", 3),
        (
            "performance_test/documented.csv",
            "2.000344,1.000101,1000",
            15,
        ),
        (
            "rtiperftest/documented-publisher.txt",
            "Max    505 us 50%",
            5,
        ),
        ("wrk/wrk.txt", "Latency     3.59ms", 4),
        ("criterion/console.txt", "time:   [2.8943 µs 3.45", 10),
    ] {
        let whole = String::from_utf8(bytes(name)).unwrap();
        let end = whole
            .find(after)
            .unwrap_or_else(|| panic!("{name}: {after}"))
            + after.len();
        let e = refused(&whole.as_bytes()[..end], None);
        assert_eq!(line(&e), Some(at), "{name}: {e}");
    }
}

#[test]
fn a_comma_as_decimal_point_is_refused_and_never_interpreted() {
    for (name, tool) in SAMPLES {
        let text = String::from_utf8(bytes(name)).unwrap();
        let localised = with_decimal_commas(&text);
        // These print whole numbers only, or encoded ones.
        if localised == text
            || [
                "cyclictest/quiet.txt",
                "cyclictest/live.txt",
                "cyclictest/histogram.txt",
                "cyclictest/verbose.txt",
            ]
            .contains(name)
        {
            continue;
        }
        let e = refused(localised.as_bytes(), Some(*tool));
        if name.ends_with("json") {
            // A comma makes two numbers of one, or no JSON.
            assert_ne!(e.at, At::File, "{name}: {e}");
            continue;
        }
        let at = line(&e).unwrap_or_else(|| panic!("{name}: {e}"));
        let says = ["comma", "cells and its header"]
            .iter()
            .any(|w| e.reason.contains(w));
        assert!(says || name.ends_with("csv"), "{name}: {e}");
        assert!(at as usize <= text.lines().count(), "{name}: {e}");
    }
}

/// `4.03 ns` as `4,03 ns`.
fn with_decimal_commas(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_digit);
    let comma =
        |(i, c): (usize, char)| match c == '.' && digit(i.checked_sub(1)) && digit(Some(i + 1)) {
            true => ',',
            false => c,
        };
    text.char_indices().map(comma).collect()
}

#[test]
fn output_of_two_tools_in_one_file_is_refused_where_the_second_begins() {
    let texts: Vec<&(&str, Tool)> = SAMPLES
        .iter()
        .filter(|(name, _)| !name.ends_with("json"))
        .collect();
    for (first, tool) in &texts {
        for (second, other) in &texts {
            let hdr = |t: &Tool| matches!(t, Tool::HdrPercentiles | Tool::Wrk2);
            if tool == other || (hdr(tool) && hdr(other)) {
                continue;
            }
            let mut mixed = bytes(first);
            let lines = mixed.iter().filter(|b| **b == b'\n').count() as u64;
            mixed.extend(bytes(second));
            // The second tool's own marks are known by whoever reads the first.
            match import(&mut mixed.as_slice(), "mixed", Some(*tool)) {
                Err(e) => assert!(
                    line(&e).is_none_or(|l| l + 1 >= lines),
                    "{first} + {second}: {e}"
                ),
                Ok(s) => {
                    let alone = imported(first);
                    assert_eq!(
                        s.figures, alone.figures,
                        "{first} + {second} gave figures of both"
                    );
                }
            }
        }
    }
}

#[test]
fn several_json_documents_in_one_file_are_results_of_their_own() {
    let mut two = bytes("fio/randrw.json");
    two.extend(bytes("fio/json-plus.json"));
    let read = import(&mut two.as_slice(), "two", None).unwrap();
    let alone = [imported("fio/randrw.json"), imported("fio/json-plus.json")];
    let both: usize = alone.iter().map(|s| s.figures.len()).sum();
    assert_eq!(read.figures.len(), both);
}

#[test]
fn what_no_tool_wrote_is_refused_with_the_tools_that_are_known() {
    for text in ["", "hello", "{}", "{\"a\": 1}", "\0\0\0\0", "12 34 56"] {
        let e = refused(text.as_bytes(), None);
        assert!(
            e.at == At::File && e.reason.contains("google-benchmark, iceperf"),
            "{text:?}: {e}"
        );
    }
    let e = refused(&bytes("iperf3/refused.json"), None);
    assert_eq!(
        e.to_string(),
        "file, error: iperf3 ended with the error `unable to connect to server: Connection refused`; measure again"
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_named_by_its_path() {
    let text = String::from_utf8(bytes("fio/randrw.json")).unwrap();
    let e = refused(
        text.replacen("\"min\" : 37285", "\"min\" : \"fast\"", 1)
            .as_bytes(),
        None,
    );
    assert_eq!(
        e.to_string(),
        "file, jobs[0].read.lat_ns.min: is \"fast\", not a number"
    );
    let e = refused(text.replacen("\"jobname\"", "\"name\"", 1).as_bytes(), None);
    assert_eq!(e.at, At::Path("jobs[0]".to_owned()));
    let e = refused(text.replacen("37285", "1e999", 1).as_bytes(), None);
    assert!(
        line(&e).is_some() && e.reason.contains("out of range"),
        "{e}"
    );
}

/// As much of `body` as asked, without holding it.
struct Endless<'a> {
    head: &'a [u8],
    body: &'a [u8],
    at: usize,
    left: u64,
}

impl Read for Endless<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let from = if self.head.is_empty() {
            &self.body[self.at..]
        } else {
            self.head
        };
        let n = from
            .len()
            .min(to.len())
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        to[..n].copy_from_slice(&from[..n]);
        if self.head.is_empty() {
            self.at = (self.at + n) % self.body.len();
        } else {
            self.head = &self.head[n..];
        }
        self.left -= n as u64;
        Ok(n)
    }
}

/// Logs that go on: what stands once, and what comes again and again.
fn endless(name: &str) -> (Vec<u8>, Vec<u8>, Tool) {
    let text = String::from_utf8(bytes(name)).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let split = |head: usize, body: std::ops::Range<usize>, tool| {
        (
            lines[..head].concat().into_bytes(),
            lines[body].concat().into_bytes(),
            tool,
        )
    };
    match name {
        "google-benchmark/console.txt" => split(13, 13..16, Tool::GoogleBenchmark),
        "cyclictest/verbose.txt" => split(5, 5..100, Tool::Cyclictest),
        "cyclictest/live.txt" => split(1, 1..28, Tool::Cyclictest),
        "sockperf/full-log.csv" => split(22, 22..lines.len() - 1, Tool::Sockperf),
        "ddsperf/ping.txt" => split(2, 2..8, Tool::Ddsperf),
        "performance_test/documented.csv" => split(13, 13..16, Tool::PerformanceTest),
        "hdrhistogram/java.hlog" => split(4, 4..5, Tool::HdrLog),
        "rtiperftest/documented-publisher.txt" => split(1, 1..4, Tool::Rtiperftest),
        _ => unreachable!("{name} has no lines that come again"),
    }
}

const ENDLESS: &[&str] = &[
    "google-benchmark/console.txt",
    "cyclictest/verbose.txt",
    "cyclictest/live.txt",
    "sockperf/full-log.csv",
    "ddsperf/ping.txt",
    "performance_test/documented.csv",
    "hdrhistogram/java.hlog",
    "rtiperftest/documented-publisher.txt",
];

/// Reads this many bytes of each log that can go on; returns nothing but what was kept.
fn read_endless(name: &str, bytes: u64) -> usize {
    let (head, body, tool) = endless(name);
    // To the end of a line.
    let whole = (bytes - head.len() as u64) / body.len() as u64 * body.len() as u64;
    let reader = Endless {
        head: &head,
        body: &body,
        at: 0,
        left: head.len() as u64 + whole,
    };
    let s = import(&mut BufReader::new(reader), name, Some(tool)).unwrap_or_else(|e| panic!("{e}"));
    let kept: usize = s.samples.iter().map(|s| s.values.len()).sum();
    let out: u64 = s.samples.iter().map(|s| s.left_out).sum();
    assert!(
        kept <= KEPT && (out == 0 || kept == KEPT),
        "{name}: {kept} kept, {out} left out"
    );
    assert!(
        s.figures.len() < 20_000,
        "{name}: {} figures",
        s.figures.len()
    );
    println!(
        "{name}: {bytes} bytes, {} figures, {kept} values kept, {out} counted",
        s.figures.len()
    );
    kept
}

#[test]
fn a_log_of_any_length_is_streamed() {
    for name in ENDLESS {
        read_endless(name, 1 << 20);
    }
}

/// One gigabyte each, with the most memory that the process ever had.
#[test]
#[ignore = "minutes"]
fn a_log_of_a_gigabyte_is_read_in_bounded_memory() {
    for name in ENDLESS {
        read_endless(name, 1 << 30);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|l| l.starts_with("VmHWM")).unwrap();
        println!("  {peak}");
        let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kib < 512 << 10, "{name}: {peak}");
    }
}

#[test]
fn json_beyond_the_bound_and_endless_lines_are_refused() {
    let reader = Endless {
        head: b"{\"fio version\":\"fio-3.33\",\"jobs\":[",
        body: b"0,",
        at: 0,
        left: 4 * JSON_LIMIT,
    };
    let e = import(&mut BufReader::new(reader), "huge.json", None).unwrap_err();
    assert!(
        e.to_string()
            .starts_with("huge.json: the JSON of fio is larger than 16777216 bytes"),
        "{e}"
    );
    let reader = Endless {
        head: b"# Histogram\n# Min Latencies: 1\n",
        body: b"0",
        at: 0,
        left: 4 * LINE_LIMIT,
    };
    let e = import(&mut BufReader::new(reader), "huge.txt", None).unwrap_err();
    assert_eq!(
        e.to_string(),
        "huge.txt:3: the line is longer than 4194304 bytes"
    );
}

#[test]
fn nesting_too_deep_for_the_stack_is_refused() {
    let deep = format!("{{\"fio version\": {}", "[".repeat(1_000_000));
    let e = refused(deep.as_bytes(), None);
    assert!(e.reason.contains("recursion limit"), "{e}");
}

#[test]
fn more_names_than_can_be_kept_are_refused() {
    let mut text = String::from_utf8(bytes("google-benchmark/console.txt")).unwrap();
    text.truncate(text.find("copy/64").unwrap());
    for i in 0..100_100 {
        text.push_str(&format!("b{i}   1.00 ns   1.00 ns   100\n"));
    }
    let e = refused(text.as_bytes(), None);
    assert!(
        line(&e).is_some() && e.reason.contains("more than 100000"),
        "{e}"
    );
}

#[test]
fn a_histogram_that_unpacks_to_more_than_it_says_is_refused() {
    use std::io::Write as _;
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&0x1c84_9313u32.to_be_bytes()).unwrap();
    packed.write_all(&vec![0; 64 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    let mut bytes = 0x1c84_9314u32.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(packed.len()).unwrap().to_be_bytes());
    bytes.extend(packed);
    let text = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    let log = format!("#[Histogram log format version 1.3]\n0.0,1.0,1.0,{text}\n");
    let e = refused(log.as_bytes(), None);
    assert_eq!(
        e.to_string(),
        "file:2: the histogram is damaged or cut off: it is not as long as it says"
    );
}

#[test]
fn what_cannot_be_read_is_said() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let mut broken = BufReader::new((&b"sockperf: == version\n"[..]).chain(Broken));
    assert!(broken.fill_buf().is_ok());
    let e = import(&mut broken, "x", None).unwrap_err();
    assert_eq!(e.to_string(), "x: cannot be read: the disk is gone");
}
