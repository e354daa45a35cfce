//! The daemons of a stack: started before the agents of each trial, watched while they are needed,
//! ended after them. A trial never sees what another one's daemon holds.
//!
//! Every daemon has a process group of its own, runs in the trial's scratch directory and dies with
//! the runner. What it does not remove when it is killed is claimed, like what adapters create.

use crate::child::{Tail, confine, exit, nanos};
use crate::hosts::Host;
use crate::prepare::prepare;
use crate::session::Session;
use dyno_model::cause::{DaemonTrouble, FailureCause};
use dyno_model::daemon::{self, Ready, StopSignal};
use dyno_model::record::FailureKind;
use rustix::process::{Pid, Signal};
use std::fs::{File, TryLockError};
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a daemon may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How often a daemon is looked at that is to become ready, or to end.
const LOOK: Duration = Duration::from_millis(1);
/// How long to wait until no other run of Dyno uses an exclusive daemon.
const TURN: Duration = Duration::from_secs(300);
/// How long one attempt to connect may take.
const CONNECT: Duration = Duration::from_millis(50);

/// Where systems put daemons: no part of the PATH that Debian gives to users other than root.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Whether `program` can be started: an executable file of that path, or of that name in PATH or where systems put
/// daemons.
pub fn is_installed(program: &str) -> bool {
    find(program).is_some()
}

/// The program's file, as the shell of a user who may administer the system would find it.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let (variable, program) = daemon::program(program);
    if let Some(path) = variable
        .and_then(std::env::var_os)
        .filter(|p| !p.is_empty())
    {
        return Some(PathBuf::from(path)).filter(executable);
    }
    match program.contains('/') {
        true => Some(PathBuf::from(program)).filter(executable),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let system = SYSTEM.iter().map(PathBuf::from);
            let mut files = std::env::split_paths(&path).chain(system);
            files.find_map(|d| Some(d.join(program)).filter(executable))
        }
    }
}

/// Why a daemon fails its trial.
pub(crate) struct Trouble {
    pub(crate) kind: FailureKind,
    pub(crate) cause: Box<FailureCause>,
    pub(crate) output: Vec<String>,
}

/// What placeholders stand for in one trial.
pub(crate) struct Values<'a> {
    /// The CPUs of daemons; empty: any.
    pub(crate) cpus: &'a [u32],
    /// The largest message, in bytes.
    pub(crate) payload: usize,
    pub(crate) senders: usize,
    pub(crate) receivers: usize,
    /// Where it runs.
    pub(crate) host: &'a Host,
    /// The host's name, where that must be said.
    pub(crate) host_name: Option<&'a str>,
    /// The IP address of the host.
    pub(crate) address: &'a str,
    /// The trial's directory on the host.
    pub(crate) scratch: &'a Path,
}

/// A running daemon. Dropping it ends the process.
pub(crate) struct Daemon {
    label: String,
    child: Child,
    stop: StopSignal,
    output: Tail,
    status: Option<ExitStatus>,
    /// Notes of what it leaves, to be taken back when it ends by itself.
    claims: Vec<PathBuf>,
    /// Held while an exclusive daemon lives.
    turn: Option<Arc<Turn>>,
}

