//! One experiment of a suite as it is read, and what `--set` and presets may not give it.

use crate::fault::FaultSpec;
use crate::flow::{FlowSpec, is_not_for_all};
use crate::quantity::At;
use crate::settings::{Settings, applies, belongs};
use dyno_model::WorkloadKind;
use dyno_model::unit::PayloadSize;
use dyno_toml::{Entry, Problem, Problems};

/// One `[[experiment]]`, or one flow of it; those of one name follow each other.
pub(crate) struct ExperimentSpec {
    pub(crate) name: String,
    pub(crate) flow: Option<FlowSpec>,
    pub(crate) workload: At<WorkloadKind>,
    pub(crate) stacks: StackChoice,
    /// What is broken within each trial, in order of time.
    pub(crate) faults: Vec<FaultSpec>,
    /// From the presets that were chosen, the one that wins first; they win over `own`.
    pub(crate) presets: Vec<Settings>,
    /// Its own settings and those of its matrix.
    pub(crate) own: Settings,
}

/// The stacks that an experiment asks for.
#[derive(Clone)]
pub(crate) enum StackChoice {
    /// Every stack of the catalog.
    All,
    /// These.
    Listed(Vec<At<String>>),
}

/// Refuses settings for all experiments that no experiment of the suite has.
pub(crate) fn refuse_idle(set: &[Entry], experiments: &[ExperimentSpec], problems: &mut Problems) {
    for entry in set {
        let used = experiments
            .iter()
            .any(|e| applies(&entry.key, e.workload.value));
        if !used && !experiments.is_empty() {
            Problem::at(
                &entry.key_at,
                format!("no experiment of this suite has `{}`", entry.key),
            )
            .label(belongs(&entry.key))
            .note(problems);
        }
    }
}

/// Refuses what `--set` would give to every flow alike, or to none.
pub(crate) fn refuse_set(set: &[Entry], experiments: &[ExperimentSpec], problems: &mut Problems) {
    let flows = || experiments.iter().filter(|e| e.flow.is_some());
    let payload = |e: &ExperimentSpec| -> Option<Vec<PayloadSize>> {
        let all = e.own.payload.as_ref()?;
        Some(all.iter().map(|p| p.value).collect())
    };
    // Of counts the window says it.
    let is_count = |key: &str| ["messages", "round_trips", "warmup_messages"].contains(&key);
    for entry in set {
        let key = entry.key.as_str();
        let found = flows().find(|e| match key {
            "payload" => flows().any(|f| {
                let is_mixed = f.flow.as_ref().is_some_and(|f| f.sizes.is_some());
                f.name == e.name && (is_mixed || payload(f) != payload(e))
            }),
            _ => is_not_for_all(key) && !is_count(key),
        });
        let Some(spec) = found else {
            continue;
        };
        let help = match key {
            "parallel" => "write `count` in a flow for several identical flows",
            _ => {
                "declare a parameter for this flow in the suite and set the parameter, as the suite `vehicle` does with `camera`"
            }
        };
        Problem::at(
            &entry.key_at,
            format!(
                "`{key}` belongs to a single flow, but `{}` has several",
                spec.name
            ),
        )
        .label("would apply to all of them")
        .help(help)
        .note(problems);
    }
}
