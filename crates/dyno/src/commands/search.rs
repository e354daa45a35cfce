//! `dyno run --search`: what guides the runner, and what is printed of it.

use crate::cli::FormatArg;
use crate::exit::{self, Code, Failure, Result};
use crate::terminal;
use crate::terminal::render_options;
use dyno_judge::{Capacities, CapacitySearch, End};
use dyno_model::event::RunEvent;
use dyno_model::record::Run;
use dyno_model::{RunManifest, TrialId, TrialRecord};
use dyno_runner::Guide;
use std::time::Duration;

/// Says the runner which trials the search of a run needs.
pub(crate) struct Climb(CapacitySearch);

impl Climb {
    /// `None` where the run is no search.
    pub(crate) fn new(manifest: &RunManifest) -> Result<Option<Climb>> {
        let search = CapacitySearch::new(manifest).map_err(exit::of_plan)?;
        if let Some(reason) = search.as_ref().and_then(CapacitySearch::unfit) {
            return Err(Failure::message(Code::Usage, reason));
        }
        Ok(search.map(Climb))
    }
}

impl Guide for Climb {
    fn next(&mut self, _: Duration) -> Option<TrialId> {
        self.0.due()
    }

    fn note(&mut self, record: &TrialRecord) {
        self.0.note(record);
    }

    fn known(&self) -> usize {
        self.0.known()
    }

    fn news(&mut self) -> Vec<RunEvent> {
        self.0.news().into_iter().map(RunEvent::Found).collect()
    }
}

/// The capacities of a run, where it was a search.
pub(crate) fn of(run: &Run) -> Result<Option<Capacities>> {
    dyno_judge::capacities(run).map_err(exit::of_plan)
}

/// Prints the capacities below a table; for people only, since programs ask `dyno check RUN`.
pub(crate) fn print(capacities: &Capacities, format: FormatArg) -> Result<()> {
    if matches!(format, FormatArg::Json | FormatArg::Csv) {
        return Ok(());
    }
    let text = capacities.render(format.into(), &render_options());
    terminal::print(&format!("\n{text}"))
}

/// What a command ends with that shows them; `None` where every stack has its capacity.
pub(crate) fn code(capacities: &Capacities) -> Option<Code> {
    match capacities.worst() {
        End::Found | End::Top => None,
        End::NotEvenFirst => {
            // What nobody can tell is not broken.
            let mut firsts = capacities.all.iter().filter(|c| c.end == End::NotEvenFirst);
            Some(match firsts.any(|c| c.broken.is_some()) {
                true => Code::LimitBroken,
                false => Code::Undecided,
            })
        }
        End::Unfinished => Some(Code::Undecided),
    }
}
