//! Probes: from the keys of a suite to what is measured, and on which CPUs.

use crate::cell::Cell;
use crate::host::HostFacts;
use crate::parallel::Parallel;
use crate::quantity::{At, Span};
use crate::sets::Cpus;
use crate::settings::Levels;
use crate::spec::ExperimentSpec;
use dyno_model::plan::{Extent, RefusalReason, Scheduling};
use dyno_model::probe::{GROUND, HandOver, Probe, ProbeKind, Rest, SHORTEST_PERIOD, Sides, Writer};
use dyno_model::unit::{Nanos, PayloadSize};
use dyno_model::{Placement, Stack, Wait, Workload};
use dyno_toml::{Problem, Problems, suggest};
use std::str::FromStr;

/// Stands for [`Parallel::EachCpu`] until the machine is known.
const EACH_CPU: u32 = 0;
/// 10 kHz.
const PERIOD: Nanos = Nanos::from_micros(100);
/// Threads of a `share` where nobody says.
const THREADS: u32 = 2;

/// Every probe that an experiment asks for.
pub(crate) fn workloads(
    levels: &Levels<'_>,
    spec: &ExperimentSpec,
    payloads: &[At<PayloadSize>],
    problems: &mut Problems,
) -> Option<Vec<Workload>> {
    let Some(kinds) = levels.pick(|s| &s.probe) else {
        let words: Vec<&str> = ProbeKind::ALL.iter().map(|k| k.as_str()).collect();
        return Problem::at(
            &spec.workload.at,
            format!("the probe `{}` has no `probe`", spec.name),
        )
        .label("needs `probe`")
        .help(format!("write one of {}", words.join(", ")))
        .refuse(problems);
    };
    let mut all = Vec::new();
    for kind in kinds.iter().map(|k| k.value) {
        for way in ways(levels, kind, problems)? {
            let probes = probes(levels, kind, way, payloads, problems)?;
            let spans = choices(levels.pick(|s| &s.on), Span(1));
            let copies = choices(levels.pick(|s| &s.parallel), Parallel::Copies(1));
            for probe in probes {
                let spans: &[Span] = match kind {
                    ProbeKind::Switch => &spans,
                    ProbeKind::Ipi => &[Span(2)],
                    ProbeKind::Copy if way == Writer::Other.as_str() => &[Span(2)],
                    _ => &[Span(1)],
                };
                for &Span(each) in spans {
                    all.extend(copies.iter().map(|copies| Workload::Probe {
                        probe,
                        each,
                        copies: match copies {
                            Parallel::EachCpu => EACH_CPU,
                            Parallel::Copies(n) => u32::from(*n),
                        },
                    }));
                }
            }
        }
    }
    Some(all)
}

/// What the key says, or what holds where it says nothing.
pub(crate) fn choices<T: Clone>(said: Option<&Vec<At<T>>>, default: T) -> Vec<T> {
    said.map_or(vec![default], |all| {
        all.iter().map(|v| v.value.clone()).collect()
    })
}

/// The ways that `by` names for the kind; its first where it names none.
fn ways<'a>(levels: &Levels<'a>, kind: ProbeKind, problems: &mut Problems) -> Option<Vec<&'a str>> {
    let known = kind.ways();
    let Some(said) = levels.pick(|s| &s.by) else {
        return Some(vec![known.first().copied().unwrap_or_default()]);
    };
    if known.is_empty() {
        let at = &said.first()?.at;
        return Problem::at(at, format!("a {kind} has no `by`"))
            .label("there is nothing to choose")
            .refuse(problems);
    }
    let mut good = Some(Vec::new());
    for way in said {
        match known.iter().find(|k| **k == way.value.0) {
            Some(_) => {
                good = good.map(|mut g| {
                    g.push(way.value.0.as_str());
                    g
                })
            }
            None => {
                Problem::at(&way.at, format!("there is no {kind} by {:?}", way.value.0))
                    .label("unknown way")
                    .help(suggest::instead(
                        &way.value.0,
                        "ways",
                        known.iter().copied(),
                    ))
                    .note(problems);
                good = None;
            }
        }
    }
    good
}

