//! What the virtual machines of a testbed have in common.

use super::shared::SharedMemory;
use super::vsock::Vsock;
use crate::error::MachineError;
use dyno_model::Testbed;
use dyno_model::machine::{SHARED_MEMORY, VSOCK};
use std::path::Path;

/// What virtual machines of a testbed are joined by beside the switch.
pub(crate) struct Common {
    pub(crate) vsock: Option<Vsock>,
    pub(crate) shared: Option<SharedMemory>,
}

impl Common {
    pub(crate) fn make(testbed: &Testbed, place: &Path) -> Result<Self, MachineError> {
        Ok(Common {
            vsock: Vsock::start(testbed, place)?,
            shared: SharedMemory::make(testbed)?,
        })
    }

    /// What processes of the host at `address`, which is none of them, find of it in their environment.
    pub(crate) fn environment(&self, address: &str) -> Vec<(&'static str, String)> {
        let vsock = self.vsock.iter().map(|v| (VSOCK, v.peers_of(address)));
        let shared = self.shared.iter().map(|s| (SHARED_MEMORY, s.path()));
        vsock.chain(shared).collect()
    }
}
