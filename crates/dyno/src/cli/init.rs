//! `dyno init`

use clap::Args;
use std::path::PathBuf;

/// `dyno init`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Unchanged, the file measures three kinds of sockets at 64 B and 1 kHz. Its comments explain the most important keys; \
docs/reference/suite-files.md lists all keys. `dyno run` without a suite asks three questions and writes such a file.")]
pub(crate) struct InitArgs {
    /// The suite file to create; its name ends in .toml.
    #[arg(default_value = InitArgs::FILE)]
    pub(crate) file: PathBuf,
}

impl InitArgs {
    /// The file where nobody names another.
    pub(crate) const FILE: &'static str = "my-suite.toml";
}
