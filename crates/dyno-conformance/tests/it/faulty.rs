//! Each lie of `faulty`, seen from the receiving side.

use crate::memory;
use dyno_adapter::*;
use dyno_conformance::faulty::{self, Crash};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Pairs<'a> = &'a [(&'a str, OptionValue)];

fn int(v: i64) -> OptionValue {
    OptionValue::Int(v)
}
fn text(v: &str) -> OptionValue {
    OptionValue::Text(v.into())
}

fn open_as(participant: u16, options: Pairs) -> Result<Box<dyn Node>> {
    open_in("s", participant, options)
}

fn open_in(session: &str, participant: u16, options: Pairs) -> Result<Box<dyn Node>> {
    let mut options: Options = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    options.insert("inner".into(), text("memory"));
    faulty::adapter(vec![memory::adapter()]).open(&NodeContext {
        session: session.into(),
        scratch: "/nonexistent".into(),
        participant,
        address: "127.0.0.1".into(),
        looked_at: 0,
        options,
    })
}

fn channel() -> ChannelSpec {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    ChannelSpec {
        id: 0,
        name: format!("faulty-{}", NUMBER.fetch_add(1, Ordering::Relaxed)),
        max_payload: 16,
        writer: 0,
        writer_address: String::new(),
        readers: Vec::new(),
        carries: Default::default(),
    }
}

struct Ends {
    sender: Box<dyn Sender>,
    receiver: Box<dyn Receiver>,
    _nodes: [Box<dyn Node>; 2],
}

fn ends(options: Pairs) -> Ends {
    ends_in("s", options)
}

fn ends_in(session: &str, options: Pairs) -> Ends {
    let channel = channel();
    let mut nodes = [0, 1].map(|number| open_in(session, number, options).unwrap());
    Ends {
        receiver: nodes[1].receiver(&channel, Wait::Spin).unwrap(),
        sender: nodes[0].sender(&channel).unwrap(),
        _nodes: nodes,
    }
}

impl Ends {
    fn send(&mut self, number: u8) {
        let sent = self.sender.send(4, &mut |room| room.fill(number));
        assert_eq!(sent.unwrap(), Sent::Accepted);
    }
    fn arrived(&mut self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while self
            .receiver
            .take(&mut |bytes| all.push(bytes.to_vec()))
            .unwrap()
        {}
        all
    }
}

/// The first bytes of what arrives of six messages, all bytes of each equal to its number.
fn six(options: Pairs) -> Vec<u8> {
    let mut ends = ends(options);
    (1..=6).for_each(|n| ends.send(n));
    ends.arrived().iter().map(|message| message[0]).collect()
}

#[test]
fn without_faults_all_arrives() {
    assert_eq!(six(&[]), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn each_third_is_dropped() {
    assert_eq!(six(&[("drop_every", int(3))]), [1, 2, 4, 5]);
}

#[test]
fn each_third_is_sent_twice() {
    assert_eq!(
        six(&[("duplicate_every", int(3))]),
        [1, 2, 3, 3, 4, 5, 6, 6]
    );
}

#[test]
fn each_second_comes_after_the_next_and_the_last_never() {
    assert_eq!(six(&[("reorder_every", int(2))]), [1, 3, 2, 5, 4]);
}

#[test]
fn the_last_byte_is_inverted_or_the_one_that_is_named() {
    let mut last = ends(&[("corrupt_every", int(2))]);
    (1..=2).for_each(|n| last.send(n));
    assert_eq!(last.arrived(), [[1; 4], [2, 2, 2, !2]]);

    let mut named = ends(&[("corrupt_every", int(1)), ("corrupt_byte", int(1))]);
    named.send(7);
    assert_eq!(named.arrived(), [[7, !7, 7, 7]]);
}

#[test]
fn truncated_messages_keep_at_least_a_byte() {
    let mut by_one = ends(&[("truncate_every", int(2))]);
    (1..=2).for_each(|n| by_one.send(n));
    assert_eq!(by_one.arrived(), [vec![1; 4], vec![2; 3]]);

    let mut by_all = ends(&[("truncate_every", int(1)), ("truncate_by", int(100))]);
    by_all.send(1);
    assert_eq!(by_all.arrived(), [[1]]);
}

#[test]
fn a_sender_is_silent_for_as_long_as_asked_and_goes_on() {
    let mut ends = ends(&[("silence_after", int(2)), ("silence_ms", int(50))]);
    ends.send(1);
    let before = Instant::now();
    ends.send(2);
    assert_eq!(ends.arrived(), [[1; 4], [2; 4]]);
    let mut after = Vec::new();
    while after.is_empty() {
        ends.send(3);
        after = ends.arrived();
    }
    assert!(before.elapsed() >= Duration::from_millis(50));
    ends.send(4);
    assert_eq!(
        (after, ends.arrived()),
        (vec![vec![3; 4]], vec![vec![4; 4]])
    );
}

#[test]
fn a_deaf_receiver_shows_nothing_more() {
    let options = [("deaf_after", int(2))];
    assert_eq!(six(&options), [1, 2]);
    let channel = channel();
    let mut nodes = [open_as(0, &options).unwrap(), open_as(1, &options).unwrap()];
    let mut sender = nodes[0].sender(&channel).unwrap();
    let seen = Arc::new(Mutex::new(0));
    let count = seen.clone();
    let on_message = Box::new(move |_: &[u8]| *count.lock().unwrap() += 1);
    let subscription = nodes[1].subscribe(&channel, on_message).unwrap();
    (1..=6).for_each(|n| {
        let sent = sender.send(4, &mut |room| room.fill(n));
        assert_eq!(sent.unwrap(), Sent::Accepted);
    });
    // Its thread has ended then.
    drop(subscription);
    assert!(*seen.lock().unwrap() <= 2);
}

#[test]
fn receivers_are_deaf_in_each_nth_trial_only() {
    let options = [("deaf_after", int(0)), ("deaf_trials", int(20))];
    for (place, is_deaf) in [(0, false), (18, false), (19, true), (20, false), (39, true)] {
        let mut ends = ends_in(&format!("dyno-1.ab-{place}"), &options);
        ends.send(1);
        assert_eq!(ends.arrived().is_empty(), is_deaf, "{place}");
    }
    let error = open_as(1, &options).err().unwrap().to_string();
    assert!(
        error.contains("deaf_trials") && error.contains("\"s\""),
        "{error}"
    );
}

#[test]
fn delayed_sends_take_at_least_as_long_as_asked() {
    for spin in [false, true] {
        let mut ends = ends(&[
            ("delay_every", int(2)),
            ("delay_us", int(30_000)),
            ("delay_spin", OptionValue::Bool(spin)),
        ]);
        ends.send(1);
        let start = Instant::now();
        ends.send(2);
        assert!(start.elapsed() >= Duration::from_millis(30));
        assert_eq!(ends.arrived().len(), 2);
    }
}

#[test]
fn opening_takes_at_least_as_long_as_asked() {
    let start = Instant::now();
    open_as(0, &[("slow_open_ms", int(40))]).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(40));
}

#[test]
fn only_the_named_participant_misbehaves() {
    let options: Pairs = &[("error_in", text("open")), ("participant", int(1))];
    assert!(open_as(0, options).is_ok());
    assert!(open_as(1, options).is_err());
}

#[test]
fn only_the_named_side_misbehaves() {
    let mut ends = ends(&[("error_in", text("matched")), ("side", text("receiver"))]);
    assert!(ends.sender.matched().is_ok());
    assert!(ends.receiver.matched().is_err());
}

#[test]
fn takes_fail_after_as_many_messages_as_told() {
    let mut ends = ends(&[("error_in", text("take")), ("error_after", int(2))]);
    (1..=3).for_each(|n| ends.send(n));
    let mut take = || ends.receiver.take(&mut |_| {});
    assert!(take().unwrap() && take().unwrap());
    assert!(take().unwrap_err().to_string().contains("faulty fails"));
}

#[test]
fn subscriptions_get_the_same_lies() {
    let options: Pairs = &[("drop_every", int(2))];
    let channel = channel();
    let mut nodes = [open_as(0, options).unwrap(), open_as(1, options).unwrap()];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let on_message: OnMessage = Box::new(move |bytes| note.lock().unwrap().push(bytes[0]));
    let subscription = nodes[1].subscribe(&channel, on_message).unwrap();
    let mut sender = nodes[0].sender(&channel).unwrap();
    for n in 1..=5 {
        sender.send(1, &mut |room| room.fill(n)).unwrap();
    }
    while seen.lock().unwrap().len() < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(subscription);
    assert_eq!(*seen.lock().unwrap(), [1, 3, 5]);
}

#[test]
fn wrong_options_are_refused_with_what_to_write() {
    let refusal = |options: Pairs| open_as(0, options).err().unwrap().to_string();
    let unknown = refusal(&[("hang_in", text("sleep"))]);
    assert!(unknown.contains("open, sender, receiver"), "{unknown}");
    let negative = refusal(&[("drop_every", int(-1))]);
    assert!(negative.contains("zero or more"), "{negative}");
    let dropping = refusal(&[("error_in", text("drop"))]);
    assert!(dropping.contains("hang_in or crash_in"), "{dropping}");
}

#[test]
fn the_adapter_to_wrap_must_be_known() {
    let adapter = faulty::adapter(vec![memory::adapter()]);
    let error = adapter.open(&NodeContext {
        session: "s".into(),
        scratch: "/nonexistent".into(),
        participant: 0,
        address: String::new(),
        looked_at: 0,
        options: Options::new(),
    });
    let error = error.err().unwrap().to_string();
    assert!(error.contains("write one of memory"), "{error}");
}

#[test]
fn the_description_lists_own_and_wrapped_options_once() {
    let options = faulty::adapter(vec![memory::adapter(), memory::adapter()])
        .describe()
        .options;
    for name in ["inner", "drop_every", "crash_in", "participant", "mode"] {
        let found = options.iter().filter(|o| o.name == name).count();
        assert_eq!(found, 1, "{name}");
    }
}

#[test]
fn a_hang_does_not_end() {
    let mut ends = ends(&[("hang_in", text("send")), ("hang_after", int(1))]);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for n in 1..=2 {
            ends.send(n);
            tell.send(n).unwrap();
        }
    });
    assert_eq!(told.recv_timeout(Duration::from_secs(30)), Ok(1));
    let second = told.recv_timeout(Duration::from_millis(200));
    assert_eq!(second, Err(std::sync::mpsc::RecvTimeoutError::Timeout));
}

const CRASH: &str = "DYNO_TEST_CRASH";

/// Not a test by itself: the process that crashes.
#[test]
fn crashing_process() {
    let Ok(how) = std::env::var(CRASH) else {
        return;
    };
    let mut ends = ends(&[
        ("crash_in", text("take")),
        ("crash_after", int(1)),
        ("crash", text(&how)),
    ]);
    ends.send(1);
    ends.send(2);
    ends.arrived();
}

fn crash(how: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faulty::crashing_process", "--nocapture"])
        .env(CRASH, how)
        .output()
        .unwrap()
}

#[test]
fn a_crash_is_what_was_asked_for_and_announces_itself() {
    for (how, signal, code) in [
        ("segv", Some(libc::SIGSEGV), None),
        ("abort", Some(libc::SIGABRT), None),
        ("exit", None, Some(Crash::EXIT_CODE)),
        ("panic", None, Some(101)),
    ] {
        let output = crash(how);
        assert_eq!(output.status.signal(), signal, "{how}");
        assert_eq!(output.status.code(), code, "{how}");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            stderr.contains("faulty: crash in take after 1"),
            "{how}: {stderr}"
        );
    }
}
