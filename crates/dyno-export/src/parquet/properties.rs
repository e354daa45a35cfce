//! What every file says of itself.

use dyno_model::record::Run;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

/// The version of both tables, in their key-value metadata as `dyno.format`. Columns are added, never
/// renamed or removed, without a new one.
pub const FORMAT: u32 = 1;

/// The metadata and the compression of a file.
pub(super) fn properties(run: &Run) -> WriterProperties {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let version = &run.manifest.environment.dyno_version;
    let all = vec![
        pair("dyno.format", FORMAT.to_string()),
        pair("dyno.run", run.manifest.id.clone()),
        pair("dyno.version", version.clone()),
        pair("dyno.seed", run.manifest.plan.seed.to_string()),
    ];
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("dyno version {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(all))
        .build()
}
