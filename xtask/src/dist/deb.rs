//! Debian packages: a tree below /usr, and a control file whose dependencies are those of the programs inside.

use super::contents::{Content, Part};
use super::release::Release;
use crate::steps::{self, said};
use crate::{Outcome, files};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian packages by name, each with the version that it must at least have, if any.
type Depends = BTreeMap<String, Option<Vec<u32>>>;

/// Writes `NAME_VERSION_ARCHITECTURE.deb` into `out`.
pub(super) fn build(part: &Part, release: &Release, work: &Path, out: &Path) -> Outcome {
    let stage = work.join("deb").join(&part.name);
    files::empty(&stage)?;
    part.write(&stage.join("usr"))?;
    let mut depends = Depends::new();
    for package in &part.needs {
        depends.entry((*package).to_owned()).or_default();
    }
    for file in &part.files {
        if let Content::Copy(from) = &file.content
            && is_elf(from)
        {
            linked(from, &stage, &mut depends)?;
        }
    }
    let control = control(part, release, &depends, kib(&stage.join("usr"))?);
    let about = stage.join("DEBIAN");
    files::make_folder(&about)?;
    files::write(&about.join("control"), control)?;
    let file = out.join(format!(
        "{}_{}_{}.deb",
        part.name, release.version, release.architecture
    ));
    steps::output(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .args([&stage, &file])
            // The times of all files, too (dpkg-deb(1)).
            .env("SOURCE_DATE_EPOCH", &release.time),
    )?;
    println!("── {}", file.display());
    Ok(())
}

/// The format of programs and libraries, elf(5).
fn is_elf(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
}

/// The control file, deb-control(5).
fn control(part: &Part, release: &Release, depends: &Depends, kib: u64) -> String {
    let own = (part.name != "dyno").then(|| format!("dyno (= {})", release.version));
    let others = depends.iter().map(|(package, least)| match least {
        Some(version) => format!("{package} (>= {})", dotted(version)),
        None => package.clone(),
    });
    format!(
        "Package: {}\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {kib}\nSection: utils\n\
         Priority: optional\nHomepage: {}\nDepends: {}\nDescription: {}\n",
        part.name,
        release.version,
        release.architecture,
        release.maintainer,
        release.homepage,
        own.into_iter().chain(others).collect::<Vec<_>>().join(", "),
        part.summary
    )
}

fn dotted(version: &[u32]) -> String {
    version
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(".")
}

/// The files below a folder in KiB, each rounded up, as Debian counts them (deb-substvars(5), `Installed-Size`).
fn kib(folder: &Path) -> Result<u64, String> {
    let mut sum = 1;
    for path in files::list(folder)? {
        let about = files::cannot("read", &path, fs::symlink_metadata(&path))?;
        sum += match about.is_dir() {
            true => kib(&path)?,
            false => about.len().div_ceil(1024),
        };
    }
    Ok(sum)
}

/// Adds the packages that hold the libraries which a file is linked with, those in `stage` left out.
fn linked(file: &Path, stage: &Path, depends: &mut Depends) -> Outcome {
    let path = file.to_string_lossy();
    let dynamic = said("readelf", &["-d", &path])?;
    let needed = dynamic
        .lines()
        .filter(|l| l.contains("(NEEDED)"))
        .filter_map(|l| l.split_once('[')?.1.strip_suffix(']'));
    let found = said("ldd", &[&path])?;
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
        let least = match package.as_str() {
            "libc6" => Some(newest_glibc(&path)?),
            _ => None,
        };
        let known = depends.entry(package).or_default();
        *known = least.max(known.take());
    }
    Ok(())
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

/// The newest version of glibc's symbols that a file uses, such as 2 and 34.
fn newest_glibc(path: &str) -> Result<Vec<u32>, String> {
    let versions = said("readelf", &["--version-info", "--wide", path])?;
    let numbers = versions.split("GLIBC_").skip(1).filter_map(|rest| {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let parts: Result<Vec<u32>, _> = rest[..end].split('.').map(str::parse).collect();
        parts.ok()
    });
    numbers
        .max()
        .ok_or_else(|| format!("{path} uses no version of glibc"))
}
