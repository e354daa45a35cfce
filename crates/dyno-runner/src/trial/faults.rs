//! Makes the faults of a trial, each at its time, and stamps them with the run's clock.

use super::scene::{Act, Gate, Hold, Scene, State, Step, Victim};
use super::stage::{Failed, Trial};
use crate::child;
use crate::daemon::Trouble;
use crate::hosts::Host;
use dyno_model::Nanos;
use dyno_model::cause::{FailureCause, Warning};
use dyno_model::fault::{Fault, FaultKind, FaultMade, On, Target, Way};
use dyno_model::protocol::Command;
use dyno_model::record::FailureKind;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;
use std::io;
use std::process::ExitStatus;
use std::time::Instant;

/// Apart from all else that is drawn from a trial's seed.
const STREAM: u64 = 42;

/// What is done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    Kill,
    Crash,
    Leave,
    Stop,
    Continue,
}

/// A process that a fault may strike.
pub(super) struct Process {
    pid: u32,
    /// `None`: it lives.
    pub(super) status: Option<ExitStatus>,
    pub(super) label: String,
}

impl<'a> Trial<'a, '_> {
    /// The faults of the experiment with whom they strike, due as if the window began at zero. `seats` are the processes of
    /// the graph.
    pub(super) fn acts(&self, seats: &[u16]) -> Result<Vec<Act<'a>>, Failed> {
        let mut acts = Vec::new();
        // A plan has few faults.
        for (number, fault) in (0..).zip(&self.context.experiment.faults) {
            for who in self.targets(fault) {
                let victim = self.victim(fault, &who, seats);
                let nobody = || self.not_made(fault, format!("there is no {who}"));
                acts.push(Act {
                    fault,
                    number,
                    victim: victim.ok_or_else(nobody)?,
                    begin: fault.at,
                    end: Nanos::ZERO,
                    state: State::Waiting,
                    made: None,
                });
            }
        }
        Ok(acts)
    }

    /// Whom the fault strikes: of a storm all of that side.
    fn targets(&self, fault: &Fault) -> Vec<Target> {
        let topology = self.context.experiment.topology;
        match (fault.what, &fault.who) {
            (FaultKind::Storm, Target::Sender { .. }) => (0..topology.senders)
                .map(|number| Target::Sender { number })
                .collect(),
            (FaultKind::Storm, Target::Receiver { .. }) => (0..topology.receivers)
                .map(|number| Target::Receiver { number })
                .collect(),
            (_, who) => vec![who.clone()],
        }
    }

    /// How long the trial waits before its warm-up, and how much later than planned its faults begin, at random: so that they meet no
    /// phase of the library's timers, and none of the stream, more often than others. What lies between faults stays.
    pub(super) fn jitter(&self) -> [Nanos; 2] {
        let experiment = self.context.experiment;
        let mut random = ChaCha8Rng::seed_from_u64(self.context.seed);
        random.set_stream(STREAM);
        let period = experiment.workload.due_period().unwrap_or_default();
        [self.context.plan.longest_phase(experiment), period]
            .map(|longest| Nanos(random.random_range(0..=longest.0)))
    }

    fn not_made(&self, fault: &Fault, error: impl ToString) -> Failed {
        let (fault, error) = (fault.to_string(), error.to_string());
        self.failed(
            FailureKind::Error,
            FailureCause::FaultNotMade { fault, error },
        )
    }

    /// Whom the fault strikes; planning has seen that it is there.
    fn victim(&self, fault: &Fault, who: &Target, seats: &[u16]) -> Option<Victim> {
        if let Target::Daemon { name } = who {
            let mut daemons = self.daemons.iter();
            let number = daemons.position(|d| name.is_empty() || d.name() == name);
            return number.map(Victim::Daemon);
        }
        let participant = self.graph.target(who)?;
        match fault.what.info().on {
            On::Process => {
                let seat = seats.iter().position(|s| *s == participant.process);
                seat.map(Victim::Seat)
            }
            On::Host | On::Link => Some(Victim::Host(participant.host)),
        }
    }

    /// Does what is due of a fault, and looks at what has come of what was done.
    pub(super) fn tend_fault(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        number: usize,
    ) -> Result<(), Failed> {
        let now = self.context.clock.now();
        let act = &scene.acts[number];
        match &act.state {
            State::Waiting if now >= act.begin => self.begin(scene, number),
            State::Ending(by) => {
                let by = *by;
                self.tend_ending(scene, number, by)
            }
            State::Away if now >= act.end => self.restart_daemon(scene, number),
            State::Returning(by) => {
                let by = *by;
                self.tend_return(scene, number, now, by)
            }
            State::Lasting(_) if now >= act.end => self.finish(scene, number),
            State::Waiting | State::Away | State::Lasting(_) | State::Over => Ok(()),
        }
    }

    /// Begins a fault.
    fn begin(&mut self, scene: &mut Scene<'_, 'a>, number: usize) -> Result<(), Failed> {
        let (fault, victim) = (scene.acts[number].fault, scene.acts[number].victim);
        let who = self.name(scene, fault, victim);
        let not_made = |trial: &Self, e: io::Error| trial.not_made(fault, e);
        let (begin, state) = match fault.what {
            FaultKind::Nothing => {
                let now = self.context.clock.now();
                ([now; 2], State::Lasting(Hold::Nothing))
            }
            FaultKind::Join => {
                let Victim::Seat(seat) = victim else {
                    return Err(self.not_made(fault, "only a participant can join"));
                };
                (self.let_open(scene, seat), State::Lasting(Hold::Joined))
            }
            FaultKind::Kill
            | FaultKind::Restart
            | FaultKind::Storm
            | FaultKind::Crash
            | FaultKind::Leave
            | FaultKind::Rejoin => {
                let blow = match fault.what {
                    FaultKind::Crash => Blow::Crash,
                    FaultKind::Leave | FaultKind::Rejoin => Blow::Leave,
                    _ => Blow::Kill,
                };
                let begin = self.strike(scene, &[victim], blow);
                let begin = begin.map_err(|e| not_made(self, e))?;
                scene.overtake(victim);
                match victim {
                    Victim::Seat(seat) => scene.seats[seat].step = Step::Struck,
                    Victim::Daemon(daemon) => scene.away[daemon] = true,
                    Victim::Host(_) => {}
                }
                (begin, State::Ending(Instant::now() + self.deadline()))
            }
            FaultKind::Stop | FaultKind::Freeze => {
                let victims = self.processes(scene, victim);
                let begin = self.strike(scene, &victims, Blow::Stop);
                let begin = begin.map_err(|e| not_made(self, e))?;
                (begin, State::Lasting(Hold::Stopped(victims)))
            }
            FaultKind::LinkDown | FaultKind::Blackout | FaultKind::Loss | FaultKind::Rate => {
                let cut = self.cut(&scene.gates, fault, victim);
                let (hold, begin) = cut.map_err(|e| not_made(self, e))?;
                (begin, State::Lasting(hold))
            }
        };
        self.struck |= fault.what != FaultKind::Nothing;
        let act = &mut scene.acts[number];
        act.state = state;
        act.end = begin[1].saturating_add(fault.lasts);
        act.made = Some(FaultMade {
            fault: act.number,
            who,
            begin,
            end: None,
        });
        Ok(())
    }

    /// Does it to all of these processes. Returns readings of the clock before the first and after the last; where they
    /// are to stand still, when they do.
    fn strike(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        victims: &[Victim],
        blow: Blow,
    ) -> io::Result<[Nanos; 2]> {
        let before = self.context.clock.now();
        let mut stopping = Vec::new();
        for victim in victims {
            if let Victim::Seat(seat) = *victim {
                let own = scene.seats[seat].assignment.participants();
                scene.struck.extend(own.map(|p| p.index));
            }
            let Some(process) = self.process(scene, *victim) else {
                continue;
            };
            match process.status {
                None => self.strike_one(scene, *victim, process.pid, blow)?,
                // It ended while it stood still, or an earlier fault has ended it just now.
                Some(_) if blow == Blow::Continue || scene.is_away(*victim) => continue,
                Some(_) => {
                    let error = format!("{} has ended before", process.label);
                    return Err(io::Error::other(error));
                }
            }
            stopping.push(process.pid);
        }
        if blow == Blow::Stop {
            stopping.into_iter().try_for_each(child::await_stop)?;
        }
        Ok([before, self.context.clock.now()])
    }

    fn strike_one(
        &mut self,
        scene: &Scene<'_, 'a>,
        victim: Victim,
        pid: u32,
        blow: Blow,
    ) -> io::Result<()> {
        let signal = match (blow, victim) {
            (Blow::Leave, Victim::Seat(seat)) => {
                self.agents[scene.seats[seat].agent].send(&Command::Leave);
                return Ok(());
            }
            (Blow::Leave, Victim::Daemon(daemon)) => {
                self.daemons[daemon].ask_to_end();
                return Ok(());
            }
            (Blow::Crash, _) => {
                child::without_core(pid)?;
                return child::send(pid, Signal::ABORT);
            }
            (Blow::Kill | Blow::Leave, _) => Signal::KILL,
            (Blow::Stop, _) => Signal::STOP,
            (Blow::Continue, _) => Signal::CONT,
        };
        match victim {
            // With the processes that it has started.
            Victim::Daemon(daemon) => self.daemons[daemon].signal_group(signal),
            Victim::Seat(_) | Victim::Host(_) => child::send(pid, signal)?,
        }
        Ok(())
    }

    /// The process of a victim, unless that is a host.
    pub(super) fn process(&mut self, scene: &Scene<'_, 'a>, victim: Victim) -> Option<Process> {
        match victim {
            Victim::Seat(seat) => {
                let agent = &mut self.agents[scene.seats[seat].agent];
                Some(Process {
                    pid: agent.pid(),
                    status: agent.status(),
                    label: agent.label.clone(),
                })
            }
            Victim::Daemon(daemon) => {
                let daemon = &mut self.daemons[daemon];
                Some(Process {
                    pid: daemon.pid(),
                    status: daemon.status(),
                    label: daemon.label().to_owned(),
                })
            }
            Victim::Host(_) => None,
        }
    }

    /// The processes that are to stand still: that one, or of a host all that live.
    fn processes(&mut self, scene: &Scene<'_, 'a>, victim: Victim) -> Vec<Victim> {
        let Victim::Host(host) = victim else {
            return vec![victim];
        };
        let mut all = Vec::new();
        for (number, seat) in scene.seats.iter().enumerate() {
            if seat.place.index == host && self.agents[seat.agent].status().is_none() {
                all.push(Victim::Seat(number));
            }
        }
        for (number, daemon) in self.daemons.iter_mut().enumerate() {
            if daemon.place() == host && daemon.status().is_none() {
                all.push(Victim::Daemon(number));
            }
        }
        all
    }

    /// The gates that faults need, none of them shut.
    pub(super) fn gates(&self, acts: &[Act<'a>]) -> Result<Vec<Gate>, Failed> {
        let mut gates: Vec<Gate> = Vec::new();
        for act in acts {
            let Victim::Host(host) = act.victim else {
                continue;
            };
            for out in ways(act.fault).iter().copied() {
                if gates.iter().any(|g| (g.host, g.out) == (host, out)) {
                    continue;
                }
                let dropper = self.context.hosts.dropper(host, out).map_err(|e| {
                    let error = match e.kind() {
                        io::ErrorKind::PermissionDenied => format!(
                            "{e}: to drop packets takes CAP_BPF and CAP_NET_ADMIN of the machine itself, which root has \
                             outside of user namespaces and of most containers"
                        ),
                        _ => e.to_string(),
                    };
                    self.not_made(act.fault, error)
                })?;
                gates.push(Gate { host, out, dropper });
            }
        }
        Ok(gates)
    }

    /// Takes the link of a host down, or drops its packets.
    fn cut(
        &self,
        gates: &[Gate],
        fault: &Fault,
        victim: Victim,
    ) -> io::Result<(Hold<'a>, [Nanos; 2])> {
        let (hosts, clock) = (self.context.hosts, self.context.clock);
        let Victim::Host(host) = victim else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if fault.what == FaultKind::LinkDown {
            let Some(Host::Namespace(namespace)) = hosts.get(host) else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            let (unplugged, begin) = namespace.unplug(clock)?;
            return Ok((Hold::Unplugged(unplugged), begin));
        }
        if let Some(rate) = fault.rate_bits {
            let begin = self.set_rate(host, Some(rate))?;
            return Ok((Hold::Slowed(host), begin));
        }
        let share = fault.share.unwrap_or(1.0);
        let of_fault = |gate: &Gate| gate.host == host && ways(fault).contains(&gate.out);
        let own = (0..gates.len()).filter(|number| of_fault(&gates[*number]));
        let own: Vec<usize> = own.collect();
        let before = clock.now();
        for number in &own {
            gates[*number].dropper.set(share, fault.burst)?;
        }
        Ok((Hold::Dropping(own), [before, clock.now()]))
    }

    /// Gives the link of a host another rate, or its own again. When that was, by readings of the clock before and after.
    fn set_rate(&self, host: usize, rate_bits: Option<u64>) -> io::Result<[Nanos; 2]> {
        let (hosts, clock) = (self.context.hosts, self.context.clock);
        let before = clock.now();
        let set = hosts.set_rate(&self.context.plan.testbed, host, rate_bits);
        set.map_err(io::Error::other)?;
        Ok([before, clock.now()])
    }

    /// Ends a fault that lasts.
    fn finish(&mut self, scene: &mut Scene<'_, 'a>, number: usize) -> Result<(), Failed> {
        let clock = self.context.clock;
        let act = &mut scene.acts[number];
        let fault = act.fault;
        let state = std::mem::replace(&mut act.state, State::Over);
        let State::Lasting(hold) = state else {
            return Ok(());
        };
        let end = match hold {
            Hold::Nothing => [clock.now(); 2],
            Hold::Joined => {
                let victim = scene.acts[number].victim;
                if let Victim::Seat(seat) = victim
                    && (scene.seats[seat].step != Step::Playing
                        || self.agents[scene.seats[seat].agent].status().is_some())
                {
                    return Err(self.not_joined(scene, fault, seat, None));
                }
                let end = self.strike(scene, &[victim], Blow::Leave);
                let end = end.map_err(|e| self.not_made(fault, e))?;
                if let Victim::Seat(seat) = victim {
                    scene.seats[seat].step = Step::Struck;
                }
                scene.acts[number].state = State::Ending(Instant::now() + self.deadline());
                end
            }
            Hold::Stopped(victims) => {
                let end = self.strike(scene, &victims, Blow::Continue);
                end.map_err(|e| self.not_made(fault, e))?
            }
            Hold::Unplugged(unplugged) => {
                let host = unplugged.host().to_owned();
                unplugged.plug(clock).map_err(|e| {
                    let error = e.to_string();
                    self.failed(
                        FailureKind::Error,
                        FailureCause::LinkStaysDown { host, error },
                    )
                })?
            }
            Hold::Dropping(gates) => {
                let before = clock.now();
                for number in gates {
                    let opened = scene.gates[number].dropper.set(0.0, None);
                    opened.map_err(|e| self.not_made(fault, e))?;
                }
                [before, clock.now()]
            }
            Hold::Slowed(host) => {
                let end = self.set_rate(host, None);
                end.map_err(|e| self.not_made(fault, e))?
            }
        };
        note_end(&mut scene.acts[number], end);
        Ok(())
    }

    /// A process is to end: once it has, the fault is over, or a new one is started.
    fn tend_ending(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        number: usize,
        by: Instant,
    ) -> Result<(), Failed> {
        let (fault, victim) = (scene.acts[number].fault, scene.acts[number].victim);
        let Some(Process { status, label, .. }) = self.process(scene, victim) else {
            return Ok(());
        };
        let Some(status) = status else {
            return match Instant::now() < by {
                true => Ok(()),
                false => Err(self.survived(fault, label)),
            };
        };
        let is_in_order = matches!(
            fault.what,
            FaultKind::Leave | FaultKind::Rejoin | FaultKind::Join
        );
        if is_in_order && !status.success() {
            scene.warnings.push(Warning::EndedAfterFault {
                process: label,
                exit: child::exit(status),
                said: self.last_words(scene, victim),
            });
        }
        if let Victim::Seat(seat) = victim {
            scene.seats[seat].step = Step::Gone;
        }
        let act = &mut scene.acts[number];
        if !fault.what.restarts() {
            act.state = State::Over;
            if let Some(made) = &mut act.made {
                made.end.get_or_insert(made.begin);
            }
            return Ok(());
        }
        match victim {
            Victim::Seat(seat) => {
                act.state = State::Returning(Instant::now() + self.deadline());
                self.start_again(scene, seat)
            }
            _ => {
                act.state = State::Away;
                Ok(())
            }
        }
    }

    fn survived(&self, fault: &Fault, process: String) -> Failed {
        let cause = FailureCause::Survived {
            process,
            fault: fault.to_string(),
            within: child::nanos(self.deadline()),
        };
        self.failed(FailureKind::Hang, cause)
    }

    /// Lets the ready agent of a seat open. When that was, by readings of the clock before and after.
    fn let_open(&mut self, scene: &mut Scene<'_, 'a>, seat: usize) -> [Nanos; 2] {
        let at = self.context.clock.now();
        let seat = &mut scene.seats[seat];
        self.agents[seat.agent].send(&Command::Go { at });
        seat.step = Step::Opening;
        [at, self.context.clock.now()]
    }

    fn not_ready(&self, scene: &Scene<'_, 'a>, fault: &Fault, seat: usize) -> Failed {
        let label = self.agents[scene.seats[seat].agent].label.clone();
        let within = self.deadline().as_secs_f64();
        let error = format!("the new process was not ready within {within:.1} s");
        self.not_back(FailureKind::Hang, fault, label, error)
    }

    /// Starts the next agent of a seat at once, so that it is ready when it is to open.
    pub(super) fn start_again(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        seat: usize,
    ) -> Result<(), Failed> {
        let seat = &mut scene.seats[seat];
        seat.assignment.generation += 1;
        seat.agent = self.agents.len();
        seat.step = Step::Starting;
        seat.done = None;
        self.start_agent(seat.place, &seat.assignment, &scene.inbox)
    }

    /// The fault ends with the start of the new daemon: what it takes to be ready is part of the recovery.
    fn restart_daemon(&mut self, scene: &mut Scene<'_, 'a>, number: usize) -> Result<(), Failed> {
        let act = &mut scene.acts[number];
        let Victim::Daemon(daemon) = act.victim else {
            return Ok(());
        };
        let host = self.context.hosts.get(self.daemons[daemon].place());
        let host = host.unwrap_or(&Host::Local);
        let before = self.context.clock.now();
        let started = self.daemons[daemon].restart(host, self.context.session);
        let after = self.context.clock.now();
        started.map_err(|trouble| self.daemon_not_back(act.fault, daemon, trouble))?;
        note_end(act, [before, after]);
        act.state = State::Returning(Instant::now() + self.deadline());
        Ok(())
    }

    /// A new process is to be ready.
    fn tend_return(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        number: usize,
        now: Nanos,
        by: Instant,
    ) -> Result<(), Failed> {
        let fault = scene.acts[number].fault;
        let late = Instant::now() >= by;
        match scene.acts[number].victim {
            Victim::Seat(seat) => match scene.seats[seat].step {
                Step::Ready
                    if now >= scene.acts[number].end
                        && scene.may_open(scene.acts[number].number) =>
                {
                    let end = self.let_open(scene, seat);
                    note_end(&mut scene.acts[number], end);
                    scene.acts[number].state = State::Over;
                }
                Step::Starting | Step::Preparing if late => {
                    return Err(self.not_ready(scene, fault, seat));
                }
                _ => {}
            },
            Victim::Daemon(daemon) => {
                let host = self.context.hosts.get(self.daemons[daemon].place());
                let host = host.unwrap_or(&Host::Local);
                let within = self.deadline();
                let ready = match self.daemons[daemon].is_ready(host) {
                    Ok(false) if late => Err(self.daemons[daemon].not_ready(within)),
                    ready => ready,
                };
                if ready.map_err(|t| self.daemon_not_back(fault, daemon, t))? {
                    scene.away[daemon] = false;
                    scene.acts[number].state = State::Over;
                }
            }
            Victim::Host(_) => {}
        }
        Ok(())
    }

    fn daemon_not_back(&self, fault: &Fault, daemon: usize, trouble: Trouble) -> Failed {
        let label = self.daemons[daemon].label().to_owned();
        let mut failed = self.not_back(trouble.kind, fault, label, trouble.cause.to_string());
        failed.stderr = trouble.output;
        failed
    }

    fn not_back(&self, kind: FailureKind, fault: &Fault, process: String, error: String) -> Failed {
        let fault = fault.to_string();
        let cause = FailureCause::NotBack {
            process,
            fault,
            error,
        };
        self.failed(kind, cause)
    }

    /// An agent that was started anew has failed before it had its order to open.
    pub(super) fn agent_not_back(
        &self,
        scene: &Scene<'_, 'a>,
        seat: usize,
        error: String,
    ) -> Failed {
        let label = self.agents[scene.seats[seat].agent].label.clone();
        let of_seat = |act: &&Act<'a>| {
            act.victim == Victim::Seat(seat) && matches!(act.state, State::Returning(_))
        };
        let fault = scene.acts.iter().find(of_seat).map(|act| act.fault);
        match fault {
            Some(fault) => self.not_back(FailureKind::Error, fault, label, error),
            None => self.host_failed(format!("{label}: {error}")),
        }
    }

    /// A newcomer said that it failed, has ended, or has received no message when it has to leave. The others then
    /// cannot show what its joining does to them.
    pub(super) fn not_joined(
        &mut self,
        scene: &Scene<'_, 'a>,
        fault: &Fault,
        seat: usize,
        said: Option<FailureCause>,
    ) -> Failed {
        let seat = &scene.seats[seat];
        let agent = &mut self.agents[seat.agent];
        let error = match (said, agent.status()) {
            (Some(said), _) => said.to_string(),
            (None, Some(status)) => agent.end_of(status, false).to_string(),
            (None, None) => {
                let lacks = match seat.step {
                    Step::Linking => "had received no message",
                    _ => "was not matched with its sender",
                };
                let label = &agent.label;
                format!("{label} {lacks} when it had to leave; lengthen `for`")
            }
        };
        let stderr = agent.stderr();
        let fault = fault.to_string();
        let mut failed = self.failed(FailureKind::Error, FailureCause::NotJoined { fault, error });
        failed.stderr = stderr;
        failed
    }

    /// The last line that a process has said.
    pub(super) fn last_words(&mut self, scene: &Scene<'_, 'a>, victim: Victim) -> Option<String> {
        match victim {
            Victim::Seat(seat) => self.agents[scene.seats[seat].agent].stderr().pop(),
            Victim::Daemon(daemon) => self.daemons[daemon].last_words(),
            Victim::Host(_) => None,
        }
    }

    /// Whom a fault strikes, as records say it.
    fn name(&mut self, scene: &Scene<'_, 'a>, fault: &Fault, victim: Victim) -> String {
        if let Some(process) = self.process(scene, victim) {
            return process.label;
        }
        let host = match victim {
            Victim::Host(host) => self.context.plan.testbed.hosts.get(host),
            Victim::Seat(_) | Victim::Daemon(_) => None,
        };
        let name = host.map_or("this host", |host| host.name.as_str());
        match fault.what.info().on {
            On::Link => format!("link of {name}"),
            On::Process | On::Host => format!("processes of {name}"),
        }
    }
}

/// The ways of packets that a fault drops: those that its host sends, or would receive.
fn ways(fault: &Fault) -> &'static [bool] {
    match (fault.what, fault.way) {
        (FaultKind::Blackout | FaultKind::Loss, Way::Both) => &[false, true],
        (FaultKind::Blackout, Way::In) => &[false],
        (FaultKind::Blackout, Way::Out) => &[true],
        _ => &[],
    }
}

fn note_end(act: &mut Act<'_>, end: [Nanos; 2]) {
    if let Some(made) = &mut act.made {
        made.end = Some(end);
    }
}
