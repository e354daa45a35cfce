//! What the doctor says: findings, their order, and the verdict.

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
    /// It could not be found out.
    Unknown,
    /// As it should be.
    Fine,
}

/// What to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// A command, to be typed as it is.
    Command(String),
    /// No command can fix it; what to do instead.
    Instead(String),
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its stable name.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, in a sentence.
    pub what: String,
    /// What was measured of its effect, in a sentence.
    pub how_much: Option<String>,
    /// The part of it that can be said in one number: by how many nanoseconds it can delay an
    /// operation.
    pub delay_ns: Option<f64>,
    /// What to do about it; `None`: nothing, or nobody knows.
    pub fix: Option<Fix>,
}

impl Finding {
    pub(crate) fn new(id: &'static str, severity: Severity, what: impl Into<String>) -> Self {
        Finding {
            id,
            severity,
            what: what.into(),
            how_much: None,
            delay_ns: None,
            fix: None,
        }
    }

    pub(crate) fn hurts(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Hurts, what)
    }

    pub(crate) fn may_hurt(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::MayHurt, what)
    }

    pub(crate) fn unknown(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Unknown, what)
    }

    pub(crate) fn fine(id: &'static str, what: impl Into<String>) -> Self {
        Self::new(id, Severity::Fine, what)
    }

    pub(crate) fn how_much(mut self, text: impl Into<String>) -> Self {
        self.how_much = Some(text.into());
        self
    }

    pub(crate) fn delay_ns(mut self, ns: f64) -> Self {
        self.delay_ns = Some(ns);
        self
    }

    /// Not for what is fine: there is nothing to do.
    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        if self.severity != Severity::Fine {
            self.fix = Some(Fix::Command(command.into()));
        }
        self
    }

    /// Not for what is fine: there is nothing to do.
    pub(crate) fn instead(mut self, advice: impl Into<String>) -> Self {
        if self.severity != Severity::Fine {
            self.fix = Some(Fix::Instead(advice.into()));
        }
        self
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
            n => format!("; {n} could not be found out"),
        };
        let worst = findings.first().map_or("", |f| f.what.as_str());
        let (level, sentence) = match (hurts, may) {
            (0, 0) => (
                Level::Good,
                format!("nothing on this host hurts measurements{unknown}"),
            ),
            (0, may) => (
                Level::Usable,
                format!(
                    "nothing on this host hurts measurements, {may} {} may{unknown}; first: {worst}",
                    things(may)
                ),
            ),
            (hurts, may) => (
                Level::Poor,
                format!(
                    "{hurts} {} on this host hurt{} measurements, {may} more may{unknown}; most of all: \
                     {worst}",
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

    #[test]
    fn what_hurts_most_comes_first() {
        let mut all = [
            Finding::fine("a", ""),
            Finding::may_hurt("b", "").delay_ns(1e9),
            Finding::hurts("c", ""),
            Finding::hurts("d", "").delay_ns(10.0),
            Finding::hurts("e", "").delay_ns(5_000.0),
            Finding::unknown("f", ""),
        ];
        all.sort_by(Finding::order);
        assert_eq!(all.map(|f| f.id), ["e", "d", "c", "b", "f", "a"]);
    }

    #[test]
    fn the_verdict_counts_and_names_the_worst() {
        let v = Verdict::of(&[Finding::fine("a", "")]);
        assert_eq!(v.level, Level::Good);
        let v = Verdict::of(&[
            Finding::may_hurt("a", "x is small"),
            Finding::unknown("b", ""),
        ]);
        assert_eq!(v.level, Level::Usable);
        assert!(
            v.sentence.contains("1 thing may; 1 could not"),
            "{}",
            v.sentence
        );
        let v = Verdict::of(&[Finding::hurts("a", "x is bad"), Finding::may_hurt("b", "")]);
        assert_eq!(v.level, Level::Poor);
        assert_eq!(
            v.sentence,
            "1 thing on this host hurts measurements, 1 more may; most of all: x is bad"
        );
    }

    #[test]
    fn what_is_fine_needs_no_fix() {
        assert_eq!(Finding::fine("a", "").command("x").instead("y").fix, None);
    }
}
