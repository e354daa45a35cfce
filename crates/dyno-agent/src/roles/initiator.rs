//! The initiator: sends a ping, waits for the pong of every echo, and records the round trip. The
//! caller of a `call` is an initiator too: its pings are requests, its pongs responses.

use super::places::Places;
use super::sink::{Returned, all};
use super::warmup::{Settling, Warmup};
use super::{
    Played, Progress, expected_messages, in_window, raw_log, read_message, recorder, send_probe,
};
use crate::control::Event;
use crate::participant::{Failure, Job};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::{Node, Receiver, Sender, Sent};
use dyno_measure::stamp::{self, Damage, Header, Kind, Tag};
use dyno_measure::{Pacer, RawLog, Recorder, Seen, SequenceTracker};
use dyno_model::plan::Extent;
use dyno_model::protocol::{self, Assignment, FirstArrival, SourceCounts};
use dyno_model::record::{FlowCounts, RawSample};
use dyno_model::{Access, Metric, Nanos, Wait, Workload};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    node: &mut dyn Node,
    kit: Kit,
) -> Result<Played, Failure> {
    let Some(ping) = job.outgoing().next() else {
        return Err(job.failure("prepare", "no channel to write to was assigned"));
    };
    let echoes = ping.readers.len();
    let mut sender = job.sender(thread, node, ping)?;
    let Kit {
        rtt,
        raw,
        settling,
        checks,
    } = kit;
    let mut pongs = Pongs::new(job, thread, node, checks)?;
    let opened = job.shared.clock.now();
    let matched = &mut || Ok(pongs.matched()? & (sender.matched()? >= echoes));
    if !job.await_matched(thread, opened, matched)? {
        return Ok(Played::default());
    }
    let channel = ping.id;
    let mut initiator = Initiator {
        job,
        thread,
        sender: sender.as_mut(),
        pongs: &mut pongs,
        counts: SourceCounts {
            channel,
            ..SourceCounts::default()
        },
        flow: FlowCounts {
            channel,
            receiver: job.participant.index,
            ..FlowCounts::default()
        },
        rtt,
        raw,
        settling,
        places: Places::new(job),
        warnings: Vec::new(),
    };
    if initiator.link()? == Phase::Run {
        initiator.exchange()?;
    }
    let mut played = initiator.finish()?;
    job.shared.wait_for(Phase::Stop);
    thread.inside(Call::Drop, || drop(sender));
    for check in pongs.finish(job, thread)? {
        let (channel, receiver) = (check.channel, job.participant.index);
        played.first.extend(check.probed.map(|at| FirstArrival {
            channel,
            receiver,
            at,
        }));
        if let Some(flow) = played.flows.first_mut() {
            flow.duplicated += check.duplicated;
            flow.corrupted += check.corrupted;
            flow.truncated += check.truncated;
        }
    }
    Ok(played)
}

/// What an initiator records into.
pub(crate) struct Kit {
    rtt: Recorder,
    raw: RawLog,
    settling: Settling,
    /// In the order of the channels that it receives from.
    checks: Vec<PongCheck>,
}

impl Kit {
    pub(super) fn new(job: &Job) -> Self {
        let experiment = &job.assignment.experiment;
        Kit {
            rtt: recorder(experiment),
            raw: raw_log(experiment),
            settling: Settling::new(job),
            checks: job.incoming().map(|c| PongCheck::new(job, c.id)).collect(),
        }
    }
}

struct Initiator<'a> {
    job: &'a Job,
    thread: &'a ThreadState,
    sender: &'a mut dyn Sender,
    pongs: &'a mut Pongs,
    counts: SourceCounts,
    flow: FlowCounts,
    rtt: Recorder,
    raw: RawLog,
    settling: Settling,
    places: Places,
    warnings: Vec<String>,
}

