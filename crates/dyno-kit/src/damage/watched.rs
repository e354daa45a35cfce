//! A command under watch: how it ended, what it took, and what it would have told a terminal to do.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Memory that a command may take at its peak, in KiB.
pub const MOST_KIB: i64 = 200 << 10;
/// How long a command may take.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// What a command may print, in bytes: a table of a few rows has some thousand.
const MOST_PRINTED: usize = 8 << 20;

/// What became of a command.
pub struct Watched {
    /// The exit code, or the signal as a negative number; `None`: it did not end in time.
    pub code: Option<i32>,
    /// Peak of the resident memory in KiB.
    pub peak_kib: i64,
    /// What it wrote to its terminal.
    pub printed: String,
    /// How long it took.
    pub took: Duration,
}

impl Watched {
    /// What none may do, in words; nothing where all is well.
    pub fn faults(&self, patience: Duration) -> Vec<String> {
        let mut faults = Vec::new();
        match self.code {
            None => faults.push(format!("hangs for more than {patience:?}")),
            Some(code) if code < 0 => faults.push(format!("ended by signal {}", -code)),
            Some(101) => faults.push("panicked".into()),
            Some(_) => {}
        }
        if self.peak_kib > MOST_KIB {
            faults.push("takes more memory than 200 MB".into());
        }
        if self.printed.len() > MOST_PRINTED {
            faults.push("prints without end".into());
        }
        let obeyed = self.printed.chars().find(|c| is_obeyed(*c));
        faults.extend(obeyed.map(|c| format!("writes {c:?} to a terminal")));
        faults
    }
}

/// Whether a terminal obeys a character instead of showing it: C0 but for line feed and tab, DEL, C1, what turns the
/// direction of writing, and what has no width.
fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    turns || hides || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Runs a command with its output and errors on a terminal, and ends it when `patience` is over.
///
/// # Errors
///
/// When there is no terminal, or the command cannot be started.
pub fn watch(command: &mut Command, patience: Duration) -> io::Result<Watched> {
    let (mut ours, theirs) = terminal()?;
    command
        .stdin(Stdio::null())
        .stdout(theirs.try_clone()?)
        .stderr(theirs);
    let begun = Instant::now();
    let child = command.spawn()?;
    // The command holds the far end: it would keep the reader waiting.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let pid = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let reader = std::thread::spawn(move || {
        let (mut all, mut bytes) = (Vec::new(), [0; 1 << 16]);
        // At the end of a terminal is an error, EIO.
        while let Ok(n @ 1..) = ours.read(&mut bytes) {
            if all.len() <= MOST_PRINTED {
                all.extend_from_slice(&bytes[..n]);
            }
        }
        all
    });
    let mut ended = None;
    let mut pause = Duration::from_millis(1);
    while ended.is_none() && begun.elapsed() < patience {
        ended = reaped(pid, libc::WNOHANG)?;
        if ended.is_none() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
    let in_time = ended.is_some();
    let (status, peak_kib) = match ended {
        Some(ended) => ended,
        None => {
            // SAFETY: the child was not reaped, so the number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            reaped(pid, 0)?.ok_or_else(|| io::Error::other("a killed child did not end"))?
        }
    };
    let took = begun.elapsed();
    let printed = reader
        .join()
        .map_err(|_| io::Error::other("the reader panicked"))?;
    // The terminal puts a carriage return before each line feed, and a line of CSV has its own (RFC 4180).
    let printed = String::from_utf8_lossy(&printed);
    let printed = printed.replace("\r\r\n", "\n").replace("\r\n", "\n");
    let code = match libc::WIFSIGNALED(status) {
        true => -libc::WTERMSIG(status),
        false => libc::WEXITSTATUS(status),
    };
    Ok(Watched {
        code: in_time.then_some(code),
        peak_kib,
        printed,
        took,
    })
}

/// The child's status and the peak of its memory in KiB, once it has ended.
fn reaped(pid: libc::pid_t, how: i32) -> io::Result<Option<(i32, i64)>> {
    let mut status = 0;
    // SAFETY: all zeros are a valid rusage; the call fills both and keeps nothing.
    let (found, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, how, &mut usage), usage)
    };
    match found {
        0 => Ok(None),
        n if n == pid => Ok(Some((status, usage.ru_maxrss))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Both ends of a terminal of 120 columns: ours, and that of a command.
fn terminal() -> io::Result<(File, OwnedFd)> {
    let (mut ours, mut theirs) = (0, 0);
    let size = libc::winsize {
        ws_row: 50,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: openpty fills the two numbers and reads the size; no name and no modes are asked for.
    let opened = unsafe {
        libc::openpty(
            &mut ours,
            &mut theirs,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &size,
        )
    };
    if opened != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: openpty gave both to us.
    let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    for fd in [ours.as_raw_fd(), theirs.as_raw_fd()] {
        // SAFETY: the number is ours; commands that others start meanwhile must not hold it.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok((ours, theirs))
}
