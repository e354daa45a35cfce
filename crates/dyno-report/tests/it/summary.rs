//! What a summary says of a run.

use crate::common::{Builder, summary};
use dyno_model::record::{FailureKind, ProcessCost};
use dyno_model::{ExperimentId, Metric, Nanos, RateHz, Shard, TrialFigure, TrialRecord, Workload};
use dyno_report::{ExperimentSummary, FailedAs, Format, RenderOptions, Spread, Summary, render};
use dyno_stats::{Latency, Quantile};

fn builder() -> Builder {
    Builder::new("test", "", "stacks")
}

fn p50(e: &ExperimentSummary) -> f64 {
    match &e.headline_metric().unwrap().quantiles[0] {
        Quantile::Estimated(estimate) => estimate.value.finite().unwrap(),
        refused => panic!("{refused:?}"),
    }
}

#[test]
fn failed_trials_are_counted_and_never_averaged_in() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    let whole = summary(&b.build());

    let mut b = builder();
    let id = b.experiment("tcp", |e| e.trials = 8);
    b.failed(id, FailureKind::Hang, "window", "no reply", &["last words"]);
    b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    b.failed(id, FailureKind::Hang, "window", "no reply", &[]);
    b.failed(id, FailureKind::Crash, "open", "signal 9", &[]);
    let mixed = summary(&b.build());

    let e = &mixed.experiments[0];
    assert_eq!(
        (e.trials.completed, e.trials.failed, e.trials.missing()),
        (5, 3, 0)
    );
    let groups: Vec<_> = e.failures.iter().map(|f| (f.kind, f.count)).collect();
    let expected = [
        (FailedAs::Trial(FailureKind::Hang), 2),
        (FailedAs::Trial(FailureKind::Crash), 1),
    ];
    assert_eq!(groups, expected);
    assert_eq!(e.failures[0].stderr, ["last words"]);
    assert_eq!(e.counts, whole.experiments[0].counts);
    assert_eq!(e.metrics[&Metric::Rtt].n, 2_500);
}

#[test]
fn an_experiment_without_a_completed_trial_is_there_with_its_reasons() {
    let mut b = builder();
    let id = b.experiment("udp", |_| {});
    b.failed(id, FailureKind::Error, "open", "address in use", &[]);
    let s = summary(&b.build());
    let e = &s.experiments[0];
    assert!(e.metrics.is_empty() && e.figures.is_empty() && e.delivered_ratio().is_none());
    for format in Format::ALL {
        let text = render(&s, *format, &RenderOptions::default());
        assert!(
            text.contains("udp") && text.contains("address in use"),
            "{format}\n{text}"
        );
    }
}

#[test]
fn a_trial_whose_histogram_is_damaged_counts_as_failed() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    let mut run = b.build();
    let damaged = run.trials[2].distributions.get_mut(&Metric::Rtt).unwrap();
    damaged.blocks[1].0.truncate(9);
    let s = summary(&run);
    let e = &s.experiments[0];
    assert_eq!((e.trials.completed, e.trials.failed), (4, 1));
    assert_eq!(e.failures[0].kind, FailedAs::Unreadable);
    assert_eq!(e.metrics[&Metric::Rtt].n, 2_000);
    assert_eq!(e.counts.received, 2_000);
}

#[test]
fn loss_never_improves_a_quantile() {
    let with_loss = |lost| {
        let mut b = builder();
        let id = b.experiment("udp", |_| {});
        b.trials(id, &[(Metric::Rtt, 10_000.0, 1_000, lost)]);
        summary(&b.build()).experiments.remove(0)
    };
    let (clean, lossy) = (with_loss(0), with_loss(300));
    assert!(p50(&lossy) >= p50(&clean));
    let Quantile::Estimated(p90) = &lossy.metrics[&Metric::Rtt].quantiles[1] else {
        panic!("there are enough samples");
    };
    assert_eq!(p90.value, Latency::Infinite);
    assert_eq!(lossy.delivered_ratio(), Some(1_000.0 / 1_300.0));
}

