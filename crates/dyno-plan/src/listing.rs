//! What is read of a catalog beside a plan: lists, single stacks and testbeds, and the texts of a run.

use crate::catalog::{Catalog, Texts};
use crate::chain;
use crate::daemon;
use crate::mistakes::{PlanError, nothing_was_run};
use crate::overrides::Override;
use crate::presets;
use crate::testbed;
use dyno_model::origin::{Origin, Text};
use dyno_model::{AdapterDescription, Plan, Request, Stack, Testbed};
use dyno_toml::{Entry, Place, Problem, Problems, Value, parse_what_can_be};
use miette::NamedSource;
use std::collections::{BTreeMap, BTreeSet};

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

impl Catalog {
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
        let source = self.stack(name, &Place::flag("dyno conformance", name))?;
        let mut problems = Problems::default();
        let set: Vec<Entry> = set
            .iter()
            .map(|(option, value)| Override::parse(option, value).entry)
            .collect();
        let stack = chain::read_stack(self, name, source, adapters, &set, &mut problems);
        problems.check(nothing_was_run)?;
        // Whatever keeps a stack from being read is a problem.
        stack.ok_or_else(|| problems.into_error(nothing_was_run))
    }

    /// The testbed `name`.
    pub fn read_testbed(&self, name: &str) -> Result<Testbed, PlanError> {
        let source = self.testbed(name)?;
        let mut problems = Problems::default();
        let testbed = testbed::read(name, source, &[], &mut problems);
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
            study: self.study_of(&request.suite).and_then(|(written, _)| {
                let source = self.studies.get(&written)?;
                Some(text(source))
            }),
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
            .flat_map(|source| daemon::programs(&parse_what_can_be(source).0))
            .collect()
    }
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
