//! Cases in which one end of a channel is closed while the others go on.

use super::ends::{Reader, Writer, deliver, link};
use super::exchange::Pair;
use super::rig::Rig;
use super::signal::ended;
use dyno_adapter::{Node, PATIENCE};

pub(super) fn receiver_survives_a_closed_sender(rig: &Rig) {
    for wait in rig.waits() {
        let mut pair = Pair::open(rig, rig.size(64), *wait);
        for _ in 0..20 {
            pair.writer.send(8);
        }
        let Pair {
            writer,
            mut reader,
            _nodes: nodes,
        } = pair;
        let accepted = writer.close();
        // Long enough for what was under way to arrive and for a take to notice.
        std::thread::sleep(3 * PATIENCE);
        reader.close();
        reader.log.assert_arrived(&accepted, true);
        drop((reader, nodes));
    }
}

pub(super) fn one_of_two_receivers_may_go(rig: &Rig) {
    const AFTERWARDS: u32 = 200;
    let size = rig.size(64);
    let wait = rig.pull_wait();
    let channel = rig.channel(0, 0, &[1, 2], size);
    let mut nodes: Vec<Box<dyn Node>> = (0..3).map(|i| rig.node(i)).collect();
    let mut readers = [
        Reader::open(&mut *nodes[1], &channel, wait),
        Reader::open(&mut *nodes[2], &channel, wait),
    ];
    let mut writers = [Writer::open(&mut *nodes[0], &channel)];
    link(&mut writers, 2, &mut readers);
    assert!(
        deliver(&mut writers[0], &readers, size, rig.may_lose()),
        "two receivers"
    );
    let [leaving, mut staying] = readers;
    drop(leaving);

    let [mut writer] = writers;
    let sending = std::thread::spawn(move || {
        for _ in 0..AFTERWARDS {
            // An error ends the trial, a refusal is a loss; both are answers.
            if writer.try_send(size).is_err() {
                break;
            }
        }
        writer
    });
    let writer = ended(
        sending,
        "a send hangs after one of two receivers was closed",
    );
    if !rig.may_lose() {
        let accepted = writer.accepted.len();
        staying
            .log
            .wait("what was accepted after the other receiver went", |seen| {
                seen.messages.len() >= accepted
            });
    }
    staying.close();
    // One that failed may have reached the receiver that is left.
    let mut possible = writer.accepted.clone();
    possible.extend(writer.failed);
    staying.log.assert_arrived(&possible, true);
}
