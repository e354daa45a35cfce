//! Output as logs, terminals and shells hand it on: each sample says the same behind prefixes, in colours, in UTF-16.

use crate::import::samples::{SAMPLES, bytes};
use dyno_audit::Statements;
use dyno_audit::import::{ImportError, Tool, import};

/// What others write before a line, where `{n}` counts lines.
const PREFIXES: &[&str] = &[
    "2024-05-01T10:00:{n} host bench[42]: ",
    "2024-05-01T10:00:{n}+0200 host-1 bench[42]: ",
    "2024-05-01T10:00:{n}.123456+02:00 host bench: ",
    "2024-05-01T10:00:{n}.1234567Z ",
    "2024-05-01T10:00:{n}.123456789Z stdout F ",
    "2024-05-01 10:00:{n},123 INFO ",
    "[2024-05-01T10:00:{n}.123Z] ",
    "May  1 10:00:{n} host bench[42]: ",
    "May 01 10:00:{n} host bench: ",
    "May 01 10:00:{n} ",
    "10:00:{n} ",
    "[   12.3456{n}] ",
    "name-1  | ",
    "name-1  | 2024-05-01T10:00:{n}Z ",
    "[pod/talker-5f7/main] ",
    "[talker-1] [INFO] [1714557600.1234{n}] ",
    "bench[42]: ",
    "    ",
    "> ",
    "<6>[   12.3456{n}] ",
    "2024-05-01T10:00:{n}.123456Z 01O ",
    "2024-05-01 10:00:{n},123 INFO  [main] bench - ",
    "[INFO] [1714557600.1234567{n}] [talker]: ",
    "    {n}\t",
    "{n}:",
    "17323448{n}.123456 ",
    "host1: ",
    "| ",
    "# ",
    "// ",
    "INFO:root:",
    "##[debug]",
    "2026/11/22 10:00:{n} ",
    "I1122 10:00:{n}.123456 12345 bench.cc:42] ",
    "11-22 10:00:{n}.123  1234  1234 I zping   : ",
    "<14>1 2026-11-22T10:00:{n}.123Z host bench 42 - - ",
    "1{n} 2026/11/22 10:00:{n}.123456 8461234 000 ECU1 APP1 CTX1 log info V 1 ",
    "[2024-05-01 10:00:{n}.123] [bench] [info] ",
    "[12.3{n}] ",
    "2024-05-01 10:00:{n}.123 CET ",
    "PS C:\\bench> ",
];

fn text(name: &str) -> String {
    String::from_utf8(bytes(name)).unwrap()
}

fn with_prefix(text: &str, prefix: &str) -> String {
    let line = |(i, line): (usize, &str)| prefix.replace("{n}", &format!("{:02}", i % 60)) + line;
    text.split_inclusive('\n').enumerate().map(line).collect()
}

fn read(bytes: &[u8]) -> Result<Statements, ImportError> {
    import(&mut &*bytes, "x", None)
}

/// The figures, raw values and banners are those of the sample.
#[track_caller]
fn same(name: &str, bytes: &[u8], how: &str) {
    let found = read(bytes).unwrap_or_else(|e| panic!("{name}, {how}: {e}"));
    let own = read(&self::bytes(name)).unwrap();
    assert_eq!(found.figures, own.figures, "{name}, {how}");
    assert_eq!(found.samples, own.samples, "{name}, {how}");
    assert_eq!(found.source, own.source, "{name}, {how}");
}

fn samples() -> impl Iterator<Item = (&'static str, Tool)> {
    SAMPLES.iter().copied()
}

#[test]
fn a_prefix_of_several_words_is_taken_off_before_text_and_json() {
    for (name, tool) in samples() {
        for prefix in PREFIXES {
            // Its own console puts a program's name there.
            if tool == Tool::L4reIpcbench && prefix.contains('|') {
                continue;
            }
            same(name, with_prefix(&text(name), prefix).as_bytes(), prefix);
        }
    }
}

