//! What a run asks: the experiments whose conditions are the same in all but the stack. Only within a
//! question are stacks compared. A polling reader never stands against one that sleeps. Where the suite lets each stack wait in
//! its own way (`wait = "natural"`), those that block and those that are called stand together, with the wait named.

use dyno_model::factors::{self, BetweenRuns, Factor};
use dyno_model::plan::Plan;
use dyno_model::record::RunManifest;
use dyno_model::{Against, Experiment, Wait};
use dyno_report::{ExperimentSummary, Summary};

/// Experiments that ask the same, each with its place in the summary, in the plan's order.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The conditions that all share, in words; no other question of the run has the same words.
    pub(crate) text: String,
    /// The experiment's name alone where no other question has it, else the whole text.
    pub(crate) short: String,
    /// Its experiments wait in different ways, each stack in its own, and none polls.
    pub(crate) mixes_waits: bool,
    /// A wait strategy that all stacks know that were measured under these conditions, where they wait in
    /// different ways: with it they would be measured alike.
    pub(crate) common_wait: Option<Wait>,
    /// At least one.
    pub(crate) experiments: Vec<(usize, &'a ExperimentSummary)>,
}

/// The questions of a run, in the plan's order. Yardsticks (floors, loopbacks) are part of none, and where a
/// run was measured against another build or itself, only one of the two sides is.
pub(crate) fn questions<'a>(summary: &'a Summary, manifest: &RunManifest) -> Vec<Question<'a>> {
    let plan = &manifest.plan;
    let all = summary.experiments.iter().enumerate();
    let own = all.filter(|(_, e)| stands_for_its_stack(plan, e)).collect();
    let mut questions = Vec::new();
    for whole in grouped(own, question) {
        let common_wait = common_wait(manifest, &whole);
        let parts = match lets_stacks_choose(plan, &whole) {
            true => grouped(whole, |e| e.wait == Wait::Spin),
            false => grouped(whole, way),
        };
        questions.extend(parts.into_iter().map(|experiments| Question {
            text: String::new(),
            short: String::new(),
            mixes_waits: waits(&experiments).len() > 1,
            common_wait,
            experiments,
        }));
    }
    // Parts stand where their first experiment does.
    questions.sort_by_key(|q| q.experiments[0].0);
    let texts = words(&questions);
    let name = |q: &Question<'_>| q.experiments[0].1.experiment.name.clone();
    let names: Vec<String> = questions.iter().map(name).collect();
    for ((question, text), own) in questions.iter_mut().zip(texts).zip(&names) {
        let is_alone = names.iter().filter(|n| *n == own).count() == 1;
        question.short = if is_alone {
            own.to_string()
        } else {
            text.clone()
        };
        question.text = text;
    }
    questions
}

/// An experiment with its place in the summary.
type Placed<'a> = (usize, &'a ExperimentSummary);

