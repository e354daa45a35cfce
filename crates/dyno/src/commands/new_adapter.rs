//! `dyno new-adapter`: the header and the skeleton, for who has the program alone.

use crate::cli::NewAdapterArgs;
use crate::exit::{Code, Failure, Result};
use crate::terminal;
use std::path::{Path, PathBuf};

const SKELETON: &str = include_str!("../../../../adapters/c-skeleton/skeleton.c");
const STACK: &str = include_str!("../../../../adapters/c-skeleton/c-skeleton.toml");
const HEADER: &str = include_str!("../../../../include/dyno_adapter.h");
const HEADER_CPP: &str = include_str!("../../../../include/dyno_adapter.hpp");
/// The name in them that becomes the new one.
const NAME: &str = "c-skeleton";

/// Writes the folder, and says what to do with it.
pub(crate) fn new_adapter(args: &NewAdapterArgs) -> Result {
    let name = args.name.as_str();
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(failure!(
            Usage,
            "the name of an adapter consists of lower-case letters, digits and dashes, not {name:?}"
        ));
    }
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(name));
    let cannot = |path: &Path, e: std::io::Error| {
        let text = format!("cannot create {}: {e}", path.display());
        Failure::message(Code::Error, text)
    };
    std::fs::create_dir(&folder).map_err(|e| cannot(&folder, e))?;
    let stacks = folder.join("stacks");
    std::fs::create_dir(&stacks).map_err(|e| cannot(&stacks, e))?;
    for (file, text) in [
        (format!("{name}.c"), SKELETON.replace(NAME, name)),
        ("dyno_adapter.h".to_owned(), HEADER.to_owned()),
        ("dyno_adapter.hpp".to_owned(), HEADER_CPP.to_owned()),
        (format!("stacks/{name}.toml"), STACK.replace(NAME, name)),
    ] {
        let path = folder.join(file);
        std::fs::write(&path, text).map_err(|e| cannot(&path, e))?;
    }
    terminal::print(&format!(
        "{}: an adapter over stream sockets. Build and examine it:\n  \
         cd {}\n  \
         cc -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -o libdyno_{name}.so {name}.c\n  \
         dyno conformance ./libdyno_{name}.so\n",
        folder.display(),
        folder.display(),
    ))?;
    Ok(Code::Success.into())
}
