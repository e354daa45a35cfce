//! A ratio takes two good sides, a floor is what nothing is below, and what the host disturbed stands beside what
//! counts.

use crate::common::{Builder, summary};
use dyno_model::chain::{Chain, ChainLeg, Gateway};
use dyno_model::{ExperimentId, Metric, Nanos, Options, Placement, RateHz, Wait, Workload};
use dyno_report::{Format, NoRatio, RenderOptions, Summary, render};
use dyno_stats::Quantile;

fn rtt(p50: f64) -> [(Metric, f64, u64, u64); 1] {
    [(Metric::Rtt, p50, 500, 0)]
}

fn builder() -> Builder {
    Builder::new("test", "", "stacks")
}

/// A floor, and a stack with that many times its p50 beside it.
fn beside(b: &mut Builder, times: f64) -> (ExperimentId, ExperimentId) {
    let floor = b.experiment("floor-futex", |_| {});
    b.trials(floor, &rtt(10e3));
    let pipe = b.experiment("pipe", |e| e.floor = Some(floor));
    b.trials(pipe, &rtt(times * 10e3));
    (floor, pipe)
}

fn disturb(b: &mut Builder, id: ExperimentId, first: usize) {
    for record in b.records(id).take(first) {
        record
            .disturbed
            .push(dyno_model::Cause::Told("the hypervisor took 40 %".into()));
    }
}

fn why(s: &Summary, id: ExperimentId) -> (bool, Option<NoRatio>) {
    let e = s.experiments.iter().find(|e| e.experiment.id == id);
    let floor = e.unwrap().floor.as_ref().unwrap();
    (floor.p50_ratio.is_some(), floor.without)
}

fn table(s: &Summary) -> String {
    render(s, Format::Table, &RenderOptions::default())
}

#[test]
fn trials_that_the_host_disturbed_make_no_ratio_on_either_side() {
    for (which, reason) in [(0, NoRatio::FloorDisturbed), (1, NoRatio::Disturbed)] {
        let mut b = builder();
        let (floor, pipe) = beside(&mut b, 3.0);
        disturb(&mut b, [floor, pipe][which], 5);
        let s = summary(&b.build());
        assert_eq!(why(&s, pipe), (false, Some(reason)));
        let text = table(&s);
        let said = format!("no × floor, because {}: pipe", reason.as_str());
        assert!(text.contains(&said), "{text}");
    }
    let mut b = builder();
    let (_, pipe) = beside(&mut b, 3.0);
    disturb(&mut b, pipe, 2);
    assert_eq!(why(&summary(&b.build()), pipe), (true, None));
}

#[test]
fn a_floor_that_lost_messages_makes_no_ratio() {
    for is_disturbed in [false, true] {
        let mut b = builder();
        let (floor, pipe) = beside(&mut b, 3.0);
        if is_disturbed {
            disturb(&mut b, floor, 1);
        }
        b.records(floor).next().unwrap().counts.lost = 1;
        let s = summary(&b.build());
        assert_eq!(why(&s, pipe), (false, Some(NoRatio::FloorLossy)));
        let text = table(&s);
        assert!(
            text.contains("because the floor lost messages: pipe"),
            "{text}"
        );
    }
    // What the stack itself loses makes its ratio worse.
    let mut b = builder();
    let (_, pipe) = beside(&mut b, 3.0);
    b.records(pipe).for_each(|t| t.counts.lost = 1);
    assert_eq!(why(&summary(&b.build()), pipe), (true, None));
}

#[test]
fn a_leg_alone_is_marked_and_stands_beside_its_chain_only_under_the_same_conditions() {
    let measure = |wait| {
        let mut b = Builder::new("paths", "", "s-core");
        let leg = b.experiment("pipe", |e| {
            e.added = true;
            e.wait = Wait::Spin;
        });
        b.trials(leg, &rtt(5_000.0));
        let way = b.experiment("way", |e| {
            e.legs = vec![leg];
            e.echo_poll = Some(Nanos::from_millis(50));
        });
        b.trials(way, &rtt(20_000.0));
        let own = ChainLeg {
            stack: "pipe".into(),
            adapter: "pipe".into(),
            options: Options::new(),
            wait,
            placement: Placement::Process,
            daemons: Vec::new(),
        };
        b.stack("way", false).chain = Some(Chain {
            legs: vec![own.clone(), own],
            gateways: vec![Gateway::default()],
        });
        for e in &mut b.plan().experiments {
            e.echo_poll = Some(Nanos::from_millis(50));
        }
        let text = render(
            &summary(&b.build()),
            Format::Markdown,
            &RenderOptions::default(),
        );
        assert!(text.contains("| pipe (leg) |"), "{text}");
        assert!(text.contains("(leg): one leg of a chain alone."), "{text}");
        assert!(
            text.contains("wait counts for the leg that leads to the echo"),
            "{text}"
        );
        let of = |title: &str| {
            let table = text.split(title).nth(1).unwrap();
            table.split("\n#").next().unwrap().to_owned()
        };
        assert!(!of("Round trips").contains("pipe"), "{text}");
        of("Local against gateway")
    };
    let beside = |table: &str| {
        let row = table.lines().find(|l| l.starts_with("| way")).unwrap();
        row.split('|').nth(3).unwrap().trim().to_owned()
    };
    let same = measure(Some(Wait::Spin));
    assert_eq!(beside(&same), "pipe", "{same}");
    let other = measure(None);
    assert_eq!(beside(&other), "–", "{other}");
}

