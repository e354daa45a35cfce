//! What came of a trial's faults, worked out of the participants' logs: a pure function, without processes.

mod detection;
mod end;
mod seen;
mod span;

use crate::startup::one_or_never;
use detection::detections;
use dyno_measure::{Recorder, Schedule, TOLERANCE};
use dyno_model::cause::FailureCause;
use dyno_model::fault::{FaultEvent, Noted, Outage};
use dyno_model::record::{Counts, FlowCounts, Throughput};
use dyno_model::{Channel, Metric, Nanos, TrialRecord, Workload};
use end::{Arrival, End};
pub(crate) use seen::Seen;
use span::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Blocks that a window is cut into, as agents do.
const BLOCKS: u64 = 10;

/// Sets what a trial's record says of faults, counts, rates and latencies. A receiver whose process was killed for good is
/// part of nothing: nobody is there to receive.
///
/// # Errors
///
/// The logs contradict the schedule, the workload has none, or the histogram library fails.
pub(crate) fn fill(record: &mut TrialRecord, mut seen: Seen<'_>) -> Result<(), FailureCause> {
    // In one order, whatever that of the logs was.
    seen.events.sort_unstable();
    let gone = gone(&seen);
    let mut by_end = ByEnd::new();
    for event in &seen.events {
        let end = by_end.entry((event.channel, event.participant));
        end.or_default().push(*event);
    }
    let origins = seen.graph.channels.iter();
    // Answers count with what they answer.
    let is_origin = |c: &&Channel| c.carries_on.is_none() && c.answers.is_none();
    let origins: Vec<&Channel> = origins.filter(is_origin).collect();
    // Where one of several senders is gone for good, nobody waits for its messages.
    let lives = |c: &&Channel| !gone.contains(&c.writer);
    let origins = match origins.iter().any(lives) {
        true => origins.into_iter().filter(lives).collect(),
        false => origins,
    };
    let origins = origins.into_iter();
    let ways = origins.map(|channel| Way::new(&seen, &by_end, channel, &gone));
    let ways = ways.collect::<Result<Vec<Way>, FailureCause>>()?;
    let ends: Vec<&End> = ways.iter().flat_map(|way| &way.ends).collect();

    record.faults = seen.made.to_vec();
    record.flows = ends.iter().map(|end| end.flow).collect();
    record.counts = counts(&ways);
    record.throughput = throughput(&ways, record.counts, seen.window);
    let span = Span::of(&seen);
    record.outages = match &span {
        Some(span) => ends.iter().map(|end| end.outage(span)).collect(),
        None => Vec::new(),
    };
    record.detections = match &span {
        Some(span) => detections(&seen, span),
        None => Vec::new(),
    };
    latencies(record, &ends, &seen).map_err(unrecorded)?;
    one_each(record, &seen).map_err(unrecorded)
}

/// What was measured cannot be put together.
fn unrecorded(error: impl ToString) -> FailureCause {
    let error = error.to_string();
    FailureCause::Record { error }
}

/// Participants whose process a fault ended for good.
fn gone(seen: &Seen<'_>) -> BTreeSet<u16> {
    let faults = seen.made.iter();
    let faults = faults.filter_map(|made| seen.experiment.faults.get(usize::from(made.fault)));
    let targets = faults.filter(|f| f.what.ends());
    let targets = targets.filter_map(|f| seen.graph.target(&f.who));
    let processes: BTreeSet<u16> = targets.map(|p| p.process).collect();
    let all = seen.graph.participants.iter();
    all.filter(|p| processes.contains(&p.process))
        .map(|p| p.index)
        .collect()
}

/// The events of each participant over each channel.
type ByEnd = BTreeMap<(u16, u16), Vec<FaultEvent>>;

fn of_end(by_end: &ByEnd, channel: u16, participant: u16) -> &[FaultEvent] {
    by_end
        .get(&(channel, participant))
        .map_or(&[], Vec::as_slice)
}

