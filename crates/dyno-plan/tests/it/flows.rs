//! Flows of an experiment: how they are read, and what is refused of them.

use crate::common::{plan_text, plan_with, refusal_of, said};
use dyno_model::{Arrivals, Experiment, Nanos, Phase, Plan, Processes, Workload};

/// An experiment on `tcp` with these lines before its flows, and these flows.
fn text(experiment: &str, flows: &[&str]) -> String {
    let flows: Vec<String> = flows
        .iter()
        .map(|lines| format!("[[experiment.flow]]\n{lines}\n"))
        .collect();
    format!(
        "title = \"test\"\n[[experiment]]\nname = \"drive\"\nwait = \"block\"\ncpus = \"none\"\n\
         stacks = [\"tcp\"]\n{experiment}\n{}",
        flows.concat()
    )
}

const CONTROL: &str =
    "name = \"control\"\nworkload = \"stream\"\npayload = \"64 B\"\ncycle = \"1 ms\"";
const CAMERA: &str =
    "name = \"camera\"\nworkload = \"stream\"\npayload = \"1 MB\"\nrate = \"50 Hz\"";
const DIAG: &str = "name = \"diag\"\nworkload = \"ping-pong\"\ngap = \"5 ms\"\ncount = 3";

fn flows(plan: &Plan) -> Vec<&Experiment> {
    plan.experiments
        .iter()
        .filter(|e| e.flow.is_some())
        .collect()
}

#[track_caller]
fn refused(experiment: &str, flows: &[&str], says: &[&str]) {
    let said = refusal_of(plan_text(&text(experiment, flows)));
    let flat: Vec<&str> = said.split_whitespace().collect();
    let flat = flat.join(" ");
    for words in says {
        assert!(flat.contains(words), "{words:?} is not in:\n{said}");
    }
    let errors = said.matches('×').count();
    assert_eq!(errors, 1, "one mistake, one error:\n{said}");
}

#[test]
fn each_flow_is_an_experiment_of_one_group() {
    let body = "name = \"body\"\nworkload = \"stream\"\npayload = \"32 B\"\ncycle = \"20 ms\"\n\
                jitter = \"2 ms\"\nphase = \"spread\"\ncount = 40";
    let text = text("processes = \"per-side\"", &[CONTROL, DIAG, body]);
    let plan = plan_text(&text).unwrap();
    let all = flows(&plan);
    let names: Vec<_> = all.iter().map(|e| e.flow_name().unwrap()).collect();
    assert_eq!(names, ["control", "diag", "body"]);
    assert!(
        all.iter()
            .all(|e| e.name == "drive" && e.lead() == all[0].id)
    );
    let of = |e: &Experiment| e.flow.clone().unwrap();
    assert_eq!(of(all[2]).jitter, Nanos::from_millis(2));
    assert_eq!(of(all[2]).phase, Phase::Spread);
    assert_eq!(of(all[0]).processes, Processes::PerSide);
    let Workload::Stream { rate, arrivals } = all[0].workload else {
        panic!("{:?}", all[0].workload)
    };
    assert_eq!((rate.hz(), arrivals), (1_000.0, Arrivals::Fixed));
    assert_eq!(all[1].topology.to_string(), "1-1x3");
    // One trial of all: 44 senders in one process, 44 receivers in the other.
    let graph = plan.graph(all[2]);
    assert_eq!(graph.participants.len(), 2 * (1 + 3 + 40));
    assert_eq!(graph.processes().len(), 2);
    assert_eq!(graph, plan.graph(all[0]));
    // Channels there, and those of the round trips back.
    assert_eq!(graph.channels.len(), 44 + 3);
}

#[test]
fn participants_of_all_flows_share_the_cpus() {
    let text = text("", &[CONTROL, CAMERA]).replace("cpus = \"none\"", "cpus = \"auto\"");
    let plan = plan_text(&text).unwrap();
    let cpus: Vec<_> = flows(&plan).iter().map(|e| e.cpus.clone()).collect();
    assert_eq!(cpus, [[0, 1], [0, 1]]);
    let graph = plan.graph(flows(&plan)[1]);
    let pinned: Vec<_> = graph.participants.iter().map(|p| p.cpu).collect();
    assert_eq!(pinned, [Some(0), Some(1), Some(0), Some(1)]);
}

