//! One participant: its thread prepares itself, opens the adapter, makes and matches its channel
//! ends, and then plays its role.

use crate::control::Event;
use crate::roles::{self, Kit, Played};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::{
    Adapter, ChannelSpec, Error, Node, NodeContext, OnMessage, Receiver, Sender, Subscription,
};
use dyno_measure::host;
use dyno_model::adapter::QUEUE_DEPTH;
use dyno_model::plan::Scheduling;
use dyno_model::protocol::{self, Assignment, Participant, Role, SourceCounts};
use dyno_model::{Nanos, OptionValue, Wait};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Why a participant cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The step or call that failed.
    pub(crate) step: &'static str,
    /// What happened, with the participant's name.
    pub(crate) message: String,
    /// Only because a peer is gone.
    pub(crate) peer_gone: bool,
}

/// Everything that a participant's thread needs.
pub(crate) struct Job {
    pub(crate) assignment: Arc<Assignment>,
    pub(crate) participant: Participant,
    pub(crate) shared: Arc<Shared>,
    pub(crate) adapter: Arc<dyn Adapter>,
    pub(crate) events: mpsc::Sender<Event>,
}

impl Job {
    /// Plays the participant to its end and reports to the control thread. `go` gives the instant
    /// of go, and is closed without one when the trial ends before.
    pub(crate) fn play(self, go: &mpsc::Receiver<Nanos>) {
        let thread = self
            .shared
            .register(self.participant.index, self.participant.role.as_str());
        let events = self.events.clone();
        let event = match self.steps(&thread, go) {
            Ok(played) => Event::Played(Box::new(played)),
            Err(failure) => Event::Failed(failure),
        };
        thread.ended();
        // The control thread is gone only when the whole agent ends.
        let _ = events.send(event);
    }

    fn steps(&self, thread: &ThreadState, go: &mpsc::Receiver<Nanos>) -> Result<Played, Failure> {
        let index = self.participant.index;
        let warnings = self.prepare();
        let kit = Kit::new(self);
        let _ = self.events.send(Event::Prepared(warnings));
        let Ok(at) = go.recv() else {
            return Ok(Played::default());
        };
        if self.assignment.experiment.workload.kind().is_start() {
            // The start is what is measured, and so is its cost.
            self.shared.begin_metering();
        }
        sleep_until(&self.shared, at);

        let context = NodeContext {
            session: self.assignment.session.clone(),
            scratch: self.assignment.scratch.clone(),
            participant: index,
            address: self.address(),
            options: self.assignment.options.clone(),
        };
        let mut node = thread
            .inside(Call::Open, || self.adapter.open(&context))
            .map_err(self.in_call("open"))?;
        let played = roles::play(self, thread, node.as_mut(), kit)?;
        thread.inside(Call::Drop, || drop(node));
        Ok(played)
    }

    /// Pins, schedules and locks; what the machine does not grant becomes a warning.
    fn prepare(&self) -> Vec<String> {
        let experiment = &self.assignment.experiment;
        let mut warnings = Vec::new();
        let mut note = |result: Result<(), host::HostError>| {
            if let Err(e) = result {
                warnings.push(format!("{}: {e}", self.name()));
            }
        };
        // The library's threads come from this one, and where they may run is settled by then.
        match (
            self.participant.cpu,
            self.participant.library_cpus.as_slice(),
        ) {
            (Some(cpu), []) => note(host::pin(cpu)),
            (_, []) => {}
            (_, set) => note(host::confine(set)),
        }
        if experiment.mlock {
            note(host::lock_memory());
        }
        if let Scheduling::Fifo(priority) = experiment.scheduling {
            note(host::set_fifo(priority));
        }
        warnings
    }

    /// Tells that everything has been offered.
    pub(crate) fn tell_done(&self, counts: &SourceCounts) {
        self.shared.note_last_send(counts.last);
        let (channel, offered, sent) = (counts.channel, counts.offered, counts.sent);
        let done = protocol::Sent {
            channel,
            offered,
            sent,
        };
        // The control thread is gone only when the whole agent ends.
        let _ = self.events.send(Event::Done(done));
    }

