//! Memory that parent and child of a fork share, and the child itself.

use super::ProbeError;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

/// A value in pages that a forked child shares with its parent.
pub struct Shared<T> {
    place: NonNull<T>,
}

/// Types that two processes may use at once: every byte pattern of zeros is valid, all access goes
/// through atomics, and there is nothing to drop and no address inside.
///
/// # Safety
///
/// The implementer vouches for exactly that.
pub unsafe trait Share: Sync {}

impl<T: Share> Shared<T> {
    /// A zeroed value, its pages resident.
    ///
    /// # Errors
    ///
    /// Where there is no memory for it.
    pub fn zeroed() -> Result<Self, ProbeError> {
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no memory that
        // exists; it is at least page-aligned, which covers `T` (checked below).
        let place = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                size_of::<T>(),
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED | MapFlags::POPULATE,
            )
        };
        const { assert!(align_of::<T>() <= 4096 && size_of::<T>() > 0 && !std::mem::needs_drop::<T>()) };
        let system = |source| ProbeError::System {
            call: "mmap of shared memory",
            source,
        };
        let place = place.map_err(|e| system(e.into()))?;
        NonNull::new(place.cast())
            .map(|place| Shared { place })
            .ok_or_else(|| system(io::Error::other("mapped at address zero")))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `zeroed` mapped a zeroed and aligned `T`, valid by `Share`; it stays mapped until
        // `drop`, which outlives this borrow. Other processes change it through atomics only.
        unsafe { self.place.as_ref() }
    }
}

// SAFETY: a `Shared<T>` gives out nothing but `&T`, and `Share` implies `Sync`.
unsafe impl<T: Share> Sync for Shared<T> {}

// SAFETY: the mapping belongs to the process and not to a thread, and what is in it may be used by any (`Share`).
unsafe impl<T: Share> Send for Shared<T> {}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `zeroed` with this size, and `&mut self` shows that no
        // borrow of it is left in this process. A child has a mapping of its own.
        let _ = unsafe { munmap(self.place.as_ptr().cast(), size_of::<T>()) };
    }
}

/// A forked child. Dropping it kills and reaps it.
pub struct Child {
    pid: libc::pid_t,
}

impl Child {
    /// Forks; the child runs `body`, whose result is its exit code, and ends without returning.
    ///
    /// # Errors
    ///
    /// Where the kernel makes no process.
    ///
    /// # Safety
    ///
    /// Other threads may have held locks at the fork, so `body` only does what is async-signal-safe
    /// (signal-safety(7)): atomics, arithmetic and plain system calls. It does not allocate, panic or
    /// use the standard library's I/O.
    pub unsafe fn fork(body: impl FnOnce() -> i32) -> Result<Child, ProbeError> {
        let parent = std::process::id() as libc::pid_t;
        // SAFETY: the child runs only the three calls below, which are plain system calls, and
        // `body`, for which the caller vouches.
        match unsafe { libc::fork() } {
            -1 => Err(ProbeError::System {
                call: "fork",
                source: io::Error::last_os_error(),
            }),
            0 => {
                // SAFETY: system calls without pointers; `_exit` runs no handlers of the parent. The
                // child dies with the thread that made it, and where that has died already it
                // has another parent by now.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    if libc::getppid() != parent {
                        libc::_exit(1);
                    }
                    libc::_exit(body())
                }
            }
            pid => Ok(Child { pid }),
        }
    }

    /// Its process id.
    pub fn id(&self) -> libc::pid_t {
        self.pid
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: `pid` is our own child and not yet reaped, since only this function reaps it, so
        // the number cannot stand for another process. A null status pointer is allowed.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            while libc::waitpid(self.pid, std::ptr::null_mut(), 0) == -1
                && *libc::__errno_location() == libc::EINTR
            {}
        }
    }
}
