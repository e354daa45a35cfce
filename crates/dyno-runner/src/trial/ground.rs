//! What a trial stands on: its hosts, the daemons there, and what each agent is told to be.

use super::stage::{Failed, Place, Trial};
use crate::daemon::{Daemon, Trouble, Values};
use crate::hosts::Host;
use crate::wiring;
use dyno_model::cause::FailureCause;
use dyno_model::daemon::Daemon as Spec;
use dyno_model::machine::SHARING;
use dyno_model::plan::{Reach, Testbed};
use dyno_model::protocol::{Assignment, Leg};
use dyno_model::record::{FailureKind, MemoryUse};
use dyno_model::{ChainLeg, Channel, Experiment, Gateway, Graph, Participant, Stack};
use std::collections::BTreeSet;
use std::time::Duration;

impl<'a> Trial<'a, '_> {
    /// Every host with a participant, made ready for the trial.
    pub(super) fn places(&self) -> Result<Vec<Place<'a>>, Failed> {
        let plan = self.context.plan;
        let used = self.graph.hosts();
        let several = used.len() > 1;
        let mut places = Vec::new();
        for index in used {
            let (Some(host), Some(spec)) =
                (self.context.hosts.get(index), plan.testbed.hosts.get(index))
            else {
                let number = index + 1;
                return Err(self.failed(FailureKind::Error, FailureCause::NoHost { number }));
            };
            let scratch = host
                .prepare_session(self.context.session)
                .map_err(|e| self.host_failed(e))?;
            places.push(Place {
                index,
                host,
                named: several.then_some(spec.name.as_str()),
                address: &spec.address,
                scratch,
            });
        }
        Ok(places)
    }

    /// Starts the stack's daemons on every host, each when the one before it is ready.
    pub(super) fn start_daemons(&mut self, places: &[Place<'_>]) -> Result<(), Failed> {
        self.step = "daemon";
        let (plan, experiment) = (self.context.plan, self.context.experiment);
        let stack = plan.stacks.get(&experiment.stack);
        let here =
            |place: &Place<'_>| stack.map_or(Vec::new(), |s| needed(s, &self.graph, place.index));
        let by_place: Vec<Vec<&Spec>> = places.iter().map(here).collect();
        for (place, specs) in places.iter().zip(&by_place) {
            if let (Some(spec), false) = (specs.first(), place.host.is_local_machine()) {
                let cause = FailureCause::DaemonElsewhere {
                    daemon: spec.name.clone(),
                    host: place.named.unwrap_or(place.address).to_owned(),
                };
                return Err(self.failed(FailureKind::Error, cause));
            }
            let elsewhere = |spec: &&&Spec| {
                by_place
                    .iter()
                    .filter(|specs| specs.contains(*spec))
                    .count()
                    > 1
            };
            let mut exclusive = specs.iter().filter(|s| s.exclusive);
            if let Some(spec) = exclusive.find(elsewhere) {
                let daemon = spec.name.clone();
                return Err(self.failed(FailureKind::Error, FailureCause::DaemonTwice { daemon }));
            }
            let values = Values {
                cpus: &experiment.daemon_cpus,
                payload: self.largest_payload(),
                senders: self.participants_of(true),
                receivers: self.participants_of(false),
                host: place.host,
                place: place.index,
                host_name: place.named,
                address: place.address,
                scratch: &place.scratch,
            };
            for spec in specs {
                let started = Daemon::start(
                    &self.daemons,
                    spec,
                    &values,
                    self.context.session,
                    Duration::from(experiment.deadline),
                    &self.context.options.interrupt,
                );
                self.daemons.push(started.map_err(|t| self.troubled(t))?);
            }
        }
        self.step = "start";
        Ok(())
    }

    /// The largest message of any flow, in bytes.
    fn largest_payload(&self) -> usize {
        let flows = self.context.flows.iter();
        flows.map(|e| e.payload.bytes()).max().unwrap_or(0)
    }

    /// How many participants of all flows begin an exchange, or do not.
    fn participants_of(&self, active: bool) -> usize {
        let side = |e: &&Experiment| {
            let one = match active {
                true => e.topology.senders,
                false => e.topology.receivers,
            };
            usize::from(one) * usize::from(e.topology.copies)
        };
        self.context.flows.iter().map(side).sum()
    }

    /// Fails when a daemon has ended or a host was cut off, which explains whatever else went wrong. The ends of daemons
    /// do not count once a fault was made.
    pub(super) fn check_surroundings(&mut self) -> Result<(), Failed> {
        if let Some(cause) = self.context.hosts.trouble() {
            return Err(self.failed(FailureKind::Error, cause));
        }
        if self.struck {
            return Ok(());
        }
        match self.daemons.iter_mut().find_map(Daemon::ended) {
            Some(trouble) => Err(self.troubled(trouble)),
            None => Ok(()),
        }
    }

    /// The memory that virtual machines have now.
    pub(super) fn memory(&mut self) -> Result<Vec<(String, u64)>, Failed> {
        self.context.hosts.memory().or_else(|reason| {
            // A machine that is gone says nothing of its memory either.
            self.check_surroundings()?;
            Err(self.host_failed(reason))
        })
    }

    /// What they had `at_rest`, and what they have now.
    pub(super) fn memory_since(
        &mut self,
        at_rest: Vec<(String, u64)>,
    ) -> Result<Vec<MemoryUse>, Failed> {
        let now = self.memory()?;
        let both = |(label, at_rest_bytes): (String, u64)| {
            let (_, in_use_bytes) = now.iter().find(|(other, _)| *other == label)?;
            Some(MemoryUse {
                in_use_bytes: *in_use_bytes,
                label,
                at_rest_bytes,
            })
        };
        Ok(at_rest.into_iter().filter_map(both).collect())
    }

    pub(super) fn troubled(&self, trouble: Trouble) -> Failed {
        Failed {
            kind: trouble.kind,
            step: self.step,
            cause: trouble.cause,
            stderr: trouble.output,
        }
    }

    /// One assignment for each agent to start, and where.
    pub(super) fn assignments<'h>(
        &mut self,
        places: &'h [Place<'h>],
    ) -> Result<Vec<(&'h Place<'h>, Assignment)>, Failed> {
        let (plan, experiment) = (self.context.plan, self.context.experiment);
        let Some(stack) = plan.stacks.get(&experiment.stack) else {
            let stack = experiment.stack.clone();
            return Err(self.failed(FailureKind::Error, FailureCause::NoStack { stack }));
        };
        let (session, hosts) = (&mut *self.context.session, self.context.hosts);
        let name = session.name.clone();
        let is_here = |host| matches!(hosts.get(host), Some(Host::Local));
        let mut free_port = |host| session.free_port(is_here(host));
        let testbed = &plan.testbed;
        let channels = wiring::channels(
            self.context.flows,
            &self.graph,
            &name,
            testbed,
            &mut free_port,
        );
        let Some(channels) = channels else {
            return Err(self.failed(FailureKind::Error, FailureCause::NoPort));
        };
        let crossing = match stack.adapters().contains(&SHARING) {
            true => wiring::crossing(&self.graph, &channels),
            false => Vec::new(),
        };
        let divided = hosts.divide_memory(&crossing);
        divided.map_err(|reason| self.host_failed(reason))?;
        let (legs, gateways) = legs(stack, experiment);
        let mut assignments = Vec::new();
        for (process, participants) in self.graph.processes() {
            // Every participant's host has a place, and those of one process have the same.
            let host = participants.first().map(|p| p.host);
            let Some(place) = places.iter().find(|place| Some(place.index) == host) else {
                continue;
            };
            let assignment = Assignment {
                trial: self.context.id,
                session: name.clone(),
                scratch: place.scratch.clone(),
                clock: self.context.options.clock,
                legs: legs.clone(),
                gateways: gateways.clone(),
                experiment: experiment.clone(),
                beside: self.context.flows[1..]
                    .iter()
                    .map(|e| (*e).clone())
                    .collect(),
                seed: self.context.seed,
                graph: self.graph.clone(),
                process,
                sharing_cpus: testbed.sharing_cpus(place.index),
                channels: channels.clone(),
                generation: 0,
            };
            assignments.push((place, assignment));
        }
        Ok(assignments)
    }
}

