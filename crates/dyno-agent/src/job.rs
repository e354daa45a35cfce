//! What a participant's thread has to work with: its assignment, its nodes, and the ends of its channels.

use crate::event::{Event, Failure};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::{
    Adapter, ChannelSpec, Error, Node, NodeContext, OnMessage, Receiver, Sender, Subscription,
};
use dyno_measure::Pacer;
use dyno_measure::RecordError;
use dyno_measure::host;
use dyno_measure::stamp::{self, HEADER_BYTES, Tag};
use dyno_model::adapter::QUEUE_DEPTH;
use dyno_model::cause::{AgentTrouble, NotGranted, Warning, Who};
use dyno_model::chain::Gateway;
use dyno_model::plan::Extent;
use dyno_model::protocol::{self, Assignment, Leg, SourceCounts};
use dyno_model::sizes::Sizes;
use dyno_model::{Access, Experiment, Nanos, OptionValue, Participant, Role, Turns, Wait};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Everything that a participant's thread needs.
pub(crate) struct Job {
    pub(crate) assignment: Arc<Assignment>,
    /// The cell that the participant is part of.
    pub(crate) experiment: Arc<Experiment>,
    pub(crate) participant: Participant,
    /// How it waits for messages, unless it is a gateway.
    pub(crate) wait: Wait,
    pub(crate) shared: Arc<Shared>,
    /// By leg, of those on which this process has a channel.
    pub(crate) adapters: Vec<Option<Arc<dyn Adapter>>>,
    pub(crate) events: mpsc::Sender<Event>,
}

/// How many bytes messages have, on both sides: one size, or by channel and number.
pub(crate) struct Lengths {
    most: usize,
    sizes: Option<Sizes>,
    seed: u64,
}

impl Lengths {
    /// Of the message with that tag.
    #[inline]
    pub(crate) fn of(&self, tag: Tag) -> usize {
        match &self.sizes {
            None => self.most,
            Some(sizes) => sizes.of(self.seed, tag.channel, tag.sequence),
        }
    }

    /// Of a message that was received, whose tag may be damaged.
    #[inline]
    pub(crate) fn of_bytes(&self, bytes: &[u8]) -> usize {
        match &self.sizes {
            None => self.most,
            Some(_) => stamp::tag(bytes).map_or(self.most, |tag| self.of(tag)),
        }
    }
}

/// What a participant has opened of the libraries, by leg.
pub(crate) struct Nodes(BTreeMap<u16, Box<dyn Node>>);

impl Job {
    /// The cell that the trial replicates.
    #[inline]
    pub(crate) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// What waits until messages are due; what the waits take counts from when the cost has begun.
    pub(crate) fn pacer(&self) -> Pacer {
        let shared = self.shared.clone();
        Pacer::new(shared.clock, self.experiment.pacer, move || {
            shared.is_metering()
        })
    }

    /// How many bytes messages have.
    pub(crate) fn lengths(&self) -> Lengths {
        Lengths {
            most: self.experiment.payload.bytes(),
            sizes: self.experiment.sizes().cloned(),
            seed: self.assignment.seed,
        }
    }

    /// Whose turn it is at which time, where two sides take turns; valid once the start of the warm-up is known.
    pub(crate) fn turns(&self) -> Option<Turns> {
        let slices = self.experiment.slices?;
        let is_base = self.experiment.base.is_none();
        Some(slices.turns(self.shared.start(), self.assignment.seed, is_base))
    }

    /// Sleeps until the side's next slice begins, where it is the other side's turn: who polls must not do so then.
    #[cold]
    pub(crate) fn park(&self) {
        let (Some(turns), Phase::Run) = (self.turns(), self.shared.phase()) else {
            return;
        };
        let now = self.shared.clock.now();
        let rest = turns.waking(now).begin.saturating_sub(now);
        if rest > Nanos::ZERO {
            std::thread::sleep(rest.into());
        }
    }

