//! What a stack cannot do: the reason why a cell is left out.

use crate::cell::Cell;
use dyno_model::plan::Refusal;
use dyno_model::{AdapterDescription, Placement, Stack, Topology};

/// Why `cell` cannot be measured on `stack`, or `None` if it can.
pub(crate) fn refusal(
    cell: &Cell,
    stack: &Stack,
    adapter: &AdapterDescription,
    hosts: usize,
) -> Option<String> {
    let can = &adapter.capabilities.of_stack(stack.asks);
    let name = &adapter.name;
    if let Some(reason) = &adapter.unavailable {
        return Some(format!("{name}{}{reason}", Refusal::UNUSABLE));
    }
    if cell.workload.kind().is_probe() {
        // Nothing of the adapter takes part.
        return None;
    }
    if !can.waits.contains(&cell.wait) {
        return Some(format!(
            "{name} cannot wait by {}, only by {}",
            cell.wait,
            listed(&can.waits)
        ));
    }
    if stack.floor && !stack.waits.contains(&cell.wait) {
        return Some(format!(
            "{} is the floor of waiting by {}, not by {}",
            stack.name,
            listed(&stack.waits),
            cell.wait
        ));
    }
    if !can.placements.contains(&cell.placement) {
        return Some(format!(
            "{name} cannot run with placement {}, only {}",
            cell.placement,
            listed(&can.placements)
        ));
    }
    if !stack.placements.is_empty() && !stack.placements.contains(&cell.placement) {
        return Some(format!(
            "{} is meant for placement {}, not {}",
            stack.name,
            listed(&stack.placements),
            cell.placement
        ));
    }
    if cell.placement == Placement::Host && hosts < 2 {
        return Some("the testbed has one host; choose for example --testbed netns-1gbe".into());
    }
    if can.loopback && cell.topology.alone() != Topology::ONE_TO_ONE {
        return Some(format!(
            "{name} plays both sides in one participant and knows topology 1-1 only"
        ));
    }
    let workload = cell.workload.kind().info();
    if let (true, Some(what)) = (can.loopback, workload.needs_peer) {
        return Some(format!("{name} has no second participant that {what}"));
    }
    if let (2.., Some(why)) = (cell.topology.receivers, workload.one_receiver) {
        return Some(format!(
            "{why}: topology {}-1, not {}",
            cell.topology.senders, cell.topology
        ));
    }
    let receivers = cell.topology.receivers;
    if let Some(most) = can.max_receivers.filter(|most| receivers > *most) {
        return Some(format!(
            "a channel of {name} has at most {most} receiver{}, not {receivers}",
            if most == 1 { "" } else { "s" }
        ));
    }
    let bytes = cell.payload.bytes() as u64;
    if let Some(most) = can.max_message.filter(|most| bytes > *most) {
        return Some(format!(
            "a message of {name} has at most {most} B, not {bytes} B"
        ));
    }
    None
}

/// Whether the cell is a call over legs of which one is an adapter without request-response of its own, which then
/// goes over a pair of channels.
pub(crate) fn is_paired(cell: &Cell, adapters: &[&AdapterDescription]) -> bool {
    let can = |a: &&AdapterDescription| a.capabilities.request_response;
    cell.workload.kind().info().is_request_response && !adapters.iter().all(can)
}

fn listed<T: ToString>(values: &[T]) -> String {
    let texts: Vec<String> = values.iter().map(T::to_string).collect();
    texts.join(", ")
}
