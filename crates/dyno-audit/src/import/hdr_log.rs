//! Interval logs of HdrHistogram, versions 1.0 to 1.3: a histogram for each interval, added up here for each tag. What is imported are
//! statistics of the sums, known to the width of their buckets. A log does not say its unit; Dyno's exports say it in a comment.

use super::error::Imported;
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, ns, unit};
use crate::Statements;
use crate::statement::{Dimension, Of, Quantity, Statistic, Trip};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use std::collections::BTreeMap;
use std::io::Read as _;

/// The largest histogram, unpacked, in bytes; the largest that the library itself can write is smaller.
const UNPACKED: u64 = 8 << 20;

/// The most tags of one log, since each has a histogram of its own.
const TAGS: usize = 32;

/// The first words of the encodings but for the byte that says how wide a count is: histogram, and histogram with DEFLATE
/// (`AbstractHistogram.java` of HdrHistogram).
const V2: u32 = 0x1c84_9303;
const V1: u32 = 0x1c84_9301;
const V0: u32 = 0x1c84_9308;
const DEFLATED: [u32; 3] = [0x1c84_9304, 0x1c84_9302, 0x1c84_9309];
/// Where that byte is.
const WIDTH: u32 = 0xf0;
/// Bytes before the counts of a V1 or V2 histogram.
const HEADER: usize = 40;

/// Percentiles that are figures.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// By what libraries divide the largest value of a row; the first is their own choice.
const RATIOS: [f64; 4] = [1e6, 1e3, 1.0, 1e9];

/// What the comments of Dyno's exports say.
#[derive(Default)]
pub(super) struct Comments {
    pub(super) metric: Option<String>,
    pub(super) conditions: BTreeMap<String, String>,
}

impl Comments {
    pub(super) fn take(&mut self, key: &str, value: &str) {
        let value = value.trim().to_owned();
        match key {
            "metric" => self.metric = Some(value),
            "experiment" | "stack" | "suite" | "testbed" | "factors" | "emulated" => {
                self.conditions.insert(key.to_owned(), value);
            }
            _ => {}
        }
    }
}

struct Sum {
    histogram: Histogram<u64>,
    line: u64,
    intervals: u64,
    /// Messages that Dyno's exports name as lost: infinitely late, and in no histogram.
    lost: u64,
    /// The largest value that a row prints, with its line.
    largest: Option<(Number, u64)>,
    /// Rows whose largest value is that of their histogram when divided so.
    fitting: [u64; RATIOS.len()],
}

impl Sum {
    /// Of one interval, with the largest value that its row prints.
    fn of(mut histogram: Histogram<u64>, max: Number, line: u64, lost: u64) -> Sum {
        let fitting = RATIOS.map(|ratio| {
            let known = 2.0 * max.half_step * ratio + 1.0;
            let (low, high) = (
                histogram.lowest_equivalent(histogram.max()),
                histogram.highest_equivalent(histogram.max()),
            );
            let is = max.value * ratio;
            u64::from(is >= low as f64 - known && is <= high as f64 + known)
        });
        // Another interval may be of a wider range.
        histogram.auto(true);
        Sum {
            histogram,
            line,
            largest: Some((max, line)),
            fitting,
            intervals: 1,
            lost,
        }
    }

    /// Adds a later interval.
    fn add(&mut self, other: Sum) -> Result<(), String> {
        for (all, fits) in self.fitting.iter_mut().zip(other.fitting) {
            *all += fits;
        }
        let value = |sum: &Sum| sum.largest.as_ref().map(|(max, _)| max.value);
        if value(&other) > value(self) {
            self.largest = other.largest;
        }
        let added = self.histogram.add(&other.histogram);
        added.map_err(|e| format!("cannot be added to the intervals before: {e}"))?;
        self.intervals += other.intervals;
        self.lost = self.lost.saturating_add(other.lost);
        Ok(())
    }
}

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    let (mut is_ns, mut comments) = (false, Comments::default());
    // Of the intervals that follow.
    let mut lost = 0;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let at = input.number();
        let fail = |e: String| Spot::Line(at, &line).error(e);
        if let Some(comment) = line.strip_prefix('#') {
            is_ns |= comment.starts_with("unit of histograms: nanoseconds");
            if let Some(start) = comment.strip_prefix("[StartTime: ") {
                out.tested(start.trim_end_matches(']'));
            }
            match comment.split_once(": ") {
                Some(("lost", value)) => lost = messages(value).map_err(fail)?,
                Some((key, value)) => comments.take(key, value),
                None => {}
            }
        } else if line.starts_with('"') || line.trim().is_empty() {
        } else {
            let (tag, max, text) = row(&line).map_err(fail)?;
            let histogram = decode(text).map_err(fail)?;
            let lost = std::mem::take(&mut lost);
            let sum = Sum::of(histogram, max, at, lost);
            let full = sums.len() >= TAGS;
            match sums.get_mut(tag) {
                Some(all) => all.add(sum).map_err(fail)?,
                None if full => return Err(fail(format!("there are more than {TAGS} tags"))),
                None => {
                    sums.insert(tag.to_owned(), sum);
                }
            }
        }
    }
    for (tag, sum) in sums {
        let metric = comments.metric.as_deref().unwrap_or("histogram");
        let name = if tag.is_empty() {
            metric.to_owned()
        } else {
            format!("{metric} {tag}")
        };
        let (quantity, trip, unit) = match is_ns {
            true => {
                let (quantity, trip) = of_metric(metric);
                (quantity, trip, ns())
            }
            false => (Quantity::Other, None, unit("", Dimension::One, 1.0)),
        };
        let mut data = out.data(&name, quantity, unit);
        data.method.trip = trip;
        data.conditions.extend(comments.conditions.clone());
        if !tag.is_empty() {
            data = data.with("tag", tag);
        }
        figures(&mut out, &data, &sum)?;
    }
    Ok(out.done())
}

