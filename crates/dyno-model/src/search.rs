//! The search for a capacity: which factor is raised, and until which limits.
//!
//! A plan of a search holds a *ladder* for each cell of the suite: the same experiment once for every value that the
//! search may try. Nothing about an experiment is decided after planning; the search only decides which of them get
//! trials. See `docs/adr/0027-a-search-climbs-a-planned-ladder.md`.

use crate::origin::text::Text;
use crate::plan::experiment::Experiment;
use crate::plan::number::ExperimentId;
use crate::unit::{PayloadSize, RateHz};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

choice! {
    /// The factor that a search raises.
    Raised, "factor of a search" {
        /// Messages per second of each sender of a stream.
        Rate = "rate",
        /// The size of each message.
        Payload = "payload",
        /// Receivers of what is sent one way; callers of a call, initiators of a ping-pong.
        Clients = "clients",
    }
}
/// The arguments of `--search FACTOR --until LIMITS.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// What is raised.
    pub raise: Raised,
    /// The limits that a value must keep, as their author wrote them.
    pub until: Text,
    /// The rules by which it is judged: [`Search::RULES`], or 1 in runs of builds that knew no others.
    #[serde(default = "first")]
    pub rules: u32,
}

impl Search {
    /// The rules of this build's searches (ADR 44). By 1, trials that the host disturbed count for nothing where enough others are left,
    /// and an undecided value is followed by lower ones first.
    pub const RULES: u32 = 2;
}

/// The rules of searches that name none.
fn first() -> u32 {
    1
}

impl Raised {
    /// Its value in an experiment: messages per second, bytes, or participants.
    pub fn of(self, e: &Experiment) -> f64 {
        match self {
            Raised::Rate => e.workload.numbers().rate.map_or(0.0, RateHz::hz),
            Raised::Payload => e.payload.bytes() as f64,
            Raised::Clients => f64::from(match e.workload.kind().is_closed_loop() {
                true => e.topology.senders,
                false => e.topology.receivers,
            }),
        }
    }

    /// A value as people read it: `16 kHz`, `4 KiB`, `12 clients`.
    pub fn text(self, value: f64) -> String {
        let plain = || value.to_string();
        match self {
            Raised::Rate => RateHz::new(value).map_or_else(|_| plain(), |rate| rate.to_string()),
            Raised::Payload => {
                // Payloads are whole and fit.
                PayloadSize::new(value as u64).map_or_else(|_| plain(), |size| size.to_string())
            }
            Raised::Clients if value == 1.0 => "1 client".into(),
            Raised::Clients => format!("{value} clients"),
        }
    }

    /// Whether two experiments differ in this factor alone, and in where their participants run.
    pub(crate) fn is_all_between(self, a: &Experiment, b: &Experiment) -> bool {
        let mut b = Experiment {
            id: a.id,
            cpus: a.cpus.clone(),
            library_cpus: a.library_cpus.clone(),
            daemon_cpus: a.daemon_cpus.clone(),
            ..b.clone()
        };
        match self {
            Raised::Rate => match (&mut b.workload, &a.workload) {
                (Workload::Stream { rate, .. }, Workload::Stream { rate: own, .. }) => *rate = *own,
                _ => return false,
            },
            Raised::Payload => b.payload = a.payload,
            Raised::Clients if a.workload.kind().is_closed_loop() => {
                b.topology.senders = a.topology.senders;
            }
            Raised::Clients => b.topology.receivers = a.topology.receivers,
        }
        *a == b
    }
}

/// The experiments of one cell, from the lowest value to the highest.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// At least one.
    pub experiments: Vec<ExperimentId>,
    /// The value of each, in ascending order.
    pub values: Vec<f64>,
}
