//! `dyno serve`: a local, read-only page over a folder of runs. It lists them, shows each one's report,
//! sets two side by side, and follows a run that is being measured.
//!
//! [`Server::bind`] takes the port, [`Server::run`] answers until a [`Stopper`] ends it.
//!
//! | path | what |
//! |---|---|
//! | `/` | the list: `?text=`, `?suite=`, `?stack=` filter, `?sort=` and `?order=` sort |
//! | `/runs/NAME` | the report of a run; follows it while it is measured |
//! | `/runs/NAME/data.json` | the report's data |
//! | `/runs/NAME/state` | whether a runner writes it, trials stored, failed and planned |
//! | `/compare?base=A&new=B` | one report of two runs |
//! | `/compare/data.json?base=A&new=B` | its data |
//!
//! Whoever can open a port of this machine is not trusted, and neither is what a run directory holds:
//!
//! - Nothing is written. Only GET and HEAD are answered, and no request's body is read.
//! - A page of another origin can neither read nor embed anything: no CORS, `Host` must be a name of this
//!   server (DNS rebinding), requests that a foreign page makes are refused, the policy of each page
//!   allows its own scripts only.
//! - A name from a request is looked up among the names in the folder and never joined to a path. Links
//!   out of the folder are not followed.
//! - Connections, time for headers and answers, renderings at once, kept pages and untaken answers are bounded, and
//!   shared among peers: see `peer`, `places` and `turns`.
//! - Following costs the machine that measures no more than a share of one CPU; see `pages`.
//!
//! It stands on hyper rather than on a web framework: the limits above are limits of connections, which
//! frameworks hide, and six paths need no router.

#![warn(clippy::too_many_lines)]

mod answer;
mod error;
mod folder;
mod gate;
mod list;
mod name;
mod pages;
mod peer;
mod places;
mod report;
mod server;
mod shelf;
mod site;
mod turns;

pub use error::ServeError;
pub use server::{Options, Server, Stopper};
