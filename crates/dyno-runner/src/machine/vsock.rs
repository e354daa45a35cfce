//! The vsock devices of virtual machines: the kernel's where it has them, else one process that is the device of all
//! machines of a testbed, `vhost-device-vsock` of the rust-vmm project. It shares the guests' memory, and is to the host a
//! directory of Unix domain sockets in the runner's own place. It dies with the runner.

use super::kernel::cache;
use crate::child::{Tail, end_group, exit, tie_to_runner};
use crate::error::MachineError;
use crate::programs::find;
use dyno_model::Testbed;
use dyno_model::cause::FailureCause;
use dyno_model::machine::{VsockBackEnd, VsockPeer};
use dyno_model::plan::{Host, Reach};
use std::fs::OpenOptions;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = "vhost-device-vsock";
/// The kernel's own back end.
const DEVICE: &str = "/dev/vhost-vsock";
/// VMADDR_CID_HOST of <linux/vm_sockets.h>.
const HOST: u32 = 2;
/// The process only makes sockets before it answers.
const READY: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(2);

/// What vsock devices can be here.
pub fn vsock_back_end() -> Option<VsockBackEnd> {
    let mut device = OpenOptions::new();
    // Opening it has no effect by itself.
    if device.read(true).write(true).open(DEVICE).is_ok() {
        return Some(VsockBackEnd::Kernel);
    }
    program().map(|_| VsockBackEnd::Process)
}

/// In PATH, else where `cargo xtask daemons vsock` puts it; there it must be safe from other users.
fn program() -> Option<Result<PathBuf, dyno_own::Refusal>> {
    let built = cache("vsock").join("bin").join(PROGRAM);
    let built = || find(&built.to_string_lossy()).map(|path| dyno_own::settled(&path));
    find(PROGRAM).map(Ok).or_else(built)
}

/// How a machine is given its device.
pub(crate) enum Device {
    /// By the kernel, under this context identifier.
    Kernel(u32),
    /// By a process at the other end of this connection.
    Process(UnixStream),
}

/// The vsock devices of a testbed's machines. Dropping it ends the process, where one is behind them.
pub(crate) struct Vsock {
    process: Option<(Child, Tail)>,
    place: PathBuf,
    /// Of each host, with the context identifier of a machine that has a device.
    hosts: Vec<(String, Option<u32>)>,
    back_end: VsockBackEnd,
}

impl Vsock {
    /// Those of `testbed`, if it has any; files go into the runner's `place`.
    pub(crate) fn start(testbed: &Testbed, place: &Path) -> Result<Option<Self>, MachineError> {
        let Some(back_end) = testbed.machines().find_map(|(_, machine)| machine.vsock) else {
            return Ok(None);
        };
        // Numbers are of this whole machine: no other run has these.
        let first = std::process::id() << 4;
        let cid = |(number, host): (u32, &Host)| {
            let is_guest = matches!(host.reach, Reach::Vm(_));
            (host.address.clone(), is_guest.then_some(first + number))
        };
        let mut vsock = Vsock {
            process: None,
            place: place.join("vsock"),
            hosts: (1..).zip(&testbed.hosts).map(cid).collect(),
            back_end,
        };
        if back_end == VsockBackEnd::Process {
            vsock.process = Some(vsock.launch()?);
        }
        Ok(Some(vsock))
    }

    fn launch(&self) -> Result<(Child, Tail), MachineError> {
        let failed = |reason: String| MachineError::Vsock(reason);
        let program = program().ok_or_else(|| {
            failed(format!(
                "{PROGRAM} is not installed any more; run `cargo xtask daemons vsock`"
            ))
        })?;
        let program = program.map_err(|refusal| failed(refusal.to_string()))?;
        // Of machines that were booted before.
        let _ = std::fs::remove_dir_all(&self.place);
        std::fs::create_dir_all(&self.place)
            .map_err(|e| failed(format!("cannot create {}: {e}", self.place.display())))?;
        let mut command = Command::new(&program);
        for cid in self.hosts.iter().filter_map(|(_, cid)| *cid) {
            // Relative: paths of sockets are short.
            let device = format!("guest-cid={cid},socket=device{cid},uds-path=vm{cid}");
            command.args(["--vm", &device]);
        }
        command
            .current_dir(&self.place)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        tie_to_runner(&mut command);
        let child = command.spawn();
        let mut child =
            child.map_err(|e| failed(format!("cannot start {}: {e}", program.display())))?;
        let mut said = Tail::default();
        if let Some(stdout) = child.stdout.take() {
            said.follow(stdout, |_| ());
        }
        if let Some(stderr) = child.stderr.take() {
            said.follow(stderr, |_| ());
        }
        Ok((child, said))
    }

