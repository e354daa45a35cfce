//! Why a trial does not count: what the host did to it beyond what the idle host does.

use crate::cpus::ranges;
use crate::unit::{Nanos, percent};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// What the host did. Shares are of what the CPUs could give, 0 to 1, and of the window unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "cause", content = "values", rename_all = "kebab-case")]
pub enum Disturbance {
    /// Others ran on the trial's CPUs.
    #[error("other processes used {} of {} during the window ({}); {bare}", percent(*share), names(cpus),
        strangers(*used, *named, hungriest.as_ref()))]
    ForeignLoad {
        /// Of the CPUs.
        share: f64,
        /// The trial's.
        cpus: Vec<u32>,
        /// What others used of the CPUs.
        used: Nanos,
        /// What those used, anywhere on the machine, that are known by name.
        named: Nanos,
        /// Who of these used most, and how much; without a name processes that have ended since.
        hungriest: Option<(Option<String>, Nanos)>,
        /// The idle host's.
        bare: BareShare,
    },
    /// The hypervisor ran other guests.
    #[error("the hypervisor gave other guests {} of the time for which {} had work during the window ({stolen}); {bare}",
        percent(*share), names(cpus))]
    Steal {
        /// Of the time in which the CPUs had work.
        share: f64,
        /// The trial's.
        cpus: Vec<u32>,
        /// All CPUs together.
        stolen: Nanos,
        /// The idle host's.
        bare: BareShare,
    },
    /// CPUs were slowed for heat.
    #[error("the kernel throttled {} because of heat, {times} times during the window{}", names(cpus), match bare_times {
        0 => String::new(),
        n => format!("; {n} times also before the run: cool the machine"),
    })]
    Throttling {
        /// The trial's.
        cpus: Vec<u32>,
        /// How often.
        times: u64,
        /// How often on the idle host.
        bare_times: u64,
    },
    /// A CPU's frequency changed to where the idle host's was not.
    #[error("CPU {cpu} went from {} to {} GHz during the window{}", ghz(*from_khz), ghz(*to_khz), match bare_khz {
        Some((low, high)) => format!("; before the run it ran at {} to {} GHz", ghz(*low), ghz(*high)),
        None => String::new(),
    })]
    Frequency {
        /// Which CPU.
        cpu: u32,
        /// At the start of the window.
        from_khz: u64,
        /// At its end.
        to_khz: u64,
        /// The idle host's lowest and highest, where that is known.
        bare_khz: Option<(u64, u64)>,
    },
    /// A CPU stood still just before the trial.
    #[error("CPU {cpu} lost {} of its time in {gaps} gaps just before the trial, the longest {longest}; {bare}",
        percent(*share))]
    Gaps {
        /// Which CPU.
        cpu: u32,
        /// Of the time for which it was watched.
        share: f64,
        /// How many.
        gaps: u64,
        /// Of one of them.
        longest: Nanos,
        /// The idle host's.
        bare: BareShare,
    },
}

impl Disturbance {
    /// Whether all that it does to a trial is to delay it. What others run on the CPUs does more: it also keeps them from going idle,
    /// and a change of frequency may make them faster.
    pub fn only_delays(&self) -> bool {
        match self {
            Disturbance::Steal { .. }
            | Disturbance::Throttling { .. }
            | Disturbance::Gaps { .. } => true,
            Disturbance::ForeignLoad { .. } | Disturbance::Frequency { .. } => false,
        }
    }
}

/// The same share of the idle host, and as much of it as is taken off the trial's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BareShare {
    /// As it was measured.
    pub share: f64,
    /// As it counts: less than was measured where the machine was disturbed then.
    pub taken: f64,
}

impl fmt::Display for BareShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before the run it was {}", percent(self.share))?;
        match self.taken < self.share {
            true => write!(
                f,
                ", so the host was already disturbed then, and Dyno allows for only {}; measure again on a quiet machine",
                percent(self.taken)
            ),
            false => Ok(()),
        }
    }
}

fn strangers(used: Nanos, named: Nanos, hungriest: Option<&(Option<String>, Nanos)>) -> String {
    let first = match hungriest {
        Some((None, used)) => format!("ended processes {used}"),
        Some((Some(name), used)) => format!("`{name}` {used}"),
        None => return "processes that have ended".to_owned(),
    };
    match 2 * named.0 >= used.0 {
        true => first,
        false => format!("mostly processes that have ended; of the others {first}"),
    }
}

/// `CPU 3` or `CPUs 0-1`.
fn names(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", ranges(cpus))
}

fn ghz(khz: u64) -> String {
    format!("{:.2}", khz as f64 / 1e6)
}
