//! What is wrong around the adapter is one line that says what to do.

use crate::common::{Trial, channel, one_line, pair, send, wait_until};
use dyno_adapter::OptionValue;
use std::io::Read;
use std::net::TcpListener;
use std::time::Duration;

#[track_caller]
fn says(error: &str, words: &[&str]) {
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn a_closed_port_is_named_with_the_option() {
    let trial = Trial::new();
    let port = trial.options["port"].to_string();
    says(
        &trial.refusal(),
        &["no databroker answers", &port, "option `port`"],
    );
}

#[test]
fn something_else_that_listens_is_no_databroker() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // It reads the client's first words, and hangs up.
        stream.read(&mut [0; 24]).unwrap()
    });
    let trial = Trial::new().set("port", OptionValue::Int(port.into()));
    // Before or after the connection counts as made.
    says(&trial.refusal(), &["databroker", "at http://127.0.0.1"]);
    stranger.join().unwrap();
}

#[test]
fn a_broker_of_another_version_is_named_with_that_which_is_wanted() {
    let trial = Trial::new().with_broker(&["--insecure", "--old"]);
    says(
        &trial.refusal(),
        &[
            "does not know this call",
            "databroker 0.7.0",
            "dyno list stacks",
        ],
    );
}

#[test]
fn a_missing_and_a_wrong_token_are_told_apart() {
    let keys = Trial::new();
    keys.run("openssl", &["genrsa", "-out", "key", "2048"]);
    keys.run(
        "openssl",
        &["rsa", "-in", "key", "-pubout", "-out", "public"],
    );
    let public = keys.path().join("public");
    let words = ["--insecure", "--jwt-public-key", public.to_str().unwrap()];
    let without = Trial::new().with_broker(&words);
    says(
        &without.refusal(),
        &["wants a token", "option `token`", "kuksa-token"],
    );
    let with = without.set("token", OptionValue::Bool(true));
    std::fs::write(with.path().join("token"), "a.b.c").unwrap();
    says(
        &with.refusal(),
        &["does not take the stack's token", "--jwt-public-key"],
    );
    std::fs::write(with.path().join("token"), "two\nlines").unwrap();
    says(&with.refusal(), &["set_access_token", "the file token"]);
}

#[test]
fn a_broker_without_tls_is_no_broker_with_it() {
    let trial = Trial::new()
        .set("tls", OptionValue::Bool(true))
        .with_broker(&["--insecure"]);
    let subject = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
    ];
    let files = [
        "-nodes",
        "-subj",
        "/CN=x",
        "-keyout",
        "server.key",
        "-out",
        "server.crt",
    ];
    trial.run("openssl", &[&subject[..], &files].concat());
    says(&trial.refusal(), &["no databroker answers", "certificate"]);
}

#[test]
fn a_signal_that_the_tree_does_not_have_is_named() {
    let trial = Trial::new().with_broker(&["--insecure"]);
    let mut node = trial.open(0).unwrap();
    let error = match node.sender(&channel(9)) {
        Ok(_) => panic!("channel 9 is not in the tree"),
        Err(e) => one_line(&e),
    };
    says(&error, &["Dyno.C9.Writer", "no such signal", "VSS tree"]);
}

#[test]
fn a_broker_without_viss_is_told_how_to_have_it() {
    let trial = Trial::new()
        .text("receive", "viss")
        .with_broker(&["--insecure"]);
    let mut node = trial.open(1).unwrap();
    let error = match node.subscribe(&channel(0), Box::new(|_| {})) {
        Ok(_) => panic!("nobody speaks VISS"),
        Err(e) => one_line(&e),
    };
    says(&error, &["no databroker answers VISS", "--enable-viss"]);
}

/// `ok` is `b2s=` in base64.
#[test]
fn a_value_that_the_broker_refuses_fails_a_later_send_in_its_words() {
    let trial = Trial::new().with_broker_that_takes(&["b2s="]);
    let (mut sender, _subscription, heard) = pair(&trial, Duration::ZERO);
    send(sender.as_mut(), b"ok").unwrap();
    wait_until("the value", || heard.lock().unwrap().len() == 1);
    send(sender.as_mut(), b"no").unwrap();
    let mut error = None;
    wait_until("an error", || {
        error = send(sender.as_mut(), b"ok").err();
        error.is_some()
    });
    says(
        &one_line(&error.unwrap()),
        &["PublishValuesRequest", "Value not allowed"],
    );
}

#[test]
fn a_broker_that_ends_is_noticed_by_both_ends() {
    for (option, value, words) in [
        ("receive", "grpc", "--insecure"),
        ("receive", "viss", "--enable-viss"),
        ("publish", "viss", "--enable-viss"),
    ] {
        let mut trial = Trial::new().text(option, value).with_broker(&[words]);
        let (mut sender, mut subscription, _) = pair(&trial, Duration::ZERO);
        trial.end_broker();
        wait_until("the sender's error", || sender.matched().is_err());
        wait_until("the reader's error", || subscription.matched().is_err());
        wait_until("the send's error", || send(sender.as_mut(), b"x").is_err());
    }
}
