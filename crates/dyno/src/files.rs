//! Finds the suites, stacks and testbeds: those built in, and the user's own.

use crate::exit::{self, Result};
use clap::Args;
use dyno_plan::Catalog;
use std::path::{Path, PathBuf};

/// Options of every command that reads suites, stacks and testbeds.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// A folder with your own `suites/`, `stacks/` or `testbeds/`. Your files are added to the
    /// built-in ones and replace those with the same name. May be repeated; the variable
    /// `DYNO_FILES` names further folders, separated by colons.
    #[arg(long = "files", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
}

/// The built-in files and those of every folder that the user names, in this order; later ones
/// replace earlier ones of the same name.
pub(crate) fn catalog(args: &FileArgs) -> Result<Catalog> {
    let mut catalog = Catalog::builtin();
    catalog.set_adapter_places(dyno_agent::adapter_places);
    let from_environment = std::env::var_os("DYNO_FILES").unwrap_or_default();
    let folders = std::env::split_paths(&from_environment)
        .filter(|p| !p.as_os_str().is_empty())
        .chain(args.folders.iter().cloned());
    for folder in folders {
        if !folder.is_dir() {
            return Err(failure!(
                Usage,
                "--files {}: there is no such folder",
                folder.display()
            ));
        }
        type Add = fn(&mut Catalog, &str, &str, String);
        let kinds: [(&str, Add); 3] = [
            ("suites", |c, name, path, text| {
                c.add_suite(name, path, text)
            }),
            ("stacks", |c, name, path, text| {
                c.add_stack(name, path, text)
            }),
            ("testbeds", |c, name, path, text| {
                c.add_testbed(name, path, text)
            }),
        ];
        for (kind, add) in kinds {
            for file in toml_files(&folder.join(kind))? {
                let (name, path, text) = load(&file)?;
                add(&mut catalog, &name, &path, text);
            }
        }
    }
    Ok(catalog)
}

/// A suite or testbed argument is a name, or the path of a file: then the file is added, and its
/// stem is the name.
pub(crate) fn name_or_file(
    argument: &str,
    add: &mut dyn FnMut(&str, &str, String),
) -> Result<String> {
    let path = Path::new(argument);
    if path.extension().is_none_or(|e| e != "toml") {
        return Ok(argument.to_owned());
    }
    let (name, path, text) = load(path)?;
    add(&name, &path, text);
    Ok(name)
}

/// Adds the study file that a suite names as its table. One that is missing is left to the planner, which knows where the suite
/// names it.
pub(crate) fn add_study(catalog: &mut Catalog, suite: &str) -> Result<()> {
    let Some((written, path)) = catalog.study_of(suite).filter(|(_, path)| path.exists()) else {
        return Ok(());
    };
    let (_, path, text) = load(&path)?;
    dyno_report::study::of_text(&path, &text).map_err(exit::of_plan)?;
    catalog.add_study(&written, &path, text);
    Ok(())
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable =
        |e: std::io::Error| failure!(Error, "cannot read the folder {}: {e}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Name, path for messages, and text of a file.
fn load(path: &Path) -> Result<(String, String, String)> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| failure!(Error, "cannot read {}: {e}", path.display()))?;
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok((name, path.display().to_string(), text))
}
