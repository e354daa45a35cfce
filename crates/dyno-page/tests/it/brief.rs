//! The answers in a few lines: what they name, that they fit, and that they call nothing best that does not deliver.

use crate::common::{self, Builder, summary};
use crate::document;
use dyno_model::Metric::Rtt;
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Cause, Wait};
use dyno_report::{Format, RenderOptions};

fn builder() -> Builder {
    Builder::new("test", "what is said", "stacks")
}

fn lines(run: &Run, width: Option<usize>, bars: bool) -> Vec<String> {
    let text = dyno_page::brief(&summary(run), &run.manifest, width, bars);
    text.lines().map(str::to_owned).collect()
}

#[test]
fn each_question_has_a_line_with_the_best_stack_its_equals_and_the_slowest() {
    let mut b = builder();
    for (wait, stacks) in [
        (
            Wait::Block,
            [
                ("pipe", 10_000.0),
                ("uds-stream", 10_050.0),
                ("tcp", 30_000.0),
            ],
        ),
        (
            Wait::Spin,
            [
                ("udp", 5_000.0),
                ("iceoryx2", 1_000.0),
                ("floor-spin", 500.0),
            ],
        ),
    ] {
        for (stack, p50) in stacks {
            let id = b.experiment(stack, |e| e.wait = wait);
            b.trials(id, &[(Rtt, p50, 1_000, 0)]);
        }
    }
    let all = lines(&b.build(), Some(100), false);
    assert_eq!(all.len(), 4, "{all:#?}");
    assert_eq!(all[0], "Fastest by p50 round trip (95 % intervals):");
    let [block, spin] = [&all[1], &all[2]];
    for wanted in ["block", "pipe or uds-stream 10", "slowest tcp × 3.0"] {
        assert!(block.contains(wanted), "{wanted}: {block}");
    }
    // A yardstick is never the best.
    for wanted in ["spin", "iceoryx2 1.0", "slowest udp × 5.0"] {
        assert!(spin.contains(wanted), "{wanted}: {spin}");
    }
    assert!(all[3].starts_with("Reliability: "), "{all:#?}");
}

#[test]
fn stacks_that_may_be_as_fast_are_said_in_the_narrowest_line() {
    let mut b = builder();
    for stack in ["pipe", "uds-stream", "tcp", "udp"] {
        let id = b.experiment(stack, |_| {});
        b.trials(id, &[(Rtt, 10_000.0, 1_000, 0)]);
    }
    let run = b.build();
    // A narrow answer goes on in the next line.
    let said = |width| {
        let text = lines(&run, Some(width), true).join(" ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said(40).contains(" or 1 more "), "{}", said(40));
    assert!(said(120).contains(" or 1 more "), "{}", said(120));
}

#[test]
fn a_narrow_terminal_keeps_the_names_and_drops_bars_and_ratios() {
    let mut b = builder();
    for (stack, p50) in [
        ("pipe", 10_000.0),
        ("uds-stream", 10_050.0),
        ("tcp", 30_000.0),
    ] {
        let id = b.experiment(stack, |_| {});
        b.trials(id, &[(Rtt, p50, 1_000, 0)]);
    }
    let all = lines(&b.build(), Some(40), true);
    let text = all.join("\n");
    assert!(all.iter().all(|line| line.chars().count() <= 40), "{text}");
    assert!(text.contains("pipe or uds-stream 10"), "{text}");
    for dropped in ["█", "slowest"] {
        assert!(!text.contains(dropped), "{text}");
    }
}

#[test]
fn a_figure_of_disturbed_trials_alone_is_marked() {
    let mut b = builder();
    let busy = b.experiment("pipe", |_| {});
    b.trials(busy, &[(Rtt, 10_000.0, 1_000, 0)]);
    let calm = b.experiment("tcp", |_| {});
    b.trials(calm, &[(Rtt, 20_000.0, 1_000, 0)]);
    let mut run = b.build();
    for trial in &mut run.trials {
        if trial.id.experiment == busy {
            trial.disturbed = vec![Cause::Told("it was".into())];
        }
    }
    let all = lines(&run, None, false);
    assert!(all[1].contains("(every trial disturbed)"), "{all:#?}");
}

#[test]
fn a_stack_that_fails_is_not_the_best_and_is_named() {
    let mut b = builder();
    let slow = b.experiment("tcp", |_| {});
    b.trials(slow, &[(Rtt, 20_000.0, 1_000, 0)]);
    let fast = b.experiment("pipe", |_| {});
    b.trials(fast, &[(Rtt, 10_000.0, 1_000, 0)]);
    b.failed(fast, FailureKind::Crash, "measure", "it ended", &[]);
    let all = lines(&b.build(), None, false);
    assert!(all[1].contains("tcp 20"), "{all:#?}");
    assert!(
        all[1].contains("with unsuccessful trials: pipe"),
        "{all:#?}"
    );
}

#[test]
fn every_run_has_at_most_eight_lines() {
    for (name, run) in common::all() {
        for width in [80, 100, 120, 200] {
            let all = lines(&run, Some(width), true);
            assert!(all.len() <= 8, "{name} at {width}: {all:#?}");
        }
    }
}

#[test]
fn json_markdown_and_the_page_say_the_answers_of_the_table() {
    let mut b = builder();
    for name in 0..8 {
        for (stack, p50) in [("pipe", 10_000.0), ("tcp", 20_000.0)] {
            let id = b.experiment(stack, |e| e.name = format!("question-{name}"));
            b.trials(id, &[(Rtt, p50, 1_000, 0)]);
        }
    }
    let run = b.build();
    let mut summary = summary(&run);
    summary.answers = dyno_page::answers(&summary, &run.manifest);
    let answers = summary.answers.clone().unwrap();
    let told = lines(&run, None, false);
    assert_eq!(told[0], answers.title);
    let first = &answers.questions[0];
    assert_eq!(
        (first.question.as_str(), answers.questions.len()),
        ("question-0", 8)
    );
    assert_eq!(told[1], format!("  {}  {}", first.question, first.answer));
    assert_eq!(*told.last().unwrap(), answers.how_sure);
    let render = |format| dyno_report::render(&summary, format, &RenderOptions::default());
    let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).unwrap();
    assert_eq!(json["answers"], serde_json::to_value(&answers).unwrap());
    // Places in `experiments`.
    let best = json["answers"]["questions"][7]["best"][0].as_u64().unwrap();
    assert_eq!(json["experiments"][best as usize]["stack"], "pipe");
    let markdown = render(Format::Markdown);
    let head = markdown.split("\n## ").next().unwrap();
    let page = dyno_page::render(&document(&[&run])).unwrap();
    let header = page.split("</header>").next().unwrap();
    for (format, head) in [("Markdown", head), ("page", header)] {
        for wanted in [&answers.title, &first.answer, &answers.how_sure] {
            assert!(head.contains(wanted.as_str()), "{format}: {wanted}: {head}");
        }
        // As many as are read at once.
        assert!(
            head.contains("question-4") && !head.contains("question-5"),
            "{format}"
        );
        assert!(head.contains("3 more"), "{format}: {head}");
    }
}

#[test]
fn a_run_of_floors_alone_says_nothing() {
    let mut b = builder();
    let floor = b.experiment("floor-spin", |_| {});
    b.trials(floor, &[(Rtt, 500.0, 1_000, 0)]);
    let run = b.build();
    assert_eq!(lines(&run, None, true), Vec::<String>::new());
    assert_eq!(dyno_page::answers(&summary(&run), &run.manifest), None);
}
