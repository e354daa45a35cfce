//! What stacks were set to, and their versions, below the table.

use crate::common::Builder;
use dyno_model::Metric::Rtt;
use dyno_model::chain::{Chain, ChainLeg, Gateway};
use dyno_model::{
    AdapterDescription, Capabilities, OptionKind, OptionSpec, OptionValue, Options, Placement, Wait,
};
use dyno_report::{Format, RenderOptions, render};

fn adapter(name: &str, version: &str, depth: Option<i64>) -> AdapterDescription {
    let option = |value| OptionSpec {
        name: "queue_depth".into(),
        kind: OptionKind::Int,
        default: Some(OptionValue::Int(value)),
        least: None,
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
            asks: false,
            loopback: false,
        },
        options: depth.map(option).into_iter().collect(),
        unavailable: None,
        library: None,
    }
}

/// The lines below a table of these stacks that are about settings and versions.
fn lines(stacks: &[&str], change: impl FnOnce(&mut Builder)) -> Vec<String> {
    let mut b = Builder::new("quick", "settings", "stacks");
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
        adapter("floor", "1", Some(16)),
        with(
            adapter("keeper", "2", None),
            &[("history", 0), ("samples", 0)],
        ),
        with(adapter("buffering", "1", None), &[("buffer", 32)]),
        with(
            adapter("patient", "1", None),
            &[("send_timeout_ms", 10_000)],
        ),
    ];
    let text = render(
        &crate::common::summary(&run),
        Format::Markdown,
        &RenderOptions::default(),
    );
    let about = |line: &&str| {
        ["queue depth", "longest wait", "versions:"]
            .iter()
            .any(|word| line.contains(word))
    };
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

/// Adds to what an adapter declares.
fn with(mut adapter: AdapterDescription, options: &[(&str, i64)]) -> AdapterDescription {
    let further = options.iter().map(|(name, value)| OptionSpec {
        name: (*name).into(),
        kind: OptionKind::Int,
        default: Some(OptionValue::Int(*value)),
        least: None,
        most: None,
        doc: String::new(),
    });
    adapter.options.extend(further);
    adapter
}

#[test]
fn what_the_adapter_sets_by_another_name_is_not_the_stacks_own() {
    let shown = lines(
        &[
            "deep",
            "late",
            "keeps-all",
            "keeps-last",
            "keeps-100",
            "reader",
            "called",
            "pipe",
        ],
        |b| {
            let waits = |b: &mut Builder, stack: &str, wait| {
                let all = b.plan().experiments.iter_mut();
                all.filter(|e| e.stack == stack).for_each(|e| e.wait = wait);
            };
            waits(b, "reader", Wait::Spin);
            waits(b, "called", Wait::Callback);
            for (stack, adapter) in [
                ("late", "deep"),
                ("keeps-all", "keeper"),
                ("keeps-last", "keeper"),
                ("keeps-100", "keeper"),
                ("reader", "buffering"),
                ("called", "buffering"),
            ] {
                b.stack(stack, false).adapter = adapter.into();
            }
            let mut set = |stack: &str, option: &str, value| {
                let options = &mut b.stack(stack, false).options;
                options.insert(option.into(), OptionValue::Int(value));
            };
            // For receivers that come late, beside a queue.
            set("late", "history", 2);
            set("keeps-last", "history", 1);
            set("keeps-100", "samples", 100);
        },
    );
    assert_eq!(
        shown[0],
        "queue depth in messages: reader 32; keeps-last the last 1; late, deep 16; pipe, called the stack's own; \
         keeps-100 100; keeps-all as many as 64 MiB hold, 16 to 4096."
    );
}

#[test]
fn a_default_depth_may_be_less_of_large_messages_and_one_that_is_set_is_not() {
    let shown = |payload: usize| {
        let lines = lines(&["deep", "set", "shallow"], |b| {
            for e in &mut b.plan().experiments {
                e.payload = dyno_model::PayloadSize::new(payload as u64).unwrap();
            }
            let set = b.stack("set", false);
            set.adapter = "deep".into();
            set.options
                .insert("queue_depth".into(), OptionValue::Int(20));
        });
        lines[0].clone()
    };
    assert!(
        shown(4 << 20).ends_with(": set 20; deep 16; shallow 10."),
        "{}",
        shown(4 << 20)
    );
    assert!(
        shown(8 << 20).ends_with(": set 20; deep 16 or fewer; shallow 10 or fewer."),
        "{}",
        shown(8 << 20)
    );
}

#[test]
fn in_memory_that_machines_share_a_default_depth_may_be_less_of_any_message() {
    let shown = lines(&["within", "across", "pipe"], |b| {
        let all = b.plan().experiments.iter_mut();
        all.filter(|e| e.stack == "across")
            .for_each(|e| e.placement = Placement::Host);
        for stack in ["within", "across"] {
            b.stack(stack, false).adapter = "floor".into();
        }
    });
    assert_eq!(
        shown[0],
        "queue depth in messages: pipe the stack's own; within 16; across 16 or fewer."
    );
}

#[test]
fn a_sender_that_never_waits_says_so() {
    let shown = lines(
        &["patient", "best-effort", "drops", "pipe", "udp-drop"],
        |b| {
            for stack in ["patient", "best-effort", "drops"] {
                let stack = b.stack(stack, false);
                stack.adapter = "patient".into();
            }
            let mut set = |stack: &str, option: &str, value| {
                let options = &mut b.stack(stack, false).options;
                options.insert(option.into(), value);
            };
            set("best-effort", "reliable", OptionValue::Bool(false));
            for stack in ["drops", "udp-drop"] {
                set(stack, "congestion", OptionValue::Text("drop".into()));
            }
        },
    );
    assert_eq!(
        shown[0],
        "longest wait of a send in milliseconds: pipe, drops the stack's own; best-effort, udp-drop none; patient 10000."
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
