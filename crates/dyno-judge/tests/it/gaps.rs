//! Arrival gaps: what a control loop needs, held against limits and compared beside the response time.

use crate::check::held;
use crate::common::{Builder, distribution, stream};
use dyno_judge::{CompareOptions, Figure, Finding, Status, compare};
use dyno_model::Metric;
use dyno_model::record::Run;

/// Five trials with gaps of about `gap_ns`, and response times that are always the same.
fn run(day: u64, gap_ns: f64) -> Run {
    let mut b = Builder::new(day);
    let e = b.experiment("tcp", stream);
    for i in 0..5 {
        let gaps = distribution(gap_ns, 2_000, 0, i);
        let trial = b.trial(e, 10_000.0, 2_000, 0);
        trial.distributions.insert(Metric::Gap, gaps);
    }
    b.build()
}

#[test]
fn a_limit_on_the_gap_passes_below_it_and_fails_above() {
    let run = run(0, 1e6);
    let status = |most: &str| {
        let keys = format!("metric = \"gap\"\nquantile = \"p50\"\nat_most = \"{most}\"");
        let report = held(&run, &format!("[[limit]]\nname = \"x\"\n{keys}"));
        report.results[0].status
    };
    assert_eq!(status("3 ms"), Status::Pass);
    assert_eq!(status("100 us"), Status::Fail);
}

#[test]
fn the_tail_of_gaps_is_compared_beside_the_headline_and_its_median_is_not() {
    let c = compare(&run(1, 1e6), &run(2, 2e6), &CompareOptions::default());
    let gaps: Vec<_> = c.cells[0]
        .rows
        .iter()
        .filter_map(|row| match row.figure {
            Figure::Quantile {
                metric: Metric::Gap,
                q,
            } => Some((q, row.result.as_ref().unwrap().finding)),
            _ => None,
        })
        .collect();
    assert_eq!(gaps, [(0.9, Finding::Higher), (0.99, Finding::Higher)]);
}
