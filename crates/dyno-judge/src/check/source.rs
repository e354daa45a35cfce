//! TOML as a tree in which every key and value knows its place, and mistakes that show theirs.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One mistake in a limits file: the place, what is wrong, and what to write instead.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    message: String,
    source_text: Arc<NamedSource<String>>,
    span: Range<usize>,
    label: String,
    help: Option<String>,
}

impl Problem {
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// The place in the file, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
    /// What to write instead.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.help.as_ref()?;
        Some(Box::new(help))
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source_text)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), self.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// Why nothing was checked: one or several mistakes in the limits. As a [`miette::Diagnostic`] it shows
/// each of them where it stands.
#[derive(Debug, Clone)]
pub struct LimitsError {
    /// At least one.
    problems: Vec<Problem>,
}

impl LimitsError {
    /// `Ok` without a problem.
    pub(crate) fn unless_empty(problems: Vec<Problem>) -> Result<(), LimitsError> {
        match problems.is_empty() {
            true => Ok(()),
            false => Err(LimitsError { problems }),
        }
    }

    /// The mistakes, at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    fn only(&self) -> Option<&Problem> {
        match self.problems.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(one) => one.fmt(f),
            None => write!(
                f,
                "nothing was checked: there are {} mistakes in the limits",
                self.problems.len()
            ),
        }
    }
}

impl std::error::Error for LimitsError {}

impl Diagnostic for LimitsError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.only()?.help()
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.only()?.source_code()
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.only()?.labels()
    }
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.only() {
            Some(_) => None,
            None => Some(Box::new(self.problems.iter().map(|p| p as &dyn Diagnostic))),
        }
    }
}

/// The text that places lie in.
#[derive(Debug, Clone)]
pub(crate) struct Source(Arc<NamedSource<String>>);

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Source {
        Source(Arc::new(NamedSource::new(name, text.to_owned())))
    }
    pub(crate) fn name(&self) -> &str {
        self.0.name()
    }
    pub(crate) fn problem(&self, span: &Range<usize>, message: impl Into<String>) -> Problem {
        Problem {
            message: message.into(),
            source_text: self.0.clone(),
            span: span.clone(),
            label: "here".into(),
            help: None,
        }
    }
    /// The file as a table, or every syntax error.
    pub(crate) fn parse(&self) -> Result<Table, LimitsError> {
        let (table, errors) = DeTable::parse_recoverable(self.0.inner());
        let problems = errors
            .into_iter()
            .map(|e| {
                let span = e.span().unwrap_or(0..0);
                self.problem(&span, format!("this is not TOML: {}", e.message()))
                    .help("the syntax on one page: https://toml.io")
            })
            .collect();
        LimitsError::unless_empty(problems)?;
        Ok(convert_table(table.into_inner()))
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

/// What stands there.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(Table),
    Other(&'static str),
}

impl Value {
    /// With its article, for messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(what) => what,
        }
    }
}

/// Keys with their values, in the order of the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table(pub(crate) Vec<Entry>);

/// A key with its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.0.iter().find(|e| e.key == key).map(|e| &e.node)
    }
    /// Every key that is not `known`; `owner` says whose keys they are.
    pub(crate) fn unknown(&self, source: &Source, owner: &str, known: &[&str]) -> Vec<Problem> {
        let strangers = self.0.iter().filter(|e| !known.contains(&e.key.as_str()));
        strangers
            .map(|e| {
                let message = format!("{owner} has no key `{}`", e.key);
                source
                    .problem(&e.key_span, message)
                    .label(match nearest(&e.key, known) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "no such key".into(),
                    })
                    .help(format!("keys: {}", known.join(", ")))
            })
            .collect()
    }
}

fn convert(value: Spanned<DeValue<'_>>) -> Node {
    let span = value.span();
    let wide = Value::Other("a number that does not fit into 64 bits");
    let value = match value.into_inner() {
        DeValue::String(t) => Value::Text(t.into_owned()),
        DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).map_or(wide, Value::Int),
        DeValue::Float(f) => f.as_str().parse().map_or(wide, Value::Float),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::List(items.into_iter().map(convert).collect()),
        DeValue::Table(table) => Value::Table(convert_table(table)),
    };
    Node { span, value }
}

fn convert_table(table: DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: key.span(),
            key: key.into_inner().into_owned(),
            node: convert(value),
        })
        .collect();
    entries.sort_by_key(|e| e.key_span.start);
    Table(entries)
}

/// The candidate with the least edit distance from `word`, if that is at most a third of its length.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .iter()
        .map(|c| (distance(word, c), *c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours,
/// ignoring case (Damerau 1964, without repeated edits of a substring).
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.to_lowercase().chars().collect();
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(row[j - 1] + 1).min(last[j] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_edits_and_swaps_are_near_and_other_words_are_not() {
        for (a, b, d) in [
            ("", "abc", 3),
            ("payloda", "payload", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (d, d), "{a} {b}");
        }
        assert_eq!(nearest("prboe", &["probe", "tcp"]), Some("probe"));
        assert_eq!(nearest("shmem", &["probe", "tcp"]), None);
    }
}
