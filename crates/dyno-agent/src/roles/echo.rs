//! The echo: answers each ping with a pong of the same kind and sequence number. The provider of a
//! `call` is an echo too: its pings are requests, its pongs responses.

use super::ends::{Subscribed, all, on_threads};
use super::intake::Intake;
use super::link::{PROBE_PERIOD, probe_len};
use super::passages::Log;
use super::places::Places;
use super::pongs::SPINS_PER_LOOK;
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::{Carries, ChannelSpec, Error, Receiver, Sender};
use dyno_measure::stamp::{self, Header, Kind, Tag};
use dyno_model::record::FlowCounts;
use dyno_model::{Nanos, Wait};
use std::time::Duration;

pub(super) fn play(job: &Job, thread: &ThreadState, nodes: &mut Nodes) -> Result<Played, Failure> {
    if job.by_callback() {
        by_callback(job, thread, nodes)
    } else {
        by_take(job, thread, nodes)
    }
}

/// The channel that carries our pongs to what comes over `ping`.
fn pong_of<'a>(job: &'a Job, ping: &ChannelSpec) -> Result<&'a ChannelSpec, Failure> {
    job.replies_to(ping.id).ok_or_else(|| {
        let message = format!("no channel for the pongs to {}", ping.name);
        job.misassigned(message)
    })
}

fn by_take(job: &Job, thread: &ThreadState, nodes: &mut Nodes) -> Result<Played, Failure> {
    let mut ends = ends(job, thread, nodes)?;
    let opened = job.shared.clock.now();
    if !job.await_matched(thread, opened, &mut || matched(&mut ends))? {
        return Ok(Played::default());
    }
    on_threads(job, thread, ends, |thread, ends| answer(job, thread, ends))
}

/// An end for each channel of pings.
pub(super) fn ends(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
) -> Result<Vec<End>, Failure> {
    let mut ends = Vec::new();
    for ping in job.incoming() {
        let receiver = job.receiver(thread, nodes, ping)?;
        let pong = pong_of(job, ping)?;
        let sender = job.sender(thread, nodes, pong)?;
        ends.push(End {
            receiver,
            sender,
            answer: Answer::new(job, job.origin(ping.id), pong.id),
        });
    }
    Ok(ends)
}

/// Whether all of them are matched both ways.
pub(super) fn matched(ends: &mut [End]) -> dyno_adapter::Result<bool> {
    all(ends
        .iter_mut()
        .map(|e| Ok(e.receiver.matched()? & (e.sender.matched()? >= 1))))
}

pub(super) struct End {
    receiver: Box<dyn Receiver>,
    sender: Box<dyn Sender>,
    answer: Answer,
}

/// Answers until the trial drains. In a trial with faults it goes on after a call that fails.
pub(super) fn answer(
    job: &Job,
    thread: &ThreadState,
    mut ends: Vec<End>,
) -> Result<Played, Failure> {
    let shared = &job.shared;
    let goes_on = !job.experiment().faults.is_empty();
    let sleeps = job.experiment().echo_poll;
    let parks = job.wait == Wait::Spin && job.experiment().slices.is_some();
    let mut empty = 0u32;
    while shared.phase() < Phase::Drain {
        let mut answered = false;
        for End {
            receiver,
            sender,
            answer,
        } in &mut ends
        {
            let mut ping = None;
            let result = thread
                .inside(Call::Take, || {
                    receiver.take(&mut |bytes| ping = answer.on_ping(bytes))
                })
                .map_err(|e| ("take", e))
                .and_then(|_| match ping {
                    Some(ping) => {
                        answered |= ping.tag.kind != Kind::Probe;
                        let sent = thread.inside(Call::Send, || answer.send(ping, sender.as_mut()));
                        answer.note(ping);
                        sent.map_err(|e| ("send", e))
                    }
                    None => Ok(()),
                });
            match result {
                Ok(()) => {}
                // The initiator may leave as soon as it is done.
                Err(_) if shared.phase() >= Phase::Drain => {}
                Err(_) if goes_on => std::thread::sleep(PROBE_PERIOD),
                Err((step, e)) => return Err(job.in_call(step)(e)),
            }
        }
        if let Some(poll) = sleeps.filter(|_| answered) {
            std::thread::sleep(poll.into());
        }
        if parks {
            empty = (empty + 1) * u32::from(!answered);
            if empty == SPINS_PER_LOOK {
                empty = 0;
                job.park();
            }
        }
    }
    shared.have_drained(ends.len());
    shared.wait_for(Phase::Stop);
    let mut played = Played::default();
    for end in ends {
        end.answer.finish(&mut played);
        thread.inside(Call::Drop, || drop((end.receiver, end.sender)));
    }
    Ok(played)
}

