//! Which crate may depend on which: the layering of the design, held against `cargo metadata`.

use crate::Outcome;
use crate::metadata::{self, Metadata};
use crate::modules;
use std::collections::{BTreeMap, BTreeSet};

/// The crates of the workspace that each crate may depend on. A crate that is not here is an error,
/// so that nobody adds one without deciding where it stands. All adapters are [`ADAPTER`].
const ALLOWED: &str = "\
dyno-model:
dyno-adapter: dyno-model
dyno-abi: dyno-adapter dyno-own
dyno-wire: dyno-adapter
dyno-conformance: dyno-adapter
dyno-doctor: dyno-measure dyno-model
dyno-measure: dyno-model
dyno-own:
dyno-parallel:
dyno-kit: dyno-model
dyno-fuzz: dyno-audit dyno-judge dyno-kit dyno-model dyno-page dyno-plan dyno-report dyno-store
dyno-plan: dyno-model dyno-toml
dyno-probe: dyno-measure dyno-model
dyno-stats: dyno-model dyno-parallel
dyno-store: dyno-model dyno-parallel
dyno-toml:
dyno-report: dyno-model dyno-parallel dyno-stats dyno-toml
dyno-judge: dyno-audit dyno-model dyno-report dyno-stats dyno-toml
dyno-page: dyno-judge dyno-model dyno-parallel dyno-report dyno-stats
dyno-export: dyno-model dyno-report dyno-stats
dyno-audit: dyno-model dyno-report dyno-stats
dyno-runner: dyno-measure dyno-model dyno-own dyno-stats
dyno-serve: dyno-model dyno-page dyno-store
dyno-agent: dyno-abi dyno-adapter dyno-conformance dyno-measure dyno-model dyno-probe dyno-stats dyno-adapter-*
dyno: dyno-agent dyno-audit dyno-doctor dyno-export dyno-judge dyno-measure dyno-model dyno-page \
    dyno-plan dyno-probe dyno-report dyno-runner dyno-serve dyno-stats dyno-store
dyno-adapter-*: dyno-abi dyno-adapter dyno-wire
xtask: dyno-kit";

/// What tests, benches and examples may use beyond [`ALLOWED`].
const ALLOWED_IN_TESTS: &str = "\
dyno-adapter-*: dyno-conformance
dyno-abi: dyno-adapter-* dyno-conformance
dyno: dyno-fuzz dyno-kit
# Every experiment that a published file names as the nearest can be planned.
dyno-audit: dyno-kit dyno-plan
dyno-export: dyno-audit dyno-kit
dyno-judge: dyno-kit
# What every output must have is looked for in all of them at once.
dyno-page: dyno-export dyno-kit dyno-store
dyno-report: dyno-kit
dyno-serve: dyno-kit
dyno-store: dyno-kit";

/// Stands for every crate in `adapters/`; their names all start so.
const ADAPTER: &str = "dyno-adapter-*";

/// The workspace's crates with their dependencies within it; `true` marks those of tests only.
type Graph = BTreeMap<String, BTreeSet<(String, bool)>>;

/// Checks the workspace; prints how many arrows it has.
pub(crate) fn check() -> Outcome {
    let metadata = metadata::load()?;
    let graph = graph(&metadata);
    let violations = violations(&graph);
    if violations.is_empty() {
        let arrows: usize = graph.values().map(BTreeSet::len).sum();
        println!(
            "── arrows: {arrows} between {} crates, all as agreed",
            graph.len()
        );
        return modules::check(&metadata);
    }
    Err(format!(
        "{} arrows point the wrong way:\n  {}",
        violations.len(),
        violations.join("\n  ")
    ))
}

fn graph(metadata: &Metadata) -> Graph {
    let members: BTreeSet<&str> = metadata.members().map(|p| p.name.as_str()).collect();
    metadata
        .members()
        .map(|package| {
            let within = package
                .dependencies
                .iter()
                .filter(|d| members.contains(d.name.as_str()))
                .map(|d| (d.name.clone(), d.kind.as_deref() == Some("dev")))
                .collect();
            (package.name.clone(), within)
        })
        .collect()
}

/// The row of the tables that speaks of a crate.
fn row(name: &str) -> &str {
    let prefix = ADAPTER.trim_end_matches('*');
    if name.starts_with(prefix) {
        ADAPTER
    } else {
        name
    }
}

/// The rows of a table: a crate, and what it may use.
fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let rows = table.lines().filter_map(|line| line.split_once(':'));
    rows.map(|(name, allowed)| (name, allowed.split_whitespace().collect()))
}

