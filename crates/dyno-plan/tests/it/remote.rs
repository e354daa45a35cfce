//! Plans for hosts that are other machines than the planner's.

use crate::common::{adapters, facts, request, said, suite};
use dyno_model::{Placement, Plan};
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
    let said = said(&planned).join("\n");
    assert!(
        said.contains("the noise of front, rear is not measured") && !said.contains("memory"),
        "{said}"
    );

    request.stacks = Some(vec!["brokered".into()]);
    let refused = crate::common::refusal_of(plan(&catalog, &request, &adapters(), &little));
    let flat: Vec<&str> = refused.split_whitespace().collect();
    let flat = flat.join(" ").replace(" │ ", " ");
    assert!(flat.contains("brokered needs the daemon Broker"), "{flat}");
}

/// Adapters of which the floor reaches other hosts, as the real one does, and `udp` as well.
fn with_shared_memory() -> Vec<dyno_model::AdapterDescription> {
    let mut adapters = adapters();
    let both =
        |a: &&mut dyno_model::AdapterDescription| ["floor", "udp"].contains(&a.name.as_str());
    for adapter in adapters.iter_mut().filter(both) {
        adapter.capabilities.placements.push(Placement::Host);
        adapter.capabilities.fragments_above = Some(65_507);
    }
    adapters
}

/// The floor of `tcp` between hosts, whose receivers sleep.
fn floor_across(plan: &Plan) -> String {
    let is_it =
        |e: &&dyno_model::Experiment| (e.stack.as_str(), e.placement) == ("tcp", Placement::Host);
    let found = plan.experiments.iter().find(is_it).unwrap();
    let floor = found.floor.and_then(|id| plan.experiment(id));
    floor.map_or(String::new(), |e| e.stack.clone())
}

#[test]
fn the_floor_crosses_where_machines_share_memory_and_spins_there() {
    let text = suite(
        "workload = \"ping-pong\"\nwait = \"natural\"\nstacks = [\"floor-spin\", \"floor-futex\", \"floor-udp\", \"tcp\"]\n\
         [experiment.matrix]\nplacement = [\"process\", \"host\"]",
    );
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", &text);
    let vm = catalog_text("vm");
    let none = format!("shared_memory = \"none\"\n{vm}");
    catalog.add_testbed("none", "none.toml", &none);
    let planned = |testbed: &str| {
        let mut request = request("mine");
        request.testbed = testbed.into();
        plan(&catalog, &request, &with_shared_memory(), &facts()).unwrap()
    };
    let across = |plan: &Plan, stack: &str| {
        let mut all = plan.experiments.iter();
        all.any(|e| e.stack == stack && e.placement == Placement::Host)
    };
    let reason = |plan: &Plan, stack: &str| {
        let refusal = plan.refused.iter().find(|r| r.stack == stack);
        refusal.map_or(String::new(), |r| r.reason.to_string())
    };
    let shared = |plan: &Plan| {
        plan.testbed
            .machines()
            .map(|(_, m)| m.shared_bytes)
            .collect::<Vec<_>>()
    };

    for (testbed, guests) in [("vm", 1), ("vm-pair", 2)] {
        let plan = planned(testbed);
        assert!(across(&plan, "floor-spin") && across(&plan, "tcp"));
        assert!(!across(&plan, "floor-futex"));
        assert!(reason(&plan, "floor-futex").contains("sleeps on a futex (wait block)"));
        assert_eq!(shared(&plan), vec![Some(64 << 20); guests]);
        // What sleeps is held against a bare datagram socket there.
        assert_eq!(floor_across(&plan), "floor-udp");
        assert!(said(&plan).iter().all(|w| !w.contains("no × floor")));
    }
    let plan = planned("none");
    assert!(!across(&plan, "floor-spin"));
    assert!(reason(&plan, "floor-spin").contains("`shared_memory = \"none\"`"));
    assert_eq!(shared(&plan), [None]);
    let plan = planned("netns-1gbe");
    assert!(!across(&plan, "floor-spin") && across(&plan, "tcp"));
    assert!(reason(&plan, "floor-spin").contains("--testbed vm"));
    assert_eq!(floor_across(&plan), "floor-udp");

    // Shared memory serves before the link does, also where only the floor over the link is named.
    let text = suite(
        "workload = \"ping-pong\"\nwait = \"spin\"\nplacement = \"host\"\nstacks = [\"floor-udp\", \"tcp\"]",
    );
    let mut polls = Catalog::builtin();
    polls.add_suite("mine", "mine.toml", &text);
    for (testbed, floor) in [("vm", "floor-spin"), ("netns-1gbe", "floor-udp")] {
        let mut request = request("mine");
        request.testbed = testbed.into();
        let plan = dyno_plan::plan(&polls, &request, &with_shared_memory(), &facts()).unwrap();
        assert_eq!(floor_across(&plan), floor);
    }

    // The device is there for who needs it.
    let mut request = request("mine");
    request.testbed = "vm".into();
    request.stacks = Some(vec!["tcp".into()]);
    let plan = dyno_plan::plan(&catalog, &request, &with_shared_memory(), &facts()).unwrap();
    assert_eq!(shared(&plan), [None]);
}

