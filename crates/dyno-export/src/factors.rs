//! The factors of an experiment as names and texts, for formats whose labels and properties are texts.

use dyno_model::Experiment;
use dyno_model::factors::{self, Factor};

/// Every factor that applies, with the names of the CSV's columns.
pub(crate) fn all(e: &Experiment) -> Vec<(&'static str, String)> {
    let names = factors::in_tables().into_iter().filter(|f| f.is_name());
    let columns = names.chain(factors::in_files()).flat_map(Factor::plain);
    columns
        .filter_map(|(key, of)| Some((*key, of.value(e)?.to_string())))
        .collect()
}
