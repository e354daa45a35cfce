//! Two outputs beside each other: ratios of what is printed, within its digits.

use super::origin::{NO_TRIALS, Named, Origin, labels, origin};
use crate::export::{FORMAT, csv_table, json_text};
use crate::number::{csv_number, exported, ratio};
use crate::page::{Page, Tone, rendered};
use dyno_audit::statement::Quantity;
use dyno_audit::{Stated, Statements, ToolResult};
use serde::Serialize;
use std::collections::BTreeMap;

/// One figure of both outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportPair {
    /// What is compared with.
    pub base: Stated,
    /// What is compared.
    pub new: Stated,
    /// New by base, and the least and the most that the digits leave open; or why there is none.
    pub ratio: Result<[f64; 3], String>,
}

/// Two outputs compared.
#[derive(Debug, Clone)]
pub struct ImportComparison<'a> {
    base: &'a Statements,
    new: &'a Statements,
    /// Results that both have, as the new output has them, with their figures that both have.
    pub results: Vec<(ToolResult<'a>, Vec<ImportPair>)>,
    /// Results that only one of them has, and which.
    pub left_out: Vec<String>,
}

/// Sets each figure of `new` beside the same figure of `base`.
pub fn compare_imported<'a>(base: &'a Statements, new: &'a Statements) -> ImportComparison<'a> {
    let (old, young) = (base.results(), new.results());
    let mut left: BTreeMap<_, &ToolResult<'_>> = old.iter().map(|r| (key(r), r)).collect();
    let mut results = Vec::new();
    let mut only_new = Vec::new();
    for y in young {
        match left.remove(&key(&y)) {
            Some(x) => {
                let pairs = pairs(x, &y);
                results.push((y, pairs));
            }
            None => only_new.push(y),
        }
    }
    let only_old: Vec<ToolResult<'_>> = left.into_values().cloned().collect();
    let of = |side: &Statements, only: &[ToolResult<'_>]| {
        let title = side.source.title.clone();
        let all = labels(only).into_iter();
        all.map(move |label| format!("only in {title}: {label}"))
    };
    // What is of the whole run, by its raw values, before what the tool states of its parts.
    results.sort_by_key(|(r, _)| r.figures.iter().any(|f| f.id.is_some()));
    let left_out = of(base, &only_old).chain(of(new, &only_new)).collect();
    ImportComparison {
        base,
        new,
        results,
        left_out,
    }
}

/// What makes a result of two outputs the same.
fn key<'a>(r: &ToolResult<'a>) -> (&'a str, Quantity, Vec<(&'a str, &'a str)>) {
    (r.name, r.quantity, r.conditions.clone())
}

/// The figures that both have: those of the tool by their name, those of raw values by their statistic.
fn pairs(base: &ToolResult<'_>, new: &ToolResult<'_>) -> Vec<ImportPair> {
    let name = |f: &Stated| f.id.clone().unwrap_or_else(|| f.statistic.to_string());
    let before: BTreeMap<(bool, String), &Stated> = base
        .figures
        .iter()
        .map(|f| ((f.id.is_some(), name(f)), f))
        .collect();
    let alike = alike(base, new);
    let both = new.figures.iter().filter_map(|f| {
        let old = before.get(&(f.id.is_some(), name(f)))?;
        Some(ImportPair {
            base: (*old).clone(),
            new: f.clone(),
            ratio: alike.clone().and_then(|()| by(f, old)),
        })
    });
    both.collect()
}

/// Whether both measure the same: what either says of a factor must not contradict the other.
fn alike(base: &ToolResult<'_>, new: &ToolResult<'_>) -> Result<(), String> {
    if base.dimension != new.dimension {
        return Err("their units measure different things".to_owned());
    }
    if base.of != new.of {
        let (a, b) = (base.of.as_str(), new.of.as_str());
        return Err(format!("one is of {b}, the other of {a}"));
    }
    let both = base.factors().into_iter().zip(new.factors());
    for ((factor, a), (_, b)) in both {
        if let (Some(a), Some(b)) = (a, b)
            && a != b
        {
            return Err(format!("{factor}: {a} → {b}"));
        }
    }
    Ok(())
}

/// `p99 latency`, or by its own name where it has one: `retransmits count`, `received`.
fn figure(result: &ToolResult<'_>, figure: &Stated) -> String {
    let quantity = result.quantity.as_str();
    let part = figure.part(result.name);
    if part == quantity {
        return part;
    }
    let own = part
        .strip_prefix(quantity)
        .and_then(|p| p.strip_prefix('-'));
    format!("{} {quantity}", own.unwrap_or(&part))
}

