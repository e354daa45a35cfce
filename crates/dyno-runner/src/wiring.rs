//! Who plays what, and which channels join them: an experiment's topology spelled out.

use dyno_model::Testbed;
use dyno_model::protocol::{Carries, ChannelSpec, Endpoint, Participant, Role};
use dyno_model::{Experiment, Topology};

/// Participants and channels of a trial.
pub(crate) struct Wiring {
    pub(crate) participants: Vec<Participant>,
    pub(crate) channels: Vec<ChannelSpec>,
}

/// Spells out the topology. `loopback`: the adapter plays both sides itself. `free_port` gives each
/// endpoint a port of the host with that index; `None` when there is none left.
pub(crate) fn wire(
    experiment: &Experiment,
    session: &str,
    testbed: &Testbed,
    loopback: bool,
    free_port: &mut dyn FnMut(usize) -> Option<u16>,
) -> Option<Wiring> {
    if experiment.workload.kind().is_probe() {
        return Some(Wiring {
            participants: vec![participant(experiment, 0, Role::Probe)],
            channels: Vec::new(),
        });
    }
    let Topology { senders, receivers } = experiment.topology;
    let workload = experiment.workload.kind().info();
    let [active, passive] = match loopback {
        true => [Some(Role::Loopback), None],
        false => workload.roles.map(Some),
    };
    let mut participants = Vec::new();
    for index in 0..senders {
        participants.extend(active.map(|role| participant(experiment, index, role)));
    }
    for index in senders..senders + receivers {
        participants.extend(passive.map(|role| participant(experiment, index, role)));
    }

    let host = |index| testbed.host_of(experiment.placement, experiment.topology, index);
    let address = |index| {
        let host = testbed.hosts.get(host(index));
        host.map_or_else(|| "127.0.0.1".to_owned(), |h| h.address.clone())
    };
    let mut channels = Vec::new();
    let mut connect = |writer: u16, readers: &mut dyn Iterator<Item = u16>| {
        let id = u16::try_from(channels.len()).ok()?;
        let readers = readers
            .map(|participant| {
                Some(Endpoint {
                    participant,
                    address: address(participant),
                    port: free_port(host(participant))?,
                })
            })
            .collect::<Option<Vec<_>>>()?;
        channels.push(ChannelSpec {
            id,
            name: format!("{session}.c{id}"),
            max_payload: experiment.payload.bytes(),
            writer,
            writer_address: address(writer),
            readers,
            carries: Default::default(),
        });
        Some(())
    };
    for sender in 0..senders {
        if loopback {
            connect(sender, &mut std::iter::once(sender))?;
        } else {
            connect(sender, &mut (senders..senders + receivers))?;
        }
    }
    if passive == Some(Role::Echo) {
        for echo in senders..senders + receivers {
            for sender in 0..senders {
                connect(echo, &mut std::iter::once(sender))?;
            }
        }
    }
    if workload.is_request_response && !experiment.paired {
        join_calls(&mut channels, senders);
    }
    Some(Wiring {
        participants,
        channels,
    })
}

/// Makes the channels of each caller name each other. There is one provider, so the channels of
/// the requests come first, one for each caller, and those of the responses in the same order.
fn join_calls(channels: &mut [ChannelSpec], callers: u16) {
    let (there, back) = channels.split_at_mut(usize::from(callers));
    for (requests, responses) in there.iter_mut().zip(back) {
        requests.carries = Carries::Requests {
            responses: responses.name.clone(),
        };
        responses.carries = Carries::Responses {
            requests: requests.name.clone(),
        };
    }
}

fn participant(experiment: &Experiment, index: u16, role: Role) -> Participant {
    Participant {
        index,
        role,
        cpu: experiment.cpus.get(usize::from(index)).copied(),
        library_cpus: experiment
            .library_cpus
            .get(usize::from(index))
            .cloned()
            .unwrap_or_default(),
    }
}
