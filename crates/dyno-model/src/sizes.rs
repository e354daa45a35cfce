//! Payloads of several sizes within one flow: which of them a message has.
//!
//! The size of a message is a function of the trial's seed, the channel and the message's number, so that both sides know it
//! and a receiver can check it: nothing is agreed on while messages fly.

use crate::unit::PayloadSize;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The sizes of a flow's messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sizes {
    /// One of these, the more often the larger its weight. At least one, with weights of at least 1.
    OneOf(Vec<Weighted>),
    /// Every size from `least` to `most` is as frequent as any other.
    Between {
        /// The smallest.
        least: PayloadSize,
        /// The largest; not below `least`.
        most: PayloadSize,
    },
}

/// A size that is drawn so often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighted {
    /// The size.
    pub size: PayloadSize,
    /// Its share of all messages is its part of the sum of all weights.
    pub weight: u32,
}

impl Sizes {
    /// The smallest size; `None` where there is none.
    pub fn least(&self) -> Option<PayloadSize> {
        match self {
            Sizes::OneOf(all) => all.iter().map(|w| w.size).min(),
            Sizes::Between { least, .. } => Some(*least),
        }
    }

    /// The largest size, for which channels are made; `None` where there is none.
    pub fn most(&self) -> Option<PayloadSize> {
        match self {
            Sizes::OneOf(all) => all.iter().map(|w| w.size).max(),
            Sizes::Between { most, .. } => Some(*most),
        }
    }

    /// The mean size, in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::OneOf(all) => {
                let part = |w: &Weighted| f64::from(w.weight) * w.size.bytes() as f64;
                all.iter().map(part).sum::<f64>() / self.total() as f64
            }
            Sizes::Between { least, most } => {
                f64::midpoint(least.bytes() as f64, most.bytes() as f64)
            }
        }
    }

    fn total(&self) -> u64 {
        match self {
            Sizes::OneOf(all) => all.iter().map(|w| u64::from(w.weight)).sum(),
            Sizes::Between { least, most } => (most.bytes() - least.bytes()) as u64 + 1,
        }
    }

    /// The bytes of message `sequence` on `channel`, in a trial of that `seed`.
    #[inline]
    pub fn of(&self, seed: u64, channel: u16, sequence: u64) -> usize {
        let drawn = draw(seed, channel, sequence);
        // The upper half of the product is evenly distributed over 0 to the total (Lemire 2019, section 3, without
        // the rejection: its bias is below 2^-34 for totals below 2^30).
        let at = ((u128::from(drawn) * u128::from(self.total())) >> 64) as u64;
        match self {
            Sizes::OneOf(all) => {
                let mut left = at;
                for w in all {
                    match left.checked_sub(u64::from(w.weight)) {
                        Some(rest) => left = rest,
                        None => return w.size.bytes(),
                    }
                }
                0
            }
            Sizes::Between { least, .. } => least.bytes() + at as usize,
        }
    }
}

/// 64 random bits: the finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) over its sequence, at a place that
/// seed and channel choose.
#[inline]
pub fn draw(seed: u64, channel: u16, sequence: u64) -> u64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let start = mix(seed ^ mix(u64::from(channel).wrapping_add(GAMMA)));
    mix(start.wrapping_add(sequence.wrapping_add(1).wrapping_mul(GAMMA)))
}

#[inline]
const fn mix(word: u64) -> u64 {
    let z = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Display for Sizes {
    /// `32 B to 4 kB`, or `64 B (9 of 10) or 1 kB (1 of 10)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sizes::Between { least, most } => write!(f, "{least} to {most}"),
            Sizes::OneOf(all) => {
                let total = self.total();
                let text = |w: &Weighted| format!("{} ({} of {total})", w.size, w.weight);
                f.write_str(&all.iter().map(text).collect::<Vec<_>>().join(" or "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(bytes: u64) -> PayloadSize {
        PayloadSize::new(bytes).unwrap()
    }

    fn two() -> Sizes {
        let of = |(bytes, weight)| Weighted {
            size: size(bytes),
            weight,
        };
        Sizes::OneOf([(64, 9), (1_000, 1)].map(of).to_vec())
    }

    #[test]
    fn sizes_come_as_often_as_their_weights_say() {
        let sizes = two();
        let n = 100_000u64;
        let large = (0..n).filter(|i| sizes.of(3, 5, *i) == 1_000).count() as f64;
        assert!((0..n).all(|i| [64, 1_000].contains(&sizes.of(3, 5, i))));
        // Six standard deviations of a binomial with p = 0.1.
        assert!((large - 1e4).abs() < 6.0 * 9e3f64.sqrt(), "{large}");
        assert_eq!(sizes.mean(), 0.9 * 64.0 + 0.1 * 1_000.0);
        assert_eq!(
            (sizes.least(), sizes.most()),
            (Some(size(64)), Some(size(1_000)))
        );
        assert_eq!(sizes.to_string(), "64 B (9 of 10) or 1 kB (1 of 10)");
    }

    #[test]
    fn a_range_has_all_of_its_sizes_alike() {
        let sizes = Sizes::Between {
            least: size(32),
            most: size(41),
        };
        let mut seen = [0u32; 10];
        (0..100_000).for_each(|i| seen[sizes.of(1, 0, i) - 32] += 1);
        let far = |n: &u32| (f64::from(*n) - 1e4).abs() > 6.0 * 9e3f64.sqrt();
        assert!(!seen.iter().any(far), "{seen:?}");
        assert_eq!(
            (sizes.mean(), sizes.to_string().as_str()),
            (36.5, "32 B to 41 B")
        );
    }

    #[test]
    fn seed_and_channel_and_number_draw_each_by_itself() {
        let sizes = Sizes::Between {
            least: size(32),
            most: size(1 << 20),
        };
        let draws =
            |seed, channel| -> Vec<usize> { (0..50).map(|i| sizes.of(seed, channel, i)).collect() };
        assert_eq!(draws(1, 2), draws(1, 2));
        for other in [draws(2, 2), draws(1, 3)] {
            assert!(
                draws(1, 2)
                    .iter()
                    .zip(&other)
                    .filter(|(a, b)| a == b)
                    .count()
                    <= 1
            );
        }
    }

    #[test]
    fn they_are_stored_by_their_names() {
        let text = serde_json::to_string(&two()).unwrap();
        assert_eq!(
            text,
            r#"{"one-of":[{"size":64,"weight":9},{"size":1000,"weight":1}]}"#
        );
        assert_eq!(serde_json::from_str::<Sizes>(&text).unwrap(), two());
    }
}
