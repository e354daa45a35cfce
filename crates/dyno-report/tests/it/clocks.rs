//! What clocks of several hosts do to one-way times: which are shown, with what bound, and which not.

use crate::common::{Builder, summary};
use dyno_model::record::{HostClock, Run};
use dyno_model::{Arrivals, Experiment, Metric, Nanos, Placement, RateHz, Workload};
use dyno_report::{Format, RenderOptions, render};
use serde_json::Value;

fn apart(e: &mut Experiment) {
    e.placement = Placement::Host;
}

fn stream(e: &mut Experiment) {
    apart(e);
    e.name = "one-way".into();
    e.workload = Workload::Stream {
        rate: RateHz::new(1_000.0).unwrap(),
        arrivals: Arrivals::Fixed,
    };
}

/// A stream of 100 µs over each stack, whose hosts' clocks are known to so many nanoseconds, and the
/// round trip over `tcp`.
fn run(bounds: [(&str, u64); 2]) -> Run {
    let mut b = Builder::new("apart", "from here to there", "stacks");
    for (stack, bound) in bounds {
        let id = b.experiment(stack, stream);
        b.trials(
            id,
            &[
                (Metric::Response, 100_000.0, 4_000, 0),
                (Metric::Service, 99_000.0, 4_000, 0),
            ],
        );
        for (i, trial) in b.records(id).enumerate() {
            // The largest holds.
            let bound = Nanos(bound - 100 * i as u64);
            trial.one_way_bound = Some(bound);
            trial.clocks = vec![HostClock {
                host: "rear".into(),
                drift_ppm: 12.5,
                residual_ns: -300,
                bound,
                exchanges: 90,
                shortest: Nanos(9_000),
                ptp: Some("port SLAVE, offset from the master -12 ns".into()),
            }];
        }
    }
    let id = b.experiment("tcp", apart);
    b.trials(id, &[(Metric::Rtt, 210_000.0, 4_000, 0)]);
    b.records(id)
        .for_each(|t| t.one_way_bound = Some(Nanos(50_000)));
    b.build()
}

fn show(run: &Run, format: Format) -> String {
    render(&summary(run), format, &RenderOptions::default())
}

#[test]
fn a_bound_stands_with_the_figures_or_in_their_place() {
    let text = show(&run([("tcp", 25_000), ("udp", 9_000)]), Format::Table);
    let row = |stack: &str| {
        let lead = format!("one-way     {stack} ");
        text.lines().find(|l| l.starts_with(&lead)).unwrap()
    };
    assert!(
        row("tcp").contains("unresolved (clocks ±25.0 µs)"),
        "{text}"
    );
    assert!(!row("tcp").contains("101 ±1"), "{text}");
    assert!(!row("udp").contains("unresolved"), "{text}");
    for line in [
        "one-way latencies between hosts: clocks known to ±9.00 µs",
        "one-way latency cannot be resolved here, because the bound on the clocks is more than a tenth of the median:",
        "one-way, tcp: clocks known to ±25.0 µs; round trip p50 213 µs",
        "linuxptp says: rear: port SLAVE, offset from the master -12 ns",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn programs_get_the_figures_and_whether_they_say_anything() {
    let run = run([("tcp", 25_000), ("udp", 9_000)]);
    let document: Value = serde_json::from_str(&show(&run, Format::Json)).unwrap();
    let of = |i: usize| &document["experiments"][i];
    let told = |i: usize| (&of(i)["clock_bound_ns"], &of(i)["one_way_resolvable"]);
    assert_eq!(told(0), (&25_000.into(), &false.into()));
    assert_eq!(told(1), (&9_000.into(), &true.into()));
    // A round trip begins and ends on one clock.
    assert_eq!(told(2), (&Value::Null, &Value::Null));
    let clock = &of(0)["clocks"][0];
    assert_eq!(
        (&clock["host"], &clock["exchanges"]),
        (&"rear".into(), &450.into())
    );
    assert_eq!(clock["bound_ns"]["max"], 25_000.0);
    assert!(of(0)["metrics"]["response_ns"]["p50"]["value"].is_number());
    let csv = show(&run, Format::Csv);
    let mut lines = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let at = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let first = lines.next().unwrap();
    assert_eq!(first[at("clock_bound_ns")], "25000");
    assert_eq!(first[at("one_way_resolvable")], "false");
}

#[test]
fn one_clock_is_not_spoken_of() {
    let mut b = Builder::new("here", "here", "stacks");
    let id = b.experiment("tcp", stream);
    b.trials(id, &[(Metric::Response, 100_000.0, 4_000, 0)]);
    let text = show(&b.build(), Format::Table);
    assert!(!text.to_lowercase().contains("clocks"), "{text}");
}

#[test]
fn nothing_is_below_its_floor_by_clocks_alone() {
    let with = |bound: u64| {
        let mut b = Builder::new("apart", "from here to there", "stacks");
        let of = |ns: f64| {
            [
                (Metric::Response, ns, 4_000, 0),
                (Metric::Service, ns, 4_000, 0),
            ]
        };
        let floor = b.experiment("floor-udp", stream);
        b.trials(floor, &of(100_000.0));
        let udp = b.experiment("udp", |e| {
            stream(e);
            e.floor = Some(floor);
        });
        b.trials(udp, &of(90_000.0));
        for id in [floor, udp] {
            b.records(id)
                .for_each(|t| t.one_way_bound = Some(Nanos(bound)));
        }
        let s = summary(&b.build());
        let ratio = s.experiments[1].floor.as_ref().unwrap().p50_ratio.unwrap();
        (ratio, s.experiments[0].undercut_by.clone())
    };
    let (exact, undercut) = with(0);
    assert_eq!(undercut, ["udp"]);
    let (wide, undercut) = with(8_000);
    assert_eq!(undercut, [""; 0]);
    assert!(wide.value == exact.value && wide.lo < exact.lo && wide.hi > exact.hi);
}
