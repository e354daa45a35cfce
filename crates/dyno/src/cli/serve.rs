//! `dyno serve`

use super::address::parse_listen;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// `dyno serve`
#[derive(Debug, Args)]
#[command(after_long_help = "\
The page lists the runs of a folder, shows the report of each run, compares two runs, and follows a run in progress. The server only \
reads. Ctrl-C ends it.

Only this machine can reach the page, unless you give another address with --listen and --network. From another machine, use ssh:
  ssh -L 8643:localhost:8643 HOST dyno serve runs       then open http://localhost:8643/ here")]
pub(crate) struct ServeArgs {
    /// The folder with the runs.
    #[arg(value_name = "DIR", default_value = dyno_store::DEFAULT_RUNS_DIR)]
    pub(crate) folder: PathBuf,
    /// The address and port to listen on, or only a port. With port 0, Dyno uses a free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8643", value_parser = parse_listen)]
    pub(crate) listen: SocketAddr,
    /// Allow an address for --listen that other machines can reach. Everyone who can reach it sees all runs.
    #[arg(long)]
    pub(crate) network: bool,
    /// Also accept requests to this host name, besides localhost and the address; may be repeated.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
}
