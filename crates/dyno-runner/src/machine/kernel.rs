//! The kernel of a virtual machine and the modules that its devices take.

use crate::error::MachineError;
use dyno_model::machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What the drivers of the machine's devices are called: the bus, the port of the runner, the network, sockets to the
/// host.
const DRIVERS: [&str; 5] = [
    "virtio_pci",
    "virtio_console",
    "virtio_net",
    "vsock",
    "vmw_vsock_virtio_transport",
];
/// Without these nothing is heard of the machine; without the others a stack is missing.
const REQUIRED: usize = 3;

/// A kernel and what it loads, in order.
pub(crate) struct Kernel {
    /// Its file.
    pub(crate) path: PathBuf,
    /// The modules' files, those that others need first.
    pub(crate) modules: Vec<PathBuf>,
}

/// Where chores of the project put what virtual machines take: `kernel`, `vsock`.
pub(super) fn cache(what: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        home.unwrap_or_else(|| "/".into()).join(".cache")
    };
    // One that is relative counts as none (XDG base directory specification 0.8).
    let cache = cache.filter(|cache| cache.is_absolute());
    cache.unwrap_or_else(home).join("dyno").join(what)
}

impl Kernel {
    /// The one that the machine names, else the newest one in the user's cache.
    pub(crate) fn find(host: &str, machine: &Machine) -> Result<Self, MachineError> {
        let path = match &machine.kernel {
            Some(path) => path.clone(),
            None => {
                let boot = cache("kernel").join("boot");
                let entries = fs::read_dir(&boot).into_iter().flatten().flatten();
                let images = entries
                    .map(|e| e.path())
                    .filter(|p| version(p).is_some_and(|v| !v.is_empty()));
                let newest = images.max_by_key(|p| numbers(version(p).unwrap_or_default()));
                let newest = newest.ok_or_else(|| MachineError::Kernel {
                    host: host.to_owned(),
                    looked: boot,
                })?;
                // Of a cache, which must be the user's own in every part.
                own(&newest).map_err(|reason| MachineError::Unfit {
                    host: host.to_owned(),
                    kernel: newest.clone(),
                    reason,
                })?
            }
        };
        let unfit = |reason: String| MachineError::Unfit {
            host: host.to_owned(),
            kernel: path.clone(),
            reason,
        };
        fs::File::open(&path).map_err(|e| {
            unfit(format!(
                "{e}; name another with `kernel`, or run `cargo xtask kernel`"
            ))
        })?;
        let version = version(&path).ok_or_else(|| {
            unfit(
                "its name is not vmlinuz-VERSION, so Dyno cannot tell where its modules are".into(),
            )
        })?;
        let named = |part: &Path| Ok(part.to_owned());
        let modules = match machine.kernel {
            Some(_) => modules_of(&path, version, &named),
            None => modules_of(&path, version, &own),
        };
        Ok(Kernel {
            modules: modules.map_err(unfit)?,
            path,
        })
    }
}

/// The real path of a part of a cached kernel, which strangers cannot change; the error is why it is not believed.
fn own(part: &Path) -> Result<PathBuf, String> {
    dyno_own::settled(part).map_err(|refusal| format!("{refusal}; or name another with `kernel`"))
}

/// What a part of a kernel really is, or why it is not believed.
type Believed<'a> = &'a dyn Fn(&Path) -> Result<PathBuf, String>;

/// Why a driver is not there.
enum Lack {
    /// This module is nowhere.
    Module(String),
    /// It is not believed, and why.
    Trust(String),
}

/// The version in `vmlinuz-VERSION`.
fn version(kernel: &Path) -> Option<&str> {
    kernel.file_name()?.to_str()?.strip_prefix("vmlinuz-")
}

/// What versions are ordered by: 6.1.0-40 is newer than 6.1.0-9.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Modules lie where packages have them: beside the directory of the kernel, in lib/modules/VERSION.
fn modules_of(
    kernel: &Path,
    version: &str,
    believed: Believed<'_>,
) -> Result<Vec<PathBuf>, String> {
    let boot = kernel.parent().unwrap_or(Path::new("/"));
    let root = boot.parent().unwrap_or(Path::new("/"));
    let places = ["lib/modules", "usr/lib/modules"].map(|lib| root.join(lib).join(version));
    let place = places.iter().find(|p| p.is_dir()).ok_or_else(|| {
        format!(
            "its modules are not in {}; install or unpack the whole package of the kernel",
            places[0].display()
        )
    })?;
    let place = &believed(place)?;
    let built_in = fs::read_to_string(place.join("modules.builtin")).unwrap_or_default();
    let built_in: BTreeSet<String> = built_in.lines().map(|l| name(Path::new(l))).collect();
    let mut files = BTreeMap::new();
    walk(&place.join("kernel"), &mut files);
    let mut order = Vec::new();
    for (number, driver) in DRIVERS.iter().enumerate() {
        match add(driver, &files, &built_in, believed, &mut order) {
            Err(Lack::Trust(reason)) => return Err(reason),
            Err(Lack::Module(missing)) if number < REQUIRED => {
                return Err(format!(
                    "it has {missing} neither built in nor in {}; take a kernel with virtio, such as Debian's \
                     linux-image-cloud-amd64 (`cargo xtask kernel`)",
                    place.display()
                ));
            }
            Err(Lack::Module(_)) | Ok(()) => {}
        }
    }
    Ok(order)
}

