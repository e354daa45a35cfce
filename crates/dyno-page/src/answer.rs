//! The answers in words: which stack is fastest, how sure that is, at what cost, and what else must be said
//! before anybody repeats it.
//!
//! A stack is best among those that deliver: one that drops more than [`ENOUGH`] allows is named apart,
//! with what it delivers, and whatever is lost is said of every stack that is called best. Stacks whose
//! intervals overlap that of the best cannot be told from it, and are said to be so. Yardsticks are never
//! best.

use crate::question::{Question, questions};
use dyno_model::plan::Plan;
use dyno_model::{Metric, WorkloadKind};
use dyno_report::{ExperimentSummary, Summary, clean, duration, share, sig3, with_prefix};
use dyno_stats::{Estimate, Latency, Quantile};
use serde::Serialize;

/// What delivers less of what it was offered is not called fastest beside what delivers; the same as in the
/// RWTH tables of `dyno show`.
const ENOUGH: f64 = 0.99;
/// So many stacks of one kind are named, then "and 3 more".
const NAMED: usize = 6;
/// So many stacks that cannot be told apart are described in full.
const DESCRIBED: usize = 3;

/// The answer to one question of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The conditions that the compared experiments share.
    pub question: String,
    /// Their places in `show.experiments`, best first: those that deliver by the p50 of the headline, then
    /// those that drop messages, those whose p50 is infinite, those without one, and the failed.
    pub experiments: Vec<usize>,
    /// The best one and those that cannot be told from it; empty where there is none.
    pub best: Vec<usize>,
    /// The headline metric.
    pub metric: &'static str,
    /// The answer.
    pub text: String,
    /// The best ones as a table has them; of a question without a best one the first stack's.
    #[serde(skip)]
    pub rows: Vec<AnswerRow>,
}

/// A stack's row in the table of answers, as text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AnswerRow {
    /// The stack.
    pub stack: String,
    /// p50 with its interval, or what stands for it.
    pub p50: String,
    /// p50 over that of the floor.
    pub floor: String,
    /// CPU per message, or per start.
    pub cpu: String,
    /// Share of the offered messages that arrived.
    pub delivered: String,
    /// Failed of all trials.
    pub failures: String,
}

/// The answers to all questions of a run, in the plan's order.
pub(crate) fn answers(summary: &Summary, plan: &Plan) -> Vec<Answer> {
    questions(summary, plan).iter().map(answer).collect()
}

/// How a stack comes out.
enum Standing {
    Delivers(Estimate),
    Drops(Estimate),
    Infinite,
    /// No figure, and why.
    Without(String),
    Failed(String),
}

struct Entry<'a> {
    place: usize,
    e: &'a ExperimentSummary,
    name: String,
    standing: Standing,
}

fn answer(question: &Question<'_>) -> Answer {
    let all = &question.experiments;
    let mut recorded = all
        .iter()
        .map(|(_, e)| *e)
        .filter(|e| e.headline_metric().is_some());
    let first = recorded.next().or(all.first().map(|(_, e)| *e));
    let metric = first.map_or(Metric::Rtt, ExperimentSummary::headline);
    let mut entries: Vec<Entry<'_>> = all
        .iter()
        .map(|(place, e)| Entry::new(*place, e, metric))
        .collect();
    // Equal values keep the plan's order.
    entries.sort_by(|a, b| a.rank().cmp(&b.rank()).then(a.p50().total_cmp(&b.p50())));
    let best = best(&entries);
    let (named, others): (Vec<_>, Vec<_>) = entries.iter().partition(|x| best.contains(&x.place));
    let rows = match named.is_empty() {
        true => entries.iter().take(1).map(Entry::row).collect(),
        false => named.iter().map(|x| x.row()).collect(),
    };
    Answer {
        question: question.text.clone(),
        text: text(&named, &others, metric),
        experiments: entries.iter().map(|x| x.place).collect(),
        best,
        metric: metric.as_str(),
        rows,
    }
}