#[test]
fn a_floor_over_a_link_is_measured_where_it_is_asked_for_and_carries_no_flood() {
    let mut request = request("mine");
    request.testbed = "netns-1gbe".into();
    let cases = [
        ("ping-pong", "\"floor-udp\", \"tcp\"", "floor-udp", ""),
        (
            "ping-pong",
            "\"tcp\"",
            "",
            "the floor is the stack floor-udp",
        ),
        (
            "flood",
            "\"floor-udp\", \"tcp\"",
            "",
            "a flood between hosts has a floor only in shared memory",
        ),
        (
            "ping-pong\"\npayload = \"66 kB",
            "\"floor-udp\", \"tcp\"",
            "",
            "the floor is one datagram, of at most 65507 B",
        ),
    ];
    for (workload, stacks, floor, said) in cases {
        let text = suite(&format!(
            "workload = \"{workload}\"\nwait = \"block\"\nplacement = \"host\"\nstacks = [{stacks}]"
        ));
        let mut catalog = Catalog::builtin();
        catalog.add_suite("mine", "mine.toml", &text);
        let plan = plan(&catalog, &request, &with_shared_memory(), &facts()).unwrap();
        let told = crate::common::said(&plan).join(" ");
        assert_eq!(floor_across(&plan), floor, "{told}");
        assert!(
            told.contains(said) && told.contains("no × floor") != said.is_empty(),
            "{told}"
        );
    }
}

/// The text of a testbed that comes with Dyno.
fn catalog_text(name: &str) -> String {
    let path = format!("{}/../../testbeds/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_testbed_without_machines_shares_no_memory() {
    let text = suite("workload = \"stream\"\nrate = \"1 kHz\"");
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", &text);
    catalog.add_testbed(
        "lab",
        "lab.toml",
        format!("shared_memory = \"64 MiB\"\n{HOSTS}"),
    );
    let mut request = request("mine");
    request.testbed = "lab".into();
    let refused = crate::common::refusal_of(plan(&catalog, &request, &adapters(), &facts()));
    assert!(refused.contains("has no `shared_memory`"), "{refused}");
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

const TWO_ON_ONE: &str = r#"
description = "one machine under two names"
[[host]]
name = "a"
reach = "ssh"
destination = "one.lab"
address = "192.168.7.11"
[[host]]
name = "b"
reach = "ssh"
destination = "one.lab"
address = "192.168.7.12"
"#;

/// What is said of a list of CPUs, and the experiments that are planned where nothing is.
fn with_cpus(testbed: &str, placement: &str, cpus: &str) -> Result<Plan, String> {
    let text = suite(&format!(
        "workload = \"ping-pong\"\nwait = \"block\"\nstacks = \"tcp\"\nplacement = \"{placement}\"\ncpus = {cpus}"
    ));
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", &text);
    catalog.add_testbed("lab", "lab.toml", HOSTS);
    catalog.add_testbed("one", "one.toml", TWO_ON_ONE);
    let mut request = request("mine");
    request.testbed = testbed.into();
    let planned = plan(&catalog, &request, &adapters(), &facts());
    planned.map_err(|e| crate::common::shown(&e))
}

#[test]
fn a_listed_cpu_that_the_participants_host_lacks_is_refused_there() {
    // `vm` is this machine with CPUs 0 and 1, and a guest with CPU 0 alone.
    let planned = with_cpus("vm", "host", "[1, 0]").unwrap();
    assert_eq!(planned.experiments[0].cpus, [1, 0]);
    assert!(planned.experiments[0].cpus_listed);
    for (testbed, placement, cpus, says) in [
        ("vm", "host", "[0, 1]", "the host guest has no CPU 1"),
        (
            "vm",
            "host",
            "[\"0\", \"0-1\"]",
            "the host guest has no CPU 1",
        ),
        ("vm", "host", "[2, 0]", "there is no CPU 2"),
        ("vm-pair", "host", "[0, 3]", "the host right has no CPU 3"),
        ("vm-pair", "process", "[0, 1]", "the host left has no CPU 1"),
        (
            "vm-alone",
            "process",
            "[0, 2]",
            "the host guest has no CPU 2",
        ),
    ] {
        let said = with_cpus(testbed, placement, cpus).unwrap_err();
        assert!(said.contains(says), "{testbed} {cpus}: {said}");
    }
    // The same number in both sets: the guest's set is the wrong one.
    let said = with_cpus("vm", "host", "[1, 1]").unwrap_err();
    assert!(said.contains("mine.toml:8:12"), "{said}");
    // What these hosts have is not known before the run connects.
    assert!(with_cpus("lab", "host", "[40, 41]").is_ok());
}

#[test]
fn sets_overlap_on_another_machine_as_on_this_one() {
    for (testbed, placement) in [("lab", "process"), ("one", "host"), ("vm-alone", "process")] {
        let said = with_cpus(testbed, placement, "[\"0-1\", 1]").unwrap_err();
        assert!(
            said.contains("participants 0 and 1 both have CPU 1"),
            "{testbed}: {said}"
        );
    }
    assert!(with_cpus("lab", "host", "[\"0-1\", 1]").is_ok());
}

#[test]
fn cpus_that_dyno_chose_are_not_listed() {
    let planned = with_cpus("local", "process", "\"auto\"").unwrap();
    assert_eq!(planned.experiments[0].cpus, [0, 1]);
    assert!(!planned.experiments[0].cpus_listed);
}
