//! What is kept of the traffic while files are read: a summary of each topic, whose memory does not grow with the recording.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// So many topics are kept. Messages of further ones are counted.
pub const MOST_TOPICS: usize = 10_000;

/// The longest name of a topic, in bytes.
const LONGEST_NAME: usize = 256;

/// The largest message that Dyno can send, in bytes.
const LARGEST: u64 = dyno_model::PayloadSize::MAX as u64;

/// Stamps that run backwards by less than this are out of order; by more, the clock was set. In nanoseconds.
const REORDERED: i64 = 1_000_000_000;

/// A step forward of more than this is a pause or a clock that was set, and no gap. In nanoseconds.
const PAUSE: i64 = 3_600_000_000_000;

/// Messages of one topic that follow each other within this time are one group. In nanoseconds.
const BACK_TO_BACK: i64 = 1_000_000;

/// The busiest stretch of this length is told, in nanoseconds.
const SLOT: i64 = 10_000_000;

/// So many kinds of left-out messages are named.
const MOST_KINDS: usize = 100;

/// Where something is in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A line, counted from 1.
    Line(u64),
    /// An offset in bytes.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(byte) => write!(f, "byte {byte}"),
        }
    }
}

/// Something in a file that could not be used as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The problem, and what Dyno did.
    pub what: String,
    /// How often.
    pub times: u64,
    /// Where it was first.
    pub first: Place,
}

/// A random sample of bounded size: all values as long as there are few (Vitter's algorithm R).
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    values: Vec<u64>,
    seen: u64,
}

impl Sample {
    /// So many values are kept.
    const SIZE: usize = 256;

    fn add(&mut self, value: u64, random: &mut StdRng) {
        self.seen += 1;
        if self.values.len() < Sample::SIZE {
            self.values.push(value);
            return;
        }
        let at = random.random_range(0..self.seen);
        let slot = usize::try_from(at)
            .ok()
            .and_then(|at| self.values.get_mut(at));
        if let Some(slot) = slot {
            *slot = value;
        }
    }

    /// The values in ascending order.
    pub(crate) fn sorted(&self) -> Vec<u64> {
        let mut values = self.values.clone();
        values.sort_unstable();
        values
    }

    pub(crate) fn len(&self) -> u64 {
        self.seen
    }
}

/// What is known of one topic.
#[derive(Debug, Clone, Default)]
pub(crate) struct Topic {
    pub(crate) messages: u64,
    /// Stamps of the first and the latest message, in nanoseconds.
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) bytes: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) sizes: Sample,
    /// Between consecutive messages, in nanoseconds.
    pub(crate) gaps: Sample,
    pub(crate) gap_sum: u128,
    /// Messages in the time of all gaps: one for each gap, and those that are out of order.
    pub(crate) steps: u64,
    /// Messages of each complete group, and the times from one group's start to the next one's.
    pub(crate) groups: Sample,
    pub(crate) grouped: u64,
    pub(crate) periods: Sample,
    pub(crate) period_sum: u128,
    /// From a description: the cycle in nanoseconds, and who sends.
    pub(crate) cycle: Option<u64>,
    pub(crate) sender: Option<String>,
    /// Of the first message, from the first one of its file, in nanoseconds.
    pub(crate) offset: i64,
    group_start: i64,
    group: u64,
    /// The number of the file with its latest message.
    file: usize,
}

impl Topic {
    fn take_size(&mut self, size: u64, random: &mut StdRng) {
        self.least = if self.messages == 0 {
            size
        } else {
            self.least.min(size)
        };
        self.most = self.most.max(size);
        self.bytes = self.bytes.saturating_add(size);
        self.messages += 1;
        self.sizes.add(size, random);
    }

    /// Takes the stamp of a message; returns whether it equals that of the message before.
    fn take_time(&mut self, time: i64, file: usize, random: &mut StdRng) -> bool {
        let step = match self.messages > 0 && self.file == file {
            true => time.saturating_sub(self.last),
            false => i64::MIN,
        };
        if self.messages == 0 {
            self.first = time;
        }
        self.file = file;
        if (-REORDERED..0).contains(&step) {
            self.steps += 1;
            return false;
        }
        self.last = time;
        if !(0..=PAUSE).contains(&step) {
            (self.group_start, self.group) = (time, 1);
            return false;
        }
        self.steps += 1;
        self.gaps.add(step.unsigned_abs(), random);
        self.gap_sum += u128::from(step.unsigned_abs());
        if step <= BACK_TO_BACK {
            self.group += 1;
        } else {
            let period = time.saturating_sub(self.group_start).unsigned_abs();
            self.groups.add(self.group, random);
            self.grouped += self.group;
            self.periods.add(period, random);
            self.period_sum += u128::from(period);
            (self.group_start, self.group) = (time, 1);
        }
        step == 0
    }
}

/// What is known of one file.
#[derive(Debug, Clone)]
pub(crate) struct FileRead {
    pub(crate) name: String,
    pub(crate) format: &'static str,
    /// Messages that were taken, and their bytes.
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// Messages that a description defines.
    pub(crate) described: u64,
    /// The time that it covers without pauses, in nanoseconds.
    pub(crate) span: i64,
    /// The most messages and the most bytes in a slot of 10 ms.
    pub(crate) busiest: (u64, u64),
    pub(crate) left: BTreeMap<String, u64>,
    pub(crate) problems: Vec<Problem>,
    first: Option<i64>,
    latest: Option<i64>,
    slot: (i64, u64, u64),
}

impl FileRead {
    fn note(&mut self, place: Place, what: &str) {
        if let Some(known) = self.problems.iter_mut().find(|p| p.what == what) {
            known.times += 1;
        } else if self.problems.len() < MOST_KINDS {
            self.problems.push(Problem {
                what: what.to_owned(),
                times: 1,
                first: place,
            });
        }
    }