/// Groups whose members have the same key, in the order of their first ones. None is empty.
fn grouped<'a, K: PartialEq>(
    all: Vec<Placed<'a>>,
    key: impl Fn(&Experiment) -> K,
) -> Vec<Vec<Placed<'a>>> {
    let mut groups: Vec<(K, Vec<Placed<'a>>)> = Vec::new();
    for placed in all {
        let own = key(&placed.1.experiment);
        match groups.iter_mut().find(|(key, _)| *key == own) {
            Some((_, group)) => group.push(placed),
            None => groups.push((own, vec![placed])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Where the threads of a library may run depends on how its receivers wait: what polls keeps a CPU for itself.
fn way(e: &Experiment) -> (Wait, Vec<Vec<u32>>) {
    (e.wait, e.library_cpus.clone())
}

/// The waits of these experiments, each once.
fn waits(all: &[Placed<'_>]) -> Vec<Wait> {
    let mut waits: Vec<Wait> = all.iter().map(|(_, e)| e.experiment.wait).collect();
    waits.sort_unstable();
    waits.dedup();
    waits
}

/// Whether each stack has the waits that are natural to it, and not all have the same.
fn lets_stacks_choose(plan: &Plan, all: &[Placed<'_>]) -> bool {
    let stacks = grouped(all.to_vec(), |e| e.stack.clone());
    let own: Vec<Vec<Wait>> = stacks.iter().map(|s| waits(s)).collect();
    let is_natural = |(experiments, own): (&Vec<Placed<'_>>, &Vec<Wait>)| {
        let stack = plan.stacks.get(&experiments[0].1.experiment.stack);
        stack.is_some_and(|stack| {
            let mut natural = stack.waits.clone();
            natural.sort_unstable();
            natural.dedup();
            natural == *own
        })
    };
    // One of each wait: else another condition differs, too.
    let ways = grouped(all.to_vec(), way).len();
    own.iter().any(|waits| *waits != own[0])
        && stacks.iter().zip(&own).all(is_natural)
        && ways == waits(all).len()
}

/// The wait that would measure all of these alike: `block` if it can be. None where they wait alike already.
fn common_wait(manifest: &RunManifest, all: &[Placed<'_>]) -> Option<Wait> {
    let stacks = grouped(all.to_vec(), |e| e.stack.clone());
    let mut own = stacks.iter().map(|s| waits(s));
    let first = own.next()?;
    if own.all(|waits| waits == first) {
        return None;
    }
    let knows = |stack: &Vec<Placed<'_>>, wait: Wait| {
        let name = &stack[0].1.experiment.stack;
        let stack = manifest.plan.stacks.get(name)?;
        let about = manifest.adapters.iter().find(|a| a.name == stack.adapter)?;
        Some(
            about
                .capabilities
                .of_stack(stack.asks)
                .waits
                .contains(&wait),
        )
    };
    [Wait::Block, Wait::Callback, Wait::Spin]
        .into_iter()
        .find(|wait| stacks.iter().all(|s| knows(s, *wait) == Some(true)))
}

fn stands_for_its_stack(plan: &Plan, e: &ExperimentSummary) -> bool {
    let is_other_side = match plan.against {
        Some(Against::Same) => e.experiment.base.is_some(),
        Some(Against::Build { .. }) => e.is_base,
        Some(Against::Stack { .. }) | None => false,
    };
    // Who is silent is neither fast nor slow.
    let is_idle = e.experiment.workload.kind().is_idle();
    !is_other_side && !is_idle && !e.is_floor && !e.is_loopback && !e.is_leg
}

/// What experiments share that ask the same. How a receiver waits is looked at apart.
fn question(e: &Experiment) -> Vec<String> {
    let rest = factors::all().filter(|f| f.title != "wait");
    let keys = rest.map(|f| f.key(e));
    std::iter::once(e.name.clone()).chain(keys).collect()
}

/// The conditions of each, with as many of the rarer ones as it takes to tell them apart.
fn words(questions: &[Question<'_>]) -> Vec<String> {
    let firsts: Vec<&Experiment> = questions
        .iter()
        .map(|q| &q.experiments[0].1.experiment)
        .collect();
    let mut texts: Vec<String> = questions
        .iter()
        .zip(&firsts)
        .map(|(q, e)| usual(e, q.mixes_waits))
        .collect();
    let is_rarer = |f: &&Factor| f.between_runs == BetweenRuns::Named && f.default.is_none();
    for rarer in factors::all().filter(is_rarer) {
        let before = texts.clone();
        for (text, e) in texts.iter_mut().zip(&firsts) {
            if before.iter().filter(|t| **t == *text).count() > 1 {
                text.push_str(&format!(", {}", rarer.words(e)));
            }
        }
    }
    texts
}

/// Name, load and every factor; those that are hardly ever changed only where they are.
fn usual(e: &Experiment, mixes_waits: bool) -> String {
    let (name, workload) = (e.name.clone(), e.workload.to_string());
    let always = ["payload", "wait", "placement", "topology"];
    let (told, rest): (Vec<&Factor>, Vec<&Factor>) =
        factors::all().partition(|f| always.contains(&f.title));
    let flow = e.flow.as_ref().map(|_| format!("flow {}", e.flow_text()));
    let exchange = match workload.starts_with(&name) {
        true => workload,
        false => format!("{name}, {workload}"),
    };
    let told = told.into_iter().map(|f| match f.title {
        "wait" if mixes_waits => "each with its own wait".into(),
        _ => (f.text)(e),
    });
    let is_told = |f: &&Factor| f.title != "flow" && f.default.is_some() && !f.is_default(e);
    let rest = rest.into_iter().filter(is_told).map(|f| f.words(e));
    let parts = flow.into_iter().chain([exchange]).chain(told).chain(rest);
    parts.collect::<Vec<_>>().join(", ")
}
