//! A bounded log of raw samples, in arrival order.

use dyno_model::record::RawSample;
use dyno_model::unit::Nanos;

/// Keeps the first samples of a window, up to its capacity, and counts the rest.
#[derive(Debug, Clone)]
pub struct RawLog {
    samples: Vec<RawSample>,
    used: usize,
    /// Of the index of a sample: all bits, or those of a ring.
    bits: usize,
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
            bits: usize::MAX,
            dropped: 0,
        }
    }

    /// A log that begins anew when it is full, for samples that nobody reads: it takes a sample as one with room does,
    /// however many there are. `capacity` is a power of two.
    pub fn of_newest(capacity: usize) -> Self {
        debug_assert!(capacity.is_power_of_two(), "{capacity} is no power of two");
        RawLog {
            bits: capacity.wrapping_sub(1),
            ..RawLog::new(capacity)
        }
    }

    /// Keeps `sample` if there is room.
    #[inline]
    pub fn push(&mut self, sample: RawSample) {
        if let Some(place) = self.samples.get_mut(self.used) {
            *place = sample;
            self.used = (self.used + 1) & self.bits;
        } else {
            self.dropped += 1;
        }
    }

    /// The samples kept so far.
    pub fn samples(&self) -> &[RawSample] {
        &self.samples[..self.used]
    }

    /// Samples for which there was no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The samples kept.
    pub fn into_samples(mut self) -> Vec<RawSample> {
        self.samples.truncate(self.used);
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
        (0..5).for_each(|s| log.push(sample(s)));
        assert_eq!(log.samples(), [sample(0), sample(1)]);
        assert_eq!(log.dropped(), 3);
        assert_eq!(log.into_samples(), [sample(0), sample(1)]);
    }

    #[test]
    fn a_log_without_capacity_keeps_nothing() {
        let mut log = RawLog::new(0);
        log.push(sample(0));
        assert!(log.into_samples().is_empty());
    }
}
