//! Why a server cannot start. Every text says what to do next.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The port of `dyno serve` without --listen.
const WITHOUT_LISTEN: u16 = 8643;

/// Why a server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is nothing to serve.
    #[error(
        "cannot serve {folder}: {source}; name a folder of runs, or make the first one with `dyno run quick`"
    )]
    Folder {
        /// What was named.
        folder: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A run was named instead of the folder that holds it.
    #[error(
        "{run} is a run; name the folder that holds it: `dyno serve {}`",
        folder.display()
    )]
    IsARun {
        /// What was named.
        run: PathBuf,
        /// The folder above it.
        folder: PathBuf,
    },
    /// Others than this machine could open the page.
    #[error(
        "{address} can be reached from other machines, and everyone who can reach it sees all runs; add --network if \
         that is intended, or leave out --listen and reach the page through `ssh -L {port}:localhost:{port} HOST`",
        port = WITHOUT_LISTEN
    )]
    NotLoopback {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The port cannot be had.
    #[error("cannot listen on {address}: {source}; {}", advice(*address, source))]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The machine lacks what every server needs.
    #[error("cannot start the server: {0}")]
    Start(#[source] io::Error),
}

fn advice(address: SocketAddr, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another `dyno serve` may be at work: open http://{address}/, or take any free port with --listen 0"
        ),
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 are for root; take any free port with --listen 0".to_owned()
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; leave out --listen for this machine alone".to_owned()
        }
        _ => "leave out --listen, or choose another address".to_owned(),
    }
}
