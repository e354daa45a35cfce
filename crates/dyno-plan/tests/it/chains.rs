//! Stacks made of legs: what they become, and what is refused.

use crate::common::{adapters, facts, refusal_of, request, suite};
use dyno_model::chain::{Full, Threads};
use dyno_model::{Nanos, Placement, Plan, Role, Stack, Wait};
use dyno_plan::{Catalog, PlanError, Request, plan};

const HEAD: &str = "description = \"mine\"\n";

fn catalog(chain: &str) -> Catalog {
    let mut catalog = Catalog::builtin();
    catalog.add_stack("mine", "stacks/mine.toml", format!("{HEAD}{chain}"));
    catalog
}

fn leg(stack: &str) -> String {
    format!("[[leg]]\nstack = \"{stack}\"\n")
}

fn read(chain: &str) -> Stack {
    catalog(chain).read_stack("mine", &adapters()).unwrap()
}

fn planned_with(
    catalog: &Catalog,
    experiment: &str,
    change: impl FnOnce(&mut Request),
) -> Result<Plan, PlanError> {
    let mut catalog = catalog.clone();
    catalog.add_suite("test", "test.toml", suite(experiment));
    let mut request = request("test");
    request.stacks = Some(vec!["mine".into()]);
    change(&mut request);
    plan(&catalog, &request, &adapters(), &facts())
}

fn planned(chain: &str, experiment: &str) -> Result<Plan, PlanError> {
    planned_with(&catalog(chain), experiment, |_| {})
}

/// Without the frame that a diagnostic is drawn in.
#[track_caller]
fn assert_says(shown: &str, text: &str) {
    let flat: Vec<&str> = shown
        .split_whitespace()
        .filter(|word| !word.contains('│'))
        .collect();
    let flat = flat.join(" ");
    assert!(flat.contains(text), "{text:?} is not in:\n{shown}");
}

#[track_caller]
fn refused(chain: &str, text: &str) {
    assert_says(
        &refusal_of(planned(chain, "workload = \"ping-pong\"")),
        text,
    );
}

#[test]
fn a_chain_is_a_stack_of_its_legs() {
    let stack = read(&format!(
        "{}wait = \"spin\"\n{}[gateway]\nthreads = \"direction\"\nqueue = {{ depth = 8, full = \"drop-oldest\" }}\ndelay = \"200 us\"\n",
        leg("iceoryx2"),
        leg("uds-stream"),
    ));
    assert_eq!(stack.adapter, "iceoryx2 > uds");
    assert_eq!(stack.adapters(), ["iceoryx2", "uds"]);
    // Natural to the leg that has no wait of its own.
    assert_eq!(stack.waits, [Wait::Block]);
    assert_eq!(stack.placements, [Placement::Process]);
    let chain = stack.chain.unwrap();
    let waits: Vec<_> = chain.legs.iter().map(|leg| leg.wait).collect();
    assert_eq!(waits, [Some(Wait::Spin), None]);
    let [gateway] = chain.gateways.as_slice() else {
        panic!("{:?}", chain.gateways);
    };
    assert_eq!(gateway.threads, Some(Threads::Direction));
    assert_eq!(gateway.delay, Some(Nanos::from_micros(200)));
    let queue = gateway.queue.unwrap();
    assert_eq!((queue.depth, queue.full), (8, Full::DropOldest));
}

#[test]
fn a_chain_as_a_leg_brings_its_legs_and_gateways() {
    let mut catalog = catalog(&format!("{}{}", leg("inner"), leg("tcp")));
    let inner = format!(
        "{HEAD}[gateway]\nqueue = {{ depth = 2 }}\n{}{}",
        leg("pipe"),
        leg("uds-stream")
    );
    catalog.add_stack("inner", "stacks/inner.toml", inner);
    let stack = catalog.read_stack("mine", &adapters()).unwrap();
    let chain = stack.chain.unwrap();
    let legs: Vec<&str> = chain.legs.iter().map(|leg| leg.stack.as_str()).collect();
    assert_eq!(legs, ["pipe", "uds-stream", "tcp"]);
    let queues: Vec<_> = chain.gateways.iter().map(|g| g.queue.is_some()).collect();
    assert_eq!(queues, [true, false]);
}

#[test]
fn a_gateway_takes_part_with_a_cpu_of_its_own() {
    let chain = format!("{}{}", leg("pipe"), leg("uds-stream"));
    let plan = planned(
        &chain,
        "workload = \"stream\"\nrate = \"1 kHz\"\npayload = \"64 B\"\ntopology = \"2-3\"",
    )
    .unwrap();
    let experiment = plan.experiments.iter().find(|e| e.stack == "mine").unwrap();
    let graph = plan.graph(experiment);
    let gateway = graph.participants.last().unwrap();
    assert_eq!((gateway.role, gateway.index), (Role::Gateway, 5));
    assert!(gateway.cpu.is_some());
    assert_eq!(graph.processes().len(), 6);
}

