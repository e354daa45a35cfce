//! A container of plain namespaces: what is started in it is its first process.
//!
//! It has namespaces of its own for processes, mounts (with a `/proc` of its own), the names of the host, and message queues
//! and System V's shared memory. Files and network are those of the host that it is started on, which may be a network
//! namespace itself. Nothing of it has a name: it is gone with its first process, and that dies with whoever started it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the process of `command` be the first of a container. Call it after all that is to be done outside of it.
pub(crate) fn contain(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe system calls are made, without allocation.
    unsafe {
        command.pre_exec(|| enter());
    }
}

/// Kills what is the first process of a container, by the process that waits for it outside. Whether there was one.
pub(crate) fn kill_within(outside: u32) -> bool {
    // A process that is about to end, or a kernel that does not list children.
    let children = std::fs::read_to_string(format!("/proc/{outside}/task/{outside}/children"));
    let children = children.unwrap_or_default();
    let pids = children.split_whitespace().filter_map(|p| p.parse().ok());
    let killed = pids
        .filter_map(rustix::process::Pid::from_raw)
        .map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL).is_ok());
    killed.filter(|done| *done).count() > 0
}

/// Goes on as the first process of a container. The process that was there before stays outside, waits for it, and ends as it
/// does: whoever started it waits for that one.
///
/// # Safety
/// The process has one thread, and only async-signal-safe calls are made before it executes another program.
unsafe fn enter() -> io::Result<()> {
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;
    let (flags, none) = (libc::c_long::from(flags | libc::SIGCHLD), 0 as libc::c_long);
    // SAFETY: without CLONE_VM this is fork(2) with namespaces: the child has a copy of this thread's stack.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    if child > 0 {
        // SAFETY: by our caller.
        unsafe { wait_outside(child as libc::pid_t) };
    }
    let check = |result: libc::c_int| match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    // SAFETY: all strings end with NUL and live for the calls; null stands for what is not given.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        let null = std::ptr::null();
        // What is mounted in here is mounted nowhere else.
        let private = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(null, c"/".as_ptr(), null, private, null.cast()))?;
        let (proc, place) = (c"proc".as_ptr(), c"/proc".as_ptr());
        check(libc::mount(proc, place, proc, 0, null.cast()))?;
        let name = c"container";
        check(libc::sethostname(name.as_ptr(), name.count_bytes()))
    }
}

/// # Safety
/// As for [`enter`].
unsafe fn wait_outside(child: libc::pid_t) -> ! {
    // SAFETY: only async-signal-safe calls. The descriptors are closed because others wait for their end: this process
    // executes nothing that would close them.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) != 0 {
            // Before Linux 5.9, or behind a filter.
            let last = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 1 << 20) as libc::c_int;
            for descriptor in 3..last {
                libc::close(descriptor);
            }
        }
        let mut status = 0;
        while libc::waitpid(child, &raw mut status, 0) < 0 {
            if *libc::__errno_location() != libc::EINTR {
                libc::_exit(126);
            }
        }
        if libc::WIFSIGNALED(status) {
            let signal = libc::WTERMSIG(status);
            libc::signal(signal, libc::SIG_DFL);
            libc::kill(libc::getpid(), signal);
        }
        libc::_exit(libc::WEXITSTATUS(status));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn may_contain() -> bool {
        let may = shell("true").status().is_ok_and(|s| s.success());
        if !may {
            eprintln!("NOT TESTED: containers take CAP_SYS_ADMIN");
        }
        may
    }

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        contain(&mut command);
        command
    }

    #[test]
    fn a_process_is_the_first_of_its_container_and_ends_as_it_does() {
        if !may_contain() {
            return;
        }
        let output = shell("echo $$ $(hostname) $(ls -d /proc/[0-9]* | head -n 1); exit 7")
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "1 container /proc/1\n"
        );
        assert_eq!(output.status.code(), Some(7));
        // Its own, and not this one's.
        assert!(std::path::Path::new("/proc/self/stat").exists());
        assert_ne!(rustix::system::uname().nodename(), c"container");
    }

    #[test]
    fn a_container_is_gone_with_whoever_waits_for_it() {
        if !may_contain() {
            return;
        }
        let mut child = shell("echo there; exec sleep 60")
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut said, &mut line).unwrap();
        assert_eq!(line, "there\n");
        assert!(kill_within(child.id()));
        // Its output ends when nobody is left in it.
        assert_eq!(
            std::io::Read::read_to_end(&mut said, &mut Vec::new()).unwrap(),
            0
        );
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