/// The probes of one kind and way, one for each of the kind's own factors.
fn probes(
    levels: &Levels<'_>,
    kind: ProbeKind,
    way: &str,
    payloads: &[At<PayloadSize>],
    problems: &mut Problems,
) -> Option<Vec<Probe>> {
    fn by<T: FromStr>(way: &str) -> Option<T> {
        way.parse().ok()
    }
    Some(match kind {
        ProbeKind::Syscall => {
            let batches = choices(levels.pick(|s| &s.batch), 1);
            let by = by(way)?;
            batches
                .into_iter()
                .map(|batch| Probe::Syscall { by, batch })
                .collect()
        }
        ProbeKind::Switch => {
            let by = by(way)?;
            let sides = choices(levels.pick(|s| &s.sides), Sides::Threads);
            sides
                .into_iter()
                .map(|sides| Probe::Switch { by, sides })
                .collect()
        }
        ProbeKind::Timer => {
            let (by, slack) = (by(way)?, levels.pick(|s| &s.slack).map(|s| s.value));
            let said = levels.pick(|s| &s.period);
            for period in said.into_iter().flatten() {
                if period.value < SHORTEST_PERIOD {
                    Problem::at(
                        &period.at,
                        format!(
                            "a timer every {} is never done before the next",
                            period.value
                        ),
                    )
                    .label("a sleep and a wake-up take longer")
                    .help(format!(
                        "write at least {SHORTEST_PERIOD:?}",
                        SHORTEST_PERIOD = SHORTEST_PERIOD.to_string()
                    ))
                    .note(problems);
                }
            }
            let periods = choices(said, PERIOD);
            periods
                .into_iter()
                .map(|period| Probe::Timer { by, period, slack })
                .collect()
        }
        ProbeKind::Ipi => {
            let by = by(way)?;
            let rests = choices(levels.pick(|s| &s.rest), Rest::Sleeps);
            rests
                .into_iter()
                .map(|rest| Probe::Ipi { by, rest })
                .collect()
        }
        ProbeKind::Copy => {
            let by = by(way)?;
            let bytes = payloads.iter().map(|p| p.value.bytes() as u64);
            bytes.map(|bytes| Probe::Copy { bytes, by }).collect()
        }
        ProbeKind::Share => {
            let threads = choices(levels.pick(|s| &s.threads), THREADS);
            threads
                .into_iter()
                .map(|threads| Probe::Share { threads })
                .collect()
        }
        ProbeKind::Fault => vec![Probe::Fault { by: by(way)? }],
    })
}

/// A cell with the factors that follow from its probe.
pub(crate) fn settled(mut cell: Cell) -> Cell {
    let Workload::Probe { probe, .. } = cell.workload else {
        return cell;
    };
    (cell.wait, cell.placement) = match probe {
        Probe::Switch {
            by: HandOver::Yield,
            sides,
        } => (Wait::Spin, placement(sides)),
        Probe::Switch { sides, .. } => (Wait::Block, placement(sides)),
        Probe::Timer { .. } => (Wait::Block, Placement::Thread),
        Probe::Ipi {
            rest: Rest::Sleeps, ..
        } => (Wait::Block, Placement::Thread),
        Probe::Ipi { .. }
        | Probe::Syscall { .. }
        | Probe::Copy { .. }
        | Probe::Share { .. }
        | Probe::Fault { .. } => (Wait::Spin, Placement::Thread),
    };
    if let Probe::Copy { bytes, .. } = probe
        && let Ok(size) = PayloadSize::new(bytes)
    {
        cell.payload = size;
    }
    cell
}

fn placement(sides: Sides) -> Placement {
    match sides {
        Sides::Threads => Placement::Thread,
        Sides::Processes => Placement::Process,
    }
}

