//! What was learnt, as text for people.

use crate::learnt::{FileLearnt, Learnt, LearntFlow, SMALLEST};
use crate::pattern::{Pattern, STEADY};
use crate::quantity::{per_second, prefixed, time};
use dyno_report::clean;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// So many flows, and so many topics that were left out, are listed; JSON has all.
const SHOWN: usize = 50;

/// A longer name of a topic is cut here, in characters.
const LONGEST: usize = 60;

/// Writing to a `String` cannot fail.
const NEVER: &str = "writing to a string cannot fail";

/// What was learnt: the files, the flows by load, and what was left out and why.
pub fn explain(learnt: &Learnt) -> String {
    let mut out = String::new();
    learnt
        .files
        .iter()
        .for_each(|file| write_file(&mut out, file));
    let count = |is: fn(&LearntFlow) -> bool| learnt.flows.iter().filter(|f| is(f)).count();
    let periodic = count(|f| matches!(f.pattern, Pattern::Periodic { .. }));
    let bursts = count(|f| matches!(f.pattern, Pattern::Burst { .. }));
    let random = learnt.flows.len() - periodic - bursts;
    let bits: f64 = learnt.flows.iter().map(LearntFlow::bits_per_second).sum();
    let offered: f64 = learnt
        .flows
        .iter()
        .map(LearntFlow::offered_bits_per_second)
        .sum();
    writeln!(
        out,
        "\nFlows: {}, together {} and {} in the recorded sizes; the suite offers {}.",
        learnt.flows.len(),
        per_second(learnt.hz()),
        prefixed(bits, "bit/s"),
        prefixed(offered, "bit/s"),
    )
    .expect(NEVER);
    writeln!(
        out,
        "  {periodic} periodic (p95 of the gaps at most {STEADY} × p5), {bursts} in groups with a period, {random} at random times"
    )
    .expect(NEVER);
    let raised = count(|f| f.raised);
    if raised > 0 {
        writeln!(
            out,
            "  {raised} with messages below {SMALLEST} B, the smallest payload that Dyno sends one way: the suite sends {SMALLEST} B instead"
        )
        .expect(NEVER);
    }
    if !learnt.flows.is_empty() {
        write_flows(&mut out, &learnt.flows);
    }
    write_left_out(&mut out, learnt);
    out
}

fn write_file(out: &mut String, file: &FileLearnt) {
    write!(out, "{} ({}): ", clean(&file.name), file.format).expect(NEVER);
    let FileLearnt {
        messages,
        bytes,
        seconds,
        ..
    } = file;
    match (messages, file.described) {
        (0, described) => write!(out, "{described} messages with a cycle time").expect(NEVER),
        _ => write!(
            out,
            "{messages} messages, {} in {}",
            prefixed(*bytes as f64, "B"),
            time(1e9 * seconds)
        )
        .expect(NEVER),
    }
    if *messages > 0 && *seconds > 0.0 {
        let hz = *messages as f64 / seconds;
        let bits = 8.0 * *bytes as f64 / seconds;
        write!(out, ": {}, {}", per_second(hz), prefixed(bits, "bit/s")).expect(NEVER);
    }
    out.push('\n');
    if *messages > 0 {
        writeln!(
            out,
            "  most in 10 ms: {} messages, {}",
            file.busiest_messages,
            prefixed(file.busiest_bytes as f64, "B")
        )
        .expect(NEVER);
    }
    for (what, times) in &file.left_out {
        writeln!(out, "  left out: {} ({times})", clean(what)).expect(NEVER);
    }
    for problem in &file.problems {
        writeln!(
            out,
            "  {}: {} ({} in all)",
            problem.first, problem.what, problem.times
        )
        .expect(NEVER);
    }
}

fn write_flows(out: &mut String, flows: &[LearntFlow]) {
    let head = [
        "topic",
        "messages",
        "first",
        "last",
        "size (min p50 max mean)",
        "gap (p5 p50 p95)",
        "sends",
        "load",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(flows.iter().take(SHOWN).map(row));
    let widths: Vec<usize> = (0..head.len())
        .map(|at| {
            rows.iter()
                .map(|r| r[at].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| match at {
                0 | 4..=6 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
        let line = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end()).expect(NEVER);
    }
    if flows.len() > SHOWN {
        writeln!(
            out,
            "and {} more with less load; `--format json` has all",
            flows.len() - SHOWN
        )
        .expect(NEVER);
    }
}

fn row(flow: &LearntFlow) -> [String; 8] {
    let sizes = &flow.sizes;
    let size = match sizes.min == sizes.max {
        true => format!("{} B", sizes.min),
        false => format!(
            "{} {} {} {:.0} B",
            sizes.min, sizes.p50, sizes.max, sizes.mean
        ),
    };
    let gaps = flow.gaps.as_ref().map(|g| {
        [g.p5_ns, g.p50_ns, g.p95_ns]
            .map(|ns| time(ns as f64))
            .join(" ")
    });
    let sends = match flow.pattern {
        Pattern::Periodic { cycle_ns } => format!("every {}", time(cycle_ns)),
        Pattern::Burst { group, period_ns } => format!("{group} every {}", time(period_ns)),
        Pattern::Random { hz } => format!("at random, {}", per_second(hz)),
    };
    let seconds = |s: f64| match flow.messages {
        0 => "–".to_owned(),
        _ => format!("{s:.2} s"),
    };
    let mut topic = match &flow.sender {
        Some(sender) => clean(&format!("{} from {sender}", flow.topic)),
        None => clean(&flow.topic),
    };
    if let Some((end, _)) = topic.char_indices().nth(LONGEST) {
        topic.truncate(end);
        topic.push('…');
    }
    [
        topic,
        flow.messages.to_string(),
        seconds(flow.first_s),
        seconds(flow.last_s),
        size,
        gaps.unwrap_or_else(|| "–".to_owned()),
        sends,
        prefixed(flow.bits_per_second(), "bit/s"),
    ]
}

/// The topics that are no flows, by reason.
fn write_left_out(out: &mut String, learnt: &Learnt) {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for left in &learnt.left_out {
        reasons.entry(left.why).or_default().push(&left.topic);
    }
    if !reasons.is_empty() {
        writeln!(out, "\nTopics left out: {}", learnt.left_out.len()).expect(NEVER);
    }
    for (why, topics) in reasons {
        let mut named: Vec<String> = topics.iter().take(5).map(|t| clean(t)).collect();
        if topics.len() > named.len() {
            named.push(format!("and {} more", topics.len() - named.len()));
        }
        writeln!(out, "  {why}: {}", named.join(", ")).expect(NEVER);
    }
}