#[test]
fn an_empty_line_may_have_lost_the_blank_of_its_prefix() {
    for (name, _) in samples() {
        let text = with_prefix(&text(name), "2024-05-01T10:00:{n}Z ");
        let trimmed: Vec<&str> = text.lines().map(str::trim_end).collect();
        let found = read(trimmed.join("\n").as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(
            found.figures.len(),
            read(&bytes(name)).unwrap().figures.len()
        );
    }
}

#[test]
fn a_prefix_is_known_where_the_beginning_of_a_long_file_ends_within_a_line() {
    let row = |i: usize| format!("64 bytes: seq={i} rtt={}µs lat=6µs\n", 10 + i % 7);
    let rows: String = (0..3_000).map(row).collect();
    for prefix in [
        "May 01 10:00:{n} host bench: ",
        "2024-05-01 10:00:{n},123 INFO bench - ",
    ] {
        let found = read(with_prefix(&rows, prefix).as_bytes()).unwrap();
        assert_eq!(found.samples[0].values.len(), 3_000, "{prefix}");
    }
}

#[test]
fn colours_are_passed_over_with_and_without_a_prefix() {
    for (name, tool) in samples() {
        for prefix in ["", "name-1  | ", "May  1 10:00:{n} host bench[42]: "] {
            if tool == Tool::L4reIpcbench && prefix.contains('|') {
                continue;
            }
            let colour = |line: &str| {
                format!("\u{1b}[36m{prefix}\u{1b}[0m\u{1b}(B\u{1b}[m{line}\u{1b}]0;title\u{7}")
            };
            let lines: Vec<String> = text(name).lines().map(colour).collect();
            let mut all = with_prefix(&(lines.join("\n") + "\n"), "");
            all = all.replace("{n}", "07");
            same(name, all.as_bytes(), prefix);
        }
    }
}

#[test]
fn utf_16_is_read_in_both_orders_with_and_without_its_mark() {
    for (name, _) in samples() {
        for mark in ["\u{feff}", ""] {
            let text = format!("{mark}{}", text(name)).replace('\n', "\r\n");
            let units: Vec<u16> = text.encode_utf16().collect();
            let le: Vec<u8> = units.iter().flat_map(|u| u.to_le_bytes()).collect();
            let be: Vec<u8> = units.iter().flat_map(|u| u.to_be_bytes()).collect();
            same(name, &le, "little endian");
            same(name, &be, "big endian");
        }
    }
}

#[test]
fn utf_16_that_ends_within_a_character_is_no_other_file() {
    let text = "\u{feff}criterion \u{1d11e}\nb  time:   [1.0 ns 2.0 ns 3.0 ns]\n";
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let whole = read(&bytes).unwrap();
    assert_eq!(whole.figures.len(), 1);
    for end in 2..bytes.len() {
        if let Ok(cut) = read(&bytes[..end]) {
            assert_eq!(cut.figures, whole.figures, "{end}");
        }
    }
}

#[test]
fn a_host_and_a_program_are_only_a_prefix_where_all_lines_have_them() {
    let ping =
        "10:00:01 64 bytes: seq=1 rtt=12µs lat=6µs\n10:00:02 64 bytes: seq=2 rtt=40µs lat=20µs\n";
    assert_eq!(read(ping.as_bytes()).unwrap().samples[0].values.len(), 2);
    let threads = "10:00:01 T: 0 ( 11) P:80 I:1000 C: 20 Min: 4 Act: 5 Avg: 5 Max: 9\n10:00:01 T: 1 ( 12) P:80 I:1000 C: 20 Min: 4 Act: 5 Avg: 5 Max: 9\n";
    assert_eq!(read(threads.as_bytes()).unwrap().figures.len(), 6);
}

#[test]
fn numbers_of_lines_are_no_column() {
    let rows = text("cyclone-roundtrip/made-up.txt");
    let numbered: Vec<String> = (1..)
        .zip(rows.lines())
        .map(|(n, line)| format!("{n:6}\t{line}\n"))
        .collect();
    same(
        "cyclone-roundtrip/made-up.txt",
        numbered.concat().as_bytes(),
        "cat -n",
    );
    // Without the lines above them nothing says what is a number of a line.
    let cut = &numbered.concat()[numbered[..6].concat().len()..];
    let e = read(cut.as_bytes()).unwrap_err();
    assert!(!e.reason.contains("cut"), "{e}");
}

#[test]
fn names_that_begin_alike_are_kept() {
    let rows = "same seed    time:   [1.0 ns 2.0 ns 3.0 ns]\nsame size    time:   [1.0 ns 2.0 ns 3.0 ns]\n";
    let ids = |text: &str| -> Vec<String> {
        let found = read(text.as_bytes()).unwrap().figures.into_iter();
        found.map(|f| f.data).collect()
    };
    assert_eq!(ids(rows), ["same seed", "same size"]);
    for prefix in ["10:00:{n} ", "name-1  | ", "{n}\t"] {
        assert_eq!(
            ids(&with_prefix(rows, prefix)),
            ["same seed", "same size"],
            "{prefix}"
        );
    }
    let one = "10:00:01 64 B copy    time:   [1.0 ns 2.0 ns 3.0 ns]\n";
    assert_eq!(ids(one).len(), 1);
}

#[test]
fn what_only_the_first_line_has_is_named_and_no_cut() {
    let live = "note: T: 0 ( 5) P:80 I:1000 C:  20 Min: 4 Act: 5 Avg: 5 Max: 9\n99 of 100 done\n98 of 100 done\n";
    let e = read(live.as_bytes()).unwrap_err();
    assert!(
        e.to_string()
            .starts_with("x:1: this is output of cyclictest with the prefix `note: `")
            && !e.reason.contains("cut off"),
        "{e}"
    );
    // A mark that comes again at the beginning of its line is the better one.
    let again = format!("$ cyclictest # note: T: 0 (\n{}", &live[6..70]);
    assert_eq!(read(again.as_bytes()).unwrap().figures.len(), 3);
}

#[test]
fn a_message_of_several_lines_has_its_prefix_once() {
    for (name, _) in samples().filter(|(name, _)| name.ends_with("json")) {
        for prefix in [
            "2024-05-01 10:00:01,123 - bench - INFO - ",
            "bench: ",
            "1714557600.5 ",
        ] {
            same(name, format!("{prefix}{}", text(name)).as_bytes(), prefix);
        }
    }
}

#[test]
fn lines_of_several_sources_keep_theirs() {
    let sub = text("ddsperf/sub.txt").replace("[6932]", "[1]");
    let two: String = sub
        .split_inclusive('\n')
        .flat_map(|line| ["talker-1  | ", "listener-2  | "].map(|name| format!("{name}{line}")))
        .collect();
    let found = read(two.as_bytes()).unwrap();
    let one = read(sub.as_bytes()).unwrap();
    assert_eq!(found.figures.len(), 2 * one.figures.len());
    assert!(
        found
            .figures
            .iter()
            .any(|f| f.data == "subscriber 2, interval 5")
    );
}

#[test]
fn a_bracket_or_quotation_that_a_prefix_opens_is_closed() {
    for (name, _) in samples() {
        for (prefix, end) in [
            (
                "{n} 2026/11/22 10:00:{n}.123456 8461234 000 ECU1 APP1 CTX1 log info V 1 [",
                "]",
            ),
            ("    [info] [", "]"),
        ] {
            let line = |(i, line): (usize, &str)| {
                format!(
                    "{}{line}{end}\n",
                    prefix.replace("{n}", &format!("{:02}", i % 60))
                )
            };
            let all: String = text(name).lines().enumerate().map(line).collect();
            let found = read(all.as_bytes()).unwrap_or_else(|e| panic!("{name}, {prefix}: {e}"));
            assert_eq!(
                found.figures,
                read(&bytes(name)).unwrap().figures,
                "{name}, {prefix}"
            );
        }
    }
}

#[test]
fn a_text_of_several_lines_has_the_prefix_of_its_message_once() {
    let text = text("wrk/wrk.txt");
    same(
        "wrk/wrk.txt",
        format!("2024-05-01 10:00:01,123 INFO: {text}").as_bytes(),
        "logging",
    );
}

#[test]
fn a_line_with_another_prefix_is_said() {
    let rows = "64 bytes: seq=1 rtt=12µs lat=6µs\nhost: 64 bytes: seq=2 rtt=14µs lat=7µs\n64 bytes: seq=3 rtt=12µs lat=6µs\n";
    let found = read(rows.as_bytes()).unwrap();
    assert_eq!(found.samples[0].values.len(), 2);
    let said = "line 2 is ignored because of its prefix `host: `";
    assert!(
        found.notes.iter().any(|n| n.starts_with(said)),
        "{:?}",
        found.notes
    );
    let sockperf = read(&bytes("sockperf/ping-pong.txt")).unwrap();
    assert!(
        sockperf.notes.iter().all(|n| !n.contains("is ignored")),
        "{:?}",
        sockperf.notes
    );
}

#[test]
fn files_of_a_log_driver_and_texts_of_json_tools_say_what_to_do() {
    for (text, says) in [
        (
            "{\"log\":\"T: 0 ( 5) P:80\\n\",\"stream\":\"stdout\"}\n",
            "`docker logs NAME`",
        ),
        (
            "10:00:01 Connecting to host 127.0.0.1, port 5201\n",
            "run it with -J",
        ),
        (
            "j: (groupid=0, jobs=1): err= 0: pid=1\n",
            "`--output-format=json`",
        ),
    ] {
        let e = read(text.as_bytes()).unwrap_err();
        assert!(e.reason.contains(says), "{e}");
    }
}
