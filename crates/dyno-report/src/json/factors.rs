//! The factors of an experiment in the JSON interface: a loop over their table.

use dyno_model::factors::{self, Column, Factor, Of};
use dyno_model::plan::Scheduling;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The columns of a workload's numbers by their names here; others stand beside them.
pub(super) fn load_columns() -> impl Iterator<Item = (&'static str, &'static Of)> {
    let load = factors::all().filter(|f| f.title == "workload");
    let columns = load.flat_map(|f| f.columns);
    let numbers = columns.filter(|(key, _)| !["workload", "paired", "probe"].contains(key));
    numbers.map(|(key, of)| (key.strip_prefix("burst_").unwrap_or(key), of))
}

/// The columns of the factors that are no objects of their own.
pub(super) fn columns() -> impl Iterator<Item = &'static Column> {
    let is_object = |title| ["workload", "window"].contains(&title);
    let plain = factors::all().filter(move |f| !f.is_name() && !is_object(f.title));
    plain.flat_map(Factor::plain)
}

/// The numbers of a workload, without those that it has not.
pub(super) struct Load<'a>(pub(super) &'a dyno_model::Experiment);

impl Serialize for Load<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(load_columns().filter_map(|(name, of)| Some((name, of.value(self.0)?))))
    }
}

/// The factors that are no objects of their own.
pub(super) struct Factors<'a>(pub(super) &'a dyno_model::Experiment);

impl Serialize for Factors<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let x = self.0;
        let mut map = out.serialize_map(None)?;
        for (key, of) in columns() {
            match *key {
                "cpus" => {
                    map.serialize_entry("cpus", &x.cpus)?;
                    if !x.library_cpus.is_empty() {
                        map.serialize_entry("library_cpus", &x.library_cpus)?;
                    }
                    if !x.daemon_cpus.is_empty() {
                        map.serialize_entry("daemon_cpus", &x.daemon_cpus)?;
                    }
                }
                "scheduling" => {
                    let (class, priority) = match x.scheduling {
                        Scheduling::Other => ("other", None),
                        Scheduling::Fifo(priority) => ("fifo", Some(priority)),
                        Scheduling::Deadline => ("deadline", None),
                    };
                    map.serialize_entry("scheduling", class)?;
                    map.serialize_entry("fifo_priority", &priority)?;
                }
                key => {
                    if let Some(value) = of.value(x) {
                        map.serialize_entry(key, &value)?;
                    }
                }
            }
        }
        map.end()
    }
}
