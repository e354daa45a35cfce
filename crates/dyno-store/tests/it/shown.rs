//! What was printed of a large run is kept beside it, and used only while everything it was made of stands.

use dyno_kit::example::{completed, id, manifest};
use dyno_store::{KEPT_FROM, RunWriter, Shown, read_run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const TEXT: &str = "the table\n";

fn run(trials: usize) -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("run");
    let mut manifest = manifest();
    for e in &mut manifest.plan.experiments {
        e.trials = trials as u32;
    }
    let writer = RunWriter::create(&dir, &manifest).unwrap();
    writer.write_trial(&completed(id(1, 0))).unwrap();
    drop(writer);
    let first = fs::read_to_string(trial(&dir, 0)).unwrap();
    for number in 1..trials {
        let own = first.replace("\"number\":0", &format!("\"number\":{number}"));
        fs::write(trial(&dir, number), own).unwrap();
    }
    (scratch, dir)
}

fn trial(dir: &Path, number: usize) -> PathBuf {
    dir.join(format!("trials/e0001-t{number:03}.json"))
}

fn shown(dir: &Path) -> Shown {
    Shown::of(dir, "table", "dyno 1").unwrap().unwrap()
}

fn kept() -> (tempfile::TempDir, PathBuf) {
    let (scratch, dir) = run(KEPT_FROM);
    shown(&dir).keep(TEXT).unwrap();
    (scratch, dir)
}

#[test]
fn what_was_kept_is_read_while_nothing_changed() {
    let (_scratch, dir) = kept();
    assert_eq!(shown(&dir).read().as_deref(), Some(TEXT));
    assert_eq!(read_run(&dir).unwrap().problems, []);
    assert_eq!(read_run(&dir).unwrap().run.trials.len(), KEPT_FROM);
}

#[test]
fn it_is_refused_when_a_trial_is_changed_added_or_removed() {
    for change in [
        (|dir| {
            // As long as before, and as old.
            let path = trial(dir, 7);
            let before = fs::metadata(&path).unwrap().modified().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let other = text.replacen("\"position\":", "\"positiom\":", 1);
            assert_ne!(text, other);
            fs::write(&path, other).unwrap();
            fs::File::open(&path).unwrap().set_modified(before).unwrap();
        }) as fn(&Path),
        |dir| fs::remove_file(trial(dir, KEPT_FROM - 1)).unwrap(),
        |dir| {
            fs::copy(trial(dir, 0), trial(dir, KEPT_FROM)).unwrap();
        },
        |dir| fs::rename(trial(dir, 0), trial(dir, KEPT_FROM)).unwrap(),
        |dir| {
            let path = dir.join("run.json");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("{text} ")).unwrap();
        },
        |dir| {
            fs::create_dir(dir.join("parts")).unwrap();
            fs::copy(dir.join("run.json"), dir.join("parts/1.json")).unwrap();
        },
    ] {
        let (_scratch, dir) = kept();
        change(&dir);
        let now = Shown::of(&dir, "table", "dyno 1").unwrap();
        assert_eq!(now.and_then(|now| now.read()), None);
    }
}

#[test]
fn another_program_or_layout_does_not_take_it() {
    let (_scratch, dir) = kept();
    for (name, maker) in [("table", "dyno 2"), ("json", "dyno 1")] {
        let other = Shown::of(&dir, name, maker).unwrap().unwrap();
        assert_eq!(other.read(), None);
    }
    // Nor under the right name.
    fs::copy(dir.join(".shown/table"), dir.join(".shown/json")).unwrap();
    let other = Shown::of(&dir, "json", "dyno 1").unwrap().unwrap();
    assert_eq!(other.read(), None);
}

#[test]
fn what_is_damaged_is_not_used_and_is_kept_anew() {
    let (_scratch, dir) = kept();
    let path = dir.join(".shown/table");
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for damaged in [&whole[..whole.len() - 1], &whole[..40], &[], &changed] {
        fs::write(&path, damaged).unwrap();
        assert_eq!(shown(&dir).read(), None);
        shown(&dir).keep(TEXT).unwrap();
        assert_eq!(shown(&dir).read().as_deref(), Some(TEXT));
    }
}

#[test]
fn nothing_is_kept_of_a_run_that_changed_meanwhile() {
    let (_scratch, dir) = run(KEPT_FROM + 1);
    let before = shown(&dir);
    fs::remove_file(trial(&dir, 3)).unwrap();
    before.keep(TEXT).unwrap();
    assert!(!dir.join(".shown").exists());
}

#[test]
fn small_runs_keep_nothing() {
    let (_scratch, dir) = run(KEPT_FROM - 1);
    assert_eq!(Shown::of(&dir, "table", "dyno 1").unwrap(), None);
}

#[test]
fn a_run_that_cannot_be_written_to_says_so_and_stays_readable() {
    let (_scratch, dir) = run(KEPT_FROM);
    // A file in the place of the directory refuses root as well, which no mode does.
    fs::write(dir.join(".shown"), "").unwrap();
    let e = shown(&dir).keep(TEXT).unwrap_err();
    assert!(e.to_string().contains(".shown"), "{e}");
    assert_eq!(shown(&dir).read(), None);
    fs::remove_file(dir.join(".shown")).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    let _ = shown(&dir).keep(TEXT);
    assert_eq!(read_run(&dir).unwrap().run.trials.len(), KEPT_FROM);
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
}
