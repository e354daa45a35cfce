//! The texts of all suites, stacks and testbeds: those built in, and those that the caller read.

use dyno_model::origin::{Origin, Text};
use dyno_toml::{Place, Problem, Source, Value, parse_what_can_be, suggest};
use miette::NamedSource;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts by name.
pub(crate) type Texts = BTreeMap<String, Source>;

/// Every suite, stack and testbed by name. A text that is added replaces one of the same name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub(crate) suites: Texts,
    pub(crate) stacks: Texts,
    pub(crate) testbeds: Texts,
    /// By the path that the suite has as its `table`.
    pub(crate) studies: Texts,
    pub(crate) adapter_places: Option<fn(&str) -> String>,
}

/// Name, path for messages, and text.
type BuiltIn = (&'static str, &'static str, &'static str);

include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

impl Catalog {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self::default()
    }

    /// What comes with Dyno: the files of `suites/`, `stacks/`, `testbeds/` and of each adapter's `stacks/`.
    pub fn builtin() -> Self {
        let mut catalog = Self::default();
        for (name, path, text) in SUITES {
            catalog.add_suite(name, path, *text);
        }
        for (name, path, text) in STACKS {
            catalog.add_stack(name, path, *text);
        }
        for (name, path, text) in TESTBEDS {
            catalog.add_testbed(name, path, *text);
        }
        catalog
    }

    /// Adds the suite `name`; `path` stands in messages.
    pub fn add_suite(&mut self, name: &str, path: &str, text: impl Into<String>) {
        insert(&mut self.suites, name, path, text);
    }
    /// Adds the stack `name`; `path` stands in messages.
    pub fn add_stack(&mut self, name: &str, path: &str, text: impl Into<String>) {
        insert(&mut self.stacks, name, path, text);
    }
    /// Adds the testbed `name`; `path` stands in messages.
    pub fn add_testbed(&mut self, name: &str, path: &str, text: impl Into<String>) {
        insert(&mut self.testbeds, name, path, text);
    }

    /// Adds a study file under the path that a suite has as its `table`; `path` stands in messages.
    pub fn add_study(&mut self, written: &str, path: &str, text: impl Into<String>) {
        insert(&mut self.studies, written, path, text);
    }

    /// The study file that a suite names as its `table`: as written, and its path, which is relative to the suite's file. `None`
    /// where the suite names none, or cannot be read.
    pub fn study_of(&self, suite: &str) -> Option<(String, PathBuf)> {
        let source = self.suites.get(suite)?;
        let (table, _) = parse_what_can_be(source);
        let Value::Text(written) = &table.get("table")?.value else {
            return None;
        };
        let folder = Path::new(source.name()).parent()?;
        is_study(written).then(|| (written.clone(), folder.join(written)))
    }

    /// How to name the places where an adapter's library is looked for, which a message on a missing one says.
    pub fn set_adapter_places(&mut self, places: fn(&str) -> String) {
        self.adapter_places = Some(places);
    }

    /// What a run was planned from and nothing else: a plan for the same request is the same, whatever
    /// suites, stacks and testbeds have become since.
    pub fn of_origin(origin: &Origin) -> Self {
        let mut catalog = Self::default();
        let Text { path, text } = &origin.suite;
        catalog.add_suite(&origin.request.suite, path, text);
        let Text { path, text } = &origin.testbed;
        catalog.add_testbed(&origin.request.testbed, path, text);
        if let (Some((written, _)), Some(study)) =
            (catalog.study_of(&origin.request.suite), &origin.study)
        {
            catalog.add_study(&written, &study.path, study.text.as_str());
        }
        for (name, Text { path, text }) in &origin.stacks {
            catalog.add_stack(name, path, text);
        }
        catalog
    }

    pub(crate) fn suite(&self, name: &str) -> Result<&Source, Problem> {
        let place = || Place::flag("dyno run", name);
        self.suites
            .get(name)
            .ok_or_else(|| unknown("suite", name, &self.suites, &place()))
    }
    pub(crate) fn testbed(&self, name: &str) -> Result<&Source, Problem> {
        let place = || Place::flag("--testbed", name);
        self.testbeds
            .get(name)
            .ok_or_else(|| unknown("testbed", name, &self.testbeds, &place()))
    }
    /// Whether there is a stack of that name.
    ///
    /// # Errors
    ///
    /// There is none; with the names that are like it.
    pub fn has_stack(&self, name: &str) -> Result<(), String> {
        match self.stacks.contains_key(name) {
            true => Ok(()),
            false => Err(format!(
                "there is no stack `{name}`: {}",
                alike("stack", name, &self.stacks)
            )),
        }
    }
    /// The suites whose names are like `name`, and how to list all.
    pub fn suites_like(&self, name: &str) -> String {
        alike("suite", name, &self.suites)
    }
    /// The stack that is named at `at`.
    pub(crate) fn stack(&self, name: &str, at: &Place) -> Result<&Source, Problem> {
        self.stacks
            .get(name)
            .ok_or_else(|| unknown("stack", name, &self.stacks, at))
    }
}

/// Whether a `table` is the path of a study file.
pub(crate) fn is_study(table: &str) -> bool {
    table.ends_with(".toml")
}

fn insert(texts: &mut Texts, name: &str, path: &str, text: impl Into<String>) {
    let source = NamedSource::new(path, text.into()).with_language("toml");
    texts.insert(name.to_owned(), Arc::new(source));
}

/// More names than these are not listed beside a hint.
const MOST_NAMES: usize = 8;

/// A shorter word says too little to look for it in descriptions.
const LEAST_WORD: usize = 3;

/// The names that are like `name`, those whose description has it, or all.
fn alike(what: &str, name: &str, texts: &Texts) -> String {
    let all: Vec<&str> = texts.keys().map(String::as_str).collect();
    match suggest::hint(name, &all) {
        // A long list would bury the hint.
        Some(hint) if all.len() > MOST_NAMES => {
            format!("{hint} `dyno list {what}s` lists all {}", all.len())
        }
        Some(_) => suggest::instead(name, &format!("{what}s"), all),
        // Descriptions of suites have words such as "all".
        None if what != "stack" => suggest::instead(name, &format!("{what}s"), all),
        None => match described(name, texts).as_slice() {
            [] => suggest::instead(name, &format!("{what}s"), all),
            those => format!(
                "the description of {} has this word; `dyno list {what}s` lists all {}",
                those.join(", "),
                all.len()
            ),
        },
    }
}

/// The names, quoted, of at most so many texts whose description has a word.
fn described(word: &str, texts: &Texts) -> Vec<String> {
    let word = word.to_lowercase();
    let has_it = |source: &Source| {
        let (table, _) = parse_what_can_be(source);
        let Some(Value::Text(text)) = table.get("description").map(|n| &n.value) else {
            return false;
        };
        let text = text.to_lowercase();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        words.any(|own| own == word)
    };
    if word.len() < LEAST_WORD {
        return Vec::new();
    }
    let those = texts.iter().filter(|(_, source)| has_it(source));
    let names = those.take(MOST_NAMES).map(|(name, _)| format!("`{name}`"));
    names.collect()
}

fn unknown(what: &str, name: &str, texts: &Texts, at: &Place) -> Problem {
    let others = alike(what, name, texts);
    let is_path = name.contains('/') || name.ends_with(".toml");
    let help = match is_path {
        true => format!(
            "a {what} has a name and no path: `--files DIR` adds the files of `DIR/{what}s/`; {others}"
        ),
        false => others,
    };
    Problem::at(at, format!("there is no {what} `{name}`"))
        .label(format!("unknown {what}"))
        .help(help)
}
