//! Comparisons of two runs, and within one.

use crate::common::{Builder, stream};
use dyno_judge::{
    Aspect, CheckOptions, CompareHistory, CompareOptions, ComparedCell, Comparison, Figure,
    Finding, Limits, Row, Status, check, compare, compare_with_history, compare_within,
};
use dyno_model::plan::{Against, Extent, More, Refusal, Scheduling};
use dyno_model::record::Run;
use dyno_model::{Experiment, Metric, Nanos, OptionValue, PayloadSize};
use dyno_report::{Format, RenderOptions};

fn how() -> CompareOptions {
    CompareOptions::default()
}

fn cell<'a>(c: &'a Comparison, stack: &str) -> &'a ComparedCell {
    let mut all = c.cells.iter();
    all.find(|cell| cell.new.stack == stack).unwrap()
}

fn finding(cell: &ComparedCell, figure: Figure) -> Finding {
    let row = cell.rows.iter().find(|r| r.figure == figure).unwrap();
    row.result.as_ref().unwrap().finding
}

const P50: Figure = Figure::Quantile {
    metric: Metric::Rtt,
    q: 0.5,
};

/// Two runs on one machine: one stack the same, one slower, one faster, one gone, one that crashes.
fn two_runs(floor: f64) -> Comparison {
    let mut base = Builder::new(0);
    base.measured("floor-futex", 6_900.0);
    base.measured("pipe", 9_000.0);
    base.measured("tcp", 12_000.0);
    base.measured("udp", 13_000.0);
    base.measured("uds-stream", 11_000.0);
    let crashes = base.experiment("zenoh-tcp", |_| {});
    base.failed(crashes);
    let few = base.experiment("pipe", stream);
    for _ in 0..3 {
        base.trial(few, 30_000.0, 100, 4);
    }
    let mut new = Builder::new(1);
    new.measured("floor-futex", 6_900.0 * floor);
    new.measured("pipe", 9_010.0);
    new.measured("tcp", 13_000.0);
    new.measured("udp", 11_000.0);
    new.measured("zenoh-tcp", 80_000.0);
    let few = new.experiment("pipe", stream);
    for p50 in [27_000.0, 31_000.0, 36_000.0] {
        new.trial(few, p50, 100, 0);
    }
    new.plan().refused.push(Refusal {
        experiment: "round-trip".into(),
        stack: "uds-stream".into(),
        factors: "ping-pong, 64 B".into(),
        reason: "not on this machine".into(),
    });
    compare(&base.build(), &new.build(), &how())
}

#[test]
fn a_cell_is_left_out_for_its_own_refusal() {
    let mut base = Builder::new(0);
    let mut new = Builder::new(1);
    for bytes in [64, 128, 256] {
        let size = |e: &mut Experiment| e.payload = PayloadSize::new(bytes).unwrap();
        let id = base.experiment("pipe", size);
        base.trials(id, 9_000.0);
        // Of the last one another cell was refused.
        let topology = if bytes == 256 { "1-1x4" } else { "1-1" };
        let factors = format!("ping-pong, SIZE, block, stamp, process, {topology}");
        new.plan().refused.push(Refusal {
            experiment: "round-trip".into(),
            stack: "pipe".into(),
            factors: factors.replace("SIZE", &format!("{bytes} B")),
            reason: dyno_model::plan::RefusalReason::Told(format!("too few for {bytes}")),
        });
    }
    new.measured("tcp", 9_000.0);
    base.measured("tcp", 9_000.0);
    let c = compare(&base.build(), &new.build(), &how());
    let reasons: Vec<&str> = c.left_out.iter().map(|l| l.reason.as_str()).collect();
    assert!(reasons[0].ends_with("too few for 64"), "{reasons:?}");
    assert!(reasons[1].ends_with("too few for 128"), "{reasons:?}");
    assert_eq!(reasons[2], "only the base has it");
}

/// `pipe` at 9.0 µs, and at `new` in a later run, with a history of runs at these levels on `host`.
fn with_history(new: f64, levels: &[f64], host: Option<&str>) -> Comparison {
    let run = |day, p50| {
        let mut run = Builder::new(day);
        run.measured("pipe", p50);
        run
    };
    let (base, new) = (run(100, 9_000.0).build(), run(101, new).build());
    let mut history = CompareHistory::new(&how(), &base.manifest, &new.manifest);
    for (day, level) in (0..).zip(levels) {
        let mut past = run(day, 9_000.0 * level);
        if let Some(host) = host {
            past.manifest().environment.host = host.into();
        }
        history.add(&past.build());
    }
    // What is compared is no part of its history, and nothing is counted twice.
    history.add(&new);
    history.add(&run(0, 90_000.0).build());
    compare_with_history(&base, &new, &history)
}

