//! What one reading end records of its messages.
//!
//! Messages of the warm-up take the same instructions through the same distributions and raw samples, and leave nothing
//! behind: so those of the window find instructions and memory as they leave them for each other. The numbers of either are
//! tracked apart.

use crate::event::Played;
use crate::job::Job;
use crate::shared::Shared;
use dyno_measure::stamp::Header;
use dyno_measure::{RawLog, RecordError, Recorder, Seen, SequenceTracker};
use dyno_model::plan::Extent;
use dyno_model::record::{FlowCounts, RawSample};
use dyno_model::{Experiment, Metric, Nanos, Workload};
use std::hint::select_unpredictable;
use std::sync::Arc;

/// Blocks that a window is cut into.
pub(super) const BLOCKS: usize = 10;

/// The record of one end, with `N` latencies of each message.
pub(super) struct Tally<const N: usize> {
    pub(super) flow: FlowCounts,
    /// Of the warm-up, thrown away, and of the window.
    trackers: [SequenceTracker; 2],
    recorders: [(Metric, Recorder); N],
    /// From one arrival to the next, where the workload has that.
    gaps: Option<Recorder>,
    raw: RawLog,
    /// Knows when the window begins at the latest; of several flows, exactly then. Of one alone it begins with its
    /// first message.
    shared: Arc<Shared>,
    workload: Workload,
    is_common: bool,
    /// Messages of a counted warm-up.
    before: u64,
    /// When the newest message of the warm-up or of the window arrived; `None` before the first of either.
    newest: Option<Nanos>,
    /// When any message arrived last, be it one of the warm-up.
    last: Nanos,
    /// How long messages are sent, where that is known beforehand, and since when.
    lasts: Option<Nanos>,
    begun: Option<Nanos>,
    /// How long the window of a schedule is, where that is known beforehand, and when it ends.
    length: Option<Nanos>,
    end: Nanos,
    /// Messages that arrived before that.
    in_window: u64,
    /// The middle of the window, and the messages that arrived before it.
    half: Nanos,
    by_half: u64,
}

impl<const N: usize> Tally<N> {
    /// `expected` messages may come in any order; where they cannot overtake each other, none need be.
    pub(super) fn new(job: &Job, channel: u16, metrics: [Metric; N], expected: u64) -> Self {
        let experiment = job.experiment();
        Tally {
            flow: flow(job, channel),
            trackers: [0, expected].map(SequenceTracker::new),
            recorders: metrics.map(|metric| (metric, recorder(experiment))),
            gaps: has_gaps(job).then(|| recorder(experiment)),
            raw: raw_log(experiment),
            shared: job.shared.clone(),
            workload: experiment.workload,
            is_common: experiment.has_common_window(),
            before: experiment.counted_warmup().unwrap_or(0),
            lasts: experiment.known_window(),
            newest: None,
            last: Nanos::ZERO,
            begun: None,
            length: experiment.paced_window(),
            end: Nanos::ZERO,
            in_window: 0,
            half: Nanos::ZERO,
            by_half: 0,
        }
    }

    /// Records an intact message that arrived at `arrival`, unless it had arrived before; `latencies` are in the
    /// order of the metrics. Nothing of one that is not `measured` is kept but when it arrived.
    #[inline]
    pub(super) fn note(
        &mut self,
        measured: bool,
        header: &Header,
        arrival: Nanos,
        bytes: usize,
        latencies: [Nanos; N],
    ) {
        let once = u64::from(measured);
        self.trackers[1].touch();
        let seen = self.trackers[usize::from(measured)].observe(header.tag.sequence);
        if seen == Seen::Duplicate {
            self.flow.duplicated += once;
            return;
        }
        self.last = arrival;
        if measured != self.begun.is_some() && !self.begins_with(measured, header) {
            return;
        }
        match seen {
            Seen::First => self.freshen(measured, header, arrival),
            _ => self.flow.reordered += once,
        }
        let is_first = self.flow.received == 0;
        let counted_at = Nanos(arrival.0 * once);
        self.flow.first = select_unpredictable(is_first, counted_at, self.flow.first);
        for ((_, recorder), latency) in self.recorders.iter_mut().zip(latencies) {
            recorder.record_if(measured, header.intended, latency);
        }
        self.flow.received += once;
        self.flow.bytes += bytes as u64 * once;
        self.flow.last = counted_at;
        self.in_window += u64::from(arrival < self.end);
        self.by_half += u64::from(arrival < self.half);
        self.raw.push(RawSample {
            channel: self.flow.channel,
            receiver: self.flow.receiver,
            sequence: header.tag.sequence,
            intended: header.intended,
            sent: header.sent,
            arrival,
        });
    }