fn by(new: &Stated, base: &Stated) -> Result<[f64; 3], String> {
    let ((lo, hi), (low, high)) = (new.digits, base.digits);
    let positive = [new.value, base.value]
        .iter()
        .all(|v| *v > 0.0 && v.is_finite());
    if !positive {
        return Err("one of them is zero or less".to_owned());
    }
    let most = match low > 0.0 {
        true => hi / low,
        false => f64::INFINITY,
    };
    Ok([new.value / base.value, lo.max(0.0) / high, most])
}

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    kind: &'static str,
    base: Origin<'a>,
    new: Origin<'a>,
    judged: bool,
    pairs: Vec<Row<'a>>,
    left_out: &'a [String],
}

#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    result: Named<'a>,
    statistic: String,
    /// `null`: Dyno made it of the raw values.
    id: Option<&'a str>,
    base: Option<f64>,
    new: Option<f64>,
    ratio: Option<f64>,
    digits_lo: Option<f64>,
    digits_hi: Option<f64>,
    reason: Option<&'a str>,
}

rendered!(ImportComparison<'_>);

impl<'a> ImportComparison<'a> {
    /// Each figure that both outputs have, with its result.
    pub fn pairs(&self) -> impl Iterator<Item = (&ToolResult<'a>, &ImportPair)> {
        let all = self.results.iter();
        all.flat_map(|(result, pairs)| pairs.iter().map(move |pair| (result, pair)))
    }

    pub(crate) fn page(&self) -> Page {
        let rows = self.pairs().map(|(result, p)| {
            let [ratio, says] = match &p.ratio {
                Ok([value, lo, hi]) => {
                    let within = *lo <= 1.0 && 1.0 <= *hi;
                    let says = match within {
                        true => "the same within the printed digits",
                        false => "differs; no verdict",
                    };
                    [ratio(*value, *lo, *hi), says.to_owned()]
                }
                Err(reason) => ["–".to_owned(), reason.clone()],
            };
            let cells = vec![
                result.label(),
                figure(result, &p.new),
                p.base.marked(),
                p.new.marked(),
                ratio,
                says,
            ];
            (Tone::Plain, cells)
        });
        let mut page = Page {
            title: format!("{} → {}", origin(self.base), origin(self.new)),
            lead: vec![format!(
                "{NO_TRIALS}. The brackets show the rounding of the printed digits."
            )],
            heads: vec![
                ("result", false),
                ("figure", false),
                ("base", true),
                ("new", true),
                ("new/base", true),
                ("", false),
            ],
            rows: rows.collect(),
            nothing: "No figure is in both.".to_owned(),
            ..Page::default()
        };
        page.section("Left out", self.left_out.clone());
        page
    }

    pub(crate) fn json(&self) -> String {
        let rows = self.pairs().map(|(result, p)| {
            let ratio = p.ratio.as_ref().ok();
            let at = |i: usize| ratio.and_then(|r| exported(r[i]));
            Row {
                result: Named::of(result),
                statistic: p.new.statistic.to_string(),
                id: p.new.id.as_deref(),
                base: exported(p.base.value),
                new: exported(p.new.value),
                ratio: at(0),
                digits_lo: at(1),
                digits_hi: at(2),
                reason: p.ratio.as_ref().err().map(String::as_str),
            }
        });
        json_text(&Document {
            format: FORMAT,
            kind: "imported-comparison",
            base: Origin::of(self.base),
            new: Origin::of(self.new),
            judged: false,
            pairs: rows.collect(),
            left_out: &self.left_out,
        })
    }

    pub(crate) fn csv(&self) -> String {
        let rows = self.pairs().map(|(result, p)| {
            let ratio = match &p.ratio {
                Ok(r) => r.map(csv_number).into(),
                Err(_) => vec![String::new(); 3],
            };
            let lead = vec![
                result.label(),
                result.quantity.as_str().to_owned(),
                p.new.statistic.to_string(),
                csv_number(p.base.value),
                csv_number(p.new.value),
            ];
            let reason = p.ratio.as_ref().err().cloned().unwrap_or_default();
            let id = p.new.id.clone().unwrap_or_default();
            [lead, ratio, vec![reason, id]].concat()
        });
        csv_table(
            "result,quantity,statistic,base,new,ratio,digits_lo,digits_hi,reason,id",
            rows,
        )
    }
}