#[test]
fn a_history_widens_intervals_by_what_its_runs_differ_by() {
    const CALM: [f64; 4] = [1.0, 1.001, 0.999, 1.0];
    const RESTLESS: [f64; 4] = [1.0, 1.05, 0.96, 1.02];
    let of = |c: &Comparison| finding(cell(c, "pipe"), P50);
    let (slower, faster) = (9_900.0, 8_100.0);
    assert_eq!(of(&with_history(slower, &CALM, None)), Finding::Higher);
    assert_eq!(of(&with_history(faster, &CALM, None)), Finding::Lower);
    let open = Finding::Undecided { more: None };
    for new in [slower, faster] {
        let c = with_history(new, &RESTLESS, None);
        assert_eq!(of(&c), open);
        let text = c.render(Format::Markdown, &RenderOptions::default());
        assert!(
            text.contains("where the history allows it (4 runs)"),
            "{text}"
        );
        assert!(
            text.contains("within the scatter of runs and trials"),
            "{text}"
        );
    }
    // Too few runs, or runs of another machine, make nothing good, and nothing better.
    for (levels, host) in [(&CALM[..2], None), (&CALM[..], Some("elsewhere"))] {
        let worse = with_history(slower, levels, host);
        assert_eq!(of(&worse), Finding::Higher);
        let text = worse.render(Format::Markdown, &RenderOptions::default());
        assert!(
            text.contains("covers the scatter of trials alone: the history has"),
            "{text}"
        );
        let c = with_history(faster, levels, host);
        assert_eq!(of(&c), open);
        let text = c.render(Format::Markdown, &RenderOptions::default());
        assert!(text.contains("three of one build are needed"), "{text}");
        assert_eq!(c.status(), Status::Undecided);
    }
}

#[test]
fn a_history_leaves_losses_undecided_that_its_runs_differ_by() {
    const NONE: [u64; 5] = [0; 5];
    const SOME: [u64; 5] = [20, 22, 19, 21, 20];
    const CALM: &[u64] = &[0; 4];
    const RESTLESS: &[u64] = &[0, 40, 2, 15];
    const FEW: &[u64] = &[0; 2];
    let run = |day: u64, lost: [u64; 5]| {
        let mut b = Builder::new(day);
        let e = b.experiment("udp", stream);
        for lost in lost {
            b.trial(e, 12_000.0, 2_000 - lost, lost);
        }
        b.build()
    };
    let of = |base, new, nights: &[u64]| {
        let (base, new) = (run(100, base), run(101, new));
        let mut history = CompareHistory::new(&how(), &base.manifest, &new.manifest);
        for (day, lost) in (0..).zip(nights) {
            history.add(&run(day, [*lost; 5]));
        }
        let c = compare_with_history(&base, &new, &history);
        finding(cell(&c, "udp"), Figure::Lost)
    };
    let open = Finding::Undecided { more: None };
    for (base, new, calm, few) in [
        (NONE, SOME, Finding::Higher, Finding::Higher),
        (SOME, NONE, Finding::Lower, open),
        (NONE, NONE, Finding::Same, open),
    ] {
        assert_eq!(of(base, new, CALM), calm, "{base:?}, {new:?}");
        assert_eq!(of(base, new, RESTLESS), open, "{base:?}, {new:?}");
        assert_eq!(of(base, new, FEW), few, "{base:?}, {new:?}");
    }
    // A history that loses as much every night says that less is less.
    assert_eq!(of(SOME, NONE, &[20, 21, 20, 19]), Finding::Lower);
}

#[test]
fn verdicts_after_trials_were_added_say_so() {
    let run = |more: Vec<More>| {
        let mut b = Builder::new(0);
        b.measured("udp", 13_000.0);
        b.plan().more = more;
        b.build()
    };
    let once = More {
        trials: 5,
        asked_unix_ms: 0,
    };
    let (plain, added) = (run(vec![]), run(vec![once, once]));
    let limits =
        "[[limit]]\nname = \"fast\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"1 ms\"\n";
    let limits = Limits::parse("limits.toml", limits).unwrap();
    let checked = |run| {
        let report = check(run, &limits, &CheckOptions::default()).unwrap();
        report.render(Format::Table, &RenderOptions::default())
    };
    let compared = compare(&plain, &added, &how());
    let text = compared.render(Format::Table, &RenderOptions::default());
    for text in [text, checked(&added)] {
        assert!(text.contains("2 times: each addition makes"), "{text}");
    }
    assert!(!checked(&plain).contains("each addition"));
}

