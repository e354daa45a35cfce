//! The control thread: hears the runner and the roles, moves the phase, reports.

use crate::counter::OwnCounter;
use crate::crowd;
use crate::event::{Event, Played};
use crate::job::Job;
use crate::participant;
use crate::ptp;
use crate::registry;
use crate::reporter::Reporter;
use crate::results::{self, Starts};
use crate::shared::{Call, Phase, Position, Shared};
use dyno_measure::{Clock, LEAD_IN, Memory, RecordError, Tracepoints, Used};
use dyno_model::cause::{AgentTrouble, StuckCall, Warning, Who};
use dyno_model::plan::{Extent, Scheduling};
use dyno_model::protocol::{AgentResult, Applied, Assignment, Command, Report, Role, Sent, Waited};
use dyno_model::{Experiment, Nanos, Participant, Wait};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The agent ends without a result; everything that there is to say has been said.
#[derive(Debug)]
pub(crate) struct Ended;

/// The pause between two looks at conditions that only counters tell.
const TICK: Duration = Duration::from_millis(1);

/// How long a receiver of an initiator may sleep before it is interrupted, so that the initiator can
/// see that a pong is overdue. Some mechanisms sleep without a limit of their own.
const OVERDUE: Duration = dyno_adapter::PATIENCE;

/// The pause between two readings of what this process uses while other agents wait for the last arrival.
const METER_TICK: Duration = Duration::from_millis(5);

/// How long participants' threads may take to end after the result, at most.
const ENDING: Duration = Duration::from_secs(2);

/// Two looks at a thread that are this far apart and show it in the same call: it is stuck. Longer
/// than any call may wait by the adapter's contract.
const STUCK: Duration = Duration::from_millis(300);

pub(crate) struct Control {
    events: mpsc::Sender<Event>,
    inbox: mpsc::Receiver<Event>,
    out: Reporter,
    counter: Arc<OwnCounter>,
    trial: Option<Trial>,
}

struct Trial {
    assignment: Arc<Assignment>,
    shared: Arc<Shared>,
    go: Vec<mpsc::Sender<Nanos>>,
    threads: Vec<JoinHandle<()>>,
    warnings: Vec<Warning>,
    /// What happened since the warnings were told.
    remarks: Vec<Warning>,
    prepared: usize,
    /// Threads of this process when all were prepared, and none was in its library.
    own_threads: Option<u64>,
    matched: usize,
    starts: Starts,
    settled: usize,
    sent: Vec<Sent>,
    /// With the exchange that each has a part in.
    played: Vec<(u16, Played)>,
    /// What to look for at each tick.
    watch: Watch,
    /// Where the threads were when stalled ones were last looked for, and when that was.
    positions: Vec<Position>,
    looked: Instant,
    /// Until when cost is counted, and the memory then.
    end: (Nanos, Memory),
    /// It ends before the others, and has no result.
    leaves: bool,
}

impl Trial {
    /// What to look for from the end of the warm-up on.
    fn watch_in_window(&self) -> Watch {
        // Only a take that sleeps may sleep for ever; one look in each timeout is all that this takes.
        let sleeps = |p: &&Participant| {
            p.role == Role::Initiator && self.assignment.wait_of(p.index) == Wait::Block
        };
        let initiators = self.assignment.participants().filter(sleeps);
        let timeout = |p: &Participant| {
            let workload = self.assignment.experiment_of(p).workload;
            workload.numbers().timeout.map(Duration::from)
        };
        match initiators.filter_map(timeout).min() {
            Some(timeout) => Watch::Overdue(OVERDUE.max(timeout)),
            None => Watch::Nothing,
        }
    }

    /// Whether a sink of this process still waits for messages, whose takes must not be disturbed.
    fn is_receiving(&self) -> bool {
        let mut participants = self.assignment.participants();
        participants.any(|p| p.role == Role::Sink) && !self.shared.has_everything()
    }

    /// What each exchange of this agent measured; the cost is with the first.
    fn collect(&mut self) -> Result<Vec<AgentResult>, RecordError> {
        let rested: Vec<Waited> = self.played.iter().map(|(_, p)| p.waited).collect();
        let mut results = results::by_exchange(std::mem::take(&mut self.played), &self.starts)?;
        let most = self.assignment.experiment.raw_samples as usize;
        results.iter_mut().for_each(|r| r.raw.truncate(most));
        let sources = results.iter().flat_map(|r| &r.sources);
        let (last, memory) = self.end;
        let assignment = &self.assignment;
        let used = Used {
            label: results::label(assignment),
            waited: sources.map(|s| s.pacing).chain(rested).sum(),
            memory,
            polls: assignment.polls(),
        };
        if let Some(first) = results.first_mut() {
            first.cost = self.shared.cost_until(last, used);
            first.warnings.append(&mut self.remarks);
        }
        Ok(results)
    }

