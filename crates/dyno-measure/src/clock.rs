//! The run's clock: raw counter readings turned into nanoseconds that all participants share.
//!
//! Two readings are offered. [`Clock::now`] is the cheapest and may be taken by the processor a few
//! nanoseconds before earlier instructions have finished; it stamps what is about to be sent.
//! [`Clock::arrival`] waits until all earlier loads have their values, so that a message is not
//! stamped as received before its bytes were.
//!
//! Fencing with `lfence; rdtsc` instead of `rdtscp`: both order the reading after earlier loads
//! (Intel SDM vol. 2, RDTSC and RDTSCP; AMD APM vol. 3, LFENCE, which Linux makes
//! dispatch-serialising on every AMD processor). On a Zen 5 guest the former took 16 ns and the latter
//! 19 ns, against 10 ns for a bare `rdtsc`. On arm64 the counter is CNTVCT, behind `dsb ishld; isb`.

mod calibrate;
mod counter;
mod reading;
mod ticks;

pub use calibrate::{ClockChoice, ClockError, calibrate, tsc_refusal};
pub(crate) use calibrate::{cost_of, usual_step};
pub use counter::{Counters, best_counter, nanos_at};
pub use reading::Clock;
pub(crate) use reading::{monotonic, read};
pub(crate) use ticks::NAME as COUNTER;
