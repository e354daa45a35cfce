//! What a process or a session keeps outside its memory: claims, files, queues, sockets, threads.

use dyno_adapter::CLAIMS;
use std::collections::BTreeSet;
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Something that other processes can see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Item {
    /// A message queue by name.
    Mqueue(String),
    /// A file, also in `/dev/shm`.
    File(PathBuf),
    /// A socket in the abstract namespace.
    AbstractSocket(String),
}

impl Item {
    fn exists(&self) -> bool {
        match self {
            Item::File(path) => path.symlink_metadata().is_ok(),
            Item::Mqueue(name) => mqueue_exists(name),
            Item::AbstractSocket(name) => {
                unix_sockets().any(|(_, path)| path == format!("@{name}"))
            }
        }
    }

    fn remove(&self) {
        match self {
            // What is already gone needs no removal.
            Item::File(path) => drop(fs::remove_file(path)),
            Item::Mqueue(name) => {
                if let Ok(name) = CString::new(name.as_str()) {
                    // SAFETY: `name` is a string that ends with a zero byte and outlives the call.
                    unsafe { libc::mq_unlink(name.as_ptr()) };
                }
            }
            Item::AbstractSocket(_) => {}
        }
    }
}

fn mqueue_exists(name: &str) -> bool {
    let Ok(name) = CString::new(name) else {
        return false;
    };
    // SAFETY: `name` is a string that ends with a zero byte and outlives the call.
    let queue = unsafe { libc::mq_open(name.as_ptr(), libc::O_RDONLY | libc::O_NONBLOCK) };
    if queue < 0 {
        return std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOENT);
    }
    // SAFETY: `queue` was just opened and is used nowhere else.
    unsafe { libc::mq_close(queue) };
    true
}

/// What was claimed in this scratch directory.
pub(super) fn claimed(scratch: &Path) -> BTreeSet<Item> {
    let notes = fs::read_dir(scratch.join(CLAIMS)).into_iter().flatten();
    notes
        .flatten()
        .filter_map(|note| fs::read_to_string(note.path()).ok())
        .filter_map(|text| {
            let (kind, name) = text.trim_end().split_once(' ')?;
            match kind {
                "mqueue" => Some(Item::Mqueue(name.into())),
                "file" => Some(Item::File(name.into())),
                other => panic!("a claim of unknown kind {other:?}: {text:?}"),
            }
        })
        .collect()
}

/// Removes what was claimed, as the runner does after a crash, but for what is another one's.
pub(super) fn remove_claimed(scratch: &Path, others: &BTreeSet<Item>) {
    claimed(scratch).difference(others).for_each(Item::remove);
}

/// What exists outside the scratch directory: claimed resources, and files in `/dev/shm` and
/// abstract sockets that bear the session's name.
pub(super) fn outside(scratch: &Path, session: &str) -> Vec<Item> {
    // `…-1` must not find `…-12`.
    let ours = |name: &str| {
        name.match_indices(session)
            .any(|(at, found)| !name[at + found.len()..].starts_with(|c: char| c.is_ascii_digit()))
    };
    let shm = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let shm = shm
        .filter(|entry| ours(&entry.file_name().to_string_lossy()))
        .map(|entry| Item::File(entry.path()));
    let sockets = unix_sockets()
        .filter_map(|(_, path)| path.strip_prefix('@').map(str::to_owned))
        .filter(|name| ours(name))
        .map(Item::AbstractSocket);
    let claimed = claimed(scratch).into_iter().filter(Item::exists);
    let all: BTreeSet<Item> = claimed.chain(shm).chain(sockets).collect();
    all.into_iter().collect()
}

/// Files of any kind in the scratch directory, without notes of claims. Empty folders are no file.
pub(super) fn within(scratch: &Path) -> Vec<Item> {
    let mut files = Vec::new();
    let mut folders = vec![scratch.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path == scratch.join(CLAIMS) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                _ => files.push(Item::File(path)),
            }
        }
    }
    files
}

