//! The answers of a run in sentences, for the head of every format that people and programs read.

use serde::Serialize;

/// So many answers are said before a reader is sent to the table. JSON has all of them.
const SHOWN: usize = 6;

/// The fastest stacks, in sentences. A study with a table of its own has none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswersSummary {
    /// What the stacks are compared by, such as `Fastest by p50 round trip (95 % intervals):`.
    pub title: String,
    /// One for each question; those without an answer come last.
    pub questions: Vec<AnswerSummary>,
    /// How far to trust the answers on this host, and what would help.
    pub how_sure: String,
}

/// The answer to one question: which stack is fastest under the same conditions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AnswerSummary {
    /// The name of the experiments, with the factors that tell this question from the others.
    pub question: String,
    /// The fastest stacks, those that fail, drop or lose messages, the slowest one and the ratio to the floor.
    pub answer: String,
    /// The places in `experiments` of the fastest stack and of those that may be as fast. Empty: none can be called so.
    pub best: Vec<usize>,
}

impl AnswersSummary {
    /// The answers for people, as many as they read at once, and a line that says how many more there are.
    pub fn shown(&self) -> (&[AnswerSummary], Option<String>) {
        let shown = match self.questions.len() {
            n if n <= SHOWN => n,
            _ => SHOWN - 1,
        };
        let (shown, more) = self.questions.split_at(shown);
        (shown, more_answers(more.iter().map(|a| a.best.is_empty())))
    }
}

/// `3 more, 1 of them without an answer`; `left`: for each answer that is not shown, whether it is none.
/// `None` where all are shown.
pub fn more_answers(left: impl Iterator<Item = bool> + Clone) -> Option<String> {
    let without = match left.clone().filter(|is_none| *is_none).count() {
        0 => String::new(),
        n => format!(", {n} of them without an answer"),
    };
    match left.count() {
        0 => None,
        n => Some(format!("{n} more{without}")),
    }
}
