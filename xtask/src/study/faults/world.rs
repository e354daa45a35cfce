//! Where the campaign happens: as root in namespaces of its own, so that file systems can be filled and `/tmp`, `/dev/shm`,
//! message queues, sockets and interfaces of others do not count; and the inventory of what is there.

use super::kinds::{Room, Who};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// In the environment of all that the study starts.
pub(super) const MARK: &str = "DYNO_STUDY_FAULTS";
/// The file that fills a file system.
const BALLAST: &str = "ballast-of-the-study";

/// A process that the study started, or that one of those did, with blanks between its arguments.
pub(super) struct Process {
    pub(super) pid: i32,
    arguments: String,
}

impl Process {
    /// Whether it plays this part in the run of `runner`.
    pub(super) fn is(&self, who: Who, runner: i32) -> bool {
        let first = self.arguments.split(' ').next().unwrap_or_default();
        let program = first.rsplit('/').next().unwrap_or_default();
        let is_keeper = self.arguments.ends_with(" agent --keep");
        match who {
            Who::Runner => self.pid == runner,
            Who::Agent => program == "dyno" && self.arguments.contains(" agent") && !is_keeper,
            Who::Keeper => program == "dyno" && is_keeper,
            Who::Daemon => matches!(program, "sleep" | "mosquitto"),
            Who::Client => program == "ssh",
            Who::Server => program == "sshd:",
        }
    }

    /// What it is, its state, and what it waits for.
    pub(super) fn told(&self) -> String {
        let of = |file| fs::read_to_string(format!("/proc/{}/{file}", self.pid));
        let (stat, wait) = (
            of("stat").unwrap_or_default(),
            of("wchan").unwrap_or_default(),
        );
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        let words: Vec<&str> = self.arguments.split(' ').take(3).collect();
        format!("{} ({} {wait})", words.join(" "), state.unwrap_or('?'))
    }
}

/// The namespaces, while it lives.
pub(super) struct World {
    pub(super) place: PathBuf,
    /// Dyno.
    pub(super) program: PathBuf,
    pub(super) tmp: PathBuf,
    pub(super) runs: PathBuf,
    /// Why it has no namespaces of its own, if it has not.
    pub(super) shared: Option<String>,
}

