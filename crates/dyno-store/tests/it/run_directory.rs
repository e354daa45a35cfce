//! The run directory, written, damaged, read and resumed.

use dyno_kit::example::{completed, failed, frequencies, id, manifest};
use dyno_model::record::{FORMAT, FailureKind, RunManifest};
use dyno_store::{
    DEFAULT_RUNS_DIR, LATEST, MANIFEST, Redo, RunWriter, StoreError, locate, new_run_dir,
    read_distributions, read_raw, read_run, read_run_light,
};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A run with two completed trials, not locked any more.
fn a_run() -> (TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("runs/example");
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    writer.write_trial(&completed(id(0, 0))).unwrap();
    writer.write_trial(&completed(id(1, 0))).unwrap();
    (parent, dir)
}

fn trial_file(dir: &Path, name: &str) -> PathBuf {
    dir.join("trials").join(name)
}

fn names(dir: &Path) -> Vec<String> {
    let entry = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(entry).collect();
    names.sort();
    names
}

#[test]
fn a_run_can_be_read_without_its_histograms_and_they_by_themselves() {
    let (_parent, dir) = a_run();
    let (mut whole, light) = (read_run(&dir).unwrap(), read_run_light(&dir).unwrap());
    assert_ne!(whole, light);
    for trial in &mut whole.run.trials {
        let own = read_distributions(&dir, trial.id).unwrap();
        assert_eq!(own, trial.distributions);
        assert!(own.values().any(|d| !d.total.0.is_empty()));
        for d in trial.distributions.values_mut() {
            *d = d.without_histograms();
        }
    }
    assert_eq!(whole, light);
    let file = trial_file(&dir, "e0001-t000.json");
    for damaged in ["{", "{\"distributions\":{\"rtt_ns\":7}}"] {
        fs::write(&file, damaged).unwrap();
        let e = read_distributions(&dir, id(1, 0)).unwrap_err().to_string();
        assert!(e.contains("e0001-t000.json"), "{e}");
    }
}

#[test]
fn what_is_written_is_read_back() {
    let (_parent, dir) = a_run();
    let read = read_run(&dir).unwrap();
    assert_eq!(read.problems, []);
    assert_eq!(read.run.manifest, manifest());
    let mut expected = completed(id(1, 0));
    let raw = std::mem::take(&mut expected.raw);
    assert_eq!(read.run.trials[1], expected);
    assert_eq!(read_raw(&dir, id(1, 0)).unwrap(), raw);
    assert_eq!(names(&dir), [".lock", "raw", "run.json", "trials"]);
}

/// Numbers as keys become texts in JSON; not every way of reading makes them numbers again.
#[test]
fn frequencies_by_cpu_are_read_back() {
    let (_parent, dir) = a_run();
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    let mut record = completed(id(1, 1));
    record.raw.clear();
    record.noise.window.as_mut().unwrap().frequency_khz = frequencies();
    writer.write_trial(&record).unwrap();
    assert_eq!(read_run(&dir).unwrap().run.trials[2], record);
}

#[test]
fn trials_come_in_order_whatever_the_order_of_writing() {
    let (_parent, dir) = a_run();
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    writer.write_trial(&completed(id(0, 2))).unwrap();
    writer.write_trial(&completed(id(0, 1))).unwrap();
    let ids: Vec<_> = read_run(&dir)
        .unwrap()
        .run
        .trials
        .iter()
        .map(|t| t.id)
        .collect();
    assert_eq!(ids, [id(0, 0), id(0, 1), id(0, 2), id(1, 0)]);
}

#[test]
fn a_truncated_trial_is_named_and_the_others_are_read() {
    let (_parent, dir) = a_run();
    let file = trial_file(&dir, "e0001-t000.json");
    let whole = fs::read(&file).unwrap();
    // At every length: never a panic, never a half-read trial.
    for cut in (0..whole.len() - 1).step_by(97) {
        fs::write(&file, &whole[..cut]).unwrap();
        let read = read_run(&dir).unwrap();
        assert_eq!(read.run.trials.len(), 1, "cut at {cut}");
        let text = read.problems[0].to_string();
        assert!(
            text.contains("e0001-t000.json") && text.contains("delete it"),
            "{text}"
        );
        assert!(text.contains("dyno run --resume"), "{text}");
    }
}

#[test]
fn garbage_and_misplaced_files_are_named() {
    let (_parent, dir) = a_run();
    fs::write(trial_file(&dir, "e0000-t001.json"), [0xff, 0, 0x7b]).unwrap();
    fs::write(trial_file(&dir, "e0000-t002.json"), "{\"format\":1}").unwrap();
    fs::write(trial_file(&dir, "e0001-t001.json"), "[]").unwrap();
    fs::copy(
        trial_file(&dir, "e0000-t000.json"),
        trial_file(&dir, "copy.json"),
    )
    .unwrap();
    fs::create_dir(trial_file(&dir, "e0001-t002.json")).unwrap();
    fs::write(trial_file(&dir, "notes.txt"), "mine").unwrap();
    let read = read_run(&dir).unwrap();
    assert_eq!(read.run.trials.len(), 2);
    let files: Vec<_> = read
        .problems
        .iter()
        .map(|p| p.file.file_name().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "copy.json",
            "e0000-t001.json",
            "e0000-t002.json",
            "e0001-t001.json",
            "e0001-t002.json"
        ]
    );
}

