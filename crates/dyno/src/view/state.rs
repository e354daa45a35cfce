//! What the view knows, and how events and keys change it.

use dyno_model::event::RunEvent;
use dyno_model::record::{Outcome, RunManifest};
use dyno_model::{ExperimentId, Metric, Nanos, Plan, TrialId, TrialRecord};
use dyno_stats::{Running, TrialSamples};
use std::collections::VecDeque;
use std::time::Duration;

/// Lines of the log that are kept.
const LOG: usize = 500;

/// How far the run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A runner is at work, or is about to be.
    Running,
    /// It ends the current trial and stops.
    Stopping,
    /// No runner writes to the run, though it is not complete.
    Abandoned,
    /// No more trials follow.
    Complete,
}

/// What a person asks for with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first row.
    Home,
    /// To the last row.
    End,
    /// Keys explained, or not any more.
    Help,
    /// Stop the run, or stop watching.
    Quit,
}

/// The severity of a line of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Warning,
    Failure,
}

/// One experiment.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: ExperimentId,
    /// Trials known to be needed.
    pub(crate) planned: u32,
    pub(crate) done: u32,
    pub(crate) failed: u32,
    pub(crate) disturbed: u32,
    /// The metric that the quantiles are of.
    pub(crate) metric: Metric,
    /// Trials that count.
    calm: Tally,
    /// Those that the host disturbed: shown as long as there is no other.
    rough: Tally,
}

/// What trials added up to.
#[derive(Debug, Default)]
struct Tally {
    trials: u32,
    samples: Running,
    offered: u64,
    lost: u64,
}

impl Row {
    fn shown(&self) -> &Tally {
        match self.calm.trials {
            0 => &self.rough,
            _ => &self.calm,
        }
    }

    /// Quantile `q` over the trials so far, in nanoseconds; infinite where that message was lost.
    pub(crate) fn quantile(&self, q: f64) -> Option<f64> {
        self.shown().samples.quantile(q)
    }

    /// Lost messages as a share of those offered, 0 to 1; `None` where none was offered.
    pub(crate) fn loss(&self) -> Option<f64> {
        let tally = self.shown();
        (tally.offered > 0).then(|| tally.lost as f64 / tally.offered as f64)
    }
}

/// Everything that is shown.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) plan: Plan,
    /// The run's name.
    pub(crate) run: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) current: Option<TrialId>,
    pub(crate) phase: Phase,
    pub(crate) log: VecDeque<(Tone, String)>,
    /// How long the run has been going on, as it was last told.
    pub(crate) elapsed: Duration,
    /// The current trial began then, in the same time.
    pub(crate) current_since: Duration,
    pub(crate) help: bool,
    /// The first row shown; `None`: wherever the current one is in sight.
    pub(crate) scroll: Option<usize>,
    /// Rows that fitted on the screen when it was last drawn, and the first of them.
    pub(crate) window: (usize, usize),
    /// Trials that the run needs in all, as far as is known; 0: the plan's.
    known: usize,
    /// What `q` does, for the last line.
    pub(crate) quit: &'static str,
    /// Time that trials took, and what they were to take by the plan.
    spent: (Nanos, Nanos),
}

impl View {
    /// A run of which nothing is known but its head. `quit` says what `q` does.
    pub(crate) fn new(manifest: &RunManifest, quit: &'static str) -> View {
        let plan = manifest.plan.clone();
        let rows = plan.here().map(|e| Row {
            id: e.id,
            planned: e.trials,
            done: 0,
            failed: 0,
            disturbed: 0,
            metric: e.headline()[0],
            calm: Tally::default(),
            rough: Tally::default(),
        });
        View {
            rows: rows.collect(),
            run: manifest.id.clone(),
            current: None,
            phase: Phase::Running,
            log: VecDeque::new(),
            elapsed: Duration::ZERO,
            current_since: Duration::ZERO,
            help: false,
            scroll: None,
            window: (1, 0),
            known: 0,
            quit,
            spent: (Nanos::ZERO, Nanos::ZERO),
            plan,
        }
    }

    /// Takes note of the time since the run's start; whether that changes what is shown.
    pub(crate) fn tick(&mut self, elapsed: Duration) -> bool {
        let changed = elapsed.as_secs() != self.elapsed.as_secs();
        self.elapsed = elapsed;
        changed
    }

