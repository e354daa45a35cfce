//! The law of every verdict (ADR 34): for any run, and any set of its trials made failed, missing, disturbed or lossy, no
//! verdict improves, and no exit code becomes 0.
//!
//! `PROPTEST_CASES=10000 cargo test -p dyno-judge --release --test it law` tries 10,000 runs and damages.

use crate::common::{Builder, stream};
use dyno_judge::{
    CheckOptions, CompareOptions, Comparison, Figure, Finding, Limits, NightlyOptions, Nights, Row,
    Status, TrendOptions, check, compare, compare_within, trend,
};
use dyno_kit::befall::{Damage, befall, fail, lose};
use dyno_model::cause::{BareShare, Disturbance, FailureCause, MUTE, Warning};
use dyno_model::plan::{Against, PlanWarning};
use dyno_model::record::{FailureKind, Outcome, Run};
use dyno_model::{ExperimentId, Nanos, TrialRecord};
use dyno_report::{Format, NoRatio, RenderOptions, SummaryOptions, summarise};
use dyno_stats::Latency;
use proptest::prelude::*;
use serde_json::Value;

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        6 => Just(Damage::Nothing),
        1 => Just(Damage::Failed),
        1 => Just(Damage::Missing),
        2 => Just(Damage::Disturbed),
        2 => (1u64..120).prop_map(Damage::Lossy),
    ]
}

/// A trial that is to be made: how far it is from the level of its side, and what it loses.
#[derive(Debug, Clone, Copy)]
struct Made {
    drift: f64,
    lost: u64,
}

/// Nothing has befallen it: where trials have lost messages or were disturbed already, more of it may make them alike (ADR 34).
fn made() -> impl Strategy<Value = Made> {
    let drift = prop_oneof![4 => 0.97f64..1.03, 1 => 0.7f64..1.5];
    drift.prop_map(|drift| Made { drift, lost: 0 })
}

/// Trials of one side; the level is over that of the base.
#[derive(Debug, Clone)]
struct Side {
    level: f64,
    trials: Vec<Made>,
}

fn side() -> impl Strategy<Value = Side> {
    (0.8f64..1.25, prop::collection::vec(made(), 2..9))
        .prop_map(|(level, trials)| Side { level, trials })
}

/// The floor, `tcp` as round trips, and `udp` as a stream, each with the trials of `side`.
fn run(day: u64, side: &Side) -> Run {
    let mut b = Builder::new(day);
    let floor = b.experiment("floor-futex", |_| {});
    let tcp = b.experiment("tcp", |e| e.floor = Some(floor));
    let udp = b.experiment("udp", stream);
    for (e, p50) in [(floor, 6_000.0), (tcp, 12_000.0), (udp, 30_000.0)] {
        let level = if e == floor { 1.0 } else { side.level };
        for made in &side.trials {
            b.trial(e, p50 * level * made.drift, 400, made.lost);
        }
    }
    let mut run = b.build();
    let all = side.trials.len() as u32;
    run.manifest
        .plan
        .experiments
        .iter_mut()
        .for_each(|e| e.trials = all);
    run
}

const LIMITS: &str = "\
[[limit]]\nname = \"trip\"\nstack = \"tcp\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"12.2 us\"\n\
[[limit]]\nname = \"near\"\nstack = \"tcp\"\nmetric = \"x_floor\"\nat_most = 2.1\n\
[[limit]]\nname = \"tail\"\nstack = \"tcp\"\nmetric = \"tail\"\nat_most = \"30 us\"\n\
[[limit]]\nname = \"cheap\"\nmetric = \"cpu_per_message\"\nat_most = \"24 us\"\n\
[[limit]]\nname = \"small\"\nmetric = \"memory\"\nat_most = \"5 MB\"\n\
[[limit]]\nname = \"in time\"\nstack = \"udp\"\nmetric = \"response\"\nquantile = \"p90\"\nat_most = \"42 us\"\n\
[[limit]]\nname = \"fast\"\nstack = \"udp\"\nmetric = \"throughput\"\nat_least = \"1300 /s\"\n\
[[limit]]\nname = \"loss\"\nmetric = \"loss\"\nat_most = \"2 %\"\n";

