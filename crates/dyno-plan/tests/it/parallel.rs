//! Exchanges that stand side by side: how many, on which CPUs, and what is refused.

use crate::common::{plan_text, refusal_of, suite};
use dyno_model::{Experiment, Plan, Role};

/// A ping-pong over pipes, which block, with these further lines; two CPUs, 0 and 1.
fn planned(lines: &str) -> Plan {
    let text = suite(&format!(
        "workload = \"ping-pong\"\nstacks = [\"pipe\"]\nwait = \"block\"\n{lines}"
    ));
    plan_text(&text).unwrap()
}

fn cells(plan: &Plan) -> Vec<(String, Vec<u32>)> {
    let own = |e: &&Experiment| e.stack == "pipe";
    let cell = |e: &Experiment| (e.topology.to_string(), e.cpus.clone());
    plan.experiments.iter().filter(own).map(cell).collect()
}

#[test]
fn a_pair_on_each_cpu_is_as_many_exchanges_on_cpus_of_their_own() {
    let plan = planned("cpus = [0, 0]\n[experiment.matrix]\nparallel = [1, \"each-cpu\"]");
    assert_eq!(
        cells(&plan),
        [
            ("1-1".to_owned(), vec![0, 0]),
            ("1-1x2".to_owned(), vec![0, 0, 1, 1])
        ]
    );
    let several = &plan.experiments[1];
    let graph = plan.graph(several);
    let said: Vec<_> = graph
        .participants
        .iter()
        .map(|p| (p.exchange, p.role, p.cpu))
        .collect();
    let (ping, pong) = (Role::Initiator, Role::Echo);
    assert_eq!(
        said,
        [
            (0, ping, Some(0)),
            (0, pong, Some(0)),
            (1, ping, Some(1)),
            (1, pong, Some(1))
        ]
    );
    // The floor stands there as often.
    let floor = several.floor.and_then(|id| plan.experiment(id)).unwrap();
    assert_eq!(floor.topology, several.topology);
    assert_eq!(floor.cpus, several.cpus);
}

#[test]
fn where_each_participant_has_a_cpu_there_is_room_for_one_pair() {
    let plan = planned("[experiment.matrix]\nparallel = [1, \"each-cpu\"]");
    assert_eq!(cells(&plan), [("1-1".to_owned(), vec![0, 1])]);
    let plan = planned("cpus = \"none\"\nparallel = \"each-cpu\"");
    assert_eq!(cells(&plan), [("1-1".to_owned(), vec![])]);
}

#[test]
fn more_cpus_than_there_are_are_refused() {
    let refused = |lines: &str, why: &str| {
        let text = suite(&format!(
            "workload = \"ping-pong\"\nwait = \"block\"\nstacks = [\"pipe\"]\n{lines}"
        ));
        let said = refusal_of(plan_text(&text));
        let flat: Vec<&str> = said.split_whitespace().collect();
        assert!(flat.join(" ").contains(why), "{lines}: {said}");
    };
    refused(
        "cpus = [0, 0]\nparallel = 3",
        "3 CPUs at once are more than the 2 available",
    );
    refused("parallel = 2", "4 CPUs at once are more than the 2");
    refused(
        "cpus = \"none\"\nparallel = 2",
        "4 CPUs at once are more than the 2",
    );
    refused("parallel = 0", "number of copies");
    refused("topology = \"1-1x2\"", "write `parallel = 2`");
    refused(
        "cpus = [0, 0, 1, 1]\nparallel = 2",
        "topology 1-1 has 2 participants",
    );
}

#[test]
fn who_plays_both_sides_alone_does_not_stand_there_twice() {
    let text = suite("workload = \"ping-pong\"\nstacks = [\"null\"]\ncpus = [0, 0]\nparallel = 2");
    let said = refusal_of(plan_text(&text));
    assert!(
        said.contains("plays both sides in one participant"),
        "{said}"
    );
}
