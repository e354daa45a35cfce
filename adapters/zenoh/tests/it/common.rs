//! What the tests share: contexts, channels, patterns, and a second process to talk to.

use dyno_adapter::{
    CLAIMS, ChannelSpec, Endpoint, NodeContext, OptionValue, Options, Receiver, Sender,
};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

/// One trial's surroundings: a session name of its own and a scratch directory.
pub(crate) struct Trial {
    pub(crate) session: String,
    pub(crate) scratch: PathBuf,
    pub(crate) options: Options,
    ports: Vec<u16>,
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
            ports: (0..4).map(|_| free_port()).collect(),
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

    /// Channel `id`, at most 3, from `writer` to a single reader.
    pub(crate) fn channel(
        &self,
        id: u16,
        max_payload: usize,
        writer: u16,
        reader: u16,
    ) -> ChannelSpec {
        ChannelSpec {
            id,
            name: format!("{}-c{id}", self.session),
            max_payload,
            writer,
            writer_address: "127.0.0.1".into(),
            readers: vec![Endpoint {
                participant: reader,
                address: "127.0.0.1".into(),
                port: self.port(id),
            }],
            carries: Default::default(),
        }
    }

    pub(crate) fn port(&self, channel: u16) -> u16 {
        self.ports[usize::from(channel)]
    }

    /// Runs the test `processes::role` of this test binary in a process of its own, in this trial.
    pub(crate) fn process(&self, role: &str) -> Process {
        let ports: Vec<String> = self.ports.iter().map(u16::to_string).collect();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                &format!("processes::{role}"),
                "--nocapture",
                "--test-threads=1",
            ])
            .env("DYNO_TEST_SESSION", &self.session)
            .env("DYNO_TEST_SCRATCH", &self.scratch)
            .env("DYNO_TEST_PORTS", ports.join(" "))
            .stdout(std::process::Stdio::null());
        if self.options.contains_key("shm") {
            command.env("DYNO_TEST_SHM", "1");
        }
        Process {
            child: command.spawn().unwrap(),
        }
    }

    /// The trial that started this process, if it was started by [`Trial::process`].
    pub(crate) fn inherited() -> Option<Self> {
        Some(Trial {
            session: std::env::var("DYNO_TEST_SESSION").ok()?,
            scratch: std::env::var("DYNO_TEST_SCRATCH").ok()?.into(),
            options: match std::env::var_os("DYNO_TEST_SHM") {
                Some(_) => [("shm".to_owned(), OptionValue::Bool(true))].into(),
                None => Options::new(),
            },
            ports: std::env::var("DYNO_TEST_PORTS")
                .ok()?
                .split(' ')
                .map(|port| port.parse().unwrap())
                .collect(),
            _home: None,
        })
    }

    /// The files that were claimed in this trial.
    pub(crate) fn claimed(&self) -> Vec<PathBuf> {
        let notes = std::fs::read_dir(self.scratch.join(CLAIMS))
            .into_iter()
            .flatten();
        notes
            .flatten()
            // One may be half-written still, or removed meanwhile.
            .filter_map(|note| std::fs::read_to_string(note.path()).ok())
            .filter_map(|text| Some(text.strip_suffix('\n')?.strip_prefix("file ")?.into()))
            .collect()
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
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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

/// A port below the kernel's ephemeral range at which nothing listens, handed out once.
fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000 + (std::process::id() * 37 + step) % 5_000;
        if TcpListener::bind(("127.0.0.1", port as u16)).is_ok() {
            return port as u16;
        }
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
