//! Lines of a log, one at a time: bounded in length, without escape sequences and what others wrote before them, with their numbers.

use super::error::{At, ImportError, Imported};
use super::plain::plain;
use super::prefix::Prefix;
use super::tool::{Known, Tool};
use std::io::{BufRead, Read as _};

/// The longest line in bytes; a longer one is refused.
pub const LIMIT: u64 = 4 << 20;

pub(super) struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    tool: Tool,
    is_json: bool,
    number: u64,
    /// Whether the line that was read last ends.
    has_end: bool,
    bytes: Vec<u8>,
    text: String,
    before: Prefix,
    /// What stood before the line and was taken off, without instants.
    source: String,
    is_prefixed: bool,
    /// Whether a line with another prefix is said.
    is_passed_over: bool,
    /// What the reader of the statements should know of the file.
    notes: Vec<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: &'a mut dyn BufRead, known: Known) -> Lines<'a> {
        Lines {
            reader,
            tool: known.tool,
            is_json: known.is_json,
            number: 0,
            has_end: true,
            bytes: Vec::new(),
            text: String::new(),
            before: known.before,
            source: String::new(),
            is_prefixed: false,
            is_passed_over: false,
            notes: Vec::new(),
        }
    }

    /// Says something of the file.
    pub(super) fn note(&mut self, note: String) {
        if self.notes.len() < NOTES {
            self.notes.push(note);
        }
    }

    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// Whose line was read last, as what stood before it says: `talker-1 | `.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn tool(&self) -> Tool {
        self.tool
    }

    /// Number of the line that was read last, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its end and without escape sequences; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Imported<Option<&str>> {
        match self.next_within(LIMIT)? {
            true if self.bytes.len() as u64 > LIMIT => {
                Err(self.error(format!("the line is longer than {LIMIT} bytes")))
            }
            true => {
                if !self.has_end {
                    self.note(format!(
                        "the last line, {}, has no line end: if the file was cut off there, a number may lack digits",
                        self.number
                    ));
                }
                Ok(Some(&self.text))
            }
            false => Ok(None),
        }
    }

    /// Reads a line, or the first bytes of one that is longer than `limit`; whether there is one.
    fn next_within(&mut self, limit: u64) -> Imported<bool> {
        self.bytes.clear();
        self.text.clear();
        let read = (&mut *self.reader)
            .take(limit + 1)
            .read_until(b'\n', &mut self.bytes);
        match read {
            Err(e) => {
                self.number += 1;
                return Err(self.error(format!("cannot be read: {e}")));
            }
            Ok(0) => return Ok(false),
            Ok(_) => self.number += 1,
        }
        self.has_end = self.bytes.ends_with(b"\n") || self.bytes.len() as u64 > limit;
        plain(&String::from_utf8_lossy(&self.bytes), &mut self.text);
        let found = self.before.of_line(&self.text);
        if found.end > 0 {
            let before = self.text[..found.end].trim().to_owned();
            if !before.is_empty() && !std::mem::replace(&mut self.is_prefixed, true) {
                let number = self.number;
                self.note(format!(
                    "Dyno removed the prefixes of lines, such as `{before}` in line {number}"
                ));
            }
            self.text.truncate(self.text.len() - found.closing);
            self.text.drain(..found.end);
        }
        self.source = found.source;
        Ok(true)
    }

    /// Everything from here on, line by line, up to `limit` bytes; `None` where there is more.
    pub(super) fn rest(&mut self, limit: u64) -> Imported<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        while self.next_within(limit)? {
            bytes.extend_from_slice(self.text.as_bytes());
            if self.has_end {
                bytes.push(b'\n');
            }
            if bytes.len() as u64 > limit {
                return Ok(None);
            }
        }
        Ok(Some(bytes))
    }

    /// Whether the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.is_json
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::line(self.number, reason)
    }

    /// An error, with what the end of the file says of it: one within its last line may be that of a cut.
    pub(super) fn of_end(&self, mut error: ImportError) -> ImportError {
        let is_last = error.at == At::Line(self.number) && !self.has_end;
        if is_last && !error.reason.contains("cut off") {
            error.reason += "; the line has no line end, so the file may be cut off there";
        }
        error
    }

    /// The output ends before this, which its tool always prints last.
    pub(super) fn cut(&self, mark: &str) -> ImportError {
        self.error(format!("{}; the file is cut off", self.no(mark)))
    }

    /// The same, of a part that whoever copied the output may have left out.
    pub(super) fn note_cut(&mut self, mark: &str) {
        let no = self.no(mark);
        self.note(format!("{no}: if nobody removed it, the file is cut off"));
    }

    fn no(&self, mark: &str) -> String {
        let tool = self.tool.as_str();
        format!("there is no `{mark}`, with which the output of {tool} ends")
    }

    /// Refuses a line that is surely another tool's, and says which of its own is not read for what stands before it.
    pub(super) fn own(&mut self, line: &str) -> Imported<()> {
        if let Some(other) = self.tool.foreign(line) {
            return Err(self.error(format!(
                "this is output of {} within that of {}; put the output of each tool in a file of its own",
                other.as_str(),
                self.tool.as_str()
            )));
        }
        if let Some((at, None)) = self.tool.mark(line)
            && line[..at].ends_with([' ', '\t'])
            && !line[..at].trim().is_empty()
            && !std::mem::replace(&mut self.is_passed_over, true)
        {
            let number = self.number;
            let before: String = line[..at].chars().take(80).collect();
            self.note(format!(
                "line {number} is ignored because of its prefix `{before}`, which other lines do not have; remove the prefix to include the line"
            ));
        }
        Ok(())
    }
}

/// The most notes on one file.
const NOTES: usize = 20;
