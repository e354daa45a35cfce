//! The suites, stacks and testbeds that come with Dyno.

use crate::common::{adapters, facts, request};
use dyno_model::machine::SHARING;
use dyno_model::plan::{Extent, Reach};
use dyno_model::probe::GROUND;
use dyno_model::{OptionKind, Placement, Plan, Wait, WorkloadKind};
use dyno_plan::{Catalog, plan};

fn planned(suite: &str, set: &[(&str, &str)]) -> Plan {
    let mut request = request(suite);
    request.set = set
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    plan(&Catalog::builtin(), &request, &adapters(), &facts())
        .unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)))
}

/// Seconds of warm-ups and windows, and 0.15 s per trial for the starts of processes.
fn nominal_seconds(plan: &Plan) -> f64 {
    let part = |e: Extent| match e {
        Extent::Duration(t) => t.as_secs_f64(),
        Extent::Messages(n) => n as f64 * 1e-4,
    };
    plan.experiments
        .iter()
        .map(|e| f64::from(e.trials) * (part(e.warmup) + part(e.window) + 0.15))
        .sum()
}

#[test]
fn every_suite_plans_and_every_stack_takes_part() {
    let catalog = Catalog::builtin();
    for listing in catalog.suites() {
        // All of its stacks are brokers' and gRPC's, whose libraries these facts do not have.
        if listing.name == "signals" {
            let refused = plan(&catalog, &request("signals"), &adapters(), &facts()).unwrap_err();
            let said = crate::common::shown(&refused);
            assert!(
                said.contains("grpc cannot be used here: its library was not built"),
                "{said}"
            );
            continue;
        }
        // Its hosts are of one testbed.
        if listing.name == "sodev" {
            let mut request = request("sodev");
            request.testbed = "vm".into();
            let mut adapters = adapters();
            let across = ["udp", "floor"];
            for a in adapters
                .iter_mut()
                .filter(|a| across.contains(&a.name.as_str()))
            {
                a.capabilities.placements.push(Placement::Host);
            }
            let plan = plan(&catalog, &request, &adapters, &facts()).unwrap();
            assert!(plan.experiments.iter().any(|e| e.reboot));
            assert!(plan.experiments.iter().any(|e| e.on_host == 1));
            // These facts have no back end for it.
            assert!(plan.refused.iter().any(|r| r.stack == "vsock"));
            let mut in_memory = plan.experiments.iter().filter(|e| e.stack == "floor-spin");
            assert!(in_memory.all(|e| e.placement == Placement::Host));
            continue;
        }
        let plan = planned(&listing.name, &[]);
        // Those that list their stacks, or are of none.
        let all = !["rwth", "ground", "growth", "l4re", "s-core", "vehicle"]
            .contains(&listing.name.as_str());
        let stacks = catalog.stacks().into_iter();
        for stack in stacks.filter(|s| all && s.name != GROUND) {
            let read = catalog.read_stack(&stack.name, &adapters()).unwrap();
            // What is made of the others, and a floor over a link, is asked for by name.
            if read.chain.is_some() || read.floor && read.adapter != SHARING {
                assert!(plan.experiments.iter().all(|e| e.stack != stack.name));
                continue;
            }
            let built = adapters()
                .iter()
                .any(|a| a.name == read.adapter && a.is_known());
            // A loopback has nobody who could answer a call, wait for a first message or be struck alone.
            let takes_two = ["calls", "first-message", "outage"].contains(&listing.name.as_str());
            // Some are meant for several hosts only.
            let here = read.placements != [Placement::Host];
            let can = built && here && !(read.loopback && takes_two);
            assert_eq!(
                plan.experiments.iter().any(|e| e.stack == stack.name),
                can,
                "{} in {}",
                stack.name,
                listing.name
            );
            // What is left out is said.
            // What crosses the border of a machine is not asked for where there is none.
            let is_said = plan.refused.iter().any(|r| r.stack == stack.name);
            assert!(can || is_said || stack.name == "vsock");
        }
        for (i, e) in plan.experiments.iter().enumerate() {
            assert_eq!(e.id.0 as usize, i);
            let stack = &plan.stacks[&e.stack];
            let is_probe = e.workload.kind().is_probe();
            assert_eq!(is_probe, e.stack == GROUND);
            let is_idle = e.workload.kind().is_idle();
            let is_alone = is_probe || is_idle || e.flow.is_some() || !e.faults.is_empty();
            let without = stack.floor || stack.loopback || is_alone;
            assert_eq!(e.floor.is_none(), without);
        }
    }
}

#[test]
fn first_message_starts_often_enough_for_a_p90() {
    let plan = planned("first-message", &[]);
    for e in plan.experiments.iter() {
        // Some starts may be disturbed or fail.
        assert!(e.trials > 36, "{e:?}");
        assert_eq!(e.window, Extent::Messages(1));
    }
}

