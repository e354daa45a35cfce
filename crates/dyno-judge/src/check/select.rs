//! On which experiments of a run a limit is put, and what to say where it is put on none.

use super::limits::{Chosen, Limit};
use super::measure::Measure;
use crate::cell;
use dyno_model::Experiment;
use dyno_model::plan::Plan;
use dyno_toml::suggest::nearest;
use dyno_toml::{Problem, Problems};
use std::collections::BTreeSet;

/// So many experiments are named with their metrics.
const EXPERIMENTS_NAMED: usize = 3;

pub(super) fn allows<T: PartialEq>(chosen: &[Chosen<T>], value: &T) -> bool {
    chosen.is_empty() || chosen.iter().any(|c| c.value == *value)
}

/// A flow by itself is there for the ratio to it beside the others, and under no limit.
fn allows_flow(chosen: &[Chosen<String>], e: &Experiment) -> bool {
    match &e.flow {
        Some(flow) => !flow.by_itself && allows(chosen, &flow.name),
        None => chosen.is_empty(),
    }
}

/// Whether a limit is put on one of the run's [own](cell::own) experiments. Yardsticks and loopbacks are judged only where `stack`
/// names them: nobody's requirement is meant for them.
pub(super) fn selects(limit: &Limit, plan: &Plan, e: &Experiment) -> bool {
    limit.measure.applies_to(e) && is_chosen(limit, plan, e)
}

/// Whether all selectors of a limit choose an experiment, which may lack the metric.
fn is_chosen(limit: &Limit, plan: &Plan, e: &Experiment) -> bool {
    let s = &limit.selector;
    (!is_yardstick(plan, e) || !s.stack.is_empty())
        && allows(&s.suite, &plan.suite)
        && allows(&s.experiment, &e.name)
        && allows_flow(&s.flow, e)
        && allows(&s.stack, &e.stack)
        && allows(&s.workload, &e.workload.kind())
        && allows(&s.payload, &e.payload)
        && allows(&s.wait, &e.wait)
}

pub(super) fn is_yardstick(plan: &Plan, e: &Experiment) -> bool {
    let stack = plan.stacks.get(&e.stack);
    e.added || stack.is_some_and(|s| s.floor || s.loopback)
}

/// Notes every word of a limit's selectors that nothing in the run answers to; `own` are the experiments that limits are
/// put on.
pub(super) fn strangers(limit: &Limit, plan: &Plan, own: &[&Experiment], problems: &mut Problems) {
    let s = &limit.selector;
    let all = || own.iter();
    let flows = all().filter_map(|e| e.flow_name().map(str::to_owned));
    let kinds = all().map(|e| e.workload.kind());
    let mut strangers = Strangers { plan, problems };
    strangers.note("suite", &s.suite, [plan.suite.clone()]);
    strangers.note("name", &s.experiment, all().map(|e| e.name.clone()));
    strangers.note("flow", &s.flow, flows);
    strangers.note("stack", &s.stack, all().map(|e| e.stack.clone()));
    strangers.note("workload", &s.workload, kinds);
    strangers.note("payload", &s.payload, all().map(|e| e.payload));
    strangers.note("wait", &s.wait, all().map(|e| e.wait));
}

/// Where words are noted that no experiment of a plan has.
struct Strangers<'a> {
    plan: &'a Plan,
    problems: &'a mut Problems,
}

impl Strangers<'_> {
    /// Notes what is chosen and not among the values that the run has; `what` is the name of the selector in messages.
    fn note<T: PartialEq + ToString>(
        &mut self,
        what: &str,
        chosen: &[Chosen<T>],
        known: impl IntoIterator<Item = T>,
    ) {
        if chosen.is_empty() {
            return;
        }
        let known: Vec<T> = known.into_iter().collect();
        let names: BTreeSet<String> = known.iter().map(T::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for Chosen { text, at, .. } in chosen.iter().filter(|c| !known.contains(&c.value)) {
            let message = format!("no experiment of this run has the {what} `{text}`");
            let problem = Problem::at(at, message);
            self.problems.push(match self.problems.is_full() {
                true => problem,
                false => problem
                    .label(match nearest(text, &names) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "selects nothing".into(),
                    })
                    .help(self.help(text, &names)),
            });
        }
    }

    /// What the run has instead, and why it has not this word where the plan tells.
    fn help(&self, text: &str, names: &[&str]) -> String {
        let help = format!("this run has: {}", first_of(names));
        let mut refusals = self.plan.refused.iter();
        match refusals.find(|r| r.stack == text || r.experiment == text) {
            Some(refused) => format!(
                "it was refused when the run was planned: {}; {help}",
                refused.reason
            ),
            None => help,
        }
    }
}

/// Names in a line, the first of very many.
fn first_of(names: &[&str]) -> String {
    const NAMED: usize = 50;
    match names.split_at_checked(NAMED) {
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    }
}

/// Why a limit whose selectors all match something still selects nothing.
pub(super) fn nothing_selected(limit: &Limit, plan: &Plan) -> String {
    let chosen: Vec<&Experiment> = cell::own(plan)
        .filter(|e| is_chosen(limit, plan, e))
        .collect();
    let instead = metrics_of(&chosen);
    let kinds = dyno_model::WorkloadKind::ALL;
    let applicable: Vec<&str> = kinds
        .iter()
        .filter(|k| limit.measure.applies_to_kind(**k))
        .map(|k| k.as_str())
        .collect();
    let mut all = cell::own(plan);
    let text = limit.measure.text();
    if !all.any(|e| limit.measure.applies_to(e)) {
        if limit.measure.is_of_faults() {
            return format!(
                "`{text}` exists only for experiments with faults, and this run has none{instead}"
            );
        }
        return format!(
            "`{text}` exists only for the workloads {}, and this run has none of them{instead}",
            applicable.join(", ")
        );
    }
    if !chosen.is_empty() {
        return format!("the experiments that its selectors match have no `{text}`{instead}");
    }
    if limit.selector.stack.is_empty() {
        "no experiment matches all of its selectors; floors, and stacks like null that measure Dyno itself, are judged \
         only if `stack` names them"
            .into()
    } else {
        "each of its selectors matches some experiment, but no experiment matches all of them"
            .into()
    }
}

/// The metrics that each of the chosen experiments has, and the line of a limits file that asks for its headline; empty without experiments.
fn metrics_of(chosen: &[&Experiment]) -> String {
    let has = |e: &Experiment, word: &str| {
        Measure::of_word(word, None).is_some_and(|measure| measure.applies_to(e))
    };
    let mut all: Vec<String> = Vec::new();
    for e in chosen {
        let words: Vec<&str> = Measure::words().filter(|word| has(e, word)).collect();
        let kind = e.workload.kind();
        let line = match e.headline().first() {
            Some(metric) => format!(
                "; write for example `metric = \"{}\"` and `quantile = \"p99\"`",
                metric.word()
            ),
            None => String::new(),
        };
        let text = format!("{} ({kind}) has: {}{line}", e.name, words.join(", "));
        if !all.contains(&text) {
            all.push(text);
        }
    }
    let shown = all.iter().take(EXPERIMENTS_NAMED);
    shown.map(|text| format!(". {text}")).collect()
}