/// What this process holds open or mapped and others can see by name: files open for writing,
/// shared mappings of files, message queues, bound Unix sockets. Without `scratch`, devices, and
/// what has been unlinked.
pub(super) fn held_outside(scratch: &Path) -> BTreeSet<Item> {
    let mut items = BTreeSet::new();
    let mut add_file = |path: &str| {
        let named = path.starts_with('/') && !path.ends_with(" (deleted)");
        let known = [
            "/dev/null",
            "/dev/tty",
            "/dev/pts",
            "/proc/",
            "/sys/",
            "/memfd:",
        ];
        let elsewhere = !Path::new(path).starts_with(scratch);
        if named && elsewhere && !known.iter().any(|k| path.starts_with(k)) {
            items.insert(Item::File(path.into()));
        }
    };
    for line in fs::read_to_string("/proc/self/maps")
        .unwrap_or_default()
        .lines()
    {
        // address perms offset dev inode path
        let mut fields = line.split_ascii_whitespace();
        let shared = fields.nth(1).is_some_and(|perms| perms.ends_with('s'));
        let path = line.find('/').map_or("", |at| &line[at..]);
        if shared {
            add_file(path);
        }
    }
    let mut inodes = Vec::new();
    let mut queues = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
    {
        let Ok(target) = fs::read_link(entry.path()) else {
            continue;
        };
        let target = target.to_string_lossy().into_owned();
        let number = entry.file_name().to_string_lossy().into_owned();
        if let Some(inode) = target.strip_prefix("socket:[") {
            inodes.push(inode.trim_end_matches(']').to_owned());
        } else if is_mqueue(&number) {
            queues.push(Item::Mqueue(target));
        } else if is_writable(&number) && fs::metadata(entry.path()).is_ok_and(|m| m.is_file()) {
            add_file(&target);
        }
    }
    for (_, path) in unix_sockets().filter(|(inode, _)| inodes.contains(inode)) {
        match path.strip_prefix('@') {
            Some(name) => {
                items.insert(Item::AbstractSocket(name.into()));
            }
            None => {
                // A long path may have been bound below a link or a descriptor of this process.
                let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.into());
                let path = PathBuf::from(path);
                if !path.starts_with(scratch) && !real(&path).starts_with(real(scratch)) {
                    items.insert(Item::File(path));
                }
            }
        }
    }
    items.extend(queues);
    items
}

fn is_writable(number: &str) -> bool {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| i32::from_str_radix(text.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn is_mqueue(number: &str) -> bool {
    const MQUEUE_MAGIC: libc::__fsword_t = 0x1980_0202; // MQUEUE_MAGIC in the kernel's ipc/mqueue.c
    let Ok(fd) = number.parse() else {
        return false;
    };
    // SAFETY: an all-zero `statfs` is valid; the kernel checks the descriptor and writes only the
    // structure that we own.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        libc::fstatfs(fd, &mut stat) == 0 && stat.f_type == MQUEUE_MAGIC
    }
}

/// Inode and path of the Unix sockets of this network namespace; abstract names start with `@`.
fn unix_sockets() -> impl Iterator<Item = (String, String)> {
    let table = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    // Num RefCount Protocol Flags Type St Inode Path, see proc_net_unix(5).
    let rows: Vec<(String, String)> = table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(6);
            Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
        })
        .collect();
    rows.into_iter()
}

/// Which of `items` exist.
pub(super) fn existing(items: &BTreeSet<Item>) -> Vec<&Item> {
    items.iter().filter(|item| item.exists()).collect()
}

/// What a process owns and a leak makes grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Belongings {
    pub(super) descriptors: usize,
    pub(super) threads: usize,
    /// Shared mappings.
    pub(super) mappings: usize,
}

impl Belongings {
    pub(super) fn now() -> Self {
        let entries = |path: &str| fs::read_dir(path).into_iter().flatten().count();
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Belongings {
            descriptors: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            mappings: maps
                .lines()
                .filter(|line| {
                    line.split_ascii_whitespace()
                        .nth(1)
                        .is_some_and(|p| p.ends_with('s'))
                })
                .count(),
        }
    }

    /// As [`Belongings::now`], once the count has stopped changing.
    pub(super) fn settled() -> Self {
        let start = Instant::now();
        let mut last = Belongings::now();
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let now = Belongings::now();
            if now == last || start.elapsed() > Duration::from_secs(5) {
                return now;
            }
            last = now;
        }
    }

    pub(super) fn within(&self, bound: &Belongings) -> bool {
        self.descriptors <= bound.descriptors
            && self.threads <= bound.threads
            && self.mappings <= bound.mappings
    }
}
