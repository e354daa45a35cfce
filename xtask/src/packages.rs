//! Debian packages that chores need.

use crate::{Outcome, steps};
use std::path::Path;
use std::process::{Command, Stdio};

/// What the tests of several hosts need: network namespaces, and ssh in both directions.
const OF_TESTS: &[&str] = &["iproute2", "openssh-client"];
/// Starts at boot once it is installed, where there is an init system that starts things.
const SSH_SERVER: &str = "openssh-server";

/// Installs what tests need beside libraries. A machine that is booted is not given an ssh server that
/// nobody asked for: the tests that want one then say that they are left out.
pub(crate) fn of_tests() -> Outcome {
    // sd_booted(3).
    let is_booted = Path::new("/run/systemd/system").exists();
    if is_booted && !is_installed(SSH_SERVER) {
        println!("── {SSH_SERVER} is not installed: hosts that are reached by ssh stay untested");
    }
    let server = (!is_booted).then_some(SSH_SERVER);
    install(OF_TESTS.iter().copied().chain(server))
}

/// Installs the packages that are missing, all at once. Only Debian and its like are known here; on
/// other systems what needs them says what it misses.
pub(crate) fn install<'a>(wanted: impl Iterator<Item = &'a str>) -> Outcome {
    if !steps::succeeds("dpkg-query", &["--version"]) {
        println!("── no dpkg here: install by hand what is missed later");
        return Ok(());
    }
    let wanted: Vec<&str> = wanted.collect();
    let missing: Vec<&str> = wanted
        .iter()
        .filter(|p| !is_installed(p))
        .copied()
        .collect();
    if missing.is_empty() {
        println!("── all {} packages are installed", wanted.len());
        return Ok(());
    }
    let root = rustix::process::geteuid().is_root();
    for arguments in [
        vec!["apt-get", "update", "-q"],
        [
            vec!["apt-get", "install", "-y", "-q", "--no-install-recommends"],
            missing.clone(),
        ]
        .concat(),
    ] {
        let words = match root {
            true => arguments,
            false => [vec!["sudo"], arguments].concat(),
        };
        println!("── {}", words.join(" "));
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env("DEBIAN_FRONTEND", "noninteractive")
            // No service is started (invoke-rc.d(8)).
            .env("RUNLEVEL", "1")
            .stdout(Stdio::null());
        let status = command
            .status()
            .map_err(|e| format!("cannot start {}: {e}", words[0]))?;
        if !status.success() {
            return Err(format!(
                "{} failed ({status}); install {} by hand, then run this again",
                words.join(" "),
                missing.join(" ")
            ));
        }
    }
    Ok(())
}

fn is_installed(package: &str) -> bool {
    let status = Command::new("dpkg-query")
        .args(["-W", "-f=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output();
    status.is_ok_and(|o| o.stdout == b"installed")
}
