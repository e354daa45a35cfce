//! What an audit found, for people and for programs. Says what cannot be true, never why or whose it is.

mod beside;
mod json;
mod page;

pub use json::json;
pub use page::{PageError, page};

use crate::audit::{Audit, Group};
use crate::outcome::{Outcome, Verdict};
use crate::statement::Statements;
use beside::{NO_VERDICT, beside};
use dyno_report::clean;
use std::fmt::Write as _;

/// How many findings of one kind stand with their calculation where not all are asked for.
const SHOWN: usize = 4;

/// How much is printed, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Also show the figures to which the audit has no objection.
    pub all: bool,
    /// With colours of a terminal.
    pub color: bool,
}

/// Writing to a `String` cannot fail.
const NEVER: &str = "writing to a string cannot fail";

/// For a terminal.
pub fn text(statements: &Statements, audit: &Audit, options: Options) -> String {
    let mut out = Lines {
        text: String::new(),
        color: options.color,
    };
    out.styled(BOLD, &heading(statements));
    for sentence in audit.sentences(statements) {
        out.add(2, &sentence);
    }
    for note in &statements.notes {
        out.add(2, &format!("Note: {note}"));
    }
    for verdict in verdicts(options) {
        let groups = groups(audit, verdict);
        if groups.is_empty() {
            continue;
        }
        out.blank();
        let title = format!("{} ({})", verdict.as_str(), audit.count(verdict));
        out.styled(style(verdict), &title);
        for group in groups {
            out.add(2, &format!("{} · {}", group.first.check, group.first.place));
            for (i, outcome) in group.all().enumerate() {
                if i >= SHOWN && !options.all {
                    out.add(4, &format!("and {} more (--all)", group.more.len() + 1 - i));
                    break;
                }
                out.add(4, &sentence(outcome));
                if !outcome.calculation.is_empty() {
                    out.add(6, &outcome.calculation);
                }
            }
        }
    }
    if !audit.measured.is_empty() {
        write_measured(&mut out, audit);
    }
    out.text
}

/// Text that grows by lines, whose words may be anybody's.
struct Lines {
    text: String,
    color: bool,
}

impl Lines {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn add(&mut self, indent: usize, line: &str) {
        self.text
            .push_str(&format!("{:indent$}{}\n", "", clean(line)));
    }

    /// With the parameters of SGR (ECMA-48, section 8.3.117) where colours are wanted.
    fn styled(&mut self, style: &str, line: &str) {
        match self.color {
            true => {
                let line = clean(line);
                self.text.push_str(&format!("\x1b[{style}m{line}\x1b[0m\n"));
            }
            false => self.add(0, line),
        }
    }
}

/// For a page of documentation.
pub fn markdown(statements: &Statements, audit: &Audit, options: Options) -> String {
    let mut out = String::new();
    writeln!(out, "# {}\n", escaped(&heading(statements))).expect(NEVER);
    for sentence in audit.sentences(statements) {
        writeln!(out, "{}", clean(&sentence)).expect(NEVER);
    }
    for note in &statements.notes {
        writeln!(out, "\nNote: {}", escaped(note)).expect(NEVER);
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

/// Each claim with what stands beside it; what differs is said once for those in a row that share it.
fn write_measured(out: &mut Lines, audit: &Audit) {
    out.blank();
    out.styled(BOLD, MEASURED);
    out.add(2, NO_VERDICT);
    let mut differs = &[] as &[String];
    for one in &audit.measured {
        out.add(
            2,
            &format!("{} · {} [{}]", one.claim, one.place, one.figure),
        );
        out.add(
            4,
            &match (&one.measured, &one.reason) {
                (Some(measured), _) => format!(
                    "{} on {}: {}; {}",
                    measured.what,
                    one.stack,
                    measured.text,
                    measured.ratio_text()
                ),
                (None, reason) => format!(
                    "not set beside {}: {}",
                    one.stack,
                    reason.as_deref().unwrap_or_default()
                ),
            },
        );
        if !one.conditions.is_empty() {
            out.add(4, &one.conditions);
        }
        match one.differs == differs {
            _ if one.differs.is_empty() => {}
            true => out.add(4, "differs: as above"),
            false => out.add(4, &format!("differs: {}", one.differs.join("; "))),
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

const BOLD: &str = "1";

fn style(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Impossible | Verdict::Inconsistent => "1;31",
        Verdict::NotWhatItIsCalled => "1;33",
        Verdict::CannotBeKnown => "1;36",
        Verdict::NoObjection => "1;32",
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
    for c in clean(text).chars() {
        match c {
            '|' | '*' | '_' | '`' | '<' | '[' | ']' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
