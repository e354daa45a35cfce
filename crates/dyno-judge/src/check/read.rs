//! From the text of a limits file to its requirements. Everything that is wrong is found at once.

use super::limits::{Bound, Chosen, Limit, Limits, LimitsError, Selector, nothing_was_checked};
use super::measure::{Measure, Quantile, Written, words};
use super::quantity::{
    parse_bytes, parse_loss, parse_part, parse_quantile, parse_rate, parse_time,
};
use crate::figure::LARGEST;
use dyno_model::unit::UnitError;
use dyno_toml::suggest::nearest;
use dyno_toml::{Node, Place, Problem, Problems, Table, Value};
use miette::NamedSource;
use std::str::FromStr;
use std::sync::Arc;

const KEYS: [&str; 13] = [
    "name",
    "source",
    "suite",
    "experiment",
    "flow",
    "stack",
    "workload",
    "payload",
    "wait",
    "metric",
    "quantile",
    "at_most",
    "at_least",
];

impl Limits {
    /// Reads the text of a limits file; `name` stands in messages.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its place: syntax, unknown keys, wrong units, missing
    /// parts, names that occur twice.
    pub fn parse(name: &str, text: &str) -> Result<Limits, LimitsError> {
        let source = Arc::new(NamedSource::new(name, text.to_owned()));
        let mut problems = Problems::default();
        let Some(table) = dyno_toml::parse(&source, &mut problems) else {
            return Err(problems.into_error(nothing_was_checked));
        };
        table.refuse_unknown("a limits file", &["emulated", "limit"], &mut problems);
        let mut reader = Reader { problems };
        let emulated = reader.flag(&table, "emulated");
        let limits = reader.limits(&table, &Place { source, span: 0..0 });
        reader.problems.check(nothing_was_checked)?;
        Ok(Limits {
            name: name.to_owned(),
            limits,
            emulated,
        })
    }
}

struct Reader {
    problems: Problems,
}

impl Reader {
    fn wrong(&mut self, at: &Place, message: String, label: &str, help: &str) {
        let mut problem = Problem::at(at, message).label(label);
        if !help.is_empty() {
            problem = problem.help(help);
        }
        self.problems.push(problem);
    }

    /// `true` or `false`; false where it is not said.
    fn flag(&mut self, table: &Table, key: &str) -> bool {
        match table.get(key) {
            Some(node) if !matches!(node.value, Value::Bool(_)) => {
                let message = format!("`{key}` must be true or false, found {}", node.value.kind());
                self.wrong(&node.at, message, "neither", "");
                false
            }
            Some(node) => matches!(node.value, Value::Bool(true)),
            None => false,
        }
    }

    /// `start` is that of the file.
    fn limits(&mut self, table: &Table, start: &Place) -> Vec<Limit> {
        const EXAMPLE: &str = "[[limit]]\nname = \"in time\"\nmetric = \"response\"\nquantile = \"p99\"\nat_most = \"2 ms\"";
        let Some(node) = table.get("limit") else {
            if self.problems.is_empty() {
                self.wrong(
                    start,
                    "there is no limit in this file".into(),
                    "add one",
                    EXAMPLE,
                );
            }
            return Vec::new();
        };
        let Value::List(items) = &node.value else {
            let message = format!(
                "`limit` must be a list of tables, found {}",
                node.value.kind()
            );
            self.wrong(&node.at, message, "write [[limit]]", EXAMPLE);
            return Vec::new();
        };
        let mut limits: Vec<Limit> = Vec::new();
        for item in items {
            let Value::Table(table) = &item.value else {
                let message = format!("a limit must be a table, found {}", item.value.kind());
                self.wrong(&item.at, message, "write [[limit]]", EXAMPLE);
                continue;
            };
            let Some(limit) = self.limit(table, &item.at) else {
                continue;
            };
            if limits.iter().any(|l| l.name == limit.name) {
                let message = format!("there are two limits called `{}`", limit.name);
                self.wrong(
                    &limit.at,
                    message,
                    "the second one",
                    "give each its own name",
                );
            }
            limits.push(limit);
        }
        if items.is_empty() {
            self.wrong(
                &node.at,
                "there is no limit in this file".into(),
                "add one",
                EXAMPLE,
            );
        }
        limits
    }

