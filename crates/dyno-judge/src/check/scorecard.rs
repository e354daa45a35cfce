//! A check as whoever chooses a stack reads it: for each stack what came of each requirement. Nothing is judged
//! here; a stack's score of a requirement is the worst of its results.

use super::limits::Limit;
use super::{CheckReport, Checked, Status};
use crate::standing::Line;
use dyno_model::Experiment;
use std::cmp::Ordering;

/// All stacks against all requirements.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorecard<'a> {
    /// In the order of the file.
    pub requirements: Vec<&'a Limit>,
    /// Those that break least first, then those with least undecided, then in the order of the plan.
    pub candidates: Vec<Candidate<'a>>,
}

/// A stack; one that was measured with several wait strategies, or on several machines, is one for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'a> {
    /// The stack, with whatever tells it from other candidates: `iceoryx2 (spin)`.
    pub name: String,
    /// For each requirement what came of it; `None` where it is not put on this stack.
    pub scores: Vec<Option<Score<'a>>>,
    /// An experiment of it.
    of: &'a Experiment,
}

/// What came of one requirement on one stack.
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

    /// The worst of its scores: a stack passes only what it passes everywhere.
    pub fn status(&self) -> Status {
        match (self.count(Status::Fail), self.count(Status::Undecided)) {
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
        for result in &self.results {
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
            })
            .collect();
        candidates.sort_by_key(|c| (c.count(Status::Fail), c.count(Status::Undecided)));
        Scorecard {
            requirements,
            candidates,
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
    let rank = |s: Status| match s {
        Status::Pass => 0,
        Status::Undecided => 1,
        Status::Fail => 2,
    };
    let towards_wrong = |c: &Checked| {
        let value = c.found.map_or(f64::NAN, |f| f.value);
        match (value.is_nan(), c.limit.bound.line()) {
            (true, _) => f64::INFINITY,
            (false, Line::AtMost(_)) => value,
            (false, Line::AtLeast(_)) => -value,
        }
    };
    rank(a.status)
        .cmp(&rank(b.status))
        .then(towards_wrong(a).total_cmp(&towards_wrong(b)))
}
