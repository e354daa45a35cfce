//! Why a trial failed: who is to blame where several agents end or hang at once.

use super::{Failed, Trial};
use crate::agent::Heard;
use dyno_model::protocol::{Command, Report};
use dyno_model::record::FailureKind;
use std::time::{Duration, Instant};

/// After one agent fails, the others get this long to fail for the real reason: a crash shows
/// itself to its peers as a lost connection first.
const BLAME: Duration = Duration::from_millis(300);

/// Agents get this long to say in which call they are.
const EXPLAIN: Duration = Duration::from_secs(5);

impl Trial<'_, '_> {
    pub(super) fn failed(&self, kind: FailureKind, message: String) -> Failed {
        Failed {
            kind,
            step: self.step,
            message,
            stderr: Vec::new(),
        }
    }

    /// A step took too long: asks the agents where they are.
    pub(super) fn hung(&mut self, within: Duration, missing: &[usize]) -> Failed {
        self.tell(&Command::Explain);
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
        let who: Vec<_> = missing
            .iter()
            .map(|i| self.agents[*i].label.clone())
            .collect();
        let mut message = format!(
            "step `{}` did not end within {:.1} s for {}",
            self.step,
            within.as_secs_f64(),
            who.join(", ")
        );
        if stuck.is_empty() {
            message.push_str("; no call hangs: if it is only slow, raise `deadline`");
        } else {
            message.push_str("; ");
            message.push_str(&stuck.join("; "));
        }
        if self.step == "match" {
            message.extend(self.bridges());
        }
        let mut stderr = Vec::new();
        for agent in &mut self.agents {
            agent.end();
            stderr.extend(agent.stderr());
        }
        Failed {
            kind: FailureKind::Hang,
            step: self.step,
            message,
            stderr,
        }
    }

    /// The daemons that join legs, for a trial whose ends do not see each other.
    fn bridges(&self) -> Option<String> {
        let context = &self.context;
        let stack = context.plan.stacks.get(&context.experiment.stack)?;
        let gateways = stack.chain.iter().flat_map(|chain| &chain.gateways);
        let programs = gateways.flat_map(|gateway| &gateway.programs);
        let names: Vec<String> = programs.map(|p| format!("daemon {}", p.name)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "; messages go through {}: does it reach both legs?",
                names.join(", ")
            )
        })
    }

    /// Agent `first` ended or reported a failure. Another one's crash may be the cause.
    pub(super) fn blame(&mut self, first: usize, said: Option<(bool, String, String)>) -> Failed {
        let deadline = Instant::now() + BLAME;
        // The one that reported exits by itself, with a failure; the others are asked to.
        self.agents[first].status_by(deadline);
        let mut failures: Vec<(bool, String, String)> = said.into_iter().collect();
        let crashed = loop {
            if let Err(failed) = self.check_surroundings() {
                return failed;
            }
            while let Ok((_, heard)) = self.inbox.try_recv() {
                if let Heard::Report(Ok(report)) = heard
                    && let Report::Failed {
                        step,
                        message,
                        peer_gone,
                    } = *report
                {
                    failures.push((peer_gone, step, message));
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
            let message = format!("{} {}", agent.label, agent.describe_end(status));
            let stderr = agent.stderr();
            return Failed {
                kind: FailureKind::Crash,
                step: self.step,
                message,
                stderr,
            };
        }
        let mut stderr = Vec::new();
        for agent in &mut self.agents {
            agent.end();
            stderr.extend(agent.stderr());
        }
        // The first cause; a peer's leaving is none while there is another.
        let cause = failures.iter().find(|(peer_gone, ..)| !peer_gone);
        let message = match cause.or(failures.first()) {
            Some((_, step, message)) => format!("{message} (in `{step}`)"),
            None => format!(
                "{} closed its output without a result",
                self.agents[first].label
            ),
        };
        Failed {
            kind: FailureKind::Error,
            step: self.step,
            message,
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
