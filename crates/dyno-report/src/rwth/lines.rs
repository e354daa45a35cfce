//! What the tables are made of: lines, which are stacks or rows of the paper; columns, which are
//! placements and topologies; and the experiment, or the reason for none, where they cross.

use crate::factors;
use crate::published::{Beside, Place, Reliability, Study};
use crate::summary::{ExperimentSummary, Summary};
use dyno_model::factors::in_tables;
use dyno_model::plan::Refusal;
use dyno_model::{Experiment, Placement, Workload, WorkloadKind};

/// Whether an experiment has a cell here.
pub(crate) fn shows(e: &ExperimentSummary) -> bool {
    let kind = e.experiment.workload.kind();
    !e.is_base && !e.is_leg && matches!(kind, WorkloadKind::Stream | WorkloadKind::FirstMessage)
}

/// The factors that tables, rows and columns stand for; the others tell lines of one stack apart.
const TOLD: [&str; 7] = [
    "flow",
    "workload",
    "payload",
    "topology",
    "placement",
    "CPUs",
    "window",
];

/// A run as lines and columns.
pub(super) struct Table<'a> {
    pub(super) summary: &'a Summary,
    pub(super) study: &'static Study,
    /// Those of the paper first, floors last.
    pub(super) lines: Vec<Line>,
    /// What is shown, scaling left out, in the plan's order.
    pub(super) messages: Vec<MessageType>,
}

/// A stack, or the stacks that stand beside one row of the paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// What tables call it.
    pub(super) label: String,
    stacks: Stacks,
    /// Waits and other conditions, where a stack has several.
    conditions: Option<String>,
    /// Its row in the paper.
    pub(super) paper: Option<(Reliability, &'static str)>,
    /// It is set up otherwise than what the paper measured.
    pub(super) variant: Option<String>,
    /// It is a yardstick.
    pub(super) floor: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stacks {
    Beside(&'static Beside),
    /// One stack, at the placements that no line of the paper has.
    Other(String),
}

/// A message type: the streams of one name, size and rate.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MessageType {
    /// The experiment that all of them share but for stack, placement and topology.
    pub(super) first: Experiment,
    /// Several message types have its name.
    ambiguous: bool,
}

/// What stands where a line and a column cross.
pub(super) enum Cell<'a> {
    Ran(&'a ExperimentSummary),
    Refused(&'a Refusal),
    /// Nobody asked for it.
    Absent,
}

impl MessageType {
    /// Its name, with what else it takes.
    pub(super) fn title(&self) -> String {
        let e = &self.first;
        format!("{} ({}, {})", e.name, e.payload, e.workload)
    }

    /// Short, for columns.
    pub(super) fn name(&self) -> String {
        match self.ambiguous {
            true => format!("{} {}", self.first.name, self.first.payload),
            false => self.first.name.clone(),
        }
    }

    fn holds(&self, e: &Experiment) -> bool {
        let first = &self.first;
        e.name == first.name && e.payload == first.payload && e.workload == first.workload
    }
}

impl<'a> Table<'a> {
    pub(super) fn new(summary: &'a Summary, study: &'static Study) -> Self {
        let mut table = Table {
            summary,
            study,
            lines: Vec::new(),
            messages: Vec::new(),
        };
        table.messages = table.find_messages();
        table.lines = table.find_lines();
        table
    }

    fn shown(&self) -> impl Iterator<Item = &'a ExperimentSummary> + use<'a> {
        self.summary.experiments.iter().filter(|e| shows(e))
    }

    fn find_messages(&self) -> Vec<MessageType> {
        let scaled = |e: &Experiment| {
            let mut all = self.summary.scaling.iter();
            all.any(|s| s.experiments.contains(&e.id))
        };
        let mut found: Vec<MessageType> = Vec::new();
        for e in self.shown().map(|e| &e.experiment) {
            let stream = e.workload.kind() == WorkloadKind::Stream;
            if stream && !scaled(e) && !found.iter().any(|m| m.holds(e)) {
                found.push(MessageType {
                    first: e.clone(),
                    ambiguous: false,
                });
            }
        }
        let names: Vec<String> = found.iter().map(|m| m.first.name.clone()).collect();
        for m in &mut found {
            m.ambiguous = names.iter().filter(|n| **n == m.first.name).count() > 1;
        }
        found
    }

    fn find_lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for beside in &self.study.beside {
            let variant = beside.variant.clone();
            let mut label = format!("{} {}", beside.middleware, beside.reliability.as_str());
            if let Some(variant) = &variant {
                label.push_str(&format!(", {variant}"));
            }
            lines.push(Line {
                label,
                stacks: Stacks::Beside(beside),
                conditions: None,
                paper: Some((beside.reliability, &beside.middleware)),
                variant,
                floor: false,
            });
        }
        let mut others: Vec<Line> = Vec::new();
        for e in self.shown() {
            let stack = &e.experiment.stack;
            let line = Line {
                label: format!("{}{}", stack, if e.is_floor { " (floor)" } else { "" }),
                stacks: Stacks::Other(stack.clone()),
                conditions: None,
                paper: None,
                variant: None,
                floor: e.is_floor,
            };
            if line.holds(&e.experiment, self.study) && !others.contains(&line) {
                others.push(line);
            }
        }
        others.sort_by(|a, b| (a.floor, &a.label).cmp(&(b.floor, &b.label)));
        lines.extend(others);
        lines
            .into_iter()
            .flat_map(|l| self.by_conditions(l))
            .collect()
    }

    /// The line, or one for each of the conditions that its experiments were run under; none where it
    /// has no experiments.
    fn by_conditions(&self, line: Line) -> Vec<Line> {
        let mut found: Vec<String> = Vec::new();
        let own = self.shown().map(|e| &e.experiment);
        for e in own.filter(|e| line.holds(e, self.study)) {
            let conditions = conditions(e);
            if !found.contains(&conditions) {
                found.push(conditions);
            }
        }
        match found.len() {
            0 => Vec::new(),
            1 => vec![line],
            _ => found
                .into_iter()
                .map(|c| Line {
                    label: format!("{} ({c})", line.label),
                    conditions: Some(c),
                    ..line.clone()
                })
                .collect(),
        }
    }

    /// Whether any line stands beside one of the paper.
    pub(super) fn has_paper(&self) -> bool {
        self.lines.iter().any(|l| l.paper.is_some())
    }

    /// The columns that have an experiment of those that `wanted` selects: C before D, and topologies in
    /// the paper's order, others behind.
    pub(super) fn places(&self, wanted: impl Fn(&Experiment) -> bool) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for e in self.shown().map(|e| &e.experiment).filter(|e| wanted(e)) {
            let place = place(e);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let known = &self.study.communication.topologies;
        let rank = |p: &Place| known.iter().position(|k| k == p).unwrap_or(known.len());
        places.sort_by_key(|p| (p.placement, rank(p), p.topology));
        places
    }

    /// The cell of a line and a column, of what `wanted` selects; `name` is that of its experiment.
    pub(super) fn cell(
        &self,
        line: &Line,
        at: Place,
        name: &str,
        wanted: impl Fn(&Experiment) -> bool,
    ) -> Cell<'a> {
        let found = self.shown().find(|e| {
            let x = &e.experiment;
            line.holds(x, self.study) && place(x) == at && wanted(x)
        });
        if let Some(e) = found {
            return Cell::Ran(e);
        }
        // Refusals have their factors as text, of which placement and topology are the last two.
        let end = format!("{}, {}", at.placement, at.topology);
        let stack = line.stack(at.placement, self.study);
        let refused = self.summary.refused.iter().find(|r| {
            r.experiment == name && Some(r.stack.as_str()) == stack && r.factors.ends_with(&end)
        });
        refused.map_or(Cell::Absent, Cell::Refused)
    }

    /// The cell of a message type.
    pub(super) fn of_message(&self, line: &Line, at: Place, message: &MessageType) -> Cell<'a> {
        self.cell(line, at, &message.first.name, |e| message.holds(e))
    }

    /// Whether an experiment is of that line.
    pub(super) fn is_of(&self, line: &Line, e: &Experiment) -> bool {
        line.holds(e, self.study)
    }

    /// The columns of a message type.
    pub(super) fn places_of(&self, message: &MessageType) -> Vec<Place> {
        self.places(|e| message.holds(e))
    }

    /// The name of the paper's message type, where it is of the same size and rate.
    pub(super) fn in_paper(&self, message: &MessageType) -> Option<&'static str> {
        let e = &message.first;
        let Workload::Stream { rate, .. } = e.workload else {
            return None;
        };
        let same = |m: &&crate::published::Message| {
            m.name == e.name
                && m.rate_hz == rate.hz()
                && m.size_kb * 1_000 == e.payload.bytes() as u64
        };
        self.study
            .messages
            .iter()
            .find(same)
            .map(|m| m.name.as_str())
    }
}

