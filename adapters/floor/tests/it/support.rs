//! A trial on the adapter `floor`: nodes of any participant, and what they leave behind.

use dyno_adapter::{
    ChannelSpec, Endpoint, Node, NodeContext, OptionValue, Options, Receiver, Sender,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// One session with a scratch directory of its own.
pub(crate) struct Trial {
    pub(crate) session: String,
    pub(crate) options: Options,
    scratch: tempfile::TempDir,
}

impl Trial {
    pub(crate) fn new() -> Trial {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // Of one width: no session is how another begins, whose files would be taken for its own.
        Trial {
            session: format!("floor-test-{}-{number:03}", std::process::id()),
            options: Options::new(),
            scratch: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn with_depth(depth: i64) -> Trial {
        let mut trial = Trial::new();
        trial
            .options
            .insert("queue_depth".into(), OptionValue::Int(depth));
        trial
    }

    pub(crate) fn context(&self, participant: u16) -> NodeContext {
        NodeContext {
            session: self.session.clone(),
            scratch: self.scratch.path().to_owned(),
            participant,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: self.options.clone(),
        }
    }

    pub(crate) fn node(&self, participant: u16) -> Box<dyn Node> {
        dyno_adapter_floor::adapter()
            .open(&self.context(participant))
            .unwrap()
    }

    /// A channel that is written by `writer` and read by `readers`.
    pub(crate) fn channel(&self, writer: u16, readers: &[u16], max_payload: usize) -> ChannelSpec {
        channel(&self.session, writer, readers, max_payload)
    }

    /// The files of this trial that are in `/dev/shm`.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> = std::fs::read_dir("/dev/shm")
            .unwrap()
            .map(|e| e.unwrap().path())
            .filter(|p| {
                p.file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with(&self.session)
            })
            .collect();
        files.sort();
        files
    }

    /// The lines of the notes about what to remove after a crash.
    pub(crate) fn claims(&self) -> Vec<String> {
        std::fs::read_dir(self.scratch.path().join(dyno_adapter::CLAIMS))
            .unwrap()
            .map(|e| std::fs::read_to_string(e.unwrap().path()).unwrap())
            .collect()
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        for file in self.files() {
            let _ = std::fs::remove_file(file);
        }
    }
}

pub(crate) fn channel(
    session: &str,
    writer: u16,
    readers: &[u16],
    max_payload: usize,
) -> ChannelSpec {
    ChannelSpec {
        id: writer,
        name: format!("{session}.{writer}"),
        max_payload,
        writer,
        writer_address: "127.0.0.1".into(),
        readers: readers
            .iter()
            .map(|r| Endpoint {
                participant: *r,
                address: "127.0.0.1".into(),
                port: 1,
            })
            .collect(),
        carries: Default::default(),
    }
}

/// Waits until the sender sees `receivers` of them.
pub(crate) fn until_matched(sender: &mut dyn Sender, receivers: usize) {
    while sender.matched().unwrap() != receivers {
        std::thread::yield_now();
    }
}

/// Takes one message, waiting for it as long as it takes.
pub(crate) fn take(receiver: &mut dyn Receiver) -> Vec<u8> {
    let mut message = Vec::new();
    while !receiver.take(&mut |m| message = m.to_vec()).unwrap() {
        std::thread::yield_now();
    }
    message
}

/// Fills with a pattern that depends on `seed` and on the place.
pub(crate) fn pattern(seed: u64, bytes: &mut [u8]) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (seed as usize)
            .wrapping_mul(31)
            .wrapping_add(i)
            .wrapping_add(i >> 8) as u8;
    }
}

/// The pattern as a message of `len` bytes.
pub(crate) fn patterned(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    pattern(seed, &mut bytes);
    bytes
}

/// The number of open files of this process.
pub(crate) fn open_files() -> usize {
    std::fs::read_dir(Path::new("/proc/self/fd"))
        .unwrap()
        .count()
}

/// The number of mappings of this process that lie in files of `session`.
pub(crate) fn mappings(session: &str) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|l| l.contains(session)).count()
}
