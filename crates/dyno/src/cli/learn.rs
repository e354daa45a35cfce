//! `dyno learn`

use super::complete;
use crate::files::FileArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// How an explanation is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LearnFormat {
    /// For people.
    Table,
    /// For programs: all topics.
    Json,
}

/// `dyno learn`
#[derive(Debug, Args)]
#[command(after_long_help = "\
Dyno recognises each file by its content: candump logs, Vector ASC, DBC, pcap, pcapng, and CSV with a header such as time_s,topic,size. \
Each CAN id, SOME/IP method or event, pair of addresses and ports, or topic becomes a flow of the suite, with its sizes and its cycle, \
period of groups or mean rate. Content of messages is never stored.

  dyno learn drive.pcap -o drive.toml         then `dyno run drive.toml --dry-run`
  dyno learn body.log drive.pcap --explain    what is in these recordings? Without -o no suite is written
  dyno learn vehicle.dbc --stack vsomeip-udp,zenoh-udp -o vehicle.toml

docs/how-to/learn-your-traffic.md explains the rules.")]
pub(crate) struct LearnArgs {
    /// Recordings and descriptions. Several recordings of one system count as parts of one.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the suite to this file, whose name ends in .toml [default: standard output, unless --explain is given].
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print what was learnt: flows by load, rates, the busiest 10 ms, what is periodic, what was left out and why.
    #[arg(long)]
    pub(crate) explain: bool,
    /// The format of the explanation.
    #[arg(long, value_enum, default_value_t = LearnFormat::Table, requires = "explain")]
    pub(crate) format: LearnFormat,
    /// Call topics topic-1, topic-2, … and leave out all names of the files.
    #[arg(long)]
    pub(crate) rename: bool,
    /// The stacks of the suite [default: all that can carry its flows].
    #[arg(long, value_name = "NAMES", value_delimiter = ',', add = complete::stacks())]
    pub(crate) stack: Vec<String>,
    #[command(flatten)]
    pub(crate) own: FileArgs,
}
