//! Debian packages: a tree below /usr, and a control file whose dependencies are those of the programs inside.

use super::contents::{Content, Part};
use super::{Release, empty, said};
use crate::Outcome;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Writes `NAME_VERSION_ARCHITECTURE.deb` into `out`.
pub(super) fn build(part: &Part, release: &Release, work: &Path, out: &Path) -> Outcome {
    let stage = work.join("deb").join(&part.name);
    empty(&stage)?;
    part.write(&stage.join("usr"))?;
    let mut depends = BTreeSet::new();
    if part.name != "dyno" {
        depends.insert(format!("dyno (= {})", release.version));
    }
    depends.extend(part.needs.iter().map(|package| (*package).to_owned()));
    for file in &part.files {
        if let Content::Copy(from) = &file.content
            && is_elf(from)
        {
            depends.extend(linked(from, &stage)?);
        }
    }
    let control = format!(
        "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: The Dyno authors <dyno@localhost>\nSection: utils\n\
         Priority: optional\nDepends: {}\nDescription: {}\n",
        part.name,
        release.version,
        release.architecture,
        depends.into_iter().collect::<Vec<_>>().join(", "),
        part.summary
    );
    let about = stage.join("DEBIAN");
    fs::create_dir_all(&about)
        .and_then(|()| fs::write(about.join("control"), control))
        .map_err(|e| format!("cannot write to {}: {e}", about.display()))?;
    let file = out.join(format!(
        "{}_{}_{}.deb",
        part.name, release.version, release.architecture
    ));
    let output = Command::new("dpkg-deb")
        .args(["--root-owner-group", "-Zxz", "--build"])
        .args([&stage, &file])
        // The times of all files, too (dpkg-deb(1)).
        .env("SOURCE_DATE_EPOCH", &release.time)
        .output()
        .map_err(|e| format!("cannot start dpkg-deb: {e}; it comes with Debian's dpkg"))?;
    if !output.status.success() {
        return Err(format!(
            "dpkg-deb failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    println!("── {}", file.display());
    Ok(())
}

/// The format of programs and libraries, elf(5).
fn is_elf(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}

/// The packages that hold the libraries which a file is linked with, those in `stage` left out.
fn linked(file: &Path, stage: &Path) -> Result<Vec<String>, String> {
    let path = file.to_string_lossy();
    let dynamic = said("readelf", &["-d", &path])?;
    let needed = dynamic
        .lines()
        .filter(|l| l.contains("(NEEDED)"))
        .filter_map(|l| l.split_once('[')?.1.strip_suffix(']'));
    let found = said("ldd", &[&path])?;
    let mut packages = Vec::new();
    for library in needed {
        let line = found
            .lines()
            .map(str::trim)
            .find(|l| l.starts_with(library) || l.contains(&format!("/{library} ")));
        let place = line
            .and_then(|l| l.split(" => ").last()?.split(" (").next())
            .map(PathBuf::from);
        let place = place.ok_or_else(|| format!("{path} needs {library}, which is not here"))?;
        let packed = || stage.join("usr/lib/dyno/adapters");
        if within(&packed(), library) {
            continue;
        }
        let package = owner(&place).ok_or_else(|| {
            format!(
                "{path} needs {}, which is of no Debian package",
                place.display()
            )
        })?;
        packages.push(match package.as_str() {
            "libc6" => format!("libc6 (>= {})", newest_glibc(&path)?),
            _ => package,
        });
    }
    Ok(packages)
}

/// Whether a folder or one below it holds a file of that name.
fn within(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|e| e.path()).any(|path| match path.is_dir() {
        true => within(&path, name),
        false => path.file_name().is_some_and(|n| n == name),
    })
}

/// The package that a file belongs to. Where /lib is /usr/lib, the package may know it by either name.
fn owner(library: &Path) -> Option<String> {
    let real = library.canonicalize().ok()?;
    let short = real.strip_prefix("/usr").map(|p| Path::new("/").join(p));
    let names = [Some(library.to_owned()), Some(real.clone()), short.ok()];
    names.into_iter().flatten().find_map(|name| {
        let line = said("dpkg-query", &["-S", &name.to_string_lossy()]).ok()?;
        Some(line.split(':').next()?.to_owned())
    })
}

/// The newest version of glibc's symbols that a file uses, such as `2.34`.
fn newest_glibc(path: &str) -> Result<String, String> {
    let versions = said("readelf", &["--version-info", "--wide", path])?;
    let numbers = versions.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let parts: Result<Vec<u32>, _> = rest[..end].split('.').map(str::parse).collect();
        parts.ok()
    });
    let newest = numbers
        .max()
        .ok_or_else(|| format!("{path} uses no version of glibc"))?;
    Ok(newest
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join("."))
}
