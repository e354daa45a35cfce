//! What stands with a loss: what the kernels of the hosts counted meanwhile.

use crate::common::{Builder, summary};
use dyno_model::record::Run;
use dyno_model::{
    Arrivals, FullSocket, HostNetwork, Metric, NetworkCounter, PayloadSize, RateHz, Workload,
};
use dyno_report::{Format, RenderOptions, render};
use serde_json::Value;
use std::collections::BTreeMap;

/// Three trials of messages of 1 MB over udp that lose `lost` of a hundred each.
fn run(lost: u64) -> Run {
    let mut b = Builder::new("large", "large messages", "stacks");
    let id = b.experiment("udp", |e| {
        e.payload = PayloadSize::new(1_000_000).unwrap();
        e.workload = Workload::Stream {
            rate: RateHz::new(100.0).unwrap(),
            arrivals: Arrivals::Fixed,
        };
    });
    b.trials(id, &[(Metric::Response, 100_000.0, 100 - lost, lost)]);
    for trial in b.records(id) {
        let counters = [
            (NetworkCounter::ReceiveBufferErrors, 300),
            (NetworkCounter::NoPort, 7),
            (NetworkCounter::TcpRetransmits, 5),
        ];
        trial.networks = vec![HostNetwork {
            host: "here".into(),
            counters: BTreeMap::from(counters),
            sockets: vec![FullSocket {
                port: 20_001,
                receive_buffer: 212_992,
                dropped: 300,
            }],
            ..HostNetwork::default()
        }];
    }
    let mut run = b.build();
    let limits = &mut run.manifest.environment.limits;
    limits.insert("net.core.rmem_default".into(), "212992 bytes".into());
    limits.insert("net.core.rmem_max".into(), "4194304 bytes".into());
    run
}

fn show(run: &Run, format: Format) -> String {
    render(&summary(run), format, &RenderOptions::default())
}

#[test]
fn a_loss_stands_with_the_full_buffer_that_caused_it() {
    let run = run(40);
    let n = 300 * run.trials.len();
    let table = show(&run, Format::Table);
    let cause = format!(
        "on here, {n} datagrams found a full receive buffer: receive buffer 208 KiB, message 1 MB; the \
         stack uses the default buffer size: raise net.core.rmem_default, or set the option of the \
         stack"
    );
    assert!(table.contains(&cause), "{table}");
    // Neither what came after the receivers had ended nor what was sent again is a cause.
    assert!(
        !table.contains("no listening socket") && !table.contains("sent again"),
        "{table}"
    );
    let shown: Value = serde_json::from_str(&show(&run, Format::Json)).unwrap();
    let e = &shown["experiments"][0];
    assert_eq!(e["causes_of_loss"], serde_json::json!([cause]));
    assert_eq!(e["networks"][0]["counters"]["receive_buffer_errors"], n);
    assert_eq!(e["networks"][0]["receive_buffer_bytes"], 212_992);
}

#[test]
fn where_nothing_was_lost_no_cause_is_named() {
    let run = run(0);
    assert!(!show(&run, Format::Table).contains("Causes of loss"));
    let shown: Value = serde_json::from_str(&show(&run, Format::Json)).unwrap();
    assert_eq!(shown["experiments"][0].get("causes_of_loss"), None);
}
