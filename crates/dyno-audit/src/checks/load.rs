//! Rates, what is under way, and what a link carries.

use super::assumption::Assumption;
use crate::context::{Context, interval, outcome, printed, size_of};
use crate::interval::{Interval, short, with_unit};
use crate::outcome::{Outcome, Verdict};
use crate::statement::{Bound, Dimension, Figure, Loop, Quantity, RelationKind, Statistic, Trip};

/// The rate counts round trips.
pub(super) const ONE_DIRECTION: Assumption = Assumption {
    says: "the rate counts one message per round trip",
    innocent: "a rate that counts both directions is twice as high",
};

/// Little's law: rate × mean latency = messages under way. In a closed loop that is at most the number of clients.
pub(super) fn in_flight(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for (rate, latency) in pairs(context) {
        let clients = rate.method.clients.or(latency.method.clients).unwrap_or(1);
        // A figure of half a trip is under way for the whole of it.
        let trips = match latency.method.trip {
            Some(Trip::Half) => 2.0,
            _ => 1.0,
        };
        let under_way = interval(rate)
            .times(interval(latency))
            .times(Interval::exactly(trips));
        let of = match clients {
            1 => "one client".to_owned(),
            n => format!("{n} clients"),
        };
        let calculation = format!(
            "{} × {}{} = {} messages in progress; {of} in a closed loop can send at most {} per second",
            printed(rate),
            printed(latency),
            if trips > 1.0 { " × 2" } else { "" },
            short(under_way.middle()),
            short(clients as f64 / (interval(latency).middle() * trips)),
        );
        let most = clients as f64;
        let one_way = under_way.lo > 2.0 * most;
        let held = match under_way.lo <= most * (1.0 + 1e-9) {
            true => outcome(
                "in-flight",
                Verdict::NoObjection,
                &[rate, latency],
                format!("{of} can do it"),
                calculation,
            ),
            false => outcome(
                "in-flight",
                Verdict::Impossible,
                &[rate, latency],
                format!(
                    "{} and {} contradict each other for {of} that waits for each answer",
                    printed(rate),
                    printed(latency)
                ),
                calculation,
            ),
        };
        found.push(ONE_DIRECTION.unless(one_way, held));
    }
    found
}

/// Rates and mean latencies that are of one closed loop: as a relation says, or the method of both within one data set.
fn pairs<'a>(context: &Context<'a>) -> Vec<(&'a Figure, &'a Figure)> {
    // Little's law is of means: the largest rate of a moment may be of a moment with short latencies.
    let of_mean = |f: &Figure| {
        matches!(
            f.statistic,
            Statistic::Mean | Statistic::Value | Statistic::Rate
        )
    };
    let is_rate = |f: &&'a Figure| f.quantity == Quantity::Rate && of_mean(f);
    let is_time = |f: &&'a Figure| {
        matches!(f.quantity, Quantity::Latency | Quantity::Time)
            && matches!(f.statistic, Statistic::Mean | Statistic::Value)
    };
    let mut found = Vec::new();
    for relation in &context.statements.relations {
        if let RelationKind::OneClient(of) = &relation.kind {
            let figures = context.fitting(of);
            for rate in figures.iter().copied().filter(is_rate) {
                let times = figures.iter().copied().filter(is_time);
                found.extend(times.map(|time| (rate, time)));
            }
        }
    }
    for set in context.sets.iter().filter(|s| s.quantity == Quantity::Rate) {
        for quantity in [Quantity::Latency, Quantity::Time] {
            let Some(other) = context.beside(set, quantity) else {
                continue;
            };
            for rate in set.figures.iter().copied().filter(is_rate) {
                for time in other.figures.iter().copied().filter(is_time) {
                    let closed = |f: &Figure| {
                        f.method.load == Some(Loop::Closed) && f.method.clients.is_some()
                    };
                    let known = found
                        .iter()
                        .any(|(a, b)| a.id == rate.id && b.id == time.id);
                    if closed(rate) && closed(time) && !known {
                        found.push((rate, time));
                    }
                }
            }
        }
    }
    found
}

/// One over the rate is the wall time of a message, or of as many as one operation sends. Where it is the processor time instead, and
/// the two differ, the rate is per second of processor time.
pub(super) fn cpu_seconds(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for set in context.sets.iter().filter(|s| s.quantity == Quantity::Rate) {
        let one = |quantity| {
            let beside = context.beside(set, quantity)?;
            let mut figures = beside.figures.iter().copied();
            figures.find(|f| matches!(f.statistic, Statistic::Mean | Statistic::Value))
        };
        let (Some(wall), Some(cpu)) = (one(Quantity::Time), one(Quantity::CpuTime)) else {
            continue;
        };
        for rate in set.figures.iter().copied() {
            if rate.printed.bound != Bound::Rounded {
                continue;
            }
            let by_wall = interval(rate).times(interval(wall));
            let by_cpu = interval(rate).times(interval(cpu));
            let (Some(of_cpu), of_wall) = (whole(by_cpu), whole(by_wall)) else {
                continue;
            };
            let calculation = format!(
                "{} × {} of wall time = {}; {} × {} of processor time = {}",
                printed(rate),
                printed(wall),
                short(by_wall.middle()),
                printed(rate),
                printed(cpu),
                short(by_cpu.middle()),
            );
            let same = by_wall.lo <= of_cpu && of_cpu <= by_wall.hi;
            found.push(match of_wall.is_some() || same {
                true => outcome(
                    "cpu-seconds",
                    Verdict::NoObjection,
                    &[rate, wall, cpu],
                    "the rate is per second of wall time",
                    calculation,
                ),
                false => outcome(
                    "cpu-seconds",
                    Verdict::NotWhatItIsCalled,
                    &[rate, wall, cpu],
                    format!(
                        "{} is a rate per second of processor time; per second of wall time it is {}",
                        printed(rate),
                        with_unit(of_cpu / interval(wall).middle(), Dimension::Rate)
                    ),
                    calculation,
                ),
            });
        }
    }
    found
}

