//! Participants of an idle trial: matched and linked like all others, then silent until the window is over. They record
//! nothing of messages and hold no histograms: their memory is that of the stack.

use super::ends::{Subscribed, all};
use super::intake::Intake;
use super::link::probe_until_linked;
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::{PATIENCE, Receiver};
use dyno_measure::Pacer;
use dyno_measure::stamp::Kind;
use dyno_model::plan::Extent;
use dyno_model::protocol::{SourceCounts, Waited};
use dyno_model::record::FlowCounts;
use dyno_model::{Nanos, Pacing, Role, Wait};
use std::time::Instant;

/// What a silent participant needs, made before go.
pub(crate) struct Kit {
    ears: Vec<Ear>,
    /// What a sleep of this thread takes.
    one_sleep: Nanos,
}

impl Kit {
    pub(super) fn new(job: &Job) -> Self {
        let ears = job.incoming().map(|c| Ear::new(job, job.origin(c.id)));
        let is_woken = job.participant.role == Role::Sink && job.wait == Wait::Block;
        let pacer = is_woken.then(|| Pacer::new(job.shared.clock, Pacing::Sleep, || false));
        Kit {
            ears: ears.collect(),
            one_sleep: pacer.map_or(Nanos::ZERO, |pacer| pacer.one_sleep()),
        }
    }
}

/// One reading end, which expects nothing but the probes before the window.
struct Ear {
    intake: Intake,
    flow: FlowCounts,
}

impl Ear {
    fn new(job: &Job, channel: u16) -> Self {
        Ear {
            intake: Intake::new(job, channel),
            flow: FlowCounts {
                channel,
                receiver: job.participant.index,
                ..FlowCounts::default()
            },
        }
    }

    fn on_message(&mut self, bytes: &[u8]) {
        match self.intake.receive(bytes) {
            Ok((header, arrival)) if header.tag.kind == Kind::Probe => {
                if !self.intake.is_probed() {
                    self.intake.probed(arrival);
                }
            }
            // Nobody sent it: the runner finds that more arrived than was offered.
            Ok(_) => self.flow.received += 1,
            Err(damage) => {
                self.intake.damaged(damage);
            }
        }
    }

    fn finish(mut self) -> Played {
        self.intake.add_to(&mut self.flow);
        Played {
            flows: vec![self.flow],
            first: self.intake.first().into_iter().collect(),
            ..Played::default()
        }
    }
}

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    kit: Kit,
) -> Result<Played, Failure> {
    match job.participant.role {
        Role::Source => send_nothing(job, thread, nodes),
        _ if job.by_callback() => by_callback(job, thread, nodes, kit.ears),
        _ => by_take(job, thread, nodes, kit),
    }
}

/// A sender, which sleeps until the window is over.
fn send_nothing(job: &Job, thread: &ThreadState, nodes: &mut Nodes) -> Result<Played, Failure> {
    let Some(channel) = job.outgoing().next() else {
        return Err(job.misassigned("no channel to write to was assigned"));
    };
    let readers = channel.readers.len();
    let mut sender = job.sender(thread, nodes, channel)?;
    let shared = &job.shared;
    let opened = shared.clock.now();
    if !job.await_matched(thread, opened, &mut || Ok(sender.matched()? >= readers))? {
        return Ok(Played::default());
    }
    let mut counts = SourceCounts {
        channel: channel.id,
        ..SourceCounts::default()
    };
    if probe_until_linked(job, thread, sender.as_mut(), channel.id)? == Phase::Run {
        let Extent::Duration(window) = job.experiment().window else {
            return Err(job.misassigned("an idle window is a time"));
        };
        let end = shared.window_at().saturating_add(window);
        counts.last = shared.sleep_until(end, Phase::Drain);
    }
    job.tell_done(&counts);
    shared.wait_for(Phase::Stop);
    thread.inside(Call::Drop, || drop(sender));
    Ok(Played {
        sources: vec![counts],
        ..Played::default()
    })
}

/// A receiver whose library would call; its own thread sleeps.
fn by_callback(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    ears: Vec<Ear>,
) -> Result<Played, Failure> {
    let mut subscribed = Subscribed::new();
    for (channel, ear) in job.incoming().zip(ears) {
        subscribed.add(job, thread, nodes, channel, ear, Ear::on_message)?;
    }
    let opened = job.shared.clock.now();
    if !job.await_matched(thread, opened, &mut || subscribed.matched())? {
        return Ok(Played::default());
    }
    job.shared.wait_for(Phase::Drain);
    job.shared.have_drained(subscribed.len());
    job.shared.wait_for(Phase::Stop);
    let mut played = Played::default();
    for ear in subscribed.end(job, thread)? {
        played.add(ear.finish());
    }
    Ok(played)
}

/// A receiver that takes, or would.
fn by_take(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    kit: Kit,
) -> Result<Played, Failure> {
    let mut ends = Vec::new();
    for (channel, ear) in job.incoming().zip(kit.ears) {
        ends.push((job.receiver(thread, nodes, channel)?, ear));
    }
    let opened = job.shared.clock.now();
    let all_matched = &mut || all(ends.iter_mut().map(|(r, _)| r.matched()));
    if !job.await_matched(thread, opened, all_matched)? {
        return Ok(Played::default());
    }
    let sleeps = listen(job, thread, &mut ends)?;
    job.shared.have_drained(ends.len());
    job.shared.wait_for(Phase::Stop);
    let waited = Waited {
        cpu: Nanos(kit.one_sleep.0.saturating_mul(sleeps)),
        sleeps,
    };
    let mut played = Played {
        waited,
        ..Played::default()
    };
    for (receiver, ear) in ends {
        thread.inside(Call::Drop, || drop(receiver));
        played.add(ear.finish());
    }
    Ok(played)
}

/// Takes from one end after the other until the window is over; how often a take of the window returned because its time was
/// over. That time is Dyno's wish and no library's, so one thread takes from all ends: however many channels a receiver has,
/// Dyno wakes it no more often.
fn listen(
    job: &Job,
    thread: &ThreadState,
    ends: &mut [(Box<dyn Receiver>, Ear)],
) -> Result<u64, Failure> {
    let shared = &job.shared;
    let asks = job.incoming().any(|channel| job.asks(channel));
    let mut sleeps = 0;
    loop {
        for (receiver, ear) in &mut *ends {
            match shared.phase() {
                Phase::Drain | Phase::Stop => return Ok(sleeps),
                // A reader that asks has nothing to ask for: each of its takes is a message to a broker.
                Phase::Run if asks => {
                    shared.wait_for(Phase::Drain);
                    return Ok(sleeps);
                }
                Phase::Setup | Phase::Link | Phase::Run => {}
            }
            let begun = Instant::now();
            let taken = thread.inside(Call::Take, || {
                receiver.take(&mut |bytes| ear.on_message(bytes))
            });
            // Libraries that wake it sooner for no message do so of their own accord.
            // One that sleeps for longer has no timeout, and the end of the window wakes it.
            let of_timeout = PATIENCE / 10 * 9..PATIENCE * 2;
            let timed_out = matches!(taken, Ok(false)) && of_timeout.contains(&begun.elapsed());
            sleeps += u64::from(timed_out && shared.is_metering());
            if let Err(e) = taken
                && shared.phase() < Phase::Drain
            {
                return Err(job.in_call("take")(e));
            }
        }
    }
}
