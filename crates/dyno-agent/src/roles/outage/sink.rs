//! The sink of a trial with faults: notes when each message arrived.

use super::kit::{Kit, RETRY, await_matched, close, open, tolerated};
use super::looks::Looks;
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::roles::ends::{Subscribed, all, on_threads};
use crate::roles::intake::Intake;
use crate::roles::tally::expected_messages;
use crate::shared::{Arrivals, Call, Phase, ThreadState};
use dyno_adapter::Receiver;
use dyno_measure::stamp::Kind;
use dyno_measure::{FaultLog, Seen, SequenceTracker};
use dyno_model::Nanos;
use dyno_model::fault::Noted;
use std::sync::Arc;

pub(super) fn play(job: &Job, thread: &ThreadState, kit: &Kit) -> Result<Played, Failure> {
    match job.by_callback() {
        true => by_callback(job, thread, kit),
        false => by_take(job, thread, kit),
    }
}

/// The role's own threads take: one for each channel when they block, one for all when they spin.
fn by_take(job: &Job, thread: &ThreadState, kit: &Kit) -> Result<Played, Failure> {
    let ends = |nodes: &mut Nodes| {
        let receivers = job.incoming().map(|channel| {
            let receiver = job.receiver(thread, nodes, channel)?;
            Ok(End::new(receiver, job.origin(channel.id)))
        });
        receivers.collect::<Result<Vec<End>, Failure>>()
    };
    open(job, thread, ends, |nodes, mut ends| {
        let matched = || all(ends.iter_mut().map(|end| end.receiver.matched()));
        if !await_matched(job, thread, matched)? {
            close(thread, nodes, ends);
            return Ok(Played::default());
        }
        let inbox = |end: &End| Inbox::new(job, kit, end.channel, job.shared.add_end(end.channel));
        let ends = ends.into_iter().map(|end| (inbox(&end), end)).collect();
        let played = on_threads(job, thread, ends, |thread, ends| {
            take(job, thread, ends);
            Ok(Played::default())
        });
        close(thread, nodes, ());
        played
    })
}

/// One reading end from which the role takes.
struct End {
    receiver: Box<dyn Receiver>,
    channel: u16,
    looks: Looks,
    /// The last take failed: nothing is taken until then.
    retry: Option<Nanos>,
}

impl End {
    fn new(receiver: Box<dyn Receiver>, channel: u16) -> Self {
        End {
            receiver,
            channel,
            looks: Looks::default(),
            retry: None,
        }
    }

    /// Takes once, unless the last take failed just now.
    fn take(&mut self, job: &Job, thread: &ThreadState, inbox: &mut Inbox) {
        let clock = job.shared.clock;
        if self.retry.is_some_and(|retry| clock.now() < retry) {
            return;
        }
        let receiver = &mut self.receiver;
        let taken = thread.inside(Call::Take, || {
            receiver.take(&mut |bytes| inbox.on_message(bytes))
        });
        self.retry = match taken {
            Ok(_) => None,
            Err(_) => {
                let now = clock.now();
                // Once until a take succeeds.
                if self.retry.is_none() {
                    inbox.log.push(self.channel, now, Noted::TakeFailed);
                }
                Some(now.saturating_add(RETRY.into()))
            }
        };
        if job.shared.phase() < Phase::Drain {
            let log = (&*inbox.log, self.channel);
            let look = || Ok(usize::from(receiver.matched()?));
            self.looks.look(clock, thread, log, look);
        }
    }
}

/// Takes until everything has arrived or the trial ends.
fn take(job: &Job, thread: &ThreadState, mut ends: Vec<(Inbox, End)>) {
    let shared = &job.shared;
    loop {
        for (inbox, end) in &mut ends {
            end.take(job, thread, inbox);
        }
        match shared.phase() {
            Phase::Stop => break,
            Phase::Drain if ends.iter().all(|(inbox, _)| inbox.is_complete()) => break,
            _ => {}
        }
        if ends.iter().all(|(_, end)| end.retry.is_some()) {
            std::thread::sleep(RETRY);
        }
    }
    shared.have_drained(ends.len());
    shared.wait_for(Phase::Stop);
    thread.inside(Call::Drop, || drop(ends));
}

