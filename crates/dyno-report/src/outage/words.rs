//! The sentences on outages, made of values alone.

use crate::number::{TimeUnit, duration, latency_ns, sig3, whole};
use crate::summary::{ExperimentSummary, OutageSummary, Relapse};
use crate::view::outages::{COUNTED, TIMES};
use dyno_model::fault::{FaultKind, Target};
use dyno_model::{Fault, Metric, WorkloadKind};
use dyno_stats::Quantile;

/// `after the receiver was without a link for 1 s, cyclonedds delivers again within 900 ms [600, 1400] in 20 of 20 trials
/// (median; the longest took 1.30 s)`. Of a newcomer that joins and leaves it says what the others felt meanwhile.
/// `named`: what the stack is called here. `None` where no trial counts or failed, and for a control.
pub fn verdict(e: &ExperimentSummary, outage: &OutageSummary, named: &str) -> Option<String> {
    let all = e.trials.counted + e.trials.failed;
    let is_control = |f: &Fault| f.what == FaultKind::Nothing;
    if all == 0 || outage.faults.iter().all(is_control) {
        return None;
    }
    let said = match e.experiment.only_joins() {
        true => beside_newcomer(e, outage, named, all),
        false => after_outage(e, outage, named, all),
    };
    let others: Vec<String> = [
        (outage.deaf(), "left a receiver without a newer message"),
        (
            outage.untold,
            "had no receiver left, or the window ended too soon after the fault",
        ),
        (outage.unended, "did not reach the end of the fault"),
        (e.trials.failed, "failed"),
    ]
    .iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("; {n} {what}"))
    .collect();
    Some(format!(
        "{said}{}{}",
        relapse(e).map_or_else(String::new, |text| format!("; {text}")),
        others.concat()
    ))
}

fn after_outage(e: &ExperimentSummary, outage: &OutageSummary, named: &str, all: u64) -> String {
    let after = events(outage);
    if outage.recovered == 0 {
        let until = until_end(e);
        return format!(
            "after {after}, {named} does not deliver again{until} in any of {all} trials"
        );
    }
    let (within, beside) = median(e, Metric::Recovery, all);
    let within = within.map_or_else(String::new, |text| format!(" within {text}"));
    let recovered = outage.recovered;
    format!("after {after}, {named} delivers again{within} in {recovered} of {all} trials{beside}")
}

/// Nobody was struck: what the others felt while somebody joined and left. `while receiver 2 joined and left after
/// 500 ms, udp delivered every message to the others once and in time in 18 of 20 trials; their longest silence was
/// 5.02 ms [5.01, 5.10] (median; the longest took 12.0 ms); up to 3 messages were lost in a trial`.
fn beside_newcomer(e: &ExperimentSummary, outage: &OutageSummary, named: &str, all: u64) -> String {
    let mut said = format!(
        "while {}, {named} delivered every message to the others once and in time in {} of {all} trials",
        events(outage),
        outage.undisturbed,
    );
    let (silence, beside) = median(e, Metric::Silence, all);
    match silence {
        Some(text) => said.push_str(&format!("; their longest silence was {text}{beside}")),
        None if beside.is_empty() => {}
        None => said.push_str(&format!(
            "; their longest silence has no median here{beside}"
        )),
    }
    let most = outage.lost.map_or(0.0, |lost| lost.max);
    let messages = if most > 1.0 {
        "messages were"
    } else {
        "message was"
    };
    if most > 0.0 {
        let most = whole(most);
        said.push_str(&format!("; up to {most} {messages} lost in a trial"));
    }
    said
}

/// `is steady only after up to 9.50 s in 6 of 20 trials`, where rate and latency are as before later than soon after the first
/// message.
pub fn relapse(e: &ExperimentSummary) -> Option<String> {
    let outage = e.outage.as_ref()?;
    let (mut late, mut never, mut unknown) = (Vec::new(), 0, 0);
    for relapse in &outage.relapses {
        match relapse {
            Relapse::Until(steady) => late.push(steady.0),
            Relapse::ToTheEnd => never += 1,
            Relapse::Unknown => unknown += 1,
        }
    }
    let latest = duration(late.iter().max().copied().unwrap_or(0) as f64);
    let all = [
        (late.len(), format!("is steady only after up to {latest}")),
        (never, "is not steady when the window ends".to_owned()),
        (
            unknown,
            "recovers too late in the window to be seen steady".to_owned(),
        ),
    ];
    let all = all.iter().filter(|(n, _)| *n > 0);
    let all: Vec<String> = all.map(|(n, text)| format!("{text} in {n}")).collect();
    (!all.is_empty()).then(|| format!("{} of {} trials", all.join(" and "), outage.trials))
}

/// The median of a time with its interval, and what stands in brackets: the longest, or why there is no median.
fn median(e: &ExperimentSummary, metric: Metric, all: u64) -> (Option<String>, String) {
    let Some(time) = e.metrics.get(&metric) else {
        return (None, String::new());
    };
    let of = match time.n + time.infinite {
        n if n == all => String::new(),
        n => format!(" of {n} trials"),
    };
    let longest = time.max.map(|ns| duration(ns as f64));
    let longest = longest.map_or_else(String::new, |text| format!("; the longest took {text}"));
    match &time.quantiles[0] {
        Quantile::Estimated(p50) => {
            let value = latency_ns(&p50.value);
            if value.is_infinite() {
                return (None, format!(" (the median trial never recovers{longest})"));
            }
            let unit = TimeUnit::of(value);
            let [lo, hi] = [p50.lo, p50.hi].map(|end| sig3(latency_ns(&end) / unit.ns()));
            let text = format!("{} [{lo}, {hi}]", duration(value));
            (Some(text), format!(" (median{of}{longest})"))
        }
        Quantile::Refused { need, .. } => {
            (None, format!(" (a median needs {need} trials{longest})"))
        }
        Quantile::Wide { interval, .. } => {
            let [lo, hi] = [interval.lo, interval.hi].map(|end| match latency_ns(&end) {
                ns if ns.is_finite() => duration(ns),
                _ => "∞".into(),
            });
            let text = format!(" (the median lies between {lo} and {hi}{longest})");
            (None, text)
        }
    }
}

