//! The sink: receives, checks and records until everything that was sent has arrived.

use super::ends::{Subscribed, all, on_threads};
use super::intake::Intake;
use super::passages::Log;
use super::places::Places;
use super::tally::{BLOCKS, Tally, expected_messages};
use super::warmup::Settling;
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Arrivals, Call, Phase, ThreadState};
use dyno_adapter::{Error, Receiver};
use dyno_measure::Recorder;
use dyno_measure::stamp::{Damage, Kind};
use dyno_model::sizes::draw;
use dyno_model::{Metric, Nanos};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    inboxes: Vec<Inbox>,
) -> Result<Played, Failure> {
    if job.by_callback() {
        by_callback(job, thread, nodes, inboxes)
    } else {
        by_take(job, thread, nodes, inboxes)
    }
}

/// The role's own threads take: one for each channel when they block, one for all when they spin.
fn by_take(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    inboxes: Vec<Inbox>,
) -> Result<Played, Failure> {
    let mut ends = Vec::new();
    for (channel, inbox) in job.incoming().zip(inboxes) {
        ends.push((job.receiver(thread, nodes, channel)?, inbox));
    }
    let opened = job.shared.clock.now();
    let all_matched = &mut || all(ends.iter_mut().map(|(r, _)| r.matched()));
    if !job.await_matched(thread, opened, all_matched)? {
        return Ok(Played::default());
    }
    match job.incoming().any(|channel| job.asks(channel)) {
        true => on_threads(job, thread, ends, |thread, ends| {
            take::<true>(job, thread, ends)
        }),
        false => on_threads(job, thread, ends, |thread, ends| {
            take::<false>(job, thread, ends)
        }),
    }
}

/// With `ASKS` each take is a read, and timed.
fn take<const ASKS: bool>(
    job: &Job,
    thread: &ThreadState,
    mut ends: Vec<(Box<dyn Receiver>, Inbox)>,
) -> Result<Played, Failure> {
    let shared = &job.shared;
    let cycle = job.experiment().sink_cycle.map(Duration::from);
    // A task's cycle begins anywhere in the sender's: at another place in each trial.
    let phase = draw(job.assignment.seed, u16::MAX, 0) as f64 / u64::MAX as f64;
    let mut look = Instant::now() + cycle.map_or(Duration::ZERO, |c| c.mul_f64(phase));
    std::thread::sleep(look.saturating_duration_since(Instant::now()));
    loop {
        let mut found = false;
        for (receiver, inbox) in &mut ends {
            let asked = ASKS.then(|| shared.clock.now());
            let taken = thread.inside(Call::Take, || {
                receiver.take(&mut |bytes| inbox.on_message(bytes))
            });
            match taken {
                Ok(taken) => {
                    found |= taken;
                    if let Some(asked) = asked {
                        inbox.answered(asked);
                    }
                }
                // The runner ends all agents at about the same time: a source that has offered
                // everything may leave first, and then nothing more comes. A source that crashes
                // is noticed by the runner.
                Err(Error::PeerGone { .. }) if shared.phase() >= Phase::Drain => inbox.ended = true,
                Err(_) if shared.phase() == Phase::Stop => {}
                Err(e) => return Err(job.in_call("take")(e)),
            }
        }
        match shared.phase() {
            Phase::Stop => break,
            Phase::Drain if ends.iter().all(|(_, inbox)| inbox.is_complete()) => break,
            _ => {}
        }
        // All that was there has been taken, or asked for. A look whose time has passed is not made up for.
        if let Some(cycle) = cycle.filter(|_| ASKS || !found) {
            look = (look + cycle).max(Instant::now());
            std::thread::sleep(look.saturating_duration_since(Instant::now()));
        }
    }
    shared.have_drained(ends.len());
    shared.wait_for(Phase::Stop);
    let mut played = Played::default();
    for (receiver, inbox) in ends {
        thread.inside(Call::Drop, || drop(receiver));
        played.add(inbox.finish().map_err(|e| job.unrecorded(e))?);
    }
    Ok(played)
}

