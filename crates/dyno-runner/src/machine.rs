//! Virtual machines as hosts: a stock kernel booted by QEMU, with an image that holds the agent and nothing else.
//!
//! The image is made for the run ([`image`]), the machine is booted once ([`monitor`]), and everything that the runner
//! starts in it goes over one virtio port ([`console`]): to the runner an agent there is a child process like any other,
//! the [`relay`](mod@relay). In the guest this very program is the first process ([`init`](mod@init)). The monitor dies with the runner, and
//! with it the machine; nothing of it has a name outside the runner's own place.

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

pub(crate) use console::Console;
pub(crate) use image::Image;
pub use init::{INIT, init};
pub(crate) use kernel::Kernel;
pub(crate) use monitor::{Devices, Monitor, check, settle};
pub use relay::relay;
pub(crate) use shared::SharedMemory;
pub use vsock::vsock_back_end;
pub(crate) use vsock::{Device, Vsock};

use std::path::PathBuf;

/// Why a virtual machine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// There is no QEMU.
    #[error(
        "host {host} is a virtual machine, and `{program}` is not installed; run `apt-get install {package}`"
    )]
    Monitor {
        /// The host's name in the testbed.
        host: String,
        /// The program.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// There is no kernel.
    #[error(
        "there is no kernel for host {host} in {}; run `cargo xtask kernel`, which takes Debian's \
         linux-image-cloud-amd64 without installing it, or write `kernel = \"/boot/vmlinuz-…\"`", looked.display()
    )]
    Kernel {
        /// The host's name in the testbed.
        host: String,
        /// Where it was looked for.
        looked: PathBuf,
    },
    /// The kernel cannot be used.
    #[error("the kernel {} of host {host} cannot be used: {reason}", kernel.display())]
    Unfit {
        /// The host's name in the testbed.
        host: String,
        /// The kernel.
        kernel: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// The machine asks for more than there is.
    #[error("host {host} asks for {asked}, and {there}; {advice}")]
    TooLarge {
        /// The host's name in the testbed.
        host: String,
        /// What it asks for.
        asked: String,
        /// What there is.
        there: String,
        /// What to write instead.
        advice: String,
    },
    /// There is no vsock device.
    #[error("cannot make the vsock devices of virtual machines: {0}")]
    Vsock(String),
    /// There is no memory to share.
    #[error("cannot make the memory that virtual machines share: {0}")]
    Shared(String),
    /// The image cannot be made.
    #[error("cannot make the image of virtual machines: {0}")]
    Image(String),
    /// The machine did not come up.
    #[error("host {host} did not start: {reason}")]
    Boot {
        /// The host's name in the testbed.
        host: String,
        /// What happened, with what the machine said last.
        reason: String,
    },
    /// The user does not want to wait.
    #[error("interrupted")]
    Interrupted,
}
