//! What a shell may complete where the command line takes a name: suites, stacks, testbeds and stored runs.
//! Asked for by the script of `dyno completions` while somebody types, so whatever cannot be read is left out.

use crate::files::{self, FileArgs};
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use dyno_plan::{Catalog, Listing};
use dyno_report::{clean, is_hidden};
use dyno_store::{DEFAULT_RUNS_DIR, LATEST, MANIFEST};
use std::ffi::OsStr;
use std::path::Path;

/// The names of suites, or files.
pub(super) fn suites() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| or_file(current, listed(Catalog::suites)))
}

/// The names of testbeds, or files.
pub(super) fn testbeds() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| or_file(current, listed(Catalog::testbeds)))
}

/// The names of stacks.
pub(super) fn stacks() -> ArgValueCandidates {
    ArgValueCandidates::new(|| listed(Catalog::stacks))
}

/// `latest`, the names of the runs in `./runs`, or directories.
pub(super) fn runs() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let stored = std::fs::read_dir(DEFAULT_RUNS_DIR).into_iter().flatten();
        let stored = stored
            .flatten()
            .filter(|entry| entry.path().join(MANIFEST).is_file())
            .map(|entry| Path::new(DEFAULT_RUNS_DIR).join(entry.file_name()));
        let names = stored.map(CompletionCandidate::new);
        let mut all = starting_with(
            current,
            std::iter::once(CompletionCandidate::new(LATEST)).chain(names),
        );
        all.extend(PathCompleter::dir().complete(current));
        typed(all)
    })
}

/// What the catalog lists, with a line on each. `--files` is not known while the line is typed;
/// `DYNO_FILES` is.
fn listed(list: fn(&Catalog) -> Vec<Listing>) -> Vec<CompletionCandidate> {
    let none = FileArgs {
        folders: Vec::new(),
    };
    let catalog = files::catalog(&none).unwrap_or_else(|_| Catalog::builtin());
    let candidate =
        |l: Listing| CompletionCandidate::new(l.name).help(Some(clean(&l.title).into()));
    typed(list(&catalog).into_iter().map(candidate))
}

fn or_file(current: &OsStr, names: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    let mut all = starting_with(current, names.into_iter());
    let is_toml = |path: &Path| path.extension().is_some_and(|e| e == "toml");
    all.extend(PathCompleter::any().filter(is_toml).complete(current));
    typed(all)
}

/// Without names that nobody types, which a shell would put on the terminal as they are.
fn typed(all: impl IntoIterator<Item = CompletionCandidate>) -> Vec<CompletionCandidate> {
    let hidden = |c: &CompletionCandidate| c.get_value().to_string_lossy().contains(is_hidden);
    all.into_iter().filter(|c| !hidden(c)).collect()
}

fn starting_with(
    current: &OsStr,
    all: impl Iterator<Item = CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    let begun = current.as_encoded_bytes();
    all.filter(|c| c.get_value().as_encoded_bytes().starts_with(begun))
        .collect()
}
