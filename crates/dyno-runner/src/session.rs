//! Where trials put their files, and how everything that they created is removed.
//!
//! A runner has a place of its own, `TMP/dyno-UID/PID-START`, and in it one scratch directory per
//! trial, its session. A session is cleared when its trial ends. After a crash the next start
//! finds places whose runner is gone and clears them: agents that still live are killed, claimed
//! resources and shared memory that carries the session's name are removed. Whatever another user may have
//! written there is left alone and named ([`crate::own`]).

use crate::own::{Left, OwnDir, objection, remove_named, user};
use dyno_adapter_names::{CLAIMS, SHM};
use rustix::process::{Pid, Signal};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};

/// Names that the runner shares with adapters by convention, without linking them.
mod dyno_adapter_names {
    /// `dyno_adapter::CLAIMS`; a test of the command line holds the two together.
    pub(super) const CLAIMS: &str = "claims";
    /// Where POSIX shared memory shows as files.
    pub(super) const SHM: &str = "/dev/shm";
}

/// Why scratch directories cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The kernel refused.
    #[error("cannot {action} {}: {source}; set TMPDIR to a directory that you can write to", path.display())]
    System {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Another user could change files of a trial.
    #[error("cannot put temporary files into {}: {}; set TMPDIR to an existing directory that only you and root can change", .0.path.display(), .0.why)]
    Unsafe(Left),
}

fn fail(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SessionError {
    let path = path.to_path_buf();
    move |source| SessionError::System {
        action,
        path,
        source,
    }
}

/// So many entries that were left alone are named; a stranger can make any number of them.
const LEFT_TOLD: usize = 3;

/// What a sweep removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Swept {
    /// One line for each place of a runner that is gone.
    pub places: Vec<PathBuf>,
    /// Processes that were ended.
    pub killed: Vec<u32>,
    /// Shared memory, queues and other files outside the places that were removed.
    pub removed: Vec<String>,
    /// What stands in a place of Dyno's and may be another user's.
    pub left: Vec<Left>,
}

impl Swept {
    /// Whether there was nothing to do.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.killed.is_empty() && self.removed.is_empty()
    }

    /// What was left alone, as lines for people: the first few, then how many more there are.
    pub fn told(&self) -> Vec<String> {
        let told = self.left.iter().take(LEFT_TOLD);
        let mut lines: Vec<String> = told
            .map(|left| format!("{left}; its owner or root may remove it"))
            .collect();
        let more = self.left.len().saturating_sub(LEFT_TOLD);
        if more > 0 {
            lines.push(format!(
                "left {more} further entries alone for reasons of this kind"
            ));
        }
        lines
    }
}

/// The folder for temporary files.
fn folder() -> PathBuf {
    let named = std::env::temp_dir();
    // One that does not exist is refused under the name that it was given.
    fs::canonicalize(&named).unwrap_or(named)
}

/// The folder of this user's places in `folder`, as it is called where nobody has taken the name.
fn base_name() -> String {
    format!("dyno-{}", user())
}

/// Clears what runners left behind that do not live any more.
pub fn sweep() -> Swept {
    sweep_in(&folder())
}

fn sweep_in(folder: &Path) -> Swept {
    let mut swept = Swept::default();
    let usual = base_name();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_base = |name: &String| {
        let rest = name.strip_prefix(&usual);
        rest.is_some_and(|rest| {
            let other = rest.strip_prefix('.').unwrap_or_default();
            rest.is_empty() || other.len() == 6 && other.chars().all(|c| c.is_ascii_alphanumeric())
        })
    };
    for name in names.filter(is_base) {
        match OwnDir::top(folder, OsStr::new(&name)) {
            Ok(base) => {
                clear_base(&base, &mut swept);
                // Only succeeds when no other runner is at work.
                let _ = fs::remove_dir(base.path());
            }
            Err(left) => swept.left.push(left),
        }
    }
    swept
}

fn clear_base(base: &OwnDir, swept: &mut Swept) {
    for name in base.names() {
        let owner = name.to_str().and_then(Process::parse);
        if owner.is_some_and(Process::is_alive) {
            continue;
        }
        match base.dir(&name) {
            Ok(place) => {
                clear_place(&place, swept);
                base.remove(&name);
                swept.places.push(place.path().to_owned());
            }
            Err(left) => swept.left.push(left),
        }
    }
}

