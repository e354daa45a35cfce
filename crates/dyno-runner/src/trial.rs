//! One trial, step by step, with a deadline on every step.

mod blame;
mod ground;
mod networks;
mod nominal;

use crate::RunOptions;
use crate::agent::{Agent, AgentCommand, Heard, Kind};
use crate::aggregate;
use crate::clocks::{self, HostClocks, TrialClocks};
use crate::daemon::Daemon;
use crate::hosts::Hosts;
use crate::meters::{Metering, Meters};
use crate::noise;
use crate::session::Session;
use crate::startup;
use dyno_measure::{Clock, LoadReading};
use dyno_model::cause::{Cause, FailureCause, Warning};
use dyno_model::plan::Extent;
use dyno_model::protocol::{self, AgentResult, Command, Report};
use dyno_model::record::{FailureKind, Outcome};
use dyno_model::{Experiment, Graph, Nanos, Participant, Plan, Start, TrialId, TrialRecord};
use networks::Networks;
use nominal::nominal;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// What a trial needs.
pub(crate) struct Context<'a, 'p> {
    pub(crate) plan: &'a Plan,
    /// The first of the flows, with what holds for all of them.
    pub(crate) experiment: &'a Experiment,
    /// What runs at the same time; one experiment alone is one flow.
    pub(crate) flows: &'a [&'a Experiment],
    pub(crate) id: TrialId,
    pub(crate) position: u32,
    pub(crate) seed: u64,
    pub(crate) clock: Clock,
    pub(crate) options: &'a RunOptions,
    pub(crate) agent: &'a AgentCommand,
    pub(crate) hosts: &'a Hosts,
    pub(crate) session: &'a mut Session<'p>,
    pub(crate) clocks: &'a mut HostClocks,
}

/// Between the command and the instant of go, start or window: enough for it to reach every agent, and for the
/// readings before a window to be over long before it.
const LEAD: Nanos = Nanos::from_millis(12);

/// The same where agents are on other machines.
const REMOTE_LEAD: Nanos = Nanos::from_millis(100);

/// How long the interrupt may stay unnoticed.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the trial to its end, whatever that is. Returns the record of each flow, in their order.
pub(crate) fn run(context: Context<'_, '_>) -> Vec<TrialRecord> {
    let began = Instant::now();
    let mut record = aggregate::blank(context.id, context.position);
    let graph = context.plan.graph(context.experiment);
    record.machines = ground::machines(&context.plan.testbed, &graph);
    let (experiment, flows) = (context.experiment, context.flows);
    let bare = &context.options.bare;
    let stack = context.plan.stacks.get(&experiment.stack);
    let sends_later = stack.is_some_and(|s| s.sends_later);
    if context.hosts.is_local_machine() {
        record.noise = noise::before(flows, &graph, context.clock, &mut record.warnings);
    }
    let (sender, inbox) = mpsc::channel();
    let mut trial = Trial {
        context,
        graph,
        agents: Vec::new(),
        daemons: Vec::new(),
        clocks: TrialClocks::default(),
        meters: None,
        networks: Networks::default(),
        polls: false,
        metered: true,
        started: None,
        inbox,
        step: "start",
    };
    let results = trial.lead(sender, &mut record);
    // A trial that failed has not come to it.
    trial.close_networks(&mut record);
    let disturbances = dyno_measure::disturbances(&record.noise, bare);
    record.disturbed = disturbances.into_iter().map(Into::into).collect();
    let inconsistent = |cause| Failed {
        kind: FailureKind::Inconsistent,
        step: "collect",
        cause: Box::new(cause),
        stderr: Vec::new(),
    };
    let outcome = results.and_then(|results| {
        let processes = trial.metered.then_some(trial.agents.len());
        aggregate::fill(
            &record,
            flows,
            &trial.graph,
            sends_later,
            processes,
            results,
        )
        .map_err(inconsistent)
    });
    let started = trial.started;
    drop(trial);
    record.wall = Nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
    match outcome {
        Ok(mut records) => {
            for of_flow in &mut records {
                of_flow.wall = record.wall;
                let added =
                    started.map(|took| startup::add_start(took, &mut of_flow.distributions));
                if let Some(Err(e)) = added {
                    let error = e.to_string();
                    of_flow
                        .warnings
                        .push(Warning::StartNotRecorded { error }.into());
                }
            }
            records
        }
        Err(failed) => {
            record.outcome = failed.into();
            let of_flow = |e: &&Experiment| TrialRecord {
                id: TrialId {
                    experiment: e.id,
                    ..record.id
                },
                ..record.clone()
            };
            flows.iter().map(of_flow).collect()
        }
    }
}

