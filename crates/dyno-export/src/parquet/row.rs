//! A row of the table of results, and what its columns ask it.

use dyno_model::cause::{Cause, FailureCause};
use dyno_model::figure::Group;
use dyno_model::record::{Environment, FailureKind, ProcessCost};
use dyno_model::{Distribution, HostLoad, Metric, Outage, TrialFigure, TrialRecord};
use dyno_report::{ExperimentSummary, QUANTILES, Summary};

/// One metric of one trial.
pub(super) struct Row<'a> {
    pub(super) summary: &'a Summary,
    pub(super) e: &'a ExperimentSummary,
    pub(super) adapter: Option<&'a str>,
    pub(super) metric: Metric,
    /// `None`: no trial of the experiment is stored.
    pub(super) trial: Option<&'a TrialRecord>,
    pub(super) ended: Ended<'a>,
    /// It is one of those that the experiment's figures are made of.
    pub(super) counted: bool,
    /// `None`: the trial has no measurement.
    pub(super) figures: Option<&'a Distribution>,
    /// In the order of [`QUANTILES`]; `None` where there are too few samples.
    pub(super) quantiles: [Option<f64>; QUANTILES.len()],
}

/// How the trial of a row ended.
pub(super) enum Ended<'a> {
    Completed,
    Failed {
        kind: FailureKind,
        step: &'a str,
        cause: &'a Cause<FailureCause>,
        stderr: &'a [String],
    },
    /// Its histograms cannot be decoded.
    Unreadable(String),
    /// There is none.
    Missing,
}

impl Ended<'_> {
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Ended::Completed => "completed",
            Ended::Failed { .. } => "failed",
            Ended::Unreadable(_) => "unreadable",
            Ended::Missing => "missing",
        }
    }
}

impl Row<'_> {
    /// The trial, where it has a measurement.
    pub(super) fn measured(&self) -> Option<&TrialRecord> {
        self.trial
            .filter(|_| matches!(self.ended, Ended::Completed))
    }

    /// A sum over the daemons of the stack, zero where it has none.
    pub(super) fn daemons(&self, of: fn(&ProcessCost) -> u64) -> Option<u64> {
        let processes = &self.measured()?.cost.processes;
        let daemons = processes.iter().filter(|p| p.daemon).map(of);
        // Where no process told what it used, no daemon did.
        (!processes.is_empty()).then(|| daemons.fold(0, u64::saturating_add))
    }

    /// A sum over the receivers of a trial with faults.
    pub(super) fn outages(&self, of: fn(&Outage) -> u64) -> Option<u64> {
        let outages = &self.measured()?.outages;
        let sum = outages.iter().map(of).fold(0, u64::saturating_add);
        (!outages.is_empty()).then_some(sum)
    }

    pub(super) fn load(&self) -> Option<&HostLoad> {
        self.trial?.noise.window.as_ref()
    }

    /// The machine and the build that the row is of.
    pub(super) fn environment(&self) -> &Environment {
        self.summary.run.environment_of(&self.e.experiment)
    }

    /// Rates of starts are zero and mean nothing.
    pub(super) fn figure(&self, figure: TrialFigure) -> Option<f64> {
        let is_of_starts = self.e.experiment.workload.kind().is_start();
        let is_rate = figure.info().group == Group::Throughput;
        figure.of(self.measured().filter(|_| !(is_of_starts && is_rate))?)
    }
}
