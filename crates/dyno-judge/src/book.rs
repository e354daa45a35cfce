//! Runs of a history, read one by one so that only one is in memory, as series: one for each cell, measure
//! and machine.

use crate::cell;
use crate::check::Measure;
use crate::difference::{Kernel, costs_apart};
use crate::figure::all_disturbed;
use crate::reading::{self, Reading};
use dyno_model::origin::Origin;
use dyno_model::record::{Environment, Run, RunManifest};
use dyno_model::{Experiment, ExperimentId};
use dyno_report::{Basis, Shortfall};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt;

/// The properties by which two runs are of one machine: the host's name, its processor and what it runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The host's name.
    pub host: String,
    /// The model of its processor.
    pub cpu_model: String,
    /// The hypervisor, where one shows itself.
    pub hypervisor: Option<String>,
    /// What of its testbed is emulated, in words.
    pub emulated: Option<String>,
}

impl Machine {
    pub(crate) fn of(e: &Environment) -> Machine {
        Machine {
            host: e.host.clone(),
            cpu_model: e.cpu_model.clone(),
            hypervisor: e.hypervisor.clone(),
            emulated: e.emulated.clone(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.host, self.cpu_model)?;
        if let Some(hypervisor) = &self.hypervisor {
            write!(f, ", {hypervisor}")?;
        }
        if let Some(emulated) = &self.emulated {
            write!(f, ", emulated: {emulated}")?;
        }
        f.write_str(")")
    }
}

/// A run of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HistoryRun {
    /// Its name.
    pub id: String,
    /// When it started, in milliseconds since the Unix epoch.
    pub started_unix_ms: u64,
}

impl HistoryRun {
    pub(crate) fn of(manifest: &RunManifest) -> HistoryRun {
        HistoryRun {
            id: manifest.id.clone(),
            started_unix_ms: manifest.started_unix_ms,
        }
    }
}

/// Which series a figure belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) suite: String,
    pub(crate) machine: Machine,
    pub(crate) stack: String,
    pub(crate) question: String,
    pub(crate) measure: Measure,
    /// Cells of one run that agree in all of the above are told apart by their order.
    pub(crate) occurrence: usize,
}

/// The figure of a series in one run.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Number of the run in [`Book::runs`].
    pub(crate) run: usize,
    pub(crate) experiment: Experiment,
    /// By the trials that count.
    pub(crate) reading: Result<Reading, String>,
    /// On every other basis that says something else.
    pub(crate) others: Vec<(Basis, Result<Reading, String>)>,
    /// Why nothing good can be said of it: trials that failed, are missing, or do not tell.
    pub(crate) doubt: Option<String>,
    /// The kernel that counted its CPU time.
    kernel: Kernel,
}

impl Entry {
    /// Why its CPU time is not held against that of `judged`.
    pub(crate) fn cost_apart(&self, measure: Measure, judged: &Entry) -> Option<String> {
        let is_known = measure.is_cpu_time();
        is_known.then(|| costs_apart(&self.kernel, &judged.kernel))?
    }
}

/// One series in the order of reading.
#[derive(Debug, Clone)]
pub(crate) struct Collected {
    pub(crate) key: Key,
    pub(crate) entries: Vec<Entry>,
}

impl Collected {
    /// The entry of a run.
    pub(crate) fn of(&self, run: usize) -> Option<&Entry> {
        self.entries.iter().find(|e| e.run == run)
    }
}

/// All series of the runs read so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Book {
    pub(crate) runs: Vec<RunManifest>,
    /// In the order of their first appearance.
    pub(crate) series: Vec<Collected>,
    /// Where each stands among them, by its key as printed.
    places: HashMap<String, usize>,
}

impl Book {
    /// The number of a run that is there already: same name and start.
    pub(crate) fn number_of(&self, manifest: &RunManifest) -> Option<usize> {
        let same =
            |m: &RunManifest| m.id == manifest.id && m.started_unix_ms == manifest.started_unix_ms;
        self.runs.iter().position(same)
    }

    /// Adds a run with the measures that `of` names for each of its experiments; returns its number. A run
    /// that is there already is not taken twice.
    pub(crate) fn add(&mut self, run: &Run, of: impl Fn(&Experiment) -> Vec<Measure>) -> usize {
        let manifest = &run.manifest;
        if let Some(number) = self.number_of(manifest) {
            return number;
        }
        let number = self.runs.len();
        let plan = &manifest.plan;
        let machine = Machine::of(&manifest.environment);
        let mut seen: HashMap<String, usize> = HashMap::new();
        for e in cell::own(plan) {
            for measure in of(e) {
                let mut key = Key {
                    suite: plan.suite.clone(),
                    machine: machine.clone(),
                    stack: e.stack.clone(),
                    question: cell::question_and_exchange(e),
                    measure,
                    occurrence: 0,
                };
                // Equal keys are printed alike.
                let alike = seen.entry(format!("{key:?}")).or_default();
                key.occurrence = *alike;
                *alike += 1;
                let entry = entry(run, number, e, measure);
                let series = self.places.entry(format!("{key:?}"));
                let place = *series.or_insert(self.series.len());
                match self.series.get_mut(place) {
                    Some(series) => series.entries.push(entry),
                    None => self.series.push(Collected {
                        key,
                        entries: vec![entry],
                    }),
                }
            }
        }
        self.runs.push(manifest.clone());
        number
    }

