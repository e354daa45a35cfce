//! Laws of growth of a run whose laws are planted.

use crate::common::summary;
use dyno_kit::runs::Builder;
use dyno_kit::runs::idle::{add_idle, growing};
use dyno_model::record::{FailureKind, Outcome, Run};
use dyno_model::{Topology, TrialFigure};
use dyno_report::{FigureGrowth, Format, NoFit, RenderOptions, Summary, render_growth};
use dyno_stats::{Course, Law, NoGrowth};

fn of<'a>(summary: &'a Summary, stack: &str, figure: TrialFigure) -> &'a FigureGrowth {
    let mut series = summary.growth.iter();
    let series = series.find(|g| g.ends[0].stack == stack).unwrap();
    series.figures.iter().find(|f| f.figure == figure).unwrap()
}

fn shown(run: &Run, width: Option<usize>, markdown: bool) -> String {
    let options = RenderOptions {
        width,
        ..RenderOptions::default()
    };
    render_growth(&summary(run), &options, markdown).unwrap()
}

#[test]
fn planted_laws_are_found() {
    let summary = summary(&growing());
    for (stack, figure, law, exponent) in [
        ("udp", TrialFigure::BusyCpus, Law::Linear, Some(1.0)),
        ("zenoh-udp", TrialFigure::BusyCpus, Law::LinearLog, None),
        ("cyclonedds", TrialFigure::BusyCpus, Law::Square, Some(2.0)),
        ("cyclonedds", TrialFigure::PacketsHz, Law::Square, Some(2.0)),
        ("udp", TrialFigure::WakeUpsHz, Law::Linear, Some(1.0)),
        ("udp", TrialFigure::Threads, Law::Linear, Some(1.0)),
    ] {
        let fit = of(&summary, stack, figure).fit.as_ref().unwrap();
        assert_eq!(fit.course, Course::Grows, "{stack} {figure}: {fit:?}");
        assert!(fit.laws.contains(&law), "{stack} {figure}: {fit:?}");
        if let Some(exponent) = exponent {
            assert!((fit.exponent.value - exponent).abs() < 0.1, "{fit:?}");
        }
    }
    let constant = of(&summary, "udp", TrialFigure::SharedBytes);
    assert_eq!(constant.fit.as_ref().unwrap().course, Course::Constant);
    let none = of(&summary, "udp", TrialFigure::PacketsHz);
    assert_eq!(none.fit, Err(NoFit::Data(NoGrowth::Zero)));
}

#[test]
fn the_table_has_a_row_for_each_figure_and_says_it_in_sentences() {
    insta::assert_snapshot!("table", shown(&growing(), Some(120), false));
    let markdown = shown(&growing(), None, true);
    for text in [
        "| cyclonedds | busy CPUs ",
        "no packets in any trial",
        "grow with n·log n; all participants together fill one CPU ",
        "fill one CPU at ",
        "extrapolated from 2 to 32",
        "beyond 256 participants",
    ] {
        assert!(markdown.contains(text), "{text}: {markdown}");
    }
}

