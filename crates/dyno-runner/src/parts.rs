//! The parts that the way of a message through a chain is made of: its time on each leg and in each gateway.
//!
//! Every participant says when a message came to it and when it went on. A part ends with the stamp that the next one
//! begins with, so parts add up to the whole for each message whatever the stamps are, and the sum proves nothing. What
//! can be wrong is which notes are put together: then some message came before it went, and a part is below zero. Over
//! hosts with clocks of their own each part is as exact as the bounds of these clocks, and may be below zero by as much.
//!
//! What comes to a gateway that stands still lies in the library of the leg before it until the gateway takes it. That
//! wait is the gateway's: where one is known to have stood still, its stay begins then.

use dyno_model::chain::{Part, Parts, Stage};
use dyno_model::protocol::{Passages, Stall};
use dyno_model::{Graph, Role};
use std::collections::HashMap;

/// One message's parts, in nanoseconds, in the order of its way; and the whole.
struct Message {
    whole: i64,
    parts: Vec<i64>,
}

/// Works out the parts of all messages whose whole way is known. `None` where there is none, as where somebody else's
/// program bridges legs, which notes nothing.
pub(crate) fn parts(graph: &Graph, passages: &[Passages], stalls: &[Stall]) -> Option<Parts> {
    if graph.channels.iter().any(|c| c.read_leg.is_some()) {
        return None;
    }
    let stalls: Vec<Stall> = stalls.iter().filter_map(|s| stood(s, passages)).collect();
    let mut stages: Option<Vec<(Stage, bool)>> = None;
    let mut messages = Vec::new();
    for whole in passages {
        let role = graph.participant(whole.participant).map(|p| p.role);
        let way = match role {
            Some(Role::Sink) => Some(there(graph, whole.channel, whole.participant)),
            Some(Role::Initiator) => round_trip(graph, whole.channel, whole.participant),
            _ => None,
        };
        let Some(way) = way.filter(|way| !way.is_empty()) else {
            continue;
        };
        messages.extend(joined(whole, &way, passages, &stalls));
        stages.get_or_insert_with(|| named(&way));
    }
    summary(&stages?, messages)
}

/// One stay between two legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stay {
    participant: u16,
    /// The channel that the message was first sent over which came.
    origin: u16,
    stage: Stage,
    back: bool,
}

/// The gateways that a message over `origin` passes on its way to `receiver`.
fn there(graph: &Graph, origin: u16, receiver: u16) -> Vec<Stay> {
    stays(graph, origin, receiver, false)
}

fn stays(graph: &Graph, origin: u16, receiver: u16, back: bool) -> Vec<Stay> {
    let mut all = Vec::new();
    let mut at = graph.channel(origin);
    while let Some(channel) = at.filter(|c| !c.readers.contains(&receiver)) {
        let next = graph.onward(channel.id);
        all.extend(next.map(|next| Stay {
            participant: next.writer,
            origin,
            // A gateway has the number of the leg before it on the way there.
            stage: Stage::Gateway(1 + channel.leg_of_readers().min(next.leg)),
            back,
        }));
        at = next;
    }
    all
}

/// The same to the echo and back; `None` with several echoes, of which the last one's way counts.
fn round_trip(graph: &Graph, origin: u16, initiator: u16) -> Option<Vec<Stay>> {
    let [echo] = graph.receivers(origin) else {
        return None;
    };
    let mut way = there(graph, origin, *echo);
    let last = graph
        .incoming(*echo)
        .find(|c| graph.origin(c.id) == origin)?;
    let pong = graph.outgoing(*echo).find(|c| c.answers == Some(last.id))?;
    way.push(Stay {
        participant: *echo,
        origin,
        stage: Stage::Echo,
        back: false,
    });
    way.extend(stays(graph, pong.id, initiator, true));
    Some(way)
}