/// A module's name: in files and in lists both signs stand for the same.
fn name(file: &Path) -> String {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    file.split(".ko")
        .next()
        .unwrap_or_default()
        .replace('-', "_")
}

fn walk(directory: &Path, files: &mut BTreeMap<String, PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.to_string_lossy().contains(".ko") {
            files.insert(name(&path), path);
        }
    }
}

/// Adds a module behind those that it needs. What is not believed is not read.
fn add(
    module: &str,
    files: &BTreeMap<String, PathBuf>,
    built_in: &BTreeSet<String>,
    believed: Believed<'_>,
    order: &mut Vec<PathBuf>,
) -> Result<(), Lack> {
    if built_in.contains(module) {
        return Ok(());
    }
    let file = files.get(module);
    let file = file.ok_or_else(|| Lack::Module(module.to_owned()))?;
    let file = believed(file).map_err(Lack::Trust)?;
    if order.contains(&file) {
        return Ok(());
    }
    for needed in depends(&file) {
        add(&needed, files, built_in, believed, order)?;
    }
    order.push(file);
    Ok(())
}

/// The modules that a module's own description (`.modinfo`) says that it needs.
fn depends(file: &Path) -> Vec<String> {
    let mut bytes = fs::read(file).unwrap_or_default();
    if !bytes.starts_with(b"\x7fELF") {
        // Compressed: what unpacks it is installed where modules are.
        let mut modinfo = std::process::Command::new("modinfo");
        let output = modinfo.args(["-F", "depends"]).arg(file).output();
        let said = output.map(|o| o.stdout).unwrap_or_default();
        bytes = [b"depends=", said.trim_ascii_end(), b"\0"].concat();
    }
    let key = b"depends=";
    let at = bytes.windows(key.len()).position(|w| w == key);
    let list = at.and_then(|at| bytes[at + key.len()..].split(|b| *b == 0).next());
    let list = String::from_utf8_lossy(list.unwrap_or_default()).replace('-', "_");
    list.split(',')
        .filter(|m| !m.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(kernel: &Path) -> Machine {
        Machine {
            kernel: Some(kernel.to_owned()),
            memory_bytes: 1 << 29,
            cpus: 1,
            pinned: Vec::new(),
            accelerator: dyno_model::machine::Accelerator::Tcg,
            vsock: None,
            shared_bytes: None,
        }
    }

    #[test]
    fn the_newest_kernel_is_not_the_largest_text() {
        let order = [
            "5.10.0-44-amd64",
            "6.1.0-9-cloud-amd64",
            "6.1.0-40-cloud-amd64",
            "6.12.1",
        ];
        assert!(order.is_sorted_by(|a, b| numbers(a) < numbers(b)));
    }

    #[test]
    fn modules_follow_those_that_they_need_and_a_missing_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let kernel = dir.path().join("boot/vmlinuz-6.1.0-x");
        let fail = |what: &str| {
            let error = Kernel::find("guest", &machine(&kernel))
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(what) && error.contains("guest"), "{error}");
        };
        fail("cargo xtask kernel");
        fs::create_dir_all(dir.path().join("boot")).unwrap();
        fs::write(&kernel, "").unwrap();
        fail("lib/modules/6.1.0-x; install or unpack");
        let place = dir.path().join("lib/modules/6.1.0-x");
        let drivers = place.join("kernel/drivers");
        fs::create_dir_all(&drivers).unwrap();
        let module = |name: &str, needs: &str| {
            let text = [b"\x7fELF..\0depends=", needs.as_bytes(), b"\0name=\0"].concat();
            fs::write(drivers.join(name), text).unwrap();
        };
        module("virtio_pci.ko", "virtio-ring");
        module("virtio-ring.ko", "");
        fs::write(
            place.join("modules.builtin"),
            "kernel/drivers/char/virtio_console.ko\n",
        )
        .unwrap();
        fail("it has virtio_net neither built in");
        module("virtio_net.ko", "virtio_ring,failover");
        module("failover.ko", "");
        let found = Kernel::find("guest", &machine(&kernel)).unwrap();
        let names: Vec<String> = found.modules.iter().map(|m| name(m)).collect();
        assert_eq!(
            names,
            ["virtio_ring", "virtio_pci", "failover", "virtio_net"]
        );
    }
}
