//! The source: offers messages on a schedule of due times, or as fast as the stack accepts.
//!
//! A late message is sent late and carries its due time; none is skipped. What a stack that blocks has not taken when the drain
//! would be over, had all been sent in time, is not sent: it counts as offered, late and lost.

use super::due;
use super::link::probe_until_linked;
use super::places::Places;
use super::progress::{Progress, Stage};
use super::sends::Sends;
use super::warmup::Warmup;
use crate::event::{Failure, Played};
use crate::job::{Job, Lengths, Nodes};
use crate::shared::{Call, Phase, ThreadState};
use dyno_adapter::{Sender, Sent};
use dyno_measure::stamp::{self, Header, Kind, Tag};
use dyno_measure::{Clock, Pacer, Recorder, Schedule, pacing};
use dyno_model::plan::Extent;
use dyno_model::protocol::{SourceCounts, Waited};
use dyno_model::{Metric, Nanos};

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    recorders: [Recorder; 2],
) -> Result<Played, Failure> {
    let Some(channel) = job.outgoing().next() else {
        return Err(job.misassigned("no channel to write to was assigned"));
    };
    let readers = channel.readers.len();
    let mut sender = job.sender(thread, nodes, channel)?;
    let opened = job.shared.clock.now();
    if !job.await_matched(thread, opened, &mut || Ok(sender.matched()? >= readers))? {
        return Ok(Played::default());
    }
    let mut source = Source::new(job, thread, sender.as_mut(), channel.id, recorders);
    if probe_until_linked(job, thread, source.sender, channel.id)? == Phase::Run {
        source.offer()?;
    }
    job.tell_done(&source.counts);
    // The endpoints stay until the sinks have taken what is under way, and nothing is worked out before.
    job.shared.wait_for(Phase::Stop);
    let played = source.finish()?;
    thread.inside(Call::Drop, || drop(sender));
    Ok(played)
}

/// So long before a message is due, it is decided whether it belongs to the window. The first one of the window takes
/// another way there than those before it, and the second one another way than those after it. A processor foresees the
/// branches of a send by the hundreds of branches before it, so the turns of the spinning loop must be as many: after
/// 2 µs of it both messages took 12 ns longer than all others, where a send takes 200 ns.
const LEAD: Nanos = Nanos::from_micros(20);

/// When the next message is due.
enum Due {
    /// And before which instant it must be; with the reading of the clock at the end, once that is known.
    Scheduled(Schedule, Pacer, Nanos, Option<Nanos>),
    /// At once: a flood. With its last reading.
    Now(Clock, Nanos),
}

impl Due {
    fn new(job: &Job, start: Nanos) -> Self {
        let clock = job.shared.clock;
        match due::schedule(job, start) {
            Some(schedule) => Due::Scheduled(schedule, job.pacer(), Nanos(u64::MAX), None),
            None => Due::Now(clock, Nanos::ZERO),
        }
    }

    /// Nothing that is due at `end` or later is waited for.
    fn end_at(&mut self, end: Nanos) {
        if let Due::Scheduled(_, _, before, _) = self {
            *before = end;
        }
    }

    /// Waits until [`LEAD`] before the next due time, which it returns; where the pacer only sleeps, until that time itself. Nothing
    /// when that is beyond the end, or when it is told not to go on.
    #[inline]
    fn next(&mut self, clock: Clock, go_on: &dyn Fn() -> bool) -> Option<Nanos> {
        match self {
            Due::Scheduled(schedule, pacer, before, ended) => {
                let due = schedule.next_due();
                if due >= *before {
                    *ended = Some(clock.now());
                    return None;
                }
                let lead = if pacer.spins() { LEAD } else { Nanos::ZERO };
                pacer.wait_until(due.saturating_sub(lead), go_on)?;
                Some(due)
            }
            Due::Now(clock, last) => {
                let now = clock.now();
                *last = now;
                go_on().then_some(now)
            }
        }
    }

