//! What goes wrong: peers that die or leave, signals, a full `/dev/shm`, wrong options.

use crate::support::{Trial, channel, mappings, open_files, pattern, take, until_matched};
use dyno_adapter::{Error, OptionValue, Sent, Wait};
use std::os::unix::thread::JoinHandleExt;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::Duration;
use std::{env, thread};

/// Set in the process that plays the peer; names the session and the scratch directory.
const PEER: &str = "FLOOR_TEST_PEER";

/// Not a test of its own: the process that [`a_killed_reader_is_noticed`] starts and kills.
#[test]
fn peer() {
    let Ok(value) = env::var(PEER) else { return };
    let (session, scratch) = value.split_once('|').unwrap();
    let context = dyno_adapter::NodeContext {
        session: session.into(),
        scratch: scratch.into(),
        participant: 1,
        address: "127.0.0.1".into(),
        looked_at: 0,
        options: Default::default(),
    };
    let mut node = dyno_adapter_floor::adapter().open(&context).unwrap();
    let _receiver = node
        .receiver(&channel(session, 0, &[1], 8), Wait::Spin)
        .unwrap();
    // Until it is killed; ends by itself if the test that should kill it is gone.
    thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_reader_is_noticed() {
    let trial = Trial::new();
    let mut sender = trial.node(0).sender(&trial.channel(0, &[1], 8)).unwrap();
    let scratch = trial.context(0).scratch;
    let mut peer = Command::new(env::current_exe().unwrap())
        .args(["--exact", "trouble::peer"])
        .env(PEER, format!("{}|{}", trial.session, scratch.display()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until_matched(&mut *sender, 1);
    let sending = thread::spawn(move || {
        loop {
            if let Err(e) = sender.send(8, &mut |b| b.fill(0)) {
                return e;
            }
        }
    });
    thread::sleep(Duration::from_millis(50));
    assert!(!sending.is_finished());
    peer.kill().unwrap();
    // Nobody has waited for the process yet, so it is a zombie now.
    let error = sending.join().unwrap();
    peer.wait().unwrap();
    assert!(matches!(&error, Error::PeerGone { channel } if channel.starts_with("floor-test")));
    // The dead side still counts as a user; what it leaves behind is what the claim is for.
    let files = trial.files();
    assert_eq!(files.len(), 1);
    assert_eq!(trial.claims(), [format!("file {}\n", files[0].display())]);
}

#[test]
fn a_sender_whose_only_reader_has_left_is_told() {
    for asleep in [false, true] {
        let trial = Trial::with_depth(4);
        let spec = trial.channel(0, &[1], 8);
        let mut sender = trial.node(0).sender(&spec).unwrap();
        let receiver = trial.node(1).receiver(&spec, Wait::Block).unwrap();
        for _ in 0..4 {
            sender.send(8, &mut |b| b.fill(0)).unwrap();
        }
        let sending = thread::spawn(move || sender.send(8, &mut |b| b.fill(0)));
        if asleep {
            thread::sleep(Duration::from_millis(20));
        }
        drop(receiver);
        assert!(matches!(
            sending.join().unwrap(),
            Err(Error::PeerGone { .. })
        ));
    }
}

#[test]
fn a_reader_that_leaves_does_not_hold_up_the_others() {
    let trial = Trial::with_depth(2);
    let spec = trial.channel(0, &[1, 2], 8);
    let mut sender = trial.node(0).sender(&spec).unwrap();
    let leaving = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
    let mut staying = trial.node(2).receiver(&spec, Wait::Spin).unwrap();
    until_matched(&mut *sender, 2);
    let sending = thread::spawn(move || {
        for i in 0..20 {
            sender.send(8, &mut |b| pattern(i, b)).unwrap();
        }
        sender
    });
    take(&mut *staying);
    drop(leaving);
    (1..20).for_each(|_| drop(take(&mut *staying)));
    assert_eq!(sending.join().unwrap().matched().unwrap(), 1);
}

/// A handler that does nothing, and lets the signal interrupt system calls.
fn install_handler() {
    extern "C" fn nothing(_: libc::c_int) {}
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler: extern "C" fn(libc::c_int) = nothing;
        // SAFETY: an all-zero sigaction is valid, and the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as usize;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        }
    });
}

/// Sends the signal until the thread has ended.
fn interrupt<T>(thread: thread::JoinHandle<T>) -> T {
    while !thread.is_finished() {
        // SAFETY: the handle has not been joined, so the thread's id is valid.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), libc::SIGUSR1) };
        thread::sleep(Duration::from_millis(2));
    }
    thread.join().unwrap()
}

#[test]
fn a_signal_ends_a_blocking_take() {
    install_handler();
    let trial = Trial::new();
    let spec = trial.channel(0, &[1], 8);
    let mut sender = trial.node(0).sender(&spec).unwrap();
    let mut receiver = trial.node(1).receiver(&spec, Wait::Block).unwrap();
    until_matched(&mut *sender, 1);
    let taking = thread::spawn(move || {
        let took = receiver.take(&mut |_| unreachable!()).unwrap();
        (took, receiver)
    });
    thread::sleep(Duration::from_millis(20));
    let (took, mut receiver) = interrupt(taking);
    assert!(!took);
    sender.send(8, &mut |b| b.fill(7)).unwrap();
    assert_eq!(take(&mut *receiver), [7; 8]);
}

#[test]
fn a_signal_ends_a_send_that_waits_for_room_and_nothing_is_sent() {
    install_handler();
    let trial = Trial::with_depth(2);
    let spec = trial.channel(0, &[1], 8);
    let mut sender = trial.node(0).sender(&spec).unwrap();
    let mut receiver = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
    for _ in 0..2 {
        sender.send(8, &mut |b| b.fill(1)).unwrap();
    }
    let sending = thread::spawn(move || sender.send(8, &mut |_| unreachable!()).unwrap());
    thread::sleep(Duration::from_millis(20));
    assert_eq!(interrupt(sending), Sent::Refused);
    (0..2).for_each(|_| assert_eq!(take(&mut *receiver), [1; 8]));
    assert!(!receiver.take(&mut |_| unreachable!()).unwrap());
}

#[test]
fn opening_and_closing_a_hundred_times_leaves_nothing() {
    let trial = Trial::new();
    let spec = trial.channel(0, &[1, 2], 1000);
    let once = |i: u64| {
        let mut sender = trial.node(0).sender(&spec).unwrap();
        let mut one = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
        let mut two = trial.node(2).receiver(&spec, Wait::Block).unwrap();
        until_matched(&mut *sender, 2);
        sender.send(1000, &mut |b| pattern(i, b)).unwrap();
        take(&mut *one);
        // In every order.
        if i.is_multiple_of(2) {
            drop(sender);
        }
        take(&mut *two);
    };
    once(0);
    // Other tests of this process open files too, so only growth by about a hundred is a leak.
    let before = open_files();
    (1..=100).for_each(once);
    assert!(open_files() < before + 50);
    assert_eq!(mappings(&trial.session), 0);
    assert!(trial.files().is_empty());
}

#[test]
fn a_full_dev_shm_is_an_error_that_says_what_to_do() {
    // A million slots of a gibibyte.
    let trial = Trial::with_depth(1 << 20);
    let error = trial
        .node(0)
        .sender(&trial.channel(0, &[1], 1 << 30))
        .err()
        .unwrap();
    let text = error.to_string();
    assert!(matches!(error, Error::System { .. }), "{text}");
    assert!(
        text.contains("free space in /dev/shm") && text.contains("`queue_depth`"),
        "{text}"
    );
    assert!(trial.files().is_empty());
}

#[test]
fn wrong_depths_are_refused() {
    for depth in [0, -1, (1 << 20) + 1] {
        let trial = Trial::with_depth(depth);
        let error = trial
            .node(0)
            .sender(&trial.channel(0, &[1], 8))
            .err()
            .unwrap();
        assert!(
            error
                .to_string()
                .starts_with("option `queue_depth`: write 1 to"),
            "{error}"
        );
    }
    let mut trial = Trial::new();
    trial
        .options
        .insert("queue_depth".into(), OptionValue::Text("deep".into()));
    assert!(trial.node(0).sender(&trial.channel(0, &[1], 8)).is_err());
}

#[test]
fn sides_that_disagree_are_refused() {
    let trial = Trial::new();
    let _sender = trial.node(0).sender(&trial.channel(0, &[1], 8)).unwrap();
    // 9 bytes need no larger slot than 8, so the files have the same size.
    for payload in [9, 9000] {
        let spec = trial.channel(0, &[1], payload);
        let error = trial.node(1).receiver(&spec, Wait::Spin).err().unwrap();
        assert!(error.to_string().contains("the same channel"), "{error}");
    }
}

#[test]
fn each_part_is_played_once_and_by_those_whom_the_channel_names() {
    let trial = Trial::new();
    let spec = trial.channel(0, &[1], 8);
    let mut sender = trial.node(0).sender(&spec).unwrap();
    let _receiver = trial.node(1).receiver(&spec, Wait::Spin).unwrap();
    assert!(trial.node(0).sender(&spec).is_err());
    assert!(trial.node(1).receiver(&spec, Wait::Spin).is_err());
    assert!(trial.node(7).receiver(&spec, Wait::Spin).is_err());
    assert!(trial.node(1).receiver(&spec, Wait::Callback).is_err());
    assert!(sender.send(9, &mut |_| unreachable!()).is_err());
    // The refused ones have not disturbed anybody.
    assert_eq!(sender.matched().unwrap(), 1);
    assert_eq!(trial.files().len(), 1);
}
