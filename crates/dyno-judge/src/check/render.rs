//! A check for people: terminal, and a summary in Markdown for a job's page.

use super::report::{CheckReport, Checked, Status};
use crate::cell;
use crate::number::{counted, percent};
use crate::page::{Page, Tone, rendered};
use crate::standing::Found;
use dyno_report::utc;

rendered!(CheckReport);

impl CheckReport {
    /// `3 passed, 1 failed, 0 undecided`.
    pub fn counts(&self) -> String {
        let [pass, fail, undecided] =
            [Status::Pass, Status::Fail, Status::Undecided].map(|s| self.count(s));
        format!("{pass} passed, {fail} failed, {undecided} undecided")
    }

    pub(crate) fn page(&self) -> Page {
        let rows = self.results.iter().map(|r| {
            let (tone, status) = match r.status {
                Status::Pass => (Tone::Good, "PASS"),
                Status::Fail => (Tone::Bad, "FAIL"),
                Status::Undecided => (Tone::Unsure, "UNDECIDED"),
            };
            let cells = vec![
                status.to_owned(),
                r.limit.name.clone(),
                r.label(),
                r.limit.required(),
                r.found_text(),
                r.reason.clone(),
            ];
            (tone, cells)
        });
        let remarks: Vec<String> = self
            .results
            .iter()
            .flat_map(|r| {
                let label = r.label();
                r.remarks.iter().map(move |text| format!("{label}: {text}"))
            })
            .collect();
        let mut page = Page {
            title: format!("check: {}", self.counts()),
            lead: vec![
                format!(
                    "run {} (suite {}), started {}, against {}",
                    self.run,
                    self.suite,
                    utc(self.started_unix_ms),
                    self.limits
                ),
                format!(
                    "{}. A limit passes if the whole {} interval is within it, and fails if the whole \
                     interval is outside; undecided is not a pass.",
                    counted(self.results.len() as u64, "result"),
                    percent(self.confidence)
                ),
            ],
            heads: vec![
                ("", false),
                ("limit", false),
                ("experiment", false),
                ("required", false),
                ("found", true),
                ("why", false),
            ],
            rows: rows.collect(),
            ..Page::default()
        };
        page.lead.extend(self.added_later.clone());
        let mut unique: Vec<String> = Vec::new();
        for remark in remarks {
            if !unique.contains(&remark) {
                unique.push(remark);
            }
        }
        page.section("Remarks", unique);
        page
    }
}

impl Checked {
    /// The stack and the factors of its experiment, as all judgements name them.
    pub fn label(&self) -> String {
        cell::label(&self.experiment)
    }

    /// `in time, p99 response ≤ 5.00 ms: 1.20 ms`; a dash where nothing is known.
    pub fn brief(&self) -> String {
        let unit = self.limit.measure.unit();
        let found = self
            .found
            .map_or("–".into(), |found| unit.text(found.value));
        format!("{}, {}: {found}", self.limit.name, self.limit.required())
    }

    /// `1.20 ms [1.15 ms, 1.27 ms]`; a dash where nothing is known.
    pub fn found_text(&self) -> String {
        match self.found {
            None => "–".into(),
            Some(Found { value, lo, hi }) => {
                let text = |v| self.limit.measure.unit().text(v);
                format!("{} [{}, {}]", text(value), text(lo), text(hi))
            }
        }
    }
}
