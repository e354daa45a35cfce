//! Virtual machines that a testbed boots and uses as hosts.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What executes the processor of a virtual machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// KVM where it works, else emulation. Resolved before a run begins: no stored run has it.
    #[default]
    Auto,
    /// The processor's own virtualisation, by Linux' KVM.
    Kvm,
    /// Emulation in software, by QEMU's translator.
    Tcg,
}

impl Accelerator {
    /// All of them by the names that files have for them.
    pub const ALL: [(&str, Accelerator); 3] = [
        ("auto", Accelerator::Auto),
        ("kvm", Accelerator::Kvm),
        ("tcg", Accelerator::Tcg),
    ];

    /// The name that files have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Accelerator::Auto => "auto",
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

/// What a vsock device is to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VsockBackEnd {
    /// The kernel, as the device `/dev/vhost-vsock`.
    Kernel,
    /// A process that shares the guest's memory.
    Process,
}

impl VsockBackEnd {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            VsockBackEnd::Kernel => "the kernel's vhost-vsock",
            VsockBackEnd::Process => "vhost-device-vsock (user space)",
        }
    }
}

/// The environment variable in which an agent finds its [`VsockPeer`]s, one in each line.
pub const VSOCK: &str = "DYNO_VSOCK";

/// A host that is reached by vsock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VsockPeer {
    /// The host's address in the testbed.
    pub address: String,
    /// Its context identifier.
    pub cid: u32,
    /// The Unix domain socket of the process that is its device; `None`: sockets of the kernel.
    pub back_end: Option<PathBuf>,
}

impl std::fmt::Display for VsockPeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.address, self.cid)?;
        match &self.back_end {
            Some(path) => write!(f, " {}", path.display()),
            None => Ok(()),
        }
    }
}

impl VsockPeer {
    /// The peers that stand in `text`; what is none is left out.
    pub fn read(text: &str) -> Vec<VsockPeer> {
        let peer = |line: &str| {
            let mut words = line.splitn(3, ' ');
            Some(VsockPeer {
                address: words.next()?.to_owned(),
                cid: words.next()?.parse().ok()?,
                back_end: words.next().map(PathBuf::from),
            })
        };
        text.lines().filter_map(peer).collect()
    }
}

/// What a virtual machine is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel that it boots; `None`: the one that is found on the runner's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// Its memory in bytes.
    pub memory_bytes: u64,
    /// Its virtual CPUs.
    pub cpus: u32,
    /// The CPUs of the runner's machine that the monitor may use; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<u32>,
    /// What executes its processor.
    pub accelerator: Accelerator,
    /// What its vsock device is, where a stack of the plan needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vsock: Option<VsockBackEnd>,
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernel = self.kernel.as_ref().and_then(|k| k.file_name());
        let kernel = kernel.map_or("its kernel was not stored".into(), |k| k.to_string_lossy());
        let by = self.accelerator.as_str();
        let (memory, cpus) = (self.memory_bytes >> 20, self.cpus);
        write!(
            f,
            "{kernel}, {memory} MiB, {cpus} CPU{}, by QEMU with {by}; virtio-net by QEMU (user space) and a tap device",
            if cpus == 1 { "" } else { "s" }
        )?;
        match self.vsock {
            Some(back_end) => write!(f, "; vsock by {}", back_end.as_str()),
            None => Ok(()),
        }
    }
}

impl Machine {
    /// The emulator, where its processor is emulated.
    pub const fn emulated_by(&self) -> Option<&'static str> {
        match self.accelerator {
            Accelerator::Tcg => Some("QEMU's TCG"),
            Accelerator::Auto | Accelerator::Kvm => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_as_they_are_written() {
        let peer = |cid, back_end: Option<&str>| VsockPeer {
            address: "10.77.0.2".into(),
            cid,
            back_end: back_end.map(PathBuf::from),
        };
        let peers = [peer(2, None), peer(17, Some("/tmp/a place/vm"))];
        let text = peers.each_ref().map(VsockPeer::to_string).join("\n");
        assert_eq!(VsockPeer::read(&text), peers);
        assert_eq!(VsockPeer::read("nothing\n"), []);
    }
}