    /// Whether the window may have begun before this process: it takes the place of another, and has no cost.
    fn came_later(&self) -> bool {
        self.assignment.generation > 0
    }

    /// Takes the reading with which the cost begins, before the window that begins at `at`.
    fn meter_before(&mut self, at: Nanos) {
        if !self.came_later() && !self.shared.begin_metering(at) {
            let late = self.shared.clock.now().saturating_sub(at);
            let agent = results::label(&self.assignment);
            self.remarks.push(Warning::AgentReadLate { agent, late });
        }
    }

    /// Whether the cost has not begun, and nobody has said so.
    fn is_unread(&self) -> bool {
        !self.came_later() && !self.shared.is_metering() && self.remarks.is_empty()
    }

    /// Interrupts threads that are in the same call as at the last look.
    fn nudge_stalled(&mut self) {
        let now = self.shared.positions();
        self.shared.nudge_stalled(&self.positions, &now);
        self.positions = now;
        self.looked = Instant::now();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    /// A pong may be overdue: a look after each such time.
    Overdue(Duration),
    /// The window begins then: what this process uses is read shortly before.
    Opening(Nanos),
    /// The warm-up ends at the latest then.
    Settling(Instant),
    Linked,
    Drained(Instant),
    /// This agent has all that it can get; others may not.
    Metering,
    Played,
}

impl Control {
    pub(crate) fn new(
        events: mpsc::Sender<Event>,
        inbox: mpsc::Receiver<Event>,
        out: Reporter,
        counter: Arc<OwnCounter>,
    ) -> Self {
        Control {
            events,
            inbox,
            out,
            counter,
            trial: None,
        }
    }

    pub(crate) fn run(mut self) -> Result<(), Ended> {
        loop {
            let watch = self.trial.as_ref().map_or(Watch::Nothing, |t| t.watch);
            let event = match watch {
                Watch::Nothing => self
                    .inbox
                    .recv()
                    .map_err(|_| mpsc::RecvTimeoutError::Disconnected),
                Watch::Overdue(every) => self.inbox.recv_timeout(every),
                Watch::Opening(at) => self.inbox.recv_timeout(self.until_reading(at)),
                Watch::Metering => self.inbox.recv_timeout(METER_TICK),
                Watch::Settling(latest) => {
                    let left = latest.saturating_duration_since(Instant::now());
                    self.inbox.recv_timeout(left.min(OVERDUE))
                }
                Watch::Linked | Watch::Drained(_) | Watch::Played => self.inbox.recv_timeout(TICK),
            };
            let over = match event {
                Ok(Event::Command(command)) => {
                    self.on_command(command)?;
                    false
                }
                Ok(Event::Garbled(trouble)) => return self.fail("protocol", trouble),
                Ok(Event::RunnerGone) => return Err(Ended),
                Ok(Event::Failed(f)) => {
                    self.out.send(&Report::Failed {
                        step: f.step.to_owned(),
                        who: Some(f.who),
                        trouble: f.trouble,
                        peer_gone: f.peer_gone,
                    });
                    return Err(Ended);
                }
                Ok(other) => self.on_participant(other)?,
                Err(mpsc::RecvTimeoutError::Timeout) => false,
                // We hold a sender ourselves.
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(Ended),
            };
            if over || self.look()? {
                return Ok(());
            }
        }
    }

    fn fail<T>(&mut self, step: &str, trouble: AgentTrouble) -> Result<T, Ended> {
        self.out.send(&Report::Failed {
            step: step.to_owned(),
            who: None,
            trouble,
            peer_gone: false,
        });
        Err(Ended)
    }

    /// How long the reading before a window that begins at `at` is still away.
    fn until_reading(&self, at: Nanos) -> Duration {
        let now = self.trial.as_ref().map_or(at, |t| t.shared.clock.now());
        at.saturating_sub(LEAD_IN).saturating_sub(now).into()
    }

