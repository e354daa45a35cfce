//! On which CPUs the participants of an experiment run.

use crate::cpus::ranges;
use crate::plan::{Experiment, Stack, Testbed};
use std::collections::BTreeSet;

impl Experiment {
    /// The CPUs that any of the participants' threads may run on, ascending; empty: not pinned.
    pub fn participants_cpus(&self) -> Vec<u32> {
        let libraries = self.library_cpus.iter().flatten();
        let mut all: Vec<u32> = self.cpus.iter().chain(libraries).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Which CPUs are needed where: for each participant its host, by its index in the testbed, and the CPUs that it and
    /// its library's threads run on. Then those of a probe's other copies, and of the second of two sides that one
    /// participant plays.
    pub fn cpus_by_participant(
        &self,
        stack: Option<&Stack>,
        testbed: &Testbed,
    ) -> Vec<(usize, BTreeSet<u32>)> {
        let participants = self.graph(stack, testbed).participants;
        let further = self.cpus.iter().skip(participants.len());
        let further: Vec<u32> = further.copied().collect();
        let own = participants.into_iter().map(|p| {
            let all = p.cpu.into_iter().chain(p.library_cpus);
            (p.host, all.collect())
        });
        let further = further.into_iter().map(|c| (self.on_host, [c].into()));
        own.chain(further).collect()
    }

    /// The CPUs of the participants of one exchange, the first: all, where there is one; empty: not pinned.
    pub fn cpus_of_one(&self) -> &[u32] {
        match self.topology.copies {
            1 => &self.cpus,
            _ => self
                .cpus
                .get(..self.topology.participants())
                .unwrap_or_default(),
        }
    }

    /// The CPUs of each role, as tables show them.
    pub fn cpus_text(&self) -> String {
        if self.cpus.is_empty() {
            return "not pinned".into();
        }
        let own: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
        let mut beside = Vec::new();
        if !self.library_cpus.is_empty() {
            let mut sets: Vec<String> = self.library_cpus.iter().map(|s| ranges(s)).collect();
            if sets.iter().all(|s| *s == sets[0]) {
                sets.truncate(1);
            }
            beside.push(format!("library threads on {}", sets.join(" and ")));
        }
        if !self.daemon_cpus.is_empty() {
            beside.push(format!("daemons on {}", ranges(&self.daemon_cpus)));
        }
        let own = own.join(",");
        match beside.is_empty() {
            true => format!("CPUs {own}"),
            false => format!("CPUs {own} ({})", beside.join(", ")),
        }
    }
}