#[test]
fn the_headline_of_an_open_loop_is_its_response_time() {
    let mut b = builder();
    let stream = |e: &mut dyno_model::Experiment| {
        e.workload = Workload::Stream {
            rate: RateHz::new(1e3).unwrap(),
            arrivals: dyno_model::Arrivals::Fixed,
        };
    };
    let floor = b.experiment("floor-futex", stream);
    let both = |response| {
        [
            (Metric::Response, response, 500, 0),
            (Metric::Service, 5e3, 500, 0),
        ]
    };
    b.trials(floor, &both(10e3));
    let tcp = b.experiment("tcp", |e| {
        stream(e);
        e.floor = Some(floor);
    });
    b.trials(tcp, &both(30e3));
    let s = summary(&b.build());
    assert_eq!(s.experiments[1].headline(), Metric::Response);
    let ratio = s.experiments[1].floor.as_ref().unwrap().p50_ratio.unwrap();
    assert!(
        (2.8..3.2).contains(&ratio.value.finite().unwrap()),
        "{ratio:?}"
    );
    assert!(ratio.lo <= ratio.value && ratio.value <= ratio.hi);
}

#[test]
fn the_floor_is_no_multiple_of_what_was_not_measured() {
    let mut b = builder();
    let floor = b.experiment("floor-futex", |_| {});
    b.failed(floor, FailureKind::Crash, "open", "signal 6", &[]);
    let tcp = b.experiment("tcp", |e| e.floor = Some(floor));
    b.trials(tcp, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    let s = summary(&b.build());
    let ratio = s.experiments[1].floor.as_ref().unwrap();
    assert_eq!(
        (ratio.stack.as_str(), ratio.p50_ratio),
        ("floor-futex", None)
    );
}

#[test]
fn trials_that_disagree_mark_their_row() {
    let mut b = builder();
    let calm = b.experiment("tcp", |_| {});
    b.trials(calm, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    let wild = b.experiment("udp", |_| {});
    for p50 in [11e3, 51e3, 11.2e3, 50e3, 10.9e3] {
        b.trial(wild, &[(Metric::Rtt, p50, 500, 0)]);
    }
    let s = summary(&b.build());
    assert!(!s.experiments[0].is_unstable());
    assert!(s.experiments[1].is_unstable());
    let text = render(&s, Format::Table, &RenderOptions::default());
    assert!(
        text.contains("~ udp") && text.contains("two groups"),
        "{text}"
    );
}

#[test]
fn equal_runs_give_equal_summaries() {
    let run = crate::common::streams();
    assert_eq!(summary(&run), summary(&run));
}

#[test]
fn a_window_that_may_hold_dynos_own_is_remarked_on_in_older_runs_alone() {
    let remark = |change: &dyn Fn(&mut TrialRecord)| {
        let mut run = crate::common::small();
        run.trials.iter_mut().for_each(change);
        let warnings = summary(&run).warnings.join("\n");
        warnings.contains("5 trials were measured by an older Dyno")
    };
    assert!(!remark(&|_| {}));
    assert!(remark(&|t| t.format = 1));
    assert!(remark(&|t| t.format = 2));
    // A build between the formats had mended it already.
    assert!(!remark(&|t| {
        t.format = 2;
        t.cost.host_cpu = Some(dyno_model::Nanos(1));
    }));
}

#[test]
fn a_debug_build_and_stray_trials_are_warned_of() {
    let mut run = crate::common::small();
    run.manifest.environment.build_profile = "debug".into();
    let mut stray = run.trials[0].clone();
    stray.id.experiment.0 = 99;
    run.trials.push(stray);
    let warnings = summary(&run).warnings.join("\n");
    assert!(
        warnings.contains("debug build") && warnings.contains("1 stored trial"),
        "{warnings}"
    );
}

#[test]
fn a_spread_is_the_middle_trial_and_the_extremes() {
    let odd = Spread::of([3.0, 1.0, 2.0]).unwrap();
    assert_eq!((odd.median, odd.min, odd.max), (2.0, 1.0, 3.0));
    assert_eq!(Spread::of([4.0, 2.0]).unwrap().median, 3.0);
    assert_eq!(Spread::of([f64::NAN]), None);
}

#[test]
fn counts_too_large_to_add_do_not_end_a_report() {
    let mut run = crate::common::small();
    for trial in &mut run.trials {
        trial.counts.offered = u64::MAX;
        trial.cost.processes[0].voluntary_switches = u64::MAX;
    }
    let s = summary(&run);
    assert_eq!(s.experiments[0].counts.offered, u64::MAX);
    render(&s, Format::Table, &RenderOptions::default());
}

#[test]
fn experiments_without_a_row_in_iceperfs_table_follow_it() {
    let mut run = crate::common::iceperf();
    run.manifest.plan.experiments[0].workload = Workload::Flood;
    let mixed = render(&summary(&run), Format::Table, &RenderOptions::default());
    let (above, below) = mixed.split_once("\nflood · ").unwrap();
    assert!(above.contains("#### Measurement Result ####"), "{mixed}");
    assert!(below.contains("posix-mq"), "{mixed}");
    for e in &mut run.manifest.plan.experiments {
        e.workload = Workload::Flood;
    }
    let floods = render(&summary(&run), Format::Table, &RenderOptions::default());
    assert!(!floods.contains("Measurement Result"), "{floods}");
}

#[test]
fn a_part_shows_its_own_experiments_and_does_not_miss_the_others() {
    let mut b = builder();
    let floor = b.experiment("floor-futex", |_| {});
    let own = b.experiment("tcp", |e| e.floor = Some(floor));
    b.trials(own, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    let mut run = b.build();
    run.manifest.plan.shard = Some(Shard {
        index: 2,
        count: 3,
        experiments: vec![own],
    });
    let s = summary(&run);
    let stacks: Vec<&str> = s
        .experiments
        .iter()
        .map(|e| e.experiment.stack.as_str())
        .collect();
    assert_eq!(stacks, ["tcp"]);
    assert_eq!(s.experiments[0].floor, None, "it is in another part");
    assert_eq!(s.run.trials.planned, s.run.trials.completed);
    let text = render(&s, Format::Table, &RenderOptions::default());
    assert!(text.contains("part 2 of 3"), "{text}");
    assert!(!text.contains("Not run"), "{text}");
}

#[test]
fn every_trial_weighs_the_same_in_a_mean() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trial(id, &[(Metric::Rtt, 10_000.0, 100, 0)]);
    b.trial(id, &[(Metric::Rtt, 30_000.0, 900, 0)]);
    let run = b.build();
    let own = |i: usize| {
        let d = &run.trials[i].distributions[&Metric::Rtt];
        d.sum / d.n as f64
    };
    let mean = summary(&run).experiments[0].metrics[&Metric::Rtt].mean;
    assert_eq!(mean, Some((own(0) + own(1)) / 2.0));
}

#[test]
fn what_is_still_under_way_is_told_from_what_is_lost() {
    let mut b = builder();
    let id = b.experiment("udp", |_| {});
    b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 4)]);
    b.records(id).for_each(|t| t.counts.under_way = 1);
    let s = summary(&b.build());
    // Those under way are among the lost ones of a trial; five trials.
    let missing = s.experiments[0].missing_messages();
    assert_eq!(missing.as_deref(), Some("15 lost, 5 under way"));
    let text = render(&s, Format::Table, &RenderOptions::default());
    assert!(
        text.contains("15 lost, 5 still under way of 2520 offered"),
        "{text}"
    );
}

