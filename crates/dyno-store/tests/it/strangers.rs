//! A run that somebody else made: what lies in its directory is a regular file of a bounded size, or it is refused at
//! once, and nothing in it leads out of it.

use dyno_kit::example::{completed, id, manifest};
use dyno_store::{
    KEPT_FROM, LATEST, MANIFEST, MergeOptions, Redo, RunFollower, RunWriter, Shown, Tally,
    has_runner, locate, merge, read_distributions, read_manifest, read_raw, read_run,
};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

fn a_run() -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("runs/example");
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    writer.write_trial(&completed(id(0, 0))).unwrap();
    writer.write_trial(&completed(id(1, 0))).unwrap();
    (place, dir)
}

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// What `look` returns; a watchdog ends the test where it waits for somebody to write to a pipe.
fn in_time<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || tell.send(look()));
    let found = told.recv_timeout(Duration::from_secs(60));
    found.expect("it waits for a pipe")
}

const SPARSE: &str = "20 GB that take no space";
/// What is no file, or one of a size that none has.
const IMPOSTORS: [&str; 6] = [
    "a pipe", "a folder", "a device", "a link", "a socket", SPARSE,
];

/// Puts an impostor at `path`; `elsewhere` is what a link leads to.
fn put(what: &str, path: &Path, elsewhere: &Path) {
    match what {
        "a pipe" => fifo(path),
        "a folder" => fs::create_dir(path).unwrap(),
        "a device" => symlink("/dev/zero", path).unwrap(),
        "a socket" => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        SPARSE => File::create(path).unwrap().set_len(20 << 30).unwrap(),
        _ => symlink(elsewhere, path).unwrap(),
    }
}

