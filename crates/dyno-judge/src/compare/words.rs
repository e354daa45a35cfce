//! The largest differences of a comparison in sentences, for a quick overview. They agree with the
//! verdicts of the table: what is undecided there is not called faster or slower here.

use super::comparison::{Compared, ComparedCell, Comparison, Finding, Grade, Row};
use super::ratio::ends;
use crate::cell::between;
use crate::check::Status;
use crate::figure::Figure;
use crate::number::{Unit, counted, percent, ratio, sig3};
use dyno_stats::{POWER, smallest_slowdown};

/// One sentence on what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// Whether the new side is worse, or better; `None` where nothing is decided.
    pub is_worse: Option<bool>,
    /// The sentence.
    pub text: String,
}

/// A figure that differs, with how much: the size of its ratio's logarithm.
struct Changed<'a> {
    cell: &'a ComparedCell,
    row: &'a Row,
    compared: &'a Compared,
    size: f64,
}

impl Comparison {
    /// What the new side no longer measures, then the `most` cells that differ most, the largest difference first,
    /// then how many figures there are of each verdict.
    pub fn headlines(&self, most: usize) -> Vec<Headline> {
        let mut all = Vec::new();
        for gone in self.left_out.iter().filter(|l| l.new_failed) {
            all.push(Headline {
                is_worse: Some(true),
                text: format!("No longer measured: {}: {}.", gone.cell, gone.reason),
            });
        }
        let mut changed: Vec<Changed<'_>> = self.judged().filter_map(largest).collect();
        // What is decided before what the machine itself may have done.
        let key = |c: &Changed<'_>| (c.compared.finding == Finding::MachineMoved, -c.size);
        changed.sort_by(|a, b| {
            let ((x, more), (y, less)) = (key(a), key(b));
            x.cmp(&y).then(more.total_cmp(&less))
        });
        all.extend(changed.iter().take(most).map(|c| self.headline(c)));
        all.push(Headline {
            is_worse: None,
            text: self.tally(),
        });
        all
    }

    /// What came of it as a gate in one sentence: the verdict, the figure that decides it with its ratio, and which
    /// slowdown would have been found: `slower: pipe → tcp: round-trip, ping-pong, 64 B, block: p50 round trip ×1.30
    /// [1.25, 1.35]; a slowdown of 6.10 % would have been found with a chance of 80 % in runs that scatter alike`.
    pub fn sentence(&self) -> String {
        let status = self.status();
        let rows = self
            .judged()
            .flat_map(|c| c.rows.iter().map(move |r| (c, r)));
        let is_asked = |c: &ComparedCell, r: &Row| status != Status::Pass || c.is_judged(r);
        let deciding = rows.filter(|(c, r)| c.status(r) == status && is_asked(c, r));
        // What has no ratio, as messages that are lost, is as far from 1 as can be, and nothing where all is well.
        let reach = |row: &Row| match row.result.as_ref().ok().map(|c| c.ratio.as_ref().map(ends)) {
            Some(Some((_, lo, hi))) => hi.max(1.0 / lo),
            _ if status == Status::Pass => 0.0,
            _ => f64::INFINITY,
        };
        let key = |row: &Row| (row.grade() == Grade::Better, reach(row));
        let decides = deciding.max_by(|(_, a), (_, b)| {
            let ((a, x), (b, y)) = (key(a), key(b));
            a.cmp(&b).then(x.total_cmp(&y))
        });
        let found = match self.smallest_slowdown() {
            Some(share) => format!(
                "a slowdown of {} would have been found with a chance of {} in runs that scatter alike",
                Unit::Share.text(share),
                percent(POWER)
            ),
            None => "which slowdown would have been found is unknown".into(),
        };
        let left_out = self.left_out.iter().find(|l| l.status() == status);
        match (decides, left_out.filter(|_| status != Status::Pass)) {
            (Some((cell, row)), _) => format!("{}; {found}", self.decision(status, cell, row)),
            (None, Some(left)) => {
                let word = if left.is_worse { "worse" } else { "undecided" };
                format!("{word}: {}: {}; {found}", left.cell, left.reason)
            }
            (None, None) => format!("undecided: nothing could be compared; {found}"),
        }
    }

    fn decision(&self, status: Status, cell: &ComparedCell, row: &Row) -> String {
        let is_time = matches!(row.figure, Figure::Quantile { .. });
        let word: String = match (status, row.grade(), is_time) {
            (Status::Fail, _, true) => "slower".into(),
            (Status::Fail, _, false) => "worse".into(),
            (Status::Undecided, ..) => "undecided".into(),
            (Status::Pass, Grade::Better, true) => "faster".into(),
            (Status::Pass, Grade::Better, false) => "better".into(),
            (Status::Pass, ..) => format!("same within {}", percent(self.options.margin)),
        };
        let figure = row.figure.text();
        let told = match row.result.as_ref().map(|c| (c, c.ratio.as_ref().map(ends))) {
            Ok((_, Some((value, lo, hi)))) => format!("{figure} {}", ratio(value, lo, hi)),
            Ok((c, None)) => {
                let [base, new] = [c.base, c.new].map(|v| row.figure.unit().text(v));
                format!("{figure} {base} → {new}")
            }
            Err(reason) => format!("{figure}: {reason}"),
        };
        let verdict = row.result.as_ref().map(|c| self.verdict(row, c));
        let why = match verdict.as_ref().map(|v| v.strip_prefix("undecided: ")) {
            Ok(Some(why)) => format!(" ({why})"),
            _ => String::new(),
        };
        format!("{word}: {}: {told}{why}", self.label(cell, false))
    }

