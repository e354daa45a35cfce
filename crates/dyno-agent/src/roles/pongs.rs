//! The reading ends of an initiator: they take pongs, or are handed them, check and stamp them, and wait
//! for those of one ping. A pong that is late or comes twice is never taken for another ping's.

use super::ends::{Subscribed, all};
use super::intake::Intake;
use super::link::PROBE_PERIOD;
use super::tally::expected_messages;
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::Receiver;
use dyno_measure::stamp::Kind;
use dyno_measure::{Seen, SequenceTracker};
use dyno_model::{Nanos, Wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The reading ends for the pongs, one for each echo.
pub(super) enum Pongs {
    Taken(Vec<(Box<dyn Receiver>, PongCheck)>),
    Called {
        subscribed: Subscribed<PongCheck>,
        boards: Vec<Arc<Board>>,
    },
}

/// A probe that was not answered for so long is taken for lost, and another one is sent.
const PROBE_OVERDUE: Duration = Duration::from_millis(20);

/// How often a spinning wait looks at the clock: each so many empty takes.
pub(super) const SPINS_PER_LOOK: u32 = 256;

impl Pongs {
    pub(super) fn new(
        job: &Job,
        thread: &ThreadState,
        nodes: &mut Nodes,
        checks: Vec<PongCheck>,
    ) -> Result<Self, Failure> {
        let incoming = job.incoming().zip(checks);
        if !job.by_callback() {
            let mut ends = Vec::new();
            for (channel, check) in incoming {
                ends.push((job.receiver(thread, nodes, channel)?, check));
            }
            return Ok(Pongs::Taken(ends));
        }
        let mut subscribed = Subscribed::new();
        let mut boards = Vec::new();
        for (channel, check) in incoming {
            let board = Arc::new(Board::new());
            boards.push(board.clone());
            let on_message =
                move |check: &mut PongCheck, bytes: &[u8]| match check.on_message(bytes) {
                    Some(pong) => board.post(pong),
                    None => {
                        let linked = check.intake.is_probed();
                        board.linked.store(linked, Ordering::Relaxed);
                    }
                };
            subscribed.add(job, thread, nodes, channel, check, on_message)?;
        }
        Ok(Pongs::Called { subscribed, boards })
    }

    pub(super) fn matched(&mut self) -> Result<bool, dyno_adapter::Error> {
        match self {
            Pongs::Taken(ends) => all(ends.iter_mut().map(|(r, _)| r.matched())),
            Pongs::Called { subscribed, .. } => subscribed.matched(),
        }
    }

    /// Whether every echo has answered a probe.
    pub(super) fn linked(&self) -> bool {
        match self {
            Pongs::Taken(ends) => ends.iter().all(|(_, check)| check.intake.is_probed()),
            Pongs::Called { boards, .. } => boards.iter().all(|b| b.linked.load(Ordering::Relaxed)),
        }
    }

    /// Takes from every end until it has seen a probe, or until the probe is overdue.
    pub(super) fn await_probes(&mut self, job: &Job, thread: &ThreadState) -> Result<(), Failure> {
        let Pongs::Taken(ends) = self else {
            std::thread::sleep(PROBE_PERIOD);
            return Ok(());
        };
        let overdue = Instant::now() + PROBE_OVERDUE;
        for (receiver, check) in ends {
            while !check.intake.is_probed() && job.shared.phase() <= Phase::Link {
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
    pub(super) fn await_all(
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
                let spins = job.wait == Wait::Spin;
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

    pub(super) fn finish(self, job: &Job, thread: &ThreadState) -> Result<Vec<PongCheck>, Failure> {
        match self {
            Pongs::Taken(ends) => Ok(ends
                .into_iter()
                .map(|(receiver, check)| {
                    thread.inside(Call::Drop, || drop(receiver));
                    check
                })
                .collect()),
            Pongs::Called { subscribed, .. } => subscribed.end(job, thread),
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
        if spins {
            job.park();
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
pub(crate) struct PongCheck {
    intake: Intake,
    /// Of the warm-up, thrown away, and of the window.
    trackers: [SequenceTracker; 2],
    /// Of the window.
    duplicated: u64,
}

impl PongCheck {
    pub(super) fn new(job: &Job, channel: u16) -> Self {
        PongCheck {
            intake: Intake::new(job, channel),
            trackers: [0, expected_messages(job.experiment())].map(SequenceTracker::new),
            duplicated: 0,
        }
    }

    /// Adds what it found to what the initiator measured.
    pub(super) fn add_to(self, played: &mut Played) {
        played.first.extend(self.intake.first());
        if let Some(flow) = played.flows.first_mut() {
            flow.duplicated += self.duplicated;
            self.intake.add_to(flow);
        }
    }

    /// The pong, if it is an intact one and no probe.
    #[inline]
    fn on_message(&mut self, bytes: &[u8]) -> Option<Pong> {
        let (tag, arrival) = match self.intake.receive(bytes) {
            Ok((header, arrival)) => (header.tag, arrival),
            Err(damage) => {
                self.intake.damaged(damage);
                return None;
            }
        };
        if tag.kind == Kind::Probe {
            if !self.intake.is_probed() {
                self.intake.probed(arrival);
            }
            return None;
        }
        let measured = tag.kind == Kind::Measured;
        self.trackers[1].touch();
        let seen = self.trackers[usize::from(measured)].observe(tag.sequence);
        self.duplicated += u64::from(measured & (seen == Seen::Duplicate));
        Some(Pong {
            kind: tag.kind,
            sequence: tag.sequence,
            arrival,
        })
    }
}

/// Where a callback posts the newest pong and wakes the initiator.
pub(super) struct Board {
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
