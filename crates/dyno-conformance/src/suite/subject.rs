//! What is tested, and where.

use super::cases::Case;
use dyno_adapter::{Adapter, OptionValue, Options};
use std::path::PathBuf;
use std::time::Duration;

/// An adapter with options, as the suite tests it.
pub struct Subject {
    /// The adapter.
    pub adapter: Box<dyn Adapter>,
    /// The options of the stack under test.
    pub options: Options,
    /// Whether messages may be lost with these options. Where it is `None`, they may unless the
    /// adapter's capabilities say `reliable`.
    pub best_effort: Option<bool>,
    /// Cases that the library itself fails, each with its reason: they are skipped and say so.
    pub except: &'static [(Case, &'static str)],
    /// The module that holds the tests, from `module_path!()`: tells a child which test to run. Empty
    /// in a program that is no test: it is started again with its own arguments.
    pub module: &'static str,
}

impl Subject {
    pub(super) fn may_lose(&self) -> bool {
        self.best_effort
            .unwrap_or(!self.adapter.describe().capabilities.reliable)
    }

    /// Why the case does not concern it.
    pub(super) fn skips(&self, case: Case) -> Option<String> {
        let description = self.adapter.describe();
        if let Some(reason) = description.unavailable {
            return Some(format!("it is unavailable: {reason}"));
        }
        let library = description.library.is_some();
        let excluded = case.excluded_by(&description.capabilities, library);
        let excepted = self.except.iter().find(|(other, _)| *other == case);
        excluded
            .or(excepted.map(|(_, reason)| *reason))
            .map(str::to_owned)
    }
}

/// What can stand as an option's value in [`conformance_tests!`](crate::conformance_tests).
pub trait IntoOption {
    /// The value.
    fn into_option(self) -> OptionValue;
}
impl IntoOption for bool {
    fn into_option(self) -> OptionValue {
        OptionValue::Bool(self)
    }
}
impl IntoOption for i64 {
    fn into_option(self) -> OptionValue {
        OptionValue::Int(self)
    }
}
impl IntoOption for f64 {
    fn into_option(self) -> OptionValue {
        OptionValue::Float(self)
    }
}
impl IntoOption for &str {
    fn into_option(self) -> OptionValue {
        OptionValue::Text(self.into())
    }
}

/// Where a case is played.
pub struct Surroundings {
    /// Begins the names of all that others can see; unique on the machine.
    pub session: String,
    /// An existing directory. Whoever made it removes it, and what is claimed there.
    pub scratch: PathBuf,
    /// Daemons keep files in the scratch directory too, which cannot be told from the adapter's.
    pub daemons: bool,
    /// After this long the case counts as hanging.
    pub limit: Duration,
}
