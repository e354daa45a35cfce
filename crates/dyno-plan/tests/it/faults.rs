//! Faults of experiments: what is planned of them, and what is refused.

use crate::common::{
    adapters, facts, plan_text, plan_with, refusal_of, said, shown, shown_all, suite,
};
use dyno_model::fault::{Fault, FaultKind, Target, Way};
use dyno_model::plan::{Extent, RefusalReason};
use dyno_model::{Against, Nanos, Placement, Plan, Raised, Search};
use dyno_plan::{Catalog, plan};
use std::collections::BTreeSet;

/// A stream on a stack with a window of 10 s, these lines after its keys.
fn stream(stack: &str, lines: &str) -> String {
    suite(&format!(
        "workload = \"stream\"\nrate = \"100 Hz\"\nwindow = \"10 s\"\nstacks = \"{stack}\"\n{lines}"
    ))
}

/// A fault of that kind on that target a second after the window begins, and more keys.
fn fault(what: &str, who: &str, more: &str) -> String {
    format!("[[experiment.fault]]\nwhat = \"{what}\"\nwho = \"{who}\"\nat = \"1 s\"\n{more}\n")
}

/// The text planned on a testbed.
fn planned_on(testbed: &str, text: &str) -> Plan {
    plan_with(text, &[], |r| r.testbed = testbed.into()).unwrap_or_else(|e| panic!("{}", shown(&e)))
}

/// Why a fault is refused on a stack and a testbed; lines before it are the experiment's.
fn reason(testbed: &str, stack: &str, lines: &str, fault: &str) -> String {
    // A second stack that can do it lets the plan be.
    let text = format!(
        "{}\n[[experiment]]\nname = \"other\"\nworkload = \"stream\"\nrate = \"100 Hz\"\nstacks = \"{stack}\"\n",
        stream(stack, &format!("{lines}\n{fault}"))
    );
    let plan = planned_on(testbed, &text);
    let refused = plan.refused.iter().find(|r| r.experiment == "x");
    refused.expect("it is planned").reason.to_string()
}

#[test]
fn mistakes_are_told_with_their_place() {
    let cases: Vec<(&str, String)> = vec![
        ("no list", "[experiment.fault]\nwhat = \"kill\"".into()),
        ("nothing said", "[[experiment.fault]]".into()),
        ("a typo in a key", fault("kill", "sender", "whom = 1")),
        ("no such fault", fault("restat", "sender", "for = \"1 s\"")),
        ("nobody", fault("kill", "sendr", "")),
        ("nobody of that number", fault("kill", "receiver 0", "")),
        ("no time", fault("stop", "sender", "")),
        ("a time too much", fault("kill", "sender", "for = \"1 s\"")),
        ("no times", fault("stop", "sender", "for = []")),
        (
            "a time of nothing",
            fault("stop", "sender", "for = \"0 s\""),
        ),
        (
            "a loss of nothing",
            fault("loss", "sender", "for = \"1 s\""),
        ),
        (
            "a loss of more than all",
            fault("loss", "sender", "for = \"1 s\"\nshare = 2"),
        ),
        (
            "a share of a blackout",
            fault("blackout", "sender", "for = \"1 s\"\nshare = 0.5"),
        ),
        (
            "a storm of one",
            fault("storm", "receiver 2", "for = \"1 s\""),
        ),
        (
            "a join of a sender",
            fault("join", "sender 2", "for = \"1 s\""),
        ),
        (
            "bursts of less than a packet",
            fault("loss", "sender", "for = \"1 s\"\nshare = 0.5\nburst = 0.5"),
        ),
        (
            "bursts too short for the share",
            fault("loss", "sender", "for = \"1 s\"\nshare = 0.9\nburst = 2"),
        ),
        (
            "a rate of nothing",
            fault("rate", "sender", "for = \"1 s\""),
        ),
        (
            "a way of a stop",
            fault("stop", "sender", "for = \"1 s\"\nway = \"in\""),
        ),
        (
            "no such way",
            fault("blackout", "sender", "for = \"1 s\"\nway = \"inn\""),
        ),
        (
            "the link of a daemon",
            fault("link-down", "daemon", "for = \"1 s\""),
        ),
        (
            "beyond the window",
            fault("stop", "sender", "for = [\"2 s\", \"9 s\"]"),
        ),
    ];
    let cases: Vec<_> = cases
        .iter()
        .map(|(what, text)| (*what, refusal_of(plan_text(&stream("tcp", text)))))
        .collect();
    snapshot!(shown_all(&cases));
}

