//! Vector ASC: CAN and CAN FD; times absolute or relative to the event before, numbers hexadecimal or decimal.

use crate::format::Failed;
use crate::quantity::nanos;
use crate::read::lines;
use crate::traffic::{Place, Traffic};
use std::io::BufRead;

/// What the header says, and the time of the event before.
struct State {
    decimal: bool,
    relative: bool,
    now: i64,
}

/// What a line holds.
#[derive(Debug, PartialEq)]
enum Event {
    Header,
    Data { topic: String, size: u64 },
    Remote,
    Error,
    Other,
}

pub(crate) fn read(source: &mut dyn BufRead, traffic: &mut Traffic) -> Result<(), Failed> {
    let mut state = State {
        decimal: false,
        relative: false,
        now: 0,
    };
    lines::each(source, traffic, |traffic, number, line| {
        let place = Place::Line(number);
        match state.event(line) {
            Some(Event::Header) => {}
            Some(Event::Data { topic, size }) => traffic.message(place, &topic, state.now, size),
            Some(Event::Remote) => traffic.leave("remote frames"),
            Some(Event::Error) => traffic.leave("error frames"),
            Some(Event::Other) => traffic.leave("other events"),
            None => traffic.problem(place, "not a line of Vector ASC; it is left out"),
        }
        Ok(())
    })
}

impl State {
    fn event(&mut self, line: &str) -> Option<Event> {
        let words: Vec<&str> = line.split_whitespace().take(16).collect();
        let (first, rest) = words.split_first()?;
        let Some(time) = nanos(first, 1_000_000_000) else {
            return self.header(&line.to_ascii_lowercase());
        };
        self.now = match self.relative {
            true => self.now.saturating_add(time),
            false => time,
        };
        match rest {
            [kind, rest @ ..] if kind.eq_ignore_ascii_case("canfd") => self.fd(rest),
            [channel, rest @ ..] if channel.bytes().all(|b| b.is_ascii_digit()) => {
                self.classic(channel, rest)
            }
            _ => Some(Event::Other),
        }
    }

    fn header(&mut self, line: &str) -> Option<Event> {
        if line.starts_with("base") {
            self.decimal = line.contains("base dec");
            self.relative = line.contains("timestamps relative");
            return Some(Event::Header);
        }
        let known = [
            "date",
            "internal",
            "no internal",
            "//",
            "begin",
            "end",
            "comment",
        ];
        known
            .iter()
            .any(|word| line.starts_with(word))
            .then_some(Event::Header)
    }

    /// `1 123x Rx d 8 11 …`, after the channel.
    fn classic(&self, channel: &str, words: &[&str]) -> Option<Event> {
        match words {
            [kind, ..] if kind.eq_ignore_ascii_case("ErrorFrame") => Some(Event::Error),
            [id, way, kind, rest @ ..] if is_way(way) => match (*kind, rest) {
                ("r", _) => Some(Event::Remote),
                ("d", [length, ..]) => {
                    let size = self.number(length)?.min(8);
                    self.data(channel, id, size)
                }
                _ => None,
            },
            _ => Some(Event::Other),
        }
    }

    /// `1 Rx 123 [Name] 1 0 d 32 11 …`, after the word CANFD.
    fn fd(&self, words: &[&str]) -> Option<Event> {
        let is_error = |word: &&str| word.eq_ignore_ascii_case("ErrorFrame");
        if words.iter().take(4).any(is_error) {
            return Some(Event::Error);
        }
        let [channel, _, id, rest @ ..] = words else {
            return None;
        };
        let is_flag = |word: &str| matches!(word, "0" | "1");
        let flags = match rest {
            [brs, esi, flags @ ..] if is_flag(brs) && is_flag(esi) => flags,
            [_, _, _, flags @ ..] => flags,
            _ => return None,
        };
        let size = flags.get(1)?.parse::<u64>().ok().filter(|n| *n <= 64)?;
        self.data(channel, id, size)
    }

    fn data(&self, channel: &str, id: &str, size: u64) -> Option<Event> {
        let (id, extended) = match id.strip_suffix(['x', 'X']) {
            Some(id) => (id, true),
            None => (id, false),
        };
        let id = self.number(id)?;
        let topic = match extended {
            true => format!("{channel} 0x{id:08x}x"),
            false => format!("{channel} 0x{id:03x}"),
        };
        Some(Event::Data { topic, size })
    }

    fn number(&self, text: &str) -> Option<u64> {
        let base = if self.decimal { 10 } else { 16 };
        u64::from_str_radix(text, base).ok()
    }
}

fn is_way(word: &str) -> bool {
    ["rx", "tx", "txrq"].contains(&word.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(base: &str) -> State {
        let mut state = State {
            decimal: false,
            relative: false,
            now: 0,
        };
        assert_eq!(state.event(base), Some(Event::Header));
        state
    }

    fn data(topic: &str, size: u64) -> Option<Event> {
        let topic = topic.to_owned();
        Some(Event::Data { topic, size })
    }

    #[test]
    fn events_of_all_kinds() {
        let mut hex = state("base hex  timestamps absolute");
        assert_eq!(
            hex.event("0.015991 1  12A             Rx   d 2 11 22"),
            data("1 0x12a", 2)
        );
        assert_eq!(hex.now, 15_991_000);
        assert_eq!(
            hex.event("0.1 2  18FEF100x  Tx   d 8 1 2 3 4 5 6 7 8"),
            data("2 0x18fef100x", 8)
        );
        assert_eq!(hex.event("0.2 1 100 Rx r"), Some(Event::Remote));
        assert_eq!(hex.event("0.2 1 ErrorFrame"), Some(Event::Error));
        assert_eq!(hex.event("0.2 Start of measurement"), Some(Event::Other));
        assert_eq!(hex.event("0.2 1 Statistic: D 0 R 0"), Some(Event::Other));
        assert_eq!(
            hex.event("0.3 CANFD 1 Rx 1F4 1 0 9 12 01 02"),
            data("1 0x1f4", 12)
        );
        assert_eq!(
            hex.event("0.3 CANFD 1 Rx 1F4 Name 1 0 9 12 01 02"),
            data("1 0x1f4", 12)
        );
        assert_eq!(hex.event("0.3 CANFD 1 Rx ErrorFrame"), Some(Event::Error));
        assert_eq!(hex.event("Begin Triggerblock"), Some(Event::Header));
        assert_eq!(hex.event("what is this"), None);
        assert_eq!(hex.event("0.3 1 zz Rx d 8"), None);
    }

    #[test]
    fn decimal_numbers_and_relative_times() {
        let mut dec = state("base dec  timestamps relative");
        assert_eq!(dec.event("0.5 1 291 Rx d 8 1 2"), data("1 0x123", 8));
        dec.event("0.25 1 291 Rx d 8 1 2");
        assert_eq!(dec.now, 750_000_000);
    }
}
