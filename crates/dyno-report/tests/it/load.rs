//! What became of an offered load stands in the table.

use crate::common::{Builder, cameras, summary};
use dyno_model::factor::Arrivals;
use dyno_model::record::Run;
use dyno_model::{Metric, Pacing, RateHz, Workload};
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

/// Streams of 1 kHz, each with the p50 of service, lateness and send call in microseconds, and how its sender waits.
fn late(rows: &[(&str, f64, f64, f64, Pacing)]) -> Run {
    let mut b = Builder::new("late", "Late", "stacks");
    for (stack, service, late, send, pacer) in rows {
        let id = b.experiment(stack, |e| {
            e.workload = Workload::Stream {
                rate: RateHz::new(1_000.0).unwrap(),
                arrivals: Arrivals::Fixed,
            };
            e.pacer = *pacer;
        });
        let of = |metric, us: f64| (metric, 1e3 * us, 2_000, 0);
        b.trials(
            id,
            &[
                of(Metric::Response, service + late),
                of(Metric::Service, *service),
                of(Metric::Lateness, *late),
                of(Metric::Send, *send),
            ],
        );
    }
    b.run
}

fn headlines(run: &Run) -> Vec<Metric> {
    let all = summary(run).experiments;
    all.iter().map(|e| e.headline()).collect()
}

/// The rows that a remark with these words names.
fn named(run: &Run, words: &str) -> String {
    let text = render(&summary(run), Format::Table, &RenderOptions::default());
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, rows) = flat.split_once(words).expect(&text);
    let (rows, _) = rows.split_once(" · ").unwrap_or((rows, ""));
    rows.to_owned()
}

#[test]
fn rows_whose_response_time_is_mostly_the_senders_own_lateness_are_named() {
    let run = late(&[
        ("on-time", 20.0, 1.0, 2.0, Pacing::Spin),
        ("woken-late", 20.0, 60.0, 2.0, Pacing::Spin),
        ("very-late", 20.0, 150.0, 2.0, Pacing::Spin),
        // Its sends take most of the period: it is late for the stack's sake.
        ("slow-sends", 20.0, 60.0, 400.0, Pacing::Spin),
    ]);
    assert_eq!(headlines(&run), [Metric::Response; 4]);
    let rows = named(
        &run,
        "at least half of the p50 response time; service times exclude it: ",
    );
    for name in ["woken-late (p50 ", "very-late (p50 "] {
        assert!(rows.contains(name), "{rows}");
    }
    for name in ["on-time (p50 ", "slow-sends (p50 "] {
        assert!(!rows.contains(name), "{rows}");
    }
}

#[test]
fn a_sleeping_pacer_keeps_the_headline_and_is_named() {
    let run = late(&[
        ("udp", 20.0, 60.0, 2.0, Pacing::Sleep),
        ("tcp", 25.0, 1.0, 2.0, Pacing::Spin),
    ]);
    assert_eq!(headlines(&run), [Metric::Response; 2]);
    let rows = named(&run, "service times exclude them: ");
    assert!(rows.contains("udp") && !rows.contains("tcp ("), "{rows}");
}