#[test]
fn a_suite_on_all_stacks_leaves_chains_out() {
    let chain = format!("{}{}", leg("pipe"), leg("uds-stream"));
    let all = planned_with(
        &catalog(&chain),
        "workload = \"ping-pong\"\nstacks = \"all\"",
        |request| request.stacks = None,
    );
    let all = all.unwrap();
    assert!(all.experiments.iter().all(|e| e.stack != "mine"));
}

#[test]
fn a_run_keeps_the_texts_of_the_legs() {
    let catalog = catalog(&format!("{}{}", leg("pipe"), leg("uds-stream")));
    let mut request = request("quick");
    request.stacks = Some(vec!["mine".into()]);
    let plan = plan(&catalog, &request, &adapters(), &facts()).unwrap();
    let origin = catalog.origin(&request, &plan).unwrap();
    for stack in ["mine", "pipe", "uds-stream"] {
        assert!(origin.stacks.contains_key(stack), "{stack}");
    }
    let again = Catalog::of_origin(&origin);
    assert!(again.read_stack("mine", &adapters()).is_ok());
}

#[test]
fn a_chain_that_cannot_be_one_is_refused_while_it_is_read() {
    refused(&leg("pipe"), "a chain has 2 to 8 legs, found 1");
    let nine: String = (0..9).map(|_| leg("pipe")).collect();
    refused(&nine, "a chain has 2 to 8 legs, found 9");
    refused(
        &format!("{}{}", leg("pipe"), leg("mine")),
        "the chain \"mine\" names itself: mine > mine",
    );
    refused(
        &format!("{}{}", leg("pipe"), leg("null")),
        "null plays both sides in one participant",
    );
    refused(
        &format!("{}{}", leg("pipe"), leg("uds-straem")),
        "there is no stack `uds-straem`",
    );
    refused(
        &format!("adapter = \"pipe\"\n{}{}", leg("pipe"), leg("tcp")),
        "a chain has no key `adapter`",
    );
    refused(
        &format!("{}wait = \"callback\"\n{}", leg("pipe"), leg("tcp")),
        "pipe does not support wait callback, only spin, block",
    );
    refused(
        &format!("{}placement = \"host\"\n{}", leg("pipe"), leg("tcp")),
        "it runs with placement thread, process, not host",
    );
    refused(
        &format!(
            "{}{}[gateway]\nqueue = {{ full = \"drop\" }}\n",
            leg("pipe"),
            leg("tcp")
        ),
        "the queue has no `depth`",
    );
    refused(
        &format!(
            "{}{}[gateway]\nqueue = {{ depth = 0 }}\n",
            leg("pipe"),
            leg("tcp")
        ),
        "`depth` must be from 1 to 65536, found 0",
    );
}

#[test]
fn a_chain_that_names_itself_by_way_of_another_is_refused() {
    let mut catalog = catalog(&format!("{}{}", leg("pipe"), leg("other")));
    let other = format!("{HEAD}{}{}", leg("tcp"), leg("mine"));
    catalog.add_stack("other", "stacks/other.toml", other);
    let shown = refusal_of(planned_with(&catalog, "workload = \"ping-pong\"", |_| {}));
    assert_says(&shown, "names itself: mine > other > mine");
}

#[test]
fn two_libraries_are_not_joined_in_one_process() {
    let mut adapters = adapters();
    for name in ["zenoh", "uds"] {
        let found = adapters.iter_mut().find(|a| a.name == name).unwrap();
        found.library = Some(format!("/lib/libdyno_{name}.so").into());
    }
    let catalog = |between: &str| {
        let zenoh = format!("{}wait = \"block\"\n", leg("zenoh-tcp"));
        catalog(&format!("{zenoh}{between}{}", leg("uds-stream")))
    };
    let error = catalog("").read_stack("mine", &adapters).unwrap_err();
    assert_says(
        &crate::common::shown(&error),
        "are on two libraries, zenoh and uds, and a process loads one only",
    );
    let apart = catalog(&leg("pipe")).read_stack("mine", &adapters);
    assert_eq!(apart.unwrap().adapters(), ["zenoh", "pipe", "uds"]);
}