    fn take_time(&mut self, time: i64, place: Place) {
        let Some(latest) = self.latest else {
            (self.first, self.latest) = (Some(time), Some(time));
            return;
        };
        let step = time.saturating_sub(latest);
        if (-REORDERED..0).contains(&step) {
            self.note(
                place,
                "a stamp is out of order by up to 1 s; this gap does not count",
            );
            return;
        }
        self.latest = Some(time);
        match step {
            ..0 => self.note(place, "the clock jumps backwards; this gap does not count"),
            0..=PAUSE => self.span = self.span.saturating_add(step),
            _ => self.note(
                place,
                "a pause of more than 1 h, or the clock jumps forward; this gap does not count",
            ),
        }
    }

    fn take_slot(&mut self, size: u64) {
        let slot = self.latest.unwrap_or_default().div_euclid(SLOT);
        if slot != self.slot.0 {
            self.slot = (slot, 0, 0);
        }
        self.slot.1 += 1;
        self.slot.2 = self.slot.2.saturating_add(size);
        self.busiest = (
            self.busiest.0.max(self.slot.1),
            self.busiest.1.max(self.slot.2),
        );
    }
}

/// The traffic of all files that were read.
#[derive(Debug)]
pub struct Traffic {
    pub(crate) topics: HashMap<String, Topic>,
    pub(crate) files: Vec<FileRead>,
    random: StdRng,
}

impl Default for Traffic {
    /// No traffic yet. The samples are drawn from a fixed seed, so that a file always gives the same suite.
    fn default() -> Self {
        Traffic {
            topics: HashMap::new(),
            files: Vec::new(),
            random: StdRng::seed_from_u64(47),
        }
    }
}

impl Traffic {
    pub(crate) fn begin(&mut self, name: &str, format: &'static str) {
        self.files.push(FileRead {
            name: name.to_owned(),
            format,
            messages: 0,
            bytes: 0,
            described: 0,
            span: 0,
            busiest: (0, 0),
            left: BTreeMap::new(),
            problems: Vec::new(),
            first: None,
            latest: None,
            slot: (i64::MIN, 0, 0),
        });
    }

    /// Whether the latest file gave anything.
    pub(crate) fn is_fruitful(&self) -> bool {
        let last = self.files.last();
        last.is_some_and(|f| f.messages > 0 || f.described > 0)
    }

    /// Whether messages of that topic are kept.
    fn has_room(&mut self, topic: &str) -> bool {
        if self.topics.contains_key(topic) {
            return true;
        }
        let why = match topic.len() > LONGEST_NAME {
            true => "messages whose topic has a name of more than 256 bytes",
            false if self.topics.len() < MOST_TOPICS => return true,
            false => "messages of topics after the first 10,000",
        };
        self.leave(why);
        false
    }

    /// A message of the latest file; `time` in nanoseconds, `size` in bytes.
    pub(crate) fn message(&mut self, place: Place, topic: &str, time: i64, size: u64) {
        if size > LARGEST {
            return self.problem(place, "a message is larger than 1 GiB; it is left out");
        }
        if !self.has_room(topic) {
            return;
        }
        let number = self.files.len();
        let Some(file) = self.files.last_mut() else {
            return;
        };
        file.take_time(time, place);
        file.take_slot(size);
        file.messages += 1;
        file.bytes = file.bytes.saturating_add(size);
        if !self.topics.contains_key(topic) {
            self.topics.insert(topic.to_owned(), Topic::default());
        }
        let Some(known) = self.topics.get_mut(topic) else {
            return;
        };
        if known.messages == 0 {
            known.offset = time.saturating_sub(file.first.unwrap_or(time)).max(0);
        }
        let again = known.take_time(time, number, &mut self.random);
        known.take_size(size, &mut self.random);
        if again {
            file.note(
                place,
                "a message has the same stamp as the one before it on its topic",
            );
        }
    }

    /// A message that a description defines; `cycle` in nanoseconds.
    pub(crate) fn describe(&mut self, topic: &str, sender: Option<&str>, size: u64, cycle: u64) {
        if !self.has_room(topic) {
            return;
        }
        let known = self.topics.entry(topic.to_owned()).or_default();
        known.cycle = Some(cycle);
        known.sender = sender.map(str::to_owned);
        known.sizes.add(size, &mut self.random);
        (known.least, known.most) = (size, size);
        if let Some(file) = self.files.last_mut() {
            file.described += 1;
        }
    }

    /// Counts a message that is left out.
    pub(crate) fn leave(&mut self, what: &str) {
        let Some(file) = self.files.last_mut() else {
            return;
        };
        if let Some(known) = file.left.get_mut(what) {
            *known += 1;
            return;
        }
        let what = match file.left.len() < MOST_KINDS {
            true => what,
            false => "messages of further kinds",
        };
        *file.left.entry(what.to_owned()).or_default() += 1;
    }

    /// Counts something that could not be used as it is.
    pub(crate) fn problem(&mut self, place: Place, what: &str) {
        if let Some(file) = self.files.last_mut() {
            file.note(place, what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_all_of_a_few_and_some_of_many() {
        let mut random = StdRng::seed_from_u64(1);
        let mut sample = Sample::default();
        (0..200).rev().for_each(|n| sample.add(n, &mut random));
        assert_eq!(sample.sorted(), (0..200).collect::<Vec<_>>());
        (200..100_000).for_each(|n| sample.add(n, &mut random));
        let sorted = sample.sorted();
        assert_eq!((sorted.len(), sample.len()), (Sample::SIZE, 100_000));
        assert!((30_000..70_000).contains(&sorted[128]), "{}", sorted[128]);
    }
}