#[test]
fn cpu_times_of_kernels_that_count_interrupts_otherwise_are_not_judged() {
    let run = |number, kernel: &str, irq_time, p50| {
        let mut b = Builder::new(number);
        b.measured("udp", p50);
        b.manifest().environment.kernel = kernel.into();
        b.manifest().environment.irq_time = irq_time;
        b.build()
    };
    let of = |base: &Run, new: &Run| {
        let c = compare(base, new, &how());
        let row = cell(&c, "udp").rows.iter();
        let row = row
            .clone()
            .find(|r| r.figure == Figure::CpuPerMessage)
            .unwrap();
        let (found, latency) = (
            finding(cell(&c, "udp"), Figure::CpuPerMessage),
            finding(cell(&c, "udp"), P50),
        );
        assert_eq!(latency, Finding::Lower);
        let text = c.render(Format::Table, &RenderOptions::default());
        (found, row.but.clone(), text)
    };
    let within = run(0, "6.12", Some(false), 13_000.0);
    let (found, but, text) = of(&within, &run(1, "6.13", Some(true), 11_000.0));
    assert_eq!(found, Finding::Undecided { more: None });
    assert!(but.unwrap().contains("CONFIG_IRQ_TIME_ACCOUNTING"));
    assert!(text.contains("counts interrupt time"), "{text}");
    let (found, but, _) = of(&within, &run(1, "6.13", Some(false), 11_000.0));
    assert_eq!((found, but), (Finding::Lower, None));
    // A run from before does not tell.
    let (found, ..) = of(&within, &run(1, "6.13", None, 11_000.0));
    assert_eq!(found, Finding::Undecided { more: None });
    // Of runs that were merged the machine of the cell decides, not the first one.
    let merged = |number, irq_time, p50| {
        let mut run = run(number, "6.13", Some(false), p50);
        let mut second = run.manifest.environment.clone();
        second.irq_time = irq_time;
        run.machines.insert("second".into(), second);
        let experiments = &mut run.manifest.plan.experiments;
        experiments
            .iter_mut()
            .for_each(|e| e.machine = Some("second".into()));
        run
    };
    let base = merged(0, Some(false), 13_000.0);
    let (found, but, _) = of(&base, &merged(1, Some(true), 11_000.0));
    assert_eq!(found, Finding::Undecided { more: None });
    assert!(but.unwrap().contains("CONFIG_IRQ_TIME_ACCOUNTING"));
    let (found, but, _) = of(&base, &merged(1, Some(false), 11_000.0));
    assert_eq!((found, but), (Finding::Lower, None));
}

#[test]
fn every_verdict_has_its_word() {
    let c = two_runs(1.001);
    assert_eq!(finding(cell(&c, "pipe"), P50), Finding::Same);
    assert_eq!(finding(cell(&c, "tcp"), P50), Finding::Higher);
    assert_eq!(finding(cell(&c, "udp"), P50), Finding::Lower);
    let rates = |stack: &str| {
        let rows = &cell(&c, stack).rows;
        rows.iter().any(|r| r.figure == Figure::Delivered)
    };
    assert!(!rates("udp"), "a closed loop's rate is its round trip");
    assert_eq!(
        finding(cell(&c, "udp"), Figure::CpuPerMessage),
        Finding::Lower
    );
    assert_eq!(c.status(), Status::Fail);
    assert!(c.moved.is_none() && c.differences.is_empty());
    insta::assert_snapshot!(c.render(Format::Table, &RenderOptions::default()));
}

#[test]
fn each_interval_is_wide_enough_for_the_whole_table() {
    let c = two_runs(1.0);
    // Those of rows and cells without a figure as well: what is missing must not make the others narrower.
    let has_ratio = |r: &&Row| !matches!(r.figure, Figure::Lost | Figure::Failed);
    let rows = c.cells.iter().flat_map(|c| &c.rows).filter(has_ratio);
    let of_zenoh = 4;
    assert_eq!(c.statements, rows.count() + of_zenoh);
    assert!((c.each - (1.0 - 0.05 / c.statements as f64)).abs() < 1e-12);
}

#[test]
fn a_moved_floor_takes_every_difference_back() {
    let c = two_runs(1.28);
    let moved = c.moved.as_ref().unwrap();
    assert!((moved.ratio - 1.28).abs() < 0.01);
    assert_eq!(finding(cell(&c, "tcp"), P50), Finding::MachineMoved);
    assert_eq!(finding(cell(&c, "pipe"), P50), Finding::Same);
    assert_eq!(c.status(), Status::Undecided);
    let text = c.render(Format::Table, &RenderOptions::default());
    assert!(
        text.contains(
            "the machine itself changed (floor ×1.28); measure both interleaved with --against"
        ),
        "{text}"
    );
}

