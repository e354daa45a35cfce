//! `cargo xtask dist`: an archive that runs from any folder and Debian packages, with checksums; and
//! `cargo xtask install`: the same files on this machine.
//!
//! The same commit, toolchain and libraries give the same bytes: times are the commit's, names are sorted, and paths
//! of this machine are kept out of the programs.

mod clean_root;
mod contents;
mod deb;
mod papers;
mod release;

use crate::manifest::{self, Manifest};
use crate::metadata::Metadata;
use crate::steps::{self, Step, said};
use crate::{Outcome, adapters, files};
use contents::Part;
use release::Release;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIST_USAGE: &str = "\
usage: cargo xtask dist [--built] [--check]

  makes target/dist/out: an archive that runs from any folder, Debian packages (a separate one for each adapter
  whose library is a dependency), and SHA256SUMS
  --built   build and install nothing: pack the adapters from target/adapters and the earlier build in target/dist
  --check   then pack again and compare the bytes; install archive and packages in a clean Debian (debootstrap, as
            root), and run `dyno run quick` there";

const INSTALL_USAGE: &str = "\
usage: cargo xtask install [--prefix DIR]

  builds dyno with all features and installs it into DIR/bin, the adapters of `cargo xtask adapters` into
  DIR/lib/dyno/adapters, and manual pages and completions into DIR/share [default of DIR: ~/.local]";

/// Makes archive and packages.
pub(crate) fn dist(metadata: &Metadata, arguments: &[String]) -> Outcome {
    let (mut built, mut check) = (false, false);
    for argument in arguments {
        match argument.as_str() {
            "--built" => built = true,
            "--check" => check = true,
            "--help" | "-h" => {
                println!("{DIST_USAGE}");
                return Ok(());
            }
            other => return Err(format!("cargo xtask dist has no {other:?}\n\n{DIST_USAGE}")),
        }
    }
    let target = &metadata.target_directory;
    if !built && let Err(e) = adapters::run(target, &adapters::in_c()?) {
        println!("── left out: {e}");
    }
    let work = target.join("dist");
    if !built {
        build(metadata, Some(&work))?;
    }
    let release = release(metadata)?;
    let libraries = libraries(target, &work.join("release"))?;
    let parts = contents::parts(metadata, &work.join("release/dyno"), &libraries)?;
    let out = work.join("out");
    pack(&parts, &release, &work, &out)?;
    if check {
        let again = work.join("out-again");
        pack(&parts, &release, &work, &again)?;
        same_bytes(&out, &again)?;
        clean_root::check(&work, &out, &libraries)?;
    }
    Ok(())
}

/// The archive, a package of each part, and their checksums, into the folder `out`.
fn pack(parts: &[Part], release: &Release, work: &Path, out: &Path) -> Outcome {
    files::empty(out)?;
    archive(parts, release, work, out)?;
    for part in parts {
        deb::build(part, release, work, out)?;
    }
    checksums(out)
}

/// Packed twice, each file must be the same; removes the second one.
fn same_bytes(out: &Path, again: &Path) -> Outcome {
    let sums = |folder: &Path| files::read(&folder.join("SHA256SUMS"));
    let (first, second) = (sums(out)?, sums(again)?);
    if first != second {
        return Err(format!(
            "packed twice, the files differ; compare {} with {}:\n{first}\n{second}",
            out.display(),
            again.display()
        ));
    }
    println!("── packed twice, all files have the same bytes");
    files::remove_folder(again)
}

/// Builds for this machine and puts the files below a prefix.
pub(crate) fn install(metadata: &Metadata, arguments: &[String]) -> Outcome {
    let prefix = match arguments {
        [] => std::env::home_dir()
            .ok_or("this account has no home: name a folder with --prefix")?
            .join(".local"),
        [flag, folder] if flag == "--prefix" => PathBuf::from(folder),
        [help] if help == "--help" || help == "-h" => {
            println!("{INSTALL_USAGE}");
            return Ok(());
        }
        _ => {
            return Err(format!(
                "cargo xtask install takes --prefix DIR only\n\n{INSTALL_USAGE}"
            ));
        }
    };
    let target = &metadata.target_directory;
    build(metadata, None)?;
    let libraries = libraries(target, &target.join("release"))?;
    let parts = contents::parts(metadata, &target.join("release/dyno"), &libraries)?;
    for part in &parts {
        part.write(&prefix)?;
    }
    println!("── installed to {}", prefix.display());
    for Manifest { name, .. } in given()? {
        if libraries.iter().any(|(built, _)| built.name == name) {
            continue;
        }
        println!(
            "   without the adapter {name}: `cargo xtask adapters {name}` builds it, then run this again"
        );
    }
    let bin = prefix.join("bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|p| p == bin) {
        println!(
            "   {} is not in PATH: add it there to type `dyno`",
            bin.display()
        );
    }
    Ok(())
}