    fn on_command(&mut self, command: Command) -> Result<(), Ended> {
        match (command, &mut self.trial) {
            (Command::Prepare(assignment), None) => self.prepare(*assignment)?,
            (Command::Go { at }, Some(trial)) => {
                trial.starts.go = at;
                for go in &trial.go {
                    // A participant that failed meanwhile has reported so itself.
                    let _ = go.send(at);
                }
            }
            (Command::Link, Some(trial)) => {
                trial.shared.advance(Phase::Link);
                trial.watch = Watch::Linked;
            }
            (Command::Start { at }, Some(trial)) => {
                self.counter.note(trial.shared.clock);
                let assignment = trial.assignment.clone();
                let experiment = &assignment.experiment;
                let window = match (experiment.settle, experiment.warmup) {
                    (Some(_), _) => None,
                    (None, Extent::Duration(warmup)) => Some(at.saturating_add(warmup)),
                    (None, Extent::Messages(_)) => Some(at),
                };
                if window == Some(at) && experiment.counted_warmup().is_none() {
                    // There is no warm-up, and floods do not even wait for that instant.
                    trial.meter_before(at);
                }
                trial.shared.start_at(at, window);
                trial.watch = match (experiment.settle, experiment.warmup) {
                    (Some(longest), _) => {
                        let latest = at.saturating_add(longest);
                        let left = latest.saturating_sub(trial.shared.clock.now());
                        Watch::Settling(Instant::now() + Duration::from(left))
                    }
                    (None, Extent::Duration(warmup)) if warmup > Nanos::ZERO => {
                        Watch::Opening(at.saturating_add(warmup))
                    }
                    (None, Extent::Duration(_)) => trial.watch_in_window(),
                    // Its first message begins the cost, in the role that sees it.
                    (None, Extent::Messages(_)) => trial.watch_in_window(),
                };
                // Roles that wait for a probe's successor look at the phase again.
                trial.shared.nudge_all();
                self.tell_if_settled();
            }
            (Command::Window { at }, Some(trial)) => {
                trial.shared.begin_window_at(at);
                trial.watch = Watch::Opening(at);
            }
            (Command::Drain { sent }, Some(trial)) => {
                self.counter.note(trial.shared.clock);
                if trial.is_unread() {
                    let agent = results::label(&trial.assignment);
                    trial.remarks.push(Warning::AgentNotRead { agent });
                }
                trial.shared.drain(&sent);
                trial.shared.meter();
                let limit = Duration::from(trial.assignment.experiment.drain);
                trial.watch = Watch::Drained(Instant::now() + limit);
            }
            (Command::Collect { last }, Some(trial)) => {
                trial.shared.meter();
                trial.end = (last, trial.shared.memory());
                trial.shared.advance(Phase::Stop);
                trial.watch = Watch::Played;
            }
            (Command::Leave, Some(trial)) => {
                trial.leaves = true;
                trial.shared.advance(Phase::Stop);
                trial.watch = Watch::Played;
            }
            (Command::Explain, Some(trial)) => {
                let before = trial.shared.positions();
                std::thread::sleep(STUCK);
                let calls = stuck(&before, &trial.shared.positions());
                self.out.send(&Report::Stuck { calls });
            }
            (command, _) => {
                let command = format!("{command:?}");
                return self.fail("protocol", AgentTrouble::OutOfOrder { command });
            }
        }
        Ok(())
    }

    /// Once all ends that record are steady, the warm-up may end.
    fn tell_if_settled(&mut self) {
        if let Some(trial) = &mut self.trial
            && matches!(trial.watch, Watch::Settling(_))
            && trial.settled >= watched_ends(&trial.assignment)
        {
            trial.watch = trial.watch_in_window();
            self.out.send(&Report::Steady { steady: true });
        }
    }

