//! Every suite that is written can be planned.

use crate::packets::{mixed, pcap};
use crate::{csv, learnt};
use dyno_learn::{Learnt, MOST_FLOWS, Pattern, SuiteOptions, Traffic, read, suite};
use dyno_model::adapter::{AdapterDescription, Capabilities};
use dyno_model::{Placement, Plan, Request, Wait, Workload};
use dyno_plan::{Catalog, HostFacts, plan};

/// The plan of the suite for `udp`.
fn planned(learnt: &Learnt) -> Plan {
    let options = SuiteOptions {
        stacks: vec!["datagrams".into()],
    };
    let text = suite(learnt, &options);
    let mut catalog = Catalog::builtin();
    catalog.add_suite("learnt", "learnt.toml", text.clone());
    let stack = "description = \"datagrams\"\nadapter = \"udp\"\nwaits = [\"block\"]\n";
    catalog.add_stack("datagrams", "datagrams.toml", stack.to_owned());
    let request = Request {
        suite: "learnt".into(),
        testbed: "local".into(),
        ..Request::default()
    };
    let adapters = ["udp", "floor"].map(|name| AdapterDescription {
        name: name.to_owned(),
        capabilities: Capabilities {
            waits: vec![Wait::Spin, Wait::Block, Wait::Callback],
            placements: vec![Placement::Thread, Placement::Process],
            ..Capabilities::default()
        },
        ..AdapterDescription::default()
    });
    let planned = plan(&catalog, &request, &adapters, &HostFacts::default());
    planned.unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

#[test]
fn each_topic_is_a_flow_with_its_size_and_rate() {
    let rows = (0..40).flat_map(|n| {
        let random = n * n * 977 % 40_000;
        let burst = (0..3).map(move |i| (n * 50_000 + i * 100, "burst", 1000));
        let one = [
            (n * 50_000, "cycle", 8 + n as u64 % 3 * 100),
            (n * 50_000 + random, "random", n as u64 * 30),
        ];
        burst.chain(one)
    });
    let learnt = learnt(&csv(rows));
    let plan = planned(&learnt);
    assert_eq!(plan.experiments.len(), 3);
    for flow in &learnt.flows {
        let of = |e: &&dyno_model::Experiment| e.flow.as_ref().is_some_and(|f| f.name == flow.name);
        let found = plan.experiments.iter().find(of).unwrap();
        let hz = match (&found.workload, flow.pattern) {
            (Workload::Stream { rate, .. }, Pattern::Periodic { .. } | Pattern::Random { .. }) => {
                rate.hz()
            }
            (Workload::Burst { .. }, Pattern::Burst { .. }) => flow.pattern.hz(),
            (other, _) => panic!("{other:?} for {:?}", flow.pattern),
        };
        assert!(
            (hz / flow.pattern.hz() - 1.0).abs() < 0.006,
            "{hz} {:?}",
            flow.pattern
        );
        let most = flow.payload.iter().map(|(size, _)| *size).max().unwrap();
        assert_eq!(found.payload.bytes() as u64, most);
    }
}

#[test]
fn recordings_and_descriptions_of_every_form() {
    for name in ["drive.log", "drive.asc", "drive.dbc", "drive.csv"] {
        let path = format!(
            "{}/../../examples/recordings/{name}",
            env!("CARGO_MANIFEST_DIR")
        );
        let found = learnt(&std::fs::read(path).unwrap());
        assert_eq!(
            planned(&found).experiments.len(),
            found.flows.len(),
            "{name}"
        );
        planned(&found.renamed());
    }
    let packets = learnt(&pcap(1, false, false, &mixed()));
    assert_eq!(planned(&packets).experiments.len(), 3);
}

#[test]
fn as_many_flows_as_a_suite_may_have() {
    let mut text = "time_us,topic,size\n".to_owned();
    for round in 0..4 {
        for topic in 0..MOST_FLOWS + 1 {
            text.push_str(&format!("{},äöü/{topic},64\n", round * 59_000_000 + topic));
        }
    }
    let mut traffic = Traffic::default();
    read(&mut text.as_bytes(), "file", &mut traffic).unwrap();
    assert_eq!(planned(&Learnt::of(&traffic)).experiments.len(), MOST_FLOWS);
}
