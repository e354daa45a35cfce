//! Puts the agents' results together into a trial's record, and checks that they fit each other.

mod copies;
mod counts;

use crate::noise::used_cpus;
use crate::parts;
use crate::startup;
use counts::{consistent, counts, delivering, throughput, unrecorded};
use dyno_measure::{RecordError, merge_all};
use dyno_model::asked::AskedPerMessage;
use dyno_model::cause::{Cause, FailureCause};
use dyno_model::protocol::{AgentResult, SourceCounts};
use dyno_model::record::{Cost, Outcome};
use dyno_model::{Experiment, Graph, Metric, Nanos, TrialFigure, TrialId, TrialRecord};
use std::time::{SystemTime, UNIX_EPOCH};

/// The record of a trial that begins now.
pub(crate) fn blank(id: TrialId, position: u32) -> TrialRecord {
    let started = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    TrialRecord {
        started_unix_ms: u64::try_from(started.as_millis()).unwrap_or(u64::MAX),
        ..TrialRecord::blank(id, position, Outcome::Completed)
    }
}

/// The records of a trial of that graph, one for each of its flows in their order; `trial` has what is of all of them.
/// `sends_later`: of the stack. `agents`: how many of them must tell what they used; where one does not, or the number is
/// missing since the runner cannot tell of the daemons, the trial has no costs: those of some processes would pass for
/// those of all. On contradiction: which.
pub(crate) fn fill(
    trial: &TrialRecord,
    flows: &[&Experiment],
    graph: &Graph,
    sends_later: bool,
    agents: Option<usize>,
    results: Vec<AgentResult>,
) -> Result<Vec<TrialRecord>, FailureCause> {
    let of_exchange = graph.flows();
    let mut cost = trial.cost.clone();
    let mut by_flow: Vec<Vec<AgentResult>> = flows.iter().map(|_| Vec::new()).collect();
    let mut told = 0;
    for mut result in results {
        told += usize::from(result.cost.is_some());
        cost.processes.extend(result.cost.take());
        let flow = of_exchange.get(usize::from(result.exchange));
        let flow = flow.and_then(|flow| by_flow.get_mut(usize::from(*flow)));
        let flow = flow.ok_or(FailureCause::NoExchange {
            exchange: result.exchange,
        })?;
        flow.push(result);
    }
    lend_sources(flows, &of_exchange, &mut by_flow);
    cost.processes.sort_by_key(|p| p.daemon);
    if agents != Some(told) {
        (cost.processes, cost.machines, cost.host_cpu) = Default::default();
        cost.interrupts.clear();
    }
    let mut records = Vec::new();
    let (mut messages, mut lead_in) = (0, 0);
    for ((experiment, results), flow) in flows.iter().zip(by_flow).zip(0..) {
        let mut record = trial.clone();
        record.id.experiment = experiment.id;
        fill_one(&mut record, experiment, flow, graph, sends_later, results)?;
        // What a probe spends before its window is not told from what its pieces take.
        if experiment.workload.kind().has_messages() {
            messages += record.counts.received;
            lead_in += delivering(graph, &record.flows)
                .map(|f| f.lead_in)
                .sum::<u64>();
        }
        records.push(record);
    }
    // The processes work for all flows: what they use is shared among all messages.
    finish_cost(&mut cost, messages, lead_in, &used_cpus(flows));
    for record in &mut records {
        record.cost = cost.clone();
        add_idle_cpu(record).map_err(unrecorded)?;
    }
    Ok(records)
}

/// What each participant of an idle trial takes of a CPU in a second; nothing where the costs are not known.
fn add_idle_cpu(record: &mut TrialRecord) -> Result<(), RecordError> {
    let Some(each) = TrialFigure::CpuEach.of(record) else {
        return Ok(());
    };
    let each = Nanos(each.round() as u64);
    startup::one_or_never(Metric::IdleCpu, Some(each), &mut record.distributions)
}

/// Gives each flow that reads what another one sends what that one's senders tell.
fn lend_sources(flows: &[&Experiment], of_exchange: &[u16], by_flow: &mut [Vec<AgentResult>]) {
    let exchanges = |flow: usize| {
        let all = (0..).zip(of_exchange);
        all.filter(move |(_, of)| usize::from(**of) == flow)
            .map(|(exchange, _): (u16, _)| exchange)
    };
    for (own, experiment) in flows.iter().enumerate() {
        let reads = experiment.flow.as_ref().and_then(|f| f.reads.as_ref());
        let named = |e: &&Experiment| e.flow_name() == reads.map(String::as_str);
        let Some(read) = reads.and_then(|_| flows.iter().position(named)) else {
            continue;
        };
        for (lender, exchange) in exchanges(read).zip(exchanges(own)) {
            let of_lender = by_flow[read].iter().filter(|r| r.exchange == lender);
            let sources = of_lender.flat_map(|r| r.sources.clone()).collect();
            by_flow[own].push(AgentResult {
                exchange,
                sources,
                ..AgentResult::default()
            });
        }
    }
}