fn checked(run: &Run) -> Vec<(String, Status)> {
    let limits = Limits::parse("limits.toml", LIMITS).unwrap();
    let report = check(run, &limits, &CheckOptions::default()).unwrap();
    let one = |r: &dyno_judge::Checked| {
        let name = format!("{} on {}", r.limit.name(), r.experiment.stack);
        (name, r.status)
    };
    report.results.iter().map(one).collect()
}

/// What a row claims for the new side: 2 better, 1 the same, 0 nothing good.
fn claim(row: &Row) -> u8 {
    let better = match row.figure {
        Figure::Delivered => Finding::Higher,
        _ => Finding::Lower,
    };
    match row.result.as_ref().map(|c| c.finding) {
        Ok(found) if found == better => 2,
        Ok(Finding::Same) => 1,
        _ => 0,
    }
}

fn claims(c: &Comparison) -> Vec<(String, u8)> {
    let rows = c.cells.iter().flat_map(|cell| {
        let name = &cell.new.stack;
        cell.rows
            .iter()
            .map(move |r| (format!("{name} {:?}", r.figure), claim(r)))
    });
    rows.collect()
}

fn no_claim_is_better(
    before: &Comparison,
    after: &Comparison,
    but: impl Fn(&str) -> bool,
) -> Result<(), TestCaseError> {
    let known = claims(before);
    for (row, claim) in claims(after).into_iter().filter(|(row, _)| !but(row)) {
        let (_, was) = known.iter().find(|(name, _)| *name == row).unwrap();
        prop_assert!(claim <= *was, "{row}: {was} became {claim}");
    }
    Ok(())
}

/// The order of exit codes in ADR 34: 0 is a pass, every other code is none, and no damage turns another code into 0.
/// From 8 to 7 is no fall: a gate whose slower trials are gone, disturbed or infinitely late knows less than it did.
/// See `a_gate_that_knows_less_is_undecided_and_no_pass`.
fn stays_no_pass(before: Status, after: Status) -> Result<(), TestCaseError> {
    prop_assert!(
        before == Status::Pass || after != Status::Pass,
        "{before:?} became {after:?}"
    );
    Ok(())
}

