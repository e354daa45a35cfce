//! The commands for whoever writes an adapter: `conformance`, `new-adapter`.

use super::complete;
use crate::files::FileArgs;
use clap::Args;
use dyno_model::Nanos;
use std::path::PathBuf;

/// `dyno conformance`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Each case tests one behaviour that Dyno relies on, with the real library in its own process and with the daemons of the stack. If the \
library hangs or crashes, that case fails and the others continue. Dyno leaves no files or processes behind. If the adapter lacks a \
capability, Dyno skips the cases that need it and prints the reason.

  dyno conformance ./libdyno_mymw.so                     the library with its default settings
  dyno conformance ./libdyno_mymw.so --set queue_depth=16
  dyno conformance zenoh-tcp --case replies_flow_back    one case of a stack

Exit codes: 0 no case failed, 4 at least one case failed, 3 the adapter or stack cannot be used.")]
pub(crate) struct ConformanceArgs {
    /// A stack from `dyno list stacks`, or the path of an adapter's library.
    #[arg(value_name = "STACK|LIBRARY.so", add = complete::stacks())]
    pub(crate) of: String,
    /// Override an option of the adapter; may be repeated.
    #[arg(long = "set", value_name = "OPTION=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,
    /// Run only these cases, separated by commas.
    #[arg(long = "case", value_name = "A,B", value_delimiter = ',')]
    pub(crate) cases: Vec<String>,
    /// Accept lost messages, even if the adapter declares that it can be reliable. Use this if you make it unreliable with --set.
    #[arg(long)]
    pub(crate) best_effort: bool,
    /// The time after which a case counts as hanging.
    #[arg(long, value_name = "TIME", default_value = "240 s")]
    pub(crate) limit: Nanos,
    /// Print JSON (docs/reference/conformance.md) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// `dyno new-adapter`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The folder contains NAME.c, the headers that it needs, and stacks/NAME.toml. NAME.c is a complete adapter over stream sockets, which \
passes `dyno conformance` without changes. docs/how-to/add-an-adapter.md explains the next steps.")]
pub(crate) struct NewAdapterArgs {
    /// The name of the adapter: lower-case letters, digits and dashes.
    pub(crate) name: String,
    /// The folder to create [default: ./NAME].
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// For `--set`.
pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!(
            "write KEY=VALUE, such as `trials=10`, instead of {text:?}"
        )),
    }
}
