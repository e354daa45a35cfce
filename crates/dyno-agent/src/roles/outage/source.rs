//! The source of a trial with faults: offers every message that is due, and notes what became of it. A caller is one that waits
//! for the answer to each; what is due meanwhile is called late.

use super::kit::{Kit, RETRY, await_matched, close, open, tolerated};
use super::looks::Looks;
use crate::event::{Failure, Played};
use crate::job::{Job, Lengths, Nodes};
use crate::roles::link::{probe_until_linked, send_probe};
use crate::roles::pongs::{PongCheck, Pongs};
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::{Sender, Sent};
use dyno_measure::stamp::{self, Header, Kind, Tag};
use dyno_measure::{FaultLog, Pacer, Schedule, pacing};
use dyno_model::fault::Noted;
use dyno_model::protocol::{Endpoint, SourceCounts};
use dyno_model::{Nanos, Workload};

pub(super) fn play(job: &Job, thread: &ThreadState, kit: &Kit) -> Result<Played, Failure> {
    let Some(channel) = job.outgoing().next() else {
        return Err(job.misassigned("no channel to write to was assigned"));
    };
    let ends = |nodes: &mut Nodes| {
        let sender = job.sender(thread, nodes, channel)?;
        Ok((sender, pongs(job, thread, nodes)?))
    };
    open(job, thread, ends, |nodes, (mut sender, mut pongs)| {
        // Behind the library's threads, which would inherit what it asks of the kernel.
        let pacer = job.pacer();
        // Who takes the place of another finds those of its peers that are left, and may wait for others in vain.
        let enough = match job.assignment.generation {
            0 => {
                let graph = &job.assignment.graph;
                let is_there = |r: &&Endpoint| !graph.is_newcomer(job.experiment(), r.participant);
                channel.readers.iter().filter(is_there).count()
            }
            _ => 1,
        };
        let matched = || {
            let answered = pongs.as_mut().map_or(Ok(true), Pongs::matched)?;
            // A provider sends nothing by itself to a caller that takes the place of another.
            let is_answered = answered || job.assignment.generation > 0;
            Ok(is_answered & (sender.matched()? >= enough))
        };
        if !await_matched(job, thread, matched)? {
            close(thread, nodes, (sender, pongs));
            return Ok(Played::default());
        }
        let mut source = Source {
            job,
            thread,
            log: &kit.log,
            sender: sender.as_mut(),
            pongs,
            pacer,
            looks: Looks::default(),
            lengths: job.lengths(),
            counts: SourceCounts {
                channel: channel.id,
                ..SourceCounts::default()
            },
        };
        if source.link()? == Phase::Run {
            source.offer(kit.window);
        }
        job.tell_done(&source.counts);
        let (sources, pongs) = (vec![source.counts], source.pongs);
        // The endpoints stay until the sinks have taken what is under way.
        job.shared.wait_for(Phase::Stop);
        let ended = pongs.and_then(|pongs| pongs.finish(job, thread).err());
        close(thread, nodes, sender);
        Ok(Played {
            sources,
            warnings: ended.map(tolerated).into_iter().collect(),
            ..Played::default()
        })
    })
}

/// Of a caller, the ends at which its answers arrive.
fn pongs(job: &Job, thread: &ThreadState, nodes: &mut Nodes) -> Result<Option<Pongs>, Failure> {
    if !matches!(job.experiment().workload, Workload::Call { .. }) {
        return Ok(None);
    }
    let channels = job.incoming().map(|channel| job.origin(channel.id));
    let checks = channels
        .map(|channel| PongCheck::new(job, channel))
        .collect();
    Pongs::new(job, thread, nodes, checks).map(Some)
}

struct Source<'a> {
    job: &'a Job,
    thread: &'a ThreadState,
    log: &'a FaultLog,
    sender: &'a mut dyn Sender,
    /// Of a caller.
    pongs: Option<Pongs>,
    pacer: Pacer,
    looks: Looks,
    lengths: Lengths,
    counts: SourceCounts,
}

