//! Why a trial failed: who is to blame where several agents end or hang at once.

use super::stage::{Failed, Trial};
use crate::agent::Heard;
use crate::child::nanos;
use dyno_model::cause::FailureCause;
use dyno_model::protocol::{Command, Report};
use dyno_model::record::FailureKind;
use std::time::{Duration, Instant};

/// After one agent fails, the others get this long to fail for the real reason: a crash shows
/// itself to its peers as a lost connection first.
const BLAME: Duration = Duration::from_millis(300);

/// Agents get this long to say in which call they are.
const EXPLAIN: Duration = Duration::from_secs(5);

impl Trial<'_, '_> {
    pub(super) fn failed(&self, kind: FailureKind, cause: FailureCause) -> Failed {
        Failed {
            kind,
            step: self.step,
            cause: Box::new(cause),
            stderr: Vec::new(),
        }
    }

    /// A host cannot be used, in its own words.
    pub(super) fn host_failed(&self, error: impl ToString) -> Failed {
        let error = error.to_string();
        self.failed(FailureKind::Error, FailureCause::Host { error })
    }

    /// A step took too long: asks the agents where they are.
    pub(super) fn hung(&mut self, within: Duration, missing: &[usize]) -> Failed {
        for agent in &mut self.agents {
            agent.send(&Command::Explain);
        }
        let deadline = Instant::now() + EXPLAIN;
        let (mut stuck, mut answers) = (Vec::new(), 0);
        while answers < self.agents.len() {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.inbox.recv_timeout(left) {
                Ok((_, Heard::Report(Ok(report)))) => {
                    if let Report::Stuck { calls } = *report {
                        stuck.extend(calls);
                        answers += 1;
                    }
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let missing = missing.iter().map(|i| self.agents[*i].label.clone());
        let cause = FailureCause::StepTooLong {
            step: self.step.to_owned(),
            within: nanos(within),
            agents: missing.collect(),
            stuck,
            daemons: match self.step {
                "match" => self.bridges(),
                _ => Vec::new(),
            },
        };
        let mut stderr = Vec::new();
        for agent in &mut self.agents {
            agent.end();
            stderr.extend(agent.stderr());
        }
        Failed {
            kind: FailureKind::Hang,
            step: self.step,
            cause: Box::new(cause),
            stderr,
        }
    }

    /// The daemons that join legs, for a trial whose ends do not see each other.
    fn bridges(&self) -> Vec<String> {
        let context = &self.context;
        let stack = context.plan.stacks.get(&context.experiment.stack);
        let chain = stack.and_then(|stack| stack.chain.as_ref());
        let gateways = chain.iter().flat_map(|chain| &chain.gateways);
        let programs = gateways.flat_map(|gateway| &gateway.programs);
        programs.map(|p| p.name.clone()).collect()
    }

    /// Agent `first` ended or reported a failure. Another one's crash may be the cause.
    pub(super) fn blame(&mut self, first: usize, said: Option<(bool, FailureCause)>) -> Failed {
        let deadline = Instant::now() + BLAME;
        // The one that reported exits by itself, with a failure; the others are asked to.
        self.agents[first].status_by(deadline);
        let mut failures: Vec<(bool, FailureCause)> = said.into_iter().collect();
        let crashed = loop {
            if let Err(failed) = self.check_surroundings() {
                return failed;
            }
            while let Ok((_, heard)) = self.inbox.try_recv() {
                if let Heard::Report(Ok(report)) = heard
                    && let Report::Failed {
                        step,
                        who,
                        trouble,
                        peer_gone,
                    } = *report
                {
                    failures.push((peer_gone, FailureCause::Agent { who, trouble, step }));
                }
            }
            let crashed =
                (0..self.agents.len()).find(|i| self.has_crashed(*i, failures.is_empty()));
            if crashed.is_some() || Instant::now() >= deadline {
                break crashed;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let is_unexplained = match crashed {
            Some(index) => self.agents[index].is_untold(),
            None => failures.iter().all(|(peer_gone, ..)| *peer_gone),
        };
        if is_unexplained && let Some(message) = self.context.hosts.silence() {
            return self.failed(FailureKind::Error, message);
        }
        if let Some(index) = crashed
            && let Some(status) = self.agents[index].status()
        {
            let agent = &mut self.agents[index];
            let cause = agent.end_of(status, false);
            let stderr = agent.stderr();
            return Failed {
                kind: FailureKind::Crash,
                step: self.step,
                cause: Box::new(cause),
                stderr,
            };
        }
        let mut stderr = Vec::new();
        for agent in &mut self.agents {
            agent.end();
            stderr.extend(agent.stderr());
        }
        // The first cause; a peer's leaving is none while there is another.
        let own = failures.iter().position(|(peer_gone, _)| !peer_gone);
        let cause = match failures.is_empty() {
            false => failures.swap_remove(own.unwrap_or(0)).1,
            true => FailureCause::AgentSilent {
                agent: self.agents[first].label.clone(),
            },
        };
        Failed {
            kind: FailureKind::Error,
            step: self.step,
            cause: Box::new(cause),
            stderr,
        }
    }

    /// Ended by a signal, or with a code that no report explains.
    fn has_crashed(&mut self, index: usize, unexplained: bool) -> bool {
        use std::os::unix::process::ExitStatusExt;
        self.agents[index].status().is_some_and(|s| {
            s.signal().is_some() || (unexplained || s.code() != Some(1)) && !s.success()
        })
    }
}
