//! Laws of growth of a run whose laws are planted.

use crate::common::summary;
use dyno_kit::runs::Builder;
use dyno_kit::runs::idle::{add_idle, growing};
use dyno_model::TrialFigure;
use dyno_model::record::{FailureKind, Run};
use dyno_report::{FigureGrowth, NoFit, RenderOptions, Summary, render_growth};
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
        "| cyclonedds | idle CPU ",
        "no packets in any trial",
        "grows with n·log n; all participants together fill one CPU ",
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
