//! Where the source of vsomeip comes from.

use std::path::Path;

/// CMake definitions that tell the adapter where vsomeip is.
pub(crate) fn prepare(_target: &Path) -> Result<Vec<(String, String)>, String> {
    Ok(Vec::new())
}