#[test]
fn each_cell_of_the_matrix_is_a_group() {
    let matrix = "[experiment.matrix]\nplacement = [\"thread\", \"process\"]";
    let plan = plan_text(&text(matrix, &[CONTROL, CAMERA])).unwrap();
    let leads: Vec<u32> = flows(&plan).iter().map(|e| e.lead().0).collect();
    assert_eq!(leads, [0, 0, 2, 2]);
    let placements: Vec<_> = flows(&plan).iter().map(|e| e.placement.as_str()).collect();
    assert_eq!(placements, ["thread", "thread", "process", "process"]);
}

#[test]
fn alone_adds_each_flow_by_itself() {
    let plan = plan_with(&text("", &[CONTROL, DIAG]), &[], |r| r.alone = true).unwrap();
    let all = flows(&plan);
    assert_eq!(all.len(), 4);
    for (beside, alone) in all[..2].iter().zip(&all[2..]) {
        assert_eq!(beside.flow.as_ref().unwrap().alone, Some(alone.id));
        assert_eq!(alone.lead(), alone.id);
        assert_eq!(alone.topology, beside.topology);
        assert_eq!(plan.together(alone).len(), 1);
        assert!(alone.added && alone.flow.as_ref().unwrap().by_itself);
    }
    let none = "title = \"t\"\n[[experiment]]\nname = \"x\"\nworkload = \"ping-pong\"\nstacks = [\"tcp\"]\n";
    let said = refusal_of(plan_with(none, &[], |r| r.alone = true));
    assert!(
        said.contains("no experiment of this run has flows"),
        "{said}"
    );
}

#[test]
fn a_repetition_has_groups_of_its_own() {
    let plan = plan_with(&text("", &[CONTROL, CAMERA]), &[], |r| {
        r.against = Some(dyno_model::Against::Same);
    });
    let plan = plan.unwrap();
    let leads: Vec<u32> = flows(&plan).iter().map(|e| e.lead().0).collect();
    assert_eq!(leads, [0, 0, 2, 2]);
    let bases: Vec<_> = plan.experiments[..2]
        .iter()
        .map(|e| e.base.unwrap().0)
        .collect();
    assert_eq!(bases, [2, 3]);
}

#[test]
fn mistakes_are_said_each_with_its_place() {
    refused(
        "",
        &[CONTROL, CONTROL],
        &["two flows are called \"control\"", "the name is taken"],
    );
    let fast = CONTROL.replace("1 ms", "5 ns");
    refused("", &[&fast], &["`cycle` must be at least 10 ns"]);
    let fast = CAMERA.replace("50 Hz", "1000 MHz");
    refused(
        "",
        &[&fast],
        &["no clock here can hold a schedule finer than 10 ns"],
    );
    refused(
        "workload = \"stream\"",
        &[CONTROL],
        &["`workload` is set for the experiment, but flows have their own"],
    );
    refused(
        "payload = \"8 kB\"",
        &[CONTROL],
        &["`payload` is set in the flow and in its experiment"],
    );
    let both = format!("{CONTROL}\nrate = \"1 kHz\"");
    refused(
        "",
        &[&both],
        &["the pace is given as a rate and as a cycle"],
    );
    let own = format!("{CONTROL}\nwindow = \"1 s\"");
    refused("", &[&own], &["`window` cannot be set for a single flow"]);
    refused("messages = 100", &[CONTROL], &["write `window`"]);
    let matrix = "[experiment.matrix]\nrate = [\"1 kHz\"]";
    refused(matrix, &[CAMERA], &["`rate` is not a factor of all flows"]);
    let start = "name = \"a\"\nworkload = \"first-message\"";
    refused("", &[start], &["a first-message cannot be a flow"]);
    let unknown = format!("{CONTROL}\ncycel = \"1 ms\"");
    refused("", &[&unknown], &["`cycel`", "did you mean `cycle`"]);
    let wide = format!("{CONTROL}\njitter = \"1 ms\"");
    refused(
        "",
        &[&wide],
        &[
            "a jitter of 1.00 ms does not fit",
            "write less than the cycle",
        ],
    );
    let many = format!("{CONTROL}\ncount = 10000");
    refused("", &[&many], &["`count`", "4096"]);
    refused(
        "",
        &[&format!("{DIAG}\njitter = \"1 ms\"")],
        &["a ping-pong has no `jitter`"],
    );
    let listed = text("", &[CONTROL]).replace("cpus = \"none\"", "cpus = [0, 1]");
    assert!(refusal_of(plan_text(&listed)).contains("flows cannot have a list of CPUs"));
}

