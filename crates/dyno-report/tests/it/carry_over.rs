//! What the order of a run says, where several flows share each place in it.

use crate::common::{Builder, summary};
use dyno_model::record::Run;
use dyno_model::{Arrivals, ExperimentId, Flow, Metric, Nanos, Phase, Processes, RateHz, Workload};

const FLOWS: [&str; 2] = ["radar", "camera"];
/// An order of each round that follows from its number alone, and in which each stack comes before each other one.
const ORDERS: [[usize; 3]; 6] = [
    [0, 1, 2],
    [2, 0, 1],
    [1, 0, 2],
    [2, 1, 0],
    [0, 2, 1],
    [1, 2, 0],
];

/// Twelve rounds of three stacks, two flows at once in each trial. `slower`: what the p50 of a flow is multiplied with,
/// by the flow and the stack that ran before.
pub(crate) fn flows(slower: impl Fn(&str, Option<usize>) -> f64) -> Run {
    let mut b = Builder::new("flows", "several at once", "stacks");
    let stacks = ["udp", "tcp", "zenoh-tcp"].map(|stack| {
        let group = ExperimentId(b.plan().experiments.len() as u32);
        FLOWS.map(|name| {
            b.experiment(stack, |e| {
                e.name = "sensors".into();
                e.workload = Workload::Stream {
                    rate: RateHz::new(1_000.0).unwrap(),
                    arrivals: Arrivals::Fixed,
                };
                e.flow = Some(Flow {
                    name: name.into(),
                    group,
                    processes: Processes::PerFlow,
                    jitter: Nanos::ZERO,
                    phase: Phase::default(),
                    sizes: None,
                    reads: None,
                    alone: None,
                    by_itself: false,
                });
            })
        })
    });
    let (mut before, mut position) = (None, 0);
    for (round, order) in ORDERS.iter().cycle().take(12).enumerate() {
        for stack in order {
            for (i, name) in FLOWS.iter().enumerate() {
                // No two trials are alike, and none follows from the order.
                let drift = 1.0 + 0.01 * ((round * 7 + stack * 3 + i * 5) % 11) as f64;
                let p50 = 10_000.0 * drift * slower(name, before);
                b.trial(stacks[*stack][i], &[(Metric::Response, p50, 200, 0)])
                    .position = position;
            }
            before = Some(*stack);
            position += 1;
        }
    }
    b.build()
}

#[test]
fn what_one_flow_of_the_next_trial_suffers_is_found_and_named() {
    let after_zenoh = |flow: &str, before| match (flow, before) {
        ("radar", Some(2)) => 1.5,
        _ => 1.0,
    };
    let found = summary(&flows(after_zenoh)).carry_over.unwrap();
    assert!(found.p <= 0.05, "{found:?}");
    let first = &found.findings[0];
    assert_eq!(first.after, "a trial of stack zenoh-tcp");
    assert_eq!(
        (first.measure, first.flow.as_deref()),
        ("p50", Some("radar"))
    );
    assert_eq!(first.higher, Some(1.0));
    assert!(
        found
            .findings
            .iter()
            .all(|f| f.flow.as_deref() == Some("radar"))
    );
    let (_, lines) = found.sentences();
    assert!(
        lines[0].starts_with(
            "after a trial of stack zenoh-tcp: a higher p50 of radar than other trials"
        ),
        "{lines:?}"
    );
}

#[test]
fn flows_that_ran_together_are_one_trial_of_the_order() {
    let found = summary(&flows(|_, _| 1.0)).carry_over.unwrap();
    assert_eq!(found.trials, 36);
    assert!(found.p > 0.05 && found.findings.is_empty(), "{found:?}");
}

#[test]
fn a_run_whose_trials_share_places_otherwise_has_no_order() {
    let mut run = flows(|_, _| 1.0);
    // As where the trials of two runs were put together: another experiment's at the first one's place.
    for t in &mut run.trials {
        t.position /= 2;
    }
    assert_eq!(summary(&run).carry_over, None);
}
