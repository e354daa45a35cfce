//! What goes through the broker.

use crate::common::{Trial, pair, send, wait_until};
use dyno_adapter::OptionValue;
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
fn reads_again_and_again_find_every_value_that_waits_for_them() {
    let trial = Trial::new().text("receive", "get");
    carries(trial.with_broker(&["--insecure"]));
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
