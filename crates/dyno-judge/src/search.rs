//! The highest value of a factor that meets all limits with confidence: a search over fresh trials.
//!
//! Each rung of a plan's ladder is held against the limits by the comparison of `dyno check`, after each of its trials
//! from the second on, until it is decided or has had [`MOST`] trials; [`climb`] says which rung comes next. What a
//! search has found is a function of the stored trials alone: whoever shows a run, or resumes it, replays it.

mod climb;
mod export;
mod render;
mod tested;

pub use climb::Rung;
pub use tested::Tested;

use crate::cell::listed;
use crate::check::{CheckOptions, Limits, LimitsError, Status, check, covers};
use crate::number::counted;
use climb::{Climb, Next};
use dyno_model::cause::{Cause, Disturbance};
use dyno_model::record::{Outcome, Run};
use dyno_model::{Experiment, Ladder, Raised, RunManifest, TrialId, TrialRecord};
use std::collections::BTreeMap;

/// Trials of a rung before it is first held against the limits: one alone says nothing of how trials differ.
const LEAST: usize = 2;

/// Trials after which a rung that is still between is left undecided.
const MOST: usize = 8;

/// The least number of trials of a confirmation; the suite's `trials` may ask for more.
const LEAST_CONFIRMING: usize = 3;

/// A confirmation is looked at after so many times the least number of its trials, as long as it is undecided. Each
/// look has a third of the error that all together may have (Bonferroni).
const LOOKS: [usize; 3] = [1, 2, 4];

/// A delayed trial whose source sent less than this share of what was due had an easier load. Rungs are 4.4 % apart.
const SENT: f64 = 0.99;

/// Failed trials that end a rung without a figure.
const FAILED: usize = 2;

/// A search in progress, or one that is replayed from its trials.
#[derive(Debug, Clone)]
pub struct CapacitySearch {
    /// The run's head, with the trials of the rung that is judged.
    scratch: Run,
    raise: Raised,
    limits: Limits,
    how: CheckOptions,
    cells: Vec<Cell>,
    /// Trials that were noted before they were due: those of a stored run.
    early: BTreeMap<TrialId, TrialRecord>,
    news: Vec<String>,
}

/// One ladder on its way.
#[derive(Debug, Clone)]
struct Cell {
    ladder: Ladder,
    climb: Climb,
    /// The limits that are put on it, by their place among [`CapacitySearch::limits`].
    limits: Vec<usize>,
    /// Of each rung.
    trials: BTreeMap<usize, Vec<TrialRecord>>,
    /// In the order in which it was found out.
    tested: Vec<Tested>,
}

/// The trials of a rung that answer one question, and how sure an answer must be.
struct Question<'a> {
    cell: &'a Cell,
    experiment: &'a Experiment,
    confirms: bool,
    own: &'a [TrialRecord],
    confidence: f64,
}

/// How a search over one ladder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The highest rung that meets the limits with confidence is known and confirmed.
    Found,
    /// So it is, and it is the highest that can be tried.
    Top,
    /// Not even the first rung meets the limits with confidence.
    NotEvenFirst,
    /// Trials are missing: it was interrupted.
    Unfinished,
}

impl End {
    /// `found`, `top`, `first` or `unfinished`.
    pub const fn as_str(self) -> &'static str {
        match self {
            End::Found => "found",
            End::Top => "top",
            End::NotEvenFirst => "first",
            End::Unfinished => "unfinished",
        }
    }
}

/// The result of a search for one stack and its other factors.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacity {
    /// The experiment of the first rung: all but the raised factor holds for the others too.
    pub experiment: Experiment,
    /// How the search ended.
    pub end: End,
    /// The highest confirmed rung that meets all limits with confidence; while the search is unfinished, as tried.
    pub kept: Option<Tested>,
    /// The lowest rung that breaks a limit with confidence.
    pub broken: Option<Tested>,
    /// Whether fresh trials broke that one again. Searches of older builds never asked.
    pub is_cap_confirmed: bool,
    /// The rungs that were tried between these two, in ascending order: the trials do not tell.
    pub between: Vec<Tested>,
    /// All that was tried on the way, in ascending order; confirmations after what they confirm.
    pub curve: Vec<Tested>,
    /// Why the stack refuses values above the highest rung, where it does.
    pub refused_above: Option<String>,
}

/// The capacities of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Capacities {
    /// The run.
    pub run: String,
    /// Its suite.
    pub suite: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
    /// The raised factor.
    pub raise: Raised,
    /// The limits file.
    pub limits: String,
    /// What each limit requires.
    pub required: Vec<String>,
    /// Confidence of each interval.
    pub confidence: f64,
    /// One for each ladder that a limit is put on, in the plan's order.
    pub all: Vec<Capacity>,
}

