//! Facts that decide whether a repeat would give the same figure: the warm-up, modes and drift within the
//! window, the host's own noise, and the precision that was asked for. Data alone; the modules
//! `modes`, `host` and `precision` compute it.

use super::metric::QUANTILES;
use super::spread::Spread;
use crate::number::{nine, nine_if_known};
use dyno_model::Metric;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// How the counted trials warmed up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmupSummary {
    /// How long the warm-up was, in nanoseconds.
    pub ns: Spread,
    /// Trials whose warm-up ended at its limit with the series still moving.
    pub unsteady: u64,
}

/// The blocks of the counted trials fall into two modes by the p50 of the headline metric.
#[derive(Debug, Clone, PartialEq)]
pub struct ModesSummary {
    /// The p50 of the fast mode, in nanoseconds.
    pub low_ns: f64,
    /// The p50 of the slow mode, in nanoseconds.
    pub high_ns: f64,
    /// Share of the blocks in the slow mode, 0 to 1.
    pub high_share: f64,
    /// Everything recorded that differs between blocks or trials, what goes with the modes best
    /// first.
    pub covariates: Vec<CovariateSummary>,
}

impl ModesSummary {
    /// From this strength on, a covariate may be named as what tells the modes apart.
    pub const STRENGTH: f64 = 0.5;
    /// Below this p, a covariate may be named as what tells the modes apart.
    pub const LEVEL: f64 = 0.05;

    /// The covariate that distinguishes the modes: the strongest covariate of those that cannot be chance. `None`:
    /// nothing that was recorded does.
    pub fn cause(&self) -> Option<&CovariateSummary> {
        self.covariates
            .iter()
            .find(|c| c.strength >= Self::STRENGTH && c.p < Self::LEVEL)
    }
}

/// Something recorded that may differ between the modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "covariate_name"))]
#[serde(rename_all = "kebab-case")]
pub enum Covariate {
    /// Whether participants that are not pinned shared a CPU, block by block.
    #[serde(rename = "cpu-sharing")]
    Sharing,
    /// On which CPUs participants that are not pinned were, block by block.
    Cpus,
    /// How far apart the CPUs of the first sender and the first receiver are: the round trip of a
    /// bare cache line just before the trial.
    CoreDistance,
    /// The frequency of the CPUs used.
    Frequency,
    /// The share of the CPUs used that went to other processes and to interrupts.
    ForeignLoad,
    /// The share of the CPUs used that the hypervisor gave to others.
    StolenTime,
    /// The share of the time that the spin-gap probe lost just before the trial.
    Gaps,
}

impl Covariate {
    /// Every covariate; of two that tell the modes apart equally well, the first is named.
    pub const ALL: &'static [Covariate] = &[
        Covariate::Sharing,
        Covariate::Cpus,
        Covariate::CoreDistance,
        Covariate::Frequency,
        Covariate::ForeignLoad,
        Covariate::StolenTime,
        Covariate::Gaps,
    ];

    /// The name in JSON and CSV.
    pub const fn as_str(self) -> &'static str {
        match self {
            Covariate::Sharing => "cpu-sharing",
            Covariate::Cpus => "cpus",
            Covariate::CoreDistance => "core-distance",
            Covariate::Frequency => "frequency",
            Covariate::ForeignLoad => "foreign-load",
            Covariate::StolenTime => "stolen-time",
            Covariate::Gaps => "gaps",
        }
    }
}

/// How well a covariate tells the two modes apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "covariate"))]
pub struct CovariateSummary {
    /// Which one.
    pub covariate: Covariate,
    /// Association over the blocks, from 0 (none) to 1 (it tells the mode of each).
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub strength: f64,
    /// Probability of so strong an association by chance, corrected for the number of covariates
    /// looked at. Blocks in a row with the same label count once, because the blocks of a trial are
    /// no independent witnesses.
    #[serde(serialize_with = "nine")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub p: f64,
    /// The blocks by label.
    pub groups: Vec<ModeGroup>,
}

