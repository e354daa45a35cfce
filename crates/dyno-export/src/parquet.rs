//! Apache Parquet: a table of results, one row for each experiment × metric × trial, and a table of raw
//! samples. Both carry what names their rows, so that either can be read by itself; `run` and `id` join
//! them. Compressed with Snappy, which needs no C library to build.
//!
//! | value | form |
//! |---|---|
//! | unknown, not applicable, or with too few samples | null |
//! | infinitely late | infinity |
//! | counts, nanoseconds, bytes | 64-bit integers |
//! | instants | milliseconds since the Unix epoch, UTC |

mod columns;
mod properties;
mod results;
mod row;
mod samples;
mod table;

pub use properties::FORMAT;
pub use results::results;
pub use samples::{has_samples, samples};