#[test]
fn what_has_no_law_says_why_in_its_row() {
    let mut b = Builder::new("growth", "what more participants cost", "stacks");
    for side in [1, 2, 4] {
        add_idle(&mut b, "udp", side, 200);
    }
    for side in [1, 2, 4, 8] {
        let id = add_idle(&mut b, "tcp", side, 200);
        if side == 8 {
            b.run.trials.retain(|t| t.id.experiment != id);
            b.failed(id, FailureKind::Hang, "match", "nobody matched", &[]);
        }
    }
    let run = b.build();
    let text = shown(&run, None, false);
    for said in [
        "needs 4 numbers of participants, has 3",
        "no trial with 16 participants was completed",
        "trials with 16 participants failed or are missing",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// `udp` with 2 to 32 participants, each of which uses about so many microseconds of CPU time per second.
fn of_udp(each_us: u64) -> Builder {
    let mut b = Builder::new("growth", "what more participants cost", "stacks");
    for side in [1, 2, 4, 8, 16] {
        add_idle(&mut b, "udp", side, each_us);
    }
    b
}

#[test]
fn a_law_is_undecided_beside_failed_trials_and_where_all_were_disturbed() {
    let mut b = of_udp(200);
    let fourth = b.plan().experiments[3].id;
    for trial in b.records(fourth).take(4) {
        trial.outcome = Outcome::Failed {
            kind: FailureKind::Hang,
            step: "match".into(),
            cause: dyno_model::Cause::Told("nobody matched".into()),
            stderr: Vec::new(),
        };
    }
    let failed = b.build();
    let mut b = of_udp(200);
    for trial in b.records(fourth) {
        trial.disturbed = vec![dyno_model::Cause::Told("stolen".into())];
    }
    let disturbed = b.build();
    for (run, why) in [
        (
            &failed,
            "undecided: 4 of 6 trials with 16 participants failed or are missing",
        ),
        (
            &disturbed,
            "undecided: the host disturbed all trials with 16 participants",
        ),
    ] {
        let text = shown(run, None, true);
        assert!(text.contains(why), "{text}");
        for said in ["udp: busy CPUs", "extrapolated from", "constant from"] {
            assert!(!text.contains(said), "{said}: {text}");
        }
    }
    let options = RenderOptions::default();
    let json = dyno_report::render(&summary(&failed), Format::Json, &options);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let series = &json["growth"][0];
    let lacking = serde_json::json!([{"participants": 16, "trials": 4, "of": 6}]);
    assert_eq!(series["lacking"], lacking);
    assert!(series["figures"][0]["fit"].is_null(), "{series}");
}

#[test]
fn where_one_cpu_is_full_has_its_interval_also_beyond_what_is_extrapolated() {
    let beyond = shown(&of_udp(3_800).build(), None, false);
    let said = "fill one CPU beyond 256 [24";
    assert!(beyond.contains(said), "{beyond}");
    let said = ", beyond 256] participants, extrapolated from 2 to 32";
    assert!(beyond.contains(said), "{beyond}");
    let below = shown(&of_udp(600_000).build(), None, false);
    let said = "fill one CPU below 2 participants, extrapolated from 2 to 32";
    assert!(below.contains(said), "{below}");
    let within = shown(&of_udp(60_000).build(), None, false);
    assert!(within.contains("fill one CPU at 17 [1"), "{within}");
    assert!(within.contains("] participants.\n"), "{within}");
}

#[test]
fn copies_are_participants_and_pinned_ones_make_a_series() {
    let mut b = of_udp(200);
    for (i, e) in b.plan().experiments.iter_mut().enumerate() {
        e.topology = Topology {
            copies: 1 << i,
            ..Topology::ONE_TO_ONE
        };
        e.cpus = (0..2 << i).collect();
    }
    let summary = summary(&b.build());
    assert_eq!(summary.growth.len(), 1);
    assert_eq!(summary.growth[0].participants, [2, 4, 8, 16, 32]);
}

#[test]
fn shapes_of_topologies_are_not_mixed_and_a_single_size_is_no_series() {
    let mut b = Builder::new("growth", "what more participants cost", "stacks");
    for side in [1, 2, 4, 8] {
        let even = add_idle(&mut b, "udp", side, 200);
        let broad = add_idle(&mut b, "udp", side, 200);
        for e in &mut b.plan().experiments {
            if e.id == broad {
                (e.topology.senders, e.topology.receivers) = (1, 2 * side - 1);
            }
            if e.id == even || e.id == broad {
                e.name = "asleep".into();
            }
        }
    }
    add_idle(&mut b, "tcp", 1, 200);
    let run = b.build();
    let ends: Vec<String> = summary(&run)
        .growth
        .iter()
        .map(|g| format!("{} {}", g.ends[0].stack, g.ends[1].topology))
        .collect();
    assert!(
        ends.contains(&"udp 8-8".to_owned()) && ends.contains(&"udp 1-15".to_owned()),
        "{ends:?}"
    );
    assert!(!ends.iter().any(|e| e.starts_with("tcp")), "{ends:?}");
    let without = dyno_kit::runs::small();
    assert!(render_growth(&summary(&without), &RenderOptions::default(), false).is_none());
}