/// What Dyno's metrics measure, and which way; of others only that they are times.
pub(super) fn of_metric(metric: &str) -> (Quantity, Option<Trip>) {
    match metric {
        "rtt_ns" => (Quantity::Latency, Some(Trip::Round)),
        "response_ns" | "service_ns" => (Quantity::Latency, Some(Trip::OneWay)),
        "histogram" => (Quantity::Latency, None),
        _ => (Quantity::Time, None),
    }
}

/// `13265 messages, infinitely late`: how many.
pub(super) fn messages(lost: &str) -> Result<u64, String> {
    Number::count(lost.split_whitespace().next().unwrap_or_default())
}

/// The figure that says how many messages were lost, where any were.
pub(super) fn put_lost(out: &mut Out, data: &Data, lost: u64, spot: Spot<'_>) -> Imported<()> {
    if lost == 0 {
        return Ok(());
    }
    out.count(data, (Quantity::Loss, "messages"), ("lost", lost), spot)
}

/// `Tag=A,0.127,1.007,2.769,HISTFAAAA…`: the tag, the maximum and the histogram.
fn row(line: &str) -> Result<(&str, Number, &str), String> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(rest) => rest.split_once(',').ok_or("the tag has no end")?,
        None => ("", line),
    };
    let cells: Vec<&str> = rest.split(',').collect();
    let [start, length, max, text] = cells[..] else {
        return Err(format!(
            "an interval has a start, a length, a maximum and a histogram, not {} parts; where a comma is the decimal point, run the tool with LC_ALL=C",
            cells.len()
        ));
    };
    for number in [start, length] {
        Number::parse(number.trim())?;
    }
    Ok((tag, Number::parse(max.trim())?, text.trim()))
}

/// Unpacks in bounds before the library reads: it would make room for as much as the text says that it holds.
fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let damaged = |what: &str| format!("the histogram is damaged or cut off: {what}");
    let mut bytes = STANDARD.decode(text).map_err(|e| damaged(&e.to_string()))?;
    let word = |bytes: &[u8], at: usize| {
        let four = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    let encoding = |bytes: &[u8]| word(bytes, 0).map(|w| w & !WIDTH);
    if encoding(&bytes).is_some_and(|e| DEFLATED.contains(&e)) {
        let mut plain = Vec::new();
        let unpacked = ZlibDecoder::new(bytes.get(8..).unwrap_or_default())
            .take(UNPACKED + 1)
            .read_to_end(&mut plain);
        unpacked.map_err(|e| damaged(&e.to_string()))?;
        bytes = plain;
    }
    match encoding(&bytes) {
        Some(V2) => {}
        Some(V0 | V1) if bytes.len() as u64 <= UNPACKED => {
            return of_counts(&bytes).ok_or_else(|| damaged("it is not as long as it says"));
        }
        _ => {
            return Err("the histogram is in no encoding of HdrHistogram, V0, V1 or V2".to_owned());
        }
    }
    let counts = word(&bytes, 4).and_then(|n| usize::try_from(n).ok());
    if bytes.len() as u64 > UNPACKED
        || counts.is_none_or(|n| n > bytes.len().saturating_sub(HEADER))
    {
        return Err(damaged("it is not as long as it says"));
    }
    let ratio = |bytes: &[u8]| bytes.get(HEADER - 8..HEADER).map(<[u8]>::to_vec);
    // The library for JavaScript writes whole numbers 1 as the offset and as the ratio, and means neither.
    if (word(&bytes, 8), ratio(&bytes)) == (Some(1), Some(1u64.to_be_bytes().to_vec())) {
        bytes[8..12].fill(0);
        bytes[HEADER - 8..HEADER].copy_from_slice(&1f64.to_be_bytes());
    }
    if word(&bytes, 8) != Some(0) || ratio(&bytes) != Some(1f64.to_be_bytes().to_vec()) {
        return Err(
            "the histogram is shifted or of values that a ratio was applied to, which is not read"
                .to_owned(),
        );
    }
    let read: Result<Histogram<u64>, _> = Deserializer::new().deserialize(&mut bytes.as_slice());
    let histogram = read.map_err(|e| damaged(&e.to_string()))?;
    match histogram.is_empty() || histogram.max() < u64::MAX / 2 {
        true => Ok(histogram),
        false => Err(damaged("it has values that no time can have")),
    }
}

