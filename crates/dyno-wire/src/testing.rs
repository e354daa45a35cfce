//! A rig for the tests of adapters of kernel mechanisms: a scratch directory, channels and nodes.
//!
//! It waits for what must come with a generous deadline and panics when that passes.

use dyno_adapter::{
    Adapter, ChannelSpec, Endpoint, NodeContext, OptionValue, Options, Receiver, Result, Sender,
    Sent, Wait,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Ends waits for what would never come.
const DEADLINE: Duration = Duration::from_secs(60);

/// An adapter with options and a scratch directory of its own.
pub struct Rig {
    adapter: Box<dyn Adapter>,
    options: Options,
    directory: tempfile::TempDir,
    scratch: PathBuf,
    channels: AtomicU16,
}

impl Rig {
    /// A rig for the adapter without options.
    pub fn new(adapter: Box<dyn Adapter>) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let scratch = directory.path().to_owned();
        let (options, channels) = (Options::new(), AtomicU16::new(0));
        Rig {
            adapter,
            options,
            directory,
            scratch,
            channels,
        }
    }

    /// Moves the scratch directory to a place with a path of more than 200 bytes.
    pub fn deep_down(mut self) -> Self {
        self.scratch = self.directory.path().join("deep".repeat(50));
        std::fs::create_dir(&self.scratch).expect("a directory in a temporary one");
        self
    }

    /// Sets an option that is a number.
    pub fn int(mut self, name: &str, value: i64) -> Self {
        self.options.insert(name.into(), OptionValue::Int(value));
        self
    }

    /// Sets an option that is yes or no.
    pub fn bool(mut self, name: &str, value: bool) -> Self {
        self.options.insert(name.into(), OptionValue::Bool(value));
        self
    }

    /// Sets an option that is text.
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.options
            .insert(name.into(), OptionValue::Text(value.into()));
        self
    }

    /// Where the adapter keeps its files.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// A new channel from participant 0 to participants 1 to `readers`.
    pub fn channel(&self, max_payload: usize, readers: u16) -> ChannelSpec {
        let id = self.channels.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let endpoint = |participant| Endpoint {
            participant,
            address: "127.0.0.1".into(),
            port: free_port(),
        };
        ChannelSpec {
            id,
            name: format!(
                "dyno-test-{process}-{:x}-{id}",
                std::ptr::from_ref(self).addr()
            ),
            max_payload,
            writer: 0,
            writer_address: "127.0.0.1".into(),
            readers: (1..=readers).map(endpoint).collect(),
            carries: Default::default(),
        }
    }

    /// What a participant's node is opened with.
    pub fn context(&self, participant: u16) -> NodeContext {
        NodeContext {
            session: format!("dyno-test-{}", std::process::id()),
            scratch: self.scratch.clone(),
            participant,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: self.options.clone(),
        }
    }

    /// The sender of a channel.
    pub fn sender(&self, channel: &ChannelSpec) -> Result<Box<dyn Sender>> {
        self.adapter
            .open(&self.context(channel.writer))?
            .sender(channel)
    }

    /// The receiver of a channel's reader.
    pub fn receiver(
        &self,
        channel: &ChannelSpec,
        participant: u16,
        wait: Wait,
    ) -> Result<Box<dyn Receiver>> {
        self.adapter
            .open(&self.context(participant))?
            .receiver(channel, wait)
    }

    /// The ends of a new channel with one reader, matched.
    pub fn pair(&self, max_payload: usize, wait: Wait) -> (Box<dyn Sender>, Box<dyn Receiver>) {
        let (sender, mut receivers) = self.fan(max_payload, 1, wait);
        (sender, receivers.remove(0))
    }

    /// The ends of a new channel with several readers, matched.
    pub fn fan(
        &self,
        max_payload: usize,
        readers: u16,
        wait: Wait,
    ) -> (Box<dyn Sender>, Vec<Box<dyn Receiver>>) {
        let channel = self.channel(max_payload, readers);
        let mut sender = self.sender(&channel).expect("a sender");
        assert_eq!(
            sender.matched().expect("the sender's peers"),
            0,
            "nobody is there yet"
        );
        let receiver = |p| self.receiver(&channel, p, wait).expect("a receiver");
        let mut receivers: Vec<_> = (1..=readers).map(receiver).collect();
        until(|| sender.matched().expect("the sender's peers") == usize::from(readers));
        for receiver in &mut receivers {
            until(|| receiver.matched().expect("the receiver's peer"));
        }
        (sender, receivers)
    }
}

/// A port that no other rig of this machine has, below those that the kernel gives out itself.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 10_000
            + (std::process::id() as u16)
                .wrapping_mul(97)
                .wrapping_add(offset)
                % 20_000;
        let address = ("127.0.0.1", port);
        let is_free = std::net::TcpListener::bind(address).is_ok()
            && std::net::UdpSocket::bind(address).is_ok();
        if is_free {
            return port;
        }
    }
}

/// Repeats `step` until it says that it is done.
pub fn until(mut step: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !step() {
        assert!(
            begun.elapsed() < DEADLINE,
            "what was waited for did not come in {DEADLINE:?}"
        );
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// The bytes of test message `number` with `len` bytes; all differ.
pub fn message(number: usize, len: usize) -> Vec<u8> {
    let seed = number.wrapping_mul(0x9E37_79B9) ^ len;
    (0..len)
        .map(|i| (seed.wrapping_add(i.wrapping_mul(31)) >> (i % 3)) as u8)
        .collect()
}

/// Sends a message.
pub fn send(sender: &mut dyn Sender, bytes: &[u8]) -> Result<Sent> {
    sender.send(bytes.len(), &mut |b| b.copy_from_slice(bytes))
}

/// Takes until a message comes, and returns it.
pub fn take(receiver: &mut dyn Receiver) -> Result<Vec<u8>> {
    let begun = Instant::now();
    loop {
        let mut taken = None;
        if receiver.take(&mut |b| taken = Some(b.to_vec()))? {
            return Ok(taken.expect("take tells of a message after showing it"));
        }
        assert!(
            begun.elapsed() < DEADLINE,
            "no message came in {DEADLINE:?}"
        );
    }
}

/// Sends each message of the given sizes and takes it in another thread before the next one; one
/// that is lost, which `may_lose` permits, is sent again.
pub fn exchange(rig: &Rig, max_payload: usize, sizes: &[usize], wait: Wait, may_lose: bool) {
    let (mut sender, mut receiver) = rig.pair(max_payload, wait);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in sizes {
                let got = take(receiver.as_mut()).expect("a message");
                tell.send(got).expect("the other thread waits");
            }
        });
        for (i, size) in sizes.iter().enumerate() {
            let sent = message(i, *size);
            // One that is only late must not come twice.
            let patience = if may_lose {
                Duration::from_secs(5)
            } else {
                DEADLINE
            };
            let got = (0..200)
                .find_map(|_| {
                    assert_ne!(send(sender.as_mut(), &sent).expect("sent"), Sent::Refused);
                    told.recv_timeout(patience).ok()
                })
                .expect("the message arrives at last");
            assert!(
                got == sent,
                "message {i} of {size} bytes arrived as {} others",
                got.len()
            );
        }
    });
}
