//! Whether the threads that a library makes have a CPU that no thread of Dyno's keeps busy.

use crate::results;
use dyno_measure::host;
use dyno_model::cause::Warning;
use dyno_model::protocol::Assignment;
use dyno_model::{Pacing, Participant, Role};
use std::collections::BTreeSet;

/// Threads of this process; `None` where the kernel does not tell.
pub(crate) fn threads() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    Some(tasks.count() as u64)
}

/// Says so where the library has made `threads` and the participants of this host have fewer CPUs than there are of them, with one
/// more for each sender that spins until messages are due: an application's would leave its CPU to the library until then.
pub(crate) fn few_cpus(assignment: &Assignment, threads: u64) -> Option<Warning> {
    let own = assignment.participants().next()?;
    // Gateways, and receivers with several ends, have threads of Dyno's own.
    let has_own = |p: &Participant| assignment.graph.incoming(p.index).count() > 1;
    let is_gateway = |p: &Participant| p.role == Role::Gateway;
    if assignment
        .participants()
        .any(|p| has_own(p) || is_gateway(p))
    {
        return None;
    }
    let all = assignment.graph.participants.iter();
    let here: Vec<&Participant> = all.filter(|p| p.host == own.host).collect();
    let spins = |p: &&&Participant| {
        let of = assignment.experiment_of(p);
        let is_paced = of.workload.kind().info().has_due_times && p.role.is_active();
        is_paced && of.pacer == Pacing::Spin
    };
    let pacers = here.iter().filter(spins).count() as u64;
    let cpus: BTreeSet<u32> = match here.iter().all(|p| p.cpu.is_some()) {
        true => {
            let sets = here
                .iter()
                .flat_map(|p| p.cpu.iter().chain(&p.library_cpus));
            sets.copied().collect()
        }
        false => host::allowed_cpus().into_iter().collect(),
    };
    let (cpus, participants) = (cpus.len() as u64, here.len() as u64);
    let is_crowded = threads > 0 && pacers > 0 && cpus < participants + pacers;
    is_crowded.then(|| Warning::FewCpus {
        agent: results::label(assignment),
        threads,
        cpus,
        participants,
        pacers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::factor::Arrivals;
    use dyno_model::protocol::ClockSpec;
    use dyno_model::{Experiment, ExperimentId, Graph, PayloadSize, RateHz, TrialId, Workload};

    /// A stream from one participant to another, on these CPUs, as the sender's agent is told of it.
    fn assignment(cpus: [u32; 2], library: &[u32], pacer: Pacing) -> Assignment {
        let workload = Workload::Stream {
            rate: RateHz::new(4_000.0).unwrap(),
            arrivals: Arrivals::Fixed,
        };
        let payload = PayloadSize::new(64).unwrap();
        let mut experiment = Experiment::blank(ExperimentId(0), "lib", workload, payload);
        experiment.pacer = pacer;
        let participant = |(index, role, cpu): (u16, Role, u32)| Participant {
            index,
            role,
            host: 0,
            process: index,
            cpu: Some(cpu),
            library_cpus: library.to_vec(),
            exchange: 0,
            flow: 0,
        };
        let both = [(0, Role::Source, cpus[0]), (1, Role::Sink, cpus[1])];
        let graph = Graph {
            participants: both.map(participant).into(),
            ..Graph::default()
        };
        Assignment {
            trial: TrialId {
                experiment: ExperimentId(0),
                number: 0,
            },
            session: String::new(),
            scratch: std::path::PathBuf::new(),
            clock: ClockSpec::Monotonic,
            legs: Vec::new(),
            gateways: Vec::new(),
            experiment,
            beside: Vec::new(),
            seed: 0,
            graph,
            process: 0,
            channels: Vec::new(),
            generation: 0,
        }
    }

    #[test]
    fn a_library_beside_a_spinning_sender_is_told_of_where_cpus_are_few() {
        let few = |cpus, library: &[u32], pacer, threads| {
            few_cpus(&assignment(cpus, library, pacer), threads)
        };
        let Some(Warning::FewCpus {
            threads,
            cpus,
            participants,
            pacers,
            ..
        }) = few([0, 1], &[1], Pacing::Spin, 3)
        else {
            panic!("two CPUs for two participants and a pacer are too few");
        };
        assert_eq!((threads, cpus, participants, pacers), (3, 2, 2, 1));
        assert_eq!(few([0, 1], &[1], Pacing::Sleep, 3), None);
        assert_eq!(few([0, 1], &[1], Pacing::Spin, 0), None);
        assert_eq!(few([0, 1], &[2], Pacing::Spin, 3), None);
    }
}
