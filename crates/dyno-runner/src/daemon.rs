//! The daemons of a stack: started before the agents of each trial, watched while they are needed,
//! ended after them. A trial never sees what another one's daemon holds.
//!
//! Every daemon has a process group of its own, runs in the trial's scratch directory and dies with
//! the runner. What it does not remove when it is killed is claimed, like what adapters create.

use crate::child::{Tail, confine, exit, nanos, set_timer_slack};
use crate::hosts::Host;
use crate::prepare::prepare;
use crate::programs::find;
use crate::session::Session;
use dyno_model::cause::{DaemonTrouble, FailureCause};
use dyno_model::daemon::{self, Ready, StopSignal};
use dyno_model::record::FailureKind;
use rustix::process::{Pid, Signal};
use std::fs::{File, TryLockError};
use std::net::ToSocketAddrs;
use std::os::unix::fs::MetadataExt;
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
    /// The host's number in the testbed.
    pub(crate) place: usize,
    /// The host's name, where that must be said.
    pub(crate) host_name: Option<&'a str>,
    /// The IP address of the host.
    pub(crate) address: &'a str,
    /// The trial's directory on the host.
    pub(crate) scratch: &'a Path,
}

/// How a daemon's process is started, in whichever generation.
struct Recipe {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Empty: any.
    cpus: Vec<u32>,
    scratch: PathBuf,
    ready: Ready,
}

