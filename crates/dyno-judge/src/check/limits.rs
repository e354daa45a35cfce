//! Limits files: requirements as data. `docs/reference/limits-files.md` describes the form.

use super::measure::Measure;
use crate::standing::Line;
use dyno_audit::Statements;
use dyno_model::record::Run;
use dyno_model::{PayloadSize, Wait, WorkloadKind};
use dyno_toml::{Mistakes, Place};

/// Why nothing was checked: one or several mistakes in the limits; each shows where it stands.
pub type LimitsError = Mistakes;

/// What several mistakes have come to.
pub(crate) fn nothing_was_checked(mistakes: usize) -> String {
    format!("nothing was checked: there are {mistakes} mistakes in the limits")
}

/// Where the line is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// At most this much, in the measure's unit (nanoseconds, bytes, a ratio, a share of one).
    AtMost(f64),
    /// At least this much, in messages per second.
    AtLeast(f64),
    /// The maximum number of messages, all counted trials together.
    AtMostCount(u64),
}

impl Bound {
    /// Its word and its number in exports.
    pub(crate) fn exported(self) -> (&'static str, f64) {
        match self {
            Bound::AtMost(v) => ("at_most", v),
            Bound::AtLeast(v) => ("at_least", v),
            Bound::AtMostCount(n) => ("at_most_count", n as f64),
        }
    }

    pub(crate) fn line(self) -> Line {
        match self {
            Bound::AtMost(most) => Line::AtMost(most),
            Bound::AtLeast(least) => Line::AtLeast(least),
            Bound::AtMostCount(n) => Line::AtMost(n as f64),
        }
    }
}

/// One word or quantity of a selector, with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen<T> {
    pub(crate) value: T,
    pub(crate) text: String,
    pub(crate) at: Place,
}

/// Which experiments a limit is put on; an empty list is no restriction.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Selector {
    pub(crate) suite: Vec<Chosen<String>>,
    pub(crate) experiment: Vec<Chosen<String>>,
    pub(crate) flow: Vec<Chosen<String>>,
    pub(crate) stack: Vec<Chosen<String>>,
    pub(crate) workload: Vec<Chosen<WorkloadKind>>,
    pub(crate) payload: Vec<Chosen<PayloadSize>>,
    pub(crate) wait: Vec<Chosen<Wait>>,
}

/// One requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub(crate) name: String,
    pub(crate) measure: Measure,
    pub(crate) bound: Bound,
    pub(crate) selector: Selector,
    pub(crate) source: Option<String>,
    /// Where its name stands.
    pub(crate) at: Place,
}

impl Limit {
    /// Its name in the file.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Where it comes from, as the file says; `None` where it says nothing.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }
    /// What it asks for: `p99 response ≤ 2.00 ms`.
    pub fn required(&self) -> String {
        let unit = self.measure.unit();
        let bound = match self.bound {
            Bound::AtMostCount(n) => return format!("{} ≤ {n}", self.measure.text()),
            Bound::AtMost(v) => format!("≤ {}", unit.text(v)),
            Bound::AtLeast(v) => format!("≥ {}", unit.text(v)),
        };
        format!("{} {bound}", self.measure.text())
    }
}

/// The requirements of one file.
#[derive(Debug, Clone)]
pub struct Limits {
    pub(super) name: String,
    pub(crate) limits: Vec<Limit>,
    /// They are meant for emulated machines.
    pub(super) emulated: bool,
}

impl Limits {
    /// Why these limits say nothing of `run`: they are meant for real machines and it is of an emulated one, or the other
    /// way round.
    pub fn unfit(&self, run: &Run) -> Option<String> {
        self.unfit_of(&run.manifest.id, run.manifest.environment.emulated.as_deref())
            .or_else(|| {
                let (id, is_real) = (&run.manifest.id, run.manifest.environment.emulated.is_none());
                (self.emulated && is_real).then(|| {
                    format!(
                        "the limits of {} are for emulated machines (`emulated = true`), and {id} was measured on real ones",
                        self.name()
                    )
                })
            })
    }

    /// The same of the output of a tool, which is silent about it where Dyno did not write it.
    pub fn unfit_output(&self, output: &Statements) -> Option<String> {
        let mut figures = output.figures.iter();
        let what = figures.find_map(|f| f.conditions.get("emulated"));
        self.unfit_of(&output.source.title, what.map(String::as_str))
    }

    fn unfit_of(&self, id: &str, emulated: Option<&str>) -> Option<String> {
        match (emulated, self.emulated) {
            (Some(what), false) => Some(format!(
                "{id} was measured with emulation ({what}), and the limits of {} are for real machines; measure on a \
                 real one, or keep limits for emulated ones in a file of their own with `emulated = true`",
                self.name()
            )),
            _ => None,
        }
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The requirements, in the order of the file; at least one.
    pub fn limits(&self) -> &[Limit] {
        &self.limits
    }
}
