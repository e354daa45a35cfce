//! Limits against runs.

use crate::common::{Builder, stream};
use dyno_judge::{CheckOptions, CheckReport, Limits, Standing, Status, check};
use dyno_model::Nanos;
use dyno_model::plan::Refusal;
use dyno_model::record::Run;
use dyno_report::{Format, RenderOptions};
use quick_xml::Reader;
use quick_xml::events::Event;

/// A floor, a good stream, a lossy one, one with failures and one that never worked.
pub(crate) fn run() -> Run {
    let mut b = Builder::new(0);
    let floor = b.experiment("floor-futex", |e| {
        stream(e);
        e.added = true;
    });
    b.trials(floor, 7_000.0);
    let good = b.experiment("zenoh-tcp", |e| {
        stream(e);
        e.name = "camera".into();
        e.floor = Some(floor);
    });
    b.trials(good, 21_000.0);
    let lossy = b.experiment("udp", |e| {
        stream(e);
        e.floor = Some(floor);
    });
    for lost in [0, 2, 0, 5, 1] {
        b.trial(lossy, 30_000.0, 2_000, lost);
    }
    let shaky = b.experiment("tcp", stream);
    b.trials(shaky, 12_000.0);
    b.failed(shaky);
    let broken = b.experiment("posix-mq", stream);
    b.failed(broken);
    b.measured("pipe", 9_000.0);
    b.plan().refused.push(Refusal {
        experiment: "one-way".into(),
        stack: "zenoh-shm".into(),
        factors: "stream".into(),
        reason: "no shared memory here".into(),
    });
    b.build()
}

pub(crate) fn held(run: &Run, text: &str) -> CheckReport {
    let limits = Limits::parse("limits.toml", text).unwrap();
    check(run, &limits, &CheckOptions::default()).unwrap()
}

/// The status and the reason of a limit with one result.
#[track_caller]
pub(crate) fn one(run: &Run, keys: &str) -> (Status, String) {
    let report = held(run, &format!("[[limit]]\nname = \"x\"\n{keys}"));
    assert_eq!(report.results.len(), 1, "{report:?}");
    (report.results[0].status, report.results[0].reason.clone())
}

pub(crate) const ALL: &str = r#"
[[limit]]
name = "camera in time"
experiment = "camera"
stack = ["zenoh-tcp"]
metric = "response"
quantile = "p99"
at_most = "2 ms"

[[limit]]
name = "nothing lost"
stack = ["zenoh-tcp", "udp"]
metric = "loss"
at_most = 0

[[limit]]
name = "cheap"
stack = "udp"
metric = "cpu_per_message"
at_most = "25 us"

[[limit]]
name = "near the floor"
workload = "stream"
wait = "block"
payload = "64 B"
stack = ["zenoh-tcp", "udp"]
metric = "x_floor"
at_most = 3.5

[[limit]]
name = "starts"
stack = "tcp"
metric = "first_message"
at_most = "100 ms"

[[limit]]
name = "works"
suite = "quick"
stack = "posix-mq"
metric = "throughput"
at_least = "10 /s"

[[limit]]
name = "small"
experiment = "round-trip"
metric = "memory"
at_most = "1 MiB"
"#;

#[test]
fn all_kinds_of_limits_in_all_formats() {
    let report = held(&run(), ALL);
    let options = RenderOptions::default();
    insta::assert_snapshot!("check_table", report.render(Format::Table, &options));
    insta::assert_snapshot!("check_markdown", report.render(Format::Markdown, &options));
    insta::assert_snapshot!("check_json", report.render(Format::Json, &options));
    insta::assert_snapshot!(
        "check_csv",
        report.render(Format::Csv, &options).replace('\r', "")
    );
    insta::assert_snapshot!("check_junit", report.junit().unwrap());
}

#[test]
fn only_the_bad_end_passes_and_only_the_good_end_fails() {
    let run = run();
    let p50 = |at_most: &str| {
        let keys = "stack = \"udp\"\nmetric = \"response\"\nquantile = \"p50\"";
        one(&run, &format!("{keys}\nat_most = \"{at_most}\""))
    };
    assert_eq!(p50("40 us").0, Status::Pass);
    assert_eq!(p50("20 us").0, Status::Fail);
    let (status, reason) = p50("30.35 us");
    assert_eq!(status, Status::Undecided, "{reason}");
    assert!(
        reason.contains("would decide") || reason.contains("too close"),
        "{reason}"
    );
}

