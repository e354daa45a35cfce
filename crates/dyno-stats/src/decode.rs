//! The recorded values of a stored histogram, straight from its text.
//!
//! The library's decoder lays out the whole range of a histogram, a quarter of a megabyte, to hold some
//! hundred values; a run has a hundred thousand histograms. The encoding already is the list of what was
//! recorded: counts by index in zigzag LEB128, with a negative number for so many zeros
//! (HdrHistogram's V2 encoding, `org.HdrHistogram.EncodableHistogram`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_model::record::HdrText;
use flate2::{Decompress, FlushDecompress, Status};
use std::cell::RefCell;

const V2: u32 = 0x1c84_9313;
const V2_COMPRESSED: u32 = 0x1c84_9314;
/// Cookie, length, offset, digits, lowest and highest value, ratio.
const HEADER: usize = 40;
/// Bytes of the longest number.
const LONGEST: usize = 9;

/// The buckets of a histogram: how values map to indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Buckets {
    unit_magnitude: u32,
    /// The logarithm of half the linear steps of a bucket.
    half_magnitude: u32,
    /// Indices that there are.
    len: usize,
}

/// What was recorded: (a value of the bucket, how often), ascending.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Recorded {
    pub(crate) buckets: Buckets,
    /// The lowest value of each bucket that holds any, and the count.
    pub(crate) counts: Vec<(u64, u64)>,
}

impl Buckets {
    /// Of a histogram with these bounds; `None` where no histogram has them.
    fn new(low: u64, high: u64, digits: u32) -> Option<Buckets> {
        if !(1..=u64::MAX / 2).contains(&low) || high < 2 * low || digits > 5 {
            return None;
        }
        let unit_magnitude = low.ilog2();
        let steps = (2 * 10u64.pow(digits)).next_power_of_two();
        let half_magnitude = steps.ilog2() - 1;
        if unit_magnitude + half_magnitude > 62 {
            return None;
        }
        let mut untracked = steps << unit_magnitude;
        let mut buckets = 1;
        while untracked <= high {
            buckets += 1;
            if untracked > u64::MAX / 2 {
                break;
            }
            untracked <<= 1;
        }
        Some(Buckets {
            unit_magnitude,
            half_magnitude,
            len: (buckets + 1) << half_magnitude,
        })
    }

    /// The lowest value at an index below `len`.
    fn lowest(&self, index: usize) -> u64 {
        let half = 1 << self.half_magnitude;
        match index >> self.half_magnitude {
            0 => (index as u64) << self.unit_magnitude,
            row => {
                let step = (index & (half - 1)) + half;
                (step as u64) << (row as u32 - 1 + self.unit_magnitude)
            }
        }
    }

    /// The width of the bucket that holds a value, as a power of two.
    fn magnitude(&self, value: u64) -> u32 {
        let steps = self.half_magnitude + 1;
        let bits = u64::BITS - value.leading_zeros();
        bits.saturating_sub(steps).max(self.unit_magnitude)
    }

    /// The middle of the bucket that holds a value.
    pub(crate) fn middle(&self, value: u64) -> u64 {
        let magnitude = self.magnitude(value);
        let lowest = value >> magnitude << magnitude;
        lowest + ((1u64 << magnitude) >> 1)
    }

    /// Whether two values are in one bucket.
    pub(crate) fn equivalent(&self, a: u64, b: u64) -> bool {
        let lowest = |v: u64| {
            let magnitude = self.magnitude(v);
            v >> magnitude << magnitude
        };
        lowest(a) == lowest(b)
    }
}

impl Recorded {
    /// All counts together.
    pub(crate) fn len(&self) -> u64 {
        let counts = self.counts.iter().map(|(_, count)| *count);
        counts.fold(0, u64::saturating_add)
    }

    /// The middles of the buckets with their counts.
    pub(crate) fn middles(&self) -> impl Iterator<Item = (u64, u64)> {
        let middle = |(value, count): &(u64, u64)| (self.buckets.middle(*value), *count);
        self.counts.iter().map(middle)
    }
}