/// A V0 or V1 histogram: a count of fixed width for each bucket, in ascending order.
fn of_counts(bytes: &[u8]) -> Option<Histogram<u64>> {
    let int = |at: usize| {
        let four = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes(four.try_into().ok()?))
    };
    let long = |at: usize| Some(u64::from(int(at)?) << 32 | u64::from(int(at + 4)?));
    let first = int(0)?;
    let width = ((first & WIDTH) >> 4) as usize;
    // V0 has neither a length, an offset nor a ratio.
    let (digits, low, header, length) = match first & !WIDTH {
        V0 => (int(4)?, long(8)?, 32, None),
        _ => (int(12)?, long(16)?, HEADER, Some((int(4)?, int(8)?))),
    };
    if ![2, 4, 8].contains(&width) || !(1..=5).contains(&digits) || low == 0 {
        return None;
    }
    let counts = bytes.get(header..)?;
    let counts = match length {
        Some((length, 0)) => counts.get(..usize::try_from(length).ok()?)?,
        Some(_) => return None,
        None => counts,
    };
    let mut histogram = Histogram::<u64>::new(u8::try_from(digits).ok()?).ok()?;
    histogram.auto(true);
    let unit = low.ilog2();
    let half = (2 * 10u64.pow(digits)).next_power_of_two() / 2;
    for (i, count) in counts.chunks_exact(width).enumerate() {
        let count = count.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte));
        if count == 0 {
            continue;
        }
        // The first two halves have single units, each further one doubles them.
        let doubling = (i as u64 / half).saturating_sub(1);
        let value = i as u64 - doubling * half;
        let shift = u32::try_from(doubling).ok()?.checked_add(unit)?;
        if shift >= value.leading_zeros().saturating_sub(1) {
            return None;
        }
        histogram.record_n(value << shift, count).ok()?;
    }
    Some(histogram)
}

fn figures(out: &mut Out, data: &Data, sum: &Sum) -> Imported<()> {
    let h = &sum.histogram;
    if h.is_empty() {
        return Ok(());
    }
    let text = format!("sum of {} intervals", sum.intervals);
    let spot = Spot::Line(sum.line, &text);
    let data = data.clone().of(Of::Samples, Some(h.len()));
    // A value stands for its bucket.
    let bucket = |value: u64| {
        let (low, high) = (h.lowest_equivalent(value), h.highest_equivalent(value));
        Number::of(
            low as f64 + (high - low) as f64 / 2.0,
            (high - low) as f64 / 2.0 + 0.5,
        )
    };
    out.put(&data, Statistic::Min, bucket(h.min()), spot)?;
    // Beyond the others lies no value: that is the largest one once more.
    let all = h.len().saturating_add(sum.lost);
    let reached = |p: &f64| all as f64 * (100.0 - p) >= 100.0 * (1.0 - 1e-9);
    let of_all = data.clone().of(Of::Samples, Some(all));
    for p in PERCENTILES.into_iter().filter(reached) {
        // A lost message is infinitely late: beyond those that arrived no percentile has a value.
        let of_arrived = p * (all as f64 / h.len() as f64);
        if of_arrived <= 100.0 * (1.0 + 1e-12) {
            let value = bucket(h.value_at_percentile(of_arrived.min(100.0)));
            out.put(&of_all, Statistic::Percentile(p), value, spot)?;
        }
    }
    put_lost(out, &data, sum.lost, spot)?;
    out.put(&data, Statistic::Max, bucket(h.max()), spot)?;
    let most = sum.fitting.iter().max().copied().unwrap_or(0);
    let ratio = RATIOS
        .iter()
        .zip(sum.fitting)
        .find(|(_, n)| *n == most && most > 0);
    if let (Some((number, line)), Some((ratio, _))) = (&sum.largest, ratio) {
        let of = data.other(Quantity::Other, data.unit.clone());
        let number = Number::of(number.value * ratio, number.half_step * ratio);
        let spot = Spot::Line(*line, "the largest of a row");
        out.put_named(&of, "largest-of-rows", Statistic::Value, number, spot)?;
        out.holds(&data, "{max} = {largest-of-rows}");
    }
    // Each sample may lie anywhere in its bucket.
    let part = h.equivalent_range(h.max()) as f64 / h.max().max(1) as f64;
    let (mean, sd) = (h.mean(), h.stdev());
    out.put(
        &data,
        Statistic::Mean,
        Number::of(mean, mean * part + 0.5),
        spot,
    )?;
    out.put(
        &data,
        Statistic::Sd,
        Number::of(sd, (mean + sd) * part + 0.5),
        spot,
    )
}