#[test]
fn all_formats_say_the_same() {
    let c = two_runs(1.001);
    let options = RenderOptions::default();
    insta::assert_snapshot!("compare_markdown", c.render(Format::Markdown, &options));
    let json = c.render(Format::Json, &options);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["statements"], c.statements);
    insta::assert_snapshot!("compare_json", json);
    let csv = c.render(Format::Csv, &options);
    let rows: usize = c.cells.iter().map(|c| c.rows.len()).sum();
    assert_eq!(csv.matches("\r\n").count(), rows + 1, "{csv}");
    insta::assert_snapshot!("compare_csv", csv.replace('\r', ""));
}

#[test]
fn one_stack_on_each_side_is_what_is_compared() {
    let run = |day, stack: &str, p50| {
        let mut b = Builder::new(day);
        b.measured("floor-futex", 6_900.0);
        b.measured(stack, p50);
        b.stack(stack)
            .options
            .insert("depth".into(), OptionValue::Int(8));
        b.build()
    };
    let c = compare(&run(0, "tcp", 12_000.0), &run(1, "pipe", 9_000.0), &how());
    assert_eq!(c.left_out, []);
    let pair = cell(&c, "pipe");
    assert_eq!(pair.base.stack, "tcp");
    assert_eq!(finding(pair, P50), Finding::Lower);
    assert_eq!(c.differences.len(), 1);
    assert_eq!(c.differences[0].aspect, Aspect::Stack);
    assert_eq!(c.differences[0].base, "tcp (tcp; depth = 8)");
}

#[test]
fn without_a_floor_the_reader_is_told_that_nothing_controls() {
    let run = |day| {
        let mut b = Builder::new(day);
        b.measured("tcp", 12_000.0);
        b.build()
    };
    let c = compare(&run(0), &run(1), &how());
    assert!(
        c.notes[0].contains("no floor in shared memory was measured in both"),
        "{:?}",
        c.notes
    );
}

/// `tcp` is ten percent faster than `uds-stream`, pair by pair, under a machine that wanders by half.
fn within() -> Builder {
    let mut b = Builder::new(0);
    let base = b.experiment("uds-stream", |_| {});
    let new = b.experiment("tcp", |e| e.base = Some(base));
    b.plan().against = Some(Against::Stack {
        name: "uds-stream".into(),
    });
    for (i, level) in [1.0, 1.5, 1.2, 0.9, 1.4, 1.1].into_iter().enumerate() {
        let wobble = 1.0 + 0.002 * (i % 3) as f64;
        b.trial(base, 10_000.0 * level, 2_000, 0);
        b.trial(new, 9_000.0 * level * wobble, 2_000, 0);
    }
    b
}

#[test]
fn pairs_see_through_a_machine_that_wanders() {
    let c = compare_within(&within().build(), &how());
    assert!(c.paired);
    assert_eq!(
        (c.base.name.as_str(), c.new.name.as_str()),
        ("uds-stream", "tcp")
    );
    assert_eq!(finding(cell(&c, "tcp"), P50), Finding::Lower);
    insta::assert_snapshot!(c.render(Format::Table, &RenderOptions::default()));
}

#[test]
fn a_gate_says_in_one_sentence_what_decides_and_what_it_would_have_found() {
    let p50 = CompareOptions {
        quantiles: vec![0.5],
        ..how()
    };
    let run = within().build();
    let faster = compare_within(&run, &p50).sentence();
    let (verdict, found) = faster.split_once("; a slowdown of ").unwrap();
    assert!(
        verdict.starts_with(
            "faster: uds-stream → tcp: round-trip, ping-pong, 64 B, block: p50 round trip ×0.90"
        ),
        "{faster}"
    );
    // The pairs scatter by 0.2 %: from a little below 5 % on, the interval leaves the margin.
    assert!(found.starts_with("4."), "{faster}");
    assert!(
        found
            .ends_with(" % would have been found with a chance of 80 % in runs that scatter alike"),
        "{faster}"
    );
    let turned = |base: f64, new: f64| {
        let mut b = Builder::new(0);
        let x = b.measured("tcp", base);
        let y = b.measured("udp", new);
        b.plan().experiments[y.0 as usize].base = Some(x);
        b.plan().against = Some(Against::Stack { name: "tcp".into() });
        b
    };
    let said = |b: Builder| compare_within(&b.build(), &p50).sentence();
    assert!(said(turned(9_000.0, 12_000.0)).starts_with("slower: tcp → udp: "));
    assert!(said(turned(9_000.0, 9_010.0)).starts_with("same within 5 %: tcp → udp: "));
    let mut failed = turned(9_000.0, 9_000.0);
    let new = failed.plan().experiments[1].id;
    failed.failed(new);
    let failed = said(failed);
    assert!(
        failed.starts_with("undecided: ") && failed.contains("failed"),
        "{failed}"
    );
    let mut b = Builder::new(0);
    b.measured("tcp", 12_000.0);
    assert_eq!(
        said(b),
        "undecided: nothing could be compared; which slowdown would have been found is unknown"
    );
}

