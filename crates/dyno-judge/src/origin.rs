//! Which software two runs measured and what they were planned from: in what they differ, and what one of
//! them does not tell. What is not told may differ; it is never taken for equal.

use crate::difference::{Aspect, Differences};
use crate::number::counted;
use dyno_model::origin::{BASE, Binary, DAEMON, PROGRAM};
use dyno_model::record::{Environment, RunManifest};
use std::collections::{BTreeMap, BTreeSet};

/// So many libraries are named in one difference; another distribution has others throughout.
const NAMED: usize = 3;

/// So much of a line of a text is shown.
const SHOWN: usize = 80;

impl Differences {
    /// The commit, the program with what it loads, and the distribution.
    pub(crate) fn builds(&mut self, base: &Environment, new: &Environment) {
        let commit = |e: &Environment| e.commit.as_deref().map(|commit| commit_of(commit, e));
        self.told(
            Aspect::Dyno,
            "commit of the build",
            commit(base),
            commit(new),
        );
        let distribution = |e: &Environment| e.distribution.clone();
        self.told(
            Aspect::Distribution,
            "distribution",
            distribution(base),
            distribution(new),
        );
        let own = |e| files(e, PROGRAM).and_then(<[Binary]>::split_first);
        if let (Some((a, of_a)), Some((b, of_b))) = (own(base), own(new)) {
            let hash = |binary: &Binary| binary.sha256.as_deref().map(short);
            self.told(Aspect::Dyno, "program (SHA-256)", hash(a), hash(b));
            let what = "libraries of the program (SHA-256)";
            self.libraries(Aspect::Distribution, what, of_a, of_b);
        }
    }

    /// The program of another build that a run compares with, and its own.
    pub(crate) fn base_build(&mut self, e: &Environment) {
        let program = |key| files(e, key)?.first()?.sha256.as_deref().map(short);
        let what = "program (SHA-256)";
        self.told(Aspect::Dyno, what, program(BASE), program(PROGRAM));
    }

    /// What the adapters that both runs used have loaded, and their daemons' programs.
    pub(crate) fn libraries_of(
        &mut self,
        base: &Environment,
        new: &Environment,
        used: impl Fn(&str) -> bool,
    ) {
        let adapters = base.binaries.keys().filter(|key| *key != PROGRAM);
        for adapter in adapters.filter(|name| name.starts_with(DAEMON) || used(name)) {
            if let (Some(a), Some(b)) = (files(base, adapter), files(new, adapter)) {
                let what = match adapter.strip_prefix(DAEMON) {
                    Some(name) => format!("program of the daemon {name} (SHA-256)"),
                    None => format!("libraries of adapter {adapter} (SHA-256)"),
                };
                self.libraries(Aspect::Stack, &what, a, b);
            }
        }
    }

    /// The texts of suite, testbed and `stacks` of the same names.
    pub(crate) fn texts<'a>(
        &mut self,
        base: &RunManifest,
        new: &RunManifest,
        stacks: impl Iterator<Item = &'a str>,
    ) {
        let (Some(a), Some(b)) = (&base.origin, &new.origin) else {
            return;
        };
        let (x, y) = (&a.request, &b.request);
        if x.suite == y.suite {
            let what = format!("suite {}", x.suite);
            self.text(Aspect::Suite, &what, &a.suite.text, &b.suite.text);
        }
        if x.testbed == y.testbed {
            let what = format!("testbed {}", x.testbed);
            self.text(Aspect::Testbed, &what, &a.testbed.text, &b.testbed.text);
        }
        for stack in stacks.collect::<BTreeSet<_>>() {
            if let (Some(a), Some(b)) = (a.stacks.get(stack), b.stacks.get(stack)) {
                self.text(Aspect::Stack, &format!("stack {stack}"), &a.text, &b.text);
            }
        }
    }

    /// The first line in which two texts differ.
    fn text(&mut self, aspect: Aspect, what: &str, base: &str, new: &str) {
        let (mut old, mut young) = (base.lines(), new.lines());
        for number in 1.. {
            match (old.next(), young.next()) {
                (None, None) => return,
                (a, b) if a != b => {
                    let what = format!("text of {what}, line {number}");
                    return self.note(aspect, what, shown(a), shown(b));
                }
                _ => {}
            }
        }
    }

    fn libraries(&mut self, aspect: Aspect, what: &str, base: &[Binary], new: &[Binary]) {
        let (a, b) = (by_name(base), by_name(new));
        let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let differ = names
            .into_iter()
            .filter(|name| match (a.get(*name), b.get(*name)) {
                (Some(Some(x)), Some(Some(y))) => x != y,
                // One that could not be read is not told, and stands among what is not known.
                (Some(_), Some(_)) => false,
                _ => true,
            });
        let differ: Vec<&String> = differ.collect();
        let side = |of: &BTreeMap<String, Option<String>>| {
            let here = differ.iter().take(NAMED).filter_map(|name| {
                let hash = of.get(*name)?.as_deref().map_or("unknown".into(), short);
                Some(format!("{name} {hash}"))
            });
            here.collect::<Vec<_>>().join(", ")
        };
        let what = match differ.len().saturating_sub(NAMED) {
            0 => what.to_owned(),
            more => format!("{what}, of {NAMED} and {more} more"),
        };
        self.note(aspect, what, side(&a), side(&b));
    }

    /// A difference of what both sides tell.
    fn told(&mut self, aspect: Aspect, what: &str, base: Option<String>, new: Option<String>) {
        if let (Some(base), Some(new)) = (base, new) {
            self.note(aspect, what, base, new);
        }
    }
}

