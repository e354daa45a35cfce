//! What is wrong in a suite, stack, testbed or flag: the place, the mistake, and what to write
//! instead. Everything that planning refuses is one of these.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A place in a text: a file, or a flag of the command line.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) source: Arc<NamedSource<String>>,
    /// In bytes.
    pub(crate) span: Range<usize>,
}

impl Place {
    /// The first line of a text that is not blank or a comment: where something is missing in the
    /// whole.
    pub(crate) fn top(source: &Arc<NamedSource<String>>) -> Place {
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
    pub(crate) fn flag(flag: &str, rest: &str) -> Place {
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
    pub(crate) fn at(place: &Place, message: impl Into<String>) -> Self {
        Problem {
            message: message.into(),
            place: place.clone(),
            label: "here".into(),
            help: None,
        }
    }
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
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
pub(crate) struct Problems(Vec<Problem>);

impl Problems {
    pub(crate) fn push(&mut self, problem: Problem) {
        let known = self
            .0
            .iter()
            .any(|p| p.place.key() == problem.place.key() && p.message == problem.message);
        if !known {
            self.0.push(problem);
        }
    }
    /// For where something could not be read, which always left a problem.
    pub(crate) fn into_error(self) -> PlanError {
        PlanError { problems: self.0 }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Fails when there is a mistake.
    pub(crate) fn check(&mut self) -> Result<(), PlanError> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(PlanError {
                problems: std::mem::take(&mut self.0),
            })
        }
    }
}

/// Why there is no plan: one or several mistakes. As a [`miette::Diagnostic`] it shows each of
/// them in the text where it stands.
#[derive(Debug, Clone)]
pub struct PlanError {
    /// At least one.
    problems: Vec<Problem>,
}

impl PlanError {
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

impl From<Problem> for PlanError {
    fn from(problem: Problem) -> Self {
        PlanError {
            problems: vec![problem],
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [one] => one.fmt(f),
            many => write!(f, "nothing was run: there are {} mistakes", many.len()),
        }
    }
}

impl std::error::Error for PlanError {}

impl Diagnostic for PlanError {
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
