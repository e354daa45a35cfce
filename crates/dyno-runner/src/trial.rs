//! One trial, step by step, with a deadline on every step.

mod blame;
mod faults;
mod ground;
mod idle;
mod networks;
mod nominal;
mod outage;
mod scene;
mod stage;

use crate::agent::{Agent, Heard, Kind};
use crate::aggregate;
use crate::clocks::{self, TrialClocks};
use crate::daemon::Daemon;
use crate::meters::{Metering, Meters};
use crate::noise;
use crate::outage::Seen;
use crate::startup;
use dyno_measure::LoadReading;
use dyno_model::cause::{Cause, FailureCause, Warning};
use dyno_model::plan::Extent;
use dyno_model::protocol::{self, AgentResult, Assignment, Command, Report};
use dyno_model::record::FailureKind;
use dyno_model::{Experiment, Nanos, Participant, Start, TrialId, TrialRecord};
use nominal::nominal;
use scene::Observed;
pub(crate) use stage::Context;
use stage::{Failed, Networks, Place, Trial};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Runs the trial to its end, whatever that is. Returns the record of each flow, in their order.
#[expect(
    clippy::too_many_lines,
    reason = "what every trial goes through, however it ends"
)]
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
        let look = || {
            let mut warnings = Vec::new();
            let noise = noise::before(flows, &graph, context.clock, &mut warnings);
            (noise, warnings)
        };
        (record.noise, record.warnings) = match context.meeting {
            Some(meeting) => meeting.before(look),
            None => look(),
        };
    }
    let (sender, inbox) = mpsc::channel();
    let mut trial = Trial {
        context,
        graph,
        agents: Vec::new(),
        together: usize::MAX,
        daemons: Vec::new(),
        clocks: TrialClocks::default(),
        meters: None,
        networks: Networks::default(),
        polls: false,
        metered: true,
        started: None,
        inbox,
        struck: false,
        step: "start",
    };
    let found = match experiment.faults.is_empty() {
        true => trial.lead(sender, &mut record).map(Found::Results),
        false => trial
            .lead_through_faults(sender, &mut record)
            .map(|observed| Found::Outage(Box::new(observed))),
    };
    if let Some(meeting) = trial.context.meeting {
        meeting.leave();
    }
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
    let outcome = found.and_then(|found| {
        let records = match found {
            Found::Results(results) => {
                let processes = trial.metered.then_some(trial.agents.len());
                let graph = &trial.graph;
                aggregate::fill(&record, flows, graph, sends_later, processes, results)
            }
            Found::Outage(observed) => {
                let seen = Seen {
                    experiment,
                    graph: &trial.graph,
                    seed: trial.context.seed,
                    start: observed.start,
                    window: observed.window,
                    made: &observed.made,
                    struck: &observed.struck,
                    events: observed.events,
                };
                crate::outage::fill(&mut record, seen).map(|()| vec![record.clone()])
            }
        };
        records.map_err(inconsistent)
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

/// What a trial has brought.
enum Found {
    /// Of each agent.
    Results(Vec<AgentResult>),
    /// Of one with faults: the logs of its participants.
    Outage(Box<Observed>),
}

/// A trial from the start of its warm-up on.
struct Running {
    /// What the machine did is counted from here on.
    load: LoadReading,
    /// What its daemons and the host use, from the first reading on.
    metering: Metering,
    /// When the warm-up begins.
    start: Nanos,
    /// When the window begins; where the warm-up is a number of messages, when that does.
    window: Nanos,
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
        self.start_daemons(&places)?;
        let at_rest = self.memory()?;
        self.start_agents(&groups, &inbox)?;
        drop(inbox);
        let before = self.set_up(&groups, record)?;
        let deadline = self.deadline();
        let mut links = None;
        let (load, metering) = match before {
            Some(before) => {
                // Nothing follows the first messages: agents only have to tell of them.
                let at = self.context.clock.now();
                self.tell(&Command::Start { at });
                before
            }
            None => {
                let running = self.warm_up(Nanos::ZERO, record)?;
                links = self.open_links(running.window, record)?;
                (running.load, running.metering)
            }
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
        if let Some(links) = links {
            self.close_links(links, record);
        }
        if self.context.hosts.is_local_machine() {
            record.noise.window = Some(load.until_now());
        }
        let drain = deadline + drain;
        let last = self.each("drain", drain, |report| match report {
            Report::Drained { last } => Some(last),
            _ => None,
        })?;
        let last = last.into_iter().max().unwrap_or(Nanos::ZERO);
        self.close_meters(last, record);
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
        self.wait_for_ends(deadline)?;
        self.check_surroundings()?;
        Ok(results.into_iter().flatten().collect())
    }

    /// How long each step may take.
    fn deadline(&self) -> Duration {
        Duration::from(self.context.experiment.deadline)
    }

    /// Starts an agent for each assignment, at its place.
    fn start_agents(
        &mut self,
        groups: &[(&Place<'_>, Assignment)],
        inbox: &mpsc::Sender<(usize, Heard)>,
    ) -> Result<(), Failed> {
        self.polls = groups.iter().any(|(_, assignment)| assignment.polls());
        for (place, assignment) in groups {
            self.check_interrupt()?;
            self.start_agent(place, assignment, inbox)?;
        }
        Ok(())
    }

    /// Starts one, as the next of the trial's agents.
    fn start_agent(
        &mut self,
        place: &Place<'_>,
        assignment: &Assignment,
        inbox: &mpsc::Sender<(usize, Heard)>,
    ) -> Result<(), Failed> {
        let label = ground::label(assignment, place.named);
        let command = place.host.command(self.context.agent);
        let command = command.map_err(|e| self.host_failed(e))?;
        let kind = match (place.host.is_local_machine(), self.context.experiment.start) {
            (false, _) => Kind::Remote,
            (true, Some(Start::Container)) => Kind::Container,
            (true, Some(Start::Process) | None) => Kind::Process,
        };
        let index = self.agents.len();
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
        Ok(())
    }

    /// From the first word of the agents until all ends are linked; newcomers are ready then and wait. Returns what was
    /// read before go, where the start is what is measured.
    fn set_up(
        &mut self,
        groups: &[(&Place<'_>, Assignment)],
        record: &mut TrialRecord,
    ) -> Result<Option<(LoadReading, Metering)>, Failed> {
        let deadline = self.deadline();
        self.greet(groups)?;
        for (index, (_, assignment)) in groups.iter().enumerate() {
            let mut assignment = assignment.clone();
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
        let newcomers = groups.iter().filter(|(_, a)| self.is_newcomer(a));
        self.together = groups.len() - newcomers.count();
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
        Ok(before)
    }

    /// Whether the process joins only while the others run.
    fn is_newcomer(&self, assignment: &Assignment) -> bool {
        let (graph, experiment) = (&self.graph, self.context.experiment);
        let mut participants = assignment.participants();
        participants.any(|p| graph.is_newcomer(experiment, p.index))
    }

    /// Hears the first word of each agent, and asks the hosts of other clocks for theirs.
    fn greet(&mut self, groups: &[(&Place<'_>, Assignment)]) -> Result<(), Failed> {
        let deadline = self.deadline();
        let hellos = self.each("start", deadline, |report| match report {
            Report::Hello {
                protocol, counter, ..
            } => Some((protocol, counter)),
            _ => None,
        })?;
        let slowest = self.agents.iter().filter_map(Agent::start_took).max();
        self.started = self.context.experiment.start.and(slowest);
        for (protocol, _) in &hellos {
            self.check_protocol(*protocol)?;
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
        Ok(())
    }

    /// Fails where an agent is of another build.
    fn check_protocol(&self, agent: u32) -> Result<(), Failed> {
        let runner = protocol::VERSION;
        match agent == runner {
            true => Ok(()),
            false => Err(self.failed(
                FailureKind::Error,
                FailureCause::OtherProtocol { agent, runner },
            )),
        }
    }

    /// Notes what was used until the `last` arrival.
    fn close_meters(&mut self, last: Nanos, record: &mut TrialRecord) {
        let Some(mut meters) = self.meters.take() else {
            return;
        };
        meters.note();
        // What the host does is of both sides, and what a side costs includes its guards.
        self.metered = meters.late().is_none() && self.context.meeting.is_none();
        let late = meters.late().map(|late| Warning::RunnerReadLate { late });
        record.warnings.extend(late.map(Cause::Known));
        record.cost.processes = meters.costs(&self.daemons, last);
        record.cost.machines = meters.of_machines(last);
        record.cost.host_cpu = meters.host_cpu(last);
        record.cost.interrupts = meters.interrupts(last);
    }

    /// Waits until all agents have ended in order, after their results.
    fn wait_for_ends(&mut self, within: Duration) -> Result<(), Failed> {
        let end = Instant::now() + within;
        for agent in &mut self.agents {
            let status = agent.status_by(end);
            let (kind, cause) = match status {
                Some(status) if status.success() => continue,
                Some(status) => (FailureKind::Crash, agent.end_of(status, true)),
                None => {
                    let agent = agent.label.clone();
                    (FailureKind::Hang, FailureCause::AgentStays { agent })
                }
            };
            let stderr = agent.stderr();
            return Err(Failed {
                kind,
                step: "exit",
                cause: Box::new(cause),
                stderr,
            });
        }
        Ok(())
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

    /// From the start, which comes after a `wait`, to the command that begins the window.
    fn warm_up(&mut self, wait: Nanos, record: &mut TrialRecord) -> Result<Running, Failed> {
        let experiment = self.context.experiment;
        let Some(longest) = experiment.settle else {
            let load = self.read_load();
            // A flood does not wait for its start, and only a warm-up that is a time leaves some for a reading in it.
            let metering = match experiment.warmup {
                Extent::Duration(time) if time > Nanos::ZERO => None,
                _ => Some(self.meters().begin()),
            };
            let start = self.agree_on_start()?.saturating_add(wait);
            self.tell(&Command::Start { at: start });
            if let Extent::Duration(warmup) = experiment.warmup {
                record.warmup = warmup;
            }
            let window = start.saturating_add(record.warmup);
            let metering = metering.unwrap_or_else(|| self.meters().begin_before(window));
            return Ok(Running {
                load,
                metering,
                start,
                window,
            });
        };
        let start = self.context.clock.now().saturating_add(self.notice());
        self.tell(&Command::Start { at: start });
        let within = self.deadline() + Duration::from(longest);
        let steady = self.each("warm-up", within, |report| match report {
            Report::Steady { steady } => Some(steady),
            _ => None,
        })?;
        record.unsteady = !steady.into_iter().all(|s| s);
        let load = self.read_load();
        let window = self.context.clock.now().saturating_add(self.notice());
        self.tell(&Command::Window { at: window });
        record.warmup = window.saturating_sub(start);
        Ok(Running {
            load,
            metering: self.meters().begin_before(window),
            start,
            window,
        })
    }

    fn read_load(&self) -> LoadReading {
        let flows = self.context.flows;
        let mut own: Vec<u32> = self.agents.iter().map(Agent::pid).collect();
        let daemons = self.daemon_pids();
        // The threads of a container cannot be seen from here, and a daemon works on whichever CPUs are left.
        let is_seen = daemons.is_empty() && !self.context.experiment.workload.kind().is_start();
        let threads = own.iter().map(|pid| dyno_measure::thread_cpus(*pid));
        let threads = is_seen
            .then(|| threads.collect::<Option<Vec<_>>>())
            .flatten();
        let cpus = match threads {
            Some(threads) => noise::busy_cpus(
                flows,
                &dyno_measure::allowed_cores(),
                &threads.into_iter().flatten().collect(),
            ),
            // Where it is not known which are busy, all that may be are.
            None => noise::used_cpus(flows),
        };
        own.extend(daemons);
        dyno_measure::read_load(&cpus, &own)
    }

    fn active_agents(&self) -> Vec<bool> {
        // Agents stand in the order of processes.
        let processes = self.graph.processes().into_values();
        let is_active = |all: Vec<&Participant>| all.iter().any(|p| p.role.is_active());
        processes.map(is_active).collect()
    }
}
