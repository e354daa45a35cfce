//! What was learnt: which topics become flows, how they send, and what was left out.

use crate::pattern::{Pattern, pattern, quantile};
use crate::traffic::{FileRead, Problem, Topic, Traffic};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// A suite has at most so many flows. Each has a thread for its sender and one for its receiver.
pub const MOST_FLOWS: usize = 1_000;

/// The smallest payload that Dyno sends one way, in bytes.
pub(crate) const SMALLEST: u64 = 32;

/// A payload has at most so many sizes; a topic with more of them is described by its deciles.
const MOST_SIZES: usize = 16;

/// Flows send at least this often, in nanoseconds: a window is not longer than this.
pub(crate) const MOST_PERIOD_NS: f64 = 60e9;

/// The longest phase, in nanoseconds.
const MOST_PHASE_NS: f64 = 1e9;

/// The longest name in a suite file.
const LONGEST_NAME: usize = 40;

/// What was learnt from all files.
#[derive(Debug, Clone, Serialize)]
pub struct Learnt {
    /// The files.
    pub files: Vec<FileLearnt>,
    /// The flows, those with the most load first.
    pub flows: Vec<LearntFlow>,
    /// Topics that are no flows.
    pub left_out: Vec<LeftOut>,
}

/// What was taken from one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileLearnt {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: &'static str,
    /// Messages with a time.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that it describes, without times.
    pub described: u64,
    /// The time that it covers, without pauses of more than an hour, in seconds.
    pub seconds: f64,
    /// The most messages in 10 ms.
    pub busiest_messages: u64,
    /// The most bytes in 10 ms.
    pub busiest_bytes: u64,
    /// Messages that were left out, by kind.
    pub left_out: BTreeMap<String, u64>,
    /// What could not be used as it is.
    pub problems: Vec<Problem>,
}

/// Sizes of a topic's messages, in bytes.
#[derive(Debug, Clone, Serialize)]
pub struct SizesLearnt {
    /// The smallest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The largest.
    pub max: u64,
    /// The mean.
    pub mean: f64,
}

/// Times from one message of a topic to the next, in nanoseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Gaps {
    /// The 5th percentile.
    pub p5_ns: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
}

/// A topic that is a flow of the suite.
#[derive(Debug, Clone, Serialize)]
pub struct LearntFlow {
    /// The name of the flow.
    pub name: String,
    /// The topic.
    pub topic: String,
    /// Who sends it, where a description says so.
    pub sender: Option<String>,
    /// Its messages; 0 if a description alone defines it.
    pub messages: u64,
    /// The first one, counted from the first message of its file, in seconds.
    pub first_s: f64,
    /// The last one.
    pub last_s: f64,
    /// Their sizes.
    pub sizes: SizesLearnt,
    /// Their gaps, where there are messages.
    pub gaps: Option<Gaps>,
    /// How it sends.
    pub pattern: Pattern,
    /// When the first message of a periodic flow is due after the start, in nanoseconds.
    pub phase_ns: u64,
    /// The sizes that the suite sends, in bytes, and their weights.
    pub payload: Vec<(u64, u32)>,
    /// Whether sizes below 32 B, the smallest that Dyno sends one way, were raised.
    pub raised: bool,
}

impl LearntFlow {
    /// The load of the recorded sizes, in bits per second.
    pub fn bits_per_second(&self) -> f64 {
        8.0 * self.sizes.mean * self.pattern.hz()
    }

    /// The load that the suite offers, in bits per second.
    pub fn offered_bits_per_second(&self) -> f64 {
        let weights: f64 = self.payload.iter().map(|(_, w)| f64::from(*w)).sum();
        let bytes = self
            .payload
            .iter()
            .map(|(size, w)| *size as f64 * f64::from(*w));
        8.0 * self.pattern.hz() * bytes.sum::<f64>() / weights.max(1.0)
    }
}

/// A topic that is no flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The topic.
    pub topic: String,
    /// Its messages.
    pub messages: u64,
    /// The reason.
    pub why: &'static str,
}

impl Learnt {
    /// Decides which topics of this traffic become flows.
    pub fn of(traffic: &Traffic) -> Learnt {
        let mut topics: Vec<(&String, &Topic)> = traffic.topics.iter().collect();
        topics.sort_unstable_by_key(|(name, _)| name.as_str());
        let (mut flows, mut left_out) = (Vec::new(), Vec::new());
        let slow = "less often than once in 60 s";
        for (name, topic) in topics {
            match pattern(topic) {
                Ok(found) if found.period_ns() > MOST_PERIOD_NS => {
                    left_out.push(left(name, topic.messages, slow))
                }
                Ok(found) => flows.push(flow(name, topic, found)),
                Err(why) => left_out.push(left(name, topic.messages, why)),
            }
        }
        flows.sort_by(|a, b| b.bits_per_second().total_cmp(&a.bits_per_second()));
        let why = "1,000 other topics have more load, and a suite has at most so many flows";
        let beyond = flows.split_off(flows.len().min(MOST_FLOWS));
        left_out.extend(beyond.iter().map(|f| left(&f.topic, f.messages, why)));
        let mut taken = HashSet::new();
        for flow in &mut flows {
            flow.name = free_name(&flow.topic, &mut taken);
        }
        spread(&mut flows);
        Learnt {
            files: traffic.files.iter().map(file).collect(),
            flows,
            left_out,
        }
    }

