//! Files of strangers, as bytes: whatever they are, Dyno reads them to the end, or says in which place they are wrong. Each
//! function here is a target of libFuzzer (`fuzz_targets`) and of the test `crates/dyno/tests/fuzz.rs`.

#![warn(clippy::too_many_lines)]

use dyno_audit::{Audit, Options, Statements, import};
use dyno_judge::{ImportSheet, Limits};
use dyno_model::adapter::{AdapterDescription, Capabilities};
use dyno_model::origin::Text;
use dyno_model::record::Run;
use dyno_model::{Placement, Wait};
use dyno_page::{Document, Source};
use dyno_plan::{Catalog, HostFacts, PlanError, Request, plan};
use dyno_report::{Format, RenderOptions, Summary, SummaryOptions, render, summarise};
use std::fs;
use std::sync::LazyLock;

/// A run directory: its manifest, and after a NUL one trial, shown in every format.
pub fn run(bytes: &[u8]) {
    let Some(run) = read(bytes) else { return };
    let summary = summarise(&run, &options());
    for format in Format::ALL {
        let _ = render(&summary, *format, &RenderOptions::default());
    }
}

/// The same as a page. A text of the run must not end the element that holds the data.
pub fn page(bytes: &[u8]) {
    let Some(run) = read(bytes) else { return };
    let source = Source::Run {
        run: &run,
        problems: Vec::new(),
        running: false,
        check: None,
    };
    let options = dyno_page::Options {
        summary: options(),
        ..dyno_page::Options::default()
    };
    let document = Document::of(&[source], &options);
    let Ok(page) = dyno_page::render(&document) else {
        panic!("a page that cannot be made");
    };
    let opened = page.matches("<script").count();
    assert_eq!(
        opened,
        page.matches("</script").count(),
        "a script that is not ours"
    );
}

/// A suite, planned for one stack that can do everything.
pub fn suite(bytes: &[u8]) {
    planned(
        "local",
        |catalog, text| catalog.add_suite(NAME, "fuzz/suite.toml", text),
        bytes,
    );
}

/// A testbed, which a built-in suite is planned for.
pub fn testbed(bytes: &[u8]) {
    planned(
        NAME,
        |catalog, text| catalog.add_testbed(NAME, "fuzz/testbed.toml", text),
        bytes,
    );
}

/// A file of limits.
pub fn limits(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(mistakes) = Limits::parse("fuzz/limits.toml", text) {
        let _ = format!("{mistakes:?}");
    }
}

/// A study, whose tables are made of stored runs.
pub fn study(bytes: &[u8]) {
    static RUNS: LazyLock<[Summary; 2]> = LazyLock::new(|| {
        let runs = [dyno_kit::runs::l4re::l4re(), dyno_kit::runs::rwth::rwth()];
        runs.map(|run| summarise(&run, &options()))
    });
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(mistakes) = dyno_report::study::of_text("fuzz/study.toml", text) {
        let _ = format!("{mistakes:?}");
        return;
    }
    for run in RUNS.iter() {
        let mut summary = run.clone();
        summary.run.study = Some(Text {
            path: "fuzz/study.toml".to_owned(),
            text: text.to_owned(),
        });
        for width in [None, Some(80)] {
            let options = RenderOptions {
                width,
                ..RenderOptions::default()
            };
            let _ = render(&summary, Format::Table, &options);
        }
        let _ = render(&summary, Format::Markdown, &RenderOptions::default());
    }
}

/// The output of a tool, or a file of statements: read, audited, and shown.
pub fn importer(bytes: &[u8]) {
    let every = import::Tool::ALL.iter().map(|tool| Some(*tool));
    for tool in every.chain([None]) {
        if let Ok(statements) = import::import(&mut &*bytes, "fuzz", tool) {
            told(&statements);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(statements) = Statements::parse(text, "fuzz")
    {
        told(&statements);
    }
}

/// What suites and testbeds are called here.
const NAME: &str = "fuzz";

fn told(statements: &Statements) {
    let audit = Audit::of(statements);
    let _ = dyno_audit::text(statements, &audit, Options::default());
    let _ = dyno_audit::json(&[(statements, &audit)]);
    let _ = ImportSheet::new(statements);
}

fn planned(testbed: &str, add: fn(&mut Catalog, &str), bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut catalog = Catalog::builtin();
    add(&mut catalog, text);
    let suite = if testbed == NAME { "quick" } else { NAME };
    let request = Request {
        suite: suite.to_owned(),
        stacks: Some(vec!["pipe".to_owned()]),
        testbed: testbed.to_owned(),
        ..Request::default()
    };
    let adapters = ["pipe", "floor", "null"].map(adapter);
    let planned: Result<_, PlanError> = plan(&catalog, &request, &adapters, &HostFacts::default());
    if let Err(mistakes) = planned {
        let _ = format!("{mistakes:?}");
    }
}

fn adapter(name: &str) -> AdapterDescription {
    AdapterDescription {
        name: name.to_owned(),
        version: "1".to_owned(),
        capabilities: Capabilities {
            loan: true,
            waits: vec![Wait::Spin, Wait::Block, Wait::Callback],
            reliable: true,
            best_effort: true,
            request_response: true,
            placements: vec![Placement::Thread, Placement::Process, Placement::Host],
            ..Capabilities::default()
        },
        ..AdapterDescription::default()
    }
}

/// The run in a directory that holds these files.
fn read(bytes: &[u8]) -> Option<Run> {
    let end = bytes.iter().position(|byte| *byte == 0);
    let (manifest, trial) = bytes.split_at(end.unwrap_or(bytes.len()));
    let dir = tempfile::tempdir().expect("there is room for a temporary directory");
    let trials = dir.path().join(dyno_store::TRIALS);
    let written = fs::create_dir(&trials)
        .and_then(|()| fs::write(dir.path().join(dyno_store::MANIFEST), manifest))
        .and_then(|()| {
            fs::write(
                trials.join("e0000-t000.json"),
                trial.get(1..).unwrap_or_default(),
            )
        });
    written.expect("there is room for a run");
    Some(dyno_store::read_run(dir.path()).ok()?.run)
}

/// Few resamples: it is not the intervals that are tried here.
fn options() -> SummaryOptions {
    let mut options = SummaryOptions::default();
    options.bootstrap.resamples = 20;
    options
}
