//! Statements with what the checks look up in them: figures by name, and data sets.

use crate::interval::Interval;
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Figure, Of, Quantity, Samples, Statements, Statistic};
use std::collections::BTreeMap;

/// Statistics of the same values.
#[derive(Debug, Clone)]
pub(crate) struct DataSet<'a> {
    pub(crate) quantity: Quantity,
    pub(crate) conditions: &'a BTreeMap<String, String>,
    pub(crate) data: &'a str,
    /// The output that prints it; `None` for the source's own figures, or for all.
    pub(crate) log: Option<&'a str>,
    pub(crate) figures: Vec<&'a Figure>,
    pub(crate) samples: Vec<&'a Samples>,
}

impl<'a> DataSet<'a> {
    /// All figures of that statistic.
    pub(crate) fn all(&self, statistic: Statistic) -> Vec<&'a Figure> {
        let own = self.figures.iter().copied();
        own.filter(|f| f.statistic == statistic).collect()
    }

    /// The first figure of that statistic.
    pub(crate) fn one(&self, statistic: Statistic) -> Option<&'a Figure> {
        self.figures
            .iter()
            .copied()
            .find(|f| f.statistic == statistic)
    }

    /// Of how many values, where all figures that say it agree.
    pub(crate) fn n(&self) -> Option<u64> {
        let mut said = self.figures.iter().filter_map(|f| f.n);
        let first = said.next()?;
        said.all(|n| n == first).then_some(first)
    }

    /// Whether its values are means.
    pub(crate) fn of_means(&self) -> bool {
        self.figures.iter().any(|f| f.of == Of::Means)
    }
}

/// What checks read.
pub(crate) struct Context<'a> {
    pub(crate) statements: &'a Statements,
    pub(crate) by_id: BTreeMap<&'a str, &'a Figure>,
    /// Data sets as one output or the source's own text prints them: what must agree within one printing.
    pub(crate) sets: Vec<DataSet<'a>>,
    /// Data sets over the whole source, with their raw values: what must agree between text and output.
    pub(crate) whole: Vec<DataSet<'a>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(statements: &'a Statements) -> Context<'a> {
        let log = |id: &str| {
            let own = |log: &&String| {
                id.strip_prefix(log.as_str())
                    .is_some_and(|r| r.starts_with('/'))
            };
            statements.logs.iter().find(own).map(String::as_str)
        };
        Context {
            by_id: statements
                .figures
                .iter()
                .map(|f| (f.id.as_str(), f))
                .collect(),
            sets: sets(statements, log),
            whole: sets(statements, |_| None),
            statements,
        }
    }

    /// The data sets of other quantities with the same data and conditions.
    pub(crate) fn beside(&self, set: &DataSet, quantity: Quantity) -> Option<&DataSet<'a>> {
        self.sets.iter().find(|other| {
            other.quantity == quantity
                && other.data == set.data
                && other.conditions == set.conditions
                && other.log == set.log
        })
    }

    /// The figures that one of these patterns fits.
    pub(crate) fn fitting(&self, patterns: &[String]) -> Vec<&'a Figure> {
        let all = self.statements.figures.iter();
        all.filter(|f| patterns.iter().any(|p| crate::formula::fits(p, &f.id)))
            .collect()
    }
}

/// Groups figures and raw values; those of one log apart from those of others.
fn sets<'a>(
    statements: &'a Statements,
    log: impl Fn(&'a str) -> Option<&'a str>,
) -> Vec<DataSet<'a>> {
    type Key<'k> = (
        Option<&'k str>,
        &'k str,
        Quantity,
        &'k BTreeMap<String, String>,
    );
    let mut sets: Vec<DataSet> = Vec::new();
    let mut known: BTreeMap<Key, usize> = BTreeMap::new();
    let mut place = |key: Key<'a>, sets: &mut Vec<DataSet<'a>>| {
        *known.entry(key).or_insert_with(|| {
            let (log, data, quantity, conditions) = key;
            sets.push(DataSet {
                quantity,
                conditions,
                data,
                log,
                figures: Vec::new(),
                samples: Vec::new(),
            });
            sets.len() - 1
        })
    };
    for f in &statements.figures {
        let i = place((log(&f.id), &f.data, f.quantity, &f.conditions), &mut sets);
        sets[i].figures.push(f);
    }
    for s in &statements.samples {
        let quantity = s.quantity.unwrap_or(Quantity::Latency);
        let i = place((log(&s.id), &s.data, quantity, &s.conditions), &mut sets);
        sets[i].samples.push(s);
    }
    sets
}

/// The number with its unit, as printed.
pub(crate) fn printed(figure: &Figure) -> String {
    let unit = &figure.printed.unit.text;
    match unit.as_str() {
        "" => figure.printed.text.clone(),
        "%" => format!("{}%", figure.printed.text),
        unit => format!("{} {unit}", figure.printed.text),
    }
}

/// The row and column of a figure, or its sentence's place.
pub(crate) fn named(figure: &Figure) -> String {
    let place = &figure.place;
    let words = [place.row.as_str(), place.column.as_str()];
    let words: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
    match words.is_empty() {
        true => figure.id.clone(),
        false => words.join(", "),
    }
}

/// Its interval with decimal prefixes.
pub(crate) fn interval(figure: &Figure) -> Interval {
    Interval::plain(figure)
}

/// Makes an outcome.
pub(crate) fn outcome(
    check: &'static str,
    verdict: Verdict,
    figures: &[&Figure],
    says: impl Into<String>,
    calculation: impl Into<String>,
) -> Outcome {
    Outcome {
        check,
        verdict,
        figures: figures.iter().map(|f| f.id.clone()).collect(),
        place: figures
            .first()
            .map(|f| f.place.section.clone())
            .unwrap_or_default(),
        says: says.into(),
        calculation: calculation.into(),
    }
}

/// Bytes in a condition such as `64 KB` or `Tiny (8B)`: the last size that it names, with K = 1024.
pub(crate) fn size_of(conditions: &BTreeMap<String, String>) -> Option<f64> {
    let sizes = conditions.iter().filter(|(name, _)| {
        let name = name.to_lowercase();
        ["payload", "size", "message", "benchmark"]
            .iter()
            .any(|word| name.contains(word))
    });
    sizes
        .filter_map(|(name, text)| {
            let numbers = crate::parse::numbers(text).ok()?;
            let with = |n: &crate::parse::Number| match &n.unit {
                Some(u) if u.dimension == crate::statement::Dimension::Size => {
                    let thousand = u.factor.log10() / 3.0;
                    let binary = u.is_ambiguous() && thousand > 0.0;
                    Some(match binary {
                        true => n.value * 1024f64.powf(thousand),
                        false => n.value * u.factor,
                    })
                }
                // A column `Payload Size [kB]` whose rows are bare numbers.
                None if name.to_lowercase().contains("size") || name.contains("payload") => {
                    Some(n.value)
                }
                _ => None,
            };
            numbers.iter().rev().find_map(with)
        })
        .next_back()
}
