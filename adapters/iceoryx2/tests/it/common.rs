//! What the tests share: contexts, channels, patterns, and a second process to talk to.

use dyno_adapter::{ChannelSpec, Endpoint, NodeContext, OptionValue, Options, Receiver, Sender};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// One trial's surroundings: a session name of its own and a scratch directory.
pub(crate) struct Trial {
    pub(crate) session: String,
    pub(crate) scratch: PathBuf,
    pub(crate) options: Options,
    _home: Option<tempfile::TempDir>,
}

impl Trial {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let home = tempfile::tempdir().unwrap();
        // Of one width: no session is how another begins, whose files would be taken for its own.
        Trial {
            session: format!("dynotest-{}-{count:03}", std::process::id()),
            scratch: home.path().to_owned(),
            options: Options::new(),
            _home: Some(home),
        }
    }

    pub(crate) fn with(mut self, name: &str, value: OptionValue) -> Self {
        self.options.insert(name.into(), value);
        self
    }

    pub(crate) fn context(&self, participant: u16) -> NodeContext {
        NodeContext {
            session: self.session.clone(),
            scratch: self.scratch.clone(),
            participant,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: self.options.clone(),
        }
    }

    /// Channel `id` from `writer` to `readers`.
    pub(crate) fn channel(
        &self,
        id: u16,
        max_payload: usize,
        writer: u16,
        readers: &[u16],
    ) -> ChannelSpec {
        ChannelSpec {
            id,
            name: format!("{}-c{id}", self.session),
            max_payload,
            writer,
            writer_address: "127.0.0.1".into(),
            readers: readers
                .iter()
                .map(|&participant| Endpoint {
                    participant,
                    address: "127.0.0.1".into(),
                    port: 1024 + participant,
                })
                .collect(),
            carries: Default::default(),
        }
    }

    /// Runs the test `processes::role` of this test binary in a process of its own, in this trial.
    pub(crate) fn process(&self, role: &str) -> Process {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                &format!("processes::{role}"),
                "--nocapture",
                "--test-threads=1",
            ])
            .env("DYNO_TEST_SESSION", &self.session)
            .env("DYNO_TEST_SCRATCH", &self.scratch)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        Process { child }
    }

    /// The trial that started this process, if it was started by [`Trial::process`].
    pub(crate) fn inherited() -> Option<Self> {
        Some(Trial {
            session: std::env::var("DYNO_TEST_SESSION").ok()?,
            scratch: std::env::var("DYNO_TEST_SCRATCH").ok()?.into(),
            options: Options::new(),
            _home: None,
        })
    }

    /// The names in /dev/shm that hold this session's name.
    pub(crate) fn shared_memory(&self) -> Vec<String> {
        names(Path::new("/dev/shm"))
            .into_iter()
            .filter(|name| name.contains(&self.session))
            .collect()
    }
}

/// What a crashed process left behind must not outlive the test.
impl Drop for Trial {
    fn drop(&mut self) {
        if self._home.is_some() {
            for name in self.shared_memory() {
                let _ = std::fs::remove_file(Path::new("/dev/shm").join(name));
            }
        }
    }
}

/// A process that ends with the test.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: sends a signal to our own child, which has not been waited for.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    pub(crate) fn wait(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

/// The bytes of message `number`.
pub(crate) fn pattern(number: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    write(number, &mut bytes);
    bytes
}

pub(crate) fn write(number: u64, bytes: &mut [u8]) {
    for (i, chunk) in bytes.chunks_mut(8).enumerate() {
        let word = (number + i as u64 * 0x9e37_79b9).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// Drives both ends in turn until each sees the other, as the agent does.
pub(crate) fn connect(sender: &mut dyn Sender, receiver: &mut dyn Receiver) {
    while !(receiver.matched().unwrap() & (sender.matched().unwrap() == 1)) {
        std::thread::yield_now();
    }
}

/// Drives a sender until it sees `readers` that others drive.
pub(crate) fn until_matched(sender: &mut dyn Sender, readers: usize) {
    while sender.matched().unwrap() < readers {
        std::thread::yield_now();
    }
}

/// Takes one message, however long it needs.
pub(crate) fn take(receiver: &mut dyn Receiver) -> Vec<u8> {
    let mut message = None;
    while !receiver
        .take(&mut |bytes| message = Some(bytes.to_vec()))
        .unwrap()
    {}
    message.unwrap()
}
