//! Who takes part in a trial, where, and which channels join them: made here, from plan and testbed, and nowhere else.
//!
//! Planner, runner, agents and views ask the graph. The number of a participant or of a channel only names it: what it
//! does, where it is and whom it serves stands beside the number.

use crate::chain::{Chain, crossings};
use crate::factor::{Placement, Topology};
use crate::fault::{FaultKind, Target};
use crate::flow::Processes;
use crate::plan::{Experiment, Plan, Stack, Testbed};
use crate::role::Role;
use crate::workload::WorkloadKind;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The input from which participants and channels of an exchange are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape<'a> {
    /// Says the roles of both sides.
    pub workload: WorkloadKind,
    /// How many play them.
    pub topology: Topology,
    /// Who shares a process or a host.
    pub placement: Placement,
    /// The stack's adapter plays both sides in one participant.
    pub loopback: bool,
    /// Where each leg of a chain leads, a gateway between each two of them; empty: the stack is no chain.
    pub legs: &'a [Placement],
    /// Whether somebody else's program stands between two legs, and no participant; as many as gateways, or empty: none.
    pub foreign: &'a [bool],
}

/// One participant of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// Its number within the trial.
    pub index: u16,
    /// What it does.
    pub role: Role,
    /// Its host, as an index into those of the testbed.
    pub host: usize,
    /// The process that plays it: participants of one number share it.
    pub process: u16,
    /// The CPU that its own thread is pinned to.
    pub cpu: Option<u32>,
    /// Where the threads may run that its library makes; empty: where the participant's own may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub library_cpus: Vec<u32>,
    /// The number of its exchange among those that run at the same time, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exchange: u16,
    /// The number of its flow among those that run at the same time, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flow: u16,
}

fn is_zero(n: &u16) -> bool {
    *n == 0
}

/// One path for messages: one writer, one or several readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its number within the trial, also in each message's tag.
    pub id: u16,
    /// The leg of the stack that carries it, from the first sender on; a stack without legs is one. Where somebody else's
    /// program bridges legs, the one that the writer is on.
    pub leg: u16,
    /// Where somebody else's program bridges legs: the one that the readers are on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_leg: Option<u16>,
    /// The participant that sends.
    pub writer: u16,
    /// The participants that receive.
    pub readers: Vec<u16>,
    /// The channel to whose messages its own are the replies, on the same leg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u16>,
    /// The channel whose messages a gateway sends on over this one, as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries_on: Option<u16>,
}

impl Channel {
    /// The leg that its readers are on.
    pub fn leg_of_readers(&self) -> u16 {
        self.read_leg.unwrap_or(self.leg)
    }

    /// The leg that a participant is on which writes to it or reads from it.
    pub fn leg_of(&self, participant: u16) -> u16 {
        match self.writer == participant {
            true => self.leg,
            false => self.leg_of_readers(),
        }
    }
}

/// The participants and channels of one trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Graph {
    /// By their number.
    pub participants: Vec<Participant>,
    /// By their number.
    pub channels: Vec<Channel>,
}

impl Graph {
    /// The participant that a fault names, in the order of their numbers; of calls the sender is the caller and the receiver the
    /// provider. `None`: it names a daemon, or nobody has that number.
    pub fn target(&self, who: &Target) -> Option<&Participant> {
        let (role, number) = match who {
            Target::Sender { number } => ([Role::Source, Role::Initiator], *number),
            Target::Receiver { number } => ([Role::Sink, Role::Echo], *number),
            Target::Daemon { .. } => return None,
        };
        let mut all = self.participants.iter().filter(|p| role.contains(&p.role));
        all.nth(usize::from(number))
    }

    /// Whether a fault of `experiment` brings the participant in while the others run.
    pub fn is_newcomer(&self, experiment: &Experiment, participant: u16) -> bool {
        let faults = experiment.faults.iter();
        let mut joins = faults.filter(|fault| fault.what == FaultKind::Join);
        joins.any(|fault| {
            self.target(&fault.who)
                .is_some_and(|p| p.index == participant)
        })
    }