    /// Whether it begins the window; a message of the warm-up that the window has overtaken does not.
    #[cold]
    fn begins_with(&mut self, measured: bool, header: &Header) -> bool {
        if measured {
            let window_at = (self.before == 0).then(|| self.shared.window_at());
            self.begin(first_due(&self.workload, header, self.before, window_at));
        }
        measured
    }

    /// When any message arrived last, be it one of the warm-up; zero before.
    pub(super) fn last(&self) -> Nanos {
        self.last
    }

    /// A message newer than all before it ends a gap; one that comes late does not.
    #[inline]
    fn freshen(&mut self, measured: bool, header: &Header, arrival: Nanos) {
        if let (Some(gaps), Some(newest)) = (&mut self.gaps, self.newest) {
            gaps.record_if(measured, header.intended, arrival.saturating_sub(newest));
        }
        self.newest = Some(arrival);
    }

    /// The first message is due at `due`.
    pub(super) fn begin(&mut self, due: Nanos) {
        self.begin_if(true, due);
    }

    /// The window `begins` with the message due at `due`, or does not; without a branch, after which a processor would
    /// foresee those of the next messages worse.
    #[inline]
    pub(super) fn begin_if(&mut self, begins: bool, due: Nanos) {
        let due = match self.is_common {
            true => self.shared.window_at(),
            false => due,
        };
        let gaps = self.gaps.iter_mut();
        for recorder in self.recorders.iter_mut().map(|(_, r)| r).chain(gaps) {
            recorder.begin_if(begins, due);
        }
        self.raw.begin_if(begins);
        self.newest = select_unpredictable(begins, None, self.newest);
        self.begun = select_unpredictable(begins, Some(due), self.begun);
        if let Some(length) = self.length {
            let [end, half] = [length.0, length.0 / 2].map(|of| due.saturating_add(Nanos(of)));
            self.end = select_unpredictable(begins, end, self.end);
            self.half = select_unpredictable(begins, half, self.half);
        }
    }

    /// Counts as under way what is behind the last message that arrived, but no more than `most`: for a channel
    /// that was still delivering when the drain ended.
    pub(super) fn find_under_way(&mut self, offered: u64, sent: u64, most: u64) {
        let behind = offered.saturating_sub(self.trackers[1].next());
        let missing = sent.saturating_sub(self.flow.received);
        self.flow.under_way = behind.min(missing).min(most);
    }

    /// Where the last of `offered` messages were lost, the last gap lasts until the window ends.
    fn fall_silent(&mut self, offered: u64) {
        let is_silent = self.trackers[1].next() < offered && self.flow.under_way == 0;
        let (Some(gaps), Some(lasts)) = (&mut self.gaps, self.lasts.filter(|_| is_silent)) else {
            return;
        };
        let end = self.begun.map(|begun| begun.saturating_add(lasts));
        if let (Some(end), Some(newest)) = (end, self.newest)
            && end > newest
        {
            gaps.record(end, end.saturating_sub(newest));
        }
    }

    /// What of `offered` messages never arrived stands as infinitely late in every distribution of messages. Where
    /// none arrived, no gap has an end.
    pub(super) fn finish(mut self, offered: u64) -> Result<Played, RecordError> {
        self.fall_silent(offered);
        let lost = offered.saturating_sub(self.flow.received);
        let mut distributions = Vec::with_capacity(N + 1);
        for (metric, recorder) in self.recorders {
            distributions.push((metric, recorder.finish(lost)?));
        }
        if let Some(gaps) = self.gaps {
            let endless = match self.flow.received {
                0 => offered,
                _ => 0,
            };
            distributions.push((Metric::Gap, gaps.finish(endless)?));
        }
        Ok(Played {
            distributions,
            flows: vec![FlowCounts {
                in_window: self.length.map(|_| self.in_window),
                by_half: self.length.map(|_| self.by_half),
                ..self.flow
            }],
            raw: self.raw.into_samples(),
            ..Played::default()
        })
    }
}

