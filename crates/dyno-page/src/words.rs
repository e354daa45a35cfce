//! An answer in sentences: the best stack with its figures first, then how far the others are behind, then
//! those that cannot be compared and why.

use crate::question::Question;
use crate::ranking::{
    ENOUGH, Entry, Standing, all_failed, cpu, dropping_disturbed, each, floor, interval, ns,
    trials, yardstick,
};
use dyno_model::{Metric, TrialFigure, Wait};
use dyno_report::{ExperimentSummary, duration, share, sig3, with_prefix};

/// So many stacks of one kind are named, then "and 3 more".
pub(crate) const NAMED: usize = 6;

/// The whole answer, of the best ones and the others, each in their order.
pub(crate) fn text(named: &[&Entry<'_>], others: &[&Entry<'_>], metric: Metric) -> String {
    let is_alone = named.len() + others.len() == 1;
    let mut sentences = match named {
        [] => vec![match others {
            [only] => format!("No answer: {} {}.", only.name, absence(only)),
            _ => "No stack can be compared.".into(),
        }],
        [best] => vec![single(best, others, metric)],
        [first, ..] => tie(first, named, others, metric),
    };
    let rank = named.first().map(|x| x.rank());
    let (slower, left): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) =
        others.iter().copied().partition(|x| Some(x.rank()) == rank);
    if let Some(first) = named.first() {
        sentences.extend(times(&slower, first.p50()));
        sentences.extend(of_other_waits(named, others));
    }
    // Of one alone the first sentence has said it.
    if !is_alone {
        sentences.extend(incomparable(&left));
    }
    sentences.join(" ")
}

/// The sentence on a best stack that has no equal.
fn single(best: &Entry<'_>, others: &[&Entry<'_>], metric: Metric) -> String {
    let mut compared = others.iter().filter(|x| x.standing.compared().is_some());
    let drops = |x: &&Entry<'_>| matches!(x.standing, Standing::Drops(_));
    let fails = |x: &&Entry<'_>| matches!(x.standing, Standing::Fails(_));
    let some_fail = !fails(&best) && others.iter().any(fails);
    // A fault loses messages, so that nothing is said of who delivers.
    let has_faults = best.e.outage.is_some();
    let verdict = match compared.next() {
        None if others.is_empty() => "is the only stack",
        None => "is the only stack with a figure",
        Some(x) if x.rank() != best.rank() && some_fail && has_faults => {
            "is the only stack that succeeds in every trial"
        }
        Some(x) if x.rank() != best.rank() && some_fail => {
            "is the only stack that delivers and succeeds in every trial"
        }
        Some(x) if x.rank() != best.rank() => "is the only stack that delivers",
        Some(_) if some_fail && has_faults => {
            "is the fastest of the stacks that succeed in every trial"
        }
        Some(_) if some_fail => {
            "is the fastest of the stacks that deliver and succeed in every trial"
        }
        Some(_) if !drops(&best) && others.iter().any(drops) => {
            "is the fastest of the stacks that deliver"
        }
        Some(_) if best.is_whole() => "is the fastest",
        Some(_) => "leads",
    };
    let all_failed = all_failed(others.iter().copied().chain([best]));
    format!(
        "{}{} {verdict}: p50 {} {}.",
        among(best, others.is_empty(), all_failed),
        best.name,
        metric.phrase(),
        description(best)
    )
}

/// What stands before stacks that are best only because nobody delivers.
fn among(best: &Entry<'_>, is_alone: bool, all_failed: bool) -> String {
    match best.standing {
        Standing::Drops(_) if !is_alone => format!(
            "No stack delivers {} of the offered messages. Of the stacks that drop messages, ",
            share(ENOUGH)
        ),
        Standing::Fails(_) if !is_alone && best.e.outage.is_some() => {
            "No stack succeeded in every trial. In the completed trials, ".into()
        }
        Standing::Fails(_) if !is_alone && !all_failed => {
            "No stack that delivers succeeded in every planned trial. In the completed trials, "
                .into()
        }
        Standing::Fails(_) if !is_alone => {
            "Every stack that delivers has failed trials. In the completed trials, ".into()
        }
        _ => String::new(),
    }
}

