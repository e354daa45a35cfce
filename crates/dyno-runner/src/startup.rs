//! The time to the first message: put together from what the agents of one trial saw.
//!
//! The whole lasts from go until a message of every sender has been at every one of its receivers. Its
//! parts follow each other without a gap, so they add up to it: *open* until the last participant has
//! its endpoints, *match* from then until the last one sees its peers, *first delivery* from then until
//! the end. A library may deliver before it says that it is matched; then the parts end with the
//! delivery.

use dyno_measure::{RecordError, Recorder};
use dyno_model::protocol::Startup;
use dyno_model::{Distribution, Metric, Nanos};
use std::collections::BTreeMap;

/// The whole and its parts. `None` where nothing was received, as by an agent that plays both sides.
pub(crate) fn parts(agents: &[Startup]) -> Option<[(Metric, Nanos); 4]> {
    let go = agents.iter().map(|a| a.go).min()?;
    let arrivals = agents.iter().flat_map(|a| &a.first);
    // Go is an instant of each host's own clock: a stamp may lie before it by their error.
    let end = arrivals.map(|f| f.at).max()?.max(go);
    let opened = agents.iter().map(|a| a.opened).max()?.clamp(go, end);
    let matched = agents.iter().map(|a| a.matched).max()?.clamp(opened, end);
    Some([
        (Metric::FirstMessage, end.saturating_sub(go)),
        (Metric::Open, opened.saturating_sub(go)),
        (Metric::Match, matched.saturating_sub(opened)),
        (Metric::FirstDelivery, end.saturating_sub(matched)),
    ])
}

/// Adds the whole and its parts to a trial's distributions, each as its one sample.
///
/// # Errors
/// The histogram library fails.
pub(crate) fn add(
    agents: &[Startup],
    distributions: &mut BTreeMap<Metric, Distribution>,
) -> Result<(), RecordError> {
    parts(agents)
        .into_iter()
        .flatten()
        .try_for_each(|(metric, time)| one(metric, time, distributions))
}

/// Adds the start of a virtual machine and its `stages`, each as its one sample.
///
/// # Errors
/// The histogram library fails.
pub(crate) fn add_boot(
    stages: [Nanos; 4],
    distributions: &mut BTreeMap<Metric, Distribution>,
) -> Result<(), RecordError> {
    let whole = stages
        .iter()
        .copied()
        .fold(Nanos::ZERO, Nanos::saturating_add);
    one(Metric::Boot, whole, distributions)?;
    let metrics = [
        Metric::BootMonitor,
        Metric::BootKernel,
        Metric::BootInit,
        Metric::BootAgent,
    ];
    let mut stages = metrics.into_iter().zip(stages);
    stages.try_for_each(|(metric, time)| one(metric, time, distributions))
}

/// Adds how long the slowest start of its processes or containers took.
///
/// # Errors
/// The histogram library fails.
pub(crate) fn add_start(
    took: Nanos,
    distributions: &mut BTreeMap<Metric, Distribution>,
) -> Result<(), RecordError> {
    one(Metric::Boot, took, distributions)
}

fn one(
    metric: Metric,
    time: Nanos,
    distributions: &mut BTreeMap<Metric, Distribution>,
) -> Result<(), RecordError> {
    one_or_never(metric, Some(time), distributions)
}

/// Sets a metric to the one sample of its trial; `None` is infinite.
///
/// # Errors
/// The histogram library fails.
pub(crate) fn one_or_never(
    metric: Metric,
    time: Option<Nanos>,
    distributions: &mut BTreeMap<Metric, Distribution>,
) -> Result<(), RecordError> {
    let mut recorder = Recorder::by_count(1, 1);
    if let Some(time) = time {
        recorder.record(Nanos::ZERO, time);
    }
    distributions.insert(metric, recorder.finish(u64::from(time.is_none()))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::protocol::FirstArrival;

    fn agent(opened: u64, matched: u64, first: &[u64]) -> Startup {
        let arrival = |at: &u64| FirstArrival {
            channel: 0,
            receiver: 1,
            at: Nanos(*at),
        };
        Startup {
            go: Nanos(1_000),
            opened: Nanos(opened),
            matched: Nanos(matched),
            first: first.iter().map(arrival).collect(),
        }
    }

    #[track_caller]
    fn check(agents: &[Startup], whole: u64, open: u64, matching: u64, delivery: u64) {
        let expected = [whole, open, matching, delivery].map(Nanos);
        let found = parts(agents).unwrap();
        assert_eq!(found.map(|(_, time)| time), expected);
        assert_eq!(open + matching + delivery, whole);
    }

    #[test]
    fn each_part_ends_with_the_last_participant() {
        let source = agent(1_100, 1_500, &[]);
        let (near, far) = (agent(1_300, 1_400, &[1_600]), agent(1_200, 1_450, &[1_900]));
        check(&[source, near, far], 900, 300, 200, 400);
    }

    #[test]
    fn the_last_of_several_channels_counts() {
        let sink = agent(1_100, 1_200, &[1_250, 1_700, 1_300]);
        check(&[agent(1_100, 1_150, &[]), sink], 700, 100, 100, 500);
    }

    #[test]
    fn a_message_before_the_match_ends_the_match() {
        let early = agent(1_100, 1_800, &[1_400]);
        check(&[agent(1_200, 1_300, &[]), early], 400, 200, 200, 0);
    }

    #[test]
    fn a_message_before_go_is_an_error_of_the_clocks_and_takes_no_time() {
        check(&[agent(990, 995, &[998])], 0, 0, 0, 0);
    }

    #[test]
    fn without_a_receiver_there_is_no_first_message() {
        assert_eq!(parts(&[agent(1_100, 1_200, &[])]), None);
        assert_eq!(parts(&[]), None);
    }

    #[test]
    fn a_trial_has_one_sample_of_each() {
        let mut all = BTreeMap::new();
        add(&[agent(1_100, 1_500, &[1_900])], &mut all).unwrap();
        let sums: Vec<_> = all.iter().map(|(m, d)| (*m, d.n, d.sum)).collect();
        assert_eq!(
            sums,
            [
                (Metric::FirstMessage, 1, 900.0),
                (Metric::Open, 1, 100.0),
                (Metric::Match, 1, 400.0),
                (Metric::FirstDelivery, 1, 400.0)
            ]
        );
    }
}
