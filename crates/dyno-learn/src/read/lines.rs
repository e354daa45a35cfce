//! Lines of bounded length.

use crate::format::Failed;
use crate::traffic::{Place, Traffic};
use std::borrow::Cow;
use std::io::BufRead;

/// A longer line is left out, in bytes.
const LONGEST: usize = 64 * 1024;

/// Calls `take` with the number and the text of each line that is not blank. Bytes that are no UTF-8 are replaced.
pub(crate) fn each(
    source: &mut dyn BufRead,
    traffic: &mut Traffic,
    mut take: impl FnMut(&mut Traffic, u64, &str) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let mut line = Vec::new();
    let mut number = 0;
    while next(source, &mut line)? {
        number += 1;
        if line.len() > LONGEST {
            traffic.problem(
                Place::Line(number),
                "a line of more than 64 KiB; it is left out",
            );
            continue;
        }
        let bytes = match number {
            1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line),
            _ => &line,
        };
        let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
        let text = text.trim();
        if !text.is_empty() {
            take(traffic, number, text)?;
        }
    }
    Ok(())
}

/// Reads a line into `line`, at most one byte more than [`LONGEST`]; the rest of a longer one is skipped. `false` at the end.
fn next(source: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    let mut read = false;
    loop {
        let bytes = source.fill_buf()?;
        if bytes.is_empty() {
            return Ok(read);
        }
        read = true;
        let end = bytes.iter().position(|b| *b == b'\n');
        let part = end.unwrap_or(bytes.len());
        let room = (LONGEST + 1).saturating_sub(line.len()).min(part);
        line.extend_from_slice(&bytes[..room]);
        let used = end.map_or(part, |end| end + 1);
        source.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}
