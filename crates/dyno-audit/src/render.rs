//! What an audit found, for people and for programs. Says what cannot be true, never why or whose it is.

mod json;
mod page;

pub use json::json;
pub use page::{PageError, page};

use crate::audit::{Audit, Group};
use crate::measure::Beside;
use crate::outcome::{Outcome, Verdict};
use crate::statement::Statements;
use std::fmt::Write as _;

/// How many findings of one kind stand with their calculation where not all are asked for.
const SHOWN: usize = 4;

/// How much is printed, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Every finding, and what there is no objection to.
    pub all: bool,
    /// With colours of a terminal.
    pub color: bool,
}

/// Writing to a `String` cannot fail.
const NEVER: &str = "writing to a string cannot fail";

/// For a terminal.
pub fn text(statements: &Statements, audit: &Audit, options: Options) -> String {
    let mut out = String::new();
    let bold = |text: &str| match options.color {
        true => format!("\x1b[1m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    writeln!(out, "{}", bold(&heading(statements))).expect(NEVER);
    for sentence in audit.sentences(statements) {
        writeln!(out, "  {sentence}").expect(NEVER);
    }
    for verdict in verdicts(options) {
        let groups = groups(audit, verdict);
        if groups.is_empty() {
            continue;
        }
        let title = format!("{} ({})", verdict.as_str(), audit.count(verdict));
        writeln!(out, "\n{}", painted(&title, verdict, options.color)).expect(NEVER);
        for group in groups {
            writeln!(out, "  {} · {}", group.first.check, group.first.place).expect(NEVER);
            for (i, outcome) in group.all().enumerate() {
                if i >= SHOWN && !options.all {
                    writeln!(out, "    and {} more (--all)", group.more.len() + 1 - i)
                        .expect(NEVER);
                    break;
                }
                writeln!(out, "    {}", sentence(outcome)).expect(NEVER);
                if !outcome.calculation.is_empty() {
                    writeln!(out, "      {}", outcome.calculation).expect(NEVER);
                }
            }
        }
    }
    if !audit.measured.is_empty() {
        write_measured(&mut out, audit, bold);
    }
    out
}

/// For a page of documentation.
pub fn markdown(statements: &Statements, audit: &Audit, options: Options) -> String {
    let mut out = String::new();
    writeln!(out, "# {}\n", escaped(&heading(statements))).expect(NEVER);
    for sentence in audit.sentences(statements) {
        writeln!(out, "{sentence}").expect(NEVER);
    }
    for verdict in verdicts(options) {
        let groups = groups(audit, verdict);
        if groups.is_empty() {
            continue;
        }
        writeln!(
            out,
            "\n## {} ({})\n",
            capital(verdict.as_str()),
            audit.count(verdict)
        )
        .expect(NEVER);
        writeln!(
            out,
            "| check | place | finding | calculation |\n|---|---|---|---|"
        )
        .expect(NEVER);
        for group in groups {
            for (i, outcome) in group.all().enumerate() {
                if i >= SHOWN && !options.all {
                    let more = group.more.len() + 1 - i;
                    writeln!(
                        out,
                        "| {} | {} | and {more} more | |",
                        outcome.check,
                        escaped(&outcome.place)
                    )
                    .expect(NEVER);
                    break;
                }
                let cells = [
                    outcome.check.to_owned(),
                    escaped(&outcome.place),
                    escaped(&sentence(outcome)),
                    escaped(&outcome.calculation),
                ];
                writeln!(out, "| {} |", cells.join(" | ")).expect(NEVER);
            }
        }
    }
    if !audit.measured.is_empty() {
        write_measured_table(&mut out, audit);
    }
    out
}

/// Above what was measured here.
const MEASURED: &str = "Beside this machine";

/// What a ratio is not.
const NO_VERDICT: &str = "A ratio between two machines and two methods says how far apart they are, and not that a figure is wrong.";

/// Each claim with what stands beside it; what differs is said once for those in a row that share it.
fn write_measured(out: &mut String, audit: &Audit, bold: impl Fn(&str) -> String) {
    writeln!(out, "\n{}\n  {NO_VERDICT}", bold(MEASURED)).expect(NEVER);
    let mut differs = &[] as &[String];
    for one in &audit.measured {
        writeln!(out, "  {} · {} [{}]", one.claim, one.place, one.figure).expect(NEVER);
        match (&one.measured, &one.reason) {
            (Some(measured), _) => writeln!(
                out,
                "    {} on {}: {}; {}",
                measured.what,
                one.stack,
                measured.text,
                measured.ratio_text()
            ),
            (None, reason) => writeln!(
                out,
                "    not set beside {}: {}",
                one.stack,
                reason.as_deref().unwrap_or_default()
            ),
        }
        .expect(NEVER);
        if !one.conditions.is_empty() {
            writeln!(out, "    {}", one.conditions).expect(NEVER);
        }
        match one.differs == differs {
            _ if one.differs.is_empty() => {}
            true => writeln!(out, "    differs: as above").expect(NEVER),
            false => writeln!(out, "    differs: {}", one.differs.join("; ")).expect(NEVER),
        }
        differs = &one.differs;
    }
}

fn write_measured_table(out: &mut String, audit: &Audit) {
    writeln!(
        out,
        "\n## {MEASURED}\n\n{NO_VERDICT}\n\n| claim | place | stack and conditions | measured | ratio | differs |\n|---|---|---|---|---|---|"
    )
    .expect(NEVER);
    for one in &audit.measured {
        let (measured, ratio) = beside(one);
        let cells = [
            format!("{} [{}]", one.claim, one.figure),
            one.place.clone(),
            format!("{} {}", one.stack, one.conditions),
            measured,
            ratio,
            one.differs.join("; "),
        ];
        writeln!(out, "| {} |", cells.map(|c| escaped(c.trim())).join(" | ")).expect(NEVER);
    }
}

/// What was measured and the ratio; or why there is none.
fn beside(one: &Beside) -> (String, String) {
    match &one.measured {
        Some(m) => (format!("{}: {}", m.what, m.text), m.ratio_text()),
        None => (one.reason.clone().unwrap_or_default(), String::new()),
    }
}

/// A finding with the figure that it is about, where its sentence does not name it.
fn sentence(outcome: &Outcome) -> String {
    match outcome.figures.first() {
        Some(figure) => format!("{} [{figure}]", outcome.says),
        None => outcome.says.clone(),
    }
}

fn verdicts(options: Options) -> impl Iterator<Item = Verdict> {
    Verdict::ALL
        .into_iter()
        .filter(move |v| options.all || *v != Verdict::NoObjection)
}

fn groups(audit: &Audit, verdict: Verdict) -> Vec<Group<'_>> {
    let all = audit.groups();
    let own = all.into_iter().filter(|g| g.first.verdict == verdict);
    own.collect()
}

fn heading(statements: &Statements) -> String {
    let source = &statements.source;
    match source.year {
        Some(year) => format!("{} ({year})", source.title),
        None => source.title.clone(),
    }
}

fn painted(text: &str, verdict: Verdict, color: bool) -> String {
    let code = match verdict {
        Verdict::Impossible | Verdict::Inconsistent => 31,
        Verdict::NotWhatItIsCalled => 33,
        Verdict::CannotBeKnown => 36,
        Verdict::NoObjection => 32,
    };
    match color {
        true => format!("\x1b[1;{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// Text of others within a Markdown table.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