/// A stream whose trials lost so many of 2,000 messages each.
fn losing(lost: &[u64]) -> Run {
    let mut b = Builder::new(0);
    let e = b.experiment("pipe", stream);
    for lost in lost {
        b.trial(e, 15_000.0, 2_000 - lost, *lost);
    }
    b.build()
}

#[test]
fn nothing_that_lost_the_quantile_passes_a_latency_limit() {
    let p99 = "metric = \"response\"\nquantile = \"p99\"\nat_most =";
    // A tenth, and nearly all: the whole interval is infinite.
    for lost in [200, 1_990] {
        let run = losing(&[lost; 5]);
        for most in ["1 us", "20 ms", "1000 s"] {
            let (status, reason) = one(&run, &format!("{p99} \"{most}\""));
            assert_eq!(status, Status::Fail, "{lost} {most}: {reason}");
            assert_eq!(
                reason,
                "even the best value of its interval, ∞, is outside of the limit"
            );
        }
    }
    // The quantile is finite, its interval has no end above.
    let run = losing(&[0, 0, 60, 0, 0]);
    let report = held(&run, &format!("[[limit]]\nname = \"x\"\n{p99} \"1 s\""));
    let result = &report.results[0];
    assert_eq!(result.found.unwrap().hi, f64::INFINITY, "{result:?}");
    assert!(result.found.unwrap().value.is_finite());
    assert_eq!(
        (result.status, result.standing),
        (Status::Undecided, Standing::Between)
    );
    let (status, _) = one(&run, &format!("{p99} \"1 us\""));
    assert_eq!(status, Status::Fail);
    // One trial too many: the quantile itself is infinite, its lower end is not.
    let (status, reason) = one(&losing(&[0, 0, 300, 0, 0]), &format!("{p99} \"1 s\""));
    assert_eq!(status, Status::Undecided, "{reason}");
    // The exports say the same.
    for (format, text) in [
        (Format::Json, "\"standing\": \"breaks\""),
        (Format::Csv, ",inf,inf,inf,"),
    ] {
        let report = held(
            &losing(&[200; 5]),
            &format!("[[limit]]\nname = \"x\"\n{p99} \"1 s\""),
        );
        let shown = report.render(format, &RenderOptions::default());
        assert!(shown.contains(text), "{shown}");
        assert!(
            report
                .junit()
                .unwrap()
                .contains("failures=\"1\" errors=\"0\"")
        );
    }
}

#[test]
fn a_limit_on_the_largest_is_broken_by_one_sample_and_kept_by_none() {
    let run = run();
    let largest = run
        .trials
        .iter()
        .filter(|t| t.id.experiment.0 == 1)
        .flat_map(|t| t.distributions.values().map(|d| d.max))
        .max()
        .unwrap();
    let keys =
        "experiment = \"camera\"\nstack = \"zenoh-tcp\"\nmetric = \"response\"\nquantile = \"max\"";
    let at_most = |ns: u64| {
        let limit = format!("[[limit]]\nname = \"x\"\n{keys}\nat_most = \"{ns} ns\"");
        let report = held(&run, &limit);
        let shown = report.render(Format::Json, &RenderOptions::default());
        assert!(shown.contains("\"quantile\": \"max\""), "{shown}");
        let result = &report.results[0];
        assert_eq!(result.found.unwrap().value, largest as f64);
        (result.status, result.reason.clone())
    };
    let (status, reason) = at_most(largest - 1);
    assert_eq!(status, Status::Fail);
    assert!(reason.contains("one such sample is enough"), "{reason}");
    for most in [largest, 1_000 * largest] {
        let (status, reason) = at_most(most);
        assert_eq!(status, Status::Undecided, "{reason}");
        assert!(reason.contains("a later one may be larger"), "{reason}");
    }
    // Above it by less than what the clocks of two hosts leave open.
    let mut apart = run.clone();
    for t in &mut apart.trials {
        t.one_way_bound = Some(Nanos(1_000));
    }
    let limit = format!(
        "[[limit]]\nname = \"x\"\n{keys}\nat_most = \"{} ns\"",
        largest - 1
    );
    let held_apart = held(&apart, &limit);
    let result = &held_apart.results[0];
    assert_eq!(result.status, Status::Undecided);
    assert!(
        result.reason.contains("less than the clocks' bound"),
        "{}",
        result.reason
    );
    // What was lost is infinitely late.
    let lost = losing(&[1, 0, 0]);
    let limit = "metric = \"response\"\nquantile = \"max\"\nat_most = \"1000 s\"";
    assert_eq!(one(&lost, limit).0, Status::Fail);
}

