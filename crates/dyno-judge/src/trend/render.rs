//! A trend for people: terminal and Markdown.

use super::{Change, Series, Trend};
use crate::cell;
use crate::difference::conclusion;
use crate::figure::{rank, short};
use crate::number::{Unit, counted, percent, sig3};
use crate::page::{Page, Tone};
use crate::when::utc;
use dyno_report::{Format, RenderOptions};

impl Trend {
    /// The trend as text, ended by a newline (CSV: by CR LF). JSON and CSV take no notice of `options`.
    pub fn render(&self, format: Format, options: &RenderOptions) -> String {
        match format {
            Format::Table => self.page().text(options),
            Format::Markdown => self.page().markdown(),
            Format::Json => self.json(),
            Format::Csv => self.csv(),
        }
    }

    fn page(&self) -> Page {
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
        for series in &self.series {
            let label = format!("{} {}", series.suite, cell::label(&series.experiment));
            self.rows(series, &label, &mut page);
            for change in &series.changes {
                causes.push(self.cause(&label, change));
            }
            missing.extend(series.missing.iter().map(|(run, reason)| {
                format!("{label}: no value in {}: {reason}", self.runs[*run].id)
            }));
        }
        page.section("What differed where a level begins", causes);
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
        let metric = self.options.metric.map_or("headline metric", short);
        lead.push(format!(
            "Median over the trials of each run of the {} of the {metric}. Changes by E-divisive; chance \
             of a false one anywhere in the table {} ({} each series).",
            rank(self.options.quantile),
            percent(self.options.level),
            percent(self.level_each)
        ));
        lead
    }

    fn rows(&self, series: &Series, label: &str, page: &mut Page) {
        let runs = series.values.len();
        if series.changes.is_empty() {
            let verdict = match series.is_long_enough(&self.options) {
                true => "no change".to_owned(),
                false => format!("too few runs: {runs} of {}", self.options.least_runs()),
            };
            let mut all: Vec<f64> = series.values.iter().map(|(_, v)| *v).collect();
            all.sort_by(f64::total_cmp);
            let level = match all.get(all.len() / 2) {
                Some(median) => Unit::Time.text(*median),
                None => "–".into(),
            };
            let row = vec![
                label.to_owned(),
                runs.to_string(),
                level,
                verdict,
                String::new(),
            ];
            page.rows.push((Tone::Plain, row));
        }
        for (i, change) in series.changes.iter().enumerate() {
            let (tone, word) = match change.ratio() > 1.0 {
                true => (Tone::Bad, "slower"),
                false => (Tone::Good, "faster"),
            };
            let first = |text: String| if i == 0 { text } else { String::new() };
            let run = &self.runs[change.run];
            let time = |ns| Unit::Time.text(ns);
            page.rows.push((
                tone,
                vec![
                    first(label.to_owned()),
                    first(runs.to_string()),
                    format!("{} → {}", time(change.before), time(change.after)),
                    format!("{word} ×{} (p {})", sig3(change.ratio()), sig3(change.p)),
                    format!("{} ({})", run.id, utc(run.started_unix_ms)),
                ],
            ));
        }
    }

    fn cause(&self, label: &str, change: &Change) -> String {
        let between = format!(
            "{label}, {} → {}",
            self.runs[change.previous].id, self.runs[change.run].id
        );
        if change.differences.is_empty() {
            return format!("{between}: nothing that is recorded");
        }
        let all: Vec<String> = change.differences.iter().map(|d| d.text()).collect();
        let warning =
            conclusion(&change.differences).map_or_else(String::new, |c| format!(" ({c})"));
        format!("{between}: {}{warning}", all.join(" · "))
    }
}
