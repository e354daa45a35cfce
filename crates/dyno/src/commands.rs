//! One module for each command.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod conformance;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod gate;
mod imported;
pub(crate) mod init;
mod judged;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod new_adapter;
mod new_run;
pub(crate) mod report;
mod request;
mod requirements;
pub(crate) mod run;
mod search;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod trend;
mod trust;
#[cfg(feature = "live")]
pub(crate) mod watch;