#[test]
fn what_a_leg_cannot_do_is_refused_with_its_name() {
    let reason = |chain: &str, experiment: &str| refusal_of(planned(chain, experiment));
    let pipe_tcp = format!("{}{}", leg("pipe"), leg("tcp"));
    assert_says(
        &reason(&pipe_tcp, "workload = \"ping-pong\"\nwait = \"callback\""),
        "leg 1 (pipe): pipe does not support wait callback",
    );
    assert_says(
        &reason(
            &pipe_tcp,
            "workload = \"ping-pong\"\nplacement = \"thread\"",
        ),
        "mine is meant for placement process, not thread",
    );
    let own = format!(
        "{}wait = \"spin\"\n{}wait = \"block\"\n",
        leg("pipe"),
        leg("tcp")
    );
    assert_says(
        &reason(&own, "workload = \"ping-pong\"\nwait = \"spin\""),
        "every leg of mine has its own wait; the last leg has block",
    );
    let one_thread = format!("{pipe_tcp}[gateway]\nthreads = \"one\"\n");
    assert_says(
        &reason(&one_thread, "workload = \"ping-pong\""),
        "gateway 1 reads all its channels in one thread, which must poll, but pipe has wait block",
    );
}

#[test]
fn a_payload_above_the_smallest_leg_is_refused_with_that_leg() {
    let mut adapters = adapters();
    let uds = adapters.iter_mut().find(|a| a.name == "uds").unwrap();
    uds.capabilities.max_message = Some(1_000);
    let mut catalog = catalog(&format!("{}{}", leg("pipe"), leg("uds-stream")));
    let experiment = "workload = \"ping-pong\"\npayload = \"4 KiB\"";
    catalog.add_suite("test", "test.toml", suite(experiment));
    let mut request = request("test");
    request.stacks = Some(vec!["mine".into()]);
    let shown = refusal_of(plan(&catalog, &request, &adapters, &facts()));
    assert_says(
        &shown,
        "leg 2 (uds-stream): a message of uds has at most 1000 B, not 4096 B",
    );
}

#[test]
fn a_chain_over_hosts_needs_as_many() {
    let over = format!(
        "{}{}placement = \"host\"\n{}placement = \"host\"\n",
        leg("pipe"),
        leg("tcp"),
        leg("tcp-defaults")
    );
    let mut catalog = catalog(&over);
    for count in [2, 3] {
        let name = format!("of-{count}");
        let hosts = format!("[[host]]\nname = \"h\"\nreach = \"namespace\"\ncount = {count}\n");
        catalog.add_testbed(&name, "testbeds/test.toml", format!("{HEAD}{hosts}"));
    }
    let on = |testbed: &str| {
        let experiment = "workload = \"ping-pong\"\nplacement = \"host\"";
        planned_with(&catalog, experiment, |request| {
            request.testbed = testbed.into()
        })
    };
    assert_says(
        &refusal_of(on("of-2")),
        "mine needs 3 hosts, and the testbed has 2",
    );
    let plan = on("of-3").unwrap();
    let experiment = plan.experiments.iter().find(|e| e.stack == "mine").unwrap();
    let graph = plan.graph(experiment);
    let hosts: Vec<usize> = graph.participants.iter().map(|p| p.host).collect();
    // Initiator, echo, and the gateways behind the first and the second leg.
    assert_eq!(hosts, [0, 2, 0, 1]);
}

/// The experiments of the legs alone of the first chain, or what is said of them.
fn alone(plan: &Plan) -> Vec<&dyno_model::Experiment> {
    let chain = plan.experiments.iter().find(|e| e.stack == "mine").unwrap();
    let all = chain.legs.iter();
    all.map(|id| plan.experiments.iter().find(|e| e.id == *id).unwrap())
        .collect()
}

#[test]
fn a_leg_alone_is_measured_as_it_is_in_the_chain_or_not_at_all() {
    let with = |chain: &str, experiment: &str| {
        let legs = |request: &mut Request| request.legs = true;
        planned_with(&catalog(chain), experiment, legs).unwrap()
    };
    let sockets = leg("pipe") + &leg("uds-stream");
    let plan = with(
        &sockets,
        "workload = \"ping-pong\"\nwait = \"block\"\necho_poll = \"50 ms\"\ncpus = \"none\"",
    );
    // One echo sleeps, and it stands behind the last leg.
    let polls: Vec<bool> = alone(&plan).iter().map(|e| e.echo_poll.is_some()).collect();
    assert_eq!(polls, [false, true]);
    let there = leg("tcp") + "placement = \"host\"\n" + &leg("uds-stream");
    for (chain, experiment, testbed) in [
        // The second leg begins where nothing is measured alone, and two CPUs are none for a gateway.
        (
            there.as_str(),
            "workload = \"ping-pong\"\nwait = \"block\"\nplacement = \"host\"\ncpus = \"none\"",
            "netns-1gbe",
        ),
        (
            sockets.as_str(),
            "workload = \"ping-pong\"\nwait = \"block\"\ncpus = [0, 1]",
            "local",
        ),
    ] {
        let planned = planned_with(&catalog(chain), experiment, |request| {
            request.legs = true;
            request.testbed = testbed.into();
        });
        let plan = planned.unwrap();
        let chains = plan.experiments.iter().filter(|e| e.stack == "mine");
        assert!(chains.clone().count() > 0);
        for e in chains {
            let cpus = e.cpus.len();
            assert!(e.legs.is_empty() || cpus == 3, "{e:#?}");
        }
    }
}