/// Whether a stack named for all experiments is for this one: probes run on the ground alone, and nothing else does.
pub(crate) fn fits(stack: &str, is_probe: bool) -> bool {
    (stack == GROUND) == is_probe
}

/// Why the cell cannot be probed on this machine; `None` where it can, or where it is no probe and the stack is one.
pub(crate) fn refusal(
    cell: &Cell,
    stack: &Stack,
    window: Extent,
    cpus: &Cpus,
    facts: &HostFacts,
) -> Option<RefusalReason> {
    let probe = match cell.workload {
        Workload::Probe { probe, .. } => Some(probe),
        _ => None,
    };
    if !fits(&stack.name, probe.is_some()) {
        return Some(match probe {
            Some(_) => RefusalReason::ProbeOfStack,
            None => RefusalReason::MessagesOfGround,
        });
    }
    let Workload::Probe {
        probe,
        each,
        copies,
    } = cell.workload
    else {
        return None;
    };
    let cpus = candidates(cpus, facts).len();
    let wanted = copies.max(1) as usize * each as usize;
    if wanted > cpus {
        return Some(RefusalReason::ProbeCpus { wanted, cpus });
    }
    if let Probe::Switch {
        by: HandOver::Yield,
        ..
    } = probe
        && each > 1
    {
        return Some(RefusalReason::YieldBetweenCpus);
    }
    if cell.scheduling == Scheduling::Deadline && !matches!(probe, Probe::Timer { .. }) {
        return Some(RefusalReason::DeadlineOfOthers);
    }
    if let (Probe::Share { .. }, Extent::Messages(_)) = (probe, window) {
        return Some(RefusalReason::ShareOfMessages);
    }
    let copies = match copies {
        EACH_CPU => cpus as u64,
        n => u64::from(n),
    };
    if let (Probe::Copy { bytes, .. }, Some(free_bytes)) = (probe, facts.memory_bytes)
        && bytes.saturating_mul(2).saturating_mul(copies) > free_bytes
    {
        return Some(RefusalReason::Buffers {
            copies,
            payload: cell.payload,
            free_bytes,
        });
    }
    None
}

/// The CPUs of the cell's copies, one after the other, and the cell with their number filled in.
pub(crate) fn placed(mut cell: Cell, cpus: &Cpus, facts: &HostFacts) -> (Cell, Vec<u32>) {
    let Workload::Probe { each, copies, .. } = &mut cell.workload else {
        return (cell, Vec::new());
    };
    let mut all = candidates(cpus, facts);
    if *copies == EACH_CPU {
        *copies = all.len() as u32 / *each;
        all.sort_unstable();
    }
    all.truncate((*copies * *each) as usize);
    (cell, all)
}

/// The CPUs that may be probed, the best first: those that the suite lists, else those that are isolated, then a CPU of
/// each core before its siblings, and the first core, which has most of the kernel's own work, last.
fn candidates(cpus: &Cpus, facts: &HostFacts) -> Vec<u32> {
    if let Some(listed) = cpus.listed() {
        return listed;
    }
    let singles: Vec<Vec<u32>> = facts.cpus.iter().map(|c| vec![*c]).collect();
    let mut cores = match facts.cores.is_empty() {
        true => singles,
        false => facts.cores.clone(),
    };
    if cores.len() > 1 && cores[0].contains(&0) {
        cores.rotate_left(1);
    }
    let deepest = cores.iter().map(Vec::len).max().unwrap_or(0);
    let others = (0..deepest)
        .flat_map(|i| cores.iter().filter_map(move |core| core.get(i).copied()))
        .filter(|cpu| !facts.isolated.contains(cpu));
    facts.isolated.iter().copied().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isolated_cpus_are_probed_first() {
        let facts = HostFacts {
            cpus: vec![0, 1, 2],
            isolated: vec![3, 2],
            ..HostFacts::default()
        };
        assert_eq!(candidates(&Cpus::Auto, &facts), [3, 2, 1, 0]);
    }
}
