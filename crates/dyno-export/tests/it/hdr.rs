//! HdrHistogram's files, read by its Python port.

use crate::runs::{Shown, assert_close, full, of_metric};
use dyno_kit::python::read;
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// The run's files, and their contents by name.
pub(crate) fn exported(shown: &Shown) -> (TempDir, BTreeMap<String, String>) {
    let place = tempfile::tempdir().unwrap();
    let mut files = BTreeMap::new();
    let left_out = dyno_export::hdr::write(&shown.run, &shown.summary, &mut |name, bytes| {
        std::fs::write(place.path().join(name), bytes)?;
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(files.insert(name.to_owned(), text), None, "{name} twice");
        Ok(())
    });
    assert_eq!(left_out.unwrap(), [""; 0]);
    (place, files)
}

#[test]
fn its_python_port_finds_the_same_distributions() {
    let shown = full();
    let (place, files) = exported(&shown);
    let Some(found) = read("hdr.py", place.path()) else {
        return;
    };
    let mut seen = 0;
    for e in shown.experiments() {
        for (metric, m) in e["metrics"].as_object().unwrap() {
            let stem = format!(
                "e{:04}_{}_{}_{}B_{metric}",
                e["id"].as_u64().unwrap(),
                e["experiment"].as_str().unwrap(),
                e["stack"].as_str().unwrap(),
                e["payload_bytes"],
            );
            let f = &found[&stem];
            assert_eq!(f["count"], m["n"], "{stem}: {f:#}");
            let number = |v: &Value| v.as_f64().unwrap();
            assert_close(number(&f["max"]), number(&m["max"]), 0.001, &stem);
            assert_close(number(&f["min"]), number(&m["min"]), 0.001, &stem);
            assert_close(number(&f["mean"]), number(&m["mean"]), 0.001, &stem);
            // A log has what arrived alone: with losses its quantiles are others.
            if m["infinite"] == 0 {
                for q in ["p50", "p90", "p99", "p999"] {
                    if let Some(value) = of_metric(m, q) {
                        assert_close(number(&f["quantiles"][q]), value, 0.002, &stem);
                    }
                }
            }
            assert_eq!(
                f["wrong"].as_array().unwrap().len(),
                0,
                "{stem}: {:#}",
                f["wrong"]
            );
            percentiles(&stem, f, m);
            assert!(files.contains_key(&format!("{stem}.hgrm")));
            seen += 1;
        }
    }
    // And a log of the disturbed trial.
    assert_eq!(found.as_object().unwrap().len(), seen + 1);
    assert_eq!(files.len(), 2 * seen + 1);
}

/// The percentile file counts lost messages as Dyno does.
fn percentiles(stem: &str, f: &Value, m: &Value) {
    let rows = f["rows"].as_array().unwrap();
    let last = rows.last().unwrap();
    let all = m["n"].as_u64().unwrap() + m["infinite"].as_u64().unwrap();
    if m["infinite"] == 0 {
        assert_eq!(
            (&last["percentile"], &last["count"]),
            (&1.0.into(), &m["n"]),
            "{stem}"
        );
    } else {
        let arrived = m["n"].as_u64().unwrap() as f64 / all as f64;
        assert!(
            last["percentile"].as_f64().unwrap() <= arrived,
            "{stem}: {last}"
        );
    }
    let half = rows
        .iter()
        .find(|r| r["percentile"].as_f64().unwrap() >= 0.5);
    match (of_metric(m, "p50"), half) {
        (Some(p50), Some(row)) if p50.is_finite() => {
            assert_close(row["value_us"].as_f64().unwrap() * 1e3, p50, 0.002, stem);
        }
        (Some(p50), row) => assert!(p50.is_infinite() && row.is_none(), "{stem}: {row:?}"),
        // Refused for want of samples; the file has what there is.
        (None, _) => {}
    }
}

