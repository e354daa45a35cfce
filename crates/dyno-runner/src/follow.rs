//! Which trial a runner in another process is at: the order of a run's trials is known, so what is
//! stored says what comes next.

use crate::guide::Guide;
use crate::schedule::Schedule;
use dyno_model::{Plan, TrialId, TrialRecord};
use std::collections::BTreeMap;
use std::time::Duration;

/// Follows the trials of a run.
pub struct Follow<'p> {
    plan: &'p Plan,
    schedule: Box<dyn Guide + 'p>,
    /// The trial that is due and not stored yet.
    due: Option<TrialId>,
    /// Stored before they were due: a resumed run.
    early: BTreeMap<TrialId, TrialRecord>,
}

impl<'p> Follow<'p> {
    /// A run of which nothing is stored.
    pub fn new(plan: &'p Plan) -> Self {
        Follow::guided(plan, Box::new(Schedule::new(plan)))
    }

    /// A run of which nothing is stored and whose trials `schedule` says.
    pub fn guided(plan: &'p Plan, schedule: Box<dyn Guide + 'p>) -> Self {
        Follow {
            plan,
            schedule,
            due: None,
            early: BTreeMap::new(),
        }
    }

    /// Takes note of a stored trial.
    pub fn note(&mut self, record: &TrialRecord) {
        self.early.insert(record.id, record.clone());
    }

    /// The trial that the runner is at, as far as the plan and the stored trials tell; `elapsed` is how
    /// long the run has taken. `None`: it is complete.
    pub fn current(&mut self, elapsed: Duration) -> Option<TrialId> {
        loop {
            let due = match self.due.take() {
                Some(due) => due,
                None => self.schedule.next(elapsed)?,
            };
            match self.early.remove(&due) {
                Some(record) => {
                    // What ran together is stored before its first.
                    for flow in self.plan.beside(due) {
                        if let Some(other) = self.early.remove(&flow) {
                            self.schedule.note(&other);
                        }
                    }
                    self.schedule.note(&record);
                }
                None => {
                    self.due = Some(due);
                    return Some(due);
                }
            }
        }
    }

    /// Trials that the run needs, as far as is known.
    pub fn known(&self) -> usize {
        self.schedule.known()
    }
}
