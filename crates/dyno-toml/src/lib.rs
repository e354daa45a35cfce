//! TOML that people write (suites, stacks, testbeds, limits): a tree in which every key and every value knows its place,
//! mistakes that show theirs, and what may have been meant. Pure: the caller reads files.

#![warn(clippy::too_many_lines)]

mod node;
mod problem;
pub mod suggest;

pub use node::{
    Entry, Node, Table, Value, parse, parse_flag_value, parse_what_can_be, unknown_key,
};
pub use problem::{Mistakes, Place, Problem, Problems, Source, source};
