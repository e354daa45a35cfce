//! The newest run against its history.

use crate::common::{Builder, stream};
use dyno_judge::{Measure, Night, Nightly, NightlyOptions, Nights, Standing, Status};
use dyno_model::plan::Refusal;
use dyno_model::record::Run;
use dyno_model::{Metric, Nanos};
use dyno_report::{Format, RenderOptions};

const P50: Measure = Measure::Latency(Metric::Response, 0.5);
const P99: Measure = Measure::Latency(Metric::Response, 0.99);

/// A night's run of two streams: `tcp` around `tcp_ns` with so many of 2,000 messages lost in each trial,
/// and `pipe`. Nights differ by some percent.
fn night(day: u64, tcp_ns: f64, lost: u64) -> Builder {
    let wobble = 1.0 + 0.02 * ((day * 7) % 5) as f64;
    let mut b = Builder::new(day);
    for (stack, ns, lost) in [
        ("tcp", tcp_ns * wobble, lost),
        ("pipe", 9_000.0 * wobble, 0),
    ] {
        let e = b.experiment(stack, stream);
        for drift in [1.0, 1.006, 0.995, 1.003, 0.998] {
            b.trial(e, ns * drift, 2_000 - lost, lost);
        }
    }
    b
}

fn usual(day: u64) -> Run {
    night(day, 12_000.0, 0).build()
}

fn judged(history: &[Run], newest: &Run) -> Nightly {
    judged_with(NightlyOptions::default(), history, newest)
}

fn judged_with(how: NightlyOptions, history: &[Run], newest: &Run) -> Nightly {
    let mut nights = Nights::new(how);
    for run in history.iter().chain([newest]) {
        nights.add(run);
    }
    nights.judge(None).unwrap()
}

fn usual_nights(n: u64) -> Vec<Run> {
    (0..n).map(usual).collect()
}

fn figure<'a>(n: &'a Nightly, stack: &str, measure: Measure) -> &'a Night {
    let mut all = n.results.iter();
    all.find(|r| r.experiment.stack == stack && r.measure == measure)
        .unwrap()
}

fn status(n: &Nightly, stack: &str, measure: Measure) -> Status {
    figure(n, stack, measure).status
}

#[test]
fn a_usual_night_is_passed_in_every_figure() {
    let n = judged(&usual_nights(12), &usual(12));
    // p50, p99, loss, throughput, CPU and memory of two stacks.
    assert_eq!((n.results.len(), n.history.len()), (12, 12));
    assert_eq!(n.count(Status::Pass), 12, "{:#?}", n.results);
    assert!(!n.is_blind());
    assert_eq!(n.level_each, 0.01 / 12.0);
    let p50 = figure(&n, "tcp", P50);
    assert!(p50.line.unwrap() > p50.usual.unwrap() * 1.05);
    let rate = figure(&n, "tcp", Measure::Throughput);
    assert!(rate.line.unwrap() < rate.usual.unwrap() / 1.04);
    let text = n.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("All figures are as usual."), "{text}");
}

#[test]
fn the_first_bad_night_is_seen() {
    let history = usual_nights(12);
    for (times, expected) in [
        (1.02, Status::Pass),
        (1.5, Status::Fail),
        (5.0, Status::Fail),
    ] {
        let n = judged(&history, &night(12, 12_000.0 * times, 0).build());
        assert_eq!(status(&n, "tcp", P50), expected, "{times}");
        assert_eq!(status(&n, "tcp", P99), expected, "{times}");
        assert_eq!(status(&n, "pipe", P50), Status::Pass);
    }
    // Better is as usual.
    let n = judged(&history, &night(12, 3_000.0, 0).build());
    assert_eq!(n.count(Status::Pass), 12);
    // On the night after it, the bad one is part of the history and does not hide it.
    let mut longer = history.clone();
    longer.push(night(12, 60_000.0, 0).build());
    let n = judged(&longer, &night(13, 60_000.0, 0).build());
    assert_eq!(status(&n, "tcp", P50), Status::Fail);
}

