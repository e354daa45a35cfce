//! `dyno show --format … -o …`: where exports go, what is refused, and what is left when it is ended. What
//! is in them is tested by `dyno-export`; here a run that was really measured goes the whole way.

use crate::harness::{Ended, Place, send, wait_for};
use dyno_kit::python;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Two stacks, one with raw samples; the run is in `out`.
fn measured() -> Place {
    let place = Place::new();
    place.suite(
        "exported",
        r#"
        title = "exported"
        [defaults]
        trials = 2
        settle = "0 s"
        [[experiment]]
        name = "round-trip"
        workload = "ping-pong"
        round_trips = 60
        stacks = ["pipe"]
        [[experiment]]
        name = "one-way"
        workload = "stream"
        rate = "1 kHz"
        messages = 80
        raw_samples = 50
        stacks = ["uds-stream"]
        "#,
    );
    place
        .run(&["run", "exported", "--out", "out", "--quiet"])
        .with_code(0);
    place
}

fn show(place: &Place, arguments: &[&str]) -> Ended {
    place.run(&[&["show", "out"], arguments].concat())
}

/// What lies in a directory, with hidden names.
fn names(path: &Path) -> Vec<String> {
    let name = |e: std::io::Result<std::fs::DirEntry>| {
        e.unwrap().file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = std::fs::read_dir(path).unwrap().map(name).collect();
    names.sort();
    names
}

fn temporary(place: &Place) -> Vec<String> {
    let mut names = names(&place.path("."));
    names.retain(|n| n.starts_with(".tmp"));
    names
}

const ONE_FILE: [&str; 7] = [
    "table",
    "markdown",
    "json",
    "csv",
    "gbench",
    "junit",
    "openmetrics",
];

#[test]
fn what_is_printed_is_what_is_written() {
    let place = measured();
    for format in ONE_FILE {
        let printed = show(&place, &["--format", format]).with_code(0).stdout;
        assert!(printed.contains("pipe"), "{format}: {printed}");
        // Twice: the second replaces the first.
        for _ in 0..2 {
            let ended = show(&place, &["--format", format, "-o", "file"]).with_code(0);
            assert_eq!(ended.stdout, "");
            let written = std::fs::read_to_string(place.path("file")).unwrap();
            assert_eq!(written, printed, "{format}");
        }
        let dash = show(&place, &["--format", format, "-o", "-"]).with_code(0);
        assert_eq!(dash.stdout, printed, "{format}");
    }
    assert_eq!(temporary(&place), [""; 0]);
}

#[test]
fn a_link_stays_one_and_a_device_is_written_to() {
    let place = measured();
    std::fs::write(place.path("target"), "old").unwrap();
    std::os::unix::fs::symlink("target", place.path("link")).unwrap();
    show(&place, &["--format", "csv", "-o", "link"]).with_code(0);
    assert!(
        std::fs::symlink_metadata(place.path("link"))
            .unwrap()
            .is_symlink()
    );
    let written = std::fs::read_to_string(place.path("target")).unwrap();
    let piped = show(&place, &["--format", "csv", "-o", "/dev/stdout"]).with_code(0);
    assert_eq!(piped.stdout, written);
    show(&place, &["--format", "csv", "-o", "/dev/full"])
        .with_code(1)
        .says("cannot write /dev/full: No space left on device");
}

#[test]
fn a_wrong_place_is_refused_before_anything_is_written() {
    let place = measured();
    std::fs::create_dir(place.path("taken")).unwrap();
    std::fs::write(place.path("taken/mine"), "").unwrap();
    for format in ["parquet", "hdr"] {
        let no_place = show(&place, &["--format", format]);
        let no_place = no_place.with_code(2);
        assert_eq!(no_place.stdout, "");
        no_place.says("-o DIR");
        show(&place, &["--format", format, "-o", "-"]).with_code(2);
        show(&place, &["--format", format, "-o", "taken"])
            .with_code(2)
            .says("taken is not empty: name a new directory with -o");
        show(&place, &["--format", format, "-o", "taken/mine"])
            .with_code(2)
            .says("taken/mine is not a directory");
        show(&place, &["--format", format, "-o", "none/new"])
            .with_code(1)
            .says("cannot write none/new: No such file or directory");
    }
    show(&place, &["--format", "csv", "-o", "taken"])
        .with_code(2)
        .says("taken is a directory: name a file");
    show(&place, &["--format", "csv", "-o", "none/file"])
        .with_code(1)
        .says("cannot write none/file: No such file or directory");
    place
        .run(&["run", "exported", "--format", "parquet"])
        .with_code(2)
        .says("csv");
    assert_eq!(names(&place.path("taken")), ["mine"]);
    assert_eq!(temporary(&place), [""; 0]);
}

#[test]
fn several_files_come_in_a_directory_of_their_own() {
    let place = measured();
    show(&place, &["--format", "parquet", "-o", "tables"])
        .with_code(0)
        .says("tables: results.parquet and samples.parquet");
    assert_eq!(
        names(&place.path("tables")),
        ["results.parquet", "samples.parquet"]
    );
    for file in ["results", "samples"] {
        let bytes = std::fs::read(place.path(&format!("tables/{file}.parquet"))).unwrap();
        // Both ends of the format's frame.
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
    // An empty directory is as good as none.
    std::fs::create_dir(place.path("histograms")).unwrap();
    show(&place, &["--format", "hdr", "-o", "histograms"])
        .with_code(0)
        .says("files");
    let files = names(&place.path("histograms"));
    for file in [
        "round-trip_pipe_64B_rtt_ns.hlog",
        "one-way_uds-stream_64B_response_ns.hgrm",
    ] {
        assert!(files.iter().any(|f| f.ends_with(file)), "{files:#?}");
    }
    assert_eq!(temporary(&place), [""; 0]);
}

/// Tables and logs of a run that was really measured, read by what they are for.
#[test]
fn a_measured_run_is_read_by_other_tools() {
    let place = measured();
    show(&place, &["--format", "parquet", "-o", "tables"]).with_code(0);
    show(&place, &["--format", "hdr", "-o", "histograms"]).with_code(0);
    let shown = place.show("out");
    let file = |name: &str| python::read("parquet_rows.py", &place.path(name));
    let (Some(results), Some(samples)) = (
        file("tables/results.parquet"),
        file("tables/samples.parquet"),
    ) else {
        return;
    };
    let rows = |table: &Value| table["rows"].as_array().unwrap().clone();
    for e in shown["experiments"].as_array().unwrap() {
        for (metric, m) in e["metrics"].as_object().unwrap() {
            let own = rows(&results).into_iter().filter(|r| {
                r["id"] == e["id"] && r["metric"] == metric.as_str() && r["counted"] == true
            });
            let n: u64 = own.map(|r| r["n"].as_u64().unwrap()).sum();
            assert_eq!(Some(n), m["n"].as_u64(), "{metric}");
        }
    }
    // The raw samples are those of the run directory.
    let mut stored = Vec::new();
    for file in names(&place.path("out/raw")) {
        let text = std::fs::read_to_string(place.path("out/raw").join(file)).unwrap();
        stored.extend(text.lines().skip(1).map(str::to_owned));
    }
    let found: Vec<String> = rows(&samples)
        .iter()
        .map(|r| {
            let columns = [
                "channel",
                "receiver",
                "sequence",
                "intended_ns",
                "sent_ns",
                "arrival_ns",
            ];
            columns.map(|c| r[c].to_string()).join(",")
        })
        .collect();
    assert_eq!(found, stored);
    assert!(!found.is_empty());
    let Some(logs) = python::read("hdr.py", &place.path("histograms")) else {
        return;
    };
    for (name, log) in logs.as_object().unwrap() {
        assert_eq!(log["wrong"], Value::Array(Vec::new()), "{name}");
        assert!(log["count"].as_u64().unwrap() > 0, "{name}");
    }
}

#[test]
fn raw_samples_that_cannot_be_read_are_named() {
    let place = measured();
    let raw: PathBuf = place
        .path("out/raw")
        .join(&names(&place.path("out/raw"))[0]);
    std::fs::write(&raw, "nonsense").unwrap();
    show(&place, &["--format", "parquet", "-o", "tables"])
        .with_code(5)
        .says("only its raw samples are lost");
    assert_eq!(
        names(&place.path("tables")),
        ["results.parquet", "samples.parquet"]
    );
}

#[test]
fn a_run_that_is_ended_leaves_nothing() {
    let place = measured();
    // So many trials that the export takes its time.
    let trials = place.path("out/trials");
    let first = place.json("out/trials/e0001-t000.json");
    let copies = |first: &Value, experiment: u64| {
        for number in 2..60 {
            let mut trial = first.clone();
            trial["number"] = number.into();
            trial["raw_samples"] = 0.into();
            let file = trials.join(format!("e{experiment:04}-t{number:03}.json"));
            std::fs::write(file, serde_json::to_vec(&trial).unwrap()).unwrap();
        }
    };
    copies(&first, first["experiment"].as_u64().unwrap());
    let child = place
        .dyno(&["show", "out", "--format", "hdr", "-o", "histograms"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    // The directory under construction is made when the first file is still to be computed.
    wait_for("the hidden directory", || {
        (!temporary(&place).is_empty()).then_some(())
    });
    send(pid, libc::SIGINT);
    let ended: Ended = child.wait_with_output().unwrap().into();
    ended.with_code(130).says("interrupted: histograms");
    assert!(!place.path("histograms").exists());
    assert_eq!(temporary(&place), [""; 0]);
}

#[test]
fn any_engine_answers_over_a_folder_of_runs() {
    let place = measured();
    place
        .run(&["run", "exported", "--out", "again", "--quiet"])
        .with_code(0);
    std::fs::create_dir(place.path("lake")).unwrap();
    for run in ["out", "again"] {
        let folder = format!("lake/run={run}");
        place
            .run(&["show", run, "--format", "parquet", "-o", &folder])
            .with_code(0);
    }
    let Some(found) = python::read("queries.py", &place.path(".")) else {
        return;
    };
    let rows = |query: usize| found[query].as_array().unwrap();
    // Two experiments of one stack each, measured twice on one machine.
    let counts: Vec<usize> = (0..5).map(|query| rows(query).len()).collect();
    assert_eq!(found.as_array().unwrap().len(), 5);
    assert!(counts.iter().all(|n| *n > 0), "{counts:?}\n{found:#}");
    let fastest = &rows(0)[0];
    assert!(fastest["p50_us"].as_f64().unwrap() > 0.0, "{fastest:#}");
    let runs: Vec<&str> = rows(3).iter().map(|r| r["run"].as_str().unwrap()).collect();
    assert_eq!(runs, ["again", "out"]);
}

#[test]
fn a_job_of_an_array_takes_its_part() {
    let place = measured();
    let dry = |index: &str| {
        let mut command = place.dyno(&["run", "exported", "--shard", "auto", "--dry-run"]);
        command.env("DYNO_SHARD", index).env("DYNO_SHARDS", "2");
        Ended::from(command.output().unwrap())
    };
    dry("1").with_code(0).says("part 1 of 2");
    dry("2").with_code(0).says("part 2 of 2");
    dry("3").with_code(2).says("none of 2 jobs");
}
