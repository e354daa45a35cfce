//! Lines of a log, one at a time: bounded in length, without escape sequences and what others wrote before them, with their numbers.

use super::{ImportError, Imported, Tool};
use std::io::{BufRead, Read as _};

/// The longest line in bytes; a longer one is refused.
pub const LIMIT: u64 = 4 << 20;

pub(super) struct Lines<'a> {
    reader: &'a mut dyn BufRead,
    tool: Tool,
    is_json: bool,
    number: u64,
    bytes: Vec<u8>,
    text: String,
    /// What stood before the line and was taken off.
    prefix: String,
    /// What the reader of the statements should know of the file.
    notes: Vec<String>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: &'a mut dyn BufRead, tool: Tool, is_json: bool) -> Lines<'a> {
        Lines {
            reader,
            tool,
            is_json,
            number: 0,
            bytes: Vec::new(),
            text: String::new(),
            prefix: String::new(),
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

    /// What stood before the line that was read last, such as `talker-1 | `.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
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
        let at = match self.tool {
            // Its own console puts the program's name before each line.
            Tool::L4reIpcbench => 0,
            _ => prefix(&self.text),
        };
        if at > 0 {
            let before: String = self.text.drain(..at).collect();
            if self.prefix.is_empty() {
                let number = self.number;
                self.note(format!(
                    "what stands before the lines was taken off, such as `{}` of line {number}",
                    before.trim()
                ));
            }
            self.prefix = before;
        }
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

    /// Whether the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.is_json
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

/// The most notes on one file.
const NOTES: usize = 20;

/// Bytes at the beginning of a line that others put there: the service of a docker compose log, an instant, the name of a stream
/// or a process in brackets.
pub(super) fn prefix(line: &str) -> usize {
    let mut at = 0;
    while let Some(end) = one_prefix(&line[at..]) {
        at += end;
    }
    at
}

fn one_prefix(line: &str) -> Option<usize> {
    let name = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.'].contains(&c);
    let word = line.split(' ').next().unwrap_or_default();
    let rest = &line[word.len()..];
    // `talker-1    | `
    if !word.is_empty() && word.chars().all(name) && rest.trim_start().starts_with("| ") {
        return Some(line.len() - rest.trim_start().len() + 2);
    }
    // `[STDOUT] `, `[talker-1] `; a number in brackets is a tool's own.
    let inner = word.strip_prefix('[').and_then(|w| w.strip_suffix(']'));
    if inner
        .is_some_and(|w| w.starts_with(|c: char| c.is_ascii_alphabetic()) && w.chars().all(name))
    {
        return (!rest.trim().is_empty()).then_some(word.len() + 1);
    }
    // `Nov 22 17:56:21 host name[123]: ` of syslog
    let words: Vec<&str> = line.splitn(6, ' ').filter(|w| !w.is_empty()).collect();
    if let [month, day, clock, _, tag, ..] = words[..]
        && month.len() == 3
        && day.parse::<u8>().is_ok()
        && clock.len() == 8
        && clock.bytes().filter(|b| *b == b':').count() == 2
        && tag.ends_with("]:")
        && let Some(at) = line.find("]: ")
    {
        return Some(at + 3);
    }
    // `2026-11-22T17:56:21.123Z `
    let instant = word.len() > 18
        && word.bytes().enumerate().all(|(i, b)| match i {
            4 | 7 => b == b'-',
            10 => b == b'T',
            13 | 16 => b == b':',
            _ if i < 19 => b.is_ascii_digit(),
            _ => b.is_ascii_digit() || b".:+-Z".contains(&b),
        });
    (instant && !rest.trim().is_empty()).then_some(word.len() + 1)
}

/// Without the end of the line, a byte order mark and escape sequences (ECMA-48, CSI).
pub(super) fn plain(line: &str, out: &mut String) {
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
