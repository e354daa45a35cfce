//! A factor that only this test knows is found wherever factors are shown or compared, though none of these places
//! names it.

use crate::common::{Builder, summary};
use dyno_export::{gbench, junit, openmetrics};
use dyno_judge::{CompareOptions, compare};
use dyno_model::Metric;
use dyno_model::factors::{BetweenRuns, Factor, Of, with_made_up};
use dyno_model::record::Run;
use dyno_report::{Format, RenderOptions, conditions, render};

/// No factor otherwise, so that its value can be one here.
static MADE_UP: Factor = Factor {
    title: "madness",
    lead: "madness of ",
    text: |e| match e.raw_samples {
        0 => String::new(),
        n => format!("degree {n}"),
    },
    default: Some(""),
    columns: &[(
        "made_up",
        Of::Count(|e| (e.raw_samples != 0).then_some(e.raw_samples.into())),
    )],
    ..Factor::PLAIN
};

static NAMED: Factor = Factor {
    between_runs: BetweenRuns::Named,
    ..MADE_UP
};

/// Of one experiment for each of these values.
fn run(values: &[u32]) -> Run {
    let mut b = Builder::new("made-up", "one more factor", "stacks");
    for value in values {
        let id = b.experiment("uds-stream", |e| e.raw_samples = *value);
        b.trials(id, &[(Metric::Rtt, 12_300.0, 4_000, 0)]);
    }
    b.run
}

#[track_caller]
fn finds(text: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "no {wanted:?} in {text}");
    }
}

#[test]
fn reports_have_a_factor_that_they_do_not_know() {
    with_made_up(&MADE_UP, || {
        let run = run(&[0, 7]);
        let summary = summary(&run);
        let shown = |format| render(&summary, format, &RenderOptions::default());
        finds(&shown(Format::Table), &["madness", "degree 7"]);
        finds(&shown(Format::Markdown), &["madness", "degree 7"]);
        finds(&shown(Format::Json), &["\"made_up\": 7"]);
        finds(&shown(Format::Csv), &[",made_up,"]);
        finds(
            &conditions(&run.manifest.plan.experiments[1]),
            &["madness of degree 7"],
        );
    });
}

#[test]
fn exports_have_a_factor_that_they_do_not_know() {
    with_made_up(&MADE_UP, || {
        let run = run(&[0, 7]);
        let summary = summary(&run);
        finds(&gbench::render(&run, &summary), &["/made_up:7"]);
        finds(&openmetrics::render(&summary), &["made_up=\"7\""]);
        let xml = junit::render(&run, &summary).unwrap();
        finds(&xml, &["name=\"made_up\" value=\"7\""]);
    });
}

#[test]
fn comparisons_tell_apart_or_name_a_factor_that_they_do_not_know() {
    let compared = |factor| {
        with_made_up(factor, || {
            let c = compare(&run(&[3]), &run(&[7]), &CompareOptions::default());
            c.render(Format::Table, &RenderOptions::default())
        })
    };
    finds(
        &compared(&MADE_UP),
        &["madness of degree 3", "madness of degree 7", "only the"],
    );
    finds(
        &compared(&NAMED),
        &["madness of round-trip: degree 3 → degree 7"],
    );
}

#[test]
fn the_page_asks_a_question_for_each_value_of_a_factor_that_it_does_not_know() {
    with_made_up(&MADE_UP, || {
        let run = run(&[0, 7]);
        let document = crate::document(&[&run]);
        finds(&document.to_json(), &["madness of degree 7"]);
    });
}