/// The library's thread calls; the role's own only waits for the end.
fn by_callback(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    inboxes: Vec<Inbox>,
) -> Result<Played, Failure> {
    let mut subscribed = Subscribed::new();
    let mut arrivals = Vec::new();
    for (channel, inbox) in job.incoming().zip(inboxes) {
        arrivals.push((inbox.intake.channel, inbox.arrived.clone()));
        subscribed.add(job, thread, nodes, channel, inbox, Inbox::on_message)?;
    }
    let opened = job.shared.clock.now();
    if !job.await_matched(thread, opened, &mut || subscribed.matched())? {
        return Ok(Played::default());
    }
    let shared = &job.shared;
    let mut phase = shared.wait_for(Phase::Drain);
    while phase == Phase::Drain
        && arrivals
            .iter()
            .any(|(id, arrived)| arrived.count() < shared.sent(*id))
    {
        std::thread::sleep(Duration::from_micros(500));
        phase = shared.phase();
    }
    shared.have_drained(subscribed.len());
    shared.wait_for(Phase::Stop);
    let mut played = Played::default();
    for inbox in subscribed.end(job, thread)? {
        played.add(inbox.finish().map_err(|e| job.unrecorded(e))?);
    }
    Ok(played)
}

/// The record of a reader's questions, where readers ask and the window has a length that is known.
fn reads(job: &Job) -> Option<(Recorder, Nanos)> {
    let asks = job.incoming().any(|channel| job.asks(channel));
    let experiment = job.experiment();
    let length = experiment.known_window().filter(|_| asks)?;
    // A number of messages says nothing of how many reads there are.
    let block = Nanos((length.0 / BLOCKS as u64).max(1));
    Some((Recorder::by_time(BLOCKS, block), length))
}

/// What arrives at one reading end.
pub(crate) struct Inbox {
    intake: Intake,
    tally: Tally<2>,
    settling: Settling,
    places: Places,
    log: Option<Log>,
    /// From each question of the window to its answer, where readers ask, and how long the window is.
    reads: Option<(Recorder, Nanos)>,
    /// Messages that the stack may hold.
    most_held: u64,
    /// How long it sleeps after each message.
    pause: Option<Nanos>,
    /// The sender has gone after offering everything.
    ended: bool,
    arrived: Arc<Arrivals>,
}

impl Inbox {
    pub(super) fn new(job: &Job, channel: u16) -> Self {
        let metrics = [Metric::Response, Metric::Service];
        let expected = expected_messages(job.experiment());
        Inbox {
            intake: Intake::new(job, channel),
            tally: Tally::new(job, channel, metrics, expected),
            settling: Settling::new(job),
            places: Places::new(job),
            log: Log::new(job, channel),
            reads: reads(job),
            most_held: job.most_held(),
            pause: job.experiment().sink_pause,
            ended: false,
            arrived: job.shared.add_end(channel),
        }
    }

    /// Stamps, checks and records one message; then a slow consumer sleeps, which is no time of this message's.
    #[inline]
    fn on_message(&mut self, bytes: &[u8]) {
        let is_of_stream = self.take_note(bytes);
        if let (true, Some(pause)) = (is_of_stream, self.pause) {
            self.sleep(pause);
        }
    }

    /// A question that was asked at `asked` has its answer. Those of the window count, which begins here when it may begin for
    /// the sender: nobody need write meanwhile.
    fn answered(&mut self, asked: Nanos) {
        let shared = &self.intake.shared;
        let (answered, begun) = (shared.clock.now(), shared.window_at());
        let Some((recorder, length)) = &mut self.reads else {
            return;
        };
        if asked < begun || asked >= begun.saturating_add(*length) {
            return;
        }
        if recorder.is_empty() {
            recorder.begin(begun);
        }
        recorder.record(asked, answered.saturating_sub(asked));
    }