fn everything(_: ExperimentId) -> bool {
    true
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(cases(40)) })]

    #[test]
    fn no_limit_is_passed_by_what_befell_the_trials(
        side in side(), damages in prop::collection::vec(damage(), 1..12)
    ) {
        let whole = run(0, &side);
        let mut damaged = whole.clone();
        befall(&mut damaged, everything, &damages);
        for ((name, before), (_, after)) in checked(&whole).into_iter().zip(checked(&damaged)) {
            prop_assert!(before == Status::Pass || after != Status::Pass, "{name}: {before:?} became {after:?}");
        }
    }

    #[test]
    fn no_comparison_improves_by_what_befell_the_new_side(
        base in side(), new in side(), damages in prop::collection::vec(damage(), 1..12)
    ) {
        let (base, whole) = (run(0, &base), run(1, &new));
        let mut damaged = whole.clone();
        befall(&mut damaged, everything, &damages);
        let how = CompareOptions::default();
        let (before, after) = (compare(&base, &whole, &how), compare(&base, &damaged, &how));
        no_claim_is_better(&before, &after, |_| false)?;
        stays_no_pass(before.status(), after.status())?;
    }

    #[test]
    fn no_comparison_improves_by_what_befell_the_base(
        base in side(), new in side(), damages in prop::collection::vec(damage(), 1..12)
    ) {
        let (whole, new) = (run(0, &base), run(1, &new));
        let mut damaged = whole.clone();
        befall(&mut damaged, everything, &damages);
        let how = CompareOptions::default();
        let (before, after) = (compare(&whole, &new, &how), compare(&damaged, &new, &how));
        // What the base lost is what it did: its row of losses alone may speak for the new side.
        no_claim_is_better(&before, &after, |row| row.ends_with("Lost"))?;
        if !damages.iter().any(|d| matches!(d, Damage::Lossy(_))) {
            no_claim_is_better(&before, &after, |_| false)?;
            stays_no_pass(before.status(), after.status())?;
        }
    }

    #[test]
    fn no_pair_improves_by_what_befell_either_side(
        base in side(), level in 0.8f64..1.25, damages in prop::collection::vec(damage(), 1..12), both in any::<bool>()
    ) {
        let mut b = Builder::new(0);
        let x = b.experiment("pipe", |_| {});
        let y = b.experiment("tcp", |e| e.base = Some(x));
        b.plan().against = Some(Against::Stack { name: "pipe".into() });
        for made in &base.trials {
            b.trial(x, 9_000.0 * made.drift, 400, made.lost);
            b.trial(y, 9_000.0 * level * made.drift, 400, 0);
        }
        let whole = b.build();
        let mut damaged = whole.clone();
        befall(&mut damaged, |e| both || e == y, &damages);
        let how = CompareOptions::default();
        let (before, after) = (compare_within(&whole, &how), compare_within(&damaged, &how));
        no_claim_is_better(&before, &after, |row| both && row.ends_with("Lost"))?;
        if !both {
            stays_no_pass(before.status(), after.status())?;
        }
    }

    #[test]
    fn no_night_and_no_trend_improves_by_what_befell_the_newest_run(
        nights in prop::collection::vec(0.98f64..1.02, 7..10),
        newest in side(),
        damages in prop::collection::vec(damage(), 1..12)
    ) {
        let usual = |level: &f64| Side {
            level: *level,
            trials: [1.0, 1.006, 0.995, 1.003].map(|drift| Made { drift, lost: 0 }).into(),
        };
        let mut runs: Vec<Run> = (0..).zip(&nights).map(|(day, level)| run(day, &usual(level))).collect();
        let whole = run(30, &newest);
        let mut damaged = whole.clone();
        befall(&mut damaged, everything, &damages);
        let mut judged = Vec::new();
        for last in [&whole, &damaged] {
            let mut all = Nights::new(NightlyOptions { level: 0.05, ..NightlyOptions::default() });
            runs.iter().for_each(|run| all.add(run));
            all.add(last);
            judged.push(all.judge(Some(&last.manifest)).unwrap());
        }
        let status = |n: &dyno_judge::Nightly| n.results.iter().map(|r| r.status).max().unwrap();
        stays_no_pass(status(&judged[0]), status(&judged[1]))?;
        for after in judged[1].results.iter().filter(|r| r.status == Status::Pass) {
            let same = |r: &&dyno_judge::Night| {
                (r.experiment.id, r.measure) == (after.experiment.id, after.measure)
            };
            let before = judged[0].results.iter().find(same).unwrap();
            prop_assert_eq!(before.status, Status::Pass, "{:?} of {}", after.measure, after.experiment.stack);
        }
        let mut looked = Vec::new();
        for last in [whole, damaged] {
            runs.push(last);
            let found = trend(&runs, &TrendOptions::default());
            looked.push(found.has_slower() || found.is_blind());
            runs.pop();
        }
        prop_assert!(!looked[0] || looked[1], "a trend that was no pass is one");
    }

    #[test]
    fn no_ratio_to_a_floor_stands_beside_failed_trials(
        side in side(), damages in prop::collection::vec(damage(), 1..12)
    ) {
        let mut damaged = run(0, &side);
        befall(&mut damaged, everything, &damages);
        let summary = summarise(&damaged, &SummaryOptions::default());
        for e in &summary.experiments {
            let Some(floor) = &e.floor else { continue };
            let short = |id| dyno_report::Shortfall::of(&damaged, id).is_some_and(|s| s.failed() > 0);
            if short(e.experiment.id) || short(floor.id) {
                prop_assert_eq!(floor.p50_ratio, None);
            }
        }
    }
}

#[test]
fn a_gate_that_knows_less_is_undecided_and_no_pass() {
    let side = |level| Side {
        level,
        trials: vec![
            Made {
                drift: 1.0,
                lost: 0
            };
            6
        ],
    };
    let (base, slower) = (run(0, &side(1.0)), run(1, &side(1.3)));
    let status = |damages: &[Damage]| {
        let mut damaged = slower.clone();
        befall(&mut damaged, everything, damages);
        compare(&base, &damaged, &CompareOptions::default()).status()
    };
    assert_eq!(status(&[Damage::Nothing]), Status::Fail);
    for less in [Damage::Missing, Damage::Disturbed] {
        assert_eq!(status(&[less]), Status::Undecided, "{less:?}");
    }
    // What failed more often than chance explains is known.
    assert_eq!(status(&[Damage::Failed]), Status::Fail);
}

