//! The fields of an element of `experiments` that is a flow.

use crate::estimates::EstimateJson;
use crate::summary::ExperimentSummary;
use dyno_model::Phase;
use serde::Serialize;

/// What the experiment is as one of several flows that run at the same time.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "flow"))]
pub(super) struct FlowJson<'a> {
    name: &'a str,
    /// Number of the first flow; one trial of it is one of each.
    group: u32,
    /// `per-flow` or `per-side`.
    processes: &'static str,
    jitter_ns: u64,
    /// When its first message is due after the common start. Absent where those alike are spread over their cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase_ns: Option<u64>,
    spread: bool,
    /// The sizes of its messages, such as `32 B to 4 kB`; the experiment's payload is the largest. Absent where all have that.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    /// The flow whose messages it reads, having no sender of its own. Absent of a flow that sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads: Option<&'a str>,
    /// It is measured alone.
    by_itself: bool,
    /// Its headline beside the others over itself alone, paired by trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    against_alone: Option<AloneJson>,
}

/// A flow beside the others over itself alone.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AloneJson {
    id: u32,
    p50_ratio: Option<EstimateJson>,
    p99_ratio: Option<EstimateJson>,
}

impl<'a> FlowJson<'a> {
    pub(super) fn of(e: &'a ExperimentSummary) -> Option<Self> {
        let flow = e.experiment.flow.as_ref()?;
        let phase_ns = match flow.phase {
            Phase::After(time) => Some(time.0),
            Phase::Spread => None,
        };
        Some(FlowJson {
            name: &flow.name,
            group: flow.group.0,
            processes: flow.processes.as_str(),
            jitter_ns: flow.jitter.0,
            phase_ns,
            spread: phase_ns.is_none(),
            payload: flow.sizes.as_ref().map(ToString::to_string),
            reads: flow.reads.as_deref(),
            by_itself: flow.by_itself,
            against_alone: e.alone.as_ref().map(|alone| {
                let [p50, p99] = &alone.ratios;
                AloneJson {
                    id: alone.id.0,
                    p50_ratio: p50.as_ref().map(Into::into),
                    p99_ratio: p99.as_ref().map(Into::into),
                }
            }),
        })
    }
}