#[test]
fn quick_takes_at_most_a_hundred_seconds() {
    let plan = planned("quick", &[]);
    assert_eq!(plan.experiments.len(), 42);
    assert!(
        plan.experiments
            .iter()
            .all(|e| !e.added && e.cpus == [0, 1])
    );
    let seconds = nominal_seconds(&plan);
    assert!(seconds <= 100.0, "{seconds}");
}

#[test]
fn iceperf_doubles_from_one_kilobyte_or_from_sixteen_bytes() {
    let sizes = |set: &[(&str, &str)]| -> Vec<usize> {
        let plan = planned("iceperf", set);
        plan.experiments
            .iter()
            .filter(|e| e.stack == "iceoryx2" && e.wait == Wait::Spin)
            .map(|e| e.payload.bytes())
            .collect()
    };
    let seed: Vec<usize> = (0..13).map(|i| 1024 << i).collect();
    assert_eq!(sizes(&[]), seed);
    let newer: Vec<usize> = (0..19).map(|i| 16 << i).collect();
    assert_eq!(sizes(&[("smallest", "16B")]), newer);
}

#[test]
fn iceperf_takes_its_round_trips_and_access_from_the_command_line() {
    let plan = planned("iceperf", &[]);
    assert!(
        plan.experiments
            .iter()
            .all(|e| e.window == Extent::Messages(100))
    );
    let plan = planned("iceperf", &[("round_trips", "7"), ("access", "all")]);
    let all = |e: &dyno_model::Experiment| {
        e.window == Extent::Messages(7) && e.access == dyno_model::Access::All
    };
    assert!(plan.experiments.iter().all(all));
}

#[test]
fn lists_show_titles_even_of_files_that_are_broken() {
    let mut catalog = Catalog::builtin();
    catalog.add_suite(
        "broken",
        "broken.toml",
        "title = \"half\"\nthis is not toml\n",
    );
    let suites = catalog.suites();
    let broken = suites.iter().find(|l| l.name == "broken").unwrap();
    assert_eq!(broken.title, "half");
    assert!(broken.broken.is_some());
    for l in suites.iter().filter(|l| l.name != "broken") {
        assert!(!l.title.is_empty() && l.broken.is_none(), "{l:?}");
        assert!(!l.description.is_empty(), "{l:?}");
    }
    for l in catalog.stacks().iter().chain(&catalog.testbeds()) {
        assert!(!l.title.is_empty() && l.broken.is_none(), "{l:?}");
    }
}

#[test]
fn one_stack_can_be_read_on_its_own() {
    let mut catalog = Catalog::builtin();
    let shm = catalog.read_stack("zenoh-shm", &adapters()).unwrap();
    assert_eq!(
        (shm.adapter.as_str(), shm.loopback, shm.floor),
        ("zenoh", false, false)
    );
    assert!(catalog.read_stack("null", &adapters()).unwrap().loopback);
    assert!(catalog.read_stack("nil", &adapters()).is_err());
    catalog.add_stack("bad", "bad.toml", "adapter = 3\n");
    assert!(catalog.read_stack("bad", &adapters()).is_err());
}

#[test]
fn a_file_of_the_same_name_replaces_the_built_in_one() {
    let mut catalog = Catalog::builtin();
    let count = catalog.stacks().len();
    catalog.add_stack(
        "udp",
        "stacks/udp.toml",
        "description = \"small\"\nadapter = \"udp\"\nwaits = [\"block\"]\n[options]\nrcvbuf = 4096\n",
    );
    assert_eq!(catalog.stacks().len(), count);
    let plan = plan(&catalog, &request("quick"), &adapters(), &facts()).unwrap();
    assert_eq!(plan.stacks["udp"].options.len(), 1);
}

#[test]
fn the_same_request_gives_the_same_plan() {
    assert_eq!(planned("throughput", &[]), planned("throughput", &[]));
}

#[test]
fn the_examples_of_the_reference_plan() {
    let text = include_str!("../../../../docs/reference/suite-files.md");
    let blocks: Vec<&str> = text
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    let [suite, flows, faults, stack, testbed] = blocks.as_slice() else {
        panic!(
            "one example each of suite, flows, faults, stack and testbed, found {}",
            blocks.len()
        );
    };
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "suite", *suite);
    let flows = format!("title = \"flows\"\n{flows}");
    catalog.add_suite("flows", "flows", flows.as_str());
    let faults = format!("title = \"faults\"\n{faults}");
    catalog.add_suite("faults", "faults", faults.as_str());
    catalog.add_stack("mine", "stack", *stack);
    catalog.add_testbed("mine", "testbed", *testbed);
    let mut request = request("mine");
    request.testbed = "mine".into();
    let plan = plan(&catalog, &request, &adapters(), &facts())
        .unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)));
    assert!(plan.experiments.iter().any(|e| e.stack == "mine"));
    let request = crate::common::request("flows");
    let plan = dyno_plan::plan(&catalog, &request, &adapters(), &facts())
        .unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)));
    assert!(plan.experiments.iter().any(|e| e.flow.is_some()));
    let request = crate::common::request("faults");
    let plan = dyno_plan::plan(&catalog, &request, &adapters(), &facts())
        .unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)));
    let of_tcp = plan.experiments.iter().filter(|e| e.stack == "tcp");
    assert_eq!(of_tcp.map(|e| e.faults.len()).collect::<Vec<_>>(), [1, 1]);
}

