//! What the control thread hears, from the runner and from the participants.

use dyno_model::cause::{AgentTrouble, Warning, Who};
use dyno_model::chain::Forwarded;
use dyno_model::protocol::{Command, FirstArrival, Passages, Sent, SourceCounts, Stall, Waited};
use dyno_model::record::{CopyRecord, FlowCounts, RawSample};
use dyno_model::{Distribution, Metric, Nanos, Place};

/// One thing that it hears.
#[derive(Debug)]
pub(crate) enum Event {
    /// From the runner.
    Command(Command),
    /// A line from the runner that is no command.
    Garbled(AgentTrouble),
    /// Standard input has ended.
    RunnerGone,
    /// A participant is pinned, scheduled and locked, with what was not granted.
    Prepared(Vec<Warning>),
    /// A participant sees all its peers.
    Matched {
        exchange: u16,
        opened: Nanos,
        matched: Nanos,
    },
    /// What one recording end sees of the warm-up is steady.
    Settled,
    /// An active participant has offered everything.
    Done(Sent),
    /// A participant of that exchange has ended well.
    Played(u16, Box<Played>),
    /// A participant cannot go on.
    Failed(Failure),
}

/// Why a participant cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The step or call that failed.
    pub(crate) step: &'static str,
    pub(crate) who: Who,
    pub(crate) trouble: AgentTrouble,
    /// Only because a peer is gone.
    pub(crate) peer_gone: bool,
}

/// What one participant measured.
#[derive(Debug, Default)]
pub(crate) struct Played {
    pub(crate) distributions: Vec<(Metric, Distribution)>,
    pub(crate) flows: Vec<FlowCounts>,
    /// The first probe at each end that receives.
    pub(crate) first: Vec<FirstArrival>,
    pub(crate) sources: Vec<SourceCounts>,
    pub(crate) raw: Vec<RawSample>,
    /// What the reader of the result should know.
    pub(crate) warnings: Vec<Warning>,
    /// Where it ran, if it is not pinned.
    pub(crate) places: Vec<Place>,
    /// What the copies of a probe found.
    pub(crate) copies: Vec<CopyRecord>,
    /// What a gateway carried.
    pub(crate) forwarded: Vec<Forwarded>,
    /// When messages passed it, on a chain.
    pub(crate) passages: Vec<Passages>,
    /// When a gateway stood still.
    pub(crate) stalls: Vec<Stall>,
    /// What the timeouts of an idle receiver took, which are Dyno's own.
    pub(crate) waited: Waited,
}

impl Played {
    /// Adds what another thread, or another participant, measured.
    pub(crate) fn add(&mut self, other: Played) {
        self.distributions.extend(other.distributions);
        self.flows.extend(other.flows);
        self.first.extend(other.first);
        self.sources.extend(other.sources);
        self.raw.extend(other.raw);
        self.warnings.extend(other.warnings);
        self.places.extend(other.places);
        self.copies.extend(other.copies);
        self.forwarded.extend(other.forwarded);
        self.passages.extend(other.passages);
        self.stalls.extend(other.stalls);
        self.waited = [self.waited, other.waited].into_iter().sum();
    }
}
