//! One connection to another host through the user's own OpenSSH, and the commands that run over it.
//!
//! The connection is an `ssh` process in the foreground, a master of ssh's multiplexing (ssh_config(5),
//! ControlMaster): it lives and dies with the runner, and with it everything that it carries. Commands
//! are clients of its control socket and never connect by themselves.

use crate::child::{Tail, end_group, exit, tie_to_runner};
use crate::error::SshError;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long connecting may take, with all jump hosts and the touch of a security key.
const CONNECT: Duration = Duration::from_secs(60);
/// How long a command of the set-up may take.
const COMMAND: Duration = Duration::from_secs(60);
/// How long a connection may take to end that is closed.
const ENDING: Duration = Duration::from_secs(5);
/// How often a process is looked at that is to become ready, or to end.
const LOOK: Duration = Duration::from_millis(2);

/// What holds whatever the user's configuration says: nobody is asked, nothing is forwarded, and a link
/// that has died is noticed after 15 s.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ControlPersist=no",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "ServerAliveCountMax=3",
    "ServerAliveInterval=5",
];

/// An open connection. Dropping it closes it.
pub(super) struct Connection {
    destination: String,
    /// Where the control socket is, and where `ssh` runs: the socket's path may be long, and the path of
    /// a socket may not (unix(7)).
    directory: PathBuf,
    control: String,
    master: Child,
    said: Tail,
}

impl Connection {
    /// Connects to what the user calls `destination`. The control socket is the file `control` in
    /// `directory`.
    pub(super) fn open(
        host: &str,
        destination: &str,
        directory: &Path,
        control: String,
        interrupt: &AtomicBool,
    ) -> Result<Self, SshError> {
        let mut command = ssh(directory, &control);
        command
            .args(["-o", "ControlMaster=yes", "-o", "ConnectTimeout=20"])
            .args(["-N", "--", destination])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut master = command.spawn().map_err(|source| SshError::NoClient {
            host: host.to_owned(),
            source,
        })?;
        let mut said = Tail::default();
        if let Some(stderr) = master.stderr.take() {
            said.follow(stderr, |_| ());
        }
        let mut connection = Connection {
            destination: destination.to_owned(),
            directory: directory.to_owned(),
            control,
            master,
            said,
        };
        connection.wait_until_open(host, interrupt)?;
        Ok(connection)
    }

    fn wait_until_open(&mut self, host: &str, interrupt: &AtomicBool) -> Result<(), SshError> {
        let deadline = Instant::now() + CONNECT;
        // The master makes its socket when it is let in.
        while !self.socket().exists() {
            if interrupt.load(Ordering::Relaxed) {
                return Err(SshError::Interrupted);
            }
            let said = match self.status() {
                Some(status) => self.last_words(status),
                None if Instant::now() < deadline => {
                    std::thread::sleep(LOOK);
                    continue;
                }
                None => format!("no connection within {} s", CONNECT.as_secs()),
            };
            return Err(SshError::Unreachable {
                host: host.to_owned(),
                destination: self.destination.clone(),
                said,
            });
        }
        Ok(())
    }

    fn socket(&self) -> PathBuf {
        self.directory.join(&self.control)
    }

    fn status(&mut self) -> Option<ExitStatus> {
        // An error here means that there is no such child, which cannot be before it is reaped.
        self.master.try_wait().ok().flatten()
    }

    /// What became of the connection; nothing while it stands.
    pub(super) fn lost(&mut self) -> Option<String> {
        self.status().map(|status| self.last_words(status))
    }

    /// As [`lost`](Self::lost), of a connection that has closed what it carries and is about to end.
    pub(super) fn closed(&mut self) -> Option<String> {
        let mut check = ssh(&self.directory, &self.control);
        check.args(["-O", "check", "--", &self.destination]);
        check.stdin(Stdio::null()).stdout(Stdio::null());
        let deadline = Instant::now() + ENDING;
        let mut check = check.stderr(Stdio::null()).spawn().ok()?;
        while Instant::now() < deadline {
            match check.try_wait().ok()? {
                Some(status) if status.success() => return None,
                Some(_) => break,
                None => std::thread::sleep(LOOK),
            }
        }
        // One that answers nothing is a connection that does not either; what has ended cannot be killed.
        let _ = check.kill().and_then(|()| check.wait().map(drop));
        while self.status().is_none() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        self.lost()
    }