impl Initiator<'_> {
    /// Exchanges probes until every echo has answered one, then waits for the start. A probe is
    /// sent only when the one before was answered or is overdue: replies that nobody takes would
    /// fill the buffers of both directions.
    fn link(&mut self) -> Result<Phase, Failure> {
        while !self.pongs.linked() {
            if self.job.shared.phase() > Phase::Link {
                break;
            }
            send_probe(self.job, self.thread, self.sender, self.counts.channel)?;
            self.pongs.await_probes(self.job, self.thread)?;
        }
        Ok(self.job.shared.wait_for(Phase::Run))
    }

    /// Warm-up and window.
    fn exchange(&mut self) -> Result<(), Failure> {
        let shared = self.job.shared.clone();
        let experiment = &self.job.assignment.experiment;
        let (Workload::PingPong { gap, timeout } | Workload::Call { gap, timeout }) =
            experiment.workload
        else {
            return Err(self
                .job
                .failure("prepare", "an initiator plays ping-pong and call only"));
        };
        let clock = shared.clock;
        let go_on = || shared.phase() < Phase::Drain;
        let mut pacer = Pacer::new(clock);
        let mut warmup = Warmup::new(&shared, experiment);
        let mut window = Progress::new(experiment.window);
        let mut next = shared.start();
        let mut warm_sequence = 0;
        let mut burned = Nanos::ZERO;

        while let Some(mut now) = pacer.wait_until(next, &go_on) {
            next = now.saturating_add(gap);
            let counted = matches!(experiment.window, Extent::Messages(_));
            let used = now.saturating_sub(shared.start());
            // A counted warm-up of lost messages must leave time for the window; one that settles has
            // a longest time of its own.
            let warm =
                used.0 < experiment.deadline.0 / 4 || !counted || experiment.settle.is_some();
            if window.begun.is_none() && warm && warmup.admits(now) {
                let pong = self.round_trip(Kind::Warmup, warm_sequence, now, timeout)?;
                if let Some(arrival) = pong {
                    self.settling.note(arrival, arrival.saturating_sub(now));
                }
                warm_sequence += 1;
                continue;
            }
            if window.begun.is_none() {
                shared.window_begins();
                burned = pacer.burned();
                now = clock.now();
                self.rtt.begin(now);
                self.counts.first = now;
            }
            if !window.admits(now) {
                break;
            }
            if counted && used > experiment.deadline {
                self.cut_short();
                break;
            }
            self.places.note(now);
            let sequence = self.counts.offered;
            self.counts.offered += 1;
            if let Some(arrival) = self.round_trip(Kind::Measured, sequence, now, timeout)? {
                self.record(sequence, now, arrival);
            }
        }
        self.counts.last = clock.now();
        self.counts.pacing = pacer.burned().saturating_sub(burned);
        Ok(())
    }

    /// Lost pongs, each waited for until its timeout, have used up the trial's deadline: what was
    /// offered until now is the measurement.
    fn cut_short(&mut self) {
        let experiment = &self.job.assignment.experiment;
        let SourceCounts { offered, .. } = self.counts;
        self.warnings.push(format!(
            "{}: stopped after {offered} round trips, {} of them lost, because the deadline of {} \
             has passed",
            self.job.name(),
            offered - self.flow.received,
            experiment.deadline
        ));
    }

    #[inline]
    fn record(&mut self, sequence: u64, sent: Nanos, arrival: Nanos) {
        self.rtt.record(sent, arrival.saturating_sub(sent));
        if self.flow.received == 0 {
            self.flow.first = arrival;
        }
        self.flow.received += 1;
        self.flow.bytes += self.job.assignment.experiment.payload.bytes() as u64;
        self.flow.last = arrival;
        self.raw.push(RawSample {
            channel: self.flow.channel,
            receiver: self.flow.receiver,
            sequence,
            intended: sent,
            sent,
            arrival,
        });
    }

    /// One ping and all its pongs; the arrival of the last, or nothing where one is missing.
    #[inline]
    fn round_trip(
        &mut self,
        kind: Kind,
        sequence: u64,
        sent: Nanos,
        timeout: Nanos,
    ) -> Result<Option<Nanos>, Failure> {
        let experiment = &self.job.assignment.experiment;
        let tag = Tag {
            channel: self.counts.channel,
            kind,
            sequence,
        };
        let header = Header {
            tag,
            intended: sent,
            sent,
        };
        let sender = &mut *self.sender;
        let accepted = self
            .thread
            .inside(Call::Send, || {
                sender.send(experiment.payload.bytes(), &mut |buffer| {
                    stamp::write(buffer, experiment.access, &header)
                })
            })
            .map_err(self.job.in_call("send"))?;
        let measured = kind == Kind::Measured;
        match accepted {
            Sent::Now => self.counts.sent += u64::from(measured),
            Sent::AfterWait => {
                self.counts.sent += u64::from(measured);
                if measured {
                    let waited = self.job.shared.clock.now().saturating_sub(sent);
                    self.counts.blocked = self.counts.blocked.saturating_add(waited);
                }
            }
            Sent::Refused => {
                self.counts.refused += u64::from(measured);
                return Ok(None);
            }
        }
        self.pongs.await_all(
            self.job,
            self.thread,
            kind,
            sequence,
            sent.saturating_add(timeout),
        )
    }

    fn finish(self) -> Result<Played, Failure> {
        self.job.shared.window_ends();
        let SourceCounts {
            channel,
            offered,
            sent,
            ..
        } = self.counts;
        let _ = self.job.events.send(Event::Done(protocol::Sent {
            channel,
            offered,
            sent,
        }));
        let lost = offered - self.flow.received;
        let rtt = self
            .rtt
            .finish(lost)
            .map_err(|e| self.job.failure("record", e))?;
        Ok(Played {
            distributions: vec![(Metric::Rtt, rtt)],
            flows: vec![self.flow],
            source: Some(self.counts),
            raw: self.raw.into_samples(),
            warnings: self.warnings,
            places: self.places.finish(),
            ..Played::default()
        })
    }
}

