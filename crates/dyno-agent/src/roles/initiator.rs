//! The initiator: sends a ping, waits for the pong of every echo, and records the round trip. The
//! caller of a `call` is an initiator too: its pings are requests, its pongs responses.

use super::link::send_probe;
use super::order::Order;
use super::passages::Log;
use super::places::Places;
use super::pongs::{PongCheck, Pongs};
use super::progress::Stage;
use super::tally::Tally;
use super::warmup::{Settling, Warmup};
use crate::event::{Failure, Played};
use crate::job::{Job, Nodes};
use crate::shared::{Arrivals, Call, Phase, ThreadState};
use dyno_adapter::{Sender, Sent};
use dyno_measure::stamp::{self, Header, Kind, Tag};
use dyno_model::cause::Warning;
use dyno_model::plan::Extent;
use dyno_model::protocol::SourceCounts;
use dyno_model::{Metric, Nanos, Workload};
use std::hint::{black_box, select_unpredictable};
use std::sync::Arc;

pub(super) fn play(
    job: &Job,
    thread: &ThreadState,
    nodes: &mut Nodes,
    kit: Kit,
) -> Result<Played, Failure> {
    let Some(ping) = job.outgoing().next() else {
        return Err(job.misassigned("no channel to write to was assigned"));
    };
    let echoes = ping.readers.len();
    let mut sender = job.sender(thread, nodes, ping)?;
    let Kit {
        mut tally,
        settling,
        log,
        checks,
    } = kit;
    // Pongs arrive over other channels, but what is counted is the round trip of a ping.
    tally.flow.channel = ping.id;
    let mut pongs = Pongs::new(job, thread, nodes, checks)?;
    let opened = job.shared.clock.now();
    let matched = &mut || Ok(pongs.matched()? & (sender.matched()? >= echoes));
    if !job.await_matched(thread, opened, matched)? {
        return Ok(Played::default());
    }
    let channel = ping.id;
    let mut initiator = Initiator {
        job,
        thread,
        sender: sender.as_mut(),
        pongs: &mut pongs,
        counts: SourceCounts {
            channel,
            ..SourceCounts::default()
        },
        tally,
        arrived: job.shared.add_end(channel),
        settling,
        places: Places::new(job),
        log,
        warnings: Vec::new(),
    };
    if initiator.link()? == Phase::Run {
        initiator.exchange()?;
    }
    job.tell_done(&initiator.counts);
    job.shared.wait_for(Phase::Stop);
    let mut played = initiator.finish()?;
    thread.inside(Call::Drop, || drop(sender));
    for check in pongs.finish(job, thread)? {
        check.add_to(&mut played);
    }
    Ok(played)
}

/// What an initiator records into.
pub(crate) struct Kit {
    tally: Tally<1>,
    settling: Settling,
    log: Option<Log>,
    /// In the order of the channels that it receives from.
    checks: Vec<PongCheck>,
}

impl Kit {
    pub(super) fn new(job: &Job) -> Self {
        Kit {
            tally: Tally::new(job, 0, [Metric::Rtt], 0),
            settling: Settling::new(job),
            log: job.outgoing().next().and_then(|c| Log::new(job, c.id)),
            checks: job
                .incoming()
                .map(|c| PongCheck::new(job, job.origin(c.id)))
                .collect(),
        }
    }
}

struct Initiator<'a> {
    job: &'a Job,
    thread: &'a ThreadState,
    sender: &'a mut dyn Sender,
    pongs: &'a mut Pongs,
    counts: SourceCounts,
    tally: Tally<1>,
    arrived: Arc<Arrivals>,
    settling: Settling,
    places: Places,
    log: Option<Log>,
    warnings: Vec<Warning>,
}

