//! What a comparison comes to: cells of both sides, figure by figure, and what each is worth for the new side.

use crate::check::Status;
use crate::difference::Difference;
use crate::figure::Figure;
use crate::number::nine;
use dyno_model::Experiment;
use dyno_model::record::RunManifest;
use dyno_stats::Ratio;
use serde::Serialize;

/// How two sides are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Confidence that all intervals of the table hold together, such as 0.95.
    pub confidence: f64,
    /// Ratios within `1/(1 + margin)` and `1 + margin` are the same, such as 0.05.
    pub margin: f64,
    /// The quantiles of the headline metric that are compared, 0 to 1 each.
    pub quantiles: Vec<f64>,
}

impl Default for CompareOptions {
    /// 95 % over the table, 5 %, p50, p90 and p99.
    fn default() -> Self {
        CompareOptions {
            confidence: 0.95,
            margin: 0.05,
            quantiles: vec![0.5, 0.9, 0.99],
        }
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// What it is: the run, the stack, or the build.
    pub name: String,
    /// The run that its trials are in.
    pub run: String,
    /// When that run started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
}

impl Side {
    /// All of a run.
    pub(super) fn of(manifest: &RunManifest) -> Side {
        Side {
            name: manifest.id.clone(),
            run: manifest.id.clone(),
            started_unix_ms: manifest.started_unix_ms,
        }
    }
}

/// Two sides compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is compared with.
    pub base: Side,
    /// What is judged.
    pub new: Side,
    /// How it was done.
    pub options: CompareOptions,
    /// Whether trials of both sides were measured next to each other and compared pair by pair.
    pub paired: bool,
    /// Everything recorded that differs between the two.
    pub differences: Vec<Difference>,
    /// Aspects that may also differ, because one of the runs does not record them, such as `the distribution of the base`.
    pub unknown: Vec<String>,
    /// The floor that moved most between two runs on the same machine, if one did beyond the margin.
    pub moved: Option<MovedFloor>,
    /// How many runs of a history say what the intervals cover of the scatter of runs; `None` where there is no history.
    pub history: Option<usize>,
    /// The cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// The cells that could not be compared, with the reason.
    pub left_out: Vec<LeftOut>,
    /// Number of intervals in the table.
    pub statements: usize,
    /// The confidence of each of them.
    pub each: f64,
    /// Further remarks on the whole.
    pub notes: Vec<String>,
}

/// A floor that shows that the machine itself changed between two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MovedFloor {
    /// The floor's stack.
    pub stack: String,
    /// New over base of its p50.
    #[serde(serialize_with = "nine")]
    pub ratio: f64,
}

/// A cell of both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCell {
    /// Its experiment on the base side.
    pub base: Experiment,
    /// Its experiment on the new side.
    pub new: Experiment,
    /// It is a yardstick on both sides.
    pub is_floor: bool,
    /// Figure by figure.
    pub rows: Vec<Row>,
    /// Remarks on its trials.
    pub remarks: Vec<String>,
    /// Planned trials of a side failed or are missing, or the host disturbed all of them.
    pub(super) is_damaged: bool,
}

/// One figure of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The figure.
    pub figure: Figure,
    /// The comparison, or why there is none.
    pub result: Result<Compared, String>,
    /// Why a good finding does not stand, or where a bad one would: what failed, was lost or was left out says otherwise.
    pub but: Option<String>,
}

/// What a finding is worth for the new side, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grade {
    Better,
    Same,
    Open,
    Worse,
}

/// A figure compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Geometric mean over the base's trials, in the figure's unit; infinite where one lost too much. Of losses the mean.
    pub base: f64,
    /// The same of the new side.
    pub new: f64,
    /// New over base with its interval at [`Comparison::each`]; of losses and failures none.
    pub ratio: Option<Ratio>,
    /// Trials of (new, base) that entered.
    pub trials: (usize, usize),
    /// What follows.
    pub finding: Finding,
}

/// The finding of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The new figure is lower.
    Lower,
    /// The new figure is higher.
    Higher,
    /// Both are the same within the margin.
    Same,
    /// The trials do not tell.
    Undecided {
        /// Further trials of each side that would with a chance of [`POWER`](dyno_stats::POWER); `None`: unknown or beyond 10,000.
        more: Option<u64>,
    },
    /// It differs, and so does the floor: the machine itself moved between the two runs.
    MachineMoved,
}

/// A cell that could not be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The cell.
    pub cell: String,
    /// Why.
    pub reason: String,
    /// The base has figures of it; the new side was asked for them and refused it, or failed in every trial.
    #[serde(skip)]
    pub new_failed: bool,
    /// Nobody can tell how the sides compare, although both were asked for it.
    #[serde(skip)]
    pub is_undecided: bool,
    /// More trials of the new side failed than chance explains.
    #[serde(skip)]
    pub is_worse: bool,
}

