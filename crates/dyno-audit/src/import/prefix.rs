//! What others write before each line of a log: instants, hosts, services, levels, numbers of lines. No form of it is known here. It is what
//! stands before a mark of the tool, where the lines below the mark begin in the same shape.

/// Lines from a mark on that are looked at.
const NEAR: usize = 20;

/// Words, numbers and signs of the longest prefix before names.
const LONGEST: usize = 64;

/// The longest number of a mark in bytes.
const DIGITS: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    /// Begins with a digit: an instant, a number of a process or a line.
    Number,
    /// Begins with a letter: a host, a program, a level.
    Word,
    Sign(char),
}

/// What stands before the lines of a file.
#[derive(Debug, Default)]
pub(super) struct Prefix {
    tokens: Vec<Token>,
    /// Blanks behind the last of them; before all lines, where there is none.
    blanks: usize,
}

/// What stands before a line.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Its bytes.
    pub(super) end: usize,
    /// Bytes at the end of the line that close a bracket or a quotation of it.
    pub(super) closing: usize,
    /// Without instants and other numbers: what tells one source of lines from another.
    pub(super) source: String,
}

impl Prefix {
    /// The prefix of these lines, of which the first is the tool's own from this place on; `None` where the lines below it do not share what
    /// stands before that.
    pub(super) fn of(lines: &[&str], own: usize) -> Option<Prefix> {
        let before = lines.first().map_or("", |line| &line[..own]);
        Prefix::shared(tokens(before).map(|(token, ..)| token).collect(), lines)
    }

    /// The same of lines that begin with names of their own before this mark: what all lines share word for word but for numbers. Where all
    /// have the mark, words at its end may belong to the names, and so does a number that differs unless the prefix begins with one.
    pub(super) fn of_names(lines: &[&str], own: usize, mark: &str) -> Prefix {
        let first = lines.first().map_or("", |line| &line[..own]);
        let has_names = near(lines).all(|line| find(mark, line).is_some());
        let is_numbered = tokens(first)
            .next()
            .is_some_and(|(token, ..)| token != Token::Word);
        let t_is_name = |token: Token| match token {
            Token::Word => true,
            Token::Number => has_names && !is_numbered,
            Token::Sign(_) => false,
        };
        let alike = |at: usize| {
            let (token, text, _) = tokens(first).nth(at)?;
            let same = near(lines).all(|line| {
                let other = tokens(line).nth(at);
                let is_name = t_is_name(token);
                other.is_some_and(|(t, s, _)| t == token && (!is_name || s == text))
            });
            same.then_some(token)
        };
        let mut shared: Vec<Token> = (0..LONGEST).map_while(alike).collect();
        if shared.len() == tokens(first).count() {
            let name = first.trim_end().rsplit([' ', '\t']).next();
            shared.truncate(shared.len() - tokens(name.unwrap_or("")).count());
        }
        let is_open = |tokens: &[Token]| {
            let count = |sign| tokens.iter().filter(|t| **t == Token::Sign(sign)).count();
            count('(') > count(')') || count('[') > count(']')
        };
        while has_names && (shared.last() == Some(&Token::Word) || is_open(&shared)) {
            shared.pop();
        }
        let has_sign = shared.iter().any(|t| matches!(t, Token::Sign(_)));
        let is_sure = near(lines).count() > 1 && (!has_names || has_sign || first.contains('\t'));
        let none = || Prefix::shared(Vec::new(), lines).unwrap_or_default();
        match is_sure {
            true => Prefix::shared(shared, lines).unwrap_or_else(none),
            false => none(),
        }
    }

    /// One before a message of several lines, of which the first alone has it.
    pub(super) fn of_message(before: &str) -> Prefix {
        Prefix {
            tokens: tokens(before).map(|(token, ..)| token).collect(),
            blanks: before.len() - before.trim_end().len(),
        }
    }

