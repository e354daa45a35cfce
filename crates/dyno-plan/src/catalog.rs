//! The texts of all suites, stacks and testbeds: those built in, and those that the caller read.

use crate::chain;
use crate::mistakes::{PlanError, nothing_was_run};
use crate::parameters::Override;
use crate::presets;
use dyno_model::origin::{Origin, Text};
use dyno_model::{AdapterDescription, Plan, Request, Stack, Testbed};
use dyno_toml::{Entry, Place, Problem, Problems, Source, Value, parse_what_can_be, suggest};
use miette::NamedSource;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

type Texts = BTreeMap<String, Source>;

/// Every suite, stack and testbed by name. A text that is added replaces one of the same name.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    suites: Texts,
    stacks: Texts,
    testbeds: Texts,
    pub(crate) adapter_places: Option<fn(&str) -> String>,
}

/// One line of `dyno list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The name that flags and files use.
    pub name: String,
    /// The file it was read from, or `built-in …`.
    pub path: String,
    /// The suite's title, or the description of a stack or testbed; empty where it has none.
    pub title: String,
    /// The suite's description; empty where it has none, and for stacks and testbeds.
    pub description: String,
    /// The suite's presets, which `--set GROUP=NAME` chooses: names by group.
    pub presets: BTreeMap<String, Vec<String>>,
    /// Why the file is not even TOML; the other fields hold what could be read all the same.
    pub broken: Option<String>,
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

    /// All suites by name.
    pub fn suites(&self) -> Vec<Listing> {
        list(&self.suites, "title")
    }
    /// All stacks by name.
    pub fn stacks(&self) -> Vec<Listing> {
        list(&self.stacks, "description")
    }
    /// All testbeds by name.
    pub fn testbeds(&self) -> Vec<Listing> {
        list(&self.testbeds, "description")
    }

    /// How to name the places where an adapter's library is looked for, which a message on a missing one says.
    pub fn set_adapter_places(&mut self, places: fn(&str) -> String) {
        self.adapter_places = Some(places);
    }

    /// The stack `name`, checked against the `adapters` that are built in. Its adapter may be one
    /// that cannot be used on this machine.
    pub fn read_stack(
        &self,
        name: &str,
        adapters: &[AdapterDescription],
    ) -> Result<Stack, PlanError> {
        self.read_stack_with(name, adapters, &[])
    }

    /// As [`Catalog::read_stack`], with options of the command line, `--set OPTION=VALUE`, in the place of
    /// its own.
    pub fn read_stack_with(
        &self,
        name: &str,
        adapters: &[AdapterDescription],
        set: &[(String, String)],
    ) -> Result<Stack, PlanError> {
        let source = self.stack(name, &Place::flag("--stack", name))?;
        let mut problems = Problems::default();
        let set: Vec<Entry> = set
            .iter()
            .map(|(option, value)| Override::parse(option, value).entry)
            .collect();
        let stack = crate::stack::read(self, name, source, adapters, &set, &mut problems);
        problems.check(nothing_was_run)?;
        // Whatever keeps a stack from being read is a problem.
        stack.ok_or_else(|| problems.into_error(nothing_was_run))
    }

    /// The testbed `name`.
    pub fn read_testbed(&self, name: &str) -> Result<Testbed, PlanError> {
        let source = self.testbed(name)?;
        let mut problems = Problems::default();
        let testbed = crate::testbed::read(name, source, &[], &mut problems);
        problems.check(nothing_was_run)?;
        // Whatever keeps a testbed from being read is a problem.
        testbed.ok_or_else(|| problems.into_error(nothing_was_run))
    }

    /// The texts that `plan` was made from for `request`.
    ///
    /// # Errors
    ///
    /// When the request names what is not here; a plan that was made with this catalog does not.
    pub fn origin(&self, request: &Request, plan: &Plan) -> Result<Origin, PlanError> {
        let names = plan.stacks.keys();
        let names = names.chain(plan.refused.iter().map(|r| &r.stack));
        let names = self.with_legs(names);
        let text = |source: &NamedSource<String>| Text {
            path: source.name().to_owned(),
            text: source.inner().clone(),
        };
        Ok(Origin {
            request: request.clone(),
            suite: text(self.suite(&request.suite)?),
            testbed: text(self.testbed(&request.testbed)?),
            stacks: names
                .into_iter()
                .filter_map(|name| {
                    let source = self.stacks.get(&name)?;
                    Some((name, text(source)))
                })
                .collect(),
        })
    }

    /// These stacks, and those that their legs name.
    fn with_legs<'n>(&self, names: impl Iterator<Item = &'n String>) -> BTreeSet<String> {
        let mut all = BTreeSet::new();
        let mut left: Vec<String> = names.cloned().collect();
        while let Some(name) = left.pop() {
            if let Some(source) = self.stacks.get(&name).filter(|_| !all.contains(&name)) {
                let (table, _) = parse_what_can_be(source);
                left.extend(chain::named(&table).into_iter().map(str::to_owned));
            }
            all.insert(name);
        }
        all
    }

    /// What a run was planned from and nothing else: a plan for the same request is the same, whatever
    /// suites, stacks and testbeds have become since.
    pub fn of_origin(origin: &Origin) -> Self {
        let mut catalog = Self::default();
        let Text { path, text } = &origin.suite;
        catalog.add_suite(&origin.request.suite, path, text);
        let Text { path, text } = &origin.testbed;
        catalog.add_testbed(&origin.request.testbed, path, text);
        for (name, Text { path, text }) in &origin.stacks {
            catalog.add_stack(name, path, text);
        }
        catalog
    }

    /// Takes over the testbed `name` of another catalog, if it has it.
    pub fn take_testbed(&mut self, name: &str, from: &Catalog) {
        if let Some(source) = from.testbeds.get(name) {
            self.testbeds.insert(name.to_owned(), source.clone());
        }
    }

    /// Takes over the stack `name` of another catalog, if that has it and this one has not.
    pub fn take_stack(&mut self, name: &str, from: &Catalog) {
        for name in from.with_legs(std::iter::once(&name.to_owned())) {
            if let (Some(source), false) = (from.stacks.get(&name), self.stacks.contains_key(&name))
            {
                self.stacks.insert(name, source.clone());
            }
        }
    }

    /// The programs that the daemons of all stacks start, each once; files with mistakes as far as
    /// they can be read.
    pub fn programs(&self) -> BTreeSet<String> {
        self.stacks
            .values()
            .flat_map(|source| crate::daemon::programs(&parse_what_can_be(source).0))
            .collect()
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
    /// The stack that is named at `at`.
    pub(crate) fn stack(&self, name: &str, at: &Place) -> Result<&Source, Problem> {
        self.stacks
            .get(name)
            .ok_or_else(|| unknown("stack", name, &self.stacks, at))
    }
    pub(crate) fn stack_texts(&self) -> &Texts {
        &self.stacks
    }
}

fn insert(texts: &mut Texts, name: &str, path: &str, text: impl Into<String>) {
    let source = NamedSource::new(path, text.into()).with_language("toml");
    texts.insert(name.to_owned(), Arc::new(source));
}

fn unknown(what: &str, name: &str, texts: &Texts, at: &Place) -> Problem {
    let others = suggest::instead(name, &format!("{what}s"), texts.keys().map(String::as_str));
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

fn list(texts: &Texts, title_key: &str) -> Vec<Listing> {
    texts
        .iter()
        .map(|(name, source)| {
            let (table, errors) = parse_what_can_be(source);
            let text = |key: &str| match table.get(key).map(|n| &n.value) {
                Some(Value::Text(t)) => t.clone(),
                _ => String::new(),
            };
            let title = text(title_key);
            let description = match title_key {
                "title" => text("description"),
                _ => String::new(),
            };
            Listing {
                name: name.clone(),
                path: source.name().to_owned(),
                title,
                description,
                presets: match title_key {
                    "title" => presets::names(&table),
                    _ => BTreeMap::new(),
                },
                broken: errors.first().map(Problem::to_string),
            }
        })
        .collect()
}
