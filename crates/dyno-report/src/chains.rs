//! The way of messages through a chain: its parts, what each leg lost, what each participant cost, and what the
//! chain adds to the sum of its legs alone.

use crate::number::{duration, share, sig3};
use crate::remark::Item;
use crate::summary::{
    AddedSummary, ChainSummary, DaemonCost, ExperimentSummary, GatewaySummary, LEAST_TRIALS,
    LegSummary, PartSummary,
};
use crate::totals::processes;
use crate::view::View;
use dyno_model::chain::{Chain, Part, Stage};
use dyno_model::record::FlowCounts;
use dyno_model::{Channel, Experiment, Graph, Metric, Plan, Role, TrialRecord};
use dyno_stats::{Bootstrap, Mean};
use std::collections::{BTreeMap, BTreeSet};

/// Messages of which one is the slowest hundredth.
const HUNDRED: u64 = 100;
/// Confidence of all intervals here.
const CONFIDENCE: f64 = 0.95;

/// `None` where the stack is no chain. Without what the chain adds, which takes the trials of other experiments.
pub(crate) fn summarise(
    plan: &Plan,
    experiment: &Experiment,
    trials: &[&TrialRecord],
) -> Option<ChainSummary> {
    let stack = plan.stacks.get(&experiment.stack)?;
    let chain = stack.chain.as_ref()?;
    let graph = plan.graph(experiment);
    let with_parts = trials.iter().filter_map(|t| t.parts.as_ref());
    Some(ChainSummary {
        messages: with_parts.clone().map(|p| p.messages).sum(),
        least_ns: with_parts.clone().map(|p| p.least).min(),
        residual_ns: with_parts.filter_map(|p| p.residual).max(),
        parts: parts(chain, trials),
        programs: programs(chain),
        legs: legs(chain, &graph, trials),
        gateways: gateways(&graph, trials),
        processes: processes(trials, |p| !p.daemon),
        added: None,
    })
}

fn programs(chain: &Chain) -> Vec<String> {
    let all = chain.gateways.iter().flat_map(|g| &g.programs);
    all.map(|program| program.name.clone()).collect()
}

/// The stack of a leg; of one that a program bridges to others all of them, with the programs between.
fn span_of(chain: &Chain, leg: u16) -> String {
    let mut text = stack_of(chain, leg);
    let behind = chain.gateways.iter().skip(usize::from(leg));
    for (next, gateway) in (leg + 1..).zip(behind.take_while(|g| g.is_foreign())) {
        for program in &gateway.programs {
            text.push_str(&format!(", {}", program.name));
        }
        text.push_str(&format!(", {}", stack_of(chain, next)));
    }
    text
}

fn stack_of(chain: &Chain, leg: u16) -> String {
    let leg = chain.legs.get(usize::from(leg));
    leg.map_or_else(String::new, |leg| leg.stack.clone())
}

fn parts(chain: &Chain, trials: &[&TrialRecord]) -> Vec<PartSummary> {
    let all: Vec<&[Part]> = trials
        .iter()
        .filter_map(|t| Some(t.parts.as_ref()?.parts.as_slice()))
        .collect();
    let Some(first) = all.first() else {
        return Vec::new();
    };
    let mut known = trials.iter().filter_map(|t| t.parts.as_ref());
    let never_negative = known.all(|p| p.least >= 0);
    // Each figure is the mean of the trials' own, which each must bear.
    let known = trials.iter().filter_map(|t| t.parts.as_ref());
    let least = known.map(|p| p.messages).min().unwrap_or(0);
    let bears = |q: f64| least >= dyno_stats::needed(q, &Bootstrap::default());
    let one = |(i, part): (usize, &Part)| {
        let own = || all.iter().filter_map(|parts| parts.get(i));
        let mean = |of: fn(&Part) -> f64| {
            let mut mean = Mean::of(&own().map(of).collect::<Vec<f64>>(), CONFIDENCE)?;
            // On one clock no part of any message is below zero, and so is no mean of them.
            if never_negative {
                mean.interval = mean.interval.map(|(lo, hi)| (lo.max(0.0), hi));
            }
            Some(mean)
        };
        Some(PartSummary {
            stage: part.stage,
            stack: match part.stage {
                Stage::Leg(number) => Some(stack_of(chain, number - 1)),
                Stage::Gateway(_) | Stage::Echo => None,
            },
            back: part.back,
            mean: mean(|p| p.mean)?,
            p50: mean(|p| p.p50 as f64)?,
            p90: mean(|p| p.p90 as f64).filter(|_| bears(0.9)),
            p99: mean(|p| p.p99 as f64).filter(|_| bears(0.99)),
            share: 0.0,
            at_median: mean(|p| p.at_median)?.value,
            in_tail: mean(|p| p.in_tail)
                .filter(|_| least >= HUNDRED)
                .map(|m| m.value),
        })
    };
    let mut found: Vec<PartSummary> = first.iter().enumerate().filter_map(one).collect();
    let whole: f64 = found.iter().map(|p| p.mean.value).sum();
    for part in &mut found {
        part.share = part.mean.value / whole;
    }
    found
}

