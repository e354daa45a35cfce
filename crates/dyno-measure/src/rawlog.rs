//! A bounded log of raw samples, in arrival order.

use dyno_model::record::RawSample;
use dyno_model::unit::Nanos;
use std::hint::select_unpredictable;

/// Keeps the first samples of a window, up to its capacity, and counts the rest. Until the window
/// [begins](RawLog::begin_if), samples of a warm-up take the same places, again and again, and are not kept.
#[derive(Debug, Clone)]
pub struct RawLog {
    samples: Vec<RawSample>,
    used: usize,
    begun: bool,
    dropped: u64,
}

impl RawLog {
    /// A log of at most `capacity` samples (40 bytes each), allocated and touched here.
    pub fn new(capacity: usize) -> Self {
        // Not zero, so that the pages are written now and not when the first sample arrives.
        let blank = RawSample {
            channel: u16::MAX,
            receiver: u16::MAX,
            sequence: u64::MAX,
            intended: Nanos(u64::MAX),
            sent: Nanos(u64::MAX),
            arrival: Nanos(u64::MAX),
        };
        RawLog {
            samples: vec![blank; capacity],
            used: 0,
            begun: false,
            dropped: 0,
        }
    }

    /// Samples are kept from here on if the window `begins`; without a branch, for whoever asks with each sample.
    #[inline]
    pub fn begin_if(&mut self, begins: bool) {
        self.used = select_unpredictable(begins, 0, self.used);
        self.begun |= begins;
    }

    /// Keeps `sample` if there is room.
    #[inline]
    pub fn push(&mut self, sample: RawSample) {
        if let Some(place) = self.samples.get_mut(self.used) {
            *place = sample;
            self.used += 1;
        } else {
            self.overflow(sample);
        }
    }

    /// Apart, and without a branch on whether the window has begun where no sample is kept at all, which is the rule.
    #[cold]
    fn overflow(&mut self, sample: RawSample) {
        self.dropped += u64::from(self.begun);
        if let Some(place) = self.samples.first_mut()
            && !self.begun
        {
            *place = sample;
            self.used = 1;
        }
    }

    /// The samples kept so far.
    pub fn samples(&self) -> &[RawSample] {
        match self.begun {
            true => &self.samples[..self.used],
            false => &[],
        }
    }

    /// Samples for which there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The samples kept.
    pub fn into_samples(mut self) -> Vec<RawSample> {
        let kept = self.samples().len();
        self.samples.truncate(kept);
        self.samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(sequence: u64) -> RawSample {
        RawSample {
            channel: 1,
            receiver: 2,
            sequence,
            intended: Nanos(3),
            sent: Nanos(4),
            arrival: Nanos(5),
        }
    }

    #[test]
    fn the_first_samples_are_kept_and_the_rest_counted() {
        let mut log = RawLog::new(2);
        log.begin_if(true);
        (0..5).for_each(|s| log.push(sample(s)));
        assert_eq!(log.samples(), [sample(0), sample(1)]);
        assert_eq!(log.dropped(), 3);
        assert_eq!(log.into_samples(), [sample(0), sample(1)]);
    }

    #[test]
    fn what_comes_before_the_window_is_not_kept() {
        let mut log = RawLog::new(2);
        (10..13).for_each(|s| log.push(sample(s)));
        assert!(log.samples().is_empty());
        assert!(log.clone().into_samples().is_empty());
        log.begin_if(true);
        (0..3).for_each(|s| log.push(sample(s)));
        assert_eq!(log.dropped(), 1);
        assert_eq!(log.into_samples(), [sample(0), sample(1)]);
    }

    #[test]
    fn a_log_without_capacity_keeps_nothing() {
        let mut log = RawLog::new(0);
        log.push(sample(0));
        log.begin_if(true);
        log.push(sample(1));
        assert_eq!(log.dropped(), 1);
        assert!(log.into_samples().is_empty());
    }
}
