//! The sink: receives, checks and records until everything that was sent has arrived.

use super::places::Places;
use super::warmup::Settling;
use super::{Played, expected_messages, in_window, raw_log, read_message, recorder};
use crate::participant::{Failure, Job};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::{Error, Node, Receiver};
use dyno_measure::stamp::{Damage, Kind};
use dyno_measure::{RawLog, Recorder, Seen, SequenceTracker};
use dyno_model::protocol::{Assignment, FirstArrival};
use dyno_model::record::{FlowCounts, RawSample};
use dyno_model::{Access, Experiment, Metric, Nanos, Wait, Workload};
use std::sync::atomic::{AtomicU64, Ordering};
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
    shared.window_ends();
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
            .any(|(id, n)| n.load(Ordering::Relaxed) < shared.sent(*id))
    {
        std::thread::sleep(Duration::from_micros(500));
        phase = shared.phase();
    }
    shared.window_ends();
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
    flow: FlowCounts,
    tracker: SequenceTracker,
    response: Recorder,
    service: Recorder,
    raw: RawLog,
    settling: Settling,
    places: Places,
    /// How long the window is, where that is known beforehand.
    window: Option<Nanos>,
    /// When it ends.
    window_end: Nanos,
    /// Intact messages that arrived before that.
    in_window: u64,
    /// When the first probe arrived.
    probed: Option<Nanos>,
    /// The sender has gone after offering everything.
    ended: bool,
    /// Measured messages that arrived in whatever state, each once.
    arrived: Arc<AtomicU64>,
}

impl Inbox {
    pub(super) fn new(job: &Job, channel: u16) -> Self {
        let experiment = &job.assignment.experiment;
        Inbox {
            shared: job.shared.clone(),
            assignment: job.assignment.clone(),
            flow: FlowCounts {
                channel,
                receiver: job.participant.index,
                ..FlowCounts::default()
            },
            tracker: SequenceTracker::new(expected_messages(experiment)),
            response: recorder(experiment),
            service: recorder(experiment),
            raw: raw_log(experiment),
            settling: Settling::new(job),
            places: Places::new(job),
            window: experiment.paced_window(),
            window_end: Nanos::ZERO,
            in_window: 0,
            probed: None,
            ended: false,
            arrived: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Stamps, checks and records one message. With access `all` the arrival is the moment when
    /// every byte has been read.
    #[inline]
    fn on_message(&mut self, bytes: &[u8]) {
        let clock = self.shared.clock;
        let early = clock.arrival();
        let access = self.experiment().access;
        let header = match read_message(bytes, self.experiment(), self.flow.channel) {
            Ok(header) => header,
            Err(damage) => return self.damaged(damage),
        };
        match header.tag.kind {
            Kind::Measured => {}
            Kind::Warmup => {
                let service = early.saturating_sub(header.sent);
                return self.settling.note(early, service);
            }
            Kind::Probe => return self.on_probe(bytes.len(), early),
        }
        let arrival = match access {
            Access::Stamp => early,
            Access::All => clock.arrival(),
        };
        if self.flow.received == 0 {
            self.shared.window_begins();
            self.response.begin(header.intended);
            self.service.begin(header.intended);
            // Where the first messages were lost, this is later than the window's true end.
            if let Some(window) = self.window {
                self.window_end = header.intended.saturating_add(window);
            }
            self.flow.first = arrival;
        }
        self.places.note(arrival);
        match self.tracker.observe(header.tag.sequence) {
            Seen::First => {}
            Seen::FirstReordered => self.flow.reordered += 1,
            Seen::Duplicate => {
                self.flow.duplicated += 1;
                return;
            }
        }
        self.response
            .record(header.intended, arrival.saturating_sub(header.intended));
        self.service
            .record(header.intended, arrival.saturating_sub(header.sent));
        self.flow.received += 1;
        self.flow.bytes += bytes.len() as u64;
        self.flow.last = arrival;
        self.in_window += u64::from(arrival < self.window_end);
        self.raw.push(RawSample {
            channel: self.flow.channel,
            receiver: self.flow.receiver,
            sequence: header.tag.sequence,
            intended: header.intended,
            sent: header.sent,
            arrival,
        });
        self.note_arrival();
    }

    fn experiment(&self) -> &Experiment {
        &self.assignment.experiment
    }

    #[cold]
    fn on_probe(&mut self, bytes: usize, early: Nanos) {
        if self.probed.is_some() {
            return;
        }
        let arrival = match self.experiment().access {
            Access::Stamp => early,
            Access::All => self.shared.clock.arrival(),
        };
        self.probed = Some(arrival);
        if let Workload::FirstMessage { .. } = self.experiment().workload {
            self.flow.received = 1;
            self.flow.bytes = bytes as u64;
            (self.flow.first, self.flow.last) = (arrival, arrival);
            self.note_arrival();
        }
        self.shared.one_linked();
    }

    #[cold]
    fn damaged(&mut self, damage: Damage) {
        if !in_window(&self.shared) {
            return;
        }
        match damage {
            Damage::Truncated => self.flow.truncated += 1,
            Damage::Corrupted => self.flow.corrupted += 1,
        }
        self.note_arrival();
    }

    fn note_arrival(&self) {
        let n = self.flow.received + self.flow.truncated + self.flow.corrupted;
        self.arrived.store(n, Ordering::Relaxed);
    }

    /// Whether everything that was accepted has arrived; valid from [`Phase::Drain`] on.
    fn is_complete(&self) -> bool {
        self.ended || self.arrived.load(Ordering::Relaxed) >= self.shared.sent(self.flow.channel)
    }

    /// What never arrived stands as infinitely late in both distributions.
    fn finish(self) -> Result<Played, dyno_measure::RecordError> {
        let lost = self
            .shared
            .offered(self.flow.channel)
            .saturating_sub(self.flow.received);
        let distributions = match self.experiment().workload {
            // Its one time is not of the message but of the start.
            Workload::FirstMessage { .. } => Vec::new(),
            _ => vec![
                (Metric::Response, self.response.finish(lost)?),
                (Metric::Service, self.service.finish(lost)?),
            ],
        };
        let flow = FlowCounts {
            in_window: self.window.map(|_| self.in_window),
            ..self.flow
        };
        let FlowCounts {
            channel, receiver, ..
        } = flow;
        let first = self.probed.map(|at| FirstArrival {
            channel,
            receiver,
            at,
        });
        Ok(Played {
            distributions,
            flows: vec![flow],
            first: first.into_iter().collect(),
            raw: self.raw.into_samples(),
            places: self.places.finish(),
            ..Played::default()
        })
    }
}
