//! What the node of `null` gives back.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

use dyno_adapter::{ChannelSpec, Endpoint, Error, Node, NodeContext, Options, Sent, Wait};
use std::path::PathBuf;

fn node() -> Box<dyn Node> {
    dyno_adapter_null::adapter()
        .open(&NodeContext {
            session: "null-test".into(),
            scratch: PathBuf::from("/nonexistent"),
            participant: 0,
            address: "127.0.0.1".into(),
            looked_at: 0,
            options: Options::new(),
        })
        .unwrap()
}

fn channel(max_payload: usize) -> ChannelSpec {
    ChannelSpec {
        id: 0,
        name: "null-test.0".into(),
        max_payload,
        writer: 0,
        writer_address: "127.0.0.1".into(),
        readers: vec![Endpoint {
            participant: 0,
            address: "127.0.0.1".into(),
            port: 1,
        }],
        carries: Default::default(),
    }
}

#[test]
fn a_message_comes_back_as_it_was_filled() {
    let mut node = node();
    for size in [1, 8, 13, 4096, 4_000_001] {
        let spec = channel(4_000_001);
        let mut sender = node.sender(&spec).unwrap();
        let mut receiver = node.receiver(&spec, Wait::Spin).unwrap();
        let sent = sender.send(size, &mut |b| b.fill(0x5a)).unwrap();
        assert_eq!(sent, Sent::Accepted);
        let mut seen = Vec::new();
        assert!(receiver.take(&mut |m| seen = m.to_vec()).unwrap());
        assert_eq!(seen, vec![0x5a; size]);
        assert!(!receiver.take(&mut |_| unreachable!()).unwrap());
    }
}

#[test]
fn a_send_before_the_take_is_refused_and_keeps_the_first_message() {
    let (mut node, spec) = (node(), channel(8));
    let mut sender = node.sender(&spec).unwrap();
    let mut receiver = node.receiver(&spec, Wait::Spin).unwrap();
    assert_eq!(sender.send(8, &mut |b| b.fill(1)).unwrap(), Sent::Accepted);
    let refused = sender.send(8, &mut |_| unreachable!()).unwrap();
    assert_eq!(refused, Sent::Refused);
    assert!(receiver.take(&mut |m| assert_eq!(m, [1; 8])).unwrap());
    assert_eq!(sender.send(8, &mut |b| b.fill(2)).unwrap(), Sent::Accepted);
}

#[test]
fn the_ends_see_each_other_only_while_both_exist() {
    let (mut node, spec) = (node(), channel(8));
    let mut sender = node.sender(&spec).unwrap();
    assert_eq!(sender.matched().unwrap(), 0);
    let mut receiver = node.receiver(&spec, Wait::Spin).unwrap();
    assert_eq!(sender.matched().unwrap(), 1);
    assert!(receiver.matched().unwrap());
    drop(sender);
    assert!(!receiver.matched().unwrap());
}

#[test]
fn what_it_cannot_do_is_refused_with_the_reason() {
    let (mut node, spec) = (node(), channel(8));
    let error = node.receiver(&spec, Wait::Block).err().unwrap();
    assert!(matches!(&error, Error::Unsupported(m) if m.contains("only spins")));
    let _first = node.sender(&spec).unwrap();
    assert!(node.sender(&spec).is_err());
    drop(_first);
    let error = node.sender(&spec).unwrap().send(9, &mut |_| unreachable!());
    assert!(error.unwrap_err().to_string().contains("9 bytes"));
}

#[test]
fn nodes_do_not_share_channels() {
    let (mut one, mut other, spec) = (node(), node(), channel(8));
    let mut sender = one.sender(&spec).unwrap();
    let mut receiver = other.receiver(&spec, Wait::Spin).unwrap();
    assert_eq!(sender.matched().unwrap(), 0);
    sender.send(8, &mut |b| b.fill(0)).unwrap();
    assert!(!receiver.take(&mut |_| unreachable!()).unwrap());
}