    /// Takes away every name that comes from the files: topics are `topic-1`, …, in the order of their load, and files `file-1`, ….
    #[must_use]
    pub fn renamed(mut self) -> Learnt {
        let left = self.left_out.iter_mut().map(|left| &mut left.topic);
        let topics = self.flows.iter_mut().map(|flow| {
            flow.sender = None;
            &mut flow.topic
        });
        for (number, topic) in topics.chain(left).enumerate() {
            *topic = format!("topic-{}", number + 1);
        }
        for flow in &mut self.flows {
            flow.name = flow.topic.clone();
        }
        for (number, file) in self.files.iter_mut().enumerate() {
            file.name = format!("file-{}", number + 1);
        }
        self
    }

    /// Messages per second of all flows.
    pub fn hz(&self) -> f64 {
        self.flows.iter().map(|f| f.pattern.hz()).sum()
    }
}

fn left(topic: &str, messages: u64, why: &'static str) -> LeftOut {
    LeftOut {
        topic: topic.to_owned(),
        messages,
        why,
    }
}

fn file(read: &FileRead) -> FileLearnt {
    FileLearnt {
        name: read.name.clone(),
        format: read.format,
        messages: read.messages,
        bytes: read.bytes,
        described: read.described,
        seconds: read.span as f64 / 1e9,
        busiest_messages: read.busiest.0,
        busiest_bytes: read.busiest.1,
        left_out: read.left.clone(),
        problems: read.problems.clone(),
    }
}

fn flow(name: &str, topic: &Topic, pattern: Pattern) -> LearntFlow {
    let sizes = topic.sizes.sorted();
    let gaps = topic.gaps.sorted();
    let mean = match topic.messages {
        0 => topic.most as f64,
        messages => topic.bytes as f64 / messages as f64,
    };
    let [p5_ns, p50_ns, p95_ns] = [0.05, 0.5, 0.95].map(|q| quantile(&gaps, q));
    let phase = topic.offset as f64 % pattern.period_ns().min(MOST_PHASE_NS);
    let offset = topic.offset as f64 / 1e9;
    LearntFlow {
        name: String::new(),
        topic: name.to_owned(),
        sender: topic.sender.clone(),
        messages: topic.messages,
        first_s: offset,
        last_s: offset + topic.last.saturating_sub(topic.first) as f64 / 1e9,
        sizes: SizesLearnt {
            min: topic.least,
            p50: quantile(&sizes, 0.5),
            max: topic.most,
            mean,
        },
        gaps: (topic.gaps.len() > 0).then_some(Gaps {
            p5_ns,
            p50_ns,
            p95_ns,
        }),
        pattern,
        phase_ns: phase as u64,
        payload: payload(&sizes),
        raised: topic.least < SMALLEST,
    }
}

/// The sizes and weights that the suite sends, for sorted sizes.
fn payload(sizes: &[u64]) -> Vec<(u64, u32)> {
    let mut weighted = weighted(sizes.iter().copied());
    if weighted.len() > MOST_SIZES {
        let deciles = (0..10).map(|n| quantile(sizes, 0.05 + 0.1 * f64::from(n)));
        weighted = self::weighted(deciles);
    }
    let divisor = weighted.iter().fold(0, |d, (_, weight)| gcd(d, *weight));
    weighted
        .iter()
        .map(|(size, weight)| (*size, weight / divisor.max(1)))
        .collect()
}

fn weighted(sizes: impl Iterator<Item = u64>) -> Vec<(u64, u32)> {
    let mut found = BTreeMap::<u64, u32>::new();
    sizes.for_each(|size| *found.entry(size.max(SMALLEST)).or_default() += 1);
    found.into_iter().collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Flows that only a description defines have no known phase: they begin one after the other within their cycle.
fn spread(flows: &mut [LearntFlow]) {
    let described: Vec<&mut LearntFlow> = flows.iter_mut().filter(|f| f.messages == 0).collect();
    let count = described.len().max(1) as f64;
    for (number, flow) in described.into_iter().enumerate() {
        let within = flow.pattern.period_ns().min(MOST_PHASE_NS);
        flow.phase_ns = (within * number as f64 / count) as u64;
    }
}

/// A name as suite files allow it, which no other flow has.
fn free_name(topic: &str, taken: &mut HashSet<String>) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "_.".contains(c) {
            c
        } else {
            ' '
        }
    };
    let words: String = topic.chars().map(plain).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut name = words.join("-");
    if name.is_empty() {
        name.push_str("topic");
    }
    name.truncate(LONGEST_NAME);
    let mut free = name.clone();
    let mut number = 1;
    while !taken.insert(free.clone()) {
        number += 1;
        let suffix = format!("-{number}");
        let kept = name.get(..LONGEST_NAME - suffix.len()).unwrap_or(&name);
        free = format!("{kept}{suffix}");
    }
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_unique() {
        let mut taken = HashSet::new();
        let mut name = |topic: &str| free_name(topic, &mut taken);
        assert_eq!(name("vcan0 0x123"), "vcan0-0x123");
        assert_eq!(
            name("udp 10.0.0.1:30 -> 10.0.0.2:40"),
            "udp-10.0.0.1-30-10.0.0.2-40"
        );
        assert_eq!(name("/vcan0\u{1b}[2J/0x123/"), "vcan0-2J-0x123");
        assert_eq!(name("vcan0-0x123"), "vcan0-0x123-2");
        assert_eq!((name("ä\0"), name("")), ("topic".into(), "topic-2".into()));
        let long = "x".repeat(60);
        assert_eq!((name(&long).len(), name(&long).len()), (40, 40));
    }

    #[test]
    fn few_sizes_have_weights_and_many_have_deciles() {
        assert_eq!(payload(&[8, 8, 16, 100]), [(32, 3), (100, 1)]);
        assert_eq!(payload(&[64; 200]), [(64, 1)]);
        let many: Vec<u64> = (0..200).map(|n| 100 + n).collect();
        let found = payload(&many);
        assert_eq!((found.len(), found[0]), (10, (109, 1)));
    }
}