    /// The device of the machine at `address`.
    pub(crate) fn device(&mut self, address: &str) -> Result<Option<Device>, MachineError> {
        let own = self.hosts.iter().find(|(host, _)| host == address);
        let Some(cid) = own.and_then(|(_, cid)| *cid) else {
            return Ok(None);
        };
        if self.back_end == VsockBackEnd::Kernel {
            return Ok(Some(Device::Kernel(cid)));
        }
        let path = self.place.join(format!("device{cid}"));
        let began = Instant::now();
        loop {
            match UnixStream::connect(&path) {
                Ok(connection) => return Ok(Some(Device::Process(connection))),
                Err(e) if began.elapsed() > READY => {
                    return Err(MachineError::Vsock(format!(
                        "{PROGRAM} does not answer at {} within {} s: {e}",
                        path.display(),
                        READY.as_secs()
                    )));
                }
                Err(_) => {}
            }
            if let Some(end) = self.trouble() {
                return Err(MachineError::Vsock(end.to_string()));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Whom the host at `address` reaches by vsock and how, for the environment of its agents.
    pub(crate) fn peers_of(&self, address: &str) -> String {
        let own = self.hosts.iter().find(|(host, _)| host == address);
        let is_guest = own.is_some_and(|(_, cid)| cid.is_some());
        let peer = |(address, cid): &(String, Option<u32>)| {
            let back_end = match (is_guest, self.back_end, cid) {
                (false, VsockBackEnd::Process, Some(cid)) => {
                    Some(self.place.join(format!("vm{cid}")))
                }
                // Two that are no guests.
                (false, _, None) => return None,
                _ => None,
            };
            let peer = VsockPeer {
                address: address.clone(),
                cid: cid.unwrap_or(HOST),
                back_end,
            };
            Some(peer.to_string())
        };
        let others = self.hosts.iter().filter(|(host, _)| host != address);
        others.filter_map(peer).collect::<Vec<_>>().join("\n")
    }

    /// What the process is, and its number.
    pub(crate) fn process(&self) -> Option<(String, u32)> {
        let (child, _) = self.process.as_ref()?;
        Some((format!("vsock device, {PROGRAM}"), child.id()))
    }

    /// How the process ended, if it has.
    pub(crate) fn trouble(&mut self) -> Option<FailureCause> {
        let (child, said) = self.process.as_mut()?;
        let status = child.try_wait().ok().flatten()?;
        let lines = said.complete();
        let mut lines = lines.iter().rev().map(|line| line.trim());
        Some(FailureCause::VsockEnded {
            program: PROGRAM.to_owned(),
            exit: exit(status),
            said: lines.find(|line| !line.is_empty()).map(str::to_owned),
        })
    }
}

impl Drop for Vsock {
    fn drop(&mut self) {
        if let Some((child, _)) = &mut self.process {
            end_group(child);
            // The runner's place is removed with all that is in it.
            let _ = std::fs::remove_dir_all(&self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_reaches_its_host_by_number_and_a_host_its_guest_by_the_process() {
        let mut vsock = Vsock {
            process: None,
            place: PathBuf::from("/place/vsock"),
            hosts: vec![
                ("h".into(), None),
                ("a".into(), Some(17)),
                ("b".into(), Some(18)),
            ],
            back_end: VsockBackEnd::Process,
        };
        assert_eq!(
            vsock.peers_of("h"),
            "a 17 /place/vsock/vm17\nb 18 /place/vsock/vm18"
        );
        assert_eq!(vsock.peers_of("a"), "h 2\nb 18");
        vsock.back_end = VsockBackEnd::Kernel;
        assert_eq!(vsock.peers_of("h"), "a 17\nb 18");
    }
}
