//! What a trial with faults consists of while it runs: its processes, its faults, and what has become of both.

use super::stage::Place;
use crate::agent::Heard;
use crate::network::namespace::Unplugged;
use crate::network::xdp::Dropper;
use dyno_model::cause::Warning;
use dyno_model::fault::{Fault, FaultEvent, FaultKind, FaultMade};
use dyno_model::protocol::{Assignment, Sent};
use dyno_model::{Nanos, Participant};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How often a condition is looked at of which nobody tells.
const TICK: Duration = Duration::from_millis(1);

/// A trial with faults, from the start of its warm-up on.
pub(super) struct Scene<'h, 'a> {
    /// One for each process of the graph.
    pub(super) seats: Vec<Seat<'h>>,
    /// One for each fault of the experiment.
    pub(super) acts: Vec<Act<'a>>,
    /// What can drop packets of hosts that faults strike; there from before the window until the end, so that packets go the
    /// same way before a fault and after it.
    pub(super) gates: Vec<Gate>,
    /// The daemons that are away, by their number: a fault ended them, or their end was told of.
    pub(super) away: Vec<bool>,
    /// Participants whose own process a fault struck.
    pub(super) struck: Vec<u16>,
    pub(super) warnings: Vec<Warning>,
    /// For the reports of new agents.
    pub(super) inbox: mpsc::Sender<(usize, Heard)>,
    /// When the warm-up began.
    pub(super) start: Nanos,
    /// When the window begins and ends.
    pub(super) window: [Nanos; 2],
}

/// A process of the graph, whichever agent plays it.
pub(super) struct Seat<'h> {
    pub(super) place: &'h Place<'h>,
    /// Of the agent that plays it now.
    pub(super) assignment: Assignment,
    /// The number of that agent.
    pub(super) agent: usize,
    pub(super) step: Step,
    /// What its senders offered, once they are done.
    pub(super) done: Option<Vec<Sent>>,
}

/// How far the process of a seat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It plays its roles.
    Playing,
    /// A fault has struck it, and it is to end.
    Struck,
    /// Its output has ended, since then; it has ended or is about to.
    Silent(Instant),
    /// It has ended or failed.
    Gone,
    /// A new one was started, and has said nothing yet.
    Starting,
    /// It has its assignment.
    Preparing,
    /// It waits for its order to open, as a newcomer does from the begin of the trial.
    Ready,
    /// It has its order to open.
    Opening,
    /// It is matched.
    Linking,
}

impl Step {
    /// Whether it can be told to go on to the next step of the trial.
    pub(super) const fn is_living(self) -> bool {
        matches!(
            self,
            Step::Playing | Step::Opening | Step::Linking | Step::Silent(_)
        )
    }

    /// Whether it is on its way back and has not got its order to open.
    pub(super) const fn is_coming(self) -> bool {
        matches!(self, Step::Starting | Step::Preparing | Step::Ready)
    }
}

/// A fault on its way.
pub(super) struct Act<'a> {
    pub(super) fault: &'a Fault,
    /// Its place in the experiment's list; a storm has an act for each of its processes.
    pub(super) number: u16,
    pub(super) victim: Victim,
    /// When it is due to begin.
    pub(super) begin: Nanos,
    /// When it is due to end; known once it has begun.
    pub(super) end: Nanos,
    pub(super) state: State<'a>,
    pub(super) made: Option<FaultMade>,
}

/// Whom a fault strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    /// The process of a seat, by its number.
    Seat(usize),
    /// A daemon of the trial, by its number.
    Daemon(usize),
    /// A host, by its number in the testbed: its processes or its link.
    Host(usize),
}

/// What can drop packets of a host in one way.
pub(super) struct Gate {
    /// In the testbed.
    pub(super) host: usize,
    /// Those that it sends, or those that it would receive.
    pub(super) out: bool,
    pub(super) dropper: Dropper,
}

/// How far a fault is.
pub(super) enum State<'a> {
    /// It is not due.
    Waiting,
    /// The process is to end, until then at the latest.
    Ending(Instant),
    /// The daemon has ended and is to be started when the fault ends.
    Away,
    /// The new process is to be ready, until then at the latest.
    Returning(Instant),
    /// It lasts.
    Lasting(Hold<'a>),
    Over,
}

