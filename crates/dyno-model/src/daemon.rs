//! Processes that a stack needs beside the participants: brokers, routers, memory managers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One process that the runner starts before the participants of each trial and ends after them.
///
/// Its texts (arguments, environment, names and contents of files, paths) hold placeholders, which
/// [`fill`] replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Daemon {
    /// Its name in messages and in the cost.
    pub name: String,
    /// The program, looked up in PATH (see [`program`]), and its arguments. At least one.
    pub command: Vec<String>,
    /// A program and its arguments that run to their end in the scratch directory before the daemon starts, after its files are
    /// written; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// How the runner knows that participants can use it.
    pub ready: Ready,
    /// The signal that asks it to end.
    #[serde(default)]
    pub stop: StopSignal,
    /// The machine can have only one of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// Added to the runner's own environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Files that it is started with, by path; a relative one lies in the scratch directory.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Files outside of the scratch directory that it leaves when it does not end by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub leaves: Vec<String>,
    /// What `{option.NAME}` stands for: the stack's options that its texts name, as text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// The environment variable that may name a program, and the name to look it up by where that is not set: `BROKER`
/// and `brokerd` of `${BROKER:-brokerd}`, as shells write it; none and the text itself of any other text.
pub fn program(text: &str) -> (Option<&str>, &str) {
    let inner = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'));
    match inner.and_then(|t| t.split_once(":-")) {
        Some((variable, name)) => (Some(variable), name),
        None => (None, text),
    }
}

impl Daemon {
    /// Every text with placeholders.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let ready = match &self.ready {
            Ready::Output(text) | Ready::File(text) | Ready::Connect(text) => text,
        };
        let files = self.files.iter().flat_map(|(path, text)| [path, text]);
        let commands = self.command.iter().chain(&self.prepare);
        commands
            .chain(self.environment.values())
            .chain(files)
            .chain(&self.leaves)
            .chain([ready])
            .map(String::as_str)
    }
}

/// When a daemon is ready. All three hold placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// A line of its standard output or standard error contains this.
    Output(String),
    /// This file exists.
    File(String),
    /// A connection to `tcp:HOST:PORT` or `unix:PATH` is accepted.
    Connect(String),
}

choice! {
    /// The signal that asks a daemon to end.
    #[derive(Default)]
    StopSignal, "signal" {
        /// SIGTERM
        #[default]
        Term = "SIGTERM",
        /// SIGINT
        Int = "SIGINT",
        /// SIGHUP
        Hup = "SIGHUP",
        /// SIGQUIT
        Quit = "SIGQUIT",
        /// SIGKILL
        Kill = "SIGKILL",
    }
}

/// Placeholders that stand for text.
pub const TEXTS: &[&str] = &["scratch", "session", "address", "group"];
/// Placeholders that stand for a whole number.
pub const NUMBERS: &[&str] = &["payload", "senders", "receivers"];

/// What is wrong with a placeholder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// There is none of that name.
    #[error("there is no placeholder `{{{0}}}`")]
    Unknown(String),
    /// It is calculated with, and is not a whole number.
    #[error("`{{{placeholder}}}` calculates with `{term}`, which is not a whole number")]
    NotANumber {
        /// What stands between the braces.
        placeholder: String,
        /// The part that is not a number.
        term: String,
    },
}

/// Replaces the placeholders of `text`: `{NAME}`, or a calculation with whole numbers from left to
/// right such as `{senders*option.depth+16}` or `{payload:64}`, where `:64` rounds up to a multiple of
/// 64. `value` knows the names. Braces around anything else stay as they are.
///
/// # Errors
///
/// At the first placeholder that `value` does not know, or that calculates with text.
pub fn fill(
    text: &str,
    value: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<String, PlaceholderError> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        filled.push_str(before);
        match from.find('}') {
            Some(close) if is_placeholder(&from[1..close]) => {
                filled.push_str(&calculate(&from[1..close], value)?);
                rest = &from[close + 1..];
            }
            _ => {
                filled.push('{');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_placeholder(inner: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-.*+:".contains(c);
    inner.starts_with(|c: char| c.is_ascii_lowercase()) && inner.chars().all(allowed)
}

fn calculate(
    inner: &str,
    value: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<String, PlaceholderError> {
    let operator = |c: char| "*+:".contains(c);
    let end = inner.find(operator).unwrap_or(inner.len());
    let (first, mut rest) = inner.split_at(end);
    let unknown = |name: &str| PlaceholderError::Unknown(name.to_owned());
    let first_value = value(first).ok_or_else(|| unknown(first))?;
    if rest.is_empty() {
        return Ok(first_value);
    }
    let number = |term: &str, text: &str| {
        text.parse::<u64>()
            .map_err(|_| PlaceholderError::NotANumber {
                placeholder: inner.to_owned(),
                term: term.to_owned(),
            })
    };
    let mut result = number(first, &first_value)?;
    while let Some(sign) = rest.chars().next() {
        rest = &rest[1..];
        let end = rest.find(operator).unwrap_or(rest.len());
        let (term, after) = rest.split_at(end);
        rest = after;
        let other = match term.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => number(term, &value(term).ok_or_else(|| unknown(term))?)?,
            false => number(term, term)?,
        };
        result = match sign {
            '*' => result.saturating_mul(other),
            '+' => result.saturating_add(other),
            // Multiples of nothing: as it is.
            _ => result.checked_next_multiple_of(other).unwrap_or(result),
        };
    }
    Ok(result.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, PlaceholderError> {
        fill(text, &mut |name| {
            let value = match name {
                "scratch" => "/tmp/x",
                "payload" => "1001",
                "senders" => "2",
                "option.depth" => "16",
                _ => return None,
            };
            Some(value.to_owned())
        })
    }

    #[test]
    fn names_and_calculations_are_replaced() {
        assert_eq!(filled("{scratch}/a.toml").unwrap(), "/tmp/x/a.toml");
        assert_eq!(filled("size = {payload:64}").unwrap(), "size = 1024");
        assert_eq!(filled("{senders*option.depth+8}").unwrap(), "40");
        assert_eq!(filled("{payload:0}").unwrap(), "1001");
    }

    #[test]
    fn braces_of_other_languages_stay() {
        for text in [
            "{ \"a\": {} }",
            "{",
            "}{",
            "a = { b = 1 }",
            "${HOME}",
            "{A}",
        ] {
            assert_eq!(filled(text).unwrap(), text);
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_an_error() {
        assert_eq!(
            filled("{paylod}").unwrap_err().to_string(),
            "there is no placeholder `{paylod}`"
        );
        assert_eq!(
            filled("{scratch+1}").unwrap_err().to_string(),
            "`{scratch+1}` calculates with `scratch`, which is not a whole number"
        );
        assert_eq!(
            filled("{payload*}").unwrap_err().to_string(),
            "`{payload*}` calculates with ``, which is not a whole number"
        );
    }
}
