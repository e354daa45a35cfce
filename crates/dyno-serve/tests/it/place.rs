//! A folder of runs, a server over it, and a client that sends whatever bytes a test wants.

use dyno_kit::example;
use dyno_model::{RunManifest, TrialRecord};
use dyno_serve::{Options, Server, Stopper};
use dyno_store::RunWriter;
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A long wait for a thing that must happen; never a bound on speed. On a slow machine the pause after a report
/// is long too.
pub(crate) const LONG: Duration = Duration::from_secs(180);

pub(crate) struct Place {
    dir: TempDir,
    pub(crate) address: SocketAddr,
    stopper: Stopper,
    server: Option<JoinHandle<()>>,
}

impl Place {
    /// An empty folder `runs`, served.
    pub(crate) fn new() -> Place {
        let dir = TempDir::with_prefix("serve").unwrap();
        std::fs::create_dir(dir.path().join("runs")).unwrap();
        let server = Server::bind(&Options {
            folder: dir.path().join("runs"),
            listen: "127.0.0.1:0".parse().unwrap(),
            hosts: vec!["bench.example".into()],
            network: false,
        });
        let server = server.unwrap();
        Place {
            address: server.address(),
            stopper: server.stopper(),
            server: Some(std::thread::spawn(|| server.run().unwrap())),
            dir,
        }
    }

    /// A path beside or in the folder `runs`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A writer of a new run in the folder.
    pub(crate) fn write(&self, name: &str, manifest: &RunManifest) -> RunWriter {
        RunWriter::create(&self.path("runs").join(name), manifest).unwrap()
    }

    /// A run with one trial of each experiment.
    pub(crate) fn run(&self, name: &str) -> PathBuf {
        let writer = self.write(name, &example::manifest());
        for experiment in 0..3 {
            writer.write_trial(&trial(experiment, 0)).unwrap();
        }
        self.path("runs").join(name)
    }

    /// Sends bytes and returns the answer, read to its end.
    pub(crate) fn raw(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect();
        // A server that has seen enough may close before it has read all.
        let _ = stream.write_all(request.as_ref());
        Answer::read(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    /// With further header lines, each ended by CR LF.
    pub(crate) fn get_with(&self, path: &str, headers: &str) -> Answer {
        self.raw(format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n"
        ))
    }

    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.stopper.stop();
        let ended = self.server.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap();
        }
    }
}

/// A completed trial that counts.
pub(crate) fn trial(experiment: u32, number: u32) -> TrialRecord {
    TrialRecord {
        machines: Vec::new(),
        disturbed: Vec::new(),
        ..example::completed(example::id(experiment, number))
    }
}

/// What came back. Status 0: nothing did.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn read(stream: &mut TcpStream) -> Answer {
        let mut bytes = Vec::new();
        match stream.read_to_end(&mut bytes) {
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("no end of the answer within {LONG:?}: {bytes:?}");
            }
            // A reset after the answer: what the server did not read is thrown away.
            _ => {}
        }
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let split = end.map_or(bytes.len(), |end| end + 4);
        let head = String::from_utf8_lossy(&bytes[..split]).into_owned();
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            body: bytes[split..].to_vec(),
            head,
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// The body with the template's escapes of `/` taken back, which no test is about.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).replace("&#x2f;", "/")
    }
}

#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + LONG;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "waited {LONG:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
