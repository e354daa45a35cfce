//! What is counted at two places: messages and their bytes, what was sent and what arrived, and the whole and its parts.

use super::assumption::Assumption;
use crate::context::{Context, DataSet, interval, outcome, printed};
use crate::interval::{Interval, short, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Figure, Quantity, SECOND, SIZES, Statistic};
use std::collections::BTreeMap;

/// All messages are of one size, of which nothing but the payload counts.
pub(super) const ONE_SIZE: Assumption = Assumption {
    says: "all messages are of the size that is printed, and headers do not count",
    innocent: "messages of other sizes, and headers, change the sums",
};

/// A rate of messages and their payload make the bytes per second. Importers of tools that send one size state it themselves.
pub(super) fn sizes(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in context.sets.iter().filter(|s| s.quantity == Quantity::Rate) {
        let bytes = context.beside(set, Quantity::Bandwidth);
        let bytes = bytes.and_then(|s| s.one(Statistic::Rate));
        let (Some(many), Some(bytes)) = (set.one(Statistic::Rate), bytes) else {
            continue;
        };
        if many.method.tool.is_some() && !set.conditions.contains_key(SIZES) {
            continue;
        }
        let Some(payload) = many.method.payload_bytes.filter(|b| *b > 0.0) else {
            continue;
        };
        let product = interval(many).times(Interval::exactly(payload));
        let calculation = format!(
            "{} × {} B = {}; printed is {}",
            printed(many),
            short(payload),
            with_unit(product.middle(), bytes.printed.unit.dimension),
            printed(bytes)
        );
        let (verdict, says) = match product.meets(interval(bytes)) {
            true => (Verdict::NoObjection, "messages and bytes agree".to_owned()),
            false => (
                Verdict::Inconsistent,
                format!("{} are not the bytes of {}", printed(bytes), printed(many)),
            ),
        };
        let held = outcome("sizes", verdict, &[bytes, many], says, calculation);
        found.push(ONE_SIZE.unless(false, held));
    }
    found
}

/// What is received was sent by whoever is counted.
pub(super) const ALONE: Assumption = Assumption {
    says: "all senders are counted, each message goes to one receiver and none was under way before",
    innocent: "another process may send too, and several receivers get each message",
};

/// No more arrives, or is missed, than was sent. Who sent nothing at all is a receiver alone.
pub(super) fn received(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    let one = |set: &DataSet, quantity| {
        let figure = context.beside(set, quantity)?.one(Statistic::Count)?;
        (figure.printed.bound == Bound::Rounded).then_some(figure)
    };
    // In one second may arrive what was sent in the one before.
    let of_all = |s: &&DataSet| !s.conditions.contains_key(SECOND);
    for set in context
        .sets
        .iter()
        .filter(|s| s.quantity == Quantity::Sent)
        .filter(of_all)
    {
        let (Some(sent), Some(arrived)) = (one(set, Quantity::Sent), one(set, Quantity::Received))
        else {
            continue;
        };
        if interval(sent).hi <= 0.0 {
            continue;
        }
        let lost = one(set, Quantity::Loss);
        let figures: Vec<&Figure> = [arrived, sent].into_iter().chain(lost).collect();
        let known = lost.map_or(interval(arrived), |l| interval(arrived).plus(interval(l)));
        let more = known.lo > interval(sent).hi * (1.0 + 1e-9);
        let calculation = format!(
            "{} received{} of {} sent",
            printed(arrived),
            lost.map_or(String::new(), |l| format!(" and {} lost", printed(l))),
            printed(sent)
        );
        let (verdict, says) = match more {
            true => (
                Verdict::Inconsistent,
                "arrivals and losses together exceed what was sent",
            ),
            false => (
                Verdict::NoObjection,
                "arrivals and losses together do not exceed what was sent",
            ),
        };
        let method = &sent.method;
        let alone = method.clocks == Some(1) && method.receivers == Some(1);
        let held = outcome("received", verdict, &figures, says, calculation);
        found.push(ALONE.unless(alone, held));
    }
    found
}

/// The whole has the extremes of its parts, and as many values as they have together.
pub(super) fn parts(context: &Context) -> Vec<Outcome> {
    let is_part = |set: &&DataSet| set.conditions.contains_key(SECOND);
    let without = |set: &DataSet| {
        let mut conditions: BTreeMap<String, String> = set.conditions.clone();
        conditions.retain(|key, _| key != SECOND && key != "benchmark");
        (set.quantity, set.log.map(str::to_owned), conditions)
    };
    let mut found = Vec::new();
    let mut of: BTreeMap<_, Vec<&DataSet>> = BTreeMap::new();
    for part in context.sets.iter().filter(is_part) {
        of.entry(without(part)).or_default().push(part);
    }
    let wholes: Vec<&DataSet> = match of.is_empty() {
        true => Vec::new(),
        false => context.sets.iter().filter(|s| !is_part(s)).collect(),
    };
    let mut alike: BTreeMap<_, usize> = BTreeMap::new();
    for whole in &wholes {
        *alike.entry(without(whole)).or_default() += 1;
    }
    // Of several runs in one text nobody knows whose the parts are.
    let wholes = wholes
        .into_iter()
        .filter(|w| alike.get(&without(w)) == Some(&1));
    for whole in wholes {
        let Some(parts) = of.get(&without(whole)) else {
            continue;
        };
        let both = [(Statistic::Max, true), (Statistic::Min, false)];
        let extremes = both.map(|(statistic, larger)| extreme(whole, parts, statistic, larger));
        found.extend(extremes.into_iter().flatten());
        let together = parts
            .iter()
            .filter_map(|p| p.n())
            .fold(0u64, u64::saturating_add);
        if let (Some(n), Some(first)) = (whole.n(), whole.figures.first().filter(|_| together > 0))
        {
            let (verdict, says) = match together > n {
                false => (
                    Verdict::NoObjection,
                    "the parts have no more values than the whole",
                ),
                true => (
                    Verdict::Inconsistent,
                    "the parts have more values than the whole",
                ),
            };
            let calculation = format!("{together} in the parts, {n} in all");
            found.push(outcome("parts", verdict, &[first], says, calculation));
        }
    }
    found
}

/// Whether a part has a value beyond an extreme of the whole; `larger` of the largest.
fn extreme(
    whole: &DataSet,
    parts: &[&DataSet],
    statistic: Statistic,
    larger: bool,
) -> Option<Outcome> {
    let of_whole = whole.one(statistic)?;
    let beyond = |f: &&Figure| match larger {
        true => interval(f).lo > interval(of_whole).hi,
        false => interval(f).hi < interval(of_whole).lo,
    };
    let mut figures = parts.iter().filter_map(|p| p.one(statistic)).peekable();
    let first = figures.peek().copied()?;
    let against = figures.find(beyond);
    let (verdict, says) = match against {
        None => (
            Verdict::NoObjection,
            "the whole has the extremes of its parts".to_owned(),
        ),
        Some(part) => (
            Verdict::Inconsistent,
            format!(
                "the {statistic} of all is {} and that of a part {}",
                printed(of_whole),
                printed(part)
            ),
        ),
    };
    let part = against.unwrap_or(first);
    let calculation = format!("{} of all, {} of a part", printed(of_whole), printed(part));
    Some(outcome(
        "parts",
        verdict,
        &[of_whole, part],
        says,
        calculation,
    ))
}
