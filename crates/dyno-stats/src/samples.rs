//! The samples of one trial as sorted (value, count) pairs per block of its window.

use crate::cells::{Cell, Cells};
use crate::decode::{Recorded, equivalent, recorded};
use dyno_model::record::{Distribution, HdrText};
use hdrhistogram::Histogram;

/// Why a stored distribution cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The text of a histogram does not decode.
    #[error(
        "the histogram of {place} is damaged: {reason}; delete the trial's file and measure it again with --resume"
    )]
    Histogram {
        /// `the whole window` or `block 3`.
        place: String,
        /// What the decoder said.
        reason: String,
    },
    /// The histograms hold another number of samples than the record states.
    #[error(
        "the histograms hold {found} samples but the record states {stated}; delete the trial's file and measure it again with --resume"
    )]
    Count {
        /// Samples in the histograms.
        found: u64,
        /// [`Distribution::n`].
        stated: u64,
    },
}

/// One stretch of a trial's window: the unit of resampling within the trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Block {
    /// Ascending by value, each value once.
    pub(crate) cells: Cells,
    /// Finite samples.
    pub(crate) n: u64,
    /// Lost messages.
    pub(crate) infinite: u64,
}

impl Block {
    fn from_cells(cells: &[Cell]) -> Self {
        let n = cells.iter().map(|c| c.count).sum();
        Block {
            cells: Cells::new(cells),
            n,
            infinite: 0,
        }
    }
}

/// The samples of one metric in one trial: its window cut into blocks, and the messages that were
/// lost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrialSamples {
    pub(crate) blocks: Vec<Block>,
}

impl TrialSamples {
    /// From a stored distribution, in its unit. Without blocks the whole window is one block.
    ///
    /// Values are the middles of the histogram's buckets, except that the smallest and the largest
    /// are exact.
    pub fn from_distribution(stored: &Distribution) -> Result<Self, SampleError> {
        let histograms = blocks(stored)?;
        let (min, max) = (stored.min as f64, stored.max as f64);
        let blocks = histograms.iter().map(|h| {
            let cells = h.middles().map(|(value, count)| Cell {
                value: value as f64,
                count,
            });
            let mut cells: Vec<Cell> = cells.collect();
            if let Some(cell) = cells.first_mut()
                && equivalent(cell.value as u64, stored.min)
            {
                cell.value = cell.value.max(min);
            }
            if let Some(cell) = cells.last_mut()
                && equivalent(cell.value as u64, stored.max)
            {
                cell.value = cell.value.min(max);
            }
            Block::from_cells(&cells)
        });
        let trial = TrialSamples {
            blocks: blocks.collect(),
        };
        Ok(trial.with_infinite(stored.infinite))
    }

    /// From one histogram per block, in order of time, and the number of lost messages.
    pub fn from_histograms(blocks: &[Histogram<u64>], infinite: u64) -> Self {
        let blocks = blocks
            .iter()
            .map(|h| {
                let cells = h.iter_recorded().map(|step| Cell {
                    value: h.median_equivalent(step.value_iterated_to()) as f64,
                    count: step.count_at_value(),
                });
                Block::from_cells(&cells.collect::<Vec<_>>())
            })
            .collect();
        TrialSamples { blocks }.with_infinite(infinite)
    }

    /// From exact values (finite, not NaN) per block, in order of time, and the number of lost
    /// messages.
    pub fn from_values(blocks: &[Vec<f64>], infinite: u64) -> Self {
        let blocks = blocks
            .iter()
            .map(|values| {
                let mut sorted = values.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let cells = sorted.chunk_by(|a, b| a == b).map(|run| Cell {
                    value: run[0],
                    count: run.len() as u64,
                });
                Block::from_cells(&cells.collect::<Vec<_>>())
            })
            .collect();
        TrialSamples { blocks }.with_infinite(infinite)
    }

    /// Finite samples.
    pub fn finite(&self) -> u64 {
        self.blocks.iter().map(|b| b.n).sum()
    }

