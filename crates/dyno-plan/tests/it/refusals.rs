//! Every refusal, as the user sees it.

use crate::common::{adapters, facts, plan_text, plan_with, refusal_of, request, shown_all, suite};
use dyno_plan::{Catalog, HostFacts, plan};

fn experiments(cases: &[(&str, &str)]) -> String {
    let shown: Vec<_> = cases
        .iter()
        .map(|(what, lines)| (*what, refusal_of(plan_text(&suite(lines)))))
        .collect();
    shown_all(&shown)
}

#[test]
fn keys() {
    snapshot!(experiments(&[
        ("a typo", "workload = \"ping-pong\"\npaylaod = \"64 B\""),
        (
            "a typo in a matrix",
            "workload = \"ping-pong\"\n[experiment.matrix]\ntopolgy = [\"1-1\"]"
        ),
        (
            "a condition in a matrix",
            "workload = \"ping-pong\"\n[experiment.matrix]\ntrials = [1, 2]"
        ),
        (
            "a list outside of a matrix",
            "workload = \"ping-pong\"\npayload = [\"8 B\", \"64 B\"]"
        ),
        (
            "twice",
            "workload = \"ping-pong\"\nwait = \"spin\"\n[experiment.matrix]\nwait = [\"block\"]"
        ),
        (
            "a key of another workload",
            "workload = \"ping-pong\"\nrate = \"1 kHz\""
        ),
        ("no workload", "payload = \"64 B\""),
        ("an unknown workload", "workload = \"pingpong\""),
        (
            "a time and a count",
            "workload = \"ping-pong\"\nwindow = \"1 s\"\nround_trips = 5"
        ),
        ("a stream without a rate", "workload = \"stream\""),
        ("a burst without its load", "workload = \"burst\""),
        (
            "a start with a window",
            "workload = \"first-message\"\nwindow = \"1 s\"\nwarmup = \"1 s\""
        ),
    ]));
}

#[test]
fn quantities() {
    snapshot!(experiments(&[
        ("payload 0", "workload = \"ping-pong\"\npayload = 0"),
        ("payload 0 B", "workload = \"ping-pong\"\npayload = \"0 B\""),
        (
            "no room for the tag",
            "workload = \"ping-pong\"\npayload = \"4 B\""
        ),
        (
            "no room for stamps",
            "workload = \"stream\"\nrate = \"1 kHz\"\npayload = \"16 B\""
        ),
        ("no unit", "workload = \"ping-pong\"\nwindow = 300"),
        ("wrong unit", "workload = \"ping-pong\"\npayload = \"4 kb\""),
        (
            "a rate no clock can hold",
            "workload = \"stream\"\nrate = \"200 MHz\""
        ),
        ("a rate of zero", "workload = \"stream\"\nrate = \"0 Hz\""),
        (
            "no message in the window",
            "workload = \"stream\"\nrate = \"2 Hz\""
        ),
        ("no trials", "workload = \"ping-pong\"\ntrials = 0"),
        ("no window", "workload = \"ping-pong\"\nwindow = \"0 ms\""),
        (
            "an unknown wait",
            "workload = \"ping-pong\"\nwait = \"spni\""
        ),
        (
            "a number for a word",
            "workload = \"ping-pong\"\naccess = true"
        ),
        (
            "a priority that does not exist",
            "workload = \"ping-pong\"\nscheduling = \"fifo:100\""
        ),
        (
            "a window of years",
            "workload = \"ping-pong\"\nwindow = \"1000000000 s\""
        ),
        (
            "a bad topology",
            "workload = \"ping-pong\"\ntopology = \"3\""
        ),
    ]));
}

