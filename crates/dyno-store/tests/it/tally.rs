//! Counting trials without taking them in.

use dyno_kit::example::{completed, failed, id, manifest};
use dyno_model::record::FailureKind;
use dyno_store::{Count, RunWriter, Tally, has_runner};
use std::fs;

fn without_state(count: Count) -> Count {
    Count { state: 0, ..count }
}

#[test]
fn trials_are_counted_by_their_ending_as_they_appear() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let mut tally = Tally::new(&dir);
    assert_eq!(without_state(tally.look().unwrap()), Count::default());

    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    let empty = tally.look().unwrap();
    assert_eq!(without_state(empty), Count::default());

    // The example's trial is a disturbed one.
    let mut calm = completed(id(1, 0));
    calm.disturbed.clear();
    writer.write_trial(&calm).unwrap();
    writer.write_trial(&completed(id(1, 1))).unwrap();
    writer
        .write_trial(&failed(id(1, 2), FailureKind::Hang))
        .unwrap();
    writer
        .write_trial(&failed(id(2, 0), FailureKind::Interrupted))
        .unwrap();
    let four = tally.look().unwrap();
    let expected = Count {
        stored: 4,
        failed: 2,
        interrupted: 1,
        disturbed: 1,
        unreadable: 0,
        state: 0,
    };
    assert_eq!(without_state(four), expected);
    assert_ne!(four.state, empty.state);
    assert_eq!(tally.look().unwrap(), four, "nothing changed");

    fs::write(dir.join("trials/e0002-t001.json"), "{\"format\":").unwrap();
    fs::write(dir.join("trials/.tmp-1-e0002-t002.json"), "{}").unwrap();
    fs::write(
        dir.join("trials/e0002-t002.json"),
        "{\"format\":99,\"outcome\":\"completed\"}",
    )
    .unwrap();
    assert_eq!(tally.look().unwrap().unreadable, 2);

    // Measured again, as after `--resume`.
    writer.write_trial(&completed(id(2, 0))).unwrap();
    let again = tally.look().unwrap();
    assert_eq!((again.stored, again.failed, again.interrupted), (4, 1, 0));
    assert_eq!(again, Tally::new(&dir).look().unwrap());
}

#[test]
fn a_writer_is_seen_by_its_lock() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    assert_eq!(has_runner(&dir), Some(false));
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    assert_eq!(has_runner(&dir), Some(true));
    drop(writer);
    assert_eq!(has_runner(&dir), Some(false));
}