/// The stages of a way: a leg before each stay and one behind the last.
fn named(way: &[Stay]) -> Vec<(Stage, bool)> {
    let mut all = Vec::new();
    let mut leg = 1;
    let mut back = false;
    for stay in way {
        all.push((Stage::Leg(leg), back));
        all.push((stay.stage, stay.back));
        match (stay.stage, back) {
            // The last leg of the way there is the first of the way back.
            (Stage::Echo, _) => back = true,
            (_, false) => leg += 1,
            (_, true) => leg -= 1,
        }
    }
    all.push((Stage::Leg(leg), back));
    all
}

/// No shorter stall is a gateway's own: whoever watches it may itself have waited for a CPU.
const LEAST_STALL: u64 = 100_000_000;

/// The longest time within a stall in which the participant noted no message: while it notes some, it does not stand still.
fn stood(stall: &Stall, passages: &[Passages]) -> Option<Stall> {
    let own = passages
        .iter()
        .filter(|p| p.participant == stall.participant);
    let notes = own.flat_map(|p| &p.passages).flat_map(|p| [p.1, p.2]);
    let within = notes.filter(|at| (stall.from..=stall.to).contains(at));
    let mut times: Vec<_> = within.chain([stall.from, stall.to]).collect();
    times.sort_unstable();
    let longest = times.windows(2).max_by_key(|pair| pair[1].0 - pair[0].0)?;
    (longest[1].0 - longest[0].0 >= LEAST_STALL).then_some(Stall {
        from: longest[0],
        to: longest[1],
        ..*stall
    })
}

/// When a message that was sent to a participant at `since` and taken at `came` found it standing still.
fn found_still(stalls: &[Stall], participant: u16, since: u64, came: u64) -> Option<u64> {
    let own = stalls.iter().filter(|s| s.participant == participant);
    let waited = own.filter(|s| since < s.to.0 && s.to.0 <= came);
    waited.map(|s| s.from.0.max(since)).min()
}

/// The messages of one end that everybody on the way has kept.
fn joined<'a>(
    whole: &'a Passages,
    way: &[Stay],
    passages: &'a [Passages],
    stalls: &'a [Stall],
) -> impl Iterator<Item = Message> + use<'a> {
    let who: Vec<u16> = way.iter().map(|stay| stay.participant).collect();
    let of = |stay: &Stay| {
        let found = passages
            .iter()
            .find(|p| (p.participant, p.channel) == (stay.participant, stay.origin));
        let found = found.map_or(&[][..], |p| &p.passages);
        // Of a message that came twice the first counts, as at the ends: a map keeps the last that it is given.
        let by_number = found.iter().rev().map(|p| (p.0, (p.1.0, p.2.0)));
        by_number.collect::<HashMap<u64, (u64, u64)>>()
    };
    let stays: Vec<HashMap<u64, (u64, u64)>> = way.iter().map(of).collect();
    whole.passages.iter().filter_map(move |message| {
        let (sent, arrived) = (message.1.0, message.2.0);
        let mut parts = Vec::with_capacity(2 * stays.len() + 1);
        let mut since = sent;
        for (stay, participant) in stays.iter().zip(&who) {
            let (came, went) = stay.get(&message.0)?;
            let came = found_still(stalls, *participant, since, *came).unwrap_or(*came);
            parts.push(came.wrapping_sub(since) as i64);
            parts.push(went.wrapping_sub(came) as i64);
            since = *went;
        }
        parts.push(arrived.wrapping_sub(since) as i64);
        Some(Message {
            whole: arrived.wrapping_sub(sent) as i64,
            parts,
        })
    })
}