impl Recipe {
    fn spawn(&self, host: &Host) -> std::io::Result<Child> {
        let program = find(&self.program);
        let mut command = Command::new(program.as_deref().unwrap_or(Path::new(&self.program)));
        command
            .envs(self.environment.iter().map(|(name, text)| (name, text)))
            .args(&self.arguments)
            .current_dir(&self.scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        host.admit(&mut command);
        confine(&mut command, &self.cpus);
        set_timer_slack(&mut command);
        command.spawn()
    }

    /// The file that shows that it is ready, by its number and its last change; nothing where another sign does, and
    /// where there is none.
    fn file(&self) -> Option<(u64, i64, i64)> {
        let Ready::File(path) = &self.ready else {
            return None;
        };
        let file = std::fs::metadata(self.scratch.join(path)).ok()?;
        Some((file.ino(), file.ctime(), file.ctime_nsec()))
    }
}

/// A running daemon. Dropping it ends the process.
pub(crate) struct Daemon {
    label: String,
    /// In the stack file.
    name: String,
    /// The number of its host in the testbed.
    place: usize,
    recipe: Recipe,
    child: Child,
    stop: StopSignal,
    output: Tail,
    status: Option<ExitStatus>,
    /// It has said that it is ready, where that is its sign.
    said: Arc<AtomicBool>,
    /// The file of the process before it, which is no sign of this one.
    stale: Option<(u64, i64, i64)>,
    /// Notes of what it leaves, to be taken back when it ends by itself.
    claims: Vec<PathBuf>,
    /// Held while an exclusive daemon lives.
    turn: Option<Arc<Turn>>,
}

impl Daemon {
    /// Starts the daemon and waits until it is ready, at most `within`. `before`: those of the same trial that were
    /// started before it, whose turn it shares where they are the same program.
    #[expect(
        clippy::too_many_lines,
        reason = "the steps of a start in their order, each with an error of its own"
    )]
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
        let mut arguments = filled(&spec.command)?;
        if arguments.is_empty() {
            return Err(error(DaemonTrouble::NoCommand));
        }
        let program = arguments.remove(0);
        let mut environment = Vec::new();
        for (name, text) in &spec.environment {
            environment.push((name.clone(), fill(text)?));
        }
        let turn = match spec.exclusive {
            true => Some(take_turn(&program, before, interrupt).map_err(trouble)?),
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
        let recipe = Recipe {
            program,
            arguments,
            environment,
            cpus: values.cpus.to_vec(),
            scratch: scratch.to_owned(),
            ready,
        };
        let child = recipe.spawn(values.host).map_err(|e| {
            error(DaemonTrouble::NotStarted {
                program: recipe.program.clone(),
                error: e.to_string(),
            })
        })?;
        let mut daemon = Daemon {
            label,
            name: spec.name.clone(),
            place: values.place,
            recipe,
            child,
            stop: spec.stop,
            output: Tail::default(),
            status: None,
            said: Arc::default(),
            stale: None,
            claims,
            turn,
        };
        daemon.attend(session)?;
        daemon.wait_until_ready(values.host, within, interrupt)?;
        Ok(daemon)
    }

    /// Starts it once more, as it was started, after it has ended: what prepares it and its files are there. It is
    /// ready when [`is_ready`](Self::is_ready) says so.
    pub(crate) fn restart(&mut self, host: &Host, session: &Session<'_>) -> Result<(), Trouble> {
        // Others of its group may live.
        self.kill();
        self.stale = self.recipe.file();
        match self.recipe.spawn(host) {
            Ok(child) => self.child = child,
            Err(e) => {
                let (program, error) = (self.recipe.program.clone(), e.to_string());
                let trouble = DaemonTrouble::NotStarted { program, error };
                return Err(self.trouble(FailureKind::Error, trouble));
            }
        }
        self.status = None;
        self.attend(session)
    }

    /// Notes its new process, so that it can be ended should this runner die, and listens to it.
    fn attend(&mut self, session: &Session<'_>) -> Result<(), Trouble> {
        if let Err(e) = session.note_process(self.pid()) {
            let error = e.to_string();
            return Err(self.trouble(FailureKind::Error, DaemonTrouble::ProcessNotNoted { error }));
        }
        self.listen();
        Ok(())
    }

    /// In the stack file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The number of its host in the testbed.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// Such as `daemon RouDi`.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Keeps its output, and looks in it for what says that it is ready.
    fn listen(&mut self) {
        self.said = Arc::default();
        let listener = || {
            let said = self.said.clone();
            let wanted = match &self.recipe.ready {
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
    }

    /// Whether it shows that it is ready. Fails when it has ended.
    pub(crate) fn is_ready(&mut self, host: &Host) -> Result<bool, Trouble> {
        let is_ready = match &self.recipe.ready {
            Ready::Output(_) => self.said.load(Ordering::Relaxed),
            Ready::File(_) => {
                let file = self.recipe.file();
                file.is_some() && file != self.stale
            }
            Ready::Connect(to) => host.within(|| accepts(to)).unwrap_or(false),
        };
        // Asked after it was seen ready: what answered may be another one's.
        match self.status() {
            Some(status) => {
                let (exit, ready) = (exit(status), false);
                Err(self.trouble(FailureKind::Crash, DaemonTrouble::Ended { exit, ready }))
            }
            None => Ok(is_ready),
        }
    }

    /// It did not show that it is ready within that time.
    pub(crate) fn not_ready(&mut self, within: Duration) -> Trouble {
        let (within, sign) = (nanos(within), self.recipe.ready.clone());
        self.trouble(FailureKind::Hang, DaemonTrouble::NotReady { within, sign })
    }

    fn wait_until_ready(
        &mut self,
        host: &Host,
        within: Duration,
        interrupt: &AtomicBool,
    ) -> Result<(), Trouble> {
        let deadline = Instant::now() + within;
        while !self.is_ready(host)? {
            if interrupt.load(Ordering::Relaxed) {
                return Err(self.trouble(FailureKind::Interrupted, DaemonTrouble::Interrupted));
            }
            if Instant::now() >= deadline {
                return Err(self.not_ready(within));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Ends the daemon, and adds the last thing that it said.
    fn trouble(&mut self, kind: FailureKind, trouble: DaemonTrouble) -> Trouble {
        self.kill();
        let output = self.output.complete();
        let cause = FailureCause::Daemon {
            daemon: self.label.clone(),
            trouble,
            said: self.last_words(),
        };
        Trouble {
            kind,
            cause: Box::new(cause),
            output,
        }
    }

    /// How it ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
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

    /// The last lines that it said, complete where it has ended.
    pub(crate) fn last_words(&mut self) -> Option<String> {
        let output = match self.status() {
            Some(_) => self.output.complete(),
            None => self.output.lines(),
        };
        let mut lines = output.iter().rev().map(|line| line.trim());
        lines.find(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Asks it to end, as its stack file says.
    pub(crate) fn ask_to_end(&self) {
        self.signal(match self.stop {
            StopSignal::Term => Signal::TERM,
            StopSignal::Int => Signal::INT,
            StopSignal::Hup => Signal::HUP,
            StopSignal::Quit => Signal::QUIT,
            StopSignal::Kill => Signal::KILL,
        });
    }

    /// Asks it to end, and kills what is left of its group.
    fn end(&mut self) {
        if self.status().is_none() {
            self.ask_to_end();
            // A fault may have stopped it.
            self.signal_group(Signal::CONT);
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
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(pid) = self.group() {
            // It may end by itself at this moment.
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// To the daemon and the children that it has not given a group of their own.
    pub(crate) fn signal_group(&self, signal: Signal) {
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
