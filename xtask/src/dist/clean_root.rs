//! The packages on a Debian that has nothing else: installed by apt, then measured with.

use super::{Release, empty, said};
use crate::steps::{self, Step};
use crate::{Outcome, packages};
use std::fs;
use std::path::Path;
use std::time::Instant;

/// What runs in the clean root, in a mount and process namespace of its own.
const SCRIPT: &str = "\
set -eu
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm
cd /root
begun=$(date +%s)
apt-get install -y -q --no-install-recommends /packages/dyno_*.deb >/dev/null
test -z \"$(command -v cargo cc)\"
dyno run quick --quiet --out first
echo \"── from apt install to the table: $(($(date +%s) - begun)) s\"
for package in /packages/dyno-zenoh_*.deb /packages/dyno-cyclonedds_*.deb; do
    if test -e \"$package\"; then
        apt-get install -y -q --no-install-recommends \"$package\" >/dev/null
        name=${package#/packages/dyno-}
        dyno list adapters | grep \"^${name%%_*} \"
    fi
done
dyno run quick --quiet --out all
";

/// Makes a root with debootstrap, of this machine's release, and runs [`SCRIPT`] in it.
pub(super) fn check(work: &Path, out: &Path, release: &Release) -> Outcome {
    packages::install(["debootstrap"].into_iter())?;
    let os = fs::read_to_string("/etc/os-release")
        .map_err(|e| format!("cannot read /etc/os-release: {e}"))?;
    let suite = os
        .lines()
        .find_map(|l| l.strip_prefix("VERSION_CODENAME="))
        .ok_or("this machine is no Debian: /etc/os-release names no VERSION_CODENAME")?;
    let root = work.join("root");
    empty(&root)?;
    let begun = Instant::now();
    said(
        "debootstrap",
        &["--variant=minbase", suite, &root.to_string_lossy()],
    )?;
    println!("── a clean {suite} in {} s", begun.elapsed().as_secs());
    let packages = root.join("packages");
    empty(&packages)?;
    let entries = fs::read_dir(out).map_err(|e| format!("cannot read {}: {e}", out.display()))?;
    for entry in entries.flatten() {
        let to = packages.join(entry.file_name());
        fs::copy(entry.path(), &to).map_err(|e| format!("cannot write {}: {e}", to.display()))?;
    }
    fs::write(root.join("check.sh"), SCRIPT)
        .map_err(|e| format!("cannot write to {}: {e}", root.display()))?;
    let step = Step::new(
        "the packages in a clean Debian",
        "unshare",
        &[
            "--mount",
            "--pid",
            "--fork",
            "chroot",
            ".",
            "sh",
            "/check.sh",
        ],
    );
    steps::run(&[step.inside(root.clone())])?;
    fs::remove_dir_all(&root).map_err(|e| format!("cannot remove {}: {e}", root.display()))?;
    println!("── dyno {} works in a clean Debian", release.version);
    Ok(())
}