#[test]
fn what_faults_do_not_go_with_is_told_with_its_place() {
    let stop = fault("stop", "receiver", "for = \"1 s\"");
    let with = |lines: &str| {
        refusal_of(plan_text(&suite(&format!(
            "stacks = \"tcp\"\n{lines}\n{stop}"
        ))))
    };
    let flows = with("[[experiment.flow]]\nname = \"a\"\nworkload = \"stream\"\nrate = \"1 kHz\"");
    let search = refusal_of(plan_with(&stream("tcp", &stop), &[], |r| {
        r.search = Some(Search {
            raise: Raised::Rate,
            until: dyno_model::origin::Text {
                path: "limits.toml".into(),
                text: String::new(),
            },
            rules: Search::RULES,
        });
    }));
    snapshot!(shown_all(&[
        ("round trips", with("workload = \"ping-pong\"")),
        (
            "a window of messages",
            with("workload = \"stream\"\nrate = \"1 kHz\"\nmessages = 5000")
        ),
        ("flows", flows),
        ("a search", search),
    ]));
}

#[test]
fn faults_that_contradict_are_told() {
    let two = |a: &str, b: &str| refusal_of(plan_text(&stream("tcp", &format!("{a}\n{b}"))));
    let later = |what: &str, who: &str, at: &str, more: &str| {
        fault(what, who, more).replace("at = \"1 s\"", &format!("at = \"{at}\""))
    };
    let stop = fault("stop", "sender", "for = \"2 s\"");
    snapshot!(shown_all(&[
        (
            "both at once",
            two(&stop, &later("restart", "sender", "2 s", "for = \"1 s\""))
        ),
        (
            "one right behind the other, which is longest here",
            two(
                &fault("stop", "sender", "for = [\"1 s\", \"2 s\"]"),
                &later("stop", "sender", "3 s", "for = \"1 s\"")
            )
        ),
        (
            "a host and a process",
            two(&stop, &later("freeze", "receiver", "2 s", "for = \"1 s\""))
        ),
        (
            "before it is there",
            two(
                &fault("storm", "receiver", "for = \"1 s\""),
                &later("join", "receiver 2", "5 s", "for = \"1 s\"")
            )
        ),
        (
            "a storm after one of them has left",
            two(
                &fault("join", "receiver 2", "for = \"1 s\""),
                &later("storm", "receiver", "5 s", "for = \"1 s\"")
            )
        ),
        (
            "after its end",
            two(
                &fault("kill", "sender", ""),
                &later("stop", "sender", "5 s", "for = \"1 s\"")
            )
        ),
    ]));
    // Others may be struck meanwhile, a link beside a process, and the same one when it is over.
    for later in [
        later("stop", "receiver", "2 s", "for = \"1 s\""),
        later("blackout", "receiver", "2 s", "for = \"1 s\""),
        later("stop", "sender", "3100 ms", "for = \"1 s\""),
    ] {
        let apart = stream("tcp", &format!("placement = \"host\"\n{stop}\n{later}"));
        let plan = planned_on("netns-1gbe", &apart);
        assert_eq!(plan.experiments[0].faults.len(), 2, "{later}");
    }
}

#[test]
fn cells_that_cannot_have_a_fault_are_left_out_with_the_reason() {
    let second = "for = \"1 s\"";
    let stop = fault("stop", "receiver", second);
    let cut = fault("link-down", "sender", second);
    let shown = [
        (
            "a receiver that is not there",
            reason(
                "local",
                "tcp",
                "topology = \"1-2\"",
                &fault("kill", "receiver 3", ""),
            ),
        ),
        (
            "a sender that is not there",
            reason(
                "local",
                "tcp",
                "topology = \"2-1\"",
                &fault("stop", "sender 3", second),
            ),
        ),
        (
            "a stack without a daemon",
            reason("local", "tcp", "", &fault("restart", "daemon", second)),
        ),
        (
            "another daemon",
            reason(
                "local",
                "zenoh-router",
                "",
                &fault("restart", "daemon RouDi", second),
            ),
        ),
        (
            "threads of one process",
            reason(
                "local",
                "tcp",
                "placement = \"thread\"",
                &fault("kill", "sender", ""),
            ),
        ),
        ("a machine without a link", reason("local", "tcp", "", &cut)),
        (
            "both on one of several hosts",
            reason("netns-1gbe", "tcp", "", &cut),
        ),
        (
            "virtual machines",
            reason("vm-pair", "tcp", "placement = \"host\"", &stop),
        ),
        (
            "a newcomer to nobody",
            reason("local", "tcp", "", &fault("join", "receiver", second)),
        ),
        ("one participant", reason("local", "null", "", &stop)),
        ("a chain", reason("local", "chain-sockets", "", &stop)),
        (
            "a slow sink",
            reason("local", "tcp", "sink_pause = \"1 ms\"", &stop),
        ),
    ];
    snapshot!(shown_all(&shown));
}

