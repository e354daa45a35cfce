//! Figures that others published, to stand beside ours: the files of `published/`, which are built in.
//! [`studies`] says where they come from, and [`beside`](crate::study::beside) which of them stand beside an experiment, as the files of `studies/` have it.

mod beside;
pub mod cell;
mod printed;
mod source;
pub mod statement;

pub use beside::{About, PublishedFigure, Statistic, studies};
pub use printed::{PrintedRow, PrintedTables};
pub use source::{Flaw, Source};
