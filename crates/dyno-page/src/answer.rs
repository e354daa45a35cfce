//! The answers: which stack is fastest, how sure that is, at what cost, and what else must be said
//! before anybody repeats it.

use crate::question::{Question, questions};
use crate::ranking::{
    Entry, Ranked, Standing, cpu, each, floor, interval, is_deaf, ranked, trials,
};
use crate::words;
use dyno_model::record::RunManifest;
use dyno_report::{Summary, duration, outage_verdict, share, sig3};
use serde::Serialize;

/// The answer to one question of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The conditions that the compared experiments share.
    pub question: String,
    /// Their places in `show.experiments`, best first: those that deliver by the p50 of the headline, then
    /// those of which trials failed, those that drop messages, those whose p50 is infinite, those without one, and the failed.
    pub experiments: Vec<usize>,
    /// The best one and those that cannot be told from it; empty where there is none, where trials of it failed or
    /// are missing, or where no other has a p50 and its own has no upper end with the trials that the host disturbed.
    pub best: Vec<usize>,
    /// The headline metric.
    pub metric: &'static str,
    /// The answer.
    pub text: String,
    /// What would answer better, where stacks wait in different ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The experiment's name where it says enough, else the question.
    #[serde(skip)]
    pub(crate) short: String,
    /// The best ones as a table has them; of a question without a best one the first stack's.
    #[serde(skip)]
    pub rows: Vec<AnswerRow>,
}

/// A stack's row in the table of answers, as text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct AnswerRow {
    /// The stack.
    pub stack: String,
    /// p50 with its interval, or what stands for it.
    pub p50: String,
    /// p50 over that of the floor.
    pub floor: String,
    /// CPU per message, or per start.
    pub cpu: String,
    /// Share of the offered messages that arrived.
    pub delivered: String,
    /// Failed and missing of all trials.
    pub failures: String,
}

/// The answers to all questions of a run, in the plan's order.
pub(crate) fn answers(summary: &Summary, manifest: &RunManifest) -> Vec<Answer> {
    questions(summary, manifest).iter().map(answer).collect()
}

fn answer(question: &Question<'_>) -> Answer {
    let ranked = ranked(question);
    let fastest = ranked.fastest();
    let Ranked {
        entries,
        best,
        metric,
    } = ranked;
    let (named, others): (Vec<_>, Vec<_>) = entries.iter().partition(|x| best.contains(&x.place));
    let rows = match named.is_empty() {
        true => entries.iter().take(1).map(Entry::row).collect(),
        false => named.iter().map(|x| x.row()).collect(),
    };
    Answer {
        question: question.text.clone(),
        short: question.short.clone(),
        text: [words::text(&named, &others, metric)]
            .into_iter()
            .chain(outages(&entries))
            .collect::<Vec<_>>()
            .join(" "),
        hint: words::hint(question),
        experiments: entries.iter().map(|x| x.place).collect(),
        best: fastest,
        metric: metric.as_str(),
        rows,
    }
}

/// Of experiments with faults: what came of them, stack by stack.
fn outages(entries: &[Entry<'_>]) -> Vec<String> {
    let said = entries.iter().filter_map(|x| {
        let text = outage_verdict(x.e, x.e.outage.as_ref()?, &x.name)?;
        let mut chars = text.chars();
        let first: String = chars.next()?.to_uppercase().collect();
        Some(format!("{first}{}.", chars.as_str()))
    });
    said.take(words::NAMED).collect()
}

impl Entry<'_> {
    fn row(&self) -> AnswerRow {
        let e = self.e;
        let p50 = match &self.standing {
            Standing::Delivers(p50) | Standing::Fails(p50) | Standing::Drops(p50) => interval(p50),
            Standing::Infinite if e.outage.is_some() => "∞ (no recovery)".into(),
            Standing::Infinite => "∞ (lost)".into(),
            Standing::Without(reason) => reason.clone(),
            Standing::Failed(reason) => format!("failed: {reason}"),
        };
        let delivered = match (e.delivered_ratio(), e.missing_messages()) {
            (None, _) => String::new(),
            (Some(ratio), None) => share(ratio),
            (Some(ratio), Some(missing)) => format!("{} ({missing})", share(ratio)),
        };
        AnswerRow {
            stack: self.name.clone(),
            p50,
            floor: floor(e).map_or_else(String::new, sig3),
            cpu: cpu(e).map_or_else(String::new, |ns| {
                format!("{} per {}", duration(ns), each(e))
            }),
            delivered,
            failures: match words::failed(e) {
                None => "none".into(),
                Some(_) if e.trials.failed > 0 && e.missing == 0 && !is_deaf(e) => {
                    format!("{} of {} trials", e.trials.failed, trials(e))
                }
                Some(text) => text,
            },
        }
    }
}
