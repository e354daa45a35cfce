//! Everything that the page shows, as data. The form is the page's own and may change with it; what `dyno
//! show` and `dyno compare` say is in it unchanged and stable.

use crate::answer::{Answer, answers};
use crate::beside::{Cited, Published, Study};
use crate::curves::{self, BoxPlot, GRID};
use crate::facts::Facts;
use crate::number::Number;
use crate::trials::{Decoded, Trial};
use crate::verdicts::Verdicts;
use dyno_judge::{CheckReport, CompareOptions, Headline};
use dyno_model::factors;
use dyno_model::record::Run;
use dyno_model::tables::Tables;
use dyno_report::{
    AnswersSummary, ExperimentSummary, Format, RenderOptions, Summary, SummaryOptions,
    escaped_json, summarise,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of the page's data, its field `format`.
pub const DOCUMENT_FORMAT: u32 = 1;

/// So many of the largest differences of two runs are said in words.
const HEADLINES: usize = 5;

/// One of the runs that the page was asked for.
#[derive(Debug, Clone)]
pub enum Source<'a> {
    /// It was read, perhaps not all of it.
    Run {
        /// What could be read.
        run: &'a Run,
        /// What could not, each in one line with what to do about it.
        problems: Vec<String>,
        /// Whether a runner still writes it.
        running: bool,
        /// What came of the limits that it was held against.
        check: Option<CheckReport>,
    },
    /// It could not be read at all.
    Unreadable {
        /// What was asked for.
        name: String,
        /// Why not, and what to do about it.
        reason: String,
    },
}

/// How a page is made.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// When, in milliseconds since the Unix epoch.
    pub made_unix_ms: u64,
    /// How runs are summarised.
    pub summary: SummaryOptions,
    /// How runs are compared with the first.
    pub compare: CompareOptions,
}

/// What is being done, for whoever shows progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A run is summarised.
    Summarise(&'a str),
    /// The shapes of its distributions are drawn.
    Draw(&'a str),
    /// It is compared with the first run, or the two sides of it with each other.
    Compare(&'a str),
}

/// Everything that the page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// [`DOCUMENT_FORMAT`].
    pub format: u32,
    /// The version of Dyno that made it.
    pub dyno: &'static str,
    /// When, in milliseconds since the Unix epoch.
    pub made_unix_ms: u64,
    /// What workloads, metrics and figures are.
    pub tables: Tables,
    /// The ranks of all curves, ascending from 0 to 1.
    pub grid: Vec<Number>,
    /// The runs that could be read, in the order in which they were named.
    pub runs: Vec<RunPage>,
    /// The publications that figures of the page are from.
    pub studies: Vec<Study>,
    /// Each later run against the first; and of a run that was measured with `--against`, its two sides,
    /// then `base` and `new` are the same run.
    pub comparisons: Vec<Comparison>,
    /// What could not be read at all.
    pub unreadable: Vec<Unreadable>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunPage {
    /// Short and unique on the page: `A`, `B` of several, else the run's id.
    pub name: String,
    /// Whether a runner still writes it.
    pub running: bool,
    /// The document of `dyno show --format json`.
    pub show: Value,
    /// The document of `dyno check --format json`, where limits were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Value>,
    /// Parts that could not be read.
    pub problems: Vec<String>,
    /// The answers to its questions, in the plan's order.
    pub answers: Vec<Answer>,
    /// What the plots need beyond `show`; one for each of its experiments.
    pub details: Vec<Details>,
    /// Figures of others beside its experiments.
    pub published: Vec<Published>,
    /// The answers in short, for the head of the page.
    #[serde(skip)]
    pub(crate) brief: Option<AnswersSummary>,
    /// What the page says of the run without JavaScript.
    #[serde(skip)]
    pub(crate) facts: Facts,
    /// The limits and what came of them, as its top shows them.
    #[serde(skip)]
    pub(crate) verdicts: Option<Verdicts>,
}

/// The shapes of one experiment's distributions, and its trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Details {
    /// By title: factors of which not every value is named, in words, where the value is not the usual one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<&'static str, String>,
    /// By metric: nanoseconds at the ranks of the grid over all trials that count. A curve ends where a
    /// quantile would be refused; `null` is infinite.
    pub curves: BTreeMap<&'static str, Vec<Number>>,
    /// By metric: what a box plot shows.
    #[serde(rename = "box")]
    pub boxes: BTreeMap<&'static str, BoxPlot>,
    /// Every trial, by number.
    pub trials: Vec<Trial>,
}

/// Two runs compared, or the two sides of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Place in [`Document::runs`] of the run that is compared with.
    pub base: usize,
    /// Place of the run that is judged.
    pub new: usize,
    /// The document of `dyno compare --format json`.
    pub compare: Value,
    /// The experiment of the judged run that each of its `cells` is.
    pub ids: Vec<u32>,
    /// The largest differences, in words.
    #[serde(skip)]
    pub(crate) headlines: Vec<Headline>,
}

/// What could not be read at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// What was asked for.
    pub name: String,
    /// Why not, and what to do about it.
    pub reason: String,
}

