//! Table 9: the requirements that the document names, each with its verdict, as far as they were judged.

use super::labels::BORDER;
use super::{NONE, Study, grid};
use crate::grid::Grid;
use crate::summary::{ExperimentSummary, HeldRequirement, Requirement};

/// By the names of requirements in `limits/sodev.toml`: the document's own figure. Between machines it has one for each
/// stack.
pub(super) const FIGURES: [(&str, &str, &str, usize); 3] = [
    (
        "timer to a thread below 5 µs, worst case",
        "asil",
        "Interrupt latency (worst-case)",
        0,
    ),
    (
        "task switch there and back below 40 µs",
        "asil",
        "Task switching time",
        0,
    ),
    (
        "start of the machine below 10 s",
        "boot",
        "Dom0 userspace (systemd)",
        1,
    ),
];
pub(super) const BETWEEN: &str = "between machines below 2 ms";

/// What no limits file can hold against this run: the requirement, where the document has it, and why.
pub(super) const OTHERS: [(&str, &str, &str, &str); 3] = [
    (
        "writes to the broker",
        "vss-rate",
        "Messages/second (write)",
        "suite signals: limits/signals.toml",
    ),
    (
        "memory isolation",
        "asil-memory",
        "Memory isolation (MPU enabled)",
        "a property of the design, nothing to measure",
    ),
    (
        "fault detection",
        "asil-coverage",
        "Fault detection coverage",
        "of which faults is not said; Dyno plants none in a guest",
    ),
];

impl Study<'_> {
    pub(super) fn requirements(&self) -> Grid {
        let mut rows = Vec::new();
        for r in &self.summary.requirements {
            rows.extend(self.verdicts(r));
        }
        if rows.is_empty() {
            let mut row = vec![NONE.to_owned(); 7];
            row[0] = "not judged here".into();
            row[6] = "dyno check RUN limits/sodev.toml".into();
            rows.push(row);
        }
        for (what, table, label, why) in OTHERS {
            let mut row = vec![NONE.to_owned(); 7];
            what.clone_into(&mut row[0]);
            row[2] = self.printed(table, label, 0);
            why.clone_into(&mut row[6]);
            rows.push(row);
        }
        let head = [
            "requirement",
            "of",
            "document",
            "required",
            "measured",
            "verdict",
            "source",
        ];
        grid(2, &head, rows)
    }

    fn verdicts(&self, r: &Requirement) -> Vec<Vec<String>> {
        let source = r
            .source
            .as_deref()
            .map_or("no source".into(), str::to_owned);
        let row = |of: &str, document: String, measured: String, verdict: &str| {
            let (name, required) = (r.name.clone(), r.required.clone());
            let verdict = verdict.to_owned();
            vec![
                name,
                of.to_string(),
                document,
                required,
                measured,
                verdict,
                source.clone(),
            ]
        };
        let mut rows = Vec::new();
        for held in &r.held {
            let mut all = self.summary.experiments.iter();
            let Some(e) = all.find(|e| e.experiment.id == held.experiment) else {
                continue;
            };
            rows.push(row(
                &self.what(r, e),
                self.figure(&r.name, e),
                held.found.clone(),
                held.verdict,
            ));
        }
        match rows.is_empty() {
            true => vec![row(NONE, NONE.into(), "not in this run".into(), NONE)],
            false => rows,
        }
    }

    /// The document's own figure of a requirement.
    fn figure(&self, name: &str, e: &ExperimentSummary) -> String {
        let stack = &e.experiment.stack;
        let own = FIGURES.iter().find(|f| f.0 == name);
        let between = BORDER.iter().find(|b| name == BETWEEN && b.1 == stack);
        let between = between.map(|(label, _)| ("vm", *label, 0));
        let place = own.map(|f| (f.1, f.2, f.3)).or(between);
        place.map_or(NONE.into(), |(table, label, cell)| {
            self.printed(table, label, cell)
        })
    }

    /// The stack across the border, or the host alone; with the experiment where the requirement is put on several.
    fn what(&self, r: &Requirement, e: &ExperimentSummary) -> String {
        let of = match e.experiment.workload.kind().is_probe() {
            true => self.host(e),
            false => e.experiment.stack.clone(),
        };
        let named = |h: &HeldRequirement| {
            let mut all = self.summary.experiments.iter();
            all.any(|o| o.experiment.id == h.experiment && o.experiment.name != e.experiment.name)
        };
        match r.held.iter().any(named) {
            true => format!("{of}, {}", e.experiment.name),
            false => of,
        }
    }

    /// Why what is not passed has its verdict.
    pub(super) fn reasons(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for r in &self.summary.requirements {
            for held in r.held.iter().filter(|h| h.verdict != "pass") {
                let mut all = self.summary.experiments.iter();
                let e = all.find(|e| e.experiment.id == held.experiment);
                let of = e.map_or_else(String::new, |e| format!(", {}", self.what(r, e)));
                lines.push(format!("{}{of}: {}: {}", r.name, held.verdict, held.reason));
            }
        }
        lines
    }
}
