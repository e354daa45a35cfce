//! A check in the form that helps to choose a stack: the result of each requirement for each stack. Nothing is judged
//! here; a stack's score of a requirement is the worst of its results.

use super::limits::{Chosen, Limit};
use super::report::{CheckReport, Checked, Status};
use super::select::allows;
use crate::standing::Line;
use dyno_model::{Experiment, PayloadSize};
use std::cmp::Ordering;

/// All stacks against all requirements.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorecard<'a> {
    /// In the order of the file.
    pub requirements: Vec<&'a Limit>,
    /// Those that break least first, then those with least undecided or not measured, then in the order of the plan.
    pub candidates: Vec<Candidate<'a>>,
}

/// A stack; one that was measured with several wait strategies, or on several machines, is one for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'a> {
    /// The stack, with whatever tells it from other candidates: `iceoryx2 (spin)`.
    pub name: String,
    /// The result of each requirement; `None` where it is not put on this stack, or was not measured on it.
    pub scores: Vec<Option<Score<'a>>>,
    /// For each requirement that is put on this stack and was not measured on it, or not in every experiment, that in
    /// words, with the reason where the plan refused it; else `None`.
    pub gaps: Vec<Option<String>>,
    /// An experiment of it.
    of: &'a Experiment,
}

/// The result of one requirement on one stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Score<'a> {
    /// The worst of its results, by status and then by how far the figure is on the wrong side.
    pub worst: &'a Checked,
    /// How many of the results passed.
    pub passed: usize,
    /// How many results there are, one for each experiment that the requirement is put on.
    pub results: usize,
}

impl Candidate<'_> {
    /// Number of requirements of a status.
    pub fn count(&self, status: Status) -> usize {
        let scores = self.scores.iter().flatten();
        scores.filter(|s| s.worst.status == status).count()
    }

    /// Number of requirements that are put on it and were not measured on it, or not everywhere.
    pub fn not_measured(&self) -> usize {
        self.gaps.iter().flatten().count()
    }

    /// Whether it is shown to keep every requirement of the file.
    pub fn keeps_all(&self) -> bool {
        self.count(Status::Pass) == self.scores.len() && self.not_measured() == 0
    }

    /// The worst of its scores: a stack passes only what it passes everywhere. Where something was not measured on
    /// it, it passes not.
    pub fn status(&self) -> Status {
        let open = self.count(Status::Undecided) + self.not_measured();
        match (self.count(Status::Fail), open) {
            (0, 0) => Status::Pass,
            (0, _) => Status::Undecided,
            _ => Status::Fail,
        }
    }

    /// Whether an experiment of the run is one of its own.
    pub fn is_of(&self, e: &Experiment) -> bool {
        same_candidate(self.of, e)
    }
}

impl CheckReport {
    /// The check, stack by stack.
    pub fn scorecard(&self) -> Scorecard<'_> {
        let mut requirements: Vec<&Limit> = Vec::new();
        let mut found: Vec<(&Experiment, Vec<&Checked>)> = Vec::new();
        // What was refused is told as a gap.
        for result in &self.results[..self.measured] {
            if !requirements.iter().any(|l| l.name == result.limit.name) {
                requirements.push(&result.limit);
            }
            let e = &result.experiment;
            match found.iter_mut().find(|(known, _)| same_candidate(known, e)) {
                Some((_, results)) => results.push(result),
                None => found.push((e, vec![result])),
            }
        }
        found.sort_by_key(|(e, _)| e.id);
        let all: Vec<&Experiment> = found.iter().map(|(e, _)| *e).collect();
        let mut candidates: Vec<Candidate<'_>> = found
            .iter()
            .map(|(e, results)| Candidate {
                name: name(e, &all),
                of: e,
                scores: requirements.iter().map(|l| score(l, results)).collect(),
                gaps: requirements
                    .iter()
                    .map(|l| self.gap(l, e, results, &all))
                    .collect(),
            })
            .collect();
        candidates.sort_by_key(|c| {
            let open = c.count(Status::Undecided) + c.not_measured();
            (c.count(Status::Fail), open)
        });
        Scorecard {
            requirements,
            candidates,
        }
    }

    /// What to say where a requirement is put on a candidate, of which `e` is an experiment, and has no result, or none
    /// of an experiment in which the plan refused the stack.
    fn gap(
        &self,
        limit: &Limit,
        e: &Experiment,
        results: &[&Checked],
        all: &[&Experiment],
    ) -> Option<String> {
        let s = &limit.selector;
        let is_yardstick = e.added || self.yardsticks.contains(&e.stack);
        let asked = allows(&s.stack, &e.stack)
            && allows(&s.wait, &e.wait)
            && (!is_yardstick || !s.stack.is_empty());
        if !asked {
            return None;
        }
        // Refusals have their factors as text.
        let has = |factors: &str, wanted: &str| factors.split(", ").any(|f| f == wanted);
        let wait = e.wait.to_string();
        let one_wait = all.iter().all(|x| x.stack != e.stack || x.wait == e.wait);
        let refusal = self.refused.iter().find(|r| {
            let sizes = &s.payload;
            let fits = |c: &Chosen<PayloadSize>| has(&r.factors, &c.value.to_string());
            let mut others = self.results.iter().filter(|x| x.limit.name == limit.name);
            r.stack == e.stack
                && others.any(|x| x.experiment.name == r.experiment)
                && (one_wait || has(&r.factors, &wait))
                && (sizes.is_empty() || sizes.iter().any(fits))
        });
        let is_measured = results.iter().any(|r| r.limit.name == limit.name);
        match (refusal, is_measured) {
            (Some(r), true) => Some(format!("not measured in {}: {}", r.experiment, r.reason)),
            (Some(r), false) => Some(format!("not measured: {}", r.reason)),
            (None, true) => None,
            (None, false) => Some("not measured".into()),
        }
    }
}

/// What came of a requirement, by the results of one candidate.
fn score<'a>(limit: &Limit, results: &[&'a Checked]) -> Option<Score<'a>> {
    let own = results.iter().filter(|r| r.limit.name == limit.name);
    Some(Score {
        worst: own.clone().max_by(|a, b| by_badness(a, b))?,
        passed: own.clone().filter(|r| r.status == Status::Pass).count(),
        results: own.count(),
    })
}

fn same_candidate(a: &Experiment, b: &Experiment) -> bool {
    (&a.stack, a.wait, &a.machine) == (&b.stack, b.wait, &b.machine)
}

/// The stack, and what tells it from others of that name.
fn name(e: &Experiment, all: &[&Experiment]) -> String {
    let mut same = all.iter().filter(|x| x.stack == e.stack);
    let mut more = Vec::new();
    if same.clone().any(|x| x.wait != e.wait) {
        more.push(e.wait.to_string());
    }
    if let Some(machine) = &e.machine
        && same.any(|x| x.machine != e.machine)
    {
        more.push(format!("on {machine}"));
    }
    match more.is_empty() {
        true => e.stack.clone(),
        false => format!("{} ({})", e.stack, more.join(", ")),
    }
}

/// By status, then by how far the figure lies towards the wrong side; none at all is the worst.
fn by_badness(a: &Checked, b: &Checked) -> Ordering {
    let towards_wrong = |c: &Checked| {
        let value = c.found.map_or(f64::NAN, |f| f.value);
        match (value.is_nan(), c.limit.bound.line()) {
            (true, _) => f64::INFINITY,
            (false, Line::AtMost(_)) => value,
            (false, Line::AtLeast(_)) => -value,
        }
    };
    let worse = a.status.cmp(&b.status);
    worse.then(towards_wrong(a).total_cmp(&towards_wrong(b)))
}
