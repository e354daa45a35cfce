//! What a check says of figures: a verdict of a fixed set, a sentence, and the calculation.

use serde::Serialize;

/// The verdicts on a statement. Never why it is so, nor who made it so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "verdict"))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No measurement whatever gives this figure.
    Impossible,
    /// Figures of the source contradict each other.
    Inconsistent,
    /// It is a figure of something else than its name says.
    NotWhatItIsCalled,
    /// The source gives too little information to check or to use it.
    CannotBeKnown,
    /// It was checked, and arithmetic allows it.
    NoObjection,
}

impl Verdict {
    /// From the worst to the best.
    pub const ALL: [Verdict; 5] = [
        Verdict::Impossible,
        Verdict::Inconsistent,
        Verdict::NotWhatItIsCalled,
        Verdict::CannotBeKnown,
        Verdict::NoObjection,
    ];

    /// As people read it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Impossible => "impossible",
            Verdict::Inconsistent => "inconsistent",
            Verdict::NotWhatItIsCalled => "not what it is called",
            Verdict::CannotBeKnown => "cannot be known",
            Verdict::NoObjection => "no objection found",
        }
    }

    /// Whether it says that a statement does not hold. What cannot be known may well be true.
    pub const fn objects(self) -> bool {
        matches!(
            self,
            Verdict::Impossible | Verdict::Inconsistent | Verdict::NotWhatItIsCalled
        )
    }
}

/// The result of one check for some figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "outcome"))]
pub struct Outcome {
    /// The check's name.
    pub check: &'static str,
    /// What it says.
    pub verdict: Verdict,
    /// The figures that it is about, the one that is objected to first.
    pub figures: Vec<String>,
    /// Where the source has it.
    pub place: String,
    /// In one sentence.
    pub says: String,
    /// The arithmetic, with the printed numbers.
    pub calculation: String,
}
