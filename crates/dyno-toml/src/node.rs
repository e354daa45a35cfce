//! TOML as a tree in which every key and every value knows its place.

use crate::problem::{Place, Problem, Problems, Source};
use crate::suggest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it stands.
    pub at: Place,
    /// What stands there.
    pub value: Value,
}

/// What stands there.
#[derive(Debug, Clone)]
pub enum Value {
    /// In quotes, whatever they are.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// In the order of the text.
    List(Vec<Node>),
    /// Inline or under a heading.
    Table(Table),
    /// A date, or a number that does not fit into 64 bits.
    Other(&'static str),
}

/// Keys with their values, in the order of the text.
#[derive(Debug, Clone, Default)]
pub struct Table(pub Vec<Entry>);

/// A key with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key, without quotes.
    pub key: String,
    /// Where the key stands.
    pub key_at: Place,
    /// Its value.
    pub node: Node,
}

impl Value {
    /// With its article, for messages.
    pub const fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(what) => what,
        }
    }
}

impl Node {
    /// `subject` must be `wanted`, which is not what stands here.
    pub fn wrong_kind(&self, subject: &str, wanted: &str) -> Problem {
        Problem::at(
            &self.at,
            format!("{subject} must be {wanted}, found {}", self.value.kind()),
        )
        .label(format!("write {wanted}"))
    }
    /// The text; `None`, and a problem that speaks of `subject`, where it is none.
    pub fn text(&self, subject: &str, problems: &mut Problems) -> Option<&str> {
        match &self.value {
            Value::Text(t) => Some(t),
            _ => self.wrong_kind(subject, "text in quotes").refuse(problems),
        }
    }
    /// The table, in the same way.
    pub fn table(&self, subject: &str, problems: &mut Problems) -> Option<&Table> {
        match &self.value {
            Value::Table(t) => Some(t),
            _ => self.wrong_kind(subject, "a table").refuse(problems),
        }
    }
    /// The list that `[[…]]` writes, in the same way; `advice` says how.
    pub fn tables(&self, subject: &str, advice: &str, problems: &mut Problems) -> Option<&[Node]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => {
                let problem = self.wrong_kind(subject, "a list of tables");
                problem.help(advice).refuse(problems)
            }
        }
    }
    /// True or false, in the same way.
    pub fn bool(&self, subject: &str, problems: &mut Problems) -> Option<bool> {
        match self.value {
            Value::Bool(v) => Some(v),
            _ => self.wrong_kind(subject, "true or false").refuse(problems),
        }
    }
    /// A whole number from `least` to `most`, in the same way.
    pub fn whole(
        &self,
        subject: &str,
        least: u64,
        most: u64,
        problems: &mut Problems,
    ) -> Option<u64> {
        let Value::Int(found) = self.value else {
            return self.wrong_kind(subject, "a whole number").refuse(problems);
        };
        match u64::try_from(found) {
            Ok(v) if (least..=most).contains(&v) => Some(v),
            _ => Problem::at(
                &self.at,
                format!("{subject} must be from {least} to {most}, found {found}"),
            )
            .label(if found < 0 || (found as u64) < least {
                "too small"
            } else {
                "too large"
            })
            .refuse(problems),
        }
    }
}

impl Table {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|e| &e.node)
    }
    /// A key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|e| e.key == key)
    }
    /// The text of a key; `None` where it is left out, or with a problem where it is no text.
    pub fn text(&self, key: &str, problems: &mut Problems) -> Option<&str> {
        self.get(key)?.text(&format!("`{key}`"), problems)
    }
    /// The table of a key, in the same way.
    pub fn table(&self, key: &str, problems: &mut Problems) -> Option<&Table> {
        self.get(key)?.table(&format!("`{key}`"), problems)
    }
    /// Whether a key is true, in the same way.
    pub fn flag(&self, key: &str, problems: &mut Problems) -> Option<bool> {
        self.get(key)?.bool(&format!("`{key}`"), problems)
    }
    /// The value of a key that must be there; `None`, and a problem with `advice`, where it is missing. `owner` is whose key
    /// it is, `at` where that stands.
    pub fn required(
        &self,
        key: &str,
        owner: &str,
        at: &Place,
        advice: &str,
        problems: &mut Problems,
    ) -> Option<&Node> {
        let missing = || {
            Problem::at(at, format!("{owner} has no `{key}`"))
                .label(format!("`{key}` is missing"))
                .help(advice)
                .refuse(problems)
        };
        self.get(key).or_else(missing)
    }
    /// The same for several keys, each with its advice.
    pub fn refuse_missing(
        &self,
        owner: &str,
        at: &Place,
        keys: &[(&str, &str)],
        problems: &mut Problems,
    ) {
        for (key, advice) in keys {
            self.required(key, owner, at, advice, problems);
        }
    }
    /// Refuses every key that is not `known`; `owner` says whose keys they are.
    pub fn refuse_unknown(&self, owner: &str, known: &[&str], problems: &mut Problems) {
        for entry in &self.0 {
            if !known.contains(&entry.key.as_str()) {
                problems.push(unknown_key(entry, owner, known));
            }
        }
    }
}

