//! Equations and bounds over names of figures: `a/*/spread = a/*/max - a/*/min`, `a/*/received <= a/*/sent`. A name with blanks
//! stands between backquotes.

use crate::interval::{Interval, Prefixes};
use crate::statement::Figure;
use std::collections::BTreeMap;

/// Whether a pattern fits a text; `*` stands for any text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => text.strip_prefix(head).is_some_and(|rest| {
            let ends = rest.char_indices().map(|(i, _)| i).chain([rest.len()]);
            ends.into_iter().any(|i| fits(tail, &rest[i..]))
        }),
    }
}

/// What the `*` of a pattern stand for in a name, each for a part between two `/`.
fn captures(pattern: &str, name: &str) -> Option<Vec<String>> {
    let (a, b) = (pattern.split('/').count(), name.split('/').count());
    if a != b {
        return None;
    }
    let mut found = Vec::new();
    for (pattern, part) in pattern.split('/').zip(name.split('/')) {
        match pattern.split_once('*') {
            None if pattern == part => {}
            None => return None,
            Some((head, tail)) => {
                let inner = part.strip_prefix(head)?.strip_suffix(tail)?;
                found.push(inner.to_owned());
            }
        }
    }
    Some(found)
}

fn filled(pattern: &str, captures: &[String]) -> String {
    let mut captures = captures.iter();
    let mut out = String::new();
    for (i, part) in pattern.split('*').enumerate() {
        if i > 0 {
            out.push_str(captures.next().map_or("*", String::as_str));
        }
        out.push_str(part);
    }
    out
}

/// A function over a list of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Sum,
    Mean,
    Min,
    Max,
}

/// An expression; names may have `*` until they are bound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Name(String),
    Of(Function, Vec<String>),
    Pair(Box<Expression>, char, Box<Expression>),
}

/// An equation, or a bound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Formula {
    pub(crate) left: Expression,
    /// Whether the left side may also be less.
    pub(crate) at_most: bool,
    pub(crate) right: Expression,
}

impl Formula {
    /// Blanks stand around operators, since names may hold `-` and `+`.
    pub(crate) fn parse(text: &str) -> Result<Formula, String> {
        let sides = text.split_once(" = ").map(|sides| (sides, false));
        let sides = sides.or_else(|| Some((text.split_once(" <= ")?, true)));
        let ((left, right), at_most) = sides.ok_or_else(|| {
            format!(
                "{text:?} is not an equation; write `A = B` or `A <= B` with blanks around the sign"
            )
        })?;
        Ok(Formula {
            left: expression(left)?,
            at_most,
            right: expression(right)?,
        })
    }

    /// Whether it holds for some values of both sides.
    pub(crate) fn holds(&self, left: Interval, right: Interval) -> bool {
        left.meets(right) || (self.at_most && left.lo <= right.hi)
    }

    /// The sign between its sides.
    pub(crate) fn sign(&self) -> &'static str {
        match self.at_most {
            true => "≤",
            false => "=",
        }
    }

    /// All names, with their `*`.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.left.names(&mut names);
        self.right.names(&mut names);
        names
    }

    /// One equation for each way in which its `*` fit on both sides.
    pub(crate) fn bind(&self, figures: &[Figure]) -> Result<Vec<Formula>, String> {
        let mut outside = Vec::new();
        self.left.free(&mut outside);
        self.right.free(&mut outside);
        let Some(first) = outside.iter().find(|name| name.contains('*')) else {
            return Ok(vec![
                self.filled(&[], figures).ok_or("a name does not exist")?,
            ]);
        };
        let bound: Vec<Formula> = figures
            .iter()
            .filter_map(|f| captures(first, &f.id))
            .filter_map(|captures| self.filled(&captures, figures))
            .collect();
        match bound.is_empty() {
            true => Err(format!(
                "`{first}` matches no figures for which all other names of this formula exist, too"
            )),
            false => Ok(bound),
        }
    }

    fn filled(&self, captures: &[String], figures: &[Figure]) -> Option<Formula> {
        let own = match &self.left {
            Expression::Name(name) => Some(filled(name, captures)),
            _ => None,
        };
        Some(Formula {
            left: self.left.filled(captures, figures, own.as_deref())?,
            at_most: self.at_most,
            right: self.right.filled(captures, figures, own.as_deref())?,
        })
    }
}

