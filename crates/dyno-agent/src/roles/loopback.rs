//! Both sides of an exchange in one thread, over an adapter that gives its own messages back:
//! what remains is the cost of Dyno itself.

use super::places::Places;
use super::warmup::{Settling, Warmup};
use super::{Played, Progress, recorder};
use crate::control::Event;
use crate::participant::{Failure, Job};
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::{Node, Sent};
use dyno_measure::stamp::{self, Header, Kind, Tag};
use dyno_measure::{Pacer, Schedule, Seen, SequenceTracker};
use dyno_model::protocol::{self, SourceCounts};
use dyno_model::record::FlowCounts;
use dyno_model::{Access, Metric, Nanos, Workload};

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    node: &mut dyn Node,
) -> Result<Played, Failure> {
    let Some(channel) = job.outgoing().next() else {
        return Err(job.failure("prepare", "no channel was assigned"));
    };
    let mut sender = job.sender(thread, node, channel)?;
    let mut receiver = job.receiver(thread, node, channel)?;
    let opened = job.shared.clock.now();
    let matched = &mut || Ok(receiver.matched()? & (sender.matched()? >= 1));
    if !job.await_matched(thread, opened, matched)? || job.shared.wait_for(Phase::Run) != Phase::Run
    {
        return Ok(Played::default());
    }

    let shared = &job.shared;
    let experiment = &job.assignment.experiment;
    let clock = shared.clock;
    let len = experiment.payload.bytes();
    let start = shared.start();
    let mut schedule = match experiment.workload {
        Workload::Stream { rate, arrivals } => {
            Some(Schedule::stream(rate, arrivals, start, job.assignment.seed))
        }
        Workload::Burst { messages, period } => Some(Schedule::burst(messages, period, start)),
        Workload::PingPong { .. }
        | Workload::Call { .. }
        | Workload::Flood
        | Workload::FirstMessage { .. } => None,
    };
    let mut pacer = Pacer::new(clock);
    let go_on = || shared.phase() < Phase::Drain;
    let mut warmup = Warmup::new(shared, experiment);
    let mut settling = Settling::new(job);
    let mut places = Places::new(job);
    let mut window = Progress::new(experiment.window);
    let mut latency = recorder(experiment);
    let mut service = recorder(experiment);
    let mut tracker = SequenceTracker::new(super::expected_messages(experiment));
    let mut counts = SourceCounts {
        channel: channel.id,
        ..SourceCounts::default()
    };
    let receiver_index = job.participant.index;
    let mut flow = FlowCounts {
        channel: channel.id,
        receiver: receiver_index,
        ..FlowCounts::default()
    };
    let mut warm_sequence = 0;
    let mut burned = Nanos::ZERO;

    while go_on() {
        let (due, now) = match &mut schedule {
            Some(schedule) => {
                let due = schedule.next_due();
                match pacer.wait_until(due, &go_on) {
                    Some(now) => (due, now),
                    None => break,
                }
            }
            None => {
                let now = clock.now();
                (now, now)
            }
        };
        let warm = window.begun.is_none() && warmup.admits(due);
        if !warm && window.begun.is_none() {
            shared.window_begins();
            latency.begin(due);
            service.begin(due);
            counts.first = due;
            burned = pacer.burned();
        }
        if !warm && !window.admits(due) {
            break;
        }
        let (kind, sequence) = if warm {
            (Kind::Warmup, warm_sequence)
        } else {
            (Kind::Measured, counts.offered)
        };
        let tag = Tag {
            channel: channel.id,
            kind,
            sequence,
        };
        let header = Header {
            tag,
            intended: due,
            sent: now,
        };
        let sent = thread
            .inside(Call::Send, || {
                sender.send(len, &mut |buffer| {
                    stamp::write(buffer, experiment.access, &header)
                })
            })
            .map_err(job.in_call("send"))?;
        let mut arrived = None;
        thread
            .inside(Call::Take, || {
                receiver.take(&mut |bytes| {
                    let early = clock.arrival();
                    let intact = stamp::read(bytes, experiment.access, channel.id, len);
                    let arrival = match experiment.access {
                        Access::Stamp => early,
                        Access::All => clock.arrival(),
                    };
                    arrived = intact.ok().map(|header| (header, arrival));
                })
            })
            .map_err(job.in_call("take"))?;
        if warm {
            if let Some((_, arrival)) = arrived {
                settling.note(arrival, arrival.saturating_sub(now));
            }
            warm_sequence += 1;
            continue;
        }
        places.note(now);
        counts.offered += 1;
        match sent {
            Sent::Now | Sent::AfterWait => counts.sent += 1,
            Sent::Refused => counts.refused += 1,
        }
        let Some((header, arrival)) = arrived else {
            flow.corrupted += 1;
            continue;
        };
        if tracker.observe(header.tag.sequence) == Seen::Duplicate {
            flow.duplicated += 1;
            continue;
        }
        latency.record(due, arrival.saturating_sub(due));
        service.record(due, arrival.saturating_sub(now));
        if flow.received == 0 {
            flow.first = arrival;
        }
        flow.received += 1;
        flow.bytes += len as u64;
        flow.last = arrival;
        if let Some(length) = experiment.paced_window() {
            let inside = arrival < counts.first.saturating_add(length);
            flow.in_window = Some(flow.in_window.unwrap_or(0) + u64::from(inside));
        }
    }
    counts.last = clock.now();
    counts.pacing = pacer.burned().saturating_sub(burned);
    shared.window_ends();

    let SourceCounts {
        channel,
        offered,
        sent,
        ..
    } = counts;
    let _ = job.events.send(Event::Done(protocol::Sent {
        channel,
        offered,
        sent,
    }));
    let lost = offered - flow.received;
    let finish = |r: dyno_measure::Recorder| r.finish(lost).map_err(|e| job.failure("record", e));
    let distributions = if experiment.workload.is_one_way() {
        vec![
            (Metric::Response, finish(latency)?),
            (Metric::Service, finish(service)?),
        ]
    } else {
        vec![(Metric::Rtt, finish(service)?)]
    };
    shared.wait_for(Phase::Stop);
    thread.inside(Call::Drop, || drop((sender, receiver)));
    Ok(Played {
        distributions,
        flows: vec![flow],
        source: Some(counts),
        places: places.finish(),
        ..Played::default()
    })
}
