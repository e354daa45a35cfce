//! Causes of loss: what the kernels of an experiment's hosts counted while its trials lost messages.
//!
//! `docs/reference/causes-of-loss.md` explains every counter. A counter counts datagrams, fragments or frames,
//! so it names a cause and is not the number of messages lost.

use crate::number::duration;
use crate::remark::Item;
use crate::summary::{ExperimentSummary, NetworkSummary, RunSummary};
use crate::view::View;
use dyno_model::{NetworkCounter, TrialRecord};
use std::collections::BTreeMap;

/// Causes that stand with a loss, the most telling ones.
const MOST: usize = 4;

/// The networks of these trials, by host.
pub(crate) fn networks(trials: &[&TrialRecord]) -> Vec<NetworkSummary> {
    let mut found: Vec<NetworkSummary> = Vec::new();
    for network in trials.iter().flat_map(|t| &t.networks) {
        let at = found.iter().position(|n| n.host == network.host);
        let at = at.unwrap_or_else(|| {
            found.push(NetworkSummary {
                host: network.host.clone(),
                counters: BTreeMap::new(),
                receive_buffer_bytes: None,
                longest_wait_ns: 0,
            });
            found.len() - 1
        });
        let summary = &mut found[at];
        for (counter, n) in &network.counters {
            let all = summary.counters.entry(*counter).or_default();
            *all = all.saturating_add(*n);
        }
        let smallest = network.sockets.iter().map(|s| s.receive_buffer).min();
        summary.receive_buffer_bytes = summary
            .receive_buffer_bytes
            .into_iter()
            .chain(smallest)
            .min();
        summary.longest_wait_ns = summary.longest_wait_ns.max(network.waited.0);
    }
    found
}

/// What is to be said below a table.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let row = |e: &&ExperimentSummary| {
        let causes = causes(&view.summary.run, e);
        (!causes.is_empty()).then(|| Item {
            text: format!(
                "{}: {} of {}:",
                view.label(e),
                e.missing_messages().unwrap_or_default(),
                e.counts.offered
            ),
            lines: causes,
        })
    };
    view.rows.iter().filter_map(row).collect()
}

/// The likely causes of an experiment's losses in sentences, the most telling first; none where it lost
/// nothing, or nothing was counted.
pub(crate) fn causes(run: &RunSummary, e: &ExperimentSummary) -> Vec<String> {
    if e.counts.lost == 0 {
        return Vec::new();
    }
    let mut said = Vec::new();
    let mut of_the_machine = false;
    for counter in NetworkCounter::ALL.iter().filter(|c| c.loses_messages()) {
        for network in &e.networks {
            let n = network.counters.get(counter).copied().unwrap_or(0);
            // Hosts of one machine have the same count of it.
            if n == 0 || counter.is_of_the_machine() && std::mem::replace(&mut of_the_machine, true)
            {
                continue;
            }
            said.push(cause(run, e, network, *counter, n));
        }
    }
    // Datagrams that come after a receiver has ended say little where anything else was dropped.
    let late = NetworkCounter::NoPort.fate();
    if said.iter().any(|s| !s.contains(late)) {
        said.retain(|s| !s.contains(late));
    }
    said.truncate(MOST);
    said
}

fn cause(
    run: &RunSummary,
    e: &ExperimentSummary,
    network: &NetworkSummary,
    counter: NetworkCounter,
    n: u64,
) -> String {
    let host = network.host.clone();
    let mut text = format!("on {host}, {}", counter.sentence(n));
    match counter {
        NetworkCounter::ReceiveBufferErrors => {
            let message = e.experiment.payload_text();
            match network.receive_buffer_bytes {
                Some(bytes) => text.push_str(&format!(
                    ": receive buffer {} KiB, message {message}; {}",
                    bytes >> 10,
                    larger_buffer(run, bytes)
                )),
                None => text.push_str(&format!(
                    ": message {message}; raise net.core.rmem_max, and net.core.rmem_default for stacks that use \
                     the default buffer size"
                )),
            }
        }
        NetworkCounter::ReassemblyFailures => {
            text.push_str(
                "; find the cause of the missing fragments, or raise net.ipv4.ipfrag_high_thresh",
            );
        }
        NetworkCounter::UplinkDrops | NetworkCounter::DownlinkDrops => {
            text.push_str("; send less at once, or give the link a deeper buffer");
        }
        _ => {}
    }
    if network.longest_wait_ns >= 1_000_000_000 {
        let waited = duration(network.longest_wait_ns as f64);
        text.push_str(&format!(
            " (one trial waited {waited} until packets of earlier trials were gone)"
        ));
    }
    text
}

/// How a socket gets a larger receive buffer than `bytes`, which the kernel charges.
fn larger_buffer(run: &RunSummary, bytes: u64) -> String {
    let limit = |name: &str| -> Option<u64> {
        let text = run.environment.limits.get(name)?;
        text.split_whitespace().next()?.parse().ok()
    };
    let (default, most) = (limit("net.core.rmem_default"), limit("net.core.rmem_max"));
    match (default, most) {
        (Some(default), _) if bytes == default => {
            "the stack uses the default buffer size: raise net.core.rmem_default, or set the option of the stack".into()
        }
        // The kernel doubles what is asked for (socket(7)).
        (_, Some(most)) if bytes >= 2 * most => "raise net.core.rmem_max".into(),
        (_, Some(most)) => format!(
            "set a larger receive buffer in the options of the stack; net.core.rmem_max allows {} KiB",
            most >> 10
        ),
        _ => "raise net.core.rmem_max".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::{FullSocket, HostNetwork, Nanos};

    #[test]
    fn counts_of_trials_add_up_and_the_smallest_buffer_stands_for_the_host() {
        let network = |host: &str, n: u64, buffer: u64| HostNetwork {
            host: host.into(),
            counters: BTreeMap::from([(NetworkCounter::ReceiveBufferErrors, n)]),
            sockets: vec![FullSocket {
                port: 1,
                receive_buffer: buffer,
                dropped: n,
            }],
            waited: Nanos(buffer),
            ..HostNetwork::default()
        };
        let all = [
            network("h1", 3, 500),
            network("h2", 1, 900),
            network("h1", u64::MAX, 400),
        ];
        let record = |networks: &[HostNetwork]| {
            let json = r#"{"format":2,"experiment":0,"number":0,"position":0,"started_unix_ms":0,
                "wall":0,"outcome":"completed"}"#;
            let mut record: TrialRecord = serde_json::from_str(json).unwrap();
            record.networks = networks.to_vec();
            record
        };
        let trials = [record(&all[..2]), record(&all[2..])];
        let trials: Vec<&TrialRecord> = trials.iter().collect();
        let summary = networks(&trials);
        assert_eq!(summary.len(), 2);
        assert_eq!(
            summary[0].counters[&NetworkCounter::ReceiveBufferErrors],
            u64::MAX
        );
        assert_eq!(summary[0].receive_buffer_bytes, Some(400));
        assert_eq!(summary[0].longest_wait_ns, 500);
        assert_eq!(summary[1].host, "h2");
        assert_eq!(networks(&[]), []);
    }
}
