//! What came over one channel to one receiver, and what a fault did to that.

use super::seen::Seen;
use super::span::Span;
use dyno_model::Nanos;
use dyno_model::fault::Outage;
use dyno_model::record::FlowCounts;
use std::rc::Rc;

/// An intact message that arrived. Ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrival {
    pub(super) at: Nanos,
    /// Its place in the schedule.
    pub(super) place: usize,
    pub(super) sent: Nanos,
}

/// One receiver of one channel.
pub(super) struct End {
    pub(super) flow: FlowCounts,
    window: [Nanos; 2],
    /// When its messages were due, by their places in the schedule.
    dues: Rc<Vec<Nanos>>,
    /// In order of time, copies included.
    arrivals: Vec<Arrival>,
    /// By place: the first arrival of each message, and how often it arrived.
    messages: Vec<(Option<Arrival>, u64)>,
    /// Those behind all that arrived before them, in order of time.
    newer: Vec<Arrival>,
}

/// From one newer message to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gap {
    from: Nanos,
    to: Nanos,
}

impl Gap {
    fn length(self) -> Nanos {
        self.to.saturating_sub(self.from)
    }
}

/// What was usual before the fault.
struct Before {
    p50: Option<Nanos>,
    max: Option<Nanos>,
    /// The first message that is not of it.
    behind: usize,
}

impl Before {
    /// The largest response time that is in time; none is where nothing is known.
    fn limit(&self) -> Option<Nanos> {
        self.max.map(|max| max.saturating_add(Outage::TOLERANCE))
    }
}

impl End {
    /// `arrivals` in order of time, at places that `dues` has.
    pub(super) fn new(
        seen: &Seen<'_>,
        (channel, receiver): (u16, u16),
        dues: Rc<Vec<Nanos>>,
        arrivals: Vec<Arrival>,
        damaged: u64,
    ) -> Self {
        let mut flow = FlowCounts {
            channel,
            receiver,
            corrupted: damaged,
            ..FlowCounts::default()
        };
        let [begin, end] = seen.window;
        let half = Nanos(begin.0.midpoint(end.0));
        let (mut in_window, mut by_half) = (0, 0);
        let mut messages = vec![(None, 0); dues.len()];
        let mut newer: Vec<Arrival> = Vec::new();
        for arrival in &arrivals {
            let (first, times) = &mut messages[arrival.place];
            *times += 1;
            if first.is_some() {
                flow.duplicated += 1;
                continue;
            }
            *first = Some(*arrival);
            flow.received += 1;
            in_window += u64::from(arrival.at < end);
            by_half += u64::from(arrival.at < half);
            match newer.last() {
                Some(last) if last.place > arrival.place => flow.reordered += 1,
                _ => newer.push(*arrival),
            }
        }
        let firsts = || messages.iter().filter_map(|(first, _)| *first);
        flow.first = firsts().map(|a| a.at).min().unwrap_or(Nanos::ZERO);
        flow.last = firsts().map(|a| a.at).max().unwrap_or(Nanos::ZERO);
        flow.bytes = flow.received * seen.experiment.payload.bytes() as u64;
        (flow.in_window, flow.by_half) = (Some(in_window), Some(by_half));
        End {
            flow,
            window: seen.window,
            dues,
            arrivals,
            messages,
            newer,
        }
    }

