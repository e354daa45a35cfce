//! What a stack cannot do: the reason why a cell is left out.

use crate::cell::Cell;
use dyno_model::plan::RefusalReason;
use dyno_model::{AdapterDescription, Placement, Stack, Topology};

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
    let receivers = cell.topology.receivers;
    if let Some(most) = can.max_receivers.filter(|most| receivers > *most) {
        return Some(RefusalReason::Receivers {
            adapter: name(),
            receivers,
            most,
        });
    }
    let bytes = cell.payload.bytes() as u64;
    let most = can.max_message.filter(|most| bytes > *most)?;
    Some(RefusalReason::MessageBytes {
        adapter: name(),
        bytes,
        most,
    })
}

/// Whether the cell is a call over legs of which one is an adapter without request-response of its own, which then
/// goes over a pair of channels.
pub(crate) fn is_paired(cell: &Cell, adapters: &[&AdapterDescription]) -> bool {
    let can = |a: &&AdapterDescription| a.capabilities.request_response;
    cell.workload.kind().info().is_request_response && !adapters.iter().all(can)
}