    fn prepare(&mut self, mut assignment: Assignment) -> Result<(), Ended> {
        assignment.clock = self.counter.clock(assignment.clock);
        let adapters = match registry::of_legs(&assignment) {
            Ok(adapters) => adapters,
            Err(error) => return self.fail("prepare", AgentTrouble::AdapterNotLoaded { error }),
        };
        let assignment = Arc::new(assignment);
        let channels = assignment.channels.len();
        let clock = Clock::new(assignment.clock);
        let counts_warmup = assignment.experiment.counted_warmup().is_some();
        let mut warnings = Vec::new();
        // Threads count that are started from here on, those of libraries among them.
        let tracepoints = assignment.experiment.counted.then(Tracepoints::open);
        let tracepoints = match tracepoints.transpose() {
            Ok(opened) => opened,
            Err(e) => {
                let error = e.to_string();
                warnings.push(Warning::NotCounted { error });
                None
            }
        };
        let shared = Shared::new(clock, channels, counts_warmup).with(tracepoints);
        let shared = Arc::new(shared);
        if let Scheduling::Fifo(priority) = assignment.experiment.scheduling {
            // The control thread must get through to roles that never sleep.
            if let Err(refused) = dyno_measure::host::set_fifo(priority.saturating_add(1).min(99)) {
                let who = Who::Control;
                warnings.push(Warning::NotGranted { who, refused });
            }
        }
        let flows: Vec<Arc<Experiment>> = std::iter::once(&assignment.experiment)
            .chain(&assignment.beside)
            .map(|experiment| Arc::new(experiment.clone()))
            .collect();
        let experiment_of = |flow: u16| flows.get(usize::from(flow)).unwrap_or(&flows[0]).clone();
        let (mut go, mut threads) = (Vec::new(), Vec::new());
        for participant in assignment.participants() {
            let (sender, receiver) = mpsc::channel();
            go.push(sender);
            let job = Job {
                assignment: assignment.clone(),
                experiment: experiment_of(participant.flow),
                participant: participant.clone(),
                wait: assignment.wait_of(participant.index),
                shared: shared.clone(),
                adapters: adapters.clone(),
                events: self.events.clone(),
            };
            let name = format!("dyno-{}", participant.role.as_str());
            let spawned = std::thread::Builder::new()
                .name(name)
                .spawn(move || participant::play(&job, &receiver));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    let error = e.to_string();
                    return self.fail("prepare", AgentTrouble::NoThread { error });
                }
            }
        }
        self.trial = Some(Trial {
            assignment,
            shared,
            go,
            threads,
            warnings,
            remarks: Vec::new(),
            prepared: 0,
            own_threads: None,
            matched: 0,
            starts: Starts::default(),
            settled: 0,
            sent: Vec::new(),
            played: Vec::new(),
            watch: Watch::Nothing,
            positions: Vec::new(),
            looked: Instant::now(),
            end: (Nanos::ZERO, Memory::default()),
            leaves: false,
        });
        Ok(())
    }

    /// Whether the agent is done.
    fn on_participant(&mut self, event: Event) -> Result<bool, Ended> {
        let Some(trial) = &mut self.trial else {
            return Ok(false);
        };
        let participants = trial.assignment.participants().count();
        match event {
            Event::Prepared(warnings) => {
                trial.prepared += 1;
                trial.warnings.extend(warnings);
                if trial.prepared == participants {
                    let warnings = std::mem::take(&mut trial.warnings);
                    trial.own_threads = crowd::threads();
                    let ptp = match self.counter.is_asked() {
                        true => ptp::state(),
                        false => None,
                    };
                    self.out.send(&Report::Ready(Applied { warnings, ptp }));
                }
            }
            Event::Matched {
                exchange,
                opened,
                matched,
            } => {
                trial.matched += 1;
                trial.starts.note(exchange, opened, matched);
                if trial.matched == participants {
                    let both = trial.own_threads.zip(crowd::threads());
                    let few = both.and_then(|(own, all)| {
                        crowd::few_cpus(&trial.assignment, all.saturating_sub(own))
                    });
                    trial.remarks.extend(few);
                    self.out.send(&Report::Matched);
                }
            }
            Event::Settled => {
                trial.settled += 1;
                self.tell_if_settled();
            }
            Event::Done(sent) => {
                trial.sent.push(sent);
                let participants = trial.assignment.participants();
                if trial.sent.len() == participants.filter(|p| p.role.is_active()).count() {
                    // The window is over for this process: what it uses is read before the runner's answer comes.
                    trial.shared.meter();
                    self.out.send(&Report::Done {
                        sent: trial.sent.clone(),
                    });
                }
            }
            Event::Played(exchange, played) => {
                trial.played.push((exchange, *played));
                if trial.played.len() == participants && trial.leaves {
                    let deadline = trial.assignment.experiment.deadline.into();
                    end_in_order(std::mem::take(&mut trial.threads), deadline);
                    return Ok(true);
                }
                if trial.played.len() == participants {
                    return match trial.collect() {
                        Ok(mut exchanges) => {
                            if let Some(first) = exchanges.first_mut() {
                                first.warnings.extend(self.counter.remark());
                            }
                            self.out.send(&Report::Result { exchanges });
                            let deadline = trial.assignment.experiment.deadline.into();
                            end_in_order(std::mem::take(&mut trial.threads), deadline);
                            Ok(true)
                        }
                        Err(e) => {
                            let error = e.to_string();
                            self.fail("record", AgentTrouble::Record { error })
                        }
                    };
                }
            }
            // Handled before: not of a participant.
            Event::Command(_) | Event::Garbled(_) | Event::RunnerGone | Event::Failed(_) => {}
        }
        Ok(false)
    }

    /// Looks at what only counters tell. Whether the agent is done.
    fn look(&mut self) -> Result<bool, Ended> {
        let Some(trial) = &mut self.trial else {
            return Ok(false);
        };
        match trial.watch {
            Watch::Nothing => {}
            Watch::Overdue(_) => {
                trial.nudge_stalled();
            }
            Watch::Opening(at) => {
                if trial.shared.clock.now() >= at.saturating_sub(LEAD_IN) {
                    trial.meter_before(at);
                    trial.watch = trial.watch_in_window();
                }
            }
            Watch::Settling(latest) => {
                if matches!(trial.watch_in_window(), Watch::Overdue(_))
                    && trial.looked.elapsed() > OVERDUE
                {
                    trial.nudge_stalled();
                }
                if Instant::now() >= latest {
                    let steady = trial.shared.is_steady();
                    trial.watch = trial.watch_in_window();
                    self.out.send(&Report::Steady { steady });
                }
            }
            Watch::Linked => {
                if trial.shared.linked() >= linking_ends(&trial.assignment) {
                    trial.watch = Watch::Nothing;
                    self.out.send(&Report::Linked);
                } else if trial.looked.elapsed() > OVERDUE {
                    trial.nudge_stalled();
                }
            }
            Watch::Drained(deadline) => {
                trial.shared.meter();
                if trial.shared.drained() >= passive_ends(&trial.assignment)
                    || Instant::now() >= deadline
                {
                    trial.watch = Watch::Metering;
                    let last = trial.shared.last();
                    self.out.send(&Report::Drained { last });
                } else if !trial.is_receiving() {
                    trial.shared.nudge_all();
                } else if trial.looked.elapsed() > OVERDUE {
                    trial.nudge_stalled();
                }
            }
            Watch::Metering => trial.shared.meter(),
            Watch::Played => trial.shared.nudge_all(),
        }
        Ok(false)
    }
}