    /// The last thing that `ssh` said before it ended.
    fn last_words(&mut self, status: ExitStatus) -> String {
        let lines = self.said.complete();
        let last = lines.iter().rev().find(|l| !l.trim().is_empty());
        match last {
            Some(line) => line.trim().to_owned(),
            None => format!("ssh ended with {}", exit(status)),
        }
    }

    /// A command that runs `words` in the host's shell, whatever shell that is.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let quoted: Vec<String> = words.iter().map(|w| quoted(w)).collect();
        let mut command = ssh(&self.directory, &self.control);
        command
            // Were the master gone, `ssh` would connect anew: not through this.
            .args(["-o", "ControlMaster=no", "-o", "ProxyCommand=false"])
            .args(["--", &self.destination])
            .arg(format!("exec {}", quoted.join(" ")));
        command
    }

    /// Runs a script of the POSIX shell with arguments from `$1` on; `feed` writes its standard input.
    /// Returns how it ended and what it printed, on standard output and on standard error.
    pub(super) fn run(
        &self,
        script: &str,
        arguments: &[&str],
        interrupt: &AtomicBool,
        feed: impl FnOnce(std::process::ChildStdin) -> std::io::Result<()>,
    ) -> Result<Ran, SshError> {
        let words = [&["sh", "-c", script, "sh"], arguments].concat();
        let mut command = self.command(&words);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(SshError::Client)?;
        let (mut out, mut err) = (Tail::default(), Tail::default());
        if let Some(stdout) = child.stdout.take() {
            out.follow(stdout, |_| ());
        }
        if let Some(stderr) = child.stderr.take() {
            err.follow(stderr, |_| ());
        }
        let fed = match child.stdin.take() {
            Some(stdin) => feed(stdin),
            None => Ok(()),
        };
        let deadline = Instant::now() + COMMAND;
        let status = loop {
            match child.try_wait().map_err(SshError::Client)? {
                Some(status) => break Some(status),
                None if interrupt.load(Ordering::Relaxed) => {
                    end_group(&mut child);
                    return Err(SshError::Interrupted);
                }
                None if Instant::now() < deadline => std::thread::sleep(LOOK),
                None => {
                    end_group(&mut child);
                    break None;
                }
            }
        };
        let mut said = err.complete();
        match (status, fed) {
            (None, _) => said.push(format!("no end within {} s", COMMAND.as_secs())),
            // A script that failed has said why; that nobody read its input only follows.
            (Some(status), Err(e)) if status.success() => said.push(e.to_string()),
            _ => {}
        }
        Ok(Ran {
            code: status.and_then(|s| s.code()),
            stdout: out.complete(),
            stderr: said,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        end_group(&mut self.master);
        // A master that is killed leaves its socket.
        let _ = std::fs::remove_file(self.socket());
    }
}

/// How a script ended, and what it printed.
#[derive(Debug)]
pub(super) struct Ran {
    /// Its exit code; none if it did not end in time.
    pub(super) code: Option<i32>,
    pub(super) stdout: Vec<String>,
    pub(super) stderr: Vec<String>,
}

impl Ran {
    /// What it said of its failure.
    pub(super) fn said(&self) -> String {
        let last = self.stderr.iter().rev().find(|l| !l.trim().is_empty());
        match (last, self.code) {
            (Some(line), _) => line.trim().to_owned(),
            (None, Some(code)) => format!("it ended with exit code {code}"),
            (None, None) => "it did not end".to_owned(),
        }
    }
}

/// `ssh` with what all uses have in common; it dies with the runner.
fn ssh(directory: &Path, control: &str) -> Command {
    let mut command = Command::new("ssh");
    command.current_dir(directory).args(["-S", control]);
    for option in OPTIONS {
        command.args(["-o", option]);
    }
    tie_to_runner(&mut command);
    command
}

/// A word as POSIX shells, fish and csh read it back unchanged. It must hold no line break.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_quoted_words_back() {
        let word = r#"it's $HOME "and" `that` \ *"#;
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("printf %s {}", quoted(word)))
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
    }
}