fn fill_one(
    record: &mut TrialRecord,
    experiment: &Experiment,
    flow: u16,
    graph: &Graph,
    sends_later: bool,
    results: Vec<AgentResult>,
) -> Result<(), FailureCause> {
    let mut sources: Vec<SourceCounts> = Vec::new();
    let mut startups = Vec::new();
    let copies = copies::each(experiment, graph, &results)?;
    record.copies.extend(copies);
    let (mut passages, mut stalls) = (Vec::new(), Vec::new());
    for result in results {
        let merged = merge_all(&mut record.distributions, result.distributions);
        merged.map_err(unrecorded)?;
        record.flows.extend(result.flows);
        record.raw.extend(result.raw);
        record
            .warnings
            .extend(result.warnings.into_iter().map(Cause::Known));
        record.places.extend(result.places);
        record.copies.extend(result.copies);
        record.forwarded.extend(result.forwarded);
        passages.extend(result.passages);
        stalls.extend(result.stalls);
        record.open = record.open.max(result.open);
        record.matching = record.matching.max(result.matching);
        sources.extend(result.sources);
        startups.extend(result.startup);
    }
    record.parts = parts::parts(graph, &passages, &stalls);
    startup::add(&startups, &mut record.distributions).map_err(unrecorded)?;
    record.places.sort_by_key(|p| (p.since, p.participant));
    record.raw.sort_by_key(|s| s.arrival);
    record.raw.truncate(experiment.raw_samples as usize);
    record.counts = counts(graph, flow, &sources, &record.flows);
    consistent(graph, &sources, record)?;
    record.throughput = throughput(experiment, graph, &sources, &record.flows);
    let reads = record.distributions.get(&Metric::Read).map(|d| d.n);
    let window = experiment.known_window().filter(|w| *w > Nanos::ZERO);
    let per_second = |(n, window): (u64, Nanos)| n as f64 / window.as_secs_f64();
    record.throughput.reads_hz = reads.zip(window).map(per_second);
    if sends_later {
        record.throughput.blocked_share = 0.0;
        record.throughput.blocked_above = None;
    }
    Ok(())
}

/// What was used is shared among the messages that arrived meanwhile, which are those of the window and, before
/// them, the warm-up's last. `cpus` are those of the trial: interrupts of its messages are in nobody's time where the
/// kernel counts them apart.
fn finish_cost(cost: &mut Cost, received: u64, lead_in: u64, cpus: &[u32]) {
    let sum = |of: fn(&dyno_model::record::ProcessCost) -> u64| {
        cost.processes.iter().map(of).sum::<u64>()
    };
    cost.cpu = Nanos(sum(|p| (p.user.0 + p.system.0).saturating_sub(p.pacing.0)));
    // Told in ticks, which err as often up as down: a trial with little of it scatters.
    let here = cost.interrupts.iter().filter(|i| cpus.contains(&i.cpu));
    cost.cpu.0 += here.map(|i| i.irq.0 + i.softirq.0).sum::<u64>();
    cost.pss_bytes = sum(|p| p.pss_bytes);
    cost.peak_rss_bytes = sum(|p| p.peak_rss_bytes);
    let switches = sum(|p| p.voluntary_switches + p.involuntary_switches);
    if received > 0 && !cost.processes.is_empty() {
        let messages = (received + lead_in) as f64;
        cost.cpu_ns_per_message = Some(cost.cpu.0 as f64 / messages);
        let pacing = sum(|p| p.pacing.0);
        let without_pacing = |cpu: Nanos| cpu.0.saturating_sub(pacing) as f64 / messages;
        cost.host_cpu_ns_per_message = cost.host_cpu.map(without_pacing);
        cost.switches_per_message = Some(switches as f64 / messages);
        let agents = cost.processes.iter().filter(|p| !p.daemon);
        cost.asked_per_message = AskedPerMessage::of(agents.map(|p| p.asked), received + lead_in);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::record::{CpuInterrupts, ProcessCost};

    #[test]
    fn idle_cpu_is_that_of_all_processes_for_each_participant_and_second() {
        let id = TrialId {
            experiment: dyno_model::ExperimentId(0),
            number: 0,
        };
        let mut record = blank(id, 0);
        let process = |ms, seconds| ProcessCost {
            user: Nanos::from_millis(ms),
            wall: Nanos::from_secs(seconds),
            ..ProcessCost::default()
        };
        record.cost.processes = vec![process(30, 10), process(10, 5)];
        add_idle_cpu(&mut record).unwrap();
        assert!(record.distributions.is_empty(), "messages were sent");
        record.idle = Some(dyno_model::Idle {
            participants: 5,
            ..dyno_model::Idle::default()
        });
        add_idle_cpu(&mut record).unwrap();
        let found = &record.distributions[&Metric::IdleCpu];
        assert_eq!((found.n, found.sum), (1, 1_000_000.0));
    }

    #[test]
    fn interrupts_on_the_trials_cpus_are_part_of_what_a_message_costs() {
        let cost = |cpu_ms| {
            let on = |cpu, ms| CpuInterrupts {
                cpu,
                irq: Nanos::from_millis(ms),
                softirq: Nanos::from_millis(10 * ms),
            };
            let mut cost = Cost {
                processes: vec![ProcessCost {
                    user: Nanos::from_millis(cpu_ms),
                    ..ProcessCost::default()
                }],
                interrupts: vec![on(0, 10), on(1, 20), on(7, 500)],
                ..Cost::default()
            };
            finish_cost(&mut cost, 900, 100, &[0, 1]);
            cost.cpu_ns_per_message
        };
        assert_eq!(cost(400), Some(730_000.0));
        // No length of a trial leaves them out.
        assert_eq!(cost(190), Some(520_000.0));
    }
}
