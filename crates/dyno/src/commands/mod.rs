//! One module for each command.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod export;
mod judged;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod report;
mod request;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod trend;
pub(crate) mod watch;
