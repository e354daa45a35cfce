//! Core cycles and instructions of the calling thread, from the processor's own counters: `perf_event_open`, a mapped
//! page, and `rdpmc`, so that a reading is no system call (perf_event_open(2); struct perf_event_mmap_page in
//! linux/perf_event.h). On other processors than x86-64, and where the page says that user space may not, a reading is
//! a `read`.
//!
//! Virtual machines often have none; then [`refusal`] says so.

use dyno_measure::PerfEvent;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fmt;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

/// Core cycles and instructions of one piece of work, user and kernel together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Core {
    /// Cycles in which the core was not halted.
    pub cycles: f64,
    /// Instructions retired.
    pub instructions: f64,
}

/// A counter of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Unhalted core cycles.
    Cycles,
    /// Retired instructions.
    Instructions,
}

impl Event {
    /// PERF_COUNT_HW_CPU_CYCLES and PERF_COUNT_HW_INSTRUCTIONS.
    const fn config(self) -> u64 {
        match self {
            Event::Cycles => 0,
            Event::Instructions => 1,
        }
    }
}

/// Why a counter cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterRefusal {
    errno: i32,
}

impl fmt::Display for CounterRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = io::Error::from_raw_os_error(self.errno);
        match self.errno {
            libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV => write!(
                f,
                "the processor shows the kernel no cycle counter ({said}), as in most virtual machines; times stand \
                 in nanoseconds and counter ticks alone"
            ),
            libc::EACCES | libc::EPERM => {
                let path = "/proc/sys/kernel/perf_event_paranoid";
                let level = std::fs::read_to_string(path).unwrap_or_default();
                write!(
                    f,
                    "the kernel forbids the cycle counter ({said}; kernel.perf_event_paranoid is {}): \
                     `sysctl kernel.perf_event_paranoid=1` as root allows it",
                    level.trim()
                )
            }
            libc::ENOSYS => write!(f, "this kernel has no perf events ({said})"),
            _ => write!(f, "perf_event_open: {said}"),
        }
    }
}

impl std::error::Error for CounterRefusal {}

/// Why core cycles cannot be read here, as a sentence without a full stop; `None` where they can.
pub fn refusal() -> Option<CounterRefusal> {
    CoreMeter::start().err()
}

/// Counts the calling thread's cycles and instructions from its start on. It allocates nothing, so that a forked child
/// may use it.
pub(crate) struct CoreMeter {
    counters: [Counter; 2],
    began: [u64; 2],
}

impl CoreMeter {
    pub(crate) fn start() -> Result<CoreMeter, CounterRefusal> {
        let counters = [
            Counter::open(Event::Cycles)?,
            Counter::open(Event::Instructions)?,
        ];
        let began = [counters[0].value(), counters[1].value()];
        Ok(CoreMeter { counters, began })
    }

    /// What each of `n` pieces of work since the start took; `None` of none.
    pub(crate) fn per(&self, n: u64) -> Option<Core> {
        let of = |i: usize| {
            let counted: u64 = self.counters[i].value().wrapping_sub(self.began[i]);
            counted as f64 / n as f64
        };
        (n > 0).then(|| Core {
            cycles: of(0),
            instructions: of(1),
        })
    }
}

/// The hypervisor's part is not counted: attribute `exclude_hv`.
const EXCLUDE_HV: u64 = 1 << 6;

/// The head of `struct perf_event_mmap_page`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Page {
    version: u32,
    compat_version: u32,
    lock: u32,
    index: u32,
    offset: i64,
    time_enabled: u64,
    time_running: u64,
    capabilities: u64,
    pmc_width: u16,
    time_shift: u16,
    time_mult: u32,
    time_offset: u64,
    time_zero: u64,
    size: u32,
    reserved: u32,
    time_cycles: u64,
    time_mask: u64,
}

/// `capabilities`: `rdpmc` may be used; the time of this instant can be reckoned; the hardware clock is short.
const CAP_USER_RDPMC: u64 = 1 << 2;
const CAP_USER_TIME: u64 = 1 << 3;
const CAP_USER_TIME_SHORT: u64 = 1 << 5;

impl Page {
    /// The count at this instant, given what `rdpmc` says: the counter holds its lowest `pmc_width` bits, which are
    /// extended with their sign.
    fn count(&self, pmc: u64) -> u64 {
        let unused = 64 - u32::from(self.pmc_width.clamp(1, 64));
        let extended = ((pmc << unused) as i64) >> unused;
        self.offset.wrapping_add(extended) as u64
    }

    /// Nanoseconds since the page was last written, given what the hardware clock says now.
    fn since(&self, cycles: u64) -> u64 {
        self.time_offset.wrapping_add(self.ticks_to_ns(cycles))
    }

