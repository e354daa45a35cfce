//! What comes in at one reading end, whatever the role: the check of each message, damage, and the first arrival.

use super::link::probe_len;
use crate::job::{Job, Lengths};
use crate::shared::{Phase, Shared};
use dyno_measure::stamp::{self, Damage, Header, Kind};
use dyno_model::protocol::FirstArrival;
use dyno_model::record::FlowCounts;
use dyno_model::{Experiment, Nanos};
use std::sync::Arc;

/// One reading end.
pub(super) struct Intake {
    pub(super) shared: Arc<Shared>,
    experiment: Arc<Experiment>,
    lengths: Lengths,
    pub(super) channel: u16,
    receiver: u16,
    /// When the first probe arrived.
    probed: Option<Nanos>,
    corrupted: u64,
    truncated: u64,
}

impl Intake {
    pub(super) fn new(job: &Job, channel: u16) -> Self {
        Intake {
            shared: job.shared.clone(),
            experiment: job.experiment.clone(),
            lengths: job.lengths(),
            channel,
            receiver: job.participant.index,
            probed: None,
            corrupted: 0,
            truncated: 0,
        }
    }

    #[inline]
    pub(super) fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Reads, stamps and checks a message of whatever kind.
    #[inline]
    pub(super) fn receive(&self, bytes: &[u8]) -> Result<(Header, Nanos), Damage> {
        let (clock, access) = (&self.shared.clock, self.experiment().access);
        let len = self.expected_len(bytes);
        let (header, arrival) = stamp::receive(clock, bytes, access, self.channel, len)?;
        self.full_unless_probe(&header, len)?;
        Ok((header, arrival))
    }

    /// The same where nobody asks when it arrived.
    #[inline]
    pub(super) fn read(&self, bytes: &[u8]) -> Result<Header, Damage> {
        let len = self.expected_len(bytes);
        let header = stamp::read(bytes, self.experiment().access, self.channel, len)?;
        self.full_unless_probe(&header, len)?;
        Ok(header)
    }

    #[inline]
    fn expected_len(&self, bytes: &[u8]) -> usize {
        let probe = probe_len(self.experiment());
        match bytes.len() == probe {
            true => probe,
            false => self.lengths.of_bytes(bytes),
        }
    }

    #[inline]
    fn full_unless_probe(&self, header: &Header, len: usize) -> Result<(), Damage> {
        match len < self.lengths.of(header.tag) && header.tag.kind != Kind::Probe {
            true => Err(Damage::Truncated),
            false => Ok(()),
        }
    }

    /// Counts damage of the window, and whether it is: its kind cannot be trusted, so the time decides.
    #[cold]
    pub(super) fn damaged(&mut self, damage: Damage) -> bool {
        let shared = &self.shared;
        if shared.phase() < Phase::Run || shared.clock.now() < shared.window_at() {
            return false;
        }
        match damage {
            Damage::Truncated => self.truncated += 1,
            Damage::Corrupted => self.corrupted += 1,
        }
        true
    }

    /// Damaged messages of the window.
    pub(super) fn damage(&self) -> u64 {
        self.truncated + self.corrupted
    }

    /// Whether a probe has arrived.
    #[inline]
    pub(super) fn is_probed(&self) -> bool {
        self.probed.is_some()
    }

    /// The first probe arrived at `at`.
    #[cold]
    pub(super) fn probed(&mut self, at: Nanos) {
        self.probed = Some(at);
        self.shared.one_linked();
    }

    /// The first arrival, if there was one.
    pub(super) fn first(&self) -> Option<FirstArrival> {
        let (channel, receiver) = (self.channel, self.receiver);
        self.probed.map(|at| FirstArrival {
            channel,
            receiver,
            at,
        })
    }

    /// Adds the damage to what else was counted of the end.
    pub(super) fn add_to(&self, flow: &mut FlowCounts) {
        flow.corrupted += self.corrupted;
        flow.truncated += self.truncated;
    }
}