impl CapacitySearch {
    /// The search of a run, or `None` where the run is none. Takes no notice of trials.
    ///
    /// # Errors
    /// Limits that are wrong, that select nothing of the plan, or that a search cannot hold.
    pub fn new(manifest: &RunManifest) -> Result<Option<CapacitySearch>, LimitsError> {
        let plan = &manifest.plan;
        let Some(search) = &plan.search else {
            return Ok(None);
        };
        let how = CheckOptions::default();
        let limits = Limits::parse(&search.until.path, &search.until.text)?;
        let scratch = Run {
            manifest: manifest.clone(),
            trials: Vec::new(),
            machines: BTreeMap::new(),
        };
        // Every mistake in selectors and metrics is found as if the run were checked.
        check(&scratch, &limits, &how)?;
        let ladders = plan.ladders();
        covers::refuse(&limits, plan, search.raise, &ladders)?;
        let cell = |ladder: Ladder| {
            let limits = covers::on(&limits, plan, &ladder);
            (!limits.is_empty()).then(|| Cell {
                climb: Climb::new(ladder.values.clone(), search.rules),
                ladder,
                limits,
                trials: BTreeMap::new(),
                tested: Vec::new(),
            })
        };
        let cells = ladders.into_iter().filter_map(cell).collect();
        Ok(Some(CapacitySearch {
            scratch,
            raise: search.raise,
            limits,
            how,
            cells,
            early: BTreeMap::new(),
            news: Vec::new(),
        }))
    }

    /// Why the limits say nothing of this run: they are for real machines and it is of an emulated one, or the other way round.
    pub fn unfit(&self) -> Option<String> {
        self.limits.unfit(&self.scratch)
    }

    /// The trial that is due, or `None` where the search has ended. Ladders take turns.
    pub fn due(&self) -> Option<TrialId> {
        let open = self.cells.iter().filter_map(|c| Some((c.done(), c.due()?)));
        // Of several with equally many the first.
        open.min_by_key(|(done, _)| *done).map(|(_, id)| id)
    }

    /// Takes note of a trial, also before it is due.
    pub fn note(&mut self, record: &TrialRecord) {
        self.early.insert(record.id, record.clone());
        while let Some(record) = self.due().and_then(|id| self.early.remove(&id)) {
            self.take(record);
        }
    }

    /// Trials that were taken so far, and the one that is due.
    pub fn known(&self) -> usize {
        let done: usize = self.cells.iter().map(Cell::done).sum();
        done + usize::from(self.due().is_some())
    }

    /// New results since the last call, as text.
    pub fn news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// The trial that is due has ended.
    fn take(&mut self, record: TrialRecord) {
        let Some(at) = self.cells.iter().position(|c| c.due() == Some(record.id)) else {
            return;
        };
        let asked = self.cells[at].climb.next();
        if let Next::Try(i) | Next::Confirm(i) = asked {
            self.cells[at].trials.entry(i).or_default().push(record);
            if let Some(tested) = self.tested(&self.cells[at], asked, i) {
                let cell = &mut self.cells[at];
                cell.climb.note(asked, tested.rung, tested.is_hidden);
                let news = format!("{}: {}", tested.label(), tested.sentence(self.raise));
                self.news.push(news);
                cell.tested.push(tested);
            }
        }
    }