#[test]
fn a_pair_counts_only_where_both_its_trials_do() {
    let mut run = within().build();
    // Trial 1 of the base and trial 2 of the new side are disturbed: four pairs are left.
    for t in &mut run.trials {
        if (t.id.experiment.0, t.id.number) == (0, 1) || (t.id.experiment.0, t.id.number) == (1, 2)
        {
            t.disturbed
                .push(dyno_model::Cause::Told("the hypervisor took 12 %".into()));
        }
    }
    let c = compare_within(&run, &how());
    let row = &cell(&c, "tcp").rows[0];
    assert_eq!(row.result.as_ref().unwrap().trials, (4, 4));
    let remarks = cell(&c, "tcp").remarks.join("\n");
    assert!(
        remarks.contains("base: 1 of 6 completed trials left out"),
        "{remarks}"
    );
}

#[test]
fn the_same_against_itself_is_the_same() {
    let mut b = Builder::new(0);
    let base = b.measured("tcp", 12_000.0);
    let again = b.measured("tcp", 12_000.0);
    b.plan().experiments[again.0 as usize].base = Some(base);
    b.plan().against = Some(Against::Same);
    let run = b.build();
    let c = compare_within(&run, &how());
    assert_eq!(finding(cell(&c, "tcp"), P50), Finding::Same);
    assert_eq!(c.differences, []);
    // Compared with another run, the repetition is left aside.
    assert_eq!(compare(&run, &run, &how()).cells.len(), 1);
}

#[test]
fn a_run_without_against_has_nothing_to_compare_within() {
    let mut b = Builder::new(0);
    b.measured("tcp", 12_000.0);
    let c = compare_within(&b.build(), &how());
    assert!(c.cells.is_empty() && c.notes[0].contains("--against"));
    let text = c.render(Format::Table, &RenderOptions::default());
    assert!(text.contains("Nothing to compare."), "{text}");
}

#[test]
fn one_trial_and_zero_are_reasons_and_no_ratios() {
    let mut base = Builder::new(0);
    let a = base.experiment("tcp", |_| {});
    base.trial(a, 12_000.0, 2_000, 0);
    let b = base.experiment("udp", stream);
    for _ in 0..3 {
        base.trial(b, 12_000.0, 2_000, 0).throughput.delivered_hz = 0.0;
    }
    let base = base.build();
    let c = compare(&base, &base, &how());
    let reason = |stack: &str, i: usize| cell(&c, stack).rows[i].result.clone().unwrap_err();
    assert_eq!(
        reason("tcp", 0),
        "two trials of each side are needed, there are 1 and 1"
    );
    assert!(reason("udp", 3).contains("zero"), "{}", reason("udp", 3));
    let said = c.render(Format::Markdown, &RenderOptions::default());
    assert!(said.contains("hold at once"), "{said}");
}

#[test]
fn without_a_ratio_nothing_is_said_of_intervals() {
    let mut one = Builder::new(0);
    let a = one.experiment("tcp", stream);
    one.trial(a, 12_000.0, 2_000, 0);
    let one = one.build();
    let said = compare(&one, &one, &how()).render(Format::Markdown, &RenderOptions::default());
    assert!(
        said.contains("two trials of each side are needed"),
        "{said}"
    );
    assert!(!said.contains("intervals"), "{said}");
}

