//! The table of the suite `signals`.

use crate::common::{Builder, summary};
use dyno_model::factor::Arrivals;
use dyno_model::record::Run;
use dyno_model::unit::RateHz;
use dyno_model::{Metric, Nanos, OptionValue, Topology, Workload};
use dyno_report::{Format, RenderOptions, render};

const US: f64 = 1e3;

/// Calls of a broker that has its own, of one that has none, and a round trip of one that measured no call.
fn signals() -> Run {
    let mut b = Builder::new("signals", "signals through brokers", "signals");
    for (stack, p50, paired) in [
        ("kuksa", 900.0 * US, false),
        ("mqtt-qos0", 200.0 * US, true),
    ] {
        let call = b.experiment(stack, |e| {
            e.name = "call".into();
            e.workload = Workload::Call {
                gap: Nanos::ZERO,
                timeout: Nanos::from_secs(1),
            };
            e.paired = paired;
        });
        b.trials(call, &[(Metric::Rtt, p50, 3_000, 0)]);
    }
    for stack in ["kuksa", "nats"] {
        let closed = b.experiment(stack, |e| e.name = "closed".into());
        b.trials(closed, &[(Metric::Rtt, 400.0 * US, 3_000, 0)]);
    }
    b.build()
}

/// The cells of a line of a markdown table.
fn cells(line: &str) -> Vec<String> {
    let cells = line.trim_matches('|').split('|');
    cells.map(|c| c.trim().to_owned()).collect()
}

/// The cells behind a row's label.
fn row(text: &str, label: &str) -> Vec<String> {
    let mut rows = text
        .lines()
        .map(cells)
        .filter(|row| row[0] == label && row.len() > 1);
    let row = rows
        .next()
        .unwrap_or_else(|| panic!("no row {label}\n{text}"));
    row[1..].to_vec()
}

#[test]
fn a_call_has_rows_of_its_own_and_says_whether_two_channels_carried_it() {
    let text = render(
        &summary(&signals()),
        Format::Markdown,
        &RenderOptions::default(),
    );
    assert_eq!(row(&text, "")[..], ["study", "kuksa", "mqtt-qos0", "nats"]);
    // 3,000 in 0.3 s.
    assert_eq!(
        row(&text, "set and get, one client that waits"),
        ["–", "10.0 k/s", "10.0 k/s (pair)", "–"]
    );
    let [p50, p99] = ["p50", "p99"].map(|rank| row(&text, &format!("set and get, {rank}")));
    assert!(
        p50[1].starts_with("9") && !p50[1].contains("pair"),
        "{text}"
    );
    assert!(
        p50[2].starts_with("2") && p50[2].ends_with(" (pair)"),
        "{text}"
    );
    assert!(p99[1] != "–" && p99[2].ends_with(" (pair)"), "{text}");
    assert_eq!([&p50[3], &p99[3]], ["–", "–"]);
    assert!(text.contains("(pair): the broker has none"), "{text}");
    // The round trip is that of another experiment.
    assert!(row(&text, "round trip, p50")[1].starts_with("4"), "{text}");
    assert_eq!(row(&text, "round trip, p50")[2], "–");
}

fn one_to(receivers: u16) -> Topology {
    Topology {
        receivers,
        ..Topology::ONE_TO_ONE
    }
}

/// A flood of a stack whose option is set so, to one and to four.
fn floods(b: &mut Builder, stack: &str, option: &str, to: &str) {
    for receivers in [1, 4] {
        let flood = b.experiment(stack, |e| {
            e.name = "flood".into();
            e.workload = Workload::Flood;
            e.topology = one_to(receivers);
        });
        let samples = 3_000 * u64::from(receivers);
        b.trials(flood, &[(Metric::Service, 400.0 * US, samples, 0)]);
    }
    let options = &mut b.stack(stack, false).options;
    options.insert(option.into(), OptionValue::Text(to.into()));
}

/// Streams of these rates to so many readers that ask, each of which read 10,000 times a second.
fn read_at(b: &mut Builder, all: &[(f64, u16)]) {
    for (hz, receivers) in all {
        let stream = b.experiment("kuksa-get", |e| {
            e.name = "reads".into();
            e.workload = Workload::Stream {
                rate: RateHz::new(*hz).unwrap(),
                arrivals: Arrivals::Fixed,
            };
            e.topology = one_to(*receivers);
        });
        let samples = 3_000 * u64::from(*receivers);
        b.trials(stream, &[(Metric::Read, 100.0 * US, samples, 0)]);
    }
    b.stack("kuksa-get", false).asks = true;
}