#[test]
fn an_infinite_quantile_is_the_worst_and_not_a_missing_one() {
    let n = judged(&usual_nights(12), &night(12, 12_000.0, 1_000).build());
    let p99 = figure(&n, "tcp", P99);
    assert_eq!((p99.status, p99.standing), (Status::Fail, Standing::Breaks));
    assert_eq!(p99.found, Some(f64::INFINITY));
    assert!(
        p99.reason.starts_with("×∞ of the usual value"),
        "{}",
        p99.reason
    );
    assert_eq!(status(&n, "tcp", Measure::Loss), Status::Fail);
    assert_eq!(status(&n, "tcp", Measure::Throughput), Status::Fail);
    // Where it always was, it cannot get worse; what else there is to watch is watched.
    let lossy: Vec<Run> = (0..12).map(|d| night(d, 12_000.0, 100).build()).collect();
    let n = judged(&lossy, &night(12, 12_000.0, 100).build());
    assert!(
        n.results
            .iter()
            .all(|r| r.measure != P99 || r.experiment.stack != "tcp")
    );
    assert!(n.notes[0].contains("cannot get worse"), "{:?}", n.notes);
    assert_eq!(n.count(Status::Pass), 11, "{:#?}", n.results);
    let n = judged(&lossy, &night(12, 12_000.0, 900).build());
    assert_eq!(status(&n, "tcp", Measure::Loss), Status::Fail);
    // Few nights of a history may be infinite.
    let mut few = usual_nights(11);
    few.push(night(11, 12_000.0, 100).build());
    assert_eq!(status(&judged(&few, &usual(12)), "tcp", P99), Status::Pass);
}

#[test]
fn a_loss_where_nothing_was_lost_is_seen_and_a_single_one_is_not_called_worse() {
    let history = usual_nights(12);
    let n = judged(&history, &night(12, 12_000.0, 20).build());
    let loss = figure(&n, "tcp", Measure::Loss);
    assert_eq!(loss.status, Status::Fail);
    assert_eq!(
        loss.reason,
        "5 of 5 trials lost messages, 0 of 60 in its history"
    );
    assert_eq!(loss.found, Some(0.01));
    let mut one = usual(12);
    one.trials[0].counts.lost = 1;
    let n = judged(&history, &one);
    assert_eq!(status(&n, "tcp", Measure::Loss), Status::Pass);
    // Chance deals two lossy trials of 65 to this run with 0.5 %, three of them with 0.02 %.
    for (lossy, expected) in [(2, Status::Pass), (3, Status::Fail)] {
        let mut run = usual(12);
        run.trials
            .iter_mut()
            .take(lossy)
            .for_each(|t| t.counts.lost = 1);
        assert_eq!(
            status(&judged(&history, &run), "tcp", Measure::Loss),
            expected
        );
    }
    // Two trials alone could be chance.
    let mut few = night(12, 12_000.0, 0).build();
    few.trials.retain(|t| t.id.number < 2);
    let planned = &mut few.manifest.plan.experiments;
    planned.iter_mut().for_each(|e| e.trials = 2);
    let short: Vec<Run> = history[..6].to_vec();
    let n = judged(&short, &few);
    let loss = figure(&n, "tcp", Measure::Loss);
    assert_eq!(loss.status, Status::Undecided, "{loss:?}");
    assert!(loss.reason.contains("could be chance"), "{}", loss.reason);
}

#[test]
fn a_night_that_the_clocks_of_hosts_may_have_made_is_undecided() {
    let run = |day: u64, times: f64, bound_ns: u64| {
        let mut run = night(day, 12_000.0 * times, 0).build();
        let all = run.trials.iter_mut();
        all.for_each(|t| t.one_way_bound = Some(Nanos(bound_ns)));
        run
    };
    let held = |times: f64, bounds: (u64, u64)| {
        let history: Vec<Run> = (0..12).map(|day| run(day, 1.0, bounds.0)).collect();
        let n = judged(&history, &run(12, times, bounds.1));
        let p50 = figure(&n, "tcp", P50);
        (p50.status, p50.reason.clone())
    };
    // A twelfth of the median is known no better than that.
    let (fine, coarse) = (60, 1_000);
    for (times, bounds, expected) in [
        (1.0, (fine, fine), Status::Pass),
        (1.0, (coarse, coarse), Status::Undecided),
        (1.25, (0, 0), Status::Fail),
        (1.25, (coarse, coarse), Status::Undecided),
        (1.5, (coarse, coarse), Status::Fail),
    ] {
        let (status, reason) = held(times, bounds);
        assert_eq!(status, expected, "×{times} within ±{bounds:?} ns: {reason}");
        let says = reason.contains("the clocks of the hosts leave it between ×");
        assert_eq!(says, expected == Status::Undecided, "{reason}");
    }
    // One past night with a bad clock does not make those after it undecided.
    let mut history: Vec<Run> = (0..11).map(|day| run(day, 1.0, fine)).collect();
    history.push(run(11, 1.0, coarse));
    let n = judged(&history, &run(12, 1.0, fine));
    assert_eq!(status(&n, "tcp", P50), Status::Pass);
    // Losses and costs have no clock.
    let n = judged(&history, &run(12, 1.0, coarse));
    assert_eq!(status(&n, "tcp", Measure::Loss), Status::Pass);
    assert_eq!(status(&n, "tcp", Measure::CpuPerMessage), Status::Pass);
}