    /// Messages that the stack may hold between a sender and a receiver, where its adapter declares it.
    pub(crate) fn most_held(&self) -> u64 {
        let default = || {
            let specs = self.adapter.describe().options;
            specs.into_iter().find(|s| s.name == QUEUE_DEPTH)?.default
        };
        let set = self.assignment.options.get(QUEUE_DEPTH).cloned();
        match set.or_else(default) {
            Some(OptionValue::Int(depth)) => u64::try_from(depth).unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    }

    fn address(&self) -> String {
        let index = self.participant.index;
        let channels = &self.assignment.channels;
        channels
            .iter()
            .find_map(|c| {
                if c.writer == index {
                    return Some(c.writer_address.clone());
                }
                c.readers
                    .iter()
                    .find(|r| r.participant == index)
                    .map(|r| r.address.clone())
            })
            .unwrap_or_else(|| "127.0.0.1".to_owned())
    }

    /// `participant 1 (sink)`.
    pub(crate) fn name(&self) -> String {
        format!(
            "participant {} ({})",
            self.participant.index,
            self.participant.role.as_str()
        )
    }

    pub(crate) fn failure(&self, step: &'static str, message: impl std::fmt::Display) -> Failure {
        Failure {
            step,
            message: format!("{}: {message}", self.name()),
            peer_gone: false,
        }
    }

    /// For `map_err`: an adapter's error in the named call.
    pub(crate) fn in_call(&self, step: &'static str) -> impl Fn(Error) -> Failure + '_ {
        move |e| Failure {
            peer_gone: matches!(e, Error::PeerGone { .. }),
            ..self.failure(step, e)
        }
    }

    /// The channels that this participant receives from.
    pub(crate) fn incoming(&self) -> impl Iterator<Item = &ChannelSpec> {
        incoming(&self.assignment, self.participant.index)
    }

    /// The channels that this participant writes to.
    pub(crate) fn outgoing(&self) -> impl Iterator<Item = &ChannelSpec> {
        let index = self.participant.index;
        self.assignment
            .channels
            .iter()
            .filter(move |c| c.writer == index)
    }

    /// Makes the writing end of a channel.
    pub(crate) fn sender(
        &self,
        thread: &ThreadState,
        node: &mut dyn Node,
        channel: &ChannelSpec,
    ) -> Result<Box<dyn Sender>, Failure> {
        thread
            .inside(Call::Sender, || node.sender(channel))
            .map_err(self.in_call("sender"))
    }

    /// Makes a reading end from which the caller takes.
    pub(crate) fn receiver(
        &self,
        thread: &ThreadState,
        node: &mut dyn Node,
        channel: &ChannelSpec,
    ) -> Result<Box<dyn Receiver>, Failure> {
        let wait = self.assignment.experiment.wait;
        thread
            .inside(Call::Receiver, || node.receiver(channel, wait))
            .map_err(self.in_call("receiver"))
    }

    /// Makes a reading end from which the library calls.
    pub(crate) fn subscribe(
        &self,
        thread: &ThreadState,
        node: &mut dyn Node,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>, Failure> {
        thread
            .inside(Call::Subscribe, || node.subscribe(channel, on_message))
            .map_err(self.in_call("subscribe"))
    }

    /// Whether the library calls us.
    pub(crate) fn by_callback(&self) -> bool {
        self.assignment.experiment.wait == Wait::Callback
    }

    /// Moves the participant's own thread onto its CPU, now that its library has made its threads, which
    /// stay where [`prepare`](Job::prepare) let them: beside a thread that spins, not under it. The first
    /// message has no time for that.
    fn move_to_own_cpu(&self) -> Result<(), Failure> {
        let participant = &self.participant;
        let workload = self.assignment.experiment.workload.kind();
        match participant.cpu {
            Some(cpu) if !participant.library_cpus.is_empty() && !workload.is_start() => {
                host::pin(cpu).map_err(|e| self.failure("prepare", e))
            }
            _ => Ok(()),
        }
    }

    /// Polls until every end sees its peers, then tells so, and since when there are endpoints:
    /// `opened`. What follows does not wait for other participants. False: the trial was stopped
    /// meanwhile.
    pub(crate) fn await_matched(
        &self,
        thread: &ThreadState,
        opened: Nanos,
        ends: &mut dyn FnMut() -> Result<bool, Error>,
    ) -> Result<bool, Failure> {
        loop {
            if thread
                .inside(Call::Matched, &mut *ends)
                .map_err(self.in_call("matched"))?
            {
                break;
            }
            if self.shared.phase() == Phase::Stop {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        self.move_to_own_cpu()?;
        let matched = self.shared.clock.now();
        let _ = self.events.send(Event::Matched { opened, matched });
        Ok(self.shared.phase() != Phase::Stop)
    }
}

/// The channels that a participant receives from. A loopback participant reads its own.
pub(crate) fn incoming(
    assignment: &Assignment,
    participant: u16,
) -> impl Iterator<Item = &ChannelSpec> {
    assignment
        .channels
        .iter()
        .filter(move |c| c.readers.iter().any(|r| r.participant == participant))
}

/// Sleeps until the run's clock passes `at`.
fn sleep_until(shared: &Shared, at: Nanos) {
    loop {
        match at.saturating_sub(shared.clock.now()) {
            Nanos::ZERO => return,
            left => std::thread::sleep(left.into()),
        }
    }
}

/// Receivers of this agent that must see a probe before the trial may start.
pub(crate) fn receiving_ends(assignment: &Assignment) -> usize {
    assignment
        .participants
        .iter()
        .filter(|p| p.role != Role::Loopback)
        .map(|p| incoming(assignment, p.index).count())
        .sum()
}