/// `entry` is no key of `owner`.
pub fn unknown_key(entry: &Entry, owner: &str, known: &[&str]) -> Problem {
    let label = match suggest::nearest(&entry.key, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "no such key".into(),
    };
    Problem::at(&entry.key_at, format!("{owner} has no key `{}`", entry.key))
        .label(label)
        .help(format!("keys: {}", known.join(", ")))
}

/// Parses a whole file; every syntax error becomes a problem, and then there is no table.
pub fn parse(source: &Source, problems: &mut Problems) -> Option<Table> {
    let (table, errors) = parse_what_can_be(source);
    let whole = errors.is_empty();
    for error in errors {
        problems.push(error);
    }
    whole.then_some(table)
}

/// Parses a file as far as it is TOML.
pub fn parse_what_can_be(source: &Source) -> (Table, Vec<Problem>) {
    let (table, errors) = DeTable::parse_recoverable(source.inner());
    let errors = errors
        .into_iter()
        .map(|error| {
            let at = Place {
                source: source.clone(),
                span: error.span().unwrap_or(0..0),
            };
            Problem::at(&at, format!("this is not TOML: {}", error.message()))
                .help("the syntax on one page: https://toml.io")
        })
        .collect();
    (convert_table(source, table.into_inner()), errors)
}

/// Reads the value of `--set KEY=VALUE`: a TOML value, or text without quotes, or several of
/// either with commas between them.
pub fn parse_flag_value(key: &str, value: &str) -> Node {
    let at = Place::flag("--set", &format!("{key}={value}"));
    let offset = at.source.inner().len() - value.len();
    let place = |span: std::ops::Range<usize>| Place {
        source: at.source.clone(),
        span,
    };
    let one = |text: &str, start: usize| -> Node {
        let at = place(start..start + text.len());
        let value = match DeValue::parse(text) {
            // Places inside of a list or table lie in `text`, not in the flag: mark all of it.
            Ok(v) => convert(&at.source, v).value.moved_to(&at),
            Err(_) => Value::Text(text.to_owned()),
        };
        Node { at, value }
    };
    let whole = one(value, offset);
    if !matches!(whole.value, Value::Text(_)) || value.starts_with(['"', '\'']) {
        return whole;
    }
    let parts: Vec<&str> = value.split(',').collect();
    if parts.len() == 1 {
        return whole;
    }
    let mut start = offset;
    let items = parts
        .into_iter()
        .map(|part| {
            let node = one(part.trim(), start + (part.len() - part.trim_start().len()));
            start += part.len() + 1;
            node
        })
        .collect();
    Node {
        at: whole.at,
        value: Value::List(items),
    }
}

impl Value {
    fn moved_to(self, at: &Place) -> Value {
        let moved = |node: Node| Node {
            at: at.clone(),
            value: node.value.moved_to(at),
        };
        match self {
            Value::List(items) => Value::List(items.into_iter().map(moved).collect()),
            Value::Table(table) => Value::Table(Table(
                table
                    .0
                    .into_iter()
                    .map(|e| Entry {
                        key_at: at.clone(),
                        node: moved(e.node),
                        key: e.key,
                    })
                    .collect(),
            )),
            other => other,
        }
    }
}

fn convert(source: &Source, value: Spanned<DeValue<'_>>) -> Node {
    let at = Place {
        source: source.clone(),
        span: value.span(),
    };
    let value = match value.into_inner() {
        DeValue::String(t) => Value::Text(t.into_owned()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(v) => Value::Int(v),
            Err(_) => Value::Other("a number that does not fit into 64 bits"),
        },
        DeValue::Float(f) => match f.as_str().parse() {
            Ok(v) => Value::Float(v),
            Err(_) => Value::Other("a number that does not fit into 64 bits"),
        },
        DeValue::Boolean(v) => Value::Bool(v),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|v| convert(source, v)).collect())
        }
        DeValue::Table(table) => Value::Table(convert_table(source, table)),
    };
    Node { at, value }
}

fn convert_table(source: &Source, table: DeTable<'_>) -> Table {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_at: Place {
                source: source.clone(),
                span: key.span(),
            },
            key: key.into_inner().into_owned(),
            node: convert(source, value),
        })
        .collect();
    entries.sort_by_key(|e| e.key_at.span.start);
    Table(entries)
}
