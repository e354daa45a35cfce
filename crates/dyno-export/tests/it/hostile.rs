//! Names that are code, markup, formulas, several lines or endless: every format gives them back as they
//! were, or as near to that as it can.

use crate::common::Builder;
use crate::runs::Shown;
use crate::{hdr, junit, openmetrics};
use dyno_kit::python::{compare_script, python, read, run};
use dyno_model::Metric;
use dyno_model::record::FailureKind;
use dyno_report::{Format, RenderOptions, render};
use serde_json::Value;

fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "quote \" and ' and, comma; semicolon",
        "two\nlines\r\nand a\ttab",
        "🚗 \u{202e}עברית\u{202c} العربية 通信",
        "<script>alert(1)</script> &amp; ]]> <!-- -->",
        "=SUM(A1:A9)+cmd|' /C calc'!A0",
        "back\\slash\\n {curly=\"1\"} # EOF",
        "[StartTime: 5 (seconds since epoch)]\u{2028}x",
        "../../etc/passwd",
        "control \u{0} \u{1b}[31m \u{7f} \u{fffe}",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push("ä".repeat(500));
    names
}

/// A run with each name as stack and as experiment, and all of them as suite.
fn shown() -> Shown {
    let mut b = Builder::new(&suite(), "<title>", "stacks");
    for name in names() {
        let id = b.experiment(&name, |e| e.name = name.clone());
        b.trials(id, &[(Metric::Rtt, 12_300.0, 1_000, 0)]);
        b.failed(id, FailureKind::Error, &name, &name, &[&name]);
    }
    Shown::of(b.build())
}

fn suite() -> String {
    names().concat()
}

