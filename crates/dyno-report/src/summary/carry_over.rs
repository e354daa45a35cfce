//! Whether earlier trials influenced the results of a trial.

use serde::Serialize;

/// Results of the test on the order of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "carry_over"))]
pub struct CarryOverSummary {
    /// Trials that were looked at.
    pub trials: usize,
    /// Possible influences on later trials: each stack, each experiment, a trial that lost messages, …
    pub suspects: usize,
    /// The chance that a run without any carry-over shows as much as this one.
    pub p: f64,
    /// Significant influences on later trials, at 5 % over all suspects and measures.
    pub findings: Vec<CarryOverFinding>,
}

/// An influence on later trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CarryOverFinding {
    /// The earlier trial, in words.
    pub after: String,
    /// `p50`, the trial's own of its headline metric, or `loss`, its share of lost messages.
    pub measure: &'static str,
    /// The flow that shows it, of trials with several at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// The chance of it without any carry-over, all suspects and measures taken together.
    pub p: f64,
    /// Trials that ran after it.
    pub trials: usize,
    /// The share of pairs, of a trial after it and another one of its experiment, in which the former is higher.
    pub higher: Option<f64>,
}

impl CarryOverSummary {
    /// In one sentence, and one more for each finding.
    pub fn sentences(&self) -> (String, Vec<String>) {
        let Self {
            trials, suspects, ..
        } = self;
        if self.findings.is_empty() {
            let text = format!(
                "no influence of earlier trials on later ones was found in {trials} trials in \
                 random order ({suspects} possible influences tested at 5 % in total, p {})",
                chance(self.p)
            );
            return (text, Vec::new());
        }
        let line = |f: &CarryOverFinding| {
            let after = match f.after.starts_with("in ") {
                true => f.after.clone(),
                false => format!("after {}", f.after),
            };
            let what = match f.measure {
                "loss" => "a higher loss",
                _ => "a higher p50",
            };
            let of_flow = f.flow.as_ref().map(|flow| format!(" of {}", flow));
            let of_flow = of_flow.unwrap_or_default();
            let pairs = match f.higher {
                Some(share) => format!("{:.0} % of pairs", 100.0 * share),
                None => "no pair".to_owned(),
            };
            format!(
                "{after}: {what}{of_flow} than other trials of their experiments in {pairs} (50 % by chance; {} trials, p {})",
                f.trials,
                chance(f.p)
            )
        };
        (
            "earlier trials influenced later ones, so these trials are not independent:".into(),
            self.findings.iter().map(line).collect(),
        )
    }
}

fn chance(p: f64) -> String {
    match p {
        p if p < 0.001 => "< 0.001".into(),
        p => format!("{p:.3}"),
    }
}
