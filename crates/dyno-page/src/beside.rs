//! Figures that others published, beside the experiments of the page. Which stand beside which is
//! `dyno_report::published`'s to say; here they get the shape of the page's data.

use crate::number::Number;
use dyno_report::Summary;
use dyno_report::published::{self, About};
use serde::Serialize;

/// A figure of others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// The experiment that it stands beside: its place in `show.experiments`.
    pub experiment: usize,
    /// The metric.
    pub metric: &'static str,
    /// What it is of its samples: `p50`, `mean`, `max`.
    pub quantile: &'static str,
    /// In nanoseconds.
    pub value_ns: Number,
    /// As it was printed, with its unit.
    pub text: String,
    /// The study that it is from: its place in [`crate::Document::studies`].
    pub study: usize,
    /// What the study measured.
    #[serde(rename = "as")]
    pub label: String,
}

/// A publication, and what is known to be wrong with its figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Study {
    /// Short and unique.
    pub key: &'static str,
    /// Title of the publication.
    pub title: &'static str,
    /// Its authors.
    pub authors: &'static [String],
    /// Where they work.
    pub institutions: &'static str,
    /// Year of publication.
    pub year: u16,
    /// Where it can be found.
    #[serde(rename = "where")]
    pub place: &'static str,
    /// What it was measured on.
    pub testbed: &'static str,
    /// What to know before comparing.
    pub flaws: Vec<Flaw>,
}

/// Something to know before comparing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flaw {
    /// Which figures it concerns.
    pub about: &'static str,
    /// In one sentence.
    pub says: &'static str,
}

impl From<About> for Study {
    fn from(about: About) -> Study {
        let source = about.source;
        let flaw = |f: &'static published::Flaw| Flaw {
            about: &f.about,
            says: &f.says,
        };
        Study {
            key: about.key,
            title: &source.title,
            authors: &source.authors,
            institutions: &source.institutions,
            year: source.year.unwrap_or_default(),
            place: &source.place,
            testbed: &source.testbed,
            flaws: about.flaws.iter().map(flaw).collect(),
        }
    }
}

/// The studies that the page cites, in the order of their first figure.
#[derive(Debug, Default)]
pub(crate) struct Cited {
    /// Places in [`published::studies`].
    known: Vec<usize>,
}

impl Cited {
    /// The published figures beside the experiments of one run.
    pub(crate) fn beside(&mut self, summary: &Summary) -> Vec<Published> {
        let mut all = Vec::new();
        for (experiment, figures) in dyno_report::study::beside(summary).into_iter().enumerate() {
            for figure in figures {
                all.push(Published {
                    experiment,
                    metric: figure.metric.as_str(),
                    quantile: figure.statistic.as_str(),
                    value_ns: Number::short(figure.value_ns),
                    study: self.cite(figure.study),
                    text: figure.text,
                    label: figure.label,
                });
            }
        }
        all
    }

    /// The study's place on the page.
    fn cite(&mut self, study: usize) -> usize {
        let found = self.known.iter().position(|s| *s == study);
        found.unwrap_or_else(|| {
            self.known.push(study);
            self.known.len() - 1
        })
    }

    /// The studies cited so far.
    pub(crate) fn studies(&self) -> Vec<Study> {
        let all = published::studies();
        let one = |i: &usize| all.get(*i).map(|about| Study::from(*about));
        self.known.iter().filter_map(one).collect()
    }
}
