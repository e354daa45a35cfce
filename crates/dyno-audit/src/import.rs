//! From the raw output of tools to [`Statements`].
//!
//! A log is read line by line, a JSON document up to [`JSON_LIMIT`] as a whole, and what is kept is bounded, so that memory
//! does not grow with the file. What a tool does not print is left out. `docs/reference/importers.md` says what
//! each importer takes and leaves out.

mod caret;
mod criterion;
mod cyclictest;
mod ddsperf;
mod fio;
mod gbench;
mod hdr_log;
mod hdr_percentiles;
mod iceperf;
mod iperf3;
mod json;
mod kuksa;
mod l4re;
mod lines;
mod number;
mod out;
mod performance_test;
mod plain;
mod prefix;
mod rtiperftest;
mod sockperf;
mod stacks;
mod tables;
mod vlink;
mod wrk;

use crate::Statements;
use lines::Lines;
use prefix::Prefix;
use std::io::{BufRead, Cursor, Read as _};

pub(crate) use gbench::COUNTER;
pub use json::LIMIT as JSON_LIMIT;
pub use lines::LIMIT as LINE_LIMIT;
pub use out::{FIGURES, SAMPLES};

/// Bytes at the beginning by which a tool is recognised.
const HEAD: u64 = 64 << 10;

/// Where in a file something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The whole file.
    File,
    /// A line, from 1.
    Line(u64),
    /// A value of a JSON document, such as `jobs[0].read.iops`.
    Path(String),
}

/// Why the output of a tool cannot be read: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// The file.
    pub name: String,
    /// The place in it.
    pub at: At,
    /// What is wrong there, and what to do next.
    pub reason: String,
}

impl std::fmt::Display for ImportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, reason) = (&self.name, &self.reason);
        match &self.at {
            At::File => write!(f, "{name}: {reason}"),
            At::Line(line) => write!(f, "{name}:{line}: {reason}"),
            At::Path(path) => write!(f, "{name}, {path}: {reason}"),
        }
    }
}

impl std::error::Error for ImportError {}

impl ImportError {
    fn file(reason: impl Into<String>) -> ImportError {
        ImportError {
            name: String::new(),
            at: At::File,
            reason: reason.into(),
        }
    }

    fn line(line: u64, reason: impl Into<String>) -> ImportError {
        ImportError {
            at: At::Line(line),
            ..ImportError::file(reason)
        }
    }

    fn path(path: impl Into<String>, reason: impl Into<String>) -> ImportError {
        ImportError {
            at: At::Path(path.into()),
            ..ImportError::file(reason)
        }
    }
}

type Imported<T> = Result<T, ImportError>;

type Read = fn(&mut Lines<'_>) -> Imported<Statements>;

macro_rules! tools {
    ($($(#[$doc:meta])* $tool:ident = $word:literal, $read:expr, json [$($json:literal),*], text [$($mark:literal),*];)+) => {
        /// A tool whose output can be read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Tool { $($(#[$doc])* $tool,)+ }

        impl Tool {
            /// All of them.
            pub const ALL: &[Tool] = &[$(Tool::$tool,)+];

            /// As options and files write it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Tool::$tool => $word,)+ }
            }

            /// Beginnings of lines of which one stands in each text output of the tool and in no other's ([`prefix::find`]); behind a
            /// star, what follows a name.
            const fn marks(self) -> &'static [&'static str] {
                match self { $(Tool::$tool => &[$($mark),*],)+ }
            }

            /// Texts of which one stands in each JSON of the tool and in no other's.
            const fn json_marks(self) -> &'static [&'static str] {
                match self { $(Tool::$tool => &[$($json),*],)+ }
            }

            fn read(self, input: &mut Lines<'_>) -> Imported<Statements> {
                let read: Read = match self { $(Tool::$tool => $read,)+ };
                read(input)
            }
        }
    };
}