    /// The exchange spelled out on the hosts of `testbed`, as often as its topology says; nobody is pinned.
    pub fn of(shape: Shape<'_>, testbed: &Testbed) -> Self {
        let mut graph = Graph::default();
        for _ in 0..shape.topology.copies {
            graph.add(shape, testbed.hosts.len());
        }
        graph
    }

    /// Several exchanges that run at the same time, in the order of their flows; with a flow the one before it, if any, whose
    /// messages it reads.
    pub fn of_flows(
        flows: &[(Shape<'_>, Option<usize>)],
        processes: Processes,
        testbed: &Testbed,
    ) -> Self {
        let mut graph = Graph::default();
        // Who of the flow each participant is, where it lives, and whose process that is: readers that are threads are those of
        // the flow that they read.
        let mut parts: Vec<(usize, Placement, u16)> = Vec::new();
        for (flow, (shape, reads)) in flows.iter().enumerate() {
            for copy in 0..shape.topology.copies {
                let first = graph.participants.len();
                match reads {
                    None => graph.add(*shape, testbed.hosts.len()),
                    Some(reads) => graph.add_readers(*shape, *reads, copy, testbed.hosts.len()),
                }
                for (number, added) in graph.participants[first..].iter_mut().enumerate() {
                    // A trial has fewer flows than channels, whose number fits.
                    added.flow = flow as u16;
                    parts.push((number, shape.placement, reads.unwrap_or(flow) as u16));
                }
            }
        }
        let mut homes: BTreeMap<(u16, usize, usize), u16> = BTreeMap::new();
        for (participant, (number, placement, with)) in graph.participants.iter_mut().zip(parts) {
            let home = match (processes, placement) {
                (Processes::PerFlow, Placement::Thread) => (with, 0, 0),
                (Processes::PerFlow, _) => (participant.flow, 0, number),
                (Processes::PerSide, Placement::Thread) => (0, participant.host, 0),
                (Processes::PerSide, _) => (
                    0,
                    participant.host,
                    usize::from(!participant.role.is_active()),
                ),
            };
            participant.process = *homes.entry(home).or_insert(participant.index);
        }
        graph
    }

    /// Adds one exchange beside what there is already. Each sender has a way to all receivers; each echo has one
    /// back to each sender. A way is a channel, or through gateways one on each leg.
    fn add(&mut self, shape: Shape<'_>, hosts: usize) {
        let Topology {
            senders, receivers, ..
        } = shape.topology;
        let [active, passive] = shape.workload.info().roles;
        let (sends, receives) = match shape.loopback {
            true => (vec![Role::Loopback], Vec::new()),
            false if shape.workload.is_probe() => (vec![active], Vec::new()),
            false => (
                vec![active; usize::from(senders)],
                vec![passive; usize::from(receivers)],
            ),
        };
        // The legs before the gateways that are participants.
        let joints = 0..shape.legs.len().saturating_sub(1);
        let joints: Vec<usize> = joints
            .filter(|number| !shape.foreign.get(*number).is_some_and(|is| *is))
            .collect();
        let joins = vec![Role::Gateway; joints.len()];
        let first = self.participants.len();
        let exchange = self.participants.last().map_or(0, |p| p.exchange + 1);
        let roles = sends.iter().chain(&receives).chain(&joins);
        for (number, role) in roles.enumerate() {
            // At most Topology::MAX_SIDE of each side, and a channel for each pair of them on each leg; a plan has no more
            // copies than the machine has CPUs for them.
            let index = (first + number) as u16;
            self.participants.push(Participant {
                index,
                role: *role,
                host: host(shape, &joints, number, hosts),
                process: match shape.placement {
                    Placement::Thread if *role != Role::Gateway => first as u16,
                    Placement::Thread | Placement::Process | Placement::Host => index,
                },
                cpu: None,
                library_cpus: Vec::new(),
                exchange,
                flow: 0,
            });
        }
        if shape.workload.is_probe() {
            return;
        }
        let number = |range: std::ops::Range<usize>| range.map(|i| i as u16).collect::<Vec<u16>>();
        let ends = first + sends.len() + receives.len();
        let senders = number(first..first + sends.len());
        let receivers = match shape.loopback {
            true => senders.clone(),
            false => number(first + sends.len()..ends),
        };
        let mut gateways = number(ends..self.participants.len());
        let last = shape.legs.len().saturating_sub(1);
        // The legs of each channel of a way: its first and its last.
        let begins = std::iter::once(0).chain(joints.iter().map(|joint| joint + 1));
        let ends = joints.iter().copied().chain([last]);
        let spans: Vec<(u16, u16)> = begins
            .zip(ends)
            .map(|(a, b)| (a as u16, b as u16))
            .collect();
        let there: Vec<Vec<u16>> = senders
            .iter()
            .map(|sender| self.connect(&spans, *sender, &gateways, &receivers, &[]))
            .collect();
        if receives.first() == Some(&Role::Echo) {
            gateways.reverse();
            for echo in receivers {
                for (sender, pings) in senders.iter().zip(&there) {
                    self.connect(&spans, echo, &gateways, &[*sender], pings);
                }
            }
        }
    }

    /// Adds readers to what the senders of a flow send, of its exchange of that number.
    fn add_readers(&mut self, shape: Shape<'_>, flow: usize, copy: u16, hosts: usize) {
        let [_, passive] = shape.workload.info().roles;
        let of_flow = self.flows();
        let mut exchanges = (0..)
            .zip(&of_flow)
            .filter(|(_, of)| usize::from(**of) == flow);
        let read = exchanges
            .nth(usize::from(copy))
            .map(|(exchange, _)| exchange);
        let first = self.participants.len() as u16;
        let exchange = self.participants.last().map_or(0, |p| p.exchange + 1);
        for number in 0..shape.topology.receivers {
            // Behind the senders, which are the flow's that is read.
            let place = usize::from(shape.topology.senders + number);
            self.participants.push(Participant {
                index: first + number,
                role: passive,
                host: host(shape, &[], place, hosts),
                process: first + number,
                cpu: None,
                library_cpus: Vec::new(),
                exchange,
                flow: 0,
            });
        }
        let participants = &self.participants;
        for channel in &mut self.channels {
            let writer = participants.get(usize::from(channel.writer));
            if writer.map(|p| p.exchange) == read {
                channel
                    .readers
                    .extend(first..first + shape.topology.receivers);
            }
        }
    }

    /// Makes the way from `writer` through the gateways to the readers, which on each span of legs answers the channel
    /// of `pings` there; returns its channels by span.
    fn connect(
        &mut self,
        spans: &[(u16, u16)],
        writer: u16,
        gateways: &[u16],
        readers: &[u16],
        pings: &[u16],
    ) -> Vec<u16> {
        let mut made: Vec<u16> = Vec::new();
        let writers = std::iter::once(&writer).chain(gateways);
        for (passed, writer) in writers.enumerate() {
            let span = match pings {
                [] => passed,
                _ => gateways.len() - passed,
            };
            let (leg, read_leg) = match (spans[span], pings) {
                (there, []) => there,
                ((first, last), _) => (last, first),
            };
            let id = self.channels.len() as u16;
            self.channels.push(Channel {
                id,
                leg,
                read_leg: (read_leg != leg).then_some(read_leg),
                writer: *writer,
                readers: match gateways.get(passed) {
                    Some(gateway) => vec![*gateway],
                    None => readers.to_vec(),
                },
                answers: pings.get(span).copied(),
                carries_on: made.last().copied(),
            });
            made.push(id);
        }
        if !pings.is_empty() {
            made.reverse();
        }
        made
    }

    /// Puts the participants of one flow on the CPUs that its experiment has for them.
    fn pin(&mut self, flow: usize, experiment: &Experiment) {
        let own = self.participants.iter_mut();
        for (number, participant) in own.filter(|p| usize::from(p.flow) == flow).enumerate() {
            participant.cpu = experiment.cpus.get(number).copied();
            let libraries = experiment.library_cpus.get(number).cloned();
            participant.library_cpus = libraries.unwrap_or_default();
        }
    }

    /// The participant of that number.
    pub fn participant(&self, index: u16) -> Option<&Participant> {
        self.participants.get(usize::from(index))
    }

    /// The channel of that number.
    pub fn channel(&self, id: u16) -> Option<&Channel> {
        self.channels.get(usize::from(id))
    }

    /// The channels that a participant receives from. A loopback participant reads its own.
    pub fn incoming(&self, participant: u16) -> impl Iterator<Item = &Channel> {
        let all = self.channels.iter();
        all.filter(move |c| c.readers.contains(&participant))
    }

    /// The channels that a participant writes to.
    pub fn outgoing(&self, participant: u16) -> impl Iterator<Item = &Channel> {
        let all = self.channels.iter();
        all.filter(move |c| c.writer == participant)
    }

    /// The channel that a message was first sent over which comes over `channel`: its number is in the message's tag,
    /// and under it the message is counted at both ends.
    pub fn origin(&self, channel: u16) -> u16 {
        let before = self.channel(channel).and_then(|c| c.carries_on);
        // What a channel carries on was made before it.
        match before.filter(|before| *before < channel) {
            Some(before) => self.origin(before),
            None => channel,
        }
    }

    /// The channel over which a gateway sends on what comes over `channel`.
    pub fn onward(&self, channel: u16) -> Option<&Channel> {
        let mut all = self.channels.iter();
        all.find(|c| c.carries_on == Some(channel))
    }

    /// The final receivers of messages sent over `channel`.
    pub fn receivers(&self, channel: u16) -> &[u16] {
        match self.onward(channel) {
            Some(next) if next.id > channel => self.receivers(next.id),
            _ => self.channel(channel).map_or(&[], |c| &c.readers),
        }
    }

    /// The ends of every way: who first sends a message, with each who receives it in the end.
    pub fn ends(&self) -> impl Iterator<Item = (&Participant, &Participant)> {
        let origins = self.channels.iter().filter(|c| c.carries_on.is_none());
        origins.flat_map(|c| {
            let readers = self.receivers(c.id).iter();
            readers.filter_map(|r| Some((self.participant(c.writer)?, self.participant(*r)?)))
        })
    }

    /// The hosts that take part, as indices into those of the testbed.
    pub fn hosts(&self) -> BTreeSet<usize> {
        self.participants.iter().map(|p| p.host).collect()
    }

    /// The participants that each process plays, by the process's number.
    pub fn processes(&self) -> BTreeMap<u16, Vec<&Participant>> {
        let mut all: BTreeMap<u16, Vec<&Participant>> = BTreeMap::new();
        for participant in &self.participants {
            all.entry(participant.process)
                .or_default()
                .push(participant);
        }
        all
    }

    /// The flow that each exchange is of, in the order of exchanges.
    pub fn flows(&self) -> Vec<u16> {
        let one = |of_one: &[Participant]| of_one.first().map_or(0, |p| p.flow);
        let exchanges = self.participants.chunk_by(|a, b| a.exchange == b.exchange);
        exchanges.map(one).collect()
    }

    /// How often a message is to be delivered to participants of `flow` that is sent once over the channel: to each of its
    /// readers, but a round trip is one, of however many echoes.
    pub fn deliveries(&self, channel: u16, flow: u16) -> u64 {
        let Some(channel) = self.channel(channel) else {
            return 1;
        };
        let is_own = |reader: &&u16| self.participant(**reader).is_some_and(|p| p.flow == flow);
        match self.participant(channel.writer).map(|p| p.role) {
            Some(Role::Source) => self.receivers(channel.id).iter().filter(is_own).count() as u64,
            _ => 1,
        }
    }

    /// Messages that are in memory where each writer and each reader of every channel has one in its hands.
    pub fn least_messages(&self) -> u64 {
        let of = |c: &Channel| 1 + c.readers.len() as u64;
        self.channels.iter().map(of).sum()
    }
}

/// The host of a participant, by its number within its exchange. Apart from each other where the placement is `host`:
/// each participant on a host of its own if there are enough of them, else the senders on the first and the receivers
/// spread over the others. Of a chain the senders on the first, and everybody else behind so many legs that lead to
/// another host.
fn host(shape: Shape<'_>, joints: &[usize], number: usize, hosts: usize) -> usize {
    let senders = usize::from(shape.topology.senders);
    let receivers = usize::from(shape.topology.receivers);
    if !shape.legs.is_empty() {
        let passed = match number.checked_sub(senders + receivers) {
            Some(gateway) => {
                let before = joints
                    .get(gateway)
                    .and_then(|joint| shape.legs.get(..=*joint));
                before.unwrap_or(shape.legs)
            }
            None if number < senders => &[],
            None => shape.legs,
        };
        return crossings(passed);
    }
    if shape.placement != Placement::Host || hosts < 2 {
        0
    } else if senders + receivers <= hosts {
        number
    } else {
        match number.checked_sub(senders) {
            Some(receiver) => 1 + receiver % (hosts - 1),
            None => 0,
        }
    }
}

impl Experiment {
    /// Its participants on their CPUs, and its channels, on a stack; without one as on any whose adapter does not play
    /// both sides itself.
    pub fn graph(&self, stack: Option<&Stack>, testbed: &Testbed) -> Graph {
        let chain = stack.and_then(|s| s.chain.as_ref());
        let legs = chain.map(Chain::placements).unwrap_or_default();
        let foreign = chain.map(Chain::foreign).unwrap_or_default();
        let mut graph = Graph::of(self.shape(stack, &legs, &foreign), testbed);
        if self.placement != Placement::Host && legs.is_empty() {
            for participant in &mut graph.participants {
                participant.host = self.on_host;
            }
        }
        graph.pin(0, self);
        graph
    }

    fn shape<'a>(
        &self,
        stack: Option<&Stack>,
        legs: &'a [Placement],
        foreign: &'a [bool],
    ) -> Shape<'a> {
        Shape {
            workload: self.workload.kind(),
            topology: self.topology,
            placement: self.placement,
            loopback: stack.is_some_and(|s| s.loopback),
            legs,
            foreign,
        }
    }
}