/// The daemons of the legs that touch a host, each once, in the order of the legs.
fn needed<'s>(stack: &'s Stack, graph: &Graph, host: usize) -> Vec<&'s Spec> {
    let is_here = |participant: u16| {
        graph
            .participant(participant)
            .is_some_and(|p| p.host == host)
    };
    let touches = |c: &&Channel| is_here(c.writer) || c.readers.iter().any(|r| is_here(*r));
    let channels = graph.channels.iter().filter(touches);
    let legs: BTreeSet<u16> = channels
        .flat_map(|c| {
            let written = is_here(c.writer).then_some(c.leg);
            let read = c.readers.iter().any(|r| is_here(*r));
            written.into_iter().chain(read.then(|| c.leg_of_readers()))
        })
        .collect();
    let mut all = Vec::new();
    let legs = legs.into_iter().flat_map(|leg| stack.daemons_of(leg));
    // The hosts of a chain are those of the testbed, in their order.
    let programs = stack.chain.iter().flat_map(|chain| chain.programs_on(host));
    for daemon in legs.chain(programs) {
        if !all.contains(&daemon) {
            all.push(daemon);
        }
    }
    all
}

/// What carries the messages, and what joins it.
fn legs(stack: &Stack, experiment: &Experiment) -> (Vec<Leg>, Vec<Gateway>) {
    let Some(chain) = &stack.chain else {
        let leg = Leg {
            adapter: stack.adapter.clone(),
            options: stack.options.clone(),
            wait: experiment.wait,
            asks: stack.asks,
        };
        return (vec![leg], Vec::new());
    };
    let leg = |leg: &ChainLeg| Leg {
        adapter: leg.adapter.clone(),
        options: leg.options.clone(),
        wait: leg.wait.unwrap_or(experiment.wait),
        asks: false,
    };
    let legs = chain.legs.iter().map(leg).collect();
    (legs, chain.gateways.clone())
}