/// Adapters that can do everything, the ones in shared libraries too.
fn able_adapters() -> Vec<dyno_model::AdapterDescription> {
    let mut all = adapters();
    for a in &mut all {
        a.unavailable = None;
        if ["cyclonedds", "fastdds", "iceoryx", "vsomeip", "zenoh"].contains(&a.name.as_str()) {
            a.capabilities.waits = Wait::ALL.to_vec();
            a.capabilities.placements = Placement::ALL.to_vec();
        }
    }
    for a in all.iter_mut().filter(|a| a.name != "zenoh") {
        let any = |name: &str, kind| dyno_model::OptionSpec {
            name: name.into(),
            kind,
            default: None,
            least: None,
            most: None,
            doc: String::new(),
        };
        let text = ["transport", "routing", "policy", "ports"].map(|n| any(n, OptionKind::Text));
        let whole = [
            "history",
            "queue_depth",
            "request_debounce_time",
            "buffer_shrink_threshold",
        ];
        let more = [
            "npdu_debounce_request",
            "npdu_debounce_response",
            "npdu_retention_request",
            "npdu_retention_response",
            "sd_initial_delay_min",
            "sd_initial_delay_max",
            "sd_offer_debounce_time",
            "sd_repetitions_base_delay",
            "sd_request_response_delay",
        ];
        a.options.extend(text);
        a.options
            .extend(whole.iter().chain(&more).map(|n| any(n, OptionKind::Int)));
        for name in ["reliable", "as_shipped", "safe_overflow"] {
            a.options.push(any(name, OptionKind::Bool));
        }
    }
    all
}

fn rwth(set: &[(&str, &str)], testbed: &str) -> Plan {
    let mut request = request("rwth");
    request.testbed = testbed.into();
    request.set = set
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect();
    let host = |n: u8| format!("[[host]]\nname = \"h{n}\"\nreach = \"local\"\n");
    let mut catalog = Catalog::builtin();
    let one = format!("description = \"one\"\n{}", host(1));
    catalog.add_testbed("one", "one.toml", one);
    plan(&catalog, &request, &able_adapters(), &facts())
        .unwrap_or_else(|e| panic!("{}", crate::common::shown(&e)))
}

#[test]
fn rwth_on_one_host_is_the_papers_c() {
    let plan = rwth(&[], "one");
    assert_eq!(plan.table, "rwth");
    let own = || plan.experiments.iter().filter(|e| !e.added);
    assert!(own().all(|e| e.placement == Placement::Process && e.cpus.is_empty()));
    for (name, cells) in [
        ("imu", 4),
        ("camera", 4),
        ("lidar", 4),
        ("radar", 4),
        ("first-message", 4),
        ("scaling", 11),
    ] {
        for stack in [
            "fastdds-shm-best-effort",
            "fastdds-shm",
            "zenoh-udp",
            "zenoh-tcp",
            "vsomeip",
            "vsomeip-defaults",
        ] {
            let found = own().filter(|e| e.name == name && e.stack == stack).count();
            assert_eq!(found, cells, "{name} on {stack}");
        }
    }
    // Those of between hosts are left out with their reasons, and are no error.
    for stack in [
        "vsomeip-udp",
        "vsomeip-tcp",
        "vsomeip-udp-defaults",
        "vsomeip-tcp-defaults",
    ] {
        let reasons: Vec<String> = plan
            .refused
            .iter()
            .filter(|r| r.stack == stack)
            .map(|r| r.reason.to_string())
            .collect();
        assert!(
            reasons.iter().any(|r| r.contains("one host")),
            "{reasons:?}"
        );
    }
}

#[test]
fn rwths_scaling_takes_5500_samples_in_equal_steps() {
    let plan = rwth(&[], "one");
    let of_one = || {
        let own = plan.experiments.iter().filter(|e| !e.added);
        own.filter(|e| e.name == "scaling" && e.stack == "zenoh-tcp")
    };
    let samples: u64 = of_one()
        .map(|e| match e.window {
            Extent::Messages(n) => n * u64::from(e.trials),
            Extent::Duration(_) => 0,
        })
        .sum();
    assert_eq!(samples, 5_500);
    let sizes: Vec<usize> = of_one().map(|e| e.payload.bytes()).collect();
    assert_eq!(
        sizes,
        (0..11).map(|i| 100_000 + i * 390_000).collect::<Vec<_>>()
    );
}

