//! Flows that run at the same time: whether a stack can carry them, who runs where, and what each becomes in the plan.

use crate::cell::Cell;
use crate::cpus::{Places, automatic, spins};
use crate::flow::{FlowSpec, Reads};
use crate::host::HostFacts;
use crate::matrix::Matrix;
use crate::sets::Cpus;
use dyno_model::graph::Shape;
use dyno_model::plan::RefusalReason;
use dyno_model::unit::{Nanos, PayloadSize};
use dyno_model::{
    Experiment, ExperimentId, Flow, Graph, Participant, Phase, Processes, Stack, Testbed, Wait,
};
use dyno_toml::{Place, Problem};

/// What the flow reads of another one, if it does.
fn reads<'a>(matrix: &Matrix<'a>) -> Option<&'a Reads> {
    matrix.flow.and_then(|flow| flow.reads.as_ref())
}

/// Why these flows cannot run at the same time on `stack`, whose channels have at most so many receivers, or `None` if they can.
pub(crate) fn refusal(
    flows: &[Matrix<'_>],
    cells: &[Cell],
    stack: &Stack,
    max_receivers: Option<u16>,
) -> Option<RefusalReason> {
    if stack.chain.is_some() {
        return Some(RefusalReason::FlowsOverLegs);
    }
    for (number, (matrix, cell)) in flows.iter().zip(cells).enumerate() {
        let others = flows.iter().filter_map(reads).filter(|r| r.place == number);
        let others: u16 = others.map(|r| r.readers).sum();
        let receivers = cell.topology.receivers + others;
        let most = max_receivers.filter(|most| others > 0 && receivers > *most);
        if let (Some(most), Some(flow)) = (most, matrix.flow) {
            return Some(RefusalReason::FlowReceivers {
                stack: stack.name.clone(),
                flow: flow.name.value.clone(),
                receivers,
                most,
            });
        }
    }
    if stack.loopback && flows.iter().any(|m| reads(m).is_some()) {
        return Some(RefusalReason::NoReader {
            stack: stack.name.clone(),
        });
    }
    let of = |(matrix, cell): (&Matrix<'_>, &Cell)| {
        if reads(matrix).is_some() {
            return 0;
        }
        let t = cell.topology;
        let back = match cell.workload.kind().is_closed_loop() && !stack.loopback {
            true => usize::from(t.receivers),
            false => 0,
        };
        usize::from(t.copies) * usize::from(t.senders) * (1 + back)
    };
    let channels: usize = flows.iter().zip(cells).map(of).sum();
    let most = stack.channels.unwrap_or(u16::MAX);
    (channels > usize::from(most)).then(|| RefusalReason::FlowChannels {
        stack: stack.channels.map(|_| stack.name.clone()),
        channels,
        most,
    })
}

/// Who of these cells, which are flows that run at the same time, runs where; one for each of them.
pub(crate) fn places(
    cpus: &Cpus,
    flows: &[Matrix<'_>],
    cells: &[Cell],
    stack: &Stack,
    processes: Processes,
    testbed: &Testbed,
    facts: &HostFacts,
) -> Vec<Places> {
    let shape = |(matrix, cell): (&Matrix<'_>, &Cell)| {
        let shape = Shape {
            workload: cell.workload.kind(),
            topology: cell.topology,
            placement: cell.placement,
            loopback: stack.loopback,
            legs: &[],
            foreign: &[],
        };
        (shape, reads(matrix).map(|reads| reads.place))
    };
    let shapes: Vec<_> = flows.iter().zip(cells).map(shape).collect();
    let Cpus::Auto = cpus else {
        return cells.iter().map(|_| Places::default()).collect();
    };
    let graph = Graph::of_flows(&shapes, processes, testbed);
    let is_busy = |p: &Participant| {
        let flow = usize::from(p.flow);
        let both = cells.get(flow).zip(flows.get(flow));
        both.is_some_and(|(cell, flow)| {
            let pacer = flow.conditions.common.pacer;
            spins(cell, pacer, p, cell.wait == Wait::Spin)
        })
    };
    let spinning: Vec<bool> = graph.participants.iter().map(is_busy).collect();
    let all = automatic(facts, &spinning);
    let of = |flow: usize| {
        let own = graph
            .participants
            .iter()
            .filter(|p| usize::from(p.flow) == flow);
        let own: Vec<usize> = own.map(|p| usize::from(p.index)).collect();
        Places {
            cpus: own
                .iter()
                .filter_map(|i| all.cpus.get(*i).copied())
                .collect(),
            library_cpus: own
                .iter()
                .filter_map(|i| all.library_cpus.get(*i).cloned())
                .collect(),
            daemon_cpus: all.daemon_cpus.clone(),
        }
    };
    (0..cells.len()).map(of).collect()
}

/// The flow that the reason is of, if it is one.
pub(crate) fn of_flow(matrix: &Matrix<'_>, reason: RefusalReason) -> RefusalReason {
    match matrix.flow {
        Some(flow) => RefusalReason::Flow {
            flow: flow.name.value.clone(),
            why: Box::new(reason),
        },
        None => reason,
    }
}

/// What an experiment with that payload is as a flow, where the first of its group has that number.
pub(crate) fn settled(spec: &FlowSpec, payload: PayloadSize, group: ExperimentId) -> Flow {
    Flow {
        name: spec.name.value.clone(),
        group,
        processes: spec.processes,
        jitter: spec.jitter.as_ref().map_or(Nanos::ZERO, |j| j.value),
        phase: spec.phase.as_ref().map_or_else(Phase::default, |p| p.value),
        // A preset's size stands in the place of all.
        sizes: spec.sizes.clone().filter(|s| s.most() == Some(payload)),
        reads: spec.reads.as_ref().map(|reads| reads.of.clone()),
        alone: None,
        by_itself: false,
    }
}

/// The flow of the same group that an experiment reads.
fn read_by(experiments: &[Experiment], reader: usize) -> Option<&Experiment> {
    let flow = experiments[reader].flow.as_ref()?;
    let read = flow.reads.as_deref()?;
    let is_it = |e: &&Experiment| {
        e.flow_name() == Some(read) && e.flow.as_ref().is_some_and(|f| f.group == flow.group)
    };
    experiments.iter().find(is_it)
}

/// What each participant has, copy by copy: the senders of a flow with so many receivers, and then so many readers.
fn with_senders<T: Clone>(
    of_read: &[T],
    senders: usize,
    receivers: usize,
    of_readers: &[T],
    readers: usize,
) -> Vec<T> {
    let copies = of_read.chunks(senders + receivers);
    let copies = copies.zip(of_readers.chunks(readers.max(1)));
    let one = |(read, own): (&[T], &[T])| [read.get(..senders).unwrap_or_default(), own].concat();
    copies.flat_map(one).collect()
}

/// `--alone`: adds each flow by itself, to be measured in the same rounds.
///
/// # Errors
///
/// Where no experiment has flows.
pub(crate) fn add_alone(experiments: &mut Vec<Experiment>) -> Result<(), Problem> {
    for i in 0..experiments.len() {
        let read = read_by(experiments, i).cloned();
        // At most one more for each of MOST_CELLS experiments.
        let id = ExperimentId(experiments.len() as u32);
        let mut alone = experiments[i].clone();
        let Some(flow) = alone.flow.as_mut().filter(|_| !experiments[i].added) else {
            continue;
        };
        flow.group = id;
        flow.by_itself = true;
        // Then it has senders, on the CPUs of those that it reads beside the others.
        flow.reads = None;
        if let Some(read) = read {
            let [s, r] = [alone.topology.senders, read.topology.receivers].map(usize::from);
            let own = usize::from(alone.topology.receivers);
            alone.cpus = with_senders(&read.cpus, s, r, &alone.cpus, own);
            let libraries = with_senders(&read.library_cpus, s, r, &alone.library_cpus, own);
            alone.library_cpus = libraries;
        }
        alone.id = id;
        alone.added = true;
        experiments.push(alone);
        if let Some(flow) = &mut experiments[i].flow {
            flow.alone = Some(id);
        }
    }
    if experiments.iter().any(|e| e.flow.is_some()) {
        return Ok(());
    }
    let place = Place::flag("--alone", "");
    Err(Problem::at(&place, "no experiment of this run has flows")
        .label("everything is alone")
        .help("write [[experiment.flow]] in the suite, or leave --alone out"))
}
