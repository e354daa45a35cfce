//! The order of lines as far as their intervals do not overlap, and whether published figures have the same order.

use super::names::{Bound, Value};
use super::scope::{Line, Scope};
use crate::number::sig3;

/// One thing that is put in the order.
struct Entry {
    name: String,
    text: String,
    /// Value, lower and upper end.
    ends: [f64; 3],
    is_unfit: bool,
    published: Option<f64>,
    /// Its line is not the first of its name.
    is_later: bool,
}

impl Entry {
    /// Beyond what the intervals leave open.
    fn is_below(&self, other: &Entry) -> bool {
        self.ends[2] < other.ends[1]
    }
}

/// One row for the experiments of the group, where two lines can be compared.
pub(crate) fn ranking(scope: &Scope<'_>) -> Vec<Bound> {
    row(scope).into_iter().collect()
}

fn text(name: &str, text: String) -> (String, Value) {
    (name.to_owned(), Value::Text(text))
}

fn row(scope: &Scope<'_>) -> Option<Bound> {
    let ranking = scope.study.ranking.as_ref()?;
    let lines = scope.lines();
    let (entries, others) = entries(scope, lines);
    let (unfit, mut entries): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| entry.is_unfit);
    if entries.is_empty() || entries.len() + unfit.len() < 2 {
        return None;
    }
    entries.sort_by(|a, b| a.ends[0].total_cmp(&b.ends[0]));
    let mut order = entries[0].text.clone();
    let mut all_apart = true;
    for pair in entries.windows(2) {
        let apart = pair[0].is_below(&pair[1]);
        all_apart &= apart;
        let sign = if apart { "<" } else { "≈" };
        order.push_str(&format!(" {sign} {}", pair[1].text));
    }
    // Of equal experiments the first.
    let mut known: Vec<&Scope<'_>> = Vec::new();
    for other in &others {
        let is_known =
            |k: &&Scope<'_>| k.e.map(std::ptr::from_ref) == other.e.map(std::ptr::from_ref);
        if !known.iter().any(is_known) {
            known.push(other);
            order.push_str(&format!("; {}", other.text(&ranking.text)?));
        }
    }
    for entry in &unfit {
        let text = &entry.text;
        order.push_str(&format!(
            "; not compared, because messages are dropped: {text}"
        ));
    }
    let mut row = vec![text("order", order)];
    row.extend(published(&entries, all_apart));
    Some(row)
}

/// Of the lines of one name the first that has a published figure, else the first, as far as they were measured; and the lines
/// of the study without a name.
fn entries<'a>(scope: &Scope<'a>, lines: &[Line<'a>]) -> (Vec<Entry>, Vec<Scope<'a>>) {
    let Some(ranking) = &scope.study.ranking else {
        return Default::default();
    };
    let name = |line: &Line<'a>| {
        let found = line
            .bound
            .iter()
            .find(|(name, _)| name == ranking.of.get_ref());
        found.map(|(_, value)| value.word())
    };
    let measured = |line: &Line<'a>| -> Option<(Scope<'a>, [f64; 3])> {
        let mut own = line.experiments.iter().copied();
        let e = own.find(|e| scope.here.iter().any(|known| std::ptr::eq(*known, *e)))?;
        let scope = scope.at(Some(e)).with(line.bound.clone());
        match scope.value(&ranking.value.expr)? {
            Value::Interval(ends) => Some((scope, ends)),
            _ => None,
        }
    };
    let printed = |line: &Line<'a>| {
        let of_line = scope.with(line.bound.clone());
        of_line.value(&ranking.published.expr)?.number()
    };
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        names.extend(name(line).filter(|name| !names.contains(name)));
    }
    let entry = |wanted: String| {
        let own: Vec<&Line<'a>> = lines
            .iter()
            .filter(|l| name(l).as_ref() == Some(&wanted))
            .collect();
        let first = own.first()?;
        let chosen = own
            .iter()
            .find(|line| printed(line).is_some())
            .unwrap_or(first);
        let mut parts = own.iter().filter(|line| line.own == chosen.own);
        let (scope, ends) = parts.find_map(|line| measured(line))?;
        Some(Entry {
            text: scope.text(&ranking.text)?,
            ends,
            is_unfit: scope.value(&ranking.unfit.expr).is_some(),
            published: printed(chosen),
            is_later: chosen.own != first.own,
            name: wanted,
        })
    };
    let others = lines
        .iter()
        .filter(|line| line.own.is_some() && name(line).is_none());
    let others = others.filter_map(&measured).map(|(scope, _)| scope);
    (
        names.into_iter().filter_map(entry).collect(),
        others.collect(),
    )
}

/// The published order, and whether ours contradicts it; nothing where fewer than two have a published figure.
fn published(entries: &[Entry], all_apart: bool) -> Bound {
    let known = entries.iter().filter_map(|e| Some((e, e.published?)));
    let mut known: Vec<(&Entry, f64)> = known.collect();
    if known.len() < 2 {
        return Bound::new();
    }
    let mut contradictions = Vec::new();
    for (i, (a, a_published)) in known.iter().enumerate() {
        for (b, b_published) in &known[i + 1..] {
            if a.is_below(b) && a_published > b_published {
                contradictions.push(format!("{} before {}", a.name, b.name));
            }
        }
    }
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let order = known
        .iter()
        .map(|(e, published)| format!("{} {}", e.name, sig3(*published)));
    let order: Vec<String> = order.collect();
    let verdict = match (contradictions.as_slice(), all_apart) {
        ([], true) => "the same order".to_owned(),
        ([], false) => {
            "no contradiction, but stacks joined by ≈ cannot be distinguished here".to_owned()
        }
        (several, _) => format!("another order here: {}", several.join(", ")),
    };
    let later = known
        .iter()
        .filter(|(e, _)| e.is_later)
        .map(|(e, _)| e.name.as_str());
    let later: Vec<&str> = later.collect();
    let mut row = vec![
        text("published", order.join(" < ")),
        text("verdict", verdict),
    ];
    if !later.is_empty() {
        row.push(text("later", later.join(" and ")));
    }
    row
}
