//! A broker of this test's own, and participants that are connected to it.

use dyno_adapter::{
    Adapter, ChannelSpec, Endpoint, Node, NodeContext, OptionValue, Options, Sender, Subscription,
};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A watchdog, never a bound on speed.
const LONG: Duration = Duration::from_secs(60);

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < end, "{what} never was so");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A trial with its broker, which ends with it.
pub(crate) struct Trial {
    pub(crate) scratch: tempfile::TempDir,
    pub(crate) options: Options,
    broker: Option<Child>,
}

/// A tree with one channel, whose data may be restricted.
const TREE: &str = r#"{"Dyno":{"type":"branch","children":{"C0":{"type":"branch","children":{
    "Data":{"datatype":"string","type":"actuator"ALLOWED},
    "Readers":{"datatype":"string","type":"sensor"},
    "Writer":{"datatype":"string","type":"sensor"}}}}}}"#;

impl Trial {
    /// Without a broker, at ports of its own.
    pub(crate) fn new() -> Self {
        let mut options = Options::new();
        for name in ["port", "viss_port"] {
            options.insert(name.into(), OptionValue::Int(free_port().into()));
        }
        Trial {
            scratch: tempfile::tempdir().unwrap(),
            options,
            broker: None,
        }
    }

    pub(crate) fn set(mut self, name: &str, value: OptionValue) -> Self {
        self.options.insert(name.into(), value);
        self
    }

    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.set(name, OptionValue::Text(value.into()))
    }

    fn port(&self, name: &str) -> String {
        self.options[name].to_string()
    }

    /// With a broker that is given these words as well.
    pub(crate) fn with_broker(self, words: &[&str]) -> Self {
        self.with_broker_of(&TREE.replace("ALLOWED", ""), words)
    }

    /// With a broker whose channel takes these values alone.
    pub(crate) fn with_broker_that_takes(self, values: &[&str]) -> Self {
        let allowed = format!(",\"allowed\":{values:?}");
        self.with_broker_of(&TREE.replace("ALLOWED", &allowed), &["--insecure"])
    }

    fn with_broker_of(mut self, tree: &str, words: &[&str]) -> Self {
        let vss = self.scratch.path().join("vss.json");
        std::fs::write(&vss, tree).unwrap();
        // Tests are built beside examples: target/PROFILE/deps and target/PROFILE/examples.
        let test = std::env::current_exe().unwrap();
        let program = test.ancestors().nth(2).unwrap().join("examples/databroker");
        let port = self.port("port");
        let mut command = Command::new(&program);
        command
            .args(["--address", "127.0.0.1", "--port", &port])
            .args(["--viss-port", &self.port("viss_port"), "--vss"])
            .arg(&vss)
            .args(words)
            .current_dir(self.scratch.path())
            .stdin(Stdio::null());
        let broker = command
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", program.display()));
        self.broker = Some(broker);
        let place = format!("127.0.0.1:{port}");
        wait_until("the broker", || TcpStream::connect(&place).is_ok());
        self
    }

    pub(crate) fn end_broker(&mut self) {
        if let Some(mut broker) = self.broker.take() {
            broker.kill().unwrap();
            broker.wait().unwrap();
        }
    }

    pub(crate) fn context(&self, participant: u16) -> NodeContext {
        NodeContext {
            session: "dynotest".into(),
            scratch: self.scratch.path().to_owned(),
            participant,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: self.options.clone(),
        }
    }

    pub(crate) fn open(&self, participant: u16) -> dyno_adapter::Result<Box<dyn Node>> {
        adapter().open(&self.context(participant))
    }

    /// What opening a node says.
    #[track_caller]
    pub(crate) fn refusal(&self) -> String {
        match self.open(0) {
            Ok(_) => panic!("the node was opened"),
            Err(e) => one_line(&e),
        }
    }

    pub(crate) fn run(&self, program: &str, words: &[&str]) {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    pub(crate) fn path(&self) -> &Path {
        self.scratch.path()
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.end_broker();
    }
}

/// An error, which is one line.
#[track_caller]
pub(crate) fn one_line(e: &dyno_adapter::Error) -> String {
    let text = e.to_string();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

pub(crate) fn adapter() -> Box<dyn Adapter> {
    dyno_adapter_kuksa::adapter()
}

/// Channel `id` from participant 0 to participant 1.
pub(crate) fn channel(id: u16) -> ChannelSpec {
    ChannelSpec {
        id,
        name: format!("dynotest-c{id}"),
        max_payload: 30_000,
        writer: 0,
        writer_address: "127.0.0.1".into(),
        readers: vec![Endpoint {
            participant: 1,
            address: "127.0.0.1".into(),
            port: 0,
        }],
        carries: Default::default(),
    }
}

/// What arrived.
pub(crate) type Heard = Arc<Mutex<Vec<Vec<u8>>>>;

/// Both ends of channel 0, which know each other; the reader handles each message for as long as `pause`.
pub(crate) fn pair(
    trial: &Trial,
    pause: Duration,
) -> (Box<dyn Sender>, Box<dyn Subscription>, Heard) {
    let heard = Heard::default();
    let list = Arc::clone(&heard);
    let mut subscription = trial
        .open(1)
        .unwrap()
        .subscribe(
            &channel(0),
            Box::new(move |bytes| {
                list.lock().unwrap().push(bytes.to_owned());
                std::thread::sleep(pause);
            }),
        )
        .unwrap();
    let mut sender = trial.open(0).unwrap().sender(&channel(0)).unwrap();
    wait_until("both ends matched", || {
        sender.matched().unwrap() == 1 && subscription.matched().unwrap()
    });
    (sender, subscription, heard)
}

pub(crate) fn send(sender: &mut dyn Sender, message: &[u8]) -> dyno_adapter::Result<()> {
    sender
        .send(message.len(), &mut |room| room.copy_from_slice(message))
        .map(drop)
}
