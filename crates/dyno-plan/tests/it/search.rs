//! Ladders of a search, slow consumers, and stacks with few channels.

use crate::common::{adapters, facts, plan_text, plan_with, refusal_of, request, suite};
use dyno_model::origin::Text;
use dyno_model::{Nanos, Plan, Raised, Search};
use dyno_plan::{Catalog, PlanError, plan};

fn searched(lines: &str, raise: Raised) -> Result<Plan, PlanError> {
    let text = suite(&format!("stacks = [\"pipe\"]\nwait = \"block\"\n{lines}"));
    plan_with(&text, &[], |request| {
        let until = Text {
            path: "limits.toml".into(),
            text: String::new(),
        };
        request.search = Some(Search {
            raise,
            until,
            rules: Search::RULES,
        });
    })
}

#[test]
fn a_search_has_a_ladder_for_each_combination_of_the_other_factors() {
    let lines = "workload = \"stream\"\nrate = \"1 kHz\"\n[experiment.matrix]\npayload = [\"64 B\", \"1 KiB\"]";
    let plan = searched(lines, Raised::Rate).unwrap();
    let ladders = plan.ladders();
    assert_eq!(ladders.len(), 2);
    for ladder in &ladders {
        assert_eq!(ladder.values[0], 1_000.0);
        assert!(ladder.values.is_sorted());
        let first = plan.experiment(ladder.experiments[0]).unwrap();
        let same = |id| plan.experiment(id).unwrap().payload == first.payload;
        assert!(ladder.experiments.iter().all(|id| same(*id)));
    }
    // No floors, and no trial before the search asks for it.
    assert!(
        plan.experiments
            .iter()
            .all(|e| e.floor.is_none() && e.stack == "pipe")
    );
    assert_eq!(plan.trial_count(), 0);
}

#[test]
fn clients_stand_where_they_call_or_receive() {
    let stream = searched("workload = \"stream\"\nrate = \"1 kHz\"", Raised::Clients).unwrap();
    let call = searched("workload = \"call\"", Raised::Clients).unwrap();
    let last = |plan: &Plan| plan.experiments.last().unwrap().topology.to_string();
    assert_eq!((last(&stream), last(&call)), ("1-64".into(), "64-1".into()));
    for plan in [&stream, &call] {
        let [ladder] = plan.ladders().try_into().unwrap();
        assert_eq!(ladder.values[..4], [1.0, 2.0, 3.0, 4.0]);
    }
}

#[test]
fn a_factor_that_is_not_there_or_has_several_values_is_refused() {
    let trip = refusal_of(searched("workload = \"ping-pong\"", Raised::Rate));
    assert!(trip.contains("a ping-pong has no rate to raise"), "{trip}");
    let lines = "workload = \"stream\"\n[experiment.matrix]\nrate = [\"1 kHz\", \"2 kHz\"]";
    let several = refusal_of(searched(lines, Raised::Rate));
    assert!(
        several.contains("2 values of the searched factor: 1 kHz, 2 kHz"),
        "{several}"
    );
}

#[test]
fn a_sink_pauses_where_it_can_sleep() {
    let stream = |more: &str| {
        let lines = "workload = \"stream\"\nrate = \"1 kHz\"\nsink_pause = \"100 ms\"\n";
        plan_text(&suite(&format!("{lines}{more}")))
    };
    let plan = stream("stacks = [\"pipe\"]\nwait = \"block\"").unwrap();
    let pause = Some(Nanos::from_millis(100));
    assert!(plan.experiments.iter().all(|e| e.sink_pause == pause));
    let spins = refusal_of(stream("stacks = [\"pipe\"]\nwait = \"spin\""));
    assert!(
        spins.contains("`sink_pause` is for a sink that sleeps"),
        "{spins}"
    );
    let alone = refusal_of(stream("stacks = [\"null\"]\nwait = \"spin\""));
    assert!(
        alone.contains("no second participant that could be slow"),
        "{alone}"
    );
    let trip = suite("stacks = [\"pipe\"]\nworkload = \"ping-pong\"\nsink_pause = \"100 ms\"");
    let trip = refusal_of(plan_text(&trip));
    assert!(trip.contains("sink_pause"), "{trip}");
}

#[test]
fn a_sink_has_a_cycle_where_it_can_look() {
    let stream = |more: &str| {
        let lines = "workload = \"stream\"\nrate = \"1 kHz\"\nsink_cycle = \"100 ms\"\n";
        plan_text(&suite(&format!("{lines}{more}")))
    };
    let plan = stream("stacks = [\"pipe\"]\nwait = \"spin\"").unwrap();
    let cycle = Some(Nanos::from_millis(100));
    assert!(plan.experiments.iter().all(|e| e.sink_cycle == cycle));
    for (lines, reason) in [
        (
            "stacks = [\"pipe\"]\nwait = \"block\"",
            "is for a sink that polls",
        ),
        (
            "stacks = [\"null\"]\nwait = \"spin\"",
            "no second participant that could poll",
        ),
        (
            "stacks = [\"pipe\"]\nwait = \"spin\"\ndrain = \"50 ms\"",
            "messages that arrive after the sink has polled for the last time",
        ),
    ] {
        let refused = refusal_of(stream(lines));
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn a_stack_with_fewer_channels_than_the_topology_wants_is_refused() {
    let mut catalog = Catalog::builtin();
    let stack = "description = \"few\"\nadapter = \"tcp\"\nwaits = [\"block\"]\nchannels = 3\n";
    catalog.add_stack("few", "few.toml", stack);
    let lines = "stacks = [\"few\"]\nworkload = \"stream\"\nrate = \"1 kHz\"\ncpus = \"none\"\n";
    let text = suite(&format!(
        "{lines}[experiment.matrix]\ntopology = [\"3-1\", \"4-1\"]"
    ));
    catalog.add_suite("mine", "mine.toml", &text);
    let plan = plan(&catalog, &request("mine"), &adapters(), &facts()).unwrap();
    let [refused] = plan.refused.as_slice() else {
        panic!("{:#?}", plan.refused)
    };
    assert!(refused.factors.contains("4-1"), "{refused:?}");
    assert!(
        refused
            .reason
            .to_string()
            .contains("few has 3 channels, but 4 are needed"),
        "{refused:?}"
    );
}