/// Two legs that a program bridges.
fn bridged() -> String {
    let udp = leg("udp") + "options = { rcvbuf = 4096 }\n";
    leg("pipe")
        + &udp
        + r#"
        [[daemon]]
        name = "bridge"
        command = ["bridged", "{scratch}/bridge.conf"]
        ready = { output = "ready" }
        [daemon.files]
        "bridge.conf" = "buffer {option.rcvbuf}"
        "#
}

#[test]
fn a_program_bridges_two_legs_and_is_no_participant() {
    let chain = read(&bridged()).chain.unwrap();
    let [gateway] = chain.gateways.as_slice() else {
        panic!("{chain:#?}");
    };
    assert!(gateway.is_foreign());
    // What differs of the leg's stack, and what the program's texts say of it.
    assert_eq!(chain.legs[1].options["rcvbuf"].to_string(), "4096");
    assert_eq!(gateway.programs[0].options["rcvbuf"], "4096");
    let plan = planned(&bridged(), "workload = \"call\"\nwait = \"block\"").unwrap();
    let calls = plan.experiments.iter().filter(|e| e.stack == "mine");
    for e in calls {
        assert!(e.paired, "a program carries messages, no calls: {e:#?}");
        let graph = plan.graph(e);
        assert!(graph.participants.iter().all(|p| p.role != Role::Gateway));
    }
}

#[test]
fn each_leg_of_a_bridged_chain_alone_is_between_its_two_participants() {
    let experiment = "workload = \"ping-pong\"\nwait = \"block\"\necho_poll = \"50 ms\"";
    let plan = planned_with(&catalog(&bridged()), experiment, |request| {
        request.legs = true
    });
    let plan = plan.unwrap();
    let legs = alone(&plan);
    let polls: Vec<bool> = legs.iter().map(|e| e.echo_poll.is_some()).collect();
    assert_eq!(polls, [false, true]);
    // The leg alone is the stack as its own file has it.
    let alone = plan.stacks.get("udp").unwrap();
    assert!(!alone.options.contains_key("rcvbuf"), "{alone:#?}");
    let said = "leg 2 of mine is measured alone with the settings of udp in its own file, without rcvbuf = 4096";
    assert!(
        crate::common::said(&plan).iter().any(|w| w == said),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn what_a_program_cannot_bridge_is_refused() {
    let three = leg("tcp") + &bridged();
    let of = |chain: &str| {
        let mut request = request("quick");
        request.stacks = Some(vec!["mine".into()]);
        refusal_of(plan(&catalog(chain), &request, &adapters(), &facts()))
    };
    let text = of(&three);
    assert!(
        text.contains("a program bridges two legs, found 3"),
        "{text}"
    );
    let text = of(&(bridged() + "[gateway]\nthreads = \"one\"\n"));
    assert!(text.contains("not a gateway of Dyno"), "{text}");
    let text = of(&bridged().replace("option.rcvbuf", "option.rcvbuff"));
    assert!(text.contains("option.rcvbuf"), "{text}");
    let plan = planned(
        &bridged(),
        "workload = \"flood\"\nwait = \"block\"\ntopology = \"1-2\"",
    );
    let text = match plan {
        Ok(plan) => plan.refused.iter().map(|r| r.reason.to_string()).collect(),
        Err(e) => e.to_string(),
    };
    assert!(text.contains("so a sender cannot see"), "{text}");
    // A program that is missing is said before anything runs.
    let mut facts = facts();
    facts.missing_programs.insert("bridged".into());
    let stack = read(&bridged());
    let text = dyno_plan::missing_daemon(&stack, &facts)
        .unwrap()
        .to_string();
    assert!(
        text.contains("the program bridged of its daemon bridge is not installed"),
        "{text}"
    );
}
