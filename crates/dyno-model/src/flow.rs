//! Flows: streams of messages of one experiment that run at the same time, on one stack and in one window.
//!
//! In a plan each flow is an [`Experiment`] of its own, with its own workload, payload and topology, and so has rows, limits and
//! comparisons as every experiment has. What belongs together has the same [`Flow::group`], and one trial of the group
//! is one trial of each of its flows.

use crate::factor::kebab_text;
use crate::plan::{Experiment, ExperimentId, Plan, TrialId};
use crate::sizes::Sizes;
use crate::unit::{Nanos, UnitError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What an experiment is as a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name, which no other flow of the group has.
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

impl Flow {
    /// Whether both are the same flow of the same question, whatever their places in their plans are.
    pub fn is_alike(&self, other: &Flow) -> bool {
        let own = Flow {
            group: other.group,
            alone: other.alone,
            ..self.clone()
        };
        own == *other
    }
}

/// Which participants of a group of flows share a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Processes {
    /// Each flow has a process for each of its participants; flows that are alike share them.
    PerFlow,
    /// All senders on a host are one process, all receivers on it another.
    PerSide,
}
kebab_text!(Processes, "choice of processes", { PerFlow => "per-flow", PerSide => "per-side" });

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

impl Experiment {
    /// The flow's name; nothing of an experiment that is not one of several flows.
    pub fn flow_name(&self) -> Option<&str> {
        self.flow.as_ref().map(|flow| flow.name.as_str())
    }

    /// The flow's name as tables print it: `control`, or `control alone` where it runs by itself. Empty of an experiment
    /// that is not one of several flows.
    pub fn flow_text(&self) -> String {
        match &self.flow {
            Some(flow) if flow.by_itself => format!("{} alone", flow.name),
            Some(flow) => flow.name.clone(),
            None => String::new(),
        }
    }

    /// The sizes of its messages, where they differ.
    pub fn sizes(&self) -> Option<&Sizes> {
        self.flow.as_ref()?.sizes.as_ref()
    }

    /// The payload as tables print it: `64 B`, or `32 B to 4 kB` where messages differ.
    pub fn payload_text(&self) -> String {
        let several = self.sizes().map(Sizes::to_string);
        several.unwrap_or_else(|| self.payload.to_string())
    }

    /// The mean size of its messages, in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let several = self.sizes().map(Sizes::mean);
        several.unwrap_or(self.payload.bytes() as f64)
    }

    /// The experiment whose trials are also its own: itself, unless it runs together with others and is not their first.
    pub fn lead(&self) -> ExperimentId {
        self.flow.as_ref().map_or(self.id, |flow| flow.group)
    }

    /// Whether both ask for the same flow, or neither is one.
    pub fn is_same_flow(&self, other: &Experiment) -> bool {
        match (&self.flow, &other.flow) {
            (Some(a), Some(b)) => a.is_alike(b),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// Those of `all` that are measured in one trial with this one, itself among them, in their order.
pub fn together<'a>(all: &'a [Experiment], experiment: &'a Experiment) -> Vec<&'a Experiment> {
    if experiment.flow.is_none() {
        return vec![experiment];
    }
    let lead = experiment.lead();
    let same = |e: &&Experiment| e.flow.is_some() && e.lead() == lead;
    all.iter().filter(same).collect()
}

impl Plan {
    /// The experiments that are measured in one trial with this one, itself among them, in the plan's order.
    pub fn together<'a>(&'a self, experiment: &'a Experiment) -> Vec<&'a Experiment> {
        together(&self.experiments, experiment)
    }
    /// The trials of the flows that run at the same time as that one, without itself.
    pub fn beside(&self, trial: TrialId) -> Vec<TrialId> {
        let lead = self.experiment(trial.experiment);
        let all = lead.map(|e| self.together(e)).unwrap_or_default();
        let beside = all.iter().filter(|e| e.id != trial.experiment);
        let of = |e: &&Experiment| TrialId {
            experiment: e.id,
            ..trial
        };
        beside.map(of).collect()
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
    fn a_flow_is_the_same_one_wherever_its_group_stands_in_a_plan() {
        let flow = |name: &str, group| Flow {
            name: name.into(),
            group: ExperimentId(group),
            processes: Processes::PerFlow,
            jitter: Nanos::ZERO,
            phase: Phase::default(),
            sizes: None,
            alone: None,
            by_itself: false,
        };
        assert!(flow("a", 0).is_alike(&flow("a", 5)));
        assert!(!flow("a", 0).is_alike(&flow("b", 0)));
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