#[test]
fn matrices() {
    let long = |n: usize| {
        (1..=n)
            .map(|i| format!("\"{i} us\""))
            .collect::<Vec<_>>()
            .join(",")
    };
    let huge = suite(&format!(
        "workload = \"ping-pong\"\n[experiment.matrix]\ngap = [{}]\n\
         payload = {{ from = \"8 B\", to = \"1 GiB\", factor = 1.1 }}",
        long(60)
    ));
    let head = |text: String| {
        text.lines()
            .filter(|l| !l.contains("60 us"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let mut text = experiments(&[
        (
            "an empty list",
            "workload = \"ping-pong\"\n[experiment.matrix]\npayload = []",
        ),
        (
            "a value twice",
            "workload = \"ping-pong\"\n[experiment.matrix]\npayload = [\"1 KiB\", \"1024 B\"]",
        ),
        (
            "a range without an end",
            "workload = \"ping-pong\"\n[experiment.matrix]\npayload = { from = \"1 KiB\", factor = 2 }",
        ),
        (
            "a range that stands still",
            "workload = \"ping-pong\"\n[experiment.matrix]\npayload = { from = \"1 KiB\", to = \"1 MiB\", factor = 1 }",
        ),
        (
            "a range downwards",
            "workload = \"ping-pong\"\n[experiment.matrix]\npayload = { from = \"1 MiB\", to = \"1 KiB\", factor = 2 }",
        ),
        (
            "a range of words",
            "workload = \"ping-pong\"\n[experiment.matrix]\nwait = { from = \"spin\", to = \"block\" }",
        ),
    ]);
    text += &format!(
        "\n### an explosion\n{}\n",
        head(refusal_of(plan_text(&huge)))
    );
    snapshot!(text);
}

#[test]
fn whole_suites() {
    let two = format!(
        "{}[[experiment]]\nname = \"x\"\nworkload = \"flood\"\n",
        suite("workload = \"ping-pong\"")
    );
    snapshot!(shown_all(&[
        (
            "not TOML",
            refusal_of(plan_text("title = \"t\"\n[[experiment]\nname = \"x\"\n"))
        ),
        ("no experiment", refusal_of(plan_text("title = \"t\"\n"))),
        (
            "one bracket",
            refusal_of(plan_text("title = \"t\"\n[experiment]\nname = \"x\"\n"))
        ),
        ("duplicate names", refusal_of(plan_text(&two))),
        (
            "an unknown key",
            refusal_of(plan_text(&format!(
                "tabel = \"iceperf\"\n{}",
                suite("workload = \"flood\"")
            )))
        ),
        (
            "an unknown table",
            refusal_of(plan_text(&format!(
                "table = \"iceprf\"\n{}",
                suite("workload = \"flood\"")
            )))
        ),
        (
            "an unknown default",
            refusal_of(plan_text(&format!(
                "{}[defaults]\nwindw = \"1 s\"\n",
                suite("workload = \"flood\"")
            )))
        ),
        (
            "several mistakes",
            refusal_of(plan_text(
                "titel = \"t\"\n[[experiment]]\nname = \"x y\"\nworkload = \"strem\"\npayload = 0\n"
            ))
        ),
    ]));
}

#[test]
fn stacks_of_a_suite() {
    snapshot!(experiments(&[
        (
            "unknown",
            "workload = \"ping-pong\"\nstacks = [\"iceorxy2\"]"
        ),
        ("empty", "workload = \"ping-pong\"\nstacks = []"),
        (
            "twice",
            "workload = \"ping-pong\"\nstacks = [\"tcp\", \"tcp\"]"
        ),
        (
            "none of it",
            "workload = \"ping-pong\"\nstacks = [\"tcp\", \"null\"]\nwait = \"block\""
        ),
        (
            "nothing at all",
            "workload = \"ping-pong\"\nstacks = \"all\"\npayload = \"8 B\"\nplacement = \"host\""
        ),
    ]));
}

#[test]
fn cpus() {
    snapshot!(experiments(&[
        (
            "no such CPU",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = [0, 7]"
        ),
        (
            "shared while spinning",
            "workload = \"ping-pong\"\nwait = \"spin\"\nstacks = \"tcp\"\ncpus = [1, 1]"
        ),
        (
            "too few",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ntopology = \"1-3\"\ncpus = [0, 1]"
        ),
        ("a word", "workload = \"ping-pong\"\ncpus = \"all\""),
        (
            "one set without a list",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = \"0-1\""
        ),
        (
            "empty sets",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = [\"\", []]"
        ),
        (
            "not a set",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = [\"1-0\", \"0,0\"]"
        ),
        (
            "a set of another host",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = [\"0\", \"1-3\"]"
        ),
        (
            "sets that overlap",
            "workload = \"stream\"\nrate = \"1 kHz\"\nstacks = \"tcp\"\ncpus = [\"0-1\", 1]"
        ),
        (
            "the same set twice",
            "workload = \"stream\"\nrate = \"1 kHz\"\nstacks = \"tcp\"\ncpus = [\"0-1\", \"0-1\"]"
        ),
        (
            "shared without sets",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = { share = true }"
        ),
        (
            "an unknown key",
            "workload = \"ping-pong\"\nstacks = \"tcp\"\ncpus = { sets = [0, 0], shared = true }"
        ),
    ]));
}

#[test]
fn parameters() {
    let text = |line: &str| {
        format!(
            "title = \"t\"\n[parameters]\nround_trips = 100\n[[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\n{line}\n"
        )
    };
    snapshot!(shown_all(&[
        (
            "undeclared",
            refusal_of(plan_text(&text("round_trips = \"$roundtrips\"")))
        ),
        ("unused", refusal_of(plan_text(&text("")))),
        (
            "a bad value from outside",
            refusal_of(plan_with(
                &text("round_trips = \"$round_trips\""),
                &[("round_trips", "many")],
                |_| {}
            ))
        ),
    ]));
}

#[test]
fn flags() {
    let text = suite("workload = \"ping-pong\"");
    let set = |key: &str, value: &str| refusal_of(plan_with(&text, &[(key, value)], |_| {}));
    let stack = |names: &[&str]| {
        refusal_of(plan_with(&text, &[], |r| {
            r.stacks = Some(names.iter().map(|n| (*n).to_owned()).collect());
        }))
    };
    snapshot!(shown_all(&[
        ("--set of an unknown key", set("windw", "1s")),
        ("--set of a stack", set("stack", "tcp")),
        ("--set without a unit", set("window", "1")),
        ("--set in a list", set("payload", "64B,4 kb")),
        ("--set that changes nothing", set("rate", "1kHz")),
        ("--stack unknown", stack(&["tcp", "upd"])),
        (
            "--trials 0",
            refusal_of(plan_with(&text, &[], |r| r.trials = Some(0)))
        ),
        (
            "suite unknown",
            refusal_of(plan_with(&text, &[], |r| r.suite = "icperf".into()))
        ),
        (
            "testbed unknown",
            refusal_of(plan_with(&text, &[], |r| r.testbed = "loacl".into()))
        ),
        (
            "--stack that can run none of it",
            refusal_of(plan_with(
                &suite("workload = \"flood\"\ntopology = \"2-2\""),
                &[],
                |r| r.stacks = Some(vec!["null".into()]),
            ))
        ),
    ]));
}

#[test]
fn a_stack_runs_only_where_it_is_meant_to() {
    let mut catalog = Catalog::builtin();
    let stack = "description = \"mine\"\nadapter = \"tcp\"\nwaits = [\"block\"]\nplacements = [\"thread\"]\n";
    catalog.add_stack("mine", "stacks/mine.toml", stack);
    let planned = plan(&catalog, &request("quick"), &adapters(), &facts()).unwrap();
    let refused: Vec<_> = planned
        .refused
        .iter()
        .filter(|r| r.stack == "mine")
        .collect();
    assert_eq!(refused.len(), 2);
    assert_eq!(
        refused[0].reason.to_string(),
        "mine is meant for placement thread, not process"
    );
}

#[test]
fn an_adapter_that_is_unavailable_is_an_error_only_where_it_is_named() {
    let mut adapters = adapters();
    for a in adapters.iter_mut().filter(|a| a.name == "zenoh") {
        a.unavailable = Some("its library is missing; run `apt install zenoh`".into());
    }
    let catalog = Catalog::builtin();
    let all = plan(&catalog, &request("quick"), &adapters, &facts()).unwrap();
    let of_zenoh = all.refused.iter().filter(|r| r.stack.starts_with("zenoh"));
    assert_eq!(of_zenoh.count(), 10);
    let mut named = request("quick");
    named.stacks = Some(vec!["tcp".into(), "zenoh-udp".into()]);
    snapshot!(refusal_of(plan(&catalog, &named, &adapters, &facts())));
}

fn with_stack(text: &str) -> String {
    let mut catalog = Catalog::builtin();
    catalog.add_stack("mine", "stacks/mine.toml", text);
    let mut request = request("quick");
    request.stacks = Some(vec!["mine".into()]);
    refusal_of(plan(&catalog, &request, &adapters(), &facts()))
}

#[test]
fn stack_files() {
    let head = "description = \"mine\"\nwaits = [\"block\"]\n";
    snapshot!(shown_all(&[
        ("nothing in it", with_stack("")),
        (
            "unknown adapter",
            with_stack(&format!("{head}adapter = \"tpc\"\n"))
        ),
        (
            "unknown key",
            with_stack(&format!("{head}adapter = \"tcp\"\nwait = \"block\"\n"))
        ),
        (
            "unknown option",
            with_stack(&format!(
                "{head}adapter = \"udp\"\n[options]\nrcvbuff = 4096\n"
            ))
        ),
        (
            "a timeout of nobody",
            with_stack(&format!(
                "{head}adapter = \"udp\"\n[timeouts.libary]\nlease = {{ time = \"1 s\", text = \"gone\" }}\n"
            ))
        ),
        (
            "a timeout without a text",
            with_stack(&format!(
                "{head}adapter = \"udp\"\n[timeouts.library]\nlease = {{ time = \"1 s\" }}\n"
            ))
        ),
        (
            "wrong type",
            with_stack(&format!(
                "{head}adapter = \"udp\"\n[options]\nrcvbuf = \"4 KiB\"\n"
            ))
        ),
        (
            "negative",
            with_stack(&format!(
                "{head}adapter = \"udp\"\n[options]\nrcvbuf = -1\n"
            ))
        ),
        (
            "a queue deeper than it can be",
            with_stack(&format!(
                "{head}adapter = \"posix-mq\"\n[options]\nqueue_depth = 64\n"
            ))
        ),
        (
            "a queue that holds nothing",
            with_stack(&format!(
                "{head}adapter = \"iceoryx2\"\n[options]\nqueue_depth = 0\n"
            ))
        ),
        (
            "wrong value",
            with_stack(&format!(
                "{head}adapter = \"uds\"\n[options]\ntype = \"datagram\"\n"
            ))
        ),
        (
            "a wait that the adapter lacks",
            with_stack("description = \"mine\"\nwaits = [\"callback\"]\nadapter = \"tcp\"\n")
        ),
        (
            "readers that ask where the adapter has none",
            with_stack(
                "description = \"mine\"\nwaits = [\"spin\"]\nasks = true\nadapter = \"tcp\"\n"
            )
        ),
    ]));
}

#[test]
fn a_machine_that_tells_nothing_of_itself_is_no_error() {
    let plan = plan(
        &Catalog::builtin(),
        &request("quick"),
        &adapters(),
        &HostFacts::default(),
    )
    .unwrap();
    assert!(plan.experiments.iter().all(|e| e.cpus.is_empty()));
}