#[test]
fn requirements_of_a_part_of_a_study_are_held_as_a_check_holds_them() {
    let run = run();
    let limits = Limits::parse("limits.toml", &format!("{ALL}{ELSEWHERE}")).unwrap();
    let how = CheckOptions::default();
    let all = dyno_judge::requirements(&run, &limits, &how);
    assert_eq!(all.len(), limits.limits().len());
    let checked = held(&run, ALL);
    let verdicts: Vec<_> = checked
        .results
        .iter()
        .map(|r| (r.experiment.id, r.status.as_str(), r.found_text()))
        .collect();
    let found: Vec<_> = all
        .iter()
        .flat_map(|r| &r.held)
        .map(|h| (h.experiment, h.verdict, h.found.clone()))
        .collect();
    assert_eq!(found, verdicts);
    // A check refuses what selects nothing; a part of a study has no verdict there.
    assert!(check(&run, &limits, &how).is_err());
    let last = all.last().unwrap();
    assert!(last.held.is_empty());
    assert_eq!(last.source.as_deref(), Some("a standard"));
    assert_eq!(all[0].source, None);
}

const ELSEWHERE: &str = r#"
[[limit]]
name = "elsewhere"
source = "a standard"
experiment = "elsewhere"
metric = "rtt"
quantile = "p50"
at_most = "1 ms"
"#;

#[test]
fn a_figure_that_its_trials_do_not_bound_passes_nothing() {
    let mut b = Builder::new(0);
    let e = b.experiment("tcp", stream);
    for cpu in [50.0, 3_000_000.0] {
        b.trial(e, 10_000.0, 400, 0).cost.cpu_ns_per_message = Some(cpu);
    }
    let run = b.build();
    for most in ["1 us", "200 us", "10 s"] {
        let keys = format!("metric = \"cpu_per_message\"\nat_most = \"{most}\"");
        let report = held(&run, &format!("[[limit]]\nname = \"x\"\n{keys}"));
        let result = &report.results[0];
        let found = result.found.unwrap();
        assert_eq!((found.lo, found.hi), (0.0, f64::INFINITY));
        assert_eq!(result.status, Status::Undecided, "{most}: {result:?}");
        assert!(
            result.reason.contains("has no end on this side"),
            "{}",
            result.reason
        );
    }
}

#[test]
fn a_cost_of_nothing_or_of_one_trial_is_refused() {
    let with = |costs: &[f64]| {
        let mut b = Builder::new(0);
        let e = b.experiment("udp", stream);
        for cost in costs {
            b.trial(e, 10_000.0, 400, 0).cost.cpu_ns_per_message = Some(*cost);
        }
        one(
            &b.build(),
            "metric = \"cpu_per_message\"\nat_most = \"1 s\"",
        )
    };
    let (status, reason) = with(&[0.0, 900.0]);
    assert_eq!(status, Status::Undecided);
    assert!(reason.contains("is zero in a trial"), "{reason}");
    let (status, reason) = with(&[900.0]);
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.contains("needs two trials, but there is only one"),
        "{reason}"
    );
}

#[test]
fn a_stack_that_delivers_nothing_breaks_a_limit_on_its_rate() {
    let with = |rates: &[f64]| {
        let mut b = Builder::new(0);
        let e = b.experiment("udp", stream);
        for rate in rates {
            b.trial(e, 10_000.0, 400, 0).throughput.delivered_hz = *rate;
        }
        one(&b.build(), "metric = \"throughput\"\nat_least = \"10 /s\"")
    };
    assert_eq!(with(&[0.0; 5]).0, Status::Fail);
    let (status, reason) = with(&[0.0, 900.0, 900.0]);
    assert_eq!(
        (status, reason.as_str()),
        (Status::Undecided, "throughput is zero in 1 of 3 trials")
    );
    assert_eq!(with(&[900.0, 901.0, 900.0]).0, Status::Pass);
}

