//! Virtual machines that a testbed boots and uses as hosts.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

choice! {
    /// What executes the processor of a virtual machine.
    #[derive(Default)]
    Accelerator, "accelerator" {
        /// KVM where it works, else emulation. Resolved before a run begins: no stored run has it.
        #[default]
        Auto = "auto",
        /// The processor's own virtualisation, by Linux' KVM.
        Kvm = "kvm",
        /// Emulation in software, by QEMU's translator.
        Tcg = "tcg",
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

/// The adapter whose channels go from one machine to another in memory that both share.
pub const SHARING: &str = "floor";

/// The environment variable in which an agent finds the file of the memory that its host shares with the others of the
/// testbed. On a host it is a file in memory, in a guest the device's.
pub const SHARED_MEMORY: &str = "DYNO_SHARED_MEMORY";

/// The first bytes of such a memory say what each part of the rest is for in a trial: [`Share`]s, one in each line, up to
/// the first zero. All other bytes are zero when a trial begins.
pub const SHARES_BYTES: usize = 64 << 10;

/// The part of a shared memory that is one channel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The channel's name.
    pub channel: String,
    /// Where it starts, in bytes from the start of the memory: a multiple of [`Share::ALIGN`].
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.channel, self.offset, self.bytes)
    }
}

impl Share {
    /// Parts start at multiples of so many bytes: they are mapped one by one.
    pub const ALIGN: u64 = 4096;

    /// Parts of equal size for `channels`, of a memory of `total` bytes. Empty where it is too small for any.
    pub fn equal(channels: &[String], total: u64) -> Vec<Share> {
        let room = total.saturating_sub(SHARES_BYTES as u64);
        let each = room / (channels.len() as u64).max(1);
        let bytes = each / Share::ALIGN * Share::ALIGN;
        if bytes == 0 {
            return Vec::new();
        }
        let share = |(number, channel): (u64, &String)| Share {
            channel: channel.clone(),
            offset: SHARES_BYTES as u64 + number * bytes,
            bytes,
        };
        (0..).zip(channels).map(share).collect()
    }

    /// The parts that stand in `text`; what is none is left out.
    pub fn read(text: &str) -> Vec<Share> {
        let share = |line: &str| {
            let mut words = line.split(' ');
            Some(Share {
                channel: words.next()?.to_owned(),
                offset: words.next()?.parse().ok()?,
                bytes: words.next()?.parse().ok()?,
            })
        };
        text.lines().filter_map(share).collect()
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
    /// The bytes of memory that it shares with the other hosts of the testbed, where a stack of the plan needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_bytes: Option<u64>,
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
        if let Some(back_end) = self.vsock {
            write!(f, "; vsock by {}", back_end.as_str())?;
        }
        match self.shared_bytes {
            Some(bytes) => {
                let mib = bytes >> 20;
                write!(f, "; {mib} MiB shared by ivshmem, in memory of the host's")
            }
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

    #[test]
    fn shares_are_read_as_they_are_written_and_overlap_nowhere() {
        let channels = ["s.c0", "s.c1", "s.c2"].map(str::to_owned);
        let shares = Share::equal(&channels, 1 << 20);
        let text: Vec<String> = shares.iter().map(Share::to_string).collect();
        assert_eq!(Share::read(&text.join("\n")), shares);
        assert_eq!(Share::read("nothing\n"), []);
        let mut end = SHARES_BYTES as u64;
        for (share, channel) in shares.iter().zip(&channels) {
            assert_eq!((&share.channel, share.offset), (channel, end));
            assert!(share.bytes > 0 && share.bytes.is_multiple_of(Share::ALIGN));
            end += share.bytes;
        }
        assert!(end <= 1 << 20, "{end}");
        assert_eq!(Share::equal(&channels, SHARES_BYTES as u64 + 4096), []);
        assert_eq!(Share::equal(&[], 1 << 20), []);
    }
}