#[test]
fn reads_and_sets_stand_in_the_columns_of_the_stacks_that_read_and_set() {
    let mut b = Builder::new("signals", "signals through brokers", "signals");
    read_at(&mut b, &[(1.0, 1), (1.0, 4), (1_000.0, 1), (1_000.0, 4)]);
    floods(&mut b, "kuksa-viss-set", "publish", "viss");
    floods(&mut b, "kuksa", "receive", "grpc");
    let text = render(
        &summary(&b.build()),
        Format::Markdown,
        &RenderOptions::default(),
    );
    for (label, reads) in [
        ("one client, nobody writes", "10.0 k/s [10.0 k/s, 10.0 k/s]"),
        (
            "several clients, nobody writes",
            "40.0 k/s [40.0 k/s, 40.0 k/s] (4 clients)",
        ),
        (
            "one client beside a writer",
            "10.0 k/s [10.0 k/s, 10.0 k/s] (1 kHz written)",
        ),
        (
            "several clients beside a writer",
            "40.0 k/s [40.0 k/s, 40.0 k/s] (4 clients, 1 kHz written)",
        ),
    ] {
        let cells = row(&text, &format!("reads/s, {label}"));
        assert_eq!(cells[1..], [reads, "–", "–"]);
    }
    assert_eq!(
        row(&text, "reads/s, one client, nobody writes")[0],
        "18,500"
    );
    let p50 = row(&text, "a read, p50");
    assert!(p50[1].contains('[') && p50[2] == "–", "{text}");
    // Readers that ask are no subscribers, and there is no loop beside their writer's schedule.
    assert_eq!(row(&text, "clients before degradation")[1], "–");
    assert!(!text.contains("| kuksa-get | 1 Hz"), "{text}");
    // What a poller catches and what a set takes are no rates of accepted writes.
    let writes = row(&text, "writes/s, as fast as accepted");
    assert_eq!(writes[1..], ["–", "–", "10.0 k/s"]);
    assert_eq!(
        row(&text, "WebSocket: a set with its answer"),
        ["3.2ms", "–", "100 µs", "–"]
    );
}

/// Streams of 100 Hz to several numbers of subscribers, each with its p99 about and with its losses.
fn clients(steps: &[(u16, f64, u64)]) -> String {
    clients_of(steps, 3_000, &[])
}

/// As [`clients`], of so many samples, beside another stack that has `others`.
fn clients_of(steps: &[(u16, f64, u64)], samples: u64, others: &[u16]) -> String {
    let mut b = Builder::new("signals", "signals through brokers", "signals");
    for receivers in others {
        let stream = b.experiment("nats", |e| {
            e.workload = Workload::Stream {
                rate: RateHz::new(100.0).unwrap(),
                arrivals: Arrivals::Fixed,
            };
            e.topology = one_to(*receivers);
        });
        b.trials(stream, &[(Metric::Response, 400.0 * US, 3_000, 0)]);
    }
    for (receivers, p50, lost) in steps {
        let stream = b.experiment("kuksa", |e| {
            e.workload = Workload::Stream {
                rate: RateHz::new(100.0).unwrap(),
                arrivals: Arrivals::Fixed,
            };
            e.topology = one_to(*receivers);
        });
        b.trials(stream, &[(Metric::Response, *p50, samples, *lost)]);
    }
    let text = render(
        &summary(&b.build()),
        Format::Markdown,
        &RenderOptions::default(),
    );
    let own = row(&text, "clients before degradation");
    own.last().unwrap().clone()
}

#[test]
fn clients_are_the_most_with_which_as_with_fewer_all_is_in_time() {
    let (fast, slow) = (400.0 * US, 40_000.0 * US);
    assert_eq!(clients(&[(1, fast, 0), (8, fast, 0)]), "≥ 8");
    let late = [(48, fast, 0), (1, fast, 0), (24, slow, 0), (8, fast, 0)];
    assert_eq!(clients(&late), "8, not 24");
    assert_eq!(clients(&[(1, fast, 0), (8, fast, 1)]), "1, not 8");
    assert_eq!(clients(&[(1, slow, 0), (8, slow, 0)]), "not 1");
    // Nothing was tried with several.
    assert_eq!(clients(&[(1, fast, 0)]), "–");
    // Too few samples for a p99 tell nothing, and neither does a number that only another stack was tried with.
    assert_eq!(
        clients_of(&[(1, fast, 0), (8, fast, 0)], 20, &[]),
        "1 undecided"
    );
    let steps = [(1, fast, 0), (8, fast, 0)];
    assert_eq!(clients_of(&steps, 3_000, &[1, 8, 48]), "8, 48 not run");
}