tools! {
    /// Google Benchmark, console and JSON.
    GoogleBenchmark = "google-benchmark", gbench::read, json ["\"benchmarks\""], text ["Benchmark Time CPU Iterations"];
    /// The tables of iceoryx's example iceperf.
    Iceperf = "iceperf", iceperf::read, json [], text ["#### Measurement Result ####", "| Payload Size"];
    /// Logs of L4Re's ipcbench.
    L4reIpcbench = "l4re-ipcbench", l4re::read, json [], text ["CPU {} done {} IPCs in ", "CPU {} done {} syscalls in "];
    /// HdrHistogram's interval logs.
    HdrLog = "hdr-log", hdr_log::read, json [], text ["#[Histogram log format", "\"StartTimestamp\""];
    /// wrk and wrk2; before HdrHistogram's percentiles, which wrk2 prints too.
    Wrk2 = "wrk2", wrk::read, json [], text ["Running {}s test @ ", "Running {}m test @ ", "Thread Stats Avg"];
    /// HdrHistogram's percentile texts.
    HdrPercentiles = "hdr-percentiles", hdr_percentiles::read, json [],
        text ["Value Percentile TotalCount 1/(1-Percentile)", "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\""];
    /// iperf3's JSON.
    Iperf3 = "iperf3", iperf3::read, json ["\"connected\""], text [];
    /// cyclictest: text, histogram, verbose and JSON; the JSON of other programs of rt-tests.
    Cyclictest = "cyclictest", cyclictest::read, json ["\"rt_test_version"],
        text ["T: 0 (", "# Min Latencies:", "# Histogram", "0: 0: {}"];
    /// sockperf: what it prints, and its full log.
    Sockperf = "sockperf", sockperf::read, json [], text ["sockperf: ", "packet, txTime(sec), rxTime(sec)"];
    /// Cyclone DDS's ddsperf.
    Ddsperf = "ddsperf", ddsperf::read, json [],
        text ["[{}] participant ", "[{}] {} rss:", "[{}] {} size {} total ", "[{}] {} {*} size {} mean "];
    /// CSV and JSON of Apex.AI's performance_test.
    PerformanceTest = "performance_test", performance_test::read, json ["\"perf_test_version\"", "\"analysis_results\""],
        text ["T_experiment,", "T_experiment "];
    /// RTI Perftest: legacy text, CSV and JSON.
    Rtiperftest = "rtiperftest", rtiperftest::read, json ["\"perftest\""],
        text ["One way Latency: {}", "Length: {} Latency: Ave", "Packets: {} Packets/s: ", "Length: {} Packets: ", "Length (Bytes),"];
    /// fio's JSON.
    Fio = "fio", fio::read, json ["\"fio version\""], text [];
    /// criterion: console, `estimates.json` and `sample.json`; the messages of cargo-criterion.
    Criterion = "criterion", criterion::read,
        json ["\"confidence_interval\"", "\"sampling_mode\"", "\"benchmark-complete\""], text ["*time: ["];
    /// Eclipse KUKSA's kuksa-perf, formerly databroker-perf.
    KuksaPerf = "kuksa-perf", |input| tables::read(input, &kuksa::TABLE), json [], text ["{}% in under ", "Sent: {} signal updates"];
    /// Fast DDS's LatencyTest.
    FastddsLatencytest = "fastdds-latencytest", |input| tables::read(input, &stacks::FASTDDS), json [], text ["Printing round-trip times in"];
    /// zenoh's example z_ping.
    ZPing = "z_ping", |input| tables::read(input, &stacks::Z_PING), json [], text ["{} bytes: seq="];
    /// The benchmarks of iceoryx2.
    Iceoryx2 = "iceoryx2", |input| tables::read(input, &stacks::ICEORYX2), json [], text ["iceoryx2::{*} ::: Iterations: ", "{*} ::: Iterations: "];
    /// Paths of TIER IV's caret_report.
    Caret = "caret", caret::read, json [], text ["- target_path_name: "];
    /// VLink's vlink-bench.
    VlinkBench = "vlink-bench", vlink::read, json ["\"planned_case_count\""], text [];
    /// Cyclone DDS's example RoundtripPing.
    CycloneRoundtrip = "cyclone-roundtrip", |input| tables::read(input, &stacks::CYCLONE), json [],
        text ["# payloadSize: {} | numSamples:", "# Latency measurements (in us)"];
}

/// What is recognised of a file.
struct Known {
    tool: Tool,
    is_json: bool,
    before: Prefix,
}