    /// The slowdown that every headline quantile would have shown; `None` where one has no interval or too few trials, where
    /// the machine moved, or where there is none.
    fn smallest_slowdown(&self) -> Option<f64> {
        let rows = self
            .judged()
            .flat_map(|c| c.rows.iter().filter(|r| c.is_judged(r)));
        let times = rows.filter(|r| matches!(r.figure, Figure::Quantile { .. }));
        let each = times.map(|r| {
            // Where the machine itself moved, no slowdown is called one.
            let compared = r.result.as_ref().ok();
            let compared = compared.filter(|c| c.finding != Finding::MachineMoved)?;
            smallest_slowdown(compared.ratio.as_ref()?, self.options.margin)
        });
        let all: Vec<f64> = each.collect::<Option<_>>()?;
        all.into_iter().max_by(f64::total_cmp)
    }

    fn headline(&self, c: &Changed<'_>) -> Headline {
        let (base, new) = (&c.cell.base, &c.cell.new);
        let moved = c.compared.finding == Finding::MachineMoved;
        let (change, is_worse) = change(c);
        let figure = c.row.figure;
        let unit = figure.unit();
        let verb = match (base.stack == new.stack, moved) {
            (true, false) => "became",
            (true, true) => "measured",
            (false, _) => "is",
        };
        let than = match base.stack == new.stack {
            true => String::new(),
            false => format!(" than {}", base.stack),
        };
        let times = c.compared.ratio.as_ref().map_or_else(String::new, |r| {
            let (value, lo, hi) = ends(r);
            format!(", {}", ratio(value, lo, hi))
        });
        let undecided = match moved {
            true => format!(" This is {}.", self.verdict(c.row, c.compared)),
            false => String::new(),
        };
        Headline {
            is_worse: (!moved).then_some(is_worse),
            text: format!(
                "{} {verb} {change}{than}: {}, {} {} → {}{times}.{undecided}",
                new.stack,
                between(base, new),
                figure.text(),
                unit.text(c.compared.base),
                unit.text(c.compared.new),
            ),
        }
    }

    /// `Of 20 figures 4 are worse, 3 better, 8 the same within 5 % and 5 undecided.`
    fn tally(&self) -> String {
        let of_interest = |row: &&Row| row.result.as_ref().is_ok_and(|c| row.is_of_interest(c));
        let rows = || self.judged().flat_map(|c| &c.rows).filter(of_interest);
        let count = |grade: Grade| rows().filter(|r| r.grade() == grade).count();
        let figures = rows().count();
        if figures == 0 {
            return "Nothing could be compared.".into();
        }
        format!(
            "Of {}: {} worse, {} better, {} the same within {}, {} undecided.",
            counted(figures as u64, "figure"),
            count(Grade::Worse),
            count(Grade::Better),
            count(Grade::Same),
            percent(self.options.margin),
            count(Grade::Open),
        )
    }
}

/// The figure of a cell that differs most; a cost only where nothing else differs.
fn largest(cell: &ComparedCell) -> Option<Changed<'_>> {
    let differs = |row: &'_ Row| {
        let compared = row.result.as_ref().ok()?;
        // What is lost or fails comes before what is slow.
        let value = compared.ratio.as_ref().map_or(f64::INFINITY, |r| ends(r).0);
        match compared.finding {
            Finding::Lower | Finding::Higher | Finding::MachineMoved => Some(value.ln().abs()),
            Finding::Same | Finding::Undecided { .. } => None,
        }
    };
    let changed = cell.rows.iter().filter_map(|row| {
        Some(Changed {
            cell,
            row,
            size: differs(row)?,
            compared: row.result.as_ref().ok()?,
        })
    });
    changed.max_by(|a, b| {
        let cost = |c: &Changed<'_>| c.row.figure == Figure::CpuPerMessage;
        cost(b).cmp(&cost(a)).then(a.size.total_cmp(&b.size))
    })
}

/// `6.62 × slower`, and whether that is worse.
fn change(c: &Changed<'_>) -> (String, bool) {
    let value = c.compared.ratio.as_ref().map_or(f64::NAN, |r| ends(r).0);
    let is_higher = match value.is_nan() {
        true => c.compared.new > c.compared.base,
        false => value > 1.0,
    };
    let times = match value.max(1.0 / value) {
        times if times.is_finite() => format!("{} ×", sig3(times)),
        _ => "infinitely".into(),
    };
    match (c.row.figure, is_higher) {
        (Figure::Quantile { .. }, true) => (format!("{times} slower"), true),
        (Figure::Quantile { .. }, false) => (format!("{times} faster"), false),
        (Figure::CpuPerMessage, true) => (format!("{times} more expensive"), true),
        (Figure::CpuPerMessage, false) => (format!("{times} cheaper"), false),
        (Figure::Delivered, true) => ("able to deliver more".into(), false),
        (Figure::Delivered, false) => ("unable to deliver as much".into(), true),
        (Figure::Lost, true) => ("worse in lost messages".into(), true),
        (Figure::Lost, false) => ("better in lost messages".into(), false),
        (Figure::Deaf, true) => ("worse in deaf trials".into(), true),
        (Figure::Deaf, false) => ("better in deaf trials".into(), false),
        (Figure::Failed, true) => ("worse in failed trials".into(), true),
        (Figure::Failed, false) => ("better in failed trials".into(), false),
    }
}
