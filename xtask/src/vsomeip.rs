//! Where vsomeip comes from: the system's own if it has one, else the C++ source that the crate
//! vsomeip-sys carries, built with CMake into `adapters/vsomeip` in cargo's target directory.

use crate::metadata::Metadata;
use crate::{files, steps};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the crate and its version, with a lock file of its own: the crate is no part of the
/// workspace.
const MANIFEST: &str = "adapters/vsomeip/source/Cargo.toml";
const CRATE: &str = "vsomeip-sys";

/// How vsomeip's build differs from its defaults.
const SETTINGS: &[&str] = &[
    "-DCMAKE_BUILD_TYPE=Release",
    // It makes errors of warnings, and newer compilers warn of more. It also asks for debugging information, which takes
    // a quarter of the time and is stripped from what is installed.
    "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG -Wno-error -g0",
    // Each application reads a configuration of its own. Otherwise the first one of a process decides
    // for all, and two trials in one process could not be told apart.
    "-DENABLE_MULTIPLE_ROUTING_MANAGERS=ON",
    "-DVSOMEIP_INSTALL_ROUTINGMANAGERD=ON",
    "-DDISABLE_DLT=ON",
    // Otherwise it fetches googletest.
    "-DGTEST_ROOT=n/a",
    "-DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON",
    // Otherwise it links systemd where that is installed.
    "-DPKG_CONFIG_EXECUTABLE=/bin/false",
    "-DCMAKE_INSTALL_RPATH=$ORIGIN;$ORIGIN/../lib",
];

/// The file that says what was built; written last.
const STAMP: &str = "built-from";

/// Builds vsomeip where the system has none and it was not built yet. Returns the CMake definitions
/// that tell the adapter where it is: none for the system's own.
pub(crate) fn prepare(target: &Path) -> Result<Vec<(String, String)>, String> {
    if steps::succeeds("pkg-config", &["--exists", "vsomeip3"]) {
        return Ok(Vec::new());
    }
    let prefix = target.join("adapters").join("vsomeip");
    let source = source()?;
    let stamp = format!("{}\n{}\n", source.display(), SETTINGS.join("\n"));
    if fs::read_to_string(prefix.join(STAMP)).ok().as_ref() != Some(&stamp) {
        println!("── vsomeip from {} (takes minutes)", source.display());
        build(&source, &target.join("adapters").join("build"), &prefix)?;
        files::write(&prefix.join(STAMP), stamp)?;
    }
    let definition = |name: &str, value: String| (name.to_owned(), value);
    Ok(vec![
        definition("VSOMEIP_PREFIX", prefix.to_string_lossy().into_owned()),
        // From adapters, and from adapters-sanitized beside it.
        definition(
            "VSOMEIP_RPATH",
            "$ORIGIN/vsomeip/lib;$ORIGIN/../adapters/vsomeip/lib".to_owned(),
        ),
    ])
}

/// The folder of vsomeip's source within cargo's copy of the crate, which cargo fetches if need be.
fn source() -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--manifest-path", MANIFEST])
        .stderr(Stdio::inherit());
    let said = steps::output(&mut command)
        .map_err(|e| format!("{e}; fetching {CRATE} needs the registry"))?;
    let metadata: Metadata = serde_json::from_str(&said)
        .map_err(|e| format!("cargo metadata printed something unexpected: {e}"))?;
    let found = metadata.packages.iter().find(|p| p.name == CRATE);
    let folder = found.and_then(|p| p.manifest_path.parent());
    folder
        .map(|folder| folder.join("vsomeip"))
        .ok_or_else(|| format!("{MANIFEST} does not depend on {CRATE}"))
}

/// Builds in a copy, because vsomeip's CMake files write into the source, and installs to `prefix`.
fn build(source: &Path, work: &Path, prefix: &Path) -> Result<(), String> {
    let (copy, objects) = (work.join("vsomeip-src"), work.join("vsomeip-lib"));
    for old in [copy.as_path(), objects.as_path(), prefix] {
        if old.exists() {
            files::remove_folder(old)?;
        }
    }
    copy_folder(source, &copy).map_err(|e| {
        format!(
            "cannot copy {} to {}: {e}",
            source.display(),
            copy.display()
        )
    })?;
    let (copy, objects) = (copy.to_string_lossy(), objects.to_string_lossy());
    let install_prefix = format!("-DCMAKE_INSTALL_PREFIX={}", prefix.display());
    let mut configure = vec!["-S", &copy, "-B", &objects, &install_prefix];
    configure.extend(SETTINGS);
    steps::cmake(&configure)?;
    // Without a number it would start a hundred compilers at once.
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    steps::cmake(&["--build", &objects, "--parallel", &jobs.to_string()])?;
    steps::cmake(&["--install", &objects, "--strip"])
}

pub(crate) fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}
