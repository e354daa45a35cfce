//! From the raw output of tools to [`Statements`](crate::Statements).
