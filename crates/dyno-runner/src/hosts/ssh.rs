//! Hosts that are other machines, reached through the user's own OpenSSH: its configuration, its keys,
//! its jump hosts. The host needs an ssh server and a POSIX shell with `tar`, and nothing of Dyno.
//!
//! The running program is copied there under the hash of its content, once ([`crate::payload`]). One connection
//! per host carries everything ([`connection`]): a keeper that holds the scratch directories of trials
//! and clears them also when this runner cannot ([`crate::keeper`]), and the agents of each trial.

mod connection;

use super::keeper::{ANSWER, Keeper};
use super::supplies::Supplies;
use crate::agent::AgentCommand;
use crate::error::SshError;
use crate::payload::{PROGRAM, Payload};
use connection::{Connection, Ran};
use dyno_model::cause::FailureCause;
use dyno_model::cpus::parse_set;
use dyno_model::plan;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Copying that takes longer than this is told of.
const PATIENCE: Duration = Duration::from_secs(2);
/// Agents of one connection. A server of ssh allows ten sessions unless it is told otherwise
/// (sshd_config(5), MaxSessions); the first connection has the keeper as well.
const AGENTS: usize = 8;

/// Tells what machine it is and where the user's caches are.
const PROBE: &str =
    r#"echo dyno-probe; uname -s; uname -m; echo "${XDG_CACHE_HOME:-$HOME/.cache}""#;

/// Ends with 0 where `$2` is in `$1` already, which must be the user's alone: what lies in a folder to which others could write is
/// theirs, and goes. What has not been used for a month goes as well.
const LOOK_FOR: &str = r#"umask 077; mkdir -p "$1" || exit 2
if [ -L "$1" ] || [ ! -O "$1" ]; then echo "$1 is a link or belongs to another user; remove it, or set XDG_CACHE_HOME there" >&2; exit 2; fi
open() { find "$@" \( -perm -020 -o -perm -002 \) -print; }
others=$(open "$1" -prune) || { echo "find(1) cannot look at $1; install findutils there" >&2; exit 2; }
if [ -n "$others" ]; then
    chmod go-w "$1" || { echo "others can write to $1; take that right away, or set XDG_CACHE_HOME there" >&2; exit 2; }
    find "$1" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
fi
for part in "$1/$2" "$1/$2/dyno"; do
    [ -e "$part" ] || [ -L "$part" ] || continue
    if [ -L "$part" ] || [ ! -O "$part" ]; then echo "$part is a link or belongs to another user; remove it" >&2; exit 2; fi
    others=$(open "$part" -prune) || exit 2
    [ -z "$others" ] || rm -rf "$1/$2" || exit 2
done
if [ -d "$1/$2" ]; then touch "$1/$2"; fi; find "$1" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} +; [ -x "$1/$2/dyno" ]"#;

/// Unpacks standard input aside and then names it `$2`, so that it is there whole or not at all. Another
/// one may have been faster.
const UNPACK: &str = r#"umask 077; new=$(mktemp -d "$1/.new.XXXXXX") || exit 1; if tar -x -f - -C "$new" && [ -x "$new/dyno" ]; then [ -d "$1/$2" ] || mv "$new" "$1/$2"; else code=1; fi; rm -rf "$new"; exit ${code:-0}"#;

/// Runs the agent `$1` for the session in `$2`: notes the shell, which leads the agent's process group, by
/// its id and start time (field 22 of /proc/PID/stat, proc(5)), and tells how the agent ended.
const AGENT: &str = r#"read -r stat </proc/$$/stat; dyno=$1; scratch=$2; set -- ${stat##*) }; echo "$$-${20}" >>"$scratch/agents" || exit 1; "$dyno" agent; code=$?; echo "dyno-agent-status $code" >&2; exit $code"#;

/// A machine that is reached by ssh.
pub(crate) struct Ssh {
    pub(crate) name: String,
    destination: String,
    /// The runner's own place.
    place: PathBuf,
    interrupt: Arc<AtomicBool>,
    /// The programs here, and what they are called there.
    programs: BTreeMap<PathBuf, String>,
    link: Mutex<Link>,
}

/// What ends with the connections. The keeper is asked to end first.
struct Link {
    keeper: Keeper,
    /// The first one carries the keeper; there are as many as the agents of a trial needed.
    connections: Vec<Connection>,
    /// Of the current session.
    scratch: PathBuf,
    /// Agents of the current session.
    agents: usize,
}