thread_local! {
    /// The state of inflation is large, so it is used again.
    static INFLATE: RefCell<(Decompress, Vec<u8>)> = RefCell::new((Decompress::new(true), Vec::new()));
}

/// Reads base64 of HdrHistogram's V2 encoding, compressed or not; an empty text is an empty histogram.
///
/// # Errors
/// What does not decode, in words.
pub(crate) fn recorded(text: &HdrText) -> Result<Recorded, String> {
    if text.0.is_empty() {
        let buckets = Buckets::new(1, 2, 3).ok_or("no buckets")?;
        return Ok(Recorded {
            buckets,
            counts: Vec::new(),
        });
    }
    let bytes = STANDARD.decode(&text.0).map_err(|e| e.to_string())?;
    match u32_at(&bytes, 0)? {
        V2 => read(&bytes),
        V2_COMPRESSED => {
            let stated = u32_at(&bytes, 4)? as usize;
            let deflated = bytes[8..].get(..stated).ok_or("it is cut short")?;
            INFLATE.with_borrow_mut(|(state, out)| {
                inflate(state, deflated, out)?;
                read(out)
            })
        }
        _ => Err("it does not begin as a histogram".into()),
    }
}

/// Inflates as much as the header within announces.
fn inflate(state: &mut Decompress, deflated: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    state.reset(true);
    out.clear();
    out.reserve(4096);
    loop {
        let read = &deflated[state.total_in() as usize..];
        let before = (state.total_in(), state.total_out());
        let status = state
            .decompress_vec(read, out, FlushDecompress::None)
            .map_err(|e| e.to_string())?;
        let announced = u32_at(out, 4).map(|len| HEADER.saturating_add(len as usize));
        if status == Status::StreamEnd || announced.is_ok_and(|all| out.len() >= all) {
            return Ok(());
        }
        if before == (state.total_in(), state.total_out()) && out.len() < out.capacity() {
            return Err("it is cut short".into());
        }
        if out.len() == out.capacity() {
            out.reserve(out.len());
        }
    }
}

fn read(bytes: &[u8]) -> Result<Recorded, String> {
    if u32_at(bytes, 0)? != V2 {
        return Err("it does not begin as a histogram".into());
    }
    let payload = u32_at(bytes, 4)? as usize;
    if u32_at(bytes, 8)? != 0 || f64::from_bits(u64_at(bytes, 32)?) != 1.0 {
        return Err("it is of a kind that is not supported".into());
    }
    let (low, high) = (u64_at(bytes, 16)?, u64_at(bytes, 24)?);
    let buckets = Buckets::new(low, high, u32_at(bytes, 12)?).ok_or("its bounds cannot be")?;
    let mut left = bytes[HEADER..].get(..payload).ok_or("it is cut short")?;
    let (mut index, mut counts) = (0usize, Vec::new());
    while !left.is_empty() {
        let (number, rest) = number(left).ok_or("it is cut short")?;
        left = rest;
        if number < 0 {
            let zeros = usize::try_from(number.unsigned_abs()).map_err(|e| e.to_string())?;
            index = index.checked_add(zeros).ok_or("it is too long")?;
            continue;
        }
        if number > 0 {
            if index >= buckets.len {
                return Err("it is longer than its range".into());
            }
            counts.push((buckets.lowest(index), number as u64));
        }
        index = index.checked_add(1).ok_or("it is too long")?;
    }
    Ok(Recorded { buckets, counts })
}

