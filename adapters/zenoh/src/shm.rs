//! zenoh's shared memory: the sender's pool, and what of it outlives a crash.
//!
//! # What exists where
//!
//! zenoh names its shared memory `/dev/shm/NUMBER.zenoh`, the number random. A pool goes with its
//! sender. Beside it the library keeps pieces for the rest of the process's life, and of these some
//! are still there when the process has exited in order: an exit handler of ours removes those that
//! no other process uses. Those of a process that was killed are recognised by their missing lock
//! and removed by any process that uses zenoh's shared memory, when it starts and when it exits; the
//! first node of a process asks for that when it opens its session. So that a crash is also cleared up
//! without another such process, what is mapped is claimed as soon as it exists. Once no session of
//! the process uses shared memory any more, the claims of what stays until the process exits are
//! taken back.

use dyno_adapter::{CLAIMS, Error, NodeContext, Resource, Result};
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use zenoh::Wait;
use zenoh::shm::{
    GarbageCollect, PosixShmProviderBackend, ShmClientStorage, ShmProvider, ShmProviderBuilder,
    ZShmMut, cleanup_orphaned_shm_segments,
};

/// Messages that a pool holds, within the bounds below.
const MESSAGES: usize = 16;
/// Bytes of the smallest pool.
const SMALLEST: usize = 1 << 20;
/// Bytes of the largest pool, unless two messages need more.
const LARGEST: usize = 64 << 20;
/// Room for the allocator's own notes, per message.
const NOTES: usize = 4096;
/// How long a sender pauses before it tries again, in nanoseconds.
const PAUSE_NS: i64 = 100_000;

/// The memory that a sender writes its messages into.
pub(crate) struct Pool {
    provider: ShmProvider<PosixShmProviderBackend>,
}

impl Pool {
    /// A pool for messages of up to `max_payload` bytes.
    pub(crate) fn new(max_payload: usize) -> Result<Self> {
        let message = max_payload + NOTES;
        let size = (MESSAGES * message).clamp(SMALLEST, LARGEST.max(2 * message));
        let provider = ShmProviderBuilder::default_backend(size).wait();
        let provider = provider.map_err(|e| {
            Error::library(
                format!("ShmProviderBuilder::default_backend({size})"),
                format!(
                    "{e}; is there room in /dev/shm? zenoh also locks it in memory: `ulimit -l` \
                     must allow for {} KiB",
                    size / 1024
                ),
            )
        })?;
        Ok(Pool { provider })
    }

    /// Lends `len` bytes, after waiting for readers to give some back where it has to. `None`: a
    /// signal ended the wait. `go_on` is asked while waiting.
    pub(crate) fn lend(
        &self,
        len: usize,
        go_on: &dyn Fn() -> Result<()>,
    ) -> Result<Option<ZShmMut>> {
        loop {
            let attempt = self.provider.alloc(len).with_policy::<GarbageCollect>();
            match attempt.wait() {
                Ok(memory) => return Ok(Some(memory)),
                Err(zenoh::shm::ZLayoutAllocError::Alloc(_)) => {}
                Err(e) => return Err(Error::library(format!("ShmProvider::alloc({len})"), e)),
            }
            go_on()?;
            let pause = Timespec {
                tv_sec: 0,
                tv_nsec: PAUSE_NS,
            };
            if !matches!(nanosleep(&pause), NanosleepRelativeResult::Ok) {
                return Ok(None);
            }
        }
    }
}

/// What a session reads shared memory with. Its own, because what the process's common one has
/// once mapped it keeps until the process ends.
pub(crate) fn clients() -> Arc<ShmClientStorage> {
    let builder = ShmClientStorage::builder().with_default_client_set();
    Arc::new(builder.build())
}

/// What this process uses of zenoh's shared memory.
struct Registry {
    sessions: usize,
    /// By now claimed by this process.
    claimed: BTreeSet<PathBuf>,
    /// Everything that this process ever mapped, for its end.
    mapped: BTreeSet<PathBuf>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    sessions: 0,
    claimed: BTreeSet::new(),
    mapped: BTreeSet::new(),
});

