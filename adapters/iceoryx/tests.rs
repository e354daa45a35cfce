//! The adapter for iceoryx keeps the contract of adapters, with a RouDi for each test.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

#[path = "../../crates/dyno-abi/tests/common/mod.rs"]
mod common;

use dyno_adapter::{
    Adapter, AdapterDescription, ChannelSpec, Node, NodeContext, OnMessage, Receiver, Sender,
    Subscription, Wait,
};
use dyno_conformance::conformance_tests;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The largest messages of the suite, a few of each size at once.
const CONFIGURATION: &str = "
[general]
version = 1
[[segment]]
[[segment.mempool]]
size = 128
count = 4096
[[segment.mempool]]
size = 1024
count = 2048
[[segment.mempool]]
size = 16384
count = 2048
[[segment.mempool]]
size = 131072
count = 512
[[segment.mempool]]
size = 1048576
count = 64
[[segment.mempool]]
size = 4194304
count = 64
";

/// Where RouDi listens.
const SOCKET: &str = "/tmp/roudi";

/// What RouDi leaves when it is killed, beside the segment of its chunks.
const LEAVES: [&str; 4] = [
    SOCKET,
    "/tmp/roudi.lock",
    "/tmp/iox-unique-roudi.lock",
    "/dev/shm/iceoryx_mgmt",
];

/// How long RouDi may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// A long wait for a thing that must happen; never a bound on speed.
const LONG: Duration = Duration::from_secs(60);

fn adapter() -> Box<dyn Adapter> {
    let adapter = common::foreign("iceoryx");
    // A child of this program finds the RouDi of its parent.
    if std::env::var_os("DYNO_CONFORMANCE_CHILD").is_some() {
        keep_memory();
        return adapter;
    }
    // The harness names the test's thread after the test.
    let kills = std::thread::current()
        .name()
        .is_some_and(|test| test.contains("killed"));
    Box::new(WithRoudi {
        adapter,
        roudi: Arc::new(Mutex::new(Roudi::start())),
        kills,
    })
}

/// Opens RouDi's memory for the rest of the process: what is open before an adapter is used is not
/// taken for the adapter's.
fn keep_memory() {
    static KEPT: OnceLock<[File; 2]> = OnceLock::new();
    KEPT.get_or_init(|| {
        ["iceoryx_mgmt", &group()].map(|name| {
            let path = format!("/dev/shm/{name}");
            let file = File::options().append(true).open(&path);
            file.unwrap_or_else(|e| panic!("RouDi has no {path}: {e}"))
        })
    });
}