    /// The due time after the last one, unless that is beyond the end; nothing is waited for.
    #[cold]
    fn following(&mut self) -> Option<Nanos> {
        match self {
            Due::Scheduled(schedule, _, before, _) => {
                Some(schedule.next_due()).filter(|due| due < before)
            }
            Due::Now(..) => None,
        }
    }

    /// Waits for the rest of the time until `due`; when that is over.
    #[inline]
    fn await_rest(&mut self, due: Nanos) -> Nanos {
        match self {
            Due::Scheduled(_, pacer, ..) => pacer.spin_until(due),
            Due::Now(..) => due,
        }
    }

    /// The first reading of the clock in the last call of [`next`](Self::next).
    #[inline]
    fn entered(&self) -> Nanos {
        match self {
            Due::Scheduled(_, pacer, _, ended) => ended.unwrap_or_else(|| pacer.entered()),
            Due::Now(_, last) => *last,
        }
    }

    fn waited(&self) -> Waited {
        match self {
            Due::Scheduled(_, pacer, ..) => pacer.waited(),
            Due::Now(..) => Waited::default(),
        }
    }
}

struct Source<'a> {
    job: &'a Job,
    thread: &'a ThreadState,
    sender: &'a mut dyn Sender,
    counts: SourceCounts,
    lateness: Recorder,
    /// What sends take.
    calls: Recorder,
    /// Messages that were due and never sent.
    withheld: u64,
    places: Places,
    lengths: Lengths,
}

impl<'a> Source<'a> {
    fn new(
        job: &'a Job,
        thread: &'a ThreadState,
        sender: &'a mut dyn Sender,
        channel: u16,
        [lateness, calls]: [Recorder; 2],
    ) -> Self {
        let counts = SourceCounts {
            channel,
            ..SourceCounts::default()
        };
        Source {
            job,
            thread,
            sender,
            counts,
            lateness,
            calls,
            withheld: 0,
            places: Places::new(job),
            lengths: job.lengths(),
        }
    }

