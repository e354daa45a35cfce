//! Lines of a log, one at a time: bounded in length, without escape sequences, with their numbers.

use super::{ImportError, Imported, Tool};
use std::io::{BufRead, Read as _};

/// The longest line in bytes; a longer one is refused.
pub const LIMIT: u64 = 4 << 20;

pub(super) struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    tool: Tool,
    number: u64,
    bytes: Vec<u8>,
    text: String,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: &'a mut dyn BufRead, tool: Tool) -> Lines<'a> {
        Lines {
            reader,
            tool,
            number: 0,
            bytes: Vec::new(),
            text: String::new(),
        }
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
        self.bytes.clear();
        let read = (&mut *self.reader)
            .take(LIMIT + 1)
            .read_until(b'\n', &mut self.bytes);
        self.number += 1;
        match read {
            Err(e) => return Err(self.error(format!("cannot be read: {e}"))),
            Ok(0) => {
                self.number -= 1;
                return Ok(None);
            }
            Ok(_) if self.bytes.len() as u64 > LIMIT => {
                return Err(self.error(format!("the line is longer than {LIMIT} bytes")));
            }
            Ok(_) => {}
        }
        self.text.clear();
        plain(&String::from_utf8_lossy(&self.bytes), &mut self.text);
        Ok(Some(&self.text))
    }

    /// Everything from here on, up to `limit` bytes; `None` where there is more.
    pub(super) fn rest(&mut self, limit: u64) -> Imported<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let read = (&mut *self.reader).take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|e| ImportError::file(format!("cannot be read: {e}")))?;
        self.number += bytes.iter().filter(|b| **b == b'\n').count() as u64;
        Ok((bytes.len() as u64 <= limit).then_some(bytes))
    }

    /// Whether what follows is a JSON object.
    pub(super) fn is_json(&mut self) -> Imported<bool> {
        let head = self.reader.fill_buf();
        let head = head.map_err(|e| ImportError::file(format!("cannot be read: {e}")))?;
        let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
        let first = head.iter().find(|b| !b.is_ascii_whitespace());
        Ok(first == Some(&b'{'))
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::line(self.number, reason)
    }

    /// Refuses a line that is surely another tool's.
    pub(super) fn own(&self, line: &str) -> Imported<()> {
        match self.tool.foreign(line) {
            None => Ok(()),
            Some(other) => Err(self.error(format!(
                "this is output of {} within that of {}; put the output of each tool in a file of its own",
                other.as_str(),
                self.tool.as_str()
            ))),
        }
    }
}

/// Without the end of the line, a byte order mark and escape sequences (ECMA-48, CSI).
fn plain(line: &str, out: &mut String) {
    let line = line.trim_end_matches(['\n', '\r']);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{feff}' => {}
            '\u{1b}' if chars.peek() == Some(&'[') => {
                chars.next();
                for c in chars.by_ref() {
                    if ('\u{40}'..='\u{7e}').contains(&c) {
                        break;
                    }
                }
            }
            c => out.push(c),
        }
    }
}
