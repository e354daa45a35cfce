//! The conformance suite with zenoh's shared memory, each case in a process of its own.
//!
//! zenoh keeps pieces of shared memory for the rest of a process's life and shares them among all
//! its sessions. The agent plays one trial and ends; cases that run side by side in one process
//! would clear up after each other. `WhatIsCreatedIsClaimedAndRemoved` is left out for the same
//! reason: it wants gone at once what zenoh only removes when the process exits.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{ChannelSpec, Endpoint, NodeContext};
use dyno_conformance::{Case, IntoOption, Subject, run, run_child};
use std::sync::{Mutex, PoisonError};

/// Set in the process that plays a case.
const ALONE: &str = "DYNO_TEST_ALONE";

fn subject() -> Subject {
    Subject {
        adapter: Box::new(
            dyno_abi::through(dyno_adapter_zenoh::dyno_adapter).unwrap_or_else(|e| panic!("{e}")),
        ),
        options: [("shm".to_owned(), true.into_option())].into(),
        // Its watchdog drops messages in shared memory when a process is held up for 100 ms.
        best_effort: Some(true),
        except: &[],
        module: concat!(module_path!(), "::entry"),
    }
}

mod entry {
    /// Not a test by itself: the entry of the suite's own child processes.
    #[test]
    fn child() {
        super::run_child(super::subject());
    }
}

/// Cases that start together remove each other's fresh segments for those of dead processes.
static TURN: Mutex<()> = Mutex::new(());

fn alone(test: &str, case: Case) {
    if std::env::var_os(ALONE).is_some() {
        return run(case, subject());
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

macro_rules! cases {
    ($($test:ident: $case:ident,)*) => {
        $(#[test]
        fn $test() {
            alone(stringify!($test), Case::$case);
        })*
    };
}

cases! {
    description_is_complete: DescriptionIsComplete,
    undeclared_waits_are_refused: UndeclaredWaitsAreRefused,
    every_size_arrives_intact: EverySizeArrivesIntact,
    mixed_sizes_arrive_in_order: MixedSizesArriveInOrder,
    replies_flow_back: RepliesFlowBack,
    a_callback_may_send: ACallbackMaySend,
    late_joiners_are_matched: LateJoinersAreMatched,
    two_senders_reach_three_receivers: TwoSendersReachThreeReceivers,
    a_full_buffer_damages_nothing: AFullBufferDamagesNothing,
    signals_tear_no_message: SignalsTearNoMessage,
    blocking_take_returns_without_a_message: BlockingTakeReturnsWithoutAMessage,
    spinning_take_returns_at_once: SpinningTakeReturnsAtOnce,
    a_dropped_subscription_is_silent: ADroppedSubscriptionIsSilent,
    processes_exchange_messages: ProcessesExchangeMessages,
    sender_survives_a_killed_receiver: SenderSurvivesAKilledReceiver,
    receiver_survives_a_killed_sender: ReceiverSurvivesAKilledSender,
    calls_are_answered: CallsAreAnswered,
    a_callback_may_answer: ACallbackMayAnswer,
    two_callers_reach_one_provider: TwoCallersReachOneProvider,
    call_survives_a_killed_provider: CallSurvivesAKilledProvider,
    open_and_close_leak_nothing: OpenAndCloseLeakNothing,
}

unsafe extern "C" {
    fn quick_exit(code: i32) -> !;
}

/// So an agent ends whose trial has failed.
#[test]
fn a_process_that_ends_at_once_leaves_no_segment() {
    if std::env::var_os(ALONE).is_some() {
        return open_and_end();
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let test = "a_process_that_ends_at_once_leaves_no_segment";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let [told, errors] = [&output.stdout, &output.stderr].map(|s| String::from_utf8_lossy(s));
    assert_eq!(output.status.code(), Some(3), "{told}{errors}");
    let segments: Vec<_> = told
        .lines()
        .filter_map(|line| line.strip_prefix("left: "))
        .map(std::path::PathBuf::from)
        .collect();
    assert!(!segments.is_empty(), "{told}");
    let left: Vec<_> = segments.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Tells which shared memory it has, its session closed, and ends the process.
fn open_and_end() {
    let scratch = tempfile::tempdir().unwrap();
    let subject = subject();
    let mut node = subject
        .adapter
        .open(&NodeContext {
            session: format!("end{}", std::process::id()),
            scratch: scratch.path().to_owned(),
            participant: 0,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: subject.options,
        })
        .unwrap();
    let channel = ChannelSpec {
        id: 0,
        name: "end.c0".into(),
        max_payload: 65_536,
        writer: 0,
        writer_address: "127.0.0.1".into(),
        readers: vec![Endpoint {
            participant: 0,
            address: "127.0.0.1".into(),
            port: 20_000,
        }],
        carries: Default::default(),
    };
    let mut sender = node.sender(&channel).unwrap();
    // Nobody reads it, but shared memory is made for it.
    sender
        .send(channel.max_payload, &mut |buffer| buffer.fill(1))
        .unwrap();
    drop((sender, node));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let segments = maps.lines().filter(|line| line.ends_with(".zenoh"));
    for (_, path) in segments.filter_map(|line| line.split_once("/dev/shm/")) {
        println!("\nleft: /dev/shm/{path}");
    }
    drop(scratch);
    std::io::Write::flush(&mut std::io::stdout()).unwrap();
    // SAFETY: it ends the process.
    unsafe { quick_exit(3) }
}
