//! The conformance suite on vsomeip, within a host. Between hosts it needs two of them: the suite's
//! participants have one address.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

#[path = "../../crates/dyno-abi/tests/common/mod.rs"]
mod common;

use dyno_adapter::{
    Adapter, Carries, ChannelSpec, Endpoint, Node, NodeContext, Sender, Subscription,
};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A long wait for a thing that must happen; never a bound on speed.
const LONG: Duration = Duration::from_secs(60);

fn adapter() -> Box<dyn Adapter> {
    common::foreign("vsomeip")
}

// As `stacks/vsomeip.toml` beside this file sets it.
dyno_conformance::conformance_tests!(
    tuned,
    adapter,
    { "request_debounce_time" = 0, "buffer_shrink_threshold" = 0 }
);
// As the library comes.
dyno_conformance::conformance_tests!(defaults, adapter, {});

/// The version is that of the library that is loaded: three numbers, as its file's name has them.
#[test]
fn the_version_is_that_of_the_loaded_library() {
    let version = adapter().describe().version;
    assert_eq!(version.split('.').count(), 3, "{version}");
    assert!(
        version.split('.').all(|n| n.parse::<u32>().is_ok()),
        "{version}"
    );
}

/// Participants of one process, as an agent has them that plays several.
struct Program {
    adapter: Box<dyn Adapter>,
    session: String,
    scratch: TempDir,
}

impl Program {
    fn new(name: &str) -> Self {
        let scratch = tempfile::Builder::new().prefix("dyno-").tempdir();
        Program {
            adapter: adapter(),
            session: format!("dynotest-{}-{name}", std::process::id()),
            scratch: scratch.expect("a scratch directory can be created"),
        }
    }

    fn node(&self, participant: u16) -> Box<dyn Node> {
        let context = NodeContext {
            session: self.session.clone(),
            scratch: self.scratch.path().to_owned(),
            participant,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: Default::default(),
        };
        self.adapter.open(&context).unwrap()
    }

    /// The applications that the routing manager has beside its own: each listens at a socket.
    fn applications(&self) -> usize {
        std::fs::read_dir(self.scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("v-") && name != "v-0")
            .count()
    }

    /// A flow from participant `writer` to `reader`, whose callback takes `pause` for each message.
    fn flow(&self, id: u16, writer: u16, reader: u16, pause: Duration) -> Flow {
        let address = "127.0.0.1".to_owned();
        let channel = ChannelSpec {
            id,
            name: format!("{}-c{id}", self.session),
            max_payload: 8,
            writer,
            writer_address: address.clone(),
            readers: vec![Endpoint {
                participant: reader,
                address,
                port: 0,
            }],
            carries: Carries::default(),
        };
        let (mut near, mut far) = (self.node(writer), self.node(reader));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let theirs = seen.clone();
        let on_message = move |bytes: &[u8]| {
            let number = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
            theirs.lock().unwrap().push(number);
            std::thread::sleep(pause);
        };
        Flow {
            subscription: far.subscribe(&channel, Box::new(on_message)).unwrap(),
            sender: near.sender(&channel).unwrap(),
            seen,
            _nodes: [near, far],
        }
    }
}

/// Ends drop before nodes.
struct Flow {
    subscription: Box<dyn Subscription>,
    sender: Box<dyn Sender>,
    seen: Arc<Mutex<Vec<u64>>>,
    _nodes: [Box<dyn Node>; 2],
}

impl Flow {
    fn is_matched(&mut self) -> bool {
        self.subscription.matched().unwrap() && self.sender.matched().unwrap() == 1
    }

    fn send(&mut self, number: u64) {
        let mut fill = |room: &mut [u8]| room.copy_from_slice(&number.to_le_bytes());
        self.sender.send(8, &mut fill).unwrap();
    }

    fn seen(&self) -> Vec<u64> {
        self.seen.lock().unwrap().clone()
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends the numbers below `count` on each flow and waits until all have arrived, in order.
fn exchange(flows: &mut [Flow], count: u64) {
    wait_until("all are matched", || flows.iter_mut().all(Flow::is_matched));
    for flow in flows.iter_mut() {
        flow.seen.lock().unwrap().clear();
        (0..count).for_each(|number| flow.send(number));
    }
    for flow in flows {
        wait_until("all messages", || flow.seen().len() as u64 >= count);
        assert_eq!(flow.seen(), (0..count).collect::<Vec<_>>());
    }
}

/// Six senders are one application and their six receivers another: two ends of a channel never share one.
#[test]
fn participants_of_a_process_share_an_application() {
    let program = Program::new("share");
    for _ in 0..2 {
        let mut flows: Vec<Flow> = (0..6)
            .map(|id| program.flow(id, id, 6 + id, Duration::ZERO))
            .collect();
        exchange(&mut flows, 100);
        assert_eq!(program.applications(), 2);
        // Those who stay keep theirs, also where they did not start it.
        flows.remove(0);
        exchange(&mut flows, 100);
        assert_eq!(program.applications(), 2);
        drop(flows);
        // The routing manager was the first participant's and stayed until the last one left.
        assert_eq!(program.applications(), 0);
    }
}

/// A callback that sleeps does not hold up others of its application, and gets its own messages in order.
#[test]
fn a_slow_consumer_holds_up_nobody_else() {
    let program = Program::new("slow");
    let mut flows = [
        program.flow(0, 0, 2, Duration::from_millis(100)),
        program.flow(1, 1, 3, Duration::ZERO),
    ];
    wait_until("all are matched", || flows.iter_mut().all(Flow::is_matched));
    assert_eq!(program.applications(), 2);
    let [slow, quick] = &mut flows;
    (0..20).for_each(|number| slow.send(number));
    (0..20).for_each(|number| quick.send(number));
    wait_until("what is quick", || quick.seen().len() == 20);
    assert!(
        slow.seen().len() < 20,
        "the quick one waited for all of the slow one's messages"
    );
    wait_until("what is slow", || slow.seen().len() == 20);
    for flow in &flows {
        assert_eq!(flow.seen(), (0..20).collect::<Vec<_>>());
    }
}

/// A callback that has a thread of its own is not called any more once its subscription has ended.
#[test]
fn a_slow_consumer_that_leaves_is_silent() {
    let program = Program::new("leave");
    let mut slow = program.flow(0, 0, 2, Duration::from_millis(50));
    let mut quick = program.flow(1, 1, 3, Duration::ZERO);
    wait_until("both are matched", || {
        slow.is_matched() && quick.is_matched()
    });
    (0..100).for_each(|number| slow.send(number));
    wait_until("a few", || slow.seen().len() >= 3);
    let Flow {
        subscription,
        sender,
        seen,
        _nodes,
    } = slow;
    drop(subscription);
    let at_the_end = seen.lock().unwrap().len();
    assert!(at_the_end < 100, "there was nothing left to be thrown away");
    drop(sender);
    exchange(std::slice::from_mut(&mut quick), 20);
    assert_eq!(seen.lock().unwrap().len(), at_the_end);
}
