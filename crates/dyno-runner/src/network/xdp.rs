//! Drops packets that arrive at a network device, without a sign to anybody: by a program of a few instructions that the
//! kernel runs for each (bpf(2), XDP in its generic mode, which every driver has and which changes nothing of the device).
//!
//! To attach and to detach it takes the kernel milliseconds, so it stays attached while a trial runs; which share it drops is a
//! number in a map, which is changed at once. It is held by descriptors alone: whatever ends this process detaches it.

use super::device;
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::io;

/// Commands of bpf(2), from <linux/bpf.h>.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
/// `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;
/// `BPF_PROG_TYPE_XDP` and `BPF_XDP`, the place that such a program is attached to.
const TYPE: u32 = 6;
const PLACE: u32 = 37;
/// `XDP_FLAGS_SKB_MODE` of <linux/if_link.h>: generic.
const GENERIC: u32 = 1 << 1;
/// What the program returns for a packet that passes (`XDP_PASS`); for one that is dropped one less (`XDP_DROP`).
const PASS: i32 = 2;
/// The helper `bpf_get_prandom_u32`.
const RANDOM: i32 = 7;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u8,
    /// The destination in the lower half, the source in the upper one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers,
        offset,
        immediate,
    }
}

/// The map's value: two numbers of 32 bits, in words of 64. A packet is dropped where a random number is below the first of
/// them, or below the second where the packet before it was dropped. So losses come in bursts (E. N. Gilbert, Capacity of a
/// burst-noise channel, Bell System Technical Journal 39, 1960, with all packets lost in the bad state).
#[repr(C)]
#[derive(Default)]
struct Thresholds {
    begin: u64,
    go_on: u64,
    /// Whether the last packet was dropped; the program writes it.
    dropped: u64,
}

/// A program that drops packets by the [`Thresholds`] in the map.
fn program(map: &OwnedFd) -> [Instruction; 14] {
    [
        // r6 = the address of the map's value: two instructions (BPF_LD | BPF_DW | BPF_IMM with BPF_PSEUDO_MAP_VALUE).
        instruction(0x18, 0x26, 0, map.as_raw_fd()),
        instruction(0, 0, 0, 0),
        // r7 = `dropped`, r8 = `begin` (BPF_LDX | BPF_MEM | BPF_DW).
        instruction(0x79, 0x67, 16, 0),
        instruction(0x79, 0x68, 0, 0),
        // Where r7 is not 0, r8 = `go_on`: else over one instruction (BPF_JMP | BPF_JEQ | BPF_K).
        instruction(0x15, 0x07, 1, 0),
        instruction(0x79, 0x68, 8, 0),
        // r0 = a random number.
        instruction(0x85, 0, 0, RANDOM),
        // r7 = r0 < r8, without a sign (BPF_ALU64 | BPF_MOV | BPF_K, BPF_JMP | BPF_JGE | BPF_X).
        instruction(0xb7, 0x07, 0, 0),
        instruction(0x3d, 0x80, 1, 0),
        instruction(0xb7, 0x07, 0, 1),
        // `dropped` = r7 (BPF_STX | BPF_MEM | BPF_DW).
        instruction(0x7b, 0x76, 16, 0),
        // r0 = the answer: `PASS`, or one less (BPF_ALU64 | BPF_MOV | BPF_K, BPF_ALU64 | BPF_SUB | BPF_X); and the end.
        instruction(0xb7, 0, 0, PASS),
        instruction(0x1f, 0x70, 0, 0),
        instruction(0x95, 0, 0, 0),
    ]
}

/// What `MAP_CREATE` takes; of all of these up to the last field in use, since the kernel takes the rest as zero.
#[repr(C)]
struct Map {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

/// What `MAP_UPDATE` takes.
#[repr(C)]
struct Update {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// What `PROG_LOAD` takes.
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

/// Drops a share of what arrives at a device, at first nothing, until it is dropped itself.
#[derive(Debug)]
pub(crate) struct Dropper {
    map: OwnedFd,
    /// Closing it detaches the program.
    _link: OwnedFd,
}

impl Dropper {
    /// At the device of that name in the calling thread's network namespace.
    ///
    /// # Errors
    /// There is no such device, another such program is attached to it, or the kernel refuses: it takes Linux 5.9 and
    /// the capabilities `CAP_BPF` and `CAP_NET_ADMIN` of the machine itself, which root has.
    pub(super) fn attach(device: &str) -> io::Result<Self> {
        let device = device::number(device)?;
        let map = Map {
            kind: ARRAY,
            key_bytes: size_of::<u32>() as u32,
            value_bytes: size_of::<Thresholds>() as u32,
            entries: 1,
        };
        // SAFETY: there are no pointers in it.
        let map = owned(unsafe { bpf(MAP_CREATE, &map) }?);
        let instructions = program(&map);
        let load = Load {
            kind: TYPE,
            count: instructions.len() as u32,
            instructions: address(instructions.as_ptr()),
            license: address(c"Apache-2.0".as_ptr()),
        };
        // SAFETY: the pointers in it are to so many instructions and to a text that ends with NUL.
        let program = owned(unsafe { bpf(PROG_LOAD, &load) }?);
        let create = Create {
            program: descriptor(&program),
            device,
            place: PLACE,
            flags: GENERIC,
        };
        // SAFETY: there are no pointers in it.
        let link = owned(unsafe { bpf(LINK_CREATE, &create) }?);
        Ok(Dropper { map, _link: link })
    }