/// What is kept of a trial's messages.
fn summary(stages: &[(Stage, bool)], mut messages: Vec<Message>) -> Option<Parts> {
    let n = messages.len();
    if n == 0 {
        return None;
    }
    messages.sort_by_key(|message| message.whole);
    let least = messages.iter().flat_map(|m| &m.parts).min().copied()?;
    let missed = |m: &Message| m.whole.abs_diff(m.parts.iter().sum());
    let residual = messages.iter().map(missed).max();
    // The slowest hundredth, and the twentieth on either side of the median: at least one message each.
    let slowest = &messages[n - n.div_ceil(100)..];
    let middle = &messages[n * 45 / 100..(n * 55 / 100).max(n * 45 / 100 + 1)];
    let mean = |of: &[Message], part: usize| {
        let sum: f64 = of.iter().map(|m| m.parts[part] as f64).sum();
        sum / of.len() as f64
    };
    let part = |(number, (stage, back)): (usize, &(Stage, bool))| {
        let mut all: Vec<i64> = messages.iter().map(|m| m.parts[number]).collect();
        all.sort_unstable();
        // The smallest value that at least this share of all does not exceed.
        let quantile = |percent: usize| all[(n * percent).div_ceil(100).max(1) - 1];
        Part {
            stage: *stage,
            back: *back,
            mean: mean(&messages, number),
            p50: quantile(50),
            p90: quantile(90),
            p99: quantile(99),
            at_median: mean(middle, number),
            in_tail: mean(slowest, number),
        }
    };
    Some(Parts {
        messages: n as u64,
        least,
        residual,
        parts: stages.iter().enumerate().map(part).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_model::graph::Shape;
    use dyno_model::plan::{Host, Reach};
    use dyno_model::protocol::Passage;
    use dyno_model::{Nanos, Placement, Testbed, WorkloadKind};

    fn graph(workload: WorkloadKind, topology: &str, legs: &[Placement]) -> Graph {
        let shape = Shape {
            workload,
            topology: topology.parse().unwrap(),
            placement: Placement::Process,
            loopback: false,
            legs,
            foreign: &[],
        };
        let here = Host {
            name: "here".into(),
            reach: Reach::Local,
            address: "127.0.0.1".into(),
            link: None,
            own_clock: false,
        };
        let testbed = Testbed {
            name: "local".into(),
            description: String::new(),
            hosts: vec![here],
            keeps_state: false,
        };
        Graph::of(shape, &testbed)
    }

    fn seen(participant: u16, channel: u16, passages: &[(u64, u64, u64)]) -> Passages {
        let passage = |(n, came, went): &(u64, u64, u64)| Passage(*n, Nanos(*came), Nanos(*went));
        Passages {
            participant,
            channel,
            passages: passages.iter().map(passage).collect(),
        }
    }

    fn found(parts: &Parts) -> Vec<(String, i64)> {
        let name = |p: &Part| match p.back {
            true => format!("{} back", p.stage),
            false => p.stage.to_string(),
        };
        parts.parts.iter().map(|p| (name(p), p.p50)).collect()
    }

    const LEGS: &[Placement] = &[Placement::Process; 2];

    #[test]
    fn the_parts_of_a_way_follow_each_other_and_add_up() {
        let graph = graph(WorkloadKind::Stream, "1-1", LEGS);
        // Participant 2 is the gateway; the second message is not known to it.
        let all = [
            seen(1, 0, &[(0, 100, 170), (1, 200, 280)]),
            seen(2, 0, &[(0, 120, 150)]),
        ];
        let parts = parts(&graph, &all, &[]).unwrap();
        assert_eq!(
            (parts.messages, parts.least, parts.residual),
            (1, 20, Some(0))
        );
        let expected = [("leg 1", 20), ("gateway 1", 30), ("leg 2", 20)];
        let expected = expected.map(|(name, ns)| (name.to_owned(), ns));
        assert_eq!(found(&parts), expected);
    }

    #[test]
    fn a_round_trip_has_the_way_back_too() {
        let graph = graph(WorkloadKind::PingPong, "1-1", LEGS);
        let pong = graph.outgoing(1).next().unwrap().id;
        let all = [
            seen(0, 0, &[(7, 1_000, 1_100)]),
            seen(1, 0, &[(7, 1_030, 1_045)]),
            seen(2, 0, &[(7, 1_010, 1_012)]),
            seen(2, pong, &[(7, 1_060, 1_090)]),
        ];
        let parts = parts(&graph, &all, &[]).unwrap();
        let expected = [
            ("leg 1", 10),
            ("gateway 1", 2),
            ("leg 2", 18),
            ("echo", 15),
            ("leg 2 back", 15),
            ("gateway 1 back", 30),
            ("leg 1 back", 10),
        ];
        let expected = expected.map(|(name, ns)| (name.to_owned(), ns));
        assert_eq!(found(&parts), expected);
    }

    #[test]
    fn the_tail_is_told_from_the_median() {
        let graph = graph(WorkloadKind::Stream, "1-1", LEGS);
        // Of 200 messages the gateway holds two for 500.
        let held = |n: u64| if n < 2 { 500 } else { 5 };
        let sink: Vec<_> = (0..200)
            .map(|n| (n, n * 1_000, n * 1_000 + 20 + held(n)))
            .collect();
        let gateway = (0..200).map(|n| (n, n * 1_000 + 10, n * 1_000 + 10 + held(n)));
        let gateway: Vec<_> = gateway.collect();
        let parts = parts(&graph, &[seen(1, 0, &sink), seen(2, 0, &gateway)], &[]).unwrap();
        let held: Vec<_> = parts
            .parts
            .iter()
            .map(|p| (p.at_median, p.in_tail))
            .collect();
        assert_eq!(held, [(10.0, 10.0), (5.0, 500.0), (10.0, 10.0)]);
    }

    #[test]
    fn what_waits_for_a_gateway_that_stands_still_waits_in_its_stay() {
        let graph = graph(WorkloadKind::Stream, "1-1", LEGS);
        let ms = |n: u64| n * 1_000_000;
        // It last runs at 1 ms, and again at 501 ms; the watch saw it at 0 and at 505 ms.
        let gateway = [
            (0, ms(1), ms(1)),
            (1, ms(501), ms(502)),
            (2, ms(502), ms(502)),
        ];
        let sink = [
            (0, 0, ms(2)),
            (1, ms(300), ms(503)),
            (2, ms(502) - 5, ms(503)),
        ];
        let all = [seen(1, 0, &sink), seen(2, 0, &gateway)];
        let stall = |from, to| Stall {
            participant: 2,
            from: Nanos(from),
            to: Nanos(to),
        };
        let most = |stalls: &[Stall]| {
            let parts = parts(&graph, &all, stalls).unwrap();
            parts.parts.iter().map(|p| p.p99).collect::<Vec<_>>()
        };
        let (leg, stay) = (ms(201) as i64, ms(1) as i64);
        assert_eq!(most(&[]), [leg, stay, stay]);
        assert_eq!(most(&[stall(0, ms(505))])[..2], [stay, leg + stay]);
        // One that notes messages all the while does not stand still.
        assert_eq!(most(&[stall(ms(495), ms(505))])[..2], [leg, stay]);
    }

    #[test]
    fn a_message_that_is_put_together_with_another_one_shows_below_zero() {
        let graph = graph(WorkloadKind::Stream, "1-1", LEGS);
        let least = |gateway: &[(u64, u64, u64)]| {
            let all = [seen(1, 0, &[(0, 100, 170)]), seen(2, 0, gateway)];
            parts(&graph, &all, &[]).unwrap().least
        };
        // The gateway's note is of a message of the same number that was sent later.
        assert_eq!(least(&[(0, 220, 250)]), -80);
        // Of one that came twice the first counts.
        assert_eq!(least(&[(0, 120, 150), (0, 220, 250)]), 20);
    }

    #[test]
    fn with_several_echoes_no_way_is_the_one() {
        let graph = graph(WorkloadKind::PingPong, "1-2", LEGS);
        assert_eq!(parts(&graph, &[seen(0, 0, &[(0, 1, 2)])], &[]), None);
    }
}
