//! The answers of a run in short: for each question the fastest stack, which stacks may be as fast, the slowest one, what does not
//! deliver, and how far to trust all of this on this host. On a terminal they take at most eight lines at a usual width.

use crate::question::{Question, questions};
use crate::ranking::{
    ENOUGH, Entry, Ranked, Standing, all_failed, floor, interval, ranked, yardstick,
};
use crate::words::rate;
use dyno_model::Experiment;
use dyno_model::factors;
use dyno_model::record::RunManifest;
use dyno_report::{
    AnswerSummary, AnswersSummary, ExperimentSummary, Summary, clean, more_answers, outage_relapse,
    share, sig3, wrap,
};
use dyno_stats::Estimate;
use unicode_width::UnicodeWidthStr;

/// So many lines at a width of 80 or more. Where there are more questions, a line says how many.
const LINES: usize = 8;

/// Questions take time with the square of the experiments. A run with more than these is for a report.
const EXPERIMENTS: usize = 1_000;

/// So many stacks of one kind are named in a line.
const NAMES: usize = 3;

/// Below this width an answer stands below its question, without a bar, so that it has room for the names of stacks.
const NARROW: usize = 60;

/// Terminal cells of a bar.
const BAR: usize = 8;

/// The answers of a run for [`Summary::answers`]. `None` where nothing was compared: only floors were measured, or a search;
/// where a study has a table of its own; and where the run has more than 1,000 experiments.
pub fn answers(summary: &Summary, manifest: &RunManifest) -> Option<AnswersSummary> {
    let (questions, all) = asked(summary, manifest)?;
    let of = |(question, ranked): (String, &Ranked<'_>)| AnswerSummary {
        question,
        answer: line(ranked, None),
        best: ranked.fastest(),
    };
    Some(AnswersSummary {
        title: title(&all, false),
        questions: labels(&questions).into_iter().zip(&all).map(of).collect(),
        how_sure: trust(&questions),
    })
}

/// The same as lines, each ended by a newline, of at most `width` terminal cells where they are known; `bars`: with the share of
/// the slowest stack's p50 as a bar. Empty where there are none.
pub fn brief(
    summary: &Summary,
    manifest: &RunManifest,
    width: Option<usize>,
    bars: bool,
) -> String {
    let Some((questions, all)) = asked(summary, manifest) else {
        return String::new();
    };
    let of = |shown| lines(&questions, &all, shown, width, bars);
    let most = match is_narrow(width) {
        true => 2 * LINES,
        false => LINES,
    };
    let fits = |lines: &Vec<String>| lines.len() <= most;
    let mut tried = (2..=questions.len().min(LINES)).rev().map(of);
    let lines = tried.find(fits).unwrap_or_else(|| of(1));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The questions of a run with the stacks of each, best first; those without an answer come last.
fn asked<'a>(
    summary: &'a Summary,
    manifest: &RunManifest,
) -> Option<(Vec<Question<'a>>, Vec<Ranked<'a>>)> {
    let plan = &manifest.plan;
    let is_told_elsewhere = plan.search.is_some() || !summary.run.is_of_stacks();
    if is_told_elsewhere || summary.experiments.len() > EXPERIMENTS {
        return None;
    }
    let mut questions = questions(summary, manifest);
    questions.sort_by_cached_key(|q| ranked(q).fastest().is_empty());
    let all: Vec<Ranked<'a>> = questions.iter().map(ranked).collect();
    (!all.is_empty()).then_some((questions, all))
}