    /// The newest entry of a series among the runs of `history`, the oldest first, where the judged run lacks the cell and must
    /// answer for it, and why: its plan refused the cell, nobody asked for less, or the run just before it has the cell. Any
    /// other was dropped on purpose.
    pub(crate) fn gone<'a>(
        &self,
        series: &'a Collected,
        judged: usize,
        history: &[usize],
    ) -> Option<(&'a Entry, String)> {
        if series.of(judged).is_some() {
            return None;
        }
        let before = history.iter().rev().find_map(|run| series.of(*run))?;
        // It may lack a measure alone.
        if self.has_cell(judged, &series.key) {
            return None;
        }
        let (own, other) = (&self.runs[judged], &self.runs[before.run]);
        let e = &before.experiment;
        let is_last = history.last() == Some(&before.run);
        let who = match is_last {
            true => "the previous run".to_owned(),
            false => format!("run {}", other.id),
        };
        let reason = match cell::refusal(&own.plan, e, &e.stack) {
            Some(r) => format!("{who} has it, but this run refused it: {}", r.reason),
            None if is_last || asked_alike(own, other) => {
                format!("{who} has it, but this run has not")
            }
            None => return None,
        };
        Some((before, reason))
    }

    /// Whether a run has the cell of a series, whatever its measures.
    fn has_cell(&self, run: usize, key: &Key) -> bool {
        let same = |k: &Key| {
            k.suite == key.suite
                && k.machine == key.machine
                && k.stack == key.stack
                && k.question == key.question
                && k.occurrence == key.occurrence
        };
        let mut all = self.series.iter().filter(|s| same(&s.key));
        all.any(|s| s.of(run).is_some())
    }

    /// The numbers of the runs, the oldest first.
    pub(crate) fn in_time(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by_key(|i| (self.runs[*i].started_unix_ms, &self.runs[*i].id));
        order
    }
}

/// Whether two runs were asked for in the same words, the files of the suite and of its stacks included. A seed is drawn anew for each run, and the rules
/// of a search are those of the build.
fn asked_alike(a: &RunManifest, b: &RunManifest) -> bool {
    let (Some(a), Some(b)) = (&a.origin, &b.origin) else {
        return false;
    };
    let words = |origin: &Origin| {
        let mut request = origin.request.clone();
        request.seed = 0;
        if let Some(search) = &mut request.search {
            search.rules = 0;
        }
        request
    };
    let names = |origin: &Origin| origin.stacks.keys().cloned().collect::<Vec<_>>();
    words(a) == words(b) && a.suite.text == b.suite.text && names(a) == names(b)
}

fn entry(run: &Run, number: usize, e: &Experiment, measure: Measure) -> Entry {
    let floor = e.floor.filter(|_| matches!(measure, Measure::XFloor(_)));
    let ids: Vec<ExperimentId> = std::iter::once(e.id).chain(floor).collect();
    let read = |basis| reading::read(run, e, measure, basis);
    let reading = read(Basis::COUNTED);
    let counted = Basis::COUNTED.trials(run, e.id);
    let shortfall = ids.iter().find_map(|id| Shortfall::of(run, *id));
    let without = counted.len() - reading.as_ref().map_or(0, |r| r.trials as usize);
    let doubt = match shortfall {
        Some(shortfall) => Some(shortfall.text()),
        None if reading.is_err() => None,
        None if all_disturbed(&counted) => Some("the host disturbed every trial".into()),
        None if without > 0 && measure.is_of_each_trial() => Some(format!(
            "{without} of {} trials have no value of it",
            counted.len()
        )),
        None => None,
    };
    let mut others: Vec<Basis> = Vec::new();
    for basis in ids.iter().flat_map(|id| Basis::all(run, *id)) {
        if basis != Basis::COUNTED && !others.contains(&basis) {
            others.push(basis);
        }
    }
    Entry {
        run: number,
        experiment: e.clone(),
        reading,
        others: others
            .into_iter()
            .map(|basis| (basis, read(basis)))
            .collect(),
        doubt,
        kernel: Kernel::of(run.environment_of(e)),
    }
}
