//! What goes through the broker.

use crate::common::{Trial, channel, one_line, pair, send, wait_until};
use dyno_adapter::{OptionValue, Wait};
use std::time::Duration;

/// Messages of each length from nothing on, in order.
fn carries(trial: Trial) {
    let (mut sender, _subscription, heard) = pair(&trial, Duration::ZERO);
    let messages: Vec<Vec<u8>> = (0..=64)
        .map(|length| (0..length).map(|i| i ^ 0xa5).collect())
        .collect();
    for (i, message) in messages.iter().enumerate() {
        send(sender.as_mut(), message).unwrap();
        // The broker keeps the latest value alone for some.
        wait_until("a message", || heard.lock().unwrap().len() > i);
    }
    assert_eq!(*heard.lock().unwrap(), messages);
}

#[test]
fn a_stream_and_single_calls_carry_every_length() {
    for publish in ["stream", "unary"] {
        let trial = Trial::new().text("publish", publish);
        carries(trial.with_broker(&["--insecure"]));
    }
}

#[test]
fn a_web_socket_carries_every_length() {
    let trial = Trial::new().text("receive", "viss");
    carries(trial.with_broker(&["--insecure", "--enable-viss"]));
}

#[test]
fn a_set_over_a_web_socket_and_a_subscription_of_targets_carry_every_length() {
    let trial = Trial::new().text("publish", "viss");
    carries(trial.with_broker(&["--insecure", "--enable-viss"]));
}

#[test]
fn each_take_is_answered_and_shows_a_new_value_once() {
    let trial = Trial::new()
        .text("receive", "get")
        .with_broker(&["--insecure"]);
    let mut reader = trial
        .open(1)
        .unwrap()
        .receiver(&channel(0), Wait::Spin)
        .unwrap();
    let mut sender = trial.open(0).unwrap().sender(&channel(0)).unwrap();
    wait_until("both ends matched", || {
        sender.matched().unwrap() == 1 && reader.matched().unwrap()
    });
    let mut take = || {
        let mut shown = None;
        let is_new = reader
            .take(&mut |bytes| assert_eq!(shown.replace(bytes.to_owned()), None))
            .unwrap();
        assert_eq!(is_new, shown.is_some());
        shown
    };
    assert_eq!(take(), None, "nobody has written");
    for length in 0..=64_u8 {
        let message: Vec<u8> = (0..length).map(|i| i ^ 0xa5).collect();
        send(sender.as_mut(), &message).unwrap();
        let mut found = None;
        wait_until("a message", || {
            found = take();
            found.is_some()
        });
        assert_eq!(found, Some(message));
        assert_eq!(take(), None, "the value of before is no message");
    }
}

#[test]
fn a_reader_that_asks_and_one_that_is_called_are_told_apart() {
    let asking = Trial::new()
        .text("receive", "get")
        .with_broker(&["--insecure"]);
    let called = asking
        .open(1)
        .unwrap()
        .subscribe(&channel(0), Box::new(|_| {}));
    let error = one_line(&called.err().unwrap());
    assert!(error.contains("asks = true"), "{error}");
    let subscribed = Trial::new().with_broker(&["--insecure"]);
    let taken = subscribed
        .open(1)
        .unwrap()
        .receiver(&channel(0), Wait::Spin);
    let error = one_line(&taken.err().unwrap());
    assert!(error.contains("asks = true"), "{error}");
}

#[test]
fn a_reader_whose_broker_ends_says_so() {
    let mut trial = Trial::new()
        .text("receive", "get")
        .with_broker(&["--insecure"]);
    let mut reader = trial
        .open(1)
        .unwrap()
        .receiver(&channel(0), Wait::Spin)
        .unwrap();
    assert!(!reader.take(&mut |_| {}).unwrap());
    trial.end_broker();
    let mut ended = None;
    wait_until("an error", || {
        ended = reader.take(&mut |_| {}).err();
        ended.is_some()
    });
    one_line(&ended.unwrap());
    wait_until("the end of the presence", || reader.matched().is_err());
}

/// The reader still handles the first when the others come: the broker drops the oldest, and the newest arrives.
#[test]
fn a_slow_reader_without_a_buffer_misses_values_but_not_the_last() {
    const VALUES: u32 = 200;
    let trial = Trial::new()
        .set("broker_queue", OptionValue::Int(0))
        .text("publish", "unary")
        .with_broker(&["--insecure"]);
    let (mut sender, _subscription, heard) = pair(&trial, Duration::from_millis(20));
    // The SDK's window of HTTP/2 has room for 2 MiB, which are 50 of them.
    let mut message = [0; 30_000];
    for i in 0..VALUES {
        message[..4].copy_from_slice(&i.to_le_bytes());
        send(sender.as_mut(), &message).unwrap();
    }
    wait_until("the last", || {
        let heard = heard.lock().unwrap();
        heard
            .last()
            .is_some_and(|m| m[..4] == (VALUES - 1).to_le_bytes())
    });
    assert!(heard.lock().unwrap().len() < VALUES as usize);
}
