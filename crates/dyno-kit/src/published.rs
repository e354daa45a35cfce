//! Documents that are made from the code and published beside it.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// Holds a published JSON file, named by its path in the repository, against what the code makes. `INSTA_UPDATE=always` writes it,
/// as it does snapshots.
///
/// # Panics
/// If the file differs or cannot be read.
#[track_caller]
pub fn holds(path: &str, made: &Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var("INSTA_UPDATE").is_ok_and(|v| v == "always") {
        fs::write(&file, format!("{made:#}\n"))
            .unwrap_or_else(|e| panic!("cannot write {path}: {e}"));
    }
    let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("cannot read {path}: {e}"));
    let published: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path} is no JSON: {e}"));
    assert!(
        published == *made,
        "{path} differs from the types: run this test with INSTA_UPDATE=always and read the diff"
    );
}