/// The blocks with one label of a covariate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModeGroup {
    /// What they have in common, such as `same CPU` or `from 410 ns`.
    pub label: String,
    /// Those in the fast mode.
    pub low: u64,
    /// Those in the slow mode.
    pub high: u64,
}

/// The host's part in the counted trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "host"))]
pub struct HostSummary {
    /// Share of the CPUs used that went to other processes, in the window.
    pub foreign_share: Option<Spread>,
    /// Share of the CPUs used that kernel threads took which work off messages, whosever, in the window.
    pub kernel_share: Option<Spread>,
    /// Share of the CPUs used that the hypervisor gave to others, in the window.
    pub stolen_share: Option<Spread>,
    /// Share of its time that the spin-gap probe lost, before the trials.
    pub gap_share: Option<Spread>,
    /// What the machine alone does to the tail of the headline metric, in the order of
    /// [`QUANTILES`]; `None` for p50, where the gaps, the p50 or the quantile are not known, of a single trial,
    /// where the host disturbed every trial, and where the delay would be above all that was measured.
    #[serde(serialize_with = "above_the_median")]
    #[cfg_attr(feature = "schema", schemars(with = "Tails"))]
    pub tail: [Option<HostTail>; QUANTILES.len()],
}

/// The tails by their names in files, without that of p50.
fn above_the_median<S: Serializer>(
    tail: &[Option<HostTail>; QUANTILES.len()],
    out: S,
) -> Result<S::Ok, S::Error> {
    let mut object = out.serialize_struct("Tails", QUANTILES.len() - 1)?;
    for ((name, _, _), tail) in QUANTILES.iter().zip(tail).skip(1) {
        object.serialize_field(name, tail)?;
    }
    object.end()
}

/// What [`above_the_median`] writes.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "its schema is all that is used of it")]
struct Tails {
    p90: Option<HostTail>,
    p99: Option<HostTail>,
    p999: Option<HostTail>,
}

/// The machine's own delay at one quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "host_tail"))]
pub struct HostTail {
    /// The delay that the gaps seen before the trials add to an operation as long as the p50, at
    /// this quantile, in nanoseconds. See [`dyno_stats::HostGaps`].
    #[serde(serialize_with = "nine")]
    pub own_ns: f64,
    /// The share of the tail (quantile minus p50) that this explains, 0 to 1; `None` where the
    /// quantile is infinite or no larger than the p50.
    #[serde(serialize_with = "nine_if_known")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0, max = 1)))]
    pub explained: Option<f64>,
}

/// The idle host just before the first trial, when nothing of the run was active.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BareSummary {
    /// Share of its CPUs that other processes took.
    #[serde(serialize_with = "nine")]
    pub foreign_share: f64,
    /// Share of its CPUs that the hypervisor gave to others.
    #[serde(serialize_with = "nine")]
    pub stolen_share: f64,
    /// Share of its time that the spin-gap probe lost; `None` where nothing was watched.
    #[serde(serialize_with = "nine_if_known")]
    pub gap_share: Option<f64>,
    /// The longest gap, in nanoseconds.
    pub longest_gap_ns: u64,
}

/// The requested precision, and the precision that was reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrecisionSummary {
    /// The metric that it is of.
    pub metric: Metric,
    /// The quantile that it is of, 0 to 1.
    pub quantile: f64,
    /// The share of the value within which both ends of the interval were to be: 0.05 for ±5 %.
    pub asked: f64,
    /// The share within which they are: infinite where the interval has no end, `None` where there
    /// is no interval.
    pub got: Option<f64>,
    /// The interval is that of the ratio to the base, not that of the quantile itself.
    pub of_ratio: bool,
}

impl PrecisionSummary {
    /// Whether the interval is as narrow as was asked.
    pub fn reached(&self) -> bool {
        self.got.is_some_and(|got| got <= self.asked)
    }
}