/// The first one, and those whose intervals reach down to its own.
fn best(entries: &[Entry<'_>]) -> Vec<usize> {
    let Some((first, highest)) = entries.first().and_then(|x| {
        let estimate = x.standing.compared()?;
        Some((x, ns(&estimate.hi)))
    }) else {
        return Vec::new();
    };
    let reaches = |x: &&Entry<'_>| {
        x.rank() == first.rank() && x.standing.compared().is_some_and(|e| ns(&e.lo) <= highest)
    };
    entries.iter().filter(reaches).map(|x| x.place).collect()
}

impl Standing {
    /// The p50 of what may be called best.
    fn compared(&self) -> Option<&Estimate> {
        match self {
            Standing::Delivers(e) | Standing::Drops(e) => Some(e),
            Standing::Infinite | Standing::Without(_) | Standing::Failed(_) => None,
        }
    }
}

impl<'a> Entry<'a> {
    fn new(place: usize, e: &'a ExperimentSummary, metric: Metric) -> Entry<'a> {
        let mut name = clean(&e.experiment.stack);
        if e.experiment.paired {
            name.push_str(" (pair)");
        }
        Entry {
            place,
            e,
            name,
            standing: standing(e, metric),
        }
    }

    /// Best first.
    fn rank(&self) -> u8 {
        match self.standing {
            Standing::Delivers(_) => 0,
            Standing::Drops(_) => 1,
            Standing::Infinite => 2,
            Standing::Without(_) => 3,
            Standing::Failed(_) => 4,
        }
    }

    /// In nanoseconds; infinite without one.
    fn p50(&self) -> f64 {
        self.standing
            .compared()
            .map_or(f64::INFINITY, |e| ns(&e.value))
    }

    fn row(&self) -> AnswerRow {
        let e = self.e;
        let p50 = match &self.standing {
            Standing::Delivers(p50) | Standing::Drops(p50) => interval(p50),
            Standing::Infinite => "∞ (lost)".into(),
            Standing::Without(reason) => reason.clone(),
            Standing::Failed(reason) => format!("failed: {reason}"),
        };
        let delivered = match (e.delivered_ratio(), e.counts.lost) {
            (None, _) => String::new(),
            (Some(ratio), 0) => share(ratio),
            (Some(ratio), lost) => format!("{} ({lost} lost)", share(ratio)),
        };
        AnswerRow {
            stack: self.name.clone(),
            p50,
            floor: floor(e).map_or_else(String::new, sig3),
            cpu: cpu(e).map_or_else(String::new, duration),
            delivered,
            failures: match e.trials.failed {
                0 => "none".into(),
                failed => format!("{failed} of {} trials", trials(e)),
            },
        }
    }

    /// Why it has no p50 to compare, to follow its name.
    fn absence(&self) -> String {
        match &self.standing {
            Standing::Delivers(_) | Standing::Drops(_) => String::new(),
            Standing::Infinite => {
                format!("lost half of the messages or more ({})", delivers(self.e))
            }
            Standing::Without(reason) => format!("has no figure ({reason})"),
            Standing::Failed(reason) => format!("failed ({reason})"),
        }
    }

    /// Value, interval, × floor, cost, and what must be said with them.
    fn description(&self) -> String {
        let e = self.e;
        let mut parts: Vec<String> = self.standing.compared().map(interval).into_iter().collect();
        parts.extend(floor(e).map(|ratio| format!("{} × floor", sig3(ratio))));
        let kind = e.experiment.workload.kind();
        if matches!(kind, WorkloadKind::Flood | WorkloadKind::Burst)
            && let Some(rates) = &e.throughput
        {
            let rate = with_prefix(rates.delivered_hz.median, "");
            parts.push(format!("delivers {rate} messages/s"));
        }
        let each = match kind {
            WorkloadKind::FirstMessage => "start",
            _ => "message",
        };
        parts.extend(cpu(e).map(|ns| format!("{} of CPU per {each}", duration(ns))));
        let mut text = parts.join(", ");
        let caveats = caveats(e);
        if !caveats.is_empty() {
            text.push_str(&format!(" ({})", caveats.join("; ")));
        }
        text
    }
}

fn standing(e: &ExperimentSummary, metric: Metric) -> Standing {
    if e.trials.counted == 0 {
        return match e.failures.first() {
            Some(first) => Standing::Failed(format!("{} in {}", first.cause, clean(&first.step))),
            None => Standing::Without("not run".into()),
        };
    }
    if let Some(bound) = e.unresolved() {
        return Standing::Without(format!(
            "one way is not resolvable: clocks known to ±{bound} only"
        ));
    }
    let Some(own) = e.metrics.get(&metric) else {
        return Standing::Without(format!("no {} was recorded", short(metric)));
    };
    match own.quantiles[0] {
        Quantile::Refused { have, need } => Standing::Without(format!(
            "too few samples for a p50: {have}, it takes {need}"
        )),
        Quantile::Estimated(p50) if p50.value == Latency::Infinite => Standing::Infinite,
        Quantile::Estimated(p50) => match e.delivered_ratio() {
            Some(ratio) if ratio < ENOUGH => Standing::Drops(p50),
            _ => Standing::Delivers(p50),
        },
    }
}

/// What nobody should repeat the figure without.
fn caveats(e: &ExperimentSummary) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(ratio) = e.delivered_ratio().filter(|r| *r < 1.0) {
        all.push(format!(
            "lost {} of {} messages: delivers {}",
            e.counts.lost,
            e.counts.offered,
            share(ratio)
        ));
    }
    if e.trials.failed > 0 {
        all.push(format!(
            "{} of {} trials failed",
            e.trials.failed,
            trials(e)
        ));
    }
    if e.trials.all_disturbed() {
        all.push("the host disturbed every trial".into());
    }
    if e.is_unstable() {
        all.push("a repeat may show another value".into());
    }
    all
}

