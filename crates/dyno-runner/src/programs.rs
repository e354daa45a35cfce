//! Where the programs are that the runner starts.

use dyno_model::daemon;
use std::path::PathBuf;

/// Where systems put daemons: no part of the PATH that Debian gives to users other than root.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Whether `program` can be started: an executable file of that path, or of that name in PATH or where systems put
/// daemons.
pub fn is_installed(program: &str) -> bool {
    find(program).is_some()
}

/// The program's file, as the shell of a user who may administer the system would find it.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let executable = |path: &PathBuf| {
        path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
    };
    let (variable, program) = daemon::program(program);
    if let Some(path) = variable
        .and_then(std::env::var_os)
        .filter(|p| !p.is_empty())
    {
        return Some(PathBuf::from(path)).filter(executable);
    }
    match program.contains('/') {
        true => Some(PathBuf::from(program)).filter(executable),
        false => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let system = SYSTEM.iter().map(PathBuf::from);
            let mut files = std::env::split_paths(&path).chain(system);
            files.find_map(|d| Some(d.join(program)).filter(executable))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_path_or_by_their_own() {
        assert!(is_installed("sh") && is_installed("/bin/sh"));
        assert!(!is_installed("no-such-daemon-of-dyno") && !is_installed("/etc/passwd"));
        // An environment variable that is not set leaves it to the name; one that is set must name a program.
        assert!(is_installed("${DYNO_NO_SUCH_VARIABLE:-sh}"));
        assert!(!is_installed("${HOME:-sh}"));
    }
}
