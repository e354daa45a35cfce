//! Ends blocking system calls: a signal with a handler that does nothing and without SA_RESTART.
//!
//! A blocking read has no deadline of its own, and giving it one costs a system call per message.
//! So the control thread interrupts a thread that should look at the phase again. The signal may
//! arrive just before the call, so it is sent again until the thread has ended.

use std::io;

const SIGNAL: libc::c_int = libc::SIGUSR1;

extern "C" fn nothing(_signal: libc::c_int) {}

/// Installs the handler for the whole process.
pub(crate) fn install() -> io::Result<()> {
    // SAFETY: an all-zero sigaction is a valid value of the C struct; the handler is
    // async-signal-safe because it does nothing.
    let code = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(SIGNAL, &action, std::ptr::null_mut())
    };
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The kernel's number of the calling thread.
pub(crate) fn thread_id() -> libc::pid_t {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Interrupts the thread's system call, if it is in one. A thread that has ended is left alone.
pub(crate) fn nudge(thread: libc::pid_t) {
    let process = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: tgkill touches no memory of ours; an id that is gone makes it return ESRCH, which is
    // what the contract above asks for.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, SIGNAL) };
}
