//! The commands for whoever writes an adapter: `conformance`, `new-adapter`.

use super::{FileArgs, complete, key_value};
use clap::Args;
use dyno_model::Nanos;
use std::path::PathBuf;

/// `dyno conformance`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Each case is one behaviour that Dyno relies on, played with the real library in a process of its own, with \
the daemons of the stack. A library that hangs or crashes fails that case, and the others go on; nothing is \
left behind. A case that the adapter's capabilities exclude is skipped with the reason.

  dyno conformance ./libdyno_mymw.so                     the library as it comes
  dyno conformance ./libdyno_mymw.so --set queue_depth=16
  dyno conformance zenoh-tcp --case replies_flow_back    one case of a stack

Exit codes: 0 no case failed, 4 at least one did, 3 the adapter or stack cannot be used.")]
pub(crate) struct ConformanceArgs {
    /// A stack from `dyno list stacks`, or the path of an adapter's library.
    #[arg(value_name = "STACK|LIBRARY.so", add = complete::stacks())]
    pub(crate) of: String,
    /// An option of the adapter, in the place of the stack's; may be repeated.
    #[arg(long = "set", value_name = "OPTION=VALUE", value_parser = key_value)]
    pub(crate) settings: Vec<(String, String)>,
    /// Only these cases, separated by commas.
    #[arg(long = "case", value_name = "A,B", value_delimiter = ',')]
    pub(crate) cases: Vec<String>,
    /// Messages may be lost with these options, although the adapter can be reliable.
    #[arg(long)]
    pub(crate) best_effort: bool,
    /// After this long a case counts as hanging.
    #[arg(long, value_name = "TIME", default_value = "240 s")]
    pub(crate) limit: Nanos,
    /// As JSON (docs/reference/conformance.md) instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on standard error.
    #[arg(long, short)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// `dyno new-adapter`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The folder holds NAME.c, a complete adapter over stream sockets that passes `dyno conformance` as it is, the \
headers that it needs, and stacks/NAME.toml. docs/how-to/add-an-adapter.md explains the next steps.")]
pub(crate) struct NewAdapterArgs {
    /// What it will be called: lower-case letters, digits and dashes.
    pub(crate) name: String,
    /// The folder to create; ./NAME when left out.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
