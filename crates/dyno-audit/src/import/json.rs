//! JSON documents of bounded size, and their values with their paths.

use super::error::{ImportError, Imported};
use super::lines::Lines;
use super::number::Number;
use super::out::{Out, Spot};
use crate::Statements;
use serde_json::Value;

/// The largest JSON document in bytes; a larger one is refused.
pub const LIMIT: u64 = 16 << 20;

/// Reads all documents of the file, wherever they stand in it; an error of syntax has its line. What is not a number
/// (`nan`, `Infinity`), which JSON does not have and tools write, is `null`, and said.
pub(super) fn documents(input: &mut Lines<'_>) -> Imported<Vec<Value>> {
    let tool = input.tool().as_str();
    let Some(bytes) = input.rest(LIMIT)? else {
        return Err(ImportError::file(format!(
            "the JSON of {tool} is larger than {LIMIT} bytes; split it into smaller files"
        )));
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let (bytes, no_numbers) = without_nan(bytes);
    for (line, word) in no_numbers {
        input.note(format!(
            "line {line}: `{word}` is not a number, so it gives no figure"
        ));
    }
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    let mut passed: Option<(u64, usize, String)> = None;
    while at < bytes.len() {
        let end = bytes[at..]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(bytes.len(), |i| at + i + 1);
        let text = bytes[at..end].trim_ascii();
        if !text.starts_with(b"{") {
            if !text.is_empty() {
                let shown = || String::from_utf8_lossy(text).chars().take(80).collect();
                passed.get_or_insert_with(|| (line, 0, shown())).1 += 1;
            }
            (at, line) = (end, line + 1);
            continue;
        }
        let mut values = serde_json::Deserializer::from_slice(&bytes[at..]).into_iter();
        match values.next() {
            Some(Ok(value)) => found.push(value),
            Some(Err(e)) => {
                let reason = match e.classify() {
                    serde_json::error::Category::Eof => {
                        format!(
                            "the JSON of {tool} ends before its last bracket; the file is cut off"
                        )
                    }
                    _ => format!(
                        "the JSON of {tool} breaks here ({e}); import the file as the tool wrote it"
                    ),
                };
                let at = line + e.line() as u64 - 1;
                return Err(ImportError::line(at, reason));
            }
            None => break,
        }
        let end = at + values.byte_offset();
        line += bytes[at..end].iter().filter(|b| **b == b'\n').count() as u64;
        at = end;
    }
    if let Some((line, lines, text)) = passed {
        input.note(format!(
            "Dyno ignores {} outside of the JSON, from line {line} on: `{text}`",
            dyno_model::unit::counted(lines, "line")
        ));
    }
    Ok(found)
}

/// The statements of all documents of the file.
pub(super) fn each(
    input: &mut Lines<'_>,
    mut read: impl FnMut(&mut Out, &Node<'_>) -> Imported<()>,
) -> Imported<Statements> {
    let documents = documents(input)?;
    let mut out = Out::new(input.tool());
    for root in Node::roots(&documents) {
        out.document();
        read(&mut out, &root)?;
    }
    Ok(out.done())
}

/// With `null` in place of what is not a number, and the line of each.
fn without_nan(bytes: &[u8]) -> (Vec<u8>, Vec<(usize, String)>) {
    let (mut out, mut found) = (Vec::with_capacity(bytes.len()), Vec::new());
    let (mut in_text, mut line, mut i) = (false, 1, 0);
    while let Some(byte) = bytes.get(i).copied() {
        let word = |c: &u8| c.is_ascii_alphanumeric() || *c == b'-' || *c == b'+' || *c == b'.';
        match byte {
            b'\n' => line += 1,
            b'"' => in_text = !in_text,
            b'\\' if in_text => {
                out.push(byte);
                i += 1;
            }
            _ if !in_text && word(&byte) => {
                let end = bytes[i..]
                    .iter()
                    .position(|c| !word(c))
                    .map_or(bytes.len(), |n| i + n);
                let text = String::from_utf8_lossy(&bytes[i..end]).into_owned();
                let name = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
                match ["nan", "inf", "infinity"].contains(&name.as_str()) {
                    true => {
                        out.extend_from_slice(b"null");
                        found.push((line, text));
                    }
                    false => out.extend_from_slice(&bytes[i..end]),
                }
                i = end;
                continue;
            }
            _ => {}
        }
        out.extend(bytes.get(i));
        i += 1;
    }
    (out, found)
}

/// A value and the way to it.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    pub(super) path: String,
}

impl<'a> Node<'a> {
    /// The roots of several documents, whose paths name each but the first.
    pub(super) fn roots(values: &'a [Value]) -> impl Iterator<Item = Node<'a>> {
        let path = |i| match i {
            0 => String::new(),
            i => format!("document {}", i + 1),
        };
        let node = move |(i, value)| Node {
            value,
            path: path(i),
        };
        values.iter().enumerate().map(node)
    }

    fn path_to(&self, key: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        match (self.path.is_empty(), key.chars().all(plain)) {
            (true, true) => key.to_owned(),
            (false, true) => format!("{}.{key}", self.path),
            (_, false) => format!("{}[{key:?}]", self.path),
        }
    }

    /// A member that may be missing; `null` is missing.
    pub(super) fn find(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key).filter(|v| !v.is_null())?;
        Some(Node {
            value,
            path: self.path_to(key),
        })
    }

    /// A member that must be there.
    pub(super) fn get(&self, key: &str) -> Imported<Node<'a>> {
        self.find(key).ok_or_else(|| {
            self.error(format!(
                "has no `{key}`, which this importer needs; another version of the tool, or an option, may leave it out"
            ))
        })
    }

    /// A number that must be there; `None`, which is said, where it is `null`: tools write that for what is not a number.
    pub(super) fn measured(&self, out: &mut Out, key: &str) -> Imported<Option<Node<'a>>> {
        match self.value.get(key) {
            Some(Value::Null) => {
                let path = self.path_to(key);
                out.note(format!("{path} is not a number, so it gives no figure"));
                Ok(None)
            }
            _ => self.get(key).map(Some),
        }
    }

    pub(super) fn items(&self) -> Imported<Vec<Node<'a>>> {
        let items = self.value.as_array();
        let items =
            items.ok_or_else(|| self.error(format!("is {}, not a list", shown(self.value))))?;
        let node = |(i, value)| Node {
            value,
            path: format!("{}[{i}]", self.path),
        };
        Ok(items.iter().enumerate().map(node).collect())
    }

    pub(super) fn members(&self) -> Imported<Vec<(&'a str, Node<'a>)>> {
        let members = self.value.as_object();
        let members = members
            .ok_or_else(|| self.error(format!("is {}, not an object", shown(self.value))))?;
        let node = |(key, value): (&'a String, &'a Value)| {
            let path = self.path_to(key);
            (key.as_str(), Node { value, path })
        };
        Ok(members.iter().map(node).collect())
    }

    pub(super) fn text(&self) -> Imported<&'a str> {
        let text = self.value.as_str();
        text.ok_or_else(|| self.error(format!("is {}, not a text", shown(self.value))))
    }

    pub(super) fn count(&self) -> Imported<u64> {
        self.value
            .as_u64()
            .ok_or_else(|| self.error(format!("is {}, not a whole number", shown(self.value))))
    }

    pub(super) fn float(&self) -> Imported<f64> {
        let value = self.value.as_f64().filter(|v| v.is_finite());
        value.ok_or_else(|| self.error(format!("is {}, not a number", shown(self.value))))
    }

    /// A number that the tool writes with all its digits: known to the last bit of a double, and exact where it is whole.
    pub(super) fn exact(&self) -> Imported<Number> {
        let value = self.float()?;
        let whole = value.fract() == 0.0;
        let half_step = if whole {
            0.0
        } else {
            value.abs() * f64::EPSILON
        };
        Ok(Number::of(value, half_step))
    }

    /// A number that stands there with few digits: known to the last of them, the first decimal at best.
    pub(super) fn written(&self) -> Imported<Number> {
        let value = self.float()?;
        let text = value.to_string();
        let decimals = text.split_once('.').map_or(1, |(_, d)| d.len());
        let step = 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
        Ok(Number::of(value, step.max(value.abs() * f64::EPSILON)))
    }

    /// A number that the tool rounds to this many decimals.
    pub(super) fn rounded(&self, decimals: usize) -> Imported<Number> {
        let value = self.float()?;
        Ok(Number {
            text: format!("{value:.decimals$}"),
            value,
            half_step: 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap_or(0)),
        })
    }

    /// Where it stands.
    pub(super) fn spot(&self) -> Spot<'_> {
        Spot::Path(&self.path)
    }

    pub(super) fn error(&self, reason: impl Into<String>) -> ImportError {
        let path = match self.path.as_str() {
            "" => "the document",
            path => path,
        };
        ImportError::path(path, reason)
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string().chars().take(40).collect(),
    }
}
