//! The answers of a run in at most eight lines: for each question the fastest stack, which stacks may be as fast, the slowest
//! one, what does not deliver, and how far to trust all of this on this host.

use crate::answer::{Entry, Ranked, Standing, floor, interval, ranked, yardstick};
use crate::question::{Question, questions};
use dyno_model::Experiment;
use dyno_model::factors;
use dyno_model::record::RunManifest;
use dyno_report::{ExperimentSummary, Summary, clean, share, sig3, wrap};
use unicode_width::UnicodeWidthStr;

/// So many questions have a line. Where there are more, the last line says how many.
const QUESTIONS: usize = 5;

/// So many stacks of one kind are named in a line.
const NAMES: usize = 3;

/// Terminal cells of a bar.
const BAR: usize = 8;

/// The answers of a run as lines, each ended by a newline, of at most `width` terminal cells where they are known; `bars`: with
/// the share of the slowest stack's p50 as a bar. Empty where nothing was compared: only floors were measured, or a search.
pub fn brief(
    summary: &Summary,
    manifest: &RunManifest,
    width: Option<usize>,
    bars: bool,
) -> String {
    let questions = questions(summary, manifest);
    if questions.is_empty() || manifest.plan.search.is_some() {
        return String::new();
    }
    let shown = match questions.len() {
        n if n <= QUESTIONS => n,
        _ => QUESTIONS - 1,
    };
    let labels = labels(&questions[..shown]);
    let column = labels.iter().map(|l| l.width()).max().unwrap_or(0);
    let all: Vec<Ranked<'_>> = questions[..shown].iter().map(ranked).collect();
    let mut metrics: Vec<String> = all.iter().map(|r| r.metric.phrase()).collect();
    metrics.dedup();
    let bars_are = if bars {
        "; bar: share of the slowest"
    } else {
        ""
    };
    let metrics = metrics.join(" or ");
    let title = format!("Fastest by p50 {metrics} (95 % intervals{bars_are}):");
    let mut lines = wrap(&title, width, 2);
    for (ranked, label) in all.iter().zip(&labels) {
        let bar = if bars {
            format!("{} ", bar(ranked))
        } else {
            String::new()
        };
        let pad = " ".repeat(column - label.width());
        let head = format!("  {label}{pad}  {bar}");
        let room = width.map(|w| w.saturating_sub(head.width()));
        lines.push(format!("{head}{}", line(ranked, room)));
    }
    if shown < questions.len() {
        let more = questions.len() - shown;
        lines.push(format!(
            "  {more} more questions: see the table, or `dyno report`"
        ));
    }
    lines.extend(wrap(&trust(&questions), width, 2));
    lines.iter().map(|line| format!("{line}\n")).collect()
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

/// The answer to one question; what does not fit into `room` terminal cells is left out from its end.
fn line(ranked: &Ranked<'_>, room: Option<usize>) -> String {
    let Some(first) = ranked.entries.first() else {
        return String::new();
    };
    let fits = |text: &str| room.is_none_or(|room| text.width() <= room);
    let equal = ranked.entries.iter();
    let equal: Vec<&Entry<'_>> = equal.filter(|x| ranked.best.contains(&x.place)).collect();
    // That others may be as fast is always said.
    let mut heads = (1..=NAMES)
        .rev()
        .map(|most| head(first, &names(&equal, most, "or")));
    let short = head(first, &names(&equal, 1, "or"));
    let mut parts = vec![heads.find(|text| fits(text)).unwrap_or(short)];
    let of_all = slowest(ranked).filter(|x| !ranked.best.contains(&x.place));
    parts.extend(of_all.map(|x| format!("slowest {} × {}", x.name, sig3(x.p50() / first.p50()))));
    parts.extend(left_out(ranked, first.rank()));
    if let Some(ratio) = floor(first.e) {
        parts.push(format!("{} × {}", sig3(ratio), yardstick(first.e)));
    }
    while parts.len() > 1 && !fits(&parts.join("; ")) {
        parts.pop();
    }
    clean(&parts.join("; "))
}

/// The best stack with its figure, or why none has one; `best`: its name, and those of the stacks that cannot be told from it.
fn head(first: &Entry<'_>, best: &str) -> String {
    match &first.standing {
        Standing::Delivers(p50) => {
            let mut text = format!("{best} {}", interval(p50));
            if let Some(ratio) = first.e.delivered_ratio().filter(|ratio| *ratio < 1.0) {
                text.push_str(&format!(", delivers {}", share(ratio)));
            }
            text
        }
        Standing::Drops(p50) => {
            format!("no stack delivers; {best} {}", interval(p50))
        }
        Standing::Fails(p50) => {
            let what = if first.e.outage.is_some() {
                "trials of every stack failed or stayed deaf"
            } else {
                "trials of every stack failed"
            };
            format!("{what}; {best} {}", interval(p50))
        }
        Standing::Infinite if first.e.outage.is_some() => "no stack recovers".into(),
        Standing::Infinite => "every stack loses half of the messages or more".into(),
        Standing::Without(reason) => format!("no answer: {}: {reason}", first.name),
        Standing::Failed(reason) => format!("every stack failed; {}: {reason}", first.name),
    }
}

/// Those that do not stand with the best one, by reason.
fn left_out(ranked: &Ranked<'_>, rank: u8) -> Vec<String> {
    type Is = fn(&Standing) -> bool;
    let kinds: [(&str, Is); 4] = [
        ("with failed trials", |s| {
            matches!(s, Standing::Fails(_) | Standing::Failed(_))
        }),
        ("dropping messages", |s| matches!(s, Standing::Drops(_))),
        ("losing half or more", |s| matches!(s, Standing::Infinite)),
        ("without a figure", |s| matches!(s, Standing::Without(_))),
    ];
    let others = ranked.entries.iter().filter(|x| x.rank() != rank);
    let others: Vec<&Entry<'_>> = others.collect();
    let said = kinds.into_iter().filter_map(|(what, is)| {
        let those = others.iter().copied().filter(|x| is(&x.standing));
        let those: Vec<&Entry<'_>> = those.collect();
        (!those.is_empty()).then(|| format!("{what}: {}", names(&those, NAMES, "and")))
    });
    said.collect()
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

/// How far to trust the lines on this host, and what helps.
fn trust(questions: &[Question<'_>]) -> String {
    let rows: Vec<&ExperimentSummary> = questions
        .iter()
        .flat_map(|q| q.experiments.iter().map(|(_, e)| *e))
        .filter(|e| e.trials.counted > 0)
        .collect();
    let unstable = rows.iter().filter(|e| e.is_unstable()).count();
    let sum = |of: fn(&ExperimentSummary) -> u64| rows.iter().map(|e| of(e)).sum::<u64>();
    let (completed, disturbed) = (sum(|e| e.trials.completed), sum(|e| e.trials.disturbed));
    let n = rows.len();
    if unstable * 2 >= n.max(1) || disturbed * 5 >= completed.max(1) {
        return [
            "How sure: not very, on this host.".to_owned(),
            format!("A repeat may differ by more than 10 % in {unstable} of {n} rows, and {disturbed} of {completed} trials were disturbed."),
            "`--against` and `--precision` decide smaller differences; `dyno doctor` says what disturbs this host.".to_owned(),
        ]
        .join(" ");
    }
    let stable = n - unstable;
    format!(
        "How sure: a repeat should stay within 10 % in {stable} of {n} rows; {disturbed} of {completed} trials were disturbed."
    )
}