impl Plan {
    /// The participants and channels of each trial of this experiment, those of the flows that run at the same time
    /// among them.
    pub fn graph(&self, experiment: &Experiment) -> Graph {
        let stack = self.stacks.get(&experiment.stack);
        of_all(&self.together(experiment), stack, &self.testbed)
    }
}

/// The participants on their CPUs, and the channels, of experiments that run at the same time.
pub fn of_all(flows: &[&Experiment], stack: Option<&Stack>, testbed: &Testbed) -> Graph {
    match flows {
        [] => Graph::default(),
        [first, ..] => {
            let Some(flow) = &first.flow else {
                return first.graph(stack, testbed);
            };
            let place = |name: &String| {
                let named = |e: &&Experiment| e.flow_name() == Some(name);
                flows.iter().position(named)
            };
            let reads = |e: &Experiment| e.flow.as_ref()?.reads.as_ref().and_then(place);
            let shape = |e: &&Experiment| (e.shape(stack, &[], &[]), reads(e));
            let shapes: Vec<_> = flows.iter().map(shape).collect();
            let mut graph = Graph::of_flows(&shapes, flow.processes, testbed);
            for (number, own) in flows.iter().enumerate() {
                graph.pin(number, own);
            }
            graph
        }
    }
}

#[cfg(test)]
mod tests;
