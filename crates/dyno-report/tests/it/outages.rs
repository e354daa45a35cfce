//! Experiments with faults: figures, tables, findings and exports.

use dyno_kit::runs::{Builder, outages};
use dyno_model::fault::{FaultKind, Target};
use dyno_model::{Metric, Nanos};
use dyno_report::{Format, Notes, RenderOptions, Summary, SummaryOptions, render, summarise};
use dyno_stats::Latency;

fn summary() -> Summary {
    summarise(&outages::outages(), &SummaryOptions::default())
}

fn shown(format: Format, width: Option<usize>) -> String {
    let options = RenderOptions {
        width,
        notes: Notes::All,
        ..RenderOptions::default()
    };
    render(&summary(), format, &options)
}

#[test]
fn the_headline_is_the_recovery_and_what_never_recovers_is_infinite() {
    let s = summary();
    assert!(
        s.experiments
            .iter()
            .all(|e| e.headline() == Metric::Recovery)
    );
    let recovery = |i: usize| &s.experiments[i].metrics[&Metric::Recovery];
    assert_eq!((recovery(0).n, recovery(0).infinite), (20, 0));
    assert_eq!((recovery(1).n, recovery(1).infinite), (19, 1));
    // The median trial recovers, and the slowest one never does.
    let p50 = recovery(1).quantiles[0].estimate().unwrap();
    assert!(p50.value.finite().is_some());
    let spread = s.experiments[1].medians[&Metric::Recovery];
    assert_eq!((spread.n, spread.max), (20, f64::INFINITY));
    // Nineteen trials count; the library of none of zenoh's told.
    let told = s.experiments[1].metrics[&Metric::Detection].quantiles[0];
    assert_eq!(told.estimate().unwrap().value, Latency::Infinite);
    assert!(s.experiments[0].metrics.contains_key(&Metric::Response));
}

#[test]
fn deaf_and_half_deaf_trials_are_counted() {
    let s = summary();
    let counts = |i: usize| {
        let o = s.experiments[i].outage.as_ref().unwrap();
        (o.trials, o.recovered, o.deaf(), o.half_deaf, o.told)
    };
    assert_eq!(counts(0), (20, 20, 0, 0, [20, 0, 0, 0, 0]));
    assert_eq!(counts(1), (20, 19, 1, 0, [0, 0, 0, 0, 20]));
    assert_eq!(counts(2), (19, 18, 1, 1, [0, 19, 0, 0, 0]));
    let deaf = s.experiments[2].outage.as_ref().unwrap().deaf_ends[0];
    assert_eq!((deaf.trial, deaf.receiver), (3, 2));
}

#[test]
fn a_relapse_of_one_trial_is_not_hidden_by_the_recovery_of_another() {
    let seconds = |s: f64| Some(Nanos((s * 1e9) as u64));
    let relapse_within = |window: u64, trials: &[(f64, Option<Nanos>)]| {
        let mut b = Builder::new("outage", "relapses", "stacks");
        let id = b.experiment("udp", outages::unplugged);
        for (recovery, steady) in trials {
            let mut end = outages::end(1, Some(recovery * 1e3));
            (end.steady, end.seen, end.lost) = (*steady, Nanos::from_secs(window), 0);
            outages::add_outage(&mut b, id, vec![end], None);
        }
        let s = summarise(&b.build(), &SummaryOptions::default());
        dyno_report::outage_relapse(&s.experiments[0])
    };
    let relapse = |trials: &[(f64, Option<Nanos>)]| relapse_within(7, trials);
    // At 1 kHz a steady state takes 100 ms to prove, and begins within 100 ms of the recovery.
    let slow = (2.9, seconds(3.0));
    assert_eq!(relapse(&[slow, slow]), None);
    let early = relapse(&[slow, (0.1, seconds(0.201))]);
    assert_eq!(
        early.unwrap(),
        "is steady only after up to 201 ms in 1 of 2 trials"
    );
    let late = relapse(&[slow, (0.1, seconds(6.5))]);
    assert_eq!(
        late.unwrap(),
        "is steady only after up to 6.50 s in 1 of 2 trials"
    );
    let never = relapse(&[slow, (0.1, seconds(6.5)), (0.1, None)]);
    assert_eq!(
        never.unwrap(),
        "is steady only after up to 6.50 s in 1 and is not steady when the window ends in 1 of 3 trials"
    );
    // The window ends 7 s after the fault.
    let unseen = relapse(&[slow, (6.801, None)]);
    assert_eq!(
        unseen.unwrap(),
        "recovers too late in the window to be seen steady in 1 of 2 trials"
    );
    let seen = relapse(&[slow, (6.8, None)]);
    assert_eq!(
        seen.unwrap(),
        "is not steady when the window ends in 1 of 2 trials"
    );
    // A record from before that time was stored.
    let old = relapse_within(0, &[slow, (0.1, None)]);
    assert_eq!(
        old.unwrap(),
        "is not steady when the window ends in 1 of 2 trials"
    );
}

