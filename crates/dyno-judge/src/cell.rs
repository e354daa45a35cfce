//! Cells by their factors: which experiment of one run is the same question as that of another.

use dyno_model::factors::{apart, question};
use dyno_model::machine::SHARING;
use dyno_model::plan::{Against, Plan, Refusal};
use dyno_model::{Experiment, Raised};

/// The question of an experiment, with a call over a pair of channels and one that is the stack's own apart.
pub(crate) fn question_and_exchange(e: &Experiment) -> String {
    format!("{}\n{}", question(e), e.exchange())
}

/// Name and every factor that is not the usual one: `one-way, stream 1 kHz, 64 B, block`.
fn words(e: &Experiment, exchange: &str, without: &str) -> String {
    let told = apart().filter(|f| f.title != without && !f.is_default(e));
    let words = told.map(|f| match f.title {
        "workload" => exchange.to_owned(),
        _ => f.words(e),
    });
    let all: Vec<String> = std::iter::once(e.name.clone()).chain(words).collect();
    all.join(", ")
}

/// The factors of two experiments that are compared; where only one of them is a call over a pair of channels, the text
/// says so.
pub(crate) fn between(base: &Experiment, new: &Experiment) -> String {
    let exchange = match base.paired == new.paired {
        true => new.exchange(),
        false => format!("{} → {}", base.exchange(), new.exchange()),
    };
    words(new, &exchange, "")
}

/// Stack and factors of one experiment.
pub(crate) fn label(e: &Experiment) -> String {
    format!("{}: {}", e.stack, between(e, e))
}

/// Stack and factors of one experiment, without the one that a search raises.
pub(crate) fn label_without(e: &Experiment, raised: Raised) -> String {
    let mut exchange = e.exchange();
    let without = match raised {
        Raised::Rate => {
            let rate = e.workload.numbers().rate;
            let rate = rate.map_or(String::new(), |rate| format!(" {rate}"));
            exchange = exchange.replacen(&rate, "", 1);
            ""
        }
        Raised::Payload => "payload",
        Raised::Clients => "topology",
    };
    format!("{}: {}", e.stack, words(e, &exchange, without))
}

/// The factors of an experiment in the order in which a refusal lists them.
pub(crate) fn listed(e: &Experiment) -> [String; 6] {
    [
        e.workload.to_string(),
        e.payload.to_string(),
        e.wait.to_string(),
        e.access.to_string(),
        e.placement.to_string(),
        e.topology.to_string(),
    ]
}

/// The refusal of the cell of an experiment on a stack: one that lists its factors, faults behind them included, or the first that lists fewer, as that of
/// several flows does. One that lists all factors of another payload or wait is of another cell.
pub(crate) fn refusal<'a>(plan: &'a Plan, e: &Experiment, stack: &str) -> Option<&'a Refusal> {
    let own = listed(e);
    let told = own.join(", ");
    let refused = plan.refused.iter();
    let mut all = refused.filter(|r| r.experiment == e.name && r.stack == stack);
    let exact = all.clone().find(|r| lists(r, &told));
    exact.or_else(|| all.find(|r| r.factors.split(", ").count() < own.len()))
}

/// Whether a refusal lists these factors, and maybe faults behind them.
pub(crate) fn lists(r: &Refusal, factors: &str) -> bool {
    let rest = r.factors.strip_prefix(factors);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
}

/// The experiments that say something of this build and its stacks when they stand alone: the other
/// side of `--against` another build does not, and that of `--against` the same is a repetition. One
/// that another part of the plan runs says nothing here, none whose calls to the kernel are counted, and no leg of a
/// chain alone.
pub(crate) fn own(plan: &Plan) -> impl Iterator<Item = &Experiment> {
    let (legs, bases) = (plan.legs(), plan.bases());
    plan.here().filter(move |e| {
        let is_leg = e.added && legs.contains(&e.id);
        let is_new = match plan.against {
            Some(Against::Same) => e.base.is_none(),
            Some(Against::Build { .. }) => !bases.contains(&e.id),
            Some(Against::Stack { .. }) | None => true,
        };
        !e.counted && !is_leg && is_new
    })
}

/// Whether an experiment is a control of the machine: a floor in shared memory. One over a link has the network and the kernel's
/// buffers in it, which move and lose without the machine.
pub(crate) fn is_control(plan: &Plan, e: &Experiment) -> bool {
    let stack = plan.stacks.get(&e.stack);
    stack.is_some_and(|s| s.floor && s.adapter == SHARING)
}

/// Whether the stack of an experiment is a yardstick.
pub(crate) fn is_floor(plan: &Plan, e: &Experiment) -> bool {
    plan.stacks.get(&e.stack).is_some_and(|s| s.floor)
}