/// What one of the runs, or neither, tells of itself, and so may differ: older builds of Dyno did not store it.
pub(crate) fn untold(
    base: &RunManifest,
    new: &RunManifest,
    used: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut all = Vec::new();
    let mut ask = |what: &str, tells: &dyn Fn(&RunManifest) -> bool| {
        let sides = match (tells(base), tells(new)) {
            (true, true) => return,
            (false, true) => "of the base",
            (true, false) => "of the new run",
            (false, false) => "of both runs",
        };
        all.push(format!("{what} {sides}"));
    };
    ask("the commit of the build", &|m| {
        m.environment.commit.is_some()
    });
    let hashed = |m: &RunManifest, key: &str| {
        let known = |b: &Binary| b.sha256.is_some();
        files(&m.environment, key).is_some_and(|all| !all.is_empty() && all.iter().all(known))
    };
    ask("the hashes of the program and its libraries", &|m| {
        hashed(m, PROGRAM)
    });
    let outside = base.adapters.iter().chain(&new.adapters);
    let outside = outside.filter(|a| a.library.is_some() && used(&a.name));
    for adapter in outside.map(|a| &a.name).collect::<BTreeSet<_>>() {
        ask(&format!("the hashes of adapter {adapter}"), &|m| {
            let has_it = m.adapters.iter().any(|a| a.name == *adapter);
            !has_it || hashed(m, adapter)
        });
    }
    let daemons = |m: &RunManifest| -> BTreeSet<String> {
        let stacks = m
            .plan
            .stacks
            .iter()
            .filter(|(_, s)| s.adapters().iter().any(|a| used(a)));
        let all = stacks.flat_map(|(_, stack)| &stack.daemons);
        all.map(|d| d.name.clone()).collect()
    };
    for daemon in daemons(base).union(&daemons(new)) {
        ask(&format!("the hash of the daemon {daemon}"), &|m| {
            !daemons(m).contains(daemon) || hashed(m, &format!("{DAEMON}{daemon}"))
        });
    }
    ask("the distribution", &|m| {
        m.environment.distribution.is_some()
    });
    ask("the texts of suite, stacks and testbed", &|m| {
        m.origin.is_some()
    });
    all
}

fn files<'a>(environment: &'a Environment, key: &str) -> Option<&'a [Binary]> {
    environment.binaries.get(key).map(Vec::as_slice)
}

fn by_name(files: &[Binary]) -> BTreeMap<String, Option<String>> {
    let one = |b: &Binary| (b.name(), b.sha256.clone());
    files.iter().map(one).collect()
}

fn commit_of(commit: &str, e: &Environment) -> String {
    let modified = match e.modified {
        Some(true) => ", modified",
        _ => "",
    };
    format!("{}{modified}", short(commit))
}

/// Enough of a hash to tell it from others.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn shown(line: Option<&str>) -> String {
    let Some(line) = line else {
        return "(the text ends)".into();
    };
    let mut text: String = line.chars().take(SHOWN).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}