/// What is held while a fault lasts; a link comes back when this is dropped.
pub(super) enum Hold<'a> {
    Nothing,
    /// A newcomer is there, and leaves when the fault ends.
    Joined,
    /// Processes stand still.
    Stopped(Vec<Victim>),
    Unplugged(Unplugged<'a>),
    /// Packets are dropped at these gates.
    Dropping(Vec<usize>),
    /// The link of this host, by its number in the testbed, has another rate.
    Slowed(usize),
}

/// What was seen of a trial with faults.
pub(super) struct Observed {
    pub(super) start: Nanos,
    pub(super) window: [Nanos; 2],
    pub(super) made: Vec<FaultMade>,
    pub(super) struck: Vec<u16>,
    pub(super) events: Vec<FaultEvent>,
}

impl<'a> Scene<'_, 'a> {
    /// The seat that an agent plays now; nothing of one that played it before.
    pub(super) fn seat_of(&self, agent: usize) -> Option<usize> {
        self.seats.iter().position(|seat| seat.agent == agent)
    }

    /// The fault by which the process of a seat joins, until that ends.
    pub(super) fn joins(&self, seat: usize) -> Option<&'a Fault> {
        let is_its = |act: &&Act<'a>| {
            let is_on = matches!(act.state, State::Waiting | State::Lasting(_));
            act.victim == Victim::Seat(seat) && act.fault.what == FaultKind::Join && is_on
        };
        self.acts.iter().find(is_its).map(|act| act.fault)
    }

    /// Whether nobody whom the fault has struck is still on the way back: all of a storm open together.
    pub(super) fn may_open(&self, fault: u16) -> bool {
        let mut acts = self.acts.iter().filter(|act| act.number == fault);
        acts.all(|act| match (&act.state, act.victim) {
            (State::Returning(_), Victim::Seat(seat)) => self.seats[seat].step == Step::Ready,
            (State::Ending(_), _) => false,
            _ => true,
        })
    }

    /// Those of the seats whose senders are not done, but for who cannot be.
    pub(super) fn undone(&self) -> Vec<usize> {
        let is_undone = |seat: &Seat<'_>| {
            let is_active = |p: &Participant| p.role.is_active();
            seat.step == Step::Playing
                && seat.done.is_none()
                && seat.assignment.participants().any(is_active)
        };
        let all = 0..self.seats.len();
        all.filter(|i| is_undone(&self.seats[*i])).collect()
    }

    /// Whether all faults were made and have ended.
    pub(super) fn is_over(&self) -> bool {
        self.acts.iter().all(|a| matches!(a.state, State::Over))
    }

    /// Whether an earlier fault ends this process, or has ended it and no new one was started.
    pub(super) fn is_away(&self, victim: Victim) -> bool {
        let is_away = |act: &Act<'_>| matches!(act.state, State::Ending(_) | State::Away);
        self.acts.iter().any(|a| a.victim == victim && is_away(a))
    }

    /// Another fault ends this process, whether it was about to end or to come back: earlier ones wait for it no more.
    pub(super) fn overtake(&mut self, victim: Victim) {
        for act in self.acts.iter_mut().filter(|act| act.victim == victim) {
            if matches!(
                act.state,
                State::Ending(_) | State::Away | State::Returning(_)
            ) {
                act.state = State::Over;
            }
        }
    }

    /// How long nothing is to be done at `now` unless somebody tells, at most `longest`.
    pub(super) fn quiet(&self, now: Nanos, longest: Duration) -> Duration {
        let is_silent = |seat: &Seat<'_>| matches!(seat.step, Step::Silent(_));
        let mut quiet = longest;
        if self.seats.iter().any(is_silent) {
            quiet = quiet.min(TICK);
        }
        for act in &self.acts {
            let due = match act.state {
                State::Waiting => act.begin,
                State::Away | State::Lasting(_) => act.end,
                State::Ending(_) | State::Returning(_) => {
                    quiet = quiet.min(TICK);
                    continue;
                }
                State::Over => continue,
            };
            quiet = match due.saturating_sub(now) {
                Nanos::ZERO => quiet.min(TICK),
                left => quiet.min(left.into()),
            };
        }
        match self.window[1].saturating_sub(now) {
            Nanos::ZERO => quiet,
            left => quiet.min(left.into()),
        }
    }
}