/// What is said of so many trials in which a second receiver joins and leaves; in the last one the first receiver misses messages.
fn verdict_beside_newcomer(trials: u32) -> String {
    let mut b = Builder::new("outage", "a newcomer", "stacks");
    let id = b.experiment("udp", |e| {
        outages::unplugged(e);
        e.topology.receivers = 2;
        e.faults[0].what = FaultKind::Join;
        e.faults[0].who = Target::Receiver { number: 1 };
    });
    for number in 1..=trials {
        let mut end = outages::end(1, Some(0.0));
        (end.silence, end.lost) = (Some(Nanos::from_millis(5)), 0);
        if number == trials {
            end.recovery = Some(Nanos::from_micros(2_500));
            (end.silence, end.lost) = (Some(Nanos::from_millis(20)), 3);
        }
        outages::add_outage(&mut b, id, vec![end], None);
    }
    let s = summarise(&b.build(), &SummaryOptions::default());
    let e = &s.experiments[0];
    dyno_report::outage_verdict(e, e.outage.as_ref().unwrap(), "udp").unwrap()
}

#[test]
fn beside_a_newcomer_the_verdict_says_what_the_others_felt() {
    assert_eq!(
        verdict_beside_newcomer(20),
        "while receiver 2 joined and left after 1.00 s, udp delivered every message to the others once and in time in 19 of 20 trials; \
         their longest silence was 5.00 ms [5.00, 5.00] (median; the longest took 20.0 ms); up to 3 messages were lost in a trial"
    );
    assert_eq!(
        verdict_beside_newcomer(2),
        "while receiver 2 joined and left after 1.00 s, udp delivered every message to the others once and in time in 1 of 2 trials; \
         their longest silence has no median here (a median needs 6 trials; the longest took 20.0 ms); up to 3 messages were lost in a trial"
    );
}

#[test]
fn table() {
    insta::assert_snapshot!("outages_table", shown(Format::Table, Some(140)));
}

#[test]
fn narrow_table() {
    insta::assert_snapshot!("outages_narrow", shown(Format::Table, Some(80)));
}

#[test]
fn markdown() {
    insta::assert_snapshot!("outages_markdown", shown(Format::Markdown, None));
}

#[test]
fn json_has_counts_and_causes() {
    let text = shown(Format::Json, None);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let zenoh = &json["experiments"][1];
    assert_eq!(zenoh["fault"], "receiver without a link for 1.00 s");
    assert_eq!(zenoh["headline"], "recovery_ns");
    insta::assert_snapshot!(
        "outages_json",
        serde_json::to_string_pretty(&json["experiments"][2]["outage"]).unwrap()
    );
}

#[test]
fn csv_has_the_fault_and_the_deaf_trials() {
    let text = shown(Format::Csv, None);
    let mut lines = text.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let place = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let places = ["fault", "deaf_trials", "half_deaf_trials"].map(place);
    let zenoh: Vec<_> = lines.filter(|l| l[place("stack")] == "zenoh").collect();
    assert!(!zenoh.is_empty());
    for line in zenoh {
        let found = places.map(|at| line[at]);
        assert_eq!(found, ["receiver without a link for 1.00 s", "1", "0"]);
    }
}

#[test]
fn a_run_with_windows_starts_and_outages_has_a_table_of_each() {
    let mut b = Builder {
        run: outages::outages(),
    };
    dyno_kit::runs::starts::add_starts(&mut b, "tcp", 10, 1.0);
    let plain = b.experiment("udp", |_| {});
    b.trials(plain, &[(Metric::Rtt, 9_000.0, 2_000, 0)]);
    let s = summarise(&b.build(), &SummaryOptions::default());
    let options = RenderOptions {
        width: Some(200),
        ..RenderOptions::default()
    };
    let text = render(&s, Format::Table, &options);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("delivered/offered") < at("delivery") && at("delivery") < at("recovered"));
}
