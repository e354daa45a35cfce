//! Archive and packages on a Debian that has nothing else: unpacked, installed by apt, then measured with.

use crate::manifest::Manifest;
use crate::steps::{self, Step, said};
use crate::{Outcome, files, packages};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What runs in the clean root, in namespaces of its own. The archive lies in a folder whose name has a blank, and
/// finds no library of an adapter there. A single trial tells whether a stack works; only the first run is whole.
const SCRIPT: &str = r#"
set -eu
mount -t proc proc /proc
mount -t sysfs -o ro sysfs /sys
mount -t tmpfs tmpfs /dev/shm
cd /root
for tool in cargo cc dyno; do
    if command -v "$tool"; then echo "this root is not clean: it has $tool" >&2; exit 1; fi
done
mkdir "any folder"
tar -xzf /packages/dyno-*.tar.gz -C "any folder"
for dyno in "any folder"/*/bin/dyno; do
    "$dyno" run quick --quiet --stack uds-stream --trials 1 --repeats 0 --out archive
    "$dyno" list adapters --json >archive.json
done
begun=$(date +%s)
apt-get install -y -q --no-install-recommends /packages/dyno_*.deb >/dev/null
installed=$(date +%s)
dyno run quick --quiet --out first
ended=$(date +%s)
apt-get install -y -q --no-install-recommends /packages/*.deb mosquitto nats-server dbus-daemon openssl >/dev/null
dyno list stacks
dyno run quick --quiet --trials 1 --repeats 0 --out all
echo "── from apt install to the first table: $((ended - begun)) s, $((installed - begun)) s of them apt's"
"#;

/// Makes a root with debootstrap, of this machine's release, runs [`SCRIPT`] in it, and reads what it has measured.
pub(super) fn check(work: &Path, out: &Path, libraries: &[(Manifest, PathBuf)]) -> Outcome {
    if !rustix::process::geteuid().is_root() {
        return Err(
            "--check makes a root of its own, which takes root: run it with sudo".to_owned(),
        );
    }
    packages::install(["debootstrap"].into_iter())?;
    let os = files::read(Path::new("/etc/os-release"))?;
    let suite = os
        .lines()
        .find_map(|l| l.strip_prefix("VERSION_CODENAME="))
        .ok_or("this machine is no Debian: /etc/os-release names no VERSION_CODENAME")?;
    let root = work.join("root");
    files::empty(&root)?;
    let begun = Instant::now();
    said(
        "debootstrap",
        &["--variant=minbase", suite, &root.to_string_lossy()],
    )?;
    println!("── a clean {suite} in {} s", begun.elapsed().as_secs());
    let packages = root.join("packages");
    files::empty(&packages)?;
    for file in files::list(out)? {
        let to = packages.join(file.file_name().unwrap_or_default());
        files::cannot("write", &to, fs::copy(&file, &to))?;
    }
    files::write(&root.join("check.sh"), SCRIPT)?;
    let step = Step::new(
        "archive and packages in a clean Debian",
        "unshare --mount --pid --ipc --fork chroot . sh /check.sh",
    );
    steps::run(&[step.inside(root.clone())])?;
    let home = root.join("root");
    missing_libraries_are_named(&home.join("archive.json"), libraries)?;
    let program = work.join("release/dyno").to_string_lossy().into_owned();
    for (Manifest { name, .. }, _) in libraries {
        is_measured(&program, &home.join("all"), name)?;
    }
    files::remove_folder(&root)?;
    println!("── archive and packages work in a clean Debian");
    Ok(())
}

/// Adapters of the archive whose libraries are not there say which one it is, and which package has it.
fn missing_libraries_are_named(list: &Path, libraries: &[(Manifest, PathBuf)]) -> Outcome {
    let list = files::json(list)?;
    let adapters = list.as_array().map_or(&[][..], Vec::as_slice);
    for (Manifest { name, .. }, library) in libraries {
        let adapter = adapters.iter().find(|a| a["name"] == name.as_str());
        let adapter =
            adapter.ok_or_else(|| format!("the archive is without the adapter {name}"))?;
        if let Some(reason) = adapter["unavailable"].as_str()
            && !(reason.contains(".so") && reason.contains(&format!("dyno-{name}")))
        {
            return Err(format!(
                "in a clean Debian the adapter {name} of {} does not say what it misses: {reason}",
                library.display()
            ));
        }
    }
    Ok(())
}

/// What a program prints as JSON.
fn json(program: &str, arguments: &[&str]) -> Result<Value, String> {
    let said = said(program, arguments)?;
    serde_json::from_str(&said).map_err(|e| format!("{program} {}: {e}", arguments.join(" ")))
}

/// Some stack of the adapter has a median in the run; or its daemon is none of Debian's, which is said.
fn is_measured(program: &str, run: &Path, adapter: &str) -> Outcome {
    let stacks = json(program, &["list", "stacks", "--json"])?;
    let stacks = stacks.as_array().map_or(&[][..], Vec::as_slice);
    let of_adapter = |stack: &Value| {
        stacks
            .iter()
            .any(|s| s["name"] == *stack && s["adapter"] == adapter)
    };
    let shown = ["show", &run.to_string_lossy(), "--format", "json"];
    let shown = json(program, &shown)?;
    let experiments = shown["experiments"].as_array().into_iter().flatten();
    let measured = experiments
        .filter(|e| of_adapter(&e["stack"]))
        .flat_map(|e| e["metrics"].as_object().into_iter().flatten())
        .any(|(_, metric)| metric["p50"]["value"].is_number());
    let mut refused = shown["run"]["refused"].as_array().into_iter().flatten();
    let no_daemon = |r: &Value| {
        let reason = r["reason"].as_str().unwrap_or_default();
        of_adapter(&r["stack"])
            && reason.contains("its daemon")
            && !reason.contains("apt-get install")
    };
    match measured {
        true => Ok(()),
        false if refused.any(no_daemon) => {
            println!("── not measured: {adapter}, whose daemon Debian does not have");
            Ok(())
        }
        false => Err(format!(
            "no stack of the adapter {adapter} was measured in the clean Debian: see `dyno show {}`",
            run.display()
        )),
    }
}