impl Tool {
    /// From its word.
    pub fn from_word(word: &str) -> Option<Tool> {
        Tool::ALL.iter().copied().find(|t| t.as_str() == word)
    }

    /// The tool that wrote something that begins like this, of `wanted` where that is said: what comes first, unless the lines below it do
    /// not begin as it does.
    fn of_head(head: &str, wanted: Option<Tool>) -> Imported<Option<Known>> {
        let lines: Vec<&str> = head.lines().collect();
        let wants = |t: &Tool| wanted.is_none_or(|w| w == *t);
        let all = || Tool::ALL.iter().copied().filter(wants);
        let (mut unsure, mut at, mut may_be_json) = (None, 0, true);
        for (i, line) in lines.iter().enumerate() {
            let (from, rest) = (&lines[i..], &head[at..]);
            at += line.len() + 1;
            let json = line.find('{').filter(|own| is_json(&line[*own..]));
            if let Some(own) = json.filter(|_| may_be_json) {
                // The mark that comes first: a later one may be the name of a member.
                let found = all().filter_map(|t| {
                    let first = t
                        .json_marks()
                        .iter()
                        .filter_map(|mark| rest.find(mark))
                        .min();
                    let named = wanted.is_some() && own == 0 && !t.json_marks().is_empty();
                    Some((first.or(named.then_some(0))?, t))
                });
                let found = found.min_by_key(|(first, _)| *first);
                // Where no mark follows, none follows later.
                may_be_json = found.is_some() || wanted.is_some();
                if let Some((_, tool)) = found {
                    let message = || Prefix::of_message(&line[..own]);
                    let before = Prefix::of(from, own).unwrap_or_else(message);
                    let is_json = true;
                    return Ok(Some(Known {
                        tool,
                        is_json,
                        before,
                    }));
                }
            }
            let found = all().find_map(|t| Some((t, t.mark(line)?)));
            let Some((tool, (mut own, named))) = found else {
                continue;
            };
            // Its own console puts the program's name before each line.
            if tool == Tool::L4reIpcbench
                && let Some(name) = line[..own].trim_end().strip_suffix('|')
            {
                let of_name = |c: char| c.is_alphanumeric() || ['_', '-'].contains(&c);
                own = name.trim_end().trim_end_matches(of_name).len();
            }
            let before = match named {
                Some(mark) => Some(Prefix::of_names(from, own, mark)),
                None => Prefix::of(from, own),
            };
            let Some(mut before) = before else {
                unsure.get_or_insert((i, tool, &line[..own]));
                continue;
            };
            if let (true, Some((_, of, first))) = (before.is_empty(), unsure) {
                let message = Prefix::of_message(first);
                if of == tool && message.is_instant() {
                    before = message;
                }
            }
            let is_json = false;
            return Ok(Some(Known {
                tool,
                is_json,
                before,
            }));
        }
        if let Some((i, tool, before)) = unsure {
            let before: String = before.chars().take(80).collect();
            return Err(ImportError::line(
                i as u64 + 1,
                format!(
                    "this is output of {} behind `{before}`, which the lines below it do not have, \
                     so Dyno cannot tell which lines belong to the output; remove what others \
                     wrote before its lines, and import it again",
                    tool.as_str()
                ),
            ));
        }
        Ok(wanted.map(|tool| Known {
            tool,
            is_json: false,
            before: Prefix::default(),
        }))
    }

    /// Where a mark of the tool begins in a line, and the mark where a name may stand before it.
    fn mark(self, line: &str) -> Option<(usize, Option<&'static str>)> {
        self.marks().iter().find_map(|mark| {
            let named = mark.strip_prefix('*');
            Some((prefix::find(named.unwrap_or(mark), line)?, named))
        })
    }

    /// The other tool that this line is surely of.
    fn foreign(self, line: &str) -> Option<Tool> {
        let other = |t: &Tool| *t != self && t.mark(line).is_some();
        Tool::ALL.iter().copied().find(other)
    }
}

/// Whether this may be the beginning of a JSON document.
fn is_json(text: &str) -> bool {
    let inner = text.trim_start_matches('{').trim_start();
    // A bracket may close what stands before it.
    text.starts_with('{') && (inner.is_empty() || inner.starts_with(['"', '}', ']']))
}

