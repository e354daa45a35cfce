//! What chores need from elsewhere: Debian packages, programs from PyPI and from crates.io.

use crate::metadata::Metadata;
use crate::{Outcome, files, steps};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// What tests need: network namespaces, ssh in both directions, virtual machines, and a browser with letters to draw.
const OF_TESTS: &[&str] = &[
    "iproute2",
    "openssh-client",
    "chromium",
    "fonts-dejavu-core",
    "libbenchmark-tools",
    "qemu-system-x86",
    // What action.yml finds on every runner.
    "curl",
    "jq",
];
/// What installs and runs the page's scripts, where no newer one is found.
const NODE: &[&str] = &["nodejs", "npm"];
/// The oldest version of node that they run with; crates/dyno-page/web/package.json says the same.
const OLDEST_NODE: u32 = 20;
/// What the programs need that read exports back.
const PYTHON: &[&str] = &["python3", "python3-venv"];
/// Those programs, below the workspace's root.
const READERS: &str = "crates/dyno-export/tests/requirements.txt";
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

/// Sees to node and npm, from Debian where there are none.
pub(crate) fn of_web() -> Outcome {
    let found = || Some((node_version()?, steps::succeeds("npm", &["--version"])));
    let is_enough = |found| matches!(found, Some((version, true)) if version >= OLDEST_NODE);
    if is_enough(found()) {
        return Ok(());
    }
    install(NODE.iter().copied())?;
    match found() {
        found if is_enough(found) => Ok(()),
        found => Err(wants_node(found)),
    }
}

/// What to do about a node that is too old, as Debian 12's is, or missing.
fn wants_node(found: Option<(u32, bool)>) -> String {
    let state = match found {
        Some((version, true)) => format!("node {version} is too old for the tests of the page"),
        Some((_, false)) => "npm is missing, which the tests of the page need".to_owned(),
        None => "node is missing, which the tests of the page need".to_owned(),
    };
    format!(
        "{state}: they take node {OLDEST_NODE} or newer with npm. Debian 13 has it; on Debian 12 unpack an archive of \
         https://nodejs.org/dist/latest-v22.x/ and put its bin into PATH before /usr/bin. Then run this again, or run \
         `cargo xtask test --fast`, which takes no node"
    )
}

/// The first number of `node --version`, such as `v20.19.2`.
fn node_version() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    major(&String::from_utf8_lossy(&output.stdout))
}

fn major(version: &str) -> Option<u32> {
    let (major, _) = version.trim().strip_prefix('v')?.split_once('.')?;
    major.parse().ok()
}

/// Installs what reads exports back into `target/python`, where it is missing or was that of another list.
pub(crate) fn readers(metadata: &Metadata) -> Outcome {
    let list = metadata.workspace_root.join(READERS);
    let wanted = std::fs::read(&list)
        .map_err(|e| format!("cannot read {}: {e}; restore it with git", list.display()))?;
    let place = metadata.target_directory.join("python");
    let python = place.join("bin/python");
    let installed = place.join("installed.txt");
    if python.exists() && std::fs::read(&installed).is_ok_and(|known| known == wanted) {
        println!("── what reads exports back is installed");
        return Ok(());
    }
    if !steps::succeeds("python3", &["-c", "import ensurepip, venv"]) {
        install(PYTHON.iter().copied())?;
    }
    let [place, list, python] = [&place, &list, &python].map(|p| p.to_string_lossy().into_owned());
    let kept = |words: &[&str]| {
        println!("── {}", words.join(" "));
        let mut command = Command::new(words[0]);
        steps::output(command.args(&words[1..])).map_err(|e| advised(&e, "PyPI"))
    };
    kept(&["python3", "-m", "venv", "--clear", &place])?;
    let pip = "-m pip install --quiet --disable-pip-version-check --requirement";
    let words: Vec<&str> = [&*python].into_iter().chain(pip.split(' ')).collect();
    kept(&[&words[..], &[&list]].concat())?;
    files::write(&installed, wanted)
}

/// Builds the daemons that tests need and no package of Debian has into `target/daemons`: zenohd, of the version of the
/// library, with the one transport that its stack uses. It is not optimized: tests do not measure.
pub(crate) fn daemons(metadata: &Metadata) -> Outcome {
    let zenoh = metadata.packages.iter().find(|p| p.name == "zenoh");
    let version = zenoh.map(|p| p.version.as_str()).ok_or(
        "cargo metadata does not know the crate zenoh, whose version zenohd must have; restore Cargo.lock with git",
    )?;
    let place = daemons_in(metadata);
    let daemon = place.join("bin/zenohd");
    let of_version = |text: &str| text.contains(&format!("zenohd {version} "));
    if daemon.exists()
        && std::fs::read_to_string(place.join(".crates.toml")).is_ok_and(|t| of_version(&t))
    {
        println!("── zenohd {version} is installed");
        return Ok(());
    }
    let options = "--debug --no-default-features --features zenoh/transport_tcp --config profile.dev.debug=false";
    let what = ["zenohd", "--version", version].into_iter();
    cargo_install(&what.chain(options.split(' ')).collect::<Vec<_>>(), &place)
}

