//! The timing core: clocks, pacing, message stamps, sequence checks, recorders, process cost, and
//! what the host is and does on its own.
//!
//! What runs between the stamp of a message and its record ([`Clock::now`], [`write()`], [`receive`],
//! [`SequenceTracker::observe`], [`Recorder::record`]) does not allocate,
//! lock, log, format or make a system call; everything it needs is preallocated and prefaulted.
//! Everything else here computes data for others to print.

#![warn(clippy::too_many_lines)]

pub mod clock;
pub mod cost;
pub mod environment;
pub mod faultlog;
pub mod host;
pub mod network;
pub mod noise;
pub mod pacing;
pub mod probe;
pub mod rawlog;
pub mod record;
pub mod sequence;
pub mod stamp;

mod perf;
mod procfile;
mod tracepoints;

pub use clock::{
    Clock, ClockChoice, ClockError, Counters, best_counter, calibrate, nanos_at, tsc_refusal,
};
pub use cost::{
    LEAD_IN, Memory, Meter, Usage, Used, memory_of, usage_of, usage_of_self, used_memory,
};
pub use dyno_model::protocol::ClockSpec;
pub use dyno_model::record::ClockFacts;
pub use environment::environment;
pub use faultlog::{FaultEvents, FaultLog, FaultLogError};
pub use host::{
    allowed_cores, allowed_cpus, confine, isolated_cpus, lock_memory, pin, set_deadline, set_fifo,
};
pub use network::{NetworkReading, Queue, read_network, read_queues, residue};
pub use noise::{
    HostMeter, LoadReading, bare_machine, disturbances, gaps, line_round_trip, read_load,
    thread_cpus,
};
pub use pacing::{Pacer, Schedule, TOLERANCE};
pub use perf::PerfEvent;
pub use rawlog::RawLog;
pub use record::{RecordError, Recorder, merge, merge_all};
pub use sequence::{Seen, SequenceTracker};
pub use stamp::{Damage, HEADER_BYTES, Header, Kind, TAG_BYTES, Tag, read, receive, write};
pub use tracepoints::{TracepointError, Tracepoints};
