//! What others write before each line of a log: instants, hosts, services, streams, levels.

/// What the beginning of the file shows of its prefixes.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    /// A service may stand before a bar: `talker-1  | `.
    services: bool,
    /// Blanks before all lines.
    indent: usize,
    /// Lines begin with an instant, so that one that stands alone is an empty line.
    instants: bool,
    /// What stands behind each instant, where no number of a process ends it: `host bench: `, `bench - `.
    program: String,
}

/// What stands before a line.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Its bytes.
    pub(super) end: usize,
    /// Without instants: what tells one source of lines from another.
    pub(super) source: String,
    has_instant: bool,
}

impl Prefix {
    pub(super) fn of(head: &str, services: bool) -> Prefix {
        let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
        let filled = head.lines().filter(|line| !line.trim().is_empty());
        let mut prefix = Prefix {
            services,
            indent: filled.map(blanks).min().unwrap_or(0),
            ..Prefix::default()
        };
        let mut programs = Vec::new();
        for line in head.lines() {
            let found = prefix.of_line(line);
            let rest = &line[found.end..];
            let is_empty = rest.trim().is_empty() || instant(rest) == Some(rest.len());
            if !is_empty {
                prefix.instants |= found.has_instant;
                programs.push(program(rest).filter(|_| found.has_instant));
            }
        }
        if let Some(Some(first)) = programs.first()
            && programs.iter().all(|p| *p == Some(*first))
        {
            prefix.program = (*first).to_owned();
        }
        prefix
    }

    pub(super) fn of_line(&self, line: &str) -> Found {
        let blank = |b: &u8| *b == b' ';
        let mut found = Found {
            end: line.bytes().take(self.indent).take_while(blank).count(),
            ..Found::default()
        };
        loop {
            let rest = &line[found.end..];
            let part = match instant(rest) {
                // A line of its own says when the tool ran.
                Some(end) if rest.len() > end || (self.instants && !found.has_instant) => {
                    found.has_instant = true;
                    found.end += end;
                    continue;
                }
                Some(_) => None,
                None => self.part(rest, found.has_instant),
            };
            let Some(part) = part.filter(|end| *end > 0) else {
                return found;
            };
            found.source.push_str(&rest[..part]);
            found.end += part;
        }
    }

    /// A part that is no instant.
    fn part(&self, line: &str, has_instant: bool) -> Option<usize> {
        let (word, rest) = first(line);
        let after = line.len() - rest.len();
        // Streams of Kubernetes and GitLab.
        let streams = ["stdout", "stderr", "F", "P", "00O", "00E"];
        let is_stream = |form: &&str| word.len() == form.len() && begins(word, form);
        if has_instant && streams.iter().any(is_stream) {
            return Some(after);
        }
        let levels = ["DEBUG", "INFO", "WARN", "WARNING", "ERROR"];
        if has_instant && levels.contains(&word.trim_end_matches(':')) {
            // Padded before a name in brackets.
            let name = rest.trim_start();
            let padded = if name.starts_with('[') { name } else { rest };
            return Some(line.len() - padded.len());
        }
        // A quotation, and the priority of a message of the kernel.
        let priority = line.strip_prefix('<').map_or(0, digits);
        if word == ">" {
            return Some(after);
        } else if priority > 0 && line[priority + 1..].starts_with(">[") {
            return Some(priority + 2);
        }
        if self.services && is_name(word) && rest.trim_start().starts_with("| ") {
            return Some(line.len() - rest.trim_start().len() + 2);
        }
        // `[STDOUT] `, `[pod/talker/main] `, `[talker]: `; a number in brackets is a tool's own.
        let inner = word.trim_end_matches(':').strip_prefix('[');
        let inner = inner.and_then(|w| w.strip_suffix(']'));
        let named = inner.is_some_and(|w| is_name(w) && w.starts_with(|c: char| c.is_alphabetic()));
        if named && line.len() > word.len() || is_process(word) {
            return Some(after);
        }
        if !has_instant {
            return None;
        }
        if line.starts_with(&self.program) && !self.program.is_empty() {
            return Some(self.program.len());
        }
        // The host stands before the program.
        let (process, rest) = first(rest);
        (is_name(word) && is_process(process)).then_some(line.len() - rest.len())
    }
}

/// The first word, and what follows the blank behind it.
fn first(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, ""))
}

fn is_name(word: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || ['_', '-', '.', '/'].contains(&c);
    !word.is_empty() && word.chars().all(of_name)
}

/// `bench[42]:` of syslog.
fn is_process(word: &str) -> bool {
    let inner = word.strip_suffix("]:").and_then(|w| w.split_once('['));
    inner.is_some_and(|(name, number)| is_name(name) && number.parse::<u32>().is_ok())
}

/// `host bench: ` or `bench - `, at the beginning of what stands behind an instant.
fn program(line: &str) -> Option<&str> {
    let (host, rest) = first(line);
    let (name, rest) = first(rest);
    let is = is_name(host)
        && host.starts_with(|c: char| c.is_ascii_alphabetic())
        && (name == "-" || name.strip_suffix(':').is_some_and(is_name));
    is.then(|| &line[..line.len() - rest.len()])
}

/// Whether a text begins like this, where `0` is any digit.
fn begins(text: &str, form: &str) -> bool {
    let like = |(b, f): (u8, u8)| {
        if f == b'0' {
            b.is_ascii_digit()
        } else {
            b == f
        }
    };
    text.len() >= form.len() && text.bytes().zip(form.bytes()).all(like)
}

/// An instant with the blank behind it, in brackets or not.
fn instant(line: &str) -> Option<usize> {
    let end = match line.strip_prefix('[') {
        Some(inner) => {
            let blanks = inner.len() - inner.trim_start().len();
            let time = &inner[blanks..];
            let digits = digits(time);
            // Of the kernel and of ROS: seconds with their fraction.
            let seconds = (digits > 0 && time[digits..].starts_with('.'))
                .then(|| digits + 1 + self::digits(&time[digits + 1..]));
            let end = 1 + blanks + date_and_clock(time).or(seconds)?;
            line[end..].starts_with(']').then_some(end + 1)?
        }
        None => date_and_clock(line)?,
    };
    let rest = &line[end..];
    let end = end + usize::from(rest.starts_with(':'));
    match line[end..].chars().next() {
        None => Some(end),
        Some(' ' | '\t') => Some(end + 1),
        Some(_) => None,
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// `2026-11-22T17:56:21.123Z`, `2026-11-22 17:56:21,123`, `Nov  2 17:56:21` or `17:56:21`.
fn date_and_clock(text: &str) -> Option<usize> {
    let date = if begins(text, "0000-00-00") && text[10..].starts_with(['T', ' ']) {
        11
    } else if text.bytes().take(3).all(|b| b.is_ascii_alphabetic()) {
        let day = text.get(3..)?;
        ["  0 ", " 00 ", " 0 "]
            .iter()
            .find(|form| begins(day, form))?
            .len()
            + 3
    } else {
        0
    };
    let clock = &text[date..];
    if !begins(clock, "00:00:00") {
        return None;
    }
    let mut end = date + 8;
    if text[end..].starts_with(['.', ',']) {
        end += 1 + digits(&text[end + 1..]);
    }
    let zone = ["Z", "+00:00", "-00:00", "+0000", "-0000", "+00", "-00"];
    let zone = zone.iter().find(|form| begins(&text[end..], form));
    Some(end + zone.map_or(0, |form| form.len()))
}