    /// Until a trial stops: what a stack still holds then is not waited for.
    #[cold]
    fn sleep(&self, pause: Nanos) {
        if self.intake.shared.phase() < Phase::Stop {
            std::thread::sleep(pause.into());
        }
    }

    /// Whether it was a message of the workload, be it one of the warm-up.
    #[inline]
    fn take_note(&mut self, bytes: &[u8]) -> bool {
        let (header, arrival) = match self.intake.receive(bytes) {
            Ok(read) => read,
            Err(damage) => {
                self.damaged(damage);
                return true;
            }
        };
        let measured = match header.tag.kind {
            Kind::Measured => true,
            Kind::Warmup => {
                let service = arrival.saturating_sub(header.sent);
                self.settling.note(arrival, service);
                let shared = &self.intake.shared;
                shared.on_message(false);
                self.tally.flow.lead_in += u64::from(shared.is_metering());
                false
            }
            Kind::Probe => {
                self.on_probe(bytes.len(), arrival);
                return false;
            }
        };
        let latencies = [header.intended, header.sent].map(|from| arrival.saturating_sub(from));
        self.tally
            .note(measured, &header, arrival, bytes.len(), latencies);
        if measured {
            self.places.note(arrival);
            self.note_arrival(arrival);
            if let Some(log) = &mut self.log {
                log.note(header.tag.sequence, header.sent, arrival);
            }
        }
        true
    }

    #[cold]
    fn on_probe(&mut self, bytes: usize, arrival: Nanos) {
        if self.intake.is_probed() {
            return;
        }
        if self.intake.experiment().workload.kind().is_start() {
            let flow = &mut self.tally.flow;
            flow.received = 1;
            flow.bytes = bytes as u64;
            (flow.first, flow.last) = (arrival, arrival);
            self.note_arrival(arrival);
        }
        self.intake.probed(arrival);
    }

    #[cold]
    fn damaged(&mut self, damage: Damage) {
        if self.intake.damaged(damage) {
            self.note_arrival(self.intake.shared.clock.now());
        }
    }

    fn note_arrival(&self, at: Nanos) {
        let count = self.tally.flow.received + self.intake.damage();
        self.arrived.note(count, at);
    }

    /// Whether everything that was accepted has arrived; valid from [`Phase::Drain`] on.
    fn is_complete(&self) -> bool {
        self.ended || self.arrived.count() >= self.intake.shared.sent(self.intake.channel)
    }

    /// Whether a message arrived in the last quarter of the drain, be it one of the warm-up: in a stack that holds
    /// whatever it is given, those of the window stand behind them.
    fn was_delivering(&self) -> bool {
        let length = self.intake.experiment().drain;
        let quarter = Nanos(length.0 - length.0 / 4);
        self.tally.last() >= self.intake.shared.drain_at().saturating_add(quarter)
    }

    /// What never arrived stands as infinitely late in both distributions.
    fn finish(mut self) -> Result<Played, dyno_measure::RecordError> {
        let (shared, channel) = (&self.intake.shared, self.intake.channel);
        let (offered, sent) = (shared.offered(channel), shared.sent(channel));
        if self.was_delivering() {
            self.tally.find_under_way(offered, sent, self.most_held);
        }
        self.intake.add_to(&mut self.tally.flow);
        let of_start = self.intake.experiment().workload.kind().is_start();
        let mut played = self.tally.finish(offered)?;
        if of_start {
            // Its one time is not of the message but of the start.
            played.distributions.clear();
        }
        played.first.extend(self.intake.first());
        // Where the warm-up is a number of messages, nobody told when the window begins.
        let is_known = shared.window_at() < Nanos(u64::MAX);
        if let Some((reads, _)) = self.reads.filter(|_| is_known) {
            played.distributions.push((Metric::Read, reads.finish(0)?));
        }
        played.places = self.places.finish();
        played.passages.extend(self.log.map(Log::finish));
        Ok(played)
    }
}