impl Daemon {
    /// Starts the daemon and waits until it is ready, at most `within`. `before`: those of the same trial that were
    /// started before it, whose turn it shares where they are the same program.
    pub(crate) fn start(
        before: &[Daemon],
        spec: &daemon::Daemon,
        values: &Values<'_>,
        session: &Session<'_>,
        within: Duration,
        interrupt: &AtomicBool,
    ) -> Result<Daemon, Trouble> {
        let label = match values.host_name {
            Some(host) => format!("daemon {} on {host}", spec.name),
            None => format!("daemon {}", spec.name),
        };
        let scratch = values.scratch;
        let trouble = |(kind, trouble)| Trouble {
            kind,
            cause: Box::new(FailureCause::Daemon {
                daemon: label.clone(),
                trouble,
                said: None,
            }),
            output: Vec::new(),
        };
        let error = |of: DaemonTrouble| trouble((FailureKind::Error, of));
        let fill = |text: &str| {
            let mut value = |name: &str| value(name, spec, values, session);
            daemon::fill(text, &mut value).map_err(|e| {
                let wrong = e.to_string();
                error(DaemonTrouble::Placeholder { error: wrong })
            })
        };
        for (path, text) in &spec.files {
            let (path, text) = (scratch.join(fill(path)?), fill(text)?);
            let parent = path.parent().unwrap_or(scratch);
            std::fs::create_dir_all(parent)
                .and_then(|()| std::fs::write(&path, text))
                .map_err(|e| {
                    error(DaemonTrouble::NotWritten {
                        path: path.display().to_string(),
                        error: e.to_string(),
                    })
                })?;
        }
        let filled = |texts: &[String]| {
            texts
                .iter()
                .map(|text| fill(text))
                .collect::<Result<Vec<_>, _>>()
        };
        if let [program, arguments @ ..] = filled(&spec.prepare)?.as_slice() {
            let mut command = Command::new(find(program).as_deref().unwrap_or(Path::new(program)));
            command.args(arguments).current_dir(scratch);
            values.host.admit(&mut command);
            confine(&mut command, values.cpus);
            prepare(program, command, within, interrupt).map_err(trouble)?;
        }
        let arguments = filled(&spec.command)?;
        let (program, arguments) = arguments
            .split_first()
            .ok_or_else(|| error(DaemonTrouble::NoCommand))?;
        let mut command = Command::new(find(program).as_deref().unwrap_or(Path::new(program)));
        for (name, text) in &spec.environment {
            command.env(name, fill(text)?);
        }
        command
            .args(arguments)
            .current_dir(scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        values.host.admit(&mut command);
        confine(&mut command, values.cpus);
        let turn = match spec.exclusive {
            true => Some(take_turn(program, before, interrupt).map_err(trouble)?),
            false => None,
        };
        let mut claims = Vec::new();
        for path in &spec.leaves {
            let path = scratch.join(fill(path)?);
            // What is there already is another one's.
            if !path.exists() {
                let claim = session.claim_file(&path).map_err(|e| {
                    error(DaemonTrouble::NotNoted {
                        path: path.display().to_string(),
                        error: e.to_string(),
                    })
                })?;
                claims.push(claim);
            }
        }
        let ready = match &spec.ready {
            Ready::Output(text) => Ready::Output(fill(text)?),
            Ready::File(path) => Ready::File(fill(path)?),
            Ready::Connect(to) => Ready::Connect(fill(to)?),
        };
        let child = command.spawn().map_err(|e| {
            error(DaemonTrouble::NotStarted {
                program: program.clone(),
                error: e.to_string(),
            })
        })?;
        let mut daemon = Daemon {
            label,
            child,
            stop: spec.stop,
            output: Tail::default(),
            status: None,
            claims,
            turn,
        };
        if let Err(e) = session.note_process(daemon.pid()) {
            let error = e.to_string();
            return Err(
                daemon.trouble(FailureKind::Error, DaemonTrouble::ProcessNotNoted { error })
            );
        }
        let said = daemon.listen_for(&ready);
        daemon.wait_until_ready(&ready, &said, values, within, interrupt)?;
        Ok(daemon)
    }

    /// Such as `daemon RouDi`.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Keeps its output, and looks in it for what says that it is ready.
    fn listen_for(&mut self, ready: &Ready) -> Arc<AtomicBool> {
        let said = Arc::new(AtomicBool::new(false));
        let listener = || {
            let said = said.clone();
            let wanted = match ready {
                Ready::Output(text) => Some(text.clone()),
                Ready::File(_) | Ready::Connect(_) => None,
            };
            move |line: &str| {
                if wanted.as_ref().is_some_and(|w| line.contains(w.as_str())) {
                    said.store(true, Ordering::Relaxed);
                }
            }
        };
        if let Some(stdout) = self.child.stdout.take() {
            self.output.follow(stdout, listener());
        }
        if let Some(stderr) = self.child.stderr.take() {
            self.output.follow(stderr, listener());
        }
        said
    }

    fn wait_until_ready(
        &mut self,
        ready: &Ready,
        said: &AtomicBool,
        values: &Values<'_>,
        within: Duration,
        interrupt: &AtomicBool,
    ) -> Result<(), Trouble> {
        let deadline = Instant::now() + within;
        loop {
            let is_ready = match ready {
                Ready::Output(_) => said.load(Ordering::Relaxed),
                Ready::File(path) => values.scratch.join(path).exists(),
                Ready::Connect(to) => values.host.within(|| accepts(to)).unwrap_or(false),
            };
            // Asked after it was seen ready: what answered may be another one's.
            if let Some(status) = self.status() {
                let (exit, ready) = (exit(status), false);
                return Err(self.trouble(FailureKind::Crash, DaemonTrouble::Ended { exit, ready }));
            }
            if is_ready {
                return Ok(());
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(self.trouble(FailureKind::Interrupted, DaemonTrouble::Interrupted));
            }
            if Instant::now() >= deadline {
                let (within, sign) = (nanos(within), ready.clone());
                return Err(
                    self.trouble(FailureKind::Hang, DaemonTrouble::NotReady { within, sign })
                );
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends the daemon, and adds the last thing that it said.
    fn trouble(&mut self, kind: FailureKind, trouble: DaemonTrouble) -> Trouble {
        self.kill();
        let output = self.output.complete();
        let mut lines = output.iter().rev().map(|line| line.trim());
        let cause = FailureCause::Daemon {
            daemon: self.label.clone(),
            trouble,
            said: lines.find(|line| !line.is_empty()).map(str::to_owned),
        };
        Trouble {
            kind,
            cause: Box::new(cause),
            output,
        }
    }

    /// How it ended, if it has.
    fn status(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            // An error here means that there is no such child, which cannot be before we reap it.
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// A daemon that the trial still needs and that has ended.
    pub(crate) fn ended(&mut self) -> Option<Trouble> {
        let status = self.status()?;
        let (exit, ready) = (exit(status), true);
        Some(self.trouble(FailureKind::Crash, DaemonTrouble::Ended { exit, ready }))
    }

    /// Asks it to end, and kills what is left of its group.
    fn end(&mut self) {
        if self.status().is_none() {
            self.signal(match self.stop {
                StopSignal::Term => Signal::TERM,
                StopSignal::Int => Signal::INT,
                StopSignal::Hup => Signal::HUP,
                StopSignal::Quit => Signal::QUIT,
                StopSignal::Kill => Signal::KILL,
            });
            let deadline = Instant::now() + GRACE;
            while self.status().is_none() && Instant::now() < deadline {
                std::thread::sleep(LOOK);
            }
        }
        if self.status().is_some_and(|s| s.success()) {
            for claim in self.claims.drain(..) {
                // The session's clearing would find nothing to remove either.
                let _ = std::fs::remove_file(claim);
            }
        }
        self.kill();
    }

    fn kill(&mut self) {
        // Also after its end: others of its group may live.
        self.signal_group(Signal::KILL);
        if self.status().is_none() {
            self.status = self.child.wait().ok();
        }
    }

    /// To the daemon alone, which knows how to end its own children.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.group() {
            // It may end by itself at this moment.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(pid) = self.group() {
            // Nobody of the group may be left.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }

    fn group(&self) -> Option<Pid> {
        i32::try_from(self.pid()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a trial holds of an exclusive program.
struct Turn {
    program: PathBuf,
    _lock: File,
}

/// Waits until no other run of Dyno on the machine uses the program. The lock is on the program's
/// file: the one place that all of them know, whatever their temporary directories are.
fn take_turn(
    program: &str,
    before: &[Daemon],
    interrupt: &AtomicBool,
) -> Result<Arc<Turn>, (FailureKind, DaemonTrouble)> {
    let error = |e: std::io::Error| {
        let error = e.to_string();
        (FailureKind::Error, DaemonTrouble::NotLocked { error })
    };
    let path = find(program).ok_or_else(|| {
        let program = program.to_owned();
        (FailureKind::Error, DaemonTrouble::NoProgram { program })
    })?;
    let mut turns = before.iter().filter_map(|d| d.turn.as_ref());
    if let Some(own) = turns.find(|turn| turn.program == path) {
        return Ok(own.clone());
    }
    let file = File::open(&path).map_err(error)?;
    let deadline = Instant::now() + TURN;
    loop {
        match file.try_lock() {
            Ok(()) => {
                return Ok(Arc::new(Turn {
                    program: path,
                    _lock: file,
                }));
            }
            Err(TryLockError::Error(e)) => return Err(error(e)),
            Err(TryLockError::WouldBlock) => {}
        }
        if interrupt.load(Ordering::Relaxed) {
            return Err((FailureKind::Interrupted, DaemonTrouble::Interrupted));
        }
        if Instant::now() >= deadline {
            let program = path.display().to_string();
            let waited = nanos(TURN);
            return Err((FailureKind::Hang, DaemonTrouble::InUse { program, waited }));
        }
        std::thread::sleep(10 * LOOK);
    }
}

fn value(
    name: &str,
    spec: &daemon::Daemon,
    values: &Values<'_>,
    session: &Session<'_>,
) -> Option<String> {
    Some(match name {
        "scratch" => values.scratch.to_string_lossy().into_owned(),
        "session" => session.name.clone(),
        "address" => values.address.to_owned(),
        "group" => group_name(),
        "payload" => values.payload.to_string(),
        "senders" => values.senders.to_string(),
        "receivers" => values.receivers.to_string(),
        _ => spec.options.get(name.strip_prefix("option.")?)?.clone(),
    })
}

/// The name of this process's effective group; its number where it has no name.
fn group_name() -> String {
    let id = rustix::process::getegid().as_raw();
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    // NAME:PASSWORD:ID:MEMBERS (group(5)).
    let name = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| id.to_string())
}

/// Whether somebody accepts a connection to `tcp:HOST:PORT` or `unix:PATH`.
fn accepts(to: &str) -> bool {
    if let Some(path) = to.strip_prefix("unix:") {
        return std::os::unix::net::UnixStream::connect(path).is_ok();
    }
    let address = to.strip_prefix("tcp:").unwrap_or(to);
    address
        .to_socket_addrs()
        .into_iter()
        .flatten()
        .any(|a| std::net::TcpStream::connect_timeout(&a, CONNECT).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_path_or_by_their_own() {
        assert!(is_installed("sh") && is_installed("/bin/sh"));
        assert!(!is_installed("no-such-daemon-of-dyno") && !is_installed("/etc/passwd"));
        // An environment variable that is not set leaves it to the name; one that is set must name a program.
        assert!(is_installed("${DYNO_NO_SUCH_VARIABLE:-sh}"));
        assert!(!is_installed("${HOME:-sh}"));
    }

    #[test]
    fn a_listener_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let to = format!("unix:{}", path.display());
        assert!(!accepts(&to));
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(accepts(&to));
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(accepts(&format!("tcp:{}", tcp.local_addr().unwrap())));
    }
}