/// When the first message of the window was due, where this is the first that arrived: those before it were lost, or are
/// still to come. `before` messages of a counted warm-up are due before the window, and `window_at` is when it begins
/// at the earliest, where that is known.
fn first_due(workload: &Workload, header: &Header, before: u64, window_at: Option<Nanos>) -> Nanos {
    let sequence = header.tag.sequence;
    if sequence == 0 {
        return header.intended;
    }
    let after = |n| workload.due_after(before + n);
    match after(sequence).zip(after(0)) {
        Some((this, first)) => header.intended.saturating_sub(this.saturating_sub(first)),
        None => window_at.map_or(header.intended, |at| at.min(header.intended)),
    }
}

fn has_gaps(job: &Job) -> bool {
    let workload = job.experiment().workload;
    workload.kind().has(Metric::Gap)
}

fn flow(job: &Job, channel: u16) -> FlowCounts {
    FlowCounts {
        channel,
        receiver: job.participant.index,
        ..FlowCounts::default()
    }
}

/// A recorder whose blocks cut the experiment's window evenly.
pub(super) fn recorder(experiment: &Experiment) -> Recorder {
    match (experiment.window, experiment.slices) {
        // A block for each pair of slices, of which the plan has no more than a number.
        (Extent::Duration(d), Some(slices)) => {
            let pairs = d.0.div_ceil(slices.pair().0.max(1));
            Recorder::by_time(pairs as usize, slices.pair())
        }
        (Extent::Duration(d), None) => {
            Recorder::by_time(BLOCKS, Nanos((d.0 / BLOCKS as u64).max(1)))
        }
        (Extent::Messages(n), _) => Recorder::by_count(BLOCKS, n.div_ceil(BLOCKS as u64).max(1)),
    }
}

/// A log of as many raw samples as the experiment asks for.
pub(super) fn raw_log(experiment: &Experiment) -> RawLog {
    RawLog::new(experiment.raw_samples as usize)
}

/// How many measured messages to expect, for sizing; a flood may bring more.
pub(super) fn expected_messages(experiment: &Experiment) -> u64 {
    let seconds = |d: Nanos| d.as_secs_f64();
    match (experiment.window, experiment.workload) {
        (Extent::Messages(n), _) => n,
        (Extent::Duration(d), Workload::Stream { rate, .. }) => {
            (rate.hz() * seconds(d) * 1.5) as u64 + 64
        }
        (Extent::Duration(d), Workload::Burst { messages, period }) => {
            u64::from(messages) * (d.0 / period.0.max(1) + 2)
        }
        (Extent::Duration(d), Workload::Call { gap, .. }) if gap > Nanos::ZERO => {
            (d.0 / gap.0).min((seconds(d) * 5e6) as u64) + 64
        }
        (
            Extent::Duration(d),
            Workload::Flood
            | Workload::PingPong { .. }
            | Workload::Call { .. }
            | Workload::FirstMessage { .. }
            | Workload::Idle
            | Workload::Probe { .. },
        ) => (seconds(d) * 5e6) as u64 + 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_measure::{Kind, Tag};
    use dyno_model::factor::Arrivals;
    use dyno_model::unit::RateHz;

    #[test]
    fn a_window_begins_with_its_first_message_also_where_that_was_lost() {
        let first_of = |workload: Workload, before, window_at, sequence| {
            let tag = Tag {
                channel: 0,
                kind: Kind::Measured,
                sequence,
            };
            let header = Header {
                tag,
                intended: Nanos(1_000_000),
                sent: Nanos(1_000_100),
            };
            first_due(&workload, &header, before, window_at).0
        };
        let first = |workload, sequence| first_of(workload, 0, Some(Nanos(900_000)), sequence);
        let stream = |arrivals| Workload::Stream {
            rate: RateHz::new(100_000.0).unwrap(),
            arrivals,
        };
        let fixed = stream(Arrivals::Fixed);
        assert_eq!((first(fixed, 0), first(fixed, 7)), (1_000_000, 930_000));
        let random = stream(Arrivals::Poisson);
        assert_eq!((first(random, 0), first(random, 7)), (1_000_000, 900_000));
        let burst = Workload::Burst {
            messages: 4,
            period: Nanos(20_000),
        };
        assert_eq!((first(burst, 3), first(burst, 9)), (1_000_000, 960_000));
        // A warm-up of ten messages ends in the middle of a group, and at a time that nobody knows beforehand.
        assert_eq!(first_of(burst, 10, None, 1), 1_000_000);
        assert_eq!(first_of(burst, 10, None, 2), 980_000);
        assert_eq!(first_of(fixed, 10, None, 7), 930_000);
        assert_eq!(first_of(random, 10, None, 7), 1_000_000);
    }
}
