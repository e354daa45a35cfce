//! Names the protoc that is installed, in place of one that would be compiled with all of protobuf first.

use std::path::PathBuf;

/// `PROTOC` where that is set, as prost-build has it; else `protoc` of the PATH.
pub fn protoc() -> PathBuf {
    std::env::var_os("PROTOC").map_or("protoc".into(), PathBuf::from)
}