#[test]
fn at_least_turns_the_ends_round() {
    let run = run();
    let at_least = |rate: &str| {
        let keys = format!("stack = \"udp\"\nmetric = \"throughput\"\nat_least = \"{rate}\"");
        one(&run, &keys).0
    };
    assert_eq!(at_least("6 k/s"), Status::Pass);
    assert_eq!(at_least("7000 /s"), Status::Fail);
    assert_eq!(at_least("6.67 kHz"), Status::Undecided);
}

#[test]
fn nothing_lost_is_passed_with_what_it_proves_and_one_loss_is_a_failure() {
    let run = run();
    let loss = |stack: &str, bound: &str| {
        one(
            &run,
            &format!("stack = \"{stack}\"\nmetric = \"loss\"\nat_most = {bound}"),
        )
    };
    let (status, reason) = loss("zenoh-tcp", "0");
    assert_eq!(status, Status::Pass);
    assert_eq!(
        reason,
        "none of 10000 messages lost; with 95 % confidence, the true share is below 0.0300 % (rule of three)"
    );
    assert_eq!(
        loss("udp", "0"),
        (Status::Fail, "8 of 10008 messages lost".into())
    );
    assert_eq!(loss("udp", "\"8\"").0, Status::Pass);
    assert_eq!(loss("udp", "7").0, Status::Fail);
    assert_eq!(loss("udp", "\"1 %\"").0, Status::Pass);
    assert_eq!(loss("udp", "\"0.1 %\"").0, Status::Undecided);
    assert_eq!(loss("udp", "\"0 %\"").0, Status::Fail);
    let (status, reason) = loss("zenoh-tcp", "\"0.01 %\"");
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.contains("if none is lost, 36887 messages are needed"),
        "{reason}"
    );
}

#[test]
fn a_loss_in_a_disturbed_trial_is_no_pass() {
    let mut run = run();
    let of_udp = |t: &&mut dyno_model::TrialRecord| t.id.experiment.0 == 2 && t.counts.lost > 0;
    for t in run.trials.iter_mut().filter(of_udp) {
        t.disturbed
            .push(dyno_model::Cause::Told("foreign load".into()));
    }
    let (status, reason) = one(&run, "stack = \"udp\"\nmetric = \"loss\"\nat_most = 0");
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.contains("but not with the trials that the host disturbed: 8 of 10008 messages"),
        "{reason}"
    );
}

/// Marks these trials of a run as disturbed.
fn disturb(run: &mut Run, numbers: &[u32]) {
    let marked = |t: &&mut dyno_model::TrialRecord| numbers.contains(&t.id.number);
    for t in run.trials.iter_mut().filter(marked) {
        t.disturbed
            .push(dyno_model::Cause::Told("foreign load".into()));
    }
}

#[test]
fn no_limit_on_loss_is_passed_that_only_the_undisturbed_trials_keep() {
    let limit = |run: &Run, most: &str| one(run, &format!("metric = \"loss\"\nat_most = {most}"));
    // Trials 1 and 3 lost a tenth.
    let mut run = losing(&[0, 200, 0, 200, 0]);
    disturb(&mut run, &[1, 3]);
    for most in ["0", "\"399\"", "\"1 %\"", "\"5 %\""] {
        let (status, reason) = limit(&run, most);
        assert_eq!(status, Status::Undecided, "{most}: {reason}");
        assert!(
            reason
                .contains("but not with the trials that the host disturbed: 400 of 10000 messages"),
            "{reason}"
        );
    }
    // What all trials keep is passed.
    for most in ["\"400\"", "\"20 %\""] {
        let (status, reason) = limit(&run, most);
        assert_eq!(status, Status::Pass, "{most}: {reason}");
    }
    // What the others break is broken, whatever disturbed trials lost, and so it is where these lost less.
    let mut run = losing(&[200, 0, 200, 0, 200]);
    disturb(&mut run, &[1, 3]);
    for most in ["0", "\"599\"", "\"1 %\""] {
        assert_eq!(limit(&run, most).0, Status::Fail, "{most}");
    }
    // All trials together leave it open, so three of them do not pass it.
    assert_eq!(limit(&run, "\"12 %\"").0, Status::Undecided);
}