    /// What the rung comes to, as soon as its trials decide.
    fn tested(&self, cell: &Cell, asked: Next, i: usize) -> Option<Tested> {
        let plan = &self.scratch.manifest.plan;
        let experiment = plan.experiment(cell.ladder.experiments[i])?;
        let confirms = matches!(asked, Next::Confirm(_));
        let own = &cell.trials.get(&i)?[cell.before(i, confirms)..];
        let least = match confirms {
            true => LEAST_CONFIRMING.max(experiment.trials as usize),
            false => LEAST,
        };
        let most = match confirms {
            true => LOOKS[LOOKS.len() - 1] * least,
            false => MOST,
        };
        let is_look = |trials: usize| match confirms {
            true => LOOKS.iter().any(|times| trials == times * least),
            false => trials >= LEAST,
        };
        let count = |is_one: &dyn Fn(&TrialRecord) -> bool| {
            own.iter().filter(|t| !is_failed(t) && is_one(t)).count()
        };
        let failed = own.iter().filter(|t| is_failed(t)).count();
        let calm = count(&|t| t.disturbed.is_empty());
        let usable = count(&|t| self.is_usable(cell, t));
        let disturbed = own.len() - failed - calm;
        let looks = match (confirms, usable > calm) {
            (false, _) => 1,
            (true, false) => LOOKS.len(),
            // Each look is one at the undisturbed trials, and one at these with those that were only delayed.
            (true, true) => 2 * LOOKS.len(),
        };
        let question = Question {
            cell,
            experiment,
            confirms,
            own,
            confidence: 1.0 - (1.0 - self.how.confidence) / looks as f64,
        };
        if usable > calm && is_look(usable) {
            let usable = |t: &TrialRecord| is_failed(t) || self.is_usable(cell, t);
            let kept = self.judge(&question, None, usable);
            if kept.rung == Rung::Kept {
                return Some(self.beside_the_rest(&question, kept));
            }
        }
        // A disturbed trial is repeated, so often; then those that there are must do.
        let given_up = usable >= most.max(calm + 1)
            || (own.len() - failed - usable > plan.repeats as usize && calm + disturbed >= least);
        if failed < FAILED && !is_look(calm) && !given_up {
            return None;
        }
        // Where enough are undisturbed, the others count for nothing, losses included.
        // Where too few are, all that there are count, and not those few alone; they keep no limit (ADR 34).
        let too_few = (given_up && calm < least).then(|| {
            let all = counted(own.len() as u64, "trial");
            format!(
                "the host disturbed {disturbed} of {all}, and {least} undisturbed ones are needed"
            )
        });
        let tested = self.judge(&question, too_few.as_deref(), |t| {
            too_few.is_some() || is_failed(t) || t.disturbed.is_empty()
        });
        let is_kept = tested.rung == Rung::Kept;
        let tested = self.beside_the_rest(&question, tested);
        let decided = is_kept || tested.rung == Rung::Broken;
        let enough = failed >= FAILED || given_up || calm >= most;
        (decided || enough).then_some(tested)
    }

    /// A rung that some of its trials meet the limits in: kept if all its trials together do, and otherwise undecided, since
    /// nobody knows what the others would have shown on a quiet host (ADR 34).
    fn beside_the_rest(&self, question: &Question<'_>, kept: Tested) -> Tested {
        let search = self.scratch.manifest.plan.search.as_ref();
        let by_law = search.is_some_and(|s| s.rules > 1);
        if !by_law || kept.rung != Rung::Kept || kept.judged == question.own.len() {
            return kept;
        }
        let mut all = self.judge(question, None, |_| true);
        if all.rung == Rung::Kept {
            return kept;
        }
        for checked in all.checks.iter_mut().filter(|c| c.status != Status::Pass) {
            checked.status = Status::Undecided;
            checked.reason = format!(
                "{} meet the limit, but not together with the trials that the host disturbed: {}",
                counted(kept.judged as u64, "trial"),
                checked.reason
            );
        }
        Tested {
            rung: Rung::Undecided,
            is_hidden: true,
            ..all
        }
    }

    /// Whether a trial can show that a rung meets the limits: an undisturbed one, or one that the host only delayed, if no limit
    /// of the ladder is easier to meet by that (ADR 44).
    fn is_usable(&self, cell: &Cell, trial: &TrialRecord) -> bool {
        let search = self.scratch.manifest.plan.search.as_ref();
        let counts_delayed = search.is_some_and(|s| s.rules > 1);
        let delayed = |cause: &Cause<Disturbance>| matches!(cause, Cause::Known(known) if known.only_delays());
        let mut limits = cell.limits.iter().map(|n| &self.limits.limits[*n]);
        trial.disturbed.is_empty()
            || counts_delayed
                && trial.disturbed.iter().all(delayed)
                && trial.throughput.sent_hz >= SENT * trial.throughput.offered_hz
                && limits.all(|limit| limit.measure.is_never_better_by_delay())
    }

    /// Holds the limits against some trials of a rung, as if nothing had disturbed them. `too_few` says why they can keep no limit.
    fn judge(
        &self,
        question: &Question<'_>,
        too_few: Option<&str>,
        counts: impl Fn(&TrialRecord) -> bool,
    ) -> Tested {
        let taken: Vec<&TrialRecord> = question.own.iter().filter(|t| counts(t)).collect();
        let undisturbed = taken.iter().map(|t| TrialRecord {
            disturbed: Vec::new(),
            ..(*t).clone()
        });
        let run = Run {
            trials: undisturbed.collect(),
            ..self.scratch.clone()
        };
        let how = CheckOptions {
            confidence: question.confidence,
        };
        let limits = question.cell.limits.iter().map(|n| &self.limits.limits[*n]);
        let judged = limits.map(|limit| {
            let mut checked = crate::check::judge_one(&run, limit, question.experiment, &how);
            if let (Some(why), Status::Pass) = (too_few, checked.status) {
                checked.status = Status::Undecided;
                checked.reason = format!(
                    "{why}; judged by all trials, the limit passes: {}",
                    checked.reason
                );
            }
            checked
        });
        let disturbed = taken.iter().filter(|t| !t.disturbed.is_empty()).count();
        Tested {
            taken: question.own.len(),
            disturbed,
            is_hidden: too_few.is_some(),
            ..Tested::new(
                question.experiment,
                self.raise,
                question.confirms,
                how.confidence,
                judged.collect(),
                &run.trials,
            )
        }
    }