    /// Lost messages.
    pub fn infinite(&self) -> u64 {
        self.blocks.iter().map(|b| b.infinite).sum()
    }

    /// Each block of the window by itself, in order of time; those without a sample as well.
    pub fn by_block(&self) -> Vec<TrialSamples> {
        let alone = |block: &Block| TrialSamples {
            blocks: vec![block.clone()],
        };
        self.blocks.iter().map(alone).collect()
    }

    /// Finite samples and lost messages together.
    pub fn n(&self) -> u64 {
        self.finite() + self.infinite()
    }

    /// Gives each block its part of the trial's lost messages. The record does not say when they
    /// were lost; but a loss leaves its block short of samples, so they are shared out in proportion
    /// to how far each block falls short of the fullest, and evenly where none does.
    fn with_infinite(mut self, infinite: u64) -> Self {
        if infinite == 0 {
            return self;
        }
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let fullest = self.blocks.iter().map(|b| b.n).max().unwrap_or(0);
        let mut weights: Vec<u64> = self.blocks.iter().map(|b| fullest - b.n).collect();
        if weights.iter().all(|w| *w == 0) {
            weights.fill(1);
        }
        let total: u128 = weights.iter().map(|w| u128::from(*w)).sum();
        let (mut weight_so_far, mut given) = (0u128, 0u64);
        for (block, weight) in self.blocks.iter_mut().zip(weights) {
            weight_so_far += u128::from(weight);
            // At most `infinite`, because the weight so far is at most the total.
            let due = (u128::from(infinite) * weight_so_far / total) as u64;
            block.infinite = due - given;
            given = due;
        }
        self
    }
}

/// How many samples of trials that weigh the same are worth, as if all had equally many: all of them where
/// they have; of trials of different size fewer, because few samples stand for as much as many (Kish,
/// *Survey Sampling*, 1965, section 11.7). Trials without a sample do not take part.
pub(crate) fn worth(sizes: impl IntoIterator<Item = u64>) -> u64 {
    let (mut trials, mut of_each) = (0.0, 0.0);
    for n in sizes.into_iter().filter(|n| *n > 0) {
        trials += 1.0;
        of_each += 1.0 / n as f64;
    }
    match trials > 0.0 {
        // What misses a whole number by rounding alone is that number.
        true => (trials * trials / of_each * (1.0 + 1e-12)) as u64,
        false => 0,
    }
}

/// Counts and bounds over all trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Finite samples and lost messages.
    pub n: u64,
    /// Lost messages among them.
    pub infinite: u64,
    /// The smallest sample, in the metric's unit; `None` where no message arrived.
    pub min: Option<f64>,
    /// The largest *finite* sample, in the metric's unit.
    pub max: Option<f64>,
}

impl Extent {
    /// Samples that are not lost messages.
    pub(crate) const fn finite(&self) -> u64 {
        self.n - self.infinite
    }
}

/// Counts and bounds over all samples of all trials.
pub fn extent(trials: &[TrialSamples]) -> Extent {
    let blocks = || trials.iter().flat_map(|t| &t.blocks);
    Extent {
        n: trials.iter().map(TrialSamples::n).sum(),
        infinite: trials.iter().map(TrialSamples::infinite).sum(),
        min: blocks()
            .filter_map(|b| b.cells.first())
            .map(|c| c.value)
            .min_by(f64::total_cmp),
        max: blocks()
            .filter_map(|b| b.cells.last())
            .map(|c| c.value)
            .max_by(f64::total_cmp),
    }
}

/// The histogram of each block of a stored distribution; without blocks the window is one.
///
/// # Errors
///
/// When one does not decode, or they hold another number of samples than the record states.
pub fn histograms(stored: &Distribution) -> Result<Vec<Histogram<u64>>, SampleError> {
    let laid_out = |(i, recorded): (usize, Recorded)| {
        let place = match stored.blocks.is_empty() {
            true => WHOLE.to_owned(),
            false => block(i),
        };
        let laid_out = recorded.histogram();
        laid_out.map_err(|reason| SampleError::Histogram { place, reason })
    };
    blocks(stored)?
        .into_iter()
        .enumerate()
        .map(laid_out)
        .collect()
}

