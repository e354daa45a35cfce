//! A host that is a network namespace of this machine, without a name in its file system: it lives
//! as long as somebody holds it, which is the runner and what the runner started in it.

use super::device;
use super::watch::Watch;
use super::xdp::Dropper;
use dyno_measure::Clock;
use dyno_model::Nanos;
use dyno_model::cause::FailureCause;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The device of a host that is its end of the link.
pub(super) const DEVICE: &str = "eth0";

/// How long a link may take to be there after it was switched on; the kernel takes microseconds.
const COMING_UP: Duration = Duration::from_secs(1);

/// A network namespace that is held open.
#[derive(Debug, Clone)]
pub(crate) struct NetworkNamespace(Arc<OwnedFd>);

impl NetworkNamespace {
    /// A new one, with nothing in it but a loopback device that is down. IPv6 is off where that can
    /// be set: its neighbour discovery would be traffic that no experiment asked for.
    pub(crate) fn new() -> io::Result<Self> {
        on_a_thread(|| {
            // SAFETY: file descriptors stay shared: only the network namespace of this thread, which
            // ends with this closure, is another one.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
            for which in ["all", "default"] {
                let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
                // A kernel without IPv6, or a container that forbids it: then it does no harm.
                let _ = std::fs::write(path, "1");
            }
            let held = File::open("/proc/thread-self/ns/net")?;
            Ok(NetworkNamespace(Arc::new(held.into())))
        })
    }

    /// Has the process of `command` run within.
    pub(crate) fn enter(&self, command: &mut Command) {
        let held = self.0.clone();
        // SAFETY: between fork and exec only an async-signal-safe system call is made, without
        // allocation.
        unsafe {
            command.pre_exec(move || Ok(enter(&held)?));
        }
    }

    /// Does something within, on a thread of its own.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        on_a_thread(|| {
            enter(&self.0)?;
            work()
        })
    }

    /// What can drop packets that arrive at one of its devices.
    pub(super) fn dropper_at(&self, device: &str) -> io::Result<Dropper> {
        self.within(|| Dropper::attach(device))
    }

    /// A path by which the process of `command` can name this namespace.
    pub(crate) fn path_for(&self, command: &mut Command) -> String {
        let held = self.0.clone();
        let path = format!("/proc/self/fd/{}", held.as_raw_fd());
        // SAFETY: as in `enter`.
        unsafe {
            command.pre_exec(move || {
                // The descriptor was inherited through fork; now it stays open through exec.
                Ok(rustix::io::fcntl_setfd(
                    held.as_fd(),
                    rustix::io::FdFlags::empty(),
                )?)
            });
        }
        path
    }
}

fn enter(held: &OwnedFd) -> rustix::io::Result<()> {
    move_into_link_name_space(held.as_fd(), Some(LinkNameSpaceType::Network))
}

/// Runs `work` on a thread that ends with it: a thread's namespaces are its own.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// A host of the testbed.
pub(crate) struct Namespace {
    /// In the testbed.
    pub(crate) name: String,
    /// What its processes find in their environment.
    pub(crate) environment: Vec<(&'static str, String)>,
    network: NetworkNamespace,
    link: Watch,
    /// A fault has its link down.
    unplugged: AtomicBool,
}

impl Namespace {
    /// The host `name`, whose link is up.
    pub(crate) fn new(name: &str, network: NetworkNamespace) -> io::Result<Self> {
        Ok(Namespace {
            name: name.to_owned(),
            environment: Vec::new(),
            link: network.within(Watch::new)?,
            network,
            unplugged: AtomicBool::new(false),
        })
    }

    /// Has the process of `command` run on this host.
    pub(crate) fn enter(&self, command: &mut Command) {
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        self.network.enter(command);
    }

    /// Does something in its network.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        self.network.within(|| Ok(work()))
    }

    /// Its network.
    pub(crate) fn network(&self) -> &NetworkNamespace {
        &self.network
    }

    /// Whether its link has been down since it was made, but for when a fault of the experiment had it down.
    pub(crate) fn trouble(&self) -> Option<FailureCause> {
        let host = || self.name.clone();
        let down = !self.unplugged.load(Ordering::Relaxed) && self.link.was_down();
        down.then(|| FailureCause::LinkDown { host: host() })
    }

    /// Takes its link down. When that was, by readings of `clock` before and after.
    pub(crate) fn unplug(&self, clock: Clock) -> io::Result<(Unplugged<'_>, [Nanos; 2])> {
        let unplugged = Unplugged { namespace: self };
        self.unplugged.store(true, Ordering::Relaxed);
        let at = self.network.within(|| {
            let before = clock.now();
            device::switch(DEVICE, false)?;
            Ok([before, clock.now()])
        })?;
        Ok((unplugged, at))
    }

    /// What can drop packets that arrive at its end of the link.
    pub(crate) fn dropper(&self) -> io::Result<Dropper> {
        self.network.dropper_at(DEVICE)
    }

    /// Takes the link up again with its routes, and forgets that it was down. An error says what did not come back.
    fn plug(&self, clock: Clock) -> io::Result<[Nanos; 2]> {
        let at = self.network.within(|| {
            let before = clock.now();
            device::switch(DEVICE, true)?;
            device::route_multicast(DEVICE)?;
            let deadline = Instant::now() + COMING_UP;
            while !device::is_up(DEVICE)? {
                if Instant::now() >= deadline {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok([before, clock.now()])
        })?;
        self.link.forget();
        self.unplugged.store(false, Ordering::Relaxed);
        Ok(at)
    }
}

/// The link of a host that a fault has taken down. Dropping it takes it up again.
pub(crate) struct Unplugged<'a> {
    namespace: &'a Namespace,
}

impl Unplugged<'_> {
    /// The host's name in the testbed.
    pub(crate) fn host(&self) -> &str {
        &self.namespace.name
    }

    /// Takes the link up again. When that was, by readings of `clock` before and after; within them it has its routes too.
    pub(crate) fn plug(self, clock: Clock) -> io::Result<[Nanos; 2]> {
        self.namespace.plug(clock)
    }
}

impl Drop for Unplugged<'_> {
    fn drop(&mut self) {
        // Not after `plug`, whose caller hears of an error. Here a trial ends before its time; should the link stay down,
        // the host is cut off for the next one, which finds that out.
        if self.namespace.unplugged.load(Ordering::Relaxed) {
            let clock = Clock::new(dyno_model::protocol::ClockSpec::Monotonic);
            if self.namespace.plug(clock).is_err() {
                self.namespace.unplugged.store(false, Ordering::Relaxed);
            }
        }
    }
}
