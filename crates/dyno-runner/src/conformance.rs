//! Plays conformance cases: each in a session and a process of its own, with the daemons of the stack and a
//! time limit, so that a library that hangs or crashes fails one case and leaves nothing behind.

use crate::agent::AgentCommand;
use crate::child::{Tail, exit, tie_to_runner};
use crate::daemon::{Daemon, Values};
use crate::hosts::Host;
use crate::session::{Place, Session, SessionError};
use dyno_model::conformance::{CaseOrder, CaseVerdict, Examinee};
use dyno_model::record::FailureKind;
use dyno_model::{Nanos, daemon};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How often a process is looked at that is to end.
const LOOK: Duration = Duration::from_millis(5);
/// How much later than its own limit a case's process is killed: it may say itself that it hangs.
const GRACE: Duration = Duration::from_secs(5);
/// How long a daemon may take to become ready.
const READY: Duration = Duration::from_secs(30);
/// The largest message that a case sends, in bytes.
const LARGEST: usize = 4 << 20;
/// The most participants of a case: daemons make room for them.
const SENDERS: usize = 2;
const RECEIVERS: usize = 3;
const ADDRESS: &str = "127.0.0.1";

/// An adapter under examination.
pub struct Conformance {
    agent: AgentCommand,
    examinee: Examinee,
    daemons: Vec<daemon::Daemon>,
    limit: Duration,
    interrupt: Arc<AtomicBool>,
    place: Place,
    played: usize,
}

/// Why a case has no verdict.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The caller's signal handler has set the flag; what the case had created is gone.
    #[error("interrupted")]
    Interrupted,
    /// There is no place for its files.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Its process could not be started or waited for.
    #[error("cannot {action} the process of a case: {source}")]
    Process {
        /// What was to be done.
        action: &'static str,
        /// The kernel's answer.
        source: std::io::Error,
    },
}

fn process(action: &'static str) -> impl Fn(std::io::Error) -> CaseError {
    move |source| CaseError::Process { action, source }
}

impl Conformance {
    /// Begins the examination. `limit` holds for each case; `interrupt` ends the case that is played.
    ///
    /// # Errors
    ///
    /// When there is no place for the files of cases.
    pub fn new(
        agent: AgentCommand,
        examinee: Examinee,
        daemons: Vec<daemon::Daemon>,
        limit: Duration,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, SessionError> {
        Ok(Conformance {
            agent,
            examinee,
            daemons,
            limit,
            interrupt,
            place: Place::create()?,
            played: 0,
        })
    }

    /// Plays the case of that name. What it created is gone when this returns.
    ///
    /// # Errors
    ///
    /// When it was interrupted, or this machine cannot start it.
    pub fn play(&mut self, case: &str) -> Result<CaseVerdict, CaseError> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(CaseError::Interrupted);
        }
        self.played += 1;
        let session = self.place.session(self.played)?;
        let values = Values {
            cpus: &[],
            payload: LARGEST,
            senders: SENDERS,
            receivers: RECEIVERS,
            host: &Host::Local,
            place: 0,
            host_name: None,
            address: ADDRESS,
            scratch: &session.scratch,
        };
        let mut daemons = Vec::new();
        for spec in &self.daemons {
            match Daemon::start(&daemons, spec, &values, &session, READY, &self.interrupt) {
                Ok(daemon) => daemons.push(daemon),
                Err(trouble) if trouble.kind == FailureKind::Interrupted => {
                    return Err(CaseError::Interrupted);
                }
                Err(trouble) => {
                    let words = with_output(trouble.cause.to_string(), &trouble.output);
                    return Ok(CaseVerdict::Failed(words));
                }
            }
        }
        let order = CaseOrder {
            case: case.to_owned(),
            examinee: self.examinee.clone(),
            session: session.name.clone(),
            scratch: session.scratch.clone(),
            daemons: !self.daemons.is_empty(),
            limit: Nanos::from(self.limit),
        };
        let case = Case::start(&self.agent, &order, &session)?;
        let verdict = case.end(self.limit + GRACE, &self.interrupt)?;
        Ok(match daemons.iter_mut().find_map(Daemon::ended) {
            Some(trouble) => {
                CaseVerdict::Failed(with_output(trouble.cause.to_string(), &trouble.output))
            }
            None => verdict,
        })
    }
}

