//! Parquet, read by pyarrow.

use crate::runs::{Shown, assert_close, full, of_metric};
use dyno_export::parquet::{has_samples, results, samples};
use dyno_kit::python::read;
use dyno_model::Nanos;
use dyno_model::record::RawSample;
use serde_json::Value;
use std::fs::File;

/// What pyarrow finds in the run's table of results.
pub(crate) fn table(shown: &Shown) -> Option<Value> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("results.parquet");
    results(&shown.run, &shown.summary, File::create(&file).unwrap()).unwrap();
    read("parquet_rows.py", &file)
}

fn rows(table: &Value, fits: impl Fn(&Value) -> bool) -> Vec<&Value> {
    let rows = table["rows"].as_array().unwrap().iter();
    rows.filter(|r| fits(r)).collect()
}

fn sum(rows: &[&Value], column: &str) -> u64 {
    rows.iter().map(|r| r[column].as_u64().unwrap()).sum()
}

#[test]
fn rows_are_experiments_by_metrics_by_trials() {
    let shown = full();
    let Some(table) = table(&shown) else {
        return;
    };
    assert_eq!(table["metadata"]["dyno.format"], "1");
    assert_eq!(table["metadata"]["dyno.run"], "full-20261121-032600");
    assert_eq!(table["compression"], "SNAPPY");
    let types = [
        ("stack", "string"),
        ("n", "int64"),
        ("p50", "double"),
        ("counted", "bool"),
        ("started", "timestamp[ms, tz=UTC]"),
    ];
    for (column, expected) in types {
        assert_eq!(table["types"][column], expected, "{column}");
    }
    for e in shown.experiments() {
        for (metric, m) in e["metrics"].as_object().unwrap() {
            let own = rows(&table, |r| {
                r["id"] == e["id"] && r["metric"] == metric.as_str() && r["counted"] == true
            });
            assert_eq!(own.len() as u64, e["trials"].as_u64().unwrap(), "{metric}");
            assert_eq!(sum(&own, "n"), m["n"].as_u64().unwrap());
            assert_eq!(sum(&own, "infinite"), m["infinite"].as_u64().unwrap());
            let least = own.iter().map(|r| r["min"].as_u64().unwrap()).min();
            assert_eq!(least, m["min"].as_u64());
            let most = own.iter().map(|r| r["max"].as_u64().unwrap()).max();
            assert_eq!(most, m["max"].as_u64());
            let weighted = |r: &&Value| r["mean"].as_f64().unwrap() * r["n"].as_f64().unwrap();
            let mean = own.iter().map(weighted).sum::<f64>() / m["n"].as_f64().unwrap();
            assert_close(mean, m["mean"].as_f64().unwrap(), 1e-8, "mean");
            for count in ["offered", "received", "lost"] {
                assert_eq!(sum(&own, count), e["counts"][count].as_u64().unwrap());
            }
            for r in &own {
                for factor in [
                    "experiment",
                    "stack",
                    "workload",
                    "payload_bytes",
                    "wait",
                    "access",
                    "topology",
                    "is_floor",
                ] {
                    assert_eq!(r[factor], e[factor], "{factor}");
                }
                assert_eq!(r["is_headline"] == true, e["headline"] == metric.as_str());
                assert_eq!(r["host"], shown.json["run"]["environment"]["host"]);
                // A trial's p50 is near that of all.
                match (of_metric(m, "p50"), r["p50"].as_f64()) {
                    (Some(all), Some(own)) => assert_close(own, all, 0.03, "p50"),
                    (Some(all), None) if r["p50"] == "inf" => assert!(all.is_infinite()),
                    (_, own) => assert!(r["n"].as_u64().unwrap() < 6 && own.is_none()),
                }
            }
        }
    }
}

