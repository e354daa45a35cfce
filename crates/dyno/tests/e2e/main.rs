//! The `dyno` binary end to end: real processes, real transports, real run directories.

#![allow(clippy::unwrap_used, reason = "a test may unwrap")]

mod audit;
mod bad_input;
mod blocked;
mod bridged;
mod brokers;
mod calls;
mod campaigns;
mod chains;
mod cleanup;
mod clocks;
mod conformance;
mod cpus;
mod daemons;
mod doctor;
mod examples;
#[cfg(feature = "parquet")]
mod exports;
mod faults;
mod first_message;
mod flows;
mod foreign;
mod freeze;
mod gate;
mod harness;
mod idle;
#[cfg(feature = "live")]
mod init;
mod interface;
mod judge;
mod kept;
mod libraries;
#[cfg(feature = "live")]
mod live;
mod namespaces;
mod outages;
mod parallel;
mod precision;
mod probes;
mod publish;
mod report;
mod s_core;
mod search;
#[cfg(feature = "serve")]
mod serve;
mod slices;
mod ssh;
mod storage;
mod strangers;
mod tls;
mod trust;
mod tutorials;
mod vm;
mod window;
mod words;
mod workloads;
