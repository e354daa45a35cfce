//! The `dyno` binary end to end: real processes, real transports, real run directories.

mod bad_input;
mod calls;
mod campaigns;
mod cleanup;
mod clocks;
mod daemons;
mod doctor;
mod faults;
mod first_message;
mod foreign;
mod freeze;
mod harness;
mod interface;
mod judge;
mod live;
mod namespaces;
mod precision;
mod report;
mod serve;
mod ssh;
mod storage;
mod workloads;
