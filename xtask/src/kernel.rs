//! `cargo xtask kernel`: the kernel that virtual machines boot, taken from Debian and not installed.

use crate::{Outcome, files, packages, steps};
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
    // Of a start that was broken off.
    files::empty(&new)?;
    println!("── apt-get download {package}");
    steps::output(
        Command::new("apt-get")
            .args(["download", "-q", package])
            .current_dir(&new),
    )?;
    for archive in files::list(&new)? {
        println!("── dpkg -x into {}", place.display());
        steps::output(Command::new("dpkg").arg("-x").args([&archive, &new]))?;
        files::cannot("remove", &archive, std::fs::remove_file(&archive))?;
    }
    // There whole or not at all.
    let _ = std::fs::remove_dir_all(&place);
    files::cannot("rename", &new, std::fs::rename(&new, &place))
}
