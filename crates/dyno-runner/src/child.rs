//! What agents and daemons have in common: they die with the runner, and what they say last is kept.

use dyno_measure::host::TIMER_SLACK;
use dyno_model::Nanos;
use dyno_model::cause::Exit;
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZeroU64;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines of output that are kept.
const LINES: usize = 20;
/// The longest line that is kept whole, in bytes.
const LINE: u64 = 1_000;

/// Gives the process a group of its own, so that Ctrl-C reaches the runner alone, which then ends
/// it in order; and has the kernel kill it should the runner be killed.
pub(crate) fn tie_to_runner(command: &mut Command) {
    let runner = rustix::process::getpid();
    command.process_group(0);
    // SAFETY: between fork and exec only async-signal-safe system calls are made, without
    // allocation.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The runner may have died before that line.
            if rustix::process::getppid() != Some(runner) {
                return Err(std::io::ErrorKind::NotFound.into());
            }
            Ok(())
        });
    }
}

/// Has a command's process, and all that it starts, run on `cpus` alone; anywhere where there are none.
pub(crate) fn confine(command: &mut Command, cpus: &[u32]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    for &cpu in cpus.iter().filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU) {
        set.set(cpu as usize);
    }
    // SAFETY: between fork and exec only an async-signal-safe system call is made, without allocation.
    unsafe {
        command.pre_exec(move || Ok(sched_setaffinity(None, &set)?));
    }
}

/// Gives a command's process, and all that it starts, the timer slack of participants.
pub(crate) fn set_timer_slack(command: &mut Command) {
    // SAFETY: between fork and exec only an async-signal-safe system call is made, without allocation.
    unsafe {
        command.pre_exec(|| {
            // Where it is refused, the participants of each trial warn of it.
            let _ = set_current_timer_slack(NonZeroU64::new(TIMER_SLACK.0));
            Ok(())
        });
    }
}

/// How long a process that was sent SIGSTOP may go on; the kernel takes microseconds, unless it waits for a disk.
const STOPPING: Duration = Duration::from_secs(1);

/// Sends a signal to a child that has not been waited for, so that its number is nobody else's.
pub(crate) fn send(child: u32, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process(number(child)?, signal)?)
}

/// Waits until all threads of a child that was sent SIGSTOP stand still, or it has ended.
pub(crate) fn await_stop(child: u32) -> io::Result<()> {
    let deadline = Instant::now() + STOPPING;
    let until = WaitIdOptions::STOPPED | WaitIdOptions::EXITED;
    let options = until | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    while rustix::process::waitid(WaitId::Pid(number(child)?), options)?.is_none() {
        if Instant::now() >= deadline {
            return Err(io::Error::other("it goes on after SIGSTOP"));
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// Has a child that crashes leave no core file, which would lie where dyno was called, and no report of one: a limit of one
/// byte turns off both (core(5)). Who has a hard limit of zero and may not raise it leaves no file either.
pub(crate) fn without_core(child: u32) -> io::Result<()> {
    let limit = Rlimit {
        current: Some(1),
        maximum: Some(1),
    };
    match rustix::process::prlimit(Some(number(child)?), Resource::Core, limit) {
        Err(Errno::PERM) if getrlimit(Resource::Core).maximum == Some(0) => Ok(()),
        set => Ok(set.map(drop)?),
    }
}

fn number(child: u32) -> io::Result<Pid> {
    let number = i32::try_from(child).ok().and_then(Pid::from_raw);
    number.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Kills a process with its group and waits for its end.
pub(crate) fn end_group(child: &mut Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
        && child.try_wait().ok().flatten().is_none()
    {
        // It may end by itself at this moment.
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        let _ = child.wait();
    }
}

/// The last lines of what a process prints.
#[derive(Default)]
pub(crate) struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    readers: Vec<std::thread::JoinHandle<()>>,
}

impl Tail {
    /// Follows one more stream of the process; `on_line` sees every line.
    pub(crate) fn follow(
        &mut self,
        stream: impl Read + Send + 'static,
        mut on_line: impl FnMut(&str) + Send + 'static,
    ) {
        let kept = self.lines.clone();
        self.readers.push(std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while let Ok(1..) = (&mut reader).take(LINE).read_until(b'\n', &mut line) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                on_line(&text);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() == LINES {
                    kept.pop_front();
                }
                kept.push_back(text);
                line.clear();
            }
        }));
    }

    /// The lines until now.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }

    /// All lines of a process that has ended.
    pub(crate) fn complete(&mut self) -> Vec<String> {
        // A grandchild may hold the pipe open: don't wait for it for long.
        let deadline = Instant::now() + Duration::from_millis(500);
        for reader in self.readers.drain(..) {
            while !reader.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.lines()
    }
}

/// A duration as records hold it.
pub(crate) fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// How a process ended.
pub(crate) fn exit(status: ExitStatus) -> Exit {
    match (status.signal(), status.code()) {
        (Some(signal), _) => Exit::Signal(signal),
        (None, Some(code)) => Exit::Code(code),
        (None, None) => Exit::Unknown,
    }
}
