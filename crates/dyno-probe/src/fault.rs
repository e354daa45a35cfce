//! What the first touch of a page costs: what a stack pays whose memory is not there before the first message.

use crate::ground::{Window, own_cost, per_piece, timed};
use crate::{Ground, Outcome, ProbeError, Reading};
use dyno_model::cause::Warning;
use dyno_model::probe::Memory;
use dyno_model::unit::Nanos;
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};
use std::ptr::NonNull;

/// Bytes of a huge page where nothing says otherwise: those of x86-64 and of Arm with 4 KiB pages.
const HUGE: usize = 2 << 20;
/// Pages that are mapped, touched and given back at once.
const PAGES: usize = 256;
/// The same of huge ones.
const HUGE_PAGES: usize = 8;

/// Touches pages of fresh memory, one after the other, on each of the places' CPUs.
///
/// # Errors
///
/// [`ProbeError::NoHugePages`] where the kernel gives none; where memory cannot be mapped or threads not be placed.
pub fn fault(ground: &Ground, by: Memory) -> Result<Outcome, ProbeError> {
    ground.not_deadline()?;
    if by == Memory::Huge {
        transparent(&std::fs::read_to_string(TRANSPARENT).unwrap_or_default())?;
    }
    let readings = ground.together(
        |_| Region::map(by).map(drop),
        |(), place| {
            let clock = ground.clock;
            let mut byte = 0u8;
            // The same touch of a page that is there.
            let own_ns = own_cost(clock, || touch(&raw mut byte));
            let mut recorder = ground.recorder();
            let (mut missed, mut bytes) = (0, 0);
            let mut warmup = Window::warmup(clock.now(), ground.warmup);
            while warmup.goes_on(clock.now()) {
                Region::map(by)?.each(|page| {
                    touch(page);
                    true
                });
            }
            let began = clock.now();
            recorder.begin(began);
            let mut window = ground.window(began);
            let mut now = began;
            let mut more = window.goes_on(now);
            while more {
                let region = Region::map(by)?;
                let mut touched = 0;
                region.each(|page| {
                    let (ended, took) = timed(clock, || touch(page));
                    recorder.record(ended, per_piece(took, own_ns, 1));
                    touched += 1;
                    now = ended;
                    more = window.goes_on(now);
                    more
                });
                bytes += (touched * region.page) as u64;
                if by == Memory::Huge {
                    missed += region.not_huge(touched);
                }
            }
            Ok(Reading {
                cpus: vec![place.cpu],
                done: recorder.len(),
                time: recorder.finish(0)?,
                own_ns,
                missed,
                bytes,
                wall: now.saturating_sub(began),
                busy: Nanos::ZERO,
                ..Reading::default()
            })
        },
    )?;
    let missed: u64 = readings.iter().map(|r| r.missed).sum();
    let done: u64 = readings.iter().map(|r| r.done).sum();
    let warnings = match missed {
        0 => Vec::new(),
        _ => vec![Warning::PagesNotHuge { missed, done }],
    };
    Ok(Outcome::new(readings, warnings))
}

/// What says whether the kernel makes transparent huge pages.
const TRANSPARENT: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

fn transparent(enabled: &str) -> Result<(), ProbeError> {
    let reason = match enabled.trim() {
        "" => format!("this kernel has none ({TRANSPARENT} is not there)"),
        text if text.contains("[never]") => {
            format!(
                "{TRANSPARENT} says `never`; `echo madvise > {TRANSPARENT}` as root grants them"
            )
        }
        _ => return Ok(()),
    };
    Err(ProbeError::NoHugePages { reason })
}

/// Page faults without I/O of the calling thread so far.
fn faults() -> u64 {
    // SAFETY: zeros are valid for a plain C struct, and the call writes to it alone.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
        usage.ru_minflt as u64
    }
}

/// Writes one byte of a page.
#[inline(always)]
fn touch(page: *mut u8) {
    // SAFETY: callers pass the address of a byte that is mapped or owned for writing, and nobody else uses it; it is
    // volatile, so that the compiler keeps the write.
    unsafe { page.write_volatile(1) };
}

