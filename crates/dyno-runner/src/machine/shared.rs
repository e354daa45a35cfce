//! Memory that the machines of a testbed share with each other and with this one: a memory file, which each monitor maps as
//! the device `ivshmem-plain` (QEMU's docs/specs/ivshmem-spec.rst). In a guest it is the second memory region of a device on
//! its PCI bus; here it is the file, which has no name outside the runner.

use crate::error::MachineError;
use dyno_model::Testbed;
use dyno_model::machine::{SHARES_BYTES, Share};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The monitor's device.
const DEVICE: &str = "ivshmem-plain";
/// What it is on the guest's bus (`pci-ids.txt` of QEMU's docs/specs).
const VENDOR: &str = "0x1af4";
const PRODUCT: &str = "0x1110";
const DEVICES: &str = "/sys/bus/pci/devices";
/// The region that is the memory.
const REGION: &str = "resource2";

/// The memory of a testbed's machines.
pub(crate) struct SharedMemory {
    file: File,
    bytes: u64,
}

impl SharedMemory {
    /// That of `testbed`, if its machines have any.
    pub(crate) fn make(testbed: &Testbed) -> Result<Option<Self>, MachineError> {
        let Some(bytes) = testbed.machines().find_map(|(_, m)| m.shared_bytes) else {
            return Ok(None);
        };
        let failed = |e: rustix::io::Errno| MachineError::Shared(e.to_string());
        let memory = memfd_create("dyno-shared", MemfdFlags::CLOEXEC).map_err(failed)?;
        ftruncate(&memory, bytes).map_err(failed)?;
        let file = memory.into();
        Ok(Some(SharedMemory { file, bytes }))
    }

    /// The same memory for a monitor to inherit.
    pub(crate) fn copy(&self) -> Result<OwnedFd, MachineError> {
        let file = self.file.try_clone();
        let file = file.map_err(|e| MachineError::Shared(e.to_string()))?;
        Ok(file.into())
    }

    /// What a monitor is told of the memory that it inherits.
    pub(super) fn arguments(machine_bytes: u64, inherited: &OwnedFd) -> [String; 4] {
        let path = format!("/proc/self/fd/{}", inherited.as_raw_fd());
        let size = machine_bytes >> 20;
        [
            "-object".into(),
            format!("memory-backend-file,id=shared,size={size}M,share=on,mem-path={path}"),
            "-device".into(),
            format!("{DEVICE},memdev=shared"),
        ]
    }

    /// Under which name processes of this machine open it, as long as the runner lives.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Makes it new for a trial: all zero, and divided among `channels`.
    pub(crate) fn divide(&self, channels: &[String]) -> Result<(), String> {
        let clear = || -> io::Result<()> {
            // All who have it mapped see new pages.
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            rustix::io::retry_on_intr(|| fallocate(&self.file, flags, 0, self.bytes))?;
            Ok(())
        };
        clear().map_err(|e| format!("cannot clear the memory that machines share: {e}"))?;
        let shares = Share::equal(channels, self.bytes);
        let text: String = shares.iter().map(|share| format!("{share}\n")).collect();
        if shares.len() < channels.len() || text.len() >= SHARES_BYTES {
            return Err(format!(
                "the {} MiB that machines share are too few for {} channels; write a larger `shared_memory` in the testbed",
                self.bytes >> 20,
                channels.len()
            ));
        }
        let written = self.file.write_all_at(text.as_bytes(), 0);
        written.map_err(|e| format!("cannot divide the memory that machines share: {e}"))
    }
}

/// The file of the memory in a guest, where it has the device.
pub(super) fn in_guest() -> Result<Option<PathBuf>, String> {
    found_below(Path::new(DEVICES))
}

fn found_below(devices: &Path) -> Result<Option<PathBuf>, String> {
    // A kernel without a PCI bus has no such device.
    for device in fs::read_dir(devices).into_iter().flatten().flatten() {
        let device = device.path();
        let is = |name: &str, wanted: &str| {
            let found = fs::read_to_string(device.join(name)).unwrap_or_default();
            found.trim() == wanted
        };
        if is("vendor", VENDOR) && is("device", PRODUCT) {
            // No driver of the kernel's does that for this device.
            let enable = device.join("enable");
            fs::write(&enable, "1")
                .map_err(|e| format!("cannot write {}: {e}", enable.display()))?;
            return Ok(Some(device.join(REGION)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: u64) -> SharedMemory {
        let file = File::from(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        file.set_len(bytes).unwrap();
        SharedMemory { file, bytes }
    }

    fn text(memory: &SharedMemory) -> String {
        let mut start = vec![0; SHARES_BYTES];
        memory.file.read_exact_at(&mut start, 0).unwrap();
        let end = start.iter().position(|b| *b == 0).unwrap();
        String::from_utf8(start[..end].to_vec()).unwrap()
    }

    #[test]
    fn each_trial_finds_its_own_parts_and_nothing_else() {
        let memory = memory(1 << 20);
        let names = |session: &str, n: usize| -> Vec<String> {
            (0..n).map(|i| format!("{session}.c{i}")).collect()
        };
        memory.divide(&names("first", 2)).unwrap();
        let shares = Share::read(&text(&memory));
        assert_eq!(shares.len(), 2);
        memory.file.write_all_at(b"x", shares[1].offset).unwrap();

        memory.divide(&names("second", 1)).unwrap();
        let [share] = Share::read(&text(&memory)).try_into().unwrap();
        assert_eq!(share.channel, "second.c0");
        let mut all = vec![1; share.bytes as usize];
        memory.file.read_exact_at(&mut all, share.offset).unwrap();
        assert!(all.iter().all(|b| *b == 0));
        assert_eq!(memory.file.metadata().unwrap().len(), 1 << 20);
        // As those of another process would.
        assert_eq!(fs::read(memory.path()).unwrap().len(), 1 << 20);

        memory.divide(&[]).unwrap();
        assert_eq!(text(&memory), "");
        let refused = memory.divide(&names("third", 1000)).unwrap_err();
        assert!(
            refused.contains("write a larger `shared_memory`"),
            "{refused}"
        );
    }

    #[test]
    fn the_device_is_found_by_what_it_is_and_switched_on() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(found_below(&dir.path().join("none")), Ok(None));
        for (place, product) in [("0000:00:01.0", "0x1000"), ("0000:00:02.0", "0x1110")] {
            let place = dir.path().join(place);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("vendor"), "0x1af4\n").unwrap();
            fs::write(place.join("device"), format!("{product}\n")).unwrap();
        }
        let device = dir.path().join("0000:00:02.0");
        assert_eq!(found_below(dir.path()), Ok(Some(device.join("resource2"))));
        assert_eq!(fs::read_to_string(device.join("enable")).unwrap(), "1");
    }
}