impl World {
    /// Enters namespaces where that is possible; call it while the program has one thread.
    pub(super) fn enter(place: &Path, program: PathBuf) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("cannot prepare {}: {e}", place.display());
        let runs = place.join("runs");
        fs::create_dir_all(&runs).map_err(failed)?;
        let shared = separate(place, &runs).err();
        // Short: a socket's path has at most 107 bytes.
        let tmp = std::env::temp_dir().join(format!("faults-{}", std::process::id()));
        fs::create_dir_all(&tmp).map_err(failed)?;
        let place = place.to_owned();
        Ok(World {
            place,
            program,
            tmp,
            runs,
            shared,
        })
    }

    fn ballast(&self, room: Room) -> PathBuf {
        match room {
            Room::Runs => self.runs.join(BALLAST),
            Room::SharedMemory => Path::new("/dev/shm").join(BALLAST),
            Room::Scratch => self.tmp.join(BALLAST),
        }
    }

    /// Leaves `spare` bytes of a file system.
    pub(super) fn fill(&self, room: Room, spare: u64) -> Result<(), String> {
        let path = self.ballast(room);
        let failed = |e: std::io::Error| format!("cannot fill {}: {e}", path.display());
        let file = fs::File::create(&path).map_err(failed)?;
        // Others write meanwhile, so that what was free may be gone.
        for _ in 0..100 {
            let free = rustix::fs::fstatvfs(&file).map_err(|e| failed(e.into()))?;
            let length = (free.f_bavail * free.f_frsize).saturating_sub(spare).max(1);
            let how = rustix::fs::FallocateFlags::empty();
            match rustix::fs::fallocate(&file, how, 0, length) {
                Err(rustix::io::Errno::NOSPC) => {}
                done => return done.map_err(|e| failed(e.into())),
            }
        }
        Err(failed(rustix::io::Errno::NOSPC.into()))
    }

    /// Gives it back.
    pub(super) fn empty(&self, room: Room) {
        // Where it was never filled, there is none.
        let _ = fs::remove_file(self.ballast(room));
    }

    /// The live processes that the study started, and all that those did.
    pub(super) fn processes(&self) -> Vec<Process> {
        let mark = format!("{MARK}={}", std::process::id());
        let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let own = network("self");
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let process = |entry: fs::DirEntry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let arguments = arguments.trim_end().to_owned();
            // What a server of ssh shows as its arguments has taken the place of its environment.
            let is_server = self.shared.is_none()
                && arguments.starts_with("sshd: ")
                && !arguments.contains("[listener]")
                && network(&pid.to_string()) == own;
            let is_marked = read("environ")
                .split(|byte| *byte == 0)
                .any(|word| word == mark.as_bytes());
            (is_server || is_marked).then_some(Process { pid, arguments })
        };
        entries.filter_map(process).collect()
    }

    /// What is there that a run could leave behind, one line each.
    pub(super) fn inventory(&self) -> BTreeSet<String> {
        let processes = self.processes();
        let mut all: BTreeSet<_> = processes
            .iter()
            .map(|p| format!("process {} {}", p.pid, p.arguments))
            .collect();
        let everybody = std::env::temp_dir();
        let tmp = self.shared.as_ref().map_or(&everybody, |_| &self.tmp);
        for folder in [
            tmp,
            Path::new("/dev/shm"),
            Path::new("/dev/mqueue"),
            Path::new("/run/netns"),
        ] {
            files_below(folder, &mut all);
        }
        for (file, what, column) in [
            ("/proc/net/unix", "abstract socket", 7),
            ("/proc/net/dev", "interface", 0),
            ("/proc/self/mounts", "mount", 1),
            ("/proc/sysvipc/shm", "shared memory", 1),
            ("/proc/sysvipc/sem", "semaphores", 1),
            ("/proc/sysvipc/msg", "message queue", 1),
        ] {
            let text = fs::read_to_string(file).unwrap_or_default();
            let names = text
                .lines()
                .filter_map(|line| line.split_whitespace().nth(column));
            // Other sockets have a file.
            let names = names.filter(|name| column != 7 || name.starts_with('@'));
            all.extend(names.map(|name| format!("{what} {name}")));
        }
        all
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Both end with the namespace otherwise, and the place can only be removed before.
        if self.shared.is_none() {
            let _ = Command::new("umount").arg(&self.runs).status();
        }
        let _ = fs::remove_dir_all(&self.tmp);
    }
}

/// Enters namespaces for mounts, network and IPC, with file systems of a known size.
fn separate(place: &Path, runs: &Path) -> Result<(), String> {
    let temporary = std::env::temp_dir();
    if !rustix::process::geteuid().is_root() || place.starts_with(&temporary) {
        return Err(format!(
            "that takes root, and a target directory outside of {}",
            temporary.display()
        ));
    }
    must("ip", &["-V"])?;
    let namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
    // SAFETY: it changes what this thread sees of the system, and no memory.
    if unsafe { libc::unshare(namespaces) } != 0 {
        return Err(format!("unshare: {}", std::io::Error::last_os_error()));
    }
    must("mount", &["--make-rprivate", "/"])?;
    fs::create_dir_all("/dev/mqueue").map_err(|e| format!("/dev/mqueue: {e}"))?;
    let (runs, temporary) = (runs.to_string_lossy(), temporary.to_string_lossy());
    for (kind, options, path) in [
        ("tmpfs", "size=16m", &*runs),
        ("tmpfs", "size=64m,mode=1777", &*temporary),
        ("tmpfs", "size=256m,mode=1777", "/dev/shm"),
        ("tmpfs", "size=1m", "/run"),
        ("mqueue", "rw", "/dev/mqueue"),
    ] {
        must("mount", &["-t", kind, "-o", options, kind, path])?;
    }
    must("ip", &["link", "set", "lo", "up"])
}

/// Runs a program that must succeed.
pub(super) fn must(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{program} {}: {}",
            arguments.join(" "),
            said.trim()
        )),
    }
}

fn files_below(folder: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        all.insert(format!("file {}", entry.path().display()));
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files_below(&entry.path(), all);
        }
    }
}
