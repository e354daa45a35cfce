//! The RWTH comparison's tables, and what must not look better in them than it is.

use crate::common::rwth::rwth;
use crate::common::summary;
use dyno_report::{Format, RenderOptions, Summary, render};
use std::sync::LazyLock;

/// Summarising takes long in a build for tests.
fn summarised() -> &'static Summary {
    static ONCE: LazyLock<Summary> = LazyLock::new(|| summary(&rwth()));
    &ONCE
}

fn show(format: Format, width: Option<usize>) -> String {
    let options = RenderOptions {
        width,
        color: false,
        ..RenderOptions::default()
    };
    render(summarised(), format, &options)
}

/// The cells of the first row with that label and quantity, below a title that starts so.
fn row(text: &str, title: &str, label: &str, quantity: &str) -> Vec<String> {
    let below = text.split_once(title).unwrap().1;
    let mut line_label = String::new();
    for line in below.lines().skip(1).filter(|l| l.starts_with('|')) {
        let cells: Vec<String> = line
            .trim_matches('|')
            .split(" | ")
            .map(|c| c.trim().to_owned())
            .collect();
        if !cells[0].is_empty() {
            line_label.clone_from(&cells[0]);
        }
        if line_label == label && cells[1] == quantity {
            return cells[2..].to_vec();
        }
    }
    panic!("no {label}, {quantity} below {title}\n{text}");
}

#[test]
fn tables_of_the_paper() {
    insta::assert_snapshot!(show(Format::Table, None));
}

#[test]
fn tables_of_the_paper_in_a_hundred_columns() {
    insta::assert_snapshot!(show(Format::Table, Some(100)));
}

#[test]
fn tables_of_the_paper_as_markdown() {
    insta::assert_snapshot!(show(Format::Markdown, None));
}

#[test]
fn the_papers_figures_stand_beside_those_of_the_same_cell() {
    let text = show(Format::Table, None);
    let imu = "Communication time of imu";
    let paper = row(&text, imu, "FastDDS best-effort", "paper");
    assert_eq!(paper, ["0.088 / 0.187", "0.487 / 0.572", "1.180 / 1.542"]);
    let paper = row(
        &text,
        "Communication time of camera",
        "vSome/IP reliable",
        "paper",
    );
    assert_eq!(paper[1], "56.225 / 60.357");
    let first = row(&text, "Time to first message", "Zenoh best-effort", "paper");
    assert_eq!(first, ["11.783 / 11.783"]);
}

#[test]
fn another_load_has_no_figures_of_the_paper() {
    let mut run = rwth();
    for e in &mut run.manifest.plan.experiments {
        if e.name == "imu" {
            e.payload = dyno_model::PayloadSize::new(2_000).unwrap();
        }
    }
    let text = render(&summary(&run), Format::Table, &RenderOptions::default());
    let imu = text.split_once("Communication time of imu").unwrap().1;
    let imu = imu.split_once("Communication time of camera").unwrap().0;
    assert!(!imu.contains("paper"), "{imu}");
}

#[test]
fn a_stack_that_drops_is_not_marked_as_the_fastest() {
    let text = show(Format::Table, None);
    let camera = "Communication time of camera";
    let of = |label: &str, quantity: &str| row(&text, camera, label, quantity)[1].clone();
    assert!(of("FastDDS best-effort", "p50").starts_with("3"), "{text}");
    assert_eq!(of("FastDDS best-effort", "delivered"), "60.0 %");
    assert!(of("vSome/IP reliable", "p50").starts_with("↑ 5"), "{text}");
    // The fast one of those that deliver is marked where there are two.
    assert!(row(&text, camera, "FastDDS best-effort", "p50")[0].starts_with("↓ 1.8"));
}

#[test]
fn a_cell_without_a_figure_has_its_reason_below() {
    let text = show(Format::Table, None);
    let camera = "Communication time of camera";
    let failed = &row(&text, camera, "Zenoh best-effort", "p50")[1];
    let code = failed.strip_prefix("failed ").unwrap();
    assert!(
        text.contains(&format!(
            "{code} failed, crash in window: sink ended by signal 11"
        )),
        "{text}"
    );
    assert_eq!(row(&text, camera, "Zenoh reliable", "p50")[1], "not run");
    assert!(text.contains("a message is too large | for it"));
    // Trials that failed beside others that did not.
    let partly = &row(&text, camera, "vSome/IP reliable", "p50")[1];
    assert!(partly.ends_with(')') && partly.starts_with('↑'), "{partly}");
}