/// The segment of RouDi's chunks is named after the group that it runs as.
fn group() -> String {
    let output = Command::new("id").arg("-gn").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The adapter, and a RouDi as long as it is used.
///
/// A process that is killed within a publish holds a lock of the shared memory for good, for which
/// RouDi then waits as well (iceoryx 2.0). So no two tests share a RouDi, and where a test kills
/// processes, RouDi is started anew after each of them.
struct WithRoudi {
    adapter: Box<dyn Adapter>,
    roudi: Arc<Mutex<Roudi>>,
    kills: bool,
}

impl Adapter for WithRoudi {
    fn describe(&self) -> AdapterDescription {
        self.adapter.describe()
    }
    fn open(&self, context: &NodeContext) -> dyno_adapter::Result<Box<dyn Node>> {
        let node = self.adapter.open(context)?;
        if !self.kills {
            return Ok(node);
        }
        Ok(Box::new(LastNode {
            node: Some(node),
            roudi: self.roudi.clone(),
        }))
    }
}

/// A node after which RouDi is started anew: the tests that kill have one at a time.
struct LastNode {
    node: Option<Box<dyn Node>>,
    roudi: Arc<Mutex<Roudi>>,
}

impl LastNode {
    fn node(&mut self) -> &mut dyn Node {
        self.node.as_deref_mut().unwrap()
    }
}

impl Node for LastNode {
    fn sender(&mut self, channel: &ChannelSpec) -> dyno_adapter::Result<Box<dyn Sender>> {
        self.node().sender(channel)
    }
    fn receiver(
        &mut self,
        channel: &ChannelSpec,
        wait: Wait,
    ) -> dyno_adapter::Result<Box<dyn Receiver>> {
        self.node().receiver(channel, wait)
    }
    fn subscribe(
        &mut self,
        channel: &ChannelSpec,
        on_message: OnMessage,
    ) -> dyno_adapter::Result<Box<dyn Subscription>> {
        self.node().subscribe(channel, on_message)
    }
}

impl Drop for LastNode {
    fn drop(&mut self) {
        drop(self.node.take());
        let mut roudi = self.roudi.lock().unwrap_or_else(PoisonError::into_inner);
        roudi.end();
        roudi.process = Roudi::run(&roudi.configuration);
    }
}

/// A RouDi. It is killed when this process ends.
struct Roudi {
    process: Child,
    configuration: NamedTempFile,
    /// A machine has one RouDi: tests and programs with one of their own take turns.
    _turn: File,
}

impl Roudi {
    fn start() -> Self {
        // As Dyno's runner does.
        let path = std::env::var_os("PATH").unwrap();
        let turn = std::env::split_paths(&path)
            .find_map(|directory| File::open(directory.join("iox-roudi")).ok())
            .expect("iox-roudi is in PATH; install it with `apt-get install iceoryx`");
        turn.lock().unwrap();
        let configuration = NamedTempFile::new().unwrap();
        std::fs::write(&configuration, CONFIGURATION).unwrap();
        Roudi {
            process: Self::run(&configuration),
            configuration,
            _turn: turn,
        }
    }

    fn run(configuration: &NamedTempFile) -> Child {
        let start = Instant::now();
        // The one of a program that was killed takes a moment to go.
        while UnixDatagram::unbound().unwrap().connect(SOCKET).is_ok() {
            assert!(
                start.elapsed() < LONG / 6,
                "another RouDi listens at {SOCKET}; end it: a machine has one"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut command = Command::new("iox-roudi");
        command
            .arg("--config-file")
            .arg(configuration.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let (tell, told) = mpsc::channel();
        // The kernel kills it when the thread ends that started it, so this one stays.
        std::thread::spawn(move || {
            // SAFETY: the only call between fork and exec is async-signal-safe and touches no memory.
            unsafe {
                command.pre_exec(|| {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    Ok(())
                });
            }
            let mut roudi = command
                .spawn()
                .expect("iox-roudi starts; install it with `apt-get install iceoryx`");
            let output = BufReader::new(roudi.stdout.take().unwrap());
            let mut roudi = Some(roudi);
            for line in output.lines().map_while(Result::ok) {
                if line.contains("RouDi is ready")
                    && let Some(roudi) = roudi.take()
                {
                    // Nobody listens where the wait was given up.
                    let _ = tell.send(roudi);
                }
            }
        });
        told.recv_timeout(LONG).expect("RouDi gets ready")
    }

    fn end(&mut self) {
        let pid = libc::pid_t::try_from(self.process.id()).unwrap();
        // SAFETY: kill touches no memory, and the process is a child that was not waited for.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        let start = Instant::now();
        while self.process.try_wait().unwrap().is_none() && start.elapsed() < GRACE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self
            .process
            .try_wait()
            .unwrap()
            .is_some_and(|s| s.success())
        {
            return;
        }
        // It has ended by itself at worst.
        let _ = self.process.kill();
        self.process.wait().unwrap();
        let memory = format!("/dev/shm/{}", group());
        for file in LEAVES.into_iter().chain([memory.as_str()]) {
            // It may have come far enough to remove it.
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Drop for Roudi {
    fn drop(&mut self) {
        self.end();
    }
}

// As `stacks/iceoryx.toml` beside this file sets it.
conformance_tests!(block, adapter, { "policy" = "block" });
conformance_tests!(
    discard_oldest,
    adapter,
    { "policy" = "discard-oldest", "queue_depth" = 4 },
    best_effort
);

/// The version is that of the library that is loaded.
#[test]
fn the_version_is_that_of_the_loaded_library() {
    let version = common::foreign("iceoryx").describe().version;
    assert_eq!(version.split('.').count(), 3, "{version}");
    assert!(
        version.split('.').all(|n| n.parse::<u32>().is_ok()),
        "{version}"
    );
}