    /// Ticks of the hardware clock in nanoseconds, as the kernel's header does it.
    fn ticks_to_ns(&self, cycles: u64) -> u64 {
        let cycles = match self.capabilities & CAP_USER_TIME_SHORT {
            0 => cycles,
            _ => self
                .time_cycles
                .wrapping_add(cycles.wrapping_sub(self.time_cycles) & self.time_mask),
        };
        let mult = u64::from(self.time_mult);
        let quotient = cycles >> self.time_shift;
        let remainder = cycles & ((1u64 << self.time_shift) - 1);
        quotient
            .wrapping_mul(mult)
            .wrapping_add(remainder.wrapping_mul(mult) >> self.time_shift)
    }

    /// What the count would be had the event been counted all the time, where events take turns on a counter:
    /// `count × enabled / running`.
    fn scaled(count: u64, enabled: u64, running: u64) -> u64 {
        match running {
            0 => 0,
            _ => (u128::from(count) * u128::from(enabled) / u128::from(running)) as u64,
        }
    }
}

/// One event of the calling thread.
struct Counter {
    fd: OwnedFd,
    page: NonNull<Page>,
    bytes: usize,
}

/// PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING.
const WITH_TIMES: u64 = 1 | 2;

impl Counter {
    fn open(event: Event) -> Result<Counter, CounterRefusal> {
        let refused = |e: io::Error| CounterRefusal {
            errno: e.raw_os_error().unwrap_or_default(),
        };
        let counted = PerfEvent {
            config: event.config(),
            read_format: WITH_TIMES,
            flags: EXCLUDE_HV,
            ..PerfEvent::default()
        };
        let fd = counted.open().map_err(refused)?;
        let bytes = rustix::param::page_size();
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let mapped = unsafe {
            mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ,
                MapFlags::SHARED,
                &fd,
                0,
            )
        };
        let page = mapped.map_err(|e| refused(e.into()))?;
        match NonNull::new(page.cast()) {
            Some(page) => Ok(Counter { fd, page, bytes }),
            None => Err(CounterRefusal {
                errno: libc::EINVAL,
            }),
        }
    }

    /// The count now.
    fn value(&self) -> u64 {
        self.by_page().unwrap_or_else(|| self.by_read())
    }

    /// Without a system call; `None` where the page does not allow it.
    fn by_page(&self) -> Option<u64> {
        loop {
            // SAFETY: the page is mapped for reading as long as `self` lives; the kernel may write it meanwhile, which
            // a volatile reading and the comparison of `lock` allow for.
            let page = unsafe { self.page.as_ptr().read_volatile() };
            compiler_fence(Ordering::SeqCst);
            if page.capabilities & CAP_USER_RDPMC == 0 || page.index == 0 {
                return None;
            }
            let pmc = read_pmc(page.index - 1)?;
            let (mut enabled, mut running) = (page.time_enabled, page.time_running);
            if enabled != running {
                if page.capabilities & CAP_USER_TIME == 0 {
                    return None;
                }
                let since = page.since(ticks()?);
                enabled = enabled.wrapping_add(since);
                running = running.wrapping_add(since);
            }
            compiler_fence(Ordering::SeqCst);
            // SAFETY: as above; the field lies within the page.
            let lock = unsafe { (&raw const (*self.page.as_ptr()).lock).read_volatile() };
            if lock == page.lock {
                return Some(Page::scaled(
                    page.count(pmc),
                    enabled.max(1),
                    running.max(1),
                ));
            }
        }
    }

    fn by_read(&self) -> u64 {
        let mut told = [0u64; 3];
        // SAFETY: `told` has room for the three numbers that `read_format` asks for.
        let n = unsafe {
            libc::read(
                self.fd.as_fd().as_raw_fd(),
                told.as_mut_ptr().cast(),
                size_of_val(&told),
            )
        };
        match n as usize == size_of_val(&told) {
            true => Page::scaled(told[0], told[1], told[2]),
            false => 0,
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        // SAFETY: `open` mapped it with this length, and `&mut self` shows that nobody reads it.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), self.bytes) };
    }
}

/// What counter `index` holds.
#[cfg(target_arch = "x86_64")]
fn read_pmc(index: u32) -> Option<u64> {
    let (low, high): (u32, u32);
    // SAFETY: the page of the event said just before that this counter may be read from user space; RDPMC touches no
    // memory.
    unsafe {
        core::arch::asm!("rdpmc", in("ecx") index, out("eax") low, out("edx") high, options(nomem, nostack));
    }
    Some(u64::from(high) << 32 | u64::from(low))
}

#[cfg(not(target_arch = "x86_64"))]
fn read_pmc(_index: u32) -> Option<u64> {
    None
}

/// The hardware clock that `time_mult` belongs to.
#[cfg(target_arch = "x86_64")]
fn ticks() -> Option<u64> {
    // SAFETY: RDTSC touches no memory, and Linux leaves it enabled in user mode.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests;