#[test]
fn a_flow_may_read_what_another_one_sends() {
    const SLOW: &str = "name = \"slow\"\nreads = \"control\"\nreaders = 2\nsink_pause = \"5 ms\"\n";
    let plan = plan_text(&text("", &[CONTROL, SLOW])).unwrap();
    let all = flows(&plan);
    let [control, slow] = [0, 1].map(|i| all[i]);
    assert_eq!(slow.workload, control.workload);
    assert_eq!(
        (slow.topology.to_string(), control.sink_pause),
        ("1-2".into(), None)
    );
    assert_eq!(
        slow.flow.as_ref().unwrap().reads.as_deref(),
        Some("control")
    );
    let graph = plan.graph(slow);
    assert_eq!(graph.channels.len(), 1);
    assert_eq!(graph.channels[0].readers, [1, 2, 3]);

    // By itself it has a sender, where the one that it reads is.
    let auto = text("", &[CONTROL, SLOW]).replace("cpus = \"none\"", "cpus = \"auto\"");
    let plan = plan_with(&auto, &[], |r| r.alone = true).unwrap();
    let all = flows(&plan);
    let (control, slow, alone) = (all[0], all[1], all[3]);
    assert_eq!((control.cpus.len(), slow.cpus.len()), (2, 2));
    assert_eq!(alone.cpus, [&control.cpus[..1], &slow.cpus[..]].concat());
    let pinned = plan.graph(alone).participants;
    assert!(
        pinned
            .iter()
            .map(|p| p.cpu)
            .eq(alone.cpus.iter().copied().map(Some))
    );

    // It has no sender that a CPU is missing for.
    let other = "name = \"other\"\nreads = \"control\"";
    let spin = text("", &[CONTROL, other]).replace("\"block\"", "\"spin\"");
    let warnings = said(&plan_text(&spin).unwrap());
    assert!(
        warnings.iter().any(|w| w.contains("up to 3 on 2")),
        "{warnings:?}"
    );

    let of = |line: &str| SLOW.replace("reads = \"control\"", line);
    refused(
        "",
        &[CONTROL, &of("reads = \"camera\"")],
        &["no flow before this one is called \"camera\""],
    );
    refused("", &[SLOW, CONTROL], &["no flow before this one"]);
    refused(
        "",
        &[DIAG, &of("reads = \"diag\"")],
        &["\"diag\" is a ping-pong, which is answered"],
    );
    let paced = format!("{SLOW}rate = \"5 Hz\"\n");
    refused(
        "",
        &[CONTROL, &paced],
        &["`rate` belongs to the flow that sends"],
    );
    let deaf = format!("{CONTROL}\nreaders = 2\n");
    refused(
        "",
        &[&deaf],
        &["`readers` belongs to a flow that reads another one"],
    );
    let second = SLOW.replace("slow", "second").replace("control", "slow");
    refused(
        "",
        &[CONTROL, SLOW, &second],
        &["\"slow\" has no sender of its own"],
    );
}

#[test]
fn payloads_of_several_sizes_are_read_and_loads_count_their_mean() {
    let mixed = CAMERA.replace(
        "\"1 MB\"",
        "[{ size = \"1 MB\", weight = 1 }, { size = \"100 kB\", weight = 2 }, \"64 B\"]",
    );
    let range = CONTROL.replace("\"64 B\"", "{ from = \"32 B\", to = \"4 kB\" }");
    let plan = plan_text(&text("", &[&range, &mixed])).unwrap();
    let all = flows(&plan);
    assert_eq!(all[0].payload_text(), "32 B to 4 kB");
    assert_eq!(
        (all[0].payload.bytes(), all[0].mean_bytes()),
        (4_000, 2_016.0)
    );
    assert_eq!(all[1].payload.bytes(), 1_000_000);
    assert_eq!(all[1].mean_bytes(), (1e6 + 2.0 * 1e5 + 64.0) / 4.0);
    let with = |payload: &str| CONTROL.replace("\"64 B\"", payload);
    refused(
        "",
        &[&with("[]")],
        &["a list of payloads has 1 to 64 sizes, not 0"],
    );
    refused(
        "",
        &[&with("[\"16 B\", \"1 kB\"]")],
        &["no room for the stamps"],
    );
    refused(
        "",
        &[&with("{ from = \"1 kB\", to = \"64 B\" }")],
        &["1 kB is above 64 B"],
    );
    refused(
        "",
        &[&with("{ from = \"1 kB\" }")],
        &["the payload has no `to`"],
    );
    refused(
        "",
        &[&with("[{ size = \"1 kB\", weight = 0 }]")],
        &["`weight` must be from 1"],
    );
    let closed = format!("{DIAG}\npayload = [\"64 B\", \"1 kB\"]");
    refused("", &[&closed], &["a ping-pong has messages of one size"]);
}

