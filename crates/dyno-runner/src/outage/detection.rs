//! When the library told of a fault, and to whom.

use super::seen::Seen;
use super::span::Span;
use dyno_model::Nanos;
use dyno_model::fault::{DetectedBy, Detection, FaultEvent, Noted};
use std::collections::BTreeMap;

/// The first event of each way in which each participant told that was not struck, in the order of participants.
pub(super) fn detections(seen: &Seen<'_>, span: &Span) -> Vec<Detection> {
    // By participant and way: when it first told within the window.
    let mut told: BTreeMap<(u16, DetectedBy), Nanos> = BTreeMap::new();
    // By end of a process: with how many peers it was matched last.
    let mut peers: BTreeMap<(u16, u16, u16), u32> = BTreeMap::new();
    let mut events: Vec<&FaultEvent> = seen.events.iter().collect();
    events.sort_by_key(|event| event.at);
    for event in events {
        let by = match event.what {
            Noted::NotSent { .. } => DetectedBy::Send,
            Noted::TakeFailed => DetectedBy::Take,
            Noted::NoAnswer { .. } => DetectedBy::Call,
            Noted::Peers { matched } => {
                let end = (event.participant, event.generation, event.channel);
                match peers.insert(end, matched) {
                    Some(before) if matched < before => DetectedBy::Peers,
                    _ => continue,
                }
            }
            Noted::Arrival { .. } | Noted::Damaged | Noted::Sent { .. } => continue,
        };
        // Those who end after the window leave their peers as well.
        let is_within = event.at >= seen.window[0] && event.at < seen.window[1];
        if is_within && !seen.struck.contains(&event.participant) {
            told.entry((event.participant, by)).or_insert(event.at);
        }
    }
    // Of a newcomer nobody is told before it leaves.
    let leaves = seen.made.iter().filter_map(|made| made.end);
    let begin = match leaves.map(|[early, _]| early).min() {
        Some(first) if seen.experiment.only_joins() => first,
        _ => span.begin[0],
    };
    let after_begin = |((participant, by), at): ((u16, DetectedBy), Nanos)| {
        let after = Nanos(at.0.checked_sub(begin.0)?);
        Some(Detection {
            participant,
            by,
            after,
        })
    };
    told.into_iter().filter_map(after_begin).collect()
}