#[test]
fn too_few_runs_are_undecided_and_no_pass() {
    for runs in [0, 1, 5] {
        let n = judged(&usual_nights(runs), &usual(runs));
        assert_eq!(n.count(Status::Undecided), n.results.len());
        assert!(n.is_blind());
        let reason = &n.results[0].reason;
        assert!(
            reason.contains(&format!("too few runs: {runs} in the history")),
            "{reason}"
        );
    }
    assert!(Nights::new(NightlyOptions::default()).judge(None).is_none());
    let how = NightlyOptions {
        last: Some(5),
        ..NightlyOptions::default()
    };
    let n = judged_with(how, &usual_nights(12), &usual(12));
    assert_eq!((n.history.len(), n.count(Status::Pass)), (5, 0));
    assert_eq!(n.history[4].id, "quick-011");
}

#[test]
fn runs_that_say_nothing_of_it_are_told_apart() {
    let mut history = usual_nights(8);
    let mut add = |day: u64, change: &dyn Fn(&mut Builder)| {
        let mut b = night(day, 50_000.0, 0);
        change(&mut b);
        history.push(b.build());
    };
    add(20, &|b| b.plan().suite = "calls".into());
    add(21, &|b| b.manifest().environment.host = "other".into());
    add(22, &|b| {
        b.manifest().environment.cpu_model = "another CPU".into()
    });
    add(23, &|b| b.plan().testbed.name = "two-hosts".into());
    add(24, &|b| {
        b.manifest().environment.build_profile = "debug".into()
    });
    add(25, &|b| {
        b.manifest().environment.timer_slack = Some(Nanos(1))
    });
    add(60, &|_| ());
    let newest = usual(30);
    let mut nights = Nights::new(NightlyOptions::default());
    history.iter().chain([&newest]).for_each(|r| nights.add(r));
    for name in ["a", "b"] {
        nights.leave_out(name.into(), "another format".into());
    }
    let n = nights.judge(Some(&newest.manifest)).unwrap();
    assert_eq!((n.run.id.as_str(), n.history.len()), ("quick-030", 8));
    assert_eq!(n.count(Status::Pass), n.results.len());
    let others: Vec<(&str, String)> = n
        .left_out
        .iter()
        .map(|o| (o.reason.as_str(), o.runs.join(" ")))
        .collect();
    let expected = [
        ("a debug build of Dyno", "quick-024"),
        ("a later run", "quick-060"),
        ("another format", "a b"),
        ("another machine, bench (another CPU)", "quick-022"),
        (
            "another machine, other (Example CPU @ 3.00GHz)",
            "quick-021",
        ),
        ("another suite, calls", "quick-020"),
        ("another testbed, two-hosts", "quick-023"),
        ("another timer slack, 1 ns", "quick-025"),
    ];
    assert_eq!(others, expected.map(|(a, b)| (a, b.to_owned())));
    let text = n.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("2 runs (another format): a, b"), "{text}");
}

#[test]
fn what_failed_or_is_gone_is_undecided() {
    let history = usual_nights(8);
    let mut b = night(8, 12_000.0, 0);
    b.failed(dyno_model::ExperimentId(0));
    let n = judged(&history, &b.build());
    let p50 = figure(&n, "tcp", P50);
    assert_eq!(
        (p50.status, p50.standing),
        (Status::Undecided, Standing::Keeps)
    );
    assert!(
        p50.reason.starts_with("1 of 6 trials failed"),
        "{}",
        p50.reason
    );
    // All of them.
    let mut b = Builder::new(8);
    let e = b.experiment("tcp", stream);
    b.failed(e);
    b.plan().refused.push(Refusal {
        experiment: "one-way".into(),
        stack: "pipe".into(),
        factors: "stream".into(),
        reason: "no pipes here".into(),
    });
    let n = judged(&history, &b.build());
    assert_eq!(n.count(Status::Undecided), n.results.len());
    assert_eq!(figure(&n, "tcp", P50).reason, "no trial completed");
    assert!(
        figure(&n, "pipe", P50)
            .reason
            .ends_with("this run refused it: no pipes here")
    );
}

