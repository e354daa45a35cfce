//! What each of several exchanges at once found.

use super::counts::{delivering, throughput, unrecorded};
use crate::startup;
use dyno_measure::merge;
use dyno_measure::record::decode;
use dyno_model::cause::FailureCause;
use dyno_model::protocol::{AgentResult, SourceCounts, Startup};
use dyno_model::record::{CopyRecord, FlowCounts};
use dyno_model::{Distribution, Experiment, Graph, Metric, Nanos};
use std::collections::BTreeMap;

/// What the agents of one exchange found.
#[derive(Default)]
struct Exchange {
    distributions: BTreeMap<Metric, Distribution>,
    flows: Vec<FlowCounts>,
    sources: Vec<SourceCounts>,
    startups: Vec<Startup>,
}

/// A record for each exchange, in their order; none where there is one exchange alone.
pub(super) fn each(
    experiment: &Experiment,
    graph: &Graph,
    results: &[AgentResult],
) -> Result<Vec<CopyRecord>, FailureCause> {
    if experiment.topology.copies == 1 {
        return Ok(Vec::new());
    }
    let mut all: BTreeMap<u16, Exchange> = BTreeMap::new();
    for result in results {
        let exchange = all.entry(result.exchange).or_default();
        for (metric, distribution) in &result.distributions {
            let both = match exchange.distributions.remove(metric) {
                None => distribution.clone(),
                Some(other) => merge(other, distribution.clone()).map_err(unrecorded)?,
            };
            exchange.distributions.insert(*metric, both);
        }
        exchange.flows.extend(&result.flows);
        exchange.sources.extend(result.sources.iter().cloned());
        exchange.startups.extend(result.startup.iter().cloned());
    }
    all.into_iter()
        .map(|(number, exchange)| record(experiment, graph, number, exchange))
        .collect()
}

fn record(
    experiment: &Experiment,
    graph: &Graph,
    number: u16,
    mut found: Exchange,
) -> Result<CopyRecord, FailureCause> {
    startup::add(&found.startups, &mut found.distributions).map_err(unrecorded)?;
    let mut cpus: Vec<u32> = Vec::new();
    for participant in graph.participants.iter().filter(|p| p.exchange == number) {
        cpus.extend(participant.cpu.filter(|cpu| !cpus.contains(cpu)));
    }
    let rates = throughput(experiment, graph, &found.sources, &found.flows);
    let headline = experiment.workload.kind().info().headline.iter();
    let times = headline
        .filter_map(|m| found.distributions.remove(m))
        .next();
    let times = times.unwrap_or_default();
    Ok(CopyRecord {
        cpus,
        n: times.n,
        mean_ns: match times.n {
            0 => 0.0,
            n => times.sum / n as f64,
        },
        p50: quantile(&times, 0.5)?,
        p99: quantile(&times, 0.99)?,
        max: Nanos(times.max),
        done: delivering(graph, &found.flows).map(|f| f.received).sum(),
        missed: times.infinite,
        bytes_per_s: Some(rates.delivered_bytes_per_s),
        ..CopyRecord::default()
    })
}

/// The nearest rank among all samples; what was lost is later than any of them.
fn quantile(times: &Distribution, q: f64) -> Result<Nanos, FailureCause> {
    let all = times.n + times.infinite;
    let rank = (q * all as f64).ceil().max(1.0);
    if times.n == 0 || rank > times.n as f64 {
        return Ok(Nanos::MAX);
    }
    let finite = decode(&times.total).map_err(unrecorded)?;
    Ok(Nanos(finite.value_at_quantile(rank / times.n as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_measure::Recorder;

    #[test]
    fn what_was_lost_is_later_than_anything_that_arrived() {
        let mut recorder = Recorder::by_count(1, 10);
        for i in 1..=9 {
            recorder.record(Nanos(i), Nanos(i * 10));
        }
        let arrived = recorder.finish(0).unwrap();
        let of = |infinite| Distribution {
            infinite,
            ..arrived.clone()
        };
        let both = |d: &Distribution| [0.5, 0.99].map(|q| quantile(d, q).unwrap());
        assert_eq!(both(&of(0)), [Nanos(50), Nanos(90)]);
        assert_eq!(both(&of(3)), [Nanos(60), Nanos::MAX]);
        assert_eq!(both(&of(20)), [Nanos::MAX; 2]);
        assert_eq!(both(&Distribution::default()), [Nanos::MAX; 2]);
    }
}
