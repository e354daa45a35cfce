//! What a summary says of whether its figures hold: trials that count, modes and what tells them
//! apart, the host's own noise, and the precision asked for.

use crate::common::held::{calm, gaps, load, place};
use crate::common::{Builder, summary};
use dyno_model::cause::{Cause, Warning};
use dyno_model::plan::Extent;
use dyno_model::record::FailureKind;
use dyno_model::{ExperimentId, HostLoad, Metric, Nanos, Precision};
use dyno_report::{
    Covariate, ExperimentSummary, FlagRates, Format, RenderOptions, counted_trials, render,
};

fn builder() -> Builder {
    Builder::new("test", "", "stacks")
}

/// The summary of the first experiment.
fn first(b: Builder) -> ExperimentSummary {
    summary(&b.build()).experiments.remove(0)
}

fn text(b: Builder) -> String {
    let s = summary(&b.build());
    render(&s, Format::Table, &RenderOptions::default())
}

const RTT: [(Metric, f64, u64, u64); 1] = [(Metric::Rtt, 10_000.0, 500, 0)];

#[test]
fn disturbed_trials_are_counted_and_left_out() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    let whole = first(b);

    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    for _ in 0..2 {
        let trial = b.trial(id, &[(Metric::Rtt, 90_000.0, 500, 70)]);
        trial.disturbed = vec![Cause::Told("it was".into())];
    }
    b.failed(id, FailureKind::Crash, "open", "signal 9", &[]);
    let e = first(b);
    let t = &e.trials;
    assert_eq!(
        (t.planned, t.completed, t.counted, t.disturbed, t.failed),
        (5, 7, 5, 2, 1)
    );
    assert!(!t.all_disturbed() && t.missing() == 0);
    assert_eq!((&e.metrics, e.counts), (&whole.metrics, whole.counts));
    assert_eq!(e.disturbances, [(Cause::Told("it was".into()), 2)]);
}

#[test]
fn where_every_trial_was_disturbed_all_count_and_the_row_says_so() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    let mut run = b.build();
    for trial in &mut run.trials {
        trial.disturbed = vec![Cause::Told("it was".into())];
    }
    assert_eq!(counted_trials(&run, id).len(), 5);
    let s = summary(&run);
    let e = &s.experiments[0];
    assert!(e.trials.all_disturbed() && e.metrics[&Metric::Rtt].n == 2_500);
    let text = render(&s, Format::Table, &RenderOptions::default());
    assert!(text.contains("tcp (disturbed)"), "{text}");
    assert!(text.contains("so Dyno uses the disturbed trials"), "{text}");
}

#[test]
fn flags_that_fall_on_one_stack_are_told_from_those_of_chance() {
    let with = |counts: &[(&str, u64)]| {
        let mut b = builder();
        for (stack, disturbed) in counts {
            let id = b.experiment(stack, |e| e.trials = 20);
            // What was repeated counts once, whatever became of it.
            for number in 0..20 + disturbed {
                let trial = b.trial(id, &RTT);
                let is_marked = number < *disturbed || number >= 20;
                trial
                    .disturbed
                    .extend(is_marked.then(|| Cause::Told("it was".into())));
            }
        }
        let s = summary(&b.build());
        let text = render(&s, Format::Table, &RenderOptions::default());
        (FlagRates::of(&s.experiments), text)
    };
    let (rates, text) = with(&[("pipe", 2), ("tcp", 3), ("udp", 1)]);
    let rates = rates.unwrap();
    let counts = rates
        .stacks
        .iter()
        .map(|s| (s.stack.as_str(), s.disturbed, s.completed));
    let expected = [("pipe", 2, 20), ("tcp", 3, 20), ("udp", 1, 20)];
    assert_eq!(counts.collect::<Vec<_>>(), expected);
    assert_eq!((rates.p, rates.odd()), (1.0, None));
    assert!(
        text.contains("of 20; chance alone can explain the differences (p = 1.00"),
        "{text}"
    );
    // Both directions: of two, whichever comes first.
    let (rates, text) = with(&[("tcp", 0), ("udp", 9)]);
    let rates = rates.unwrap();
    // 20! 31! / (11! 40!), four tests.
    assert!((rates.p - 4.0 * 0.000_614_2).abs() < 1e-5, "{}", rates.p);
    assert!(
        text.contains("chance alone is unlikely to explain the differences (p = 0.00246"),
        "{text}"
    );
    let (rates, _) = with(&[("pipe", 9), ("tcp", 9), ("udp", 0), ("uds-stream", 10)]);
    let rates = rates.unwrap();
    let (odd, often) = rates.odd().unwrap();
    assert_eq!((odd.stack.as_str(), often), ("udp", "less often"));
    assert_eq!(with(&[("tcp", 5)]).0, None);
    assert_eq!(with(&[("tcp", 0), ("udp", 0)]).0, None);
}

