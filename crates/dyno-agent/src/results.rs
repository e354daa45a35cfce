//! What an agent reports in the end: what its participants measured, put together for each exchange.

use crate::event::Played;
use dyno_measure::{RecordError, merge_all};
use dyno_model::protocol::{AgentResult, Assignment, Role, Startup};
use dyno_model::{Channel, Nanos, Participant};
use std::collections::{BTreeMap, BTreeSet};

/// How the participants of this agent came to see their peers.
#[derive(Default)]
pub(crate) struct Starts {
    pub(crate) go: Nanos,
    /// By exchange, with the time from endpoints existing until matched of the slowest participant.
    exchanges: BTreeMap<u16, (Startup, Nanos)>,
}

impl Starts {
    /// A participant of an exchange had its endpoints at `opened` and saw its peers at `matched`.
    pub(crate) fn note(&mut self, exchange: u16, opened: Nanos, matched: Nanos) {
        let (startup, matching) = self.exchanges.entry(exchange).or_default();
        startup.opened = startup.opened.max(opened);
        startup.matched = startup.matched.max(matched);
        *matching = (*matching).max(matched.saturating_sub(opened));
    }

    fn of(&self, exchange: u16) -> AgentResult {
        let (startup, matching) = self.exchanges.get(&exchange).cloned().unwrap_or_default();
        AgentResult {
            exchange,
            open: startup.opened.saturating_sub(self.go),
            matching,
            startup: Some(Startup {
                go: self.go,
                ..startup
            }),
            ..AgentResult::default()
        }
    }
}

/// The results of the exchanges that these participants had a part in, in the order of exchanges.
///
/// # Errors
/// The histogram library fails.
pub(crate) fn by_exchange(
    played: Vec<(u16, Played)>,
    starts: &Starts,
) -> Result<Vec<AgentResult>, RecordError> {
    let mut all: BTreeMap<u16, Played> = BTreeMap::new();
    for (exchange, played) in played {
        all.entry(exchange).or_default().add(played);
    }
    let of_one = |(exchange, played): (u16, Played)| {
        let mut result = AgentResult {
            flows: played.flows,
            sources: played.sources,
            raw: played.raw,
            warnings: played.warnings,
            places: played.places,
            copies: played.copies,
            forwarded: played.forwarded,
            passages: played.passages,
            stalls: played.stalls,
            ..starts.of(exchange)
        };
        if let Some(startup) = &mut result.startup {
            startup.first = played.first;
        }
        merge_all(&mut result.distributions, played.distributions)?;
        Ok(result)
    };
    all.into_iter().map(of_one).collect()
}

/// The roles of this process, such as `source` or `initiator+echo`, with the flow that they are part of or their number
/// where they are many; a gateway with its number on the way.
pub(crate) fn label(assignment: &Assignment) -> String {
    let label = |p: &Participant| {
        let before = assignment.graph.incoming(p.index);
        let before = before.map(Channel::leg_of_readers).min();
        match (p.role, before) {
            (Role::Gateway, Some(leg)) => format!("{} {}", p.role.as_str(), leg + 1),
            _ => p.role.as_str().to_owned(),
        }
    };
    let mut roles: Vec<String> = assignment.participants().map(label).collect();
    if assignment.experiment.flow.is_none() {
        return roles.join("+");
    }
    let times = |alike: &[String]| match alike {
        [one] => one.clone(),
        several => format!("{} x {}", several.len(), several[0]),
    };
    roles.sort_unstable();
    let roles: Vec<String> = roles.chunk_by(|a, b| a == b).map(times).collect();
    let flows: BTreeSet<u16> = assignment.participants().map(|p| p.flow).collect();
    let mut participants = assignment.participants();
    let name = participants.next().filter(|_| flows.len() == 1);
    match name.and_then(|p| assignment.experiment_of(p).flow_name()) {
        Some(name) => format!("{} of {name}", roles.join("+")),
        None => roles.join("+"),
    }
}
