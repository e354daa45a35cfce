//! `dyno audit`

use super::FileArgs;
use clap::{Args, ValueEnum};
use dyno_audit::Verdict;
use dyno_audit::import::Tool;
use std::path::PathBuf;

/// How to print an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    /// For the terminal.
    Table,
    /// Tables for a page of documentation.
    Markdown,
    /// For programs (docs/reference/audit-json.md).
    Json,
    /// One page with the source's tables, each cell marked.
    Html,
}

/// The verdict from which on a finding ends the command with code 9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnVerdict {
    /// No measurement gives such a figure.
    Impossible,
    /// Figures contradict each other, or worse.
    Inconsistent,
    /// A figure is something else than it is called, or worse.
    NotWhatItIsCalled,
    /// The source does not say enough, or worse.
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
    /// The tool that printed the outputs; recognised by their first lines when left out.
    #[arg(long, value_name = "TOOL", value_parser = tool)]
    pub(crate) tool: Option<Tool>,
}

/// `dyno audit`
#[derive(Debug, Args)]
#[command(after_long_help = "\
A source is a statement file (docs/reference/statements.md), the output of a tool as it is, or a stored run. \
Every figure is checked by arithmetic; each finding has a verdict and its calculation:
  impossible              no measurement whatever gives this figure
  inconsistent            figures of the source contradict each other
  not what it is called   it is a figure of something else than its name says
  cannot be known         what the source says is not enough
  no objection found      arithmetic allows it (shown with --all)

  dyno audit published/s-core-2025.toml
  dyno audit results.json --fail-on impossible
  dyno audit published/*.toml --format html -o audit.html
  dyno audit published/iceperf-2020.toml --measure      what this machine gives beside the claims")]
pub(crate) struct AuditArgs {
    /// Statement files, outputs of tools, run directories, or `latest`.
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = AuditFormat::Table)]
    pub(crate) format: AuditFormat,
    /// Write to this file.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Every finding, and what there is no objection to.
    #[arg(long)]
    pub(crate) all: bool,
    /// Run the experiments of Dyno that a statement file names as the nearest to its figures, and set the claims beside
    /// what they give: with conditions, ratio and what differs.
    #[arg(long, conflicts_with = "tool")]
    pub(crate) measure: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
    /// End with code 9 if something as bad as this, or worse, is found. Without this the code is 0 whatever was found.
    #[arg(long, value_enum, value_name = "VERDICT")]
    pub(crate) fail_on: Option<FailOnVerdict>,
}

fn tool(word: &str) -> Result<Tool, String> {
    Tool::from_word(word).ok_or_else(|| {
        let all: Vec<&str> = Tool::ALL.iter().map(|t| t.as_str()).collect();
        format!("known are {}", all.join(", "))
    })
}