#[test]
fn lost_messages_make_a_quantile_infinite_and_say_so() {
    let mut base = Builder::new(0);
    let a = base.experiment("udp", stream);
    let mut new = Builder::new(1);
    let b = new.experiment("udp", stream);
    for _ in 0..6 {
        base.trial(a, 12_000.0, 2_000, 0);
        new.trial(b, 12_000.0, 1_800, 200).counts.under_way = 10;
    }
    let c = compare(&base.build(), &new.build(), &how());
    let rows = &cell(&c, "udp").rows;
    let p99 = rows[2].result.as_ref().unwrap();
    assert_eq!(p99.new, f64::INFINITY);
    assert!(
        matches!(p99.finding, Finding::Higher | Finding::Undecided { .. }),
        "{p99:?}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&c.render(Format::Json, &RenderOptions::default())).unwrap();
    assert_eq!(json["cells"][0]["rows"][2]["new"], serde_json::Value::Null);
    let remarks = cell(&c, "udp").remarks.join("\n");
    assert!(
        remarks.contains(
            "messages that did not arrive: base none of 12000, new 1140 lost, 60 under way of 12000"
        ),
        "{remarks}"
    );
}

/// Trials scatter by a tenth, in the same way on both sides: whatever a table then calls different is
/// a false alarm.
#[test]
fn equal_sides_are_called_different_in_few_tables() {
    const TABLES: u64 = 200;
    let mut state = 1u64;
    // A rough bell from four uniform numbers of a linear congruential generator (Knuth, MMIX).
    let mut scatter = || -> f64 {
        let mut sum = 0.0;
        for _ in 0..4 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
        }
        (0.17 * sum).exp()
    };
    let mut run = |day| {
        let mut b = Builder::new(day);
        for stack in ["tcp", "pipe", "udp"] {
            let e = b.experiment(stack, |_| {});
            for _ in 0..5 {
                b.trial(e, 10_000.0 * scatter(), 400, 0);
            }
        }
        b.build()
    };
    let mut alarms = 0;
    for table in 0..TABLES {
        let c = compare(&run(2 * table), &run(2 * table + 1), &how());
        let mut rows = c.cells.iter().flat_map(|c| &c.rows);
        alarms += u64::from(rows.any(|r| {
            let found = r.result.as_ref().unwrap().finding;
            matches!(found, Finding::Lower | Finding::Higher)
        }));
    }
    // 5 % of the tables, and three standard errors of that.
    assert!(alarms <= 19, "{alarms} of {TABLES}");
}

#[test]
fn one_way_times_that_the_clocks_do_not_bear_are_not_compared() {
    let side = |day, bound_ns| {
        let mut b = Builder::new(day);
        let e = b.experiment("udp", stream);
        for _ in 0..5 {
            b.trial(e, 12_000.0, 2_000, 0).one_way_bound = Some(Nanos(bound_ns));
        }
        b.build()
    };
    let c = compare(&side(1, 1_100), &side(2, 1_300), &how());
    let rows = &cell(&c, "udp").rows;
    let reason = rows[0].result.as_ref().unwrap_err();
    assert!(
        reason.contains("new: one-way latency cannot be resolved"),
        "{reason}"
    );
    assert!(reason.contains("±1.30 µs"), "{reason}");
    let rate = rows.iter().find(|r| r.figure == Figure::Delivered).unwrap();
    assert!(rate.result.is_ok(), "{rate:?}");
    let c = compare(&side(1, 1_100), &side(2, 1_200), &how());
    let cell = cell(&c, "udp");
    assert!(cell.rows[0].result.is_ok());
    let remarks = cell.remarks.join("\n");
    assert!(remarks.contains("base: times between hosts: their clocks are known to ±1.10 µs"));
}

#[test]
fn a_side_that_delivers_nothing_is_slower() {
    let side = |day, rate: f64| {
        let mut b = Builder::new(day);
        let e = b.experiment("udp", stream);
        for i in 0..6 {
            b.trial(e, 30_000.0, 400, 0).throughput.delivered_hz =
                rate * (1.0 + 0.01 * f64::from(i));
        }
        b.build()
    };
    let (good, dead) = (side(0, 900.0), side(1, 0.0));
    let delivered = |c: &Comparison| finding(cell(c, "udp"), Figure::Delivered);
    let worse = compare(&good, &dead, &how());
    assert_eq!(delivered(&worse), Finding::Lower);
    assert_eq!(worse.status(), Status::Fail);
    let better = compare(&dead, &good, &how());
    assert_eq!(delivered(&better), Finding::Higher);
    assert_ne!(better.status(), Status::Fail);
    let both = compare(&dead, &dead, &how());
    let mut rows = cell(&both, "udp").rows.iter();
    let row = rows.find(|r| r.figure == Figure::Delivered).unwrap();
    assert!(row.result.is_err(), "{row:?}");
}

#[test]
fn a_new_side_that_completes_nothing_is_told_apart_from_one_that_is_as_fast() {
    let mut base = Builder::new(0);
    base.measured("pipe", 9_000.0);
    base.measured("tcp", 9_000.0);
    let mut new = Builder::new(1);
    new.measured("pipe", 9_000.0);
    let e = new.experiment("tcp", |_| {});
    new.failed(e);
    let (base, new) = (base.build(), new.build());
    let c = compare(&base, &new, &how());
    assert_eq!(c.status(), Status::Undecided);
    // A base that completes nothing shows nothing either.
    assert_eq!(compare(&new, &base, &how()).status(), Status::Undecided);
    let other = Builder::new(2).build();
    assert_eq!(compare(&base, &other, &how()).status(), Status::Undecided);
}