#[test]
fn a_trial_of_an_experiment_that_the_plan_lacks_is_named() {
    let (_parent, dir) = a_run();
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    writer.write_trial(&completed(id(7, 0))).unwrap();
    let read = read_run(&dir).unwrap();
    assert!(read.problems[0].what.contains("no such experiment"));
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let (_parent, dir) = a_run();
    let file = trial_file(&dir, "e0001-t000.json");
    let newer = FORMAT + 1;
    fs::write(&file, format!(r#"{{"format":{newer},"whatever":true}}"#)).unwrap();
    let read = read_run(&dir).unwrap();
    let text = read.problems[0].to_string();
    assert!(
        text.contains(&format!("newer Dyno (format {newer})")) && text.contains("update Dyno"),
        "{text}"
    );
    // Resuming must not overwrite what it does not understand.
    let e = RunWriter::open_for_resume(&dir, Redo::Failed).unwrap_err();
    assert!(
        matches!(e, StoreError::Newer { found, .. } if found == newer),
        "{e}"
    );
    assert!(file.exists());

    fs::write(dir.join(MANIFEST), r#"{"format":9}"#).unwrap();
    let e = read_run(&dir).unwrap_err().to_string();
    let expected = format!(
        "was written by a newer Dyno (format 9), this one reads up to {FORMAT}; update Dyno"
    );
    assert!(e.ends_with(&expected), "{e}");
}

#[test]
fn what_is_no_run_directory_is_said_to_be_none() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    for (dir, reason) in [
        (parent.path().to_owned(), "it has no run.json"),
        (parent.path().join("none"), "it does not exist"),
        (file, "it is not a directory"),
    ] {
        for error in [
            read_run(&dir).unwrap_err(),
            RunWriter::open_for_resume(&dir, Redo::default()).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(
                text.contains("cannot find a run in") && text.contains(reason),
                "{text}"
            );
        }
    }
    assert_eq!(names(parent.path()), ["file"]);
}

#[test]
fn a_damaged_manifest_is_an_error_that_names_it() {
    let (_parent, dir) = a_run();
    let whole = fs::read(dir.join(MANIFEST)).unwrap();
    fs::write(dir.join(MANIFEST), &whole[..whole.len() / 2]).unwrap();
    let text = read_run(&dir).unwrap_err().to_string();
    assert!(text.contains("run.json is damaged"), "{text}");
}

#[test]
fn a_run_is_never_started_over_something_else() {
    let (_parent, dir) = a_run();
    let text = RunWriter::create(&dir, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("is not empty") && text.contains("--resume"),
        "{text}"
    );
    assert_eq!(read_run(&dir).unwrap().run.trials.len(), 2);

    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("thesis.tex"), "").unwrap();
    let text = RunWriter::create(other.path(), &manifest())
        .unwrap_err()
        .to_string();
    assert!(!text.contains("--resume"), "{text}");
    assert_eq!(names(other.path()), ["thesis.tex"]);

    let empty = tempfile::tempdir().unwrap();
    RunWriter::create(empty.path(), &manifest()).unwrap();
}

#[test]
fn a_start_that_was_cut_off_can_be_made_again() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("example");
    let cut_off = || {
        fs::create_dir_all(dir.join("trials")).unwrap();
        fs::write(dir.join(".lock"), "4242\n").unwrap();
        fs::write(dir.join(".tmp-4242-run.json"), "{\"format\":").unwrap();
    };
    cut_off();
    let writer = RunWriter::create(&dir, &manifest()).unwrap();
    writer.write_trial(&completed(id(0, 0))).unwrap();
    drop(writer);
    assert!(names(&dir).iter().all(|name| !name.starts_with(".tmp-")));
    assert_eq!(read_run(&dir).unwrap().run.trials.len(), 1);

    // What no start leaves is somebody's.
    for file in ["trials/e0000-t000.json", ".tmp-thesis.tex"] {
        fs::remove_dir_all(&dir).unwrap();
        cut_off();
        fs::write(dir.join(file), "kept").unwrap();
        let error = RunWriter::create(&dir, &manifest()).unwrap_err();
        assert!(matches!(error, StoreError::NotEmpty { .. }), "{error}");
        assert_eq!(fs::read_to_string(dir.join(file)).unwrap(), "kept");
    }
}

