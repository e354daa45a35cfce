//! Dyno's vocabulary as types: units, factors, plan, agent messages, records and events.
//!
//! Every other crate speaks in these types; this crate does no I/O and knows no library that is
//! measured. What is serialised here is either the agent protocol ([`protocol`]) or the run
//! directory ([`record`]); both are versioned.

#![warn(clippy::too_many_lines)]

#[macro_use]
mod choice;

pub mod adapter;
pub mod asked;
pub mod cause;
pub mod chain;
pub mod conformance;
pub mod cpus;
pub mod daemon;
pub mod event;
pub mod factor;
pub mod factors;
pub mod fault;
pub mod figure;
pub mod flow;
pub mod graph;
mod host_clock;
pub mod idle;
pub mod load;
pub mod machine;
pub mod metric;
pub mod network;
pub mod noise;
pub mod origin;
mod pinning;
pub mod plan;
pub mod probe;
pub mod protocol;
pub mod record;
pub mod role;
pub mod search;
pub mod sizes;
pub mod slices;
pub mod tables;
pub mod unit;
pub mod workload;

pub use adapter::{AdapterDescription, Capabilities, OptionKind, OptionSpec, OptionValue, Options};
pub use cause::Cause;
pub use chain::{Chain, ChainLeg, Gateway};
pub use daemon::{Daemon, Ready, StopSignal};
pub use factor::{Access, Arrivals, Pacing, Placement, Start, Topology, Wait};
pub use fault::{Fault, FaultKind, FaultMade, Outage};
pub use figure::{COUNTS, CountInfo, FigureInfo, TrialFigure};
pub use flow::{Flow, Phase, Processes};
pub use graph::{Channel, Graph, Participant};
pub use idle::{Idle, LinkTraffic};
pub use metric::{Better, Metric, MetricInfo};
pub use network::{FullSocket, HostNetwork, NetworkCounter, NetworkState};
pub use noise::{BareMachine, CountedBy, CpuGaps, HostLoad, HostNoise, Place};
pub use origin::{Binaries, Binary, Origin, Request};
pub use plan::{
    Against, Experiment, ExperimentId, Extent, Plan, Precision, Shard, Stack, Testbed, TrialId,
};
pub use record::{Counts, Distribution, Outcome, RunManifest, TrialRecord};
pub use role::Role;
pub use search::{Ladder, Raised, Search};
pub use slices::{Slices, Turns};
pub use unit::{Nanos, PayloadSize, RateHz, UnitError};
pub use workload::{Loop, Workload, WorkloadInfo, WorkloadKind};