    /// `None` where a problem was noted.
    fn limit(&mut self, table: &Table, at: &Place) -> Option<Limit> {
        table.refuse_unknown("a limit", &KEYS, &mut self.problems);
        let before = self.problems.len();
        // The head of the table: its whole span would underline everything.
        let mut head = at.clone();
        head.span.end = (at.span.start + "[[limit]]".len()).min(at.span.end.max(at.span.start));
        let name = self.name(table, &head);
        let source = table.get("source");
        let source = source.and_then(|node| self.text("source", node));
        let selector = Selector {
            suite: self.words(table, "suite"),
            experiment: self.words(table, "experiment"),
            flow: self.words(table, "flow"),
            stack: self.words(table, "stack"),
            workload: self.quantities(table, "workload"),
            payload: self.quantities(table, "payload"),
            wait: self.quantities(table, "wait"),
        };
        let measured = self.measure(table, &head);
        let (name, at) = name?;
        let (measure, bound) = measured?;
        (self.problems.len() == before).then_some(Limit {
            name,
            measure,
            bound,
            selector,
            source,
            at,
        })
    }

    fn name(&mut self, table: &Table, head: &Place) -> Option<(String, Place)> {
        let Some(node) = table.get("name") else {
            self.wrong(
                head,
                "a limit needs a `name`".into(),
                "this limit",
                "it stands in results, such as name = \"camera in time\"",
            );
            return None;
        };
        let text = self.text("name", node)?;
        if text.trim().is_empty() {
            self.wrong(&node.at, "`name` is empty".into(), "write a name", "");
            return None;
        }
        Some((text, node.at.clone()))
    }

    fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        if let Value::Text(text) = &node.value {
            return Some(text.clone());
        }
        let message = format!(
            "`{key}` must be text in quotes, found {}",
            node.value.kind()
        );
        self.wrong(&node.at, message, "write it in quotes", "");
        None
    }

    /// A selector: one text or a list of texts.
    fn words(&mut self, table: &Table, key: &str) -> Vec<Chosen<String>> {
        self.chosen(table, key, |text| Ok(text.to_owned()))
    }

    fn quantities<T: FromStr<Err = UnitError>>(
        &mut self,
        table: &Table,
        key: &str,
    ) -> Vec<Chosen<T>> {
        self.chosen(table, key, str::parse)
    }

    fn chosen<T>(
        &mut self,
        table: &Table,
        key: &str,
        parse: impl Fn(&str) -> Result<T, UnitError>,
    ) -> Vec<Chosen<T>> {
        let Some(node) = table.get(key) else {
            return Vec::new();
        };
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        if items.is_empty() {
            self.wrong(
                &node.at,
                format!("`{key}` selects nothing"),
                "an empty list",
                &format!("leave `{key}` out to select all"),
            );
        }
        let mut chosen = Vec::new();
        for item in items {
            let Some(text) = self.text(key, item) else {
                continue;
            };
            match parse(&text) {
                Ok(value) => chosen.push(Chosen {
                    value,
                    text,
                    at: item.at.clone(),
                }),
                Err(e) => self.unit(key, &item.at, &e),
            }
        }
        chosen
    }

    fn unit(&mut self, key: &str, at: &Place, e: &UnitError) {
        let message = format!("`{key}`: {:?} is not a {}", e.found, e.what);
        self.wrong(
            at,
            message,
            &e.reason,
            &format!("write for example {}", e.example),
        );
    }

    fn measure(&mut self, table: &Table, head: &Place) -> Option<(Measure, Bound)> {
        let names: Vec<&str> = Measure::words().collect();
        let all = format!("metrics: {}", names.join(", "));
        let Some(node) = table.get("metric") else {
            self.wrong(head, "a limit needs a `metric`".into(), "this limit", &all);
            return None;
        };
        let word = self.text("metric", node)?;
        let Some(found) = words().find(|w| w.word == word) else {
            let label = match nearest(&word, &names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "no such metric".into(),
            };
            self.wrong(
                &node.at,
                format!("there is no metric `{word}`"),
                &label,
                &all,
            );
            return None;
        };
        let word = found.word;
        let q = self.quantile(table, head, word, found.quantile);
        let bound = self.bound(table, head, word, found.written);
        let q = q?;
        let given = table.get("quantile").is_some().then_some(q);
        let measure = Measure::of_word(word, given)?;
        Some((measure, bound?))
    }

    /// The quantile; 0.5 for metrics that have none.
    fn quantile(&mut self, table: &Table, head: &Place, word: &str, how: Quantile) -> Option<f64> {
        match (table.get("quantile"), how) {
            (None, Quantile::None | Quantile::Median | Quantile::Optional) => Some(0.5),
            (None, Quantile::Needed) => {
                let message = format!("a limit on `{word}` needs a `quantile`");
                self.wrong(
                    head,
                    message,
                    "this limit",
                    "write for example quantile = \"p99\"",
                );
                None
            }
            (Some(node), Quantile::None) => {
                let message = format!("`{word}` has no quantile");
                self.wrong(&node.at, message, "leave it out", "");
                None
            }
            (Some(node), _) => {
                let text = self.text("quantile", node)?;
                if text.trim() == "max" && how == Quantile::Needed {
                    return Some(LARGEST);
                }
                match parse_quantile(&text) {
                    Ok(q) => Some(q),
                    Err(e) => {
                        self.unit("quantile", &node.at, &e);
                        None
                    }
                }
            }
        }
    }

    fn bound(
        &mut self,
        table: &Table,
        head: &Place,
        word: &str,
        written: Written,
    ) -> Option<Bound> {
        let (key, other) = match written {
            Written::Rate => ("at_least", "at_most"),
            _ => ("at_most", "at_least"),
        };
        if let Some(node) = table.get(other) {
            let message = format!("a limit on `{word}` says `{key}`, not `{other}`");
            self.wrong(&node.at, message, &format!("write {key}"), "");
            return None;
        }
        let example = match written {
            Written::Time => "at_most = \"2 ms\"",
            Written::Number => "at_most = 3",
            Written::Loss => "at_most = 0 (messages) or at_most = \"0.1 %\"",
            Written::Bytes => "at_most = \"64 MiB\"",
            Written::Rate => "at_least = \"10000 /s\"",
            Written::Share => "at_most = \"10 %\"",
            Written::Count => "at_most = 0 (trials)",
        };
        let Some(node) = table.get(key) else {
            let message = format!("a limit on `{word}` needs `{key}`");
            self.wrong(
                head,
                message,
                "this limit",
                &format!("write for example {example}"),
            );
            return None;
        };
        let bound = match (&node.value, written) {
            (Value::Int(n), Written::Number) if *n > 0 => Ok(Bound::AtMost(*n as f64)),
            (Value::Float(v), Written::Number) if v.is_finite() && *v > 0.0 => {
                Ok(Bound::AtMost(*v))
            }
            (Value::Int(n), Written::Loss | Written::Count) if *n >= 0 => {
                Ok(Bound::AtMostCount(n.unsigned_abs()))
            }
            (Value::Text(t), Written::Loss) => parse_loss(t),
            (Value::Text(t), Written::Time) => parse_time(t),
            (Value::Text(t), Written::Share) => parse_part(t),
            (Value::Text(t), Written::Bytes) => parse_bytes(t).map(Bound::AtMost),
            (Value::Text(t), Written::Rate) => parse_rate(t).map(Bound::AtLeast),
            (Value::Int(_) | Value::Float(_), Written::Number | Written::Loss | Written::Count) => {
                let message = format!("`{key}` of `{word}` is out of range");
                self.wrong(
                    &node.at,
                    message,
                    "no such limit",
                    &format!("write for example {example}"),
                );
                return None;
            }
            (value, _) => {
                let message = format!("`{key}` of `{word}` cannot be {}", value.kind());
                let help = format!("write for example {example}");
                self.wrong(&node.at, message, "another form is needed", &help);
                return None;
            }
        };
        match bound {
            Ok(bound) => Some(bound),
            Err(e) => {
                self.unit(key, &node.at, &e);
                None
            }
        }
    }
}
