//! Virtual machines as hosts: a stock kernel booted by QEMU, with an image that holds the agent and nothing else.
//!
//! The image is made for the run ([`image`]), the machine is booted once ([`monitor`]), and everything that the runner
//! starts in it goes over one virtio port ([`console`]): to the runner an agent there is a child process like any other,
//! the [`relay`](mod@relay). In the guest this very program is the first process ([`init`](mod@init)). The monitor dies with the runner, and
//! with it the machine; nothing of it has a name outside the runner's own place.

mod common;
mod console;
mod elf;
mod frame;
mod image;
mod init;
mod kernel;
mod monitor;
mod relay;
mod shared;
mod vsock;

pub(crate) use common::Common;
pub(crate) use console::Console;
pub(crate) use image::Image;
pub use init::{INIT, init};
pub(crate) use kernel::Kernel;
pub(crate) use monitor::{Devices, Monitor, check, settle};
pub use relay::relay;
pub(crate) use shared::SharedMemory;
pub(crate) use vsock::Vsock;
pub use vsock::vsock_back_end;