    /// From when this returns on that share of the packets is dropped: `burst` in a row on average, or each by a random number
    /// of its own. `share`: from 0, which lets all pass, up to 1.
    ///
    /// # Errors
    /// The kernel refuses.
    pub(crate) fn set(&self, share: f64, burst: Option<f64>) -> io::Result<()> {
        // A number of 32 bits is below it with this probability.
        let threshold = |probability: f64| (probability.clamp(0.0, 1.0) * 2f64.powi(32)) as u64;
        let [begin, go_on] = match burst {
            None => [share; 2],
            // A burst goes on with the probability 1 - 1/burst, and in the long run there are `share` of dropped packets.
            Some(burst) => [share / (burst * (1.0 - share)), 1.0 - 1.0 / burst],
        };
        let thresholds = Thresholds {
            begin: threshold(begin),
            go_on: threshold(go_on),
            dropped: 0,
        };
        let key = 0_u32;
        let update = Update {
            map: descriptor(&self.map),
            padding: 0,
            key: address(&raw const key),
            value: address(&raw const thresholds),
            flags: 0,
        };
        // SAFETY: the pointers in it are to a key and a value of the map's sizes.
        unsafe { bpf(MAP_UPDATE, &update) }.map(|_| ())
    }
}

fn address<T>(of: *const T) -> u64 {
    of.expose_provenance() as u64
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
    use crate::network::namespace::NetworkNamespace;
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
        arrivals().into_iter().filter(|arrived| *arrived).count()
    }

    /// Which of them do.
    fn arrivals() -> Vec<bool> {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.set_nonblocking(true).unwrap();
        let arrives = |_| {
            sender.send(b"x").unwrap();
            // The loopback device hands over within the call.
            receiver.recv(&mut [0; 8]).is_ok()
        };
        (0..2_000).map(arrives).collect()
    }

    #[test]
    fn a_share_of_packets_is_dropped_until_another_one_is_set() {
        let Some(namespace) = namespace() else { return };
        let counts = namespace.within(|| {
            let mut counts = vec![arrive()];
            let dropper = Dropper::attach("lo")?;
            for share in [0.0, 1.0, 0.0, 0.25] {
                dropper.set(share, None)?;
                counts.push(arrive());
            }
            drop(dropper);
            counts.push(arrive());
            Ok(counts)
        });
        let counts = counts.unwrap();
        let [before, none, all, again, some, after] = counts[..] else {
            panic!("{counts:?}")
        };
        assert_eq!(
            [before, none, all, again, after],
            [2_000, 2_000, 0, 2_000, 2_000]
        );
        // 1,500 are expected; ten standard deviations are 194.
        assert!((1_306..=1_694).contains(&some), "{some}");
    }

    #[test]
    fn dropped_packets_come_in_bursts() {
        let Some(namespace) = namespace() else { return };
        let counts = namespace.within(|| {
            let dropper = Dropper::attach("lo")?;
            dropper.set(0.25, Some(10.0))?;
            let within = arrivals();
            dropper.set(0.0, None)?;
            Ok((within, arrivals()))
        });
        let (within, after) = counts.unwrap();
        assert!(after.iter().all(|arrived| *arrived));
        let lost = within.iter().filter(|arrived| !**arrived).count();
        let bursts = within.chunk_by(|a, b| a == b).filter(|run| !run[0]).count();
        // 500 of 2,000 in 50 bursts are expected. The number of bursts has a standard deviation of at most 7, their length one
        // of 10.
        assert!((20..=80).contains(&bursts), "{bursts}");
        assert!(
            (4.0..=25.0).contains(&(lost as f64 / bursts as f64)),
            "{lost} in {bursts}"
        );
    }

    #[test]
    fn a_device_that_is_not_there_is_refused() {
        let Some(namespace) = namespace() else { return };
        let refused = namespace.within(|| Dropper::attach("none"));
        assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
