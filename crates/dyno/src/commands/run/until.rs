//! `dyno run --resume RUN --until-decided LIMITS`: looks at the verdicts, and adds the trials that would decide them.

use crate::cli::RunArgs;
use crate::commands::check::read_limits;
use crate::commands::judged::{QUIETER, round_time};
use crate::commands::trust;
use crate::exit::{self, Code, Failure, Result};
use crate::progress::Progress;
use dyno_judge::{CheckOptions, Limits, Status};
use dyno_model::unit::{counted, percent};
use dyno_stats::simultaneous;
use std::path::Path;
use std::time::{Duration, Instant};

/// At most so many looks at the verdicts, the first included. Each has a confidence such that all of them together are wrong no more
/// often than one would be.
const LOOKS: u32 = 5;

/// The looks at a run that are left.
pub(super) struct Looks<'a> {
    file: &'a Path,
    limits: Limits,
    how: CheckOptions,
    left: u32,
    most_trials: u32,
    deadline: Option<Instant>,
}

impl<'a> Looks<'a> {
    /// Reads the limits, where there are some.
    pub(super) fn new(args: &'a RunArgs) -> Result<Option<Looks<'a>>> {
        let Some(file) = args.until_decided.as_deref() else {
            return Ok(None);
        };
        let confidence = CheckOptions::default().confidence;
        Ok(Some(Looks {
            file,
            limits: read_limits(file)?,
            how: CheckOptions {
                confidence: simultaneous(confidence, LOOKS as usize),
            },
            left: LOOKS,
            most_trials: args.max_trials,
            deadline: args
                .max_time
                .map(|time| Instant::now() + Duration::from_nanos(time.0)),
        }))
    }

    /// Looks at the verdicts: how many trials of each experiment to add, or `None` if all verdicts are decided, or the looks, the trials
    /// or the time are used up. Says which it is.
    pub(super) fn more(&mut self, directory: &Path, progress: &Progress) -> Result<Option<u32>> {
        let read = dyno_store::read_run(directory).map_err(Failure::with(Code::Store))?;
        let run = read.run;
        if let Some(reason) = self.limits.unfit(&run) {
            return Err(Failure::message(Code::Usage, reason));
        }
        let report = dyno_judge::check(&run, &self.limits, &self.how).map_err(exit::of_plan)?;
        self.left -= 1;
        let number = LOOKS - self.left;
        let (open, all) = (report.open(), report.measured);
        let state = match open {
            0 => format!("look {number}: {} decided", counted(all, "result")),
            _ => format!(
                "look {number}: {open} of {} undecided",
                counted(all, "result")
            ),
        };
        let plan = &run.manifest.plan;
        let had = plan.here().map(|e| e.trials).max().unwrap_or(0);
        // Where nobody knows how many it takes, twice as many tell more.
        let undecided = report.results.iter();
        let undecided = undecided.filter(|r| r.status == Status::Undecided);
        let known = undecided.filter_map(|r| r.further).max();
        let wanted = known.map_or(had, |n| u32::try_from(n).unwrap_or(u32::MAX));
        let room = self.most_trials.saturating_sub(had);
        let in_time = self.deadline.map_or(u32::MAX, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            let round = u128::from(round_time(plan).0.max(1));
            u32::try_from(left.as_nanos() / round).unwrap_or(u32::MAX)
        });
        let end = match wanted.min(room).min(in_time) {
            _ if open == 0 => String::new(),
            _ if self.left == 0 => format!("; there are at most {LOOKS} looks"),
            0 if room == 0 => format!("; --max-trials {} is reached", self.most_trials),
            0 => "; --max-time is reached".to_owned(),
            more => {
                let trials = counted(more as usize, "trial");
                progress.say(format!("{state}; adding {trials} of each experiment"));
                return Ok(Some(more));
            }
        };
        let quieter = match report.disturbed() {
            0 => String::new(),
            n => format!("; the host disturbed every trial of {n}: {QUIETER}"),
        };
        progress.say(format!(
            "{state}{end}{quieter}. Each look has {} confidence, so that {LOOKS} looks have {} together; the verdicts: dyno check {} {} --confidence {}",
            percent(self.how.confidence),
            percent(CheckOptions::default().confidence),
            trust::shell_word(&directory.to_string_lossy()),
            trust::shell_word(&self.file.to_string_lossy()),
            percent(self.how.confidence).replace(' ', "")
        ));
        Ok(None)
    }
}