    /// When the window begins and ends that several flows or two sides have in common; `None`: it begins with the first
    /// message.
    #[inline]
    pub(crate) fn common_window(&self) -> Option<(Nanos, Nanos)> {
        if !self.experiment.has_common_window() {
            return None;
        }
        let begun = self.shared.window_at();
        match self.experiment.window {
            Extent::Duration(time) => Some((begun, begun.saturating_add(time))),
            Extent::Messages(_) => None,
        }
    }

    /// Opens the library of each leg that the participant has a channel on.
    pub(crate) fn open(&self, thread: &ThreadState) -> Result<Nodes, Failure> {
        let index = self.participant.index;
        let graph = &self.assignment.graph;
        let mut nodes = BTreeMap::new();
        for channel in graph.outgoing(index).chain(graph.incoming(index)) {
            let library = self.library(channel.leg_of(index));
            let leg = usize::from(library);
            let (Some(Some(adapter)), Some(spec)) =
                (self.adapters.get(leg), self.assignment.legs.get(leg))
            else {
                return Err(self.misassigned(format!("there is no leg {leg}")));
            };
            let Entry::Vacant(entry) = nodes.entry(library) else {
                continue;
            };
            let context = NodeContext {
                session: self.assignment.session.clone(),
                scratch: self.assignment.scratch.clone(),
                participant: index,
                address: self.address(),
                looked_at: self.looked_at(),
                options: spec.options.clone(),
            };
            let node = thread
                .inside(Call::Open, || adapter.open(&context))
                .map_err(self.in_call("open"))?;
            entry.insert(node);
        }
        Ok(Nodes(nodes))
    }

    /// How many bytes of a message are looked at by who receives it: a gateway hands on all of them.
    fn looked_at(&self) -> u16 {
        let forwards = self.participant.role == Role::Gateway;
        match self.experiment.access {
            Access::Stamp if !forwards => HEADER_BYTES as u16,
            Access::Stamp | Access::All => 0,
        }
    }

    /// The first leg of this process that is alike: a gateway between two legs of one library opens it once, as a program
    /// would that reads one channel of it and writes another.
    fn library(&self, leg: u16) -> u16 {
        let legs = &self.assignment.legs;
        let Some(own) = legs.get(usize::from(leg)) else {
            return leg;
        };
        let alike = |(other, adapter): (&Leg, &Option<Arc<dyn Adapter>>)| {
            adapter.is_some() && other.adapter == own.adapter && other.options == own.options
        };
        let first = legs.iter().zip(&self.adapters).position(alike);
        first.and_then(|i| u16::try_from(i).ok()).unwrap_or(leg)
    }

    /// Tells the control thread, which is gone only when the whole agent ends.
    pub(crate) fn tell(&self, event: Event) {
        let _ = self.events.send(event);
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
        self.tell(Event::Done(done));
    }

