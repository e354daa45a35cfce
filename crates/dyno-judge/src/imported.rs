//! The output of other tools where runs stand: shown, set beside another output, held against limits. Nobody knows by how much a
//! repeat of it would differ, so no figure gets an interval and nothing is judged: the report shows
//! the printed value and says that it is undecided (ADR 26).

mod check;
mod compare;
mod origin;
mod show;

pub use check::{HeldImport, ImportCheck, check_imported};
pub use compare::{ImportComparison, ImportPair, compare_imported};
pub use show::ImportSheet;
