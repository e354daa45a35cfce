//! The trial while it runs: who takes part, and how it is spoken with.

use crate::RunOptions;
use crate::agent::{Agent, AgentCommand, Heard};
use crate::clocks::{HostClocks, TrialClocks};
use crate::daemon::Daemon;
use crate::hosts::{Host, Hosts};
use crate::meeting::{Meeting, Met};
use crate::meters::Meters;
use crate::session::Session;
use dyno_measure::{Clock, NetworkReading};
use dyno_model::cause::{Cause, FailureCause};
use dyno_model::protocol::{Command, Report};
use dyno_model::record::{FailureKind, Outcome};
use dyno_model::{Experiment, Graph, HostNetwork, Nanos, Plan, TrialId};
use std::path::PathBuf;
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
    /// Where it meets the other side, with which it takes turns.
    pub(crate) meeting: Option<&'a Meeting>,
}

/// Between the command and the instant of go, start or window: enough for it to reach every agent, and for the
/// readings before a window to be over long before it.
const LEAD: Nanos = Nanos::from_millis(12);

/// The same where agents are on other machines.
const REMOTE_LEAD: Nanos = Nanos::from_millis(100);

/// How long the interrupt may stay unnoticed.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// Why a trial failed.
pub(super) struct Failed {
    pub(super) kind: FailureKind,
    pub(super) step: &'static str,
    // Results stay small.
    pub(super) cause: Box<FailureCause>,
    pub(super) stderr: Vec<String>,
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

/// A host of the trial.
pub(super) struct Place<'a> {
    /// In the testbed.
    pub(super) index: usize,
    pub(super) host: &'a Host,
    /// Its name, where the trial has several hosts.
    pub(super) named: Option<&'a str>,
    pub(super) address: &'a str,
    /// The trial's directory there.
    pub(super) scratch: PathBuf,
}

/// The networks of one trial while it runs.
#[derive(Default)]
pub(super) struct Networks {
    pub(super) hosts: Vec<Open>,
    /// What the switch had dropped before, by host.
    pub(super) switch: Vec<u64>,
}

/// The network of one host.
pub(super) struct Open {
    pub(super) index: usize,
    pub(super) before: NetworkReading,
    pub(super) record: HostNetwork,
}

/// A trial that runs.
pub(super) struct Trial<'a, 'p> {
    pub(super) context: Context<'a, 'p>,
    pub(super) graph: Graph,
    // Dropped in this order: agents end before the daemons that they use.
    pub(super) agents: Vec<Agent>,
    /// So many of them are told and awaited together; those behind them join later, each by itself.
    pub(super) together: usize,
    pub(super) daemons: Vec<Daemon>,
    pub(super) clocks: TrialClocks,
    /// Once the window is over, until the last message has arrived.
    pub(super) meters: Option<Meters>,
    pub(super) networks: Networks,
    /// Whether a participant polls for messages.
    pub(super) polls: bool,
    /// Whether the runner could read in time what daemons and the host use.
    pub(super) metered: bool,
    /// How long the slowest start of its agents took, where that is measured.
    pub(super) started: Option<Nanos>,
    pub(super) inbox: mpsc::Receiver<(usize, Heard)>,
    /// A fault was made: what ends or fails from then on may follow from it, and does not fail the trial.
    pub(super) struck: bool,
    pub(super) step: &'static str,
}

impl Trial<'_, '_> {
    pub(super) fn notice(&self) -> Nanos {
        match self.agents.iter().any(Agent::is_remote) {
            true => REMOTE_LEAD,
            false => LEAD,
        }
    }

    /// When the warm-up begins, which both sides of a trial in slices agree on.
    pub(super) fn agree_on_start(&mut self) -> Result<Nanos, Failed> {
        let (clock, notice) = (self.context.clock, self.notice());
        let start = || clock.now().saturating_add(notice);
        let Some(meeting) = self.context.meeting else {
            return Ok(start());
        };
        meeting.come();
        let deadline = Instant::now() + Duration::from(self.context.experiment.deadline);
        loop {
            self.check_interrupt()?;
            self.check_surroundings()?;
            let error = match meeting.wait(LOOK, start) {
                Met::Start(at) => return Ok(at),
                Met::NotYet if Instant::now() < deadline => continue,
                Met::NotYet => "it was not ready in time",
                Met::Left => "it ended before the start",
            };
            // An interrupt ends both sides, and the other one may have seen it first.
            self.check_interrupt()?;
            let error = error.to_owned();
            return Err(self.failed(FailureKind::Error, FailureCause::OtherSide { error }));
        }
    }

    pub(super) fn tell(&mut self, command: &Command) {
        for agent in self.agents.iter_mut().take(self.together) {
            agent.send(command);
        }
    }

    pub(super) fn each<T>(
        &mut self,
        step: &'static str,
        within: Duration,
        wanted: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, Failed> {
        let all = (0..self.agents.len()).map(|agent| agent < self.together);
        let all: Vec<bool> = all.collect();
        self.some(step, within, &all, wanted)
    }

    pub(super) fn check_interrupt(&self) -> Result<(), Failed> {
        match self.context.options.interrupt.load(Ordering::Relaxed) {
            true => Err(self.failed(FailureKind::Interrupted, FailureCause::Interrupted)),
            false => Ok(()),
        }
    }

    /// Waits until each of the agents marked in `of` has sent a wanted report.
    pub(super) fn some<T>(
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
