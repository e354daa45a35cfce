//! The output of another tool where `show`, `report`, `compare` and `check` take a run: a file or a pipe in place of a directory.

use crate::exit::{Code, Failure, Result};
use dyno_audit::import::{self, Tool};
use dyno_audit::{Audit, Statements};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Whether this names the output of a tool: runs are directories, and whoever names a tool means its output.
pub(super) fn is_output(source: &Path, tool: Option<Tool>) -> bool {
    tool.is_some() || (source.exists() && !source.is_dir())
}

/// Reads the output of a tool, which is recognised by its beginning where `tool` does not say it.
pub(super) fn read(source: &Path, tool: Option<Tool>) -> Result<Statements> {
    let name = source.display().to_string();
    let file = File::open(source).map_err(|e| failure!(Error, "cannot read {name}: {e}"))?;
    let mut reader = BufReader::new(file);
    import::import(&mut reader, &name, tool).map_err(Failure::with(Code::Plan))
}

/// One page of outputs: their results, each cell marked by what the audit says of it.
pub(super) fn page(sources: &[impl AsRef<Path>], tool: Option<Tool>) -> Result<String> {
    let mut read_all: Vec<(Statements, Audit)> = Vec::new();
    for source in sources {
        let statements = read(source.as_ref(), tool)?;
        let audit = Audit::of(&statements);
        read_all.push((statements, audit));
    }
    let pairs: Vec<(&Statements, &Audit)> = read_all.iter().map(|(s, a)| (s, a)).collect();
    dyno_audit::page(&pairs).map_err(Failure::with(Code::Error))
}

/// Why an output and a run do not stand in one answer.
pub(super) fn mixed(run: &Path, output: &Path) -> Failure {
    failure!(
        Usage,
        "{} is a run and {} is the output of another tool, and only the run has trials and conditions: compare two runs or two outputs \
             (`dyno show RUN --format gbench` turns the run into an output), or measure beside the output with `dyno audit FILE --measure`",
        run.display(),
        output.display()
    )
}