/// The histogram of the whole window of a stored distribution.
///
/// # Errors
///
/// As [`histograms`].
pub fn whole_histogram(stored: &Distribution) -> Result<Histogram<u64>, SampleError> {
    let recorded = decode(&stored.total, || WHOLE.into())?;
    agree(recorded.n, stored.n)?;
    recorded
        .histogram()
        .map_err(|reason| SampleError::Histogram {
            place: WHOLE.into(),
            reason,
        })
}

const WHOLE: &str = "the whole window";

fn block(i: usize) -> String {
    format!("block {i}")
}

fn blocks(stored: &Distribution) -> Result<Vec<Recorded>, SampleError> {
    let blocks: Vec<Recorded> = match stored.blocks.as_slice() {
        [] => vec![decode(&stored.total, || WHOLE.into())?],
        blocks => {
            let texts = blocks.iter().enumerate();
            let decoded = texts.map(|(i, text)| decode(text, || block(i)));
            decoded.collect::<Result<_, _>>()?
        }
    };
    let found = blocks.iter().map(|b| b.n).fold(0, u64::saturating_add);
    agree(found, stored.n)?;
    Ok(blocks)
}

pub(crate) fn agree(found: u64, stated: u64) -> Result<(), SampleError> {
    match found == stated {
        true => Ok(()),
        false => Err(SampleError::Count { found, stated }),
    }
}

/// Reads a stored histogram; an empty text is an empty one.
pub(crate) fn decode(text: &HdrText, place: impl Fn() -> String) -> Result<Recorded, SampleError> {
    recorded(text).map_err(|reason| SampleError::Histogram {
        place: place(),
        reason,
    })
}

/// The samples of several blocks together, in order.
pub(crate) struct Sorted {
    /// Ascending by value.
    cells: Vec<Cell>,
    finite: u64,
    infinite: u64,
}

impl Sorted {
    pub(crate) fn of(blocks: &[Block]) -> Self {
        Sorted::scaled(blocks, &[])
    }

    /// With the values of each block multiplied by its scale; of one without by 1.
    pub(crate) fn scaled(blocks: &[Block], scales: &[f64]) -> Self {
        let scales = scales.iter().copied().chain(std::iter::repeat(1.0));
        let scaled = |(block, scale): (&'_ Block, f64)| {
            let scaled = |cell: Cell| Cell {
                value: cell.value * scale,
                ..cell
            };
            block.cells.iter().map(scaled).collect::<Vec<_>>()
        };
        let mut cells: Vec<Cell> = blocks.iter().zip(scales).flat_map(scaled).collect();
        // A block's cells ascend already, which a stable sort makes use of.
        if blocks.len() > 1 {
            cells.sort_by(|a, b| a.value.total_cmp(&b.value));
        }
        Sorted {
            cells,
            finite: blocks.iter().map(|b| b.n).sum(),
            infinite: blocks.iter().map(|b| b.infinite).sum(),
        }
    }

    /// Quantile `q`: the smallest value with at least that share at or below it, infinite where that is a lost
    /// message; `None` without a sample.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        let all = (self.finite + self.infinite) as f64;
        if all <= 0.0 {
            return None;
        }
        let target = reached_from(q, all);
        let mut seen = 0;
        let found = self.cells.iter().find(|cell| {
            seen += cell.count;
            seen as f64 >= target
        });
        Some(found.map_or(f64::INFINITY, |cell| cell.value))
    }
}

