//! The networks of the trial's hosts: what they hold before it, and what they counted until the end of its
//! drain. Nothing is read in between.

use super::stage::{Failed, LOOK, Open, Place, Trial};
use crate::hosts::Hosts;
use dyno_measure::residue;
use dyno_model::cause::{Cause, Warning};
use dyno_model::{HostNetwork, Nanos, NetworkCounter, TrialRecord};
use std::time::{Duration, Instant};

/// How long a trial waits for networks to become clean that cannot be made anew. The kernel keeps fragments
/// for 30 s (`net.ipv4.ipfrag_time`).
const PATIENCE: Duration = Duration::from_secs(35);

impl Trial<'_, '_> {
    /// Waits until the networks of these hosts hold nothing of before, and notes what they have counted so
    /// far. What is not clean after [`PATIENCE`] becomes a warning.
    pub(super) fn open_networks(
        &mut self,
        places: &[Place<'_>],
        record: &mut TrialRecord,
    ) -> Result<(), Failed> {
        self.step = "network";
        let testbed = &self.context.plan.testbed;
        let peers: Vec<&str> = testbed.hosts.iter().map(|h| h.address.as_str()).collect();
        let began = Instant::now();
        for place in places {
            let name = testbed.hosts.get(place.index).map(|h| h.name.clone());
            let name = name.unwrap_or_default();
            loop {
                let before = match place.host.read_network() {
                    Ok(reading) => reading,
                    Err(error) => {
                        let warning = Warning::NetworkUnseen { host: name, error };
                        record.warnings.push(warning.into());
                        break;
                    }
                };
                let state = before.state(&peers);
                let left = residue(&state);
                // A planted fault is there to be seen.
                let waits = !testbed.keeps_state && began.elapsed() < PATIENCE;
                if !left.is_empty() && waits {
                    self.check_interrupt()?;
                    std::thread::sleep(LOOK);
                    continue;
                }
                let waited = began.elapsed();
                record.warnings.extend(left.into_iter().map(|left| {
                    let host = name.clone();
                    Cause::Known(Warning::NotClean { host, left })
                }));
                self.networks.hosts.push(Open {
                    index: place.index,
                    before,
                    record: HostNetwork {
                        host: name,
                        fresh: self.context.hosts.are_fresh(),
                        before: state,
                        waited: Nanos(u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX)),
                        ..HostNetwork::default()
                    },
                });
                break;
            }
        }
        self.networks.switch = dropped_by_switch(self.context.hosts, record);
        self.step = "start";
        Ok(())
    }

    /// Notes what was counted since; once for each trial.
    pub(super) fn close_networks(&mut self, record: &mut TrialRecord) {
        let open = std::mem::take(&mut self.networks);
        if open.hosts.is_empty() {
            return;
        }
        let switch = dropped_by_switch(self.context.hosts, record);
        for mut host in open.hosts {
            let Some(place) = self.context.hosts.get(host.index) else {
                continue;
            };
            match place.read_network() {
                Ok(after) => {
                    host.record.counters = host.before.counted_until(&after);
                    host.record.sockets = host.before.full_sockets_until(&after);
                }
                Err(error) => {
                    let host = host.record.host.clone();
                    let warning = Warning::NetworkUnseen { host, error };
                    record.warnings.push(warning.into());
                }
            }
            let of = |dropped: &[u64]| dropped.get(host.index).copied().unwrap_or(0);
            let dropped = of(&switch).saturating_sub(of(&open.switch));
            if dropped > 0 {
                let counters = &mut host.record.counters;
                counters.insert(NetworkCounter::DownlinkDrops, dropped);
            }
            record.networks.push(host.record);
        }
    }
}

fn dropped_by_switch(hosts: &Hosts, record: &mut TrialRecord) -> Vec<u64> {
    hosts.dropped_by_switch().unwrap_or_else(|e| {
        let error = e.to_string();
        record.warnings.push(Warning::SwitchUnseen { error }.into());
        Vec::new()
    })
}
