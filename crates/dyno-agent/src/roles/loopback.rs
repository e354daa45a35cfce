//! Both sides of an exchange in one thread, over an adapter that gives its own messages back:
//! what remains is the cost of Dyno itself.

use super::due;
use super::places::Places;
use super::progress::Progress;
use super::tally::Tally;
use super::tally::expected_messages;
use super::warmup::{Settling, Warmup};
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::Sent;
use dyno_measure::stamp::{self, Header, Kind, Tag};
use dyno_model::protocol::SourceCounts;
use dyno_model::{Metric, Nanos};

#[expect(
    clippy::too_many_lines,
    reason = "one loop with all that an exchange does: a call between its steps would be a cost of its own"
)]
pub(super) fn play(job: &Job, thread: &ThreadState, nodes: &mut Nodes) -> Result<Played, Failure> {
    let Some(channel) = job.outgoing().next() else {
        return Err(job.misassigned("no channel was assigned"));
    };
    let mut sender = job.sender(thread, nodes, channel)?;
    let mut receiver = job.receiver(thread, nodes, channel)?;
    let shared = &job.shared;
    let experiment = job.experiment();
    let expected = expected_messages(experiment);
    // In a loop that is closed the second one is the round trip.
    let metrics = match experiment.workload.is_one_way() {
        true => [Metric::Response, Metric::Service],
        false => [Metric::Lateness, Metric::Rtt],
    };
    let mut tally = Tally::new(job, channel.id, metrics, expected);
    let arrived = shared.add_end(channel.id);
    let opened = job.shared.clock.now();
    let matched = &mut || Ok(receiver.matched()? & (sender.matched()? >= 1));
    if !job.await_matched(thread, opened, matched)? || job.shared.wait_for(Phase::Run) != Phase::Run
    {
        return Ok(Played::default());
    }

    let clock = shared.clock;
    let lengths = job.lengths();
    let start = shared.start();
    let mut schedule = due::schedule(job, start);
    let mut before = Nanos(u64::MAX);
    let mut pacer = job.pacer();
    let go_on = || shared.phase() < Phase::Drain;
    let mut warmup = Warmup::new(shared, experiment);
    let mut settling = Settling::new(job);
    let mut places = Places::new(job);
    let mut window = Progress::new(experiment.window);
    let mut counts = SourceCounts {
        channel: channel.id,
        ..SourceCounts::default()
    };
    let mut warm_sequence = 0;

    while go_on() {
        if let (false, Some((_, end))) = (window.has_begun(), job.common_window()) {
            before = end;
        }
        let (mut due, mut now) = match &mut schedule {
            Some(schedule) => {
                let due = schedule.next_due();
                if due >= before {
                    break;
                }
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
        let is_warm = !window.has_begun() && warmup.admits(due);
        if !is_warm && !window.has_begun() {
            tally.begin(due);
            counts.first = due;
            if schedule.is_none() {
                now = clock.now();
                due = now;
            }
            if let Some((begun, end)) = job.common_window() {
                window.begin(begun);
                before = end;
            }
        }
        if !is_warm && !window.admits(due) {
            break;
        }
        let (kind, sequence) = if is_warm {
            shared.on_message(false);
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
        let len = lengths.of(tag);
        let sent = thread
            .inside(Call::Send, || {
                sender.send(len, &mut |buffer| {
                    stamp::write(buffer, experiment.access, &header)
                })
            })
            .map_err(job.in_call("send"))?;
        let mut taken = None;
        thread
            .inside(Call::Take, || {
                receiver.take(&mut |bytes| {
                    taken = stamp::receive(&clock, bytes, experiment.access, channel.id, len).ok();
                })
            })
            .map_err(job.in_call("take"))?;
        if is_warm {
            warm_sequence += 1;
        } else {
            counts.offered += 1;
            match sent {
                Sent::Accepted => counts.sent += 1,
                Sent::Refused => counts.refused += 1,
            }
        }
        let Some((header, arrival)) = taken else {
            tally.flow.corrupted += u64::from(!is_warm);
            continue;
        };
        let latencies = [due, now].map(|from| arrival.saturating_sub(from));
        tally.note(!is_warm, &header, arrival, len, latencies);
        if is_warm {
            settling.note(arrival, latencies[1]);
            tally.flow.lead_in += u64::from(shared.is_metering());
        } else {
            places.note(now);
            arrived.note(tally.flow.received, arrival);
        }
    }
    counts.last = clock.now();
    counts.pacing = pacer.waited();
    job.tell_done(&counts);
    let mut played = tally
        .finish(counts.offered)
        .map_err(|e| job.unrecorded(e))?;
    if !experiment.workload.is_one_way() {
        played.distributions.retain(|(m, _)| *m == Metric::Rtt);
    }
    shared.wait_for(Phase::Stop);
    thread.inside(Call::Drop, || drop((sender, receiver)));
    Ok(Played {
        sources: vec![counts],
        places: places.finish(),
        ..played
    })
}