/// So many unless `PROPTEST_CASES` asks for another number: a debug build judges some ten runs in a second.
fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// A side of a comparison with nothing to compare, or too little, and what is said of it: by `compare` where the new side
/// has it, by `check` with a limit that the trials keep, and by `show` in place of × floor.
type BadSide = (
    &'static str,
    fn(&mut Run),
    &'static str,
    &'static str,
    Option<NoRatio>,
);

const BAD_SIDES: [BadSide; 6] = [
    (
        "empty",
        |run| run.trials.retain(|t| t.id.experiment.0 != 1),
        "no trial of the new side completed",
        "no trial completed",
        Some(NoRatio::Unknown),
    ),
    (
        "failed",
        |run| of_tcp(run).for_each(fail),
        "no trial of the new side completed",
        "no trial completed",
        Some(NoRatio::Unknown),
    ),
    (
        "infinite",
        |run| of_tcp(run).for_each(|t| lose(t, 300)),
        "",
        "even the best value of its interval, ∞, is outside of the limit",
        None,
    ),
    (
        "refused",
        |run| {
            of_tcp(run).for_each(|t| {
                let few = crate::common::distribution(9_000.0, 1, 0, 1);
                t.distributions.values_mut().for_each(|d| *d = few.clone());
            })
        },
        "a trial has 1 samples, but p50 needs 6: lengthen the window",
        "p50 needs 6 samples, but there are 5: measure more or longer trials",
        Some(NoRatio::Unknown),
    ),
    (
        "single",
        |run| {
            run.trials
                .retain(|t| t.id.experiment.0 != 1 || t.id.number == 0)
        },
        "two trials of each side are needed, there are 5 and 1",
        "4 of 5 trials are missing; judged by the other trials, the limit passes",
        Some(NoRatio::Few),
    ),
    (
        "disturbed",
        |run| {
            of_tcp(run).for_each(|t| {
                t.disturbed
                    .push(dyno_model::Cause::Told("foreign load".into()))
            })
        },
        "the host disturbed every trial of the new side",
        "the host disturbed every trial; judged by these trials, the limit passes",
        Some(NoRatio::Disturbed),
    ),
];

fn of_tcp(run: &mut Run) -> impl Iterator<Item = &mut TrialRecord> {
    let all = run.trials.iter_mut();
    all.filter(|t| t.id.experiment.0 == 1)
}

#[test]
fn every_bad_side_has_its_verdict_and_its_sentence() {
    let side = |level| Side {
        level,
        trials: [1.0, 1.006, 0.995, 1.003, 0.998]
            .map(|drift| Made { drift, lost: 0 })
            .into(),
    };
    let good = run(0, &side(1.0));
    let limits = "[[limit]]\nname = \"trip\"\nstack = \"tcp\"\nmetric = \"rtt\"\nquantile = \"p50\"\nat_most = \"1 ms\"\n";
    let limits = Limits::parse("limits.toml", limits).unwrap();
    for (name, spoil, compared, checked, no_ratio) in BAD_SIDES {
        let mut bad = run(1, &side(1.0));
        spoil(&mut bad);
        let is_infinite = name == "infinite";
        let how = CompareOptions::default();
        for (base, new, sentence) in [(&good, &bad, compared), (&bad, &good, "")] {
            let c = compare(base, new, &how);
            let is_worse = is_infinite || name == "failed";
            let expected = match is_worse && std::ptr::eq(new, &bad) {
                true => Status::Fail,
                false => Status::Undecided,
            };
            assert_eq!(c.status(), expected, "{name}");
            let reasons = c.left_out.iter().map(|l| l.reason.clone());
            let rows = c.cells.iter().flat_map(|c| &c.rows);
            let rows = rows.filter_map(|r| r.result.as_ref().err().cloned());
            let all: Vec<String> = reasons.chain(rows).collect();
            assert!(
                sentence.is_empty() || all.iter().any(|r| r.contains(sentence)),
                "{name}: {all:?}"
            );
        }
        let report = check(&bad, &limits, &CheckOptions::default()).unwrap();
        let result = &report.results[0];
        assert!(result.reason.contains(checked), "{name}: {}", result.reason);
        let expected = if is_infinite {
            Status::Fail
        } else {
            Status::Undecided
        };
        assert_eq!(result.status, expected, "{name}");
        let summary = summarise(&bad, &SummaryOptions::default());
        let tcp = summary
            .experiments
            .iter()
            .find(|e| e.experiment.stack == "tcp");
        let floor = tcp.unwrap().floor.as_ref().unwrap();
        assert_eq!(floor.without, no_ratio, "{name}");
        // Where so many messages were lost that the p50 is, the ratio is known, and infinite.
        let is_known = floor
            .p50_ratio
            .as_ref()
            .is_some_and(|r| r.value != Latency::Infinite);
        assert!(!is_known, "{name}: {:?}", floor.p50_ratio);
        let night = |day| {
            let mut run = run(day, &side(1.0 + 0.002 * (day % 3) as f64));
            run.manifest.id = format!("night {day}");
            run
        };
        let mut nights = Nights::new(NightlyOptions::default());
        (2..12).for_each(|day| nights.add(&night(day)));
        let mut newest = night(20);
        spoil(&mut newest);
        nights.add(&newest);
        let n = nights.judge(Some(&newest.manifest)).unwrap();
        let tcp = |r: &&dyno_judge::Night| r.experiment.stack == "tcp";
        let worst = n.results.iter().filter(tcp).map(|r| r.status).max();
        assert!(
            worst.is_none_or(|s| s != Status::Pass),
            "{name}: {:?}",
            n.results
        );
        let runs: Vec<Run> = (2..12).map(night).chain([newest]).collect();
        let t = trend(&runs, &TrendOptions::default());
        assert!(t.is_blind() || t.has_slower(), "{name}");
    }
}

