//! Requirements by stack: which one keeps them all, and which breaks the least.

use crate::check::{ALL, held, run};
use crate::common::{Builder, stream};
use dyno_judge::Status;
use dyno_model::Wait;
use dyno_model::plan::Refusal;

#[test]
fn a_scorecard_has_the_worst_result_of_each_stack_and_what_breaks_least_first() {
    let report = held(&run(), ALL);
    let card = report.scorecard();
    let names: Vec<&str> = card.requirements.iter().map(|l| l.name()).collect();
    assert_eq!(names[..3], ["camera in time", "nothing lost", "cheap"]);
    let stacks: Vec<&str> = card.candidates.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(stacks[0], "zenoh-tcp");
    let first = &card.candidates[0];
    assert_eq!(first.count(Status::Pass), 3);
    assert_eq!(first.not_measured(), 1, "the round trip, which is small");
    assert_eq!(first.status(), Status::Undecided);
    let udp = card.candidates.iter().find(|c| c.name == "udp").unwrap();
    assert!(udp.scores[0].is_none(), "the camera is not asked of it");
    assert_eq!(udp.gaps[0], None);
    assert_eq!(udp.scores[1].as_ref().unwrap().worst.status, Status::Fail);
    assert_eq!(udp.status(), Status::Fail);
    assert_eq!(udp.count(Status::Pass), 1);
    // All that is undecided stands between.
    let grades: Vec<Status> = card.candidates.iter().map(|c| c.status()).collect();
    assert!(grades.is_sorted_by_key(|s| match s {
        Status::Pass => 0,
        Status::Undecided => 1,
        Status::Fail => 2,
    }));
}

#[test]
fn what_was_not_measured_is_not_kept_and_stands_behind_what_is() {
    let mut b = Builder::new(0);
    for stack in ["refused", "absent", "whole"] {
        let id = b.experiment(stack, stream);
        b.trials(id, 10_000.0);
    }
    b.measured("whole", 10_000.0);
    b.plan().refused.push(Refusal {
        experiment: "round-trip".into(),
        stack: "refused".into(),
        factors: "ping-pong, 64 B, block".into(),
        reason: "it has one direction only".into(),
    });
    let limit = |metric: &str, stack: &str| {
        format!(
            "[[limit]]\nname = \"{metric}\"\n{stack}metric = \"{metric}\"\nquantile = \"p50\"\nat_most = \"1 ms\"\n"
        )
    };
    let run = b.build();
    let report = held(&run, &(limit("response", "") + &limit("rtt", "")));
    let card = report.scorecard();
    let found: Vec<_> = card
        .candidates
        .iter()
        .map(|c| (c.name.as_str(), c.status(), c.keeps_all()))
        .collect();
    assert_eq!(
        found,
        [
            ("whole", Status::Pass, true),
            ("refused", Status::Undecided, false),
            ("absent", Status::Undecided, false),
        ]
    );
    let gap = |i: usize| card.candidates[i].gaps[1].as_deref();
    assert_eq!(gap(0), None);
    assert_eq!(gap(1), Some("not measured: it has one direction only"));
    assert_eq!(gap(2), Some("not measured"));

    // What names its stack is not put on the others.
    let named = limit("response", "") + &limit("rtt", "stack = \"whole\"\n");
    let report = held(&run, &named);
    let card = report.scorecard();
    let absent = card.candidates.iter().find(|c| c.name == "absent").unwrap();
    assert_eq!(absent.status(), Status::Pass);
    assert_eq!((absent.not_measured(), absent.keeps_all()), (0, false));
}

#[test]
fn a_requirement_on_several_experiments_is_as_good_as_the_worst_of_them() {
    let mut b = Builder::new(0);
    for (name, p50) in [("near", 10_000.0), ("far", 90_000.0), ("middle", 50_000.0)] {
        let id = b.experiment("tcp", |e| {
            stream(e);
            e.name = name.into();
        });
        b.trials(id, p50);
    }
    let limit = |most: &str| {
        format!(
            "[[limit]]\nname = \"x\"\nmetric = \"response\"\nquantile = \"p50\"\nat_most = \"{most}\""
        )
    };
    let run = b.build();
    for (most, status, passed) in [("20 us", Status::Fail, 1), ("1 ms", Status::Pass, 3)] {
        let report = held(&run, &limit(most));
        let card = report.scorecard();
        assert_eq!(card.candidates.len(), 1);
        let score = card.candidates[0].scores[0].as_ref().unwrap();
        assert_eq!(
            (score.worst.status, score.passed, score.results),
            (status, passed, 3)
        );
        assert_eq!(score.worst.experiment.name, "far");
    }
}

#[test]
fn a_stack_with_several_waits_is_a_candidate_for_each() {
    let mut b = Builder::new(0);
    for (stack, wait) in [("a", Wait::Spin), ("a", Wait::Block), ("b", Wait::Block)] {
        let id = b.experiment(stack, |e| {
            stream(e);
            e.wait = wait;
        });
        b.trials(id, 10_000.0);
    }
    let run = b.build();
    let report = held(
        &run,
        "[[limit]]\nname = \"x\"\nmetric = \"loss\"\nat_most = 0",
    );
    let names: Vec<String> = report
        .scorecard()
        .candidates
        .iter()
        .map(|c| c.name.clone())
        .collect();
    assert_eq!(names, ["a (spin)", "a (block)", "b"]);
    let card = report.scorecard();
    let own = |i: usize| {
        run.manifest
            .plan
            .experiments
            .iter()
            .filter(|e| card.candidates[i].is_of(e))
            .count()
    };
    assert_eq!([own(0), own(1), own(2)], [1, 1, 1]);
}

#[test]
fn a_stack_that_was_refused_in_one_of_the_experiments_keeps_nothing_that_is_asked_there() {
    let mut b = Builder::new(0);
    for (name, stacks) in [("near", &["tcp", "pipe"][..]), ("far", &["tcp"])] {
        for stack in stacks {
            let id = b.experiment(stack, |e| {
                stream(e);
                e.name = name.into();
            });
            b.trials(id, 10_000.0);
        }
    }
    b.plan().refused.push(Refusal {
        experiment: "far".into(),
        stack: "pipe".into(),
        factors: "stream, 64 B, block".into(),
        reason: "it does not reach other hosts".into(),
    });
    let run = b.build();
    let limit = |more: &str| {
        format!(
            "[[limit]]\nname = \"x\"\n{more}metric = \"response\"\nquantile = \"p50\"\nat_most = \"1 ms\""
        )
    };
    let report = held(&run, &limit(""));
    let card = report.scorecard();
    let pipe = card.candidates.iter().find(|c| c.name == "pipe").unwrap();
    assert_eq!(
        (pipe.status(), pipe.keeps_all()),
        (Status::Undecided, false)
    );
    let gap = "not measured in far: it does not reach other hosts";
    assert_eq!(pipe.gaps[0].as_deref(), Some(gap));
    assert_eq!(card.candidates[0].name, "tcp");
    assert!(card.candidates[0].keeps_all());

    // What is asked near by only is kept.
    let report = held(&run, &limit("experiment = \"near\"\n"));
    assert!(report.scorecard().candidates.iter().all(|c| c.keeps_all()));
}
