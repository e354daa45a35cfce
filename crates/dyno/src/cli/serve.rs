//! `dyno serve`

use super::address::parse_listen;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `dyno serve`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The page lists the runs of a folder, shows each one's report, sets two side by side, and follows a run that \
is being measured. It reads and never writes, and ends with Ctrl-C.

Only this machine reaches it. From another one, through ssh:
  ssh -L 8643:localhost:8643 HOST dyno serve runs       then open http://localhost:8643/ here")]
pub(crate) struct ServeArgs {
    /// The folder that holds the runs.
    #[arg(value_name = "DIR", default_value = dyno_store::DEFAULT_RUNS_DIR)]
    pub(crate) folder: PathBuf,
    /// Where to listen: an address and a port, or a port; port 0 is any free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8643", value_parser = parse_listen)]
    pub(crate) listen: SocketAddr,
    /// Allow an address that other machines can reach; whoever reaches it sees all runs.
    #[arg(long)]
    pub(crate) network: bool,
    /// Answer to this name too, beside localhost and the address; may be repeated.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
}
