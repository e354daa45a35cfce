//! The bins of an HdrHistogram of Dyno's fixed bounds, as a plain array: to record is one shift and one increment.

use dyno_model::record::HdrText;
use hdrhistogram::{Counter, Histogram};

/// Bits of a value that are kept: enough to tell two values apart that differ by one in 10^[`HdrText::DIGITS`].
const KEPT_BITS: u32 = (2 * 10u64.pow(HdrText::DIGITS as u32) - 1).ilog2() + 1;
/// Bins for each power of two above the first, which has twice as many.
const HALF: u64 = 1 << (KEPT_BITS - 1);
const BINS: usize = bin(HdrText::HIGHEST.0) + 1;

// The bins of another lowest value would have to be shifted.
const _: () = assert!(HdrText::LOWEST.0 == 1);

/// The bin of `value`, as `hdrhistogram` numbers them.
#[inline(always)]
const fn bin(value: u64) -> usize {
    let shift = u64::BITS - KEPT_BITS - (value | (2 * HALF - 1)).leading_zeros();
    (shift as u64 * HALF + (value >> shift)) as usize
}

/// The smallest value of a bin.
fn lowest_of(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin / HALF).saturating_sub(1);
    (bin - shift * HALF) << shift
}

/// How many values fell into each bin, in 32 bits: a bin stays full after 4.3 thousand million.
#[derive(Debug)]
pub(super) struct Bins(Box<[u32; BINS]>);

impl Bins {
    /// Empty bins whose memory is resident.
    pub(super) fn prefaulted() -> Self {
        // Zeroed memory may come from the allocator as pages that do not exist yet, and zeroing them makes them
        // exist; the compiler must not see that they are zero already.
        let mut bins = std::hint::black_box(vec![0; BINS].into_boxed_slice());
        bins.fill(0);
        match bins.try_into() {
            Ok(bins) => Bins(bins),
            Err(_) => unreachable!("a slice of this length was just made"),
        }
    }

    /// Counts `value` if it `counts`; what is above [`HdrText::HIGHEST`] as that.
    #[inline(always)]
    pub(super) fn record(&mut self, value: u64, counts: bool) {
        // A branch that is foreseen, where the lesser of two values would have to be waited for.
        let count = match self.0.get_mut(bin(value)) {
            Some(count) => count,
            None => self.highest(),
        };
        *count = count.saturating_add(u32::from(counts));
    }

    #[cold]
    fn highest(&mut self) -> &mut u32 {
        &mut self.0[BINS - 1]
    }

    /// Adds what was counted to a histogram.
    pub(super) fn add_to(&self, histogram: &mut Histogram<u64>) {
        for (bin, count) in self.0.iter().enumerate().filter(|(_, c)| **c > 0) {
            histogram.saturating_record_n(lowest_of(bin), u64::from(*count));
        }
    }

    /// The histogram of what was counted.
    pub(super) fn histogram(&self) -> Histogram<u64> {
        let mut histogram = empty();
        self.add_to(&mut histogram);
        histogram
    }
}

/// An empty histogram of the bounds that all have.
pub(super) fn empty<C: Counter>() -> Histogram<C> {
    // The library refuses lowest < 1, highest < 2 * lowest and digits > 5; these are constants.
    Histogram::new_with_bounds(HdrText::LOWEST.0, HdrText::HIGHEST.0, HdrText::DIGITS)
        .unwrap_or_else(|e| unreachable!("constant histogram bounds were refused: {e}"))
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_edge_of_a_bin_is_where_the_library_has_it() {
        let library = empty::<u64>();
        for first in (0..BINS).map(lowest_of) {
            for value in [
                first,
                first.saturating_sub(1),
                library.highest_equivalent(first),
            ] {
                assert_eq!(
                    lowest_of(bin(value)),
                    library.lowest_equivalent(value),
                    "{value}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn they_are_the_histogram_of_the_library(
            values in prop::collection::vec((0u32..64, any::<u64>()), 0..400)
        ) {
            let (mut bins, mut library) = (Bins::prefaulted(), empty::<u64>());
            for value in values.into_iter().map(|(bits, x)| x >> bits) {
                bins.record(value, true);
                library.saturating_record(value.min(HdrText::HIGHEST.0));
            }
            prop_assert_eq!(encode(&bins.histogram()).unwrap(), encode(&library).unwrap());
        }
    }
}
