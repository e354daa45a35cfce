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
