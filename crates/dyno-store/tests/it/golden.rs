//! Runs of old formats stay readable, and format 4 does not change by accident.

use dyno_kit::example::{
    completed, completed_v1, completed_v2, completed_v3, failed, id, manifest, manifest_v1,
    manifest_v2, manifest_v3,
};
use dyno_model::Cause;
use dyno_model::record::{FailureKind, Outcome, RunManifest};
use dyno_model::{HostNoise, Nanos, TrialRecord};
use dyno_store::{RunWriter, read_raw, read_run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn golden(format: u32) -> PathBuf {
    let place = format!("tests/golden/run-v{format}");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(place)
}

fn write_example(dir: &Path) {
    let writer = RunWriter::create(dir, &manifest()).unwrap();
    writer.write_trial(&completed(id(1, 0))).unwrap();
    writer
        .write_trial(&failed(id(0, 0), FailureKind::Crash))
        .unwrap();
}

/// Holds the golden run of a format against what it was written from.
fn assert_read(format: u32, manifest: RunManifest, mut completed: TrialRecord) {
    let read = read_run(&golden(format)).unwrap();
    assert_eq!(read.problems, []);
    assert_eq!(read.run.manifest, manifest);
    let [crashed, measured] = &read.run.trials[..] else {
        panic!("two trials: {:?}", read.run.trials);
    };
    let said = "the sink ended by signal 11 (SIGSEGV)".to_owned();
    let Outcome::Failed { kind, cause, .. } = &crashed.outcome else {
        panic!("{crashed:?}");
    };
    assert_eq!(*kind, FailureKind::Crash);
    assert!(
        cause.known().is_some() == (format == 4) && (format == 4 || *cause == Cause::Told(said))
    );
    let raw = std::mem::take(&mut completed.raw);
    assert_eq!(measured, &completed);
    assert_eq!(read_raw(&golden(format), id(1, 0)).unwrap(), raw);
}

#[test]
fn a_run_of_format_1_is_read_in_full() {
    assert_read(1, manifest_v1(), completed_v1(id(1, 0)));
}

#[test]
fn what_format_1_does_not_hold_is_taken_as_its_default() {
    let run = read_run(&golden(1)).unwrap().run;
    let plan = &run.manifest.plan;
    assert_eq!((run.manifest.format, run.manifest.bare), (1, None));
    assert_eq!(
        (&plan.against, &plan.precision, plan.repeats),
        (&None, &None, 0)
    );
    for e in &plan.experiments {
        assert_eq!((e.settle, e.base), (None, None));
    }
    for t in &run.trials {
        assert_eq!((t.format, t.warmup, t.unsteady), (1, Nanos::ZERO, false));
        assert_eq!(t.noise, HostNoise::default());
        assert!(t.disturbed.is_empty() && t.places.is_empty());
    }
}

#[test]
fn a_run_of_format_2_is_read_in_full() {
    assert_read(2, manifest_v2(), completed_v2(id(1, 0)));
}

#[test]
fn a_run_of_format_3_is_read_in_full() {
    assert_read(3, manifest_v3(), completed_v3(id(1, 0)));
}

#[test]
fn a_run_of_format_4_is_read_in_full() {
    assert_read(4, manifest(), completed(id(1, 0)));
}

/// If this fails after a change of the model: a file of format 4 has come to look different. Where
/// old readers would still read it alike, write the golden directory anew (`DYNO_WRITE_GOLDEN=1`);
/// otherwise raise `FORMAT`, keep this directory as it is, and add one for the new format.
#[test]
fn format_4_is_written_as_it_always_was() {
    let fresh = tempfile::tempdir().unwrap();
    write_example(fresh.path());
    let files = [
        "run.json",
        "trials/e0000-t000.json",
        "trials/e0001-t000.json",
        "raw/e0001-t000.csv",
    ];
    for file in files {
        let new = fs::read_to_string(fresh.path().join(file)).unwrap();
        let kept = golden(4).join(file);
        if std::env::var_os("DYNO_WRITE_GOLDEN").is_some() {
            fs::create_dir_all(kept.parent().unwrap()).unwrap();
            fs::write(&kept, &new).unwrap();
        }
        assert_eq!(fs::read_to_string(&kept).unwrap(), new, "{file}");
    }
}

/// An example in which a field has its default would not show a change of how it is written.
#[test]
fn the_example_has_something_in_every_field_that_came_with_formats_2_to_4() {
    let file = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(golden(4).join(name)).unwrap()).unwrap()
    };
    let (run, trial) = (file("run.json"), file("trials/e0001-t000.json"));
    let places = [
        (&run, "/bare/gaps/0/lengths"),
        (&run, "/bare/load/hungriest/0/0"),
        (&run, "/bare/load/frequency_khz/0/1"),
        (&run, "/plan/against/version"),
        (&run, "/plan/precision/max_time"),
        (&run, "/plan/repeats"),
        (&run, "/origin/stacks/udp/text"),
        (&run, "/environment/commit"),
        (&run, "/environment/binaries/dyno/0/sha256"),
        (&run, "/plan/experiments/2/base"),
        (&run, "/plan/experiments/2/settle"),
        (&trial, "/warmup"),
        (&trial, "/unsteady"),
        (&trial, "/noise/gaps/1/count"),
        (&trial, "/noise/line_ns"),
        (&trial, "/noise/window/hungriest/0/1"),
        (&trial, "/noise/window/throttled"),
        (&trial, "/disturbed/0/values/bare/share"),
        (&trial, "/warnings/0/values/refused/priority"),
        (&trial, "/places/1/since"),
        (&trial, "/counts/under_way"),
        (&trial, "/counts/in_window"),
        (&trial, "/flows/0/by_half"),
        (&trial, "/flows/0/lead_in"),
        (&trial, "/cost/host_cpu"),
        (&trial, "/machines/0"),
        (&trial, "/networks/0/sockets/0/dropped"),
    ];
    for (document, place) in places {
        let empty = [Value::Null, Value::from(0), Value::from(false)];
        let found = document.pointer(place);
        assert!(found.is_some_and(|v| !empty.contains(v)), "{place}");
    }
}

#[test]
fn the_documents_example_is_the_golden_trial() {
    let document = include_str!("../../../../docs/run-format.md");
    let (_, from) = document.split_once("```json\n").unwrap();
    let (shown, _) = from.split_once("```").unwrap();
    let shown: Value = serde_json::from_str(shown).unwrap();
    let stored = fs::read_to_string(golden(4).join("trials/e0001-t000.json")).unwrap();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    for (field, value) in shown.as_object().unwrap() {
        assert_eq!(&stored[field], value, "{field}");
    }
    // What the document says that it leaves out, and no more.
    let left_out = stored.as_object().unwrap().keys();
    let left_out: Vec<_> = left_out.filter(|k| shown.get(k).is_none()).collect();
    assert_eq!(left_out, ["cost", "flows"]);
    let raw = fs::read_to_string(golden(4).join("raw/e0001-t000.csv")).unwrap();
    assert!(document.contains(&raw));
}