/// Value, interval, × floor, cost, and what must be said with them.
fn description(x: &Entry<'_>) -> String {
    let e = x.e;
    let mut parts: Vec<String> = x.standing.compared().map(interval).into_iter().collect();
    parts.extend(floor(e).map(|ratio| format!("{} × {}", sig3(ratio), yardstick(e))));
    parts.extend(rate(e));
    parts.extend(cpu(e).map(|ns| cost(e, ns)));
    let mut text = parts.join(", ");
    let mut caveats = caveats(e);
    if x.is_open() {
        caveats
            .push("with the trials that the host disturbed, its p50 interval is too wide".into());
    }
    if e.is_unstable() {
        caveats.push("a repeated run may show another value".into());
    }
    if !caveats.is_empty() {
        text.push_str(&format!(" ({})", caveats.join("; ")));
    }
    text
}

/// What arrives, where that is what the workload is for.
pub(crate) fn rate(e: &ExperimentSummary) -> Option<String> {
    let saturates = e.experiment.workload.kind().info().is_of_rates;
    let rate = e.median(TrialFigure::DeliveredHz).filter(|_| saturates)?;
    let delivered = with_prefix(rate, "");
    Some(format!("delivers {delivered} messages/s"))
}

fn cost(e: &ExperimentSummary, ns: f64) -> String {
    format!("{} of CPU per {}", duration(ns), each(e))
}

/// What nobody should repeat the figure without.
fn caveats(e: &ExperimentSummary) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(ratio) = e.delivered_ratio().filter(|r| *r < 1.0) {
        let missing = match e.missing_messages() {
            Some(missing) if has_under_way(e) => missing,
            _ => format!("lost {}", e.counts.lost),
        };
        all.push(format!(
            "{missing} of {} messages: delivers {}",
            e.counts.offered,
            share(ratio)
        ));
    }
    all.extend(failed(e));
    if e.trials.all_disturbed() {
        all.push("the host disturbed every trial".into());
    }
    all
}

