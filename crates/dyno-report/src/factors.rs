//! The factors of experiments as text. Conditions that are the same for a whole table are in its
//! heading; conditions that vary are in its columns. So every number has its conditions.

use dyno_model::Experiment;
use dyno_model::factors::{Factor, in_tables};

/// The factors that have the same value in all of these experiments, and those that have not.
pub(crate) fn split<'a>(
    experiments: impl Iterator<Item = &'a Experiment> + Clone,
) -> (Vec<&'static Factor>, Vec<&'static Factor>) {
    in_tables().into_iter().partition(|f| {
        let mut values = experiments.clone().map(f.text);
        let first = values.next();
        values.all(|v| Some(&v) == first.as_ref())
    })
}

/// The values of constant factors as a heading; empty without an experiment.
pub(crate) fn heading(constant: &[&Factor], experiment: Option<&Experiment>) -> String {
    let Some(experiment) = experiment else {
        return String::new();
    };
    // What measures its start alone has no window.
    let has_window = !experiment.workload.kind().is_start();
    let parts: Vec<String> = constant
        .iter()
        .filter(|f| f.title != "memory" || experiment.mlock)
        .filter(|f| f.title != "window" || has_window)
        .map(|f| (f.lead, (f.text)(experiment)))
        // A run of one machine names it elsewhere.
        .filter(|(_, value)| !value.is_empty())
        .map(|(lead, value)| format!("{lead}{value}"))
        .collect();
    parts.join(" · ")
}

/// All factors of an experiment in one line.
pub fn conditions(experiment: &Experiment) -> String {
    heading(&in_tables(), Some(experiment))
}

/// For each of these experiments, in their order, what tells it from the others: the values of those
/// factors that are not the same in all of them.
pub fn varying_conditions<'a>(
    experiments: impl Iterator<Item = &'a Experiment> + Clone,
) -> Vec<String> {
    let (_, varying) = split(experiments.clone());
    experiments.map(|e| label(&varying, e)).collect()
}

/// The values of varying factors, to tell one experiment from another.
pub(crate) fn label(varying: &[&Factor], experiment: &Experiment) -> String {
    let parts: Vec<String> = varying
        .iter()
        .filter(|f| f.title != "memory" || experiment.mlock)
        .map(|f| match f.title {
            // "locked" alone would not say what.
            "memory" => format!("{}{}", f.lead, (f.text)(experiment)),
            _ => (f.text)(experiment),
        })
        .filter(|value| !value.is_empty())
        .collect();
    parts.join(", ")
}