#[test]
fn trials_that_count_come_in_order_and_failed_ones_do_not() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.failed(id, FailureKind::Hang, "window", "no reply", &[]);
    b.trials(id, &RTT);
    let mut run = b.build();
    run.trials.reverse();
    run.trials[0].disturbed = vec![Cause::Told("it was".into())];
    let numbers: Vec<u32> = counted_trials(&run, id)
        .iter()
        .map(|t| t.id.number)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert!(counted_trials(&run, ExperimentId(9)).is_empty());
}

/// An unpinned experiment in which a block is slow where `slow` says so.
fn bimodal(trials: usize, slow: impl Fn(usize, usize) -> bool) -> (Builder, ExperimentId) {
    let mut b = builder();
    let id = b.experiment("tcp", |e| e.cpus.clear());
    for trial in 0..trials {
        let p50s: Vec<f64> = (0..10)
            .map(|block| if slow(trial, block) { 50e3 } else { 15e3 })
            .collect();
        b.blocks(id, &p50s);
    }
    (b, id)
}

fn cause(e: &ExperimentSummary) -> Option<Covariate> {
    let modes = e.modes.as_ref().expect("there are two modes");
    modes.cause().map(|c| c.covariate)
}

#[test]
fn modes_that_go_with_a_shared_cpu_name_it() {
    let same = |trial: usize, block: usize| (trial + block / 2).is_multiple_of(3);
    let (mut b, id) = bimodal(8, same);
    for (trial, record) in b.records(id).enumerate() {
        // Which CPU it is changes too, and makes no difference.
        let other = (trial % 2) as u32;
        let cpus: Vec<_> = (0..10)
            .map(|block| (other, if same(trial, block) { other } else { 1 - other }))
            .collect();
        place(record, &cpus);
    }
    let e = first(b);
    assert_eq!(cause(&e), Some(Covariate::Sharing));
    let modes = e.modes.unwrap();
    let groups: Vec<_> = modes.covariates[0]
        .groups
        .iter()
        .map(|g| (g.label.as_str(), g.low > 0, g.high > 0))
        .collect();
    assert_eq!(
        groups,
        [("different CPUs", true, false), ("same CPU", false, true)]
    );
    let cpus = modes
        .covariates
        .iter()
        .find(|c| c.covariate == Covariate::Cpus);
    let labels: Vec<_> = cpus
        .unwrap()
        .groups
        .iter()
        .map(|g| g.label.as_str())
        .collect();
    assert_eq!(labels, ["CPUs 0 and 1", "same CPU (0)", "same CPU (1)"]);
    assert!((modes.low_ns / 15e3 - 1.0).abs() < 0.1 && (modes.high_ns / 50e3 - 1.0).abs() < 0.1);
}

#[test]
fn one_of_two_cpus_that_is_slow_is_named_as_such() {
    let on_one = |trial: usize, block: usize| (trial + block / 3).is_multiple_of(2);
    let (mut b, id) = bimodal(8, on_one);
    for (trial, record) in b.records(id).enumerate() {
        let cpu = |block| u32::from(on_one(trial, block));
        let cpus: Vec<_> = (0..10).map(|block| (cpu(block), cpu(block))).collect();
        place(record, &cpus);
    }
    assert_eq!(cause(&first(b)), Some(Covariate::Cpus));
}

#[test]
fn a_block_in_which_somebody_moved_has_a_label_of_its_own() {
    let (mut b, id) = bimodal(8, |_, block| block >= 5);
    for record in b.records(id) {
        place(record, &[(0, 1), (0, 0)]);
        // A tenth of the window later than the middle: within block 5.
        record.places[2].since = Nanos(165_000_000);
    }
    let e = first(b);
    let modes = e.modes.unwrap();
    let sharing = &modes.covariates[0];
    let groups: Vec<_> = sharing
        .groups
        .iter()
        .map(|g| (g.label.as_str(), g.low, g.high))
        .collect();
    let expected = [
        ("changed CPU", 0, 8),
        ("different CPUs", 40, 0),
        ("same CPU", 0, 32),
    ];
    assert_eq!(groups, expected);
}

