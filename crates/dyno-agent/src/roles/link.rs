//! Probes: small messages that prove a link before the warm-up, and for a first message what is measured.

use crate::event::Failure;
use crate::job::Job;
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::Sender;
use dyno_measure::stamp::{self, HEADER_BYTES, Header, Kind, Tag};
use dyno_model::{Experiment, Nanos};
use std::time::Duration;

/// The time from one probe to the next until the warm-up begins, unless the workload says another.
pub(super) const PROBE_PERIOD: Duration = Duration::from_millis(1);

/// The length of a probe: a header, or less where the payload has no room for it. Probes are small so
/// that they fill no buffers. Where the first message is what is measured, it is one of full size.
pub(super) fn probe_len(experiment: &Experiment) -> usize {
    match experiment.workload.kind().is_start() {
        true => experiment.payload.bytes(),
        false => experiment.payload.bytes().min(HEADER_BYTES),
    }
}

/// The time from one probe of a source to the next.
pub(super) fn probe_period(experiment: &Experiment) -> Duration {
    let of_start = experiment.workload.kind().is_start();
    let own = experiment.workload.numbers().period.filter(|_| of_start);
    own.map_or(PROBE_PERIOD, Duration::from)
}

/// Sends one probe.
pub(super) fn send_probe(
    job: &Job,
    thread: &ThreadState,
    sender: &mut dyn Sender,
    channel: u16,
) -> Result<(), Failure> {
    let experiment = job.experiment();
    let tag = Tag {
        channel,
        kind: Kind::Probe,
        sequence: 0,
    };
    let header = Header {
        tag,
        intended: Nanos::ZERO,
        sent: Nanos::ZERO,
    };
    thread
        .inside(Call::Send, || {
            sender.send(probe_len(experiment), &mut |buffer| {
                stamp::write(buffer, experiment.access, &header)
            })
        })
        .map_err(job.in_call("send"))
        .map(|_| ())
}

/// Sends probes from the moment when the sender is matched, whether all others are or not, until the
/// trial leaves [`Phase::Link`].
pub(super) fn probe_until_linked(
    job: &Job,
    thread: &ThreadState,
    sender: &mut dyn Sender,
    channel: u16,
) -> Result<Phase, Failure> {
    loop {
        match job.shared.phase() {
            Phase::Setup | Phase::Link => {}
            later => return Ok(later),
        }
        send_probe(job, thread, sender, channel)?;
        std::thread::sleep(probe_period(job.experiment()));
    }
}