/// A sender with the receivers of its messages.
struct Way {
    /// Messages that were due, sent, refused and late, each counted once.
    due: u64,
    sent: u64,
    refused: u64,
    late: u64,
    ends: Vec<End>,
}

impl Way {
    fn new(
        seen: &Seen<'_>,
        by_end: &ByEnd,
        channel: &Channel,
        gone: &BTreeSet<u16>,
    ) -> Result<Self, FailureCause> {
        let dues = dues(seen, channel.writer)?;
        // By place in the schedule: a message that was sent is not also refused.
        let mut sent: BTreeMap<u64, Nanos> = BTreeMap::new();
        let mut refused: BTreeSet<u64> = BTreeSet::new();
        for event in of_end(by_end, channel.id, channel.writer) {
            match event.what {
                Noted::Sent { sequence, sent: at } => {
                    sent.entry(sequence).or_insert(at);
                }
                Noted::NotSent { sequence } => {
                    refused.insert(sequence);
                }
                _ => {}
            }
        }
        refused.retain(|sequence| !sent.contains_key(sequence));
        let is_late = |(sequence, at): (&u64, &Nanos)| {
            let due = usize::try_from(*sequence).ok().and_then(|i| dues.get(i));
            due.is_some_and(|due| at.saturating_sub(*due) > TOLERANCE)
        };
        let late = sent.iter().filter(|one| is_late(*one)).count() as u64;
        let mut way = Way {
            due: dues.len() as u64,
            sent: sent.len() as u64,
            refused: refused.len() as u64,
            late,
            ends: Vec::new(),
        };
        let dues = Rc::new(dues);
        // A caller is who gets what comes of its calls.
        let receivers = match seen.experiment.workload {
            Workload::Call { .. } => std::slice::from_ref(&channel.writer),
            _ => seen.graph.receivers(channel.id),
        };
        let receivers = receivers.iter();
        for receiver in receivers.filter(|r| !gone.contains(r)) {
            let events = of_end(by_end, channel.id, *receiver);
            let (arrivals, damaged) = arrivals(events, seen.window[0], &dues)?;
            let id = (channel.id, *receiver);
            let end = End::new(seen, id, dues.clone(), arrivals, damaged);
            way.ends.push(end);
        }
        Ok(way)
    }
}

/// When the messages of the window are due that `writer` is to send, by their places in the schedule.
fn dues(seen: &Seen<'_>, writer: u16) -> Result<Vec<Nanos>, FailureCause> {
    let schedule = Schedule::under_faults(seen.experiment.workload, seen.start, seen.seed, writer);
    let mut schedule = schedule.ok_or(FailureCause::NoSchedule)?;
    let [begin, end] = seen.window;
    let all = std::iter::repeat_with(|| schedule.next_due());
    let all = all.skip_while(|due| *due < begin);
    Ok(all.take_while(|due| *due < end).collect())
}

/// The intact messages among the `events` of an end, in order of time, and how many damaged ones came in the window.
fn arrivals(
    events: &[FaultEvent],
    begin: Nanos,
    dues: &[Nanos],
) -> Result<(Vec<Arrival>, u64), FailureCause> {
    let (mut all, mut damaged) = (Vec::new(), 0);
    for event in events {
        match event.what {
            Noted::Arrival {
                sequence,
                due,
                sent,
            } => {
                let place = usize::try_from(sequence).ok();
                let place = place.filter(|place| dues.get(*place) == Some(&due));
                let at = event.at;
                let arrival = place.map(|place| Arrival { at, place, sent });
                all.push(arrival.ok_or(FailureCause::NotScheduled {
                    receiver: event.participant,
                    channel: event.channel,
                    sequence,
                    due,
                })?);
            }
            Noted::Damaged => damaged += u64::from(event.at >= begin),
            _ => {}
        }
    }
    all.sort_unstable();
    Ok((all, damaged))
}

