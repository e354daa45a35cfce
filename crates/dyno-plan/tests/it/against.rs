//! What `--against` adds to a plan, and how long a warm-up may be.

use crate::common::{plan_text, plan_with, said, suite};
use dyno_model::{Against, Extent, Nanos, Plan, Slices};

const PING_PONG: &str = "workload = \"ping-pong\"\nwait = \"block\"\nstacks = [\"tcp\", \"udp\"]";

fn against(base: Against) -> Plan {
    plan_with(&suite(PING_PONG), &[], |request| {
        request.against = Some(base.clone());
    })
    .unwrap()
}

#[test]
fn against_the_same_doubles_every_experiment_of_the_suite() {
    let plan = against(Against::Same);
    let news: Vec<_> = plan
        .experiments
        .iter()
        .filter(|e| e.base.is_some())
        .collect();
    assert_eq!(news.len(), 2);
    for new in news {
        let base = plan.experiment(new.base.unwrap()).unwrap();
        assert!(plan.is_base(base.id) && !plan.is_base(new.id));
        assert_eq!(
            (&base.stack, base.workload, base.floor),
            (&new.stack, new.workload, new.floor)
        );
    }
    // The floor that was added is measured once.
    assert_eq!(plan.experiments.iter().filter(|e| e.added).count(), 1);
}

#[test]
fn against_a_stack_links_those_of_equal_factors() {
    let plan = against(Against::Stack { name: "udp".into() });
    let tcp = plan.experiments.iter().find(|e| e.stack == "tcp").unwrap();
    let base = plan.experiment(tcp.base.unwrap()).unwrap();
    assert_eq!(base.stack, "udp");
    assert_eq!(base.base, None);
}

#[test]
fn the_base_joins_the_stacks_that_the_command_line_names() {
    let plan = plan_with(&suite(PING_PONG), &[], |request| {
        request.stacks = Some(vec!["tcp".into()]);
        request.against = Some(Against::Stack {
            name: "pipe".into(),
        });
    })
    .unwrap();
    assert!(plan.experiments.iter().any(|e| e.stack == "pipe"));
}

#[test]
fn a_base_without_equal_factors_is_refused_with_a_way_out() {
    let text = suite("workload = \"ping-pong\"\nwait = \"natural\"");
    let error = plan_with(&text, &[], |request| {
        request.stacks = Some(vec!["floor-spin".into()]);
        request.against = Some(Against::Stack {
            name: "pipe".into(),
        });
    })
    .unwrap_err();
    let shown = format!("{:?}", miette::Report::new(error));
    assert!(shown.contains("--set wait=block"), "{shown}");
}

#[test]
fn a_warm_up_settles_within_a_quarter_of_the_deadline() {
    let settle = |set: &[(&str, &str)]| {
        plan_with(&suite(PING_PONG), set, |_| {})
            .unwrap()
            .experiments[0]
            .settle
    };
    assert_eq!(settle(&[]), Some(Nanos::from_secs(1)));
    assert_eq!(
        settle(&[("deadline", "2 s")]),
        Some(Nanos::from_millis(500))
    );
    assert_eq!(settle(&[("settle", "0 s")]), None);
    assert_eq!(settle(&[("warmup_messages", "100")]), None);
    assert_eq!(settle(&[("warmup", "1 s")]), None);
    assert!(plan_text(&suite(PING_PONG)).is_ok());
}

#[test]
fn in_slices_both_sides_have_as_much_of_the_window_as_alone() {
    let text = suite(&format!(
        "{PING_PONG}\nwindow = \"305 ms\"\nwarmup = \"50 ms\""
    ));
    let plan = plan_with(&text, &[], |request| {
        request.stacks = Some(vec!["tcp".into()]);
        request.against = Some(Against::Stack { name: "udp".into() });
        request.slices = Some(Slices::USUAL);
    })
    .unwrap();
    let slices = Slices::of(Slices::USUAL);
    for e in &plan.experiments {
        let sliced = e.stack == "tcp" || e.stack == "udp";
        assert_eq!(e.slices, sliced.then_some(slices), "{}", e.stack);
        if sliced {
            assert_eq!(e.window, Extent::Duration(Nanos::from_millis(620)));
            assert_eq!(e.warmup, Extent::Duration(Nanos::from_millis(100)));
            assert_eq!(e.settle, None);
        }
    }
}

#[test]
fn a_gate_has_whole_trials_where_slices_cannot_serve_and_no_floors() {
    let text = suite(&format!(
        "{PING_PONG}\n[[experiment]]\nname = \"stream\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nwait = \"block\"\n\
         stacks = [\"tcp\"]"
    ));
    let plan = plan_with(&text, &[], |request| {
        request.stacks = Some(vec!["tcp".into()]);
        request.against = Some(Against::Stack { name: "udp".into() });
        request.slices = Some(Slices::USUAL);
        request.gate = true;
    })
    .unwrap();
    assert!(
        plan.experiments
            .iter()
            .all(|e| !e.added && e.floor.is_none())
    );
    for e in &plan.experiments {
        assert_eq!(e.slices.is_none(), e.name == "stream", "{e:?}");
    }
    let whole = said(&plan)
        .into_iter()
        .filter(|w| w.starts_with("whole trials instead of slices for stream on tcp and udp: "));
    assert_eq!(whole.count(), 1, "{:?}", plan.warnings);
}