impl Document {
    /// Everything that a page of these sources shows. Equal sources and options give equal documents.
    pub fn of(sources: &[Source<'_>], options: &Options) -> Document {
        Document::with_steps(sources, options, &mut |_| {})
    }

    /// The same, and tells what it is doing: large runs take seconds.
    pub fn with_steps(
        sources: &[Source<'_>],
        options: &Options,
        step: &mut dyn FnMut(Step<'_>),
    ) -> Document {
        let mut read = Vec::new();
        let mut unreadable = Vec::new();
        for source in sources {
            match source {
                Source::Run {
                    run,
                    problems,
                    running,
                    check,
                } => read.push((*run, problems, *running, check)),
                Source::Unreadable { name, reason } => unreadable.push(Unreadable {
                    name: name.to_string(),
                    reason: reason.to_string(),
                }),
            }
        }
        let several = read.len() > 1;
        let mut cited = Cited::default();
        let mut runs = Vec::new();
        for (place, (run, problems, running, check)) in read.iter().enumerate() {
            let id = &run.manifest.id;
            step(Step::Summarise(id));
            let mut summary = summarise(run, &options.summary);
            let mut problems: Vec<String> = problems.iter().map(|p| p.to_string()).collect();
            match dyno_judge::capacities(run) {
                Ok(found) => summary.capacity = found.map(|found| found.document()),
                Err(e) => problems.push(format!("the result of the search is unknown: {e}")),
            }
            summary.answers = crate::brief::answers(&summary, &run.manifest);
            step(Step::Draw(id));
            let answers = answers(&summary, &run.manifest);
            runs.push(RunPage {
                name: match several {
                    true => letters(place),
                    false => id.to_string(),
                },
                running: *running,
                show: parsed(&dyno_report::render(
                    &summary,
                    Format::Json,
                    &RenderOptions::default(),
                )),
                problems,
                details: details(run, &summary),
                published: cited.beside(&summary),
                facts: Facts::of(run, &summary),
                check: check
                    .as_ref()
                    .map(|c| parsed(&c.render(Format::Json, &RenderOptions::default()))),
                verdicts: check.as_ref().map(|c| Verdicts::of(c, &summary, &answers)),
                brief: summary.answers,
                answers,
            });
        }
        let all: Vec<&Run> = read.iter().map(|(run, ..)| *run).collect();
        Document {
            format: DOCUMENT_FORMAT,
            dyno: env!("CARGO_PKG_VERSION"),
            made_unix_ms: options.made_unix_ms,
            tables: Tables::all(),
            grid: GRID.iter().map(|q| Number::rank(*q)).collect(),
            runs,
            studies: cited.studies(),
            comparisons: comparisons(&all, &options.compare, step),
            unreadable,
        }
    }

    /// The document as JSON in one line, as [`inert`] leaves it.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self)
            .expect("all map keys are strings and no field's Serialize fails");
        inert(json)
    }
}

/// JSON without a character that HTML, an old JavaScript or a terminal takes for anything but text. They only
/// occur in strings, where the escapes mean the same.
pub fn inert(json: String) -> String {
    let json = escaped_json(json);
    if !json.contains(['<', '>', '&']) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' | '>' | '&' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

/// `A`, `B` … `Z`, `AA`.
fn letters(place: usize) -> String {
    let mut left = place;
    let mut name = Vec::new();
    loop {
        // At most 25, so it stays a letter.
        name.push(char::from(b'A' + (left % 26) as u8));
        match left / 26 {
            0 => break,
            more => left = more - 1,
        }
    }
    name.iter().rev().collect()
}

/// What our own renderers wrote as JSON.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("what serde_json wrote it can read")
}

fn details(run: &Run, summary: &Summary) -> Vec<Details> {
    let starts = run.trials.iter().map(|t| t.started_unix_ms);
    let first_ms = starts.min().unwrap_or(0);
    let one = |e: &ExperimentSummary| {
        let decoded = Decoded::read(run, e);
        let (mut all, mut boxes) = (BTreeMap::new(), BTreeMap::new());
        for metric in e.metrics.keys() {
            let trials = decoded.counted(*metric);
            let pool = curves::pool(&trials);
            all.insert(metric.as_str(), curves::curve(&pool));
            if let Some(own) = curves::of_trials(&pool, &trials) {
                boxes.insert(metric.as_str(), own);
            }
        }
        let told = factors::all().filter(|f| f.default.is_some() && !f.is_default(&e.experiment));
        Details {
            factors: told.map(|f| (f.title, f.words(&e.experiment))).collect(),
            curves: all,
            boxes,
            trials: decoded.shown(e.headline(), first_ms),
        }
    };
    dyno_parallel::map(&summary.experiments, one)
}

fn comparisons(
    runs: &[&Run],
    how: &CompareOptions,
    step: &mut dyn FnMut(Step<'_>),
) -> Vec<Comparison> {
    let one = |base: usize, new: usize, comparison: dyno_judge::Comparison| Comparison {
        base,
        new,
        compare: parsed(&comparison.render(Format::Json, &RenderOptions::default())),
        ids: comparison.cells.iter().map(|cell| cell.new.id.0).collect(),
        headlines: comparison.headlines(HEADLINES),
    };
    let mut all = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        if run.manifest.plan.against.is_some() {
            step(Step::Compare(&run.manifest.id));
            all.push(one(place, place, dyno_judge::compare_within(run, how)));
        }
    }
    if let Some((first, later)) = runs.split_first() {
        // Times of an emulator stand beside those of a machine, and nothing holds them against each other.
        let alike = |(_, run): &(usize, &&Run)| dyno_judge::apart(first, run).is_none();
        for (place, run) in later.iter().enumerate().filter(alike) {
            step(Step::Compare(&run.manifest.id));
            all.push(one(0, place + 1, dyno_judge::compare(first, run, how)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_cannot_end_its_element_and_means_the_same() {
        let value =
            serde_json::json!({"a": "</script><!-- & \u{2028}\u{2029} 🚗 \u{202e}\u{e0041}"});
        let text = inert(value.to_string());
        assert!(
            !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']),
            "{text}"
        );
        let back: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back, value);
    }

    #[test]
    fn runs_have_letters_however_many_there_are() {
        let names: Vec<String> = [0, 1, 25, 26, 27, 701, 702].map(letters).to_vec();
        assert_eq!(names, ["A", "B", "Z", "AA", "AB", "ZZ", "AAA"]);
    }
}