#[test]
fn two_writers_never_share_a_directory() {
    let (_parent, dir) = a_run();
    let (first, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    let text = RunWriter::open_for_resume(&dir, Redo::default())
        .unwrap_err()
        .to_string();
    let process = format!("(process {})", std::process::id());
    assert!(text.contains("in use") && text.contains(&process), "{text}");
    drop(first);
    RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
}

#[test]
fn resuming_keeps_findings_and_redoes_what_was_interrupted() {
    let (_parent, dir) = a_run();
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    writer
        .write_trial(&failed(id(0, 1), FailureKind::Interrupted))
        .unwrap();
    writer
        .write_trial(&failed(id(0, 2), FailureKind::Crash))
        .unwrap();
    drop(writer);
    let kept = |redo| -> Vec<_> {
        let (_, read) = RunWriter::open_for_resume(&dir, redo).unwrap();
        read.run.trials.iter().map(|t| t.id).collect()
    };
    assert_eq!(kept(Redo::Interrupted), [id(0, 0), id(0, 2), id(1, 0)]);
    assert_eq!(kept(Redo::Failed), [id(0, 0), id(1, 0)]);
    // Until a trial is measured again, its old record stays.
    assert_eq!(read_run(&dir).unwrap().run.trials.len(), 4);
}

#[test]
fn resuming_clears_leftovers_and_sets_damaged_trials_aside() {
    let (_parent, dir) = a_run();
    for place in ["", "trials", "raw"] {
        fs::write(dir.join(place).join(".tmp-1-e0000-t001.json"), "{\"form").unwrap();
    }
    fs::write(trial_file(&dir, "e0001-t000.json"), "{\"form").unwrap();
    let before = read_run(&dir).unwrap();
    assert_eq!(
        before.problems.len(),
        1,
        "unfinished files are no problem: {before:?}"
    );

    let (writer, read) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    assert!(read.problems[0].advice.contains("measured again"));
    assert_eq!(read.run.trials.len(), 1);
    assert_eq!(
        names(&dir.join("trials")),
        ["e0000-t000.json", "e0001-t000.json.damaged"]
    );
    assert_eq!(
        names(&dir.join("raw")),
        ["e0000-t000.csv", "e0001-t000.csv"]
    );

    writer.write_trial(&completed(id(1, 0))).unwrap();
    let after = read_run(&dir).unwrap();
    assert_eq!((after.run.trials.len(), after.problems), (2, Vec::new()));
}

#[test]
fn raw_samples_of_an_earlier_attempt_are_not_taken_for_the_new_ones() {
    let (_parent, dir) = a_run();
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    writer
        .write_trial(&failed(id(1, 0), FailureKind::Hang))
        .unwrap();
    assert_eq!(read_raw(&dir, id(1, 0)).unwrap(), []);
    fs::write(dir.join("raw/e0000-t000.csv"), "channel").unwrap();
    let text = read_raw(&dir, id(0, 0)).unwrap_err().to_string();
    assert!(text.contains("the trial itself is intact"), "{text}");
}

#[test]
fn a_record_that_could_not_be_read_back_is_not_written() {
    let (_parent, dir) = a_run();
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    let mut record = completed(id(0, 1));
    record.throughput.delivered_hz = f64::INFINITY;
    let e = writer.write_trial(&record).unwrap_err();
    assert!(matches!(e, StoreError::Unstorable { .. }), "{e}");
    assert_eq!(
        names(&dir.join("trials")),
        ["e0000-t000.json", "e0001-t000.json"]
    );
    assert_eq!(read_run(&dir).unwrap().problems, []);
}

#[test]
fn latest_is_the_run_that_started_last() {
    let parent = tempfile::tempdir().unwrap();
    let runs = parent.path().join(DEFAULT_RUNS_DIR);
    let latest = || locate(Path::new(LATEST), &runs);
    let text = latest().unwrap_err().to_string();
    assert!(text.contains("there is no run in"), "{text}");
    let mut last = PathBuf::new();
    for started_unix_ms in [2_000, 3_000, 1_000] {
        let (name, dir) = new_run_dir(&runs, "quick", started_unix_ms).unwrap();
        let manifest = RunManifest {
            started_unix_ms,
            ..manifest()
        };
        RunWriter::create(&dir, &manifest).unwrap();
        if started_unix_ms == 3_000 {
            assert_eq!(name, "quick-19700101-000003");
            last = dir;
        }
    }
    fs::create_dir(runs.join("zzz-not-a-run")).unwrap();
    assert_eq!(latest().unwrap(), last);

    // Also where a newer Dyno wrote it: better its error than another run's numbers.
    let newer = runs.join("newer");
    fs::create_dir(&newer).unwrap();
    let head = format!(r#"{{"format":{},"started_unix_ms":4000}}"#, FORMAT + 1);
    fs::write(newer.join(MANIFEST), head).unwrap();
    assert_eq!(latest().unwrap(), newer);
}

#[test]
fn a_run_is_found_by_path_and_by_name() {
    let (parent, dir) = a_run();
    let runs = parent.path().join("runs");
    assert_eq!(locate(&dir, Path::new("elsewhere")).unwrap(), dir);
    assert_eq!(locate(Path::new("example"), &runs).unwrap(), dir);
    let text = locate(Path::new("exampel"), &runs).unwrap_err().to_string();
    assert!(text.contains("cannot find a run in exampel"), "{text}");
}