#[test]
fn the_hosts_cpu_time_is_told_of_all_trials_or_of_none() {
    let host_cpu = |last_ms: u64| {
        let mut b = builder();
        let id = b.experiment("udp", |_| {});
        b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 0)]);
        for (i, trial) in b.records(id).enumerate() {
            let ms = if i == 4 { last_ms } else { 400 };
            trial.cost.host_cpu = Some(Nanos::from_millis(ms));
            trial.cost.host_cpu_ns_per_message = Some(ms as f64 * 2e3);
        }
        summary(&b.build()).experiments[0].median(TrialFigure::HostCpuPerMessage)
    };
    assert_eq!(host_cpu(500), Some(800_000.0));
    // 100 ms are too little for the kernel's accounting: the other four would be the dear ones.
    assert_eq!(host_cpu(100), None);
}

/// The summary of five trials, each with this done to it.
fn with(change: impl Fn(usize, &mut TrialRecord)) -> Summary {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &[(Metric::Rtt, 10_000.0, 500, 0)]);
    b.records(id)
        .enumerate()
        .for_each(|(i, trial)| change(i, trial));
    summary(&b.build())
}

/// A process that ran for 100 ms: 30 ms of its own, 10 ms of the kernel's.
fn process(daemon: bool, pacing_ms: u64) -> ProcessCost {
    ProcessCost {
        label: "process".into(),
        daemon,
        user: Nanos::from_millis(30),
        system: Nanos::from_millis(10),
        pacing: Nanos::from_millis(pacing_ms),
        wall: Nanos::from_millis(100),
        ..Default::default()
    }
}

