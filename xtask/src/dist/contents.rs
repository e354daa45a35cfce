//! What is in the archive and in each package: files by their place below a prefix.

use super::papers;
use crate::manifest::Manifest;
use crate::metadata::Metadata;
use crate::steps::said;
use crate::{Outcome, files};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// One package: Dyno itself, or one adapter.
pub(super) struct Part {
    /// Such as `dyno` or `dyno-zenoh`.
    pub(super) name: String,
    /// One line.
    pub(super) summary: String,
    /// Debian packages beyond the libraries that its files are linked with.
    pub(super) needs: Vec<String>,
    pub(super) files: Vec<File>,
}

/// One file.
pub(super) struct File {
    /// Relative to the prefix.
    pub(super) place: PathBuf,
    pub(super) content: Content,
    pub(super) runs: bool,
}

pub(super) enum Content {
    Text(String),
    Copy(PathBuf),
    /// A symbolic link to a neighbour of that name. A library's version is read from the name of the file that its
    /// links end at, so that copies in their place would hide it.
    Link(PathBuf),
}

/// Where libraries of adapters lie below the prefix; crates/dyno-abi/src/search.rs looks there.
const ADAPTERS: &str = "lib/dyno/adapters";

impl Part {
    fn new(name: String, summary: String) -> Self {
        Part {
            name,
            summary,
            needs: Vec::new(),
            files: Vec::new(),
        }
    }

    fn add(&mut self, place: impl Into<PathBuf>, content: Content, runs: bool) {
        let place = place.into();
        self.files.push(File {
            place,
            content,
            runs,
        });
    }

    fn text(&mut self, place: impl Into<PathBuf>, text: String) {
        self.add(place, Content::Text(text), false);
    }

    /// All files below a folder; programs among them stay so.
    fn folder(&mut self, place: &Path, from: &Path) -> Outcome {
        for path in files::list(from)? {
            let place = place.join(path.file_name().unwrap_or_default());
            if let Ok(target) = fs::read_link(&path)
                && target.components().count() == 1
            {
                self.add(place, Content::Link(target), false);
                continue;
            }
            let about = files::cannot("read", &path, fs::metadata(&path))?;
            match about.is_dir() {
                true => self.folder(&place, &path)?,
                false => {
                    let runs = about.permissions().mode() & 0o100 != 0;
                    self.add(place, Content::Copy(path), runs);
                }
            }
        }
        Ok(())
    }

    /// Puts all files below `prefix`.
    pub(super) fn write(&self, prefix: &Path) -> Outcome {
        for file in &self.files {
            let to = prefix.join(&file.place);
            let folder = to.parent().unwrap_or(prefix);
            // Beside it first: a program that runs keeps the file that it has open.
            let aside = to.with_extension("dyno-new");
            // Left by a call that was interrupted, if it is there.
            let _ = fs::remove_file(&aside);
            fs::create_dir_all(folder)
                .and_then(|()| match &file.content {
                    Content::Text(text) => fs::write(&aside, text),
                    Content::Copy(from) => fs::copy(from, &aside).map(|_| ()),
                    Content::Link(target) => symlink(target, &aside),
                })
                .and_then(|()| {
                    let mode = if file.runs { 0o755 } else { 0o644 };
                    if !matches!(file.content, Content::Link(_)) {
                        fs::set_permissions(&aside, fs::Permissions::from_mode(mode))?;
                    }
                    fs::rename(&aside, &to)
                })
                .map_err(|e| format!("cannot write {}: {e}", to.display()))?;
        }
        Ok(())
    }
}

/// Dyno and one part for each adapter in `libraries`.
pub(super) fn parts(
    metadata: &Metadata,
    program: &Path,
    libraries: &[(Manifest, PathBuf)],
) -> Result<Vec<Part>, String> {
    let mut all = vec![dyno(metadata, program)?];
    for (manifest, library) in libraries {
        let name = &manifest.name;
        let mut part = Part::new(
            format!("dyno-{name}"),
            format!("adapter of Dyno for {name}"),
        );
        part.needs.clone_from(&manifest.needs);
        let to = Path::new(ADAPTERS);
        part.add(
            to.join(format!("libdyno_{name}.so")),
            Content::Copy(library.clone()),
            false,
        );
        // A library that was built along with the adapter lies beside it, where the adapter looks for it.
        let beside = library.with_file_name(name);
        if beside.is_dir() {
            part.folder(&to.join(name).join("lib"), &beside.join("lib"))?;
            part.files.retain(|f| {
                !f.place
                    .components()
                    .any(|c| c.as_os_str() == "cmake" || c.as_os_str() == "pkgconfig")
            });
            part.folder(&to.join(name).join("bin"), &beside.join("bin"))?;
        }
        let of_cargo = metadata
            .packages
            .iter()
            .any(|p| p.name == format!("dyno-adapter-{name}"));
        papers(
            &mut part,
            metadata,
            of_cargo.then_some(name.as_str()),
            &beside,
        )?;
        all.push(part);
    }
    Ok(all)
}