    /// Messages that the stack may hold between a sender and a receiver, where its adapters declare it. What the adapter
    /// of a leg that this process is not on holds by default is not known here.
    pub(crate) fn most_held(&self) -> u64 {
        let of = |(leg, adapter): (&Leg, &Option<Arc<dyn Adapter>>)| {
            let default = || {
                let specs = adapter.as_ref()?.describe().options;
                specs.into_iter().find(|s| s.name == QUEUE_DEPTH)?.default
            };
            match leg.options.get(QUEUE_DEPTH).cloned().or_else(default) {
                Some(OptionValue::Int(depth)) => u64::try_from(depth).unwrap_or(u64::MAX),
                _ => u64::MAX,
            }
        };
        let legs = self.assignment.legs.iter().zip(&self.adapters);
        let queues = self.assignment.gateways.iter().flat_map(|g| g.queue);
        // A gateway has one message more in its hands.
        let queues = queues.map(|queue| 1 + u64::from(queue.depth));
        legs.map(of).chain(queues).fold(0, u64::saturating_add)
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
    pub(crate) fn name(&self) -> Who {
        Who::Participant {
            index: self.participant.index,
            role: self.participant.role,
        }
    }

    pub(crate) fn failure(&self, step: &'static str, trouble: AgentTrouble) -> Failure {
        Failure {
            step,
            who: self.name(),
            trouble,
            peer_gone: false,
        }
    }

    /// What the runner assigned does not fit the role.
    pub(crate) fn misassigned(&self, what: impl Into<String>) -> Failure {
        let what = what.into();
        self.failure("prepare", AgentTrouble::Misassigned { what })
    }

    /// For `map_err`: what was measured cannot be written down.
    pub(crate) fn unrecorded(&self, error: RecordError) -> Failure {
        let error = error.to_string();
        self.failure("record", AgentTrouble::Record { error })
    }

    /// For `map_err`: an adapter's error in the named call.
    pub(crate) fn in_call(&self, step: &'static str) -> impl Fn(Error) -> Failure + '_ {
        move |e| Failure {
            peer_gone: matches!(e, Error::PeerGone { .. }),
            ..self.failure(
                step,
                AgentTrouble::Adapter {
                    error: e.to_string(),
                },
            )
        }
    }

    /// The channels that this participant receives from.
    pub(crate) fn incoming(&self) -> impl Iterator<Item = &ChannelSpec> {
        let ids = self.assignment.graph.incoming(self.participant.index);
        ids.filter_map(|c| self.spec(c.id))
    }

    /// The channels that this participant writes to.
    pub(crate) fn outgoing(&self) -> impl Iterator<Item = &ChannelSpec> {
        let ids = self.assignment.graph.outgoing(self.participant.index);
        ids.filter_map(|c| self.spec(c.id))
    }

    /// The number that messages have in their tags which come over `channel`.
    pub(crate) fn origin(&self, channel: u16) -> u16 {
        self.assignment.graph.origin(channel)
    }

    /// The channel over which this participant sends on what comes over `channel`.
    pub(crate) fn onward(&self, channel: u16) -> Option<&ChannelSpec> {
        let onward = self.assignment.graph.onward(channel);
        onward.and_then(|c| self.spec(c.id))
    }

    /// What this gateway does beyond carrying.
    pub(crate) fn gateway(&self) -> Gateway {
        let before = self.assignment.graph.incoming(self.participant.index);
        let before = before.map(|c| usize::from(c.leg_of_readers())).min();
        let own = before.and_then(|leg| self.assignment.gateways.get(leg));
        own.cloned().unwrap_or_default()
    }

    /// The leg of `channel` that this participant is on.
    pub(crate) fn leg(&self, channel: &ChannelSpec) -> u16 {
        let found = self.assignment.graph.channel(channel.id);
        found.map_or(0, |c| c.leg_of(self.participant.index))
    }

    /// How a receiver of `channel` waits.
    pub(crate) fn wait_on(&self, channel: &ChannelSpec) -> Wait {
        let found = self.assignment.graph.channel(channel.id);
        found.map_or(self.wait, |c| self.assignment.wait(c))
    }

    /// Whether a receiver of `channel` asks for what is kept.
    pub(crate) fn asks(&self, channel: &ChannelSpec) -> bool {
        let found = self.assignment.graph.channel(channel.id);
        let leg = found.and_then(|c| self.assignment.legs.get(usize::from(c.leg_of_readers())));
        leg.is_some_and(|leg| leg.asks)
    }

    /// Whether what is sent over `channel` lies in memory that the library lends.
    pub(crate) fn lends(&self, channel: &ChannelSpec) -> bool {
        let adapter = self.adapters.get(usize::from(self.leg(channel)));
        adapter.is_some_and(|a| a.as_ref().is_some_and(|a| a.describe().capabilities.loan))
    }

    /// The channel that carries this participant's replies to what comes over `channel`.
    pub(crate) fn replies_to(&self, channel: u16) -> Option<&ChannelSpec> {
        let mut own = self.assignment.graph.outgoing(self.participant.index);
        own.find(|c| c.answers == Some(channel))
            .and_then(|c| self.spec(c.id))
    }

    fn spec(&self, channel: u16) -> Option<&ChannelSpec> {
        self.assignment.channels.get(usize::from(channel))
    }

    /// The node of the leg that carries `channel`.
    fn node<'n>(
        &self,
        nodes: &'n mut Nodes,
        channel: &ChannelSpec,
    ) -> Result<&'n mut dyn Node, Failure> {
        let node = nodes.0.get_mut(&self.library(self.leg(channel)));
        match node {
            Some(node) => Ok(node.as_mut()),
            None => Err(self.misassigned(format!("{} is on no leg", channel.name))),
        }
    }