fn clear_place(place: &OwnDir, swept: &mut Swept) {
    for session in place.names() {
        clear_session(place, &session, swept);
    }
}

/// Whether a directory is called as sessions are: `dyno-PID-START-NUMBER`.
fn is_session(name: &str) -> bool {
    let owner = name
        .strip_prefix("dyno-")
        .and_then(|rest| rest.rsplit_once('-'));
    owner.is_some_and(|(owner, number)| {
        Process::parse(owner).is_some() && number.parse::<usize>().is_ok()
    })
}

/// Ends the session's agents and daemons and removes everything that carries its name.
fn clear_session(place: &OwnDir, name: &OsStr, swept: &mut Swept) {
    let session = name.to_str().filter(|name| is_session(name));
    match (place.dir(name), session) {
        (Ok(scratch), Some(session)) => {
            for agent in scratch.note(OsStr::new(AGENTS)).lines() {
                if let Some(agent) = Process::parse(agent).filter(|agent| agent.is_alive()) {
                    agent.kill();
                    swept.killed.push(agent.pid);
                }
            }
            remove_claimed(&scratch, &scratch, session, swept);
            // Several hosts of this machine have a directory each, within that of the session.
            for below in scratch.names() {
                if let Ok(host) = scratch.dir(&below) {
                    remove_claimed(&scratch, &host, session, swept);
                }
            }
            let named = remove_named(Path::new(SHM), session);
            let named = named.iter().map(|path| path.display().to_string());
            swept.removed.extend(named);
        }
        // The directory of no session says nothing about what lies elsewhere, and neither does a socket.
        (_, None) => {}
        (Err(left), Some(_)) => swept.left.push(left),
    }
    place.remove(name);
}

/// Removes what processes of the session in `scratch` noted in `place`.
fn remove_claimed(scratch: &OwnDir, place: &OwnDir, session: &str, swept: &mut Swept) {
    let Ok(claims) = place.dir(OsStr::new(CLAIMS)) else {
        return;
    };
    for note in claims.names() {
        let text = claims.note(&note);
        let removed = match text.trim_end().split_once(' ') {
            Some(("mqueue", name)) if name.contains(session) => {
                unlink_mqueue(name).then(|| format!("message queue {name}"))
            }
            Some(("file", path)) => scratch
                .remove_noted(Path::new(path))
                .then(|| path.to_owned()),
            _ => None,
        };
        swept.removed.extend(removed);
    }
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
    base: OwnDir,
    path: PathBuf,
    owner: Process,
    /// The next one to hand out; both sides of a trial may ask at the same time.
    port: AtomicU16,
}

impl Place {
    pub(crate) fn create() -> Result<Self, SessionError> {
        Self::create_in(&folder())
    }