/// Marks every trial of a stack as disturbed.
fn disturb(run: &mut Run, stack: &str) {
    let plan = &run.manifest.plan;
    let of = |t: &dyno_model::TrialRecord| plan.experiment(t.id.experiment).unwrap().stack == stack;
    for t in run.trials.iter_mut().filter(|t| of(t)) {
        t.disturbed
            .push(dyno_model::Cause::Told("foreign load".into()));
    }
}

/// `tcp` and `pipe` beside a floor; `tcp` takes so long.
fn beside_a_floor(day: u64, tcp: f64, floor: f64) -> Run {
    let mut b = Builder::new(day);
    b.measured("floor-futex", floor);
    b.measured("tcp", tcp);
    b.measured("pipe", 9_000.0);
    b.build()
}

#[test]
fn a_side_of_which_the_host_disturbed_every_trial_has_no_verdict() {
    let runs = || [12_000.0, 24_000.0].map(|tcp| beside_a_floor(0, tcp, 6_900.0));
    let [base, new] = runs();
    let plain = compare(&base, &new, &how());
    assert_eq!(plain.status(), Status::Fail);
    for (which, sides) in [
        ([true, false], "the base"),
        ([false, true], "the new side"),
        ([true, true], "both sides"),
    ] {
        let mut all = runs();
        for (run, _) in all
            .iter_mut()
            .zip(which)
            .filter(|(_, disturbed)| *disturbed)
        {
            disturb(run, "tcp");
        }
        let c = compare(&all[0], &all[1], &how());
        let reason = format!("the host disturbed every trial of {sides}");
        let measured = |r: &&Row| r.figure != Figure::Failed;
        for row in cell(&c, "tcp").rows.iter().filter(measured) {
            assert_eq!(row.result, Err(reason.clone()));
        }
        assert_eq!(finding(cell(&c, "pipe"), P50), Finding::Same);
        assert_eq!(c.status(), Status::Undecided, "{sides}");
        let show = |format| c.render(format, &RenderOptions::default());
        let table = show(Format::Table);
        assert!(
            table.contains(&reason) && !table.contains("uses the disturbed trials"),
            "{table}"
        );
        let json: serde_json::Value = serde_json::from_str(&show(Format::Json)).unwrap();
        let rows = json["cells"][1]["rows"].as_array().unwrap();
        let (failed, rows) = rows.split_last().unwrap();
        assert_eq!(failed["figure"], "failed_share");
        for row in rows {
            assert_eq!(row["verdict"], "left-out");
            assert_eq!(row["reason"], reason.as_str());
            assert_eq!(row.get("ratio"), None);
        }
        let csv = show(Format::Csv);
        assert_eq!(csv.matches(&reason).count(), rows.len(), "{csv}");
        let said = said(&c);
        assert_eq!(said.len(), 1, "{said:?}");
    }
    // One trial that the host left alone is not enough for a ratio either, two are.
    let mut all = runs();
    disturb(&mut all[1], "tcp");
    let mut of_tcp = all[1].trials.iter_mut().filter(|t| t.id.experiment.0 == 1);
    of_tcp.next().unwrap().disturbed.clear();
    of_tcp.next().unwrap().disturbed.clear();
    let c = compare(&all[0], &all[1], &how());
    let p50 = cell(&c, "tcp").rows[0].result.as_ref().unwrap();
    assert_eq!(p50.trials, (2, 5));
}

#[test]
fn pairs_of_which_the_host_disturbed_every_trial_of_a_side_have_no_verdict() {
    let mut run = within().build();
    disturb(&mut run, "uds-stream");
    let c = compare_within(&run, &how());
    let row = &cell(&c, "tcp").rows[0];
    let reason = "the host disturbed every trial of the base";
    assert_eq!(row.result, Err(reason.into()));
    assert_eq!(c.status(), Status::Undecided);
}

#[test]
fn a_floor_over_a_link_is_no_control() {
    let run = |day, tcp, floor, lost| {
        let mut b = Builder::new(day);
        b.measured("floor-udp", floor);
        let over_link = b.plan().stacks.get_mut("floor-udp").unwrap();
        over_link.adapter = "udp".into();
        let lossy = b.experiment("floor-udp", stream);
        for _ in 0..3 {
            b.trial(lossy, floor, 1_000, lost);
        }
        b.measured("tcp", tcp);
        b.build()
    };
    let base = run(0, 12_000.0, 6_900.0, 0);
    let new = run(1, 24_000.0, 9_900.0, 50);
    let c = compare(&base, &new, &how());
    assert_eq!(c.moved, None);
    assert_eq!(finding(cell(&c, "tcp"), P50), Finding::Higher);
    assert_eq!(c.status(), Status::Fail);
    assert!(
        c.notes[0].contains("no floor in shared memory was measured in both runs"),
        "{:?}",
        c.notes
    );
}