/// Licences and the list of what is inside, for a part of cargo's making or around the library of others.
fn papers(part: &mut Part, metadata: &Metadata, of_cargo: Option<&str>, beside: &Path) -> Outcome {
    let doc = PathBuf::from("share/doc").join(&part.name);
    let inside = match of_cargo {
        Some(name) => papers::inside(metadata, &format!("dyno-adapter-{name}"), &[])?,
        None => Vec::new(),
    };
    let mut licences = papers::licences(metadata, &inside)?;
    if beside.is_dir() {
        licences += &papers::of_source(&beside.with_file_name("build").join("vsomeip-src"))?;
    }
    part.text(doc.join("copyright"), licences);
    part.text(
        doc.join("sbom.cdx.json"),
        papers::sbom(metadata, &part.name, &inside)?,
    );
    Ok(())
}

fn dyno(metadata: &Metadata, program: &Path) -> Result<Part, String> {
    let mut part = Part::new(
        "dyno".to_owned(),
        "measure how pieces of vehicle software talk".to_owned(),
    );
    part.add("bin/dyno", Content::Copy(program.to_owned()), true);
    let root = &metadata.workspace_root;
    for folder in ["suites", "stacks", "testbeds", "studies", "published"] {
        part.folder(&Path::new("share/dyno").join(folder), &root.join(folder))?;
    }
    part.add(
        "share/dyno/include/dyno_adapter.h",
        Content::Copy(root.join("include/dyno_adapter.h")),
        false,
    );
    let program = program.to_string_lossy();
    let pages = metadata.target_directory.join("dist/man");
    files::empty(&pages)?;
    said(&program, &["man", "--out", &pages.to_string_lossy()])?;
    part.folder(Path::new("share/man/man1"), &pages)?;
    for (shell, place) in [
        ("bash", "share/bash-completion/completions/dyno"),
        ("zsh", "share/zsh/vendor-completions/_dyno"),
        ("fish", "share/fish/vendor_completions.d/dyno.fish"),
    ] {
        part.text(place, said(&program, &["completions", shell])? + "\n");
    }
    let inside = papers::inside(metadata, "dyno", &["--features", "full"])?;
    let page = files::read(&root.join("crates/dyno-page/assets/page.js"))?;
    let banner = page.split_once("*/").map_or("", |(banner, _)| banner);
    let licences = papers::licences(metadata, &inside)? + banner.trim_start_matches("/*!") + "\n";
    part.text("share/doc/dyno/copyright", licences);
    part.text(
        "share/doc/dyno/sbom.cdx.json",
        papers::sbom(metadata, "dyno", &inside)?,
    );
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_librarys_links_stay_links_and_programs_stay_programs() {
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("libx.so.3.4"), "library").unwrap();
        symlink("libx.so.3.4", from.path().join("libx.so.3")).unwrap();
        fs::write(from.path().join("daemon"), "program").unwrap();
        let runs = fs::Permissions::from_mode(0o700);
        fs::set_permissions(from.path().join("daemon"), runs).unwrap();
        let mut part = Part::new("x".to_owned(), String::new());
        part.folder(Path::new("lib"), from.path()).unwrap();

        let to = tempfile::tempdir().unwrap();
        // Over an earlier installation too.
        for _ in 0..2 {
            part.write(to.path()).unwrap();
        }
        let lib = to.path().join("lib");
        let link = fs::read_link(lib.join("libx.so.3")).unwrap();
        assert_eq!(link, Path::new("libx.so.3.4"));
        assert_eq!(
            fs::read_to_string(lib.join("libx.so.3")).unwrap(),
            "library"
        );
        let mode = |name| fs::metadata(lib.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("libx.so.3.4"), mode("daemon")), (0o644, 0o755));
        assert_eq!(fs::read_dir(&lib).unwrap().count(), 3);
    }
}
