//! Parts of a run, merged: what comes out, and what is refused.

use dyno_kit::example::{completed, id, manifest};
use dyno_model::plan::{ExperimentId, Shard};
use dyno_model::record::RunManifest;
use dyno_store::{
    MergeError, MergeOptions, Redo, RunWriter, StoreError, merge, read_parts, read_raw, read_run,
};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Part `index` of three, which holds experiment `index - 1`.
fn part(index: u32) -> RunManifest {
    let mut part = manifest();
    part.id = format!("part-{index}");
    part.started_unix_ms += u64::from(index) * 1_000;
    part.plan.shard = Some(Shard {
        index,
        count: 3,
        experiments: vec![ExperimentId(index - 1)],
    });
    part
}

/// Writes a run with these trials of its one experiment, as many as the plan wants where `None`.
fn write(dir: &Path, manifest: &RunManifest, trials: Option<u32>) -> PathBuf {
    let writer = RunWriter::create(dir, manifest).unwrap();
    for e in manifest.plan.here() {
        for number in 0..trials.unwrap_or(e.trials) {
            writer.write_trial(&completed(id(e.id.0, number))).unwrap();
        }
    }
    dir.to_owned()
}

/// Parts 1 to 3, each in a directory, in another order.
fn three_parts() -> (TempDir, Vec<PathBuf>) {
    let place = tempfile::tempdir().unwrap();
    let dirs = [3, 1, 2].map(|i| write(&place.path().join(format!("p{i}")), &part(i), None));
    (place, dirs.to_vec())
}

fn whole() -> MergeOptions {
    MergeOptions {
        partial: false,
        command: vec!["dyno".into(), "merge".into()],
    }
}

fn partial() -> MergeOptions {
    MergeOptions {
        partial: true,
        ..whole()
    }
}

