//! Figures that others published, to stand beside ours: the files of `published/`, which are built in.
//! Unknown keys, wrong lengths and words that a study does not use are refused.
//!
//! Each study has tables of a shape of its own: [`Study`] compares middlewares over topologies,
//! [`Iceperf`] mechanisms over sizes, [`L4re`] messages and system calls over processors. What all have is in [`studies`], and [`beside()`] says which figures
//! stand beside an experiment.

mod beside;
mod iceperf;
mod l4re;
mod printed;
mod rwth;
mod source;

pub(crate) use beside::in_iceperf;
pub use beside::{About, PublishedFigure, Statistic, beside, studies};
pub use iceperf::{Iceperf, MechanismRow, Printed, RoundTrips};
pub use l4re::{Cycles, L4re, Operation, Processor};
pub use printed::PrintedTables;
pub use rwth::{
    Beside, Configuration, Figure, Latencies, LatencyRow, Memory, MemoryRow, Message, Place,
    Reliability, Scaling, ScalingRow, Study,
};
pub use source::{Flaw, PublishedError, Source};
