//! The tables of AGL SoDeV's document beside a run of its suite.

use crate::common::sodev::sodev;
use crate::common::summary;
use dyno_report::{Format, HeldRequirement, RenderOptions, Requirement, Summary, render};
use std::sync::LazyLock;

/// Summarising takes long in a build for tests. With the verdicts that whoever renders it adds.
fn summarised() -> &'static Summary {
    static ONCE: LazyLock<Summary> = LazyLock::new(|| {
        let mut summary = summary(&sodev());
        let id = |name: &str| {
            let mut all = summary.experiments.iter().map(|e| &e.experiment);
            all.find(|e| e.name == name).unwrap().id
        };
        let held = |name: &str, verdict, found: &str, reason: &str| HeldRequirement {
            experiment: id(name),
            verdict,
            found: found.into(),
            reason: reason.into(),
        };
        let requirement = |name: &str, source: Option<&str>, held| Requirement {
            name: name.into(),
            required: "p50 round trip ≤ 2.00 ms".into(),
            source: source.map(str::to_owned),
            held,
        };
        let border = held(
            "border",
            "pass",
            "1.90 ms [1.89 ms, 1.91 ms]",
            "the whole interval is within the limit",
        );
        let timer = held(
            "timer-guest",
            "fail",
            "90.0 µs [90.0 µs, ∞]",
            "one such sample is enough",
        );
        summary.requirements = vec![
            requirement("between machines below 2 ms", None, vec![border]),
            requirement(
                "timer to a thread below 5 µs, worst case",
                Some("a standard"),
                vec![timer],
            ),
            requirement("not run", None, Vec::new()),
        ];
        summary
    });
    &ONCE
}

fn show(format: Format, width: Option<usize>) -> String {
    let options = RenderOptions {
        width,
        ..RenderOptions::default()
    };
    render(summarised(), format, &options)
}

/// The cells of all rows whose first cell it is, below a title that starts so.
fn rows(text: &str, title: &str, label: &str) -> Vec<Vec<String>> {
    let below = text.split_once(title).unwrap().1;
    let table = below.lines().skip_while(|l| !l.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|c| c.trim().to_owned()).collect()
    };
    let rows: Vec<_> = table
        .take_while(|l| l.starts_with('|'))
        .skip(2)
        .map(cells)
        .filter(|row| row[0] == label)
        .collect();
    assert!(!rows.is_empty(), "no {label} below {title}\n{text}");
    rows
}

#[test]
fn tables_of_the_document() {
    insta::assert_snapshot!(show(Format::Table, None));
}

#[test]
fn tables_of_the_document_as_markdown_in_a_hundred_columns() {
    insta::assert_snapshot!(show(Format::Markdown, Some(100)));
}

#[test]
fn processor_time_is_a_share_of_the_time_that_it_was_taken_over() {
    let text = show(Format::Table, None);
    let row = &rows(&text, "5. Throughput", "tcp")[0];
    assert_eq!(row[row.len() - 3..], ["25.0 %", "25.0 %", "80.0 %"]);
}

#[test]
fn memory_at_rest_stands_beside_that_in_use() {
    let text = show(Format::Table, None);
    let of = |component: &str| {
        let mut all = rows(&text, "6. Memory", "tcp").into_iter();
        let row = all.find(|row| row[1] == component).unwrap();
        [2, 3, 4].map(|cell| row[cell].clone())
    };
    assert_eq!(of("monitor of guest"), ["150 MiB", "180 MiB", "200 MiB"]);
    assert_eq!(of("within guest"), ["60.0 MiB", "75.0 MiB", "–"]);
    // Nobody is there before it is started.
    assert_eq!(of("echo"), ["–", "2.00 MiB", "5.00 MiB"]);
}

#[test]
fn only_an_emulated_host_counts_its_processor_time_wrongly() {
    let text = show(Format::Table, None);
    let of = |host| rows(&text, "7. Spinning", host)[0][4].clone();
    assert!(of("guest").contains("an emulated kernel"), "{text}");
    assert!(of("host").starts_with("50.0 %"), "{text}");
}

#[test]
fn each_requirement_has_a_verdict_and_its_source_or_that_there_is_none() {
    let text = show(Format::Table, None);
    let of = |name| {
        let row = &rows(&text, "9. Requirements", name)[0];
        [1, 2, 5, 6].map(|cell| row[cell].clone())
    };
    assert_eq!(
        of("between machines below 2 ms"),
        ["tcp", "2.4ms", "pass", "no source"]
    );
    assert_eq!(
        of("timer to a thread below 5 µs, worst case"),
        ["guest", "3.8µs", "fail", "a standard"]
    );
    assert_eq!(of("not run"), ["–", "–", "–", "no source"]);
    assert!(
        text.contains("worst case, guest: fail: one such sample is enough"),
        "{text}"
    );
}

#[test]
fn a_run_that_nobody_judged_says_how_it_is_judged() {
    let text = render(&summary(&sodev()), Format::Table, &RenderOptions::default());
    let row = &rows(&text, "9. Requirements", "not judged here")[0];
    assert_eq!(row[6], "dyno check RUN limits/sodev.toml");
}
