//! What the doctor says: findings, their order, and the verdict.

use crate::cause::Cause;
use crate::fix::Fix;
use serde::Serialize;
use std::cmp::Ordering;

/// How bad it is, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Figures from this host are worse, or less certain, because of it.
    Hurts,
    /// It can disturb some measurements.
    MayHurt,
    /// It could not be determined.
    Unknown,
    /// As it should be.
    Fine,
}

impl Severity {
    /// `value` against the levels from which it hurts and from which it may hurt.
    pub(crate) fn of(value: f64, [hurts, may]: [f64; 2]) -> Severity {
        if value > hurts {
            Severity::Hurts
        } else if value > may {
            Severity::MayHurt
        } else {
            Severity::Fine
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(into = "Told")]
pub struct Finding {
    /// What was found, with its numbers.
    pub cause: Cause,
    /// How bad it is.
    pub severity: Severity,
    /// The part of its effect that can be said in one number: by how many nanoseconds it can delay an
    /// operation.
    pub delay_ns: Option<f64>,
}

/// A finding as JSON has it: its cause and values, and the sentences for people.
#[derive(Serialize)]
struct Told {
    id: &'static str,
    severity: Severity,
    what: String,
    how_much: Option<String>,
    delay_ns: Option<f64>,
    fix: Option<Fix>,
    #[serde(flatten)]
    cause: Cause,
}

impl From<Finding> for Told {
    fn from(f: Finding) -> Self {
        Told {
            id: f.cause.id(),
            severity: f.severity,
            what: f.cause.to_string(),
            how_much: f.cause.how_much(),
            delay_ns: f.delay_ns,
            fix: f.fix(),
            cause: f.cause,
        }
    }
}

impl Finding {
    pub(crate) fn new(severity: Severity, cause: Cause) -> Self {
        Finding {
            cause,
            severity,
            delay_ns: None,
        }
    }

    pub(crate) fn hurts(cause: Cause) -> Self {
        Self::new(Severity::Hurts, cause)
    }

    pub(crate) fn may_hurt(cause: Cause) -> Self {
        Self::new(Severity::MayHurt, cause)
    }

    pub(crate) fn unknown(cause: Cause) -> Self {
        Self::new(Severity::Unknown, cause)
    }

    pub(crate) fn fine(cause: Cause) -> Self {
        Self::new(Severity::Fine, cause)
    }

    pub(crate) fn delay_ns(mut self, ns: f64) -> Self {
        self.delay_ns = Some(ns);
        self
    }

    /// What to do about it; `None`: nothing, as for what is fine, or nobody knows.
    pub fn fix(&self) -> Option<Fix> {
        self.cause.fix().filter(|_| self.severity != Severity::Fine)
    }

    /// What hurts most first: by severity, then by the delay, those without one last.
    pub(crate) fn order(&self, other: &Finding) -> Ordering {
        let delay = |f: &Finding| f.delay_ns.unwrap_or(-1.0);
        self.severity
            .cmp(&other.severity)
            .then_with(|| delay(other).total_cmp(&delay(self)))
    }
}

/// All findings in one word and one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// In one word.
    pub level: Level,
    /// In one sentence.
    pub sentence: String,
}

/// What the host is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Nothing was found.
    Good,
    /// Some things may hurt.
    Usable,
    /// At least one thing hurts.
    Poor,
}

impl Verdict {
    /// `findings` are in their order.
    pub fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
        let (hurts, may) = (count(Severity::Hurts), count(Severity::MayHurt));
        let unknown = match count(Severity::Unknown) {
            0 => String::new(),
            n => format!("; {n} could not be determined"),
        };
        let worst = findings
            .first()
            .map_or(String::new(), |f| f.cause.to_string());
        let (level, sentence) = match (hurts, may) {
            (0, 0) => (
                Level::Good,
                format!("nothing on this host hurts measurements{unknown}"),
            ),
            (0, may) => (
                Level::Usable,
                format!(
                    "nothing on this host hurts measurements, but {may} {} may{unknown}; the first is: {worst}",
                    things(may)
                ),
            ),
            (hurts, may) => (
                Level::Poor,
                format!(
                    "{hurts} {} on this host hurt{} measurements, and {may} more may hurt them{unknown}; the \
                     worst is: {worst}",
                    things(hurts),
                    if hurts == 1 { "s" } else { "" }
                ),
            ),
        };
        Verdict { level, sentence }
    }
}

fn things(n: usize) -> &'static str {
    if n == 1 { "thing" } else { "things" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(error: &str) -> Cause {
        Cause::ProbeFailed {
            error: error.into(),
        }
    }

    #[test]
    fn what_hurts_most_comes_first() {
        let mut all = [
            Finding::fine(probe("a")),
            Finding::may_hurt(probe("b")).delay_ns(1e9),
            Finding::hurts(probe("c")),
            Finding::hurts(probe("d")).delay_ns(10.0),
            Finding::hurts(probe("e")).delay_ns(5_000.0),
            Finding::unknown(probe("f")),
        ];
        all.sort_by(Finding::order);
        let order: Vec<String> = all.iter().map(|f| f.cause.to_string()).collect();
        assert_eq!(order, ["e", "d", "c", "b", "f", "a"]);
    }

    #[test]
    fn the_verdict_counts_and_names_the_worst() {
        let v = Verdict::of(&[Finding::fine(probe(""))]);
        assert_eq!(v.level, Level::Good);
        let v = Verdict::of(&[
            Finding::may_hurt(probe("x is small")),
            Finding::unknown(probe("")),
        ]);
        assert_eq!(v.level, Level::Usable);
        assert!(
            v.sentence.contains("1 thing may; 1 could not"),
            "{}",
            v.sentence
        );
        let v = Verdict::of(&[
            Finding::hurts(probe("x is bad")),
            Finding::may_hurt(probe("")),
        ]);
        assert_eq!(v.level, Level::Poor);
        assert_eq!(
            v.sentence,
            "1 thing on this host hurts measurements, and 1 more may hurt them; the worst is: x is bad"
        );
    }

    #[test]
    fn what_is_fine_needs_no_fix() {
        assert_eq!(Finding::fine(Cause::NoFifo).fix(), None);
        assert!(Finding::may_hurt(Cause::NoFifo).fix().is_some());
    }

    #[test]
    fn json_has_the_cause_and_its_values_beside_the_sentences() {
        let cause = Cause::Quota {
            quota: 1.5,
            cpus: 2,
        };
        let json = serde_json::to_value(Finding::hurts(cause.clone())).unwrap();
        assert_eq!(json["id"], "cpu-quota");
        assert_eq!(json["cause"], "quota");
        assert_eq!(json["values"], serde_json::json!({"quota": 1.5, "cpus": 2}));
        assert_eq!(json["what"], cause.to_string());
    }
}
