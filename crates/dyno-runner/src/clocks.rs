//! The clocks of hosts that do not have the run's: asked in timestamped exchanges before, during and
//! after each trial, and translated by one line per host and trial.
//!
//! [`HostClocks`] lives as long as the run and remembers how fast each host's counter runs;
//! [`TrialClocks`] holds the exchanges of one trial, the clocks that its agents are handed, and in the
//! end the bound on what those were wrong by. Hosts with the run's clock take no part and cost nothing.

mod line;

use crate::agent::{Agent, Tock};
use crate::child::nanos;
use dyno_measure::{Counters, nanos_at};
use dyno_model::cause::FailureCause;
use dyno_model::plan::Testbed;
use dyno_model::protocol::{ClockSpec, Counter};
use dyno_model::record::HostClock;
use dyno_model::{Graph, Nanos, Participant};
use line::{Exchange, History, Seen};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Hosts that are not known yet are asked for so long before their first series, for the rate.
const FIRST: Duration = Duration::from_secs(2);
/// Pause between two rounds of that.
const PAUSE: Duration = Duration::from_millis(5);
/// A series ends when it has so many exchanges and the shortest is so many back, or after so long.
const ENOUGH: usize = 40;
const BACK: usize = 20;
const LONGEST: Duration = Duration::from_millis(300);
/// Exchanges of a series even where they take longer than that.
const LEAST: usize = 4;
/// An answer that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far the rate of a counter may stray from a constant within one trial, as parts of one. Of a
/// crystal half a part per million: the warming of a machine under load moves it by some tenths. Of
/// CLOCK_MONOTONIC what the kernel lets a time daemon slew it by (MAXFREQ of adjtimex(2)).
const fn wander(counter: Counter) -> f64 {
    match counter {
        Counter::Tsc => 0.5e-6,
        Counter::Monotonic => 500e-6,
    }
}

/// Between two exchanges during a trial: as rarely as the bound allows, which grows by less than 0.1 µs
/// (the time stamp counter) or 25 µs (CLOCK_MONOTONIC).
const fn interval(counter: Counter) -> Duration {
    match counter {
        Counter::Tsc => Duration::from_millis(200),
        Counter::Monotonic => Duration::from_millis(100),
    }
}

/// What the run knows of its hosts' counters.
pub(crate) struct HostClocks {
    run: ClockSpec,
    /// By the host's number in the testbed.
    hosts: Vec<History>,
}

impl HostClocks {
    /// Knows nothing yet. `run`: the clock of the run.
    pub(crate) fn new(run: ClockSpec, testbed: &Testbed) -> Self {
        HostClocks {
            run,
            hosts: testbed.hosts.iter().map(|_| History::default()).collect(),
        }
    }
}

/// Why the clock of a host cannot be known.
pub(crate) enum Trouble {
    /// That agent has ended.
    Gone(usize),
    /// It lives and does not answer, or answers what no counter shows.
    Silent(FailureCause),
}

/// One trial's hosts that have a clock of their own.
#[derive(Default)]
pub(crate) struct TrialClocks {
    foreign: Vec<Foreign>,
    /// The host of each agent.
    hosts: Vec<usize>,
}

struct Foreign {
    host: usize,
    name: String,
    /// The agent that is asked.
    agent: usize,
    counter: Counter,
    seen: Seen,
    clock: ClockSpec,
    number: u32,
    /// Asked and not yet answered.
    pending: Option<(u32, Counters)>,
    next: Instant,
    ptp: Option<String>,
}

impl TrialClocks {
    /// Asks every host that has a clock of its own, before anything of the trial is stamped.
    /// `agents` are on `hosts`, in the same order, and offer `counters`.
    pub(crate) fn before(
        known: &mut HostClocks,
        testbed: &Testbed,
        hosts: Vec<usize>,
        counters: &[Counter],
        agents: &mut [Agent],
        deadline: Duration,
    ) -> Result<Self, Trouble> {
        let mut foreign: Vec<Foreign> = Vec::new();
        for (agent, (host, counter)) in hosts.iter().zip(counters).enumerate() {
            let Some(spec) = testbed.hosts.get(*host) else {
                continue;
            };
            if spec.shares_clock() || foreign.iter().any(|f| f.host == *host) {
                continue;
            }
            foreign.push(Foreign {
                host: *host,
                name: spec.name.clone(),
                agent,
                counter: *counter,
                seen: Seen::default(),
                clock: ClockSpec::Monotonic,
                number: 0,
                pending: None,
                next: Instant::now(),
                ptp: None,
            });
        }
        let asked = foreign.iter_mut().map(|f| {
            let series = f.series(known.run, agents, deadline)?;
            learn(known, f, &series);
            Ok(series)
        });
        let mut asked: Vec<Vec<Exchange>> = asked.collect::<Result<_, _>>()?;
        acquaint(known, &mut foreign, &mut asked, agents, deadline)?;
        for (f, series) in foreign.iter_mut().zip(asked) {
            let Some(history) = known.hosts.get(f.host) else {
                continue;
            };
            let clock = history
                .rate()
                .and_then(|rate| line::through(&series, rate, f.counter));
            f.clock = clock.ok_or_else(|| {
                Trouble::Silent(FailureCause::CounterStands {
                    host: f.name.clone(),
                    exchanges: series.len(),
                })
            })?;
            f.seen.before = series;
            f.next = Instant::now() + interval(f.counter);
        }
        Ok(TrialClocks { foreign, hosts })
    }

