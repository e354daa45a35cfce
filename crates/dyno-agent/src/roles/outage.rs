//! The roles of a trial with faults: a source and a sink, or a caller and a provider, that go on, whatever a library answers.
//!
//! They stand apart from the roles that measure a stack that works. Nothing is
//! recorded here but events in a log that outlives the process; the runner works out the figures. Until the trial has started
//! an error ends the first process of a participant, and a newcomer, as in any trial. One that takes the place of an
//! earlier one, and everybody from the start on, notes an error and tries again. A send that blocks cannot be
//! interrupted: the runner ends such an agent.

mod kit;
mod looks;
mod provider;
mod sink;
mod source;

use crate::event::{Failure, Played};
use crate::job::Job;
use crate::shared::ThreadState;
use dyno_model::Role;
pub(crate) use kit::Kit;

/// Plays a source, a caller, a sink or a provider that tolerates faults.
pub(super) fn play(job: &Job, thread: &ThreadState, kit: &Kit) -> Result<Played, Failure> {
    match job.participant.role {
        Role::Source | Role::Initiator => source::play(job, thread, kit),
        Role::Echo => provider::play(job, thread),
        _ => sink::play(job, thread, kit),
    }
}