#[test]
fn without_the_length_of_a_window_only_those_who_never_moved_have_a_place() {
    let (mut b, id) = bimodal(8, |trial, _| trial % 2 == 0);
    b.plan().experiments[0].window = Extent::Messages(1_000);
    for (trial, record) in b.records(id).enumerate() {
        match trial {
            0 => place(record, &[(0, 1), (0, 0)]),
            _ => place(record, &[(0, (trial % 2) as u32)]),
        }
    }
    let e = first(b);
    let modes = e.modes.unwrap();
    let labels: Vec<_> = modes.covariates[0]
        .groups
        .iter()
        .map(|g| (g.label.as_str(), g.low, g.high))
        .collect();
    let expected = [
        ("changed CPU", 0, 10),
        ("different CPUs", 40, 0),
        ("same CPU", 0, 30),
    ];
    assert_eq!(labels, expected);
}

#[test]
fn modes_of_whole_trials_name_what_differs_between_trials() {
    type Mark = fn(&mut dyno_model::TrialRecord, bool);
    let marks: [(Covariate, Mark); 5] = [
        (Covariate::CoreDistance, |t, slow| {
            t.noise.line_ns = Some(if slow { 420.0 } else { 180.0 });
        }),
        (Covariate::Frequency, |t, slow| {
            let khz = if slow { 1_200_000 } else { 3_400_000 };
            let window = t.noise.window.get_or_insert_with(|| load(0.0, 0.0));
            window.frequency_khz = [(0, (khz, khz)), (1, (khz, khz + 1_000))].into();
        }),
        (Covariate::ForeignLoad, |t, slow| {
            t.noise.window = Some(load(if slow { 0.3 } else { 0.01 }, 0.0));
        }),
        (Covariate::StolenTime, |t, slow| {
            t.noise.window = Some(load(0.0, if slow { 0.2 } else { 0.0 }));
        }),
        (Covariate::Gaps, |t, slow| {
            t.noise.gaps = vec![gaps(0, &[if slow { 500_000 } else { 4_000 }])];
        }),
    ];
    for (expected, mark) in marks {
        let (mut b, id) = bimodal(12, |trial, _| trial % 2 == 0);
        for (trial, record) in b.records(id).enumerate() {
            mark(record, trial % 2 == 0);
        }
        let e = first(b);
        assert_eq!(cause(&e), Some(expected));
        let best = &e.modes.unwrap().covariates[0];
        assert_eq!(best.strength, 1.0);
        assert!(best.p <= 0.01, "{}", best.p);
    }
}

#[test]
fn blocks_of_few_trials_are_no_proof() {
    // Two of four trials slow and far apart: one deal in three looks like that.
    let (mut b, id) = bimodal(4, |trial, block| trial % 2 == 0 || block == 9);
    for (trial, record) in b.records(id).enumerate() {
        record.noise.line_ns = Some(if trial % 2 == 0 { 420.0 } else { 180.0 });
    }
    let e = first(b);
    assert_eq!(cause(&e), None);
    let best = &e.modes.unwrap().covariates[0];
    assert!(best.strength > 0.7 && best.p > 0.1, "{best:?}");
}

#[test]
fn what_does_not_go_with_the_modes_is_not_named() {
    let (mut b, id) = bimodal(12, |trial, block| (trial + 3 * block) % 7 < 3);
    for (trial, record) in b.records(id).enumerate() {
        calm(record);
        record.noise.line_ns = Some(180.0 + (trial * trial % 11) as f64);
        place(record, &[(0, (trial % 2) as u32)]);
    }
    assert_eq!(cause(&first(b)), None);
    let (b, _) = bimodal(12, |trial, block| (trial + 3 * block) % 7 < 3);
    let text = text(b);
    assert!(text.contains("no recorded quantity"), "{text}");
}

#[test]
fn one_mode_is_none() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    let e = first(b);
    assert_eq!((e.modes, e.drift, e.host), (None, None, None));
}