fn by_callback(job: &Job, thread: &ThreadState, nodes: &mut Nodes) -> Result<Played, Failure> {
    let opened = job.shared.clock.now();
    let Some(mut subscribed) = subscribe(job, thread, nodes)? else {
        return Ok(Played::default());
    };
    let matched = &mut || subscribed.matched();
    if !job.await_matched(thread, opened, matched)? {
        return Ok(Played::default());
    }
    await_end(job, subscribed.len());
    let mut played = Played::default();
    for side in subscribed.end(job, thread)? {
        if let Some(error) = side.error {
            return Err(job.in_call("send")(error));
        }
        side.answer.finish(&mut played);
        thread.inside(Call::Drop, || drop(side.sender));
    }
    Ok(played)
}

/// The callbacks answer until the trial drains.
pub(super) fn await_end(job: &Job, ends: usize) {
    job.shared.wait_for(Phase::Drain);
    job.shared.have_drained(ends);
    job.shared.wait_for(Phase::Stop);
}

/// A subscription for each channel of pings, whose callback answers. `None`: the trial ended before the ways back were matched.
pub(super) fn subscribe(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
) -> Result<Option<Subscribed<Side>>, Failure> {
    let mut sides = Vec::new();
    for ping in job.incoming() {
        let pong = pong_of(job, ping)?;
        let sender = job.sender(thread, nodes, pong)?;
        sides.push((
            ping,
            Side {
                sender,
                answer: Answer::new(job, job.origin(ping.id), pong.id),
                error: None,
                goes_on: !job.experiment().faults.is_empty(),
            },
            matches!(pong.carries, Carries::Responses { .. }),
        ));
    }
    // The senders go into the callbacks, so they are matched before there is a callback, and waiting
    // for that is not a part of opening. One of responses is not: it goes the way that the request
    // came.
    loop {
        let matched = thread
            .inside(Call::Matched, || {
                all(sides
                    .iter_mut()
                    .map(|(_, s, answers)| Ok(*answers || s.sender.matched()? >= 1)))
            })
            .map_err(job.in_call("matched"))?;
        match (matched, job.shared.phase()) {
            (_, Phase::Stop) => return Ok(None),
            (true, _) => break,
            (false, _) => std::thread::sleep(Duration::from_micros(200)),
        }
    }
    let mut subscribed = Subscribed::new();
    for (ping, side, _) in sides {
        subscribed.add(job, thread, nodes, ping, side, Side::on_message)?;
    }
    Ok(Some(subscribed))
}

/// What a callback owns.
pub(super) struct Side {
    sender: Box<dyn Sender>,
    answer: Answer,
    /// The first error of a pong; told at the end, and no pong is sent after it.
    error: Option<Error>,
    /// In a trial with faults: errors are not told.
    goes_on: bool,
}

impl Side {
    fn on_message(&mut self, bytes: &[u8]) {
        let Some(ping) = self.answer.on_ping(bytes) else {
            return;
        };
        if self.error.is_none() && self.answer.intake.shared.phase() < Phase::Drain {
            let error = self.answer.send(ping, self.sender.as_mut()).err();
            self.error = error.filter(|_| !self.goes_on);
        }
        self.answer.note(ping);
    }
}