/// The three plants of which a gate was talked round.
#[test]
fn what_was_talked_round_is_not_passed() {
    let side = |level, lost| Side {
        level,
        trials: (0..8)
            .map(|i| Made {
                drift: 1.0 + 0.002 * f64::from(i % 3),
                lost,
            })
            .collect(),
    };
    // Five of eight trials of the new side crash, and the others are a fifth faster.
    let base = run(0, &side(1.0, 0));
    let mut crashed = run(1, &side(0.8, 0));
    befall(
        &mut crashed,
        |e| e.0 == 1,
        &[
            Damage::Failed,
            Damage::Failed,
            Damage::Nothing,
            Damage::Failed,
            Damage::Failed,
            Damage::Failed,
            Damage::Nothing,
            Damage::Nothing,
        ],
    );
    let c = compare(&base, &crashed, &CompareOptions::default());
    assert_ne!(c.status(), Status::Pass);
    let of_tcp = c.cells.iter().find(|c| c.new.stack == "tcp").unwrap();
    let p50 = &of_tcp.rows[0];
    assert_eq!(
        p50.but.as_deref(),
        Some("5 of 8 trials of the new side failed")
    );
    assert!(!c.is_open_by_scatter());
    // One crash more leaves no figure, and is no better for that.
    let mut dead = run(1, &side(0.8, 0));
    befall(&mut dead, |e| e.0 == 1, &[Damage::Failed; 8]);
    let c = compare(&base, &dead, &CompareOptions::default());
    assert_eq!(c.status(), Status::Fail);
    // What is slower is not waived where the host disturbed all of it.
    let mut hidden = run(1, &side(1.4, 0));
    assert_eq!(
        compare(&base, &hidden, &CompareOptions::default()).status(),
        Status::Fail
    );
    befall(&mut hidden, everything, &[Damage::Disturbed; 8]);
    let c = compare(&base, &hidden, &CompareOptions::default());
    assert_eq!(
        (c.status(), c.is_open_by_scatter()),
        (Status::Undecided, false)
    );
    // What scatters is.
    let mut restless = side(1.0, 0);
    for (i, t) in (0..).zip(&mut restless.trials) {
        t.drift = 1.0 + 0.3 * f64::from(i % 3);
    }
    let c = compare(&base, &run(1, &restless), &CompareOptions::default());
    assert_eq!(
        (c.status(), c.is_open_by_scatter()),
        (Status::Undecided, true)
    );
    // Half a percent is lost where nothing was.
    let c = compare(&base, &run(1, &side(1.0, 2)), &CompareOptions::default());
    assert_eq!(c.status(), Status::Fail);
    // Three of five trials break the limit, and the host disturbed these.
    let mut slow = Side {
        level: 1.0,
        trials: side(1.0, 0).trials[..5].to_vec(),
    };
    slow.trials[2..].iter_mut().for_each(|t| t.drift *= 8.0);
    let mut slow = run(0, &slow);
    let disturbed = [
        Damage::Nothing,
        Damage::Nothing,
        Damage::Disturbed,
        Damage::Disturbed,
        Damage::Disturbed,
    ];
    befall(&mut slow, everything, &disturbed);
    let trip = checked(&slow)
        .into_iter()
        .find(|(name, _)| name == "trip on tcp")
        .unwrap();
    assert_eq!(trip.1, Status::Undecided);
}