/// Waits for the participants' threads after their result was sent: what libraries do when a thread ends comes before what
/// they do at exit. Where a thread hangs in that, the process ends without the latter: the result stands, and the
/// runner waits no longer than `deadline`.
fn end_in_order(threads: Vec<JoinHandle<()>>, deadline: Duration) {
    let (all, ended) = mpsc::channel();
    let join = move || {
        for thread in threads {
            // A panic has ended the process.
            let _ = thread.join();
        }
        let _ = all.send(());
    };
    let joins = std::thread::Builder::new().spawn(join).is_ok();
    if !joins || ended.recv_timeout(ENDING.min(deadline / 2)).is_err() {
        eprintln!("dyno agent: a participant's thread does not end after its result");
        crate::end_at_once(0);
    }
}

/// Reading ends of this agent's participants of such roles.
fn reading_ends(assignment: &Assignment, of: impl Fn(Role) -> bool) -> usize {
    assignment
        .participants()
        .filter(|p| of(p.role))
        .map(|p| assignment.graph.incoming(p.index).count())
        .sum()
}

/// Those that must see a probe before the trial may start.
fn linking_ends(assignment: &Assignment) -> usize {
    reading_ends(assignment, |role| role != Role::Loopback)
}

/// Those that only take what comes. A gateway goes on until the others have it.
fn passive_ends(assignment: &Assignment) -> usize {
    reading_ends(assignment, |role| {
        !role.is_active() && role != Role::Gateway
    })
}

/// The ends that record latencies and watch the series: every one of a sink, and one for all of an initiator.
fn watched_ends(assignment: &Assignment) -> usize {
    let of_rounds = |role| matches!(role, Role::Initiator | Role::Loopback);
    let rounds = assignment.participants().filter(|p| of_rounds(p.role));
    rounds.count() + reading_ends(assignment, |role| role == Role::Sink)
}

/// Which threads were in the same call at both looks.
fn stuck(before: &[Position], after: &[Position]) -> Vec<StuckCall> {
    before
        .iter()
        .filter(|p| p.call != Call::Outside && after.contains(p))
        .map(|p| StuckCall {
            participant: p.participant,
            role: p.role.to_owned(),
            call: p.call.as_str().to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_that_stay_in_one_call_are_stuck() {
        let at = |participant, call, count| Position {
            thread: 1,
            participant,
            role: "sink",
            call,
            count,
        };
        let before = [
            at(0, Call::Take, 7),
            at(1, Call::Take, 9),
            at(2, Call::Outside, 3),
        ];
        let after = [
            at(0, Call::Take, 7),
            at(1, Call::Take, 10),
            at(2, Call::Outside, 3),
        ];
        assert_eq!(
            stuck(&before, &after),
            [StuckCall {
                participant: 0,
                role: "sink".into(),
                call: "take".into(),
            }]
        );
    }
}