/// What went over each leg, there and back.
fn legs(chain: &Chain, graph: &Graph, trials: &[&TrialRecord]) -> Vec<LegSummary> {
    let begin = |c: &Channel| c.leg.min(c.leg_of_readers());
    let own: BTreeSet<u16> = graph.channels.iter().map(begin).collect();
    let back = graph.channels.iter().any(|c| c.answers.is_some());
    let there = own.iter().map(|leg| (*leg, false));
    let returns = own.iter().rev().filter(|_| back).map(|leg| (*leg, true));
    let one = |(leg, back): (u16, bool)| {
        let own = |c: &&Channel| begin(c) == leg && c.answers.is_some() == back;
        let over = |count: fn(&Graph, &Channel, &TrialRecord) -> u64| {
            let each = |t: &&TrialRecord| -> u64 {
                let all = graph.channels.iter().filter(own);
                all.map(|c| count(graph, c, t)).fold(0, u64::saturating_add)
            };
            trials.iter().map(each).fold(0, u64::saturating_add)
        };
        // Who begins an exchange counts for all of its channels together.
        let of_ends = |count: fn(&TrialRecord) -> u64| {
            let all = trials.iter().map(|t| count(t));
            all.fold(0, u64::saturating_add)
        };
        // Every way of a topology ends at as many.
        let origin = graph.channels.iter().find(own).map(|c| c.id);
        let deliveries = origin.map_or(1, |id| graph.deliveries(id, 0)).max(1);
        let echoes = graph.participants.iter().filter(|p| p.role == Role::Echo);
        let sent = match (leg, back) {
            // Counted once for each receiver in the end, and one gateway takes it.
            (0, false) => of_ends(|t| t.counts.sent) / deliveries,
            _ => over(sent),
        };
        let arrived = match (leg, back) {
            (0, true) => of_ends(|t| t.counts.received) * echoes.count() as u64,
            _ => over(arrived),
        };
        LegSummary {
            number: leg + 1,
            stack: span_of(chain, leg),
            back,
            sent,
            arrived,
            lost: sent.saturating_sub(arrived),
        }
    };
    there.chain(returns).map(one).collect()
}

/// What was sent over a channel, once for each reader.
fn sent(graph: &Graph, channel: &Channel, trial: &TrialRecord) -> u64 {
    let readers = channel.readers.len() as u64;
    let by_gateway = trial.forwarded.iter().filter(|f| f.onto == channel.id);
    match (
        graph.participant(channel.writer).map(|p| p.role),
        channel.answers,
    ) {
        (Some(Role::Gateway), _) => readers * by_gateway.map(|f| f.sent).sum::<u64>(),
        // An echo answers every ping that came to it intact.
        (_, Some(ping)) => {
            let ping = graph.origin(ping);
            let own = |f: &&FlowCounts| f.channel == ping && f.receiver == channel.writer;
            trial.flows.iter().filter(own).map(|f| f.received).sum()
        }
        _ => 0,
    }
}