/// Of one control socket, so that each has a name of its own.
static OPENED: AtomicU32 = AtomicU32::new(0);

/// Connects to a host, with a control socket in the runner's `place`.
fn connect(
    host: &str,
    destination: &str,
    place: &Path,
    interrupt: &AtomicBool,
) -> Result<Connection, SshError> {
    let owner = place.file_name().unwrap_or_default().to_string_lossy();
    // A name that nothing else has: what carries the name of a runner's file is removed with it.
    let number = OPENED.fetch_add(1, Ordering::Relaxed);
    let control = format!("dyno-{owner}-ssh{number}");
    Connection::open(host, destination, place, control, interrupt)
}

impl Ssh {
    /// Reaches the host of that index, brings the agents there, and sees that it has the CPUs that the plan lists of it.
    /// `tell` hears remarks for the user.
    pub(crate) fn open(
        (index, host): (usize, &plan::Host),
        destination: &str,
        supplies: &mut Supplies<'_>,
        tell: &mut dyn FnMut(String),
    ) -> Result<Self, SshError> {
        let (place, interrupt) = (supplies.place, supplies.interrupt);
        let name = host.name.clone();
        let connection = connect(&name, destination, place, interrupt)?;
        let ran = connection.run(PROBE, &[], interrupt, |_| Ok(()))?;
        let cache = probed(&name, &ran)?;
        let mut programs = BTreeMap::new();
        for (program, payload) in supplies.payloads()? {
            let path = bring(&connection, &name, &cache, payload, interrupt, tell)?;
            programs.insert(program.clone(), path);
        }
        // All of them keep alike; the first agent is the running program.
        let own = supplies.agents.first();
        let own = own.and_then(|agent| programs.get(&agent.program));
        let program = own.map_or("", String::as_str);
        let mut keeper = Keeper::start(
            connection.command(&[program, "agent", "--keep"]),
            &name,
            interrupt,
            tell,
        )?;
        if let Some(wanted) = supplies.cpus.get(&index).filter(|cpus| !cpus.is_empty()) {
            see_cpus(&mut keeper, &name, wanted)?;
        }
        Ok(Ssh {
            name,
            destination: destination.to_owned(),
            place: place.to_owned(),
            interrupt: interrupt.clone(),
            programs,
            link: Mutex::new(Link {
                keeper,
                connections: vec![connection],
                scratch: PathBuf::new(),
                agents: 0,
            }),
        })
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The command that starts an agent there, for the session that was prepared last; its process dies
    /// with the runner.
    pub(crate) fn command(&self, agent: &AgentCommand) -> Result<Command, SshError> {
        let mut link = self.link();
        let number = link.agents / AGENTS;
        if link.connections.len() <= number {
            let more = connect(&self.name, &self.destination, &self.place, &self.interrupt)?;
            link.connections.push(more);
        }
        link.agents += 1;
        let program = self.programs.get(&agent.program);
        let program = program.map_or("", String::as_str);
        let scratch = link.scratch.to_string_lossy();
        let words = ["sh", "-c", AGENT, "sh", program, &scratch];
        Ok(link.connections[number].command(&words))
    }

    /// Makes the session's directory there.
    pub(crate) fn prepare_session(&self, session: &str) -> Result<PathBuf, String> {
        let mut link = self.link();
        let path = link.keeper.ask(&format!("open {session}"), ANSWER)?;
        link.scratch = PathBuf::from(path);
        link.agents = 0;
        Ok(link.scratch.clone())
    }

    /// Ends what is left of the session there and removes its files. Where the host cannot be reached,
    /// its keeper does so when it notices.
    pub(crate) fn clear_session(&self, session: &str) {
        let mut link = self.link();
        let answer = link.keeper.ask(&format!("clear {session}"), ANSWER);
        if answer.is_err() {
            // The next trial is to find a link that works, or none.
            link.keeper.stop();
        }
    }

    /// What its network has counted and holds.
    pub(crate) fn read_network(&self) -> Result<dyno_measure::NetworkReading, String> {
        let answer = self.link().keeper.ask("network", ANSWER)?;
        serde_json::from_str(&answer).map_err(|e| format!("{answer:?}: {e}"))
    }

    /// What has cut the host off.
    pub(crate) fn trouble(&self) -> Option<FailureCause> {
        let mut link = self.link();
        let lost = link.connections.iter_mut().find_map(Connection::lost);
        lost.or_else(|| link.keeper.lost())
            .map(|said| self.was_lost(said))
    }

    /// What has cut the host off, where an agent there has ended and nobody says why. A connection closes what it carries
    /// before it ends itself, so that [`trouble`](Self::trouble) may be too early to see it: here the host must answer.
    pub(crate) fn silence(&self) -> Option<FailureCause> {
        let mut link = self.link();
        let asked = link.keeper.ask("network", ANSWER);
        let lost = link.connections.iter_mut().find_map(Connection::closed);
        lost.or(asked.err()).map(|said| self.was_lost(said))
    }

    fn was_lost(&self, said: String) -> FailureCause {
        FailureCause::ConnectionLost {
            host: self.name.clone(),
            destination: self.destination.clone(),
            said,
        }
    }
}

/// Refuses CPUs that an agent on the host cannot run on.
fn see_cpus(keeper: &mut Keeper, host: &str, wanted: &BTreeSet<u32>) -> Result<(), SshError> {
    let host = host.to_owned();
    let there = match keeper.ask("cpus", ANSWER) {
        Ok(there) => there,
        Err(said) => return Err(SshError::Agent { host, said }),
    };
    let has = match parse_set(&there) {
        Ok(has) => has,
        Err(e) => {
            let said = format!("{there:?} are not CPUs: {}", e.reason);
            return Err(SshError::Agent { host, said });
        }
    };
    match wanted.iter().find(|cpu| !has.contains(cpu)) {
        Some(&cpu) => Err(SshError::Cpus { host, cpu, there }),
        None => Ok(()),
    }
}

/// The directory for copies of Dyno on a host that answered the probe.
fn probed(host: &str, ran: &Ran) -> Result<String, SshError> {
    let [hello, kernel, machine, cache] = ran.stdout.as_slice() else {
        return Err(shell(host, ran));
    };
    if hello != "dyno-probe" || !cache.starts_with('/') {
        return Err(shell(host, ran));
    }
    let ours = format!("Linux {}", std::env::consts::ARCH);
    let theirs = format!("{kernel} {machine}");
    if theirs != ours {
        return Err(SshError::Foreign {
            host: host.to_owned(),
            theirs,
            ours,
        });
    }
    Ok(format!("{cache}/dyno/agents"))
}

fn shell(host: &str, ran: &Ran) -> SshError {
    let said = match ran.stdout.iter().find(|l| *l != "dyno-probe") {
        Some(line) if ran.code == Some(0) => line.clone(),
        _ => ran.said(),
    };
    SshError::Shell {
        host: host.to_owned(),
        said,
    }
}

/// Brings the payload to the host if it is not there; returns the program's path there.
fn bring(
    connection: &Connection,
    host: &str,
    cache: &str,
    payload: &Payload,
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(String),
) -> Result<String, SshError> {
    let arguments = [cache, &payload.hash];
    let fail = |ran: &Ran| SshError::Copy {
        host: host.to_owned(),
        cache: cache.to_owned(),
        said: ran.said(),
    };
    let looked = connection.run(LOOK_FOR, &arguments, interrupt, |_| Ok(()))?;
    match looked.code {
        Some(0) => {}
        Some(1) => {
            let ran = connection.run(UNPACK, &arguments, interrupt, |stdin| {
                payload.write(Watched {
                    to: stdin,
                    began: Instant::now(),
                    interrupt,
                    slow: Some(&mut || {
                        let megabytes = payload.bytes / 1_000_000;
                        tell(format!("copying dyno to host {host}: {megabytes} MB"));
                    }),
                })
            })?;
            if ran.code != Some(0) {
                return Err(fail(&ran));
            }
        }
        _ => return Err(fail(&looked)),
    }
    Ok(format!("{cache}/{}/{PROGRAM}", payload.hash))
}

/// A writer that heeds the interrupt, and that says once when it takes long.
struct Watched<'a, W> {
    to: W,
    began: Instant,
    interrupt: &'a AtomicBool,
    slow: Option<&'a mut dyn FnMut()>,
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.interrupt.load(Ordering::Relaxed) {
            return Err(std::io::Error::other("interrupted"));
        }
        if self.began.elapsed() > PATIENCE
            && let Some(slow) = self.slow.take()
        {
            slow();
        }
        self.to.write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn answer(lines: &[&str]) -> Result<String, String> {
        let ran = Ran {
            code: Some(0),
            stdout: lines.iter().map(|l| (*l).to_owned()).collect(),
            stderr: Vec::new(),
        };
        probed("h2", &ran).map_err(|e| e.to_string())
    }

