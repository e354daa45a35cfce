//! The view on screens of several sizes, from events and from a stored run.

use super::draw::draw;
use super::state::{Key, Phase, View};
use dyno_model::event::RunEvent;
use dyno_model::plan::{ExperimentId, Host, Reach, Shard};
use dyno_model::record::{FailureKind, Outcome, Run};
use dyno_model::{Metric, Nanos, Placement, Topology, TrialId, TrialRecord};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::Path;
use std::time::Duration;

/// The run that `dyno-store` keeps as an example: three experiments.
fn golden() -> Run {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-store/tests/golden/run-v2");
    dyno_store::read_run(&dir).unwrap().run
}

fn id(experiment: u32, number: u32) -> TrialId {
    TrialId {
        experiment: ExperimentId(experiment),
        number,
    }
}

/// The screen as text, and what was shown of the table.
fn screen(view: &mut View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut window = view.window;
    terminal.draw(|frame| window = draw(view, frame)).unwrap();
    view.window = window;
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The example's one trial with samples, as if it were this one, of calm 800 ms.
fn completed(run: &Run, id: TrialId) -> TrialRecord {
    let with_samples = |t: &&TrialRecord| t.distributions.contains_key(&Metric::Response);
    let mut record = run.trials.iter().find(with_samples).unwrap().clone();
    let samples = record.distributions[&Metric::Response].clone();
    record.distributions.insert(Metric::Rtt, samples);
    record.id = id;
    record.disturbed.clear();
    record.wall = Nanos::from_millis(800);
    record
}

fn failed(run: &Run, id: TrialId) -> TrialRecord {
    let mut record = completed(run, id);
    record.distributions.clear();
    record.outcome = Outcome::Failed {
        kind: FailureKind::Crash,
        step: "window".into(),
        cause: dyno_model::Cause::Told("sink 1 ended with \u{1b}[31msignal 11 (SIGSEGV)".into()),
        stderr: vec!["last words".into()],
    };
    record
}

/// A campaign on two hosts in which one trial failed and another goes on.
fn campaign() -> View {
    let mut run = golden();
    let plan = &mut run.manifest.plan;
    plan.testbed.hosts = ["alpha", "beta"]
        .map(|name| Host {
            name: name.into(),
            reach: Reach::Namespace,
            ..plan.testbed.hosts[0].clone()
        })
        .to_vec();
    for e in &mut plan.experiments {
        e.placement = Placement::Host;
        e.topology = Topology {
            senders: 1,
            receivers: 3,
            copies: 1,
        };
    }
    let mut view = View::new(&run.manifest, "stop the run");
    view.on_event(&RunEvent::Started {
        trials: 9,
        stored: 0,
    });
    for record in [
        completed(&run, id(0, 0)),
        failed(&run, id(1, 0)),
        completed(&run, id(2, 0)),
        completed(&run, id(0, 1)),
    ] {
        view.on_event(&RunEvent::TrialStarted {
            id: record.id,
            label: String::new(),
        });
        view.on_event(&RunEvent::TrialFinished(Box::new(record)));
    }
    view.tick(Duration::from_secs(61));
    view.on_event(&RunEvent::TrialStarted {
        id: id(1, 1),
        label: String::new(),
    });
    view.tick(Duration::from_secs(63));
    view
}

#[test]
fn a_campaign_in_eighty_columns() {
    insta::assert_snapshot!(screen(&mut campaign(), 80, 24));
}

#[test]
fn a_campaign_in_a_wide_terminal() {
    insta::assert_snapshot!(screen(&mut campaign(), 132, 30));
}

#[test]
fn a_stored_run_replayed_is_complete() {
    let run = golden();
    let mut view = View::new(&run.manifest, "stop watching");
    for record in &run.trials {
        view.on_event(&RunEvent::TrialFinished(Box::new(record.clone())));
    }
    view.on_event(&RunEvent::Finished { interrupted: false });
    assert_eq!(view.phase, Phase::Complete);
    assert_eq!(view.done(), run.trials.len());
    insta::assert_snapshot!(screen(&mut view, 100, 16));
}

#[test]
fn quantiles_are_those_of_the_table() {
    let run = golden();
    let mut view = View::new(&run.manifest, "stop watching");
    run.trials.iter().for_each(|t| view.finish(t));
    let summary = dyno_report::summarise(&run, &dyno_report::SummaryOptions::default());
    for (row, e) in view.rows.iter().zip(&summary.experiments) {
        assert_eq!(row.done as u64, e.trials.completed + e.trials.failed);
        assert_eq!(row.failed as u64, e.trials.failed);
        let offered = e.counts.offered > 0;
        assert_eq!(row.loss().is_some(), offered);
        if let Some(estimate) = e.headline_metric().and_then(|m| m.quantiles[0].estimate()) {
            let value = estimate.value.finite().unwrap_or(f64::INFINITY);
            assert_eq!(row.quantile(0.5), Some(value));
        }
    }
}

#[test]
fn no_size_is_too_small() {
    let mut view = campaign();
    view.help = true;
    for (width, height) in [(1, 1), (5, 2), (20, 4), (40, 8), (71, 10), (300, 100)] {
        screen(&mut view, width, height);
    }
}

#[test]
fn nothing_that_moves_the_cursor_reaches_the_screen() {
    let mut view = campaign();
    view.plan.suite.push_str("\u{202e}\u{9b}2J\u{200f}");
    view.plan.experiments[0].name.push_str("\u{1b}[2J\u{2066}");
    let text = screen(&mut view, 100, 24);
    assert!(text.contains("ended with signal 11"), "{text}");
    assert!(!text.replace('\n', "").contains(dyno_report::is_hidden));
}

#[test]
fn rows_scroll_and_follow_the_current_trial() {
    let mut run = golden();
    let plan = &mut run.manifest.plan;
    for i in 3..60 {
        let mut e = plan.experiments[1].clone();
        e.id = ExperimentId(i);
        e.name = format!("number-{i:02}");
        plan.experiments.push(e);
    }
    let mut view = View::new(&run.manifest, "stop the run");
    view.start(id(58, 0));
    let text = screen(&mut view, 100, 20);
    assert!(text.contains("› number-58"), "{text}");
    view.on_key(Key::Home);
    let text = screen(&mut view, 100, 20);
    assert!(
        !text.contains("› number-58") && text.contains("number-03"),
        "{text}"
    );
    view.on_key(Key::PageDown);
    assert!(!screen(&mut view, 100, 20).contains("number-03"));
    view.on_key(Key::End);
    let at_end = screen(&mut view, 100, 20);
    assert!(at_end.contains("number-59"), "{at_end}");
    view.on_key(Key::Down);
    assert_eq!(screen(&mut view, 100, 20), at_end, "there is no further");
    view.on_key(Key::Up);
    assert_ne!(screen(&mut view, 100, 20), at_end);
}

#[test]
fn a_part_shows_its_own_experiments() {
    let mut run = golden();
    run.manifest.plan.shard = Some(Shard {
        index: 2,
        count: 3,
        experiments: vec![ExperimentId(1)],
    });
    let mut view = View::new(&run.manifest, "stop the run");
    assert_eq!(view.rows.len(), 1);
    assert!(screen(&mut view, 80, 12).contains("part 2 of 3"));
}

#[test]
fn the_time_left_shrinks_with_every_trial_and_learns_from_them() {
    let run = golden();
    let mut view = View::new(&run.manifest, "stop the run");
    let before = view.time_left();
    assert!(before > Duration::ZERO);
    let mut slow = completed(&run, id(0, 0));
    let plan = &run.manifest.plan;
    let nominal = dyno_plan::nominal_trial(plan, &plan.experiments[0]);
    slow.wall = Nanos(10 * nominal.0);
    view.finish(&slow);
    assert!(view.time_left() > before, "trials take ten times as long");
    for experiment in 0..3 {
        for number in 0..3 {
            if (experiment, number) != (0, 0) {
                view.finish(&completed(&run, id(experiment, number)));
            }
        }
    }
    assert_eq!(view.time_left(), Duration::ZERO);
}

#[test]
fn stopping_is_said_once() {
    let mut view = campaign();
    assert!(view.stopping());
    assert!(!view.stopping());
    let text = screen(&mut view, 80, 24);
    assert!(text.contains("stopping"), "{text}");
    assert!(text.contains("once more"), "{text}");
    view.on_key(Key::Help);
    assert!(screen(&mut view, 80, 24).contains("keys"));
}
