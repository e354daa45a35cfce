//! Virtual machines that a testbed boots and uses as hosts.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What executes the processor of a virtual machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// KVM where it works, else emulation. Resolved before a run begins: no stored run has it.
    #[default]
    Auto,
    /// The processor's own virtualisation, by Linux' KVM.
    Kvm,
    /// Emulation in software, by QEMU's translator.
    Tcg,
}

impl Accelerator {
    /// All of them by the names that files have for them.
    pub const ALL: [(&str, Accelerator); 3] = [
        ("auto", Accelerator::Auto),
        ("kvm", Accelerator::Kvm),
        ("tcg", Accelerator::Tcg),
    ];

    /// The name that files have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Accelerator::Auto => "auto",
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }
}

/// What a virtual machine is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel that it boots; `None`: the one that is found on the runner's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<PathBuf>,
    /// Its memory in bytes.
    pub memory_bytes: u64,
    /// Its virtual CPUs.
    pub cpus: u32,
    /// The CPUs of the runner's machine that the monitor may use; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<u32>,
    /// What executes its processor.
    pub accelerator: Accelerator,
}

impl Machine {
    /// The emulator, where its processor is emulated.
    pub const fn emulated_by(&self) -> Option<&'static str> {
        match self.accelerator {
            Accelerator::Tcg => Some("QEMU's TCG"),
            Accelerator::Auto | Accelerator::Kvm => None,
        }
    }
}