/// Builds the program with all features, and, to be given away, the adapters in Rust; these without paths of this
/// machine in them, which takes a target directory of its own.
fn build(metadata: &Metadata, apart: Option<&Path>) -> Outcome {
    let program = Step::new(
        "the program, with all features",
        "cargo build --release --locked --package dyno --features full",
    );
    let Some(work) = apart else {
        return steps::run(&[program]);
    };
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let remapped = [
        Some((&metadata.workspace_root, "dyno")),
        home.as_ref().map(|h| (h, "cargo")),
    ];
    let flags: Vec<String> = remapped
        .into_iter()
        .flatten()
        .map(|(from, to)| format!("--remap-path-prefix={}=/{to}", from.display()))
        .collect();
    // Separated as cargo wants flags that may hold blanks.
    let flags = flags.join("\u{1f}");
    let adapters = Step::new(
        "the adapters in Rust",
        "cargo build --release --locked --lib --package dyno-adapter-kuksa --package dyno-adapter-zenoh",
    );
    let apart = |step: Step| {
        step.with("CARGO_ENCODED_RUSTFLAGS", flags.clone())
            .with("CARGO_TARGET_DIR", work.to_string_lossy())
    };
    steps::run(&[apart(program), apart(adapters)])
}

/// The adapters that are given away: the example is for whoever writes one.
fn given() -> Result<impl Iterator<Item = Manifest>, String> {
    Ok(manifest::all()?.into_iter().filter(|m| m.given))
}

/// The adapters that were built, with their libraries. Those in Rust are the ones that cargo has just built, if it has.
fn libraries(target: &Path, release: &Path) -> Result<Vec<(Manifest, PathBuf)>, String> {
    let found = given()?.filter_map(|manifest| {
        let name = &manifest.name;
        let of_cargo = release.join(format!("libdyno_adapter_{name}.so"));
        let of_cmake = target.join(format!("adapters/libdyno_{name}.so"));
        let path = [of_cargo, of_cmake]
            .into_iter()
            .find(|path| path.exists())?;
        Some((manifest, path))
    });
    Ok(found.collect())
}

fn release(metadata: &Metadata) -> Result<Release, String> {
    let dyno = metadata.packages.iter().find(|p| p.name == "dyno");
    let dyno = dyno.ok_or("the workspace has no crate dyno")?;
    let of_commit = |variable: &str, format: &str| match std::env::var(variable) {
        Ok(text) => Ok(text),
        Err(_) => said("git", &["log", "-1", &format!("--format={format}")])
            .map_err(|e| format!("{e}; in an unpacked archive set {variable}")),
    };
    Ok(Release {
        version: dyno.version.clone(),
        time: of_commit("SOURCE_DATE_EPOCH", "%ct")?,
        architecture: said("dpkg", &["--print-architecture"])?,
        // Debian's own variables (debchange(1)), else the author of the commit.
        maintainer: format!(
            "{} <{}>",
            of_commit("DEBFULLNAME", "%an")?,
            of_commit("DEBEMAIL", "%ae")?
        ),
        homepage: dyno
            .repository
            .clone()
            .ok_or("the crate dyno names no repository")?,
    })
}

/// The archive: all parts below one folder, which may lie anywhere.
fn archive(parts: &[Part], release: &Release, work: &Path, out: &Path) -> Outcome {
    let name = format!("dyno-{}-{}", release.version, release.architecture);
    let stage = work.join("archive");
    files::empty(&stage)?;
    for part in parts {
        part.write(&stage.join(&name))?;
    }
    let file = out.join(format!("{name}.tar.gz"));
    let (time, file, stage) = (
        format!("@{}", release.time),
        file.to_string_lossy(),
        stage.to_string_lossy(),
    );
    said(
        "tar",
        &[
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--format=gnu",
            "--mtime",
            &time,
            "--use-compress-program=gzip -n -9",
            "-cf",
            &file,
            "-C",
            &stage,
            &name,
        ],
    )?;
    println!("── {file}");
    Ok(())
}

/// SHA256SUMS of all that was made, as `sha256sum -c` reads it.
fn checksums(out: &Path) -> Outcome {
    let made = files::list(out)?;
    let names = made.iter().filter_map(|path| path.file_name());
    let sums = steps::output(Command::new("sha256sum").args(names).current_dir(out))? + "\n";
    print!("{sums}");
    files::write(&out.join("SHA256SUMS"), sums)
}
