//! The answers in words: what they may say, and what they must not leave out.

use crate::common::{self, Builder, held};
use crate::{document, fixture, fixtures};
use dyno_model::Metric::{Response, Rtt, Service};
use dyno_model::plan::Extent;
use dyno_model::record::{FailureKind, Run};
use dyno_model::{Experiment, ExperimentId, Nanos, RateHz, Wait, Workload};
use dyno_page::Answer;

fn builder() -> Builder {
    Builder::new("test", "what is said", "stacks")
}

fn answers(run: &Run) -> Vec<Answer> {
    document(&[run]).runs.remove(0).answers
}

#[track_caller]
fn only(run: &Run) -> Answer {
    let mut all = answers(run);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

#[track_caller]
fn says(answer: &Answer, texts: &[&str]) {
    for text in texts {
        assert!(
            answer.text.contains(text),
            "{text:?} is not in {:?}",
            answer.text
        );
    }
}

fn places(ids: &[ExperimentId]) -> Vec<usize> {
    ids.iter().map(|id| id.0 as usize).collect()
}

fn stream(e: &mut Experiment) {
    e.workload = Workload::Stream {
        rate: RateHz::new(1_000.0).unwrap(),
        arrivals: dyno_model::Arrivals::Fixed,
    };
}

#[test]
fn the_best_stack_is_named_with_interval_floor_and_cost() {
    let mut b = builder();
    let floor = b.experiment("floor-futex", |_| {});
    b.trials(floor, &[(Rtt, 5_000.0, 1_000, 0)]);
    let on_floor = |e: &mut Experiment| e.floor = Some(floor);
    let slow = b.experiment("tcp", on_floor);
    b.trials(slow, &[(Rtt, 20_000.0, 1_000, 0)]);
    let fast = b.experiment("pipe", on_floor);
    b.trials(fast, &[(Rtt, 10_000.0, 1_000, 0)]);
    let answer = only(&b.build());
    assert_eq!(answer.best, places(&[fast]));
    assert_eq!(answer.experiments, places(&[fast, slow]));
    assert_eq!(answer.metric, "rtt_ns");
    says(
        &answer,
        &[
            "pipe is the fastest: p50 round trip 10",
            " µs [",
            "× floor",
            "of CPU per message",
        ],
    );
    says(&answer, &["tcp takes 2.0", "times as long"]);
    assert_eq!(answer.rows.len(), 1);
    assert_eq!(answer.rows[0].stack, "pipe");
    assert_eq!(answer.rows[0].failures, "none");
}

#[test]
fn stacks_whose_intervals_overlap_cannot_be_told_apart() {
    let mut b = builder();
    let [x, y, z] = ["pipe", "uds-stream", "tcp"].map(|stack| b.experiment(stack, |_| {}));
    b.trials(x, &[(Rtt, 10_000.0, 1_000, 0)]);
    b.trials(y, &[(Rtt, 10_005.0, 1_000, 0)]);
    b.trials(z, &[(Rtt, 30_000.0, 1_000, 0)]);
    let answer = only(&b.build());
    let mut best = answer.best.clone();
    best.sort_unstable();
    assert_eq!(best, places(&[x, y]));
    says(
        &answer,
        &[
            "pipe and uds-stream cannot be distinguished: p50 round trip ",
            " to ",
            "Lowest CPU cost among them: ",
            "tcp takes 3.0",
        ],
    );
    assert!(!answer.text.contains("fastest"), "{}", answer.text);
    assert_eq!(answer.rows.len(), 2);
}

#[test]
fn a_wide_interval_ties_also_over_a_stack_that_is_slower_for_sure() {
    let mut b = builder();
    let [narrow, between, wide] = ["a", "b", "c"].map(|stack| b.experiment(stack, |_| {}));
    b.trials(narrow, &[(Rtt, 10_000.0, 1_000, 0)]);
    b.trials(between, &[(Rtt, 12_000.0, 1_000, 0)]);
    for p50 in [5_000.0, 40_000.0, 13_000.0, 13_500.0, 14_000.0] {
        b.trial(wide, &[(Rtt, p50, 1_000, 0)]);
    }
    let answer = only(&b.build());
    assert_eq!(answer.best, places(&[narrow, wide]));
    assert_eq!(answer.experiments, places(&[narrow, between, wide]));
    says(
        &answer,
        &[
            "a and c cannot be distinguished",
            "A repeated run may show another value for c",
            "b takes",
        ],
    );
}

#[test]
fn a_stack_that_drops_is_not_best_beside_one_that_delivers() {
    let mut b = builder();
    let udp = b.experiment("udp", stream);
    b.trials(
        udp,
        &[
            (Response, 4_000.0, 3_000, 2_000),
            (Service, 3_000.0, 3_000, 2_000),
        ],
    );
    let pipe = b.experiment("pipe", stream);
    b.trials(
        pipe,
        &[(Response, 9_000.0, 5_000, 0), (Service, 8_000.0, 5_000, 0)],
    );
    let answer = only(&b.build());
    assert_eq!(answer.best, places(&[pipe]));
    assert_eq!(answer.experiments, places(&[pipe, udp]));
    says(
        &answer,
        &[
            "Not compared, because they drop messages: udp (p50 ",
            "delivers 60.0 %",
        ],
    );
}

#[test]
fn loss_is_said_of_whatever_is_called_best() {
    let mut b = builder();
    let a = b.experiment("a", stream);
    b.trials(a, &[(Response, 4_000.0, 4_990, 10)]);
    let slower = b.experiment("b", stream);
    b.trials(slower, &[(Response, 9_000.0, 5_000, 0)]);
    let answer = only(&b.build());
    assert_eq!(answer.best, places(&[a]));
    says(&answer, &["lost 50 of 25000 messages", "delivers 99.8 %"]);

    let mut b = builder();
    for (stack, p50) in [("a", 4_000.0), ("b", 9_000.0)] {
        let id = b.experiment(stack, stream);
        b.trials(id, &[(Response, p50, 4_000, 1_000)]);
    }
    let answer = only(&b.build());
    says(
        &answer,
        &[
            "No stack delivers 99 %",
            "Of the stacks that drop messages, a is the fastest",
        ],
    );
    says(&answer, &["delivers 80.0 %"]);
}

#[test]
fn what_is_still_under_way_is_not_called_lost() {
    let mut b = builder();
    for (stack, received, lost) in [("a", 4_990, 10), ("b", 4_000, 1_000), ("c", 1_000, 4_000)] {
        let id = b.experiment(stack, stream);
        b.trials(id, &[(Response, 4_000.0, received, lost)]);
        for record in b.records(id) {
            record.counts.under_way = 4;
        }
    }
    let answer = only(&b.build());
    says(
        &answer,
        &[
            "30 lost, 20 under way of 25000 messages: delivers 99.8 %",
            "Not compared, because messages did not arrive: b (p50 ",
            "delivers 80.0 %: 4980 lost, 20 under way",
            "Half of the messages or more did not arrive: c (delivers 20.0 %: 19980 lost, 20 under way)",
        ],
    );
}

#[test]
fn an_infinite_median_is_behind_every_finite_one() {
    let mut b = builder();
    let lost = b.experiment("lossy", stream);
    b.trials(lost, &[(Response, 1_000.0, 1_000, 4_000)]);
    let slow = b.experiment("slow", stream);
    b.trials(slow, &[(Response, 900_000.0, 5_000, 0)]);
    let answer = only(&b.build());
    assert_eq!(answer.experiments, places(&[slow, lost]));
    assert_eq!(answer.best, places(&[slow]));
    says(&answer, &["slow is the only stack with a figure"]);
    says(
        &answer,
        &["Half of the messages or more were lost: lossy (delivers 20.0 %)"],
    );
}

#[test]
fn a_question_that_nobody_answers_says_why() {
    let mut b = builder();
    let failed = b.experiment("a", |_| {});
    b.failed(failed, FailureKind::Hang, "open", "no peer", &[]);
    let few = b.experiment("b", |_| {});
    b.trial(few, &[(Rtt, 5_000.0, 3, 0)]);
    let missing = b.experiment("c", |_| {});
    let answer = only(&b.build());
    assert_eq!(answer.best, [0usize; 0]);
    assert_eq!(answer.experiments, places(&[few, missing, failed]));
    says(
        &answer,
        &["No stack can be compared.", "Failed: a (hang in open)."],
    );
    says(&answer, &["b (p50 needs 6 samples, has 3)", "c (not run)"]);
    assert_eq!(answer.rows.len(), 1);
}

#[test]
fn failed_trials_are_said_beside_the_figure() {
    let mut b = builder();
    let shaky = b.experiment("shaky", |_| {});
    b.trials(shaky, &[(Rtt, 5_000.0, 1_000, 0)]);
    b.failed(shaky, FailureKind::Crash, "window", "signal 11", &[]);
    let answer = only(&b.build());
    says(
        &answer,
        &["shaky is the only stack", "1 of 6 trials failed"],
    );
    assert_eq!(answer.rows[0].failures, "1 of 6 trials");
}

#[test]
fn only_equal_conditions_are_compared() {
    let mut b = builder();
    let spin = b.experiment("a", |e| e.wait = Wait::Spin);
    b.trials(spin, &[(Rtt, 1_000.0, 1_000, 0)]);
    let block = b.experiment("b", |_| {});
    b.trials(block, &[(Rtt, 9_000.0, 1_000, 0)]);
    let all = answers(&b.build());
    let texts: Vec<&str> = all.iter().map(|a| a.question.as_str()).collect();
    assert_eq!(
        texts,
        [
            "round-trip, ping-pong, 64 B, spin, process, 1-1",
            "round-trip, ping-pong, 64 B, block, process, 1-1"
        ]
    );
}

/// A blocking stack, and one with two ways of its own, as `wait = "natural"` plans them.
fn natural(waits_of: &[(&str, &[Wait])], asked: &[(&str, Wait, f64)]) -> Run {
    let mut b = builder();
    for (stack, wait, p50) in asked {
        let id = b.experiment(stack, |e| e.wait = *wait);
        b.trials(id, &[(Rtt, *p50, 1_000, 0)]);
    }
    let mut run = b.build();
    for (stack, waits) in waits_of {
        run.manifest.plan.stacks.get_mut(*stack).unwrap().waits = waits.to_vec();
    }
    run
}

#[test]
fn stacks_that_choose_their_wait_are_compared_with_the_wait_named() {
    let run = natural(
        &[
            ("a", &[Wait::Spin, Wait::Block]),
            ("b", &[Wait::Block]),
            ("c", &[Wait::Callback]),
        ],
        &[
            ("a", Wait::Spin, 1_000.0),
            ("a", Wait::Block, 8_000.0),
            ("b", Wait::Block, 9_000.0),
            ("c", Wait::Callback, 20_000.0),
        ],
    );
    let [polls, sleeps] = &answers(&run)[..] else {
        panic!("what polls is asked apart from what sleeps")
    };
    assert_eq!(
        polls.question,
        "round-trip, ping-pong, 64 B, spin, process, 1-1"
    );
    says(polls, &["a is the only stack"]);
    assert_eq!(
        sleeps.question,
        "round-trip, ping-pong, 64 B, each with its own wait, process, 1-1"
    );
    says(sleeps, &["a (block) is the fastest", "c (callback) 2"]);
    assert_eq!((polls.experiments.len(), sleeps.experiments.len()), (1, 3));
}

#[test]
fn the_fastest_of_a_wait_is_named_only_where_it_is() {
    let of = |p50s: [f64; 4]| {
        let [called, a, b, c] = p50s;
        let run = natural(
            &[
                ("a", &[Wait::Callback, Wait::Block]),
                ("b", &[Wait::Block]),
                ("c", &[Wait::Block]),
            ],
            &[
                ("a", Wait::Callback, called),
                ("a", Wait::Block, a),
                ("b", Wait::Block, b),
                ("c", Wait::Block, c),
            ],
        );
        only(&run)
    };
    // One that blocks is among the best.
    let answer = of([1_000.0, 1_000.5, 8_000.0, 9_000.0]);
    assert_eq!(answer.best.len(), 2, "{}", answer.text);
    assert!(!answer.text.contains("that block"), "{}", answer.text);
    let answer = of([1_000.0, 8_000.0, 8_004.0, 20_000.0]);
    says(
        &answer,
        &[
            "Of the stacks that block: ",
            " (block) cannot be distinguished.",
        ],
    );
    assert!(!answer.text.contains("Fastest of"), "{}", answer.text);
}

#[test]
fn waits_that_the_suite_chose_stay_questions_of_their_own() {
    let run = natural(
        &[("a", &[Wait::Spin]), ("b", &[Wait::Block])],
        &[
            ("a", Wait::Spin, 1_000.0),
            ("a", Wait::Block, 8_000.0),
            ("b", Wait::Block, 9_000.0),
        ],
    );
    let all = answers(&run);
    assert_eq!(all.len(), 2, "{all:#?}");
    says(&all[0], &["a is the only stack"]);
    says(&all[1], &["a is the fastest"]);
}

#[test]
fn a_hint_names_a_wait_that_all_of_them_know() {
    let mut run = natural(
        &[("a", &[Wait::Callback]), ("b", &[Wait::Block])],
        &[("a", Wait::Callback, 1_000.0), ("b", Wait::Block, 9_000.0)],
    );
    assert_eq!(only(&run).hint, None, "nothing says what the adapters can");
    let adapter = |stack: &str| run.manifest.plan.stacks[stack].adapter.clone();
    let knows = |name: String, waits: &[Wait]| dyno_model::AdapterDescription {
        name,
        version: "1".into(),
        summary: String::new(),
        capabilities: dyno_model::Capabilities {
            loan: false,
            waits: waits.to_vec(),
            reliable: true,
            best_effort: false,
            request_response: false,
            placements: Vec::new(),
            max_message: None,
            fragments_above: None,
            max_receivers: None,
            sends_later: false,
            asks: false,
            loopback: false,
        },
        options: Vec::new(),
        unavailable: None,
        library: None,
    };
    let described = |waits: &[Wait]| {
        vec![
            knows(adapter("a"), waits),
            knows(adapter("b"), &[Wait::Block]),
        ]
    };
    let (both, one) = (
        described(&[Wait::Callback, Wait::Block]),
        described(&[Wait::Callback]),
    );
    run.manifest.adapters = both;
    let hint = only(&run).hint.unwrap();
    assert!(hint.contains("--set wait=block"), "{hint}");
    run.manifest.adapters = one;
    assert_eq!(only(&run).hint, None);
}

#[test]
fn intervals_that_all_are_open_above_are_not_called_equal() {
    let mut b = builder();
    for (stack, p50) in [("a", 4_000.0), ("b", 9_000.0)] {
        let id = b.experiment(stack, |_| {});
        // One trial of five lost more than half of its messages.
        for lost in [0, 0, 0, 0, 900] {
            b.trial(id, &[(Rtt, p50, 1_000 - lost, lost)]);
        }
    }
    let answer = only(&b.build());
    says(
        &answer,
        &["No stack can be compared", "its p50 interval is too wide"],
    );
    assert!(!answer.text.contains("distinguished"), "{}", answer.text);
}

#[test]
fn questions_that_differ_in_what_is_rarely_changed_say_it() {
    let mut b = builder();
    b.experiment("a", |_| {});
    b.experiment("a", |e| e.cpus = vec![]);
    b.experiment("a", |e| e.window = Extent::Messages(10));
    let all = answers(&b.build());
    let texts: Vec<&str> = all.iter().map(|a| a.question.as_str()).collect();
    let usual = "round-trip, ping-pong, 64 B, block, process, 1-1";
    assert_eq!(
        texts,
        [
            format!("{usual}, CPUs 0,1, window 300 ms"),
            format!("{usual}, not pinned"),
            format!("{usual}, CPUs 0,1, 10 messages"),
        ]
    );
}

#[test]
fn a_call_over_a_pair_of_channels_is_marked_and_compared() {
    let mut b = builder();
    let call = |e: &mut Experiment| {
        e.workload = Workload::Call {
            gap: Nanos::ZERO,
            timeout: Nanos::from_secs(1),
        };
    };
    let own = b.experiment("own", call);
    b.trials(own, &[(Rtt, 5_000.0, 1_000, 0)]);
    let pair = b.experiment("pipe", |e| {
        call(e);
        e.paired = true;
    });
    b.trials(pair, &[(Rtt, 9_000.0, 1_000, 0)]);
    let answer = only(&b.build());
    assert_eq!(answer.experiments, places(&[own, pair]));
    says(&answer, &["own is the fastest", "pipe (pair) takes"]);
}

#[test]
fn yardsticks_are_never_an_answer() {
    let run = common::quick();
    for answer in &fixture("quick").runs[0].answers {
        for place in &answer.experiments {
            let stack = &run.manifest.plan.experiments[*place].stack;
            assert!(!stack.starts_with("floor") && stack != "null", "{answer:?}");
        }
    }
    let mut b = builder();
    let floor = b.experiment("floor-spin", |_| {});
    b.trials(floor, &[(Rtt, 100.0, 1_000, 0)]);
    assert_eq!(answers(&b.build()), []);
}

#[test]
fn the_other_side_of_a_build_is_no_competitor() {
    let run = held::against();
    let plan = &run.manifest.plan;
    let bases: Vec<usize> = plan
        .experiments
        .iter()
        .filter_map(|e| e.base)
        .map(|b| b.0 as usize)
        .collect();
    assert!(!bases.is_empty());
    let mut build = run.clone();
    build.manifest.plan.against = Some(dyno_model::Against::Build {
        program: "old".into(),
        version: "0".into(),
    });
    let all = answers(&build);
    assert!(
        all.iter()
            .flat_map(|a| &a.experiments)
            .all(|e| !bases.contains(e))
    );
    let mut same = run.clone();
    same.manifest.plan.against = Some(dyno_model::Against::Same);
    let all = answers(&same);
    assert!(
        all.iter()
            .flat_map(|a| &a.experiments)
            .any(|e| bases.contains(e))
    );
    assert!(
        all.iter()
            .flat_map(|a| &a.experiments)
            .all(|e| plan.experiments[*e].base.is_none())
    );
}

#[test]
fn answers_of_every_kind_of_run() {
    let mut text = String::new();
    for (name, _, document) in fixtures() {
        text.push_str(&format!("== {name}\n"));
        for answer in &document.runs[0].answers {
            text.push_str(&format!("? {}\n! {}\n", answer.question, answer.text));
        }
    }
    insta::assert_snapshot!(text);
}