    /// Whether no content of a tool looks like this: it begins with an instant.
    pub(super) fn is_instant(&self) -> bool {
        self.tokens.len() > 3 && self.tokens.first() == Some(&Token::Number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    fn shared(tokens: Vec<Token>, lines: &[&str]) -> Option<Prefix> {
        let mut prefix = Prefix { tokens, blanks: 0 };
        let ends: Vec<(&str, Option<usize>)> = near(lines)
            .map(|line| (line, prefix.matched(line).map(|found| found.end)))
            .collect();
        let having = ends.iter().filter(|(_, end)| end.is_some()).count();
        let rests = ends.iter().filter_map(|(line, end)| line.get((*end)?..));
        let blanks = |rest: &str| rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let filled = rests.filter(|rest| !rest.trim().is_empty());
        prefix.blanks = filled.map(blanks).min().unwrap_or(0);
        let is_shared = 4 * having >= 3 * ends.len();
        (is_shared && prefix.is_apart(prefix.blanks)).then_some(prefix)
    }

    pub(super) fn of_line(&self, line: &str) -> Found {
        let Some(mut found) = self.matched(line) else {
            return Found::default();
        };
        let blank = |b: &u8| matches!(b, b' ' | b'\t');
        let rest = line[found.end..].bytes();
        let blanks = rest.take(self.blanks).take_while(blank).count();
        found.end += blanks;
        let close = match self.tokens.last() {
            Some(Token::Sign('[')) => "]",
            Some(Token::Sign('"')) => "\"",
            _ => "",
        };
        let ended = line[found.end..].trim_end().trim_end_matches(',');
        if let (false, Some(own)) = (close.is_empty(), ended.strip_suffix(close)) {
            found.closing = line.len() - found.end - own.len();
        }
        match self.is_apart(blanks) || found.end == line.len() {
            true => found,
            false => Found::default(),
        }
    }

    /// Whether what follows is no part of its last word, where so many blanks stand between.
    fn is_apart(&self, blanks: usize) -> bool {
        blanks > 0 || matches!(self.tokens.last(), None | Some(Token::Sign(_)))
    }

    fn matched(&self, line: &str) -> Option<Found> {
        let mut found = Found::default();
        let mut all = tokens(line);
        for token in &self.tokens {
            let (own, text, end) = all.next().filter(|(own, ..)| own == token)?;
            // Of numbers those of containers and addresses.
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            let is_name =
                text.len() > 7 && text.chars().all(is_hex) && text.contains(char::is_alphabetic);
            if own == Token::Word || is_name || text.matches('.').count() > 2 {
                found.source.push_str(text);
                found.source.push(' ');
            }
            found.end = end;
        }
        Some(found)
    }
}

fn near<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let filled = lines.iter().copied().filter(|line| !line.trim().is_empty());
    filled.take(NEAR)
}

/// Words, numbers and signs, each with its end, without the blanks between them.
fn tokens(text: &str) -> impl Iterator<Item = (Token, &str, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text[at..].trim_start_matches([' ', '\t']);
        let first = rest.chars().next()?;
        let inner = |c: char| c.is_alphanumeric() || ['_', '-', '.', '/'].contains(&c);
        let (token, end) = match first {
            c if c.is_alphanumeric() => {
                let kind = match c.is_ascii_digit() {
                    true => Token::Number,
                    false => Token::Word,
                };
                (kind, rest.find(|c| !inner(c)).unwrap_or(rest.len()))
            }
            c => (Token::Sign(c), c.len_utf8()),
        };
        at = text.len() - rest.len() + end;
        Some((token, &rest[..end], at))
    })
}

/// Where a mark begins in a line: `{}` in it is a number, `{*}` a word that begins with a letter, a blank any number of blanks.
pub(super) fn find(mark: &str, line: &str) -> Option<usize> {
    let longest = mark
        .split(['{', '}', '*', ' '])
        .max_by_key(|part| part.len())?;
    if !line.contains(longest) {
        return None;
    }
    let mut within = false;
    line.char_indices().find_map(|(i, c)| {
        let is_word = c.is_alphanumeric();
        let begins = !(std::mem::replace(&mut within, is_word) && is_word);
        (begins && fits(mark, &line[i..])).then_some(i)
    })
}

/// Whether a text begins with a mark.
fn fits(mark: &str, text: &str) -> bool {
    let mut rest = text;
    for (i, part) in mark.split(['{', '}']).enumerate() {
        if i % 2 == 1 {
            let end = match part {
                "" => rest.find(|c: char| !c.is_ascii_digit() && c != '.'),
                _ => rest.find([' ', '\t']),
            };
            let (word, more) = rest.split_at(end.unwrap_or(rest.len()));
            let is = match part {
                "" => !word.is_empty() && word.len() <= DIGITS,
                _ => word.starts_with(|c: char| c.is_alphabetic()),
            };
            if !is {
                return false;
            }
            rest = more;
            continue;
        }
        for (j, word) in part.split(' ').enumerate() {
            let more = rest.trim_start_matches([' ', '\t']);
            if j > 0 && more.len() == rest.len() {
                return false;
            }
            let from = if j > 0 { more } else { rest };
            match from.strip_prefix(word) {
                Some(more) => rest = more,
                None => return false,
            }
        }
    }
    true
}