impl Expression {
    fn names<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Expression::Number(_) => {}
            Expression::Name(name) => into.push(name),
            Expression::Of(_, names) => into.extend(names.iter().map(String::as_str)),
            Expression::Pair(a, _, b) => {
                a.names(into);
                b.names(into);
            }
        }
    }

    /// The names outside of functions.
    fn free<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Expression::Name(name) => into.push(name),
            Expression::Pair(a, _, b) => {
                a.free(into);
                b.free(into);
            }
            Expression::Number(_) | Expression::Of(..) => {}
        }
    }

    /// `None` where a name does not exist. A function leaves out `own`, the figure that it says something of.
    fn filled(
        &self,
        captures: &[String],
        figures: &[Figure],
        own: Option<&str>,
    ) -> Option<Expression> {
        let exists = |name: &str| figures.iter().any(|f| f.id == name);
        Some(match self {
            Expression::Number(v) => Expression::Number(*v),
            Expression::Name(name) => {
                let name = filled(name, captures);
                if !exists(&name) {
                    return None;
                }
                Expression::Name(name)
            }
            Expression::Of(function, patterns) => {
                let fit = |f: &&Figure| patterns.iter().any(|p| self::captures(p, &f.id).is_some());
                let names: Vec<String> = figures
                    .iter()
                    .filter(fit)
                    .filter(|f| Some(f.id.as_str()) != own)
                    .map(|f| f.id.clone())
                    .collect();
                if names.is_empty() {
                    return None;
                }
                Expression::Of(*function, names)
            }
            Expression::Pair(a, operator, b) => Expression::Pair(
                Box::new(a.filled(captures, figures, own)?),
                *operator,
                Box::new(b.filled(captures, figures, own)?),
            ),
        })
    }

    /// What it can be.
    pub(crate) fn value(
        &self,
        figures: &BTreeMap<&str, &Figure>,
        prefixes: Prefixes,
    ) -> Option<Interval> {
        let of = |name: &String| Some(Interval::of(figures.get(name.as_str())?, prefixes));
        Some(match self {
            Expression::Number(v) => Interval::exactly(*v),
            Expression::Name(name) => of(name)?,
            Expression::Of(function, names) => {
                let all: Vec<Interval> = names.iter().map(of).collect::<Option<_>>()?;
                let extreme = |pick: fn(f64, f64) -> f64, start: f64| Interval {
                    lo: all.iter().map(|i| i.lo).fold(start, pick),
                    hi: all.iter().map(|i| i.hi).fold(start, pick),
                };
                let sum = all
                    .iter()
                    .fold(Interval::exactly(0.0), |sum, i| sum.plus(*i));
                match function {
                    Function::Sum => sum,
                    Function::Mean => sum.by(Interval::exactly(all.len() as f64)),
                    Function::Min => extreme(f64::min, f64::INFINITY),
                    Function::Max => extreme(f64::max, f64::NEG_INFINITY),
                }
            }
            Expression::Pair(a, operator, b) => {
                let (a, b) = (a.value(figures, prefixes)?, b.value(figures, prefixes)?);
                match operator {
                    '+' => a.plus(b),
                    '-' => a.minus(b),
                    '*' => a.times(b),
                    _ => a.by(b),
                }
            }
        })
    }

    /// With the printed numbers in place of names.
    pub(crate) fn printed(&self, figures: &BTreeMap<&str, &Figure>) -> String {
        self.with(&|name| match figures.get(name) {
            Some(f) if f.printed.unit.text.is_empty() => f.printed.text.clone(),
            Some(f) => format!("{} {}", f.printed.text, f.printed.unit.text),
            None => name.to_owned(),
        })
    }

    /// With something in place of each name.
    pub(crate) fn with(&self, of: &dyn Fn(&str) -> String) -> String {
        match self {
            Expression::Number(v) => crate::interval::to_digits(*v, 9),
            Expression::Name(name) => of(name),
            Expression::Of(function, names) => {
                let all: Vec<String> = names.iter().map(|name| of(name)).collect();
                match function {
                    Function::Sum => all.join(" + "),
                    Function::Mean => format!("mean({})", all.join(", ")),
                    Function::Min => format!("min({})", all.join(", ")),
                    Function::Max => format!("max({})", all.join(", ")),
                }
            }
            Expression::Pair(a, operator, b) => {
                let side = |e: &Expression| match e {
                    Expression::Pair(..) => format!("({})", e.with(of)),
                    Expression::Of(Function::Sum, names) if names.len() > 1 => {
                        format!("({})", e.with(of))
                    }
                    _ => e.with(of),
                };
                format!("{} {operator} {}", side(a), side(b))
            }
        }
    }

    /// The figures that it adds up, where it is a sum of two or more.
    pub(crate) fn summands(&self) -> Vec<&str> {
        match self {
            Expression::Of(Function::Sum, names) => names.iter().map(String::as_str).collect(),
            Expression::Pair(a, '+', b) => {
                let mut all = a.summands_or_name();
                all.extend(b.summands_or_name());
                all
            }
            _ => Vec::new(),
        }
    }

    fn summands_or_name(&self) -> Vec<&str> {
        match self {
            Expression::Name(name) => vec![name],
            other => other.summands(),
        }
    }
}

