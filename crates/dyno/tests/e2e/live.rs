//! The live view on a real terminal: shown, steered with keys, and gone afterwards.

use crate::harness::{Place, is_alive, wait_for};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

/// What enters and leaves the alternate screen (xterm control sequences, private mode 1049).
const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// What the program wrote, as bytes and as the screen that they make.
struct Written {
    bytes: Vec<u8>,
    screen: vt100::Parser,
}

/// `dyno` on a terminal of its own.
pub(crate) struct Session {
    child: Child,
    keys: File,
    written: Arc<Mutex<Written>>,
    /// Kept open: the terminal's modes outlive the program.
    terminal: OwnedFd,
    /// Bytes that [`says`](Session::says) has seen.
    said: usize,
}

fn place() -> Place {
    let place = Place::new();
    let defaults = "trials = 400\nround_trips = 20\nwait = \"block\"\nplacement = \"process\"";
    place.round_trips("watched", defaults, &["pipe"]);
    place
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn modes(terminal: &OwnedFd) -> libc::termios {
    // SAFETY: all zeros are a valid termios; the call fills it and keeps nothing.
    unsafe {
        let mut modes = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(terminal.as_raw_fd(), &mut modes), 0);
        modes
    }
}

impl Session {
    /// Starts `dyno` with standard input and standard error on a terminal of 100 columns.
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Session {
        let (mut ours, mut theirs) = (0, 0);
        let size = libc::winsize {
            ws_row: 30,
            ws_col: 100,
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
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: the numbers are ours; the program must not hold the far end of its own terminal.
        unsafe {
            libc::fcntl(ours, libc::F_SETFD, libc::FD_CLOEXEC);
            libc::fcntl(theirs, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        // SAFETY: openpty gave both to us.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let mut command = place.dyno(arguments);
        command
            .env("TERM", "xterm-256color")
            .stdin(theirs.try_clone().unwrap())
            .stderr(theirs.try_clone().unwrap())
            .stdout(Stdio::piped());
        // SAFETY: between fork and exec only setsid and ioctl are called, both async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let written = Arc::new(Mutex::new(Written {
            bytes: Vec::new(),
            screen: vt100::Parser::new(cells(size.ws_row), cells(size.ws_col), 0),
        }));
        let (kept, mut reader) = (written.clone(), ours.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                let mut kept = kept.lock().unwrap();
                kept.bytes.extend_from_slice(&bytes[..n]);
                kept.screen.process(&bytes[..n]);
            }
        });
        Session {
            child,
            keys: ours,
            written,
            terminal: theirs,
            said: 0,
        }
    }

    /// Waits until the program has written this, outside a view and after what was waited for before.
    #[track_caller]
    pub(crate) fn says(&mut self, text: &str) {
        self.said = wait_for(&format!("{text:?} on the terminal"), || {
            let written = self.written.lock().unwrap();
            let new = &written.bytes[self.said..];
            let at = new.windows(text.len()).position(|w| w == text.as_bytes())?;
            Some(self.said + at + text.len())
        });
    }

    /// Waits for the end of a program without a view; returns the exit code and standard output.
    #[track_caller]
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap().code(), stdout)
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Waits until the view is on the screen and shows this.
    #[track_caller]
    fn shows(&self, text: &str) {
        wait_for(&format!("{text:?} on the screen"), || {
            let written = self.written.lock().unwrap();
            let screen = written.screen.screen();
            (screen.alternate_screen() && screen.contents().contains(text)).then_some(())
        });
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end; returns the exit code and standard output, with the terminal as it was.
    #[track_caller]
    fn end(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        pipe.read_to_string(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        let text = wait_for("the end of the alternate screen", || {
            let written = self.written.lock().unwrap();
            let text = String::from_utf8_lossy(&written.bytes).into_owned();
            (!written.screen.screen().alternate_screen() && text.contains(LEAVE)).then_some(text)
        });
        assert!(text.contains(ENTER), "{text:?}");
        let cooked = libc::ICANON | libc::ECHO | libc::ISIG;
        assert_eq!(modes(&self.terminal).c_lflag & cooked, cooked);
        (status.code(), stdout)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Where a test fails; otherwise it has ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn q_ends_a_run_as_ctrl_c_does_and_the_terminal_is_as_it_was() {
    let place = place();
    let mut run = Session::start(&place, &["run", "watched", "--out", "out", "--live"]);
    run.shows("round-trip on pipe");
    run.shows("initiator 0, echo 1");
    run.press("h");
    run.shows("this help");
    run.press("h");
    // A trial is stored before the run is stopped.
    wait_for("a stored trial", || {
        let mut stored = std::fs::read_dir(place.path("out/trials")).ok()?;
        stored.next().map(|_| ())
    });
    run.press("q");
    let (code, stdout) = run.end();
    assert_eq!(code, Some(130));
    assert!(stdout.contains("pipe"), "the table follows: {stdout}");
    assert_eq!(place.leftovers(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_signal_ends_it_as_well() {
    let place = place();
    let run = Session::start(&place, &["run", "watched", "--out", "out", "--live"]);
    run.shows("round-trip on pipe");
    crate::harness::send(run.pid(), libc::SIGTERM);
    assert_eq!(run.end().0, Some(130));
}

#[test]
fn a_run_to_its_end_prints_its_table() {
    let place = place();
    let arguments = ["run", "watched", "--out", "out", "--live", "--trials", "3"];
    let run = Session::start(&place, &arguments);
    let (code, stdout) = run.end();
    assert_eq!(code, Some(0), "{stdout}");
    assert!(
        stdout.contains("round-trip") || stdout.contains("pipe"),
        "{stdout}"
    );
}

#[test]
fn a_run_of_another_process_is_watched_until_it_is_complete() {
    let place = place();
    let arguments = [
        "run", "watched", "--out", "out", "--quiet", "--trials", "30",
    ];
    let running = place.start(&arguments);
    wait_for("the run", || {
        place.path("out/run.json").exists().then_some(())
    });
    let watching = Session::start(&place, &["watch", "out"]);
    watching.shows("round-trip on pipe");
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let (code, stdout) = watching.end();
    assert_eq!(code, Some(0));
    assert!(stdout.contains("60 of 60 trials"), "{stdout}");
    assert!(stdout.contains("complete"), "{stdout}");
}

#[test]
fn watching_ends_without_ending_the_run() {
    let place = place();
    let running = place.start(&["run", "watched", "--out", "out", "--quiet"]);
    wait_for("the run", || {
        place.path("out/run.json").exists().then_some(())
    });
    let mut watching = Session::start(&place, &["watch", "out"]);
    watching.shows("initiator 0");
    watching.press("q");
    assert_eq!(watching.end().0, Some(0));
    assert!(is_alive(running.pid()));
    running.signal(libc::SIGTERM);
    assert_eq!(running.end().status.code(), Some(130));
    // Nobody works on it any more, and that is said.
    let mut watching = Session::start(&place, &["watch", "out"]);
    watching.shows("no runner is active");
    watching.press("\u{3}");
    let (code, stdout) = watching.end();
    assert_eq!(code, Some(0));
    assert!(stdout.contains("incomplete"), "{stdout}");
    let watching = Session::start(&place, &["watch", "out"]);
    watching.shows("no runner is active");
    crate::harness::send(watching.pid(), libc::SIGTERM);
    assert_eq!(watching.end().0, Some(130));
}

#[test]
fn without_a_terminal_it_says_so() {
    let place = place();
    place
        .run(&["run", "watched", "--live"])
        .with_code(2)
        .says("--live needs a terminal; leave it out");
    place
        .run(&["watch", "out"])
        .with_code(2)
        .says("needs a terminal");
    assert!(!place.path("runs").exists());
}
