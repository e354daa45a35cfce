//! What a stack cannot do: the reason why a cell is left out.

use crate::cell::Cell;
use dyno_model::chain::{Chain, ChainLeg, Threads};
use dyno_model::plan::RefusalReason;
use dyno_model::{AdapterDescription, Placement, Stack, Topology, Wait};

/// Why `cell` cannot be measured on `stack`, or `None` if it can.
pub(crate) fn refusal(
    cell: &Cell,
    stack: &Stack,
    adapter: &AdapterDescription,
    hosts: usize,
) -> Option<RefusalReason> {
    let can = &adapter.capabilities.of_stack(stack.asks);
    let (name, stack_name) = (|| adapter.name.clone(), || stack.name.clone());
    if let Some(why) = &adapter.unavailable {
        return Some(RefusalReason::Unusable {
            adapter: name(),
            why: why.clone(),
        });
    }
    if cell.workload.kind().is_probe() {
        // Nothing of the adapter takes part.
        return None;
    }
    if !can.waits.contains(&cell.wait) {
        return Some(RefusalReason::Wait {
            adapter: name(),
            wait: cell.wait,
            can: can.waits.clone(),
        });
    }
    if stack.floor && !stack.waits.contains(&cell.wait) {
        return Some(RefusalReason::FloorWait {
            stack: stack_name(),
            wait: cell.wait,
            of: stack.waits.clone(),
        });
    }
    if !can.placements.contains(&cell.placement) {
        return Some(RefusalReason::Placement {
            adapter: name(),
            placement: cell.placement,
            can: can.placements.clone(),
        });
    }
    if !stack.placements.is_empty() && !stack.placements.contains(&cell.placement) {
        return Some(RefusalReason::StackPlacement {
            stack: stack_name(),
            placement: cell.placement,
            meant: stack.placements.clone(),
        });
    }
    if cell.placement == Placement::Host && hosts < 2 {
        return Some(RefusalReason::OneHost);
    }
    if can.loopback && cell.topology.alone() != Topology::ONE_TO_ONE {
        return Some(RefusalReason::LoopbackTopology { adapter: name() });
    }
    let workload = cell.workload.kind();
    if can.loopback && workload.info().needs_peer.is_some() {
        return Some(RefusalReason::NoPeer {
            adapter: name(),
            workload,
        });
    }
    if cell.topology.receivers > 1 && workload.info().one_receiver.is_some() {
        return Some(RefusalReason::OneReceiver {
            workload,
            topology: cell.topology,
        });
    }
    let (receivers, bytes) = (cell.topology.receivers, cell.payload.bytes() as u64);
    if let Some(most) = can.max_receivers.filter(|most| receivers > *most) {
        return Some(RefusalReason::Receivers {
            adapter: name(),
            receivers,
            most,
        });
    }
    let most = can.max_message.filter(|most| bytes > *most)?;
    Some(RefusalReason::MessageBytes {
        adapter: name(),
        bytes,
        most,
    })
}

/// A leg as a stack of its own.
fn alone(leg: &ChainLeg) -> Stack {
    Stack {
        name: leg.stack.clone(),
        adapter: leg.adapter.clone(),
        waits: leg.wait.into_iter().collect(),
        options: leg.options.clone(),
        daemons: leg.daemons.clone(),
        ..Stack::default()
    }
}

/// Why `cell` cannot be measured on a chain, with the leg that stands in the way; `None` if it can. `adapters` are those
/// of its legs.
pub(crate) fn of_chain(
    cell: &Cell,
    stack: &Stack,
    chain: &Chain,
    adapters: &[&AdapterDescription],
    hosts: usize,
) -> Option<RefusalReason> {
    let name = || stack.name.clone();
    if let Some(only) = stack.placements.iter().find(|p| **p != cell.placement) {
        return Some(RefusalReason::StackPlacement {
            stack: name(),
            placement: cell.placement,
            meant: vec![*only],
        });
    }
    let needs = chain.hosts();
    if needs > hosts {
        return Some(RefusalReason::ChainHosts {
            stack: name(),
            needs,
            hosts,
        });
    }
    let wait = |leg: &ChainLeg| leg.wait.unwrap_or(cell.wait);
    if let (true, Some(&last)) = (
        chain.legs.iter().all(|leg| leg.wait.is_some()) && !stack.waits.contains(&cell.wait),
        stack.waits.first(),
    ) {
        return Some(RefusalReason::LegWaits {
            stack: name(),
            last,
        });
    }
    if chain.foreign().contains(&true) && cell.topology.receivers > 1 {
        return Some(RefusalReason::BridgedReceivers {
            stack: name(),
            topology: cell.topology,
        });
    }
    let last = chain.legs.len().saturating_sub(1);
    for (number, (leg, adapter)) in chain.legs.iter().zip(adapters).enumerate() {
        let own = Cell {
            wait: wait(leg),
            placement: leg.placement,
            topology: match number == last {
                true => cell.topology,
                false => Topology {
                    receivers: 1,
                    ..cell.topology
                },
            },
            ..*cell
        };
        if let Some(why) = refusal(&own, &alone(leg), adapter, hosts) {
            return Some(RefusalReason::Leg {
                leg: number + 1,
                stack: leg.stack.clone(),
                why: Box::new(why),
            });
        }
    }
    let own = chain.gateways.iter().zip(chain.legs.windows(2)).enumerate();
    for (number, (gateway, legs)) in own.filter(|(_, (gateway, _))| !gateway.is_foreign()) {
        // It reads the leg before it, and where there are replies the one behind it.
        let reads = match cell.workload.is_one_way() {
            true => &legs[..1],
            false => legs,
        };
        let sleeps = reads.iter().find(|leg| wait(leg) != Wait::Spin);
        if let (Some(Threads::One), Some(leg)) = (gateway.threads, sleeps) {
            return Some(RefusalReason::OneThread {
                gateway: number + 1,
                leg: leg.stack.clone(),
                wait: wait(leg),
            });
        }
    }
    None
}

/// Whether the cell is a call over legs of which one is an adapter without request-response of its own, which then
/// goes over a pair of channels.
pub(crate) fn is_paired(cell: &Cell, adapters: &[&AdapterDescription]) -> bool {
    let can = |a: &&AdapterDescription| a.capabilities.request_response;
    cell.workload.kind().info().is_request_response && !adapters.iter().all(can)
}
