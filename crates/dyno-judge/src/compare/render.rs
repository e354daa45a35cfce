//! A comparison for people: terminal and Markdown.

use super::comparison::{Compared, ComparedCell, Comparison, Finding, Grade, MovedFloor, Row};
use super::ratio::ends;
use crate::cell::between;
use crate::difference::{Aspect, conclusion};
use crate::figure::Figure;
use crate::number::{counted, percent, ratio, sig3};
use crate::page::{Page, Tone, rendered};
use dyno_model::factors::question;
use dyno_report::utc;
use dyno_stats::POWER;

rendered!(Comparison);

impl Comparison {
    /// The verdict on a row in words.
    pub(crate) fn verdict(&self, row: &Row, compared: &Compared) -> String {
        if let Some(but) = &row.but {
            return format!("undecided: {but}");
        }
        let (lower, higher) = match row.figure {
            Figure::Quantile { .. } => ("faster", "slower"),
            Figure::Delivered => ("less", "more"),
            Figure::CpuPerMessage => ("cheaper", "more expensive"),
            Figure::Lost | Figure::Deaf | Figure::Failed => ("fewer", "more"),
        };
        let what = self.unit();
        match compared.finding {
            Finding::Lower => lower.into(),
            Finding::Higher => higher.into(),
            Finding::Same if compared.new == 0.0 && !row.figure.has_ratio() => "none".into(),
            Finding::Same => format!("same within {}", percent(self.options.margin)),
            Finding::Undecided { more: Some(1) } => format!("undecided: needs 1 more {what}"),
            Finding::Undecided { more: Some(more) } => {
                format!("undecided: needs {more} more {what}s")
            }
            Finding::Undecided { more: None }
                if self.history.is_some() && row.figure.is_of_runs() =>
            {
                "undecided: within the scatter of runs and trials".into()
            }
            Finding::Undecided { more: None } if !row.figure.has_ratio() => "undecided".into(),
            Finding::Undecided { more: None } => {
                format!("undecided: needs an unknown number of further {what}s")
            }
            Finding::MachineMoved => match &self.moved {
                Some(moved) => format!(
                    "undecided: {} changed ({}); measure both interleaved with --against",
                    self.suspect(),
                    floor(moved)
                ),
                None => "undecided: the machine itself changed".into(),
            },
        }
    }