/// The reading ends for the pongs, one for each echo.
enum Pongs {
    Taken(Vec<(Box<dyn Receiver>, PongCheck)>),
    Called {
        subscriptions: Vec<Box<dyn dyno_adapter::Subscription>>,
        boards: Vec<Arc<Board>>,
        checks: mpsc::Receiver<PongCheck>,
    },
}

/// A probe that was not answered for so long is taken for lost, and another one is sent.
const PROBE_OVERDUE: Duration = Duration::from_millis(20);

/// How often a spinning wait looks at the clock: each so many empty takes.
const SPINS_PER_LOOK: u32 = 256;

impl Pongs {
    fn new(
        job: &Job,
        thread: &ThreadState,
        node: &mut dyn Node,
        checks: Vec<PongCheck>,
    ) -> Result<Self, Failure> {
        let incoming = job.incoming().zip(checks);
        if !job.by_callback() {
            let mut ends = Vec::new();
            for (channel, check) in incoming {
                ends.push((job.receiver(thread, node, channel)?, check));
            }
            return Ok(Pongs::Taken(ends));
        }
        let (returned, checks) = mpsc::channel();
        let (mut subscriptions, mut boards) = (Vec::new(), Vec::new());
        for (channel, check) in incoming {
            let board = Arc::new(Board::new());
            boards.push(board.clone());
            let mut check = Returned(Some(check), returned.clone());
            let on_message = Box::new(move |bytes: &[u8]| {
                let Some(check) = &mut check.0 else { return };
                match check.on_message(bytes) {
                    Some(pong) => board.post(pong),
                    None => {
                        let linked = check.probed.is_some();
                        board.linked.store(linked, Ordering::Relaxed);
                    }
                }
            });
            subscriptions.push(job.subscribe(thread, node, channel, on_message)?);
        }
        Ok(Pongs::Called {
            subscriptions,
            boards,
            checks,
        })
    }

