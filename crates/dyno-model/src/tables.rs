//! All tables of words together, for whoever shows them as a whole: the page, and the reference.

use crate::figure::{COUNTS, CountInfo, FigureInfo, TrialFigure};
use crate::metric::{Metric, MetricInfo};
use crate::workload::{WorkloadInfo, WorkloadKind};
use serde::Serialize;

/// The rows of each table, in its order.
#[derive(Debug, Clone, Serialize)]
pub struct Tables {
    /// What can be measured.
    pub workloads: Vec<&'static WorkloadInfo>,
    /// Latencies.
    pub metrics: Vec<&'static MetricInfo>,
    /// Counts of messages.
    pub counts: Vec<&'static CountInfo>,
    /// Rates and costs.
    pub figures: Vec<&'static FigureInfo>,
}

impl Tables {
    /// The tables of this build.
    pub fn all() -> Tables {
        Tables {
            workloads: WorkloadKind::ALL.iter().map(|w| w.info()).collect(),
            metrics: Metric::ALL.iter().map(|m| m.info()).collect(),
            counts: COUNTS.iter().collect(),
            figures: TrialFigure::ALL.iter().map(|f| f.info()).collect(),
        }
    }
}

/// A build has one of them.
impl PartialEq for Tables {
    fn eq(&self, _: &Tables) -> bool {
        true
    }
}
