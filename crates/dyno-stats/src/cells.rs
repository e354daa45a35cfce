//! Values with their counts in eight bytes each: a large run has millions of them at once.
//!
//! The middle of a histogram's bucket is a short number, which half the bytes hold exactly, and so are most counts. What
//! half the bytes do not hold exactly stands beside them in full, and in its place its number there: nothing is rounded.

/// One distinct value and how often it occurred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) value: f64,
    pub(crate) count: u64,
}

/// Marks the number of what stands in full: the sign of a value, the highest bit of a count.
const IN_FULL: u32 = 1 << 31;

/// Counts that do not fit into half the bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts(Vec<u64>);

impl Counts {
    pub(crate) fn pack(&mut self, count: u64) -> u32 {
        match u32::try_from(count) {
            Ok(small) if small < IN_FULL => small,
            _ => in_full(&mut self.0, count),
        }
    }

    #[inline]
    pub(crate) fn of(&self, packed: u32) -> u64 {
        match packed.checked_sub(IN_FULL) {
            None => u64::from(packed),
            Some(number) => self.0[number as usize],
        }
    }
}

fn in_full<T>(all: &mut Vec<T>, one: T) -> u32 {
    all.push(one);
    // There are fewer cells than that.
    IN_FULL + (all.len() - 1) as u32
}

/// Cells in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cells {
    /// Value and count of each.
    packed: Vec<[u32; 2]>,
    values: Vec<f64>,
    counts: Counts,
}

impl Cells {
    pub(crate) fn new(all: &[Cell]) -> Self {
        let mut cells = Cells {
            packed: Vec::with_capacity(all.len()),
            ..Cells::default()
        };
        for Cell { value, count } in all {
            let narrow = *value as f32;
            let value = match f64::from(narrow) == *value && narrow.is_sign_positive() {
                true => narrow.to_bits(),
                false => in_full(&mut cells.values, *value),
            };
            cells.packed.push([value, cells.counts.pack(*count)]);
        }
        cells
    }

    pub(crate) fn len(&self) -> usize {
        self.packed.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Cell> + Clone {
        self.packed.iter().map(|packed| self.of(*packed))
    }

    pub(crate) fn first(&self) -> Option<Cell> {
        self.packed.first().map(|packed| self.of(*packed))
    }

    pub(crate) fn last(&self) -> Option<Cell> {
        self.packed.last().map(|packed| self.of(*packed))
    }

    #[inline]
    fn of(&self, [value, count]: [u32; 2]) -> Cell {
        Cell {
            value: match value.checked_sub(IN_FULL) {
                None => f64::from(f32::from_bits(value)),
                Some(number) => self.values[number as usize],
            },
            count: self.counts.of(count),
        }
    }
}

impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_and_count_comes_back_to_the_last_bit(
            all in prop::collection::vec((any::<f64>(), any::<u64>()), 0..50),
            buckets in prop::collection::vec((0u64..2_048, 0u32..30, 0u64..9), 0..50),
        ) {
            let buckets = buckets.into_iter().map(|(step, row, n)| (((2 * step + 1) << row) as f64, n));
            let all: Vec<Cell> = all.into_iter().chain(buckets).map(|(value, count)| Cell { value, count }).collect();
            let cells = Cells::new(&all);
            prop_assert_eq!(cells.len(), all.len());
            let bits = |c: Cell| (c.value.to_bits(), c.count);
            prop_assert!(cells.iter().map(bits).eq(all.iter().copied().map(bits)));
            prop_assert_eq!(cells.first().map(bits), all.first().copied().map(bits));
            prop_assert_eq!(cells.last().map(bits), all.last().copied().map(bits));
        }
    }

    #[test]
    fn the_middles_of_buckets_and_common_counts_take_half_the_bytes() {
        let all: Vec<Cell> = [0.0, 1.0, 12_306.0, (4_095_u64 << 29) as f64]
            .map(|value| Cell { value, count: 7 })
            .into();
        let cells = Cells::new(&all);
        assert!(cells.values.is_empty() && cells.counts.0.is_empty());
    }
}
