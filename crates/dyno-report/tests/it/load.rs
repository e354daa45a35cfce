//! What became of an offered load stands in the table.

use crate::common::{cameras, summary};
use dyno_report::{Format, LoadOutcome, RenderOptions, render};

fn show(format: Format) -> String {
    render(&summary(&cameras()), format, &RenderOptions::default())
}

#[test]
fn five_cameras_fit_and_six_and_seven_saturate_the_link() {
    let summary = summary(&cameras());
    let found: Vec<_> = summary.experiments.iter().map(|e| e.load()).collect();
    use LoadOutcome::{Fits, Loses, Saturated};
    assert_eq!(found, [Fits, Saturated, Saturated, Loses].map(Some));
    let growth = summary.experiments[2].saturated.unwrap();
    assert!((growth - 0.2).abs() < 0.02, "{growth}");
    assert_eq!(summary.experiments[2].delivered_ratio(), Some(1.0));
    assert!(summary.experiments[2].in_window_ratio().unwrap() < 0.81);
}

#[test]
fn the_table_says_it_and_the_plans_warning_stands_with_the_row() {
    insta::assert_snapshot!(show(Format::Table));
}

#[test]
fn json_and_csv_say_it_too() {
    let document: serde_json::Value = serde_json::from_str(&show(Format::Json)).unwrap();
    let seven = &document["experiments"][2];
    assert_eq!(seven["load_outcome"], "saturated");
    assert!(seven["in_window_ratio"].as_f64().unwrap() < 0.81);
    let overload = seven["link_overload"].as_str().unwrap();
    assert!(overload.contains("at most 89 % can arrive"), "{overload}");
    let csv = show(Format::Csv);
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let column = header.iter().position(|c| *c == "load_outcome").unwrap();
    let outcomes: Vec<&str> = csv
        .lines()
        .skip(1)
        .map(|l| l.split(',').nth(column).unwrap())
        .collect();
    assert_eq!(outcomes, ["fits", "saturated", "saturated", "loses"]);
}

#[test]
fn rows_of_different_machines_are_told_apart_and_not_ordered_by_speed() {
    let mut run = cameras();
    let mut other = run.manifest.environment.clone();
    other.host = "aa-fast".into();
    run.machines.insert("aa-fast".into(), other);
    let own = run.manifest.environment.clone();
    run.machines.insert("zz-slow".into(), own);
    for (i, e) in run.manifest.plan.experiments.iter_mut().enumerate() {
        e.topology.senders = 5;
        e.machine = Some(if i % 2 == 0 { "zz-slow" } else { "aa-fast" }.into());
    }
    let text = render(&summary(&run), Format::Table, &RenderOptions::default());
    let rows: Vec<&str> = text
        .lines()
        .filter(|l| l.ends_with(" 3") && (l.contains("aa-fast") || l.contains("zz-slow")))
        .collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows[..2].iter().all(|r| r.contains("aa-fast")), "{text}");
    assert!(
        text.contains("rows from different machines are not compared"),
        "{text}"
    );
    let document = render(&summary(&run), Format::Json, &RenderOptions::default());
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    for (i, e) in document["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        let wanted = if i % 2 == 0 { "zz-slow" } else { "aa-fast" };
        assert_eq!(e["machine"], wanted);
    }
}
