//! What differs between two runs besides what they measured.

use crate::common::Builder;
use dyno_judge::{Aspect, CompareOptions, compare};
use dyno_model::chain::{Chain, ChainLeg, Full, Gateway, Queue};
use dyno_model::origin::Text;
use dyno_model::{Nanos, OptionValue, Options, Placement, Start, Wait};
use dyno_report::{Format, RenderOptions};

fn how() -> CompareOptions {
    CompareOptions::default()
}

#[test]
fn what_differs_stands_in_the_heading_and_two_things_forbid_a_cause() {
    let mut base = Builder::new(0);
    base.measured("tcp", 12_000.0);
    let mut new = Builder::new(1);
    new.measured("tcp", 13_000.0);
    new.stack("tcp")
        .options
        .insert("nodelay".into(), OptionValue::Bool(false));
    new.manifest().environment.kernel = "6.13.0 #1 SMP".into();
    new.plan().experiments[0].cpus = Vec::new();
    let c = compare(&base.build(), &new.build(), &how());
    let aspects: Vec<_> = c.differences.iter().map(|d| d.aspect).collect();
    assert_eq!(aspects, [Aspect::Kernel, Aspect::Stack, Aspect::Suite]);
    let text = c.render(Format::Table, &RenderOptions::default());
    assert!(
        text.contains(
            "3 things differ (stack, kernel, suite): a change cannot be attributed to one of them"
        ),
        "{text}"
    );
    // Another kernel is another machine: its floor is no control of this one.
    assert!(c.notes.is_empty(), "{:?}", c.notes);
}

#[test]
fn what_differs_within_a_chain_is_said_leg_by_leg() {
    let run = |day, wait, queue, text: &str| {
        let mut b = Builder::new(day);
        b.measured("way", 12_000.0);
        let leg = |wait| ChainLeg {
            stack: "pipe".into(),
            adapter: "pipe".into(),
            options: Options::new(),
            wait,
            placement: Placement::Process,
            daemons: Vec::new(),
        };
        b.stack("way").chain = Some(Chain {
            legs: vec![leg(None), leg(wait)],
            gateways: vec![Gateway {
                queue,
                ..Gateway::default()
            }],
        });
        let text = Text {
            path: "a file".into(),
            text: text.into(),
        };
        let origin = b.manifest().origin.as_mut().unwrap();
        origin.stacks.insert("pipe".into(), text);
        b.build()
    };
    let queue = Queue {
        depth: 8,
        full: Full::HoldUp,
    };
    let c = compare(
        &run(0, None, None, "depth = 1"),
        &run(1, Some(Wait::Spin), Some(queue), "depth = 2"),
        &how(),
    );
    let said: Vec<[&str; 3]> = c
        .differences
        .iter()
        .map(|d| [d.what.as_str(), &d.base, &d.new])
        .collect();
    assert_eq!(
        said,
        [
            ["gateway 1 of stack way", "plain", "queue of 8, hold-up"],
            [
                "leg 2 of stack way",
                "pipe on process",
                "pipe on process, wait spin"
            ],
            ["text of stack pipe, line 1", "depth = 1", "depth = 2"],
        ]
    );
    let alike = compare(&run(0, None, None, ""), &run(1, None, None, ""), &how());
    assert!(alike.differences.is_empty(), "{:?}", alike.differences);
    let mut direct = Builder::new(0);
    direct.measured("tcp", 11_000.0);
    let c = compare(&direct.build(), &run(1, None, None, ""), &how());
    let stacks = &c.differences[0];
    assert_eq!(
        [&stacks.base, &stacks.new],
        ["tcp (tcp)", "way (pipe > pipe)"]
    );
}

#[test]
fn an_echo_that_sleeps_is_another_question() {
    let run = |day, poll| {
        let mut b = Builder::new(day);
        b.measured("tcp", 12_000.0);
        b.plan().experiments[0].echo_poll = poll;
        b.build()
    };
    let c = compare(&run(0, None), &run(1, Some(Nanos::from_millis(50))), &how());
    assert!(c.cells.is_empty());
    let cells: Vec<&str> = c.left_out.iter().map(|l| l.cell.as_str()).collect();
    assert_eq!(cells.len(), 2);
    assert!(
        cells[0].ends_with("echo sleeps 50.0 ms after each answer"),
        "{cells:?}"
    );
}

#[test]
fn what_the_sides_were_started_as_is_a_difference() {
    let run = |day, start, reboot| {
        let mut b = Builder::new(day);
        b.measured("tcp", 12_000.0);
        let e = &mut b.plan().experiments[0];
        (e.start, e.reboot) = (start, reboot);
        b.build()
    };
    let said = |base, new| {
        let c = compare(&base, &new, &how());
        assert_eq!(c.cells.len(), 1);
        let texts = c.differences.iter().map(|d| {
            let text = [&d.what, &d.base, &d.new];
            text.map(String::clone)
        });
        texts.collect::<Vec<_>>()
    };
    let process = run(0, Some(Start::Process), false);
    let container = run(1, Some(Start::Container), false);
    let booted = run(2, None, true);
    assert_eq!(
        said(process.clone(), container),
        [["start of round-trip", "process", "container"]]
    );
    assert_eq!(
        said(process, booted),
        [
            ["start of round-trip", "process", ""],
            ["reboot of round-trip", "", "before each trial"],
        ]
    );
}

#[test]
fn what_a_run_does_not_tell_is_unknown_and_never_the_same() {
    let run = |day| {
        let mut b = Builder::new(day);
        b.measured("tcp", 12_000.0);
        b
    };
    let new = run(1).build();
    assert_eq!(compare(&run(0).build(), &new, &how()).unknown, [""; 0]);
    let mut older = run(0);
    let manifest = older.manifest();
    manifest.origin = None;
    manifest.environment.commit = None;
    manifest.environment.distribution = None;
    manifest.environment.binaries.clear();
    let older = older.build();
    let c = compare(&older, &new, &how());
    assert_eq!(c.differences, []);
    assert_eq!(
        c.unknown,
        [
            "the commit of the build of the base",
            "the hashes of the program and its libraries of the base",
            "the distribution of the base",
            "the texts of suite, stacks and testbed of the base",
        ]
    );
    let text = c.render(Format::Table, &RenderOptions::default());
    assert!(
        text.contains("Not recorded, and may differ as well: the commit"),
        "{text}"
    );
    // Two that say nothing are not the same for it.
    let c = compare(&older, &older, &how());
    assert_eq!(c.unknown.len(), 4);
    assert!(c.unknown.iter().all(|u| u.ends_with("of both runs")));
}

#[test]
fn builds_and_texts_that_differ_stand_in_the_heading() {
    let mut base = Builder::new(0);
    base.measured("tcp", 12_000.0);
    let mut new = Builder::new(1);
    new.measured("tcp", 12_000.0);
    let manifest = new.manifest();
    manifest.environment.modified = Some(true);
    manifest.environment.distribution = Some("Example Linux 2".into());
    if let Some(origin) = &mut manifest.origin {
        origin.suite.text.push_str("\n[defaults]\n");
    }
    let c = compare(&base.build(), &new.build(), &how());
    let found: Vec<_> = c.differences.iter().map(|d| (d.aspect, &*d.what)).collect();
    assert_eq!(
        found,
        [
            (Aspect::Dyno, "commit of the build"),
            (Aspect::Distribution, "distribution"),
            (Aspect::Suite, "text of suite quick, line 2"),
        ]
    );
    assert_eq!(c.differences[0].new, "0123456789ab, modified");
}
