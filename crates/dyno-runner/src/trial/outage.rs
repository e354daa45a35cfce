//! A trial with faults: led as any other up to its window, in which the faults are made. What ends, fails or keeps silent
//! from the first one on follows from them, and is told in warnings.

use super::scene::{Observed, Scene, Seat, Step, Victim};
use super::stage::{Failed, LOOK, Place, Trial};
use crate::agent::Heard;
use crate::child;
use dyno_measure::{FaultLog, FaultLogError};
use dyno_model::cause::{AgentTrouble, Cause, FailureCause, Warning};
use dyno_model::protocol::{AgentResult, Assignment, Command, Report};
use dyno_model::record::FailureKind;
use dyno_model::{Nanos, TrialRecord};
use std::io;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long an agent whose output has ended may take to end itself.
const FAREWELL: Duration = Duration::from_secs(2);

impl<'a> Trial<'a, '_> {
    /// Leads the trial to its end, and reads what its participants noted.
    pub(super) fn lead_through_faults(
        &mut self,
        inbox: mpsc::Sender<(usize, Heard)>,
        record: &mut TrialRecord,
    ) -> Result<Observed, Failed> {
        let places = self.places()?;
        self.open_networks(&places, record)?;
        let mut groups = self.assignments(&places)?;
        groups.sort_by_key(|(_, a)| self.is_newcomer(a));
        for (_, assignment) in &mut groups {
            assignment.generation = u16::from(self.is_newcomer(assignment));
        }
        self.start_daemons(&places)?;
        let processes: Vec<u16> = groups.iter().map(|(_, a)| a.process).collect();
        let acts = self.acts(&processes)?;
        let gates = self.gates(&acts)?;
        // Newcomers with them, so that nobody feels the start of a process when they join.
        self.start_agents(&groups, &inbox)?;
        self.set_up(&groups, record)?;
        let [wait, within_period] = self.jitter();
        let running = self.warm_up(wait, record)?;
        let lasts = self.context.experiment.known_window().unwrap_or_default();
        let mut scene = Scene {
            seats: seats(groups),
            acts,
            gates,
            away: vec![false; self.daemons.len()],
            struck: Vec::new(),
            warnings: Vec::new(),
            inbox,
            start: running.start,
            window: [running.window, running.window.saturating_add(lasts)],
        };
        for act in &mut scene.acts {
            act.begin = scene.window[0]
                .saturating_add(within_period)
                .saturating_add(act.fault.at);
        }
        let played = self.play(&mut scene);
        record.noise.window = Some(running.load.until_now());
        let ended = played.and_then(|()| self.end_in_order(&mut scene));
        record.warnings.extend(
            std::mem::take(&mut scene.warnings)
                .into_iter()
                .map(Cause::Known),
        );
        for result in ended? {
            let warnings = result.warnings.into_iter().map(Cause::Known);
            record.warnings.extend(warnings);
            record.places.extend(result.places);
        }
        self.observed(scene)
    }

    /// Makes the faults, and goes on until the window is over and all senders that live are done.
    fn play(&mut self, scene: &mut Scene<'_, 'a>) -> Result<(), Failed> {
        self.step = "window";
        let drain = Duration::from(self.context.experiment.drain);
        let late = self.deadline() + drain;
        let latest = scene.window[1].saturating_add(child::nanos(late));
        loop {
            self.check_interrupt()?;
            self.check_surroundings()?;
            for number in 0..scene.acts.len() {
                self.tend_fault(scene, number)?;
            }
            self.tend_processes(scene)?;
            let now = self.context.clock.now();
            if now >= scene.window[1] && scene.is_over() {
                let undone = scene.undone();
                if undone.is_empty() || self.struck && now >= latest {
                    return Ok(());
                }
                if now >= latest {
                    let missing = undone.into_iter().map(|seat| scene.seats[seat].agent);
                    return Err(self.hung(late, &missing.collect::<Vec<_>>()));
                }
            }
            if let Ok((agent, heard)) = self.inbox.recv_timeout(scene.quiet(now, LOOK)) {
                self.hear(scene, agent, heard)?;
            }
        }
    }

    /// An agent has told something. One that a seat does not have any more is heard no more.
    fn hear(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        agent: usize,
        heard: Heard,
    ) -> Result<(), Failed> {
        let Some(seat) = scene.seat_of(agent) else {
            return Ok(());
        };
        let step = scene.seats[seat].step;
        if matches!(step, Step::Struck | Step::Gone) {
            // That it is done may have been on its way.
            if let Heard::Report(Ok(report)) = heard
                && let Report::Done { sent } = *report
            {
                scene.seats[seat].done = Some(sent);
            }
            return Ok(());
        }
        if let (Heard::Silence, Some(fault)) = (&heard, scene.joins(seat)) {
            self.agents[agent].status_by(Instant::now() + FAREWELL);
            return Err(self.not_joined(scene, fault, seat, None));
        }
        match heard {
            Heard::Report(Ok(report)) => self.told(scene, seat, *report),
            Heard::Report(Err(error)) => {
                let agent = self.agents[agent].label.clone();
                let cause = FailureCause::NoReport { agent, error };
                Err(self.failed(FailureKind::Error, cause))
            }
            Heard::Silence if step.is_coming() => {
                let error = "the new process ended before it could open".to_owned();
                Err(self.agent_not_back(scene, seat, error))
            }
            Heard::Silence if self.struck => {
                scene.seats[seat].step = Step::Silent(Instant::now());
                Ok(())
            }
            Heard::Silence => Err(self.blame(agent, None)),
        }
    }

    /// A report of an agent that plays or is on its way to it.
    fn told(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        number: usize,
        report: Report,
    ) -> Result<(), Failed> {
        let seat = &mut scene.seats[number];
        let agent = seat.agent;
        match (report, seat.step) {
            (
                Report::Failed {
                    step,
                    who,
                    trouble,
                    peer_gone,
                },
                now,
            ) => {
                let cause = FailureCause::Agent {
                    who,
                    trouble: trouble.clone(),
                    step: step.clone(),
                };
                if let Some(fault) = scene.joins(number) {
                    return Err(self.not_joined(scene, fault, number, Some(cause)));
                }
                if now.is_coming() {
                    return Err(self.agent_not_back(scene, number, cause.to_string()));
                }
                if !self.struck {
                    return Err(self.blame(agent, Some((peer_gone, cause))));
                }
                self.note_failed(scene, number, step, trouble);
            }
            (Report::Hello { protocol, .. }, Step::Starting) => {
                self.check_protocol(protocol)?;
                let assignment = Box::new(seat.assignment.clone());
                self.agents[agent].send(&Command::Prepare(assignment));
                seat.step = Step::Preparing;
            }
            (Report::Ready(applied), Step::Preparing) => {
                seat.step = Step::Ready;
                scene.warnings.extend(applied.warnings);
            }
            (Report::Matched, Step::Opening) => {
                self.agents[agent].send(&Command::Link);
                seat.step = Step::Linking;
            }
            (Report::Linked, Step::Linking) => {
                self.agents[agent].send(&Command::Start { at: scene.start });
                seat.step = Step::Playing;
            }
            (Report::Done { sent }, Step::Playing) => seat.done = Some(sent),
            _ => {
                let agent = self.agents[agent].label.clone();
                let cause = FailureCause::OutOfOrder { agent };
                return Err(self.failed(FailureKind::Error, cause));
            }
        }
        Ok(())
    }

    /// An agent could not go on after a fault.
    fn note_failed(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        seat: usize,
        step: String,
        trouble: AgentTrouble,
    ) {
        let agent = self.agents[scene.seats[seat].agent].label.clone();
        scene.seats[seat].step = Step::Gone;
        scene.warnings.push(Warning::FailedAfterFault {
            agent,
            step,
            trouble,
        });
    }

    /// Notes which agents and daemons have ended that no fault was to end.
    fn tend_processes(&mut self, scene: &mut Scene<'_, 'a>) -> Result<(), Failed> {
        if !self.struck {
            return Ok(());
        }
        for number in 0..scene.seats.len() {
            let Step::Silent(since) = scene.seats[number].step else {
                continue;
            };
            if self.agents[scene.seats[number].agent].status().is_some() {
                self.note_end_of(scene, Victim::Seat(number));
            } else if since.elapsed() >= FAREWELL {
                self.note_silent(scene, number, "window", FAREWELL);
            }
        }
        for number in 0..self.daemons.len() {
            if !scene.away[number] && self.daemons[number].status().is_some() {
                self.note_end_of(scene, Victim::Daemon(number));
            }
        }
        Ok(())
    }

    /// It has ended, and no fault was to end it.
    fn note_end_of(&mut self, scene: &mut Scene<'_, 'a>, victim: Victim) {
        match victim {
            Victim::Seat(number) => scene.seats[number].step = Step::Gone,
            Victim::Daemon(number) => scene.away[number] = true,
            Victim::Host(_) => {}
        }
        let Some(process) = self.process(scene, victim) else {
            return;
        };
        let Some(status) = process.status else { return };
        let warning = Warning::EndedAfterFault {
            process: process.label,
            exit: child::exit(status),
            said: self.last_words(scene, victim),
        };
        scene.warnings.push(warning);
    }

    /// It does not answer: ends it.
    fn note_silent(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        number: usize,
        step: &str,
        within: Duration,
    ) {
        let seat = &mut scene.seats[number];
        seat.step = Step::Gone;
        let agent = &mut self.agents[seat.agent];
        agent.end();
        scene.warnings.push(Warning::SilentAfterFault {
            agent: agent.label.clone(),
            step: step.to_owned(),
            within: child::nanos(within),
        });
    }

    /// Drains, collects and waits for the ends of those who live.
    fn end_in_order(&mut self, scene: &mut Scene<'_, 'a>) -> Result<Vec<AgentResult>, Failed> {
        let sent = |seat: &Seat<'_>| {
            let mut all = seat.done.clone().unwrap_or_default();
            // What earlier processes have sent nobody tells: receivers wait for more as long as the drain lasts.
            if seat.assignment.generation > 0 {
                all.iter_mut().for_each(|sent| sent.sent = u64::MAX);
            }
            all
        };
        let drain = Command::Drain {
            sent: scene.seats.iter().flat_map(sent).collect(),
        };
        let within = self.deadline() + Duration::from(self.context.experiment.drain);
        let last = self.gather(scene, ("drain", &drain), within, |report| match report {
            Report::Drained { last } => Some(last),
            _ => None,
        })?;
        let last = last.into_iter().max().unwrap_or(Nanos::ZERO);
        let collect = Command::Collect { last };
        let within = self.deadline();
        let results = self.gather(
            scene,
            ("collect", &collect),
            within,
            |report| match report {
                Report::Result { exchanges } => Some(exchanges),
                _ => None,
            },
        )?;
        self.step = "exit";
        let end = Instant::now() + within;
        for number in 0..scene.seats.len() {
            let seat = &scene.seats[number];
            if !seat.step.is_living() {
                continue;
            }
            match self.agents[seat.agent].status_by(end) {
                Some(status) if status.success() => {}
                Some(_) => self.note_end_of(scene, Victim::Seat(number)),
                None => self.note_silent(scene, number, "exit", within),
            }
        }
        self.check_surroundings()?;
        Ok(results.into_iter().flatten().collect())
    }

    /// Tells those who live to go on to a step, and waits until each has answered with a wanted report, failed, or ended;
    /// who has not after that time is ended.
    fn gather<T>(
        &mut self,
        scene: &mut Scene<'_, 'a>,
        (step, command): (&'static str, &Command),
        within: Duration,
        wanted: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, Failed> {
        self.step = step;
        let deadline = Instant::now() + within;
        for seat in scene.seats.iter().filter(|seat| seat.step.is_living()) {
            self.agents[seat.agent].send(command);
        }
        let mut got: Vec<Option<T>> = scene.seats.iter().map(|_| None).collect();
        loop {
            self.check_interrupt()?;
            self.check_surroundings()?;
            self.tend_processes(scene)?;
            let is_missing =
                |number: &usize| scene.seats[*number].step.is_living() && got[*number].is_none();
            let missing: Vec<usize> = (0..got.len()).filter(is_missing).collect();
            if missing.is_empty() {
                return Ok(got.into_iter().flatten().collect());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                for number in missing {
                    self.note_silent(scene, number, step, within);
                }
                continue;
            }
            let quiet = scene.quiet(Nanos(u64::MAX), LOOK.min(left));
            let Ok((agent, heard)) = self.inbox.recv_timeout(quiet) else {
                continue;
            };
            let Some(number) = scene.seat_of(agent) else {
                continue;
            };
            match heard {
                // An agent exits after its result.
                Heard::Silence if step == "collect" && got[number].is_some() => {}
                Heard::Report(Ok(report)) if !matches!(*report, Report::Failed { .. }) => {
                    // Others are of steps that are over.
                    got[number] = wanted(*report).or(got[number].take());
                }
                heard => self.hear(scene, agent, heard)?,
            }
        }
    }

    /// What the participants noted, of whatever generation. Of one that was struck, has failed or ended a log may be missing: it
    /// had not begun it.
    fn observed(&self, scene: Scene<'_, 'a>) -> Result<Observed, Failed> {
        let mut events = Vec::new();
        for seat in &scene.seats {
            let newest = seat.assignment.generation;
            for generation in 0..=newest {
                let assignment = Assignment {
                    generation,
                    ..seat.assignment.clone()
                };
                let may_lack = generation < newest || seat.step == Step::Gone;
                for participant in assignment.participants() {
                    let log = FaultLog::read(&assignment.fault_log(participant.index));
                    match log {
                        Ok(log) if log.dropped == 0 => events.extend(log.events),
                        Ok(log) => {
                            let (of, n) = (participant.index, log.dropped);
                            let error = format!(
                                "the log of participant {of} was full and lacks {n} events"
                            );
                            return Err(self.unrecorded(error));
                        }
                        Err(FaultLogError::System { source, .. })
                            if may_lack && source.kind() == io::ErrorKind::NotFound => {}
                        Err(e) => return Err(self.unrecorded(e)),
                    }
                }
            }
        }
        let mut struck = scene.struck;
        struck.sort_unstable();
        struck.dedup();
        Ok(Observed {
            start: scene.start,
            window: scene.window,
            made: scene.acts.into_iter().filter_map(|act| act.made).collect(),
            struck,
            events,
        })
    }

    fn unrecorded(&self, error: impl ToString) -> Failed {
        let error = error.to_string();
        self.failed(FailureKind::Inconsistent, FailureCause::Record { error })
    }
}

/// The agents stand in the order of their assignments, newcomers behind the others.
fn seats<'h>(groups: Vec<(&'h Place<'h>, Assignment)>) -> Vec<Seat<'h>> {
    let seat = |(agent, (place, assignment)): (usize, (&'h Place<'h>, Assignment))| Seat {
        place,
        step: match assignment.generation {
            0 => Step::Playing,
            _ => Step::Ready,
        },
        assignment,
        agent,
        done: None,
    };
    groups.into_iter().enumerate().map(seat).collect()
}
