//! A factor that only this test knows is a setting of suites, though the planner does not name it.

use crate::common::{plan_text, refusal_of, suite};
use dyno_model::factors::{Factor, Scope, Set, Setting, with_made_up};

/// No factor otherwise, so that its value can be one here.
static MADE_UP: Factor = Factor {
    title: "madness",
    setting: Some(Setting {
        key: "made_up",
        set: Set::Time(|e, time| e.raw_samples = time.0 as u32),
        scope: Scope::Sink,
    }),
    ..Factor::PLAIN
};

const ONE: &str = "workload = \"ping-pong\"\nstacks = [\"pipe\"]\nmade_up = \"7 ns\"";

#[test]
fn suites_set_a_factor_that_the_planner_does_not_know() {
    with_made_up(&MADE_UP, || {
        let plan = plan_text(&suite(ONE)).unwrap();
        assert!(plan.experiments.iter().all(|e| e.raw_samples == 7));
        let reads = "[[experiment.flow]]\nname = \"a\"\nworkload = \"stream\"\nrate = \"9 Hz\"\n\
                     [[experiment.flow]]\nname = \"b\"\nreads = \"a\"\nmade_up = \"5 ns\"";
        let plan = plan_text(&suite(&format!("stacks = [\"tcp\"]\n{reads}"))).unwrap();
        let values: Vec<u32> = plan.experiments.iter().map(|e| e.raw_samples).collect();
        assert_eq!((values[1], values[0] != 5), (5, true));
        let matrix = ONE.replace("made_up", "[experiment.matrix]\nmade_up");
        let refused = refusal_of(plan_text(&suite(&matrix)));
        assert!(
            refused.contains("`made_up` is not a factor of a matrix"),
            "{refused}"
        );
    });
    let refused = refusal_of(plan_text(&suite(ONE)));
    assert!(refused.contains("made_up"), "{refused}");
}
