//! What the facts of a host mean for measurements: [`Facts`] in, [`Finding`]s and a [`Verdict`] out. Reads nothing of the
//! host, measures nothing, prints nothing; `dyno doctor` does.

#![warn(clippy::too_many_lines)]

mod cause;
mod facts;
mod finding;
mod fix;
mod rules;

pub use cause::{Cause, CpuGap, Device, Tick, list};
pub use facts::{FIFO, Facts, Library, MLOCK, Right, Syscall, Timer, Unavailable};
pub use finding::{Finding, Level, Severity, Verdict};
pub use fix::Fix;
pub use rules::findings;