/// The trials that failed or are missing, those in which a receiver never got a newer message after the faults, and what
/// is delivered with those that the host disturbed, if only that is too little.
pub(crate) fn failed(e: &ExperimentSummary) -> Option<String> {
    let deaf = e.outage.as_ref().map_or(0, |o| o.deaf());
    let disturbed = e.with_disturbed.as_ref().map_or(0, |with| with.deaf);
    let is_missing = match e.missing {
        1 => "is missing",
        _ => "are missing",
    };
    let counts = [
        (e.trials.failed, "failed"),
        (e.missing, is_missing),
        (deaf.max(disturbed), "did not recover"),
    ];
    let counts = counts.iter().filter(|(n, _)| *n > 0);
    let counts = counts.map(|(n, what)| format!("{n} of {} trials {what}", trials(e)));
    let dropping = dropping_disturbed(e).map(|ratio| {
        let how = "with the trials that the host disturbed";
        format!("delivers {} {how}", share(ratio))
    });
    let all: Vec<String> = counts.chain(dropping).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// The sentences on several best stacks: who they are, from which value to which, who is cheapest, and
/// what must be said of each.
fn tie(
    first: &Entry<'_>,
    named: &[&Entry<'_>],
    others: &[&Entry<'_>],
    metric: Metric,
) -> Vec<String> {
    let all_failed = all_failed(named.iter().chain(others).copied());
    let mut text = format!(
        "{}{}: p50 {} ",
        among(first, named.len() + others.len() == 1, all_failed),
        tied(first, named),
        metric.phrase()
    );
    let values: Vec<String> = [named.first(), named.last()]
        .into_iter()
        .filter_map(|x| x?.standing.compared().map(interval))
        .collect();
    text.push_str(&values.join(" to "));
    text.push_str(&floors(named));
    let mut sentences = vec![format!("{text}.")];
    let own = |x: &Entry<'_>| x.standing.compared().copied();
    let highest = own(first).map_or(f64::INFINITY, |e| ns(&e.hi));
    if named
        .iter()
        .filter_map(|x| own(x))
        .any(|e| ns(&e.lo) > highest)
    {
        sentences.push("With the trials that the host disturbed, their intervals overlap.".into());
    }
    let costs = named.iter().filter_map(|x| Some((x, cpu(x.e)?)));
    if let Some((cheapest, ns)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) {
        let cost = cost(cheapest.e, ns);
        sentences.push(format!(
            "Lowest CPU cost among them: {}, {cost}.",
            cheapest.name
        ));
    }
    // What several share is said once.
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for (caveat, x) in named
        .iter()
        .flat_map(|x| caveats(x.e).into_iter().map(move |c| (c, x)))
    {
        match said.iter_mut().find(|(known, _)| *known == caveat) {
            Some((_, names)) => names.push(x.name.clone()),
            None => said.push((caveat, vec![x.name.clone()])),
        }
    }
    let of = |(caveat, names): &(String, Vec<String>)| format!("{}: {caveat}.", listed(names));
    sentences.extend(said.iter().map(of));
    let unstable: Vec<String> = named
        .iter()
        .filter(|x| x.e.is_unstable())
        .map(|x| x.name.clone())
        .collect();
    match unstable.len() {
        0 => {}
        n if n == named.len() => {
            sentences.push("A repeated run may show other values for all of them.".into())
        }
        _ => sentences.push(format!(
            "A repeated run may show another value for {}.",
            listed(&unstable)
        )),
    }
    sentences
}

/// Overlapping is not transitive: of three, two that both overlap with a wide one may well be told apart.
fn tied(first: &Entry<'_>, named: &[&Entry<'_>]) -> String {
    let ends = || named.iter().map(|x| x.reach);
    let names: Vec<String> = named.iter().map(|x| x.name.clone()).collect();
    if ends().all(|(_, hi)| hi.is_infinite()) {
        return format!(
            "No stack can be called fastest, because the intervals of {} have no upper end (messages were lost, or \
             the trials are too few or differ too much)",
            listed(&names)
        );
    }
    let lowest_end = ends().map(|(_, hi)| hi).fold(f64::INFINITY, f64::min);
    let highest_start = ends().map(|(lo, _)| lo).fold(0.0, f64::max);
    match highest_start <= lowest_end {
        true => format!("{} cannot be distinguished", listed(&names)),
        false => format!(
            "{} has the smallest p50, but {} cannot be distinguished from it",
            first.name,
            listed(&names[1..])
        ),
    }
}

/// `, 8.50 to 27.2 × floor`, where all of them have one.
fn floors(named: &[&Entry<'_>]) -> String {
    let all: Option<Vec<f64>> = named.iter().map(|x| floor(x.e)).collect();
    let Some(all) = all else {
        return String::new();
    };
    let mut yardsticks: Vec<String> = named.iter().map(|x| yardstick(x.e)).collect();
    yardsticks.sort_unstable();
    yardsticks.dedup();
    let to = yardsticks.join(" or ");
    let least = sig3(all.iter().copied().fold(f64::INFINITY, f64::min));
    let most = sig3(all.iter().copied().fold(0.0, f64::max));
    match least == most {
        true => format!(", {least} × {to}"),
        false => format!(", {least} to {most} × {to}"),
    }
}

/// How many times as long the slower ones take.
fn times(slower: &[&Entry<'_>], best: f64) -> Option<String> {
    let caveat = |x: &Entry<'_>| failed(x.e).map_or_else(String::new, |text| format!(" ({text})"));
    let ratio = |x: &Entry<'_>| sig3(x.p50() / best);
    let (first, rest) = slower.split_first()?;
    let mut parts = vec![format!(
        "{} takes {} times as long{}",
        first.name,
        ratio(first),
        caveat(first)
    )];
    let text = |x: &&Entry<'_>| format!("{} {} times{}", x.name, ratio(x), caveat(x));
    match rest {
        [second, .., last] if rest.len() > 3 => {
            parts.push(text(second));
            parts.push(format!("… {} (the slowest)", text(last)));
        }
        _ => parts.extend(rest.iter().map(text)),
    }
    Some(format!("{}.", parts.join(", ")))
}

/// Where stacks wait in different ways, the first of each way that several stacks have and none of the best.
fn of_other_waits(named: &[&Entry<'_>], others: &[&Entry<'_>]) -> Vec<String> {
    let wait = |x: &Entry<'_>| x.e.experiment.wait;
    let one = |(of, what): (Wait, &str)| -> Option<String> {
        if named.iter().any(|x| wait(x) == of) {
            return None;
        }
        let delivers = |x: &Entry<'_>| matches!(x.standing, Standing::Delivers(_));
        let own = others.iter().copied();
        let own: Vec<&Entry<'_>> = own.filter(|x| delivers(x) && wait(x) == of).collect();
        let [best, _, ..] = own.as_slice() else {
            return None;
        };
        let p50 = best.standing.compared()?;
        let reaches = |x: &&Entry<'_>| x.reach.0 <= best.reach.1;
        let equal: Vec<&Entry<'_>> = own.iter().copied().filter(reaches).collect();
        Some(match equal.len() {
            0 | 1 => format!(
                "Fastest of the stacks that {what}: {}, p50 {}.",
                best.name,
                interval(p50)
            ),
            _ => format!("Of the stacks that {what}: {}.", tied(best, &equal)),
        })
    };
    let all = [(Wait::Block, "block"), (Wait::Callback, "use callbacks")];
    all.into_iter().filter_map(one).collect()
}

/// What to measure so that stacks that wait in different ways are compared under one wait.
pub(crate) fn hint(question: &Question<'_>) -> Option<String> {
    let wait = question.common_wait?;
    let why = match question.mixes_waits {
        true => "Stacks use different wait strategies here",
        false => "Stacks with different wait strategies are not compared here",
    };
    Some(format!(
        "{why}: run the suite with --set wait={wait} to measure all of them in the same way."
    ))
}

/// One sentence for each reason for which stacks are not compared.
fn incomparable(left: &[&Entry<'_>]) -> Vec<String> {
    type Say = fn(&Entry<'_>) -> Option<String>;
    let kinds: [(&str, Say); 8] = [
        ("Never recovered in half of the trials or more", |x| {
            let deaf = x.e.outage.as_ref()?.deaf();
            match x.standing {
                Standing::Infinite => Some(format!("{deaf} of {} trials", trials(x.e))),
                _ => None,
            }
        }),
        (
            "Not compared, because not every trial succeeded",
            |x| match &x.standing {
                Standing::Fails(p50) => Some(format!(
                    "p50 {}, {}",
                    interval(p50),
                    failed(x.e).unwrap_or_default()
                )),
                _ => None,
            },
        ),
        ("Not compared, because they drop messages", |x| {
            match &x.standing {
                Standing::Drops(p50) if !has_under_way(x.e) => {
                    Some(format!("p50 {}, {}", interval(p50), delivers(x.e)))
                }
                _ => None,
            }
        }),
        (
            "Not compared, because messages did not arrive",
            |x| match &x.standing {
                Standing::Drops(p50) if has_under_way(x.e) => {
                    Some(format!("p50 {}, {}", interval(p50), delivers(x.e)))
                }
                _ => None,
            },
        ),
        ("Half of the messages or more were lost", |x| {
            match x.standing {
                Standing::Infinite if x.e.outage.is_none() && !has_under_way(x.e) => {
                    Some(delivers(x.e))
                }
                _ => None,
            }
        }),
        ("Half of the messages or more did not arrive", |x| {
            match x.standing {
                Standing::Infinite if x.e.outage.is_none() && has_under_way(x.e) => {
                    Some(delivers(x.e))
                }
                _ => None,
            }
        }),
        ("Without a figure", |x| match &x.standing {
            Standing::Without(reason) => Some(reason.clone()),
            _ => None,
        }),
        ("Failed", |x| match &x.standing {
            Standing::Failed(reason) => Some(reason.clone()),
            _ => None,
        }),
    ];
    let sentence = |(title, say): (&str, Say)| {
        let said = left.iter().filter_map(|x| {
            let reason = say(x)?;
            Some(format!("{} ({reason})", x.name))
        });
        let all: Vec<String> = said.collect();
        (!all.is_empty()).then(|| format!("{title}: {}.", listed(&all)))
    };
    kinds.into_iter().filter_map(sentence).collect()
}

/// Why a stack has no p50 to compare, to follow its name.
fn absence(x: &Entry<'_>) -> String {
    match &x.standing {
        Standing::Delivers(_) | Standing::Fails(_) | Standing::Drops(_) => String::new(),
        Standing::Infinite if x.e.outage.is_some() => {
            "never recovered in half of the trials or more".into()
        }
        Standing::Infinite if has_under_way(x.e) => format!(
            "delivered half of the messages or fewer ({})",
            delivers(x.e)
        ),
        Standing::Infinite => format!("lost half of the messages or more ({})", delivers(x.e)),
        Standing::Without(reason) => format!("has no figure ({reason})"),
        Standing::Failed(reason) => format!("failed ({reason})"),
    }
}

/// Whether some of what did not arrive was not lost.
fn has_under_way(e: &ExperimentSummary) -> bool {
    e.counts.under_way > 0
}

/// The share that arrived; what is still under way is told from what is lost.
fn delivers(e: &ExperimentSummary) -> String {
    match (e.delivered_ratio(), e.missing_messages()) {
        (Some(ratio), Some(missing)) if has_under_way(e) => {
            format!("delivers {}: {missing}", share(ratio))
        }
        (Some(ratio), _) => format!("delivers {}", share(ratio)),
        (None, _) => "nothing was offered".into(),
    }
}

/// `a, b and c`; the first few and how many more.
pub(crate) fn listed(all: &[String]) -> String {
    if all.len() > NAMED {
        return format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED);
    }
    match all {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => all.join(", "),
    }
}