fn counts(ways: &[Way]) -> Counts {
    let mut counts = Counts::default();
    for way in ways {
        let times = way.ends.len() as u64;
        counts.offered += way.due * times;
        counts.sent += way.sent * times;
        counts.refused += way.refused * times;
        counts.late += way.late * times;
        for FlowCounts {
            received,
            duplicated,
            reordered,
            corrupted,
            in_window,
            ..
        } in way.ends.iter().map(|end| end.flow)
        {
            counts.received += received;
            counts.duplicated += duplicated;
            counts.reordered += reordered;
            counts.corrupted += corrupted;
            counts.in_window = Some(counts.in_window.unwrap_or(0) + in_window.unwrap_or(0));
        }
    }
    counts.lost = counts.offered.saturating_sub(counts.received);
    counts
}

fn throughput(ways: &[Way], counts: Counts, [begin, end]: [Nanos; 2]) -> Throughput {
    let ends = || ways.iter().flat_map(|way| &way.ends);
    let last = ends().map(|e| e.flow.last).max().unwrap_or(end).max(end);
    let per = |n: u64, until: Nanos| match until.saturating_sub(begin) {
        Nanos::ZERO => 0.0,
        time => n as f64 / time.as_secs_f64(),
    };
    Throughput {
        offered_hz: per(ways.iter().map(|way| way.due).sum(), end),
        sent_hz: per(ways.iter().map(|way| way.sent).sum(), end),
        delivered_hz: per(counts.received, last),
        delivered_bytes_per_s: per(ends().map(|e| e.flow.bytes).sum(), last),
        in_window_hz: counts.in_window.map(|n| per(n, end)),
        ..Throughput::default()
    }
}

/// Response and service time of every message that was due, or the round trip of every call; those that never arrived are infinite.
fn latencies(
    record: &mut TrialRecord,
    ends: &[&End],
    seen: &Seen<'_>,
) -> Result<(), dyno_measure::RecordError> {
    let [begin, end] = seen.window;
    let block = Nanos(end.saturating_sub(begin).0.div_ceil(BLOCKS).max(1));
    let all = [Metric::Response, Metric::Service, Metric::Rtt];
    let kind = seen.experiment.workload.kind();
    for metric in all.into_iter().filter(|metric| kind.has(*metric)) {
        let mut recorder = Recorder::by_time(BLOCKS as usize, block);
        recorder.begin(begin);
        let firsts = ends.iter().flat_map(|end| end.firsts());
        for (due, first) in firsts {
            let from = match metric {
                Metric::Response => due,
                _ => first.sent,
            };
            recorder.record(due, first.at.saturating_sub(from));
        }
        let all = recorder.finish(record.counts.lost)?;
        record.distributions.insert(metric, all);
    }
    Ok(())
}

/// The figures of which each trial has one.
fn one_each(record: &mut TrialRecord, seen: &Seen<'_>) -> Result<(), dyno_measure::RecordError> {
    // The last of several, which is infinite where one of them is.
    let last = |of: fn(&Outage) -> Option<Nanos>| {
        let all = record.outages.iter().map(of);
        all.collect::<Option<Vec<Nanos>>>()?.into_iter().max()
    };
    let firsts = record.outages.iter().filter_map(|o| o.recovery);
    let of_ends = [
        (Metric::Recovery, last(|o| o.recovery)),
        (Metric::RecoveryFirst, firsts.min()),
        (Metric::Steady, last(|o| o.steady)),
        (Metric::Silence, last(|o| o.silence)),
    ];
    let told = record.detections.iter().map(|d| d.after).min();
    let could_tell = |p: &dyno_model::Participant| !seen.struck.contains(&p.index);
    // Where nobody is there to receive, or to tell, there is no figure.
    if !record.outages.is_empty() {
        for (metric, time) in of_ends {
            one_or_never(metric, time, &mut record.distributions)?;
        }
    }
    if !seen.made.is_empty() && seen.graph.participants.iter().any(could_tell) {
        one_or_never(Metric::Detection, told, &mut record.distributions)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