#[test]
fn what_is_under_way_is_no_pass_and_is_told_from_what_is_lost() {
    let mut run = losing(&[0, 3, 0, 2, 0]);
    let limit = |run: &Run, most: &str| one(run, &format!("metric = \"loss\"\nat_most = {most}"));
    assert_eq!(
        limit(&run, "0"),
        (Status::Fail, "5 of 10000 messages lost".into())
    );
    run.trials[3].counts.under_way = 2;
    let longer = "a longer `drain` would show how many of those under way arrive";
    assert_eq!(
        limit(&run, "0"),
        (
            Status::Fail,
            format!("3 lost, 2 under way of 10000 messages; {longer}")
        )
    );
    // What keeps a limit needs no longer drain.
    let (status, reason) = limit(&run, "\"5\"");
    assert_eq!(status, Status::Pass);
    assert_eq!(reason, "3 lost, 2 under way of 10000 messages");
    run.trials[1].counts.under_way = 3;
    let (status, reason) = limit(&run, "\"0.05 %\"");
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.starts_with("5 under way of 10000 messages; ") && reason.ends_with(longer),
        "{reason}"
    );
    // Those of a disturbed trial too.
    disturb(&mut run, &[1, 3]);
    let (status, reason) = limit(&run, "0");
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.contains("but not with the trials that the host disturbed: 5 under way of 10000"),
        "{reason}"
    );
}

#[test]
fn a_limit_on_the_distance_to_a_floor_takes_two_good_sides() {
    let limit = "stack = \"udp\"\nworkload = \"stream\"\nmetric = \"x_floor\"\nat_most = 1000000";
    let mut run = run();
    let before = one(&run, limit);
    assert_eq!(before.0, Status::Pass, "{}", before.1);
    let plan = &run.manifest.plan;
    let floors: Vec<_> = plan.experiments.iter().filter_map(|e| e.floor).collect();
    for t in &mut run.trials {
        if floors.contains(&t.id.experiment) {
            t.disturbed
                .push(dyno_model::Cause::Told("foreign load".into()));
        }
    }
    let (status, reason) = one(&run, limit);
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.contains("disturbed every trial of the floor"),
        "{reason}"
    );
}

#[test]
fn failed_trials_keep_a_limit_from_passing_and_none_completed_is_no_pass() {
    let run = run();
    let keys = |stack: &str, at_most: &str| {
        format!(
            "stack = \"{stack}\"\nmetric = \"response\"\nquantile = \"p50\"\nat_most = \"{at_most}\""
        )
    };
    let (status, reason) = one(&run, &keys("tcp", "1 s"));
    assert_eq!(status, Status::Undecided);
    assert!(reason.starts_with("1 of 6 trials failed"), "{reason}");
    assert_eq!(one(&run, &keys("tcp", "1 us")).0, Status::Fail);
    let report = held(
        &run,
        &format!("[[limit]]\nname = \"x\"\n{}", keys("posix-mq", "1 s")),
    );
    assert_eq!(report.results[0].status, Status::Undecided);
    assert_eq!(report.results[0].reason, "no trial completed");
    assert!(report.results[0].remarks[0].contains("SIGSEGV"));
}

#[test]
fn a_quantile_without_samples_for_it_is_undecided() {
    let mut b = Builder::new(0);
    let e = b.experiment("tcp", stream);
    for _ in 0..3 {
        b.trial(e, 10_000.0, 50, 0);
    }
    let keys = "metric = \"response\"\nquantile = \"p99\"\nat_most = \"1 s\"";
    let (status, reason) = one(&b.build(), keys);
    assert_eq!(status, Status::Undecided);
    assert!(
        reason.contains("p99 needs 368 samples, but there are 150"),
        "{reason}"
    );
}

#[test]
fn floors_are_judged_only_where_they_are_named() {
    let run = run();
    let keys = "metric = \"response\"\nquantile = \"p50\"\nat_most = \"1 s\"";
    let all = held(&run, &format!("[[limit]]\nname = \"x\"\n{keys}"));
    assert!(
        all.results
            .iter()
            .all(|r| r.experiment.stack != "floor-futex")
    );
    assert_eq!(all.results.len(), 4);
    assert_eq!(
        one(&run, &format!("stack = \"floor-futex\"\n{keys}")).0,
        Status::Pass
    );
}