#[test]
fn nulls_stand_where_nothing_is_known() {
    let shown = full();
    let Some(table) = table(&shown) else {
        return;
    };
    let of = |stack: &str| rows(&table, |r| r["stack"] == stack);
    // Failed trials have one row without figures.
    let queue = of("posix-mq");
    let outcomes: Vec<&str> = queue
        .iter()
        .map(|r| r["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["completed", "failed", "failed"]);
    let crashed = queue[1];
    assert_eq!(crashed["metric"], "rtt_ns");
    assert_eq!(
        (&crashed["failure_kind"], &crashed["failure_step"]),
        (&"crash".into(), &"window".into())
    );
    assert_eq!(
        crashed["failure_message"],
        "echo ended by signal 11 (SIGSEGV)"
    );
    let stderr = crashed["failure_stderr"].as_str().unwrap();
    assert!(stderr.starts_with("adapter posix-mq 1.0\n"), "{stderr}");
    for column in [
        "n",
        "min",
        "p50",
        "received",
        "cpu_ns",
        "pss_bytes",
        "warmup_ns",
    ] {
        assert_eq!(crashed[column], Value::Null, "{column}");
    }
    assert_eq!(crashed["counted"], false);
    assert_eq!(queue[0]["failure_kind"], Value::Null);
    // So has an experiment without trials.
    let null = of("null");
    assert_eq!(
        (null.len(), &null[0]["outcome"], &null[0]["trial"]),
        (1, &"missing".into(), &Value::Null)
    );
    // A disturbed trial is there, and does not count.
    let uds = of("uds-stream");
    let disturbed: Vec<_> = uds
        .iter()
        .filter(|r| r["disturbed"] != Value::Null)
        .collect();
    assert_eq!(
        (uds.len(), disturbed.len(), &disturbed[0]["counted"]),
        (6, 1, &false.into())
    );
    // Too few samples for a quantile; lost messages are infinite in those that they reach.
    let few = of("tcp")[0];
    assert_eq!(
        (&few["n"], &few["p50"], &few["p999"]),
        (&4.into(), &Value::Null, &Value::Null)
    );
    let lossy = rows(&table, |r| r["stack"] == "udp" && r["is_headline"] == true);
    assert_eq!(
        (&lossy[0]["p99"], &lossy[0]["p999"]),
        (&"inf".into(), &Value::Null)
    );
    assert_eq!(lossy[0]["rate_hz"], 1_000.0);
    assert_eq!(uds[0]["rate_hz"], Value::Null);
    assert_eq!(uds[0]["started"]["unix_ms"], 1_795_231_560_000u64);
}

#[test]
fn raw_samples_have_a_table_of_their_own() {
    let shown = full();
    assert!(has_samples(&shown.run));
    let sample = |sequence: u64| RawSample {
        channel: 1,
        receiver: 2,
        sequence,
        intended: Nanos(1_000 * sequence),
        sent: Nanos(1_000 * sequence + 3),
        arrival: Nanos(1_000 * sequence + 503),
    };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("samples.parquet");
    let mut asked = Vec::new();
    let mut raw = |id: dyno_model::plan::TrialId| {
        asked.push(id);
        (0..u64::from(id.number)).map(sample).collect()
    };
    samples(&shown.run, File::create(&file).unwrap(), &mut raw).unwrap();
    // Of the one experiment that was to keep some.
    assert!(asked.len() == 5 && asked.iter().all(|id| id.experiment.0 == 2));
    let Some(table) = read("parquet_rows.py", &file) else {
        return;
    };
    let all = rows(&table, |_| true);
    assert_eq!(all.len(), 1 + 2 + 3 + 4);
    let last = all.last().unwrap();
    let expected = [
        ("id", 2),
        ("trial", 4),
        ("payload_bytes", 1_024),
        ("channel", 1),
        ("receiver", 2),
        ("sequence", 3),
        ("intended_ns", 3_000),
        ("sent_ns", 3_003),
        ("arrival_ns", 3_503),
        ("response_ns", 503),
        ("service_ns", 500),
    ];
    for (column, value) in expected {
        assert_eq!(last[column], value, "{column}");
    }
    assert_eq!(
        (&last["stack"], &last["rtt_ns"]),
        (&"udp".into(), &Value::Null)
    );
}

#[test]
fn a_run_without_trials_is_a_table_of_what_is_missing() {
    let mut shown = full();
    shown.run.trials.clear();
    let shown = Shown::of(shown.run);
    let Some(table) = table(&shown) else {
        return;
    };
    let all = rows(&table, |r| r["outcome"] == "missing");
    assert_eq!(all.len(), shown.experiments().len());
}