impl Source<'_> {
    /// Sends probes until the trial runs. Who takes the place of another does not wait for probes to get through.
    fn link(&mut self) -> Result<Phase, Failure> {
        let (job, thread, channel) = (self.job, self.thread, self.counts.channel);
        let is_first = job.assignment.generation == 0;
        if let Some(pongs) = &mut self.pongs {
            while !pongs.linked() && job.shared.phase() <= Phase::Link {
                let probed = send_probe(job, thread, self.sender, channel);
                match probed.and_then(|()| pongs.await_probes(job, thread)) {
                    Err(failure) if is_first => return Err(failure),
                    Err(_) => std::thread::sleep(RETRY),
                    Ok(()) => {}
                }
            }
            return Ok(job.shared.wait_for(Phase::Run));
        }
        if is_first {
            return probe_until_linked(job, thread, self.sender, channel);
        }
        loop {
            match job.shared.phase() {
                Phase::Setup | Phase::Link => {}
                later => return Ok(later),
            }
            // Its peers go on without it: the next probe comes soon.
            let _ = send_probe(job, thread, self.sender, channel);
            std::thread::sleep(RETRY);
        }
    }

    /// Warm-up and window; who takes the place of another begins with the next message that is due.
    fn offer(&mut self, window: Nanos) {
        let (shared, clock) = (&self.job.shared, self.job.shared.clock);
        let workload = self.job.experiment().workload;
        let (seed, index) = (self.job.assignment.seed, self.job.participant.index);
        let schedule = Schedule::under_faults(workload, shared.start(), seed, index);
        let Some(mut schedule) = schedule else {
            return;
        };
        let begin = shared.window_at();
        let end = begin.saturating_add(window);
        // What a stack that blocks has not taken by then is not sent.
        let patience = self.job.experiment().drain.max(pacing::TOLERANCE);
        let give_up = end.saturating_add(patience);
        let first = match self.job.assignment.generation {
            0 => Nanos::ZERO,
            _ => clock.now(),
        };
        for (kind, sequence, due) in numbered(&mut schedule, begin, end) {
            if due < first {
                continue;
            }
            match self.wait(due) {
                Some(now) if now <= give_up => self.send(kind, sequence, due, now),
                _ => break,
            }
        }
        self.counts.last = clock.now();
        self.counts.pacing = self.pacer.waited();
    }

    /// Waits until a message is due, and looks at the number of peers meanwhile. The time; `None`: the trial goes on to its end.
    fn wait(&mut self, due: Nanos) -> Option<Nanos> {
        let shared = &self.job.shared;
        let go_on = || shared.phase() < Phase::Drain;
        while self.looks.comes_before(due, shared.clock.now()) {
            self.pacer.wait_until(self.looks.next(), &go_on)?;
            let sender = &mut *self.sender;
            let log = (self.log, self.counts.channel);
            let look = || sender.matched();
            self.looks.look(shared.clock, self.thread, log, look);
        }
        self.pacer.wait_until(due, &go_on)
    }

    fn send(&mut self, kind: Kind, sequence: u64, due: Nanos, now: Nanos) {
        let (access, channel) = (self.job.experiment().access, self.counts.channel);
        let tag = Tag {
            channel,
            kind,
            sequence,
        };
        let header = Header {
            tag,
            intended: due,
            sent: now,
        };
        let sender = &mut *self.sender;
        let length = self.lengths.of(tag);
        let sent = self.thread.inside(Call::Send, || {
            sender.send(length, &mut |buffer| stamp::write(buffer, access, &header))
        });
        let at = self.job.shared.clock.now();
        let answered = match sent {
            Ok(Sent::Accepted) => self.await_answer(kind, sequence, now),
            Ok(Sent::Refused) | Err(_) => None,
        };
        if kind != Kind::Measured {
            return;
        }
        let counts = &mut self.counts;
        if counts.offered == 0 {
            counts.first = due;
        }
        counts.offered += 1;
        counts.late += u64::from(now.saturating_sub(due) > pacing::TOLERANCE);
        let noted = match sent {
            Ok(Sent::Accepted) => {
                counts.sent += 1;
                let sent = now;
                Noted::Sent { sequence, sent }
            }
            Ok(Sent::Refused) | Err(_) => {
                counts.refused += 1;
                Noted::NotSent { sequence }
            }
        };
        self.log.push(channel, at, noted);
        let sent = now;
        match answered {
            None => {}
            Some(Some(at)) => {
                let noted = Noted::Arrival {
                    sequence,
                    due,
                    sent,
                };
                self.log.push(channel, at, noted);
            }
            Some(None) => {
                let now = self.job.shared.clock.now();
                self.log.push(channel, now, Noted::NoAnswer { sequence });
            }
        }
    }

    /// Of a caller: when the answer came to the call that was sent at `sent`, or nothing if it did not come in time.
    fn await_answer(&mut self, kind: Kind, sequence: u64, sent: Nanos) -> Option<Option<Nanos>> {
        let pongs = self.pongs.as_mut()?;
        let timeout = self.job.experiment().workload.numbers().timeout?;
        let until = sent.saturating_add(timeout);
        let arrival = pongs.await_all(self.job, self.thread, kind, sequence, until);
        Some(arrival.ok().flatten().filter(|arrival| *arrival <= until))
    }
}

/// The messages of the warm-up and of the window that begins and ends then, each numbered from 0.
fn numbered(
    schedule: &mut Schedule,
    begin: Nanos,
    end: Nanos,
) -> impl Iterator<Item = (Kind, u64, Nanos)> {
    let (mut warmup, mut measured) = (0.., 0..);
    let dues = std::iter::repeat_with(|| schedule.next_due());
    dues.take_while(move |due| *due < end)
        .filter_map(move |due| match due < begin {
            true => Some((Kind::Warmup, warmup.next()?, due)),
            false => Some((Kind::Measured, measured.next()?, due)),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::factor::Arrivals;
    use dyno_model::unit::RateHz;

    #[test]
    fn a_message_is_numbered_by_its_place_in_the_window() {
        let workload = Workload::Stream {
            rate: RateHz::new(1_000.0).unwrap(),
            arrivals: Arrivals::Fixed,
        };
        let ms = Nanos::from_millis;
        let mut schedule = Schedule::of(workload, ms(100), 7, 0).unwrap();
        let all: Vec<_> = numbered(&mut schedule, ms(103), ms(106)).collect();
        let message = |kind, sequence, due| (kind, sequence, ms(due));
        assert_eq!(
            all,
            [
                message(Kind::Warmup, 0, 100),
                message(Kind::Warmup, 1, 101),
                message(Kind::Warmup, 2, 102),
                message(Kind::Measured, 0, 103),
                message(Kind::Measured, 1, 104),
                message(Kind::Measured, 2, 105),
            ]
        );
    }
}