/// The most participants that a label names.
const MOST_NAMED: usize = 4;

/// `agent (source 0) with adapter uds`, or `agent (source 0 of control) on h1 with adapter tcp`.
pub(super) fn label(assignment: &Assignment, host: Option<&str>) -> String {
    let name = |p: &Participant| {
        let flow = assignment.experiment_of(p).flow_name();
        let flow = flow.map(|flow| format!(" of {flow}")).unwrap_or_default();
        format!("{} {}{flow}", p.role.as_str(), p.index)
    };
    let mut roles: Vec<String> = assignment.participants().map(name).collect();
    let more = roles.len().saturating_sub(MOST_NAMED);
    if assignment.experiment.flow.is_some() && more > 0 {
        roles.truncate(MOST_NAMED);
        roles.push(format!("and {more} more"));
    }
    let graph = &assignment.graph;
    let own = assignment.participants().flat_map(|p| {
        let channels = graph.incoming(p.index).chain(graph.outgoing(p.index));
        channels.map(|c| usize::from(c.leg_of(p.index)))
    });
    let own: BTreeSet<usize> = own.collect();
    let legs = assignment.legs.iter().enumerate();
    // A probe is on none and names what it stands for.
    let legs = legs.filter(|(leg, _)| own.is_empty() || own.contains(leg));
    let adapters: Vec<_> = legs.map(|(_, leg)| leg.adapter.as_str()).collect();
    let on = host.map(|host| format!(" on {host}")).unwrap_or_default();
    format!(
        "agent ({}){on} with adapter {}",
        roles.join(", "),
        adapters.join(", ")
    )
}

/// The machines that take part: this one, and those of other hosts that are none of its namespaces.
pub(super) fn machines(testbed: &Testbed, graph: &Graph) -> Vec<String> {
    let own = rustix::system::uname();
    let mut machines = vec![own.nodename().to_string_lossy().into_owned()];
    for host in graph.hosts() {
        let Some(host) = testbed.hosts.get(host) else {
            continue;
        };
        let name = match &host.reach {
            Reach::Ssh { destination } => format!("{} ({destination})", host.name),
            Reach::Vm(machine) => {
                let by = machine.accelerator.as_str();
                format!("{} (virtual, {by})", host.name)
            }
            Reach::Local | Reach::Namespace => continue,
        };
        if !machines.contains(&name) {
            machines.push(name);
        }
    }
    machines
}
