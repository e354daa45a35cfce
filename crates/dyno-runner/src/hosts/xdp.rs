//! Drops packets that arrive at a network device, without a sign to anybody: by a program of a few instructions that the
//! kernel runs for each (bpf(2), XDP in its generic mode, which every driver has and which changes nothing of the device).
//!
//! It is held by a descriptor alone: whatever ends this process detaches it.

use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::io;

/// Commands of bpf(2), from <linux/bpf.h>.
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const LINK_DETACH: libc::c_int = 34;
/// `BPF_PROG_TYPE_XDP` and `BPF_XDP`, the place that such a program is attached to.
const TYPE: u32 = 6;
const PLACE: u32 = 37;
/// `XDP_FLAGS_SKB_MODE` of <linux/if_link.h>: generic.
const GENERIC: u32 = 1 << 1;
/// What the program returns.
const DROP: i32 = 1;
const PASS: i32 = 2;
/// The helper `bpf_get_prandom_u32`.
const RANDOM: i32 = 7;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        // All work on r0.
        registers: 0,
        offset,
        immediate,
    }
}

/// `r0 = immediate`, of 32 bits (`BPF_ALU | BPF_MOV | BPF_K`).
const fn set(immediate: i32) -> Instruction {
    instruction(0xb4, 0, immediate)
}

/// `BPF_JMP | BPF_EXIT`.
const RETURN: Instruction = instruction(0x95, 0, 0);

/// A program that drops a share of all packets, each by a random number of its own.
fn program(share: f64) -> Vec<Instruction> {
    // A number of 32 bits is below it with the probability `share`; 1 is above the largest, and drops all.
    let threshold = share * 2f64.powi(32);
    if threshold >= f64::from(u32::MAX) {
        return vec![set(DROP), RETURN];
    }
    let threshold = (threshold as u32).cast_signed();
    vec![
        instruction(0x85, 0, RANDOM),
        // To the drop where r0 is below, as numbers without a sign (BPF_JMP32 | BPF_JLT | BPF_K).
        instruction(0xa6, 2, threshold),
        set(PASS),
        RETURN,
        set(DROP),
        RETURN,
    ]
}

/// What `PROG_LOAD` takes, up to the last field in use; the kernel takes the rest as zero.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
}

/// What `LINK_CREATE` takes.
#[repr(C)]
struct Create {
    program: u32,
    device: u32,
    place: u32,
    flags: u32,
}

/// What `LINK_DETACH` takes.
#[repr(C)]
struct Detach {
    link: u32,
}

/// Drops a share of what arrives at a device until it is detached or dropped.
#[derive(Debug)]
pub(crate) struct Dropper {
    link: OwnedFd,
}

impl Dropper {
    /// At the device of that name in the calling thread's network namespace. `share`: above 0, up to 1.
    ///
    /// # Errors
    /// There is no such device, another such program is attached to it, or the kernel refuses: it takes Linux 5.9 and
    /// the capabilities `CAP_BPF` and `CAP_NET_ADMIN` of the machine itself, which root has.
    pub(crate) fn attach(device: &str, share: f64) -> io::Result<Self> {
        let instructions = program(share);
        let load = Load {
            kind: TYPE,
            count: instructions.len() as u32,
            instructions: instructions.as_ptr().expose_provenance() as u64,
            license: c"Apache-2.0".as_ptr().expose_provenance() as u64,
        };
        // SAFETY: the pointers in it are to `instructions` of that number and to a text that ends with NUL.
        let program = owned(unsafe { bpf(PROG_LOAD, &load) }?);
        let create = Create {
            program: descriptor(&program),
            device: super::device::number(device)?,
            place: PLACE,
            flags: GENERIC,
        };
        // SAFETY: there are no pointers in it.
        let link = owned(unsafe { bpf(LINK_CREATE, &create) }?);
        Ok(Dropper { link })
    }

    /// From when this returns on nothing is dropped any more.
    ///
    /// # Errors
    /// The kernel refuses; what is dropped then ends with this process.
    pub(crate) fn detach(self) -> io::Result<()> {
        let detach = Detach {
            link: descriptor(&self.link),
        };
        // SAFETY: there are no pointers in it.
        unsafe { bpf(LINK_DETACH, &detach) }.map(|_| ())
    }
}

/// Descriptors are not negative.
fn descriptor(of: &OwnedFd) -> u32 {
    of.as_raw_fd().cast_unsigned()
}

fn owned(descriptor: libc::c_int) -> OwnedFd {
    // SAFETY: bpf(2) has just returned it, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

/// bpf(2). What it returns is a descriptor where the command makes one.
///
/// # Safety
/// `attributes` are those of the command, and pointers in them are valid for it.
unsafe fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the size is that of what is pointed to; the rest by our caller.
    let result = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    match result {
        // Descriptors are of this size.
        0.. => Ok(result as libc::c_int),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::NetworkNamespace;
    use crate::hosts::device;
    use std::net::UdpSocket;

    /// A namespace whose loopback device is up; nothing where that takes rights that there are not.
    fn namespace() -> Option<NetworkNamespace> {
        let made = NetworkNamespace::new();
        if let Err(e) = &made {
            eprintln!("NOT TESTED: making network namespaces needs root: {e}");
        }
        let made = made.ok()?;
        made.within(|| device::switch("lo", true)).unwrap();
        Some(made)
    }

    /// How many of 2,000 datagrams over the loopback device arrive.
    fn arrive() -> usize {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.set_nonblocking(true).unwrap();
        let mut arrived = 0;
        for _ in 0..2_000 {
            sender.send(b"x").unwrap();
            // The loopback device hands over within the call.
            arrived += usize::from(receiver.recv(&mut [0; 8]).is_ok());
        }
        arrived
    }

    #[test]
    fn a_share_of_packets_is_dropped_until_it_is_detached() {
        let Some(namespace) = namespace() else { return };
        let counts = namespace.within(|| {
            let before = arrive();
            let all = Dropper::attach("lo", 1.0)?;
            let cut = arrive();
            all.detach()?;
            let between = arrive();
            let some = Dropper::attach("lo", 0.25)?;
            let lossy = arrive();
            drop(some);
            Ok([before, cut, between, lossy, arrive()])
        });
        let [before, cut, between, lossy, after] = counts.unwrap();
        assert_eq!((before, cut, between, after), (2_000, 0, 2_000, 2_000));
        // 1,500 are expected; ten standard deviations are 194.
        assert!((1_306..=1_694).contains(&lossy), "{lossy}");
    }

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        let Some(namespace) = namespace() else { return };
        let refused = namespace.within(|| Dropper::attach("none", 1.0));
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