impl LeftOut {
    /// What it comes to as a gate.
    pub(super) fn status(&self) -> Status {
        match (self.is_worse, self.is_undecided) {
            (true, _) => Status::Fail,
            (false, true) => Status::Undecided,
            (false, false) => Status::Pass,
        }
    }
}

impl Comparison {
    /// What came of it as a gate: [`Status::Fail`] where the new side is slower, delivers less, loses more, stays deaf
    /// or fails more often; [`Status::Undecided`] where nobody can tell that of a headline, of what is delivered, of losses, of deaf
    /// trials or of failures, or of a cell, or where no cell was compared.
    pub fn status(&self) -> Status {
        let rows = self
            .judged()
            .flat_map(|c| c.rows.iter().map(|row| c.status(row)));
        let cells = self.left_out.iter().map(LeftOut::status);
        let none = self.cells.is_empty().then_some(Status::Undecided);
        let all = rows.chain(cells).chain(none);
        all.max().unwrap_or(Status::Undecided)
    }

    /// Whether nothing but the scatter of trials, or too few samples, leaves it undecided: no trial of a judged cell failed or is missing, no side
    /// has only disturbed trials, no finding was taken back, the machine did not move, and no cell was left out that was asked for.
    pub fn is_open_by_scatter(&self) -> bool {
        let is_open = |c: &ComparedCell, row: &Row| c.status(row) == Status::Undecided;
        let is_harmed = |c: &ComparedCell| {
            let mut open = c.rows.iter().filter(|row| is_open(c, row)).peekable();
            open.peek().is_some() && (c.is_damaged || open.any(|row| !row.is_open_by_scatter()))
        };
        let is_left_out = self.left_out.iter().any(|l| l.status() != Status::Pass);
        !self.cells.is_empty() && !is_left_out && !self.judged().any(is_harmed)
    }

    /// Of each row for which [`status`](Self::status) is undecided, how many further trials of each side would decide it with a chance of
    /// [`POWER`](dyno_stats::POWER).
    pub fn further(&self) -> Vec<Option<u64>> {
        let rows = self
            .judged()
            .flat_map(|c| c.rows.iter().map(move |r| (c, r)));
        let undecided = rows.filter(|(c, row)| c.status(row) == Status::Undecided);
        undecided
            .map(|(_, row)| match row.result.as_ref().ok()?.finding {
                Finding::Undecided { more } => more,
                _ => None,
            })
            .collect()
    }

    /// The cells that say something of what is compared. The floor tells of the machine: it counts only where
    /// there is nothing else.
    pub(super) fn judged(&self) -> impl Iterator<Item = &ComparedCell> {
        let only_floors = self.cells.iter().all(|c| c.is_floor);
        let is_judged = move |c: &&ComparedCell| only_floors || !c.is_floor;
        self.cells.iter().filter(is_judged)
    }
}

impl ComparedCell {
    /// What a row of it comes to as a gate. What a message costs is no part of it.
    pub(super) fn status(&self, row: &Row) -> Status {
        match row.grade() {
            _ if row.figure == Figure::CpuPerMessage => Status::Pass,
            Grade::Worse => Status::Fail,
            Grade::Open if self.is_judged(row) || row.but.is_some() => Status::Undecided,
            _ => Status::Pass,
        }
    }

    /// Whether a gate asks for a verdict on a row, not only that it is no worse.
    pub(super) fn is_judged(&self, row: &Row) -> bool {
        match row.figure {
            Figure::CpuPerMessage => false,
            Figure::Quantile { metric, .. } => self.new.headline().contains(&metric),
            Figure::Delivered | Figure::Lost | Figure::Deaf | Figure::Failed => true,
        }
    }
}

impl Row {
    /// Says nothing of it, for this reason.
    pub(super) fn take_back(&mut self, why: &str) {
        if let Ok(compared) = &mut self.result {
            compared.finding = Finding::Undecided { more: None };
            self.but = Some(why.to_owned());
        }
    }

    /// Whether more trials or samples of the same kind would decide it.
    fn is_open_by_scatter(&self) -> bool {
        let is_known = match &self.result {
            Ok(compared) => matches!(compared.finding, Finding::Undecided { .. }),
            Err(_) => self.figure != Figure::Deaf,
        };
        is_known && self.but.is_none()
    }

    pub(crate) fn grade(&self) -> Grade {
        let Ok(compared) = &self.result else {
            return Grade::Open;
        };
        match (compared.finding, self.figure.is_better_higher()) {
            (Finding::Same, _) => Grade::Same,
            (Finding::Lower, false) | (Finding::Higher, true) => Grade::Better,
            (Finding::Higher, false) | (Finding::Lower, true) => Grade::Worse,
            (Finding::Undecided { .. } | Finding::MachineMoved, _) => Grade::Open,
        }
    }
}