    /// The results of the trials noted so far.
    pub fn capacities(&self) -> Capacities {
        let manifest = &self.scratch.manifest;
        Capacities {
            run: manifest.id.clone(),
            suite: manifest.plan.suite.clone(),
            started_unix_ms: manifest.started_unix_ms,
            raise: self.raise,
            limits: self.limits.name().to_owned(),
            required: self.limits.limits.iter().map(|l| l.required()).collect(),
            confidence: self.how.confidence,
            all: self.cells.iter().filter_map(|c| self.capacity(c)).collect(),
        }
    }

    fn capacity(&self, cell: &Cell) -> Option<Capacity> {
        let plan = &self.scratch.manifest.plan;
        let first = plan.experiment(*cell.ladder.experiments.first()?)?;
        let (kept, broken) = (cell.climb.kept(), cell.climb.broken());
        let top = cell.ladder.values.len() - 1;
        // The last word on a rung is its confirmation.
        let of = |i: usize| {
            let value = cell.ladder.values[i];
            cell.tested.iter().rev().find(|t| t.value == value).cloned()
        };
        let mut curve = cell.tested.clone();
        curve.sort_by(|a, b| {
            let order = a.value.total_cmp(&b.value);
            order.then(a.confirms.cmp(&b.confirms))
        });
        let refused = |r: &&dyno_model::plan::Refusal| {
            (&r.experiment, &r.stack) == (&first.name, &first.stack)
                && is_rung(self.raise, first, &r.factors)
        };
        Some(Capacity {
            experiment: first.clone(),
            end: match (cell.climb.next(), kept) {
                (Next::Try(_), _) => End::Unfinished,
                // What is kept is known, also where nobody looked at the broken one again, or, as in searches of older builds,
                // at a first one that was undecided.
                (Next::Confirm(i), Some(_)) if Some(i) != broken => End::Unfinished,
                (_, None) => End::NotEvenFirst,
                (_, Some(kept)) if kept == top => End::Top,
                (_, Some(_)) => End::Found,
            },
            kept: kept.and_then(of),
            broken: broken.and_then(of),
            is_cap_confirmed: cell.climb.is_cap_confirmed(),
            between: cell.climb.between().filter_map(of).collect(),
            curve,
            refused_above: plan
                .refused
                .iter()
                .find(refused)
                .map(|r| r.reason.to_string()),
        })
    }
}

/// The capacities that a stored run has found, or `None` where it was no search.
///
/// # Errors
/// As [`CapacitySearch::new`]: the limits that the run keeps cannot be read by this build.
pub fn capacities(run: &Run) -> Result<Option<Capacities>, LimitsError> {
    let Some(mut search) = CapacitySearch::new(&run.manifest)? else {
        return Ok(None);
    };
    for trial in &run.trials {
        search.note(trial);
    }
    Ok(Some(search.capacities()))
}

/// Whether the factors of a refused cell are those of a ladder but for the raised one.
fn is_rung(raised: Raised, first: &Experiment, refused: &str) -> bool {
    let own = listed(first);
    let raised = match raised {
        Raised::Rate => 0,
        Raised::Payload => 1,
        Raised::Clients => 5,
    };
    let refused: Vec<&str> = refused.split(", ").collect();
    let alike = |(i, (a, b)): (usize, (&String, &&str))| i == raised || a == b;
    own.len() == refused.len() && own.iter().zip(&refused).enumerate().all(alike)
}

fn is_failed(trial: &TrialRecord) -> bool {
    matches!(trial.outcome, Outcome::Failed { .. })
}

impl Cell {
    /// The trial that is due.
    fn due(&self) -> Option<TrialId> {
        let (Next::Try(i) | Next::Confirm(i)) = self.climb.next() else {
            return None;
        };
        let done = self.trials.get(&i).map_or(0, Vec::len);
        Some(TrialId {
            experiment: self.ladder.experiments[i],
            // The sum of MOST, repeats and confirmations is small.
            number: done as u32,
        })
    }

    fn done(&self) -> usize {
        self.trials.values().map(Vec::len).sum()
    }

    /// Trials of a rung that do not belong to what is asked: a confirmation has those after the first decision.
    fn before(&self, i: usize, confirms: bool) -> usize {
        let tried = self
            .tested
            .iter()
            .find(|t| confirms && !t.confirms && t.value == self.ladder.values[i]);
        tried.map_or(0, |t| t.taken)
    }
}
