//! The recorded values of a stored histogram, straight from its text.
//!
//! The library's decoder lays out the whole range of a histogram, a quarter of a megabyte, to hold some
//! hundred values; a run has a hundred thousand histograms. The encoding already is the list of what was
//! recorded: counts by index in zigzag LEB128, with a negative number for so many zeros
//! (HdrHistogram's V2 encoding, `org.HdrHistogram.EncodableHistogram`).
//!
//! Every histogram of a stored run is read here, and a run may be anybody's: bounds other than Dyno's, texts longer than
//! such a histogram can be, and counts that no trial has are refused, so that what is read has a bounded size.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_model::record::HdrText;
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use std::cell::RefCell;

const V2: u32 = 0x1c84_9313;
const V2_COMPRESSED: u32 = 0x1c84_9314;
/// Cookie, length, offset, digits, lowest and highest value, ratio.
const HEADER: usize = 40;
/// Bytes of the longest number.
const LONGEST: usize = 9;

/// Linear steps of half a bucket, as three significant digits take.
const HALF_MAGNITUDE: u32 = (2 * 10u64.pow(HdrText::DIGITS as u32))
    .next_power_of_two()
    .ilog2()
    - 1;
/// Bytes of a histogram that uses every index, before DEFLATE.
const LARGEST: usize = HEADER + LONGEST * indices();
/// Characters of the base64 of as many bytes, none of which DEFLATE could make smaller.
const LONGEST_TEXT: usize = LARGEST / 3 * 4 + 1024;
/// Samples that a histogram may count: beyond it a count is no longer exact as a double.
const MOST: u64 = 1 << 53;

/// Indices that a histogram of Dyno's bounds has.
const fn indices() -> usize {
    let (mut rows, mut untracked) = (1, 2u64 << HALF_MAGNITUDE);
    while untracked <= HdrText::HIGHEST.0 {
        rows += 1;
        untracked <<= 1;
    }
    (rows + 1) << HALF_MAGNITUDE
}

/// The lowest value at an index.
fn lowest(index: usize) -> u64 {
    let half = 1 << HALF_MAGNITUDE;
    match index >> HALF_MAGNITUDE {
        0 => index as u64,
        row => (((index & (half - 1)) + half) as u64) << (row - 1),
    }
}

/// The width of the bucket that holds a value, as a power of two.
fn magnitude(value: u64) -> u32 {
    let bits = u64::BITS - value.leading_zeros();
    bits.saturating_sub(HALF_MAGNITUDE + 1)
}

/// The middle of the bucket that holds a value.
fn middle(value: u64) -> u64 {
    let magnitude = magnitude(value);
    let lowest = value >> magnitude << magnitude;
    lowest + ((1u64 << magnitude) >> 1)
}

/// Whether two values are in one bucket.
pub(crate) fn equivalent(a: u64, b: u64) -> bool {
    let lowest = |v: u64| v >> magnitude(v) << magnitude(v);
    lowest(a) == lowest(b)
}

/// What was recorded: the lowest value of each bucket that holds any, and how often, ascending.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Recorded {
    pub(crate) counts: Vec<(u64, u64)>,
    /// All counts together.
    pub(crate) n: u64,
}

impl Recorded {
    /// The middles of the buckets with their counts.
    pub(crate) fn middles(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter().map(|(value, n)| (middle(*value), *n))
    }

