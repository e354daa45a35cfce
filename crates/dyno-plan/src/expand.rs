//! From matrices to experiments: every cell on every stack, on its CPUs, or why it cannot be measured.

use crate::cell::Cell;
use crate::configured::Configured;
use crate::cpus::{self, Places};
use crate::daemon::missing_daemon;
use crate::fault;
use crate::host::HostFacts;
use crate::matrix::Matrix;
use crate::parallel;
use crate::probe;
use crate::remote;
use crate::together;
use dyno_model::plan::{Experiment, ExperimentId, Refusal, RefusalReason};
use dyno_model::{Stack, Testbed};
use dyno_toml::Problems;

/// Adds the experiments of one of the suite, or of its flows, on one stack.
pub(crate) fn expand(
    flows: &[Matrix<'_>],
    on: &Configured<'_>,
    testbed: &Testbed,
    facts: &HostFacts,
    experiments: &mut Vec<Experiment>,
    refused: &mut Vec<Refusal>,
    problems: &mut Problems,
) {
    let cells: Vec<Vec<Cell>> = flows.iter().map(|m| m.cells(&on.stack.waits)).collect();
    let most = cells.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..most {
        // Flows have their factors in common, and so cells of the same number; but for what a flag says.
        let cell = |of: &Vec<Cell>| of.get(number).or(of.last()).copied();
        let together: Vec<Cell> = cells.iter().filter_map(cell).collect();
        let mut refusals = flows.iter().zip(&together);
        let reason = refusals.find_map(|(m, cell)| {
            Some(together::of_flow(m, refusal(m, cell, on, testbed, facts)?))
        });
        let reason = reason.or_else(|| match flows {
            [alone] if alone.flow.is_none() => None,
            _ => {
                let most = on
                    .adapters
                    .first()
                    .and_then(|a| a.capabilities.max_receivers);
                together::refusal(flows, &together, &on.stack, most)
            }
        });
        let from = experiments.len();
        if reason.is_none() {
            place(flows, &together, on, testbed, facts, experiments, problems);
        }
        let mut placed = experiments[from..].iter();
        let later = placed.find_map(|e| {
            too_few_channels(e, &on.stack, testbed)
                .or_else(|| fault::refusal(e, &on.stack, testbed))
        });
        if let (Some(reason), [first, ..], [cell, ..]) =
            (reason.or(later), flows, together.as_slice())
        {
            experiments.truncate(from);
            refused.push(Refusal {
                experiment: first.name.to_owned(),
                stack: on.stack.name.clone(),
                factors: match first.flow {
                    Some(_) => format!("{} flows, {}, {}", flows.len(), cell.wait, cell.access),
                    None => factors(first, cell),
                },
                reason,
            });
        }
    }
}

/// The factors of a cell with its faults, as tables print them.
fn factors(matrix: &Matrix<'_>, cell: &Cell) -> String {
    let faults = fault::scenario(matrix.faults, cell.scenario);
    let faults = faults.iter().map(ToString::to_string);
    let all: Vec<String> = std::iter::once(cell.factors()).chain(faults).collect();
    all.join(", ")
}

/// Why a cell cannot be measured on a stack, or `None` if it can.
fn refusal(
    matrix: &Matrix<'_>,
    cell: &Cell,
    on: &Configured<'_>,
    testbed: &Testbed,
    facts: &HostFacts,
) -> Option<RefusalReason> {
    let conditions = &matrix.conditions;
    let given = &conditions.cpus.value;
    remote::no_host(matrix, testbed)
        .or_else(|| probe::refusal(cell, &on.stack, conditions.common.window, given, facts))
        .or_else(|| on.refusal(cell, testbed.hosts.len()))
        .or_else(|| match matrix.flow {
            Some(_) => None,
            None => parallel::refusal(cell, &on.stack, given, facts),
        })
        .or_else(|| on.cannot_poll(cell, conditions.common.echo_poll))
        .or_else(|| on.cannot_pause(cell, conditions.common.sink_pause))
        .or_else(|| on.cannot_cycle(cell, &conditions.common))
        .or_else(|| remote::lacks_memory(cell, &on.stack, testbed))
        .or_else(|| remote::no_start(cell, on, conditions, testbed))
        .or_else(|| remote::refusal(&on.stack, testbed, facts))
        .or_else(|| missing_daemon(&on.stack, facts))
}

/// Adds the experiments of cells that can be measured, on their CPUs: of one, or of flows that run at the same time.
fn place(
    flows: &[Matrix<'_>],
    cells: &[Cell],
    on: &Configured<'_>,
    testbed: &Testbed,
    facts: &HostFacts,
    experiments: &mut Vec<Experiment>,
    problems: &mut Problems,
) {
    // The number of cells is bounded by MOST_CELLS.
    let group = ExperimentId(experiments.len() as u32);
    let given = flows.first().map(|first| &first.conditions.cpus.value);
    let processes = flows.iter().find_map(|m| Some(m.flow?.processes));
    let mut of_flows = match (given, processes) {
        (Some(given), Some(processes)) => {
            together::places(given, flows, cells, &on.stack, processes, testbed, facts)
        }
        _ => Vec::new(),
    }
    .into_iter();
    for (matrix, cell) in flows.iter().zip(cells) {
        let conditions = &matrix.conditions;
        let (cell, probed) = probe::placed(*cell, &conditions.cpus.value, facts);
        let places = match (of_flows.next(), matrix.is_probe()) {
            (Some(places), _) => places,
            (None, true) => Places {
                cpus: probed,
                ..Places::default()
            },
            (None, false) => cpus::places(matrix, &cell, &on.stack, testbed, facts, problems),
        };
        experiments.push(Experiment {
            id: ExperimentId(experiments.len() as u32),
            stack: on.stack.name.clone(),
            workload: cell.workload,
            payload: cell.payload,
            wait: cell.wait,
            access: cell.access,
            placement: cell.placement,
            topology: cell.topology,
            cpus: places.cpus,
            library_cpus: places.library_cpus,
            daemon_cpus: places.daemon_cpus,
            scheduling: cell.scheduling,
            on_host: remote::index(conditions.host, testbed).unwrap_or_default(),
            paired: on.is_paired(&cell),
            faults: fault::scenario(matrix.faults, cell.scenario),
            flow: matrix
                .flow
                .map(|spec| together::settled(spec, cell.payload, group)),
            ..conditions.common.clone()
        });
    }
}

/// Why the stack's files leave the experiment without a channel, or `None` where there are enough.
fn too_few_channels(e: &Experiment, stack: &Stack, testbed: &Testbed) -> Option<RefusalReason> {
    let most = usize::from(stack.channels?);
    let channels = e.graph(Some(stack), testbed).channels.len();
    (channels > most).then(|| RefusalReason::StackChannels {
        stack: stack.name.clone(),
        channels,
        most,
    })
}