/// What holds texts for people, in the documents of `show`, `compare` and `check`.
const TEXTS: [&str; 6] = ["text", "message", "failure", "reason", "remarks", "notes"];

/// The paths at which two documents differ, but for [`TEXTS`].
fn differing(a: &Value, b: &Value, path: &str) -> Vec<String> {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) if x.len() == y.len() => {
            let own = x.iter().filter(|(key, _)| !TEXTS.contains(&key.as_str()));
            own.flat_map(|(key, v)| {
                differing(
                    v,
                    y.get(key).unwrap_or(&Value::Null),
                    &format!("{path}/{key}"),
                )
            })
            .collect()
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            let both = x.iter().zip(y).enumerate();
            both.flat_map(|(at, (v, w))| differing(v, w, &format!("{path}/{at}")))
                .collect()
        }
        _ => Vec::from_iter((a != b).then(|| path.to_owned())),
    }
}

#[test]
fn nothing_but_texts_changes_where_each_sentence_is_a_number() {
    let bare = BareShare {
        share: 0.01,
        taken: 0.01,
    };
    let level = |level, trials| Side {
        level,
        trials: vec![
            Made {
                drift: 1.0,
                lost: 3
            };
            trials
        ],
    };
    let (base, mut new) = (run(0, &level(1.0, 8)), run(1, &level(1.1, 8)));
    // The same for each experiment, with what differs between trials and what does not.
    for t in &mut new.trials {
        let n = u64::from(t.id.number);
        match n {
            0 | 1 => t.disturbed.push(
                Disturbance::Steal {
                    share: 0.1 * (n + 1) as f64,
                    cpus: vec![0, 1],
                    stolen: Nanos(n),
                    bare,
                }
                .into(),
            ),
            2..=4 => {
                let agent = format!("agent (sink {})", n / 4);
                let cause = FailureCause::AgentSilent { agent }.into();
                let (kind, step) = (FailureKind::Crash, "window".into());
                t.outcome = Outcome::Failed {
                    kind,
                    step,
                    cause,
                    stderr: Vec::new(),
                };
            }
            _ => t.warnings.push(Warning::SlackUnused.into()),
        }
        let error = "forbidden".to_owned();
        t.warnings.push(Warning::NotCounted { error }.into());
    }
    new.manifest.plan.warnings = vec![PlanWarning::NoBreakdown.into()];
    let documents = |mute| {
        MUTE.set(mute);
        let (how, options) = (CompareOptions::default(), RenderOptions::default());
        let compared = compare(&base, &new, &how);
        let limits = Limits::parse("limits.toml", LIMITS).unwrap();
        let checked = check(&new, &limits, &CheckOptions::default()).unwrap();
        let shown = summarise(&new, &SummaryOptions::default());
        let texts = [
            dyno_report::render(&shown, Format::Json, &options),
            compared.render(Format::Json, &options),
            checked.render(Format::Json, &options),
        ];
        let values = texts.map(|text| serde_json::from_str::<Value>(&text).unwrap());
        MUTE.set(false);
        // Exit codes are made of the status.
        let statuses: Vec<Status> = checked.results.iter().map(|r| r.status).collect();
        (values, compared.status(), statuses)
    };
    let (said, verdict, statuses) = documents(false);
    let (muted, other, others) = documents(true);
    assert_eq!((verdict, statuses), (other, others));
    assert_ne!(said[0], muted[0]);
    for (a, b) in said.iter().zip(&muted) {
        // Remarks of the run as lines; `plan_warnings` has them as values.
        let is_line = |path: &String| path.starts_with("/run/warnings/");
        let mut paths = differing(a, b, "");
        paths.retain(|path| !is_line(path));
        assert_eq!(paths, [] as [String; 0]);
    }
}