/// An echo reads no clock for its messages; it looks where it runs every so many of them.
const PINGS_PER_LOOK: u64 = 16;

/// An intact ping.
#[derive(Clone, Copy)]
struct Ping {
    tag: Tag,
    bytes: u64,
    /// When it came, where that is logged.
    came: Nanos,
}

/// Checks pings and makes pongs.
struct Answer {
    intake: Intake,
    pong: u16,
    flow: FlowCounts,
    places: Places,
    log: Option<Log>,
}

impl Answer {
    fn new(job: &Job, ping: u16, pong: u16) -> Self {
        let receiver = job.participant.index;
        Answer {
            intake: Intake::new(job, ping),
            pong,
            flow: FlowCounts {
                channel: ping,
                receiver,
                ..FlowCounts::default()
            },
            places: Places::new(job),
            log: Log::new(job, ping),
        }
    }

    fn finish(self, played: &mut Played) {
        let mut flow = self.flow;
        self.intake.add_to(&mut flow);
        played.first.extend(self.intake.first());
        played.flows.push(flow);
        played.places.extend(self.places.finish());
        played.passages.extend(self.log.map(Log::finish));
    }

    /// The ping, where it is intact; a damaged one gets no pong.
    #[inline]
    fn on_ping(&mut self, bytes: &[u8]) -> Option<Ping> {
        match self.intake.read(bytes) {
            Ok(header) => Some(Ping {
                tag: header.tag,
                bytes: bytes.len() as u64,
                came: match &self.log {
                    Some(_) => self.intake.shared.clock.now(),
                    None => Nanos::ZERO,
                },
            }),
            Err(damage) => {
                self.intake.damaged(damage);
                None
            }
        }
    }

    /// Counts a ping, after it was answered: whatever only measured pings need would be new to the caches in the
    /// first round trip, or not even mapped. Those of the warm-up and of the window take the same way, by which a
    /// processor foresees the branches that follow.
    #[inline]
    fn note(&mut self, ping: Ping) {
        let Ping { tag, bytes, .. } = ping;
        let shared = &self.intake.shared;
        if tag.kind == Kind::Probe {
            if !self.intake.is_probed() {
                self.intake.probed(shared.clock.now());
            }
            return;
        }
        let measured = tag.kind == Kind::Measured;
        shared.on_message(measured);
        let once = u64::from(measured);
        self.flow.received += once;
        self.flow.bytes += bytes * once;
        if self.places.is_watched() {
            self.look(measured);
        }
    }

    /// Apart, so that where nothing is watched the compiler cannot ask first whether it is time to.
    #[cold]
    fn look(&mut self, measured: bool) {
        if measured && self.flow.received % PINGS_PER_LOOK == 1 {
            self.places.note(self.intake.shared.clock.now());
        }
    }

    #[inline]
    fn send(&mut self, ping: Ping, sender: &mut dyn Sender) -> Result<(), Error> {
        let Ping {
            tag: ping, came, ..
        } = ping;
        if let Some(log) = self.log.as_mut().filter(|_| ping.kind == Kind::Measured) {
            log.note(ping.sequence, came, self.intake.shared.clock.now());
        }
        let experiment = self.intake.experiment();
        let len = match ping.kind {
            Kind::Probe => probe_len(experiment),
            Kind::Warmup | Kind::Measured => experiment.payload.bytes(),
        };
        let header = Header {
            tag: Tag {
                channel: self.pong,
                ..ping
            },
            intended: Nanos::ZERO,
            sent: Nanos::ZERO,
        };
        // A refused pong is a lost round trip: the initiator counts it.
        sender
            .send(len, &mut |buffer| {
                stamp::write(buffer, experiment.access, &header)
            })
            .map(|_| ())
    }
}