#[test]
fn no_fault_is_made_on_another_machine() {
    let host = |name: &str, keys: &str| format!("[[host]]\nname = \"{name}\"\n{keys}\n");
    let ssh = |n: u8| format!("reach = \"ssh\"\ndestination = \"h{n}\"\naddress = \"10.0.0.{n}\"");
    let local = |n: u8| format!("reach = \"local\"\naddress = \"10.0.0.{n}\"");
    for (hosts, what) in [
        ([ssh(1), ssh(2)], "reached by ssh"),
        (
            ["reach = \"vm\"".into(), "reach = \"vm\"".into()],
            "a virtual machine",
        ),
        (
            [local(1), format!("{}\nown_clock = true", local(2))],
            "on a clock of its own",
        ),
    ] {
        for kind in FaultKind::ALL {
            let time = if kind.info().lasts {
                "for = \"1 s\""
            } else {
                ""
            };
            let (who, more) = match kind {
                FaultKind::Loss => ("receiver", "share = 0.1"),
                FaultKind::Rate => ("receiver", "rate = \"1 Mbit/s\""),
                FaultKind::Join => ("receiver 2", ""),
                _ => ("receiver", ""),
            };
            let fault = fault(kind.as_str(), who, &format!("{time}\n{more}"));
            let lines = format!("placement = \"host\"\ntopology = \"1-2\"\n{fault}");
            let mut catalog = Catalog::builtin();
            catalog.add_suite("mine", "mine.toml", stream("tcp", &lines));
            let hosts = [host("near", &hosts[0]), host("far", &hosts[1])].concat();
            catalog.add_testbed("two", "two.toml", format!("description = \"two\"\n{hosts}"));
            let mut request = crate::common::request("mine");
            request.testbed = "two".into();
            let refused = refusal_of(plan(&catalog, &request, &adapters(), &facts()));
            let words: Vec<&str> = refused.split_whitespace().filter(|w| *w != "│").collect();
            let words = words.join(" ");
            for part in [
                format!("a {kind} is made and seen on this machine"),
                format!("is {what}; use a testbed of namespaces"),
            ] {
                assert!(words.contains(&part), "{kind}: {refused}");
            }
        }
    }
}

#[test]
fn a_link_without_a_rate_gets_no_other_one() {
    let slower = fault("rate", "sender", "for = \"1 s\"\nrate = \"1 Mbit/s\"");
    let text = stream("tcp", &format!("placement = \"host\"\n{slower}"));
    let mut catalog = Catalog::builtin();
    catalog.add_suite("mine", "mine.toml", &text);
    let hosts = "description = \"two\"\n[[host]]\nname = \"h\"\nreach = \"namespace\"\ncount = 2\n";
    catalog.add_testbed("plain", "plain.toml", hosts);
    let planned = |testbed: &str| {
        let mut request = crate::common::request("mine");
        request.testbed = testbed.into();
        plan(&catalog, &request, &adapters(), &facts())
    };
    let refused = refusal_of(planned("plain"));
    assert!(refused.contains("link of h1 has none"), "{refused}");
    let plan = planned("netns-1gbe").unwrap_or_else(|e| panic!("{}", shown(&e)));
    assert_eq!(plan.experiments[0].faults[0].rate_bits, Some(1_000_000));
}

#[test]
fn calls_with_faults_need_a_gap() {
    let calls = |gap: &str| {
        let text = stream("tcp", &fault("stop", "receiver", "for = \"1 s\""));
        plan_text(&text.replace("\"stream\"\nrate = \"100 Hz\"", &format!("\"call\"{gap}")))
    };
    let plan = calls("\ngap = \"10 ms\"\ntimeout = \"100 ms\"")
        .unwrap_or_else(|e| panic!("{}", shown(&e)));
    assert_eq!(plan.experiments[0].faults.len(), 1);
    let refused = shown(&calls("").unwrap_err());
    assert!(refused.contains("write a `gap`"), "{refused}");
    // The timeout that goes without saying is as long as the fault.
    let refused = shown(&calls("\ngap = \"10 ms\"").unwrap_err());
    assert!(refused.contains("recovery would be the wait"), "{refused}");
}