/// The library's thread calls; the role's own looks at the peers and waits for the end.
fn by_callback(job: &Job, thread: &ThreadState, kit: &Kit) -> Result<Played, Failure> {
    let origins = job.incoming().map(|channel| job.origin(channel.id));
    let arrived: Vec<_> = origins.map(|id| (id, job.shared.add_end(id))).collect();
    let subscribe = |nodes: &mut Nodes| {
        let mut subscribed = Subscribed::new();
        for (channel, (id, arrived)) in job.incoming().zip(&arrived) {
            let inbox = Inbox::new(job, kit, *id, arrived.clone());
            subscribed.add(job, thread, nodes, channel, inbox, Inbox::on_message)?;
        }
        Ok(subscribed)
    };
    open(job, thread, subscribe, |nodes, mut subscribed| {
        let mut played = Played::default();
        if await_matched(job, thread, || subscribed.matched())? {
            watch(job, thread, kit, &mut subscribed, &arrived);
        }
        // What a library does at its end costs no trial that a fault has gone through.
        let ended = subscribed.end(job, thread);
        played.warnings.extend(ended.err().map(tolerated));
        close(thread, nodes, ());
        Ok(played)
    })
}

/// Looks at the peers of each subscription until the trial ends.
fn watch(
    job: &Job,
    thread: &ThreadState,
    kit: &Kit,
    subscribed: &mut Subscribed<Inbox>,
    arrived: &[(u16, Arc<Arrivals>)],
) {
    let shared = &job.shared;
    let mut looks: Vec<Looks> = arrived.iter().map(|_| Looks::default()).collect();
    while shared.phase() < Phase::Drain {
        let subscriptions = subscribed.each().zip(&mut looks);
        for ((subscription, looks), (channel, _)) in subscriptions.zip(arrived) {
            let look = || Ok(usize::from(subscription.matched()?));
            looks.look(shared.clock, thread, (&kit.log, *channel), look);
        }
        std::thread::sleep(RETRY);
    }
    let is_missing = |(id, arrived): &(u16, Arc<Arrivals>)| arrived.count() < shared.sent(*id);
    while shared.phase() == Phase::Drain && arrived.iter().any(is_missing) {
        std::thread::sleep(RETRY);
    }
    shared.have_drained(arrived.len());
    shared.wait_for(Phase::Stop);
}

/// What arrives at one reading end.
struct Inbox {
    intake: Intake,
    log: Arc<FaultLog>,
    /// Takes the place of another process, whose sender sends no more probes: any message shows the link.
    is_later: bool,
    tracker: SequenceTracker,
    arrived: Arc<Arrivals>,
}

impl Inbox {
    fn new(job: &Job, kit: &Kit, channel: u16, arrived: Arc<Arrivals>) -> Self {
        Inbox {
            intake: Intake::new(job, channel),
            log: kit.log.clone(),
            is_later: job.assignment.generation > 0,
            tracker: SequenceTracker::new(expected_messages(job.experiment())),
            arrived,
        }
    }

    /// Stamps, checks and notes one message. Who takes the place of another has its first ones before it was told to start.
    #[inline]
    fn on_message(&mut self, bytes: &[u8]) {
        let channel = self.intake.channel;
        let (header, arrival) = match self.intake.receive(bytes) {
            Ok(read) => read,
            Err(_) => {
                let now = self.intake.shared.clock.now();
                return self.log.push(channel, now, Noted::Damaged);
            }
        };
        if !self.intake.is_probed() && (self.is_later || header.tag.kind == Kind::Probe) {
            self.intake.probed(arrival);
        }
        if header.tag.kind != Kind::Measured {
            return;
        }
        let sequence = header.tag.sequence;
        let noted = Noted::Arrival {
            sequence,
            due: header.intended,
            sent: header.sent,
        };
        self.log.push(channel, arrival, noted);
        if self.tracker.observe(sequence) != Seen::Duplicate {
            self.arrived.note(self.arrived.count() + 1, arrival);
        }
    }

    /// Whether everything that was accepted has arrived; valid from [`Phase::Drain`] on.
    fn is_complete(&self) -> bool {
        self.arrived.count() >= self.intake.shared.sent(self.intake.channel)
    }
}
