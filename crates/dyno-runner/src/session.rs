//! Where trials put their files, and how everything that they created is removed.
//!
//! A runner has a place of its own, `TMP/dyno-UID/PID-START`, and in it one scratch directory per
//! trial, its session. A session is cleared when its trial ends. After a crash the next start
//! finds places whose runner is gone and clears them: agents that still live are killed, claimed
//! resources and shared memory that carries the session's name are removed.

use dyno_adapter_names::{CLAIMS, SHM};
use rustix::process::{Pid, Signal};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Names that the runner shares with adapters by convention, without linking them.
mod dyno_adapter_names {
    /// `dyno_adapter::CLAIMS`; a test of the command line holds the two together.
    pub(super) const CLAIMS: &str = "claims";
    /// Where POSIX shared memory shows as files.
    pub(super) const SHM: &str = "/dev/shm";
}

/// Why scratch directories cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}; set TMPDIR to a directory that you can write to", path.display())]
pub struct SessionError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// What a sweep removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// One line for each place of a runner that is gone.
    pub places: Vec<PathBuf>,
    /// Processes that were ended.
    pub killed: Vec<u32>,
    /// Shared memory, queues and other files outside the places that were removed.
    pub removed: Vec<String>,
}

impl Swept {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.killed.is_empty() && self.removed.is_empty()
    }
}

fn base() -> PathBuf {
    std::env::temp_dir().join(format!("dyno-{}", rustix::process::getuid().as_raw()))
}

/// Clears what runners left behind that do not live any more.
pub fn sweep() -> Swept {
    let mut swept = Swept::default();
    for entry in fs::read_dir(base()).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_string_lossy().into_owned();
        if !Process::parse(&owner).is_some_and(|p| p.is_alive()) {
            clear_place(&entry.path(), &mut swept);
            swept.places.push(entry.path());
        }
    }
    // Only succeeds when no other runner is at work.
    let _ = fs::remove_dir(base());
    swept
}

fn clear_place(place: &Path, swept: &mut Swept) {
    for session in fs::read_dir(place).into_iter().flatten().flatten() {
        clear_session(&session.path(), swept);
    }
    // What cannot be removed now is tried again at the next start.
    let _ = fs::remove_dir_all(place);
}

/// Ends the session's agents and daemons and removes everything that carries its name.
fn clear_session(scratch: &Path, swept: &mut Swept) {
    let agents = fs::read_to_string(scratch.join(AGENTS)).unwrap_or_default();
    for agent in agents.lines().filter_map(Process::parse) {
        if agent.is_alive() {
            agent.kill();
            swept.killed.push(agent.pid);
        }
    }
    // Several hosts of this machine have a directory each, within that of the session.
    let below = fs::read_dir(scratch).into_iter().flatten().flatten();
    let mut places = vec![scratch.to_path_buf()];
    places.extend(below.map(|entry| entry.path()).filter(|path| path.is_dir()));
    let claims = places.iter().flat_map(|p| fs::read_dir(p.join(CLAIMS)));
    for claim in claims.flatten().flatten() {
        let text = fs::read_to_string(claim.path()).unwrap_or_default();
        let removed = match text.trim_end().split_once(' ') {
            Some(("mqueue", name)) => unlink_mqueue(name).then(|| format!("message queue {name}")),
            Some(("file", path)) => fs::remove_file(path).is_ok().then(|| path.to_owned()),
            _ => None,
        };
        swept.removed.extend(removed);
    }
    if let Some(name) = scratch
        .file_name()
        .and_then(|n| n.to_str())
        .filter(|n| !n.is_empty())
    {
        for entry in fs::read_dir(SHM).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().contains(name) {
                let path = entry.path();
                let gone = if path.is_dir() {
                    fs::remove_dir_all(&path)
                } else {
                    fs::remove_file(&path)
                };
                if gone.is_ok() {
                    swept.removed.push(path.display().to_string());
                }
            }
        }
    }
    let _ = fs::remove_dir_all(scratch);
}

fn unlink_mqueue(name: &str) -> bool {
    let Ok(name) = std::ffi::CString::new(name) else {
        return false;
    };
    // SAFETY: `name` is a NUL-terminated string that lives for the call.
    unsafe { libc::mq_unlink(name.as_ptr()) == 0 }
}

/// The file in a scratch directory that lists the trial's agents and daemons.
const AGENTS: &str = "agents";

/// A process by its id and start time, so that a recycled id is not mistaken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    start: u64,
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        Some(Process {
            pid,
            start: start_time(pid)?,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, start) = text.trim().split_once('-')?;
        Some(Process {
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }

    fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.start)
    }

    fn kill(self) {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // It leads a group of its own. It may have ended meanwhile, which is what we want.
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.pid, self.start)
    }
}

/// Start time in clock ticks since boot: field 22 of /proc/PID/stat (proc(5)); `None` where there
/// is no such process, or where it is a zombie.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command in parentheses may hold blanks and parentheses itself.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// This runner's place.
pub(crate) struct Place {
    path: PathBuf,
    owner: Process,
    port: u16,
}

