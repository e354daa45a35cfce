//! From the raw output of tools to [`Statements`].
//!
//! A log is read line by line, a JSON document up to [`JSON_LIMIT`] as a whole, and what is kept is bounded, so that memory
//! does not grow with the file. What a tool does not print is left out. `docs/reference/importers.md` says what
//! each importer takes and leaves out.

mod caret;
mod criterion;
mod cyclictest;
mod ddsperf;
mod error;
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
mod tool;
mod vlink;
mod wrk;

use crate::Statements;
use error::Imported;
use lines::Lines;
use std::io::{BufRead, Cursor, Read as _};

pub use error::{At, ImportError};
pub(crate) use gbench::COUNTER;
pub use json::LIMIT as JSON_LIMIT;
pub use lines::LIMIT as LINE_LIMIT;
pub use out::{FIGURES, SAMPLES};
pub use tool::Tool;

/// Bytes at the beginning by which a tool is recognised.
const HEAD: u64 = 64 << 10;

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
            "this is a file of Docker's log driver, which wraps each line in JSON; import the output of `docker logs NAME` instead",
        )));
    }
    let known = Tool::of_head(&clean, tool).map_err(named)?;
    let known = known.ok_or_else(|| named(unknown(&clean)))?;
    let tool = known.tool;
    let mut whole = Cursor::new(head).chain(whole);
    let mut input = Lines::new(&mut whole, known);
    let read = read(tool, &mut input);
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

/// Reads the output of a tool with its importer.
fn read(tool: Tool, input: &mut Lines<'_>) -> Imported<Statements> {
    match tool {
        Tool::GoogleBenchmark => gbench::read(input),
        Tool::Iceperf => iceperf::read(input),
        Tool::L4reIpcbench => l4re::read(input),
        Tool::HdrLog => hdr_log::read(input),
        Tool::Wrk2 => wrk::read(input),
        Tool::HdrPercentiles => hdr_percentiles::read(input),
        Tool::Iperf3 => iperf3::read(input),
        Tool::Cyclictest => cyclictest::read(input),
        Tool::Sockperf => sockperf::read(input),
        Tool::Ddsperf => ddsperf::read(input),
        Tool::PerformanceTest => performance_test::read(input),
        Tool::Rtiperftest => rtiperftest::read(input),
        Tool::Fio => fio::read(input),
        Tool::Criterion => criterion::read(input),
        Tool::KuksaPerf => tables::read(input, &kuksa::TABLE),
        Tool::FastddsLatencytest => tables::read(input, &stacks::FASTDDS),
        Tool::ZPing => tables::read(input, &stacks::Z_PING),
        Tool::Iceoryx2 => tables::read(input, &stacks::ICEORYX2),
        Tool::Caret => caret::read(input),
        Tool::VlinkBench => vlink::read(input),
        Tool::CycloneRoundtrip => tables::read(input, &stacks::CYCLONE),
    }
}

/// Outputs that are known and not read: a text in each, what it is and what to do.
const KNOWN: [(&str, &str); 9] = [
    (
        "\"started_unix_ms\":",
        "this file belongs to a run of Dyno or was exported from one; give the directory or name of the run instead",
    ),
    (
        "#1 -> #0, Min",
        "this is text output of pmqtest, ptsematest, svsematest or sigwaittest (rt-tests), which does not name the tool; run the tool with `--json=FILE` and import that file",
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
        "this is output of oslat (rt-tests), which times gaps of a busy loop; Dyno cannot import it",
    ),
    (
        "Running in process mode with",
        "this is output of hackbench, which prints one time of all messages together; Dyno cannot import it",
    ),
    (
        "packets transmitted,",
        "this is output of ping, which Dyno cannot import",
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
        "Dyno does not recognise the tool that wrote this file; if it is one of these, name it with --tool: {}",
        known.join(", ")
    ))
}