#[test]
fn faults_are_planned_in_order_of_time() {
    let text = stream(
        "tcp",
        &format!(
            "{}{}",
            fault(
                "loss",
                "receiver 2",
                "for = \"2 s\"\nshare = 0.25\nburst = 3"
            )
            .replace("\"1 s\"", "\"4 s\""),
            fault("blackout", "sender", "for = \"500 ms\"\nway = \"out\""),
        ),
    );
    let text = text.replace(
        "window",
        "topology = \"1-2\"\nplacement = \"host\"\nsettle = \"5 s\"\nwindow",
    );
    let plan = planned_on("netns-1gbe", &text);
    let [e] = plan.experiments.as_slice() else {
        panic!("{:#?}", plan.experiments)
    };
    let blackout = Fault {
        what: FaultKind::Blackout,
        who: Target::Sender { number: 0 },
        at: Nanos::from_secs(1),
        lasts: Nanos::from_millis(500),
        share: None,
        burst: None,
        rate_bits: None,
        way: Way::Out,
    };
    let loss = Fault {
        what: FaultKind::Loss,
        who: Target::Receiver { number: 1 },
        at: Nanos::from_secs(4),
        lasts: Nanos::from_secs(2),
        share: Some(0.25),
        burst: Some(3.0),
        rate_bits: None,
        way: Way::Both,
    };
    assert_eq!(e.faults, [blackout, loss]);
    assert_eq!(e.placement, Placement::Host);
    // It begins when it is due, and no floor stands beside it.
    assert_eq!((e.settle, e.floor), (None, None));
    assert_eq!(e.window, Extent::Duration(Nanos::from_secs(10)));
    assert!(
        said(&plan).iter().all(|w| !w.contains("floor")),
        "{:?}",
        plan.warnings
    );
}

#[test]
fn each_time_of_a_fault_makes_cells_of_its_own() {
    let text = stream(
        "tcp",
        &format!(
            "{}{}",
            fault("stop", "sender", "for = \"$times\""),
            fault("stop", "receiver", "for = [\"1 s\", \"3 s\"]"),
        ),
    );
    let text = format!("{text}\n[parameters]\ntimes = \"100 ms\"\n");
    let times = |set: &[(&str, &str)]| -> Vec<[u64; 2]> {
        let plan = plan_with(&text, set, |_| {}).unwrap_or_else(|e| panic!("{}", shown(&e)));
        let of = |f: &Fault| f.lasts.0 / 1_000_000;
        let all = plan.experiments.iter();
        all.map(|e| [of(&e.faults[0]), of(&e.faults[1])]).collect()
    };
    assert_eq!(times(&[]), [[100, 1000], [100, 3000]]);
    let both = [[100, 1000], [100, 3000], [200, 1000], [200, 3000]];
    assert_eq!(times(&[("times", "[\"100 ms\", \"200 ms\"]")]), both);
}

#[test]
fn an_outage_is_compared_with_one_of_the_same_length() {
    let lasts = fault("stop", "sender", "for = [\"1 s\", \"3 s\"]");
    let text = stream("tcp", &lasts).replace("\"tcp\"", "[\"tcp\", \"udp\"]");
    let plan = plan_with(&text, &[], |request| {
        request.against = Some(Against::Stack { name: "udp".into() });
    });
    let plan = plan.unwrap_or_else(|e| panic!("{}", shown(&e)));
    let news = plan.experiments.iter().filter(|e| e.stack == "tcp");
    let lasts: Vec<[Nanos; 2]> = news
        .map(|new| {
            let base = plan.experiment(new.base.unwrap()).unwrap();
            [new, base].map(|e| e.faults[0].lasts)
        })
        .collect();
    assert_eq!(lasts, [1, 3].map(|s| [Nanos::from_secs(s); 2]));
}

#[test]
fn more_scenarios_than_a_run_may_have_are_refused() {
    let many: Vec<String> = (1..=400).map(|n| format!("\"{n} us\"")).collect();
    let many = format!("for = [{}]", many.join(", "));
    let text = stream(
        "tcp",
        &format!(
            "{}{}",
            fault("stop", "sender", &many),
            fault("stop", "receiver", &many)
        ),
    );
    let error = plan_text(&text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the suite has 160000 experiments; a run has at most 100000"
    );
}

