//! What is known of a trial in which nobody sends, beside the cost of its processes.

use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// Who was silent, and what went over the links all the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Idle {
    /// Participants, all of them matched.
    pub participants: u64,
    /// From one reading of the devices to the other: the window, and up to some 100 ms after it.
    pub wall: Nanos,
    /// What each device sent meanwhile; those that sent nothing are left out. `None` where the devices of some host could not
    /// be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<LinkTraffic>>,
}

/// What one network device of a host sent, whoever made it do so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkTraffic {
    /// The host's name in the testbed.
    pub host: String,
    /// The device, such as `lo`.
    pub device: String,
    /// Packets that it sent.
    pub packets: u64,
    /// Their bytes, with the headers of the device.
    pub bytes: u64,
}

impl Idle {
    /// A total of all devices per second; `None` where no time passed, or a host was not read.
    pub(crate) fn per_second(&self, of: fn(&LinkTraffic) -> u64) -> Option<f64> {
        let seconds = self.wall.as_secs_f64();
        let links = self.links.as_ref()?.iter();
        let all = links.map(of).fold(0, u64::saturating_add);
        (seconds > 0.0).then(|| all as f64 / seconds)
    }

    /// The share of one participant in a total; `None` where there is none.
    pub(crate) fn each(&self, total: f64) -> Option<f64> {
        (self.participants > 0).then(|| total / self.participants as f64)
    }
}