    /// The unit of replication.
    fn unit(&self) -> &'static str {
        if self.paired { "pair" } else { "trial" }
    }

    /// What a moved floor points to.
    fn suspect(&self) -> &'static str {
        let dyno = self.differences.iter().any(|d| d.aspect == Aspect::Dyno);
        match dyno {
            true => "the machine or Dyno itself",
            false => "the machine itself",
        }
    }

    pub(crate) fn page(&self) -> Page {
        let mut page = Page {
            title: format!("compare: {} → {}", self.base.name, self.new.name),
            lead: self.lead(),
            heads: vec![
                ("cell", false),
                ("figure", false),
                ("base", true),
                ("new", true),
                ("new/base", true),
                ("verdict", false),
            ],
            nothing: "Nothing to compare.".into(),
            ..Page::default()
        };
        let common = self.common();
        let (mut remarks, mut refused) = (Vec::new(), Vec::new());
        for cell in &self.cells {
            let label = self.label(cell, common.is_some());
            let mut shown = label.clone();
            for row in &cell.rows {
                if let Ok(compared) = &row.result
                    && row.is_of_interest(compared)
                {
                    // The label stands in the cell's first row alone.
                    let label = std::mem::take(&mut shown);
                    page.rows.push(self.row(label, row, compared));
                }
            }
            refused.extend(refusals(&label, &cell.rows));
            remarks.extend(cell.remarks.iter().map(|r| format!("{label}: {r}")));
        }
        let left_out = self.left_out.iter();
        let left_out = left_out.map(|l| format!("{}: {}", l.cell, l.reason));
        page.section("Cells left out", left_out.collect());
        page.section("Figures left out", refused);
        page.section("Remarks", remarks);
        page.section("Notes", self.notes.clone());
        page
    }

    fn lead(&self) -> Vec<String> {
        let mut lead = Vec::new();
        for (role, side) in [("base", &self.base), ("new", &self.new)] {
            let run = match side.name == side.run {
                true => String::new(),
                false => format!(" in run {}", side.run),
            };
            let at = utc(side.started_unix_ms);
            lead.push(format!("{role}: {}{run}, started {at}", side.name));
        }
        match self.differences.as_slice() {
            [] => lead.push("Differences between the runs: none recorded".into()),
            some => {
                let all: Vec<String> = some.iter().map(|d| d.text()).collect();
                lead.push(format!("Differences between the runs: {}", all.join(" · ")));
            }
        }
        if !self.unknown.is_empty() {
            let all = self.unknown.join(" · ");
            lead.push(format!("Not recorded, and may differ as well: {all}"));
        }
        lead.extend(conclusion(&self.differences));
        if let Some(moved) = &self.moved {
            lead.push(format!(
                "The floor {} itself changed between the two runs ({}): differences beyond the \
                 margin are undecided",
                moved.stack,
                floor(moved)
            ));
        }
        if let Some(factors) = self.common() {
            lead.push(format!("Conditions: {factors}"));
        }
        let how = match self.paired {
            true => "Trials of both sides were interleaved and are compared in pairs.",
            false => "Trials of the two runs are independent.",
        };
        let mut rows = self.cells.iter().flat_map(|c| &c.rows);
        let has_ratio = rows.any(|r| matches!(&r.result, Ok(c) if c.ratio.is_some()));
        let at_once = match has_ratio {
            true => format!(
                " The intervals of all {} hold at once with {} confidence ({} each).",
                counted(self.statements as u64, "ratio"),
                percent(self.options.confidence),
                percent(self.each)
            ),
            false => String::new(),
        };
        lead.push(format!("{how}{at_once}"));
        if !has_ratio {
            return lead;
        }
        let mut rows = self.cells.iter().flat_map(|c| &c.rows);
        let is_named = |r: &Row| matches!(&r.result, Ok(c) if matches!(c.finding, Finding::Undecided { more: Some(_) }));
        if rows.any(is_named) {
            lead.push(format!(
                "With the stated number of further {}s, the chance that a row is decided is {}.",
                self.unit(),
                percent(POWER)
            ));
        }
        if let Some(runs) = self.history {
            lead.push(format!(
                "The intervals cover the scatter of trials and, where the history allows it ({}), the \
                 differences between runs of one build. Verdicts and remarks name the rows where it \
                 does not.",
                counted(runs as u64, "run")
            ));
        } else if !self.paired {
            lead.push(
                "The intervals cover the scatter of trials, but not changes between the runs. A run with --against excludes such changes, because it interleaves both sides."
                    .into(),
            );
        }
        lead
    }

    /// The factors that all cells share, where they do.
    fn common(&self) -> Option<String> {
        let key = |c: &ComparedCell| (question(&c.new), between(&c.base, &c.new));
        let mut all = self.cells.iter().map(key);
        let first = all.next()?;
        all.all(|other| other == first).then_some(first.1)
    }

    pub(super) fn label(&self, cell: &ComparedCell, common: bool) -> String {
        let stack = match cell.base.stack == cell.new.stack {
            true => cell.new.stack.clone(),
            false => format!("{} → {}", cell.base.stack, cell.new.stack),
        };
        let mark = if cell.is_floor { " (floor)" } else { "" };
        match common {
            true => format!("{stack}{mark}"),
            false => format!("{stack}{mark}: {}", between(&cell.base, &cell.new)),
        }
    }

    fn row(&self, label: String, row: &Row, compared: &Compared) -> (Tone, Vec<String>) {
        let tone = match row.grade() {
            Grade::Better => Tone::Good,
            Grade::Same => Tone::Plain,
            Grade::Open => Tone::Unsure,
            Grade::Worse => Tone::Bad,
        };
        let unit = row.figure.unit();
        let cells = vec![
            label,
            row.figure.text(),
            unit.text(compared.base),
            unit.text(compared.new),
            compared.ratio.as_ref().map_or("–".into(), |r| {
                let (value, lo, hi) = ends(r);
                ratio(value, lo, hi)
            }),
            self.verdict(row, compared),
        ];
        (tone, cells)
    }
}

/// The figures of a cell that have no ratio, those of one reason together.
fn refusals(label: &str, rows: &[Row]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Err(reason) = &row.result else { continue };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, figures)) => figures.push(row.figure.text()),
            None => reasons.push((reason, vec![row.figure.text()])),
        }
    }
    let one = |(reason, figures): (&str, Vec<String>)| {
        format!("{label} ({}): {reason}", figures.join(", "))
    };
    reasons.into_iter().map(one).collect()
}

fn floor(moved: &MovedFloor) -> String {
    format!("floor ×{}", sig3(moved.ratio))
}

impl Row {
    /// That nothing was lost and nothing failed needs no row in a table for people.
    pub(crate) fn is_of_interest(&self, compared: &Compared) -> bool {
        self.figure.has_ratio() || compared.base > 0.0 || compared.new > 0.0
    }

    /// The word for programs: `lower`, `higher`, `same`, `undecided`, `machine-moved`, `left-out`.
    pub(crate) fn word(&self) -> &'static str {
        match &self.result {
            Err(_) => "left-out",
            Ok(compared) => match compared.finding {
                Finding::Lower => "lower",
                Finding::Higher => "higher",
                Finding::Same => "same",
                Finding::Undecided { .. } => "undecided",
                Finding::MachineMoved => "machine-moved",
            },
        }
    }
}