#[test]
fn a_cell_that_is_refused_night_after_night_stays_undecided() {
    let mut history = usual_nights(8);
    for day in [8, 9] {
        let mut b = Builder::new(day);
        let e = b.experiment("tcp", stream);
        b.trials(e, 12_000.0);
        b.plan().refused.push(Refusal {
            experiment: "one-way".into(),
            stack: "pipe".into(),
            factors: "stream".into(),
            reason: "no pipes here".into(),
        });
        let run = b.build();
        let n = judged(&history, &run);
        let p50 = figure(&n, "pipe", P50);
        assert_eq!(p50.status, Status::Undecided);
        assert!(p50.reason.ends_with("this run refused it: no pipes here"));
        assert_eq!(p50.reason.starts_with("run quick-007 has it"), day == 9);
        assert!(n.is_blind());
        history.push(run);
    }
    // Somebody asked for less: told once, then no more.
    let less = |day| {
        let mut b = Builder::new(day);
        let e = b.experiment("tcp", stream);
        b.trials(e, 12_000.0);
        b.manifest().origin.as_mut().unwrap().request.stacks = Some(vec!["tcp".into()]);
        b.build()
    };
    let of_pipe = |n: &Nightly| {
        n.results
            .iter()
            .filter(|r| r.experiment.stack == "pipe")
            .count()
    };
    let usual = usual_nights(8);
    assert!(of_pipe(&judged(&usual, &less(8))) > 0);
    let more: Vec<Run> = usual.into_iter().chain([less(8)]).collect();
    assert_eq!(of_pipe(&judged(&more, &less(9))), 0);
}

#[test]
fn a_history_that_scatters_too_much_to_see_anything_passes_nothing() {
    let wild: Vec<Run> = (0..8)
        .map(|d| night(d, 12_000.0 * 3f64.powi((d % 4) as i32), 0).build())
        .collect();
    let n = judged(&wild, &usual(8));
    let p50 = figure(&n, "tcp", P50);
    assert_eq!(
        (p50.status, p50.standing),
        (Status::Undecided, Standing::Keeps)
    );
    assert!(
        p50.reason.contains("scatters so much that only ×"),
        "{}",
        p50.reason
    );
    assert_eq!(status(&n, "pipe", P50), Status::Pass);
}

#[test]
fn a_run_of_fewer_trials_is_given_their_scatter() {
    let history = usual_nights(12);
    let line = |trials: u32| {
        let mut run = usual(12);
        run.trials.retain(|t| t.id.number < trials);
        figure(&judged(&history, &run), "tcp", P99).line.unwrap()
    };
    assert!(line(1) > line(5) * 1.001, "{} {}", line(1), line(5));
}

#[test]
fn programs_get_every_figure() {
    let n = judged(&usual_nights(8), &night(8, 60_000.0, 1_000).build());
    let options = RenderOptions::default();
    insta::assert_snapshot!("nightly_table", n.render(Format::Table, &options));
    insta::assert_snapshot!("nightly_markdown", n.render(Format::Markdown, &options));
    insta::assert_snapshot!(
        "nightly_csv",
        n.render(Format::Csv, &options).replace("\r\n", "\n")
    );
    let json = n.render(Format::Json, &options);
    for text in [
        "\"kind\": \"nightly\"",
        "\"standing\": \"breaks\"",
        "\"value\": null",
        "\"line\": ",
    ] {
        assert!(json.contains(text), "{text}\n{json}");
    }
    let xml = n.junit().unwrap();
    let failed = n.count(Status::Fail);
    assert!(failed >= 5, "{failed}");
    assert!(
        xml.contains(&format!("tests=\"12\" failures=\"{failed}\" errors=\"0\"")),
        "{xml}"
    );
}

#[test]
fn what_other_kernels_cost_is_no_history_of_a_night() {
    let on = |day, irq_time| {
        let mut b = night(day, 12_000.0, 0);
        b.manifest().environment.irq_time = Some(irq_time);
        b.build()
    };
    let history: Vec<Run> = (0..12).map(|day| on(day, false)).collect();
    let n = judged(&history, &on(12, true));
    assert_eq!(status(&n, "tcp", Measure::CpuPerMessage), Status::Undecided);
    assert_eq!(status(&n, "tcp", P50), Status::Pass);
    let n = judged(&history, &on(12, false));
    assert_eq!(status(&n, "tcp", Measure::CpuPerMessage), Status::Pass);
}
