//! `dyno run --dry-run`: the plan for people.

use crate::exit::Result;
use crate::host::{fifo_refused, lock_refused};
use crate::progress::minutes;
use dyno_measure::Tracepoints;
use dyno_model::plan::{Reach, Refusal, Scheduling};
use dyno_model::unit::counted;
use dyno_model::{Experiment, Nanos, Plan};
use dyno_report::{LEAST_TRIALS, clean};

/// How long the trials of a plan take, without repeats.
fn time_of(plan: &Plan) -> Nanos {
    let times = plan.here().map(|e| dyno_plan::nominal_time(plan, e).0);
    Nanos(times.fold(0, u64::saturating_add))
}

/// A median over trials of which each has one value has a 95 % interval from this many on.
const MEDIAN_OF_TRIALS: u64 = 6;

/// How many trials of each experiment fit into `budget`, where a plan of one trial each is `one`.
pub(super) fn trials_within(budget: Nanos, one: &Plan) -> Result<u32> {
    let round = time_of(one);
    let fit = budget.0 / round.0.max(1);
    let of_trials = |e: &Experiment| e.headline()[0].is_one_per_trial();
    let least_trials = match one.here().any(of_trials) {
        true => MEDIAN_OF_TRIALS,
        false => LEAST_TRIALS as u64,
    };
    if fit < least_trials {
        let least = Nanos(round.0.saturating_mul(least_trials));
        return Err(failure!(
            Usage,
            "--budget: one trial of each experiment takes about {}, and an interval needs \
                 {least_trials} of them: allow {} or more, or measure less (--stack, --experiment, --set window='300 ms')",
            minutes(round.into()),
            minutes(least.into())
        ));
    }
    Ok(u32::try_from(fit)
        .unwrap_or(Plan::MOST_TRIALS)
        .min(Plan::MOST_TRIALS))
}

/// How much a plan measures, and how long that takes.
pub(super) fn size(plan: &Plan) -> String {
    let all = plan.experiments.len();
    let of = counted(all, "experiment");
    let experiments = match &plan.shard {
        Some(part) => format!("{part}, {} of {of}", part.experiments.len()),
        None => of,
    };
    format!(
        "{} of {experiments}, about {}",
        counted(plan.trial_count(), "trial"),
        minutes(time_of(plan).into())
    )
}

/// What would be measured, how long that would take, and what is refused; `wanted`: what nobody has permitted yet.
pub(super) fn describe(plan: &Plan, wanted: &[String]) -> String {
    let mut lines = vec![size(plan)];
    if plan.repeats > 0 {
        lines.push(format!(
            "  and at most {} more of each experiment if the host disturbs trials",
            plan.repeats
        ));
    }
    if let Some(p) = &plan.precision {
        lines.push(format!(
            "  and more, at most {} each, until p{} is known to ±{} %",
            p.max_trials,
            // Shares from the command line: their decimals are few.
            (p.quantile * 1e6).round() / 1e4,
            (p.within * 1e6).round() / 1e4
        ));
    }
    if let Some(search) = &plan.search {
        lines[0] = format!("search of {} until {}", search.raise, search.until.path);
        lines.extend(plan.ladders().iter().filter_map(|ladder| {
            let first = plan.experiment(*ladder.experiments.first()?)?;
            let text = |value: Option<&f64>| search.raise.text(*value.unwrap_or(&0.0));
            Some(format!(
                "  {:<12} {:<14} from {} to at most {}",
                first.name,
                first.stack,
                text(ladder.values.first()),
                text(ladder.values.last())
            ))
        }));
        return ended(lines, plan, wanted);
    }
    let bases = plan.bases();
    let legs = plan.legs();
    for e in plan.here() {
        let added = match e.added {
            true if e.counted => "  (counted with tracepoints)",
            true if e.workload.kind().is_probe() => "  (added for the ground)",
            true if legs.contains(&e.id) => "  (a leg alone)",
            true if e.flow.as_ref().is_some_and(|f| f.by_itself) => "  (a flow alone)",
            true => "  (added for the floor)",
            false if bases.contains(&e.id) => "  (base)",
            false => "",
        };
        let name = match e.flow_text().as_str() {
            "" => e.name.clone(),
            flow => format!("{} {flow}", e.name),
        };
        let faults = e.faults.iter().map(|fault| format!("  {fault}"));
        let faults: String = faults.collect();
        lines.push(format!(
            "  {name:<12} {:<14} {}  {}  {}  {}  {}  {}{faults}{added}",
            e.stack,
            e.exchange(),
            e.payload_text(),
            e.wait,
            e.access,
            e.placement,
            e.topology
        ));
    }
    ended(lines, plan, wanted)
}

/// The rights and programs that the plan asks for and this host lacks, each with what to do about it.
fn missing(plan: &Plan) -> Vec<String> {
    let hosts = dyno_runner::check_hosts(&plan.testbed).err();
    let mut lines: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let is_here = |reach: &Reach| matches!(reach, Reach::Local | Reach::Namespace);
    if !plan.testbed.hosts.iter().any(|h| is_here(&h.reach)) {
        return lines;
    }
    let priorities = plan.here().filter_map(|e| match e.scheduling {
        Scheduling::Fifo(priority) => Some(priority),
        Scheduling::Other | Scheduling::Deadline => None,
    });
    // Who gets the highest gets the others.
    lines.extend(priorities.max().and_then(fifo_refused));
    if plan.here().any(|e| e.mlock) {
        lines.extend(lock_refused());
    }
    if plan.here().any(|e| e.counted) {
        lines.extend(Tracepoints::open().err().map(|e| e.to_string()));
    }
    lines
}

fn ended(mut lines: Vec<String>, plan: &Plan, wanted: &[String]) -> String {
    let missing = missing(plan);
    lines.extend(missing.iter().map(|line| format!("  missing: {line}")));
    let refused = Refusal::lines(&plan.refused);
    lines.extend(refused.iter().map(|line| format!("  refused: {line}")));
    lines.extend(wanted.iter().map(|line| format!("  asks first: {line}")));
    // Each is one line, whatever a name holds.
    lines.iter().map(|line| clean(line) + "\n").collect()
}
