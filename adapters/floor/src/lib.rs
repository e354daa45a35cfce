//! The adapter `floor`: an exchange through shared memory that is as fast as the hardware allows,
//! the yardstick beside which every other stack stands.
//!
//! One channel is one file in `/dev/shm` with a ring of slots: one writer, the readers that the
//! channel names, each of which sees every message. A message of up to 56 bytes costs one transfer
//! of one cache line; nothing is copied, the sender fills the slot and the receiver sees it there.
//! Spinning readers poll the next slot; blocking readers sleep on it (futex), and the writer makes
//! a system call only if one of them sleeps. For callbacks a thread of the adapter's own sleeps in the same
//! way and calls. The stacks `floor-spin`, `floor-futex` and `floor-callback` differ in
//! the wait strategy alone, and all kinds of readers may share a channel.
//!
//! Where machines share a memory (a virtual machine and its host), a channel from one to the other lies in its part of
//! that, with the same layout. Nobody can be woken there: readers spin, and a writer without room sleeps for short times.
//!
//! The exchange is reliable: the writer waits for room, about ten microseconds awake, then asleep,
//! and notices readers that have died. Readers start at the writer's position when they attach.
//!
//! The algorithm (`writer.rs`, `reader.rs` over `words.rs`) is checked with loom:
//! `RUSTFLAGS="--cfg loom" cargo test --release -p dyno-adapter-floor --lib`.

mod reader;
mod sync;
mod words;
mod writer;

#[cfg(not(loom))]
mod adapter;
#[cfg(not(loom))]
mod endpoint;
#[cfg(not(loom))]
mod home;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod mapped;
#[cfg(not(loom))]
mod process;
#[cfg(not(loom))]
mod segment;
#[cfg(not(loom))]
mod subscription;

#[cfg(all(test, loom))]
mod model;

#[cfg(not(loom))]
pub use adapter::adapter;