/// The power of ten that lies in an interval no wider than a twentieth of it: how many messages one operation sends.
fn whole(interval: Interval) -> Option<f64> {
    let powers = (0..=6).map(|k| 10f64.powi(k));
    powers
        .filter(|_| interval.hi - interval.lo < interval.middle() / 20.0)
        .find(|p| {
            (interval.middle() / p - 1.0).abs() < 0.005 || (interval.lo <= *p && *p <= interval.hi)
        })
}

/// Offered load against capacity, delivered bandwidth against capacity, and time on the wire against latency.
pub(super) fn link(context: &Context) -> Vec<Outcome> {
    let mut found = Vec::new();
    for figure in &context.statements.figures {
        let Some(capacity) = figure.method.link else {
            continue;
        };
        if figure.quantity == Quantity::Bandwidth {
            let fits = interval(figure).lo <= capacity * (1.0 + 1e-9);
            let calculation = format!(
                "{} against a capacity of {}",
                printed(figure),
                with_unit(capacity, Dimension::Bandwidth)
            );
            found.push(match fits {
                true => outcome(
                    "link",
                    Verdict::NoObjection,
                    &[figure],
                    "it fits the link",
                    calculation,
                ),
                false if interval(figure).lo <= 2.0 * capacity => outcome(
                    "link",
                    Verdict::CannotBeKnown,
                    &[figure],
                    "more than the link carries in one direction; the source does not say whether both are counted",
                    calculation,
                ),
                false => outcome(
                    "link",
                    Verdict::Impossible,
                    &[figure],
                    "more than the link carries in both directions",
                    calculation,
                ),
            });
        }
        if figure.quantity == Quantity::Latency {
            found.extend(offered(figure, capacity));
            found.extend(on_the_wire(figure, capacity));
        }
    }
    found
}

fn payload(figure: &Figure) -> Option<f64> {
    figure
        .method
        .payload_bytes
        .or_else(|| size_of(&figure.conditions))
}

fn bits(bytes_per_second: f64) -> String {
    format!("{} Mbit/s", short(bytes_per_second * 8e-6))
}

fn offered(figure: &Figure, capacity: f64) -> Option<Outcome> {
    let method = &figure.method;
    let (rate, bytes) = (method.sender_rate?, payload(figure)?);
    let senders = method.senders.unwrap_or(1);
    let load = rate * bytes * senders as f64;
    let calculation = format!(
        "{senders} × {} per s × {} B × 8 = {} on a link of {}",
        short(rate),
        short(bytes),
        bits(load),
        bits(capacity)
    );
    Some(match load <= capacity {
        true => outcome(
            "link",
            Verdict::NoObjection,
            &[figure],
            "what is offered fits the link",
            calculation,
        ),
        false if method.loss_stated == Some(true) => outcome(
            "link",
            Verdict::CannotBeKnown,
            &[figure],
            "more is offered than the link carries, so the latency covers only the messages that arrived",
            calculation,
        ),
        false => outcome(
            "link",
            Verdict::NotWhatItIsCalled,
            &[figure],
            "more is offered than the link carries, so messages are lost or senders are delayed; the source mentions neither",
            calculation,
        ),
    })
}

/// The last bit of a message leaves the sender one payload / capacity after the first.
fn on_the_wire(figure: &Figure, capacity: f64) -> Option<Outcome> {
    let bytes = payload(figure)?;
    // A reply may be of a few bytes, so a round trip has the payload on the wire once, and a half of one half of it.
    let trips = match figure.method.trip {
        Some(Trip::Half) => 0.5,
        _ => 1.0,
    };
    let least = trips * bytes / capacity;
    let calculation = format!(
        "{} B × 8 / {} = {} on the wire; printed is {}",
        short(bytes),
        bits(capacity),
        with_unit(least, Dimension::Time),
        printed(figure)
    );
    let is_time = matches!(
        figure.statistic,
        Statistic::Mean | Statistic::Min | Statistic::Max | Statistic::Percentile(_)
    );
    if !is_time {
        return None;
    }
    Some(match interval(figure).hi >= least {
        true => outcome(
            "link",
            Verdict::NoObjection,
            &[figure],
            "longer than the transmission takes",
            calculation,
        ),
        false => outcome(
            "link",
            Verdict::Impossible,
            &[figure],
            "faster than the link can carry it",
            calculation,
        ),
    })
}
