//! Capacities for people: what was found, and the curve seen on the way.

use super::{Capacities, Capacity, End, Rung, Tested};
use crate::cell;
use crate::number::{Unit, percent};
use crate::page::{Page, Tone};
use dyno_report::{Format, RenderOptions, utc};

impl Capacities {
    /// As text, ended by a newline (CSV: by CR LF). JSON and CSV take no notice of `options`.
    pub fn render(&self, format: Format, options: &RenderOptions) -> String {
        let pages = || std::iter::once(self.page()).chain(self.all.iter().map(|c| self.curve(c)));
        let all: Vec<String> = match format {
            Format::Table => pages().map(|page| page.text(options)).collect(),
            Format::Markdown => pages().map(|page| page.markdown()).collect(),
            Format::Json => return self.json(),
            Format::Csv => return self.csv(),
        };
        all.join("\n")
    }

    fn page(&self) -> Page {
        let mut page = Page {
            title: format!(
                "capacity: the highest {} that meets {} with confidence",
                self.raise, self.limits
            ),
            lead: vec![
                format!("required: {}", self.required.join(" · ")),
                format!(
                    "run {} (suite {}), started {}. Met: every interval is within its limit, and \
                     further trials confirm this. Violated: an interval is outside its limit. Notes say \
                     where no further trials confirmed this. Values in between are undecided. Intervals \
                     have {} confidence; those of confirmations have more, because they are evaluated up \
                     to three times, or six if the host delayed trials.",
                    self.run,
                    self.suite,
                    utc(self.started_unix_ms),
                    percent(self.confidence)
                ),
            ],
            heads: vec![
                ("experiment", false),
                ("met up to", true),
                ("violated from", true),
                ("undecided", true),
                ("first violation", false),
                ("confirmed by", false),
            ],
            rows: self.all.iter().map(|c| self.row(c)).collect(),
            ..Page::default()
        };
        let notes = self.all.iter().filter_map(|c| self.note(c)).collect();
        page.section("Notes", notes);
        page
    }

    fn row(&self, c: &Capacity) -> (Tone, Vec<String>) {
        let dash = || "–".to_owned();
        let value = |t: &Option<Tested>| t.as_ref().map_or_else(dash, |t| self.raise.text(t.value));
        let between: Vec<String> = c.between.iter().map(|t| self.raise.text(t.value)).collect();
        let confirmed = c.kept.as_ref().filter(|t| t.confirms);
        let tone = match c.end {
            End::Found | End::Top => Tone::Good,
            End::NotEvenFirst => Tone::Bad,
            End::Unfinished => Tone::Unsure,
        };
        let cells = vec![
            self.label(c),
            value(&c.kept),
            value(&c.broken),
            match between.as_slice() {
                [] => dash(),
                [one] => one.clone(),
                [first, .., last] => format!("{first} to {last}"),
            },
            c.broken.as_ref().map_or_else(dash, |t| match t.disturbed {
                0 => t.broken().join("; "),
                _ => format!("{} ({})", t.broken().join("; "), t.judged_by("trial")),
            }),
            confirmed.map_or_else(dash, |t| {
                let trials = t.judged_by("trial");
                format!("{trials}: {}; {}", t.found(), t.losses())
            }),
        ];
        (tone, cells)
    }

    /// Stack and factors, without the one that is raised.
    fn label(&self, c: &Capacity) -> String {
        cell::label_without(&c.experiment, self.raise)
    }

    /// What a reader must know of one result beyond its row.
    fn note(&self, c: &Capacity) -> Option<String> {
        let label = format!("{} on {}", c.experiment.name, c.experiment.stack);
        // The last word on a value is its confirmation.
        let is_first = |t: &&Tested| c.curve.first().is_some_and(|first| first.value == t.value);
        let first = c.curve.iter().rfind(is_first);
        match c.end {
            End::Found => c.broken.as_ref().filter(|_| !c.is_cap_confirmed).map(|t| {
                let value = self.raise.text(t.value);
                format!(
                    "{label}: no further trials confirm that {value} violates a limit, so the search may have stopped by chance; continue with `dyno run --resume`"
                )
            }),
            End::Unfinished => Some(format!(
                "{label}: not finished; continue with `dyno run --resume`"
            )),
            End::NotEvenFirst => Some(first.map_or(label.clone(), |t| {
                let value = self.raise.text(t.value);
                let said = match t.rung {
                    Rung::Broken => "already violates a limit",
                    _ => "does not meet all limits with confidence",
                };
                let advice = match t.rung {
                    Rung::Broken => format!("begin with a lower value, such as --set {}", self.lower(t.value)),
                    Rung::NoFigure => "measure more messages, such as with --set window='10 s'".to_owned(),
                    _ => "measure more messages, or use a quieter machine".to_owned(),
                };
                format!(
                    "{label}: the first value, {value}, {said} ({}); {advice}",
                    t.why()
                )
            })),
            End::Top => {
                let value = c.kept.as_ref().map(|t| self.raise.text(t.value));
                let value = value.unwrap_or_default();
                Some(match &c.refused_above {
                    Some(reason) => {
                        format!("{label}: {value} meets all limits, and Dyno refuses higher values: {reason}")
                    }
                    None => {
                        format!("{label}: {value} meets all limits, and is the highest value that Dyno tries")
                    }
                })
            }
        }
    }

    /// A tenth of a value as a setting.
    fn lower(&self, value: f64) -> String {
        match self.raise {
            dyno_model::Raised::Rate => format!("rate='{} Hz'", value / 10.0),
            dyno_model::Raised::Payload => {
                format!("payload='{} B'", (value / 10.0).ceil().max(32.0))
            }
            dyno_model::Raised::Clients => "topology=1-1".into(),
        }
    }

    fn curve(&self, c: &Capacity) -> Page {
        let rows = c.curve.iter().map(|t| {
            let tone = match t.rung {
                Rung::Kept => Tone::Good,
                Rung::Broken => Tone::Bad,
                Rung::Undecided | Rung::NoFigure => Tone::Unsure,
            };
            let result = match t.rung {
                Rung::Kept => "met",
                Rung::Broken => "violated",
                Rung::Undecided | Rung::NoFigure => t.rung.as_str(),
            };
            let come_to = match t.confirms {
                true => format!("{result}, confirming"),
                false => result.to_owned(),
            };
            let delivered = t.delivered_hz.map_or("–".into(), |hz| Unit::Rate.text(hz));
            let cells = vec![
                self.raise.text(t.value),
                come_to,
                t.judged.to_string(),
                delivered,
                t.found(),
            ];
            (tone, cells)
        });
        Page {
            title: format!("steps: {}", self.label(c)),
            heads: vec![
                (self.raise.as_str(), true),
                ("", false),
                ("trials", true),
                ("delivered", true),
                ("found", false),
            ],
            rows: rows.collect(),
            nothing: "Nothing was tried yet.".into(),
            ..Page::default()
        }
    }

    /// Whether every ladder has a capacity, and if not, whether that is because one begins too high.
    pub fn worst(&self) -> End {
        let has = |end| self.all.iter().any(|c| c.end == end);
        match (has(End::NotEvenFirst), has(End::Unfinished)) {
            (true, _) => End::NotEvenFirst,
            (false, true) => End::Unfinished,
            (false, false) => End::Found,
        }
    }
}