/// Installs a program with cargo below `root`; what has not changed is not built again.
fn cargo_install(what: &[&str], root: &Path) -> Outcome {
    let (root, build) = (root.to_string_lossy(), root.join("build"));
    let place = [
        "--locked",
        "--root",
        &root,
        "--target-dir",
        &build.to_string_lossy(),
    ];
    fetch(&[&["cargo", "install"], what, &place].concat(), "crates.io")
}

/// What zenoh's plugin for DDS is built with: Cyclone DDS comes with it in source, and bindgen reads its headers.
const OF_DDS_BRIDGE: &[&str] = &["cmake", "g++", "make", "libclang-dev"];

/// Builds the gateway of the stack `zenoh-dds-bridge` into `target/daemons`, for who asks for it: it takes minutes. Optimized: it is
/// what is measured.
pub(crate) fn dds_bridge(metadata: &Metadata) -> Outcome {
    install(OF_DDS_BRIDGE.iter().copied())?;
    let source = metadata.workspace_root.join("daemons/dds-bridge");
    cargo_install(
        &["--path", &source.to_string_lossy()],
        &daemons_in(metadata),
    )
}

/// What is the vsock device of virtual machines where the kernel has none, by rust-vmm, and its version.
const VSOCK: (&str, &str) = ("vhost-device-vsock", "0.3.0");

/// Builds it into the user's cache, where `dyno` looks for it. Optimized: it is part of what is measured.
pub(crate) fn vsock() -> Outcome {
    let (name, version) = VSOCK;
    let place = cache("vsock");
    let known = std::fs::read_to_string(place.join(".crates.toml")).unwrap_or_default();
    if place.join("bin").join(name).exists() && known.contains(&format!("{name} {version} ")) {
        println!("── {name} {version} is in {}", place.display());
        return Ok(());
    }
    // With its default features: 0.3.0 does not build without them.
    cargo_install(&[name, "--version", version], &place)?;
    // Not left: its dependencies are nobody else's.
    files::remove_folder(&place.join("build"))
}

/// Where `dyno` looks for what virtual machines take.
pub(crate) fn cache(what: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    cache.unwrap_or_else(home).join("dyno").join(what)
}

/// Where those daemons are.
pub(crate) fn daemons_in(metadata: &Metadata) -> PathBuf {
    metadata.target_directory.join("daemons")
}

/// Runs a command that takes what it needs from `registry`.
fn fetch(words: &[&str], registry: &str) -> Outcome {
    println!("── {}", words.join(" "));
    let done = steps::done(Command::new(words[0]).args(&words[1..]));
    done.map_err(|e| advised(&format!("{e}; see above"), registry))
}

fn advised(error: &str, registry: &str) -> String {
    format!(
        "{error}; where it could not fetch something, see that {registry} can be reached, then run this again"
    )
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
    update()?;
    let install = [
        vec!["apt-get", "install", "-y", "-q", "--no-install-recommends"],
        missing.clone(),
    ];
    administer(&install.concat()).map_err(|failed| {
        let missing = missing.join(" ");
        format!("{failed}; install {missing} by hand, then run this again")
    })
}

/// Has the package manager read what there is, once.
pub(crate) fn update() -> Outcome {
    static UPDATED: AtomicBool = AtomicBool::new(false);
    if !UPDATED.load(Ordering::Relaxed) {
        administer(&["apt-get", "update", "-q"])?;
        UPDATED.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Runs a command as root, quietly.
fn administer(command: &[&str]) -> Outcome {
    let words = match rustix::process::geteuid().is_root() {
        true => command.to_vec(),
        false => [&["sudo"], command].concat(),
    };
    println!("── {}", words.join(" "));
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .env("DEBIAN_FRONTEND", "noninteractive")
        // No service is started (invoke-rc.d(8)).
        .env("RUNLEVEL", "1")
        .stdout(Stdio::null());
    steps::done(&mut command)
}

fn is_installed(package: &str) -> bool {
    let status = Command::new("dpkg-query")
        .args(["-W", "-f=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output();
    status.is_ok_and(|o| o.stdout == b"installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_does_not_do_comes_with_what_to_do() {
        let old = wants_node(Some((18, true)));
        assert!(old.starts_with("node 18 is too old"), "{old}");
        for found in [Some((18, true)), Some((20, false)), None] {
            let text = wants_node(found);
            assert!(
                text.contains("nodejs.org") && text.contains("--fast"),
                "{text}"
            );
        }
    }

    #[test]
    fn nodes_version_is_read_and_anything_else_is_none() {
        assert_eq!(major("v20.19.2\n"), Some(20));
        assert_eq!(major("v8.0.0"), Some(8));
        assert_eq!(major("20.19.2"), None);
        assert_eq!(major(""), None);
    }
}