/// Fresh memory that nobody has touched, given back when dropped.
struct Region {
    mapped: NonNull<u8>,
    length: usize,
    /// The first byte that is touched; aligned to `page`.
    first: *mut u8,
    page: usize,
    pages: usize,
    /// Keeps shared memory.
    _file: Option<OwnedFd>,
}

impl Region {
    fn map(by: Memory) -> Result<Region, ProbeError> {
        let system = rustix::param::page_size();
        let (page, pages) = match by {
            Memory::Private | Memory::Shared => (system, PAGES),
            Memory::Huge | Memory::Reserved => (HUGE, HUGE_PAGES),
        };
        // One page more, where they must be aligned to more than the kernel aligns.
        let length = page * (pages + usize::from(by == Memory::Huge));
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let nowhere = std::ptr::null_mut();
        let private = MapFlags::PRIVATE;
        let file = match by {
            Memory::Shared => {
                let file = memfd_create("dyno-probe", MemfdFlags::CLOEXEC)
                    .map_err(ProbeError::system("memfd_create"))?;
                ftruncate(&file, length as u64).map_err(ProbeError::system("ftruncate"))?;
                Some(file)
            }
            _ => None,
        };
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let mapped = unsafe {
            match (&file, by) {
                (Some(file), _) => mmap(nowhere, length, access, MapFlags::SHARED, file, 0),
                (None, Memory::Reserved) => {
                    mmap_anonymous(nowhere, length, access, private | MapFlags::HUGETLB)
                }
                (None, _) => mmap_anonymous(nowhere, length, access, private),
            }
        };
        let mapped = mapped.map_err(|e| match by {
            Memory::Reserved => ProbeError::NoHugePages {
                reason: format!(
                    "{HUGE_PAGES} of 2 MiB could not be had ({e}); `sysctl vm.nr_hugepages={HUGE_PAGES}` as root \
                     reserves them for one cpu"
                ),
            },
            _ => ProbeError::system("mmap")(e),
        })?;
        let first = match by {
            Memory::Huge => mapped
                .cast::<u8>()
                .wrapping_add(mapped.cast::<u8>().align_offset(HUGE)),
            _ => mapped.cast(),
        };
        let region = Region {
            mapped: NonNull::new(mapped.cast()).ok_or(ProbeError::system("mmap")(
                std::io::Error::other("mapped at address zero"),
            ))?,
            length,
            first,
            page,
            pages,
            _file: file,
        };
        let advice = match by {
            Memory::Huge => Some(Advice::LinuxHugepage),
            Memory::Private => Some(Advice::LinuxNoHugepage),
            Memory::Shared | Memory::Reserved => None,
        };
        if let Some(advice) = advice {
            // SAFETY: the mapping is ours and as long as said; the advice changes how its pages are made, not what
            // is in them. A kernel without huge pages refuses advice against them, which it does not need.
            let advised = unsafe { madvise(mapped, length, advice) };
            if by == Memory::Huge {
                advised.map_err(ProbeError::system("madvise(MADV_HUGEPAGE)"))?;
            }
        }
        Ok(region)
    }

    /// Calls `visit` with the address of each page in turn, until it returns `false`.
    fn each(&self, mut visit: impl FnMut(*mut u8) -> bool) {
        for i in 0..self.pages {
            if !visit(self.first.wrapping_add(i * self.page)) {
                break;
            }
        }
    }

    /// How many of the first `touched` pages were not huge: those that fault again at their second small page.
    fn not_huge(&self, touched: usize) -> u64 {
        let small = rustix::param::page_size();
        (0..touched)
            .filter(|i| {
                let before = faults();
                touch(self.first.wrapping_add(i * self.page + small));
                faults() > before
            })
            .count() as u64
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and its addresses are not used after this.
        let _ = unsafe { munmap(self.mapped.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_huge_pages_is_refused_with_the_command_that_grants_them() {
        assert!(transparent("always [madvise] never\n").is_ok());
        let e = transparent("always madvise [never]\n")
            .unwrap_err()
            .to_string();
        assert!(e.contains("echo madvise"), "{e}");
        let e = transparent("").unwrap_err().to_string();
        assert!(e.contains("has none"), "{e}");
    }
}
