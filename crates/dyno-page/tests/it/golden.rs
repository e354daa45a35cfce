//! Stored runs of every format: what the page makes of them stays as it is.

use crate::{data, options};
use dyno_page::{Document, Source};
use std::path::Path;

fn stored(name: &str) -> serde_json::Value {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dyno-store/tests/golden");
    let read = dyno_store::read_run(&golden.join(name)).unwrap();
    let source = Source::Run {
        run: &read.run,
        problems: read.problems.iter().map(|p| p.what.clone()).collect(),
        running: false,
        check: None,
    };
    let mut page = data(&Document::of(&[source], &options()));
    // `dyno show` has snapshots of its own, and so have the tables; versions and the grid only make noise here.
    page.as_object_mut().unwrap().remove("tables");
    page["runs"][0]["show"] = "…".into();
    page["grid"] = "…".into();
    page["dyno"] = "…".into();
    page
}

#[test]
fn a_run_of_format_1() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&stored("run-v1")).unwrap());
}

#[test]
fn a_run_of_format_2() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&stored("run-v2")).unwrap());
}