#[test]
fn a_floor_that_the_host_disturbed_is_no_control() {
    let base = beside_a_floor(0, 12_000.0, 6_900.0);
    let mut new = beside_a_floor(1, 12_000.0, 9_900.0);
    assert!(compare(&base, &new, &how()).moved.is_some());
    disturb(&mut new, "floor-futex");
    let c = compare(&base, &new, &how());
    assert_eq!(c.moved, None);
    assert!(
        c.notes[0].contains("disturbed every trial of the floor"),
        "{:?}",
        c.notes
    );
    // What is faster may be so by the machine alone; what is slower is not taken back.
    assert_eq!(finding(cell(&c, "tcp"), P50), Finding::Same);
    let mut faster = beside_a_floor(1, 8_000.0, 6_900.0);
    let better = |c: &Comparison| finding(cell(c, "tcp"), P50) == Finding::Lower;
    assert!(better(&compare(&base, &faster, &how())));
    disturb(&mut faster, "floor-futex");
    let c = compare(&base, &faster, &how());
    assert!(!better(&c));
    assert_eq!(c.status(), Status::Undecided);
}

fn said(c: &Comparison) -> Vec<(Option<bool>, String)> {
    let all = c.headlines(5);
    all.into_iter().map(|h| (h.is_worse, h.text)).collect()
}

#[test]
fn the_largest_differences_are_said_in_words_and_the_largest_first() {
    let mut base = Builder::new(0);
    let mut new = Builder::new(1);
    for (stack, before, after) in [
        ("floor-futex", 6_900.0, 6_905.0),
        ("pipe", 9_000.0, 9_010.0),
        ("udp", 13_000.0, 11_000.0),
        ("tcp", 12_000.0, 79_000.0),
    ] {
        base.measured(stack, before);
        new.measured(stack, after);
    }
    let c = compare(&base.build(), &new.build(), &how());
    let said = said(&c);
    assert_eq!(said.len(), 3, "{said:#?}");
    let (worse, first) = &said[0];
    assert_eq!(*worse, Some(true));
    assert!(first.starts_with("tcp became 6.5"), "{first}");
    assert!(
        first.contains(" × slower: round-trip, ping-pong, 64 B, block, p"),
        "{first}"
    );
    let (worse, second) = &said[1];
    assert_eq!(*worse, Some(false));
    assert!(second.starts_with("udp became 1.18 × faster"), "{second}");
    let (worse, tally) = &said[2];
    assert_eq!(*worse, None);
    // Floors tell of the machine and are not counted.
    assert!(
        tally.starts_with("Of 12 figures: 4 worse, 4 better, 3 the same"),
        "{tally}"
    );
    assert_eq!(c.headlines(1).len(), 2);
}

#[test]
fn nothing_is_called_slower_in_words_where_the_machine_moved() {
    for (worse, text) in said(&two_runs(1.3)) {
        assert!(
            worse.is_none() || text.starts_with("No longer measured"),
            "{text}"
        );
    }
    let all = said(&two_runs(1.3));
    let moved = all
        .iter()
        .filter(|(_, text)| text.contains("changed (floor ×1.3"))
        .count();
    assert!(moved > 0, "{all:#?}");
}

#[test]
fn what_the_new_side_no_longer_measures_is_said_first() {
    let all = said(&two_runs(1.001));
    let (worse, first) = &all[0];
    assert_eq!(*worse, Some(true));
    assert!(
        first.starts_with("No longer measured: uds-stream: round-trip"),
        "{all:#?}"
    );
}

#[test]
fn runs_without_a_common_cell_name_the_factors_that_keep_them_apart() {
    let mut base = Builder::new(0);
    base.measured("pipe", 9_000.0);
    let mut new = Builder::new(1);
    let e = new.experiment("pipe", |e| {
        e.scheduling = Scheduling::Fifo(50);
        e.warmup = Extent::Messages(7);
    });
    new.trials(e, 9_000.0);
    let c = compare(&base.build(), &new.build(), &how());
    assert_eq!(c.cells, []);
    let of = |what: &str| {
        let mut all = c.differences.iter();
        let found = all.find(|d| d.what.starts_with(what));
        found.map(|d| (d.base.as_str(), d.new.as_str()))
    };
    assert_eq!(
        of("scheduling of "),
        Some(("SCHED_OTHER", "SCHED_FIFO 50")),
        "{:?}",
        c.differences
    );
    assert!(of("warm-up of ").is_some(), "{:?}", c.differences);
}