    /// The clock of an agent whose host has one of its own.
    pub(crate) fn of_agent(&self, agent: usize) -> Option<ClockSpec> {
        let host = self.hosts.get(agent)?;
        self.of_host(*host).map(|f| f.clock)
    }

    fn of_host(&self, host: usize) -> Option<&Foreign> {
        self.foreign.iter().find(|f| f.host == host)
    }

    /// What an agent was told by linuxptp.
    pub(crate) fn note_ptp(&mut self, agent: usize, ptp: Option<String>) {
        for f in self.foreign.iter_mut().filter(|f| f.agent == agent) {
            f.ptp.clone_from(&ptp);
        }
    }

    /// Asks once more where it is time, and hears what came since. Never waits.
    pub(crate) fn during(&mut self, known: &HostClocks, agents: &mut [Agent]) {
        for f in &mut self.foreign {
            let Some(agent) = agents.get_mut(f.agent) else {
                continue;
            };
            f.hear(known.run, agent);
            // One at a time: where answers are slow, more questions would make them slower.
            if f.pending.is_none() && f.next <= Instant::now() {
                f.next = Instant::now() + interval(f.counter);
                f.number += 1;
                f.pending = agent.tick(f.number, f.counter).map(|sent| (f.number, sent));
            }
        }
    }

    /// Asks every host again, when everything of the trial is stamped. Returns what is known of each
    /// one's clock in this trial.
    pub(crate) fn after(
        &mut self,
        known: &mut HostClocks,
        agents: &mut [Agent],
        deadline: Duration,
    ) -> Result<Vec<HostClock>, Trouble> {
        let mut clocks = Vec::new();
        for f in &mut self.foreign {
            if let Some(agent) = agents.get_mut(f.agent) {
                f.hear(known.run, agent);
            }
            f.pending = None;
            f.seen.after = f.series(known.run, agents, deadline)?;
            let Some(history) = known.hosts.get_mut(f.host) else {
                continue;
            };
            history.learn(&f.seen.during);
            history.learn(&f.seen.after);
            let own = match known.run {
                ClockSpec::Tsc { .. } => Counter::Tsc,
                ClockSpec::Monotonic | ClockSpec::Scaled { .. } => Counter::Monotonic,
            };
            let wander = wander(f.counter) + wander(own);
            let shortest = f.seen.all().map(Exchange::round_trip).min();
            clocks.push(HostClock {
                host: f.name.clone(),
                drift_ppm: history.drift_ppm().unwrap_or_default(),
                residual_ns: line::residual(f.clock, &f.seen).unwrap_or_default(),
                // Both series have exchanges, or there was trouble.
                bound: line::bound(f.clock, &f.seen, wander).unwrap_or(Nanos(u64::MAX)),
                exchanges: u32::try_from(f.seen.all().count()).unwrap_or(u32::MAX),
                shortest: shortest.unwrap_or_default(),
                ptp: f.ptp.clone(),
            });
        }
        Ok(clocks)
    }

    /// The most by which a time between two ends of a channel on different hosts is wrong; `None` where all of them
    /// have the same clock. `clocks` as [`after`](TrialClocks::after) returned them.
    pub(crate) fn one_way_bound(&self, graph: &Graph, clocks: &[HostClock]) -> Option<Nanos> {
        let of = |participant: &Participant| {
            let host = participant.host;
            let foreign = self.of_host(host);
            let clock = foreign.and_then(|f| clocks.iter().find(|c| c.host == f.name));
            (
                foreign.map(|_| host),
                clock.map_or(Nanos::ZERO, |c| c.bound),
            )
        };
        let ends = graph
            .ends()
            .map(|(writer, reader)| (of(writer), of(reader)));
        let apart = ends.filter(|((a, _), (b, _))| a != b);
        apart
            .map(|((_, from), (_, to))| from.saturating_add(to))
            .max()
    }
}

