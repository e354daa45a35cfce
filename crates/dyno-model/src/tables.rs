//! All tables of words together: for the page, and for the reference.

use crate::factors;
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
    /// What may differ between two experiments, in the order of columns.
    pub factors: Vec<FactorName>,
}

/// How a factor is called.
#[derive(Debug, Clone, Serialize)]
pub struct FactorName {
    /// Title of its column.
    pub name: &'static str,
    /// What stands before its value in a list of words.
    pub lead: &'static str,
}

impl Tables {
    /// The tables of this build.
    pub fn all() -> Tables {
        Tables {
            workloads: WorkloadKind::ALL.iter().map(|w| w.info()).collect(),
            metrics: Metric::ALL.iter().map(|m| m.info()).collect(),
            counts: COUNTS.iter().collect(),
            figures: TrialFigure::ALL.iter().map(|f| f.info()).collect(),
            factors: factors::in_tables()
                .into_iter()
                .map(|f| FactorName {
                    name: f.title,
                    lead: f.lead,
                })
                .collect(),
        }
    }
}

/// A build has one of them.
impl PartialEq for Tables {
    fn eq(&self, _: &Tables) -> bool {
        true
    }
}
