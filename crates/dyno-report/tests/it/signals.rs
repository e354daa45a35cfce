//! The table of the suite `signals`.

use crate::common::{Builder, summary};
use dyno_model::plan::TableKind;
use dyno_model::record::Run;
use dyno_model::{Metric, Nanos, Workload};
use dyno_report::{Format, RenderOptions, render};

const US: f64 = 1e3;

/// Calls of a broker that has its own, of one that has none, and a round trip of one that measured no call.
fn signals() -> Run {
    let mut b = Builder::new("signals", "signals through brokers", TableKind::Signals);
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
    assert!(text.contains("(pair): it has nothing"), "{text}");
    // The round trip is that of another experiment.
    assert!(row(&text, "round trip, p50")[1].starts_with("4"), "{text}");
    assert_eq!(row(&text, "round trip, p50")[2], "–");
}
