//! Flows: streams of messages of one experiment that run at the same time, on one stack and in one window.
//!
//! In a plan each flow is an [`Experiment`](crate::Experiment) of its own, with its own workload, payload and topology, and so has rows, limits and
//! comparisons as every experiment has. Flows that belong together have the same [`Flow::group`], and one trial of the group
//! is one trial of each of its flows.

use crate::plan::number::ExperimentId;
use crate::sizes::Sizes;
use crate::unit::Nanos;
use serde::{Deserialize, Serialize};

/// The properties of an experiment that is a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name, unique in the group.
    pub name: String,
    /// The first flow of those that run at the same time: its trials are those of all.
    pub group: ExperimentId,
    /// Which processes play the group's participants.
    pub processes: Processes,
    /// Each message is due later than its cycle says by a random time up to this, evenly distributed and drawn by the seed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub jitter: Nanos,
    /// When the first message is due, counted from the common start.
    #[serde(default, skip_serializing_if = "Phase::is_zero")]
    pub phase: Phase,
    /// The sizes of its messages, where they differ; the largest is the experiment's payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// The flow of the group whose messages it reads as well: it has readers alone, and no sender of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<String>,
    /// The experiment that measures it by itself, in the same rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<ExperimentId>,
    /// It is that experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_itself: bool,
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

choice! {
    /// Which participants of a group of flows share a process.
    Processes, "choice of processes" {
        /// Each flow has a process for each of its participants; flows that are alike share them.
        PerFlow = "per-flow",
        /// All senders on a host are one process, all receivers on it another.
        PerSide = "per-side",
    }
}
/// When the first message of a flow is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// This long after the common start.
    After(Nanos),
    /// Flows that are alike begin one after the other, evenly over their cycle.
    Spread,
}

impl Default for Phase {
    fn default() -> Self {
        Phase::After(Nanos::ZERO)
    }
}

impl Phase {
    fn is_zero(&self) -> bool {
        *self == Phase::default()
    }

    /// When the flow of that `number` out of `count` alike begins, counted from the common start. `cycle_ns` is the time
    /// from one message to the next, in nanoseconds.
    pub fn of(self, number: u16, count: u16, cycle_ns: f64) -> Nanos {
        match self {
            Phase::After(time) => time,
            Phase::Spread => Nanos((cycle_ns * f64::from(number) / f64::from(count.max(1))) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_flows_spread_over_their_cycle() {
        let at = |number| Phase::Spread.of(number, 4, 1e9);
        assert_eq!([0, 1, 3].map(at), [0, 250, 750].map(Nanos::from_millis));
        let after = Phase::After(Nanos(7));
        assert_eq!(after.of(3, 4, 1e9), Nanos(7));
    }

    #[test]
    fn an_older_plan_has_flows_without_jitter_and_phase() {
        let flow: Flow =
            serde_json::from_str(r#"{"name":"a","group":3,"processes":"per-side"}"#).unwrap();
        assert_eq!((flow.jitter, flow.phase), (Nanos::ZERO, Phase::default()));
        let text = serde_json::to_string(&flow).unwrap();
        assert_eq!(text, r#"{"name":"a","group":3,"processes":"per-side"}"#);
    }
}
