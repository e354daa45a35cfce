//! The law of verdicts (ADR 34) for the answers: no stack becomes the fastest by what befell its own trials.
//!
//! `PROPTEST_CASES=10000 cargo test -p dyno-page --release --test it law` tries 10,000 runs and damages.

use crate::common::{Builder, summary};
use crate::document;
use Damage::{Disturbed, Failed, Missing, Nothing};
use dyno_kit::befall::{Damage, befall};
use dyno_model::Metric::Response;
use dyno_model::record::Run;
use dyno_model::{Cause, Experiment, RateHz, Workload};
use proptest::prelude::*;

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => Just(Nothing),
        1 => Just(Failed),
        1 => Just(Missing),
        3 => Just(Disturbed),
        1 => (1u64..120).prop_map(Damage::Lossy),
    ]
}

fn stream(e: &mut Experiment) {
    e.workload = Workload::Stream {
        rate: RateHz::new(1_000.0).unwrap(),
        arrivals: dyno_model::Arrivals::Fixed,
    };
}

/// A p50 in microseconds and the messages lost of each trial, stack by stack.
fn run(stacks: &[(&str, &[(f64, u64)])]) -> Run {
    let mut b = Builder::new("test", "what is said", "stacks");
    for (stack, trials) in stacks {
        let id = b.experiment(stack, stream);
        b.plan().experiments[id.0 as usize].trials = trials.len() as u32;
        for (us, lost) in *trials {
            b.trial(id, &[(Response, us * 1_000.0, 400, *lost)]);
        }
    }
    b.build()
}

/// The only answer of a run: that of the page, and the line above a table.
fn said(run: &Run) -> (String, String) {
    let mut page = document(&[run]).runs.remove(0).answers;
    let head = dyno_page::answers(&summary(run), &run.manifest).unwrap();
    assert_eq!((page.len(), head.questions.len()), (1, 1));
    assert_eq!(page[0].best, head.questions[0].best);
    (page.remove(0).text, head.questions[0].answer.clone())
}

/// Whether the stack is called the fastest, in words or as the only best one.
fn is_fastest(run: &Run, stack: &str) -> bool {
    let answer = document(&[run]).runs.remove(0).answers.remove(0);
    let plan = &run.manifest.plan;
    let own = |place: &usize| plan.experiments[*place].stack == stack;
    answer.text.contains(&format!("{stack} is the fastest"))
        || matches!(&answer.best[..], [one] if own(one))
}

/// So many unless `PROPTEST_CASES` asks for another number.
fn cases(usual: u32) -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(usual)
}

fn trials() -> impl Strategy<Value = Vec<(f64, u64)>> {
    let drift = prop_oneof![4 => 0.97f64..1.03, 1 => 0.5f64..4.0];
    (20.0f64..30.0, prop::collection::vec(drift, 2..8))
        .prop_map(|(us, drifts)| drifts.into_iter().map(|d| (us * d, 0)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(cases(40)) })]

    #[test]
    fn no_stack_becomes_the_fastest_by_what_befell_it(
        a in trials(), b in trials(), c in trials(), damages in prop::collection::vec(damage(), 1..8)
    ) {
        let whole = run(&[("a", &a), ("b", &b), ("c", &c)]);
        let mut damaged = whole.clone();
        befall(&mut damaged, |e| e.0 == 0, &damages);
        let (before, after) = (is_fastest(&whole, "a"), is_fastest(&damaged, "a"));
        prop_assert!(before || !after, "{}", said(&damaged).0);
        let own = &damages[..damages.len().min(a.len())];
        if own.iter().any(|d| matches!(d, Failed | Missing)) {
            prop_assert!(!after, "{}", said(&damaged).0);
        }
    }

    #[test]
    fn no_stack_becomes_the_fastest_by_what_is_left_out_of_any(
        a in trials(), b in trials(), left_out in prop::collection::vec(any::<bool>(), 1..16)
    ) {
        let whole = run(&[("a", &a), ("b", &b)]);
        let mut damaged = whole.clone();
        let turns = damaged.trials.iter_mut().zip(left_out.iter().cycle());
        for (t, _) in turns.filter(|(_, is_out)| **is_out) {
            t.disturbed.push(Cause::Told("foreign load".into()));
        }
        // One without a figure is no rival, and the answer names it with its reason.
        let text = said(&damaged).0;
        if text.contains("Without a figure") {
            return Ok(());
        }
        for stack in ["a", "b"] {
            let (before, after) = (is_fastest(&whole, stack), is_fastest(&damaged, stack));
            prop_assert!(before || !after, "{text}");
        }
    }
}

