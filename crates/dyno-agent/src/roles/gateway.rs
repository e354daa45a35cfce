//! The gateway: takes from one leg of a chain and sends on the next, as it is, in both directions.
//!
//! A message is read where the library of the one leg put it and written into the memory that the library of the next
//! gives. Nothing stands between but a [queue](super::queue) where the stack asks for one: without it the gateway takes
//! nothing while the next leg has no room. It goes on until the trial ends, since only the ends know what is missing.
//!
//! A message has come when the library shows it, and has gone on when it is written into the memory of the next leg. What
//! the next leg does before it gives that memory, such as waiting for room, is a part of the stay; what it does after it,
//! of the leg.

use super::ends::{Subscribed, all};
use super::passages::Log;
use super::places::Places;
use super::queue::{Mark, Message, Queue, buffer};
use super::stalls;
use crate::event::{Event, Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::{Carries, ChannelSpec, Error, Receiver, Sender, Sent};
use dyno_measure::host;
use dyno_measure::stamp::{self, Kind};
use dyno_model::cause::AgentTrouble;
use dyno_model::chain::{Forwarded, Threads};
use dyno_model::{Nanos, Wait};
use std::sync::Arc;
use std::time::Duration;

/// The queues of a gateway, where it has any, in the order of the channels that it reads from.
pub(crate) struct Kit(Vec<Option<(Arc<Queue>, Message)>>);

impl Kit {
    pub(super) fn new(job: &Job) -> Self {
        let bytes = job.experiment().payload.bytes();
        let spec = job.gateway().queue;
        let queue = |_| {
            let queue = Queue::new(job.shared.clone(), spec?, bytes);
            Some((Arc::new(queue), message(bytes)))
        };
        Kit(job.incoming().map(queue).collect())
    }
}

fn message(bytes: usize) -> Message {
    Message {
        bytes: buffer(bytes),
        mark: Mark::default(),
    }
}

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    kit: Kit,
) -> Result<Played, Failure> {
    let mut polled: Vec<Lane> = Vec::new();
    let mut called: Vec<(ChannelSpec, Inlet)> = Vec::new();
    let mut queued: Vec<Drain> = Vec::new();
    for (from, queue) in job.incoming().zip(kit.0) {
        let Some(onto) = job.onward(from.id) else {
            let message = format!("no channel carries on what comes over {}", from.name);
            return Err(job.misassigned(message));
        };
        let outlet = Outlet::new(job, job.sender(thread, nodes, onto)?, from.id, onto);
        let wait = job.wait_on(from);
        let exit = match queue {
            None => Exit::Next(outlet),
            Some((queue, mine)) => {
                queued.push(Drain {
                    queue: queue.clone(),
                    outlet,
                    sleeps: wait != Wait::Spin,
                });
                Exit::Queue(queue, mine)
            }
        };
        let mut inlet = Inlet::new(job, from.id, onto.id, exit);
        // Of one that is called the library knows before the call what it is to answer.
        if wait != Wait::Callback && matches!(from.carries, Carries::Requests { .. }) {
            inlet.request = Some((message(job.experiment().payload.bytes()), false));
        }
        match wait {
            Wait::Callback => called.push((from.clone(), inlet)),
            Wait::Spin | Wait::Block => polled.push(Lane {
                receiver: job.receiver(thread, nodes, from)?,
                inlet,
                leg: job.leg(from),
                wait,
            }),
        }
    }
    let opened = job.shared.clock.now();
    let Some(mut subscribed) = subscribe(job, thread, nodes, called)? else {
        return Ok(Played::default());
    };
    let matched = &mut || {
        let lanes = all(polled.iter_mut().map(Lane::matched))?;
        let drains = all(queued.iter_mut().map(|d| d.outlet.matched()))?;
        Ok(lanes & drains & subscribed.matched()?)
    };
    if !job.await_matched(thread, opened, matched)? {
        return Ok(Played::default());
    }
    let mut played = carry(job, thread, polled, queued)?;
    for inlet in subscribed.end(job, thread)? {
        inlet.finish(job, thread, &mut played)?;
    }
    played.forwarded = merged(std::mem::take(&mut played.forwarded));
    Ok(played)
}

