//! Limits on the time to the first message and on its parts.

use crate::check::one;
use crate::common::{Builder, stream};
use dyno_judge::Status;
use dyno_model::record::Run;
use dyno_model::{Distribution, Metric, Nanos};

#[test]
fn one_slow_start_is_no_pass_whatever_the_mean() {
    let mut b = Builder::new(0);
    let e = b.experiment("tcp", stream);
    for i in 0..40 {
        let t = b.trial(e, 10_000.0, 400, 0);
        t.open = Nanos::from_millis(10);
        if i == 7 {
            t.matching = Nanos::from_millis(150);
        }
    }
    let keys = "metric = \"first_message\"\nat_most = \"100 ms\"";
    let (status, reason) = one(&b.build(), keys);
    assert_eq!(status, Status::Undecided);
    assert_eq!(
        reason,
        "the mean is within the limit, but the slowest start took 160 ms"
    );
}

/// Forty starts of 10 to 14 ms, half of it open; `slow` of them take 90 ms more to match.
fn starts(slow: u64) -> Run {
    let mut b = Builder::new(0);
    let e = b.experiment("tcp", stream);
    for i in 0..40 {
        let t = b.trial(e, 10_000.0, 400, 0);
        let (open, delivery) = (5_000_000 + 50_000 * i, 1_000_000);
        let matching = 4_000_000 + 50_000 * i + if i < slow { 90_000_000 } else { 0 };
        for (metric, time) in [
            (Metric::FirstMessage, open + matching + delivery),
            (Metric::Open, open),
            (Metric::Match, matching),
            (Metric::FirstDelivery, delivery),
        ] {
            let one = Distribution {
                n: 1,
                sum: time as f64,
                ..Distribution::default()
            };
            t.distributions.insert(metric, one);
        }
    }
    b.build()
}

#[test]
fn a_limit_on_the_first_message_may_be_on_a_quantile_of_all_starts() {
    let held = |slow, keys: &str| one(&starts(slow), &format!("metric = {keys}")).0;
    let p90 = "\"first_message\"\nquantile = \"p90\"\nat_most = \"20 ms\"";
    assert_eq!(held(0, p90), Status::Pass);
    assert_eq!(held(3, p90), Status::Undecided);
    assert_eq!(held(12, p90), Status::Fail);
    let p50 = "\"first_message\"\nquantile = \"p50\"\nat_most = \"20 ms\"";
    assert_eq!(held(3, p50), Status::Pass);
    let p99 = "\"first_message\"\nquantile = \"p99\"\nat_most = \"20 ms\"";
    let (status, reason) = one(&starts(0), &format!("metric = {p99}"));
    assert_eq!(status, Status::Undecided);
    let expected = "p99 needs 368 samples, but there are 40: measure more trials";
    assert_eq!(reason, expected);
}

#[test]
fn the_parts_of_the_first_message_have_limits_of_their_own() {
    let held = |part: &str, most: &str| {
        let keys = format!("metric = \"{part}\"\nat_most = \"{most}\"");
        one(&starts(1), &keys).0
    };
    assert_eq!(held("open", "10 ms"), Status::Pass);
    assert_eq!(held("open", "1 ms"), Status::Fail);
    // The mean keeps it, one start does not.
    assert_eq!(held("match", "50 ms"), Status::Undecided);
    assert_eq!(held("first_delivery", "2 ms"), Status::Pass);
}

#[test]
fn runs_from_before_the_first_message_are_judged_by_when_they_were_matched() {
    let mut b = Builder::new(0);
    let e = b.experiment("tcp", stream);
    for _ in 0..40 {
        b.trial(e, 10_000.0, 400, 0);
    }
    let run = b.build();
    let held = |keys: &str| one(&run, &format!("stack = \"tcp\"\nmetric = {keys}")).0;
    let p90 = "\"first_message\"\nquantile = \"p90\"\nat_most = \"60 ms\"";
    assert_eq!(held(p90), Status::Pass);
    assert_eq!(held("\"match\"\nat_most = \"2 ms\""), Status::Fail);
    let delivery = "\"first_delivery\"\nat_most = \"1 s\"";
    assert_eq!(held(delivery), Status::Undecided);
}
