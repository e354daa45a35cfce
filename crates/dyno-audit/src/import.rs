//! From the raw output of tools to [`Statements`].
//!
//! A log is read line by line, a JSON document up to [`JSON_LIMIT`] as a whole, and what is kept is bounded, so that memory
//! does not grow with the file. What a tool does not print is left out. `docs/reference/importers.md` says what
//! each importer takes and leaves out.

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
mod rtiperftest;
mod sockperf;
mod wrk;

use crate::Statements;
use lines::Lines;
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

macro_rules! tools {
    ($($(#[$doc:meta])* $tool:ident = $word:literal, $read:path, $json:expr, [$($mark:literal),+];)+) => {
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

            /// Texts of which one stands in each output of the tool and in no other's.
            const fn marks(self) -> &'static [&'static str] {
                match self { $(Tool::$tool => &[$($mark),+],)+ }
            }

            /// A text in the tool's JSON and in no other's, where it writes JSON.
            const fn json_mark(self) -> Option<&'static str> {
                match self { $(Tool::$tool => $json,)+ }
            }

            fn read(self, input: &mut Lines<'_>) -> Imported<Statements> {
                match self { $(Tool::$tool => $read(input),)+ }
            }
        }
    };
}

tools! {
    /// Google Benchmark, console and JSON.
    GoogleBenchmark = "google-benchmark", gbench::read, Some("\"benchmarks\""), ["UserCounters...", "   CPU   Iterations", "   CPU Iterations"];
    /// The tables of iceoryx's example iceperf.
    Iceperf = "iceperf", iceperf::read, None, ["#### Measurement Result ####", "| Payload Size [kB]"];
    /// Logs of L4Re's ipcbench.
    L4reIpcbench = "l4re-ipcbench", l4re::read, None, [" IPCs in ", " syscalls in "];
    /// HdrHistogram's interval logs.
    HdrLog = "hdr-log", hdr_log::read, None, ["[Histogram log format", "\"StartTimestamp\""];
    /// wrk and wrk2; before HdrHistogram's percentiles, which wrk2 prints too.
    Wrk2 = "wrk2", wrk::read, None, ["Thread Stats   Avg"];
    /// HdrHistogram's percentile texts.
    HdrPercentiles = "hdr-percentiles", hdr_percentiles::read, None, ["1/(1-Percentile)"];
    /// iperf3's JSON.
    Iperf3 = "iperf3", iperf3::read, Some("\"connected\""), ["iperf 3"];
    /// cyclictest: text, histogram, verbose and JSON.
    Cyclictest = "cyclictest", cyclictest::read, Some("\"rt_test_version"), ["T: 0 (", "# Min Latencies:", "       0:       0:"];
    /// sockperf: what it prints, and its full log.
    Sockperf = "sockperf", sockperf::read, None, ["sockperf: ", "packet, txTime(sec), rxTime(sec)"];
    /// Cyclone DDS's ddsperf.
    Ddsperf = "ddsperf", ddsperf::read, None, ["] participant ", " vcsw:"];
    /// CSV of Apex.AI's performance_test.
    PerformanceTest = "performance_test", performance_test::read, None, ["T_experiment,", "T_experiment\t"];
    /// RTI Perftest: legacy text, CSV and JSON.
    Rtiperftest = "rtiperftest", rtiperftest::read, Some("\"perftest\""), ["One way Latency:", "Latency: Ave", "Packets/s(ave):", "Length (Bytes),"];
    /// fio's JSON.
    Fio = "fio", fio::read, Some("\"fio version\""), ["fio-3."];
    /// criterion: console, `estimates.json` and `sample.json`.
    Criterion = "criterion", criterion::read, Some("\"confidence_interval\""), ["time:   ["];
    /// Eclipse KUKSA's kuksa-perf, formerly databroker-perf.
    KuksaPerf = "kuksa-perf", kuksa::read, None, ["% in under", "signal updates"];
}

impl Tool {
    /// From its word.
    pub fn from_word(word: &str) -> Option<Tool> {
        Tool::ALL.iter().copied().find(|t| t.as_str() == word)
    }

    /// The tool that wrote something that begins like this.
    fn of_head(head: &str) -> Option<Tool> {
        let all = || Tool::ALL.iter().copied();
        if head
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with('{')
        {
            let marked = all().find(|t| t.json_mark().is_some_and(|mark| head.contains(mark)));
            // criterion's sample.json has none of the names of its estimates.json.
            return marked.or_else(|| {
                head.contains("\"sampling_mode\"")
                    .then_some(Tool::Criterion)
            });
        }
        let of_line = |line: &str| all().find(|t| t.marks().iter().any(|mark| line.contains(mark)));
        head.lines().find_map(of_line)
    }

    /// The other tool that this line is surely of.
    fn foreign(self, line: &str) -> Option<Tool> {
        let other = |t: &Tool| *t != self && t.marks().iter().any(|mark| line.contains(mark));
        Tool::ALL.iter().copied().find(other)
    }
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
    let mut head = Vec::new();
    let taken = reader.take(HEAD).read_to_end(&mut head);
    taken.map_err(|e| named(ImportError::file(format!("cannot be read: {e}"))))?;
    let tool = match tool {
        Some(tool) => tool,
        None => Tool::of_head(&String::from_utf8_lossy(&head)).ok_or_else(|| named(unknown()))?,
    };
    let mut whole = Cursor::new(head).chain(reader);
    let mut input = Lines::new(&mut whole, tool);
    let mut statements = tool.read(&mut input).map_err(named)?;
    statements.source.title = name.to_owned();
    if statements.figures.is_empty() && statements.samples.is_empty() {
        let read = input.number();
        return Err(named(ImportError::file(format!(
            "no figure of {} in its {read} lines; was the file cut off, or is it the output of another tool?",
            tool.as_str()
        ))));
    }
    Ok(statements)
}

fn unknown() -> ImportError {
    let known: Vec<&str> = Tool::ALL.iter().map(|t| t.as_str()).collect();
    ImportError::file(format!(
        "its beginning is that of no tool that can be imported; if it is from one of these, name it with --tool: {}",
        known.join(", ")
    ))
}
