//! One agent process: starting it, speaking with it, and knowing how it ended.

use crate::child::{Tail, exit, tie_to_runner};
use crate::container;
use dyno_measure::Counters;
use dyno_model::Nanos;
use dyno_model::cause::FailureCause;
use dyno_model::protocol::{Command, Counter, Report};
use dyno_model::{AdapterDescription, Against, Plan};
use rustix::process::{Pid, Signal};
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

/// Begins the line by which the shell around an agent tells how the agent ended.
pub(crate) const AGENT_STATUS: &str = "dyno-agent-status ";

/// How to start an agent: a program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// The program; usually the running `dyno` itself.
    pub program: PathBuf,
    /// Its arguments; usually `agent`.
    pub arguments: Vec<String>,
}

impl AgentCommand {
    /// How to start the agents of base experiments: another build where the plan compares builds.
    pub(crate) fn of_base(plan: &Plan, own: &AgentCommand) -> AgentCommand {
        match &plan.against {
            Some(Against::Build { program, .. }) => AgentCommand {
                program: program.clone(),
                arguments: own.arguments.clone(),
            },
            Some(Against::Same | Against::Stack { .. }) | None => own.clone(),
        }
    }

    /// The command that starts an agent on this machine.
    pub(crate) fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// Why the adapters of this build could not be asked for.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// The agent could not be started.
    #[error("cannot start {} to list its adapters: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// It did not answer.
    #[error("the agent ended with {status} instead of listing its adapters; it said: {stderr}")]
    Ended {
        /// How it ended.
        status: String,
        /// Its standard error.
        stderr: String,
    },
    /// It does not answer.
    #[error(
        "the agent that lists its adapters or its files did not end within {} s: a library's start-up may hang, or \
         somebody has stopped the process; try again", within.as_secs_f64()
    )]
    Silent {
        /// How long it had.
        within: Duration,
    },
    /// It answered something else.
    #[error(
        "cannot read the agent's list of adapters: {0}; are `dyno` and its agent from the same build?"
    )]
    Garbled(#[from] serde_json::Error),
}

/// Asks an agent for all adapters: in a process of its own, since it loads their libraries.
///
/// # Errors
///
/// When the agent cannot be started, fails, or speaks another version.
pub fn describe_adapters(agent: &AgentCommand) -> Result<Vec<AdapterDescription>, DescribeError> {
    ask(agent, std::iter::once("--describe".into()))
}

/// How long an agent may take that only lists what it has: it loads libraries, perhaps from a slow disk.
const LISTING: Duration = Duration::from_secs(60);

/// What an agent that is started with these `arguments` prints as JSON.
pub(crate) fn ask<T: DeserializeOwned>(
    agent: &AgentCommand,
    arguments: impl Iterator<Item = OsString>,
) -> Result<T, DescribeError> {
    ask_within(agent, arguments, LISTING)
}

fn ask_within<T: DeserializeOwned>(
    agent: &AgentCommand,
    arguments: impl Iterator<Item = OsString>,
    within: Duration,
) -> Result<T, DescribeError> {
    let start = |source| DescribeError::Start {
        program: agent.program.clone(),
        source,
    };
    let mut command = agent.command();
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    tie_to_runner(&mut command);
    let child = command.spawn().map_err(start)?;
    let pid = Pid::from_child(&child);
    let (sender, outputs) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody may wait for it any more.
        let _ = sender.send(child.wait_with_output());
    });
    let Ok(output) = outputs.recv_timeout(within) else {
        // The thread has not reaped it, or an output would be on its way: the number is still its own.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        return Err(DescribeError::Silent { within });
    };
    let output = output.map_err(start)?;
    if !output.status.success() {
        return Err(DescribeError::Ended {
            status: exit(output.status).to_string(),
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        });
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What an agent's reader threads tell.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A report, or what stood where one should be.
    Report(Result<Box<Report>, String>),
    /// Its standard output has ended: so has it, or it is about to.
    Silence,
}

/// An agent's answer to [`Agent::tick`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tock {
    /// The number of the question.
    pub(crate) number: u32,
    /// The agent's counter.
    pub(crate) ticks: u64,
    /// CLOCK_MONOTONIC_RAW of its host.
    pub(crate) raw: Nanos,
    /// When the answer was here.
    pub(crate) received: Counters,
}

/// A running agent. Dropping it ends the process.
pub(crate) struct Agent {
    pub(crate) label: String,
    child: Child,
    stdin: Option<ChildStdin>,
    /// Apart from all other reports, as they come.
    pub(crate) tocks: mpsc::Receiver<Tock>,
    stderr: Tail,
    status: Option<ExitStatus>,
    /// Of one on another host, its own end is what its host tells.
    kind: Kind,
    told: Arc<AtomicI32>,
    /// Before it was started.
    began: Instant,
    /// When its first word came.
    spoke: Arc<OnceLock<Instant>>,
}

/// What an agent's process here is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The agent.
    Process,
    /// One that waits for the agent, which is the first process of a container.
    Container,
    /// One that stands for the agent on another host.
    Remote,
}

/// No end was told: no status has this value.
const UNTOLD: i32 = -1;