#[test]
fn of_a_run_of_format_1_nothing_new_is_claimed() {
    let mut old = crate::common::quick();
    for trial in &mut old.trials {
        trial.format = 1;
        trial.warmup = Nanos::ZERO;
    }
    old.manifest.format = 1;
    let s = summary(&old);
    for e in &s.experiments {
        assert!(e.warmup.is_none() && e.modes.is_none() && e.drift.is_none());
        assert!(e.host.is_none() && e.precision.is_none() && e.trials.disturbed == 0);
    }
    for format in [Format::Table, Format::Markdown] {
        let text = render(&s, format, &RenderOptions::default());
        for claim in [
            "Two modes",
            "Not steady",
            "Host noise",
            "Precision",
            "host p99",
        ] {
            assert!(!text.contains(claim), "{claim}\n{text}");
        }
    }
}

#[test]
fn a_window_that_slows_down_drifts() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    for level in [1.0, 1.01, 0.99, 1.005, 0.995] {
        let p50s: Vec<f64> = (0..10)
            .map(|i| 1e4 * level * (1.0 + 0.05 * f64::from(i)))
            .collect();
        b.blocks(id, &p50s);
    }
    let ratio = first(b).drift.unwrap();
    // Medians of the halves: 1.10 and 1.35.
    let value = ratio.value.finite().unwrap();
    assert!((value / (1.35 / 1.1) - 1.0).abs() < 0.03, "{value}");
}

#[test]
fn unsteady_trials_are_counted() {
    let mut b = builder();
    let id = b.experiment("tcp", |e| e.settle = Some(Nanos::from_secs(1)));
    b.trials(id, &RTT);
    for (i, record) in b.records(id).enumerate() {
        record.warmup = Nanos::from_millis(50 + 10 * i as u64);
        record.unsteady = i < 2;
    }
    let warmup = first(b).warmup.unwrap();
    assert_eq!(warmup.unsteady, 2);
    assert_eq!((warmup.ns.min, warmup.ns.max), (50e6, 90e6));
}

#[test]
fn the_machines_own_tail_is_that_of_its_gaps() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    for record in b.records(id) {
        record.noise.gaps = vec![gaps(0, &[40_000; 12]), gaps(1, &[30_000; 9])];
        record.noise.window = Some(HostLoad {
            kernel: Some(Nanos::from_millis(6)),
            ..load(0.03, 0.05)
        });
    }
    let run = b.build();
    let e = summary(&run).experiments.remove(0);
    let host = e.host.as_ref().unwrap();
    let [p50, p90, p99, _] = host.tail;
    assert_eq!(p50, None);
    let quantile = |i: usize| {
        let estimate = e.metrics[&Metric::Rtt].quantiles[i].estimate().copied();
        estimate.unwrap().value.finite().unwrap()
    };
    let records = run.trials.iter().flat_map(|t| &t.noise.gaps);
    let machine = dyno_stats::HostGaps::from_records(records).unwrap();
    let own = machine.delay_quantile(quantile(0), 0.99, dyno_stats::Begins::OneByOne);
    assert!(own > 20_000.0, "{own}");
    assert_eq!(p99.unwrap().own_ns, own);
    let share = own / (quantile(2) - quantile(0));
    assert_eq!(p99.unwrap().explained, Some(share.min(1.0)));
    assert!(p90.unwrap().own_ns < own);
    assert_eq!(host.foreign_share.unwrap().median, 0.03);
    assert_eq!(host.kernel_share.unwrap().median, 0.01);
    assert_eq!(host.stolen_share.unwrap().median, 0.05);
    // 12 × 40 µs and 9 × 30 µs of 10 ms each.
    assert!((host.gap_share.unwrap().median - 0.0375).abs() < 1e-9);
}

#[test]
fn what_a_lost_or_refused_tail_is_explained_by_is_not_said() {
    let mut b = builder();
    let id = b.experiment("udp", |_| {});
    b.trials(id, &[(Metric::Rtt, 10_000.0, 60, 8)]);
    b.records(id).for_each(calm);
    let host = first(b).host.unwrap();
    let explained = host.tail.map(|t| t.and_then(|t| t.explained));
    assert_eq!(explained, [None; 4]);
}

#[test]
fn gaps_that_cannot_be_read_are_a_warning() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    b.records(id).for_each(calm);
    b.records(id).next().unwrap().noise.gaps[0].count = 99;
    let e = first(b);
    assert!(e.host.is_none() && e.metrics[&Metric::Rtt].n == 2_500);
    let warning = e.warnings[0].0.known();
    assert!(
        matches!(warning, Some(Warning::NoiseNotKnown { .. })),
        "{warning:?}"
    );
}