    fn create_in(folder: &Path) -> Result<Self, SessionError> {
        if let Some(left) = objection(folder) {
            return Err(SessionError::Unsafe(left));
        }
        let owner = Process::of(std::process::id()).unwrap_or(Process {
            pid: std::process::id(),
            start: 0,
        });
        let name = OsString::from(owner.to_string());
        // Another runner that ends meanwhile removes the folder while it is empty. Once this place is in it, it stays.
        let mut tries = 0..10;
        let base = loop {
            let base = own_base(folder)?;
            match base.make(&name) {
                Ok(()) => break base,
                Err(e) if e.kind() == io::ErrorKind::NotFound && tries.next().is_some() => {}
                Err(e) => return Err(fail("create", &base.path().join(&name))(e)),
            }
        };
        base.protect().map_err(fail("protect", base.path()))?;
        let path = base.path().join(&name);
        // Runners that start together begin at different ports.
        let port = FIRST_PORT + (owner.pid % 64) as u16 * 128;
        Ok(Place {
            base,
            path,
            owner,
            port: AtomicU16::new(port),
        })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A fresh scratch directory for a session that another runner names.
    ///
    /// # Errors
    ///
    /// Where no session has such a name, and where the directory cannot be made.
    pub(crate) fn open(&self, name: &str) -> Result<PathBuf, SessionError> {
        let scratch = self.path.join(name);
        let made = match (is_session(name), self.handle()) {
            (true, Ok(place)) => place.make(OsStr::new(name)),
            (true, Err(left)) => return Err(SessionError::Unsafe(left)),
            (false, _) => Err(io::ErrorKind::InvalidFilename.into()),
        };
        made.map_err(fail("create", &scratch))?;
        Ok(scratch)
    }

    /// Ends the processes of that session and removes what they left.
    pub(crate) fn clear(&self, name: &str) {
        if let (true, Ok(place)) = (is_session(name), self.handle()) {
            clear_session(&place, OsStr::new(name), &mut Swept::default());
        }
    }

    fn handle(&self) -> Result<OwnDir, Left> {
        self.base.dir(&self.name())
    }

    fn name(&self) -> OsString {
        OsString::from(self.owner.to_string())
    }

    /// A fresh scratch directory for the trial at that position of the run.
    pub(crate) fn session(&self, position: usize) -> Result<Session<'_>, SessionError> {
        let name = format!("dyno-{}-{position}", self.owner);
        let scratch = self.open(&name)?;
        // There from the start: whoever looks for what an adapter has created knows it.
        let notes = scratch.join(AGENTS);
        fs::File::create(&notes).map_err(fail("create", &notes))?;
        Ok(Session {
            name,
            scratch,
            place: self,
            blocks: BTreeMap::new(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Ok(place) = self.handle() {
            clear_place(&place, &mut Swept::default());
        }
        self.base.remove(&self.name());
        // Only succeeds when no other runner is at work.
        let _ = fs::remove_dir(self.base.path());
    }
}

/// Ports that endpoints may listen on lie below Linux' default range for outgoing connections,
/// which begins at 32,768 (ip-sysctl, ip_local_port_range).
const FIRST_PORT: u16 = 20_000;
const LAST_PORT: u16 = 31_999;
/// So many ports are claimed together.
const PORTS_CLAIMED: u16 = 64;

/// One trial's scratch directory; cleared when dropped.
pub(crate) struct Session<'a> {
    pub(crate) name: String,
    pub(crate) scratch: PathBuf,
    place: &'a Place,
    /// Its claims on blocks of ports, by the number of the block.
    blocks: BTreeMap<u16, UnixDatagram>,
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
            let next = |port| match port >= LAST_PORT {
                true => Some(FIRST_PORT),
                false => Some(port + 1),
            };
            let counter = &self.place.port;
            let (Ok(port) | Err(port)) =
                counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
            let address = (std::net::Ipv4Addr::UNSPECIFIED, port);
            if !check
                || self.claim(port)
                    && std::net::UdpSocket::bind(address).is_ok()
                    && std::net::TcpListener::bind(address).is_ok()
            {
                return Some(port);
            }
        }
        None
    }

    /// Claims the block of a port before an endpoint binds it, so that no other runner on this machine gives it away meanwhile. The claim
    /// is a name among abstract sockets (unix(7)): as exclusive as a port, within the same network, and gone with its process.
    /// `false`: another runner has it.
    fn claim(&mut self, port: u16) -> bool {
        let block = port / PORTS_CLAIMED;
        if self.blocks.contains_key(&block) {
            return true;
        }
        let name = SocketAddr::from_abstract_name(format!("dyno-ports-{block}"));
        match name.and_then(|name| UnixDatagram::bind_addr(&name)) {
            Ok(claim) => drop(self.blocks.insert(block, claim)),
            // Where nothing can be claimed, a port is only looked at.
            Err(e) => return e.kind() != io::ErrorKind::AddrInUse,
        }
        true
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.place.clear(&self.name);
    }
}

