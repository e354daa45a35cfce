//! The channels of a trial as adapters are told of them: the graph's, with names, addresses and ports.

use dyno_model::protocol::{Carries, ChannelSpec, Endpoint};
use dyno_model::{Channel, Experiment, Graph, Testbed};

/// Names the channels of `graph`, of the `flows` that run at the same time. `free_port` gives each endpoint a port of the host with that index; `None` when
/// there is none left.
pub(crate) fn channels(
    flows: &[&Experiment],
    graph: &Graph,
    session: &str,
    testbed: &Testbed,
    free_port: &mut dyn FnMut(usize) -> Option<u16>,
) -> Option<Vec<ChannelSpec>> {
    let host = |index| graph.participant(index).map_or(0, |p| p.host);
    let address = |index| {
        let host = testbed.hosts.get(host(index));
        host.map_or_else(|| "127.0.0.1".to_owned(), |h| h.address.clone())
    };
    let name = |id| format!("{session}.c{id}");
    let experiment = |channel: &Channel| {
        let writer = graph.participant(channel.writer)?;
        flows.get(usize::from(writer.flow)).copied()
    };
    let is_call = |e: &Experiment| e.workload.kind().info().is_request_response && !e.paired;
    let carries = |channel: &Channel| {
        if !experiment(channel).is_some_and(is_call) {
            return Carries::Messages;
        }
        if let Some(requests) = channel.answers {
            return Carries::Responses {
                requests: name(requests),
            };
        }
        let reply = graph
            .channels
            .iter()
            .find(|c| c.answers == Some(channel.id));
        reply.map_or(Carries::Messages, |responses| Carries::Requests {
            responses: name(responses.id),
        })
    };
    let mut endpoint = |participant| {
        Some(Endpoint {
            participant,
            address: address(participant),
            port: free_port(host(participant))?,
        })
    };
    let mut spec = |channel: &Channel| {
        let readers = channel.readers.iter().map(|r| endpoint(*r));
        Some(ChannelSpec {
            id: channel.id,
            name: name(channel.id),
            max_payload: experiment(channel)?.payload.bytes(),
            writer: channel.writer,
            writer_address: address(channel.writer),
            readers: readers.collect::<Option<_>>()?,
            carries: carries(channel),
        })
    };
    graph.channels.iter().map(&mut spec).collect()
}

/// The names of those of `channels` that lead from one host to another.
pub(crate) fn crossing(graph: &Graph, channels: &[ChannelSpec]) -> Vec<String> {
    let host = |index| graph.participant(index).map(|p| p.host);
    let crosses = |channel: &&ChannelSpec| {
        let from = host(channel.writer);
        let mut readers = channel.readers.iter();
        readers.any(|reader| host(reader.participant) != from)
    };
    let names = channels.iter().filter(crosses).map(|c| c.name.clone());
    names.collect()
}
