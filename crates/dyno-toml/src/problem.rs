//! What is wrong in a text or flag: the place, the mistake, and what to write instead.

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text and its name.
pub type Source = Arc<NamedSource<String>>;

/// A TOML text and the name that messages have for it.
pub fn source(name: &str, text: &str) -> Source {
    Arc::new(NamedSource::new(name, text.to_owned()).with_language("toml"))
}

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

    /// Bytes of the lines that it stands in, which are shown with it.
    fn line_bytes(&self) -> usize {
        let text = self.source.inner();
        let from = text
            .get(..self.span.start)
            .and_then(|t| t.rfind('\n'))
            .unwrap_or(0);
        let rest = text.get(self.span.end..).and_then(|t| t.find('\n'));
        let to = rest.map_or(text.len(), |at| self.span.end + at);
        to.saturating_sub(from)
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
    /// Notes it among `problems`.
    pub fn note(self, problems: &mut Problems) {
        problems.push(self);
    }
    /// Notes it among `problems`, in the place of what cannot be read.
    pub fn refuse<T>(self, problems: &mut Problems) -> Option<T> {
        problems.push(self);
        None
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

/// So many mistakes are kept to be shown.
const SHOWN: usize = 20;
/// The lines that the shown mistakes stand in have so many bytes together, unless the first has more.
const SHOWN_BYTES: usize = 16 << 10;

/// The mistakes found so far. The same mistake at the same place is kept once, however many
/// experiments it is met in.
#[derive(Debug, Default)]
pub struct Problems {
    /// The first [`SHOWN`].
    kept: Vec<Problem>,
    /// Those after them.
    more: usize,
}

impl Problems {
    /// Notes a mistake.
    pub fn push(&mut self, problem: Problem) {
        let known = |p: &Problem| p.place == problem.place && p.message == problem.message;
        if self.kept.iter().any(known) {
            return;
        }
        match self.is_full() {
            true => self.more += 1,
            false => self.kept.push(problem),
        }
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.kept.len() + self.more
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
    /// Whether further mistakes are only counted, so that nothing need be found out to explain them.
    pub fn is_full(&self) -> bool {
        self.kept.len() == SHOWN
    }
    /// For where something could not be read, which always left a problem; `said` tells of several, by their number.
    pub fn into_error(self, said: fn(usize) -> String) -> Mistakes {
        let found = self.len();
        let mut problems = self.kept;
        let mut bytes = 0;
        let fits = |p: &&Problem| {
            bytes += p.place.line_bytes();
            bytes <= SHOWN_BYTES
        };
        let shown = problems.iter().take_while(fits).count().max(1);
        problems.truncate(shown);
        Mistakes {
            problems,
            found,
            said,
        }
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
    /// Those that are shown, at least one.
    problems: Vec<Problem>,
    /// How many there are.
    found: usize,
    /// Tells of several, by their number.
    said: fn(usize) -> String,
}

impl Mistakes {
    /// The mistakes that are shown, at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
    fn only(&self) -> Option<&Problem> {
        match self.problems.as_slice() {
            [one] if self.found == 1 => Some(one),
            _ => None,
        }
    }
}

impl From<Problem> for Mistakes {
    fn from(problem: Problem) -> Self {
        Mistakes {
            problems: vec![problem],
            found: 1,
            said: |n| format!("there are {n} mistakes"),
        }
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(one) = self.only() {
            return one.fmt(f);
        }
        f.write_str(&(self.said)(self.found))?;
        match self.problems.len() {
            shown if shown == self.found => Ok(()),
            1 => f.write_str(", of which the first is shown"),
            shown => write!(f, ", of which the first {shown} are shown"),
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
