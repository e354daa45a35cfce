//! What a check comes to: a status for each limit on each experiment.

use super::limits::Limit;
use crate::standing::{Found, Standing};
use dyno_model::Experiment;
use dyno_model::plan::Refusal;

/// How limits are checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckOptions {
    /// Confidence of each interval, such as 0.95.
    pub confidence: f64,
}

impl Default for CheckOptions {
    /// 95 %.
    fn default() -> Self {
        CheckOptions { confidence: 0.95 }
    }
}

/// The result of a judgement, such as of one limit on one experiment; from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The limit is kept, also by the bad end of the interval.
    Pass,
    /// The trials do not tell. Not a pass.
    Undecided,
    /// It is broken, also by the good end.
    Fail,
}

impl From<Standing> for Status {
    fn from(standing: Standing) -> Status {
        match standing {
            Standing::Keeps => Status::Pass,
            Standing::Breaks => Status::Fail,
            Standing::Between | Standing::Refused => Status::Undecided,
        }
    }
}

impl Status {
    /// `pass`, `fail` or `undecided`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::Undecided => "undecided",
        }
    }
}

/// One limit held against one experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The limit.
    pub limit: Limit,
    /// The experiment.
    pub experiment: Experiment,
    /// What came of it.
    pub status: Status,
    /// Where the figure stands to the limit, whatever else keeps the limit from being passed.
    pub standing: Standing,
    /// What was measured; `None` where nothing can be said.
    pub found: Option<Found>,
    /// Why, in plain words.
    pub reason: String,
    /// Remarks on the trials.
    pub remarks: Vec<String>,
    /// So many further trials of the experiment would decide with a chance of [`POWER`](dyno_stats::POWER), or without a figure would give
    /// one; `None`: it is decided, or nobody knows.
    pub further: Option<u64>,
    /// Whether the host disturbed every trial. Such trials never make a limit pass.
    pub all_disturbed: bool,
}

/// All limits of a file held against a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// The run.
    pub run: String,
    /// Its suite.
    pub suite: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// A warning about the verdicts if trials were added to the run.
    pub added_later: Option<String>,
    /// The limits file.
    pub limits: String,
    /// Confidence of each interval.
    pub confidence: f64,
    /// Limit by limit, experiment by experiment; behind them the cells that limits ask for and the plan refused.
    pub results: Vec<Checked>,
    /// How many of the results are of cells that were measured.
    pub measured: usize,
    /// What the plan left out.
    pub(super) refused: Vec<Refusal>,
    /// Stacks on which nothing is put that does not name them.
    pub(super) yardsticks: Vec<String>,
}

impl CheckReport {
    /// Number of results of a status.
    pub fn count(&self, status: Status) -> usize {
        self.results.iter().filter(|r| r.status == status).count()
    }

    /// Number of undecided results of cells that were measured: further trials decide nothing of refused ones.
    pub fn open(&self) -> usize {
        let measured = self.results.iter().take(self.measured);
        measured.filter(|r| r.status == Status::Undecided).count()
    }

    /// Of each undecided result of which the host left some trial undisturbed, [`further`](Checked::further).
    pub fn further(&self) -> Vec<Option<u64>> {
        self.undisturbed().map(|r| r.further).collect()
    }

    /// Number of undecided results of which the host disturbed every trial: not more trials but a quieter host helps.
    pub fn disturbed(&self) -> usize {
        self.undecided().filter(|r| r.all_disturbed).count()
    }

    /// Whether further trials are named that give a figure, which may be undecided again.
    pub fn lacks_figures(&self) -> bool {
        self.undisturbed()
            .any(|r| r.further.is_some() && r.found.is_none())
    }

    fn undisturbed(&self) -> impl Iterator<Item = &Checked> {
        self.undecided().filter(|r| !r.all_disturbed)
    }

    fn undecided(&self) -> impl Iterator<Item = &Checked> {
        let all = self.results.iter();
        all.filter(|r| r.status == Status::Undecided)
    }
}
