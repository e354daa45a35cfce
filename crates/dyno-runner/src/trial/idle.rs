//! What the devices of an idle trial's hosts send in its window, read at both ends of it.

use super::stage::{Failed, LOOK, Trial};
use dyno_measure::NetworkReading;
use dyno_model::cause::Warning;
use dyno_model::{Idle, LinkTraffic, Nanos, Participant, Role, TrialRecord};

/// The devices of the trial's hosts when the window began.
pub(super) struct Links {
    at: Nanos,
    /// By the host's index in the testbed.
    before: Vec<(usize, NetworkReading)>,
}

impl Trial<'_, '_> {
    /// Waits until the window begins, at `window`, and reads the devices; `None` where messages are sent.
    pub(super) fn open_links(
        &mut self,
        window: Nanos,
        record: &mut TrialRecord,
    ) -> Result<Option<Links>, Failed> {
        if !self.context.experiment.workload.kind().is_idle() {
            return Ok(None);
        }
        loop {
            self.check_interrupt()?;
            self.check_surroundings()?;
            match window.saturating_sub(self.context.clock.now()) {
                Nanos::ZERO => return Ok(Some(self.read_links(record))),
                left => std::thread::sleep(LOOK.min(left.into())),
            }
        }
    }

    /// Notes what the devices have sent since.
    pub(super) fn close_links(&self, links: Links, record: &mut TrialRecord) {
        let Links { at, before } = links;
        let after = self.read_links(record);
        // A gateway is Dyno's own, and no participant that a topology counts.
        let is_silent = |p: &&Participant| matches!(p.role, Role::Source | Role::Sink);
        let of_host = |index: usize| {
            let of = |all: &[(usize, NetworkReading)]| {
                let found = all.iter().find(|(host, _)| *host == index);
                found.map(|(_, reading)| reading.clone())
            };
            let sent = of(&before)?.sent_until(&of(&after.before)?);
            let link = move |(device, (packets, bytes))| LinkTraffic {
                host: self.host_name(index),
                device,
                packets,
                bytes,
            };
            Some(sent.into_iter().map(link).collect::<Vec<_>>())
        };
        let hosts = self.graph.hosts().into_iter();
        let links: Option<Vec<Vec<LinkTraffic>>> = hosts.map(of_host).collect();
        record.idle = Some(Idle {
            participants: self.graph.participants.iter().filter(is_silent).count() as u64,
            wall: after.at.saturating_sub(at),
            links: links.map(|all| all.concat()),
        });
    }

    fn read_links(&self, record: &mut TrialRecord) -> Links {
        let at = self.context.clock.now();
        let mut before = Vec::new();
        for index in self.graph.hosts() {
            let Some(host) = self.context.hosts.get(index) else {
                continue;
            };
            match host.read_network() {
                Ok(reading) => before.push((index, reading)),
                Err(error) => {
                    let host = self.host_name(index);
                    let warning = Warning::NetworkUnseen { host, error };
                    record.warnings.push(warning.into());
                }
            }
        }
        Links { at, before }
    }

    fn host_name(&self, index: usize) -> String {
        let host = self.context.plan.testbed.hosts.get(index);
        host.map(|h| h.name.clone()).unwrap_or_default()
    }
}
