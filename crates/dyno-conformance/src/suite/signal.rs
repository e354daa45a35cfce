//! A signal that does nothing but interrupt, as the agent uses it to end blocking calls, and how threads of a case end.

use super::log::DEADLINE;
use std::os::unix::thread::{JoinHandleExt, RawPthread};
use std::sync::Once;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SIGNAL: libc::c_int = libc::SIGUSR2;

extern "C" fn do_nothing(_: libc::c_int) {}

/// Installs the handler, without SA_RESTART, so that the signal interrupts system calls.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler: extern "C" fn(libc::c_int) = do_nothing;
        // SAFETY: an all-zero `sigaction` is valid (no flags, empty mask); the handler does
        // nothing and therefore is safe in a signal context; the old action is not asked for.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            libc::sigaction(SIGNAL, &action, std::ptr::null_mut())
        };
        assert_eq!(result, 0, "cannot install a signal handler");
    });
}

/// Interrupts the thread's system call, if it is in one.
pub(super) fn nudge<T>(thread: &JoinHandle<T>) {
    let id: RawPthread = thread.as_pthread_t();
    // SAFETY: the thread's id is valid because its `JoinHandle`, which we borrow, has neither been
    // joined nor dropped; the signal has a handler since `install` ran before any nudge.
    unsafe {
        libc::pthread_kill(id, SIGNAL);
    }
}

/// Joins a thread that was asked to end, interrupting its system calls until it does; panics if it
/// has not ended by `limit`, saying that `what` hangs.
pub(super) fn join_nudged<T>(thread: JoinHandle<T>, limit: Duration, what: &str) -> T {
    let start = Instant::now();
    while !thread.is_finished() {
        assert!(
            start.elapsed() < limit,
            "{what} hangs, signals do not end it"
        );
        nudge(&thread);
        std::thread::sleep(Duration::from_millis(5));
    }
    joined(thread)
}

/// What a thread comes to by itself, which it must in time: `hangs` says what it is where it does not.
pub(super) fn ended<T>(thread: JoinHandle<T>, hangs: &str) -> T {
    let start = Instant::now();
    while !thread.is_finished() {
        assert!(start.elapsed() < DEADLINE, "{hangs}");
        std::thread::sleep(Duration::from_millis(5));
    }
    joined(thread)
}

/// What a thread came to; its panic is this one's.
pub(super) fn joined<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