fn ask(b: &mut Builder, within: f64, metric: Option<Metric>, quantile: f64) {
    b.plan().precision = Some(Precision {
        within,
        metric,
        quantile,
        max_trials: 10,
        max_time: None,
    });
}

#[test]
fn precision_is_that_of_the_interval_asked_for() {
    for (quantile, index) in [(0.5, 0), (0.99, 2)] {
        let mut b = builder();
        ask(&mut b, 0.03, None, quantile);
        let id = b.experiment("tcp", |_| {});
        b.trials(id, &RTT);
        let e = first(b);
        let p = e.precision.unwrap();
        let shown = e.metrics[&Metric::Rtt].quantiles[index].estimate().copied();
        assert_eq!(p.got, Some(dyno_stats::within(&shown.unwrap())));
        assert_eq!((p.metric, p.of_ratio), (Metric::Rtt, false));
        assert_eq!(p.reached(), p.got.unwrap() <= 0.03);
        assert_eq!(p.reached(), index == 0);
    }
}

#[test]
fn precision_of_what_was_not_recorded_is_not_reached() {
    let mut b = builder();
    ask(&mut b, 0.5, Some(Metric::Response), 0.5);
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &RTT);
    let p = first(b).precision.unwrap();
    assert_eq!((p.got, p.reached()), (None, false));
}

#[test]
fn with_a_base_precision_is_that_of_the_ratio_of_pairs() {
    let mut b = builder();
    ask(&mut b, 0.02, None, 0.5);
    let base = b.experiment("tcp", |_| {});
    let new = b.experiment("tcp", |e| e.base = Some(base));
    // Trials differ by 40 %, pairs by 1 %.
    for (i, level) in [1.0, 1.4, 0.8, 1.2, 0.9].into_iter().enumerate() {
        let noise = 1.0 + 0.001 * i as f64;
        b.trial(base, &[(Metric::Rtt, 1e4 * level, 500, 0)]);
        b.trial(new, &[(Metric::Rtt, 1.1e4 * level * noise, 500, 0)]);
    }
    // A pair of which one half does not count is none.
    b.records(base).next().unwrap().disturbed = vec![Cause::Told("it was".into())];
    let s = summary(&b.build());
    assert!(s.experiments[0].is_base && s.experiments[0].precision.is_none());
    let p = s.experiments[1].precision.unwrap();
    assert!(p.of_ratio && p.reached(), "{p:?}");
    let text = render(&s, Format::Table, &RenderOptions::default());
    assert!(text.contains("tcp (base)"), "{text}");
}

#[test]
fn many_rows_share_their_remarks() {
    let mut b = builder();
    ask(&mut b, 0.001, None, 0.5);
    for row in 0..30 {
        let id = b.experiment(&format!("stack-{row}"), |_| {});
        b.trials(id, &RTT);
        for (trial, record) in b.records(id).enumerate() {
            record.noise.gaps = vec![gaps(0, &[30_000; 12])];
            record.unsteady = true;
            if trial == 3 {
                record.disturbed = vec![Cause::Told(format!("other processes took {row} %"))];
            }
        }
    }
    let text = text(b);
    let (_, below) = text.split_once("\nNot steady:").unwrap();
    let (below, _) = below.split_once("\nWarnings").unwrap_or((below, ""));
    assert!(below.lines().count() < 25, "{below}");
    assert!(below.contains("30 of 30 rows"), "{below}");
    assert!(
        below.contains("the host disturbed 30 of 150 trials"),
        "{below}"
    );
    assert!(below.contains("and 25 more reasons"), "{below}");
    assert!(below.contains("reached by 0 of 30"), "{below}");
}

#[test]
fn iceperfs_sections_keep_a_base_apart() {
    let mut b = Builder::new("iceperf", "", "iceperf");
    let base = b.experiment("tcp", |_| {});
    let new = b.experiment("tcp", |e| e.base = Some(base));
    b.trials(base, &RTT);
    b.trials(new, &RTT);
    let text = text(b);
    assert!(text.contains("****** tcp (base), block"), "{text}");
    assert!(text.contains("****** tcp, block"), "{text}");
}
