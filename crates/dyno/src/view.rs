//! The live view of a campaign: a function of the plan, of what the runner tells and of the time, so
//! that a stored run and one that another process writes are shown by the same code.
//!
//! [`View`] is what is shown, [`draw`] puts it on a screen, [`Live`] keeps a terminal up to date while
//! the runner works. Nothing here measures or decides anything.

mod draw;
mod live;
mod screen;
mod state;

#[cfg(test)]
mod tests;

pub(crate) use live::Live;
pub(crate) use screen::{Screen, Seen, check_terminal, leave_at_once};
pub(crate) use state::{Key, Phase, View};
