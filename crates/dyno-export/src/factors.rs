//! The factors of an experiment as names and texts, for formats whose labels and properties are texts.

use dyno_model::Experiment;
use dyno_model::factors;

/// Every factor that applies, with the names of the CSV's columns.
pub(crate) fn all(e: &Experiment) -> Vec<(&'static str, String)> {
    let names = factors::in_tables().into_iter().filter(|f| f.is_name());
    let columns = names.flat_map(|f| f.columns).chain(factors::columns());
    let texts = columns.filter(|c| !c.is_detail);
    texts
        .filter_map(|c| Some((c.key, c.value(e)?.to_string())))
        .collect()
}
