//! A trend for people: terminal and Markdown.

use super::{Change, Series, Trend};
use crate::cell;
use crate::check::Measure;
use crate::difference::conclusion;
use crate::figure::rank;
use crate::number::{counted, percent, sig3};
use crate::page::{Page, Tone, rendered};
use dyno_report::utc;

rendered!(Trend);

impl Trend {
    pub(crate) fn page(&self) -> Page {
        let changes: usize = self.series.iter().map(|s| s.changes.len()).sum();
        let mut page = Page {
            title: format!(
                "trend: {} in {} series over {}",
                counted(changes as u64, "change"),
                self.series.len(),
                counted(self.runs.len() as u64, "run")
            ),
            lead: self.lead(),
            heads: vec![
                ("cell", false),
                ("runs", true),
                ("level", true),
                ("change", false),
                ("since", false),
            ],
            nothing: "No series.".into(),
            ..Page::default()
        };
        let (mut causes, mut missing) = (Vec::new(), Vec::new());
        let machines = self.series.windows(2).any(|s| s[0].machine != s[1].machine);
        for series in &self.series {
            let label = label(series, machines);
            if self.is_shown(series) {
                self.rows(series, &label, &mut page);
            }
            for change in &series.changes {
                causes.push(self.cause(&label, change));
            }
            missing.extend(series.missing.iter().map(|(run, reason)| {
                format!("{label}: no value in {}: {reason}", self.runs[*run].id)
            }));
        }
        page.section("Differences between the runs at each change", causes);
        page.section("Left out", missing);
        page.section("Notes", self.notes.clone());
        page
    }

    fn lead(&self) -> Vec<String> {
        let mut lead = Vec::new();
        if let (Some(first), Some(last)) = (self.runs.first(), self.runs.last()) {
            lead.push(format!(
                "{} ({}) to {} ({})",
                first.id,
                utc(first.started_unix_ms),
                last.id,
                utc(last.started_unix_ms)
            ));
        }
        let what = match self.options.measure {
            Some(measure) => measure.text(),
            None => format!(
                "{} of the headline metric, loss, throughput, CPU per message and memory (other \
                 figures than the headline have a row only if they changed or have no value in the newest run)",
                rank(self.options.quantile)
            ),
        };
        lead.push(format!(
            "Median over the trials of each run: {what}. Dyno finds changes with E-divisive on the \
             logarithms; the chance that the table reports a false change is {} ({} for each series).",
            percent(self.options.level),
            percent(self.level_each)
        ));
        lead
    }

    /// Where all measures are looked at, those but the headline have a row only if they say something.
    fn is_shown(&self, series: &Series) -> bool {
        let is_headline = matches!(series.measure, Measure::Latency(..) | Measure::Start(..));
        let newest = self.runs.len().saturating_sub(1);
        self.options.measure.is_some()
            || is_headline
            || !series.changes.is_empty()
            || series.missing.iter().any(|m| m.0 == newest)
    }

    fn rows(&self, series: &Series, label: &str, page: &mut Page) {
        let runs = series.values.len();
        let text = |v| series.measure.unit().text(v);
        if series.changes.is_empty() {
            let (tone, verdict) = match &series.blind {
                Some(reason) => (Tone::Unsure, format!("undecided: {reason}")),
                None => (Tone::Plain, "no change".to_owned()),
            };
            let mut all: Vec<f64> = series.values.iter().map(|(_, v)| *v).collect();
            all.sort_by(f64::total_cmp);
            let level = match all.get(all.len() / 2) {
                Some(median) => text(*median),
                None => "–".into(),
            };
            let row = vec![
                label.to_owned(),
                runs.to_string(),
                level,
                verdict,
                String::new(),
            ];
            page.rows.push((tone, row));
        }
        for (i, change) in series.changes.iter().enumerate() {
            let (tone, word) = match (series.is_worse(change), series.measure) {
                _ if change.within_clocks => (Tone::Unsure, "undecided"),
                (true, Measure::Latency(..) | Measure::Start(..) | Measure::XFloor(_)) => {
                    (Tone::Bad, "slower")
                }
                (false, Measure::Latency(..) | Measure::Start(..) | Measure::XFloor(_)) => {
                    (Tone::Good, "faster")
                }
                (true, _) => (Tone::Bad, "worse"),
                (false, _) => (Tone::Good, "better"),
            };
            let first = |text: String| if i == 0 { text } else { String::new() };
            let run = &self.runs[change.run];
            page.rows.push((
                tone,
                vec![
                    first(label.to_owned()),
                    first(runs.to_string()),
                    format!("{} → {}", text(change.before), text(change.after)),
                    format!("{word} ×{} (p {})", sig3(change.ratio()), sig3(change.p)),
                    format!("{} ({})", run.id, utc(run.started_unix_ms)),
                ],
            ));
        }
        if let (false, Some(reason)) = (series.changes.is_empty(), &series.blind) {
            let undecided = format!("since then undecided: {reason}");
            let empty = String::new;
            page.rows.push((
                Tone::Unsure,
                vec![empty(), empty(), empty(), undecided, empty()],
            ));
        }
    }

    fn cause(&self, label: &str, change: &Change) -> String {
        let between = format!(
            "{label}, {} → {}",
            self.runs[change.previous].id, self.runs[change.run].id
        );
        if change.differences.is_empty() {
            return format!("{between}: no recorded difference");
        }
        let all: Vec<String> = change.differences.iter().map(|d| d.text()).collect();
        let warning =
            conclusion(&change.differences).map_or_else(String::new, |c| format!(" ({c})"));
        format!("{between}: {}{warning}", all.join(" · "))
    }
}

/// The cell, with its machine where there are several `machines`.
fn label(series: &Series, machines: bool) -> String {
    let machine = match machines {
        true => format!(" on {}", series.machine),
        false => String::new(),
    };
    let cell = cell::label(&series.experiment);
    format!(
        "{} {cell}{machine}, {}",
        series.suite,
        series.measure.text()
    )
}