#[test]
fn the_short_outage_has_twenty_trials_of_three_faults() {
    let mut request = crate::common::request("outage");
    request.testbed = "netns-1gbe".into();
    request.set = vec![("scale".into(), "short".into())];
    let plan = plan(&Catalog::builtin(), &request, &adapters(), &facts());
    let plan = plan.unwrap_or_else(|e| panic!("{}", shown(&e)));
    let often: BTreeSet<&str> = plan
        .experiments
        .iter()
        .filter(|e| e.trials == 20)
        .map(|e| e.name.as_str())
        .collect();
    let three = ["receiver-restarted", "sender-restarted", "link-down"];
    assert_eq!(often, BTreeSet::from(three));
    assert!(plan.experiments.iter().all(|e| e.faults.len() == 1));
    // A part of the suite is planned though some of its stacks can do nothing of it.
    request.experiments = Some(vec!["link-down".into()]);
    let part = dyno_plan::plan(&Catalog::builtin(), &request, &adapters(), &facts()).unwrap();
    assert!(part.experiments.iter().all(|e| e.stack == "tcp"));
    assert!(part.refused.iter().any(|r| r.stack == "iceoryx2"));
    // Both sides of a link are apart, and what strikes processes needs no network.
    for e in &plan.experiments {
        let is_of_link = ["link-down", "blackout"].contains(&e.name.as_str());
        let apart = e.placement == Placement::Host;
        assert_eq!(apart, is_of_link, "{} on {}", e.name, e.stack);
    }
}

#[test]
fn stacks_state_their_timeouts_and_who_set_them() {
    let read = |stack: &str| {
        let stack = Catalog::builtin().read_stack(stack, &adapters()).unwrap();
        let all = stack.timeouts.into_iter();
        all.map(|t| (t.by.as_str(), t.name, t.time.0 / 1_000_000))
            .collect::<Vec<_>>()
    };
    let zenoh = [
        ("stack", "reconnect".to_owned(), 10),
        ("library", "lease".to_owned(), 10_000),
        ("library", "keep-alive".to_owned(), 2_500),
    ];
    assert_eq!(read("zenoh-udp"), zenoh);
    assert_eq!(read("tcp"), [("kernel", "retransmission".to_owned(), 200)]);
    assert_eq!(read("udp"), []);
}

#[test]
fn all_stacks_of_an_experiment_wait_alike_for_whole_periods_of_their_own() {
    let wait = |stacks: &[&str], window: &str| {
        let mut catalog = Catalog::builtin();
        for stack in ["7 s", "3 s"] {
            let text = format!(
                "description = \"a lease\"\nadapter = \"udp\"\nwaits = [\"block\"]\n\
                 [timeouts.library]\nlease = {{ time = \"{stack}\", text = \"gone\" }}\n"
            );
            let name = format!("lease-{}", &stack[..1]);
            catalog.add_stack(&name, &format!("{name}.toml"), &text);
        }
        let text = stream("tcp", &fault("kill", "receiver", "")).replace("\"10 s\"", window);
        let text = text.replace("\"tcp\"", &format!("{stacks:?}"));
        catalog.add_suite("mine", "mine.toml", &text);
        let plan = plan(
            &catalog,
            &crate::common::request("mine"),
            &adapters(),
            &facts(),
        );
        let plan = plan.unwrap_or_else(|e| panic!("{}", shown(&e)));
        let of = |stack: &&str| {
            let e = plan.experiments.iter().find(|e| e.stack == **stack);
            plan.longest_phase(e.unwrap()).0 / 1_000_000
        };
        stacks.iter().map(of).collect::<Vec<_>>()
    };
    let all = ["udp", "tcp", "lease-3", "lease-7"];
    assert_eq!(wait(&all, "\"10 s\""), [7_000, 7_000, 6_000, 7_000]);
    // A window that is shorter covers a part of the longest one.
    assert_eq!(wait(&all, "\"5 s\""), [5_000, 5_000, 3_000, 5_000]);
    assert_eq!(wait(&["udp", "tcp"], "\"10 s\""), [200, 200]);
    assert_eq!(wait(&["udp"], "\"10 s\""), [0]);
}

#[test]
fn a_refused_cell_names_its_fault() {
    let plan = planned_on(
        "local",
        &format!(
            "{}\n[[experiment]]\nname = \"y\"\nworkload = \"stream\"\nrate = \"1 kHz\"\nstacks = \"tcp\"\n",
            stream("tcp", &fault("kill", "receiver 2", ""))
        ),
    );
    let [refusal] = plan.refused.as_slice() else {
        panic!("{:#?}", plan.refused)
    };
    assert!(
        refusal.factors.ends_with(", receiver 2 killed"),
        "{refusal:?}"
    );
    assert!(matches!(refusal.reason, RefusalReason::FaultNobody { .. }));
}
