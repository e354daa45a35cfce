//! The stable JSON interface: `docs/reference/show-json.md` describes it, and
//! `docs/reference/show.schema.json` is its schema. Fields are added, never renamed or removed,
//! without a new [`JSON_FORMAT`].

mod document;
mod evidence;
mod experiment;
mod factors;
mod flow;
mod growth;
mod metric;
mod outage;
#[cfg(feature = "schema")]
mod published;
mod scaling;
#[cfg(feature = "schema")]
mod schema;

use crate::carry::json_text;
use crate::summary::Summary;
use document::Document;
pub use document::JSON_FORMAT;
#[cfg(feature = "schema")]
pub use published::{json_schema, schema_generator};
#[cfg(feature = "schema")]
pub use schema::FactorColumns;

/// The summary as indented JSON, ended by a newline.
pub(crate) fn render(summary: &Summary) -> String {
    json_text(&Document::from(summary))
}
