//! Cases about where participants are: an unusual scratch directory, an address of another family.

use super::ends::{Reader, Writer, deliver, link};
use super::residue::{self, Item};
use super::rig::Rig;
use dyno_adapter::{CLAIMS, Node, Result, Wait};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::unix::fs::symlink;
use std::path::Path;

pub(super) fn a_long_scratch_path_is_served_or_refused(rig: &Rig) {
    /// More than the 108 bytes that the name of a socket can have (unix(7)).
    const LONG: usize = 200;
    let mut scratch = rig.scratch().to_owned();
    // One that is cut off somewhere names another directory, which is there as well.
    while scratch.as_os_str().len() < LONG {
        scratch.push("d");
    }
    // Claims of there lie where they are looked for.
    let (claims, link) = (rig.scratch().join(CLAIMS), scratch.join(CLAIMS));
    std::fs::create_dir_all(&scratch)
        .and_then(|()| std::fs::create_dir_all(&claims))
        .and_then(|()| symlink(&claims, &link))
        .expect("directories in the scratch directory");
    let before = residue::within(rig.scratch());
    let while_open = || {
        let mut elsewhere = residue::within(rig.scratch());
        elsewhere.retain(|item| match item {
            Item::File(path) => !path.starts_with(&scratch) && !before.contains(item),
            _ => false,
        });
        assert!(
            elsewhere.is_empty(),
            "created outside of the scratch directory {}: {elsewhere:?}",
            scratch.display()
        );
    };
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Err(refusal) = exchange(rig, &scratch, local, &while_open) {
        assert_gives_a_reason(&refusal);
    }
    std::fs::remove_file(link).expect("a link that was made");
}

pub(super) fn ipv6_is_served_or_refused(rig: &Rig) {
    let local = IpAddr::V6(Ipv6Addr::LOCALHOST);
    if UdpSocket::bind((local, 0)).is_err() {
        return rig.skip("this machine has no IPv6");
    }
    if let Err(refusal) = exchange(rig, rig.scratch(), local, &|| ()) {
        assert_gives_a_reason(&refusal);
    }
}

fn assert_gives_a_reason(refusal: &dyno_adapter::Error) {
    let text = refusal.to_string();
    assert!(
        !text.contains("the adapter gives no reason"),
        "refused without a reason: {text}"
    );
}

/// Sends a message from participant 0 to 1 (one participant for loopback adapters), or says what refused
/// to be opened.
fn exchange(rig: &Rig, scratch: &Path, address: IpAddr, while_open: &dyn Fn()) -> Result<()> {
    let wait = rig.pull_wait();
    let size = rig.size(64);
    let reading = if rig.capabilities.loopback { 0 } else { 1 };
    let mut nodes: Vec<Box<dyn Node>> = Vec::new();
    for participant in 0..=reading {
        nodes.push(rig.try_node(participant, scratch, address)?);
    }
    let last = usize::from(reading);
    // What is refused at all is refused when it is opened.
    let tried = rig.channel_at(address, 0, 0, &[reading], size);
    match wait {
        Wait::Callback => drop(nodes[last].subscribe(&tried, Box::new(|_| {}))?),
        Wait::Spin | Wait::Block => drop(nodes[last].receiver(&tried, wait)?),
    }
    drop(nodes[0].sender(&tried)?);

    let channel = rig.channel_at(address, 1, 0, &[reading], size);
    let mut readers = [Reader::open(&mut *nodes[last], &channel, wait)];
    let mut writers = [Writer::open(&mut *nodes[0], &channel)];
    link(&mut writers, 1, &mut readers);
    while_open();
    assert!(
        deliver(&mut writers[0], &readers, size, rig.may_lose()),
        "nothing arrives"
    );
    readers[0].close();
    readers[0]
        .log
        .assert_arrived(&writers[0].accepted, rig.may_lose());
    Ok(())
}
