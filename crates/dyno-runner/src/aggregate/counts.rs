//! What arrived, in which number and at which rates, and whether it fits what was sent.

use dyno_model::cause::FailureCause;
use dyno_model::plan::Extent;
use dyno_model::protocol::SourceCounts;
use dyno_model::record::{Counts, FlowCounts, Throughput};
use dyno_model::{Experiment, Graph, Metric, Nanos, TrialRecord};

/// What was measured cannot be put together.
pub(super) fn unrecorded(error: impl ToString) -> FailureCause {
    let error = error.to_string();
    FailureCause::Record { error }
}

/// The flows that count deliveries.
pub(super) fn delivering<'a>(
    graph: &'a Graph,
    flows: &'a [FlowCounts],
) -> impl Iterator<Item = &'a FlowCounts> {
    flows.iter().filter(|f| {
        let receiver = graph.participant(f.receiver);
        receiver.is_some_and(|p| p.role.is_destination())
    })
}

pub(super) fn counts(
    graph: &Graph,
    flow: u16,
    sources: &[SourceCounts],
    flows: &[FlowCounts],
) -> Counts {
    let mut counts = Counts::default();
    for s in sources {
        let times = graph.deliveries(s.channel, flow);
        counts.offered += s.offered * times;
        counts.sent += s.sent * times;
        counts.refused += s.refused * times;
        counts.late += s.late * times;
    }
    counts.received = delivering(graph, flows).map(|f| f.received).sum();
    counts.lost = counts.offered.saturating_sub(counts.received);
    counts.in_window = delivering(graph, flows).map(|f| f.in_window).sum();
    counts.under_way = delivering(graph, flows).map(|f| f.under_way).sum();
    for f in flows {
        counts.duplicated += f.duplicated;
        counts.reordered += f.reordered;
        counts.corrupted += f.corrupted;
        counts.truncated += f.truncated;
    }
    counts
}

pub(super) fn consistent(
    graph: &Graph,
    sources: &[SourceCounts],
    record: &TrialRecord,
) -> Result<(), FailureCause> {
    for f in delivering(graph, &record.flows) {
        let Some(source) = sources.iter().find(|s| s.channel == f.channel) else {
            let channel = f.channel;
            return Err(FailureCause::NoSender { channel });
        };
        if f.received > source.offered {
            return Err(FailureCause::MoreThanOffered {
                receiver: f.receiver,
                received: f.received,
                channel: f.channel,
                offered: source.offered,
            });
        }
    }
    let of_each_message = |m: &Metric| m.info().of_each_message;
    for (metric, d) in &record.distributions {
        if !of_each_message(metric) {
            continue;
        }
        if d.n != record.counts.received || d.infinite != record.counts.lost {
            return Err(FailureCause::CountsDiffer {
                metric: *metric,
                samples: d.n,
                infinite: d.infinite,
                received: record.counts.received,
                lost: record.counts.lost,
            });
        }
    }
    Ok(())
}

pub(super) fn throughput(
    experiment: &Experiment,
    graph: &Graph,
    sources: &[SourceCounts],
    flows: &[FlowCounts],
) -> Throughput {
    let first = sources
        .iter()
        .map(|s| s.first)
        .filter(|t| *t > Nanos::ZERO)
        .min();
    let (Some(first), Some(last)) = (first, sources.iter().map(|s| s.last).max()) else {
        return Throughput::default();
    };
    // The window that flows have in common may be longer than from the first message of one to its last.
    let common = match (experiment.window, &experiment.flow) {
        (Extent::Duration(d), Some(_)) => d.as_secs_f64(),
        _ => 0.0,
    };
    // A side that takes turns counts messages in its part of the window alone.
    let own = experiment.slices.map_or(1.0, |s| s.counting_share());
    let sending = last.saturating_sub(first).as_secs_f64().max(common) * own;
    // Due messages are due within the window, however late they were sent.
    let due = match (
        experiment.window,
        experiment.workload.kind().info().has_due_times,
    ) {
        (Extent::Duration(d), true) => d.as_secs_f64(),
        (Extent::Duration(_), false) | (Extent::Messages(_), _) => sending,
    };
    let arrived = delivering(graph, flows)
        .map(|f| f.last)
        .max()
        .unwrap_or(first);
    let receiving = arrived.max(last).saturating_sub(first).as_secs_f64();
    let receiving = receiving.max(common) * own;
    let per = |n: u64, seconds: f64| {
        if seconds > 0.0 {
            n as f64 / seconds
        } else {
            0.0
        }
    };
    let in_window: Option<u64> = delivering(graph, flows).map(|f| f.in_window).sum();
    let window = experiment.paced_window();
    let blocked: u64 = sources.iter().map(|s| s.blocked.0).sum();
    Throughput {
        offered_hz: per(sources.iter().map(|s| s.offered).sum(), due),
        sent_hz: per(sources.iter().map(|s| s.sent).sum(), sending),
        delivered_hz: per(
            delivering(graph, flows).map(|f| f.received).sum(),
            receiving,
        ),
        delivered_bytes_per_s: per(delivering(graph, flows).map(|f| f.bytes).sum(), receiving),
        blocked_share: per(blocked, sending * sources.len() as f64 * 1e9),
        blocked_above: sources
            .iter()
            .map(|s| s.blocked_above)
            .reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)))
            .flatten(),
        in_window_hz: in_window
            .zip(window)
            .map(|(n, window)| per(n, window.as_secs_f64())),
        reads_hz: None,
    }
}