    fn matched(&mut self) -> Result<bool, dyno_adapter::Error> {
        match self {
            Pongs::Taken(ends) => all(ends.iter_mut().map(|(r, _)| r.matched())),
            Pongs::Called { subscriptions, .. } => {
                all(subscriptions.iter_mut().map(|s| s.matched()))
            }
        }
    }

    /// Whether every echo has answered a probe.
    fn linked(&self) -> bool {
        match self {
            Pongs::Taken(ends) => ends.iter().all(|(_, check)| check.probed.is_some()),
            Pongs::Called { boards, .. } => boards.iter().all(|b| b.linked.load(Ordering::Relaxed)),
        }
    }

    /// Takes from every end until it has seen a probe, or until the probe is overdue.
    fn await_probes(&mut self, job: &Job, thread: &ThreadState) -> Result<(), Failure> {
        let Pongs::Taken(ends) = self else {
            std::thread::sleep(super::PROBE_PERIOD);
            return Ok(());
        };
        let overdue = Instant::now() + PROBE_OVERDUE;
        for (receiver, check) in ends {
            while check.probed.is_none() && job.shared.phase() <= Phase::Link {
                let taken = thread
                    .inside(Call::Take, || {
                        receiver.take(&mut |b| {
                            check.on_message(b);
                        })
                    })
                    .map_err(job.in_call("take"))?;
                if !taken && Instant::now() >= overdue {
                    break;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn await_all(
        &mut self,
        job: &Job,
        thread: &ThreadState,
        kind: Kind,
        sequence: u64,
        deadline: Nanos,
    ) -> Result<Option<Nanos>, Failure> {
        let mut last = Nanos::ZERO;
        match self {
            Pongs::Taken(ends) => {
                let spins = job.assignment.experiment.wait == Wait::Spin;
                for (receiver, check) in ends {
                    match take_pong(
                        job,
                        thread,
                        receiver.as_mut(),
                        check,
                        (kind, sequence),
                        deadline,
                        spins,
                    )? {
                        Some(arrival) => last = last.max(arrival),
                        None => return Ok(None),
                    }
                }
            }
            Pongs::Called { boards, .. } => {
                for board in boards {
                    match board.await_pong(&job.shared, (kind, sequence), deadline) {
                        Some(arrival) => last = last.max(arrival),
                        None => return Ok(None),
                    }
                }
            }
        }
        Ok(Some(last))
    }

    fn finish(self, job: &Job, thread: &ThreadState) -> Result<Vec<PongCheck>, Failure> {
        match self {
            Pongs::Taken(ends) => Ok(ends
                .into_iter()
                .map(|(receiver, check)| {
                    thread.inside(Call::Drop, || drop(receiver));
                    check
                })
                .collect()),
            Pongs::Called {
                subscriptions,
                checks,
                ..
            } => {
                let expected = subscriptions.len();
                thread.inside(Call::Drop, || drop(subscriptions));
                (0..expected)
                    .map(|_| {
                        checks.recv_timeout(Duration::from_secs(5)).map_err(|_| {
                            job.failure(
                                "drop",
                                "the library keeps the callback of a dropped subscription",
                            )
                        })
                    })
                    .collect()
            }
        }
    }
}

#[inline]
fn take_pong(
    job: &Job,
    thread: &ThreadState,
    receiver: &mut dyn Receiver,
    check: &mut PongCheck,
    wanted: (Kind, u64),
    deadline: Nanos,
    spins: bool,
) -> Result<Option<Nanos>, Failure> {
    let mut empty = 0;
    loop {
        let mut pong = None;
        thread
            .inside(Call::Take, || {
                receiver.take(&mut |bytes| pong = check.on_message(bytes))
            })
            .map_err(job.in_call("take"))?;
        match pong {
            Some(p) if (p.kind, p.sequence) == wanted => return Ok(Some(p.arrival)),
            // A late or second pong of an earlier ping.
            Some(_) => continue,
            None => empty += 1,
        }
        if spins && empty % SPINS_PER_LOOK != 0 {
            continue;
        }
        if job.shared.clock.now() > deadline || job.shared.phase() >= Phase::Drain {
            return Ok(None);
        }
    }
}

/// A pong as the initiator needs it.
#[derive(Debug, Clone, Copy)]
struct Pong {
    kind: Kind,
    sequence: u64,
    arrival: Nanos,
}

/// Stamps and checks the pongs of one echo.
struct PongCheck {
    shared: Arc<Shared>,
    assignment: Arc<Assignment>,
    channel: u16,
    tracker: SequenceTracker,
    /// When the first probe came back.
    probed: Option<Nanos>,
    duplicated: u64,
    corrupted: u64,
    truncated: u64,
}

impl PongCheck {
    fn new(job: &Job, channel: u16) -> Self {
        let experiment = &job.assignment.experiment;
        PongCheck {
            shared: job.shared.clone(),
            assignment: job.assignment.clone(),
            channel,
            tracker: SequenceTracker::new(expected_messages(experiment)),
            probed: None,
            duplicated: 0,
            corrupted: 0,
            truncated: 0,
        }
    }

    /// The pong, if it is an intact one and no probe.
    #[inline]
    fn on_message(&mut self, bytes: &[u8]) -> Option<Pong> {
        let clock = self.shared.clock;
        let early = clock.arrival();
        let access = self.assignment.experiment.access;
        let tag = match read_message(bytes, &self.assignment.experiment, self.channel) {
            Ok(header) => header.tag,
            Err(damage) => {
                self.damaged(damage);
                return None;
            }
        };
        if tag.kind == Kind::Probe {
            if self.probed.is_none() {
                self.probed = Some(early);
                self.shared.one_linked();
            }
            return None;
        }
        let arrival = match access {
            Access::Stamp => early,
            Access::All => clock.arrival(),
        };
        if tag.kind == Kind::Measured && self.tracker.observe(tag.sequence) == Seen::Duplicate {
            self.duplicated += 1;
        }
        Some(Pong {
            kind: tag.kind,
            sequence: tag.sequence,
            arrival,
        })
    }

    #[cold]
    fn damaged(&mut self, damage: Damage) {
        if !in_window(&self.shared) {
            return;
        }
        match damage {
            Damage::Truncated => self.truncated += 1,
            Damage::Corrupted => self.corrupted += 1,
        }
    }
}

/// Where a callback posts the newest pong and wakes the initiator.
struct Board {
    /// Kind and sequence of the newest pong, plus one; 0: none yet. Stored with Release after
    /// `arrival`.
    newest: AtomicU64,
    arrival: AtomicU64,
    /// The echo has answered a probe.
    linked: AtomicBool,
    initiator: std::thread::Thread,
}

impl Board {
    /// Must be made on the initiator's thread.
    fn new() -> Self {
        Board {
            newest: AtomicU64::new(0),
            arrival: AtomicU64::new(0),
            linked: AtomicBool::new(false),
            initiator: std::thread::current(),
        }
    }

    fn key(kind: Kind, sequence: u64) -> u64 {
        (sequence << 1 | u64::from(kind == Kind::Measured)) + 1
    }

    fn post(&self, pong: Pong) {
        self.arrival.store(pong.arrival.0, Ordering::Relaxed);
        self.newest
            .store(Board::key(pong.kind, pong.sequence), Ordering::Release);
        self.initiator.unpark();
    }

    fn await_pong(
        &self,
        shared: &Shared,
        (kind, sequence): (Kind, u64),
        deadline: Nanos,
    ) -> Option<Nanos> {
        let wanted = Board::key(kind, sequence);
        while self.newest.load(Ordering::Acquire) != wanted {
            let left = deadline.saturating_sub(shared.clock.now());
            if left == Nanos::ZERO || shared.phase() >= Phase::Drain {
                return None;
            }
            std::thread::park_timeout(Duration::from(left).min(dyno_adapter::PATIENCE));
        }
        Some(Nanos(self.arrival.load(Ordering::Relaxed)))
    }
}
