//! What earlier trials of a run have left on its machine although their sessions were cleared: shared memory
//! and message queues. It may change what later trials find, so it stands with them.

use dyno_model::cause::Warning;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where POSIX shared memory and message queues show as files.
const PLACES: [&str; 2] = ["/dev/shm", "/dev/mqueue"];
/// So many are named.
const NAMED: usize = 3;

/// What was there when the run began.
pub(crate) struct Leavings {
    places: Vec<PathBuf>,
    known: BTreeSet<PathBuf>,
}

impl Leavings {
    /// From now on.
    pub(crate) fn new() -> Self {
        Self::within(PLACES.iter().map(PathBuf::from).collect())
    }

    fn within(places: Vec<PathBuf>) -> Self {
        let known = own_files(&places);
        Leavings { places, known }
    }

    /// What of this user has come since the run began and is there before a trial.
    pub(crate) fn warning(&self) -> Option<Warning> {
        let now = own_files(&self.places);
        let mut new = now.difference(&self.known);
        let named = new
            .by_ref()
            .take(NAMED)
            .map(|path| path.display().to_string());
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| Warning::Leavings {
            named,
            more: new.count() as u64,
        })
    }
}

/// The user's own files there, but for those of other runners at work, which carry their names.
fn own_files(places: &[PathBuf]) -> BTreeSet<PathBuf> {
    let own = rustix::process::getuid().as_raw();
    let entries = |place: &PathBuf| std::fs::read_dir(place).into_iter().flatten().flatten();
    let files = places.iter().flat_map(entries);
    files
        .filter(|entry| entry.metadata().is_ok_and(|m| m.uid() == own))
        .map(|entry| entry.path())
        .filter(|path| !is_of_a_session(path))
        .collect()
}

/// Whether the name is that of a session, which is cleared with it.
fn is_of_a_session(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split_once("dyno-")
        .is_some_and(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_since_the_run_began_is_named_and_sessions_are_not() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("old"), "").unwrap();
        let leavings = Leavings::within(vec![dir.path().to_owned()]);
        assert_eq!(leavings.warning(), None);
        std::fs::write(dir.path().join("dyno-12-34-5.c0"), "").unwrap();
        assert_eq!(leavings.warning(), None);
        for name in ["a", "b", "c", "d"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let said = leavings.warning().unwrap().to_string();
        assert!(
            said.ends_with("/c and 1 more") && !said.contains("old"),
            "{said}"
        );
    }
}
