//! Tables and exports as functions of a stored run.
//!
//! [`summarise()`] computes a [`Summary`] and prints nothing; [`render`] turns it into text and
//! computes nothing. Whatever a table shows is in the JSON, with the same values; the verdicts of a
//! study's requirements are in that of `dyno check`.
//!
//! | format | for | form |
//! |---|---|---|
//! | [`Format::Table`] | terminals | fits a width; iceperf's, RWTH's, L4Re's or S-CORE's tables where the suite asks for them |
//! | [`Format::Markdown`] | reports, issues | the same columns as GitHub tables |
//! | [`Format::Json`] | programs | a stable interface with a published schema |
//! | [`Format::Csv`] | spreadsheets, pandas | a row per experiment and metric |

#![warn(clippy::too_many_lines)]

mod carry;
mod carry_over;
mod causes;
mod cells;
mod chains;
mod clocks;
mod columns;
mod copies;
mod counted;
mod counts;
mod csv;
mod decoded;
mod estimates;
mod factors;
mod findings;
mod flagged;
mod floor;
mod flows;
mod format;
mod grid;
mod growth;
mod host;
mod in_copies;
mod json;
mod junit;
mod lateness;
mod law;
mod layout;
mod legend;
mod made_of;
mod markdown;
mod measured;
mod modes;
mod notes;
mod number;
mod outage;
mod page;
mod precision;
pub mod published;
mod remark;
mod scaling;
mod settings;
mod spark;
pub mod study;
mod summarise;
mod summary;
mod table;
mod text;
mod totals;
mod view;
mod when;

pub use carry::{csv_line, escaped_json, escaped_xml, json_text};
pub use clocks::{clock_bound, clock_slack, is_too_wide, widened};
pub use columns::{Columns, UnknownColumn};
pub use counted::{counted_trials, is_deaf};
pub use counts::{add_counts, missing_messages};
pub use decoded::Histograms;
pub use factors::{conditions, varying_conditions};
pub use flagged::{FlagRates, Flagged};
pub use floor::good_sides;
pub use format::{Format, Notes, RenderOptions, UnknownFormat};
pub use json::JSON_FORMAT;
#[cfg(feature = "schema")]
pub use json::{FactorColumns, json_schema, schema_generator};
pub use junit::{JunitCase, JunitKind, JunitResult, JunitSuite};
pub use law::{Basis, Shortfall};
pub use markdown::escaped_markdown;
pub use number::{duration, exported, share, sig3, with_prefix};
pub use outage::{deaf_for_ever, half_deaf, relapse as outage_relapse, verdict as outage_verdict};
pub use summarise::{SummaryOptions, summarise, summarise_light};
pub use summary::{
    AGAINST_ALONE, AddedSummary, AloneRatio, AnswerSummary, AnswersSummary, BareSummary,
    CarryOverFinding, CarryOverSummary, ChainSummary, CopySummary, Covariate, CovariateSummary,
    DeafEnd, EXTRAPOLATED, ExperimentSummary, FailedAs, FailureGroup, FigureGrowth, FloorRatio,
    Further, GatewaySummary, GrowthSummary, HeldRequirement, HostClockSummary, HostSummary,
    HostTail, LEAST_TRIALS, Lacking, LegSummary, LoadOutcome, MadeOf, MetricSummary, ModeGroup,
    ModesSummary, NetworkSummary, NoFit, NoRatio, OutageSummary, PartSummary, PrecisionSummary,
    QUANTILES, Reach, Relapse, Requirement, RunSummary, ScalingSummary, Spread, Summary, TOLD_BY,
    TrialCounts, WarmupSummary, WithDisturbed, more_answers,
};
pub use text::{cell, clean, is_hidden, printable, wrap};
pub use when::utc;

use dyno_model::plan::STACKS;
use study::Study;
use view::Kind;

/// The summary as text, ended by a newline (CSV: by CR LF). [`Format::Table`] and
/// [`Format::Markdown`] show the table that the suite asks for; experiments that it has no row for
/// follow in a table of stacks.
pub fn render(summary: &Summary, format: Format, options: &RenderOptions) -> String {
    let markdown = format == Format::Markdown;
    match format {
        Format::Json => return json::render(summary),
        Format::Csv => return csv::render(summary),
        Format::Table | Format::Markdown => {}
    }
    let stacks =
        |keep: &dyn Fn(&ExperimentSummary) -> bool| stacks(summary, keep, options, markdown);
    // A suite that asks for a table and has no row for it gets the one of stacks.
    let of_study = |study: &Study| {
        let shown = study::shown(study, summary);
        let is_shown = |e: &ExperimentSummary| shown.contains(&e.experiment.id);
        if !summary.experiments.iter().any(is_shown) {
            return stacks(&|_| true);
        }
        let mut text = study::render(study, summary, options, markdown);
        if !summary.experiments.iter().all(is_shown) {
            text.push('\n');
            text.push_str(&stacks(&|e| !is_shown(e)));
        }
        text
    };
    let text = match &summary.run.study {
        Some(own) => match study::of_text(&own.path, &own.text) {
            Ok(study) => of_study(&study),
            Err(mistakes) => format!(
                "The tables of the study {} cannot be shown: {mistakes}. It was written for another version of Dyno; the table of stacks follows.\n\n{}",
                own.path,
                stacks(&|_| true)
            ),
        },
        None => match study::built_in().get(summary.run.table.as_str()) {
            Some(study) => of_study(study),
            None if summary.run.table == STACKS => stacks(&|_| true),
            None => format!(
                "This version of Dyno does not know the study `{}`, which the run's suite names; the table of stacks follows.\n\n{}",
                clean(&summary.run.table),
                stacks(&|_| true)
            ),
        },
    };
    let answers = summary.answers.as_ref().filter(|_| markdown);
    let head = answers.map_or_else(String::new, markdown::answers);
    net(head + &text, options.color)
}

/// The laws of growth of a run as text, ended by a newline; `markdown`: as GitHub tables, of any width. [`None`] where no
/// experiments of the run differ in their number of participants only.
pub fn render_growth(summary: &Summary, options: &RenderOptions, markdown: bool) -> Option<String> {
    let has_any = !summary.growth.is_empty();
    has_any.then(|| net(growth::render(summary, options, markdown), options.color))
}

/// The table of stacks of the experiments that `keep` selects. Starts and outages have columns of their own, so they have tables of
/// their own.
fn stacks(
    summary: &Summary,
    keep: &dyn Fn(&ExperimentSummary) -> bool,
    options: &RenderOptions,
    markdown: bool,
) -> String {
    let one = |keep: &dyn Fn(&ExperimentSummary) -> bool| {
        if markdown {
            markdown::render(summary, keep, &options.columns)
        } else {
            table::render(summary, keep, options)
        }
    };
    let of = |kind| move |e: &ExperimentSummary| keep(e) && Kind::of(e) == kind;
    let has = |kind: &Kind| summary.experiments.iter().any(of(*kind));
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(has).collect();
    match kinds.as_slice() {
        [] | [_] => one(keep),
        several => {
            let tables: Vec<String> = several.iter().map(|kind| one(&of(*kind))).collect();
            tables.join("\n")
        }
    }
}

/// Nothing of the run that a layout overlooked leaves it.
fn net(text: String, color: bool) -> String {
    printable(&text, color).into_owned()
}
