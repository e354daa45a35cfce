//! An open node behind the ABI, and what it takes to open something and to tell of an error.

use crate::channel::with_channel;
use crate::raw::{self, Ops, Status};
use dyno_adapter::{ChannelSpec, Error, Result};
use std::ffi::CStr;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// The operations with the name that errors carry.
pub(crate) struct Table {
    pub(crate) ops: Ops,
    pub(crate) name: String,
}

impl Table {
    /// The error that a negative status stands for, in the adapter's words.
    ///
    /// Must be called on the thread that got the status, before any other operation.
    #[cold]
    pub(crate) fn error(&self, call: &str, channel: Option<&str>, status: Status) -> Error {
        let call = match channel {
            Some(channel) => format!("{}: {call} on channel {channel}", self.name),
            None => format!("{}: {call}", self.name),
        };
        let said = self.ops.last_error.and_then(|last_error| {
            // SAFETY: may be called at any time; the text is valid until the next call.
            let said = unsafe { last_error() };
            if said.is_null() {
                return None;
            }
            // SAFETY: not null, ends with NUL.
            let said = unsafe { CStr::from_ptr(said) };
            Some(said.to_string_lossy().into_owned())
        });
        let said = said.filter(|s| !s.is_empty());
        let words = said.unwrap_or_else(|| "the adapter gives no reason".to_owned());
        match status {
            raw::PEER_GONE => Error::PeerGone {
                channel: channel.unwrap_or("?").to_owned(),
            },
            raw::UNSUPPORTED => Error::Unsupported(format!("{call}: {words}")),
            raw::BAD_OPTION => Error::library(call, format!("a wrong option: {words}")),
            raw::ERROR => Error::library(call, words),
            other => Error::library(
                call,
                format!("the status {other} is none that this operation may return"),
            ),
        }
    }

    /// An operation that the loader has found to be there.
    pub(crate) fn there<T>(&self, operation: Option<T>, name: &str) -> Result<T> {
        operation.ok_or_else(|| {
            Error::Unsupported(format!("the table of {} has no `{name}`", self.name))
        })
    }
}

/// A handle that an operation returned with `DYNO_OK`.
pub(crate) fn opened<T>(
    table: &Table,
    handle: *mut T,
    call: &str,
    channel: Option<&str>,
) -> Result<NonNull<T>> {
    NonNull::new(handle).ok_or_else(|| {
        let on = channel
            .map(|c| format!(" on channel {c}"))
            .unwrap_or_default();
        Error::library(
            format!("{}: {call}{on}", table.name),
            "returned DYNO_OK and NULL",
        )
    })
}

/// An open node; closed when it and all ends made with it are gone.
pub(crate) struct NodeHandle {
    pub(crate) table: Arc<Table>,
    pub(crate) node: NonNull<raw::Node>,
}

// SAFETY: the header allows nodes and their ends to be used from any thread, one at a time each; the
// node itself is only used by `ForeignNode`, through `&mut self`, and closed once, by the last owner.
unsafe impl Send for NodeHandle {}
// SAFETY: ends only keep the handle alive, see above.
unsafe impl Sync for NodeHandle {}

impl Drop for NodeHandle {
    fn drop(&mut self) {
        if let Some(close) = self.table.ops.close {
            // SAFETY: nothing that was made with the node is left.
            unsafe { close(self.node.as_ptr()) }
        }
    }
}

/// Calls an opening operation with the channel as C sees it.
pub(crate) fn open_end<T>(
    table: &Table,
    channel: &ChannelSpec,
    call: &str,
    operation: impl FnOnce(*const raw::Channel, *mut *mut T) -> Status,
) -> Result<NonNull<T>> {
    with_channel(channel, |raw_channel| {
        let mut end = ptr::null_mut();
        match operation(raw_channel, &mut end) {
            raw::OK => opened(table, end, call, Some(&channel.name)),
            status => Err(table.error(call, Some(&channel.name), status)),
        }
    })
}