/// Reads the output of a tool; without `tool` it is recognised by its beginning. `name` stands in errors.
///
/// # Errors
/// One [`ImportError`] with its place: the tool is not known, a line or value is not what the tool writes, there is no
/// figure, or there is more than can be kept ([`FIGURES`], [`JSON_LIMIT`], [`LINE_LIMIT`]).
pub fn import(
    reader: &mut dyn BufRead,
    name: &str,
    tool: Option<Tool>,
) -> Result<Statements, ImportError> {
    let named = |e: ImportError| ImportError {
        name: name.to_owned(),
        ..e
    };
    let failed = |e| named(ImportError::file(format!("cannot be read: {e}")));
    let mut head = Vec::new();
    reader.take(HEAD).read_to_end(&mut head).map_err(failed)?;
    let mut whole = plain::utf8(head, reader);
    let mut head = Vec::new();
    (&mut whole)
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(failed)?;
    let mut clean = String::new();
    for line in String::from_utf8_lossy(&head).split_inclusive('\n') {
        plain::plain(line, &mut clean);
        clean.push('\n');
    }
    // The last line of a longer file is not all there.
    if head.len() as u64 == HEAD {
        let end = clean.trim_end().rfind('\n');
        clean.truncate(end.map_or(clean.len(), |end| end + 1));
    }
    if clean.trim_start().starts_with("{\"log\":\"") {
        return Err(named(ImportError::file(
            "this is a file of Docker's log driver, which has each line in JSON of its own; `docker logs NAME` prints the lines themselves",
        )));
    }
    let known = Tool::of_head(&clean, tool).map_err(named)?;
    let known = known.ok_or_else(|| named(unknown(&clean)))?;
    let tool = known.tool;
    let mut whole = Cursor::new(head).chain(whole);
    let mut input = Lines::new(&mut whole, known);
    let read = tool.read(&mut input);
    let mut statements = read.map_err(|e| named(input.of_end(e)))?;
    statements.source.title = name.to_owned();
    let read = input.number();
    statements.notes.extend(input.into_notes());
    if statements.figures.is_empty() && statements.samples.is_empty() {
        let why = match statements.notes.is_empty() {
            true => "it may have ended before its first result; if another tool printed it, name that tool with --tool"
                .to_owned(),
            false => statements.notes.join("; "),
        };
        return Err(named(ImportError::file(format!(
            "no figure of {} in its {read} lines: {why}",
            tool.as_str()
        ))));
    }
    Ok(statements)
}

/// Outputs that are known and not read: a text in each, what it is and what to do.
const KNOWN: [(&str, &str); 9] = [
    (
        "\"started_unix_ms\":",
        "this file belongs to a run of Dyno or was exported from one; give the directory or name of the run instead",
    ),
    (
        "#1 -> #0, Min",
        "this is the text of pmqtest, ptsematest, svsematest or sigwaittest of rt-tests, which does not say which; run it with `--json=FILE` and import that",
    ),
    (
        "iperf 3.",
        "this is the text of iperf3; run it with -J and import its JSON",
    ),
    (
        "Connecting to host ",
        "this is the text of iperf3; run it with -J and import its JSON",
    ),
    (
        ": (groupid=",
        "this is the text of fio; run it with `--output-format=json` and import its JSON",
    ),
    (
        "oslat V",
        "this is the text of oslat of rt-tests, which times gaps of a busy loop and is not read",
    ),
    (
        "Running in process mode with",
        "this is the output of hackbench, which prints one time of all messages together and is not read",
    ),
    (
        "packets transmitted,",
        "this is the output of ping, which is not read",
    ),
    (
        "Usage:",
        "this is the help text of a tool, which did not measure; check the options with which it was started",
    ),
];

fn unknown(head: &str) -> ImportError {
    if let Some((_, says)) = KNOWN.iter().find(|(mark, _)| head.contains(mark)) {
        return ImportError::file(*says);
    }
    let known: Vec<&str> = Tool::ALL.iter().map(|t| t.as_str()).collect();
    ImportError::file(format!(
        "no supported tool was recognised by the first lines; if one of these printed it, name that tool with --tool: {}",
        known.join(", ")
    ))
}
