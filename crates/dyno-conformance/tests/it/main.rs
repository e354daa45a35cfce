//! The suite and the `faulty` adapter, tested with an adapter that lives in memory.

mod faulty;
mod memory;
mod suite;
