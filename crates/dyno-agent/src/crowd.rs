//! Whether the threads that a library makes have a CPU that no thread of Dyno's keeps busy.

use crate::results;
use dyno_model::cause::Warning;
use dyno_model::protocol::Assignment;
use dyno_model::{Pacing, Participant, Role};
use std::collections::BTreeSet;

/// Threads of this process; `None` where the kernel does not tell.
pub(crate) fn threads() -> Option<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    Some(tasks.count() as u64)
}

/// Says so where the library has made `threads` that may run on no CPU but those of senders that spin until messages are due: an
/// application's would leave its CPU to the library until then.
///
/// It says nothing of participants that are not pinned, nor of gateways and receivers with several channels, since Dyno itself starts
/// threads for these.
pub(crate) fn few_cpus(assignment: &Assignment, threads: u64) -> Option<Warning> {
    let own: Vec<&Participant> = assignment.participants().collect();
    let has_own_threads = |p: &&Participant| {
        p.role == Role::Gateway || assignment.graph.incoming(p.index).count() > 1
    };
    if own.is_empty() || threads == 0 || own.iter().any(|p| has_own_threads(p) || p.cpu.is_none()) {
        return None;
    }
    let spins = |p: &&Participant| {
        let of = assignment.experiment_of(p);
        let is_paced = of.workload.kind().info().has_due_times && p.role.is_active();
        assignment.sharing_cpus.contains(&p.host) && is_paced && of.pacer == Pacing::Spin
    };
    let all = assignment.graph.participants.iter();
    let pacers: BTreeSet<u32> = all.filter(spins).filter_map(|p| p.cpu).collect();
    let of_library = own.iter().flat_map(|p| match p.library_cpus.as_slice() {
        [] => p.cpu.as_slice(),
        cpus => cpus,
    });
    let cpus: BTreeSet<u32> = of_library.copied().collect();
    cpus.is_subset(&pacers).then(|| Warning::FewCpus {
        agent: results::label(assignment),
        threads,
        cpus: cpus.into_iter().collect(),
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
            sharing_cpus: vec![0],
            channels: Vec::new(),
            generation: 0,
        }
    }

    #[test]
    fn a_library_that_has_only_the_cpu_of_a_spinning_sender_is_told_of() {
        let few = |cpus, library: &[u32], pacer, threads| {
            few_cpus(&assignment(cpus, library, pacer), threads)
        };
        let Some(Warning::FewCpus { threads, cpus, .. }) = few([0, 1], &[0], Pacing::Spin, 3)
        else {
            panic!("the library has the CPU of a sender that spins, and no other");
        };
        assert_eq!((threads, cpus), (3, vec![0]));
        assert!(few([0, 1], &[], Pacing::Spin, 3).is_some());
        assert_eq!(few([0, 1], &[0], Pacing::Sleep, 3), None);
        assert_eq!(few([0, 1], &[0], Pacing::Spin, 0), None);
        assert_eq!(few([0, 1], &[0, 1], Pacing::Spin, 3), None);
        // The receiver's library has the CPU of the sender alone, which is in another namespace, or on another machine.
        let mut of_sink = assignment([0, 1], &[0], Pacing::Spin);
        of_sink.process = 1;
        of_sink.graph.participants[1].host = 1;
        of_sink.sharing_cpus = vec![0, 1];
        assert!(few_cpus(&of_sink, 3).is_some());
        of_sink.sharing_cpus = vec![1];
        assert_eq!(few_cpus(&of_sink, 3), None);
    }
}
