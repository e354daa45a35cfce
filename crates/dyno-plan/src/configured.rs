//! The stacks that a run asks for, each with its adapters, and what they can do of a cell.

use crate::capability;
use crate::catalog::Catalog;
use crate::cell::Cell;
use crate::chain;
use crate::quantity::At;
use crate::spec::{ExperimentSpec, StackChoice};
use crate::suite::Suite;
use dyno_model::plan::RefusalReason;
use dyno_model::{AdapterDescription, Experiment, Nanos, Stack, Wait};
use dyno_toml::{Place, Problems, Source};
use std::collections::BTreeMap;

/// A stack with the adapters of its legs; one without legs has one.
pub(crate) struct Configured<'a> {
    pub(crate) stack: Stack,
    pub(crate) adapters: Vec<&'a AdapterDescription>,
}

impl Configured<'_> {
    /// Why `cell` cannot be measured on it, or `None` if it can.
    pub(crate) fn refusal(&self, cell: &Cell, hosts: usize) -> Option<RefusalReason> {
        match (&self.stack.chain, self.adapters.as_slice()) {
            (Some(chain), all) => capability::of_chain(cell, &self.stack, chain, all, hosts),
            (None, [adapter, ..]) => capability::refusal(cell, &self.stack, adapter, hosts),
            (None, []) => Some(RefusalReason::NoAdapter {
                stack: self.stack.name.clone(),
            }),
        }
    }

    /// Why its sink cannot sleep after each message, where it is to.
    pub(crate) fn cannot_pause(
        &self,
        cell: &Cell,
        sink_pause: Option<Nanos>,
    ) -> Option<RefusalReason> {
        sink_pause?;
        if self.stack.loopback {
            return Some(RefusalReason::NoSlowPeer {
                stack: self.stack.name.clone(),
            });
        }
        let chain = self.stack.chain.as_ref();
        let last = chain.and_then(|chain| chain.legs.last()?.wait);
        let spins = last.unwrap_or(cell.wait) == Wait::Spin;
        spins.then_some(RefusalReason::SinkSpins)
    }

    /// Why its sink cannot look in the cycle that `common` asks for.
    pub(crate) fn cannot_cycle(&self, cell: &Cell, common: &Experiment) -> Option<RefusalReason> {
        let cycle = common.sink_cycle?;
        if self.stack.loopback {
            return Some(RefusalReason::NobodyLooks {
                stack: self.stack.name.clone(),
            });
        }
        if cycle > common.drain {
            return Some(RefusalReason::CycleBeyondDrain {
                cycle,
                drain: common.drain,
            });
        }
        let chain = self.stack.chain.as_ref();
        let last = chain.and_then(|chain| chain.legs.last()?.wait);
        let looks = last.unwrap_or(cell.wait) == Wait::Spin;
        (!looks).then_some(RefusalReason::SinkWaits)
    }

    /// Whether a call goes over a pair of channels: programs that bridge legs carry messages.
    pub(crate) fn is_paired(&self, cell: &Cell) -> bool {
        let chain = self.stack.chain.as_ref();
        let bridged = chain.is_some_and(|chain| chain.foreign().contains(&true));
        let is_call = cell.workload.kind().info().is_request_response;
        capability::is_paired(cell, &self.adapters) || (is_call && (bridged || self.stack.asks))
    }

    /// Why its echo cannot sleep between its looks, where it is to.
    pub(crate) fn cannot_poll(
        &self,
        cell: &Cell,
        echo_poll: Option<Nanos>,
    ) -> Option<RefusalReason> {
        let chain = self.stack.chain.as_ref();
        let last = chain.and_then(|chain| chain.legs.last()?.wait);
        let called = last.unwrap_or(cell.wait) == Wait::Callback;
        (called && echo_poll.is_some()).then_some(RefusalReason::EchoCalled)
    }
}

/// A stack that somebody asked for by name, and where.
pub(crate) type Named = At<String>;

pub(crate) fn from_flag(flag: &str, names: &[String]) -> Vec<Named> {
    let whole = Place::flag(flag, &names.join(","));
    let mut start = whole.span.start;
    let mut all: Vec<Named> = Vec::new();
    for name in names {
        let span = start..start + name.len();
        start = span.end + 1;
        if all.iter().all(|n| n.value != *name) {
            all.push(At {
                value: name.clone(),
                at: Place {
                    source: whole.source.clone(),
                    span,
                },
            });
        }
    }
    all
}

/// Reads the stacks that the run asks for: all of the catalog if any experiment asks for all.
pub(crate) fn read_stacks<'a>(
    catalog: &Catalog,
    suite: &Suite,
    named: Option<&[Named]>,
    adapters: &'a [AdapterDescription],
    problems: &mut Problems,
) -> BTreeMap<String, Configured<'a>> {
    let mut sources: BTreeMap<&str, &Source> = BTreeMap::new();
    let choices: Vec<&[Named]> = match named {
        Some(names) => vec![names],
        None => suite
            .experiments
            .iter()
            .filter_map(|e| match &e.stacks {
                StackChoice::Listed(names) => Some(names.as_slice()),
                StackChoice::All => None,
            })
            .collect(),
    };
    for name in choices.into_iter().flatten() {
        match catalog.stack(&name.value, &name.at) {
            Ok(source) => {
                sources.insert(&name.value, source);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let all = |e: &ExperimentSpec| matches!(e.stacks, StackChoice::All);
    if named.is_none() && suite.experiments.iter().any(all) {
        sources.extend(catalog.stacks.iter().map(|(n, s)| (n.as_str(), s)));
    }
    sources
        .into_iter()
        .filter_map(|(name, source)| {
            let configured = configure(catalog, name, source, adapters, problems)?;
            Some((name.to_owned(), configured))
        })
        .collect()
}

pub(crate) fn configure<'a>(
    catalog: &Catalog,
    name: &str,
    source: &Source,
    adapters: &'a [AdapterDescription],
    problems: &mut Problems,
) -> Option<Configured<'a>> {
    let stack = chain::read_stack(catalog, name, source, adapters, &[], problems)?;
    let names = stack.adapters().into_iter();
    let of = names.map(|name| adapters.iter().find(|a| a.name == name));
    let adapters = of.collect::<Option<_>>()?;
    Some(Configured { stack, adapters })
}

/// Every stack of the catalog that is a floor. Those that cannot be read are passed over: where
/// the run asks for them, that is an error already.
pub(crate) fn floor_stacks<'a>(
    catalog: &Catalog,
    adapters: &'a [AdapterDescription],
) -> Vec<FloorStack<'a>> {
    catalog
        .stacks
        .iter()
        .filter_map(|(name, source)| {
            let mut problems = Problems::default();
            let c = configure(catalog, name, source, adapters, &mut problems)?;
            let adapter = *c.adapters.first()?;
            (problems.is_empty() && c.stack.floor).then_some(FloorStack {
                stack: c.stack,
                adapter,
            })
        })
        .collect()
}

/// A floor stack with its adapter.
pub(crate) struct FloorStack<'a> {
    pub(crate) stack: Stack,
    pub(crate) adapter: &'a AdapterDescription,
}