impl Agent {
    /// Starts an agent with its host's command, which is one of ssh where it is remote; its reports
    /// arrive in `inbox` with the number `index`.
    pub(crate) fn start(
        mut command: std::process::Command,
        kind: Kind,
        index: usize,
        label: String,
        inbox: mpsc::Sender<(usize, Heard)>,
    ) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if kind == Kind::Container {
            container::contain(&mut command);
        }
        let began = Instant::now();
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (answers, tocks) = mpsc::channel();
        let spoke = Arc::new(OnceLock::new());
        if let Some(stdout) = stdout {
            let spoke = spoke.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines() {
                    let received = Counters::now();
                    let Ok(line) = line else { break };
                    spoke.get_or_init(Instant::now);
                    let report = match serde_json::from_str(&line) {
                        Ok(Report::Tock { number, ticks, raw }) => {
                            // Nobody may wait for it any more.
                            let _ = answers.send(Tock {
                                number,
                                ticks,
                                raw,
                                received,
                            });
                            continue;
                        }
                        Ok(report) => Ok(Box::new(report)),
                        Err(e) => Err(format!("{line:?}: {e}")),
                    };
                    if inbox.send((index, Heard::Report(report))).is_err() {
                        return;
                    }
                }
                // The trial may be over already.
                let _ = inbox.send((index, Heard::Silence));
            });
        }
        let mut tail = Tail::default();
        let told = Arc::new(AtomicI32::new(UNTOLD));
        if let Some(stderr) = stderr {
            let told = told.clone();
            tail.follow(stderr, move |line| {
                let code = line.strip_prefix(AGENT_STATUS).map(str::parse);
                if let Some(Ok(code)) = code {
                    told.store(code, Ordering::Relaxed);
                }
            });
        }
        Ok(Agent {
            label,
            child,
            stdin,
            tocks,
            stderr: tail,
            status: None,
            kind,
            told,
            began,
            spoke,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// From before its start until its first word; nothing while it is silent.
    pub(crate) fn start_took(&self) -> Option<Nanos> {
        let spoke = self.spoke.get()?;
        Some(Nanos::from(spoke.duration_since(self.began)))
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.kind == Kind::Remote
    }

    /// Sends a command; an agent that has ended is noticed by its silence.
    pub(crate) fn send(&mut self, command: &Command) {
        self.send_at(command);
    }

    /// Asks for the counter; the answer comes over `tocks`. Returns when it was asked, nothing of an
    /// agent that has ended.
    pub(crate) fn tick(&mut self, number: u32, counter: Counter) -> Option<Counters> {
        self.send_at(&Command::Tick { number, counter })
    }

    fn send_at(&mut self, command: &Command) -> Option<Counters> {
        let stdin = self.stdin.as_mut()?;
        let line = serde_json::to_string(command).map_err(std::io::Error::other);
        let sent = line.and_then(|mut line| {
            // One write: the agent wakes up once.
            line.push('\n');
            let now = Counters::now();
            stdin.write_all(line.as_bytes())?;
            Ok(now)
        });
        if sent.is_err() {
            self.stdin = None;
        }
        sent.ok()
    }

    /// How it ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            // An error here means that there is no such child, which cannot be before we reap it.
            self.status = self.child.try_wait().ok().flatten();
            if (self.kind == Kind::Remote) && self.status.is_some() {
                self.stderr.complete();
                self.status = self.told().or(self.status);
            }
        }
        self.status
    }

    /// How an agent on another host ended, as its host told: a shell adds 128 to the number of a signal.
    fn told(&self) -> Option<ExitStatus> {
        match self.told.load(Ordering::Relaxed) {
            UNTOLD => None,
            code @ 129..=192 => Some(ExitStatus::from_raw(code - 128)),
            code => Some(ExitStatus::from_raw(code << 8)),
        }
    }

    /// Whether its host did not tell how it ended.
    pub(crate) fn is_untold(&self) -> bool {
        self.kind == Kind::Remote && self.told().is_none()
    }

    /// `ended with signal 9 (SIGKILL, …)`, or that its host cannot be heard any more.
    pub(crate) fn end_of(&self, status: ExitStatus, after_result: bool) -> FailureCause {
        FailureCause::AgentEnded {
            agent: self.label.clone(),
            exit: exit(status),
            connection: self.is_untold(),
            after_result,
        }
    }

    /// Waits for its end until `deadline`.
    pub(crate) fn status_by(&mut self, deadline: Instant) -> Option<ExitStatus> {
        loop {
            match self.status() {
                None if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_micros(500));
                }
                status => return status,
            }
        }
    }

    /// Ends the process and waits until it is gone.
    pub(crate) fn end(&mut self) {
        self.stdin = None;
        if self.status().is_none() {
            // The one outside of a container waits for the one within, which is to be gone before it.
            if self.kind != Kind::Container || !container::kill_within(self.pid()) {
                // It may end by itself at this moment; reaping follows in any case.
                let _ = self.child.kill();
            }
            self.status = self.child.wait().ok();
        }
    }

    /// The last lines of its standard error. Complete once it has ended.
    pub(crate) fn stderr(&mut self) -> Vec<String> {
        let mut lines = match self.status() {
            Some(_) => self.stderr.complete(),
            None => self.stderr.lines(),
        };
        lines.retain(|line| !line.starts_with(AGENT_STATUS));
        lines
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_does_not_list_what_it_has_is_ended_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().join("pid");
        let script = format!("echo $$ >{}; exec sleep 1000", note.display());
        let agent = AgentCommand {
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), script],
        };
        let asked = std::iter::once("--describe".into());
        let within = Duration::from_millis(500);
        let error = ask_within::<Vec<String>>(&agent, asked, within).unwrap_err();
        assert!(error.to_string().contains("within 0.5 s"), "{error}");
        // On a slow machine it was ended before its first word.
        if let Ok(pid) = std::fs::read_to_string(note) {
            let gone = || !std::path::Path::new(&format!("/proc/{}", pid.trim())).exists();
            while !gone() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
