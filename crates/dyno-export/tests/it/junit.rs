//! JUnit XML, read by junitparser.

use crate::runs::{Shown, assert_close, full, headline};
use dyno_kit::python::read;
use serde_json::Value;

/// What junitparser finds in the run's document.
pub(crate) fn parsed(shown: &Shown) -> Option<Value> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.xml");
    let text = dyno_export::junit::render(&shown.run, &shown.summary).unwrap();
    std::fs::write(&file, text).unwrap();
    read("junit.py", &file)
}

#[test]
fn there_is_a_test_case_for_each_experiment_and_each_cell_that_cannot_be() {
    let shown = full();
    let Some(document) = parsed(&shown) else {
        return;
    };
    let suite = &document["suites"][0];
    assert_eq!(
        (&suite["name"], &suite["hostname"]),
        (&"full".into(), &"bench".into())
    );
    assert_eq!(suite["timestamp"], "2026-11-21T03:26:00Z");
    assert_eq!(suite["properties"]["run"], "full-20261121-032600");
    let cases = suite["cases"].as_array().unwrap();
    assert_eq!(cases.len(), shown.experiments().len() + 1);
    for (case, e) in cases.iter().zip(shown.experiments()) {
        let expected = format!("full.{}", e["experiment"].as_str().unwrap());
        assert_eq!(case["classname"], expected.as_str());
        let name = case["name"].as_str().unwrap();
        assert!(name.starts_with(e["stack"].as_str().unwrap()), "{name}");
        let p = &case["properties"];
        for q in ["p50", "p90", "p99", "p999"] {
            let found = p[q].as_str().map(|text| text.parse::<f64>().unwrap());
            assert_eq!(found, headline(e, q), "{name} {q}");
        }
        assert_eq!(p["trials"].as_str().unwrap(), e["trials"].to_string());
        let delivered = p["delivered_ratio"]
            .as_str()
            .map(|t| t.parse::<f64>().unwrap());
        assert_eq!(delivered, e["delivered_ratio"].as_f64());
    }
    // Half a second for each of the floor's five trials.
    assert_close(cases[0]["time"].as_f64().unwrap(), 2.5, 1e-9, "time");
}

#[test]
fn what_failed_and_what_was_not_measured_is_said() {
    let shown = full();
    let Some(document) = parsed(&shown) else {
        return;
    };
    let suite = &document["suites"][0];
    let counts = ["tests", "failures", "errors", "skipped"].map(|key| suite[key].as_u64());
    assert_eq!(counts, [Some(9), Some(1), Some(1), Some(2)], "{suite:#}");
    let results = |i: usize| suite["cases"][i]["results"].as_array().unwrap();
    assert!(results(0).is_empty() && results(1).is_empty());
    let of_queue = results(4);
    assert_eq!(of_queue.len(), 2, "{of_queue:#?}");
    let crash = &of_queue[0];
    assert_eq!(
        (&crash["kind"], &crash["type"]),
        (&"Error".into(), &"crash".into())
    );
    assert_eq!(
        crash["message"],
        "1 of 3 trials: crash in window: echo ended by signal 11 (SIGSEGV)"
    );
    // What the agents said, without the colours that they said it in.
    let text = crash["text"].as_str().unwrap();
    assert!(
        text.ends_with("adapter posix-mq 1.0\nmq_receive: <bad> & descriptor"),
        "{text}"
    );
    let counts = &of_queue[1];
    assert_eq!(
        (&counts["kind"], &counts["type"]),
        (&"Failure".into(), &"inconsistent".into())
    );
    let output = suite["cases"][1]["output"].as_str().unwrap();
    assert!(
        output.contains("1 trial: other processes took 20 %"),
        "{output}"
    );
    for (i, text) in [
        (7, "not measured yet"),
        (
            8,
            "refused: it cannot wait by spin; write wait = \"natural\"",
        ),
    ] {
        let skipped = &results(i)[0];
        assert_eq!(skipped["kind"], "Skipped");
        assert!(
            skipped["message"].as_str().unwrap().starts_with(text),
            "{skipped}"
        );
    }
    let refused = &suite["cases"][8];
    assert_eq!(refused["name"], "zenoh-shm: ping-pong, 64 B, spin");
}