/// The whole answer, of the best ones and the others, each in their order.
fn text(named: &[&Entry<'_>], others: &[&Entry<'_>], metric: Metric) -> String {
    let mut sentences = vec![lead(named, others, metric)];
    let rank = named.first().map(|x| x.rank());
    let (slower, left): (Vec<&Entry<'_>>, Vec<&Entry<'_>>) =
        others.iter().copied().partition(|x| Some(x.rank()) == rank);
    if let Some(first) = named.first() {
        sentences.extend(times(&slower, first.p50()));
    }
    type Say = fn(&Entry<'_>) -> Option<String>;
    let kinds: [(&str, Say); 4] = [
        ("Not compared, for what they drop", |x| match &x.standing {
            Standing::Drops(p50) => Some(format!("p50 {}, {}", interval(p50), delivers(x.e))),
            _ => None,
        }),
        ("Half of the messages or more were lost", |x| {
            match x.standing {
                Standing::Infinite => Some(delivers(x.e)),
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
    // Of one alone the first sentence has said it.
    let left = if named.len() + others.len() > 1 {
        left
    } else {
        Vec::new()
    };
    for (title, say) in kinds {
        let said = left.iter().filter_map(|x| {
            let reason = say(x)?;
            Some(format!("{} ({reason})", x.name))
        });
        let all: Vec<String> = said.collect();
        if !all.is_empty() {
            sentences.push(format!("{title}: {}.", listed(&all)));
        }
    }
    sentences.join(" ")
}

fn delivers(e: &ExperimentSummary) -> String {
    match e.delivered_ratio() {
        Some(ratio) => format!("delivers {}", share(ratio)),
        None => "nothing was offered".into(),
    }
}

fn lead(named: &[&Entry<'_>], others: &[&Entry<'_>], metric: Metric) -> String {
    let Some(first) = named.first() else {
        return match others {
            [only] => format!("No answer: {} {}.", only.name, only.absence()),
            _ => "No stack has an answer.".into(),
        };
    };
    let is_alone = named.len() + others.len() == 1;
    let lead = match first.standing {
        Standing::Drops(_) if !is_alone => format!(
            "None delivers {} of what it is offered. Of those that drop messages, ",
            share(ENOUGH)
        ),
        _ => String::new(),
    };
    let what = short(metric);
    if named.len() > 1 {
        let described: Vec<String> = named
            .iter()
            .take(DESCRIBED)
            .map(|x| format!("{} {}", x.name, x.description()))
            .collect();
        let more = match named.len().saturating_sub(DESCRIBED) {
            0 => String::new(),
            n => format!("; and {n} more"),
        };
        return format!(
            "{lead}{}: p50 {what} {}{more}.",
            tied(first, named),
            described.join("; ")
        );
    }
    let compared = |x: &&&Entry<'_>| x.standing.compared().is_some();
    let verdict = match others.iter().find(compared) {
        None if is_alone => "is the only stack",
        None => "is the only stack with a figure",
        Some(x) if x.rank() != first.rank() => "is the only stack that delivers",
        Some(_)
            if others
                .iter()
                .any(|x| matches!(x.standing, Standing::Drops(_)))
                && matches!(first.standing, Standing::Delivers(_)) =>
        {
            "is fastest of those that deliver"
        }
        Some(_) => "is fastest",
    };
    format!(
        "{lead}{} {verdict}: p50 {what} {}.",
        first.name,
        first.description()
    )
}

/// Overlapping is not transitive: of three, two that both overlap with a wide one may well be told apart.
fn tied(first: &Entry<'_>, named: &[&Entry<'_>]) -> String {
    let ends = || named.iter().filter_map(|x| x.standing.compared());
    let lowest_end = ends().map(|e| ns(&e.hi)).fold(f64::INFINITY, f64::min);
    let highest_start = ends().map(|e| ns(&e.lo)).fold(0.0, f64::max);
    let names: Vec<String> = named.iter().map(|x| x.name.clone()).collect();
    match highest_start <= lowest_end {
        true => format!("{} cannot be told apart", listed(&names)),
        false => format!(
            "{} has the smallest p50, and {} cannot be told from it",
            first.name,
            listed(&names[1..])
        ),
    }
}

/// How many times as long the slower ones take.
fn times(slower: &[&Entry<'_>], best: f64) -> Option<String> {
    let caveat = |x: &Entry<'_>| match x.e.trials.failed {
        0 => String::new(),
        failed => format!(" ({failed} of {} trials failed)", trials(x.e)),
    };
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

/// `a, b and c`; the first few and how many more.
fn listed(all: &[String]) -> String {
    if all.len() > NAMED {
        return format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED);
    }
    match all {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => all.join(", "),
    }
}

/// Completed and failed.
fn trials(e: &ExperimentSummary) -> u64 {
    e.trials.completed + e.trials.failed
}

fn floor(e: &ExperimentSummary) -> Option<f64> {
    let ratio = e.floor.as_ref()?.p50_ratio.as_ref()?;
    ratio.value.finite()
}

/// In nanoseconds per message, or per start.
fn cpu(e: &ExperimentSummary) -> Option<f64> {
    let cost = e.cost.as_ref()?;
    match e.experiment.workload.kind() {
        WorkloadKind::FirstMessage => Some(cost.cpu_ns.median),
        _ => cost.cpu_ns_per_message.map(|s| s.median),
    }
}

fn ns(latency: &Latency) -> f64 {
    latency.finite().unwrap_or(f64::INFINITY)
}

/// `5.10 µs [5.02, 5.31]`: a finite value with its interval, in the value's unit.
fn interval(p50: &Estimate) -> String {
    let value = ns(&p50.value);
    let (scale, unit) = match value {
        v if v >= 1e9 => (1e9, "s"),
        v if v >= 1e6 => (1e6, "ms"),
        v if v >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    let end = |latency: &Latency| match latency.finite() {
        Some(ns) => sig3(ns / scale),
        None => "∞".into(),
    };
    format!(
        "{} {unit} [{}, {}]",
        sig3(value / scale),
        end(&p50.lo),
        end(&p50.hi)
    )
}

/// The metric within a sentence.
pub(crate) fn short(metric: Metric) -> &'static str {
    match metric {
        Metric::Rtt => "round trip",
        Metric::Response => "response time",
        Metric::Service => "service time",
        Metric::Lateness => "lateness",
        Metric::FirstMessage => "time to the first message",
        Metric::Open => "time to open",
        Metric::Match => "time to match",
        Metric::FirstDelivery => "time to deliver the first message",
    }
}