impl Place {
    pub(crate) fn create() -> Result<Self, SessionError> {
        let owner = Process::of(std::process::id()).unwrap_or(Process {
            pid: std::process::id(),
            start: 0,
        });
        let path = base().join(owner.to_string());
        let fail = |action, path: &Path| {
            let path = path.to_path_buf();
            move |source| SessionError {
                action,
                path,
                source,
            }
        };
        fs::create_dir_all(&path).map_err(fail("create", &path))?;
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(base(), fs::Permissions::from_mode(0o700))
            .map_err(fail("protect", &base()))?;
        // Runners that start together begin at different ports.
        let port = FIRST_PORT + (owner.pid % 64) as u16 * 128;
        Ok(Place { path, owner, port })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A fresh scratch directory for a session that another runner names.
    pub(crate) fn open(&self, name: &str) -> Result<PathBuf, SessionError> {
        let scratch = self.path.join(name);
        fs::create_dir(&scratch).map_err(|source| SessionError {
            action: "create",
            path: scratch.clone(),
            source,
        })?;
        Ok(scratch)
    }

    /// Ends the processes of that session and removes what they left.
    pub(crate) fn clear(&self, name: &str) {
        clear_session(&self.path.join(name), &mut Swept::default());
    }

    /// A fresh scratch directory for the trial at that position of the run.
    pub(crate) fn session(&mut self, position: usize) -> Result<Session<'_>, SessionError> {
        let name = format!("dyno-{}-{position}", self.owner);
        let scratch = self.open(&name)?;
        // There from the start: whoever looks for what an adapter has created knows it.
        let notes = scratch.join(AGENTS);
        fs::File::create(&notes).map_err(|source| SessionError {
            action: "create",
            path: notes.clone(),
            source,
        })?;
        Ok(Session {
            name,
            scratch,
            place: self,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        clear_place(&self.path, &mut Swept::default());
        let _ = fs::remove_dir(base());
    }
}

/// Ports that endpoints may listen on lie below Linux' default range for outgoing connections,
/// which begins at 32,768 (ip-sysctl, ip_local_port_range).
const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 31_999;

/// One trial's scratch directory; cleared when dropped.
pub(crate) struct Session<'a> {
    pub(crate) name: String,
    pub(crate) scratch: PathBuf,
    place: &'a mut Place,
}

impl Session<'_> {
    /// Notes an agent or a daemon, so that it can be ended should this runner die.
    pub(crate) fn note_process(&self, pid: u32) -> io::Result<()> {
        let Some(agent) = Process::of(pid) else {
            return Ok(());
        };
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.scratch.join(AGENTS))?;
        writeln!(file, "{agent}")
    }

    /// Notes that a file outside of the scratch directory may be left behind, as adapters do.
    /// Returns the note.
    pub(crate) fn claim_file(&self, path: &Path) -> io::Result<PathBuf> {
        let dir = self.scratch.join(CLAIMS);
        fs::create_dir_all(&dir)?;
        let file: String = path
            .to_string_lossy()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let note = dir.join(format!("daemon-{file}"));
        fs::write(&note, format!("file {}\n", path.display()))?;
        Ok(note)
    }

    /// The next port; with `check` one on which nobody of this machine's own network listens, for UDP
    /// and TCP. A host with a network of its own has nothing in it but the trial.
    pub(crate) fn free_port(&mut self, check: bool) -> Option<u16> {
        for _ in FIRST_PORT..=LAST_PORT {
            let port = self.place.port;
            self.place.port = if port >= LAST_PORT {
                FIRST_PORT
            } else {
                port + 1
            };
            let address = (std::net::Ipv4Addr::UNSPECIFIED, port);
            if !check
                || std::net::UdpSocket::bind(address).is_ok()
                    && std::net::TcpListener::bind(address).is_ok()
            {
                return Some(port);
            }
        }
        None
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        clear_session(&self.scratch, &mut Swept::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_time() {
        let me = Process::of(std::process::id()).unwrap();
        assert!(me.is_alive());
        assert_eq!(Process::parse(&me.to_string()), Some(me));
        assert!(
            !Process {
                start: me.start + 1,
                ..me
            }
            .is_alive()
        );
    }

    #[test]
    fn clearing_a_session_removes_what_it_claimed() {
        let dir = tempfile::tempdir().unwrap();
        let scratch = dir.path().join("dyno-test-session-77");
        let outside = dir.path().join("outside");
        fs::write(&outside, "x").unwrap();
        fs::create_dir_all(scratch.join(CLAIMS)).unwrap();
        fs::write(
            scratch.join(CLAIMS).join("a"),
            format!("file {}\n", outside.display()),
        )
        .unwrap();
        let shm = Path::new(SHM).join("dyno-test-session-77.segment");
        fs::write(&shm, "x").unwrap();
        let mut swept = Swept::default();
        clear_session(&scratch, &mut swept);
        assert!(!outside.exists() && !scratch.exists() && !shm.exists());
        assert_eq!(swept.removed.len(), 2);
    }
}
