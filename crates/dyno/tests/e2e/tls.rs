//! Stacks over TLS, with certificates and tokens of the trial.

use crate::brokers::{DATABROKER, SUITE, turn};
use crate::harness::{Place, count, on_stack};
use std::path::PathBuf;

/// Messages over TLS, with a certificate that the trial makes and whose key is gone with it. The cases of conformance
/// are those of the stack without TLS, whose adapter it is.
#[track_caller]
fn carries_over_tls(stack: &str, command: &str) {
    let Some(_turn) = turn(command) else {
        return;
    };
    let place = Place::new();
    place.suite("broker", &SUITE.replace("10 s", "200 ms"));
    let shown = place.measure("broker", &["--stack", stack, "--repeats", "0"]);
    let e = on_stack(&shown, stack);
    assert!(count(e, "offered") >= 40, "{e:#}");
    assert_eq!(count(e, "received"), count(e, "offered"), "{e:#}");
    assert_eq!(place.leftovers(), Vec::<PathBuf>::new());
}

#[test]
fn mqtt_carries_messages_over_tls() {
    carries_over_tls("mqtt-qos0-tls", "mosquitto");
}

#[test]
fn nats_carries_messages_over_tls() {
    carries_over_tls("nats-tls", "nats-server");
}

#[test]
fn kuksa_carries_messages_over_tls() {
    carries_over_tls("kuksa-tls", DATABROKER);
}

#[test]
fn kuksa_carries_messages_with_tokens() {
    carries_over_tls("kuksa-token", DATABROKER);
}

/// Its broker has a key for tokens; the clients' token is missing, or signed with another key.
#[test]
fn a_missing_or_wrong_token_is_one_clear_error() {
    let Some(_turn) = turn(DATABROKER) else {
        return;
    };
    let stack = include_str!("../../../../adapters/kuksa/stacks/kuksa-token.toml");
    for (changed, instead, said) in [
        (
            "token = true",
            "token = false",
            "wants a token, and the stack has none",
        ),
        (
            "-sign token.key",
            "-sign server.key",
            "does not take the stack's token",
        ),
    ] {
        let place = Place::new();
        assert!(stack.contains(changed));
        place.stack("stranger", &stack.replace(changed, instead));
        place.suite("broker", &SUITE.replace("10 s", "100 ms"));
        place
            .run(&[
                "run", "broker", "--stack", "stranger", "--out", "out", "--quiet",
            ])
            .with_code(4);
        place.run(&["show", "out"]).says(said);
    }
}

/// The stack's broker has a certificate of somebody else's name: nothing is sent to it.
#[test]
fn a_broker_with_another_name_is_refused_by_its_clients() {
    let _turn = turn("mosquitto");
    let place = Place::new();
    let stack = include_str!("../../../../adapters/mqtt/stacks/mqtt-qos0-tls.toml");
    place.stack(
        "false-name",
        &stack.replace("DNS:dyno,IP:{address}", "DNS:other"),
    );
    place.suite("broker", &SUITE.replace("10 s", "100 ms"));
    place
        .run(&[
            "run",
            "broker",
            "--stack",
            "false-name",
            "--out",
            "out",
            "--quiet",
        ])
        .with_code(4);
    place.run(&["show", "out"]).says("A TLS error occurred");
}

/// What makes the certificate fails: the trial says who and why.
#[test]
fn a_program_that_prepares_a_daemon_and_fails_is_named() {
    let place = Place::new();
    let stack = include_str!("../../../../adapters/mqtt/stacks/mqtt-qos0-tls.toml");
    place.stack("no-key", &stack.replace("prime256v1", "prime257v1"));
    place.suite("broker", &SUITE.replace("10 s", "100 ms"));
    place
        .run(&[
            "run", "broker", "--stack", "no-key", "--out", "out", "--quiet",
        ])
        .with_code(4);
    place
        .run(&["show", "out"])
        .says("daemon mosquitto: openssl, which prepares it, ended with exit code 1");
}
