//! Following a run that another process writes.

use dyno_kit::example::{completed, failed, id, manifest};
use dyno_model::TrialId;
use dyno_model::record::FailureKind;
use dyno_store::{News, Redo, RunFollower, RunWriter, StoreError};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

fn ids(news: &News) -> Vec<TrialId> {
    news.trials.iter().map(|t| t.id).collect()
}

#[test]
fn each_trial_is_told_once() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    let mut follower = RunFollower::open(&dir).unwrap();
    assert_eq!(*follower.manifest(), manifest());
    assert_eq!(follower.news().unwrap(), News::default());
    writer.write_trial(&completed(id(1, 0))).unwrap();
    writer.write_trial(&completed(id(0, 0))).unwrap();
    let news = follower.news().unwrap();
    assert_eq!(news.trials.len(), 2);
    assert!(!news.anew);
    assert_eq!(follower.news().unwrap(), News::default());
    writer.write_trial(&completed(id(2, 0))).unwrap();
    fs::write(dir.join("trials/e0002-t001.json"), "{").unwrap();
    assert_eq!(ids(&follower.news().unwrap()), [id(2, 0)]);
}

#[test]
fn a_trial_that_is_measured_again_makes_all_of_it_new() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    writer
        .write_trial(&failed(id(0, 0), FailureKind::Crash))
        .unwrap();
    writer.write_trial(&completed(id(1, 0))).unwrap();
    let mut follower = RunFollower::open(&dir).unwrap();
    assert_eq!(follower.news().unwrap().trials.len(), 2);
    writer.write_trial(&completed(id(0, 0))).unwrap();
    // Whatever the resolution of the file system's clock is.
    let later = SystemTime::now() + Duration::from_secs(60);
    let file = File::options()
        .write(true)
        .open(dir.join("trials/e0000-t000.json"));
    file.unwrap().set_modified(later).unwrap();
    let news = follower.news().unwrap();
    assert!(news.anew);
    assert_eq!(news.trials.len(), 2);
    assert!(!follower.news().unwrap().anew);
}

#[test]
fn a_runner_at_work_is_seen_and_not_kept_out() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("run");
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    let follower = RunFollower::open(&dir).unwrap();
    assert_eq!(follower.has_runner(), Some(true));
    drop(writer);
    assert_eq!(follower.has_runner(), Some(false));
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    assert_eq!(follower.has_runner(), Some(true));
    let second = RunWriter::open_for_resume(&dir, Redo::default());
    assert!(
        matches!(second, Err(StoreError::Locked { .. })),
        "{second:?}"
    );
    drop(writer);
}