    /// Makes the writing end of a channel.
    pub(crate) fn sender(
        &self,
        thread: &ThreadState,
        nodes: &mut Nodes,
        channel: &ChannelSpec,
    ) -> Result<Box<dyn Sender>, Failure> {
        let node = self.node(nodes, channel)?;
        thread
            .inside(Call::Sender, || node.sender(channel))
            .map_err(self.in_call("sender"))
    }

    /// Makes a reading end from which the caller takes.
    pub(crate) fn receiver(
        &self,
        thread: &ThreadState,
        nodes: &mut Nodes,
        channel: &ChannelSpec,
    ) -> Result<Box<dyn Receiver>, Failure> {
        let node = self.node(nodes, channel)?;
        let wait = self.wait_on(channel);
        thread
            .inside(Call::Receiver, || node.receiver(channel, wait))
            .map_err(self.in_call("receiver"))
    }

    /// Makes a reading end from which the library calls.
    pub(crate) fn subscribe(
        &self,
        thread: &ThreadState,
        nodes: &mut Nodes,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> Result<Box<dyn Subscription>, Failure> {
        let node = self.node(nodes, channel)?;
        thread
            .inside(Call::Subscribe, || node.subscribe(channel, on_message))
            .map_err(self.in_call("subscribe"))
    }

    /// Whether the library calls us.
    pub(crate) fn by_callback(&self) -> bool {
        self.wait == Wait::Callback
    }

    /// Moves the participant's own thread onto its CPU, now that its library has made its threads, which
    /// stay where their preparation let them: beside a thread that spins, not under it. The first
    /// message has no time for that.
    fn move_to_own_cpu(&self) -> Result<(), Failure> {
        let participant = &self.participant;
        let workload = self.experiment().workload.kind();
        match participant.cpu {
            Some(cpu) if !participant.library_cpus.is_empty() && !workload.is_start() => {
                let listed = false;
                let refused =
                    |refused| self.failure("prepare", AgentTrouble::NotGranted { refused, listed });
                host::pin(cpu).map_err(refused)
            }
            _ => Ok(()),
        }
    }

    /// What follows where a thread did not get its CPUs: a trial whose CPUs were listed fails, any other warns.
    pub(crate) fn confined(
        &self,
        result: Result<(), NotGranted>,
    ) -> Result<Option<Warning>, Failure> {
        match result {
            Ok(()) => Ok(None),
            Err(refused) if self.experiment().cpus_listed => {
                let listed = true;
                Err(self.failure("prepare", AgentTrouble::NotGranted { refused, listed }))
            }
            Err(refused) => Ok(Some(Warning::NotGranted {
                who: self.name(),
                refused,
            })),
        }
    }

    /// Polls until every end sees its peers, then tells so, and since when there are endpoints:
    /// `opened`. What follows does not wait for other participants. False: the trial was stopped
    /// meanwhile, or its window is over, which only a participant sees that came later than the others.
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
            if self.shared.phase() >= Phase::Drain {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        self.move_to_own_cpu()?;
        let matched = self.shared.clock.now();
        self.tell(Event::Matched {
            exchange: self.participant.exchange,
            opened,
            matched,
        });
        Ok(self.shared.phase() != Phase::Stop)
    }
}