const CALM: [(f64, u64); 5] = [(30.0, 0), (30.2, 0), (29.8, 0), (30.1, 0), (29.9, 0)];
const FAST: [(f64, u64); 5] = [(20.0, 0), (20.1, 0), (19.9, 0), (20.05, 0), (19.95, 0)];
const LAST_THREE: [Damage; 5] = [Nothing, Nothing, Disturbed, Disturbed, Disturbed];

#[track_caller]
fn says(run: &Run, page: &[&str], head: &[&str]) {
    let (text, line) = said(run);
    for (said, wanted) in [(&text, page), (&line, head)] {
        for wanted in wanted {
            assert!(said.contains(wanted), "{wanted:?} is not in {said:?}");
        }
    }
}

#[test]
fn a_stack_that_is_fast_without_its_disturbed_trials_is_not_the_fastest() {
    let mut slow = FAST;
    slow[2..].iter_mut().for_each(|t| t.0 = 400.0);
    let mut run = run(&[("a", &slow), ("b", &CALM)]);
    befall(&mut run, |e| e.0 == 0, &LAST_THREE);
    assert!(!is_fastest(&run, "a"));
    says(
        &run,
        &[
            "a and b cannot be distinguished",
            "With the trials that the host disturbed, their intervals overlap.",
        ],
        &["a or b 20"],
    );
}

#[test]
fn a_stack_that_delivers_without_its_disturbed_trials_is_not_the_fastest() {
    let mut lossy = FAST;
    lossy[2..].iter_mut().for_each(|t| t.1 = 170);
    let mut run = run(&[("a", &lossy), ("b", &CALM)]);
    befall(&mut run, |e| e.0 == 0, &LAST_THREE);
    assert!(!is_fastest(&run, "a"));
    says(
        &run,
        &[
            "b is the only stack that delivers and succeeds",
            "delivers 79.7 % with the trials that the host disturbed",
        ],
        &["b 30", "with unsuccessful trials: a"],
    );
}

#[test]
fn a_stack_whose_p50_is_too_wide_with_its_disturbed_trials_is_not_the_fastest() {
    const WIDE: [(f64, u64); 2] = [(10.0, 0), (19.4, 0)];
    let mut run = run(&[("a", &WIDE), ("b", &WIDE)]);
    befall(&mut run, |e| e.0 == 0, &[Disturbed, Nothing]);
    assert!(!is_fastest(&run, "a"));
    says(
        &run,
        &[
            "a is the only stack with a figure: p50 ",
            "with the trials that the host disturbed, its p50 interval is too wide",
        ],
        &["a 19.6 µs"],
    );
}

#[test]
fn a_stack_of_which_trials_are_missing_is_not_the_fastest() {
    let mut one = run(&[("a", &FAST), ("b", &CALM)]);
    befall(
        &mut one,
        |e| e.0 == 0,
        &[Missing, Missing, Nothing, Nothing, Missing],
    );
    assert!(!is_fastest(&one, "a"));
    says(
        &one,
        &[
            "b is the only stack that delivers and succeeds",
            "a (p50 20",
            "3 of 5 trials are missing",
        ],
        &["b 30", "with missing trials: a"],
    );
    // The first of an unfinished run leads.
    befall(
        &mut one,
        |e| e.0 == 1,
        &[Nothing, Nothing, Nothing, Nothing, Missing],
    );
    assert!(!is_fastest(&one, "a") && !is_fastest(&one, "b"));
    says(
        &one,
        &[
            "No stack that delivers succeeded in every planned trial. In the completed trials, a leads: p50 ",
        ],
        &["no stack that delivers succeeded in every planned trial; a 20"],
    );
}

#[test]
fn a_trial_that_a_precision_added_is_not_missed() {
    let mut run = run(&[("a", &FAST), ("b", &CALM)]);
    run.manifest.plan.experiments[0].trials = 3;
    befall(
        &mut run,
        |e| e.0 == 0,
        &[Nothing, Nothing, Nothing, Nothing, Missing],
    );
    assert!(is_fastest(&run, "a"));
}