/// The lines with the first `shown` questions.
fn lines(
    questions: &[Question<'_>],
    all: &[Ranked<'_>],
    shown: usize,
    width: Option<usize>,
    bars: bool,
) -> Vec<String> {
    let bars = bars && !is_narrow(width);
    let (answered, more) = all.split_at(shown);
    let labels = labels(&questions[..shown]);
    let column = labels.iter().map(|l| l.width()).max().unwrap_or(0);
    let mut lines = wrap(&title(answered, bars), width, 2);
    for (ranked, label) in answered.iter().zip(&labels) {
        if is_narrow(width) {
            lines.extend(below(label, ranked, width));
            continue;
        }
        let bar = if bars {
            format!("{} ", bar(ranked))
        } else {
            String::new()
        };
        let pad = " ".repeat(column - label.width());
        let head = format!("  {label}{pad}  {bar}");
        let room = width.map(|w| w.saturating_sub(head.width()));
        // A line that does not fit even so goes on in the next one.
        let own = wrap(&line(ranked, room), room.map(|room| room.max(BAR)), 2);
        let margin = " ".repeat(head.width());
        for (i, part) in own.iter().enumerate() {
            let start = if i == 0 { &head } else { &margin };
            lines.push(format!("{start}{part}"));
        }
    }
    let more = more_answers(more.iter().map(|r| r.fastest().is_empty()));
    lines.extend(more.map(|more| format!("  {more}: see the table, or `dyno report`")));
    lines.extend(wrap(&trust(questions), width, 2));
    lines
}

fn is_narrow(width: Option<usize>) -> bool {
    width.is_some_and(|width| width < NARROW)
}

/// A question, and its answer in the lines below, with the names of the stacks and without the slowest one and the ratio to the floor.
fn below(label: &str, ranked: &Ranked<'_>, width: Option<usize>) -> Vec<String> {
    let answer = ranked.entries.first().map_or(String::new(), |first| {
        clean(&said(ranked, first, NAMES).join("; "))
    });
    let indented = |text: &str, by: usize| -> Vec<String> {
        let room = width.map(|w| w.saturating_sub(by).max(BAR));
        let parts = wrap(text, room, 2).into_iter();
        parts
            .map(|part| format!("{}{part}", " ".repeat(by)))
            .collect()
    };
    let mut lines = indented(&format!("{label}:"), 2);
    lines.extend(indented(&answer, 4));
    lines
}

fn title(all: &[Ranked<'_>], bars: bool) -> String {
    let mut metrics: Vec<String> = all.iter().map(|r| r.metric.phrase()).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let metrics = metrics.join(" or ");
    let bars = if bars {
        "; bar: share of the slowest"
    } else {
        ""
    };
    format!("Fastest by p50 {metrics} (95 % intervals{bars}):")
}

/// The names of experiments, with as many of the factors in which those of one name differ as tell them apart.
fn labels(questions: &[Question<'_>]) -> Vec<String> {
    let names = questions.iter().map(|q| first(q).name.clone());
    let mut labels: Vec<String> = names.collect();
    for factor in factors::in_tables() {
        let before = labels.clone();
        for (i, q) in questions.iter().enumerate() {
            let alike = (0..before.len()).filter(|j| before[*j] == before[i]);
            let mut values = alike.map(|j| factor.key(first(&questions[j])));
            let own = factor.key(first(q));
            let is_mixed = factor.title == "wait" && q.mixes_waits;
            let text = (factor.text)(first(q));
            if values.any(|value| value != own) && !is_mixed && !text.is_empty() {
                labels[i] = format!("{}, {text}", before[i]);
            }
        }
    }
    labels.iter().map(|label| clean(label)).collect()
}

/// The experiment whose conditions all of a question share.
fn first<'a>(question: &Question<'a>) -> &'a Experiment {
    &question.experiments[0].1.experiment
}

/// The p50 of the best stack as a share of that of the slowest one that delivers.
fn bar(ranked: &Ranked<'_>) -> String {
    let best = ranked.entries.first().map(Entry::p50);
    let share = best.zip(slowest(ranked)).map(|(b, s)| b / s.p50());
    let eighths = share.map_or(0, |share| (share * BAR as f64 * 8.0).ceil() as usize);
    let mut bar = "█".repeat(eighths / 8);
    if let Some(part) = "▏▎▍▌▋▊▉".chars().nth((eighths % 8).wrapping_sub(1)) {
        bar.push(part);
    }
    let rest = BAR - bar.width();
    format!("{bar}{}", " ".repeat(rest))
}

/// The last of those that stand with the best one, where that is another.
fn slowest<'a, 'b>(ranked: &'b Ranked<'a>) -> Option<&'b Entry<'a>> {
    let rank = ranked.entries.first()?.rank();
    let alike = ranked.entries.iter().filter(|x| x.rank() == rank);
    let last = alike.skip(1).last()?;
    last.p50().is_finite().then_some(last)
}

/// The answer to one question: the best ones and those that do not stand with them are always named or counted. The slowest and the
/// ratio to the floor are left out where `room`, in terminal cells, does not hold them.
fn line(ranked: &Ranked<'_>, room: Option<usize>) -> String {
    let Some(first) = ranked.entries.first() else {
        return String::new();
    };
    let fits = |text: &str| room.is_none_or(|room| text.width() <= room);
    let mut all = (0..=NAMES).rev().map(|most| said(ranked, first, most));
    let mut parts = all
        .find(|parts| fits(&parts.join("; ")))
        .unwrap_or_else(|| said(ranked, first, 0));
    let of_all = slowest(ranked).filter(|x| !ranked.best.contains(&x.place));
    let slowest = of_all.map(|x| format!("slowest {} × {}", x.name, sig3(x.p50() / first.p50())));
    let floor = floor(first.e).map(|ratio| format!("{} × {}", sig3(ratio), yardstick(first.e)));
    for more in [slowest, floor].into_iter().flatten() {
        let longer = format!("{}; {more}", parts.join("; "));
        if fits(&longer) {
            parts = vec![longer];
        }
    }
    clean(&parts.join("; "))
}

/// The best ones, and those that do not stand with them, at most so many of each with their names.
fn said(ranked: &Ranked<'_>, first: &Entry<'_>, most: usize) -> Vec<String> {
    let equal = ranked.entries.iter();
    let equal: Vec<&Entry<'_>> = equal.filter(|x| ranked.best.contains(&x.place)).collect();
    let mut parts = vec![head(ranked, first, &equal, most)];
    parts.extend(left_out(ranked, first.rank(), most));
    parts
}

/// The best stack with its figure and what must be said with it, or why none has one; `equal`: itself and those that cannot be told
/// from it, of which at most so many are named.
fn head(ranked: &Ranked<'_>, first: &Entry<'_>, equal: &[&Entry<'_>], most: usize) -> String {
    let best = names(equal, most.max(1), "or");
    let interval = |p50: &Estimate| format!("{}{}", interval(p50), unsure(equal));
    match &first.standing {
        Standing::Delivers(p50) => {
            let parts = [interval(p50)].into_iter().chain(rate(first.e));
            let mut text = format!("{best} {}", parts.collect::<Vec<_>>().join(", "));
            let lossy = equal
                .iter()
                .filter_map(|x| Some((x, x.e.delivered_ratio()?)));
            let least = lossy.min_by(|a, b| a.1.total_cmp(&b.1));
            let of = |x: &Entry<'_>| match equal.len() {
                1 => String::new(),
                _ => format!("{} ", x.name),
            };
            if let Some((x, ratio)) = least.filter(|(_, ratio)| *ratio < 1.0) {
                text.push_str(&format!(", {}delivers {}", of(x), share(ratio)));
            }
            for x in equal {
                if let Some(relapse) = outage_relapse(x.e) {
                    text.push_str(&format!(", {}{relapse}", of(x)));
                }
            }
            text
        }
        Standing::Drops(p50) => {
            let enough = share(ENOUGH);
            format!(
                "no stack delivers {enough} of the messages; {best} {}",
                interval(p50)
            )
        }
        Standing::Fails(p50) => {
            let what = if first.e.outage.is_some() {
                "no stack succeeded in every trial"
            } else if all_failed(ranked.entries.iter()) {
                "every stack that delivers has failed trials"
            } else {
                "no stack that delivers succeeded in every planned trial"
            };
            format!("{what}; {best} {}", interval(p50))
        }
        Standing::Infinite if first.e.outage.is_some() => {
            "no stack recovers in more than half of the trials".into()
        }
        Standing::Infinite => "no stack delivers more than half of the messages".into(),
        Standing::Without(reason) => format!("no answer for {} ({reason})", first.name),
        Standing::Failed(reason) => format!("every stack failed; {} ({reason})", first.name),
    }
}

/// Why a figure of the best ones is not to be trusted: the host disturbed every trial, or there is one trial only. Empty where it is.
fn unsure(equal: &[&Entry<'_>]) -> String {
    type Is = fn(&Entry<'_>) -> bool;
    let kinds: [(&str, Is); 2] = [
        ("every trial disturbed", |x| {
            x.e.trials.completed > 0 && x.e.trials.disturbed == x.e.trials.completed
        }),
        ("one trial counts", |x| x.e.trials.counted == 1),
    ];
    let said = kinds.into_iter().filter_map(|(what, is)| {
        let those = equal.iter().copied().filter(|x| is(x));
        let those: Vec<&Entry<'_>> = those.collect();
        match those.len() {
            0 => None,
            n if n == equal.len() => Some(format!(" ({what})")),
            _ => Some(format!(" ({}: {what})", names(&those, NAMES, "and"))),
        }
    });
    said.collect()
}

/// Those that do not stand with the best one, by reason, at most so many of each with their names, else how many.
fn left_out(ranked: &Ranked<'_>, rank: u8, most: usize) -> Vec<String> {
    type Is = fn(&Entry<'_>) -> bool;
    let kinds: [(&str, Is); 6] = [
        ("with unsuccessful trials", |x| {
            matches!(x.standing, Standing::Fails(_) | Standing::Failed(_)) && !lacks_trials(x)
        }),
        ("with missing trials", lacks_trials),
        ("dropping messages", |x| {
            matches!(x.standing, Standing::Drops(_))
        }),
        ("recovering in half of the trials or fewer", |x| {
            matches!(x.standing, Standing::Infinite) && x.e.outage.is_some()
        }),
        ("delivering half or less", |x| {
            matches!(x.standing, Standing::Infinite) && x.e.outage.is_none()
        }),
        ("without a figure", |x| {
            matches!(x.standing, Standing::Without(_))
        }),
    ];
    let others = ranked.entries.iter().filter(|x| x.rank() != rank);
    let others: Vec<&Entry<'_>> = others.collect();
    let said = kinds.into_iter().filter_map(|(what, is)| {
        let those = others.iter().copied().filter(|x| is(x));
        let those: Vec<&Entry<'_>> = those.collect();
        let text = match most {
            0 => format!("{} {what}", those.len()),
            _ => format!("{what}: {}", names(&those, most, "and")),
        };
        (!those.is_empty()).then_some(text)
    });
    said.collect()
}

/// Whether trials are missing and no other failed.
fn lacks_trials(x: &Entry<'_>) -> bool {
    let is_missing = x.e.missing > 0 && x.e.trials.failed == 0;
    matches!(x.standing, Standing::Fails(_)) && is_missing
}

/// `a, b or 3 more`: at most so many names, `joined` by a word.
fn names(all: &[&Entry<'_>], most: usize, joined: &str) -> String {
    let shown = all.len().min(most);
    let mut named: Vec<String> = all[..shown].iter().map(|x| x.name.clone()).collect();
    if shown < all.len() {
        named.push(format!("{} more", all.len() - shown));
    }
    match named.as_slice() {
        [before @ .., last] if !before.is_empty() => {
            format!("{} {joined} {last}", before.join(", "))
        }
        _ => named.concat(),
    }
}

/// Whether the experiment has a p50 that a repeat could differ from.
fn has_figure(e: &ExperimentSummary) -> bool {
    let p50 = e.headline_metric().and_then(|m| m.quantiles[0].estimate());
    p50.is_some_and(|p50| p50.value.finite().is_some())
}

/// How far to trust the lines on this host, and what helps.
fn trust(questions: &[Question<'_>]) -> String {
    let rows: Vec<&ExperimentSummary> = questions
        .iter()
        .flat_map(|q| q.experiments.iter().map(|(_, e)| *e))
        .filter(|e| has_figure(e))
        .collect();
    let unstable = rows.iter().filter(|e| e.is_unstable()).count();
    let sum = |of: fn(&ExperimentSummary) -> u64| rows.iter().map(|e| of(e)).sum::<u64>();
    let (completed, disturbed) = (sum(|e| e.trials.completed), sum(|e| e.trials.disturbed));
    let n = rows.len();
    if n == 0 {
        return "Reliability: no stack has a figure; the table gives the reasons.".into();
    }
    if unstable * 2 >= n || disturbed * 5 >= completed.max(1) {
        return format!(
            "Reliability: low on this host. In {unstable} of {n} rows a repeat may differ by more \
             than 10 %, and {disturbed} of {completed} trials were disturbed. Use `--against` or \
             `--precision` to detect smaller differences."
        );
    }
    let stable = n - unstable;
    format!(
        "Reliability: in {stable} of {n} rows a repeat should stay within 10 %; {disturbed} of {completed} trials were disturbed."
    )
}