    /// The first arrival of each message that arrived, with its due time.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (Nanos, Arrival)> {
        let all = self.dues.iter().zip(&self.messages);
        all.filter_map(|(due, (first, _))| Some((*due, (*first)?)))
    }

    /// What the faults did here.
    pub(super) fn outage(&self, span: &Span) -> Outage {
        let gaps = self.gaps(span);
        let before = self.before(span);
        let recovered = self.recovered(span);
        let is_along = recovered.is_some() && self.came_along(span, &before);
        let after_end = |at: Nanos| at.saturating_sub(span.end[0]);
        // Later silences than the proof can show.
        let later = gaps.iter().filter(|gap| gap.length() > span.proof);
        let later = later.map(|gap| gap.to).max();
        let steady = recovered.and_then(|recovered| match is_along && later.is_none() {
            true => Some((Nanos::ZERO, before.behind)),
            false => {
                let from = later.map_or(recovered, |later| later.max(recovered));
                let first = self.steady_from(from, span, &before)?;
                Some((after_end(first.at), first.place))
            }
        });
        // Of several alike the first.
        let longest = gaps.iter().rev().max_by_key(|gap| gap.length());
        let longest = longest.filter(|_| recovered.is_some());
        let (burst, oldest) = longest.map_or((0, Nanos::ZERO), |gap| self.burst(*gap));
        let open = self.open_gap().map(Gap::length);
        let (lost, repeated, reordered) = self.counts_from(span.begin[0]);
        Outage {
            channel: self.flow.channel,
            receiver: self.flow.receiver,
            silence: longest
                .map(|gap| gap.length())
                .max(open.filter(|_| longest.is_some())),
            recovery: recovered.map(|at| match is_along {
                true => Nanos::ZERO,
                false => after_end(at),
            }),
            steady: steady.map(|(after, _)| after),
            seen: after_end(self.window[1]),
            lost,
            repeated,
            reordered,
            burst,
            oldest,
            before_p50: before.p50,
            before_max: before.max,
            steady_max: steady.and_then(|(_, place)| self.largest(place)),
            arrivals: self.picture(span, longest.copied()),
        }
    }

    fn response(&self, arrival: &Arrival) -> Nanos {
        arrival.at.saturating_sub(self.dues[arrival.place])
    }

    /// The gaps that end after the fault's begin.
    fn gaps(&self, span: &Span) -> Vec<Gap> {
        let froms = std::iter::once(self.window[0]).chain(self.newer.iter().map(|a| a.at));
        let gaps = froms
            .zip(&self.newer)
            .map(|(from, to)| Gap { from, to: to.at });
        gaps.filter(|gap| gap.to >= span.begin[0]).collect()
    }

    /// Where the last messages of the window are missing: from the last arrival to the window's end.
    fn open_gap(&self) -> Option<Gap> {
        self.dues.get(self.after_newest())?;
        let from = self.newer.last().map_or(self.window[0], |a| a.at);
        let to = self.window[1].max(from);
        Some(Gap { from, to })
    }

    /// The place behind the newest message that arrived at all.
    fn after_newest(&self) -> usize {
        self.newer.last().map_or(0, |newest| newest.place + 1)
    }

    /// The messages up to the newest one that had arrived when the fault began.
    fn before(&self, span: &Span) -> Before {
        let arrived = |a: &Arrival| a.at < span.begin[0];
        let behind = self.newer.partition_point(arrived);
        let behind = behind
            .checked_sub(1)
            .map_or(0, |last| self.newer[last].place + 1);
        let firsts = self.messages[..behind].iter().map(|(first, _)| *first);
        let in_order = firsts.map(|first| {
            let first = first.filter(arrived);
            first.map_or(Nanos::MAX, |a| self.response(&a))
        });
        let mut responses: Vec<Nanos> = in_order.collect();
        responses.sort_unstable();
        let middle = responses.len() / 2;
        let known = |response: &Nanos| *response < Nanos::MAX;
        Before {
            p50: responses.get(middle).copied().filter(known),
            max: responses.iter().rev().copied().find(known),
            behind,
        }
    }

    /// When the first newer message arrived that tells of recovery; `None`: the end is deaf.
    fn recovered(&self, span: &Span) -> Option<Nanos> {
        // Also those that the sender never came to: whether its library held it in a send or the host held it up, nobody knows.
        let missing = self.dues.get(self.after_newest());
        if missing.is_some_and(|due| self.window[1].saturating_sub(*due) >= span.proof) {
            return None;
        }
        // What waited in a queue through the fault tells nothing of what comes after it.
        let tells = |a: &&Arrival| a.at >= span.end[1] && a.sent >= span.end[0];
        self.newer.iter().find(tells).map(|a| a.at)
    }

    /// Whether every message arrived once and in time from those on that were under way when the fault began, until the
    /// proof after its end.
    fn came_along(&self, span: &Span, before: &Before) -> bool {
        let until = span.end[1].saturating_add(span.proof);
        let Some(limit) = before.limit() else {
            return false;
        };
        let behind = self.dues.iter().skip(before.behind);
        let places = before.behind..before.behind + behind.take_while(|due| **due < until).count();
        until <= self.window[1] && places.into_iter().all(|place| self.is_good(place, limit))
    }

    /// Whether the message arrived once and in time.
    fn is_good(&self, place: usize, limit: Nanos) -> bool {
        match &self.messages[place] {
            (Some(first), 1) => self.response(first) <= limit,
            _ => false,
        }
    }

    /// The first arrival at `from` or later from which on messages come once and in time for as long as the proof takes.
    fn steady_from(&self, from: Nanos, span: &Span, before: &Before) -> Option<Arrival> {
        let limit = before.limit()?;
        let mut first: Option<Arrival> = None;
        // When the next message that is not good is due; what is due behind the window is not known.
        let mut until = self.window[1];
        for (place, due) in self.dues.iter().enumerate().rev() {
            if !self.is_good(place, limit) {
                until = *due;
                continue;
            }
            let arrival = self.messages[place].0.filter(|a| a.at >= from);
            if due.saturating_add(span.proof) <= until {
                first = arrival.into_iter().chain(first).min();
            }
        }
        first
    }

    /// How many arrivals came with the one that ended a silence, and the age of the oldest.
    fn burst(&self, silence: Gap) -> (u64, Nanos) {
        let until = silence.to.saturating_add(Outage::BURST);
        let of_it = |a: &&Arrival| a.at >= silence.to && a.at <= until;
        let ages = self.arrivals.iter().filter(of_it).map(|a| self.response(a));
        ages.fold((0, Nanos::ZERO), |(n, oldest), age| {
            (n + 1, oldest.max(age))
        })
    }

    /// Messages due from `begin` on that were lost; copies and overtaken messages that arrived from then on.
    fn counts_from(&self, begin: Nanos) -> (u64, u64, u64) {
        let dues = self.dues.iter().zip(&self.messages);
        let lost = dues.filter(|(due, (first, _))| **due >= begin && first.is_none());
        let (mut repeated, mut reordered, mut next) = (0, 0, 0);
        let mut has_come = vec![false; self.dues.len()];
        for Arrival { at, place, .. } in self.arrivals.iter().copied() {
            let is_first = !std::mem::replace(&mut has_come[place], true);
            if at >= begin {
                repeated += u64::from(!is_first);
                reordered += u64::from(is_first && place < next);
            }
            next = next.max(place + 1);
        }
        (lost.count() as u64, repeated, reordered)
    }

    /// The largest response time of messages from `place` on.
    fn largest(&self, place: usize) -> Option<Nanos> {
        let firsts = self
            .messages
            .iter()
            .skip(place)
            .filter_map(|(first, _)| *first);
        firsts.map(|first| self.response(&first)).max()
    }

    /// Arrivals around the fault and the silence, relative to the fault's begin; of many the first one of each of so many
    /// equal pieces of time.
    fn picture(&self, span: &Span, silence: Option<Gap>) -> Vec<i64> {
        let [begin, end] = self.window;
        let zero = span.begin[0];
        let from = zero.saturating_sub(Outage::AROUND).max(begin);
        let over = silence.map_or(span.end[1], |gap| gap.to.max(span.end[1]));
        let to = over.saturating_add(Outage::AROUND).min(end.max(over));
        let shown = self.arrivals.iter().map(|a| a.at);
        let mut shown: Vec<Nanos> = shown.filter(|at| *at >= from && *at <= to).collect();
        if shown.len() > Outage::MOST_ARRIVALS {
            let most = Outage::MOST_ARRIVALS as u64;
            let piece = (to.saturating_sub(from).0 / most + 1).max(1);
            shown.dedup_by_key(|at| at.saturating_sub(from).0 / piece);
        }
        let relative = |at: Nanos| at.0.cast_signed().wrapping_sub(zero.0.cast_signed());
        shown.into_iter().map(relative).collect()
    }
}
