//! Tables and exports as functions of a stored run.
//!
//! [`summarise`] computes a [`Summary`] and prints nothing; [`render`] turns it into text and
//! computes nothing. Whatever a table shows is in the JSON, with the same values.
//!
//! | format | for | form |
//! |---|---|---|
//! | [`Format::Table`] | terminals | fits a width; iceperf's, RWTH's, L4Re's or S-CORE's tables where the suite asks for them |
//! | [`Format::Markdown`] | reports, issues | the same columns as GitHub tables |
//! | [`Format::Json`] | programs | a stable interface with a published schema |
//! | [`Format::Csv`] | spreadsheets, pandas | a row per experiment and metric |

mod carry_over;
mod causes;
mod cells;
mod chains;
mod clocks;
mod columns;
mod copies;
mod counted;
mod csv;
mod decoded;
mod evidence;
mod factors;
mod findings;
mod floor;
mod flows;
mod grid;
mod host;
mod iceperf;
mod in_copies;
mod json;
mod l4re;
mod layout;
mod legend;
mod made_of;
mod markdown;
mod measured;
mod modes;
mod notes;
mod number;
mod precision;
pub mod published;
mod rwth;
mod s_core;
mod scaling;
mod settings;
mod signals;
mod sodev;
mod spark;
mod study;
mod summarise;
mod summary;
mod table;
mod text;
mod totals;
mod view;

pub use carry_over::{CarryOverFinding, CarryOverSummary};
pub use causes::NetworkSummary;
pub use chains::{AddedSummary, ChainSummary, GatewaySummary, LegSummary, PartSummary};
pub use clocks::{HostClockSummary, clock_bound, is_too_wide};
pub use columns::{Columns, UnknownColumn};
pub use copies::CopySummary;
pub use counted::counted_trials;
pub use decoded::Histograms;
pub use evidence::{
    BareSummary, Covariate, CovariateSummary, HostSummary, HostTail, ModeGroup, ModesSummary,
    PrecisionSummary, WarmupSummary,
};
pub use factors::{conditions, varying_conditions};
pub use flows::{AGAINST_ALONE, AloneRatio};
pub use json::JSON_FORMAT;
pub use made_of::{Further, MadeOf};
pub use number::{duration, exported, share, sig3, with_prefix};
pub use summarise::{SummaryOptions, summarise, summarise_light};
pub use summary::{
    ExperimentSummary, FailureCause, FailureGroup, FloorRatio, HeldRequirement, LEAST_TRIALS,
    LoadOutcome, MetricSummary, NoRatio, QUANTILES, Requirement, RunSummary, ScalingSummary,
    Spread, Summary, TrialCounts, WithDisturbed,
};
pub use text::{clean, wrap};

use dyno_model::plan::TableKind;
use std::fmt;
use std::str::FromStr;

/// What a summary is rendered as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Text for a terminal.
    #[default]
    Table,
    /// GitHub's Markdown.
    Markdown,
    /// The documented interface for programs.
    Json,
    /// A row per experiment and metric.
    Csv,
}

impl Format {
    /// Every format, in the order of help texts.
    pub const ALL: &'static [Format] =
        &[Format::Table, Format::Markdown, Format::Json, Format::Csv];

    /// The name that `--format` takes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Markdown => "markdown",
            Format::Json => "json",
            Format::Csv => "csv",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no format {found:?}; write table, markdown, json or csv")]
pub struct UnknownFormat {
    /// The text that was found.
    pub found: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let found = Format::ALL.iter().find(|f| f.as_str() == text);
        found.copied().ok_or_else(|| UnknownFormat {
            found: text.to_owned(),
        })
    }
}

/// How much stands below a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Notes {
    /// Every remark.
    #[default]
    All,
    /// The most serious, in twelve lines, and how many more there are.
    Short,
}

/// How text for people is laid out. JSON and CSV take no notice.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// The widest line in terminal cells; widths below 80 are not promised to be kept. `None`: as
    /// wide as it comes, all columns.
    pub width: Option<usize>,
    /// Whether rows may be set off by colours.
    pub color: bool,
    /// Whether a line of bars may show the shape of a distribution, where a width leaves room for it.
    pub sparklines: bool,
    /// Which columns a table of stacks has.
    pub columns: Columns,
    /// How much stands below a table of stacks; [`Format::Markdown`] has all.
    pub notes: Notes,
}

/// The summary as text, ended by a newline (CSV: by CR LF). [`Format::Table`] and
/// [`Format::Markdown`] show the table that the suite asks for; experiments that it has no row for
/// follow in a table of stacks.
pub fn render(summary: &Summary, format: Format, options: &RenderOptions) -> String {
    // A suite that asks for a table and has no row for it gets the one of stacks.
    let shows = match summary.run.table {
        TableKind::Stacks => |_: &ExperimentSummary| false,
        TableKind::Iceperf => iceperf::shows,
        TableKind::Rwth => rwth::shows,
        TableKind::L4re => l4re::shows,
        TableKind::SCore => s_core::shows,
        TableKind::Signals => signals::shows,
        TableKind::Sodev => sodev::shows,
    };
    let one = |keep: &dyn Fn(&ExperimentSummary) -> bool| match format {
        Format::Markdown => markdown::render(summary, keep, &options.columns),
        _ => table::render(summary, keep, options),
    };
    // Starts have columns of their own, so they have a table of their own.
    let stacks = |keep: &dyn Fn(&ExperimentSummary) -> bool| {
        let of = |starts| move |e: &ExperimentSummary| keep(e) && view::is_start(e) == starts;
        let has = |starts| summary.experiments.iter().any(of(starts));
        match (has(false), has(true)) {
            (true, true) => format!("{}\n{}", one(&of(false)), one(&of(true))),
            _ => one(keep),
        }
    };
    let markdown = format == Format::Markdown;
    let mut text = match (format, summary.run.table) {
        (Format::Json, _) => return json::render(summary),
        (Format::Csv, _) => return csv::render(summary),
        _ if !summary.experiments.iter().any(shows) => return stacks(&|_| true),
        (_, TableKind::Rwth) => rwth::render(summary, options.width, markdown),
        (_, TableKind::L4re) => l4re::render(summary, options.width, markdown),
        (_, TableKind::SCore) => s_core::render(summary, options.width, markdown),
        (_, TableKind::Signals) => signals::render(summary, options.width, markdown),
        (_, TableKind::Sodev) => sodev::render(summary, options.width, markdown),
        (_, TableKind::Iceperf | TableKind::Stacks) => iceperf::render(summary, options, markdown),
    };
    if !summary.experiments.iter().all(shows) {
        text.push('\n');
        text.push_str(&stacks(&|e| !shows(e)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_round_trip_and_an_unknown_one_names_the_others() {
        for format in Format::ALL {
            assert_eq!(format.as_str().parse(), Ok(*format));
        }
        let e = "xml".parse::<Format>().unwrap_err().to_string();
        assert!(e.contains("\"xml\"") && e.contains("markdown"), "{e}");
    }
}
