//! Records latencies into HdrHistograms, one per block of the window.
//!
//! All histograms have the same fixed bounds ([`LOWEST`] to [`HIGHEST`], three significant digits)
//! and are allocated and touched before the window; recording is arithmetic and one increment. What
//! is above the upper bound is recorded as that bound and counted; sum, minimum and maximum are kept
//! apart and exact. While recording, bins count in 32 bits, which halves the memory (132 KiB per
//! block) that stands in the process's resident set.

mod bins;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bins::{Bins, empty};
use dyno_model::Metric;
use dyno_model::record::{Distribution, HdrText};
use dyno_model::unit::Nanos;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};
use std::collections::BTreeMap;
use std::hint::black_box;

/// The smallest latency told apart from zero.
pub const LOWEST: Nanos = HdrText::LOWEST;
/// The largest latency told apart: one hour.
pub const HIGHEST: Nanos = HdrText::HIGHEST;
/// Significant decimal digits.
pub const DIGITS: u8 = HdrText::DIGITS;

/// Why a distribution could not be written, read or merged.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The library could not encode a histogram.
    #[error("a histogram could not be encoded: {0}")]
    Encode(String),
    /// A stored text is not a histogram.
    #[error(
        "a stored histogram could not be decoded ({0}): the file is damaged or was not written by dyno"
    )]
    Decode(String),
}

/// One writer's record of one metric over one window.
#[derive(Debug)]
pub struct Recorder {
    blocks: Vec<Bins>,
    cut: Cut,
    /// The block that the last sample went to.
    current: usize,
    sum: u128,
    min: u64,
    max: u64,
    saturated: u64,
    n: u64,
}

/// Where one block ends and the next begins.
#[derive(Debug)]
enum Cut {
    /// Blocks of equal time; the current one is `from..to`.
    Time {
        begin: u64,
        block: u64,
        from: u64,
        to: u64,
    },
    /// Blocks of an equal number of samples; `left` more fit into the current one.
    Count { per_block: u64, left: u64 },
}

impl Recorder {
    /// Cuts the window into `blocks` (at least one) of time `block` each, from [`begin`] on. What
    /// comes before or after belongs to the first or last block.
    ///
    /// [`begin`]: Recorder::begin
    pub fn by_time(blocks: usize, block: Nanos) -> Self {
        let block = block.0.max(1);
        Self::new(
            blocks,
            Cut::Time {
                begin: 0,
                block,
                from: 0,
                to: block,
            },
        )
    }

    /// Cuts the window into `blocks` (at least one) of `per_block` samples each (at least one). What
    /// comes after belongs to the last block.
    pub fn by_count(blocks: usize, per_block: u64) -> Self {
        let per_block = per_block.max(1);
        Self::new(
            blocks,
            Cut::Count {
                per_block,
                left: per_block,
            },
        )
    }

    fn new(blocks: usize, cut: Cut) -> Self {
        Recorder {
            blocks: (0..blocks.max(1)).map(|_| Bins::prefaulted()).collect(),
            cut,
            current: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            saturated: 0,
            n: 0,
        }
    }

    /// The window begins at `at` on the run's clock. [`by_time`](Recorder::by_time) needs to know, and so does
    /// whoever has [rehearsed](Recorder::record_if).
    pub fn begin(&mut self, at: Nanos) {
        self.begin_if(true, at);
    }

    /// The window begins at `at` if it `begins`; without a branch, for whoever asks with each sample.
    #[inline]
    pub fn begin_if(&mut self, begins: bool, at: Nanos) {
        // The compiler must not know that it is one of two values: it makes a branch of a choice.
        let mask = black_box(u64::from(begins).wrapping_neg());
        let choose = |new: u64, old: u64| old ^ ((old ^ new) & mask);
        self.current &= !mask as usize;
        match &mut self.cut {
            Cut::Time {
                begin,
                block,
                from,
                to,
            } => {
                *begin = choose(at.0, *begin);
                *from = choose(at.0, *from);
                *to = choose(at.0.saturating_add(*block), *to);
            }
            Cut::Count { per_block, left } => *left = choose(*per_block, *left),
        }
    }

    /// Records a sample that belongs to the instant `at`.
    #[inline]
    pub fn record(&mut self, at: Nanos, value: Nanos) {
        self.record_if(true, at, value);
    }

    /// Records a sample that belongs to the instant `at` if it `counts`. If it does not, it takes the same instructions
    /// through the same memory and leaves nothing behind: so a warm-up rehearses, before [`begin`](Recorder::begin).
    /// It finds a place in the first block of equal time, and in all blocks of equal numbers, one after the other, again
    /// and again.
    #[inline]
    pub fn record_if(&mut self, counts: bool, at: Nanos, value: Nanos) {
        let value = value.0;
        let once = u64::from(counts);
        // A branch would be taken another way by the first sample that counts than by those before it.
        let kept = once.wrapping_neg();
        match &mut self.cut {
            Cut::Time { from, to, .. } => {
                if at.0.wrapping_sub(*from) & kept >= *to - *from {
                    self.turn_to(at.0);
                }
            }
            Cut::Count { per_block, left } => {
                if *left == 0 {
                    let is_last = self.current + 1 == self.blocks.len();
                    (self.current, *left) = next_block(self.current, is_last, *per_block, counts);
                }
                *left -= 1;
            }
        }
        self.n += once;
        self.sum += u128::from(value & kept);
        self.min = self.min.min(value | !kept);
        self.max = self.max.max(value & kept);
        self.saturated += u64::from(value > HIGHEST.0) & kept;
        self.blocks[self.current].record(value, counts);
    }

