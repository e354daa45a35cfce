//! `dyno audit`

use crate::files::FileArgs;
use clap::{Args, ValueEnum};
use dyno_audit::Verdict;
use dyno_audit::import::Tool;
use std::path::PathBuf;

/// How to print an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    /// For the terminal.
    Table,
    /// Markdown tables for documentation.
    Markdown,
    /// For programs (docs/reference/audit-json.md).
    Json,
    /// An HTML page with the tables of the source, each cell coloured by its verdict.
    Html,
}

/// The verdict from which on a finding ends the command with code 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnVerdict {
    /// No measurement can give this figure.
    Impossible,
    /// Figures contradict each other.
    Inconsistent,
    /// A figure is not what its name says.
    NotWhatItIsCalled,
    /// The source does not say enough.
    CannotBeKnown,
}

impl From<FailOnVerdict> for Verdict {
    fn from(verdict: FailOnVerdict) -> Verdict {
        match verdict {
            FailOnVerdict::Impossible => Verdict::Impossible,
            FailOnVerdict::Inconsistent => Verdict::Inconsistent,
            FailOnVerdict::NotWhatItIsCalled => Verdict::NotWhatItIsCalled,
            FailOnVerdict::CannotBeKnown => Verdict::CannotBeKnown,
        }
    }
}

/// How the output of another tool is read.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The tool that wrote these files [default: Dyno recognises it by the first lines].
    #[arg(long, value_name = "TOOL", value_parser = tool)]
    pub(crate) tool: Option<Tool>,
}

/// `dyno audit`
#[derive(Debug, Args)]
#[command(after_long_help = "\
A source is a statement file (docs/reference/statements.md), the unchanged output of a tool, or a \
stored run. Dyno checks every figure by arithmetic. Each finding has a verdict and its \
calculation:
  impossible              no measurement can give this figure
  inconsistent            figures of the source contradict each other
  not what it is called   the figure measures something other than its name says
  cannot be known         the source does not say enough
  no objection found      arithmetic does not rule out the figure (shown with --all)

  dyno audit published/s-core-2025.toml
  dyno audit results.json --fail-on impossible
  dyno audit published/*.toml --format html -o audit.html
  dyno audit published/iceperf-2020.toml --measure    published figures beside figures measured here")]
pub(crate) struct AuditArgs {
    /// Statement files, outputs of tools, run directories, or `latest`.
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The output format.
    #[arg(long, value_enum, default_value_t = AuditFormat::Table)]
    pub(crate) format: AuditFormat,
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also show the figures to which the audit has no objection.
    #[arg(long)]
    pub(crate) all: bool,
    /// Run the experiments that a statement file names as the closest ones to its figures, and show
    /// each published figure beside the value measured here.
    #[arg(long, conflicts_with = "tool")]
    pub(crate) measure: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// End with code 9 if the audit finds this verdict or a worse one; the list begins with the worst. Without this option, the code
    /// does not depend on the verdicts.
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub(crate) fail_on: Option<FailOnVerdict>,
}

fn tool(word: &str) -> Result<Tool, String> {
    Tool::from_word(word).ok_or_else(|| {
        let all: Vec<&str> = Tool::ALL.iter().map(|t| t.as_str()).collect();
        format!("known are {}", all.join(", "))
    })
}
