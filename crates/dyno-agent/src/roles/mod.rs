//! What the roles do between matched and the end of the trial.

mod echo;
mod initiator;
mod loopback;
mod places;
mod pongs;
mod probe;
mod sends;
mod sink;
mod source;
mod tally;
mod warmup;

pub(crate) use warmup::watched;

use crate::participant::{Failure, Job};
use crate::shared::{Call, Phase, Shared, ThreadState};
use dyno_adapter::{Node, Sender};
use dyno_measure::stamp::{self, Damage, HEADER_BYTES, Header, Kind, Tag};
use dyno_measure::{Clock, RawLog, Recorder};
use dyno_model::plan::Extent;
use dyno_model::probe::ProbeCopy;
use dyno_model::protocol::{FirstArrival, Role, SourceCounts};
use dyno_model::record::{FlowCounts, RawSample};
use dyno_model::{Distribution, Experiment, Metric, Nanos, Place, Workload};
use std::time::Duration;

/// Blocks that a window is cut into.
const BLOCKS: usize = 10;

/// The time from one probe to the next until the warm-up begins, unless the workload says another.
const PROBE_PERIOD: Duration = Duration::from_millis(1);

/// What one participant measured.
#[derive(Debug, Default)]
pub(crate) struct Played {
    pub(crate) distributions: Vec<(Metric, Distribution)>,
    pub(crate) flows: Vec<FlowCounts>,
    /// The first probe at each end that receives.
    pub(crate) first: Vec<FirstArrival>,
    pub(crate) source: Option<SourceCounts>,
    pub(crate) raw: Vec<RawSample>,
    /// What the reader of the result should know.
    pub(crate) warnings: Vec<String>,
    /// Where it ran, if it is not pinned.
    pub(crate) places: Vec<Place>,
    /// What the copies of a probe found.
    pub(crate) copies: Vec<ProbeCopy>,
}

impl Played {
    fn add(&mut self, other: Played) {
        self.distributions.extend(other.distributions);
        self.flows.extend(other.flows);
        self.first.extend(other.first);
        self.source = self.source.take().or(other.source);
        self.raw.extend(other.raw);
        self.warnings.extend(other.warnings);
        self.places.extend(other.places);
        self.copies.extend(other.copies);
    }
}

/// What a participant records into. It is made before go: its memory is touched beforehand, and that
/// takes time that is not the stack's.
pub(crate) enum Kit {
    Source(Recorder),
    Sink(Vec<sink::Inbox>),
    Initiator(Box<initiator::Kit>),
    /// Records no latencies.
    Echo,
    /// Makes its own when it starts: nothing but its window is measured.
    Loopback,
    /// Makes its own at each of its places.
    Probe,
}

impl Kit {
    pub(crate) fn new(job: &Job) -> Self {
        match job.participant.role {
            Role::Source => Kit::Source(recorder(&job.assignment.experiment)),
            Role::Sink => {
                let inboxes = job.incoming().map(|c| sink::Inbox::new(job, c.id));
                Kit::Sink(inboxes.collect())
            }
            Role::Initiator => Kit::Initiator(Box::new(initiator::Kit::new(job))),
            Role::Echo => Kit::Echo,
            Role::Loopback => Kit::Loopback,
            Role::Probe => Kit::Probe,
        }
    }
}

/// Plays the participant's role.
pub(crate) fn play(
    job: &Job,
    thread: &ThreadState,
    node: &mut dyn Node,
    kit: Kit,
) -> Result<Played, Failure> {
    match kit {
        Kit::Source(lateness) => source::play(job, thread, node, lateness),
        Kit::Sink(inboxes) => sink::play(job, thread, node, inboxes),
        Kit::Initiator(kit) => initiator::play(job, thread, node, *kit),
        Kit::Echo => echo::play(job, thread, node),
        Kit::Loopback => loopback::play(job, thread, node),
        Kit::Probe => probe::play(job, thread),
    }
}

/// A recorder whose blocks cut the experiment's window evenly.
fn recorder(experiment: &Experiment) -> Recorder {
    match experiment.window {
        Extent::Duration(d) => Recorder::by_time(BLOCKS, Nanos((d.0 / BLOCKS as u64).max(1))),
        Extent::Messages(n) => Recorder::by_count(BLOCKS, n.div_ceil(BLOCKS as u64).max(1)),
    }
}

/// A log of as many raw samples as the experiment asks for.
fn raw_log(experiment: &Experiment) -> RawLog {
    RawLog::new(experiment.raw_samples as usize)
}