/// Subscribes to each channel as soon as what goes on from it is matched: then its sender goes into the callback. One
/// does not wait for another: the way there is matched only after the way back. `None`: the trial was stopped.
fn subscribe(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    mut waiting: Vec<(ChannelSpec, Inlet)>,
) -> Result<Option<Subscribed<Inlet>>, Failure> {
    let mut subscribed = Subscribed::new();
    while !waiting.is_empty() {
        let mut later = Vec::new();
        for (channel, mut inlet) in waiting {
            let ready = thread
                .inside(Call::Matched, || inlet.matched())
                .map_err(job.in_call("matched"))?;
            match ready {
                true => subscribed.add(job, thread, nodes, &channel, inlet, |inlet, bytes| {
                    inlet.on_message(bytes, None);
                })?,
                false => later.push((channel, inlet)),
            }
        }
        waiting = later;
        if job.shared.phase() == Phase::Stop {
            return Ok(None);
        }
        if !waiting.is_empty() {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    Ok(Some(subscribed))
}

/// Carries messages until the trial ends: on this thread the first of the groups that need one, on threads of their
/// own the others.
fn carry(
    job: &Job,
    thread: &ThreadState,
    polled: Vec<Lane>,
    queued: Vec<Drain>,
) -> Result<Played, Failure> {
    let mut groups = groups(job, polled).into_iter();
    let own = groups.next();
    std::thread::scope(|scope| {
        let mut handles = Vec::new();
        let watch = scope.spawn(|| stalls::watch(job));
        for group in groups {
            let spins = group.iter().any(|lane| lane.wait == Wait::Spin);
            let work = move |thread: &ThreadState| relay(job, thread, group);
            handles.push(scope.spawn(move || on_own_thread(job, spins, work)));
        }
        for drain in queued {
            let spins = !drain.sleeps;
            let work = move |thread: &ThreadState| drain.run(job, thread);
            handles.push(scope.spawn(move || on_own_thread(job, spins, work)));
        }
        let own = own.map(|group| told(job, relay(job, thread, group)));
        job.shared.wait_for(Phase::Stop);
        let mut all = own.unwrap_or_else(|| Ok(Played::default()))?;
        for handle in handles {
            let one = handle
                .join()
                .map_err(|_| job.failure("role", AgentTrouble::Panicked))?;
            all.add(one?);
        }
        let stalls = watch.join();
        all.stalls = stalls.map_err(|_| job.failure("role", AgentTrouble::Panicked))?;
        Ok(all)
    })
}

/// A further thread of the participant. One that polls leaves the CPU of the participant's own, where there is another.
fn on_own_thread(
    job: &Job,
    spins: bool,
    work: impl FnOnce(&ThreadState) -> Result<Played, Failure>,
) -> Result<Played, Failure> {
    let participant = &job.participant;
    let thread = job
        .shared
        .register(participant.index, participant.role.as_str());
    let confined = match participant.library_cpus.as_slice() {
        set if spins && !set.is_empty() => host::confine(set),
        _ => Ok(()),
    };
    let warning = told(job, job.confined(confined))?;
    let played = told(job, work(&thread));
    thread.ended();
    played.map(|mut played| {
        played.warnings.extend(warning);
        played
    })
}

/// Tells of a failure at once: the other threads of the participant end only with the trial.
fn told<T>(job: &Job, done: Result<T, Failure>) -> Result<T, Failure> {
    if let Err(failure) = &done {
        job.tell(Event::Failed(failure.clone()));
    }
    done
}

/// The lanes of each thread.
fn groups(job: &Job, lanes: Vec<Lane>) -> Vec<Vec<Lane>> {
    let spins = |lane: &Lane| lane.wait == Wait::Spin;
    let one = match job.gateway().threads {
        Some(threads) => threads == Threads::One,
        None => lanes.iter().all(spins),
    };
    let mut groups: Vec<Vec<Lane>> = Vec::new();
    for lane in lanes {
        // Who sleeps on one channel hears nothing of another.
        let with = groups.iter_mut().find(|group| {
            let alike = |other: &Lane| spins(other) && spins(&lane) && other.leg == lane.leg;
            one || group.iter().all(alike)
        });
        match with {
            Some(group) => group.push(lane),
            None => groups.push(vec![lane]),
        }
    }
    groups
}

/// A channel that the gateway takes from.
struct Lane {
    receiver: Box<dyn Receiver>,
    inlet: Inlet,
    leg: u16,
    wait: Wait,
}

impl Lane {
    fn matched(&mut self) -> Result<bool, Error> {
        Ok(self.receiver.matched()? & self.inlet.matched()?)
    }
}

/// Takes from each lane in turn and sends on.
fn relay(job: &Job, thread: &ThreadState, mut lanes: Vec<Lane>) -> Result<Played, Failure> {
    let shared = &job.shared;
    while shared.phase() < Phase::Stop && lanes.iter().any(|lane| !lane.inlet.ended) {
        for Lane {
            receiver, inlet, ..
        } in &mut lanes
        {
            if inlet.ended {
                continue;
            }
            let taken = thread.inside(Call::Take, || {
                receiver.take(&mut |bytes| inlet.on_message(bytes, Some(thread)))
            });
            if let Err(e) = taken {
                inlet.ended = true;
                if !is_the_end(&e, shared) {
                    return Err(job.in_call("take")(e));
                }
            }
            inlet.pass_request(thread);
            if let Some(e) = inlet.error.take() {
                return Err(job.in_call("send")(e));
            }
        }
    }
    shared.wait_for(Phase::Stop);
    let mut played = Played::default();
    for Lane {
        receiver, inlet, ..
    } in lanes
    {
        thread.inside(Call::Drop, || drop(receiver));
        inlet.finish(job, thread, &mut played)?;
    }
    Ok(played)
}

/// Agents end at about the same time: whoever has everything may leave first, and then nothing more comes or is wanted.
fn is_the_end(error: &Error, shared: &Shared) -> bool {
    match shared.phase() {
        Phase::Stop => true,
        Phase::Drain => matches!(error, Error::PeerGone { .. }),
        Phase::Setup | Phase::Link | Phase::Run => false,
    }
}

/// What comes over one channel.
struct Inlet {
    shared: Arc<Shared>,
    exit: Exit,
    counts: Forwarded,
    places: Places,
    linked: bool,
    /// Where requests are taken: the last one, and whether it is still to be sent on. Its response may come back at
    /// once, over another thread, and must not be sent before the take has ended.
    request: Option<(Message, bool)>,
    /// Nothing more is to be carried.
    ended: bool,
    /// What went wrong in a send.
    error: Option<Error>,
}

/// Where it goes.
enum Exit {
    /// At once to the next leg.
    Next(Outlet),
    /// Into a queue, from a buffer of one's own.
    Queue(Arc<Queue>, Message),
}

/// A gateway reads no clock for its messages; it looks where it runs every so many of them.
const MESSAGES_PER_LOOK: u64 = 16;

impl Inlet {
    fn new(job: &Job, from: u16, onto: u16, exit: Exit) -> Self {
        Inlet {
            shared: job.shared.clone(),
            exit,
            counts: Forwarded {
                gateway: job.participant.index,
                from,
                onto,
                ..Forwarded::default()
            },
            places: Places::new(job),
            linked: false,
            request: None,
            ended: false,
            error: None,
        }
    }

    /// Whether what goes on from it sees its receivers; what stands behind a queue is asked apart.
    fn matched(&mut self) -> Result<bool, Error> {
        match &mut self.exit {
            Exit::Next(outlet) => outlet.matched(),
            Exit::Queue(..) => Ok(true),
        }
    }

    /// Sends a message on, and counts it after that. `thread`: the one that is in a call to take it.
    #[inline]
    fn on_message(&mut self, bytes: &[u8], thread: Option<&ThreadState>) {
        // What is damaged is carried as it is; the end will find it so.
        let tag = stamp::tag(bytes);
        let mark = match tag {
            Some(tag) if tag.kind == Kind::Measured => Mark {
                measured: true,
                sequence: tag.sequence,
                came: self.shared.clock.now(),
            },
            _ => Mark::default(),
        };
        match &mut self.request {
            Some((request, is_new)) => {
                request.bytes.clear();
                request.bytes.extend_from_slice(bytes);
                (request.mark, *is_new) = (mark, true);
                self.counts.copied += u64::from(mark.measured);
            }
            None => self.pass(bytes, mark, thread),
        }
        match tag {
            Some(tag) if tag.kind == Kind::Measured => {
                self.counts.taken += 1;
                if self.places.is_watched() && self.counts.taken % MESSAGES_PER_LOOK == 1 {
                    self.places.note(self.shared.clock.now());
                }
            }
            Some(tag) if tag.kind == Kind::Warmup => self.shared.on_message(false),
            _ => {}
        }
        if !self.linked {
            self.linked = true;
            self.shared.one_linked();
        }
    }

    /// Sends on the request that was taken last, if it was not yet.
    #[inline]
    fn pass_request(&mut self, thread: &ThreadState) {
        if let Some((request, is_new)) = &mut self.request
            && std::mem::take(is_new)
        {
            let last = std::mem::take(request);
            self.pass(&last.bytes, last.mark, Some(thread));
            self.request = Some((last, false));
        }
    }

    #[inline]
    fn pass(&mut self, bytes: &[u8], mark: Mark, thread: Option<&ThreadState>) {
        if self.error.is_some() || self.ended {
            return;
        }
        match &mut self.exit {
            Exit::Next(outlet) => {
                let sent = match thread {
                    Some(thread) => thread.inside(Call::Send, || outlet.send(bytes, mark)),
                    None => outlet.send(bytes, mark),
                };
                match sent {
                    Ok(()) => {}
                    Err(e) if is_the_end(&e, &self.shared) => self.ended = true,
                    Err(e) => self.error = Some(e),
                }
            }
            Exit::Queue(queue, mine) => {
                mine.bytes.clear();
                mine.bytes.extend_from_slice(bytes);
                mine.mark = mark;
                self.counts.copied += u64::from(mark.measured);
                self.counts.dropped += queue.put(mine);
            }
        }
    }

    fn finish(self, job: &Job, thread: &ThreadState, played: &mut Played) -> Result<(), Failure> {
        if let Some(error) = self.error {
            return Err(job.in_call("send")(error));
        }
        played.forwarded.push(self.counts);
        played.places.extend(self.places.finish());
        if let Exit::Next(outlet) = self.exit {
            outlet.finish(thread, played);
        }
        Ok(())
    }
}

/// Where messages go on.
struct Outlet {
    sender: Box<dyn Sender>,
    readers: usize,
    /// It answers requests: the way is that of the request, and nobody need be seen at its end.
    answers: bool,
    counts: Forwarded,
    shared: Arc<Shared>,
    log: Option<Log>,
    /// A planted fault.
    delay: Option<Nanos>,
}

impl Outlet {
    fn new(job: &Job, sender: Box<dyn Sender>, from: u16, onto: &ChannelSpec) -> Self {
        Outlet {
            sender,
            readers: onto.readers.len(),
            answers: matches!(onto.carries, Carries::Responses { .. }),
            counts: Forwarded {
                gateway: job.participant.index,
                from,
                onto: onto.id,
                lent: job.lends(onto),
                ..Forwarded::default()
            },
            shared: job.shared.clone(),
            log: Log::new(job, job.origin(from)),
            delay: job.gateway().delay,
        }
    }

    fn matched(&mut self) -> Result<bool, Error> {
        Ok((self.sender.matched()? >= self.readers) | self.answers)
    }

    #[inline]
    fn send(&mut self, bytes: &[u8], mark: Mark) -> Result<(), Error> {
        let measured = mark.measured;
        let clock = &self.shared.clock;
        if let Some(delay) = self.delay {
            let until = clock.now().saturating_add(delay);
            while clock.now() < until {
                std::hint::spin_loop();
            }
        }
        let mut went = mark.came;
        let fill = &mut |buffer: &mut [u8]| {
            buffer.copy_from_slice(bytes);
            if measured {
                went = clock.now();
            }
        };
        match self.sender.send(bytes.len(), fill)? {
            Sent::Accepted => {
                self.counts.sent += u64::from(measured);
                if let (Some(log), true) = (&mut self.log, measured) {
                    log.note(mark.sequence, mark.came, went);
                }
            }
            Sent::Refused => self.counts.refused += u64::from(measured),
        }
        Ok(())
    }

    fn finish(self, thread: &ThreadState, played: &mut Played) {
        played.forwarded.push(self.counts);
        played.passages.extend(self.log.map(Log::finish));
        thread.inside(Call::Drop, || drop(self.sender));
    }
}

/// Takes out of a queue and sends on.
struct Drain {
    queue: Arc<Queue>,
    outlet: Outlet,
    sleeps: bool,
}

impl Drain {
    fn run(mut self, job: &Job, thread: &ThreadState) -> Result<Played, Failure> {
        let shared = &job.shared;
        let mut last = message(job.experiment().payload.bytes());
        while shared.phase() < Phase::Stop {
            if !self.queue.take(&mut last, self.sleeps) {
                continue;
            }
            let outlet = &mut self.outlet;
            let sent = thread.inside(Call::Send, || outlet.send(&last.bytes, last.mark));
            match sent {
                Ok(()) => {}
                Err(e) if is_the_end(&e, shared) => break,
                Err(e) => return Err(job.in_call("send")(e)),
            }
        }
        shared.wait_for(Phase::Stop);
        let mut played = Played::default();
        self.outlet.finish(thread, &mut played);
        Ok(played)
    }
}

/// What both sides of each channel counted, together.
fn merged(parts: Vec<Forwarded>) -> Vec<Forwarded> {
    let mut all: Vec<Forwarded> = Vec::new();
    for part in parts {
        match all.iter_mut().find(|f| f.from == part.from) {
            Some(f) => {
                f.taken += part.taken;
                f.sent += part.sent;
                f.refused += part.refused;
                f.dropped += part.dropped;
                f.copied += part.copied;
                f.lent |= part.lent;
            }
            None => all.push(part),
        }
    }
    all
}
