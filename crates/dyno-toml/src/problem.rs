//! What is wrong in a text or flag: the place, the mistake, and what to write instead.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text and its name.
pub type Source = Arc<NamedSource<String>>;

/// A place in a text: a file, or a flag of the command line.
#[derive(Debug, Clone)]
pub struct Place {
    /// The text.
    pub source: Source,
    /// In bytes.
    pub span: Range<usize>,
}

impl Place {
    /// The first line of a text that is not blank or a comment: where something is missing in the
    /// whole.
    pub fn top(source: &Source) -> Place {
        let text = source.inner();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim();
            if !content.is_empty() && !content.starts_with('#') {
                return Place {
                    source: source.clone(),
                    span: start..start + line.trim_end().len(),
                };
            }
            start += line.len();
        }
        Place {
            source: source.clone(),
            span: 0..0,
        }
    }

    /// A flag of the command line as a text of its own; the span covers what follows `flag`.
    pub fn flag(flag: &str, rest: &str) -> Place {
        let text = format!("{flag} {rest}");
        Place {
            span: flag.len() + 1..text.len(),
            source: Arc::new(NamedSource::new("command line", text)),
        }
    }

    fn key(&self) -> (&str, usize, usize) {
        (self.source.name(), self.span.start, self.span.end)
    }
}

/// The same span of a text of the same name.
impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

/// One mistake, with its place and what to write instead.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    message: String,
    place: Place,
    label: String,
    help: Option<String>,
}

impl Problem {
    /// That `message` holds at `place`.
    pub fn at(place: &Place, message: impl Into<String>) -> Self {
        Problem {
            message: message.into(),
            place: place.clone(),
            label: "here".into(),
            help: None,
        }
    }
    /// With these words at the place itself, instead of "here".
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    /// With what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The file, or `command line`.
    pub fn source_name(&self) -> &str {
        self.place.source.name()
    }
    /// The place in that text, in bytes.
    pub fn span(&self) -> Range<usize> {
        self.place.span.clone()
    }
    /// What to write instead.
    pub fn advice(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help
            .as_ref()
            .map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.place.source)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.label.clone()), self.place.span.clone());
        Some(Box::new(std::iter::once(label)))
    }
}

/// The mistakes found so far. The same mistake at the same place is kept once, however many
/// experiments it is met in.
#[derive(Debug, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Notes a mistake.
    pub fn push(&mut self, problem: Problem) {
        let known = |p: &Problem| p.place == problem.place && p.message == problem.message;
        if !self.0.iter().any(known) {
            self.0.push(problem);
        }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// For where something could not be read, which always left a problem; `said` tells of several, by their number.
    pub fn into_error(self, said: fn(usize) -> String) -> Mistakes {
        let problems = self.0;
        Mistakes { problems, said }
    }
    /// Fails when there is a mistake, and is empty afterwards.
    ///
    /// # Errors
    /// The mistakes; `said` tells of several, by their number.
    pub fn check(&mut self, said: fn(usize) -> String) -> Result<(), Mistakes> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(std::mem::take(self).into_error(said)),
        }
    }
}

/// Why something is refused: one or several mistakes. As a [`miette::Diagnostic`] it shows each of
/// them in the text where it stands.
#[derive(Debug, Clone)]
pub struct Mistakes {
    /// At least one.
    problems: Vec<Problem>,
    /// Tells of several, by their number.
    said: fn(usize) -> String,
}

impl Mistakes {
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

impl From<Problem> for Mistakes {
    fn from(problem: Problem) -> Self {
        Mistakes {
            problems: vec![problem],
            said: |n| format!("there are {n} mistakes"),
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [one] => one.fmt(f),
            many => f.write_str(&(self.said)(many.len())),
        }
    }
}

impl std::error::Error for Mistakes {}

impl Diagnostic for Mistakes {
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
        if self.only().is_some() {
            return None;
        }
        Some(Box::new(self.problems.iter().map(|p| p as &dyn Diagnostic)))
    }
}
