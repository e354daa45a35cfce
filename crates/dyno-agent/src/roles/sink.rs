//! The sink: receives, checks and records until everything that was sent has arrived.

use super::places::Places;
use super::tally::Tally;
use super::warmup::Settling;
use super::{Played, expected_messages, in_window, receive};
use crate::participant::{Failure, Job};
use crate::shared::{Arrivals, Call, Phase, Shared, ThreadState};
use dyno_adapter::{Error, Node, Receiver};
use dyno_measure::stamp::{Damage, Kind};
use dyno_model::protocol::{Assignment, FirstArrival};
use dyno_model::{Experiment, Metric, Nanos, Wait};
use std::sync::{Arc, mpsc};
use std::time::Duration;

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    node: &mut dyn Node,
    inboxes: Vec<Inbox>,
) -> Result<Played, Failure> {
    if job.by_callback() {
        by_callback(job, thread, node, inboxes)
    } else {
        by_take(job, thread, node, inboxes)
    }
}

/// The role's own threads take: one for each channel when they block, one for all when they spin.
fn by_take(
    job: &Job,
    thread: &ThreadState,
    node: &mut dyn Node,
    inboxes: Vec<Inbox>,
) -> Result<Played, Failure> {
    let mut ends = Vec::new();
    for (channel, inbox) in job.incoming().zip(inboxes) {
        ends.push((job.receiver(thread, node, channel)?, inbox));
    }
    let opened = job.shared.clock.now();
    let all_matched = &mut || all(ends.iter_mut().map(|(r, _)| r.matched()));
    if !job.await_matched(thread, opened, all_matched)? {
        return Ok(Played::default());
    }
    if job.assignment.experiment.wait == Wait::Spin || ends.len() == 1 {
        take(job, thread, ends)
    } else {
        let workers = |end| {
            let thread = job.shared.register(job.participant.index, "sink");
            let played = take(job, &thread, vec![end]);
            thread.ended();
            played
        };
        on_threads(job, ends, &workers)
    }
}

/// Runs `work` on a thread for each of `items` and puts the results together.
pub(super) fn on_threads<T: Send>(
    job: &Job,
    items: Vec<T>,
    work: &(dyn Fn(T) -> Result<Played, Failure> + Sync),
) -> Result<Played, Failure> {
    std::thread::scope(|scope| {
        let handles: Vec<_> = items
            .into_iter()
            .map(|item| scope.spawn(move || work(item)))
            .collect();
        let mut all = Played::default();
        for handle in handles {
            let one = handle
                .join()
                .map_err(|_| job.failure("role", "a thread panicked"))?;
            all.add(one?);
        }
        Ok(all)
    })
}

fn take(
    job: &Job,
    thread: &ThreadState,
    mut ends: Vec<(Box<dyn Receiver>, Inbox)>,
) -> Result<Played, Failure> {
    let shared = &job.shared;
    loop {
        for (receiver, inbox) in &mut ends {
            match thread.inside(Call::Take, || {
                receiver.take(&mut |bytes| inbox.on_message(bytes))
            }) {
                Ok(_) => {}
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
    }
    shared.have_drained(ends.len());
    shared.wait_for(Phase::Stop);
    let mut played = Played::default();
    for (receiver, inbox) in ends {
        thread.inside(Call::Drop, || drop(receiver));
        played.add(inbox.finish().map_err(|e| job.failure("record", e))?);
    }
    Ok(played)
}

/// The library's thread calls; the role's own only waits for the end.
fn by_callback(
    job: &Job,
    thread: &ThreadState,
    node: &mut dyn Node,
    inboxes: Vec<Inbox>,
) -> Result<Played, Failure> {
    let (returned, gone) = mpsc::channel();
    let mut subscriptions = Vec::new();
    let mut arrivals = Vec::new();
    for (channel, inbox) in job.incoming().zip(inboxes) {
        arrivals.push((channel.id, inbox.arrived.clone()));
        let mut inbox = Returned(Some(inbox), returned.clone());
        let on_message = Box::new(move |bytes: &[u8]| {
            if let Some(inbox) = &mut inbox.0 {
                inbox.on_message(bytes);
            }
        });
        subscriptions.push(job.subscribe(thread, node, channel, on_message)?);
    }
    drop(returned);
    let opened = job.shared.clock.now();
    let all_matched = &mut || all(subscriptions.iter_mut().map(|s| s.matched()));
    if !job.await_matched(thread, opened, all_matched)? {
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
    let expected = subscriptions.len();
    shared.have_drained(expected);
    shared.wait_for(Phase::Stop);
    thread.inside(Call::Drop, || drop(subscriptions));
    let mut played = Played::default();
    for _ in 0..expected {
        let inbox: Inbox = gone.recv_timeout(Duration::from_secs(5)).map_err(|_| {
            job.failure(
                "drop",
                "the library keeps the callback of a dropped subscription",
            )
        })?;
        played.add(inbox.finish().map_err(|e| job.failure("record", e))?);
    }
    Ok(played)
}

/// Gives a value back through a channel when it is dropped: how a callback, which is owned by the
/// library, returns what it gathered without a lock on the way of a message.
pub(super) struct Returned<T>(pub(super) Option<T>, pub(super) mpsc::Sender<T>);

impl<T> Drop for Returned<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            // Nobody waits for it after an error elsewhere.
            let _ = self.1.send(value);
        }
    }
}