#[test]
fn a_pacer_that_burns_keeps_no_cpu_busy() {
    let busy = |pacing_ms: u64| {
        let s = with(|_, trial| trial.cost.processes = vec![process(false, pacing_ms)]);
        s.experiments[0].median(TrialFigure::BusyCpus).unwrap()
    };
    assert!((busy(0) - 0.4).abs() < 1e-9);
    assert!((busy(25) - 0.15).abs() < 1e-9);
}

#[test]
fn a_daemons_cpu_time_per_message_is_its_own_and_the_kernels() {
    let s = with(|_, trial| {
        trial.cost.processes = vec![process(true, 0), process(false, 0)];
        // What the runner makes of both for 1 000 messages.
        trial.cost.cpu = Nanos::from_millis(80);
        trial.cost.cpu_ns_per_message = Some(80_000.0);
    });
    let daemon = &s.experiments[0].daemons[0];
    assert_eq!(daemon.cpu_ns_per_message.unwrap().median, 40_000.0);
}

#[test]
fn a_trial_without_a_cost_per_message_is_not_one_of_zero() {
    let s = with(|i, trial| trial.cost.cpu_ns_per_message = (i > 2).then_some(1_000.0));
    let cost = s.experiments[0].median(TrialFigure::CpuPerMessage);
    assert_eq!(cost, Some(1_000.0));
}

#[test]
fn delivered_is_of_what_was_offered_not_of_what_was_accepted() {
    let s = with(|_, trial| {
        (trial.counts.offered, trial.counts.sent) = (1_000, 800);
        (trial.counts.received, trial.counts.lost) = (800, 200);
    });
    assert_eq!(s.experiments[0].delivered_ratio(), Some(0.8));
}

#[test]
fn an_arrival_gap_stands_beside_the_response_time_in_every_format() {
    let mut b = builder();
    let id = b.experiment("tcp", |e| {
        e.workload = Workload::Stream {
            rate: RateHz::new(1e3).unwrap(),
            arrivals: dyno_model::Arrivals::Fixed,
        };
    });
    let gaps = (Metric::Gap, 1e6, 499, 0);
    b.trials(id, &[(Metric::Response, 30e3, 500, 0), gaps]);
    let s = summary(&b.build());
    assert_eq!(s.experiments[0].headline(), Metric::Response);
    let shown = |format| render(&s, format, &RenderOptions::default());
    let markdown = shown(Format::Markdown);
    for title in ["gap p50", "gap p99", "gap max"] {
        assert!(markdown.contains(title), "{markdown}");
    }
    assert!(shown(Format::Json).contains("\"gap_ns\""));
    assert!(shown(Format::Csv).contains(",gap_ns,"));
}

#[test]
fn a_round_trip_is_taken_apart_by_the_wake_up_of_its_own_kind() {
    use dyno_model::probe::{HandOver, Probe, Rest, Ring, Sides};
    let mut b = builder();
    // Two switches in 20 µs on two CPUs, and in 10 µs on one.
    let two = b.experiment("pipe", |_| {});
    b.trials(two, &[(Metric::Rtt, 20_000.0, 800, 0)]);
    // Of 10 % more messages than those of the window, and half as many switches again that were forced.
    for trial in b.records(two) {
        trial.cost.switches_per_message = Some(3.0);
        for p in &mut trial.cost.processes {
            p.voluntary_switches = 880;
            p.involuntary_switches = 440;
        }
    }
    let one = b.experiment("tcp", |e| e.cpus = vec![1, 1]);
    b.trials(one, &[(Metric::Rtt, 10_000.0, 800, 0)]);
    let elsewhere = b.experiment("uds", |e| e.cpus = vec![2, 3]);
    b.trials(elsewhere, &[(Metric::Rtt, 20_000.0, 800, 0)]);
    let mut probe = |probe, each, cpus: &[u32], ns| {
        let id = b.experiment("ground", |e| {
            e.cpus = cpus.to_vec();
            e.workload = Workload::Probe {
                probe,
                each,
                copies: 1,
            };
        });
        b.trials(id, &[(Metric::Probe, ns, 800, 0)]);
        id
    };
    let ipi = Probe::Ipi {
        by: Ring::Futex,
        rest: Rest::Sleeps,
    };
    let switch = |sides| Probe::Switch {
        by: HandOver::Futex,
        sides,
    };
    let ipi = probe(ipi, 2, &[1, 0], 8_000.0);
    probe(switch(Sides::Threads), 1, &[1], 999.0);
    probe(switch(Sides::Processes), 1, &[0], 999.0);
    let switched = probe(switch(Sides::Processes), 1, &[1], 3_000.0);
    let summary = crate::common::summary(&b.build());
    let of = |id: ExperimentId| {
        let e = &summary.experiments[id.0 as usize];
        let m = e.made_of.unwrap();
        // The fixture's two processes sleep once for each round trip.
        assert!((m.wake_ups - 2.0).abs() < 0.01, "{}", m.wake_ups);
        (m.probe, (100.0 * m.share).round())
    };
    assert_eq!(of(two), (ipi, 80.0));
    assert_eq!(of(one), (switched, 30.0));
    assert!(summary.experiments[ipi.0 as usize].made_of.is_none());
    assert!(summary.experiments[elsewhere.0 as usize].made_of.is_none());
    let shown = render(&summary, Format::Table, &RenderOptions::default());
    assert!(
        shown.contains("no probe of this run matches 1 of 7 rows, such as uds"),
        "{shown}"
    );
}

