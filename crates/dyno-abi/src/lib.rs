//! Adapters in shared libraries behind the C ABI of `include/dyno_adapter.h`.
//!
//! [`load`] opens one library, checks its table of operations and gives back an [`Adapter`] like any
//! other; [`installed`] finds what there is. The only place in Dyno that opens libraries at run time.
//!
//! [`export_adapter!`] is the other side: it makes such a library of an adapter in Rust, for those whose
//! dependencies take long to build or clash with others.
//!
//! A library is never closed again: middlewares leave threads and thread-local values behind whose code
//! must stay. Libraries of different middlewares clash in one process, so a process loads one only.
//!
//! [`Adapter`]: dyno_adapter::Adapter

#![warn(clippy::too_many_lines)]

mod adapter;
mod channel;
mod describe;
mod ends;
mod export;
mod load;
mod node;
mod raw;
mod search;

pub use adapter::ForeignAdapter;
pub use export::through;
#[doc(hidden)]
pub use export::{Export, Exported};
pub use load::{LoadError, load};
#[doc(hidden)]
pub use raw::Ops as Table;
pub use search::{ADAPTER_PATH, Installed, directories, file_name, installed, passed_over};

#[cfg(test)]
mod layout;