/// The first zigzag LEB128 number, the ninth byte of which is taken whole, and what follows it.
fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0u64;
    for (i, byte) in bytes.iter().take(LONGEST).enumerate() {
        let last = i == LONGEST - 1;
        let part = if last { *byte } else { byte & 0x7f };
        value |= u64::from(part) << (7 * i);
        if last || byte & 0x80 == 0 {
            let number = ((value >> 1) as i64) ^ -((value & 1) as i64);
            return Some((number, &bytes[i + 1..]));
        }
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, String> {
    let four = bytes.get(at..).and_then(|b| b.first_chunk());
    four.map(|b| u32::from_be_bytes(*b))
        .ok_or_else(|| "it is cut short".into())
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, String> {
    let eight = bytes.get(at..).and_then(|b| b.first_chunk());
    eight
        .map(|b| u64::from_be_bytes(*b))
        .ok_or_else(|| "it is cut short".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{
        Deserializer, Serializer, V2DeflateSerializer, V2Serializer,
    };
    use proptest::prelude::*;

    fn encoded(h: &Histogram<u64>, deflated: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        match deflated {
            true => V2DeflateSerializer::new().serialize(h, &mut bytes).unwrap(),
            false => V2Serializer::new().serialize(h, &mut bytes).unwrap(),
        };
        bytes
    }

    fn text(bytes: &[u8]) -> HdrText {
        HdrText(STANDARD.encode(bytes))
    }

    /// What the library reads from the same bytes.
    fn by_the_library(bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
        let h: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).ok()?;
        let cells = h.iter_recorded();
        Some(
            cells
                .map(|s| {
                    (
                        h.median_equivalent(s.value_iterated_to()),
                        s.count_at_value(),
                    )
                })
                .collect(),
        )
    }

    fn histogram(low: u64, high: u64, digits: u8, values: &[u64]) -> Histogram<u64> {
        let mut h = Histogram::new_with_bounds(low, high, digits).unwrap();
        values.iter().for_each(|v| h.saturating_record(*v));
        h
    }

    proptest! {
        #[test]
        fn it_reads_what_the_library_reads(
            values in proptest::collection::vec(0u64..5_000_000_000_000, 0..200),
            small in proptest::collection::vec(0u64..5_000, 0..200),
            low in 1u64..5_000,
            digits in 0u8..=5,
            deflated: bool,
        ) {
            let all = [values, small].concat();
            let h = histogram(low, 3_600_000_000_000, digits, &all);
            let bytes = encoded(&h, deflated);
            let own = recorded(&text(&bytes)).unwrap();
            prop_assert_eq!(own.middles().collect::<Vec<_>>(), by_the_library(&bytes).unwrap());
            prop_assert_eq!(own.len(), h.len());
            for pair in all.windows(2) {
                prop_assert_eq!(own.buckets.equivalent(pair[0], pair[1]), h.equivalent(pair[0], pair[1]));
            }
        }

        #[test]
        fn bytes_cut_or_changed_are_refused_or_read_as_the_library_reads_them(
            values in proptest::collection::vec(1u64..1_000_000, 1..50),
            keep in 0.0f64..1.0,
            at in 0.0f64..1.0,
            to: u8,
        ) {
            let mut bytes = encoded(&histogram(1, 3_600_000_000_000, 3, &values), false);
            let at = (at * bytes.len() as f64) as usize;
            // Bounds that fill memory say nothing of the reader.
            if !(12..32).contains(&at) {
                bytes[at] = to;
            }
            let own = recorded(&text(&bytes)).ok().map(|r| r.middles().collect::<Vec<_>>());
            prop_assert_eq!(own, by_the_library(&bytes));
            // No text at all is an empty histogram.
            let cut = 1 + (keep * (bytes.len() - 1) as f64) as usize;
            prop_assert_eq!(recorded(&text(&bytes[..cut])).is_ok(), by_the_library(&bytes[..cut]).is_some());
        }
    }

    #[test]
    fn a_deflated_text_that_is_cut_short_is_refused() {
        let bytes = encoded(
            &histogram(1, 3_600_000_000_000, 3, &[5, 6, 70_000, 80_000]),
            true,
        );
        for cut in 0..bytes.len() - 8 {
            assert!(recorded(&text(&bytes[..cut])).is_err() || cut == 0, "{cut}");
        }
        assert!(recorded(&text(&bytes)).is_ok());
    }
}
