//! Plain UTF-8 of what a shell or a terminal wrote: UTF-16 is decoded, and escape sequences are left out.

use std::io::{BufRead, Read};

/// The bytes of `reader`, of which `head` is read already, in UTF-8: UTF-16, as PowerShell writes it, is told by its byte order mark or by the
/// zeros beside its first letters.
pub(super) fn utf8<'a>(head: Vec<u8>, reader: &'a mut dyn BufRead) -> Box<dyn BufRead + 'a> {
    let order: Option<fn([u8; 2]) -> u16> = match head[..] {
        [0xff, 0xfe, ..] | [b'\t'..=b'~', 0, b'\t'..=b'~', 0, ..] => Some(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, b'\t'..=b'~', 0, b'\t'..=b'~', ..] => Some(u16::from_be_bytes),
        _ => None,
    };
    let whole = std::io::Cursor::new(head).chain(reader);
    match order {
        Some(order) => {
            let mut bytes = whole.bytes();
            let units = std::iter::from_fn(move || {
                let first = bytes.next()?;
                // Half of a unit at the end is no character.
                let second = bytes.next().unwrap_or(Ok(0));
                Some(first.and_then(|a| second.map(|b| order([a, b]))))
            });
            Box::new(std::io::BufReader::new(Utf16 {
                units: Box::new(units),
                ready: Vec::new(),
            }))
        }
        None => Box::new(whole),
    }
}

struct Utf16<'a> {
    units: Box<dyn Iterator<Item = std::io::Result<u16>> + 'a>,
    /// Bytes that are decoded and not yet read.
    ready: Vec<u8>,
}

impl Read for Utf16<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.ready.is_empty() {
            let units: std::io::Result<Vec<u16>> = self.units.by_ref().take(to.len()).collect();
            let mut units = units?;
            // The first half of a pair waits for its other.
            if units.last().is_some_and(|u| (0xd800..0xdc00).contains(u)) {
                units.extend(self.units.next().transpose()?);
            }
            self.ready = String::from_utf16_lossy(&units).into_bytes();
        }
        let n = to.len().min(self.ready.len());
        to[..n].copy_from_slice(&self.ready[..n]);
        self.ready.drain(..n);
        Ok(n)
    }
}

/// Appends a line without its end, byte order marks and escape sequences (ECMA-48: control sequences, strings of the operating system,
/// character sets).
pub(super) fn plain(line: &str, out: &mut String) {
    let mut chars = line.trim_end_matches(['\n', '\r']).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{feff}' => {}
            '\u{1b}' => match chars.peek() {
                Some('[') => {
                    chars.next();
                    chars.find(|c| ('\u{40}'..='\u{7e}').contains(c));
                }
                Some(']') => {
                    // Up to the bell or to `ESC \`.
                    if chars.find(|c| ['\u{7}', '\u{1b}'].contains(c)) == Some('\u{1b}') {
                        chars.next();
                    }
                }
                Some('(' | ')') => {
                    chars.nth(1);
                }
                _ => out.push(c),
            },
            c => out.push(c),
        }
    }
}
