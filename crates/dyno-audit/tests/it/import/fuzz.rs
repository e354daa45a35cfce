//! Samples with mutations: whatever comes in, there is no panic, and an error has its place. What once broke an importer is in
//! `tests/data/corpus`.

use crate::import::samples::{SAMPLES, bytes, path};
use dyno_audit::import::{Tool, import};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What parsers trip over.
const WORDS: &[&str] = &[
    "-1",
    "0",
    "1e308",
    "-0.0",
    "NaN",
    "inf",
    "1e-400",
    "18446744073709551616",
    "9223372036854775807",
    "99999999999999999999999999",
    "1,5",
    "%",
    "[",
    "]",
    "{",
    "}",
    "\"",
    ":",
    ",",
    "=",
    "/",
    "|",
    "#",
    "\u{1b}[",
    "\u{feff}",
    "\u{0}",
    "\r",
    "\n\n",
    "\t",
    "µs",
    "…",
    "e",
    ".",
    "-",
    "+",
    "null",
    "true",
    "\"\"",
    "[]",
    "{}",
];

#[derive(Debug, Clone)]
enum Change {
    Flip {
        at: u16,
        to: u8,
    },
    Cut {
        at: u16,
        len: u16,
    },
    Repeat {
        at: u16,
        len: u16,
    },
    Word {
        at: u16,
        word: usize,
    },
    Move {
        from: u16,
        len: u16,
        to: u16,
    },
    /// Digits at the first number behind `at` become this word.
    Number {
        at: u16,
        word: usize,
    },
}

/// `at` is a part of 65,536 of the file.
fn place(at: u16, len: usize) -> usize {
    usize::from(at) * len / 65_536
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    if bytes.is_empty() {
        return;
    }
    let len = bytes.len();
    match *change {
        Change::Flip { at, to } => bytes[place(at, len)] = to,
        Change::Cut { at, len: cut } => {
            let at = place(at, len);
            let cut = usize::from(cut % 200).min(len - at);
            bytes.drain(at..at + cut);
        }
        Change::Repeat { at, len: more } => {
            let at = place(at, len);
            let part = bytes[at..(at + usize::from(more % 400)).min(len)].to_vec();
            bytes.splice(at..at, part);
        }
        Change::Word { at, word } => {
            let at = place(at, len);
            bytes.splice(at..at, WORDS[word % WORDS.len()].bytes());
        }
        Change::Move {
            from,
            len: part,
            to,
        } => {
            let from = place(from, len);
            let part: Vec<u8> = bytes[from..(from + usize::from(part % 200)).min(len)].to_vec();
            let to = place(to, len);
            bytes.splice(to..to, part);
        }
        Change::Number { at, word } => {
            let at = place(at, len);
            let Some(first) = bytes[at..]
                .iter()
                .position(u8::is_ascii_digit)
                .map(|i| at + i)
            else {
                return;
            };
            let digits = bytes[first..]
                .iter()
                .take_while(|b| b.is_ascii_digit() || **b == b'.')
                .count();
            bytes.splice(first..first + digits, WORDS[word % WORDS.len()].bytes());
        }
    }
}

