//! A nightly gate for people: terminal and Markdown. Figures that are as usual are counted, not listed.

use super::{Night, Nightly};
use crate::cell;
use crate::check::Status;
use crate::number::{counted, percent};
use crate::page::{Page, Tone, rendered};
use dyno_report::utc;

/// So many names stand with a reason; more are counted.
const MOST_NAMES: usize = 5;

rendered!(Nightly);

impl Nightly {
    pub(crate) fn page(&self) -> Page {
        let [pass, fail, undecided] =
            [Status::Pass, Status::Fail, Status::Undecided].map(|s| self.count(s));
        let shown = self.results.iter().filter(|r| r.status != Status::Pass);
        let rows = shown.map(|r| {
            let (tone, status) = match r.status {
                Status::Pass => (Tone::Good, "USUAL"),
                Status::Fail => (Tone::Bad, "WORSE"),
                Status::Undecided => (Tone::Unsure, "UNDECIDED"),
            };
            let cells = vec![
                status.to_owned(),
                cell::label(&r.experiment),
                r.measure.text(),
                r.usual_text(),
                r.found_text(),
                r.reason.clone(),
            ];
            (tone, cells)
        });
        let nothing = match self.results.is_empty() {
            true => "Nothing to judge.".to_owned(),
            false => "All figures are as usual.".to_owned(),
        };
        let mut page = Page {
            title: format!(
                "check against the history: {fail} worse, {undecided} undecided, {pass} as usual"
            ),
            lead: vec![
                format!(
                    "run {} (suite {}), started {}, against {} of {}",
                    self.run.id,
                    self.suite,
                    utc(self.run.started_unix_ms),
                    counted(self.history.len() as u64, "earlier run"),
                    self.machine
                ),
                format!(
                    "The chance of a false alarm anywhere in the table is {} ({} for each figure), if \
                     the differences between runs are log-normal. A figure that is worse by up to \
                     {} counts as usual. Undecided is not a pass.",
                    percent(self.options.level),
                    percent(self.level_each),
                    percent(self.options.margin)
                ),
            ],
            heads: vec![
                ("", false),
                ("experiment", false),
                ("figure", false),
                ("usual", true),
                ("found", true),
                ("why", false),
            ],
            rows: rows.collect(),
            nothing,
            ..Page::default()
        };
        let others = self.left_out.iter().map(|o| {
            let n = o.runs.len();
            let mut names = o.runs[..n.min(MOST_NAMES)].join(", ");
            if n > MOST_NAMES {
                names.push_str(&format!(" and {} more", n - MOST_NAMES));
            }
            format!("{} ({}): {names}", counted(n as u64, "run"), o.reason)
        });
        page.section("Left out of the history", others.collect());
        page.section("Notes", self.notes.clone());
        page
    }
}

impl Night {
    pub(super) fn usual_text(&self) -> String {
        let text = |v| self.measure.unit().text(v);
        match (self.usual, self.line) {
            (None, _) => "–".into(),
            (Some(usual), None) => text(usual),
            (Some(usual), Some(line)) => {
                let sign = if self.measure.is_better_higher() {
                    "≥"
                } else {
                    "≤"
                };
                format!("{} ({sign} {})", text(usual), text(line))
            }
        }
    }

    pub(super) fn found_text(&self) -> String {
        self.found
            .map_or_else(|| "–".into(), |v| self.measure.unit().text(v))
    }
}
