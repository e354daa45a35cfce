//! Whether the process on the other side still lives. A process is its number and its start time,
//! because numbers are used again.

use rustix::fs::{Mode, OFlags};
use std::io::{self, Write};

/// A process, dead or alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its id.
    pub(crate) pid: u32,
    /// When it started, in clock ticks since boot (proc(5), `/proc/PID/stat`, field 22).
    pub(crate) started: u64,
}

impl Process {
    /// This process.
    pub(crate) fn current() -> io::Result<Process> {
        let pid = std::process::id();
        match stat(pid)? {
            Some((_, started)) => Ok(Process { pid, started }),
            None => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }

    /// Whether it still runs; one that has ended and is not yet waited for does not. Where that
    /// cannot be found out, it is taken to run. Does not allocate.
    pub(crate) fn is_alive(&self) -> bool {
        match stat(self.pid) {
            Ok(Some((state, started))) => started == self.started && !matches!(state, b'Z' | b'X'),
            Ok(None) => true,
            Err(e) => e.kind() != io::ErrorKind::NotFound && e.raw_os_error() != Some(ESRCH),
        }
    }
}

const ESRCH: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// State and start time of process `pid`; `None` where the kernel's text is not as expected.
fn stat(pid: u32) -> io::Result<Option<(u8, u64)>> {
    let mut path = [0u8; 32];
    let mut rest = &mut path[..];
    write!(rest, "/proc/{pid}/stat")?;
    let unused = rest.len();
    let path = &path[..path.len() - unused];
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = [0u8; 1024];
    let len = rustix::io::read(&file, &mut text)?;
    Ok(parse(&text[..len]))
}

/// The name of the program stands in parentheses and may hold any character, so fields are
/// counted from the last closing parenthesis: the state is the third, the start time the 22nd.
fn parse(text: &[u8]) -> Option<(u8, u64)> {
    let name_end = text.iter().rposition(|b| *b == b')')?;
    let mut fields = text[name_end + 1..]
        .split(u8::is_ascii_whitespace)
        .filter(|f| !f.is_empty());
    let state = *fields.next()?.first()?;
    let started = std::str::from_utf8(fields.nth(18)?).ok()?.parse().ok()?;
    Some((state, started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_number_at_another_time_does_not() {
        let me = Process::current().unwrap();
        assert!(me.is_alive());
        let former = Process {
            started: me.started - 1,
            ..me
        };
        assert!(!former.is_alive());
    }

    #[test]
    fn a_process_that_has_ended_is_dead_before_and_after_it_is_waited_for() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let (_, started) = stat(child.id()).unwrap().unwrap();
        let process = Process {
            pid: child.id(),
            started,
        };
        assert!(process.is_alive());
        child.kill().unwrap();
        while process.is_alive() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!process.is_alive());
    }

    #[test]
    fn names_with_spaces_and_parentheses_do_not_confuse() {
        let line = b"7 (a) Z (b c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20\n";
        assert_eq!(parse(line), Some((b'S', 4711)));
        assert_eq!(parse(b"7 (a) S 1 2"), None);
        assert_eq!(parse(b""), None);
    }
}