/// What XML can hold of a name.
fn in_xml(name: &str) -> String {
    name.replace(['\u{0}', '\u{1b}', '\u{fffe}'], "\u{fffd}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What stands of a name in CSV: nothing that steers a terminal, nothing that a spreadsheet computes.
fn in_csv(name: &str) -> String {
    let steering = [
        '\u{0}', '\u{1b}', '\u{7f}', '\u{202c}', '\u{202e}', '\u{2028}',
    ];
    let apostrophe = if name.starts_with('=') { "'" } else { "" };
    apostrophe.to_owned() + &name.replace(steering, "\u{fffd}")
}

/// All names, as the format has them, are among these texts.
#[track_caller]
fn has_all(texts: impl IntoIterator<Item = String>, format: fn(&str) -> String) {
    let texts: Vec<String> = texts.into_iter().collect();
    for name in names() {
        let name = format(&name);
        assert!(texts.contains(&name), "{name:?} is not in {texts:#?}");
    }
}

#[test]
fn csv() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.csv");
    let csv = render(&shown().summary, Format::Csv, &RenderOptions::default());
    std::fs::write(&file, csv).unwrap();
    let Some(rows) = read("csv_rows.py", &file) else {
        return;
    };
    let rows = rows.as_array().unwrap();
    has_all(rows.iter().map(|r| text(&r["stack"])), in_csv);
    has_all(rows.iter().map(|r| text(&r["experiment"])), in_csv);
    assert!(rows.iter().all(|r| r["suite"] == in_csv(&suite())));
}

#[test]
fn gbench() {
    let shown = shown();
    let document = dyno_export::gbench::render(&shown.run, &shown.summary);
    let parsed: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(parsed["context"]["dyno_suite"], suite().as_str());
    let (Some(python), Some(script)) = (python(), compare_script()) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let (file, dump) = (place.path().join("a.json"), place.path().join("dump.json"));
    std::fs::write(&file, document).unwrap();
    let arguments = [
        script.as_os_str(),
        "-d".as_ref(),
        dump.as_os_str(),
        "benchmarks".as_ref(),
        file.as_os_str(),
        file.as_os_str(),
    ];
    run(&python, &arguments);
    let compared: Value = serde_json::from_slice(&std::fs::read(&dump).unwrap()).unwrap();
    for name in names() {
        let start = format!("{}/{name}/{name}/payload:64/", suite());
        let mut all = compared.as_array().unwrap().iter();
        assert!(
            all.any(|b| text(&b["name"]).starts_with(&start)),
            "{name:?}"
        );
    }
}

#[test]
fn hdr_files() {
    let (place, files) = hdr::exported(&shown());
    for (file, content) in &files {
        let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let short = file.len() < 200 && file.starts_with('e');
        assert!(short && file.chars().all(safe), "{file}");
        // Each of its lines is a comment, the legend, an interval or a row.
        for line in content.split(['\n', '\r', '\u{2028}', '\u{85}']) {
            let known = line.starts_with(['#', '"', '1', ' ']) || line.is_empty();
            assert!(known && !line.starts_with("#[StartTime: 5"), "{line}");
        }
    }
    for (i, name) in names().into_iter().enumerate() {
        let start = format!("e{i:04}_");
        let (_, log) = files
            .iter()
            .find(|(f, _)| f.starts_with(&start) && f.ends_with(".hlog"))
            .unwrap();
        let stack = log
            .lines()
            .find_map(|l| l.strip_prefix("#stack: "))
            .unwrap();
        // The rest is written as escapes.
        if !name.contains(|c: char| c.is_control() || c == '\\' || dyno_report::is_hidden(c)) {
            assert_eq!(stack, name);
        }
    }
    let Some(found) = read("hdr.py", place.path()) else {
        return;
    };
    let found = found.as_object().unwrap();
    assert_eq!(found.len(), names().len());
    for (file, f) in found {
        assert_eq!(
            (&f["count"], &f["start"]),
            (&5_000.into(), &1_795_231_560.0.into()),
            "{file}"
        );
    }
}

#[test]
fn junit_xml() {
    let Some(document) = junit::parsed(&shown()) else {
        return;
    };
    let suite_read = &document["suites"][0];
    assert_eq!(suite_read["name"], in_xml(&suite()).as_str());
    for (name, case) in names().iter().zip(suite_read["cases"].as_array().unwrap()) {
        let name = in_xml(name);
        assert!(
            text(&case["name"]).starts_with(&format!("{name}: ")),
            "{case:#}"
        );
        assert!(
            text(&case["classname"]).ends_with(&format!(".{name}")),
            "{case:#}"
        );
        let failed = &case["results"][0];
        assert_eq!(
            text(&failed["message"]),
            format!("1 of 6 trials: error in {name}: {name}")
        );
        assert!(text(&failed["text"]).starts_with(&name), "{failed:#}");
    }
}

#[test]
fn openmetrics_text() {
    let Some(families) = openmetrics::parsed(&shown()) else {
        return;
    };
    let families = families.as_array().unwrap();
    let family = families
        .iter()
        .find(|f| f["name"] == "dyno_experiment")
        .unwrap();
    let samples = family["samples"].as_array().unwrap();
    let told = |label: &str| samples.iter().map(|s| text(&s["labels"][label])).collect();
    let (stacks, experiments): (Vec<String>, Vec<String>) = (told("stack"), told("experiment"));
    // There is no escape for a control character.
    for name in names() {
        let name = dyno_report::printable(&name, false).into_owned();
        assert!(
            stacks.contains(&name) && experiments.contains(&name),
            "{name:?}"
        );
    }
    let suite = suite();
    let suite = dyno_report::printable(&suite, false);
    assert!(samples.iter().all(|s| s["labels"]["suite"] == *suite));
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_tables() {
    let Some(table) = crate::parquet::table(&shown()) else {
        return;
    };
    let rows = table["rows"].as_array().unwrap();
    has_all(rows.iter().map(|r| text(&r["stack"])), str::to_owned);
    has_all(
        rows.iter()
            .filter_map(|r| r["failure_message"].as_str().map(str::to_owned)),
        str::to_owned,
    );
    assert!(rows.iter().all(|r| r["suite"] == suite().as_str()));
}