#[test]
fn what_the_command_line_would_give_to_all_flows_alike_is_refused() {
    for (set, says) in [
        (
            ("rate", "1 kHz"),
            "`rate` belongs to a single flow, but `drive` has several",
        ),
        (("payload", "1 kB"), "`payload` belongs to a single flow"),
        (("parallel", "4"), "write `count` in a flow"),
    ] {
        let said = refusal_of(plan_with(&text("", &[CONTROL, CAMERA]), &[set], |_| {}));
        let flat: Vec<&str> = said.split_whitespace().collect();
        assert!(flat.join(" ").contains(says), "{said}");
    }
    // Of flows that are alike in it, it is one.
    let alike = CAMERA.replace("1 MB", "64 B");
    let set = plan_with(
        &text("", &[CONTROL, &alike]),
        &[("payload", "1 kB")],
        |_| {},
    )
    .unwrap();
    assert!(flows(&set).iter().all(|e| e.payload.bytes() == 1_000));
}

#[test]
fn a_phase_beyond_the_window_is_refused() {
    let late = format!("{CONTROL}\nphase = \"3 s\"");
    let conditions = "window = \"1 s\"\nwarmup = \"1 s\"";
    refused(
        conditions,
        &[&late],
        &["no message is due before the window ends"],
    );
}

#[test]
fn warnings_count_the_participants_of_all_flows() {
    let body =
        "name = \"body\"\nworkload = \"stream\"\npayload = \"32 B\"\ncycle = \"20 ms\"\ncount = 40";
    let apart = text("placement = \"host\"", &[CONTROL, body]);
    let plan = plan_with(&apart, &[], |r| r.testbed = "netns-1gbe".into()).unwrap();
    let said = crate::common::said(&plan)
        .into_iter()
        .find(|w| w.contains("participants on hosts that share"));
    assert!(
        said.is_some_and(|w| w.starts_with("1 of 1 experiments have up to 82 participants")),
        "{:#?}",
        plan.warnings
    );
}

#[test]
fn more_flows_than_a_stack_has_channels_are_refused_with_both_numbers() {
    let mut catalog = dyno_plan::Catalog::builtin();
    let stack = "description = \"few\"\nadapter = \"tcp\"\nwaits = [\"block\"]\nchannels = 64\n";
    catalog.add_stack("few", "few.toml", stack);
    let many = format!("{CONTROL}\ncount = 4000");
    let more = format!("{CAMERA}\ncount = 4000");
    let text = text("", &[&many, &more, DIAG]).replace("[\"tcp\"]", "[\"few\"]");
    catalog.add_suite("mine", "mine.toml", &text);
    let request = crate::common::request("mine");
    let said = refusal_of(dyno_plan::plan(
        &catalog,
        &request,
        &crate::common::adapters(),
        &crate::common::facts(),
    ));
    let flat: Vec<&str> = said.split_whitespace().collect();
    assert!(
        flat.join(" ")
            .contains("the flows take 8006 channels, and few has at most 64"),
        "{said}"
    );
}

#[test]
fn a_link_carries_the_flows_together() {
    // 3.2 Gbit/s of two cameras, of which each alone would be too much, too; and 0.8 of two that fit alone.
    let half = "name = \"half\"\nworkload = \"stream\"\npayload = \"1 MB\"\nrate = \"75 Hz\"\nplacement = \"host\"";
    let other = half.replace("half", "other");
    let plan = plan_with(&text("", &[half, &other]), &[], |r| {
        r.testbed = "netns-1gbe".into()
    });
    let plan = plan.unwrap();
    let said: Vec<_> = crate::common::said(&plan)
        .into_iter()
        .filter(|w| w.contains("1.2 G"))
        .collect();
    assert_eq!(said.len(), 1, "{:#?}", plan.warnings);
}
