//! Checks whether figures can be true: reads the claims of a source as data and tests them by arithmetic. Pure: the caller
//! opens files; nothing here measures anything.
//!
//! - [`statement`] holds what is claimed: figures as printed with their place, statistic, method and relations.
//!   [`Statements::parse`] reads a statement file (`docs/reference/statements.md`).
//! - [`import`] makes the same of the raw output of a tool, with raw samples where it has them:
//!   `import::import(reader: &mut dyn BufRead, name: &str, tool: Option<Tool>) -> Result<Statements, ImportError>`;
//!   `Tool` has `ALL`, `as_str` and `from_word`, and `None` recognises the tool by the first lines.
//!
//! What an importer gives: for each benchmark, job, stream or group of the output one [`statement::Figure::data`] (its name
//! as printed), the same in the condition `benchmark`, and a figure `NAME/STATISTIC` for each statistic (of other
//! quantities `NAME/QUANTITY-STATISTIC`); repetitions are [`statement::Samples`]. Wall time of an operation is
//! `Quantity::Time` or `Latency`, processor time `CpuTime`, and both have the same `data`. `Method::tool` is the name
//! of the tool, `Method::load`, `trip` and `clients` what the tool always does. Lines about build, date, frequency
//! scaling and machine are [`statement::Banner`]s. The place of a figure is its line.

#![warn(clippy::too_many_lines)]

mod audit;
pub mod checks;
mod context;
mod formula;
pub mod import;
mod interval;
mod measure;
mod outcome;
mod own;
mod parse;
mod render;
mod result;
pub mod statement;

pub use audit::{Audit, Group};
pub use measure::{Beside, Cell, Measured, suite};
pub use outcome::{Outcome, Verdict};
pub use parse::StatementError;
pub use render::{Options, PageError, json, markdown, page, text};
pub use result::{RESULT_COLUMNS, Stated, ToolResult};
pub use statement::Statements;