#[test]
fn what_was_counted_is_added_up_and_is_no_row() {
    use dyno_model::asked::AskedPerMessage;
    use dyno_model::cause::Warning;
    use dyno_model::probe::{Call, Probe, Rest, Ring};
    let not_counted = Warning::NotCounted {
        error: "forbidden".into(),
    };
    let made_of = |asked: Option<AskedPerMessage>| {
        let mut b = builder();
        let pipe = b.experiment("pipe", |_| {});
        b.trials(pipe, &[(Metric::Rtt, 20_000.0, 800, 0)]);
        let mut probe = |probe, each, cpus: &[u32], ns| {
            let id = b.experiment("ground", |e| {
                e.cpus = cpus.to_vec();
                e.workload = Workload::Probe {
                    probe,
                    each,
                    copies: 1,
                };
            });
            b.trials(id, &[(Metric::Probe, ns, 800, 0)]);
        };
        let (by, rest) = (Ring::Futex, Rest::Sleeps);
        probe(Probe::Ipi { by, rest }, 2, &[1, 0], 5_000.0);
        let (by, batch) = (Call::Getppid, 100);
        probe(Probe::Syscall { by, batch }, 1, &[1], 100.0);
        let bytes = 64;
        probe(
            Probe::Copy {
                bytes,
                by: dyno_model::probe::Writer::Own,
            },
            1,
            &[1],
            50.0,
        );
        let twin = b.experiment("pipe", |e| {
            (e.counted, e.added, e.trials) = (true, true, 1);
        });
        b.trial(twin, &[(Metric::Rtt, 90_000.0, 800, 0)]);
        for trial in b.records(twin) {
            trial.cost.asked_per_message = asked;
            trial.warnings = match asked {
                Some(_) => Vec::new(),
                None => vec![not_counted.clone().into()],
            };
        }
        let summary = crate::common::summary(&b.build());
        assert!(summary.experiments.iter().all(|e| !e.experiment.counted));
        (summary.experiments[0].made_of.unwrap(), summary)
    };
    let (found, summary) = made_of(Some(AskedPerMessage {
        calls: 6.0,
        carriers: 4.0,
        wakings: 2.0,
    }));
    // 2 × 5 µs, 6 − 2 × 2 further calls of 0.1 µs, and 4 copies of 0.05 µs, of 20 µs.
    assert_eq!((100.0 * found.share).round(), 52.0);
    let shown = render(&summary, Format::Table, &RenderOptions::default());
    assert!(shown.contains("further calls ×"), "{shown}");
    let (found, summary) = made_of(None);
    assert_eq!(found.further, None);
    assert_eq!(summary.warnings, [not_counted.to_string()]);
}

#[test]
fn withheld_figures_say_how_many_further_trials_they_take() {
    let mut b = builder();
    // Five trials of 50 samples; a p99 takes 368 of them.
    let few = b.experiment("pipe", |_| {});
    b.trials(few, &[(Metric::Rtt, 10_000.0, 50, 0)]);
    let enough = b.experiment("tcp", |_| {});
    b.trials(enough, &[(Metric::Rtt, 10_000.0, 5_000, 0)]);
    let floor = b.experiment("floor-spin", |_| {});
    b.trials(floor, &[(Metric::Rtt, 1_000.0, 50, 0)]);
    assert_eq!(summary(&b.build()).withheld(), [Some(3)]);
}