/// The words, then the last lines that a process printed.
fn with_output(mut words: String, output: &[String]) -> String {
    if !output.is_empty() {
        words.push_str("; it printed last:");
    }
    for line in output {
        words.push('\n');
        words.push_str(line);
    }
    words
}

/// The process of a case. Its whole group is killed when it is dropped.
struct Case {
    child: Child,
    answers: Receiver<CaseVerdict>,
    stderr: Tail,
}

impl Case {
    fn start(
        agent: &AgentCommand,
        order: &CaseOrder,
        session: &Session<'_>,
    ) -> Result<Self, CaseError> {
        let start = process("start");
        let json = serde_json::to_string(order).map_err(|e| start(e.into()))?;
        let mut command = agent.command();
        tie_to_runner(&mut command);
        let mut child = command
            .args(["--conformance", &json])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(&start)?;
        let (tell, answers) = channel();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut case = Case {
            child,
            answers,
            stderr: Tail::default(),
        };
        session.note_process(case.child.id()).map_err(&start)?;
        if let Some(stdout) = stdout {
            std::thread::spawn(move || {
                let lines = BufReader::new(stdout).lines().map_while(Result::ok);
                for verdict in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                    // Nobody listens any more where the case was given up.
                    let _ = tell.send(verdict);
                }
            });
        }
        if let Some(stderr) = stderr {
            case.stderr.follow(stderr, |_| {});
        }
        Ok(case)
    }

    /// Waits until it ends, at most `limit`, and says how the case went.
    fn end(mut self, limit: Duration, interrupt: &AtomicBool) -> Result<CaseVerdict, CaseError> {
        let start = Instant::now();
        while !self.has_ended()? {
            if interrupt.load(Ordering::Relaxed) {
                return Err(CaseError::Interrupted);
            }
            if start.elapsed() > limit {
                self.kill();
                let words =
                    format!("its process hangs: it did not end within {limit:?} and was killed");
                return Ok(CaseVerdict::Failed(self.with_last_lines(words)));
            }
            std::thread::sleep(LOOK);
        }
        // While the process has not been waited for, its group cannot be another one's.
        self.kill();
        let status = self.child.wait().map_err(process("wait for"))?;
        // Its end of the pipe is closed; what it said is under way at worst.
        let verdict = self.answers.recv_timeout(GRACE).ok();
        Ok(self.judge(verdict, status))
    }

    fn judge(&mut self, verdict: Option<CaseVerdict>, status: ExitStatus) -> CaseVerdict {
        match verdict {
            Some(verdict) if status.success() => verdict,
            Some(CaseVerdict::Failed(reason)) => CaseVerdict::Failed(reason),
            Some(_) => {
                let words = format!(
                    "all went well, but then its process ended with {}",
                    exit(status)
                );
                CaseVerdict::Failed(self.with_last_lines(words))
            }
            None => {
                let words = format!("its process ended with {}", exit(status));
                CaseVerdict::Failed(self.with_last_lines(words))
            }
        }
    }

    fn with_last_lines(&mut self, words: String) -> String {
        with_output(words, &self.stderr.complete())
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Whether it has ended; it is not waited for.
    fn has_ended(&self) -> Result<bool, CaseError> {
        let Some(pid) = self.pid() else {
            return Ok(true);
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(pid), options);
        let ended = ended.map_err(|e| process("wait for")(e.into()))?;
        Ok(ended.is_some())
    }

    /// Ends it and everything that it has started.
    fn kill(&self) {
        if let Some(pid) = self.pid() {
            // They may have ended by themselves, which is as good.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        // Once it was waited for, its number may be another one's.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
            // Killed, it ends.
            let _ = self.child.wait();
        }
    }
}