    #[test]
    fn only_a_host_of_the_same_kind_with_a_quiet_shell_is_used() {
        let machine = std::env::consts::ARCH;
        let fine = answer(&["dyno-probe", "Linux", machine, "/home/me/.cache"]);
        assert_eq!(fine.unwrap(), "/home/me/.cache/dyno/agents");
        let other = answer(&["dyno-probe", "Linux", "riscv64", "/home/me/.cache"]).unwrap_err();
        assert!(other.starts_with("host h2 is Linux riscv64, and this dyno is built for Linux"));
        let other = answer(&["dyno-probe", "Darwin", machine, "/x"]).unwrap_err();
        assert!(other.starts_with("host h2 is Darwin"), "{other}");
        let greeting = ["Welcome!", "dyno-probe", "Linux", machine, "/x"];
        let other = answer(&greeting).unwrap_err();
        assert!(other.contains("answered \"Welcome!\""), "{other}");
        assert!(answer(&[]).unwrap_err().contains("POSIX shell"));
    }

    #[test]
    fn a_copy_is_there_whole_and_only_once() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("agents");
        let run = |script: &str, input: &[u8]| {
            let mut child = Command::new("sh")
                .args(["-c", script, "sh"])
                .arg(&cache)
                .arg("abc")
                .stdin(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // A script that needs no input may have ended.
            let _ = child.stdin.take().unwrap().write_all(input);
            child.wait().unwrap().code()
        };
        assert_eq!(run(LOOK_FOR, b""), Some(1));
        assert_eq!(run(UNPACK, b"this is no archive"), Some(1));
        assert_eq!(run(LOOK_FOR, b""), Some(1));
        let mut archive = Vec::new();
        let mut builder = tar::Builder::new(&mut archive);
        let mut header = tar::Header::new_gnu();
        header.set_size(2);
        header.set_mode(0o755);
        builder
            .append_data(&mut header, "dyno", b"hi".as_slice())
            .unwrap();
        builder.finish().unwrap();
        drop(builder);
        assert_eq!(run(UNPACK, &archive), Some(0));
        assert_eq!(run(LOOK_FOR, b""), Some(0));
        assert_eq!(run(UNPACK, &archive), Some(0));
        let there: Vec<_> = std::fs::read_dir(&cache).unwrap().flatten().collect();
        assert_eq!(there.len(), 1, "{there:?}");
        // Somebody may have put it there while the folder was open.
        let open = |place: &Path| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            std::fs::set_permissions(place, mode).unwrap();
        };
        open(&cache);
        assert_eq!(run(LOOK_FOR, b""), Some(1));
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
        assert_eq!(run(UNPACK, &archive), Some(0));
        assert_eq!(run(LOOK_FOR, b""), Some(0));
        for part in ["abc", "abc/dyno"] {
            open(&cache.join(part));
            assert_eq!(run(LOOK_FOR, b""), Some(1), "{part}");
            assert_eq!(run(UNPACK, &archive), Some(0));
        }
        // Where nobody can look, nothing is believed.
        let blind = LOOK_FOR.replace("find ", "no-such-find ");
        assert_eq!(run(&blind, b""), Some(2));
        let (dyno, own) = (cache.join("abc/dyno"), cache.join("own"));
        std::fs::rename(&dyno, &own).unwrap();
        std::os::unix::fs::symlink(&own, &dyno).unwrap();
        assert_eq!(run(LOOK_FOR, b""), Some(2));
        std::fs::rename(&own, &dyno).unwrap();
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("NOT TESTED: giving files away needs root");
            return;
        }
        for foreign in [cache.join("abc/dyno"), cache.join("abc"), cache.clone()] {
            std::os::unix::fs::chown(&foreign, Some(65534), None).unwrap();
            assert_eq!(run(LOOK_FOR, b""), Some(2), "{}", foreign.display());
        }
    }
}