impl Initiator<'_> {
    /// Exchanges probes until every echo has answered one, then waits for the start. A probe is
    /// sent only when the one before was answered or is overdue: replies that nobody takes would
    /// fill the buffers of both directions.
    fn link(&mut self) -> Result<Phase, Failure> {
        while !self.pongs.linked() {
            if self.job.shared.phase() > Phase::Link {
                break;
            }
            send_probe(self.job, self.thread, self.sender, self.counts.channel)?;
            self.pongs.await_probes(self.job, self.thread)?;
        }
        Ok(self.job.shared.wait_for(Phase::Run))
    }

    /// Warm-up and window.
    fn exchange(&mut self) -> Result<(), Failure> {
        let shared = self.job.shared.clone();
        let experiment = self.job.experiment();
        let (Workload::PingPong { gap, timeout } | Workload::Call { gap, timeout }) =
            experiment.workload
        else {
            return Err(self
                .job
                .misassigned("an initiator plays ping-pong and call only"));
        };
        let clock = shared.clock;
        let go_on = || shared.phase() < Phase::Drain;
        let mut pacer = self.job.pacer();
        let mut warmup = Warmup::new(&shared, experiment);
        let mut stages = Stage::both(experiment.window);
        let mut measured = false;
        let counted = matches!(experiment.window, Extent::Messages(_));
        // A counted warm-up of lost messages must leave time for the window; one that settles has a longest time of
        // its own.
        let warms_until = match !counted || experiment.settle.is_some() {
            true => Nanos(u64::MAX),
            false => Nanos(experiment.deadline.0 / 4),
        };
        // From the start on, in the warm-up and in the window.
        let most_used = match counted {
            true => [Nanos(u64::MAX), experiment.deadline],
            false => [Nanos(u64::MAX); 2],
        };

        // What is decided before a ping is decided by the time of the pong before it; the stamp follows.
        let mut at = pacer.wait_until(shared.start(), &go_on);
        let mut order = Order::new(self.job);
        while let Some(now) = order.when(at, &mut pacer, &go_on) {
            let used = now.saturating_sub(shared.start());
            let warms = warmup.admits(now) & (used < warms_until);
            let counts = order.counts(now);
            let begins = !measured & !warms & counts;
            measured |= begins;
            // The compiler must not make a way of its own for each stage: that of the window would be new to the
            // caches, and no processor would foresee its branches.
            let index = black_box(usize::from(measured & counts));
            let stage = &mut stages[index];
            if let Some((begun, _)) = self.job.common_window().filter(|_| begins) {
                stage.progress.begin(begun);
            }
            if !stage.progress.admits(now) {
                break;
            }
            if used > most_used[index] {
                self.cut_short();
                break;
            }
            let (kind, sequence) = (stage.kind, stage.sequence);
            stage.sequence += 1;
            shared.on_message(measured);
            let (sent, arrival) = self.exchange_one((kind, sequence), (now, begins), timeout)?;
            at = match gap {
                Nanos::ZERO if !go_on() => None,
                Nanos::ZERO => Some(arrival.unwrap_or_else(|| clock.now())),
                gap => pacer.wait_until(sent.saturating_add(gap), &go_on),
            };
        }
        order.end(&mut pacer, &go_on);
        self.counts.last = clock.now();
        self.counts.pacing = pacer.waited();
        Ok(())
    }

    /// Lost pongs, each waited for until its timeout, have used up the trial's deadline: what was
    /// offered until now is the measurement.
    fn cut_short(&mut self) {
        let experiment = self.job.experiment();
        let SourceCounts { offered, .. } = self.counts;
        self.warnings.push(Warning::CutShort {
            who: self.job.name(),
            offered,
            lost: offered - self.tally.flow.received,
            deadline: experiment.deadline,
        });
    }

    /// One ping and all its pongs, recorded: when it was sent, and when the last pong arrived. It was decided on at
    /// `at`, and whether it begins the window. What only pings of the window need comes after the pongs, so that none
    /// is sent after a pause which those before it did not have.
    #[inline]
    fn exchange_one(
        &mut self,
        (kind, sequence): (Kind, u64),
        (at, begins): (Nanos, bool),
        timeout: Nanos,
    ) -> Result<(Nanos, Option<Nanos>), Failure> {
        let sent = self.job.shared.clock.departure();
        let tag = Tag {
            channel: self.counts.channel,
            kind,
            sequence,
        };
        let header = Header {
            tag,
            intended: sent,
            sent,
        };
        let arrival = self.round_trip(&header, timeout)?;
        let measured = kind == Kind::Measured;
        self.settling.end_if(begins);
        self.tally.begin_if(begins, at);
        self.counts.first = select_unpredictable(begins, at, self.counts.first);
        if self.places.is_watched() {
            self.look(measured, at);
        }
        self.counts.offered += u64::from(measured);
        let Some(arrival) = arrival else {
            return Ok((sent, None));
        };
        let latency = arrival.saturating_sub(sent);
        self.settling.note(arrival, latency);
        let bytes = self.job.experiment().payload.bytes();
        self.tally
            .note(measured, &header, arrival, bytes, [latency]);
        let flow = &mut self.tally.flow;
        flow.lead_in += u64::from(!measured & self.job.shared.is_metering());
        // Nothing has arrived before the window.
        let seen = Nanos(arrival.0 * u64::from(measured));
        self.arrived.note(flow.received, seen);
        if let Some(log) = self.log.as_mut().filter(|_| measured) {
            log.note(sequence, sent, arrival);
        }
        Ok((sent, Some(arrival)))
    }

    /// Apart, so that where nothing is watched the compiler cannot ask first whether a ping is measured.
    #[cold]
    fn look(&mut self, measured: bool, at: Nanos) {
        if measured {
            self.places.note(at);
        }
    }

    /// One ping and all its pongs; the arrival of the last, or nothing where one is missing.
    #[inline]
    fn round_trip(&mut self, header: &Header, timeout: Nanos) -> Result<Option<Nanos>, Failure> {
        let experiment = self.job.experiment();
        let Tag { kind, sequence, .. } = header.tag;
        let sent = header.sent;
        let sender = &mut *self.sender;
        let accepted = self
            .thread
            .inside(Call::Send, || {
                sender.send(experiment.payload.bytes(), &mut |buffer| {
                    stamp::write(buffer, experiment.access, header)
                })
            })
            .map_err(self.job.in_call("send"))?;
        let measured = kind == Kind::Measured;
        match accepted {
            Sent::Accepted => self.counts.sent += u64::from(measured),
            Sent::Refused => {
                self.counts.refused += u64::from(measured);
                return Ok(None);
            }
        }
        let deadline = sent.saturating_add(timeout);
        let arrival = self
            .pongs
            .await_all(self.job, self.thread, kind, sequence, deadline)?;
        // A receiver that sleeps looks at the clock when it wakes up, perhaps for a pong that is too late.
        Ok(arrival.filter(|arrival| *arrival <= deadline))
    }

    fn finish(self) -> Result<Played, Failure> {
        let played = self.tally.finish(self.counts.offered);
        Ok(Played {
            sources: vec![self.counts],
            warnings: self.warnings,
            places: self.places.finish(),
            passages: self.log.map(Log::finish).into_iter().collect(),
            ..played.map_err(|e| self.job.unrecorded(e))?
        })
    }
}