    /// Makes the block current that `at` falls into.
    #[cold]
    fn turn_to(&mut self, at: u64) {
        let last = self.blocks.len() as u64 - 1;
        if let Cut::Time {
            begin,
            block,
            from,
            to,
        } = &mut self.cut
        {
            let index = (at.saturating_sub(*begin) / *block).min(last);
            self.current = index as usize;
            *from = begin.saturating_add(index.saturating_mul(*block));
            *to = if index == last {
                u64::MAX
            } else {
                from.saturating_add(*block)
            };
        }
    }

    /// Samples recorded so far.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Whether nothing has been recorded.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Encodes what was recorded, together with `infinite` messages that never arrived.
    ///
    /// # Errors
    ///
    /// [`RecordError::Encode`] where the histogram library fails.
    pub fn finish(self, infinite: u64) -> Result<Distribution, RecordError> {
        let mut total = empty::<u64>();
        for block in &self.blocks {
            block.add_to(&mut total);
        }
        let block = |bins: &Bins| encode(&bins.histogram());
        Ok(Distribution {
            total: encode(&total)?,
            blocks: self.blocks.iter().map(block).collect::<Result<_, _>>()?,
            n: self.n,
            infinite,
            saturated: self.saturated,
            sum: self.sum as f64,
            min: if self.n == 0 { 0 } else { self.min },
            max: self.max,
        })
    }
}

/// The block of equal numbers behind `current`, and how many samples fit into it. The last one takes the rest of a
/// window; a rehearsal begins anew.
#[cold]
fn next_block(current: usize, is_last: bool, per_block: u64, counts: bool) -> (usize, u64) {
    match (is_last, counts) {
        (false, _) => (current + 1, per_block),
        (true, true) => (current, u64::MAX),
        (true, false) => (0, per_block),
    }
}

/// Two records of the same window as one: block `i` with block `i`. Where one has more blocks, the
/// rest of them stands as it is.
///
/// # Errors
///
/// [`RecordError::Decode`] where a text is not a histogram.
pub fn merge(a: Distribution, b: Distribution) -> Result<Distribution, RecordError> {
    let mut blocks = Vec::with_capacity(a.blocks.len().max(b.blocks.len()));
    let (mut left, mut right) = (a.blocks.into_iter(), b.blocks.into_iter());
    loop {
        blocks.push(match (left.next(), right.next()) {
            (Some(x), Some(y)) => merge_text(&x, &y)?,
            (Some(x), None) => x,
            (None, Some(y)) => y,
            (None, None) => break,
        });
    }
    Ok(Distribution {
        total: merge_text(&a.total, &b.total)?,
        blocks,
        n: a.n + b.n,
        infinite: a.infinite + b.infinite,
        saturated: a.saturated + b.saturated,
        sum: a.sum + b.sum,
        min: match (a.n, b.n) {
            (0, _) => b.min,
            (_, 0) => a.min,
            _ => a.min.min(b.min),
        },
        max: a.max.max(b.max),
    })
}

/// Adds distributions to those of the same metric.
///
/// # Errors
///
/// As [`merge`]; what was added until then stays.
pub fn merge_all(
    all: &mut BTreeMap<Metric, Distribution>,
    more: impl IntoIterator<Item = (Metric, Distribution)>,
) -> Result<(), RecordError> {
    for (metric, one) in more {
        let merged = match all.remove(&metric) {
            None => one,
            Some(other) => merge(other, one)?,
        };
        all.insert(metric, merged);
    }
    Ok(())
}

fn merge_text(a: &HdrText, b: &HdrText) -> Result<HdrText, RecordError> {
    let mut sum = decode(a)?;
    add(&mut sum, &decode(b)?);
    encode(&sum)
}

/// A histogram as it stands in a [`Distribution`].
///
/// # Errors
///
/// [`RecordError::Encode`] where the histogram library fails.
pub fn encode<C: Counter>(histogram: &Histogram<C>) -> Result<HdrText, RecordError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|e| RecordError::Encode(e.to_string()))?;
    Ok(HdrText(STANDARD.encode(bytes)))
}

/// The histogram of a text; an empty one for an empty text.
///
/// # Errors
///
/// [`RecordError::Decode`] where the text is not a histogram.
pub fn decode(text: &HdrText) -> Result<Histogram<u64>, RecordError> {
    if text.0.is_empty() {
        return Ok(empty());
    }
    let bytes = STANDARD
        .decode(&text.0)
        .map_err(|e| RecordError::Decode(e.to_string()))?;
    Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|e| RecordError::Decode(e.to_string()))
}

/// An empty histogram whose memory is resident.
pub(crate) fn prefaulted() -> Histogram<u32> {
    // Zeroed memory may come from the allocator as pages that do not exist yet, and zeroing them
    // makes them exist; the compiler must not see that they are zero already.
    let mut histogram = std::hint::black_box(empty::<u32>());
    histogram.reset();
    histogram
}

/// Adds `other`; what lies above the bounds of `sum` goes to its upper bound.
fn add<C: Counter>(sum: &mut Histogram<u64>, other: &Histogram<C>) {
    for v in other.iter_recorded() {
        sum.saturating_record_n(v.value_iterated_to(), v.count_at_value().as_u64());
    }
}

#[cfg(test)]
mod tests;
