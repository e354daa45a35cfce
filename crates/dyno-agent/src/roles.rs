//! What the roles do between matched and the end of the trial: one file for each, over what they share.

mod due;
mod echo;
mod ends;
mod gateway;
mod idle;
mod initiator;
mod intake;
mod link;
mod loopback;
mod order;
mod outage;
mod passages;
mod places;
mod pongs;
mod probe;
mod progress;
mod queue;
mod sends;
mod sink;
mod source;
mod stalls;
mod tally;
mod warmup;

use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, ThreadState};
use dyno_measure::Recorder;
use dyno_model::protocol::Role;

/// What a participant records into. It is made before go: its memory is touched beforehand, and that
/// takes time that is not the stack's.
pub(crate) enum Kit {
    /// How late messages are sent, and what sends take.
    Source(Box<[Recorder; 2]>),
    Sink(Vec<sink::Inbox>),
    Initiator(Box<initiator::Kit>),
    /// Records no latencies.
    Echo,
    /// Makes its own when it starts: nothing but its window is measured.
    Loopback,
    /// Makes its own at each of its places.
    Probe,
    Gateway(gateway::Kit),
    /// Of a source or a sink in an idle trial.
    Idle(idle::Kit),
    /// Of any role in a trial with faults.
    Outage(outage::Kit),
}

impl Kit {
    pub(crate) fn new(job: &Job) -> Result<Self, Failure> {
        if !job.experiment().faults.is_empty() {
            return outage::Kit::new(job).map(Kit::Outage);
        }
        let is_idle = job.experiment().workload.kind().is_idle();
        Ok(match job.participant.role {
            Role::Source | Role::Sink if is_idle => Kit::Idle(idle::Kit::new(job)),
            Role::Source => {
                Kit::Source(Box::new([0; 2].map(|_| tally::recorder(job.experiment()))))
            }
            Role::Sink => {
                let channels = job.incoming().map(|c| job.origin(c.id));
                let inboxes = channels.map(|channel| sink::Inbox::new(job, channel));
                Kit::Sink(inboxes.collect())
            }
            Role::Initiator => Kit::Initiator(Box::new(initiator::Kit::new(job))),
            Role::Echo => Kit::Echo,
            Role::Loopback => Kit::Loopback,
            Role::Probe => Kit::Probe,
            Role::Gateway => Kit::Gateway(gateway::Kit::new(job)),
        })
    }
}

/// Opens the participant's libraries and plays its role.
pub(crate) fn play(job: &Job, thread: &ThreadState, kit: Kit) -> Result<Played, Failure> {
    match kit {
        Kit::Source(recorders) => opened(job, thread, |nodes| {
            source::play(job, thread, nodes, *recorders)
        }),
        Kit::Sink(inboxes) => opened(job, thread, |nodes| sink::play(job, thread, nodes, inboxes)),
        Kit::Initiator(kit) => opened(job, thread, |nodes| {
            initiator::play(job, thread, nodes, *kit)
        }),
        Kit::Echo => opened(job, thread, |nodes| echo::play(job, thread, nodes)),
        Kit::Loopback => opened(job, thread, |nodes| loopback::play(job, thread, nodes)),
        Kit::Probe => opened(job, thread, |_| probe::play(job, thread)),
        Kit::Gateway(kit) => opened(job, thread, |nodes| gateway::play(job, thread, nodes, kit)),
        Kit::Idle(kit) => opened(job, thread, |nodes| idle::play(job, thread, nodes, kit)),
        // Opens as often as it takes.
        Kit::Outage(kit) => outage::play(job, thread, &kit),
    }
}

/// Plays a role with the libraries opened once.
fn opened(
    job: &Job,
    thread: &ThreadState,
    play: impl FnOnce(&mut Nodes) -> Result<Played, Failure>,
) -> Result<Played, Failure> {
    let mut nodes = job.open(thread)?;
    let played = play(&mut nodes)?;
    thread.inside(Call::Drop, || drop(nodes));
    Ok(played)
}