/// The column of an experiment.
pub(super) fn place(e: &Experiment) -> Place {
    Place {
        placement: e.placement,
        topology: e.topology,
    }
}

fn conditions(e: &Experiment) -> String {
    let mut of_line = in_tables();
    of_line.retain(|f| !TOLD.contains(&f.title));
    factors::label(&of_line, e)
}

impl Line {
    /// Its stack at that placement.
    pub(super) fn stack(&self, placement: Placement, study: &Study) -> Option<&str> {
        match &self.stacks {
            Stacks::Beside(beside) => beside.stack(placement),
            Stacks::Other(stack) => {
                let taken = |b: &Beside| b.stack(placement) == Some(stack.as_str());
                (!study.beside.iter().any(taken)).then_some(stack)
            }
        }
    }

    /// The names of its stacks.
    pub(super) fn stacks(&self) -> Vec<&str> {
        match &self.stacks {
            Stacks::Beside(b) if b.process == b.host => vec![&b.process],
            Stacks::Beside(b) => vec![&b.process, &b.host],
            Stacks::Other(stack) => vec![stack],
        }
    }

    fn holds(&self, e: &Experiment, study: &Study) -> bool {
        self.stack(e.placement, study) == Some(e.stack.as_str())
            && self.conditions.as_ref().is_none_or(|c| *c == conditions(e))
    }
}

/// Reasons that cells refer to by a number, in the order of their first.
#[derive(Debug, Default)]
pub(super) struct Reasons(Vec<(String, u64)>);

impl Reasons {
    /// The number of that reason, in parentheses.
    pub(super) fn code(&mut self, reason: String) -> String {
        let known = self.0.iter().position(|(r, _)| *r == reason);
        let i = known.unwrap_or_else(|| {
            self.0.push((reason, 0));
            self.0.len() - 1
        });
        self.0[i].1 += 1;
        format!("({})", i + 1)
    }

    /// The codes of the failures that an experiment has.
    pub(super) fn failures(&mut self, e: &ExperimentSummary) -> String {
        let all = e.failures.iter().map(|f| {
            let step = f.step.clone();
            self.code(format!("failed, {} in {step}: {}", f.kind, f.cause))
        });
        all.collect()
    }

    /// One line for each reason.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(i, (reason, cells)): (usize, &(String, u64))| {
            let cells = match cells {
                1 => "1 cell".to_owned(),
                n => format!("{n} cells"),
            };
            format!("({}) {reason} [{cells}]", i + 1)
        };
        self.0.iter().enumerate().map(line).collect()
    }
}
