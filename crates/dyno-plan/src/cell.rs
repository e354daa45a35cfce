//! One cell of a matrix.

use dyno_model::plan::Scheduling;
use dyno_model::unit::PayloadSize;
use dyno_model::{Access, Placement, Topology, Wait, Workload};

/// One combination of factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cell {
    pub(crate) workload: Workload,
    pub(crate) wait: Wait,
    pub(crate) topology: Topology,
    pub(crate) placement: Placement,
    pub(crate) access: Access,
    pub(crate) scheduling: Scheduling,
    pub(crate) payload: PayloadSize,
    /// Which of the scenarios of the experiment's faults.
    pub(crate) scenario: usize,
}

impl Cell {
    /// As tables print it.
    pub(crate) fn factors(&self) -> String {
        format!(
            "{}, {}, {}, {}, {}, {}",
            self.workload, self.payload, self.wait, self.access, self.placement, self.topology
        )
    }
}
