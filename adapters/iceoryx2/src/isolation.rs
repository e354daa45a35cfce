//! A configuration of iceoryx2 per trial, so that nothing of it is visible outside the trial.
//!
//! # What exists where
//!
//! | what | path |
//! |---|---|
//! | payload, connections, dynamic configuration, event state | `/dev/shm/SESSION_HASH_NUMBER.SUFFIX` |
//! | a counter that the library never removes | `/dev/shm/SESSION_HASH_node.VERSION.global_mgmt` |
//! | node and service files | `SCRATCH/iox2/nodes`, `SCRATCH/iox2/services` |
//! | event sockets | `SCRATCH/iox2/SESSION_NUMBER.event` |
//! | a link to `SCRATCH/iox2`, only where the path of a socket would be too long | `TMP/iox2-HASH` |
//!
//! The library chooses the numbers while it creates shared memory, so that is claimed right after
//! it was created and not before; all of it starts with the session, which is how the rest is found
//! after a crash in between. Participants that end in order remove their own files, and the last
//! one also the counter, the link, and what participants that were killed have left.

use dyno_adapter::{Error, NodeContext, Resource, Result};
use iceoryx2::prelude::{Config, FileName, Path as IoxPath, SemanticString};
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// `sun_path` holds 108 bytes with the final zero (unix(7)).
const SOCKET_PATH: usize = 107;
/// Slash, at most 39 digits of a 128-bit number, and `.event`.
const SOCKET_NAME: usize = 1 + 39 + ".event".len();
/// Where the kernel keeps POSIX shared memory (shm_overview(7)).
const SHARED_MEMORY: &str = "/dev/shm";

/// The trial's own configuration, and the count of those who use it.
pub(crate) struct Isolation {
    context: NodeContext,
    config: Config,
    prefix: String,
    root: PathBuf,
    link: Option<PathBuf>,
    claimed: Mutex<BTreeSet<PathBuf>>,
    users: Users,
}

impl Isolation {
    /// Makes the root directory and the configuration that points to it.
    pub(crate) fn new(context: &NodeContext) -> Result<Self> {
        let home = context.scratch.join("iox2");
        std::fs::create_dir_all(&home)
            .map_err(|e| Error::system(format!("create {}", home.display()), e))?;
        let users = Users::join(home.join("users"))?;

        let prefix = format!("{}_", context.session);
        let room = SOCKET_PATH.saturating_sub(SOCKET_NAME + prefix.len());
        let (root, link) = if home.as_os_str().len() <= room {
            (home, None)
        } else {
            let link = short_link(context, &home, room)?;
            (link.clone(), Some(link))
        };

        let mut config = Config::default();
        config.global.prefix = FileName::new(prefix.as_bytes())
            .map_err(|e| Error::library(format!("FileName::new({prefix})"), e))?;
        // A process that makes a service may be held up; its peers then take it for dead.
        config.global.creation_timeout = Duration::from_secs(10);
        let text = root.to_string_lossy();
        let path = IoxPath::new(text.as_bytes())
            .map_err(|e| Error::library(format!("Path::new({text})"), e))?;
        config.global.set_root_path(&path);
        Ok(Isolation {
            context: context.clone(),
            config,
            prefix,
            root,
            link,
            claimed: Mutex::default(),
            users,
        })
    }

    /// What nodes are to be created with.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Where the library's files lie.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Claims the session's shared memory that has come into being since the last call. Costs a
    /// listing of `/dev/shm`, and a file for each new piece.
    pub(crate) fn claim(&self) -> Result<()> {
        // A panic elsewhere leaves the set as it is, which at worst claims something twice.
        let mut claimed = self.claimed.lock().unwrap_or_else(PoisonError::into_inner);
        for path in self.shared_memory() {
            if !claimed.contains(&path) {
                self.context.claim(&Resource::File(path.clone()))?;
                claimed.insert(path);
            }
        }
        Ok(())
    }

    fn shared_memory(&self) -> impl Iterator<Item = PathBuf> {
        let entries = std::fs::read_dir(SHARED_MEMORY).into_iter().flatten();
        entries.flatten().filter_map(|entry| {
            let name = entry.file_name();
            let ours = name.as_encoded_bytes().starts_with(self.prefix.as_bytes());
            ours.then(|| entry.path())
        })
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        if !self.users.is_last() {
            return;
        }
        // What fails here is found by its name after the trial.
        for path in self.shared_memory().chain(self.link.clone()) {
            let _ = std::fs::remove_file(path);
        }
        self.users.remove();
    }
}

/// Counts the participants that use one place, across processes and crashes: each holds a shared
/// lock on one file from before its node exists until after it is gone.
struct Users {
    file: File,
    path: PathBuf,
}

impl Users {
    fn join(path: PathBuf) -> Result<Self> {
        let attempt = || -> std::io::Result<Option<File>> {
            let file = File::create(&path)?;
            // Waits while the last participant of before clears up.
            file.lock_shared()?;
            // It removes the file then, and a lock on a removed file is worth nothing.
            let current = std::fs::metadata(&path).is_ok_and(|now| {
                file.metadata()
                    .is_ok_and(|held| (held.dev(), held.ino()) == (now.dev(), now.ino()))
            });
            Ok(current.then_some(file))
        };
        loop {
            match attempt() {
                Ok(Some(file)) => return Ok(Users { file, path }),
                Ok(None) => {}
                Err(e) => {
                    let call = format!("create and lock {}", path.display());
                    return Err(Error::system(call, e));
                }
            }
        }
    }

    /// Whether nobody else holds a lock. If so, nobody gets one until `self` is dropped.
    fn is_last(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A link to `home` with a path of at most `room` bytes, the same for all participants: the
/// library names shared memory after a hash of its root's path.
fn short_link(context: &NodeContext, home: &Path, room: usize) -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    home.hash(&mut hash);
    let link = std::env::temp_dir().join(format!("iox2-{:012x}", hash.finish() >> 16));
    if link.as_os_str().len() > room {
        return Err(Error::Unsupported(format!(
            "a directory for temporary files as deep as {}, since a socket's path has at most \
             {SOCKET_PATH} bytes; set TMPDIR to /tmp",
            std::env::temp_dir().display()
        )));
    }
    context.claim(&Resource::File(link.clone()))?;
    match std::os::unix::fs::symlink(home, &link) {
        Ok(()) => Ok(link),
        // A stranger could turn a link of his own elsewhere later.
        Err(_) if is_own_link(&link, home) => Ok(link),
        Err(e) => Err(Error::system_hint(
            format!("symlink {}", link.display()),
            e,
            "remove the file of that name",
        )),
    }
}

/// Whether the link leads to `home` and belongs to whoever `home` belongs to.
fn is_own_link(link: &Path, home: &Path) -> bool {
    let owner = |path| {
        std::fs::symlink_metadata(path)
            .map(|found| found.uid())
            .ok()
    };
    std::fs::read_link(link).is_ok_and(|target| target == home) && owner(link) == owner(home)
}
