//! The `dyno` binary end to end: real processes, real transports, real run directories.

mod bad_input;
mod cleanup;
mod doctor;
mod faults;
mod freeze;
mod harness;
mod interface;
mod judge;
mod precision;
mod storage;
mod workloads;