#[test]
fn short_rwth_is_a_tenth_of_it() {
    let (full, short) = (rwth(&[], "one"), rwth(&[("scale", "short")], "one"));
    assert_eq!(full.experiments.len(), short.experiments.len());
    assert!(nominal_seconds(&short) < nominal_seconds(&full) / 10.0);
    let of = |name: &str| short.experiments.iter().find(|e| e.name == name).unwrap();
    assert_eq!(of("first-message").trials, 6);
    assert_eq!(of("scaling").window, Extent::Messages(10));
    let named = rwth(&[("scale", "full")], "one");
    assert_eq!(named.experiments, full.experiments);
}

#[test]
fn rwth_runs_where_only_some_of_its_stacks_can() {
    // Shared libraries that were not built: the others run, and the reason is said.
    let plan = planned("rwth", &[]);
    assert!(plan.experiments.iter().any(|e| e.stack == "zenoh-udp"));
    assert!(plan.experiments.iter().all(|e| e.stack != "vsomeip"));
    let reason = |r: &dyno_model::plan::Refusal| {
        r.stack == "vsomeip" && r.reason.to_string().contains("not built")
    };
    assert!(plan.refused.iter().any(reason));
}

#[test]
fn netns_1gbe_is_eight_joined_hosts() {
    let mut of_hosts = request("quick");
    of_hosts.testbed = "netns-1gbe".into();
    of_hosts.set = vec![
        ("placement".into(), "host".into()),
        ("link.buffer".into(), "1 MiB".into()),
    ];
    of_hosts.stacks = Some(vec!["tcp".into()]);
    let plan = plan(&Catalog::builtin(), &of_hosts, &adapters(), &facts()).unwrap();
    let hosts = &plan.testbed.hosts;
    let names: Vec<&str> = hosts.iter().map(|h| h.name.as_str()).collect();
    assert_eq!(names, ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"]);
    assert_eq!(hosts[7].address, "10.77.0.8");
    for host in hosts {
        assert_eq!(host.reach, Reach::Namespace);
        let link = host.link.unwrap();
        assert_eq!(
            (link.rate_bits, link.buffer_bytes),
            (1_000_000_000, 1 << 20)
        );
    }
    assert!(
        plan.experiments
            .iter()
            .any(|e| e.placement == Placement::Host)
    );
}

#[test]
fn defaults_are_those_of_the_table_of_workloads() {
    use dyno_model::workload::KeyDefault;
    let text = include_str!("../../src/defaults.toml");
    // What a key of a probe is where it is left out depends on what is probed; silence has times of its own.
    let kinds = WorkloadKind::ALL.iter().filter(|kind| kind.has_messages());
    for key in kinds.flat_map(|kind| kind.info().keys) {
        let named = format!("{} = ", key.name);
        let line = text.lines().find_map(|line| line.strip_prefix(&named));
        match (key.default, line) {
            (KeyDefault::Value(value), Some(line)) => assert_eq!(value, line, "{}", key.name),
            // Required of bursts, so that no default holds for all; and what is not there unless it is asked for.
            (KeyDefault::Value(value), None) => {
                let known = [
                    ("period", "\"1 ms\""),
                    ("echo_poll", "\"\""),
                    ("sink_pause", "\"\""),
                    ("sink_cycle", "\"\""),
                    ("pacer", "\"spin\""),
                ];
                assert!(known.contains(&(key.name, value)), "{} {value}", key.name);
            }
            (KeyDefault::Required | KeyDefault::InPlaceOf(_), line) => assert_eq!(line, None),
        }
    }
}

/// As its users get it, or set by what its documentation advises: the reader of a figure finds which, and why.
#[test]
fn every_stack_file_begins_with_the_reason_for_its_settings() {
    let root = format!("{}/../..", env!("CARGO_MANIFEST_DIR"));
    let adapters = std::fs::read_dir(format!("{root}/adapters")).unwrap();
    let mut folders: Vec<_> = adapters.map(|a| a.unwrap().path().join("stacks")).collect();
    folders.push(format!("{root}/stacks").into());
    let files: Vec<_> = folders
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(files.len(), Catalog::builtin().stacks().len());
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let reason: Vec<&str> = text
            .lines()
            .map_while(|l| l.strip_prefix("# ").or_else(|| l.strip_prefix('#')))
            .collect();
        let reason = reason.join(" ");
        assert!(
            reason.len() > 40 && reason.contains(['.', ':']),
            "{}",
            file.display()
        );
    }
}