fn listing(place: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(place)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_parts_of_a_run_become_one() {
    let (place, dirs) = three_parts();
    let out = place.path().join("new/all");
    let merged = merge(&dirs, &out, &whole()).unwrap();
    assert_eq!((merged.parts, merged.experiments), (3, 3));
    assert_eq!(merged.notes, [""; 0]);
    let read = read_run(&out).unwrap();
    assert_eq!(read.problems, []);
    let m = &read.run.manifest;
    assert_eq!(m.plan, manifest().plan, "the plan of all parts, undivided");
    assert_eq!(m.id, "all");
    assert_eq!(m.started_unix_ms, part(1).started_unix_ms);
    assert_eq!(m.command, ["dyno", "merge"]);
    assert_eq!(read_parts(&out).unwrap(), [1, 2, 3].map(part));
    let expected: u32 = m.plan.experiments.iter().map(|e| e.trials).sum();
    assert_eq!(read.run.trials.len(), expected as usize);
    assert_eq!(merged.trials, expected as usize);
    for trial in &read.run.trials {
        let name = format!("trials/{}.json", trial.id);
        let from = place.path().join(format!("p{}", trial.id.experiment.0 + 1));
        assert_eq!(
            fs::read(out.join(&name)).unwrap(),
            fs::read(from.join(&name)).unwrap()
        );
        assert_eq!(
            read_raw(&out, trial.id).unwrap(),
            read_raw(&from, trial.id).unwrap()
        );
    }
    assert_eq!(
        listing(&place.path().join("new")),
        ["all"],
        "no temporary stays"
    );
    // It goes on like any other run.
    let (_, resumed) = RunWriter::open_for_resume(&out, Redo::default()).unwrap();
    assert_eq!(resumed.run.trials.len(), expected as usize);
}

#[test]
fn a_missing_part_is_named_and_can_be_measured_or_merged_later() {
    let (place, dirs) = three_parts();
    let out = place.path().join("some");
    let two = [dirs[0].clone(), dirs[1].clone()];
    let e = merge(&two, &out, &whole()).unwrap_err();
    let text = e.to_string();
    assert!(
        text.contains("part 2 of 3 is missing: 1 experiment without trials"),
        "{text}"
    );
    assert!(text.contains("--partial"), "{text}");
    assert!(!out.exists());
    let merged = merge(&two, &out, &partial()).unwrap();
    assert!(
        merged.notes[0].contains("part 2 of 3 is missing"),
        "{:?}",
        merged.notes
    );
    // What was merged is merged with the rest.
    let all = place.path().join("all");
    merge(&[out, dirs[2].clone()], &all, &whole()).unwrap();
    assert_eq!(read_parts(&all).unwrap(), [1, 2, 3].map(part));
    assert_eq!(read_run(&all).unwrap().run.manifest.plan, manifest().plan);
}

#[test]
fn an_interrupted_part_is_said_and_merged() {
    let place = tempfile::tempdir().unwrap();
    let dirs: Vec<PathBuf> = (1..=3)
        .map(|i| {
            write(
                &place.path().join(format!("p{i}")),
                &part(i),
                (i == 2).then_some(1),
            )
        })
        .collect();
    let merged = merge(&dirs, &place.path().join("all"), &whole()).unwrap();
    assert_eq!(merged.notes.len(), 1, "{:?}", merged.notes);
    assert!(
        merged.notes[0].starts_with("part 2 of 3:"),
        "{:?}",
        merged.notes
    );
    assert!(merged.notes[0].contains("--resume"), "{:?}", merged.notes);
}

#[test]
fn what_is_not_of_one_plan_is_refused_with_the_difference() {
    type Change = fn(&mut RunManifest);
    let changes: [(Change, &str); 7] = [
        (
            |m| m.plan.seed = 8,
            "the seed is 18446744073709551615 in the first and 8 in the second",
        ),
        (
            |m| m.plan.suite = "other".into(),
            "the suite is example in the first and other",
        ),
        (|m| m.plan.experiments[2].trials += 1, "the settings of"),
        (
            |m| m.plan.experiments[2].stack = "floor-futex".into(),
            "and the second has",
        ),
        (
            |m| {
                let udp = m.plan.stacks.get_mut("udp").unwrap();
                udp.options.clear();
            },
            "the stack udp is configured differently",
        ),
        (|m| m.plan.repeats = 0, "--repeats"),
        (
            |m| m.plan.shard.as_mut().unwrap().count = 4,
            "the first was divided into 3 parts, the second into 4",
        ),
    ];
    for (change, text) in changes {
        let (place, mut dirs) = three_parts();
        let mut changed = part(2);
        change(&mut changed);
        dirs[2] = write(&place.path().join("changed"), &changed, Some(1));
        let out = place.path().join("all");
        match merge(&dirs, &out, &whole()) {
            Err(e @ MergeError::Differ { .. }) => {
                let said = e.to_string();
                assert!(said.contains(text), "{text:?} is not in {said}");
                assert!(said.contains("changed"), "{said}");
            }
            other => panic!("{text}: {other:?}"),
        }
        assert!(!out.exists());
    }
}

#[test]
fn a_trial_measured_twice_is_refused_and_a_copy_is_not() {
    let (place, mut dirs) = three_parts();
    let out = place.path().join("all");
    dirs.push(dirs[0].clone());
    merge(&dirs, &out, &whole()).unwrap();
    let again = write(&place.path().join("again"), &part(3), Some(0));
    let (writer, _) = RunWriter::open_for_resume(&again, Redo::default()).unwrap();
    let mut other = completed(id(2, 0));
    other.position += 1;
    writer.write_trial(&other).unwrap();
    drop(writer);
    dirs[3] = again;
    match merge(&dirs, &place.path().join("twice"), &whole()) {
        Err(MergeError::Twice { id: found, .. }) => assert_eq!(found, id(2, 0)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn machines_and_builds_may_differ_and_that_is_kept() {
    let (place, mut dirs) = three_parts();
    let mut elsewhere = part(2);
    elsewhere.environment.host = "bench-2".into();
    elsewhere.environment.dyno_version = "0.2.0".into();
    elsewhere.adapters[0].version = "Linux 6.13.0".into();
    for e in &mut elsewhere.plan.experiments {
        e.cpus = vec![6, 7];
    }
    elsewhere.plan.experiments[1].floor = Some(ExperimentId(0));
    let mut here = [part(1), part(3)];
    for m in &mut here {
        m.plan.experiments[1].floor = Some(ExperimentId(0));
    }
    for (i, m) in [&here[1], &here[0], &elsewhere].into_iter().enumerate() {
        dirs[i] = write(&place.path().join(format!("m{i}")), m, None);
    }
    let out = place.path().join("all");
    let merged = merge(&dirs, &out, &whole()).unwrap();
    let notes = merged.notes.join("\n");
    for said in [
        "the parts differ in machine: bench-1",
        "bench-2, An example CPU, kernel 6.12.0 (part 2 of 3)",
        "build of Dyno: 0.1.0 release (part 1 of 3, part 3 of 3); 0.2.0",
        "adapter udp: Linux 6.12.0",
        "× floor is left out for 1 experiment: its floor",
    ] {
        assert!(notes.contains(said), "{said:?} is not in {notes}");
    }
    let run = read_run(&out).unwrap().run;
    let plan = &run.manifest.plan;
    let machines = [0, 1, 2].map(|i| plan.experiments[i].machine.as_deref());
    assert_eq!(
        machines,
        ["bench-1", "bench-2", "bench-1"].map(Some),
        "each experiment names its own"
    );
    let environment = run.environment_of(&plan.experiments[1]);
    assert_eq!(environment.dyno_version, "0.2.0");
    assert_eq!(plan.experiments[1].cpus, [6, 7], "as it was run");
    assert_eq!(
        plan.experiments[0].cpus,
        manifest().plan.experiments[0].cpus
    );
    assert_eq!(plan.experiments[1].floor, None);
    assert!(
        merged
            .notes
            .iter()
            .all(|n| plan.warnings.iter().any(|w| w.to_string() == *n))
    );
    assert_eq!(read_parts(&out).unwrap()[1], elsewhere);
}

#[test]
fn a_trial_of_another_machine_than_its_experiment_is_left_out_and_named() {
    let place = tempfile::tempdir().unwrap();
    let dir = write(&place.path().join("run"), &manifest(), Some(2));
    let (writer, _) = RunWriter::open_for_resume(&dir, Redo::default()).unwrap();
    let own = manifest().environment.host;
    for (number, host) in [(0, own.as_str()), (1, "bench-2")] {
        let mut trial = completed(id(0, number));
        trial.machines = vec![host.to_owned()];
        writer.write_trial(&trial).unwrap();
    }
    drop(writer);
    let read = read_run(&dir).unwrap();
    assert!(read.run.trials.iter().any(|t| t.id == id(0, 0)));
    assert!(read.run.trials.iter().all(|t| t.id != id(0, 1)));
    let [problem] = read.problems.as_slice() else {
        panic!("{:?}", read.problems);
    };
    let said = problem.to_string();
    assert!(said.contains("e0000-t001.json"), "{said}");
    assert!(said.contains("measured on bench-2"), "{said}");
}

#[test]
fn a_run_that_goes_on_is_not_merged() {
    let (place, dirs) = three_parts();
    let (_writer, _) = RunWriter::open_for_resume(&dirs[1], Redo::default()).unwrap();
    match merge(&dirs, &place.path().join("all"), &whole()) {
        Err(MergeError::Busy { dir }) => assert_eq!(dir, dirs[1]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_damaged_trial_is_left_out_and_named() {
    let (place, dirs) = three_parts();
    let file = dirs[0].join("trials/e0002-t000.json");
    fs::write(&file, "{").unwrap();
    let out = place.path().join("all");
    let merged = merge(&dirs, &out, &whole()).unwrap();
    assert_eq!(merged.problems.len(), 1);
    assert_eq!(merged.problems[0].file, file);
    assert!(!out.join("trials/e0002-t000.json").exists());
}

#[test]
fn nothing_is_overwritten() {
    let (place, dirs) = three_parts();
    let out = place.path().join("p1");
    match merge(&dirs, &out, &whole()) {
        Err(MergeError::Store(StoreError::NotEmpty { dir, run: true })) => assert_eq!(dir, out),
        other => panic!("{other:?}"),
    }
    // An empty directory is as good as none.
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    merge(&dirs, &empty, &whole()).unwrap();
}
