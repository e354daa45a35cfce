//! What stacks were set to, and their versions, below the table.

use crate::common::Builder;
use dyno_model::Metric::Rtt;
use dyno_model::chain::{Chain, ChainLeg, Gateway};
use dyno_model::plan::TableKind;
use dyno_model::{
    AdapterDescription, Capabilities, OptionKind, OptionSpec, OptionValue, Options, Placement, Wait,
};
use dyno_report::{Format, RenderOptions, render};

fn adapter(name: &str, version: &str, depth: Option<i64>) -> AdapterDescription {
    let option = |value| OptionSpec {
        name: "queue_depth".into(),
        kind: OptionKind::Int,
        default: Some(OptionValue::Int(value)),
        most: None,
        doc: String::new(),
    };
    AdapterDescription {
        name: name.into(),
        version: version.into(),
        summary: String::new(),
        capabilities: Capabilities {
            loan: false,
            waits: vec![Wait::Block],
            reliable: true,
            best_effort: false,
            request_response: false,
            placements: vec![Placement::Process],
            max_message: None,
            fragments_above: None,
            max_receivers: None,
            sends_later: false,
            loopback: false,
        },
        options: depth.map(option).into_iter().collect(),
        unavailable: None,
        library: None,
    }
}

/// The lines below a table of these stacks that are about settings and versions.
fn lines(stacks: &[&str], change: impl FnOnce(&mut Builder)) -> Vec<String> {
    let mut b = Builder::new("quick", "settings", TableKind::Stacks);
    for stack in stacks {
        let id = b.experiment(stack, |_| {});
        b.trials(id, &[(Rtt, 10_000.0, 2_000, 0)]);
    }
    change(&mut b);
    let mut run = b.build();
    run.manifest.adapters = vec![
        adapter("deep", "1.2", Some(16)),
        adapter("shallow", "6.18", Some(10)),
        adapter("pipe", "6.18", None),
        adapter("unused", "9", Some(3)),
    ];
    let text = render(
        &crate::common::summary(&run),
        Format::Markdown,
        &RenderOptions::default(),
    );
    let about = |line: &&str| line.contains("queue depth") || line.contains("versions:");
    let kept = text.lines().filter(about);
    kept.map(|l| l.trim_start_matches("- ").to_owned())
        .collect()
}

#[test]
fn queue_depths_stand_below_the_table_where_they_differ() {
    assert_eq!(
        lines(&["deep", "shallow", "pipe"], |_| {}),
        [
            "queue depth in messages: shallow 10; deep 16; pipe the stack's own.",
            "versions: deep 1.2; shallow, pipe 6.18.",
        ]
    );
}

#[test]
fn a_stack_as_shipped_has_its_own() {
    let shown = lines(&["deep", "deep-defaults"], |b| {
        let options = &mut b.stack("deep-defaults", false).options;
        options.insert("as_shipped".into(), OptionValue::Bool(true));
    });
    assert_eq!(
        shown[0],
        "queue depth in messages: deep-defaults the stack's own; deep 16."
    );
}

#[test]
fn a_chain_has_those_of_its_legs() {
    let chained = |adapters: &'static [&'static str]| {
        lines(&["deep", "way"], move |b| {
            let leg = |adapter: &&str| ChainLeg {
                stack: (*adapter).into(),
                adapter: (*adapter).into(),
                options: Options::new(),
                wait: None,
                placement: Placement::Process,
                daemons: Vec::new(),
            };
            b.stack("way", false).chain = Some(Chain {
                legs: adapters.iter().map(leg).collect(),
                gateways: vec![Gateway::default(); adapters.len() - 1],
            });
        })
    };
    assert_eq!(
        chained(&["deep", "shallow", "pipe"])[0],
        "queue depth in messages: way 16 \\> 10 \\> the stack's own; deep 16."
    );
    assert_eq!(chained(&["deep", "deep"]), ["versions: deep 1.2."]);
}

#[test]
fn what_all_have_alike_is_not_said() {
    assert_eq!(lines(&["deep"], |_| {}), ["versions: deep 1.2."]);
}