fn allowed(table: &'static str, name: &str) -> Option<Vec<&'static str>> {
    let found = rows(table).find(|(crate_name, _)| *crate_name == row(name));
    found.map(|(_, allowed)| allowed)
}

fn violations(graph: &Graph) -> Vec<String> {
    let mut violations = Vec::new();
    for (name, dependencies) in graph {
        let Some(normal) = allowed(ALLOWED, name) else {
            violations.push(format!(
                "{name} is a new crate: decide what it may depend on and add a row to ALLOWED in \
                 xtask/src/arrows.rs, and to the layout in the README"
            ));
            continue;
        };
        let tests = allowed(ALLOWED_IN_TESTS, name).unwrap_or_default();
        for (to, in_tests) in dependencies {
            let may = normal.contains(&row(to)) || (*in_tests && tests.contains(&row(to)));
            if !may {
                let kind = if *in_tests { " in tests" } else { "" };
                violations.push(format!(
                    "{name} → {to}{kind}: {name} may depend on {}",
                    match normal.as_slice() {
                        [] => "no crate of the workspace".to_owned(),
                        some => some.join(", "),
                    }
                ));
            }
        }
    }
    for (name, _) in rows(ALLOWED).filter(|(name, _)| *name != ADAPTER) {
        if !graph.contains_key(name) {
            violations.push(format!(
                "{name} is gone: remove its row from ALLOWED in xtask/src/arrows.rs"
            ));
        }
    }
    violations.extend(cycle(graph).map(|path| format!("a cycle: {}", path.join(" → "))));
    violations
}

/// A cycle, if there is one. Cargo itself lets tests close cycles; we do not.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    fn visit(
        name: &str,
        graph: &Graph,
        path: &mut Vec<String>,
        done: &mut BTreeSet<String>,
    ) -> bool {
        if path.iter().any(|before| before == name) {
            path.push(name.to_owned());
            return true;
        }
        if !done.insert(name.to_owned()) {
            return false;
        }
        path.push(name.to_owned());
        for (to, _) in graph.get(name).into_iter().flatten() {
            if visit(to, graph, path, done) {
                return true;
            }
        }
        path.pop();
        false
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|name| {
        let mut path = Vec::new();
        visit(name, graph, &mut path, &mut done).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every crate of the table without any dependency, and these arrows; `*` marks tests.
    fn graph(arrows: &[(&str, &str)]) -> Graph {
        let mut graph: Graph = rows(ALLOWED)
            .filter(|(name, _)| *name != ADAPTER)
            .map(|(name, _)| (name.to_owned(), BTreeSet::new()))
            .collect();
        for (from, to) in arrows {
            let in_tests = to.ends_with('*');
            let to = to.trim_end_matches('*').to_owned();
            graph
                .entry((*from).to_owned())
                .or_default()
                .insert((to, in_tests));
        }
        graph
    }

    #[test]
    fn agreed_arrows_pass() {
        let good = graph(&[
            ("dyno-adapter", "dyno-model"),
            ("dyno-adapter-tcp", "dyno-wire"),
            ("dyno-adapter-tcp", "dyno-wire*"),
            ("dyno-adapter-tcp", "dyno-conformance*"),
            ("dyno-agent", "dyno-adapter-tcp"),
            ("dyno", "dyno-agent"),
        ]);
        assert_eq!(violations(&good), [""; 0]);
    }

    #[test]
    fn a_wrong_arrow_is_named_with_what_is_allowed() {
        let wrong = violations(&graph(&[("dyno-stats", "dyno-store")]));
        assert_eq!(
            wrong,
            ["dyno-stats → dyno-store: dyno-stats may depend on dyno-model, dyno-parallel"]
        );
        let wrong = violations(&graph(&[("dyno-model", "dyno-stats")]));
        assert!(wrong[0].ends_with("no crate of the workspace"), "{wrong:?}");
    }

    #[test]
    fn the_command_line_links_no_adapter_itself() {
        let wrong = violations(&graph(&[("dyno", "dyno-adapter-tcp")]));
        assert!(wrong[0].starts_with("dyno → dyno-adapter-tcp"), "{wrong:?}");
    }

    #[test]
    fn what_tests_may_use_is_not_for_the_library() {
        let wrong = violations(&graph(&[("dyno-adapter-tcp", "dyno-conformance")]));
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        let wrong = violations(&graph(&[("dyno-stats", "dyno-store*")]));
        assert!(wrong[0].contains("in tests"), "{wrong:?}");
    }

    #[test]
    fn a_new_crate_must_be_placed_and_an_old_one_removed() {
        let mut changed = graph(&[]);
        changed.insert("dyno-extra".into(), BTreeSet::new());
        changed.remove("dyno-wire");
        let wrong = violations(&changed);
        assert!(wrong[0].contains("dyno-extra is a new crate"), "{wrong:?}");
        assert!(wrong[1].contains("dyno-wire is gone"), "{wrong:?}");
    }

    #[test]
    fn a_cycle_is_shown_whole() {
        let closed = graph(&[
            ("dyno-adapter-tcp", "dyno-conformance*"),
            ("dyno-conformance", "dyno-adapter-tcp"),
        ]);
        let path = cycle(&closed).unwrap().join(" ");
        assert_eq!(path, "dyno-adapter-tcp dyno-conformance dyno-adapter-tcp");
        assert_eq!(cycle(&graph(&[("dyno-report", "dyno-stats")])), None);
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        let table = rows(ALLOWED).map(|(name, allowed)| {
            let to = allowed.iter().map(|to| ((*to).to_owned(), false));
            (name.to_owned(), to.collect())
        });
        assert_eq!(cycle(&table.collect()), None);
    }
}
