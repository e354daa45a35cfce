//! Cells that cannot be measured, and how they are told.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A cell that the suite asks for and that cannot be measured, with the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The experiment's name in the suite.
    pub experiment: String,
    /// The stack by name.
    pub stack: String,
    /// The factors of the cell, as tables print them.
    pub factors: String,
    /// What the stack cannot do.
    pub reason: String,
}

/// Of how many adapters the reason why they cannot be used is told one by one.
const TOLD_APART: usize = 2;

impl Refusal {
    /// What stands between an adapter's name and the reason why nothing can be measured with it.
    pub const UNUSABLE: &str = " cannot be used here: ";

    /// One line for each reason, in the order of its first cell: the cell, or how many of which stacks. Where several
    /// adapters cannot be used, as after a first build, they share the first line.
    pub fn lines(refused: &[Refusal]) -> Vec<String> {
        let adapter = |r: &Refusal| Some(r.reason.split_once(Refusal::UNUSABLE)?.0.to_owned());
        let without: BTreeSet<String> = refused.iter().filter_map(adapter).collect();
        if without.len() > TOLD_APART {
            let (unusable, others): (Vec<Refusal>, Vec<Refusal>) =
                refused.iter().cloned().partition(|r| adapter(r).is_some());
            let stacks: BTreeSet<&str> = unusable.iter().map(|r| r.stack.as_str()).collect();
            let mut lines = vec![format!(
                "{} cells of {} stacks, whose adapters cannot be used here: {}; install their packages (dyno-{}) or run \
                 `cargo xtask adapters` in Dyno's source; `dyno list adapters` says what each of them lacks",
                unusable.len(),
                stacks.len(),
                without
                    .iter()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", "),
                without.first().map_or("", String::as_str),
            )];
            lines.extend(Refusal::lines(&others));
            return lines;
        }
        let mut reasons: Vec<(&str, Vec<&Refusal>)> = Vec::new();
        for r in refused {
            match reasons.iter_mut().find(|(reason, _)| *reason == r.reason) {
                Some((_, cells)) => cells.push(r),
                None => reasons.push((&r.reason, vec![r])),
            }
        }
        let line = |(reason, cells): (&str, Vec<&Refusal>)| match cells.as_slice() {
            [r] => format!("{} on {} ({}): {reason}", r.experiment, r.stack, r.factors),
            several => {
                let mut stacks: Vec<&str> = several.iter().map(|r| r.stack.as_str()).collect();
                stacks.sort_unstable();
                stacks.dedup();
                format!("{} cells on {}: {reason}", several.len(), stacks.join(", "))
            }
        };
        reasons.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_one_reason_are_one_line() {
        let refusal = |stack: &str, experiment: &str, reason: &str| Refusal {
            experiment: experiment.into(),
            stack: stack.into(),
            factors: "64 B".into(),
            reason: reason.into(),
        };
        let all = [
            refusal("b", "rtt", "not built"),
            refusal("c", "rtt", "too large"),
            refusal("a", "rtt", "not built"),
            refusal("b", "one-way", "not built"),
        ];
        assert_eq!(
            Refusal::lines(&all),
            ["3 cells on a, b: not built", "rtt on c (64 B): too large"]
        );
    }

    #[test]
    fn adapters_that_are_not_there_share_a_line_where_they_are_many() {
        let refusal = |adapter: &str| Refusal {
            experiment: "rtt".into(),
            stack: format!("{adapter}-udp"),
            factors: "64 B".into(),
            reason: format!("{adapter} cannot be used here: there is no lib{adapter}.so"),
        };
        let two = [refusal("nats"), refusal("mqtt")];
        assert_eq!(Refusal::lines(&two).len(), 2);
        let other = Refusal {
            reason: "too large".into(),
            ..refusal("tcp")
        };
        let all = [
            refusal("nats"),
            other,
            refusal("mqtt"),
            refusal("nats"),
            refusal("dbus"),
        ];
        let lines = Refusal::lines(&all);
        let first =
            "4 cells of 3 stacks, whose adapters cannot be used here: dbus, mqtt, nats; install";
        assert!(lines[0].starts_with(first), "{lines:#?}");
        assert_eq!(lines[1..], ["rtt on tcp-udp (64 B): too large"]);
    }
}