/// Precedence climbing over words: `+ -` bind weaker than `* /`, all to the left.
fn expression(text: &str) -> Result<Expression, String> {
    // Every second part stands between backquotes.
    let parts: Vec<String> = text
        .split('`')
        .enumerate()
        .map(|(i, part)| match i % 2 {
            0 => part
                .replace('(', " ( ")
                .replace(')', " ) ")
                .replace(',', " , "),
            _ => part.to_owned(),
        })
        .collect();
    let mut words: Vec<&str> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        match i % 2 {
            0 => words.extend(part.split_whitespace()),
            _ => words.push(part),
        }
    }
    let mut at = 0;
    let found = level(&words, &mut at, 0)?;
    match words.get(at) {
        None => Ok(found),
        Some(word) => Err(format!("`{word}` is not expected in {text:?}")),
    }
}

/// Formulas are short; deeper nesting is refused before the stack is.
const DEEPEST: usize = 32;

fn level(words: &[&str], at: &mut usize, depth: usize) -> Result<Expression, String> {
    let mut left = product(words, at, depth)?;
    while let Some(operator @ ("+" | "-")) = words.get(*at).copied() {
        *at += 1;
        let right = product(words, at, depth)?;
        left = pair(left, operator, right);
    }
    Ok(left)
}

fn product(words: &[&str], at: &mut usize, depth: usize) -> Result<Expression, String> {
    let mut left = atom(words, at, depth)?;
    while let Some(operator @ ("*" | "/")) = words.get(*at).copied() {
        *at += 1;
        let right = atom(words, at, depth)?;
        left = pair(left, operator, right);
    }
    Ok(left)
}

fn pair(left: Expression, operator: &str, right: Expression) -> Expression {
    let operator = operator.chars().next().unwrap_or('+');
    Expression::Pair(Box::new(left), operator, Box::new(right))
}

fn atom(words: &[&str], at: &mut usize, depth: usize) -> Result<Expression, String> {
    let word = *words
        .get(*at)
        .ok_or("the formula ends where a name or a number is expected")?;
    *at += 1;
    let function = match word {
        "sum" => Some(Function::Sum),
        "mean" => Some(Function::Mean),
        "min" => Some(Function::Min),
        "max" => Some(Function::Max),
        _ => None,
    };
    if let (Some(function), Some(&"(")) = (function, words.get(*at)) {
        *at += 1;
        let mut names = Vec::new();
        loop {
            match words.get(*at).copied() {
                Some(")") => break,
                Some(",") => {}
                Some(name) if name.contains('/') && name.len() > 1 => names.push(name.to_owned()),
                Some(other) => return Err(format!("`{other}` is not the name of a figure")),
                None => return Err("a `)` is missing".to_owned()),
            }
            *at += 1;
        }
        *at += 1;
        return Ok(Expression::Of(function, names));
    }
    if word == "(" {
        if depth > DEEPEST {
            return Err("too many nested parentheses".to_owned());
        }
        let inner = level(words, at, depth + 1)?;
        if words.get(*at) != Some(&")") {
            return Err("a `)` is missing".to_owned());
        }
        *at += 1;
        return Ok(inner);
    }
    if word.contains('/') && word.len() > 1 {
        return Ok(Expression::Name(word.to_owned()));
    }
    let (digits, factor) = match word.strip_suffix('%') {
        Some(digits) => (digits, 0.01),
        None => (word, 1.0),
    };
    digits
        .parse::<f64>()
        .ok()
        .filter(|v| v.is_finite())
        .map(|v| Expression::Number(v * factor))
        .ok_or_else(|| format!("`{word}` is neither a number nor the name of a figure"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_fits_any_text_and_in_names_one_part() {
        assert!(fits("Ipc/Latency/0*", "Ipc/Latency/0/repeats:30"));
        assert!(fits("*", ""));
        assert!(!fits("a*b", "ac"));
        assert_eq!(captures("a/*/c", "a/b/c"), Some(vec!["b".to_owned()]));
        assert_eq!(captures("a/*/c", "a/b/b/c"), None);
        assert_eq!(filled("a/*/d", &["b".to_owned()]), "a/b/d");
    }

    #[test]
    fn operators_bind_as_in_school() {
        let value = |text: &str| {
            let found = expression(text)
                .unwrap()
                .value(&BTreeMap::new(), Prefixes::default());
            found.unwrap().middle()
        };
        assert!((value("1 + 2 * 3 - 4 / 2") - 5.0).abs() < 1e-12);
        assert!((value("( 1 + 2 ) * 50%") - 1.5).abs() < 1e-12);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("a/b", "not an equation"),
            ("a/b = ", "ends where"),
            ("a/b = c/d +", "ends where"),
            ("a/b = (c/d", "`)` is missing"),
            ("a/b = many", "neither a number"),
            ("a/b = c/d e/f", "not expected"),
        ] {
            let error = Formula::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let deep = format!("a/b = {}1", "( ".repeat(100));
        assert!(Formula::parse(&deep).unwrap_err().contains("too many"));
    }
}
