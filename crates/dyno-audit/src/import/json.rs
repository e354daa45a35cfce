//! A JSON document of bounded size, and its values with their paths.

use super::lines::Lines;
use super::number::Number;
use super::{ImportError, Imported};
use serde_json::Value;

/// The largest JSON document in bytes; a larger one is refused.
pub const LIMIT: u64 = 16 << 20;

/// Reads the document; an error of syntax has its line.
pub(super) fn document(input: &mut Lines<'_>) -> Imported<Value> {
    let tool = input.tool().as_str();
    let Some(bytes) = input.rest(LIMIT)? else {
        return Err(ImportError::file(format!(
            "the JSON of {tool} is larger than {LIMIT} bytes; give the parts of it that matter in files of their own"
        )));
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    serde_json::from_slice(bytes).map_err(|e| {
        let hint = match e.classify() {
            serde_json::error::Category::Eof => "; the file is cut off",
            _ => "",
        };
        ImportError::line(
            e.line() as u64,
            format!("this is no JSON of {tool}: {e}{hint}"),
        )
    })
}

/// A value and the way to it.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    pub(super) path: String,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Node<'a> {
        Node {
            value,
            path: String::new(),
        }
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
                "has no `{key}`; was it cut, or written by another version of the tool?"
            ))
        })
    }

    pub(super) fn items(&self) -> Imported<Vec<Node<'a>>> {
        let items = self.value.as_array();
        let items = items.ok_or_else(|| self.error("is no list"))?;
        let node = |(i, value)| Node {
            value,
            path: format!("{}[{i}]", self.path),
        };
        Ok(items.iter().enumerate().map(node).collect())
    }

    pub(super) fn members(&self) -> Imported<Vec<(&'a str, Node<'a>)>> {
        let members = self.value.as_object();
        let members = members.ok_or_else(|| self.error("is no object"))?;
        let node = |(key, value): (&'a String, &'a Value)| {
            let path = self.path_to(key);
            (key.as_str(), Node { value, path })
        };
        Ok(members.iter().map(node).collect())
    }

    pub(super) fn text(&self) -> Imported<&'a str> {
        self.value.as_str().ok_or_else(|| self.error("is no text"))
    }

    pub(super) fn count(&self) -> Imported<u64> {
        self.value
            .as_u64()
            .ok_or_else(|| self.error(format!("is {}, no whole number", shown(self.value))))
    }

    pub(super) fn float(&self) -> Imported<f64> {
        let value = self.value.as_f64().filter(|v| v.is_finite());
        value.ok_or_else(|| self.error(format!("is {}, no number", shown(self.value))))
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

    /// A number that the tool rounds to this many decimals.
    pub(super) fn rounded(&self, decimals: usize) -> Imported<Number> {
        let value = self.float()?;
        Ok(Number {
            text: format!("{value:.decimals$}"),
            value,
            half_step: 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap_or(0)),
        })
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
