//! The documents that a newcomer follows. Every command of the tutorials runs as it stands there, in the order in which it stands
//! there, and every command of the README and of the list of commands is one that Dyno takes. Every link of every document leads
//! somewhere.

use crate::foreign::compile;
use crate::harness::{Place, commands};
use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap()
}

#[track_caller]
fn run(page: &str) -> Place {
    let text = std::fs::read_to_string(root().join("docs/tutorials").join(page)).unwrap();
    let placeholder = text.lines().any(|line| line == "OUTPUT");
    assert!(!placeholder, "{page} has a place without its output");
    let commands = commands(&text);
    assert!(commands.contains("dyno "), "{page} has no command");
    let place = Place::new();
    place.shell(&commands).with_code(0);
    place
}

#[test]
fn choose_a_middleware() {
    let place = run("choose-a-middleware.md");
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.contains("radar-list"));
}

#[test]
fn keep_a_deadline_in_ci() {
    let place = run("keep-a-deadline-in-ci.md");
    let junit = std::fs::read_to_string(place.path("junit.xml")).unwrap();
    assert!(junit.contains("status in time"), "{junit}");
}

#[test]
fn publish_a_table() {
    let place = run("publish-a-table.md");
    let table = std::fs::read_to_string(place.path("table.md")).unwrap();
    assert!(table.contains("uds-stream"), "{table}");
    assert!(place.path("tables/results.parquet").is_file());
}

#[test]
fn add_a_stack() {
    run("add-a-stack.md");
}

/// The first two commands are the project's promise.
#[test]
fn the_readme_begins_with_the_first_run_and_the_tests() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let commands = commands(&text);
    let [first, second] = [0, 1].map(|i| commands.lines().nth(i).unwrap_or_default());
    assert!(
        first.starts_with("cargo run --release -- run quick "),
        "{first}"
    );
    assert!(second.starts_with("cargo xtask test "), "{second}");
}

/// Runs are only planned: some need other hosts, rights or an hour.
#[test]
fn every_command_of_the_readme_and_of_the_list_is_taken() {
    let place = Place::new();
    for folder in ["limits", "published"] {
        symlink(root().join(folder), place.path(folder)).unwrap();
    }
    compile(
        "c++",
        &["-std=c++17", "-shared"],
        &[root().join("examples/cpp/seqpacket.cpp")],
        &place.path("libdyno_seqpacket.so"),
    );
    let measured = "dyno run quick --stack pipe --trials 2 --set window='20 ms' --repeats 0 --quiet >/dev/null";
    place.shell(measured).with_code(0);
    let (mut tried, mut wrong) = (Vec::new(), BTreeMap::new());
    for (page, least) in [("README.md", 11), ("docs/reference/commands.md", 30)] {
        let text = commands(&std::fs::read_to_string(root().join(page)).unwrap());
        // `mine` stands for the reader's own adapter, and who has not installed Dyno runs it through cargo.
        let text = text.replace("libdyno_mine", "libdyno_seqpacket");
        let text = text.replace("cargo run --release -- ", "dyno ");
        let own = text.lines().filter(|line| line.starts_with("dyno "));
        assert!(own.clone().count() >= least, "{page}: {text}");
        for line in own {
            let command = line.split(" #").next().unwrap().trim_end();
            let (command, codes): (_, &[i32]) = match command.split(' ').nth(1).unwrap() {
                "run" | "gate" => (format!("{command} --dry-run"), &[0]),
                // Two trials, and one night.
                "check" => (command.to_owned(), &[0, 6, 7]),
                "trend" => (command.to_owned(), &[0, 7]),
                _ => (command.to_owned(), &[0]),
            };
            if tried.contains(&command) {
                continue;
            }
            let ended = place.shell(&command);
            let code = ended.status.code();
            if !code.is_some_and(|code| codes.contains(&code)) {
                wrong.insert(
                    command.clone(),
                    format!("{}\n{}", ended.status, ended.stderr),
                );
            }
            tried.push(command);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(place.path("report.html").is_file());
}

/// The Markdown files of the tree.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "node_modules", ".git", "vendor"].contains(&&*name) {
            documents(&path, found);
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
}

/// A page without what stands between these signs.
fn without(page: &str, sign: &str) -> String {
    page.split(sign).step_by(2).collect()
}

/// What follows `lead`, wherever it stands, up to `end`.
fn after<'a>(text: &'a str, lead: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    let parts = text.split(lead).skip(1);
    parts.filter_map(move |part| Some(part.split_once(end)?.0))
}

/// The name by which a link leads to a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut all = Vec::new();
    documents(&root(), &mut all);
    let (mut links, mut broken) = (0, Vec::new());
    for document in all {
        let page = without(&std::fs::read_to_string(&document).unwrap(), "```");
        let page = without(&page, "`");
        let named = after(&page, "](", ')').chain(after(&page, "src=\"", '"'));
        let named = named.chain(after(&page, "srcset=\"", '"'));
        for link in named.filter(|link| !link.contains("://") && !link.contains(' ')) {
            links += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let leads = match std::fs::read_to_string(&target) {
                _ if heading.is_empty() => target.exists(),
                Ok(text) => without(&text, "```")
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .any(|line| anchor(line.trim_start_matches('#')) == heading),
                Err(_) => false,
            };
            if !leads {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(
        links > 100 && broken.is_empty(),
        "{links} links, {broken:#?}"
    );
}