#[test]
fn junit_is_well_formed_whatever_names_hold() {
    let mut b = Builder::new(0);
    let e = b.experiment("tcp", |e| {
        stream(e);
        e.name = "a<b>&\"c\" ]]> \u{1b}[31m\u{7}".into();
    });
    b.trials(e, 10_000.0);
    let limits = "[[limit]]\nname = \"<&>'\"\nmetric = \"response\"\nquantile = \"p50\"\nat_most = \"1 ns\"\n\
                  [[limit]]\nname = \"ok\"\nmetric = \"loss\"\nat_most = 0\n\
                  [[limit]]\nname = \"none\"\nmetric = \"lateness\"\nquantile = \"p50\"\nat_most = \"1 s\"\n";
    let report = held(&b.build(), limits);
    let xml = report.junit().unwrap();
    let mut reader = Reader::from_str(&xml);
    let (mut depth, mut cases, mut names) = (0i32, 0, Vec::new());
    loop {
        match reader.read_event().unwrap_or_else(|e| panic!("{e}\n{xml}")) {
            Event::Start(e) => {
                depth += 1;
                cases += i32::from(e.name().as_ref() == "testcase");
                for a in e.attributes() {
                    let a = a.unwrap();
                    let value = a
                        .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                        .unwrap();
                    names.push(value.into_owned());
                }
            }
            Event::End(_) => depth -= 1,
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!((depth, cases), (0, 3), "{xml}");
    assert!(names.contains(&"<&>'".to_owned()), "{names:?}");
    assert!(!xml.contains(['\u{1b}', '\u{7}']));
    assert!(
        xml.contains("tests=\"3\" failures=\"1\" errors=\"1\""),
        "{xml}"
    );
}

#[test]
fn a_limit_on_one_way_times_that_the_clocks_do_not_bear_is_undecided() {
    let limits = "[[limit]]\nname = \"far\"\nmetric = \"response\"\nquantile = \"p99\"\nat_most = \"1 ms\"\n\
                  [[limit]]\nname = \"loss\"\nmetric = \"loss\"\nat_most = 0\n";
    let with = |bound_ns| {
        let mut b = Builder::new(0);
        let e = b.experiment("udp", stream);
        for _ in 0..5 {
            b.trial(e, 20_000.0, 2_000, 0).one_way_bound = Some(Nanos(bound_ns));
        }
        held(&b.build(), limits)
    };
    let report = with(2_100);
    let far = &report.results[0];
    assert_eq!(far.status, Status::Undecided);
    assert!(
        far.reason.contains("one-way latency cannot be resolved"),
        "{}",
        far.reason
    );
    assert_eq!(report.results[1].status, Status::Pass);
    assert_eq!(with(1_900).results[0].status, Status::Pass);
}

#[test]
fn what_clocks_may_have_taken_from_a_time_counts_against_it() {
    let with = |bound_ns| {
        let mut b = Builder::new(0);
        let e = b.experiment("udp", stream);
        for _ in 0..5 {
            b.trial(e, 20_000.0, 2_000, 0).one_way_bound = Some(Nanos(bound_ns));
        }
        let limits = "[[limit]]\nname = \"near\"\nmetric = \"response\"\nquantile = \"p50\"\nat_most = \"21 us\"\n";
        held(&b.build(), limits).results[0].status
    };
    assert_eq!(with(100), Status::Pass);
    assert_eq!(with(1_800), Status::Undecided);
}

#[test]
fn what_clocks_may_have_changed_widens_the_ratio_to_a_floor() {
    let with = |own_ns: u64, floor_ns: u64| {
        let mut b = Builder::new(0);
        let floor = b.experiment("floor-udp", |e| {
            stream(e);
            e.added = true;
        });
        let e = b.experiment("udp", |e| {
            stream(e);
            e.floor = Some(floor);
        });
        for (id, p50, bound) in [(floor, 10_000.0, floor_ns), (e, 20_000.0, own_ns)] {
            for _ in 0..5 {
                b.trial(id, p50, 2_000, 0).one_way_bound = Some(Nanos(bound));
            }
        }
        one(
            &b.build(),
            "metric = \"x_floor\"\nquantile = \"p50\"\nat_most = 2.15",
        )
        .0
    };
    assert_eq!(with(0, 0), Status::Pass);
    assert_eq!(with(1_800, 0), Status::Undecided);
    assert_eq!(with(0, 900), Status::Undecided);
}

/// `udp` and `tcp` with streams of 64 B; the plan refused `udp` 1 MiB with the same wait, and a spinning reader.
fn refused_cells() -> Run {
    let mut b = Builder::new(0);
    for stack in ["udp", "tcp"] {
        let e = b.experiment(stack, stream);
        b.trials(e, 20_000.0);
    }
    let of = b.plan().experiments[0].clone();
    for (payload, wait, why) in [
        ("1 MiB", "block", "too long"),
        ("64 B", "spin", "it sleeps"),
    ] {
        b.plan().refused.push(Refusal {
            experiment: "one-way".into(),
            stack: "udp".into(),
            factors: format!(
                "{}, {payload}, {wait}, {}, {}, {}",
                of.workload, of.access, of.placement, of.topology
            ),
            reason: why.into(),
        });
    }
    b.build()
}

#[test]
fn a_refused_cell_that_a_limit_asks_for_is_undecided() {
    let run = refused_cells();
    let limit = |keys: &str| {
        held(
            &run,
            &format!("[[limit]]\nname = \"x\"\n{keys}metric = \"loss\"\nat_most = 0\n"),
        )
    };
    let undecided = |report: &CheckReport| -> Vec<(String, String)> {
        let all = report.results.iter();
        let all = all.filter(|r| r.standing == Standing::Refused);
        all.map(|r| {
            assert_eq!((r.status, r.found), (Status::Undecided, None));
            let cell = format!("{} {}", r.experiment.payload, r.experiment.wait);
            (cell, r.reason.clone())
        })
        .collect()
    };
    let size = || {
        (
            "1 MiB block".to_owned(),
            "refused when the run was planned: too long".to_owned(),
        )
    };
    let spins = (
        "64 B spin".to_owned(),
        "refused when the run was planned: it sleeps".to_owned(),
    );
    // What names the stack asks for all that it has.
    let named = limit("stack = \"udp\"\n");
    assert_eq!(undecided(&named), [size(), spins]);
    assert_eq!(
        (named.count(Status::Pass), named.count(Status::Undecided)),
        (1, 2)
    );
    // What names none asks for no wait that a stack has not.
    let all = limit("");
    assert_eq!(undecided(&all), [size()]);
    assert_eq!(all.count(Status::Pass), 2);
    for keys in [
        "payload = \"64 B\"\n",
        "stack = \"tcp\"\n",
        "wait = \"block\"\npayload = \"64 B\"\n",
    ] {
        assert_eq!(undecided(&limit(keys)), [], "{keys}");
    }
    let options = RenderOptions::default();
    for format in [Format::Table, Format::Markdown, Format::Json, Format::Csv] {
        let text = all.render(format, &options);
        assert!(text.contains("planned: too long"), "{text}");
    }
    let xml = all.junit().unwrap();
    assert!(
        xml.contains("planned: too long") && xml.contains("errors=\"1\""),
        "{xml}"
    );
    // The scorecard tells it as what was not measured.
    let card = named.scorecard();
    assert_eq!(card.candidates[0].count(Status::Undecided), 0);
    assert_eq!(card.candidates[0].status(), Status::Undecided);
}

#[test]
fn more_trials_are_advised_only_where_the_host_left_some_undisturbed() {
    let report = |run: &Run| {
        let keys = "stack = \"pipe\"\nmetric = \"rtt\"\nquantile = \"p99.99\"\nat_most = \"1 s\"\n";
        held(run, &format!("[[limit]]\nname = \"x\"\n{keys}"))
    };
    let mut run = run();
    let few = report(&run);
    assert_eq!(few.count(Status::Undecided), 1, "{few:?}");
    assert_eq!((few.further().len(), few.disturbed()), (1, 0));
    let of_pipe = |t: &dyno_model::TrialRecord, run: &Run| {
        run.manifest.plan.experiment(t.id.experiment).unwrap().stack == "pipe"
    };
    let plan = run.clone();
    for t in run.trials.iter_mut().filter(|t| of_pipe(t, &plan)) {
        t.disturbed = vec![dyno_model::Cause::Told("it was".into())];
    }
    let disturbed = report(&run);
    assert_eq!(disturbed.count(Status::Undecided), 1, "{disturbed:?}");
    assert_eq!((disturbed.further().len(), disturbed.disturbed()), (0, 1));
    let reason = &disturbed.results[0].reason;
    assert!(reason.contains("disturbed every trial") && !reason.contains("measure more"));
}