#[test]
fn a_single_trial_and_a_floor_that_waits_otherwise_make_no_ratio() {
    let mut b = builder();
    let floor = b.experiment("floor-futex", |_| {});
    b.trials(floor, &rtt(10e3));
    let once = b.experiment("pipe", |e| e.floor = Some(floor));
    b.trial(once, &rtt(30e3));
    let called = b.experiment("zenoh-tcp", |e| {
        e.floor = Some(floor);
        e.wait = Wait::Callback;
    });
    b.trials(called, &rtt(30e3));
    let s = summary(&b.build());
    assert_eq!(why(&s, once), (false, Some(NoRatio::Few)));
    assert_eq!(why(&s, called), (false, Some(NoRatio::OtherWait)));
}

#[test]
fn a_floor_that_something_is_surely_below_is_a_reference() {
    let mut b = builder();
    let (floor, _) = beside(&mut b, 0.8);
    let s = summary(&b.build());
    assert_eq!(s.experiments[floor.0 as usize].undercut_by, ["pipe"]);
    let text = table(&s);
    for said in [
        "× reference",
        "floor-futex (reference)",
        "floor-futex (wait block) is only a reference here and not a floor",
        "| pipe: 0.80",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    assert!(!text.contains("× floor"), "{text}");
    let mut b = builder();
    beside(&mut b, 1.2);
    let text = table(&summary(&b.build()));
    assert!(
        text.contains("× floor") && text.contains("floor-futex (floor)"),
        "{text}"
    );
}

#[test]
fn each_wait_strategy_has_a_block_with_its_own_floor() {
    let mut b = builder();
    for (wait, floor, stack) in [
        (Wait::Callback, "floor-callback", "zenoh-tcp"),
        (Wait::Spin, "floor-spin", "iceoryx2"),
        (Wait::Block, "floor-futex", "tcp"),
    ] {
        let id = b.experiment(floor, |e| e.wait = wait);
        b.trials(id, &rtt(10e3));
        let other = b.experiment(stack, |e| {
            e.wait = wait;
            e.floor = Some(id);
        });
        b.trials(other, &rtt(20e3));
    }
    let s = summary(&b.build());
    let text = table(&s);
    let places = [
        "wait spin · floor floor-spin:",
        "iceoryx2",
        "wait block · floor floor-futex:",
        "tcp ",
        "wait callback · floor floor-callback:",
        "zenoh-tcp",
    ]
    .map(|part| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}")));
    assert!(places.is_sorted(), "{text}");
    let markdown = render(&s, Format::Markdown, &RenderOptions::default());
    assert!(
        markdown.contains("| **wait block · floor floor-futex:** |"),
        "{markdown}"
    );
}

#[test]
fn loads_stand_in_the_order_of_their_numbers() {
    let mut b = builder();
    for hz in [16e3, 1e3, 64e3, 4e3] {
        let id = b.experiment("tcp", |e| {
            e.workload = Workload::Stream {
                rate: RateHz::new(hz).unwrap(),
                arrivals: dyno_model::Arrivals::Fixed,
            };
        });
        b.trials(id, &[(Metric::Response, 10e3, 500, 0)]);
    }
    let text = table(&summary(&b.build()));
    let places = [" 1 kHz", " 4 kHz", " 16 kHz", " 64 kHz"].map(|rate| text.find(rate).unwrap());
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn figures_with_the_disturbed_trials_stand_beside_those_without() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &rtt(10e3));
    b.trial(id, &rtt(200e3))
        .disturbed
        .push(dyno_model::Cause::Told("a neighbour".into()));
    let s = summary(&b.build());
    let with = s.experiments[0].with_disturbed.as_ref().unwrap();
    assert_eq!((with.trials, with.metric.n), (6, 3_000));
    let counted = s.experiments[0].headline_metric().unwrap();
    assert_eq!(counted.n, 2_500);
    let text = table(&s);
    assert!(
        text.contains("including the disturbed trials would change these quantiles"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&render(&s, Format::Json, &RenderOptions::default())).unwrap();
    assert_eq!(json["experiments"][0]["with_disturbed"]["trials"], 6);
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    b.trials(id, &rtt(10e3));
    assert_eq!(summary(&b.build()).experiments[0].with_disturbed, None);
}

#[test]
fn trials_that_scatter_by_more_than_a_factor_of_ten_have_no_figure() {
    let mut b = builder();
    let id = b.experiment("tcp", |_| {});
    for p50 in [1e3, 30e3, 900e3] {
        b.trial(id, &rtt(p50));
    }
    let s = summary(&b.build());
    let p50 = s.experiments[0].headline_metric().unwrap().quantiles[0];
    assert!(matches!(p50, Quantile::Wide { trials: 3, .. }), "{p50:?}");
    assert!(s.experiments[0].is_unstable());
    let text = table(&s);
    assert!(text.contains("wider than a factor of ten"), "{text}");
}

#[test]
fn many_late_rows_share_a_line() {
    let mut b = builder();
    for i in 0..20 {
        let id = b.experiment(&format!("tcp{i}"), |e| {
            e.workload = Workload::Stream {
                rate: RateHz::new(1e3).unwrap(),
                arrivals: dyno_model::Arrivals::Fixed,
            };
        });
        b.trials(id, &[(Metric::Response, 10e3, 500, 0)]);
        b.records(id).for_each(|r| r.counts.late = 100);
    }
    let text = table(&summary(&b.build()));
    assert_eq!(text.matches("messages sent late:").count(), 1, "{text}");
    assert!(text.contains("(500 of 2500), and 12 more"), "{text}");
}
