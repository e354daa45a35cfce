//! The requirements of a study, held against whatever of it a run has: for the study's own table.

use super::judge::judge;
use super::limits::Limits;
use super::report::CheckOptions;
use super::select::selects;
use crate::cell;
use dyno_model::record::Run;
use dyno_report::{HeldRequirement, Requirement};

/// Each of `limits` against each experiment of `run` that it is put on, as `check` holds them. A limit that
/// selects nothing in this run, which may be a part of the study, has no verdict; and for which machines the limits are
/// meant is left to whoever shows them.
pub fn requirements(run: &Run, limits: &Limits, how: &CheckOptions) -> Vec<Requirement> {
    let plan = &run.manifest.plan;
    let one = |limit| {
        let chosen = cell::own(plan).filter(|e| selects(limit, plan, e));
        let held = chosen.map(|e| {
            let checked = judge(run, limit, e, how);
            HeldRequirement {
                experiment: e.id,
                verdict: checked.status.as_str(),
                found: checked.found_text(),
                reason: checked.reason,
            }
        });
        Requirement {
            name: limit.name().to_owned(),
            required: limit.required(),
            source: limit.source().map(str::to_owned),
            held: held.collect(),
        }
    };
    limits.limits().iter().map(one).collect()
}