    /// The same as the library has it.
    pub(crate) fn histogram(&self) -> Result<Histogram<u64>, String> {
        let (low, high) = (HdrText::LOWEST.0, HdrText::HIGHEST.0);
        let mut histogram =
            Histogram::new_with_bounds(low, high, HdrText::DIGITS).map_err(|e| e.to_string())?;
        for (value, n) in &self.counts {
            histogram.record_n(*value, *n).map_err(|e| e.to_string())?;
        }
        Ok(histogram)
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
        return Ok(Recorded::default());
    }
    if text.0.len() > LONGEST_TEXT {
        return Err("it is longer than any histogram of Dyno".into());
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
    while out.len() <= LARGEST {
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
    Err("it is longer than any histogram of Dyno".into())
}

fn read(bytes: &[u8]) -> Result<Recorded, String> {
    if u32_at(bytes, 0)? != V2 {
        return Err("it does not begin as a histogram".into());
    }
    let payload = u32_at(bytes, 4)? as usize;
    if u32_at(bytes, 8)? != 0 || f64::from_bits(u64_at(bytes, 32)?) != 1.0 {
        return Err("it is of a kind that is not supported".into());
    }
    let bounds = (u32_at(bytes, 12)?, u64_at(bytes, 16)?, u64_at(bytes, 24)?);
    let own = (
        u32::from(HdrText::DIGITS),
        HdrText::LOWEST.0,
        HdrText::HIGHEST.0,
    );
    if bounds != own {
        return Err("its bounds are not those of Dyno's histograms".into());
    }
    let mut left = bytes[HEADER..].get(..payload).ok_or("it is cut short")?;
    let (mut index, mut read) = (0usize, Recorded::default());
    while !left.is_empty() {
        let (number, rest) = number(left).ok_or("it is cut short")?;
        left = rest;
        if number < 0 {
            let zeros = usize::try_from(number.unsigned_abs()).map_err(|e| e.to_string())?;
            index = index.checked_add(zeros).ok_or("it is too long")?;
            continue;
        }
        if number > 0 {
            if index >= indices() {
                return Err("it is longer than its range".into());
            }
            read.n = read.n.saturating_add(number.unsigned_abs());
            if read.n > MOST {
                return Err("it counts more samples than a trial can have".into());
            }
            read.counts.push((lowest(index), number.unsigned_abs()));
        }
        index = index.checked_add(1).ok_or("it is too long")?;
    }
    Ok(read)
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
            deflated: bool,
        ) {
            let all = [values, small].concat();
            let h = histogram(1, 3_600_000_000_000, 3, &all);
            let bytes = encoded(&h, deflated);
            let own = recorded(&text(&bytes)).unwrap();
            prop_assert_eq!(own.middles().collect::<Vec<_>>(), by_the_library(&bytes).unwrap());
            prop_assert_eq!(own.n, h.len());
            prop_assert_eq!(&own.histogram().unwrap(), &h);
            for pair in all.windows(2) {
                prop_assert_eq!(equivalent(pair[0], pair[1]), h.equivalent(pair[0], pair[1]));
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
            // Other bounds are refused, where the library may fill memory for them.
            if !(12..32).contains(&at) {
                bytes[at] = to;
            }
            let own = recorded(&text(&bytes)).ok().map(|r| r.middles().collect::<Vec<_>>());
            let possible = |cells: &Vec<(u64, u64)>| {
                cells.iter().fold(0u64, |n, c| n.saturating_add(c.1)) <= MOST
            };
            prop_assert_eq!(own, by_the_library(&bytes).filter(possible));
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

    #[test]
    fn a_histogram_of_other_bounds_or_of_more_samples_than_can_be_is_refused() {
        for (low, high, digits) in [(1, 1 << 40, 3), (1, u64::MAX, 5), (2, 3_600_000_000_000, 3)] {
            let bytes = encoded(&histogram(low, high, digits, &[5]), true);
            let refused = recorded(&text(&bytes)).unwrap_err();
            assert!(refused.contains("bounds"), "{refused}");
        }
        let mut many = histogram(1, 3_600_000_000_000, 3, &[]);
        many.record_n(5, MOST / 2).unwrap();
        many.record_n(6, MOST / 2).unwrap();
        assert_eq!(recorded(&text(&encoded(&many, true))).unwrap().n, MOST);
        many.record_n(7, 1).unwrap();
        assert!(recorded(&text(&encoded(&many, true))).is_err());
    }

    #[test]
    fn the_largest_histogram_is_read_and_a_text_or_content_beyond_it_is_not() {
        let mut full = histogram(1, 3_600_000_000_000, 3, &[]);
        for index in 0..indices() {
            full.saturating_record_n(lowest(index), (MOST >> 17) - index as u64);
        }
        for deflated in [true, false] {
            let read = recorded(&text(&encoded(&full, deflated))).unwrap();
            assert_eq!(read.n, full.len());
        }
        let long = HdrText("A".repeat(LONGEST_TEXT + 1));
        assert!(recorded(&long).unwrap_err().contains("longer than any"));
        // A hundred megabytes of zeros behind a header that announces them.
        let mut header = encoded(&full, false);
        header.truncate(HEADER);
        header[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        let zeros = vec![0; 100 << 20];
        let mut deflated = Vec::new();
        let mut out = flate2::write::ZlibEncoder::new(&mut deflated, flate2::Compression::fast());
        std::io::Write::write_all(&mut out, &header).unwrap();
        std::io::Write::write_all(&mut out, &zeros).unwrap();
        out.finish().unwrap();
        let mut bomb = V2_COMPRESSED.to_be_bytes().to_vec();
        bomb.extend((deflated.len() as u32).to_be_bytes());
        bomb.extend(deflated);
        assert!(
            recorded(&text(&bomb))
                .unwrap_err()
                .contains("longer than any")
        );
        let kept = INFLATE.with_borrow(|(_, out)| out.capacity());
        assert!(kept < 4 * LARGEST, "{kept}");
    }
}
