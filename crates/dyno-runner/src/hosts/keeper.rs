//! The runner's side of a keeper ([`crate::keeper`]).

use crate::agent::AGENT_STATUS;
use crate::child::{Tail, end_group, exit};
use crate::error::SshError;
use crate::keeper;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// How long a keeper may take for an answer: it ends processes and removes files.
pub(super) const ANSWER: Duration = Duration::from_secs(20);
/// How often the interrupt is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// The keeper of this runner's sessions on the host.
pub(crate) struct Keeper {
    child: Child,
    stdin: Arc<Mutex<Option<ChildStdin>>>,
    answers: mpsc::Receiver<String>,
    said: Tail,
    /// Why it was stopped, where it was too late with an answer.
    late: Option<String>,
    /// Dropped to end the heartbeat.
    _heart: mpsc::Sender<()>,
}

impl Keeper {
    /// Starts it with a command that runs `dyno agent --keep` on the host.
    pub(crate) fn start(
        mut command: Command,
        host: &str,
        interrupt: &AtomicBool,
        tell: &mut dyn FnMut(String),
    ) -> Result<Self, SshError> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(SshError::Client)?;
        let stdin = Arc::new(Mutex::new(child.stdin.take()));
        let (answered, answers) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if answered.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let mut said = Tail::default();
        if let Some(stderr) = child.stderr.take() {
            said.follow(stderr, |_| ());
        }
        let (heart, stopped) = mpsc::channel::<()>();
        let beats = stdin.clone();
        std::thread::spawn(move || {
            while stopped.recv_timeout(keeper::BEAT) == Err(mpsc::RecvTimeoutError::Timeout)
                && write(&beats, "alive")
            {}
        });
        let mut keeper = Keeper {
            child,
            stdin,
            answers,
            said,
            late: None,
            _heart: heart,
        };
        let deadline = Instant::now() + 3 * ANSWER;
        let hello = loop {
            match keeper.answers.recv_timeout(LOOK) {
                Ok(line) => break Ok(line),
                Err(_) if interrupt.load(Ordering::Relaxed) => return Err(SshError::Interrupted),
                Err(mpsc::RecvTimeoutError::Disconnected) => break Err(keeper.last_words()),
                Err(_) if Instant::now() >= deadline => break Err("it says nothing".to_owned()),
                Err(_) => {}
            }
        };
        let failed = |said: String| SshError::Agent {
            host: host.to_owned(),
            said,
        };
        let hello = hello.map_err(failed)?;
        let counts = hello.strip_prefix(keeper::HELLO);
        let counts: Option<Vec<&str>> = counts.map(|c| c.split_whitespace().collect());
        match counts.as_deref() {
            Some(["0", "0", "0"]) => {}
            Some([places, killed, removed]) => tell(format!(
                "cleaned up after an earlier run on host {host}: {places} scratch folders, \
                 {killed} processes, {removed} other"
            )),
            _ => return Err(failed(hello)),
        }
        Ok(keeper)
    }

    /// Asks for something; the error says why there is no answer, or what the keeper could not do.
    pub(crate) fn ask(&mut self, question: &str, within: Duration) -> Result<String, String> {
        if !write(&self.stdin, question) {
            return Err(self.last_words());
        }
        match self.answers.recv_timeout(within) {
            Ok(answer) => match answer.split_once(' ').unwrap_or((&answer, "")) {
                ("ok", text) => Ok(text.to_owned()),
                (_, text) => Err(text.to_owned()),
            },
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(self.last_words()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // An answer that comes later must not be taken for another one's.
                self.stop();
                let late = format!("no answer to {question:?} within {} s", within.as_secs());
                self.late = Some(late.clone());
                Err(late)
            }
        }
    }

    fn last_words(&mut self) -> String {
        let deadline = Instant::now() + Duration::from_secs(1);
        while self.lost().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(late) = &self.late {
            return late.clone();
        }
        let lines = self.said.complete();
        let says = |l: &&String| !l.trim().is_empty() && !l.starts_with(AGENT_STATUS);
        match lines.iter().rev().find(says) {
            Some(line) => line.trim().to_owned(),
            None => self.lost().unwrap_or_else(|| "it says nothing".to_owned()),
        }
    }

    /// How it ended, if it has.
    pub(crate) fn lost(&mut self) -> Option<String> {
        if self.late.is_some() {
            return self.late.clone();
        }
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("dyno ended there with {}", exit(status)))
    }

    /// Has it clear what is open, and end.
    pub(crate) fn stop(&mut self) {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        *stdin = None;
        drop(stdin);
        let deadline = Instant::now() + ANSWER;
        while self.child.try_wait().is_ok_and(|s| s.is_none()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        end_group(&mut self.child);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether the line could be written.
fn write(stdin: &Mutex<Option<ChildStdin>>, line: &str) -> bool {
    let mut stdin = stdin.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(pipe) = stdin.as_mut() else {
        return false;
    };
    let written = writeln!(pipe, "{line}").and_then(|()| pipe.flush());
    if written.is_err() {
        *stdin = None;
    }
    stdin.is_some()
}
