//! How often trials of each stack were disturbed, and whether chance alone would spread them so. Flags
//! depend on the activity of other programs, not on stacks: where they fall on one stack, the rules or the stack are to be looked at.

use crate::summary::{ExperimentSummary, OfPlan};
use dyno_stats::chance_of_hits;
use serde::Serialize;

/// Below this probability the flags are not spread by chance.
const LEVEL: f64 = 0.05;

/// The disturbed trials of one stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flagged {
    /// The stack.
    pub stack: String,
    /// Its disturbed trials, without repeats.
    pub disturbed: u64,
    /// Its completed trials, these among them.
    pub completed: u64,
}

/// The disturbed trials of all stacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlagRates {
    /// In the order of the rows.
    pub stacks: Vec<Flagged>,
    /// The probability that chance spreads them as unevenly: the least of Fisher's exact test of each stack against all
    /// others, in both directions, times the number of these tests (Bonferroni).
    pub p: f64,
    /// The stack with that least one, by its place in `stacks`.
    #[serde(skip)]
    pub oddest: usize,
}

impl FlagRates {
    /// Those of these rows; `None` of fewer than two stacks, and where no trial was disturbed.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a ExperimentSummary>) -> Option<FlagRates> {
        let mut stacks: Vec<Flagged> = Vec::new();
        // A trial of flows is one of each of them.
        let is_first = |e: &&ExperimentSummary| e.experiment.lead() == e.experiment.id;
        let rows = rows.into_iter().filter(is_first);
        for e in rows.filter(|e| e.trials.of_plan.completed > 0) {
            let OfPlan {
                completed,
                disturbed,
            } = e.trials.of_plan;
            match stacks.iter_mut().find(|s| s.stack == e.experiment.stack) {
                Some(known) => {
                    known.disturbed += disturbed;
                    known.completed += completed;
                }
                None => stacks.push(Flagged {
                    stack: e.experiment.stack.clone(),
                    disturbed,
                    completed,
                }),
            }
        }
        let marked = stacks.iter().map(|s| s.disturbed).sum::<u64>();
        let all = stacks.iter().map(|s| s.completed).sum::<u64>();
        if stacks.len() < 2 || marked == 0 {
            return None;
        }
        let chance = |s: &Flagged| {
            let more = chance_of_hits(all, marked, s.completed, s.disturbed);
            let calm = s.completed - s.disturbed;
            more.min(chance_of_hits(all, all - marked, s.completed, calm))
        };
        let chances = stacks.iter().map(chance).enumerate();
        let (oddest, least) = chances.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let p = (least * 2.0 * stacks.len() as f64).min(1.0);
        Some(FlagRates { stacks, p, oddest })
    }

    /// The stack on which flags fall more often, or less often, than chance alone has it.
    pub fn odd(&self) -> Option<(&Flagged, &'static str)> {
        let odd = self.stacks.get(self.oddest).filter(|_| self.p < LEVEL)?;
        let sum = |of: fn(&Flagged) -> u64| self.stacks.iter().map(of).sum::<u64>() as f64;
        let (marked, all) = (sum(|s| s.disturbed), sum(|s| s.completed));
        let often = match odd.disturbed as f64 * all > marked * odd.completed as f64 {
            true => "more often",
            false => "less often",
        };
        Some((odd, often))
    }
}
