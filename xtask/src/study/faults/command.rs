//! One command of `dyno`, what happens to it, and how it ends.

use super::kinds::{Act, Kind, Who};
use super::world::{MARK, World};
use rustix::process::{Pid, Resource, Rlimit};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take. A trial has a deadline of 3 s for each step, a keeper 40 s for an answer and its end.
const PATIENCE: Duration = Duration::from_secs(150);
/// The longest pause between two signals, in milliseconds.
const PAUSE: u64 = 1_500;
/// How often it is looked whether the command has ended, and whether there is somebody for a signal.
const LOOK: Duration = Duration::from_millis(2);
/// Bytes and handles that stay free, at most.
const SPARE: (u64, u64) = (24 << 10, 12);
/// Seconds by which another clock is ahead, at most: a year.
const AHEAD: u64 = 365 * 86_400;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is small: the bias does not matter here.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// A fault: when after the start of the command, with which pause between signals, and a number that chooses among
/// several processes and how little is left of what is exhausted.
pub(super) struct Fault {
    pub(super) kind: &'static Kind,
    after: Duration,
    pause: Duration,
    draw: u64,
}

impl Fault {
    /// At a moment of a command that takes about as long as `takes`.
    pub(super) fn draw(kind: &'static Kind, takes: Duration, random: &mut Random) -> Self {
        Fault {
            kind,
            after: Duration::from_millis(random.below(takes.as_millis() as usize) as u64),
            pause: Duration::from_millis(random.next() % PAUSE),
            draw: random.next(),
        }
    }

    /// Makes it happen. Whether it did: there may be nobody yet to whom it could.
    fn strike(&self, runner: i32, world: &World) -> Result<bool, String> {
        let (who, signals) = match self.kind.1 {
            Act::Signals(who, signals) => (who, signals),
            Act::OtherClock(signals) => (Who::Runner, signals),
            Act::Full(room) => return world.fill(room, self.draw % SPARE.0).map(|()| true),
            Act::Handles => {
                let open = fs::read_dir(format!("/proc/{runner}/fd")).map_or(0, Iterator::count);
                let most = Some(open as u64 + self.draw % SPARE.1);
                let limit = Rlimit {
                    current: most,
                    maximum: most,
                };
                let set = rustix::process::prlimit(Pid::from_raw(runner), Resource::Nofile, limit);
                return Ok(set.is_ok());
            }
        };
        let pids: Vec<i32> = world
            .processes()
            .iter()
            .filter(|p| p.is(who, runner))
            .map(|p| p.pid)
            .collect();
        let Some(&pid) = pids.get(self.draw as usize % pids.len().max(1)) else {
            return Ok(false);
        };
        let mut met = false;
        for (number, signal) in signals.iter().enumerate() {
            std::thread::sleep(self.pause * number as u32);
            met |= send(pid, *signal);
        }
        Ok(met)
    }

    /// Puts the command where its clocks show another time, if that is the fault.
    fn shift(&self, command: &mut Command) {
        if !matches!(self.kind.1, Act::OtherClock(_)) {
            return;
        }
        let ahead = self.draw % AHEAD;
        let offsets = format!("monotonic {ahead} 0\nboottime {ahead} 0\n");
        // SAFETY: the study has one thread, so that its copy may do everything.
        unsafe {
            command.pre_exec(move || {
                rustix::thread::unshare_unsafe(UnshareFlags::NEWTIME)?;
                fs::write("/proc/self/timens_offsets", &offsets)?;
                let own = fs::File::open("/proc/self/ns/time_for_children")?;
                let kind = Some(LinkNameSpaceType::Time);
                Ok(rustix::thread::move_into_link_name_space(
                    own.as_fd(),
                    kind,
                )?)
            });
        }
    }
}

/// Whether the process was there.
fn send(pid: i32, signal: i32) -> bool {
    // SAFETY: kill touches no memory; the id is of a process that this study started.
    unsafe { libc::kill(pid, signal) == 0 }
}

/// How a command ended.
pub(super) struct Ended {
    what: String,
    /// The exit code, or the signal as a negative number; `None`: it did not end.
    pub(super) code: Option<i32>,
    /// Its output and its errors; of one that did not end, what was there instead.
    pub(super) said: String,
    /// The fault happened.
    pub(super) met: bool,
}

impl Ended {
    /// In one line.
    pub(super) fn told(&self) -> String {
        let code = self
            .code
            .map_or("not in time".to_owned(), |code| format!("with {code}"));
        let said: Vec<&str> = self.said.split_whitespace().collect();
        let said: String = said.join(" ").chars().take(400).collect();
        format!("`dyno {}` ended {code}: {said}", self.what)
    }
}

impl World {
    /// Runs a command of Dyno, with a fault while it runs.
    pub(super) fn run(
        &self,
        words: &[impl AsRef<OsStr>],
        fault: Option<&Fault>,
    ) -> Result<Ended, String> {
        let failed = |e: std::io::Error| format!("cannot run {}: {e}", self.program.display());
        let output = self.place.join("said");
        let said = fs::File::create(&output).map_err(failed)?;
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(&self.place)
            .process_group(0);
        command
            .stdin(Stdio::null())
            .stdout(said.try_clone().map_err(failed)?)
            .stderr(said);
        command
            .env("PATH", format!("{}/bin:{path}", self.place.display()))
            .env("TMPDIR", &self.tmp);
        command
            .env("DYNO_FILES", &self.place)
            .env(MARK, std::process::id().to_string());
        if let Some(fault) = fault {
            fault.shift(&mut command);
        }
        let (code, met, waiting) = self.follow(command.spawn().map_err(failed)?, fault)?;
        if let Some(Act::Full(room)) = fault.map(|fault| fault.kind.1) {
            self.empty(room);
        }
        let said = fs::read(&output).map_err(failed)?;
        let words: Vec<_> = words
            .iter()
            .map(|word| word.as_ref().to_string_lossy())
            .collect();
        let what = words.join(" ");
        let said = waiting.unwrap_or_else(|| String::from_utf8_lossy(&said).into_owned());
        Ok(Ended {
            what,
            code,
            said,
            met,
        })
    }

    /// Its code, whether the fault happened, and where processes stood when the patience was over.
    fn follow(
        &self,
        mut child: Child,
        fault: Option<&Fault>,
    ) -> Result<(Option<i32>, bool, Option<String>), String> {
        let runner = i32::try_from(child.id()).map_err(|e| e.to_string())?;
        let (began, mut met) = (Instant::now(), false);
        loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                let code = status.code().or(status.signal().map(|signal| -signal));
                return Ok((code, met, None));
            }
            if began.elapsed() > PATIENCE {
                let processes = self.processes();
                let waiting: Vec<String> =
                    processes.iter().map(super::world::Process::told).collect();
                for process in &processes {
                    send(process.pid, libc::SIGKILL);
                }
                child.wait().map_err(|e| e.to_string())?;
                return Ok((None, met, Some(waiting.join("; "))));
            }
            if let Some(fault) = fault.filter(|fault| !met && began.elapsed() >= fault.after) {
                met = fault.strike(runner, self)?;
            }
            std::thread::sleep(LOOK);
        }
    }
}