fn clear(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn what_is_no_file_in_the_place_of_a_trial_is_named_and_the_others_are_read() {
    let (place, dir) = a_run();
    let trial = dir.join("trials/e0001-t000.json");
    let elsewhere = place.path().join("copy.json");
    fs::rename(&trial, &elsewhere).unwrap();
    for what in IMPOSTORS {
        put(what, &trial, &elsewhere);
        let own = dir.clone();
        let (read, alone, raw, count, news) = in_time(move || {
            (
                read_run(&own).unwrap(),
                read_distributions(&own, id(1, 0)).unwrap_err(),
                read_raw(&own, id(1, 0)).unwrap_err(),
                Tally::new(&own).look().unwrap(),
                RunFollower::open(&own).unwrap().news().unwrap(),
            )
        });
        assert_eq!(read.run.trials.len(), 1, "{what}");
        let [problem] = read.problems.as_slice() else {
            panic!("{what}: {:?}", read.problems);
        };
        for told in [problem.to_string(), alone.to_string(), raw.to_string()] {
            let why = ["regular file", "bytes, where"];
            assert!(told.contains("e0001-t000.json"), "{what}: {told}");
            assert!(why.iter().any(|why| told.contains(why)), "{what}: {told}");
            assert!(!told.contains('\n'), "{what}: {told}");
        }
        assert_eq!((count.stored, count.unreadable), (1, 1), "{what}");
        assert_eq!(news.trials.len(), 1, "{what}");
        clear(&trial);
    }
}

#[test]
fn what_is_no_file_in_the_place_of_a_manifest_is_refused_and_hides_no_other_run() {
    let (place, dir) = a_run();
    let runs = place.path().join("runs");
    let other = runs.join("other");
    fs::create_dir(&other).unwrap();
    let elsewhere = dir.join(MANIFEST);
    for what in IMPOSTORS {
        put(what, &other.join(MANIFEST), &elsewhere);
        let (runs, other) = (runs.clone(), other.clone());
        let (latest, refused, own) = in_time({
            let other = other.clone();
            move || {
                (
                    locate(Path::new(LATEST), &runs).unwrap(),
                    read_manifest(&other).unwrap_err().to_string(),
                    locate(&other, &runs),
                )
            }
        });
        assert_eq!(latest, dir, "{what}");
        assert!(
            refused.contains(MANIFEST) && !refused.contains('\n'),
            "{what}: {refused}"
        );
        drop(own);
        clear(&other.join(MANIFEST));
    }
}

#[test]
fn a_lock_that_is_no_file_is_neither_waited_for_nor_written_to() {
    let (place, dir) = a_run();
    let lock = dir.join(".lock");
    let victim = place.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::remove_file(&lock).unwrap();
    for what in IMPOSTORS {
        put(what, &lock, &victim);
        let own = dir.clone();
        let out = place.path().join("merged");
        in_time(move || {
            let _ = has_runner(&own);
            let _ = merge(&[own], &out, &MergeOptions::default());
        });
        if what != SPARSE {
            let own = dir.clone();
            let resumed = in_time(move || RunWriter::open_for_resume(&own, Redo::default()).err());
            assert!(resumed.is_some(), "{what}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{what}");
        clear(&lock);
        let _ = fs::remove_dir_all(place.path().join("merged"));
    }
    // A file of the user's, under a second name.
    fs::hard_link(&victim, &lock).unwrap();
    let refused = RunWriter::open_for_resume(&dir, Redo::default()).unwrap_err();
    let why = std::error::Error::source(&refused).map(ToString::to_string);
    assert!(why.unwrap().contains("2 names"), "{refused}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_run_that_is_reached_through_a_link_is_read_and_resumed() {
    let (place, dir) = a_run();
    let link = place.path().join("link");
    symlink(&dir, &link).unwrap();
    assert_eq!(read_run(&link).unwrap().run.trials.len(), 2);
    assert_eq!(read_raw(&link, id(1, 0)).unwrap(), completed(id(1, 0)).raw);
    let (writer, _) = RunWriter::open_for_resume(&link, Redo::default()).unwrap();
    writer.write_trial(&completed(id(1, 1))).unwrap();
    assert_eq!(read_run(&dir).unwrap().run.trials.len(), 3);
}

/// The writer would put trials there, and a resumed run remove what has the name of a leftover.
#[test]
fn a_folder_of_a_run_that_is_a_link_is_neither_read_nor_written_to() {
    for folder in ["trials", "raw"] {
        let (place, dir) = a_run();
        let elsewhere = place.path().join("elsewhere");
        fs::rename(dir.join(folder), &elsewhere).unwrap();
        symlink(&elsewhere, dir.join(folder)).unwrap();
        fs::write(elsewhere.join(".tmp-1-precious"), "").unwrap();
        let before = fs::read_dir(&elsewhere).unwrap().count();
        let refused = RunWriter::open_for_resume(&dir, Redo::default()).unwrap_err();
        assert!(refused.to_string().contains("is a link"), "{refused}");
        match folder {
            "trials" => assert!(
                read_run(&dir)
                    .unwrap_err()
                    .to_string()
                    .contains("is a link")
            ),
            _ => assert!(
                read_raw(&dir, id(1, 0))
                    .unwrap_err()
                    .to_string()
                    .contains("is a link")
            ),
        }
        assert_eq!(
            fs::read_dir(&elsewhere).unwrap().count(),
            before,
            "{folder}"
        );
    }
}

#[test]
fn what_was_shown_is_not_kept_through_a_link() {
    let (place, dir) = a_run();
    let text = fs::read_to_string(dir.join("trials/e0001-t000.json")).unwrap();
    for number in 1..KEPT_FROM {
        let own = text.replace("\"number\":0", &format!("\"number\":{number}"));
        fs::write(dir.join(format!("trials/e0001-t{number:03}.json")), own).unwrap();
    }
    let elsewhere = place.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, dir.join(".shown")).unwrap();
    let shown = Shown::of(&dir, "table", "dyno").unwrap().unwrap();
    assert!(shown.keep("text").is_err());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    assert_eq!(shown.read(), None);
    // Nor through a link in the place of the text or of its unfinished file.
    fs::remove_file(dir.join(".shown")).unwrap();
    fs::create_dir(dir.join(".shown")).unwrap();
    let victim = place.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let unfinished = format!(".shown/.tmp-{}-table", std::process::id());
    for name in [".shown/table", unfinished.as_str()] {
        symlink(&victim, dir.join(name)).unwrap();
    }
    shown.keep("text").unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(shown.read().as_deref(), Some("text"));
}

#[test]
fn raw_samples_that_are_no_file_or_larger_than_so_many_are_refused() {
    let (place, dir) = a_run();
    let raw = dir.join("raw/e0001-t000.csv");
    let elsewhere = place.path().join("copy.csv");
    fs::rename(&raw, &elsewhere).unwrap();
    for what in IMPOSTORS {
        put(what, &raw, &elsewhere);
        let own = dir.clone();
        let refused = in_time(move || read_raw(&own, id(1, 0)).unwrap_err().to_string());
        assert!(refused.contains("e0001-t000.csv"), "{what}: {refused}");
        let (own, out) = (dir.clone(), place.path().join("merged"));
        let merged = in_time(move || {
            merge(
                &[own],
                &out,
                &MergeOptions {
                    partial: true,
                    ..MergeOptions::default()
                },
            )
        });
        assert!(merged.is_err(), "{what}");
        assert_eq!(read_run(&dir).unwrap().problems, [], "{what}");
        clear(&raw);
    }
}

#[test]
fn a_trial_with_numbers_or_lists_beyond_what_can_be_is_named() {
    let (_place, dir) = a_run();
    let trial = dir.join("trials/e0001-t000.json");
    let text = fs::read_to_string(&trial).unwrap();
    let many = format!("\"warnings\":[{}\"\"]", "\"\",".repeat(1_000_000));
    for (from, to) in [
        (
            "\"position\":",
            "\"wall_\":18446744073709551615,\"position\":",
        ),
        ("\"position\":", "\"x\":[1e300],\"position\":"),
        (
            "\"position\":",
            &format!("{},\"position\":", many.replace("warnings", "x")),
        ),
    ] {
        assert!(text.contains(from));
        fs::write(&trial, text.replacen(from, to, 1)).unwrap();
        let read = read_run(&dir).unwrap();
        assert_eq!(
            (read.run.trials.len(), read.problems.len()),
            (1, 1),
            "{from}"
        );
    }
}