#[test]
fn intervals_are_blocks_in_order_of_time() {
    let mut shown = full();
    // Trials follow each other, and the second of the lossy experiment is the first in time.
    for (i, trial) in shown.run.trials.iter_mut().enumerate() {
        trial.started_unix_ms += 1_000 * i as u64;
    }
    let lossy = dyno_model::ExperimentId(2);
    let second = shown
        .run
        .trials
        .iter_mut()
        .filter(|t| t.id.experiment == lossy)
        .nth(1);
    second.unwrap().started_unix_ms = 1_795_231_500_000;
    let (place, files) = exported(&shown);
    let log = &files["e0002_periodic_udp_1024B_response_ns.hlog"];
    assert!(
        log.contains("#lost: 500 messages, infinitely late, "),
        "{log}"
    );
    assert!(
        log.contains("#trial 1, 100 messages lost: not in its histograms\n"),
        "{log}"
    );
    let Some(found) = read("hdr.py", place.path()) else {
        return;
    };
    let f = &found["e0002_periodic_udp_1024B_response_ns"];
    assert_eq!(f["start"], 1_795_231_500.0);
    let intervals = f["intervals"].as_array().unwrap();
    // Five trials of four blocks, 75 ms each.
    assert_eq!(intervals.len(), 20);
    let start = |i: usize| intervals[i]["start"].as_f64().unwrap();
    // Open, matching and warm-up come before the window.
    assert_close(start(0) - 1_795_231_500.0, 0.0515, 0.01, "first");
    assert_close(start(1) - start(0), 0.075, 0.01, "second");
    let end = intervals[0]["end"].as_f64().unwrap();
    assert_close(end - start(0), 0.075, 0.01, "length");
    assert!((1..20).all(|i| start(i) > start(i - 1)), "{intervals:#?}");
}

#[test]
fn disturbed_trials_have_a_log_of_their_own() {
    let (place, files) = exported(&full());
    let stem = "e0001_round-trip_uds-stream_64B_rtt_ns";
    let log = &files[&format!("{stem}.hlog")];
    let intervals = |log: &str, start: &str| log.lines().filter(|l| l.starts_with(start)).count();
    assert_eq!(intervals(log, "Tag="), 0);
    assert_eq!(intervals(log, "1795231560."), 20);
    let line = log.lines().find(|l| l.starts_with("1795231560.")).unwrap();
    // Interval_Max is in milliseconds: a round trip of 12 µs with a tail.
    let max: f64 = line.split(',').nth(2).unwrap().parse().unwrap();
    assert!((0.012..0.1).contains(&max), "{line}");
    let other = &files[&format!("{stem}_disturbed.hlog")];
    assert_eq!(intervals(other, "Tag=disturbed,1795231560."), 4);
    assert!(other.contains("#trial 5, disturbed: other processes took 20 % of CPUs 0 and 1\n"));
    let Some(found) = read("hdr.py", place.path()) else {
        return;
    };
    assert_eq!(found[stem]["intervals"][0]["tag"], Value::Null);
    let other = &found[&format!("{stem}_disturbed")];
    assert_eq!(
        (&other["count"], &other["intervals"][0]["tag"]),
        (&4_000.into(), &"disturbed".into())
    );
}

#[test]
fn a_damaged_trial_is_left_out_and_named() {
    let mut shown = full();
    let plain = dyno_model::ExperimentId(1);
    let trial = shown
        .run
        .trials
        .iter_mut()
        .find(|t| t.id.experiment == plain)
        .unwrap();
    let distribution = trial.distributions.values_mut().next().unwrap();
    distribution.blocks[2].0.truncate(20);
    let shown = Shown::of(shown.run);
    let mut files = Vec::new();
    let left_out = dyno_export::hdr::write(&shown.run, &shown.summary, &mut |name, _| {
        files.push(name.to_owned());
        Ok(())
    });
    let left_out = left_out.unwrap();
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert!(
        left_out[0].starts_with("trial e0001-t000: its histograms are damaged"),
        "{left_out:?}"
    );
    assert!(files.iter().any(|f| f.starts_with("e0001_")));
}