struct Failed {
    kind: FailureKind,
    step: &'static str,
    // Results stay small.
    cause: Box<FailureCause>,
    stderr: Vec<String>,
}

impl From<Failed> for Outcome {
    fn from(failed: Failed) -> Self {
        Outcome::Failed {
            kind: failed.kind,
            step: failed.step.to_owned(),
            cause: Cause::Known(*failed.cause),
            stderr: failed.stderr,
        }
    }
}

struct Trial<'a, 'p> {
    context: Context<'a, 'p>,
    graph: Graph,
    // Dropped in this order: agents end before the daemons that they use.
    agents: Vec<Agent>,
    daemons: Vec<Daemon>,
    clocks: TrialClocks,
    /// Once the window is over, until the last message has arrived.
    meters: Option<Meters>,
    networks: Networks,
    /// Whether a participant polls for messages.
    polls: bool,
    /// Whether the runner could read in time what daemons and the host use.
    metered: bool,
    /// How long the slowest start of its agents took, where that is measured.
    started: Option<Nanos>,
    inbox: mpsc::Receiver<(usize, Heard)>,
    step: &'static str,
}

impl<'a> Trial<'a, '_> {
    fn lead(
        &mut self,
        inbox: mpsc::Sender<(usize, Heard)>,
        record: &mut TrialRecord,
    ) -> Result<Vec<AgentResult>, Failed> {
        let places = self.places()?;
        self.open_networks(&places, record)?;
        let groups = self.assignments(&places)?;
        self.polls = groups.iter().any(|(_, assignment)| assignment.polls());
        self.start_daemons(&places)?;
        let at_rest = self.memory()?;
        let start = self.context.experiment.start;
        for (index, (place, assignment)) in groups.iter().enumerate() {
            self.check_interrupt()?;
            let label = ground::label(assignment, place.named);
            let command = place.host.command(self.context.agent);
            let command = command.map_err(|e| self.host_failed(e))?;
            let kind = match (place.host.is_local_machine(), start) {
                (false, _) => Kind::Remote,
                (true, Some(Start::Container)) => Kind::Container,
                (true, Some(Start::Process) | None) => Kind::Process,
            };
            let agent = Agent::start(command, kind, index, label, inbox.clone())
                .and_then(|agent| {
                    self.context.session.note_process(agent.pid())?;
                    Ok(agent)
                })
                .map_err(|e| {
                    let cause = FailureCause::AgentNotStarted {
                        program: self.context.agent.program.display().to_string(),
                        error: e.to_string(),
                        container: kind == Kind::Container,
                    };
                    self.failed(FailureKind::Error, cause)
                })?;
            self.agents.push(agent);
        }
        drop(inbox);
        let deadline = Duration::from(self.context.experiment.deadline);

        let hellos = self.each("start", deadline, |report| match report {
            Report::Hello {
                protocol, counter, ..
            } => Some((protocol, counter)),
            _ => None,
        })?;
        let slowest = self.agents.iter().filter_map(Agent::start_took).max();
        self.started = start.and(slowest);
        if let Some((other, _)) = hellos.iter().find(|p| p.0 != protocol::VERSION) {
            let (agent, runner) = (*other, protocol::VERSION);
            let cause = FailureCause::OtherProtocol { agent, runner };
            return Err(self.failed(FailureKind::Error, cause));
        }
        self.step = "clock";
        let asked = TrialClocks::before(
            self.context.clocks,
            &self.context.plan.testbed,
            groups.iter().map(|(place, _)| place.index).collect(),
            &hellos.iter().map(|hello| hello.1).collect::<Vec<_>>(),
            &mut self.agents,
            deadline,
        );
        self.clocks = asked.map_err(|t| self.clock_trouble(t))?;
        for (index, (_, mut assignment)) in groups.into_iter().enumerate() {
            if let Some(clock) = self.clocks.of_agent(index) {
                assignment.clock = clock;
            }
            self.agents[index].send(&Command::Prepare(Box::new(assignment)));
        }
        let ready = self.each("prepare", deadline, |report| match report {
            Report::Ready(applied) => Some(applied),
            _ => None,
        })?;
        for (index, applied) in ready.into_iter().enumerate() {
            self.clocks.note_ptp(index, applied.ptp);
            record
                .warnings
                .extend(applied.warnings.into_iter().map(Cause::Known));
        }
        let before = self.before_go();
        self.tell(&Command::Go {
            at: self.context.clock.now().saturating_add(self.notice()),
        });
        self.each("match", deadline, |r| {
            matches!(r, Report::Matched).then_some(())
        })?;
        self.tell(&Command::Link);
        self.each("link", deadline, |r| {
            matches!(r, Report::Linked).then_some(())
        })?;
        let (load, metering) = match before {
            Some(before) => {
                // Nothing follows the first messages: agents only have to tell of them.
                let at = self.context.clock.now();
                self.tell(&Command::Start { at });
                before
            }
            None => self.warm_up(record, deadline)?,
        };
        let active = self.active_agents();
        // A sender that is blocked goes on until the drain would be over.
        let drain = Duration::from(self.context.experiment.drain);
        let window = deadline + nominal(self.context.experiment) + drain;
        let sent = self.some("window", window, &active, |report| match report {
            Report::Done { sent } => Some(sent),
            _ => None,
        })?;
        // First, since agents read what they use from then on: the cost is taken at the last arrival, between two readings.
        self.tell(&Command::Drain {
            sent: sent.into_iter().flatten().collect(),
        });
        self.meters.insert(metering.begun()).note();
        if self.context.hosts.is_local_machine() {
            record.noise.window = Some(load.until_now());
        }
        let drain = deadline + drain;
        let last = self.each("drain", drain, |report| match report {
            Report::Drained { last } => Some(last),
            _ => None,
        })?;
        let last = last.into_iter().max().unwrap_or(Nanos::ZERO);
        if let Some(mut meters) = self.meters.take() {
            meters.note();
            self.metered = meters.late().is_none();
            let late = meters.late().map(|late| Warning::RunnerReadLate { late });
            record.warnings.extend(late.map(Cause::Known));
            record.cost.processes = meters.costs(&self.daemons, last);
            record.cost.machines = meters.of_machines(last);
            record.cost.host_cpu = meters.host_cpu(last);
            record.cost.interrupts = meters.interrupts(last);
        }
        record.cost.memory = self.memory_since(at_rest)?;
        self.close_networks(record);
        self.step = "clock";
        let asked = self
            .clocks
            .after(self.context.clocks, &mut self.agents, deadline);
        record.clocks = asked.map_err(|t| self.clock_trouble(t))?;
        record.one_way_bound = self.clocks.one_way_bound(&self.graph, &record.clocks);
        self.tell(&Command::Collect { last });
        let results = self.each("collect", deadline, |report| match report {
            Report::Result { exchanges } => Some(exchanges),
            _ => None,
        })?;
        let end = Instant::now() + deadline;
        for agent in &mut self.agents {
            match agent.status_by(end) {
                Some(status) if status.success() => {}
                Some(status) => {
                    let cause = agent.end_of(status, true);
                    let stderr = agent.stderr();
                    return Err(Failed {
                        kind: FailureKind::Crash,
                        step: "exit",
                        cause: Box::new(cause),
                        stderr,
                    });
                }
                None => {
                    let label = agent.label.clone();
                    let cause = FailureCause::AgentStays { agent: label };
                    let stderr = agent.stderr();
                    return Err(Failed {
                        kind: FailureKind::Hang,
                        step: "exit",
                        cause: Box::new(cause),
                        stderr,
                    });
                }
            }
        }
        self.check_surroundings()?;
        Ok(results.into_iter().flatten().collect())
    }

    fn clock_trouble(&mut self, trouble: clocks::Trouble) -> Failed {
        match trouble {
            clocks::Trouble::Gone(agent) => self.blame(agent, None),
            clocks::Trouble::Silent(cause) => self.failed(FailureKind::Hang, cause),
        }
    }

    fn daemon_pids(&self) -> Vec<u32> {
        self.daemons.iter().map(Daemon::pid).collect()
    }

    fn meters(&self) -> Meters {
        // Before the first message of a counted warm-up who polls has only waited, which agents leave out and the host cannot.
        let waits = self.polls && self.context.experiment.counted_warmup().is_some();
        let host = self.context.hosts.is_local_machine() && !waits;
        let machines = self.context.hosts.processes();
        Meters::new(
            self.context.clock,
            &self.daemon_pids(),
            machines,
            self.polls,
            host,
        )
    }

    /// Where the start itself is measured: what the machine and the daemons did before it.
    fn before_go(&self) -> Option<(LoadReading, Metering)> {
        let workload = self.context.experiment.workload;
        workload
            .kind()
            .is_start()
            .then(|| (self.read_load(), self.meters().begin()))
    }

    /// From the start to the command that begins the window; what the machine did is counted from
    /// the returned reading on, and what its daemons and the host used from the first reading of the meters on.
    fn warm_up(
        &mut self,
        record: &mut TrialRecord,
        deadline: Duration,
    ) -> Result<(LoadReading, Metering), Failed> {
        let experiment = self.context.experiment;
        let Some(longest) = experiment.settle else {
            let load = self.read_load();
            // A flood does not wait for its start, and only a warm-up that is a time leaves some for a reading in it.
            let metering = match experiment.warmup {
                Extent::Duration(time) if time > Nanos::ZERO => None,
                _ => Some(self.meters().begin()),
            };
            let at = self.context.clock.now().saturating_add(self.notice());
            self.tell(&Command::Start { at });
            if let Extent::Duration(warmup) = experiment.warmup {
                record.warmup = warmup;
            }
            let window = at.saturating_add(record.warmup);
            let metering = metering.unwrap_or_else(|| self.meters().begin_before(window));
            return Ok((load, metering));
        };
        let start = self.context.clock.now().saturating_add(self.notice());
        self.tell(&Command::Start { at: start });
        let within = deadline + Duration::from(longest);
        let steady = self.each("warm-up", within, |report| match report {
            Report::Steady { steady } => Some(steady),
            _ => None,
        })?;
        record.unsteady = !steady.into_iter().all(|s| s);
        let load = self.read_load();
        let at = self.context.clock.now().saturating_add(self.notice());
        self.tell(&Command::Window { at });
        record.warmup = at.saturating_sub(start);
        Ok((load, self.meters().begin_before(at)))
    }

    fn read_load(&self) -> LoadReading {
        let mut own: Vec<u32> = self.agents.iter().map(Agent::pid).collect();
        own.extend(self.daemon_pids());
        dyno_measure::read_load(&noise::used_cpus(self.context.flows), &own)
    }

    fn active_agents(&self) -> Vec<bool> {
        // Agents stand in the order of processes.
        let processes = self.graph.processes().into_values();
        let is_active = |all: Vec<&Participant>| all.iter().any(|p| p.role.is_active());
        processes.map(is_active).collect()
    }

    fn notice(&self) -> Nanos {
        match self.agents.iter().any(Agent::is_remote) {
            true => REMOTE_LEAD,
            false => LEAD,
        }
    }

    fn tell(&mut self, command: &Command) {
        for agent in &mut self.agents {
            agent.send(command);
        }
    }

    fn each<T>(
        &mut self,
        step: &'static str,
        within: Duration,
        wanted: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, Failed> {
        let all = vec![true; self.agents.len()];
        self.some(step, within, &all, wanted)
    }

    fn check_interrupt(&self) -> Result<(), Failed> {
        match self.context.options.interrupt.load(Ordering::Relaxed) {
            true => Err(self.failed(FailureKind::Interrupted, FailureCause::Interrupted)),
            false => Ok(()),
        }
    }

    /// Waits until each of the agents marked in `of` has sent a wanted report.
    fn some<T>(
        &mut self,
        step: &'static str,
        within: Duration,
        of: &[bool],
        wanted: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, Failed> {
        self.step = step;
        let deadline = Instant::now() + within;
        let mut got: Vec<Option<T>> = of.iter().map(|_| None).collect();
        while got.iter().zip(of).any(|(g, wanted)| *wanted && g.is_none()) {
            self.check_interrupt()?;
            self.check_surroundings()?;
            self.clocks.during(self.context.clocks, &mut self.agents);
            if let Some(meters) = &mut self.meters {
                meters.note();
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let missing: Vec<usize> = (0..of.len())
                    .filter(|i| of[*i] && got[*i].is_none())
                    .collect();
                return Err(self.hung(within, &missing));
            }
            match self.inbox.recv_timeout(left.min(LOOK)) {
                Ok((index, Heard::Report(Ok(report)))) => match *report {
                    Report::Failed {
                        step,
                        who,
                        trouble,
                        peer_gone,
                    } => {
                        let cause = FailureCause::Agent { who, trouble, step };
                        return Err(self.blame(index, Some((peer_gone, cause))));
                    }
                    report => match wanted(report) {
                        Some(value) => got[index] = Some(value),
                        None => {
                            let agent = self.agents[index].label.clone();
                            let cause = FailureCause::OutOfOrder { agent };
                            return Err(self.failed(FailureKind::Error, cause));
                        }
                    },
                },
                Ok((index, Heard::Report(Err(error)))) => {
                    let agent = self.agents[index].label.clone();
                    let cause = FailureCause::NoReport { agent, error };
                    return Err(self.failed(FailureKind::Error, cause));
                }
                // An agent exits after its result.
                Ok((index, Heard::Silence)) if step == "collect" && got[index].is_some() => {}
                Ok((index, Heard::Silence)) => return Err(self.blame(index, None)),
                Err(_) => {}
            }
        }
        Ok(got.into_iter().flatten().collect())
    }
}