/// What must hold for any input.
fn hold(bytes: &[u8], tool: Tool) {
    for tool in [Some(tool), None] {
        match import(&mut &*bytes, "fuzzed", tool) {
            Err(e) => assert!(
                !e.reason.is_empty() && e.name == "fuzzed" && e.to_string().len() < 2_000,
                "{e}"
            ),
            Ok(s) => {
                for f in &s.figures {
                    let p = &f.printed;
                    assert!(
                        p.value.is_finite() && p.half_step >= 0.0 && p.unit.factor > 0.0,
                        "{f:?}"
                    );
                    assert!(f.place.text.chars().count() <= 200, "{f:?}");
                }
                for s in &s.samples {
                    assert!(
                        s.values.iter().all(|v| v.is_finite()) && s.values.len() == s.each.len()
                    );
                }
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let (at, len, word) = (any::<u16>(), any::<u16>(), any::<usize>());
    prop_oneof![
        (at, any::<u8>()).prop_map(|(at, to)| Change::Flip { at, to }),
        (at, len).prop_map(|(at, len)| Change::Cut { at, len }),
        (at, len).prop_map(|(at, len)| Change::Repeat { at, len }),
        (at, word).prop_map(|(at, word)| Change::Word { at, word }),
        (at, len, any::<u16>()).prop_map(|(from, len, to)| Change::Move { from, len, to }),
        (at, word).prop_map(|(at, word)| Change::Number { at, word }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_output_never_breaks_an_importer(which in 0..SAMPLES.len(), changes in prop::collection::vec(change(), 1..12)) {
        let (name, tool) = SAMPLES[which];
        let mut bytes = bytes(name);
        for change in &changes {
            apply(&mut bytes, change);
        }
        hold(&bytes, tool);
    }

    #[test]
    fn any_bytes_never_break_an_importer(bytes in prop::collection::vec(any::<u8>(), 0..400), which in 0..Tool::ALL.len()) {
        hold(&bytes, Tool::ALL[which]);
    }
}

#[test]
fn what_once_broke_an_importer_does_so_no_more() {
    let Ok(folder) = std::fs::read_dir(path("corpus")) else {
        return;
    };
    for file in folder {
        let file = file.unwrap().path();
        let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let word = stem
            .rsplit_once('.')
            .map_or(stem.as_str(), |(word, _)| word);
        let tool = Tool::from_word(word).unwrap_or_else(|| panic!("{word} is no tool"));
        hold(&std::fs::read(&file).unwrap(), tool);
    }
}

/// The tools of `DYNO_FUZZ_TOOLS`, such as `sockperf,ddsperf`.
fn chosen(words: &str) -> Vec<Tool> {
    let tool = |word| {
        Tool::from_word(word).unwrap_or_else(|| panic!("DYNO_FUZZ_TOOLS: {word} is no tool"))
    };
    words.split(',').map(str::trim).map(tool).collect()
}

#[test]
fn tools_to_fuzz_are_chosen_by_their_words() {
    let two = [Tool::Sockperf, Tool::Ddsperf];
    assert_eq!(chosen("sockperf, ddsperf"), two);
}

#[test]
#[should_panic = "DYNO_FUZZ_TOOLS: sockpref is no tool"]
fn a_word_that_is_no_tool_is_named() {
    chosen("ddsperf,sockpref");
}

/// Mutates the samples of each tool for `DYNO_FUZZ_SECONDS` (600), two tools at a time, and writes what breaks into the temporary folder.
/// `DYNO_FUZZ_TOOLS` names the tools; else it is all.
#[test]
#[ignore = "more than an hour"]
fn fuzz_each_importer() {
    let seconds = std::env::var("DYNO_FUZZ_SECONDS");
    let seconds = seconds.ok().and_then(|s| s.parse().ok()).unwrap_or(600);
    let mut tools: BTreeMap<Tool, Vec<Vec<u8>>> = BTreeMap::new();
    let wanted =
        std::env::var("DYNO_FUZZ_TOOLS").map_or_else(|_| Tool::ALL.to_vec(), |w| chosen(&w));
    for (name, tool) in SAMPLES.iter().filter(|(_, tool)| wanted.contains(tool)) {
        tools.entry(*tool).or_default().push(bytes(name));
    }
    let left = Mutex::new(tools);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = left.lock().unwrap().pop_first();
                    let Some((tool, samples)) = next else {
                        return;
                    };
                    fuzz(tool, &samples, Duration::from_secs(seconds));
                }
            });
        }
    });
}

fn fuzz(tool: Tool, samples: &[Vec<u8>], time: Duration) {
    let begin = Instant::now();
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let mut state = u64::from(nanos) ^ (tool as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    // xorshift64, Marsaglia 2003.
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut runs, mut read, mut broken) = (0u64, 0u64, 0u32);
    while begin.elapsed() < time {
        let r = next();
        let mut bytes = samples[(r % samples.len() as u64) as usize].clone();
        for _ in 0..1 + (r >> 8) % 12 {
            let (a, b, c) = (next(), next() as u16, next() as u16);
            let at = (a >> 16) as u16;
            let word = usize::from(c);
            let change = match a % 6 {
                0 => Change::Flip { at, to: b as u8 },
                1 => Change::Cut { at, len: b },
                2 => Change::Repeat { at, len: b },
                3 => Change::Word { at, word },
                4 => Change::Move {
                    from: at,
                    len: b,
                    to: c,
                },
                _ => Change::Number { at, word },
            };
            apply(&mut bytes, &change);
        }
        if r % 7 == 0 {
            let other = &samples[(r >> 32) as usize % samples.len()];
            let from = place(next() as u16, other.len());
            bytes.extend_from_slice(&other[from..]);
        }
        runs += 1;
        let held = std::panic::catch_unwind(|| hold(&bytes, tool));
        if held.is_err() {
            broken += 1;
            let file = std::env::temp_dir().join(format!("{}.{broken}.fuzzed", tool.as_str()));
            std::fs::write(&file, &bytes).unwrap();
            println!("{}: broken by {}", tool.as_str(), file.display());
            assert!(broken < 5, "{} breaks again and again", tool.as_str());
        } else if import(&mut bytes.as_slice(), "x", Some(tool)).is_ok() {
            read += 1;
        }
    }
    println!(
        "{}: {runs} inputs in {} s, {read} of them still read, {broken} broken",
        tool.as_str(),
        time.as_secs()
    );
    assert_eq!(broken, 0, "{}", tool.as_str());
}
