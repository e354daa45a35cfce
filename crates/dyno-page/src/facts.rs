//! What the page says of a run in its HTML, so that it can be read without JavaScript: where it took
//! place, how far it came, what failed and what was refused.

use dyno_model::plan::Refusal;
use dyno_model::record::{Environment, Run};
use dyno_report::{Summary, duration, utc, with_prefix};
use serde::Serialize;

/// One run in words.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Facts {
    pub(crate) id: String,
    pub(crate) suite: String,
    pub(crate) title: String,
    /// `2026-11-21 03:26 UTC`.
    pub(crate) started: String,
    /// `58 of 60 trials completed, 2 failed`.
    pub(crate) progress: String,
    /// Label and value.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Name and version.
    pub(crate) adapters: Vec<(String, String)>,
    pub(crate) warnings: Vec<String>,
    /// Failed trials, those that failed alike together.
    pub(crate) failures: Vec<String>,
    pub(crate) refused: Vec<String>,
}

impl Facts {
    pub(crate) fn of(run: &Run, summary: &Summary) -> Facts {
        let head = &summary.run;
        Facts {
            id: head.id.clone(),
            suite: head.suite.clone(),
            title: head.title.clone(),
            started: utc(head.started_unix_ms),
            progress: head.trials.progress(),
            environment: environment(run, summary),
            adapters: head
                .adapters
                .iter()
                .map(|(name, version)| (name.to_string(), version.to_string()))
                .collect(),
            warnings: warnings(summary),
            failures: failures(summary),
            refused: Refusal::lines(&summary.refused)
                .iter()
                .map(|line| line.to_string())
                .collect(),
        }
    }
}

/// Remarks about the whole run, and whether the order of its trials made a difference.
fn warnings(summary: &Summary) -> Vec<String> {
    let order = summary.carry_over.iter().flat_map(|c| {
        let (text, lines) = c.sentences();
        std::iter::once(text).chain(lines)
    });
    let all = summary.warnings.iter().cloned().chain(order);
    all.map(|w| w.to_string()).collect()
}

fn environment(run: &Run, summary: &Summary) -> Vec<(&'static str, String)> {
    let e = &run.manifest.environment;
    // Of a run that was merged from those of several machines, each with its own.
    let each = |of: fn(&Environment) -> &str| match run.machines.is_empty() {
        true => of(e).to_owned(),
        false => {
            let all = run
                .machines
                .iter()
                .map(|(name, e)| format!("{name}: {}", of(e)));
            all.collect::<Vec<_>>().join("; ")
        }
    };
    let cpus: Vec<String> = e.cpus.iter().map(u32::to_string).collect();
    let governors: Vec<&str> = {
        let mut all: Vec<&str> = e.governors.values().map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let clock = match e.clock.source.as_str() {
        "" => String::new(),
        source => format!("{source}, {} per reading", duration(e.clock.cost_ns)),
    };
    let memory = match e.memory_bytes {
        0 => String::new(),
        bytes => with_prefix(bytes as f64, "B"),
    };
    let build = match e.build_profile.as_str() {
        "" => e.dyno_version.clone(),
        profile => format!("{} ({profile} build)", e.dyno_version),
    };
    let build = match (&e.commit, e.modified) {
        (Some(commit), Some(true)) => format!("{build}, commit {commit}, modified"),
        (Some(commit), _) => format!("{build}, commit {commit}"),
        (None, _) => build,
    };
    let shard = summary.run.shard.as_ref();
    let all = [
        ("Started", utc(run.manifest.started_unix_ms)),
        ("Trials", summary.run.trials.progress()),
        ("Part", shard.map_or_else(String::new, ToString::to_string)),
        ("Testbed", summary.run.testbed.clone()),
        ("Emulated", e.emulated.clone().unwrap_or_default()),
        ("Host", each(|e| &e.host)),
        ("CPU", each(|e| &e.cpu_model)),
        ("CPUs used", cpus.join(", ")),
        ("Memory", memory),
        (
            "Distribution",
            each(|e| e.distribution.as_deref().unwrap_or_default()),
        ),
        ("Kernel", each(|e| &e.kernel)),
        ("Hypervisor", e.hypervisor.clone().unwrap_or_default()),
        ("Governor", governors.join(", ")),
        ("Clock", clock),
        ("Dyno", build),
        ("Seed", summary.run.seed.to_string()),
        ("Command", run.manifest.command.join(" ")),
    ];
    all.into_iter()
        .map(|(label, value)| (label, value.to_string()))
        .filter(|(_, value)| !value.is_empty())
        .collect()
}

/// One line for each way of failing of each stack.
fn failures(summary: &Summary) -> Vec<String> {
    let mut groups: Vec<(String, u64)> = Vec::new();
    for e in &summary.experiments {
        for f in &e.failures {
            let text = format!(
                "{}: {} in {}: {}",
                e.experiment.stack, f.kind, f.step, f.cause
            );
            match groups.iter_mut().find(|(known, _)| *known == text) {
                Some((_, count)) => *count += f.count,
                None => groups.push((text, f.count)),
            }
        }
    }
    let line = |(text, count): (String, u64)| match count {
        1 => text,
        n => format!("{text} ({n} trials)"),
    };
    groups.into_iter().map(line).collect()
}