/// Whether all answers are yes; every one is asked, since asking drives connections.
pub(super) fn all(answers: impl Iterator<Item = Result<bool, Error>>) -> Result<bool, Error> {
    let mut all = true;
    for answer in answers {
        all &= answer?;
    }
    Ok(all)
}

/// What arrives at one reading end.
pub(crate) struct Inbox {
    shared: Arc<Shared>,
    assignment: Arc<Assignment>,
    channel: u16,
    /// Thrown away.
    warmup: Tally<2>,
    window: Tally<2>,
    settling: Settling,
    places: Places,
    /// Messages that the stack may hold.
    most_held: u64,
    /// When the first probe arrived.
    probed: Option<Nanos>,
    /// The sender has gone after offering everything.
    ended: bool,
    arrived: Arc<Arrivals>,
}

impl Inbox {
    pub(super) fn new(job: &Job, channel: u16) -> Self {
        let metrics = [Metric::Response, Metric::Service];
        let expected = expected_messages(&job.assignment.experiment);
        Inbox {
            shared: job.shared.clone(),
            assignment: job.assignment.clone(),
            channel,
            warmup: Tally::of_warmup(job, channel, metrics),
            window: Tally::of_window(job, channel, metrics, expected),
            settling: Settling::new(job),
            places: Places::new(job),
            most_held: job.most_held(),
            probed: None,
            ended: false,
            arrived: job.shared.add_end(channel),
        }
    }

    /// Stamps, checks and records one message.
    #[inline]
    fn on_message(&mut self, bytes: &[u8]) {
        let clock = &self.shared.clock;
        let (header, arrival) = match receive(clock, bytes, self.experiment(), self.channel) {
            Ok(read) => read,
            Err(damage) => return self.damaged(damage),
        };
        let measured = match header.tag.kind {
            Kind::Measured => true,
            Kind::Warmup => {
                let service = arrival.saturating_sub(header.sent);
                self.settling.note(arrival, service);
                self.shared.on_warmup(header.tag.sequence);
                self.window.flow.lead_in += u64::from(self.shared.is_metering());
                false
            }
            Kind::Probe => return self.on_probe(bytes.len(), arrival),
        };
        let tally = match measured {
            true => &mut self.window,
            false => &mut self.warmup,
        };
        let latencies = [header.intended, header.sent].map(|from| arrival.saturating_sub(from));
        tally.note(&header, arrival, bytes.len(), latencies);
        if measured {
            self.places.note(arrival);
            self.note_arrival(arrival);
        }
    }

    fn experiment(&self) -> &Experiment {
        &self.assignment.experiment
    }

    #[cold]
    fn on_probe(&mut self, bytes: usize, arrival: Nanos) {
        if self.probed.is_some() {
            return;
        }
        self.probed = Some(arrival);
        if self.experiment().workload.kind().is_start() {
            let flow = &mut self.window.flow;
            flow.received = 1;
            flow.bytes = bytes as u64;
            (flow.first, flow.last) = (arrival, arrival);
            self.note_arrival(arrival);
        }
        self.shared.one_linked();
    }

    #[cold]
    fn damaged(&mut self, damage: Damage) {
        if !in_window(&self.shared) {
            return;
        }
        match damage {
            Damage::Truncated => self.window.flow.truncated += 1,
            Damage::Corrupted => self.window.flow.corrupted += 1,
        }
        self.note_arrival(self.shared.clock.now());
    }

    fn note_arrival(&self, at: Nanos) {
        let flow = &self.window.flow;
        let count = flow.received + flow.truncated + flow.corrupted;
        self.arrived.note(count, at);
    }

    /// Whether everything that was accepted has arrived; valid from [`Phase::Drain`] on.
    fn is_complete(&self) -> bool {
        self.ended || self.arrived.count() >= self.shared.sent(self.channel)
    }

    /// Whether a message arrived in the last quarter of the drain, be it one of the warm-up: in a stack that holds
    /// whatever it is given, those of the window stand behind them.
    fn was_delivering(&self) -> bool {
        let length = self.experiment().drain;
        let quarter = Nanos(length.0 - length.0 / 4);
        let last = self.window.flow.last.max(self.warmup.flow.last);
        last >= self.shared.drain_at().saturating_add(quarter)
    }

    /// What never arrived stands as infinitely late in both distributions.
    fn finish(mut self) -> Result<Played, dyno_measure::RecordError> {
        let shared = &self.shared;
        let offered = shared.offered(self.channel);
        if self.was_delivering() {
            self.window
                .find_under_way(offered, shared.sent(self.channel), self.most_held);
        }
        let (channel, receiver) = (self.channel, self.window.flow.receiver);
        let first = self.probed.map(|at| FirstArrival {
            channel,
            receiver,
            at,
        });
        let of_start = self.experiment().workload.kind().is_start();
        let mut played = self.window.finish(offered)?;
        if of_start {
            // Its one time is not of the message but of the start.
            played.distributions.clear();
        }
        played.first.extend(first);
        played.places = self.places.finish();
        Ok(played)
    }
}