/// How many measured messages to expect, for sizing; a flood may bring more.
fn expected_messages(experiment: &Experiment) -> u64 {
    let seconds = |d: Nanos| d.as_secs_f64();
    match (experiment.window, experiment.workload) {
        (Extent::Messages(n), _) => n,
        (Extent::Duration(d), Workload::Stream { rate, .. }) => {
            (rate.hz() * seconds(d) * 1.5) as u64 + 64
        }
        (Extent::Duration(d), Workload::Burst { messages, period }) => {
            u64::from(messages) * (d.0 / period.0.max(1) + 2)
        }
        (
            Extent::Duration(d),
            Workload::Flood
            | Workload::PingPong { .. }
            | Workload::Call { .. }
            | Workload::FirstMessage { .. }
            | Workload::Probe { .. },
        ) => (seconds(d) * 5e6) as u64 + 64,
    }
}

/// Tells whether an extent is used up. Without a branch on what kind of extent it is or how far it has come: where
/// the warm-up's ends and the window's begins, the processor would have foreseen another way.
struct Progress {
    lasts: Nanos,
    most: u64,
    begun: Option<Nanos>,
    messages: u64,
}

impl Progress {
    fn new(extent: Extent) -> Self {
        let (lasts, most) = match extent {
            Extent::Duration(d) => (d, u64::MAX),
            Extent::Messages(n) => (Nanos(u64::MAX), n),
        };
        Progress {
            lasts,
            most,
            begun: None,
            messages: 0,
        }
    }

    /// Whether a message due at `due` still belongs to the extent; the first one begins it.
    #[inline]
    fn admits(&mut self, due: Nanos) -> bool {
        let begun = self.begun.unwrap_or(due);
        self.begun = Some(begun);
        let inside = (due.saturating_sub(begun) < self.lasts) & (self.messages < self.most);
        self.messages += u64::from(inside);
        inside
    }

    /// As [`Progress::admits`], with the beginning known beforehand.
    fn from(extent: Extent, begun: Nanos) -> Self {
        Progress {
            begun: Some(begun),
            ..Progress::new(extent)
        }
    }
}

/// The length of a probe: a header, or less where the payload has no room for it. Probes are small so
/// that they fill no buffers. Where the first message is what is measured, it is one of full size.
fn probe_len(experiment: &Experiment) -> usize {
    match experiment.workload.kind().is_start() {
        true => experiment.payload.bytes(),
        false => experiment.payload.bytes().min(HEADER_BYTES),
    }
}

/// The time from one probe of a source to the next.
fn probe_period(experiment: &Experiment) -> Duration {
    let of_start = experiment.workload.kind().is_start();
    let own = experiment.workload.numbers().period.filter(|_| of_start);
    own.map_or(PROBE_PERIOD, Duration::from)
}

/// Reads, stamps and checks a message of whatever kind.
#[inline]
fn receive(
    clock: &Clock,
    bytes: &[u8],
    experiment: &Experiment,
    channel: u16,
) -> Result<(Header, Nanos), Damage> {
    let len = expected_len(bytes, experiment);
    let (header, arrival) = stamp::receive(clock, bytes, experiment.access, channel, len)?;
    full_unless_probe(&header, len, experiment)?;
    Ok((header, arrival))
}

/// The same where nobody asks when it arrived.
#[inline]
fn read_message(bytes: &[u8], experiment: &Experiment, channel: u16) -> Result<Header, Damage> {
    let len = expected_len(bytes, experiment);
    let header = stamp::read(bytes, experiment.access, channel, len)?;
    full_unless_probe(&header, len, experiment)?;
    Ok(header)
}

#[inline]
fn expected_len(bytes: &[u8], experiment: &Experiment) -> usize {
    let probe = probe_len(experiment);
    match bytes.len() == probe {
        true => probe,
        false => experiment.payload.bytes(),
    }
}

#[inline]
fn full_unless_probe(header: &Header, len: usize, experiment: &Experiment) -> Result<(), Damage> {
    match len < experiment.payload.bytes() && header.tag.kind != Kind::Probe {
        true => Err(Damage::Truncated),
        false => Ok(()),
    }
}

/// Sends one probe.
fn send_probe(
    job: &Job,
    thread: &ThreadState,
    sender: &mut dyn Sender,
    channel: u16,
) -> Result<(), Failure> {
    let experiment = &job.assignment.experiment;
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
fn probe_until_linked(
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
        std::thread::sleep(probe_period(&job.assignment.experiment));
    }
}

/// Whether damage that arrives now belongs to the window: its kind cannot be trusted.
fn in_window(shared: &Shared) -> bool {
    shared.phase() >= Phase::Run && shared.clock.now() >= shared.window_at()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_of_messages_admits_exactly_as_many() {
        let mut p = Progress::new(Extent::Messages(3));
        assert_eq!((0..5).filter(|i| p.admits(Nanos(*i))).count(), 3);
    }

    #[test]
    fn an_extent_of_time_counts_from_its_first_due_time() {
        let mut p = Progress::new(Extent::Duration(Nanos(10)));
        let admitted: Vec<u64> = (100..130).filter(|t| p.admits(Nanos(*t))).collect();
        assert_eq!(admitted, (100..110).collect::<Vec<_>>());
    }
}