fn registry() -> MutexGuard<'static, Registry> {
    // Counting and inserting do not panic half-way.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" {
    /// at_quick_exit(3) of the C library (C11, 7.22.4.3).
    fn at_quick_exit(handler: extern "C" fn()) -> libc::c_int;
}

/// One session that uses shared memory.
pub(crate) struct Lease {
    claims: PathBuf,
}

impl Lease {
    /// The first one also removes what killed processes have left.
    pub(crate) fn new(context: &NodeContext) -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the handler is a function without captures that does not unwind. If there
            // is no room for it, what it would remove is removed by the next user.
            unsafe {
                libc::atexit(remove_own_segments);
                // So an agent ends whose trial has failed.
                at_quick_exit(remove_own_segments);
            }
            // Once, since a piece that another process has just created and not locked yet looks like
            // one that was left: its messages would reach nobody.
            cleanup_orphaned_shm_segments();
        });
        registry().sessions += 1;
        Lease {
            claims: context.scratch.join(CLAIMS),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut registry = registry();
        registry.sessions -= 1;
        if registry.sessions > 0 {
            return;
        }
        let claimed = std::mem::take(&mut registry.claimed);
        let notes = std::fs::read_dir(&self.claims).into_iter().flatten();
        for note in notes.flatten().map(|note| note.path()) {
            let text = std::fs::read_to_string(&note).unwrap_or_default();
            let path = text.trim_end().strip_prefix("file ").map(Path::new);
            if path.is_some_and(|path| claimed.contains(path)) {
                // A note too many only has something removed that is not there.
                let _ = std::fs::remove_file(note);
            }
        }
    }
}

/// Claims the pieces of zenoh's shared memory that this process has mapped since the last call.
pub(crate) fn claim_segments(context: &NodeContext) -> Result<()> {
    let maps = std::fs::read_to_string("/proc/self/maps")
        .map_err(|e| Error::system("read /proc/self/maps", e))?;
    let mut registry = registry();
    for path in segments(&maps) {
        if !registry.claimed.contains(path) {
            context.claim(&Resource::File(path.to_owned()))?;
            registry.claimed.insert(path.to_owned());
            registry.mapped.insert(path.to_owned());
        }
    }
    Ok(())
}

/// Removes what this process has mapped and no other process uses. Runs when the process exits.
extern "C" fn remove_own_segments() {
    let mut mapped = std::mem::take(&mut registry().mapped);
    // What peers lent with their messages was mapped after the last claim.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    mapped.extend(segments(&maps).map(Path::to_owned));
    // zenoh locks each piece as long as it is open (flock(2)); the end of the process would
    // release our locks anyway, and what somebody else has locked stays.
    for entry in std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
    {
        let target = std::fs::read_link(entry.path()).unwrap_or_default();
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let (true, Some(number)) = (mapped.contains(&target), number) {
            // SAFETY: the descriptor was just listed as open; if it has been closed since, the
            // call fails or releases a lock of a process that ends. Nothing is closed here.
            unsafe { libc::flock(number, libc::LOCK_UN) };
        }
    }
    for path in mapped {
        let unused = File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        if unused {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The files of zenoh's shared memory in the text of a `maps` file (proc_pid_maps(5)).
fn segments(maps: &str) -> impl Iterator<Item = &Path> {
    maps.lines()
        .filter_map(|line| line.find("/dev/shm/").map(|at| Path::new(&line[at..])))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "zenoh")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_told_from_other_mappings() {
        let maps = "7f00-7f01 rw-s 00000000 00:19 12  /dev/shm/815.zenoh\n\
                    7f01-7f02 rw-s 00000000 00:19 13  /dev/shm/other\n\
                    7f02-7f03 rw-s 00000000 00:19 14  /dev/shm/9.zenoh (deleted)\n\
                    7f03-7f04 r-xp 00000000 08:01 15  /usr/lib/lib.zenoh\n";
        let found: Vec<_> = segments(maps).collect();
        assert_eq!(found, [Path::new("/dev/shm/815.zenoh")]);
    }
}