    /// Takes note of what the runner tells.
    pub(crate) fn on_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Warning(text) => self.say(Tone::Warning, format!("warning: {text}")),
            RunEvent::Found(text) => self.say(Tone::Plain, text.clone()),
            RunEvent::Started { trials, .. } | RunEvent::More { trials } => self.known = *trials,
            RunEvent::TrialStarted { id, .. } => self.start(*id),
            RunEvent::TrialFinished(record) => self.finish(record),
            RunEvent::Finished { interrupted } => {
                self.current = None;
                if !interrupted {
                    self.phase = Phase::Complete;
                }
            }
        }
    }

    /// A trial begins.
    pub(crate) fn start(&mut self, id: TrialId) {
        if self.current != Some(id) {
            self.current = Some(id);
            self.current_since = self.elapsed;
        }
    }

    /// A trial is stored, just now or long ago.
    pub(crate) fn finish(&mut self, record: &TrialRecord) {
        if self.current == Some(record.id) {
            self.current = None;
        }
        let Some(row) = self.rows.iter_mut().find(|r| r.id == record.id.experiment) else {
            return;
        };
        row.done += 1;
        row.planned = row.planned.max(row.done);
        if let Some(experiment) = self.plan.experiment(row.id) {
            self.spent.0 = self.spent.0.saturating_add(record.wall);
            let nominal = dyno_plan::nominal_trial(&self.plan, experiment);
            self.spent.1 = self.spent.1.saturating_add(nominal);
            let candidates = experiment.headline();
            let recorded = candidates
                .iter()
                .find(|m| record.distributions.contains_key(m));
            row.metric = *recorded.unwrap_or(&row.metric);
        }
        match &record.outcome {
            Outcome::Completed => {
                let tally = match record.disturbed.is_empty() {
                    true => &mut row.calm,
                    false => {
                        row.disturbed += 1;
                        &mut row.rough
                    }
                };
                tally.trials += 1;
                tally.offered += record.counts.offered;
                tally.lost += record.counts.lost;
                let stored = record.distributions.get(&row.metric);
                // One that does not decode is named in the table that follows.
                if let Some(Ok(samples)) = stored.map(TrialSamples::from_distribution) {
                    tally.samples.add(&samples);
                }
                if let Some(first) = record.disturbed.first() {
                    let line = format!("{} was disturbed: {first}", self.label(record.id));
                    self.say(Tone::Warning, line);
                }
            }
            Outcome::Failed {
                kind,
                step,
                cause,
                stderr,
            } => {
                row.failed += 1;
                let label = self.label(record.id);
                self.say(
                    Tone::Failure,
                    format!("{label} failed ({kind} in {step}): {cause}"),
                );
                for line in stderr {
                    self.say(Tone::Plain, format!("  | {line}"));
                }
            }
        }
    }

    /// Adds a line to the log.
    pub(crate) fn say(&mut self, tone: Tone, line: impl AsRef<str>) {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back((tone, line.as_ref().to_owned()));
    }

    /// The run is being stopped; whether that is news.
    pub(crate) fn stopping(&mut self) -> bool {
        let news = self.phase == Phase::Running;
        if news {
            self.phase = Phase::Stopping;
            self.say(
                Tone::Plain,
                "ending the current trial; press q once more to end at once",
            );
        }
        news
    }

    /// A key that changes what is shown; [`Key::Quit`] is the caller's matter.
    pub(crate) fn on_key(&mut self, key: Key) {
        let (page, first) = self.window;
        let last = self.rows.len().saturating_sub(page);
        let to = match key {
            Key::Up => first.saturating_sub(1),
            Key::Down => first + 1,
            Key::PageUp => first.saturating_sub(page),
            Key::PageDown => first + page,
            Key::Home => 0,
            Key::End => last,
            Key::Help => {
                self.help = !self.help;
                return;
            }
            Key::Quit => return,
        };
        self.scroll = Some(to.min(last));
    }

    /// `round-trip on tcp, trial 2 (e0003-t001)`.
    pub(crate) fn label(&self, id: TrialId) -> String {
        match self.plan.experiment(id.experiment) {
            Some(e) => format!("{} on {}, trial {} ({id})", e.name, e.stack, id.number + 1),
            None => id.to_string(),
        }
    }

    /// Trials that are stored.
    pub(crate) fn done(&self) -> usize {
        self.rows.iter().map(|r| r.done as usize).sum()
    }

    /// Trials that the run needs, as far as is known.
    pub(crate) fn needed(&self) -> usize {
        let planned: usize = self.rows.iter().map(|r| r.planned as usize).sum();
        planned.max(self.known)
    }

    /// Trials that failed.
    pub(crate) fn failed(&self) -> usize {
        self.rows.iter().map(|r| r.failed as usize).sum()
    }

    /// About how long the rest takes: by the plan, corrected by what the trials so far took.
    pub(crate) fn time_left(&self) -> Duration {
        let mut left = 0.0;
        let mut planned = 0;
        for row in &self.rows {
            let trials = row.planned - row.done.min(row.planned);
            planned += trials as usize;
            if let Some(e) = self.plan.experiment(row.id) {
                left += f64::from(trials) * dyno_plan::nominal_trial(&self.plan, e).as_secs_f64();
            }
        }
        // Trials that precision or repeats add, of nobody knows which experiment.
        let further = self.needed().saturating_sub(self.done() + planned);
        if let (false, n) = (self.rows.is_empty(), self.rows.len() as f64) {
            let all = self.rows.iter().filter_map(|r| self.plan.experiment(r.id));
            let sum: f64 = all
                .map(|e| dyno_plan::nominal_trial(&self.plan, e).as_secs_f64())
                .sum();
            left += further as f64 * sum / n;
        }
        let (took, nominal) = (self.spent.0.as_secs_f64(), self.spent.1.as_secs_f64());
        if took > 0.0 && nominal > 0.0 {
            left *= took / nominal;
        }
        let running = self.elapsed.saturating_sub(self.current_since);
        let left = Duration::try_from_secs_f64(left).unwrap_or(Duration::MAX);
        match self.current {
            Some(_) => left.saturating_sub(running),
            None => left,
        }
    }
}
