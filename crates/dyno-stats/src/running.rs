//! Quantiles over trials that come one after the other, without an interval: for displays that go on
//! while a run does. What is published has its interval, see [`crate::quantiles`].

use crate::samples::{TrialSamples, reached_from, worth};
use std::collections::BTreeMap;

/// The samples of several trials, pooled: distinct values and what each weighs. Every trial weighs 1,
/// however many samples it has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Running {
    /// By the bits of values that are not negative, which order like the values.
    cells: BTreeMap<u64, f64>,
    /// What the lost messages weigh.
    infinite: f64,
    /// Samples of each trial, lost messages included.
    sizes: Vec<u64>,
}

impl Running {
    /// Takes a trial in.
    pub fn add(&mut self, trial: &TrialSamples) {
        let n = trial.n();
        if n == 0 {
            return;
        }
        for block in &trial.blocks {
            for cell in block.cells.iter() {
                let bits = cell.value.max(0.0).to_bits();
                *self.cells.entry(bits).or_insert(0.0) += cell.count as f64 / n as f64;
            }
        }
        self.infinite += trial.infinite() as f64 / n as f64;
        self.sizes.push(n);
    }

    /// Samples so far, lost messages included.
    pub fn n(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// What they are worth where trials of different size weigh the same: what [`crate::needed`] is held
    /// against.
    pub fn worth(&self) -> u64 {
        worth(self.sizes.iter().copied())
    }

    /// Quantile `q` (0 to 1) of all samples so far, as [`crate::quantiles`] estimates it: lost messages
    /// are infinitely late. `None` before the first sample.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.quantiles(&[q])?.first().copied()
    }

    /// Several quantiles at once, each as [`Running::quantile`] gives it; `qs` ascends. `None` before the
    /// first sample.
    pub fn quantiles(&self, qs: &[f64]) -> Option<Vec<f64>> {
        let all = self.sizes.len() as f64;
        if all == 0.0 {
            return None;
        }
        let finite: f64 = self.cells.values().sum();
        let mut cells = self.cells.iter();
        let (mut seen, mut value) = (0.0, f64::INFINITY);
        let one = |q: &f64| {
            let target = reached_from(*q, all);
            if target > finite {
                return f64::INFINITY;
            }
            while seen < target {
                let Some((bits, weight)) = cells.next() else {
                    break;
                };
                seen += weight;
                value = f64::from_bits(*bits);
            }
            value
        };
        Some(qs.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bootstrap, Quantile, quantile};

    #[test]
    fn it_says_what_the_table_will_say() {
        let trials: Vec<TrialSamples> = (0..4u32)
            .map(|t| {
                let block = |b: u32| {
                    (0..500)
                        .map(|i| f64::from(1 + i * 37 % 500 + t + b))
                        .collect()
                };
                TrialSamples::from_values(&[block(0), block(3)], u64::from(t))
            })
            .collect();
        let mut running = Running::default();
        assert_eq!(running.quantile(0.5), None);
        trials.iter().for_each(|t| running.add(t));
        for q in [0.5, 0.9, 0.99] {
            match quantile(&trials, q, &Bootstrap::default()) {
                Quantile::Estimated(e) => {
                    assert_eq!(running.quantile(q), e.value.finite(), "{q}");
                }
                refused => panic!("{refused:?}"),
            }
        }
    }

    #[test]
    fn lost_messages_are_infinitely_late() {
        let mut running = Running::default();
        running.add(&TrialSamples::from_values(&[vec![1.0, 2.0, 3.0]], 2));
        assert_eq!(running.quantile(0.6), Some(3.0));
        assert_eq!(running.quantile(0.61), Some(f64::INFINITY));
        let all = running.quantiles(&[0.0, 0.2, 0.21, 0.6, 0.61, 1.0]);
        let inf = f64::INFINITY;
        assert_eq!(all, Some(vec![1.0, 1.0, 2.0, 3.0, inf, inf]));
        assert_eq!(running.n(), 5);
    }
}