/// What came over it.
fn arrived(graph: &Graph, channel: &Channel, trial: &TrialRecord) -> u64 {
    let reader = channel.readers.first().and_then(|r| graph.participant(*r));
    if reader.is_some_and(|p| p.role == Role::Gateway) {
        let taken = trial.forwarded.iter().filter(|f| f.from == channel.id);
        return taken.map(|f| f.taken).sum();
    }
    let origin = graph.origin(channel.id);
    let own = |f: &&FlowCounts| f.channel == origin && channel.readers.contains(&f.receiver);
    let all = trial.flows.iter().filter(own);
    all.map(|f| f.received + f.duplicated + f.corrupted + f.truncated)
        .sum()
}

fn gateways(graph: &Graph, trials: &[&TrialRecord]) -> Vec<GatewaySummary> {
    let mut all: BTreeMap<(u16, bool), GatewaySummary> = BTreeMap::new();
    for f in trials.iter().flat_map(|t| &t.forwarded) {
        let (Some(from), Some(onto)) = (graph.channel(f.from), graph.channel(f.onto)) else {
            continue;
        };
        let number = 1 + from.leg_of_readers().min(onto.leg);
        let back = from.answers.is_some();
        let sum = all.entry((number, back)).or_insert(GatewaySummary {
            number,
            back,
            lent: f.lent,
            ..GatewaySummary::default()
        });
        sum.taken += f.taken;
        sum.sent += f.sent;
        sum.refused += f.refused;
        sum.dropped += f.dropped;
        sum.copied += f.copied;
        sum.lent &= f.lent;
    }
    all.into_values().collect()
}

/// Mean and median of a metric in each trial, by the trial's number, in nanoseconds.
pub(crate) type OfTrials = BTreeMap<u32, [f64; 2]>;

/// What `whole` adds to `legs`, in the trials that all of them have.
pub(crate) fn added(
    metric: Metric,
    whole: &OfTrials,
    legs: &[OfTrials],
    how: &Bootstrap,
) -> Option<AddedSummary> {
    let difference = |(number, own): (&u32, &[f64; 2])| {
        let mut left = *own;
        for leg in legs {
            let leg = leg.get(number)?;
            left = [left[0] - leg[0], left[1] - leg[1]];
        }
        Some(left)
    };
    let all: Vec<[f64; 2]> = whole.iter().filter_map(difference).collect();
    // A single trial does not show how much trials differ.
    if all.len() < LEAST_TRIALS {
        return None;
    }
    let mean = |i: usize| {
        let values: Vec<f64> = all.iter().map(|d| d[i]).collect();
        Mean::of(&values, how.confidence)
    };
    Some(AddedSummary {
        metric,
        trials: all.len(),
        mean: mean(0)?,
        p50: mean(1)?,
    })
}

/// `leg 1 (pipe) back`.
pub(crate) fn name(stage: Stage, stack: Option<&str>, back: bool) -> String {
    let stack = stack.map_or(String::new(), |s| format!(" ({s})"));
    let back = if back { " back" } else { "" };
    format!("{stage}{stack}{back}")
}

/// A time that may be below zero, with its interval: `12.3 µs [11.9, 12.7]`, both in one unit.
pub(crate) fn time(mean: &Mean) -> String {
    let unit = crate::number::TimeUnit::of(mean.value.abs());
    let value = format!("{} {}", sig3(mean.value / unit.ns()), unit.as_str());
    match mean.interval {
        Some((lo, hi)) => {
            let end = |ns: f64| sig3(ns / unit.ns());
            format!("{value} [{}, {}]", end(lo), end(hi))
        }
        None => value,
    }
}

/// What the parts hold where echoes of chains sleep.
pub(crate) fn of_sleep(rows: &[&ExperimentSummary]) -> Option<String> {
    let sleeps = |e: &&ExperimentSummary| e.chain.is_some() && e.experiment.echo_poll.is_some();
    rows.iter().any(sleeps).then(|| {
        "Parts of the way: if a message arrives while the echo sleeps, its wait counts for the leg that leads to the echo."
            .to_owned()
    })
}

