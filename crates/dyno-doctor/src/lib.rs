//! What the facts of a host mean for measurements: [`Facts`] in, [`Finding`]s and a [`Verdict`] out. Reads nothing of the
//! host, measures nothing, prints nothing; `dyno doctor` does.

mod facts;
mod finding;
mod rules;

pub use facts::{FIFO, Facts, Library, MLOCK, Right, Syscall, Timer, Unavailable};
pub use finding::{Finding, Fix, Level, Severity, Verdict};
pub use rules::{findings, list};
