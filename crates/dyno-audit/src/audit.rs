//! All checks of one source, and their results together.

use crate::checks::CHECKS;
use crate::context::Context;
use crate::measure::Beside;
use crate::outcome::{Outcome, Verdict};
use crate::statement::Statements;
use std::collections::{BTreeMap, BTreeSet};

/// The result of an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct Audit {
    /// All that was checked, the worst first, else in the order of the checks.
    pub outcomes: Vec<Outcome>,
    /// Claims beside values measured here; empty where nothing was asked for.
    pub measured: Vec<Beside>,
}

/// Findings of one check that say the same, of one or many figures.
#[derive(Debug, Clone, PartialEq)]
pub struct Group<'a> {
    /// The first of them.
    pub first: &'a Outcome,
    /// The others.
    pub more: Vec<&'a Outcome>,
}

impl<'a> Group<'a> {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &'a Outcome> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

impl Audit {
    /// Runs every check.
    pub fn of(statements: &Statements) -> Audit {
        let context = Context::new(statements);
        let mut outcomes: Vec<Outcome> = CHECKS.iter().flat_map(|c| (c.run)(&context)).collect();
        outcomes.sort_by_key(|o| o.verdict);
        Audit {
            outcomes,
            measured: Vec::new(),
        }
    }

    /// Everything but what there is no objection to.
    pub fn findings(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes
            .iter()
            .filter(|o| o.verdict != Verdict::NoObjection)
    }

    /// How many outcomes of a verdict there are.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes
            .iter()
            .filter(|o| o.verdict == verdict)
            .count()
    }

    /// The worst verdict of each figure that a check was about.
    pub fn verdicts(&self) -> BTreeMap<&str, Verdict> {
        let mut worst = BTreeMap::new();
        for outcome in &self.outcomes {
            // Of a relation the first figure is what it says something of; the others stand in its calculation.
            for figure in &outcome.figures {
                let known = worst.entry(figure.as_str()).or_insert(outcome.verdict);
                *known = (*known).min(outcome.verdict);
            }
        }
        worst
    }

    /// Outcomes by check and verdict; those of one check and place stand together.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: BTreeMap<(Verdict, &str, &str), usize> = BTreeMap::new();
        for outcome in &self.outcomes {
            let section = section(&outcome.place);
            match known.get(&(outcome.verdict, outcome.check, section)) {
                Some(i) => groups[*i].more.push(outcome),
                None => {
                    known.insert((outcome.verdict, outcome.check, section), groups.len());
                    groups.push(Group {
                        first: outcome,
                        more: Vec::new(),
                    });
                }
            }
        }
        groups
    }

    /// Three sentences: how much was checked, what cannot be, what cannot be known.
    pub fn sentences(&self, statements: &Statements) -> [String; 3] {
        let figures = statements.figures.len();
        let values: usize = statements.samples.iter().map(|s| s.values.len()).sum();
        let with_raw = match values {
            0 => String::new(),
            n => format!(" and {n} raw values"),
        };
        let checks: BTreeSet<&str> = self.outcomes.iter().map(|o| o.check).collect();
        let checked = format!(
            "Dyno checked {figures} figures{with_raw} with {} kinds of checks and {} calculations.",
            checks.len(),
            self.outcomes.len()
        );
        let count = |verdict| self.count(verdict);
        let of = |verdict: Verdict| format!("{} {}", count(verdict), verdict.as_str());
        let objecting: Vec<String> = Verdict::ALL
            .into_iter()
            .filter(|v| v.objects() && count(*v) > 0)
            .map(of)
            .collect();
        let objections = match objecting.is_empty() {
            true => "Arithmetic contradicts none of them.".to_owned(),
            false => format!("Findings: {}.", listed(&objecting)),
        };
        let open = match count(Verdict::CannotBeKnown) {
            0 => "The source states everything that the checks need.".to_owned(),
            n => format!(
                "{n} {} be checked, because the source gives too little information. There is no objection to the others.",
                if n == 1 { "cannot" } else { "more cannot" }
            ),
        };
        [checked, objections, open]
    }
}

/// A place without what is particular to one figure: the line of a log, the name of a requirement.
fn section(place: &str) -> &str {
    let place = place.split(" (").next().unwrap_or("");
    place.split(", line ").next().unwrap_or("")
}

/// `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
