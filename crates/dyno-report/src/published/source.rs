//! The head of every file of published figures.

use serde::Deserialize;

/// Where figures come from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title of the publication.
    pub title: String,
    /// Its authors.
    #[serde(default)]
    pub authors: Vec<String>,
    /// Where they work.
    #[serde(default)]
    pub institutions: String,
    /// Year of publication.
    pub year: Option<u16>,
    /// Where it can be found.
    #[serde(default, rename = "where")]
    pub place: String,
    /// What it was measured on.
    #[serde(default)]
    pub testbed: String,
    /// The date of the measurement that it names.
    pub tested: Option<String>,
}

/// Something to know before comparing.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flaw {
    /// Which figures it concerns.
    pub about: String,
    /// In one sentence.
    pub says: String,
}
