//! What daemons cost is in the totals and apart.

use crate::common::{summary, with_daemon};
use dyno_report::{Format, RenderOptions, render};

fn show(format: Format) -> String {
    render(&summary(&with_daemon()), format, &RenderOptions::default())
}

#[test]
fn the_table_has_a_line_for_each_daemon() {
    let text = show(Format::Table);
    let line = "daemon Broker: 889 ns of CPU per message (10.0 % of all), 4.00 MiB of memory (50.0 % of all)";
    let flat: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("Cost of the daemons"), "{text}");
    assert!(flat.contains(line), "{text}");
}

#[test]
fn json_has_each_daemon_within_the_cost() {
    let document: serde_json::Value = serde_json::from_str(&show(Format::Json)).unwrap();
    let cost = &document["experiments"][0]["cost"];
    let daemon = &cost["daemons"][0];
    assert_eq!(daemon["name"], "Broker");
    assert_eq!(daemon["switches"]["median"], 7.0);
    let cpu = |v: &serde_json::Value| v["cpu_ns"]["median"].as_f64().unwrap();
    assert!((cpu(daemon) / cpu(cost) - 0.1).abs() < 1e-3);
}