#[test]
fn scaling_is_refused_where_sizes_lose_half_of_their_messages() {
    let of = |stack: &str| {
        summarised()
            .scaling
            .iter()
            .find(|s| s.first.stack == stack)
            .unwrap()
    };
    let fast = of("fastdds-best-effort");
    let slope = fast.fit.unwrap().slope;
    assert_eq!((fast.sizes, fast.offered, fast.received), (5, 2_500, 2_500));
    assert!(
        slope.lo.finite() > Some(8.2) && slope.hi.finite() < Some(8.8),
        "{slope:?}"
    );
    let lossy = of("zenoh-tcp");
    assert_eq!(lossy.fit, None);
    assert!(
        lossy
            .reason
            .as_ref()
            .unwrap()
            .contains("half of the messages of 3220 kB or more were lost"),
        "{lossy:?}"
    );
    let text = show(Format::Table, None);
    let zenoh = row(&text, "Scaling factor S", "Zenoh best-effort", "D1-1");
    assert_eq!(zenoh[1], "1.06");
    assert_eq!((zenoh[6].as_str(), zenoh[7].as_str()), ("0.171", "1.02"));
}

#[test]
fn the_order_is_stated_with_intervals_and_compared() {
    let text = show(Format::Table, None);
    let order = |start: &str| {
        let line = text.lines().find(|l| l.trim_start().starts_with(start));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let within = order("C1-1 imu: ");
    assert!(
        within.contains("FastDDS 0.0") && within.contains(" < Zenoh 0.1"),
        "{within}"
    );
    assert!(within.ends_with("the same order."), "{within}");
    let between = order("D1-1 imu: Zenoh 0.1");
    assert!(
        between.contains("The paper: FastDDS 0.487 < Zenoh 3.17 < vSome/IP 7.80 ms"),
        "{between}"
    );
    assert!(
        between.ends_with("another order here: Zenoh before FastDDS."),
        "{between}"
    );
    let camera = order("D1-1 camera: ");
    assert!(
        camera.contains("vSome/IP 5") && camera.contains("(its sender is delayed: response 9"),
        "{camera}"
    );
    let dropped = "not compared, because messages are dropped: FastDDS 3";
    assert!(
        camera.contains(dropped) && camera.contains("(delivers 60.0 %)"),
        "{camera}"
    );
}

#[test]
fn what_the_clocks_do_not_bear_has_no_figure() {
    let mut run = rwth();
    let plan = &run.manifest.plan;
    let blurred = |e: &dyno_model::Experiment| {
        e.name == "imu" && e.stack == "zenoh-udp" && e.placement == dyno_model::Placement::Host
    };
    let ids: Vec<_> = plan
        .experiments
        .iter()
        .filter(|e| blurred(e))
        .map(|e| e.id)
        .collect();
    run.manifest.plan.experiments.retain(|e| e.name == "imu");
    for trial in run
        .trials
        .iter_mut()
        .filter(|t| ids.contains(&t.id.experiment))
    {
        trial.one_way_bound = Some(dyno_model::Nanos::from_micros(100));
    }
    let text = render(&summary(&run), Format::Table, &RenderOptions::default());
    let imu = "Communication time of imu";
    let cell = &row(&text, imu, "Zenoh best-effort", "p50")[1];
    assert_eq!(cell, "– (1)");
    assert!(text.contains("(1) one way cannot be resolved"), "{text}");
    assert!(!text.contains("D1-1 imu: Zenoh"), "{text}");
}

#[test]
fn a_refused_cell_of_a_divided_line_has_its_reason() {
    let mut run = rwth();
    let plan = &mut run.manifest.plan;
    let imu = |e: &&dyno_model::Experiment| e.stack == "iceoryx2" && e.name == "imu";
    let mut other = plan.experiments.iter().find(imu).unwrap().clone();
    other.id = dyno_model::ExperimentId(plan.experiments.len() as u32);
    other.wait = dyno_model::Wait::Spin;
    plan.experiments.push(other);
    plan.refused.push(dyno_model::plan::Refusal {
        experiment: "imu".into(),
        stack: "iceoryx2".into(),
        factors: "stream 200 Hz, 1 kB, callback, stamp, host, 1-1".into(),
        reason: "it does not leave its host".into(),
    });
    let text = render(&summary(&run), Format::Table, &RenderOptions::default());
    for divided in ["callback", "spin"].map(|wait| format!("iceoryx2 ({wait}, stamp, SCHED_OTHER)"))
    {
        let cells = row(&text, "Communication time of imu", &divided, "p50");
        assert!(cells[1].starts_with("refused ("), "{cells:?}");
    }
    assert!(
        text.contains("refused: it does not leave its host [2 cells]"),
        "{text}"
    );
}
