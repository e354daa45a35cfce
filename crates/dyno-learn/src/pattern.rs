//! How a topic sends: with a cycle, in groups, or at random times.

use crate::traffic::Topic;
use serde::Serialize;

/// Times and group sizes whose 95th percentile is at most so many times their 5th count as constant.
pub const STEADY: f64 = 1.5;

/// So many groups are needed before a topic is said to send in groups.
const LEAST_GROUPS: u64 = 3;

/// How a topic sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Pattern {
    /// A message in each cycle.
    Periodic {
        /// From one message to the next, in nanoseconds.
        cycle_ns: f64,
    },
    /// Groups of messages back to back.
    Burst {
        /// Messages of a group.
        group: u64,
        /// From the start of a group to that of the next, in nanoseconds.
        period_ns: f64,
    },
    /// At random times.
    Random {
        /// Messages per second, on average.
        hz: f64,
    },
}

impl Pattern {
    /// Messages per second, on average.
    pub fn hz(self) -> f64 {
        match self {
            Pattern::Periodic { cycle_ns } => 1e9 / cycle_ns,
            Pattern::Burst { group, period_ns } => group as f64 * 1e9 / period_ns,
            Pattern::Random { hz } => hz,
        }
    }

    /// From one message or group to the next, in nanoseconds.
    pub(crate) fn period_ns(self) -> f64 {
        match self {
            Pattern::Periodic { cycle_ns } => cycle_ns,
            Pattern::Burst { period_ns, .. } => period_ns,
            Pattern::Random { hz } => 1e9 / hz,
        }
    }
}

/// The value at a quantile of sorted values (nearest rank); 0 where there are none.
pub(crate) fn quantile(sorted: &[u64], q: f64) -> u64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

fn is_steady(sorted: &[u64]) -> bool {
    let [least, most] = [0.05, 0.95].map(|q| quantile(sorted, q) as f64);
    least > 0.0 && most <= STEADY * least
}

/// The mean, unless pauses or lost messages move it by more than 1 % away from the mean of the values between p5 and p95.
fn typical(sorted: &[u64], sum: u128, count: u64) -> f64 {
    let mean = sum as f64 / count.max(1) as f64;
    let [least, most] = [0.05, 0.95].map(|q| quantile(sorted, q));
    let (mut inner, mut number) = (0.0, 0.0);
    for value in sorted.iter().filter(|v| (least..=most).contains(*v)) {
        inner += *value as f64;
        number += 1.0;
    }
    let inner = inner / number;
    match (mean / inner - 1.0).abs() <= 0.01 {
        true => mean,
        false => inner,
    }
}

/// How this topic sends, or why that is not known.
pub(crate) fn pattern(topic: &Topic) -> Result<Pattern, &'static str> {
    let found = match topic.cycle {
        Some(cycle) => Pattern::Periodic {
            cycle_ns: cycle as f64,
        },
        None => of_times(topic)?,
    };
    let day_ns = 86_400e9;
    match found.period_ns() {
        period if period > day_ns => Err("less than one message in a day"),
        _ if found.hz() > dyno_model::RateHz::MAX => {
            Err("more than 100 million messages per second")
        }
        _ => Ok(found),
    }
}

fn of_times(topic: &Topic) -> Result<Pattern, &'static str> {
    match (topic.messages, topic.gaps.len()) {
        (0 | 1, _) => return Err("seen once"),
        (2, _) => return Err("seen twice"),
        (_, 0 | 1) => return Err("too few gaps: most stamps run backwards or follow a pause"),
        _ if topic.gap_sum == 0 => return Err("all messages have the same stamp"),
        _ => {}
    }
    let gaps = topic.gaps.sorted();
    if is_steady(&gaps) {
        let cycle_ns = typical(&gaps, topic.gap_sum, topic.steps);
        return Ok(Pattern::Periodic { cycle_ns });
    }
    let (groups, periods) = (topic.groups.sorted(), topic.periods.sorted());
    let mean = topic.grouped as f64 / topic.groups.len().max(1) as f64;
    if topic.groups.len() >= LEAST_GROUPS
        && quantile(&groups, 0.05) >= 2
        && mean <= 1e6
        && is_steady(&groups)
        && is_steady(&periods)
    {
        return Ok(Pattern::Burst {
            group: mean.round() as u64,
            period_ns: typical(&periods, topic.period_sum, topic.periods.len()),
        });
    }
    let hz = topic.steps as f64 * 1e9 / topic.gap_sum as f64;
    Ok(Pattern::Random { hz })
}
