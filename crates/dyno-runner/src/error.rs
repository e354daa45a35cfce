//! Why the hosts of a run cannot be used: for each way to reach one, what is missing and what to do.

use crate::agent::DescribeError;
use std::io;
use std::path::PathBuf;

/// Why the hosts of a testbed cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The runner may not make network namespaces.
    #[error(
        "the testbed `{testbed}` needs network namespaces, which cannot be made here: {source}; run \
         dyno as root, or within `unshare --user --map-root-user`"
    )]
    Rights {
        /// The testbed.
        testbed: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A program that sets up namespaces is missing.
    #[error(
        "the testbed `{testbed}` needs the program `{program}`, which is not installed; run `apt-get \
         install iproute2`"
    )]
    Tool {
        /// The testbed.
        testbed: String,
        /// The program.
        program: &'static str,
    },
    /// A step of the setup failed.
    #[error("cannot {step}: {reason}")]
    Setup {
        /// What was to be done.
        step: String,
        /// Why it failed.
        reason: String,
    },
    /// A host cannot be used through ssh.
    #[error(transparent)]
    Ssh(#[from] SshError),
    /// A host cannot be had as a virtual machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A host that was reached does not do its part.
    #[error("host {host}: {reason}")]
    Host {
        /// Its name in the testbed.
        host: String,
        /// What happened, and what to do.
        reason: String,
    },
}

impl HostsError {
    /// Whether the user does not want to wait.
    pub(crate) const fn is_interrupt(&self) -> bool {
        matches!(
            self,
            HostsError::Ssh(SshError::Interrupted) | HostsError::Machine(MachineError::Interrupted)
        )
    }

    pub(crate) fn setup(step: impl Into<String>, reason: impl ToString) -> Self {
        HostsError::Setup {
            step: step.into(),
            reason: reason.to_string(),
        }
    }
}

/// Why a host cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SshError {
    /// There is no `ssh` on the runner's machine.
    #[error("cannot start `ssh` to reach host {host}: {source}; install OpenSSH's client")]
    NoClient {
        /// The host's name in the testbed.
        host: String,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// A client of the connection could not be started or waited for.
    #[error("cannot run `ssh`: {0}")]
    Client(std::io::Error),
    /// `ssh` was not let in.
    #[error(
        "cannot reach host {host}: {said}; `ssh {destination} true` must succeed without asking anything"
    )]
    Unreachable {
        /// The host's name in the testbed.
        host: String,
        /// What `ssh` was given.
        destination: String,
        /// What `ssh` said.
        said: String,
    },
    /// Its shell does not do what a shell must.
    #[error(
        "host {host} answered {said:?} when asked for its machine type; it needs a POSIX shell \
         that prints nothing by itself when it is not interactive"
    )]
    Shell {
        /// The host's name in the testbed.
        host: String,
        /// What it printed.
        said: String,
    },
    /// It is another kind of machine.
    #[error(
        "host {host} is {theirs}, and this dyno is built for {ours}: its agents are copies of the running \
         program, so all hosts of a testbed must be of one kind"
    )]
    Foreign {
        /// The host's name in the testbed.
        host: String,
        /// Kernel and machine of the host.
        theirs: String,
        /// Those of this program.
        ours: String,
    },
    /// The adapters' libraries could not be asked for.
    #[error("cannot find out what to copy to other hosts: {0}")]
    Describe(DescribeError),
    /// A file that is to be copied cannot be read.
    #[error("cannot read {}, which other hosts need: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// The copy failed.
    #[error("cannot copy dyno to {cache} on host {host}: {said}")]
    Copy {
        /// The host's name in the testbed.
        host: String,
        /// The directory on the host.
        cache: String,
        /// What the host said.
        said: String,
    },
    /// The copy does not run.
    #[error("dyno does not run on host {host}: {said}")]
    Agent {
        /// The host's name in the testbed.
        host: String,
        /// What it said, or how it ended.
        said: String,
    },
    /// The run lists CPUs that the host does not have.
    #[error(
        "`cpus` lists CPU {cpu} of host {host}, where an agent may run on the CPUs {there}; list others, or leave `cpus` out"
    )]
    Cpus {
        /// The host's name in the testbed.
        host: String,
        /// The first that it lacks.
        cpu: u32,
        /// Those that it has.
        there: String,
    },
    /// The user does not want to wait.
    #[error("interrupted")]
    Interrupted,
}

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
