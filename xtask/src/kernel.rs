//! `cargo xtask kernel`: the kernel that virtual machines boot, taken from Debian and not installed.

use crate::{Outcome, packages, steps};
use std::path::Path;
use std::process::Command;

/// Names the newest kernel without drivers of real machines: 27 MB to fetch.
const NEWEST: &str = "linux-image-cloud-amd64";

/// Puts one into the user's cache, where there is none yet.
pub(crate) fn fetch() -> Outcome {
    let place = packages::cache("kernel");
    if std::fs::read_dir(place.join("boot")).is_ok_and(|mut files| files.next().is_some()) {
        println!("── a kernel for virtual machines is in {}", place.display());
        return Ok(());
    }
    if !cfg!(target_arch = "x86_64") || !steps::succeeds("dpkg", &["--version"]) {
        println!("── no kernel for virtual machines is taken here: that is Debian's for x86-64");
        return Ok(());
    }
    packages::update()?;
    // It fails for a name that it does not know.
    let said =
        steps::output(Command::new("apt-cache").args(["depends", NEWEST])).unwrap_or_default();
    let package = said
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: "))
        .ok_or_else(|| {
            format!("apt-cache knows no {NEWEST}; see that Debian's main archive is in /etc/apt")
        })?;
    let new = place.with_extension("new");
    let failed = |what: &str, path: &Path, e: std::io::Error| {
        format!("cannot {what} {}: {e}", path.display())
    };
    // Of a start that was broken off.
    let _ = std::fs::remove_dir_all(&new);
    std::fs::create_dir_all(&new).map_err(|e| failed("create", &new, e))?;
    println!("── apt-get download {package}");
    steps::output(
        Command::new("apt-get")
            .args(["download", "-q", package])
            .current_dir(&new),
    )?;
    let archives = std::fs::read_dir(&new).map_err(|e| failed("read", &new, e))?;
    for archive in archives.flatten().map(|entry| entry.path()) {
        println!("── dpkg -x into {}", place.display());
        steps::output(Command::new("dpkg").arg("-x").args([&archive, &new]))?;
        std::fs::remove_file(&archive).map_err(|e| failed("remove", &archive, e))?;
    }
    // There whole or not at all.
    let _ = std::fs::remove_dir_all(&place);
    std::fs::rename(&new, &place).map_err(|e| failed("rename", &new, e))
}