/// `the receiver was without a link for 1 s, then the daemon was killed`.
fn events(outage: &OutageSummary) -> String {
    let all: Vec<String> = outage.faults.iter().map(event).collect();
    all.join(", then ")
}

/// ` in the 990 ms until the window ended`: what comes later than that nobody has seen.
fn until_end(e: &ExperimentSummary) -> String {
    let ends = e.experiment.faults.iter();
    let end = ends.map(|f| f.at.saturating_add(f.lasts)).max();
    let window = e.experiment.known_window();
    let left = window
        .zip(end)
        .map(|(window, end)| window.saturating_sub(end));
    left.map_or_else(String::new, |left| {
        format!(" in the {left} until the window ended,")
    })
}

fn event(fault: &Fault) -> String {
    let the = match &fault.who {
        Target::Sender { number: 1.. } | Target::Receiver { number: 1.. } => "",
        Target::Sender { .. } | Target::Receiver { .. } | Target::Daemon { .. } => "the ",
    };
    let was = fault.what.info().was;
    format!("{the}{} {was}{}", fault.who, fault.done())
}

/// Whether a message may still come after the faults: the only sender, or the provider of calls, was not taken away for good.
fn may_recover(e: &ExperimentSummary, outage: &OutageSummary) -> bool {
    let is_needed = |who: &Target| match who {
        Target::Sender { .. } => e.experiment.topology.senders == 1,
        Target::Receiver { .. } => e.experiment.workload.kind() == WorkloadKind::Call,
        Target::Daemon { .. } => false,
    };
    let mut gone = outage.faults.iter().filter(|f| !f.what.info().lasts);
    !gone.any(|f| is_needed(&f.who))
}

/// The finding that a receiver never got a newer message, with its trials.
pub fn deaf_for_ever(e: &ExperimentSummary, outage: &OutageSummary, named: &str) -> Option<String> {
    if outage.deaf() == 0 || !may_recover(e, outage) {
        return None;
    }
    Some(format!(
        "{named}: after {}, a receiver got no newer message{} in {} of {} trials ({})",
        events(outage),
        until_end(e),
        outage.deaf(),
        outage.trials,
        trials(outage),
    ))
}

/// The finding that some receivers of a trial never got a newer message while others did.
pub fn half_deaf(e: &ExperimentSummary, outage: &OutageSummary, named: &str) -> Option<String> {
    if outage.half_deaf == 0 || !may_recover(e, outage) {
        return None;
    }
    Some(format!(
        "{named}: after {}, some receivers got newer messages and others got none in {} of {} trials",
        events(outage),
        outage.half_deaf,
        outage.trials,
    ))
}

/// So many trials are named, then how many more there are.
const NAMED: usize = 6;

/// The numbers of the trials with a deaf receiver.
fn trials(outage: &OutageSummary) -> String {
    let mut numbers: Vec<u32> = outage.deaf_ends.iter().map(|end| end.trial).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let word = if numbers.len() == 1 {
        "trial"
    } else {
        "trials"
    };
    let named: Vec<String> = numbers.iter().take(NAMED).map(u32::to_string).collect();
    match numbers.len().saturating_sub(NAMED) {
        0 => format!("{word} {}", named.join(", ")),
        more => format!("{word} {} and {more} more", named.join(", ")),
    }
}

/// What ∞ means in a table of outages.
pub(crate) const INFINITE: &str = "∞: it never happened before the trial ended: no newer message, no steady state, or no sign from the \
                                   library. An interval that ends there has no known end.";

/// What the columns of a table of outages mean, for those that are shown. `relative`: intervals are relative to their numbers.
pub(crate) fn legend(relative: bool, left_out: &[&str]) -> Vec<String> {
    let shown = |title: &&str| !left_out.contains(title);
    let times = TIMES.iter().filter(|time| shown(&time.median.0));
    let times: Vec<String> = times
        .map(|time| format!("{}: {}", time.median.0, time.metric.info().gist))
        .collect();
    let interval = match relative {
        true => "its 95 % interval, relative",
        false => "its 95 % interval",
    };
    let mut lines = vec![format!(
        "{}. Each is the median over trials with {interval}.",
        times.join("; ")
    )];
    let others = [
        (
            "recovered",
            "trials in which every receiver got a newer message, of those that completed or failed",
        ),
        ("silence max", "the longest silence of all trials"),
        ("worst", "the longest recovery of all trials"),
        (
            "told by",
            "trials by how the library first told of the fault: fewer matched peers, a failing send, a failing take, a call without an answer",
        ),
        (
            "stated",
            "leases and retry times of the stack, and who set each of them",
        ),
    ];
    let counts = COUNTED.map(|(title, _, what, _)| (title, what));
    let said = |all: &[(&str, &str)]| {
        let all = all.iter().filter(|(title, _)| shown(title));
        let all: Vec<String> = all
            .map(|(title, what)| format!("{title}: {what}"))
            .collect();
        (!all.is_empty()).then(|| all.join("; "))
    };
    lines.extend(said(&others).map(|text| format!("{text}.")));
    let extremes = if relative { "" } else { " (min–max)" };
    lines.extend(said(&counts).map(|text| format!("Of a trial, median{extremes}: {text}.")));
    lines
}
