//! What was asked of a run and what came of it, for the page's top: each requirement of a limits file on each stack,
//! as `dyno check` judged it. Nothing is judged here.

use crate::answer::Answer;
use crate::words::listed;
use dyno_judge::{Candidate, CheckReport, Checked, Scorecard, Status};
use dyno_report::Summary;
use serde::Serialize;

/// The requirements of one file against the stacks of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Verdicts {
    /// Which stacks keep all of them, and which of those is fastest, in words.
    sentences: Vec<String>,
    requirements: Vec<Requirement>,
    stacks: Vec<Row>,
    /// Every result with its reason.
    results: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Requirement {
    name: String,
    required: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    stack: String,
    sign: Sign,
    /// `meets all 4`.
    says: String,
    cells: Vec<Option<Cell>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cell {
    sign: Sign,
    /// The figure that decides, with its interval.
    found: String,
    /// Where it decides, if the requirement is put on several experiments.
    place: String,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Line {
    sign: Sign,
    limit: String,
    experiment: String,
    required: String,
    found: String,
    reason: String,
    remarks: Vec<String>,
}

/// A status in a word, with a sign that needs no colour.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Sign {
    word: &'static str,
    mark: &'static str,
}

impl From<Status> for Sign {
    fn from(status: Status) -> Sign {
        Sign {
            word: status.as_str(),
            mark: match status {
                Status::Pass => "✓",
                Status::Fail => "✕",
                Status::Undecided => "?",
            },
        }
    }
}

impl Verdicts {
    pub(crate) fn of(check: &CheckReport, summary: &Summary, answers: &[Answer]) -> Verdicts {
        let card = check.scorecard();
        let mut sentences = vec![lead(check, &card)];
        sentences.extend(fastest(&card, summary, answers));
        Verdicts {
            sentences,
            requirements: card
                .requirements
                .iter()
                .map(|limit| Requirement {
                    name: limit.name().to_string(),
                    required: limit.required(),
                })
                .collect(),
            stacks: card.candidates.iter().map(row).collect(),
            results: check.results.iter().map(line).collect(),
        }
    }
}

/// `tcp meets all 4 requirements of limits.toml. Violated by udp. Undecided for pipe.`
fn lead(check: &CheckReport, card: &Scorecard<'_>) -> String {
    type Wanted = fn(&Candidate<'_>) -> bool;
    let all = card.requirements.len();
    let of = |wanted: Wanted| -> Vec<String> {
        let those = card.candidates.iter().filter(|c| wanted(c));
        those.map(|c| c.name.clone()).collect()
    };
    let keeping = of(|c| c.keeps_all());
    let kept = match keeping.as_slice() {
        [] => "No stack meets, with confidence,".to_owned(),
        [one] => format!("{one} meets"),
        several => format!("{} meet", listed(several)),
    };
    let what = match all {
        1 => "the requirement".to_owned(),
        _ => format!("all {all} requirements"),
    };
    let mut text = format!("{kept} {what} of {}.", check.limits);
    // Of a stack that some are not put on, those that are.
    let partly = of(|c| c.status() == Status::Pass && !c.keeps_all());
    match partly.as_slice() {
        [] => {}
        [one] => text.push_str(&format!(" {one} meets its requirements.")),
        several => text.push_str(&format!(" {} meet their requirements.", listed(several))),
    }
    let others: [(Wanted, &str); 3] = [
        (|c| c.status() == Status::Fail, "Violated by"),
        (
            |c| c.status() == Status::Undecided && c.count(Status::Undecided) > 0,
            "Undecided for",
        ),
        (
            |c| c.status() == Status::Undecided && c.not_measured() > 0,
            "Some requirements were not measured for",
        ),
    ];
    for (wanted, said) in others {
        let those = of(wanted);
        if !those.is_empty() {
            text.push_str(&format!(" {said} {}.", listed(&those)));
        }
    }
    text
}

/// Among several stacks that keep everything, the one with the smallest p50 of each question.
fn fastest(card: &Scorecard<'_>, summary: &Summary, answers: &[Answer]) -> Option<String> {
    let keeping: Vec<&Candidate<'_>> = card.candidates.iter().filter(|c| c.keeps_all()).collect();
    if keeping.len() < 2 {
        return None;
    }
    let of_one = |answer: &Answer| {
        let found = answer.experiments.iter().find_map(|place| {
            let e = &summary.experiments[*place];
            e.headline_metric()?;
            keeping.iter().find(|c| c.is_of(&e.experiment))
        })?;
        Some(format!("{} in {}", found.name, answer.short))
    };
    let all: Vec<String> = answers.iter().filter_map(of_one).collect();
    (!all.is_empty()).then(|| format!("Smallest p50 among these: {}.", listed(&all)))
}

fn row(candidate: &Candidate<'_>) -> Row {
    let put = candidate.scores.iter().flatten().count();
    let [failed, undecided] = [Status::Fail, Status::Undecided].map(|s| candidate.count(s));
    let gaps = candidate.not_measured();
    let mut says = match (failed, undecided) {
        (0, 0) if gaps > 0 => format!("meets {put}"),
        (0, 0) if put == 1 => "meets its requirement".to_owned(),
        (0, 0) => format!("meets all {put}"),
        (0, n) => format!("{n} of {put} undecided"),
        (n, 0) => format!("violates {n} of {put}"),
        (n, more) => format!("violates {n} of {put}, {more} undecided"),
    };
    if gaps > 0 {
        says.push_str(&format!(", {gaps} not measured"));
    }
    Row {
        stack: candidate.name.clone(),
        sign: candidate.status().into(),
        says,
        cells: candidate
            .scores
            .iter()
            .zip(&candidate.gaps)
            .map(|(score, gap)| {
                let Some(score) = score else {
                    return gap.as_deref().map(not_measured);
                };
                let place = match score.results {
                    1 => String::new(),
                    n => {
                        let at = score.worst.experiment.name.clone();
                        format!("{at}; {} of {n} pass", score.passed)
                    }
                };
                // What passes where it was measured is undecided where it was not.
                let open = gap
                    .as_deref()
                    .filter(|_| score.worst.status == Status::Pass);
                Some(Cell {
                    sign: open
                        .map_or(score.worst.status, |_| Status::Undecided)
                        .into(),
                    found: score.worst.found_text(),
                    place: open.map_or(place, str::to_owned),
                    reason: open.unwrap_or(&score.worst.reason).to_string(),
                })
            })
            .collect(),
    }
}

/// No figure is no pass.
fn not_measured(gap: &str) -> Cell {
    Cell {
        sign: Status::Undecided.into(),
        found: gap.to_string(),
        place: String::new(),
        reason: gap.to_string(),
    }
}

fn line(result: &Checked) -> Line {
    Line {
        sign: result.status.into(),
        limit: result.limit.name().to_string(),
        experiment: result.label().to_string(),
        required: result.limit.required(),
        found: result.found_text(),
        reason: result.reason.clone(),
        remarks: result.remarks.iter().map(|r| r.to_string()).collect(),
    }
}