/// Makes a directory for this user alone.
fn make(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// The folder of this user's places. Where a stranger has taken its name, another one.
fn own_base(folder: &Path) -> Result<OwnDir, SessionError> {
    let usual = folder.join(base_name());
    match make(&usual) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            return Err(fail("create", &usual)(e));
        }
        _ => {}
    }
    // The start that sweeps says what was left alone.
    if let Ok(base) = OwnDir::top(folder, OsStr::new(&base_name())) {
        return Ok(base);
    }
    let other = tempfile::Builder::new()
        .prefix(&format!("{}.", base_name()))
        .tempdir_in(folder)
        .map_err(fail("create", folder))?
        .keep();
    OwnDir::top(folder, other.file_name().unwrap_or_default()).map_err(SessionError::Unsafe)
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
    fn sessions_are_told_from_other_names() {
        assert!(is_session("dyno-12-345-0"));
        for other in [
            "",
            "x",
            "dyno-",
            "dyno-1-2",
            "dyno-1-2-x",
            "../dyno-1-2-3",
            "dyno-1-2-3/..",
        ] {
            assert!(!is_session(other), "{other}");
        }
    }

    #[test]
    fn two_runners_never_give_the_same_port() {
        let folders = [0, 1].map(|_| tempfile::tempdir().unwrap());
        // Both begin at the same port, and bind none.
        let places = folders
            .each_ref()
            .map(|f| Place::create_in(f.path()).unwrap());
        let [mut one, mut other] = [&places[0], &places[1]].map(|p| p.session(0).unwrap());
        let mut ports: Vec<u16> = (0..20)
            .flat_map(|_| [one.free_port(true), other.free_port(true)])
            .map(Option::unwrap)
            .collect();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 40);
    }

    /// A folder in which a session of a runner that is gone claims `victim`, and the folder's places.
    fn folder_with_claims(victim: &Path) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join(base_name());
        let claims = base.join("1-1/dyno-1-1-77").join(CLAIMS);
        fs::create_dir_all(&claims).unwrap();
        // So that what is claimed from now on is newer than the session for a coarse clock too.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(claims.join("a"), format!("file {}\n", victim.display())).unwrap();
        (folder, base)
    }

    #[test]
    fn what_a_lost_session_claimed_is_removed_and_nothing_older() {
        let dir = tempfile::tempdir().unwrap();
        let (old, outside) = (dir.path().join("old"), dir.path().join("outside"));
        fs::write(&old, "x").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (folder, base) = folder_with_claims(&outside);
        let session = base.join("1-1/dyno-1-1-77");
        fs::write(&outside, "x").unwrap();
        fs::write(
            session.join(CLAIMS).join("b"),
            format!("file {}\n", old.display()),
        )
        .unwrap();
        let shm = Path::new(SHM).join("dyno-1-1-77.segment");
        fs::write(&shm, "x").unwrap();
        let swept = sweep_in(folder.path());
        assert!(!outside.exists() && !base.exists() && !shm.exists());
        assert!(old.exists(), "it is older than the session");
        assert_eq!(swept.removed.len(), 2);
        assert_eq!((swept.left, swept.places.len()), (vec![], 1));
    }

    #[test]
    fn a_claim_of_something_with_a_second_name_or_of_a_directory_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        let (folder, base) = folder_with_claims(&victim);
        fs::write(&victim, "x").unwrap();
        fs::hard_link(&victim, dir.path().join("second")).unwrap();
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let claims = base.join("1-1/dyno-1-1-77").join(CLAIMS);
        fs::write(claims.join("b"), format!("file {}\n", inner.display())).unwrap();
        fs::write(claims.join("c"), "mqueue /somebody.elses\n").unwrap();
        assert!(sweep_in(folder.path()).removed.is_empty());
        assert!(victim.exists() && inner.exists());
    }

    #[test]
    fn directories_that_are_no_sessions_speak_for_nothing_elsewhere() {
        let shm = Path::new(SHM).join(format!("mine-{}", std::process::id()));
        fs::write(&shm, "x").unwrap();
        let folder = tempfile::tempdir().unwrap();
        // Its name is part of many others'.
        fs::create_dir_all(folder.path().join(base_name()).join("1-1/mine")).unwrap();
        let swept = sweep_in(folder.path());
        assert!(shm.exists());
        fs::remove_file(&shm).unwrap();
        assert!(swept.removed.is_empty() && swept.places.len() == 1);
    }

    /// Puts something hostile in the place of a folder, for which there is room aside.
    type Plant = fn(&Path, &Path);

    /// What a stranger can put where this user's places would be: each is left as it is, and named.
    #[test]
    fn what_others_may_have_written_is_left_alone_and_named() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        let hostile: [(&str, Plant); 4] = [
            ("others may write", |base, _| {
                fs::set_permissions(base, fs::Permissions::from_mode(0o777)).unwrap();
            }),
            ("others may write", |base, _| {
                fs::set_permissions(base, fs::Permissions::from_mode(0o770)).unwrap();
            }),
            ("a link", |base, aside| {
                fs::rename(base, aside).unwrap();
                std::os::unix::fs::symlink(aside, base).unwrap();
            }),
            ("no directory", |base, aside| {
                fs::rename(base, aside).unwrap();
                let path = std::ffi::CString::new(base.to_str().unwrap()).unwrap();
                // SAFETY: the string ends with NUL and lives for the call.
                assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
            }),
        ];
        for (why, make) in hostile {
            let (folder, base) = folder_with_claims(&victim);
            // Newer than the session, so that only the folder can keep it from being removed.
            let _ = fs::remove_file(&victim);
            fs::write(&victim, "x").unwrap();
            make(&base, &folder.path().join("aside"));
            let swept = sweep_in(folder.path());
            assert!(victim.exists() && swept.removed.is_empty() && swept.places.is_empty());
            let [left] = swept.left.as_slice() else {
                panic!("{:?}", swept.left)
            };
            assert!(left.to_string().contains(why), "{left}");
            // And a runner works beside it.
            let place = Place::create_in(folder.path()).unwrap();
            assert_ne!(place.base.path(), base);
            assert!(place.path().is_dir());
            drop(place);
            assert!(sweep_in(folder.path()).places.is_empty());
        }
    }

    /// Only root can make files of another user.
    fn strangers(folder: &Path) -> Option<u32> {
        const NOBODY: u32 = 65_534;
        let given = std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY));
        if given.is_err() {
            eprintln!("NOT TESTED: making files of another user needs root");
        }
        given.is_ok().then_some(NOBODY)
    }

    #[test]
    fn a_strangers_folder_is_not_obeyed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        let (folder, base) = folder_with_claims(&victim);
        fs::write(&victim, "x").unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let process = Process::of(child.id()).unwrap();
        fs::write(
            base.join("1-1/dyno-1-1-77").join(AGENTS),
            process.to_string(),
        )
        .unwrap();
        if let Some(nobody) = strangers(&base) {
            let swept = sweep_in(folder.path());
            assert!(victim.exists() && process.is_alive() && base.exists());
            assert!(swept.left[0].to_string().contains(&nobody.to_string()));
            assert!(swept.killed.is_empty() && swept.removed.is_empty());
            // Nor one in a folder of this user's.
            let inner = base.join("1-1");
            strangers(&inner);
            std::os::unix::fs::chown(&base, Some(user()), None).unwrap();
            let swept = sweep_in(folder.path());
            assert!(victim.exists() && process.is_alive() && inner.exists());
            assert_eq!(swept.left.len(), 1);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_folder_that_is_changed_between_check_and_use_is_never_obeyed() {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::{AtomicBool, Ordering};
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        let (folder, base) = folder_with_claims(&victim);
        fs::write(&victim, "x").unwrap();
        if strangers(&base).is_none() {
            return;
        }
        let own = folder.path().join("own");
        // With the place of a runner that lives, it is never removed.
        let alive = Process::of(std::process::id()).unwrap().to_string();
        fs::create_dir_all(own.join(alive)).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &own, CWD, &base, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let tries = 10_000;
            let (mut removed, mut strange) = (0, 0);
            for swept in (0..tries).map(|_| sweep_in(folder.path())) {
                removed += swept.removed.len() + swept.places.len();
                strange += swept.left.len();
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(removed, 0);
            // Both folders were met.
            assert!((1..tries).contains(&strange), "{strange}");
        });
        assert!(victim.exists());
    }

    #[test]
    fn a_folder_for_temporary_files_must_exist_and_be_safe() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let refused = |folder: &Path| Place::create_in(folder).err().unwrap().to_string();
        assert!(refused(&missing).contains("set TMPDIR to an existing directory"));
        assert!(!missing.exists());
        let inner = dir.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for folder in [dir.path(), &inner] {
            assert!(refused(folder).contains("others may write to it (mode 777)"));
        }
        // As /tmp is.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(Place::create_in(dir.path()).is_ok());
    }
}
