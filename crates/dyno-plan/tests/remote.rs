//! Plans for hosts that are other machines than the planner's.

mod common;

use common::{adapters, facts, request, suite};
use dyno_plan::{Catalog, HostFacts, plan};

const HOSTS: &str = r#"
description = "two hosts"
[[host]]
name = "front"
reach = "ssh"
destination = "front.lab"
address = "192.168.7.11"
[[host]]
name = "rear"
reach = "ssh"
destination = "rear.lab"
address = "192.168.7.12"
"#;

const WITH_DAEMON: &str = r#"
description = "mine"
adapter = "tcp"
waits = ["block"]
[[daemon]]
name = "Broker"
command = ["sh"]
ready = { output = "ready" }
"#;

#[test]
fn nothing_of_this_machine_decides_about_another() {
    let text = suite("workload = \"stream\"\nrate = \"1 kHz\"\nplacement = \"host\"");
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", &text);
    catalog.add_testbed("lab", "lab.toml", HOSTS);
    catalog.add_stack("brokered", "stacks/brokered.toml", WITH_DAEMON);
    let mut request = request("mine");
    request.testbed = "lab".into();
    let little = HostFacts {
        memory_bytes: Some(1),
        ..facts()
    };
    request.stacks = Some(vec!["tcp".into()]);
    let planned = plan(&catalog, &request, &adapters(), &little).unwrap();
    assert!(!planned.experiments.is_empty());
    assert!(planned.experiments.iter().all(|e| e.cpus.is_empty()));
    let said = planned.warnings.join("\n");
    assert!(
        said.contains("the noise of front, rear is not measured") && !said.contains("memory"),
        "{said}"
    );

    request.stacks = Some(vec!["brokered".into()]);
    let refused = common::refusal_of(plan(&catalog, &request, &adapters(), &little));
    let flat: Vec<&str> = refused.split_whitespace().collect();
    let flat = flat.join(" ").replace(" │ ", " ");
    assert!(flat.contains("brokered needs the daemon Broker"), "{flat}");
}

#[test]
fn across_a_machines_border_is_measured_beside_within() {
    let text = suite("workload = \"stream\"\nrate = \"1 kHz\"");
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", &text);
    let mut request = request("mine");
    request.stacks = Some(vec!["tcp".into()]);
    let placements = |testbed: &str, request: &mut dyno_plan::Request| {
        request.testbed = testbed.into();
        let planned = plan(&catalog, request, &adapters(), &facts()).unwrap();
        assert_eq!(planned.testbed.emulated(), None, "not settled yet");
        let own = planned.experiments.iter().filter(|e| !e.added);
        let all = own.map(|e| e.placement.as_str());
        all.collect::<Vec<_>>()
    };
    assert_eq!(placements("vm", &mut request), ["process", "host"]);
    assert_eq!(placements("vm-pair", &mut request), ["process", "host"]);
    assert_eq!(placements("vm-alone", &mut request), ["process"]);
    assert_eq!(placements("local", &mut request), ["process"]);
}