/// The parts of each row's way, and what stands with them.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let one = |e: &&ExperimentSummary| {
        let chain = e.chain.as_ref()?;
        let text = match (chain.programs.as_slice(), chain.parts.is_empty()) {
            ([], true) if e.experiment.topology.receivers > 1 => {
                "with several echoes, a round trip ends with the last reply, so no single path is the whole round trip".to_owned()
            }
            ([], true) => "no message was recorded on its whole way".to_owned(),
            ([], false) => match e.missing_messages() {
                None => format!("{} messages", chain.messages),
                Some(missing) => format!(
                    "{} messages, without those that did not arrive ({missing})",
                    chain.messages
                ),
            },
            (programs, _) => format!(
                "bridged by {}: Dyno cannot look inside, so it knows the residence time only from outside, as the chain minus its legs",
                programs.join(", ")
            ),
        };
        Some(Item {
            text: format!("{}: {text}", view.label(e)),
            lines: lines(chain, !e.experiment.legs.is_empty()),
        })
    };
    view.rows.iter().filter_map(one).collect()
}

fn lines(chain: &ChainSummary, with_legs: bool) -> Vec<String> {
    let mut lines: Vec<String> = chain.parts.iter().map(part).collect();
    if let Some(least) = chain.least_ns.filter(|least| *least < 0) {
        lines.push(format!(
            "the smallest part is {}: within the error of the hosts' clocks, or records of \
             different messages were combined",
            duration(least as f64)
        ));
    }
    for leg in chain.legs.iter().filter(|leg| leg.lost > 0) {
        let name = name(Stage::Leg(leg.number), Some(&leg.stack), leg.back);
        // Who began an exchange counts no response that came later than it waits.
        let or_late = match leg.back && leg.number == 1 {
            true => ", or they arrived after the drain",
            false => "",
        };
        lines.push(format!(
            "{name} lost {} of {} ({}){or_late}",
            leg.lost,
            leg.sent,
            share(leg.lost as f64 / leg.sent as f64)
        ));
    }
    lines.extend(chain.gateways.iter().map(copies));
    let cost = |p: &DaemonCost| {
        let cpu = p.cpu_ns_per_message.map(|c| duration(c.median))?;
        Some(format!("{} {cpu}", p.label))
    };
    let costs: Vec<String> = chain.processes.iter().filter_map(cost).collect();
    if !costs.is_empty() {
        lines.push(format!("CPU per message: {}", costs.join(", ")));
    }
    if chain.added.is_none() && with_legs {
        lines.push(
            "the latency that the chain adds to its legs is not known: this needs two undisturbed \
             trials of each, with a finite p50, and a load that builds up no queue"
                .to_owned(),
        );
    } else if chain.added.is_none() && !chain.programs.is_empty() {
        lines.push("its legs were not measured alone; `dyno run … --legs` does that".to_owned());
    }
    if let Some(added) = &chain.added {
        let what = match chain.programs.is_empty() {
            true => "added by the chain to the sum of its legs alone",
            false => "residence time, from outside (the chain minus the sum of its legs alone)",
        };
        lines.push(format!(
            "{what}, {}: p50 {}, mean {}; paired by trial, {} trials",
            added.metric,
            time(&added.p50),
            time(&added.mean),
            added.p50.n
        ));
    }
    lines
}

fn part(p: &PartSummary) -> String {
    let quantile = |title, q: &Option<Mean>| q.as_ref().map(|q| format!(", {title} {}", time(q)));
    let tail = |ns| format!(", {} in the slowest 1 %", duration(ns));
    format!(
        "{}: p50 {}{}{}; {} of the mean; {} in messages around the median{}",
        name(p.stage, p.stack.as_deref(), p.back),
        time(&p.p50),
        quantile("p90", &p.p90).unwrap_or_default(),
        quantile("p99", &p.p99).unwrap_or_default(),
        share(p.share),
        duration(p.at_median),
        p.in_tail.map(tail).unwrap_or_default(),
    )
}

/// How often a gateway copied a payload beyond writing it once.
fn copies(g: &GatewaySummary) -> String {
    let GatewaySummary { copied, taken, .. } = g;
    let name = name(Stage::Gateway(g.number), None, g.back);
    let written = match g.lent {
        true => "written once, into memory of the next leg",
        false => "written once, and copied once more by the next leg's library or the kernel",
    };
    let mut text = format!("{name}: {copied} copies of its own of {taken} messages; {written}");
    for (n, what) in [
        (g.dropped, "dropped by its queue"),
        (g.refused, "refused by the next leg"),
    ] {
        if n > 0 {
            text.push_str(&format!("; {n} {what}"));
        }
    }
    text
}
