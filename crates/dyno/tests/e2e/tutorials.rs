//! Every command of the tutorials runs as it stands there, in the order in which it stands there.

use crate::harness::{Place, commands};
use std::path::Path;

#[track_caller]
fn run(page: &str) -> Place {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials");
    let text = std::fs::read_to_string(docs.join(page)).unwrap();
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
