//! What the adapters of kernel mechanisms share: how messages lie in byte streams and datagrams,
//! and how they are handed to the kernel and taken from it.
//!
//! | module | purpose |
//! |---|---|
//! | [`frame`] | length-prefixed frames in a byte stream (pure) |
//! | [`fragment`] | messages cut into datagrams and put together again (pure) |
//! | [`link`](mod@link) | what an adapter implements for its mechanism: reach a reader, hand over bytes, take bytes |
//! | [`stream`], [`datagram`] | the `Sender` and `Receiver` of an adapter, made from a link |
//! | [`call`] | both directions of a call over one socket |
//! | [`fd`] | descriptors and sockets: buffers, time limits, peers that hang up |
//! | [`presence`] | whether a process still lives, for mechanisms that do not tell |
//!
//! # On the wire
//!
//! A message has at least one byte. Where there are no connections, an empty datagram is a greeting:
//! it tells a receiver that its sender exists, and is never shown as a message.

#![warn(clippy::too_many_lines)]

pub mod call;
pub mod datagram;
pub mod fd;
pub mod fragment;
pub mod frame;
pub mod link;
pub mod presence;
pub mod stream;
#[cfg(feature = "testing")]
pub mod testing;
