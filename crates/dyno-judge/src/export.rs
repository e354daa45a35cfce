//! Common parts of the exports of all judgements. `docs/reference/judge-json.md` describes them: fields are
//! added, never renamed or removed, without a new [`FORMAT`].

use crate::check::Limit;
use crate::figure::rank;
use crate::number::exported;
use dyno_model::Experiment;
use dyno_model::factors::{self, Factor};
use dyno_report::csv_line;
pub(crate) use dyno_report::json_text;
use serde::{Serialize, Serializer};

/// The version of the JSON of `dyno compare`, `dyno check` and `dyno trend`: its field `format`.
pub const FORMAT: u32 = 1;

/// What stands first in a document about one run.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Head<'a> {
    /// Version of the interface of judgements.
    #[cfg_attr(test, schemars(extend("const" = 1)))]
    format: u32,
    kind: &'static str,
    run: &'a str,
    suite: &'a str,
    started_unix_ms: u64,
}

impl<'a> Head<'a> {
    pub(crate) const fn new(
        kind: &'static str,
        run: &'a str,
        suite: &'a str,
        started_unix_ms: u64,
    ) -> Head<'a> {
        Head {
            format: FORMAT,
            kind,
            run,
            suite,
            started_unix_ms,
        }
    }
}

/// A table with its heads, which are separated by commas.
pub(crate) fn csv_table(heads: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    let heads = heads.split(',').map(str::to_owned).collect();
    std::iter::once(heads).chain(rows).map(csv_line).collect()
}

/// The columns of tables that say which cell a row is of.
pub(crate) const CELL: &str = "experiment,stack,workload,payload_bytes,wait";

/// The fields of [`CELL`].
pub(crate) fn csv_cell(e: &Experiment) -> Vec<String> {
    vec![
        e.name.clone(),
        e.stack.clone(),
        e.exchange(),
        e.payload.bytes().to_string(),
        e.wait.to_string(),
    ]
}

/// What a limit requires.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Required {
    /// Its word in limits files.
    metric: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantile: Option<String>,
    required: String,
    unit: &'static str,
    /// `at_most`, `at_least` or `at_most_count`.
    bound: &'static str,
    /// Of `at_most_count` a number of messages, else in the unit; null where it is infinite.
    bound_value: Option<f64>,
}

impl Required {
    pub(crate) fn of(limit: &Limit) -> Required {
        let (bound, value) = limit.bound.exported();
        Required {
            metric: limit.measure.word(),
            quantile: limit.measure.quantile().map(rank),
            required: limit.required(),
            unit: limit.measure.unit().as_str(),
            bound,
            bound_value: exported(value),
        }
    }
}

/// Stack and factors of an experiment.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Cell<'a> {
    experiment: &'a str,
    stack: &'a str,
    workload: String,
    paired: bool,
    #[serde(flatten)]
    #[cfg_attr(test, schemars(with = "dyno_report::FactorColumns"))]
    factors: Factors<'a>,
}

impl<'a> Cell<'a> {
    pub(crate) fn of(e: &'a Experiment) -> Cell<'a> {
        Cell {
            experiment: &e.name,
            stack: &e.stack,
            workload: e.workload.to_string(),
            paired: e.paired,
            factors: Factors(e),
        }
    }
}

/// The factors that every cell has, and the others where they are not as usual.
struct Factors<'a>(&'a Experiment);

impl Serialize for Factors<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let every = ["payload", "wait", "access", "placement", "topology"];
        let is_told = |f: &&Factor| match f.default {
            _ if every.contains(&f.title) => true,
            Some(_) => !f.is_default(self.0),
            None => false,
        };
        let columns = factors::all().filter(is_told).flat_map(Factor::plain);
        out.collect_map(columns.filter_map(|(key, of)| Some((key, of.value(self.0)?))))
    }
}