    /// Warm-up and window.
    #[expect(
        clippy::too_many_lines,
        reason = "one loop for both: what each message takes is the same code"
    )]
    fn offer(&mut self) -> Result<(), Failure> {
        let shared = &self.job.shared;
        let experiment = self.job.experiment();
        if experiment.workload.kind().is_start() {
            // It has arrived everywhere, or the trial would not have come here; how many attempts
            // that took is not counted.
            (self.counts.offered, self.counts.sent) = (1, 1);
            return Ok(());
        }
        let clock = shared.clock;
        let go_on = || shared.phase() < Phase::Drain;
        let start = shared.start();
        let mut due_times = Due::new(self.job, start);
        let mut warmup = Warmup::new(shared, experiment);
        let mut stages = Stage::both(experiment.window);
        let mut sends = Sends::default();
        let is_paced = experiment.workload.kind().has(Metric::Send);
        let mut measured = false;
        // When what is due in the window must have been sent. What is late by so little is sent also where there is no drain.
        let mut give_up = Nanos(u64::MAX);
        let patience = experiment.drain.max(pacing::TOLERANCE);
        let last_call = |begun: Nanos| match experiment.window {
            Extent::Duration(window) => begun.saturating_add(window).saturating_add(patience),
            Extent::Messages(_) => Nanos(u64::MAX),
        };

        // Until a message has been sent, those of the warm-up and of the window take the same way: the first
        // measured one finds nothing that its predecessors have not just used.
        loop {
            // Of a flow that sends seldom the window may be over before its first message in it is due.
            if let (false, Some((_, end))) = (measured, self.job.common_window()) {
                due_times.end_at(end);
            }
            if !measured {
                give_up = last_call(shared.window_at());
            }
            let next = due_times.next(clock, &go_on);
            // A flood shows what its sends take by its rate, and would be slower for the record.
            if let (Some((stamped, took)), true) = (sends.returned(due_times.entered()), is_paced) {
                self.calls.record(stamped, took);
            }
            let Some(due) = next else {
                break;
            };
            let begins = !measured & !warmup.admits(due);
            measured |= begins;
            // The compiler must not make a loop of its own for each stage: that of the window would be new to the
            // caches.
            let stage = &mut stages[std::hint::black_box(usize::from(measured))];
            if let Some((begun, end)) = self.job.common_window().filter(|_| begins) {
                stage.progress.begin(begun);
                due_times.end_at(end);
            }
            if !stage.progress.admits(due) {
                break;
            }
            if begins {
                let common = self.job.common_window();
                give_up = last_call(common.map_or(due, |(begun, _)| begun));
            }
            let (kind, sequence) = (stage.kind, stage.sequence);
            stage.sequence += 1;
            let now = due_times.await_rest(due);
            if now > give_up {
                let [_, window] = &mut stages;
                let due = measured.then_some(due);
                self.withhold(due, &mut due_times, &mut warmup, &mut window.progress);
                break;
            }
            let sent = self.send(kind, sequence, due, now)?;
            sends.sent(now, sent == Sent::Accepted, measured);
            if !measured {
                shared.on_message(false);
                continue;
            }
            if begins {
                self.lateness.begin(due);
                self.calls.begin(due);
                self.counts.first = due;
            }
            self.counts.offered += 1;
            match sent {
                Sent::Accepted => self.counts.sent += 1,
                Sent::Refused => self.counts.refused += 1,
            }
            self.places.note(now);
            let late = now.saturating_sub(due);
            self.counts.late += u64::from(late > pacing::TOLERANCE);
            self.lateness.record(due, late);
        }
        self.counts.last = clock.now();
        self.counts.blocked = sends.blocked();
        self.counts.blocked_above = sends.above();
        self.counts.pacing = due_times.waited();
        Ok(())
    }

    /// Counts a message of the window that is due, if it is one, and all that follow in the window, as never sent.
    #[cold]
    fn withhold(
        &mut self,
        mut first: Option<Nanos>,
        due_times: &mut Due,
        warmup: &mut Warmup<'_>,
        window: &mut Progress,
    ) {
        self.withheld = u64::from(first.is_some());
        while let Some(due) = due_times.following() {
            if first.is_none() && warmup.admits(due) {
                continue;
            }
            if let (None, Some((begun, _))) = (first, self.job.common_window()) {
                window.begin(begun);
            }
            if !window.admits(due) {
                break;
            }
            first = first.or(Some(due));
            self.withheld += 1;
        }
        if let (Nanos::ZERO, Some(first)) = (self.counts.first, first) {
            self.counts.first = first;
        }
        self.counts.offered += self.withheld;
        self.counts.late += self.withheld;
    }

    #[inline]
    fn send(
        &mut self,
        kind: Kind,
        sequence: u64,
        intended: Nanos,
        sent: Nanos,
    ) -> Result<Sent, Failure> {
        let experiment = self.job.experiment();
        let header = Header {
            tag: Tag {
                channel: self.counts.channel,
                kind,
                sequence,
            },
            intended,
            sent,
        };
        let sender = &mut *self.sender;
        let length = self.lengths.of(header.tag);
        self.thread
            .inside(Call::Send, || {
                sender.send(length, &mut |buffer| {
                    stamp::write(buffer, experiment.access, &header)
                })
            })
            .map_err(self.job.in_call("send"))
    }

    fn finish(self) -> Result<Played, Failure> {
        let mut played = Played {
            sources: vec![self.counts],
            places: self.places.finish(),
            ..Played::default()
        };
        // A flood has no due times that it could be late for, nor has a first message.
        if self.job.experiment().workload.kind().has(Metric::Lateness) {
            let lateness = self
                .lateness
                .finish(self.withheld)
                .map_err(|e| self.job.unrecorded(e))?;
            played.distributions.push((Metric::Lateness, lateness));
        }
        if self.job.experiment().workload.kind().has(Metric::Send) {
            let calls = self.calls.finish(0);
            let calls = calls.map_err(|e| self.job.unrecorded(e))?;
            played.distributions.push((Metric::Send, calls));
        }
        Ok(played)
    }
}
