//! The values that some trials have: each once, and which of them each cell has.
//!
//! A large run has millions of cells and thousands of values. So they are told apart by their bits in one walk over the
//! cells, and only what is left of them is sorted.

use crate::samples::TrialSamples;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The values of some trials.
#[derive(Default)]
pub(crate) struct Values {
    /// Ascending, each once.
    pub(crate) all: Vec<f64>,
    /// Of each cell, in their order: the place of its value among all.
    pub(crate) of_cells: Vec<u32>,
}

impl Values {
    pub(crate) fn of(trials: &[&TrialSamples]) -> Self {
        let blocks = || trials.iter().flat_map(|t| &t.blocks);
        let mut of_cells = Vec::with_capacity(blocks().map(|b| b.cells.len()).sum());
        let mut all: Vec<f64> = Vec::new();
        let mut known: HashMap<u64, u32, BuildHasherDefault<OfBits>> = HashMap::default();
        for cell in blocks().flat_map(|b| b.cells.iter()) {
            let number = known.entry(cell.value.to_bits()).or_insert_with(|| {
                all.push(cell.value);
                // There are no more values than cells, which are fewer than that.
                (all.len() - 1) as u32
            });
            of_cells.push(*number);
        }
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        order.sort_unstable_by(|a, b| all[*a as usize].total_cmp(&all[*b as usize]));
        let mut places = vec![0; all.len()];
        for (place, number) in order.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        for number in &mut of_cells {
            *number = places[*number as usize];
        }
        all.sort_unstable_by(f64::total_cmp);
        Values { all, of_cells }
    }
}

/// A hash of the bits of one number, by Knuth's multiplicative method (*The Art of Computer Programming* 3, section 6.4).
/// Nobody chooses latencies so that they collide.
#[derive(Default)]
struct OfBits(u64);

impl Hasher for OfBits {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, bits: u64) {
        let product = u128::from(self.0 ^ bits) * 0x9e37_79b9_7f4a_7c15;
        // The lowest bits of a short number are zero, and so are those of its product, but not those of its upper half.
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_value_is_there_once_and_each_cell_finds_its_own(
            blocks in prop::collection::vec(prop::collection::vec(0u32..500, 0..60), 0..12),
            scale in prop::sample::select(vec![1.0, 0.1, 1e9]),
        ) {
            let values = |b: &Vec<u32>| b.iter().map(|v| f64::from(*v) * scale).collect();
            let blocks: Vec<Vec<f64>> = blocks.iter().map(values).collect();
            let trials: Vec<TrialSamples> = blocks
                .chunks(3)
                .map(|some| TrialSamples::from_values(some, 0))
                .collect();
            let trials: Vec<&TrialSamples> = trials.iter().collect();
            let found = Values::of(&trials);
            let mut expected: Vec<f64> = blocks.concat();
            expected.sort_by(f64::total_cmp);
            expected.dedup();
            prop_assert_eq!(&found.all, &expected);
            let cells = trials.iter().flat_map(|t| &t.blocks).flat_map(|b| b.cells.iter());
            let of_cells = found.of_cells.iter().map(|n| found.all[*n as usize]);
            prop_assert!(cells.map(|c| c.value).eq(of_cells));
        }
    }
}
