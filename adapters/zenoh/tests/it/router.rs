//! Through a router: a session in the mode of one, which is what `zenohd` opens.

use crate::common::{Trial, connect, pattern, take, write};
use dyno_adapter::{OptionValue, Sent, Wait};
use dyno_adapter_zenoh::adapter;
use zenoh::Wait as _;

#[test]
fn clients_reach_each_other_through_the_router_alone() {
    let trial = Trial::new();
    let port = trial.port(3);
    let trial = trial.with("router", OptionValue::Int(port.into()));
    let mut config = zenoh::Config::default();
    for (key, value) in [
        ("mode", "\"router\"".to_owned()),
        ("scouting/multicast/enabled", "false".to_owned()),
        ("listen/endpoints", format!("[\"tcp/127.0.0.1:{port}\"]")),
    ] {
        config.insert_json5(key, &value).unwrap();
    }
    let _router = zenoh::open(config).wait().unwrap();

    let mut near = adapter().open(&trial.context(0)).unwrap();
    let mut far = adapter().open(&trial.context(1)).unwrap();
    let (forth, back) = (trial.channel(0, 100_000, 0, 1), trial.channel(1, 64, 1, 0));
    let mut pings = far.receiver(&forth, Wait::Block).unwrap();
    let mut pong = far.sender(&back).unwrap();
    let mut ping = near.sender(&forth).unwrap();
    let mut pongs = near.receiver(&back, Wait::Block).unwrap();
    connect(ping.as_mut(), pings.as_mut());
    connect(pong.as_mut(), pongs.as_mut());
    for (number, size) in [(0, 64), (1, 100_000), (2, 8)] {
        let sent = ping.send(size, &mut |bytes| write(number, bytes)).unwrap();
        assert_eq!(sent, Sent::Accepted);
        assert_eq!(take(pings.as_mut()), pattern(number, size));
        pong.send(64, &mut |bytes| write(number, bytes)).unwrap();
        assert_eq!(take(pongs.as_mut()), pattern(number, 64));
    }
    // Neither listens: there is no way but through the router.
    assert!(std::net::TcpStream::connect(("127.0.0.1", trial.port(0))).is_err());
}

#[test]
fn the_stack_asks_for_the_router_of_the_librarys_version() {
    let stack = include_str!("../../../../adapters/zenoh/stacks/zenoh-router.toml");
    let version = adapter().describe().version;
    assert!(
        stack.contains(&format!("--version {version}\"")),
        "{version}"
    );
}

#[test]
fn the_bridge_to_dds_is_of_the_librarys_version() {
    let manifest = include_str!("../../../../daemons/dds-bridge/Cargo.toml");
    let version = adapter().describe().version;
    for name in ["zenoh", "zenoh-plugin-dds"] {
        let line = format!("{name} = {{ version = \"={version}\"");
        assert!(manifest.contains(&line), "{line} in {manifest}");
    }
}