/// What verdicts on a run have to be read with to which trials were added: each addition was a further look.
pub(crate) fn added_later(manifest: &RunManifest) -> Option<String> {
    let additions = manifest.plan.more.len();
    (additions > 0).then(|| {
        format!(
            "trials were added to run {} {}: each addition makes a wrong verdict more likely than \
             the confidence says; to avoid this, set the number of trials beforehand with \
             `--trials`",
            manifest.id,
            counted(additions as u64, "time"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(of: impl Fn(&mut Differences)) -> Vec<String> {
        let mut found = Differences::default();
        of(&mut found);
        found.0.iter().map(|d| d.text()).collect()
    }

    fn binary(name: &str, sha256: Option<&str>) -> Binary {
        Binary {
            path: format!("/usr/lib/{name}").into(),
            sha256: sha256.map(str::to_owned),
        }
    }

    fn environment(commit: &str, modified: bool, program: &str) -> Environment {
        let program = vec![
            binary("dyno", Some(program)),
            binary("libc.so.6", Some("cc")),
        ];
        Environment {
            commit: Some(commit.into()),
            modified: Some(modified),
            distribution: Some("Debian 13".into()),
            binaries: BTreeMap::from([(PROGRAM.into(), program)]),
            ..Environment::default()
        }
    }

    #[test]
    fn builds_of_one_commit_still_differ_by_their_program() {
        let base = environment("0123456789abcdef", false, "aa");
        assert_eq!(found(|f| f.builds(&base, &base)), [""; 0]);
        let new = environment("0123456789abcdef", true, "bb");
        assert_eq!(
            found(|f| f.builds(&base, &new)),
            [
                "commit of the build: 0123456789ab → 0123456789ab, modified",
                "program (SHA-256): aa → bb"
            ]
        );
    }

    #[test]
    fn another_program_of_a_daemon_is_told() {
        let of = |hash| Environment {
            binaries: BTreeMap::from([(
                "daemon kuksa".into(),
                vec![binary("databroker", Some(hash))],
            )]),
            ..Environment::default()
        };
        let adapters = |_: &str| false;
        assert_eq!(
            found(|f| f.libraries_of(&of("1"), &of("2"), adapters)),
            ["program of the daemon kuksa (SHA-256): databroker 1 → databroker 2"]
        );
    }

    #[test]
    fn libraries_differ_by_content_wherever_they_lie_and_few_are_named() {
        let of = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(name, hash)| binary(name, Some(hash)));
            Environment {
                binaries: BTreeMap::from([("fastdds".into(), files.collect())]),
                ..Environment::default()
            }
        };
        let base = of(&[
            ("liba", "1"),
            ("libb", "2"),
            ("libc", "3"),
            ("libd", "4"),
            ("libe", "5"),
        ]);
        let same = of(&[
            ("liba", "1"),
            ("libb", "2"),
            ("libc", "3"),
            ("libd", "4"),
            ("libe", "5"),
        ]);
        let new = of(&[
            ("liba", "1"),
            ("libb", "9"),
            ("libc", "9"),
            ("libe", "9"),
            ("libf", "6"),
        ]);
        let used = |name: &str| name == "fastdds";
        assert_eq!(found(|f| f.libraries_of(&base, &same, used)), [""; 0]);
        assert_eq!(
            found(|f| f.libraries_of(&base, &new, used)),
            [
                "libraries of adapter fastdds (SHA-256), of 3 and 2 more: libb 2, libc 3, libd 4 → libb 9, libc 9"
            ]
        );
        assert_eq!(found(|f| f.libraries_of(&base, &new, |_| false)), [""; 0]);
    }

    #[test]
    fn a_text_differs_in_its_first_line_that_does() {
        let of = |a: &str, b: &str| found(|f| f.text(Aspect::Suite, "suite quick", a, b));
        assert_eq!(of("a = 1\n", "a = 1\n"), [""; 0]);
        assert_eq!(
            of("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 4\nc = 5\n"),
            ["text of suite quick, line 2: b = 2 → b = 4"]
        );
        assert_eq!(
            of("a = 1\n", "a = 1\nb = 2\n"),
            ["text of suite quick, line 2: (the text ends) → b = 2"]
        );
    }
}
