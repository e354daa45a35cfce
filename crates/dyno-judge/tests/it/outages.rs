//! Limits and comparisons of experiments with faults.

use dyno_judge::{CheckOptions, CompareOptions, Figure, Finding, Limits, Status, check, compare};
use dyno_kit::runs::Builder;
use dyno_kit::runs::outages::{add_outage, end, outages, unplugged};
use dyno_model::record::Run;

/// Twenty trials of one stack; those in `deaf` never recover.
fn run(deaf: &[u32]) -> Run {
    let mut b = Builder::new("outage", "one stack", "stacks");
    let id = b.experiment("zenoh", |e| {
        unplugged(e);
        e.trials = 20;
    });
    for i in 0..20 {
        let ms = (!deaf.contains(&i)).then_some(200.0 + f64::from(i));
        add_outage(&mut b, id, vec![end(1, ms)], None);
    }
    b.build()
}

/// What comes of one limit on the stack.
fn held(run: &Run, stack: &str, keys: &str) -> (Status, String) {
    let text = format!("[[limit]]\nname = \"x\"\nstack = \"{stack}\"\n{keys}\n");
    let limits = Limits::parse("limits.toml", &text).unwrap();
    let result = check(run, &limits, &CheckOptions::default()).unwrap();
    let one = &result.results[0];
    (one.status, one.reason.clone())
}

fn p50(word: &str, most: &str) -> String {
    format!("metric = \"{word}\"\nquantile = \"p50\"\nat_most = \"{most}\"")
}

#[test]
fn times_of_outages_have_limits_and_what_never_recovers_is_infinite() {
    let run = run(&[]);
    for (word, most) in [("recovery", "1 s"), ("silence", "2 s"), ("steady", "1 s")] {
        assert_eq!(
            held(&run, "zenoh", &p50(word, most)).0,
            Status::Pass,
            "{word}"
        );
    }
    assert_eq!(
        held(&run, "zenoh", &p50("recovery", "100 ms")).0,
        Status::Fail
    );
    // Its library never tells.
    assert_eq!(
        held(&run, "zenoh", &p50("detection", "3600 s")).0,
        Status::Fail
    );
    let mean = "metric = \"recovery\"\nat_most = \"1 s\"";
    assert_eq!(held(&run, "zenoh", mean).0, Status::Pass);
}

#[test]
fn a_deaf_trial_is_no_survivor() {
    let most: Vec<u32> = (0..15).collect();
    let run = run(&most);
    assert_eq!(
        held(&run, "zenoh", &p50("recovery", "3600 s")).0,
        Status::Fail
    );
    let one = self::run(&[7]);
    let mean = "metric = \"recovery\"\nat_most = \"3600 s\"";
    let (status, reason) = held(&one, "zenoh", mean);
    assert_ne!(status, Status::Pass, "{reason}");
}

#[test]
fn deaf_trials_are_counted() {
    let none = "metric = \"deaf\"\nat_most = 0";
    let (status, reason) = held(&run(&[]), "zenoh", none);
    assert_eq!(status, Status::Pass, "{reason}");
    assert!(reason.contains("rule of three"), "{reason}");
    assert_eq!(held(&run(&[7]), "zenoh", none).0, Status::Fail);
    assert_eq!(
        held(&run(&[7]), "zenoh", "metric = \"deaf\"\nat_most = 1").0,
        Status::Pass
    );
    // One is half deaf, and one failed.
    assert_eq!(held(&outages(), "fastdds", none).0, Status::Fail);
    let (status, reason) = held(&outages(), "fastdds", "metric = \"deaf\"\nat_most = 1");
    assert_eq!(status, Status::Undecided, "{reason}");
}

#[test]
fn deaf_trials_that_the_host_disturbed_decide_nothing() {
    let mut run = run(&[7]);
    for trial in &mut run.trials {
        let load = dyno_model::Cause::Told("foreign load".into());
        trial.disturbed.push(load);
    }
    let (status, reason) = held(&run, "zenoh", "metric = \"deaf\"\nat_most = 0");
    assert_eq!(status, Status::Undecided, "{reason}");
    let begin = "the host disturbed every trial; judged by these trials, the limit fails: in 1 of 20 trials";
    assert!(reason.starts_with(begin), "{reason}");
    // One that it did not disturb decides again.
    run.trials[7].disturbed.clear();
    let (status, reason) = held(&run, "zenoh", "metric = \"deaf\"\nat_most = 0");
    assert_eq!(status, Status::Fail, "{reason}");
}

#[test]
fn trials_that_tell_nothing_keep_a_limit_from_passing() {
    let mut run = run(&[]);
    run.trials[3].outages.clear();
    run.trials[3]
        .distributions
        .remove(&dyno_model::Metric::Recovery);
    for keys in [
        p50("recovery", "1 s"),
        "metric = \"deaf\"\nat_most = 0".into(),
    ] {
        let (status, reason) = held(&run, "zenoh", &keys);
        assert_eq!(status, Status::Undecided, "{reason}");
        assert!(reason.contains("1 of 20 trials"), "{reason}");
    }
}

#[test]
fn recovery_silence_and_deaf_trials_are_compared() {
    let all: Vec<u32> = (0..12).collect();
    let (good, bad) = (run(&[]), run(&all));
    let of = |base: &Run, new: &Run, figure: &dyn Fn(Figure) -> bool| {
        let c = compare(base, new, &CompareOptions::default());
        let row = c.cells[0].rows.iter().find(|r| figure(r.figure)).cloned();
        row.map(|r| r.result.unwrap().finding)
    };
    let deaf = |f: Figure| f == Figure::Deaf;
    assert_eq!(of(&good, &bad, &deaf), Some(Finding::Higher));
    assert_eq!(of(&good, &good, &deaf), Some(Finding::Same));
    // Fewer deaf trials are not called better.
    assert!(matches!(
        of(&bad, &good, &deaf),
        Some(Finding::Undecided { .. })
    ));
    let metrics = [dyno_model::Metric::Recovery, dyno_model::Metric::Silence];
    for wanted in metrics {
        let is = |f: Figure| {
            f == Figure::Quantile {
                metric: wanted,
                q: 0.5,
            }
        };
        assert_eq!(of(&good, &bad, &is), Some(Finding::Higher), "{wanted}");
        let back = of(&bad, &good, &is);
        assert!(
            matches!(back, Some(Finding::Undecided { .. })),
            "{wanted}: {back:?}"
        );
    }
}
