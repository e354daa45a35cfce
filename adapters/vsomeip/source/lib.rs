//! Nothing: this manifest only names where vsomeip's source comes from.
