//! OpenMetrics, read by the strict parser of Prometheus's Python library.

use crate::runs::{Shown, assert_close, full, of_metric};
use dyno_kit::python::read;
use serde_json::Value;

/// What the parser finds in the run's text.
pub(crate) fn parsed(shown: &Shown) -> Option<Value> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.txt");
    std::fs::write(&file, dyno_export::openmetrics::render(&shown.summary)).unwrap();
    read("openmetrics.py", &file)
}

/// The samples of a family that belong to an experiment.
fn samples<'a>(families: &'a Value, name: &str, id: &Value) -> Vec<&'a Value> {
    let mut all = families.as_array().unwrap().iter();
    let family = all.find(|f| f["name"] == name);
    let family = family.unwrap_or_else(|| panic!("no family {name}"));
    let samples = family["samples"].as_array().unwrap().iter();
    samples
        .filter(|s| s["labels"]["id"] == id.to_string().as_str())
        .collect()
}

/// The value of the one sample with these labels.
fn value(samples: &[&Value], labels: &[(&str, &str)]) -> Option<f64> {
    let mut fitting = samples
        .iter()
        .filter(|s| labels.iter().all(|(key, text)| s["labels"][key] == **text));
    let one = fitting.next()?;
    assert!(fitting.next().is_none(), "{labels:?} twice");
    match &one["value"] {
        Value::String(_) => Some(f64::INFINITY),
        number => number.as_f64(),
    }
}

#[test]
fn its_figures_are_those_of_the_json_in_base_units() {
    let shown = full();
    let Some(families) = parsed(&shown) else {
        return;
    };
    for e in shown.experiments() {
        let of = |family: &str| samples(&families, family, &e["id"]);
        let latencies = of("dyno_latency_seconds");
        for (metric, m) in e["metrics"].as_object().unwrap() {
            let name = metric.trim_end_matches("_ns");
            for (q, rank) in [
                ("p50", "0.5"),
                ("p90", "0.9"),
                ("p99", "0.99"),
                ("p999", "0.999"),
            ] {
                let found = value(&latencies, &[("metric", name), ("quantile", rank)]);
                match of_metric(m, q) {
                    Some(ns) if ns.is_finite() => {
                        assert_close(found.unwrap(), ns / 1e9, 1e-12, metric);
                    }
                    other => assert_eq!(found, other, "{metric} {q}"),
                }
                let lower = value(
                    &of("dyno_latency_lower_seconds"),
                    &[("metric", name), ("quantile", rank)],
                );
                assert_eq!(lower.is_some(), found.is_some());
            }
            let count: Vec<&Value> = latencies
                .iter()
                .filter(|s| s["name"] == "dyno_latency_seconds_count")
                .copied()
                .collect();
            let n = m["n"].as_f64().unwrap() + m["infinite"].as_f64().unwrap();
            assert_eq!(value(&count, &[("metric", name)]), Some(n));
        }
        for (state, n) in e["counts"].as_object().unwrap() {
            assert_eq!(value(&of("dyno_messages"), &[("state", state)]), n.as_f64());
        }
        assert_eq!(
            value(&of("dyno_delivered_ratio"), &[]),
            e["delivered_ratio"].as_f64()
        );
        let pss = e["cost"]["pss_bytes"]["median"].as_f64();
        assert_eq!(value(&of("dyno_memory_pss_bytes"), &[]), pss);
        let ratio = e["floor"]["p50_ratio"]["value"].as_f64();
        assert_eq!(value(&of("dyno_floor_ratio"), &[]), ratio);
        let trials = value(&of("dyno_trials"), &[("state", "failed")]);
        assert_eq!(trials, e["failed_trials"].as_f64());
        let info = of("dyno_experiment");
        assert_eq!(info[0]["labels"]["access"], e["access"]);
        assert_eq!(info[0]["labels"]["headline"], e["headline"]);
    }
}

#[test]
fn every_family_says_its_unit() {
    let shown = full();
    let Some(families) = parsed(&shown) else {
        return;
    };
    for family in families.as_array().unwrap() {
        let (name, unit) = (
            family["name"].as_str().unwrap(),
            family["unit"].as_str().unwrap(),
        );
        assert!(name.ends_with(unit), "{name} in {unit}");
        for base in ["seconds", "bytes", "ratio"] {
            assert_eq!(name.ends_with(&format!("_{base}")), unit == base, "{name}");
        }
        assert!(!family["help"].as_str().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn a_text_ends_with_its_mark() {
    let shown = Shown::of(crate::common::quick());
    let text = dyno_export::openmetrics::render(&shown.summary);
    assert!(text.ends_with("\n# EOF\n"));
}