fn learn(known: &mut HostClocks, f: &Foreign, series: &[Exchange]) {
    if let Some(history) = known.hosts.get_mut(f.host) {
        history.learn(series);
    }
}

/// Asks hosts whose rate is not known until it is, all of them in turns: those of the first trial, and
/// those that were started anew, of which nothing that was known before is of use. Their `series` are
/// then those that follow.
fn acquaint(
    known: &mut HostClocks,
    foreign: &mut [Foreign],
    series: &mut [Vec<Exchange>],
    agents: &mut [Agent],
    deadline: Duration,
) -> Result<(), Trouble> {
    let is_new = |f: &Foreign| {
        let history = known.hosts.get(f.host);
        history.is_some_and(|h| Duration::from(h.span()) < FIRST)
    };
    let mut new: Vec<(&mut Foreign, &mut Vec<Exchange>, Vec<Exchange>)> = foreign
        .iter_mut()
        .zip(series)
        .filter(|(f, _)| is_new(f))
        .map(|(f, series)| (f, series, Vec::new()))
        .collect();
    let began = Instant::now();
    while !new.is_empty() && began.elapsed() < FIRST {
        for (f, _, found) in &mut new {
            found.extend(f.ask(known.run, agents, PATIENCE.min(deadline))?);
        }
        std::thread::sleep(PAUSE);
    }
    for (f, series, found) in new {
        learn(known, f, &found);
        *series = f.series(known.run, agents, deadline)?;
        learn(known, f, series);
    }
    Ok(())
}

impl Foreign {
    /// Exchanges one after the other; at least one, or there is trouble.
    fn series(
        &mut self,
        run: ClockSpec,
        agents: &mut [Agent],
        deadline: Duration,
    ) -> Result<Vec<Exchange>, Trouble> {
        let began = Instant::now();
        let first = self.number;
        let mut series: Vec<Exchange> = Vec::new();
        let mut best = 0;
        loop {
            let took = began.elapsed();
            let shrinks = best + BACK > series.len();
            let is_over = match series.len() {
                n if n < LEAST => took >= deadline,
                n if n < ENOUGH || shrinks => took >= LONGEST,
                _ => true,
            };
            if is_over {
                break;
            }
            if let Some(next) = self.ask(run, agents, PATIENCE.min(deadline))? {
                let shortest = series.get(best).map(Exchange::round_trip);
                if shortest.is_none_or(|s| next.round_trip() < s) {
                    best = series.len();
                }
                series.push(next);
            }
        }
        match series.is_empty() {
            true => Err(Trouble::Silent(FailureCause::ClockSilent {
                host: self.name.clone(),
                questions: self.number - first,
                within: nanos(began.elapsed()),
            })),
            false => Ok(series),
        }
    }

    /// One exchange, unless the answer takes longer than `patience`.
    fn ask(
        &mut self,
        run: ClockSpec,
        agents: &mut [Agent],
        patience: Duration,
    ) -> Result<Option<Exchange>, Trouble> {
        let gone = || Trouble::Gone(self.agent);
        let agent = agents.get_mut(self.agent).ok_or_else(gone)?;
        self.number += 1;
        let sent = agent.tick(self.number, self.counter).ok_or_else(gone)?;
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match agent.tocks.recv_timeout(left) {
                Ok(tock) if tock.number == self.number => {
                    return Ok(Some(exchange(run, sent, &tock)));
                }
                // A late answer to a question that was given up.
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
    }

    /// Takes in the answer that was not waited for, if it is there.
    fn hear(&mut self, run: ClockSpec, agent: &Agent) {
        while let Ok(tock) = agent.tocks.try_recv() {
            if let Some((number, sent)) = self.pending
                && number == tock.number
            {
                self.seen.during.push(exchange(run, sent, &tock));
                self.pending = None;
            }
        }
    }
}

fn exchange(run: ClockSpec, sent: Counters, tock: &Tock) -> Exchange {
    Exchange {
        ticks: tock.ticks,
        raw: tock.raw,
        sent: on(run, sent),
        received: on(run, tock.received),
    }
}

/// A reading of this machine's counters on the run's clock, as [`dyno_measure::Clock`] shows it.
fn on(run: ClockSpec, counters: Counters) -> Nanos {
    let of = |counter| counters.of(counter);
    match run {
        ClockSpec::Tsc { .. } => match of(Counter::Tsc) {
            Some(ticks) => nanos_at(run, ticks),
            None => nanos_at(ClockSpec::Monotonic, of(Counter::Monotonic).unwrap_or(0)),
        },
        ClockSpec::Monotonic | ClockSpec::Scaled { .. } => {
            nanos_at(run, of(Counter::Monotonic).unwrap_or(0))
        }
    }
}