/// The weight that must lie at or below quantile `q` of so much weight; more than nothing. What misses it
/// by rounding alone has reached it: by far less than one sample of as many as a run has.
pub(crate) fn reached_from(q: f64, all: f64) -> f64 {
    (q * all * (1.0 - 1e-11)).clamp(f64::MIN_POSITIVE, all * (1.0 - 1e-11))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};

    fn text(values: &[u64]) -> HdrText {
        let mut h = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for v in values {
            h.record(*v).unwrap();
        }
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&h, &mut bytes)
            .unwrap();
        HdrText(base64::engine::general_purpose::STANDARD.encode(bytes))
    }

    #[test]
    fn a_stored_distribution_keeps_its_blocks_and_its_exact_ends() {
        let stored = Distribution {
            total: text(&[10_001, 20_001, 50_003]),
            blocks: vec![text(&[10_001, 20_001]), text(&[]), text(&[50_003])],
            n: 3,
            infinite: 2,
            sum: 80_005.0,
            min: 10_001,
            max: 50_003,
            ..Distribution::default()
        };
        let trial = TrialSamples::from_distribution(&stored).unwrap();
        assert_eq!(trial.blocks.len(), 3);
        let all = extent(std::slice::from_ref(&trial));
        assert_eq!((all.n, all.infinite), (5, 2));
        assert!((all.max.unwrap() - 50_003.0).abs() <= 50.0);
        assert!(all.max.unwrap() <= 50_003.0 && all.min.unwrap() >= 10_001.0);
    }

    #[test]
    fn a_histogram_of_format_1_is_still_decoded() {
        // 12,300 twice, 12,306 and 25,000, as in the golden run directory.
        let text = "HISTFAAAACh4nJNpmSzMwMDAzgABzFCaEch0M9ixgMH+A0Sg0YOFaa0AEwB02gXg";
        let stored = Distribution {
            total: HdrText(text.into()),
            n: 4,
            sum: 61_906.0,
            min: 12_300,
            max: 25_000,
            ..Distribution::default()
        };
        let trial = TrialSamples::from_distribution(&stored).unwrap();
        let all = extent(std::slice::from_ref(&trial));
        assert_eq!(
            (all.n, all.min, all.max),
            (4, Some(12_300.0), Some(25_000.0))
        );
        assert_eq!(trial.blocks[0].cells.len(), 3);
    }

    #[test]
    fn lost_messages_go_to_the_blocks_that_fall_short() {
        let blocks = [vec![1.0; 10], vec![1.0; 4], vec![1.0; 10]];
        let trial = TrialSamples::from_values(&blocks, 6);
        let shares: Vec<u64> = trial.blocks.iter().map(|b| b.infinite).collect();
        assert_eq!(shares, [0, 6, 0]);
        let even = TrialSamples::from_values(&[vec![1.0; 5], vec![1.0; 5]], 4);
        assert!(even.blocks.iter().all(|b| b.infinite == 2));
        assert_eq!(TrialSamples::from_values(&[], 3).n(), 3);
    }

    #[test]
    fn samples_of_trials_of_different_size_are_worth_fewer() {
        assert_eq!(worth([750; 5]), 3_750);
        assert_eq!(worth([0, 7]), 7);
        assert_eq!(worth([1, 1_000_000]), 3);
        assert_eq!(worth([]), 0);
        for n in 1..200 {
            assert_eq!(worth([n; 7]), 7 * n);
        }
    }

    #[test]
    fn damaged_and_contradicting_records_are_refused_with_a_way_out() {
        let garbage = Distribution {
            total: HdrText("not base64!".into()),
            n: 1,
            ..Distribution::default()
        };
        let e = TrialSamples::from_distribution(&garbage).unwrap_err();
        assert!(e.to_string().contains("--resume"), "{e}");
        let cut = Distribution {
            total: HdrText(text(&[5, 6]).0[..12].to_owned()),
            n: 2,
            ..Distribution::default()
        };
        assert!(TrialSamples::from_distribution(&cut).is_err());
        let fewer = Distribution {
            total: text(&[5, 6]),
            n: 3,
            ..Distribution::default()
        };
        assert!(matches!(
            TrialSamples::from_distribution(&fewer),
            Err(SampleError::Count {
                found: 2,
                stated: 3
            })
        ));
    }
}
