//! Parts of a plan: every experiment in exactly one, comparisons whole, floors whole where that keeps
//! the parts equal.

use crate::common::{plan_with, suite};
use dyno_model::{Against, ExperimentId, Plan, Shard};
use dyno_plan::{ShardError, common_seed, shard};

fn planned(text: &str, stacks: &str, against: Option<Against>) -> Plan {
    plan_with(text, &[], |r| {
        r.stacks = Some(stacks.split(',').map(str::to_owned).collect());
        r.against = against;
    })
    .unwrap()
}

fn parts(plan: &Plan, count: u32) -> Vec<Shard> {
    (1..=count)
        .map(|i| shard(plan, i, count).unwrap())
        .collect()
}

fn part_of(parts: &[Shard], id: ExperimentId) -> u32 {
    let holds = |p: &&Shard| p.experiments.contains(&id);
    let all: Vec<u32> = parts.iter().filter(holds).map(|p| p.index).collect();
    assert_eq!(all.len(), 1, "{id:?} is in parts {all:?}");
    all[0]
}

fn time(plan: &Plan, part: &Shard) -> f64 {
    let all = part.experiments.iter();
    all.map(|id| dyno_plan::nominal_time(plan, plan.experiment(*id).unwrap()).0 as f64)
        .sum()
}

const SIZES: &str = "workload = \"ping-pong\"\nwait = \"block\"\nplacement = \"process\"\ntrials = 3\n\
                     [experiment.matrix]\npayload = [\"64 B\", \"1 KiB\", \"4 KiB\", \"16 KiB\"]";

#[test]
fn every_experiment_is_in_exactly_one_part() {
    let plan = planned(&suite(SIZES), "pipe,tcp,uds-stream", None);
    for count in 1..=8 {
        let parts = parts(&plan, count);
        for e in &plan.experiments {
            part_of(&parts, e.id);
        }
        let held: usize = parts.iter().map(|p| p.experiments.len()).sum();
        assert_eq!(held, plan.experiments.len());
        assert!(parts.iter().all(|p| !p.experiments.is_empty()), "{count}");
    }
}

#[test]
fn the_parts_take_about_equally_long() {
    let text = format!(
        "{}\n[[experiment]]\nname = \"long\"\nworkload = \"ping-pong\"\nwait = \"block\"\nwindow = \"2 s\"\n",
        suite(SIZES)
    );
    let plan = planned(&text, "pipe,tcp,uds-stream", None);
    let times: Vec<f64> = parts(&plan, 3).iter().map(|p| time(&plan, p)).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(longest < 1.5 * shortest, "{times:?}");
}

#[test]
fn what_is_compared_stays_together() {
    let plan = planned(&suite(SIZES), "pipe,tcp", Some(Against::Same));
    let parts = parts(&plan, 5);
    let compared = plan.experiments.iter().filter(|e| e.base.is_some());
    assert!(compared.clone().count() >= 8);
    for e in compared {
        assert_eq!(part_of(&parts, e.id), part_of(&parts, e.base.unwrap()));
    }
}

#[test]
fn a_floor_stays_with_its_experiments_where_the_parts_stay_equal() {
    // Four sizes, each with its own floor.
    let plan = planned(&suite(SIZES), "pipe,tcp", None);
    let together = |parts: &[Shard]| {
        let with_floor = plan.experiments.iter().filter(|e| e.floor.is_some());
        let same = with_floor
            .clone()
            .filter(|e| part_of(parts, e.id) == part_of(parts, e.floor.unwrap()));
        (same.count(), with_floor.count())
    };
    let (same, all) = together(&parts(&plan, 2));
    assert!(all >= 8);
    assert_eq!(same, all);
    // In as many parts as there are experiments, none stands beside its floor.
    let most = u32::try_from(plan.experiments.len()).unwrap();
    assert_eq!(together(&parts(&plan, most)).0, 0);
}

#[test]
fn parts_that_are_not_there_are_refused() {
    let plan = planned(&suite(SIZES), "pipe", None);
    let most = plan.experiments.len();
    let count = u32::try_from(most).unwrap() + 1;
    assert_eq!(
        shard(&plan, 1, count),
        Err(ShardError::TooMany { count, most })
    );
    for (index, count) in [(0, 3), (4, 3), (1, 0)] {
        let e = shard(&plan, index, count).unwrap_err();
        assert_eq!(e, ShardError::NoSuchPart { index, count });
    }
}

#[test]
fn runners_come_to_the_same_seed_and_parts_whatever_their_machine_is() {
    let plan = planned(&suite(SIZES), "pipe,tcp", None);
    let mut elsewhere = plan.clone();
    let few = dyno_model::Cause::Told("this machine has few CPUs".into());
    elsewhere.warnings.push(few);
    elsewhere.seed = 99;
    for e in &mut elsewhere.experiments {
        e.cpus = vec![7, 8];
    }
    assert_eq!(common_seed(&plan), common_seed(&elsewhere));
    assert_eq!(parts(&plan, 3), parts(&elsewhere, 3));
    let other = planned(&suite(SIZES), "pipe,uds-stream", None);
    assert_ne!(common_seed(&plan), common_seed(&other));
}
