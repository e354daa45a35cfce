//! Why there is no plan: everything that planning refuses has its place in a text or a flag.

/// One or several mistakes; each shows where it stands.
pub type PlanError = dyno_toml::Mistakes;

/// What several mistakes have come to.
pub(crate) fn nothing_was_run(mistakes: usize) -> String {
    format!("nothing was run: there are {mistakes} mistakes")
}
