//! The keys of `[defaults]`, `[[experiment]]`, `[experiment.matrix]` and `--set`: one table of
//! them, and how levels lie over each other.

use crate::parallel::Parallel;
use crate::quantity::{
    At, GroupSize, Quantity, SchedulingClass, Span, WaitChoice, Way, one, several,
};
use crate::sets::{self, Cpus};
use dyno_model::plan::Extent;
use dyno_model::probe::{ProbeKind, Rest, Sides};
use dyno_model::unit::{Nanos, PayloadSize, RateHz};
use dyno_model::{Access, Arrivals, Placement, Start, Topology, WorkloadKind};
use dyno_toml::{Entry, Node, Problem, Problems, Value};

/// What may vary within a matrix.
pub(crate) const FACTORS: &[&str] = &[
    "payload",
    "wait",
    "access",
    "placement",
    "topology",
    "scheduling",
    "rate",
    "arrivals",
    "gap",
    "group",
    "period",
    "probe",
    "by",
    "sides",
    "rest",
    "on",
    "parallel",
    "threads",
    "batch",
];

/// What holds for all cells of an experiment.
pub(crate) const CONDITIONS: &[&str] = &[
    "timeout",
    "echo_poll",
    "sink_pause",
    "slack",
    "trials",
    "warmup",
    "warmup_messages",
    "settle",
    "window",
    "round_trips",
    "messages",
    "drain",
    "deadline",
    "cpus",
    "mlock",
    "host",
    "reboot",
    "start",
    "raw_samples",
];

/// Whether `key` means something for `workload`.
pub(crate) fn applies(key: &str, workload: WorkloadKind) -> bool {
    workload.key(key).is_some() || WorkloadKind::having(key).is_empty()
}

/// What one level says; what it does not say is `None`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) payload: Option<Vec<At<PayloadSize>>>,
    pub(crate) wait: Option<Vec<At<WaitChoice>>>,
    pub(crate) access: Option<Vec<At<Access>>>,
    pub(crate) placement: Option<Vec<At<Placement>>>,
    pub(crate) topology: Option<Vec<At<Topology>>>,
    pub(crate) scheduling: Option<Vec<At<SchedulingClass>>>,
    pub(crate) rate: Option<Vec<At<RateHz>>>,
    pub(crate) arrivals: Option<Vec<At<Arrivals>>>,
    pub(crate) gap: Option<Vec<At<Nanos>>>,
    pub(crate) group: Option<Vec<At<GroupSize>>>,
    pub(crate) period: Option<Vec<At<Nanos>>>,
    pub(crate) probe: Option<Vec<At<ProbeKind>>>,
    pub(crate) by: Option<Vec<At<Way>>>,
    pub(crate) sides: Option<Vec<At<Sides>>>,
    pub(crate) rest: Option<Vec<At<Rest>>>,
    pub(crate) on: Option<Vec<At<Span>>>,
    pub(crate) parallel: Option<Vec<At<Parallel>>>,
    pub(crate) threads: Option<Vec<At<u32>>>,
    pub(crate) batch: Option<Vec<At<u32>>>,
    pub(crate) slack: Option<At<Nanos>>,
    pub(crate) timeout: Option<At<Nanos>>,
    pub(crate) echo_poll: Option<At<Nanos>>,
    pub(crate) sink_pause: Option<At<Nanos>>,
    pub(crate) trials: Option<At<u32>>,
    pub(crate) warmup: Option<At<Nanos>>,
    pub(crate) warmup_messages: Option<At<u64>>,
    pub(crate) settle: Option<At<Nanos>>,
    pub(crate) window: Option<At<Nanos>>,
    pub(crate) round_trips: Option<At<u64>>,
    pub(crate) messages: Option<At<u64>>,
    pub(crate) drain: Option<At<Nanos>>,
    pub(crate) deadline: Option<At<Nanos>>,
    pub(crate) cpus: Option<At<Cpus>>,
    pub(crate) mlock: Option<At<bool>>,
    pub(crate) host: Option<At<String>>,
    pub(crate) reboot: Option<At<bool>>,
    pub(crate) start: Option<At<Start>>,
    pub(crate) raw_samples: Option<At<u32>>,
}

/// Whether a factor may have several values where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Single,
    Several,
}

impl Settings {
    /// Reads one entry. Returns whether its key is one of [`FACTORS`] or [`CONDITIONS`].
    pub(crate) fn read(&mut self, entry: &Entry, form: Form, problems: &mut Problems) -> bool {
        let (key, node) = (entry.key.as_str(), &entry.node);
        let p = problems;
        if matches!(&node.value, Value::Text(t) if t.starts_with('$')) {
            // It names no parameter, which is a problem already.
            return FACTORS.contains(&key) || CONDITIONS.contains(&key);
        }
        match key {
            "payload" => self.payload = factor(key, node, form, p),
            "wait" => self.wait = factor(key, node, form, p),
            "access" => self.access = factor(key, node, form, p),
            "placement" => self.placement = factor(key, node, form, p),
            "topology" => self.topology = factor(key, node, form, p),
            "scheduling" => self.scheduling = factor(key, node, form, p),
            "rate" => self.rate = factor(key, node, form, p),
            "arrivals" => self.arrivals = factor(key, node, form, p),
            "gap" => self.gap = times(key, node, form, Nanos::ZERO, p),
            "group" => self.group = factor(key, node, form, p),
            "period" => self.period = times(key, node, form, Nanos(10), p),
            "probe" => self.probe = factor(key, node, form, p),
            "by" => self.by = factor(key, node, form, p),
            "sides" => self.sides = factor(key, node, form, p),
            "rest" => self.rest = factor(key, node, form, p),
            "on" => self.on = factor(key, node, form, p),
            "parallel" => self.parallel = factor(key, node, form, p),
            "threads" => self.threads = numbers(factor(key, node, form, p)),
            "batch" => self.batch = numbers(factor(key, node, form, p)),
            "slack" => self.slack = time(key, node, Nanos(1), p),
            "timeout" => self.timeout = time(key, node, Nanos(1), p),
            "echo_poll" => self.echo_poll = time(key, node, Nanos(1), p),
            "sink_pause" => self.sink_pause = time(key, node, Nanos(1), p),
            "trials" => self.trials = count(key, node, 1, 100_000, p),
            "warmup" => self.warmup = time(key, node, Nanos::ZERO, p),
            "settle" => self.settle = time(key, node, Nanos::ZERO, p),
            "warmup_messages" => self.warmup_messages = count(key, node, 0, MOST_MESSAGES, p),
            "window" => self.window = time(key, node, Nanos(1), p),
            "round_trips" => self.round_trips = count(key, node, 1, MOST_MESSAGES, p),
            "messages" => self.messages = count(key, node, 1, MOST_MESSAGES, p),
            "drain" => self.drain = time(key, node, Nanos::ZERO, p),
            "deadline" => self.deadline = time(key, node, Nanos(1), p),
            "cpus" => self.cpus = sets::read(node, p),
            "mlock" => {
                self.mlock = node.bool("`mlock`", p).map(|value| At {
                    value,
                    at: node.at.clone(),
                });
            }
            "host" => {
                self.host = node.text("`host`", p).map(|value| At {
                    value: value.to_owned(),
                    at: node.at.clone(),
                });
            }
            "reboot" => {
                self.reboot = node.bool("`reboot`", p).map(|value| At {
                    value,
                    at: node.at.clone(),
                });
            }
            "start" => self.start = one(key, node, p),
            "raw_samples" => self.raw_samples = count(key, node, 0, 10_000_000, p),
            _ => return false,
        }
        true
    }

    /// Refuses a time and a count for the same thing, which within one experiment are a mistake.
    pub(crate) fn refuse_both_extents(&self, problems: &mut Problems) {
        let counts = [&self.round_trips, &self.messages];
        for count in counts.into_iter().flatten() {
            if self.window.is_some() {
                problems.push(
                    Problem::at(&count.at, "the window is given as a time and as a count")
                        .label("and `window` as well")
                        .help("keep one of the two"),
                );
            }
        }
        if let (Some(_), Some(count)) = (&self.warmup, &self.warmup_messages) {
            problems.push(
                Problem::at(&count.at, "the warm-up is given as a time and as a count")
                    .label("and `warmup` as well")
                    .help("keep one of the two"),
            );
        }
    }
}

/// The longest measured part in messages, so that sequence numbers and counters stay far from
/// their bounds.
const MOST_MESSAGES: u64 = 1_000_000_000_000;

/// Levels, the one that wins first: `--set`, chosen presets, experiment, `[defaults]`, built in.
pub(crate) struct Levels<'a>(pub(crate) Vec<&'a Settings>);

impl<'a> Levels<'a> {
    /// The first level's value that says something.
    pub(crate) fn pick<T>(&self, get: impl Fn(&'a Settings) -> &'a Option<T>) -> Option<&'a T> {
        self.0.iter().find_map(|s| get(s).as_ref())
    }
    /// The measured part. Within one level a count beats a time.
    pub(crate) fn window(&self, workload: WorkloadKind) -> Option<At<Extent>> {
        self.0.iter().find_map(|s| {
            let count = match workload.is_closed_loop() {
                true => &s.round_trips,
                false => &s.messages,
            };
            extent(count, &s.window)
        })
    }
    /// What comes before it.
    pub(crate) fn warmup(&self) -> Option<At<Extent>> {
        self.0
            .iter()
            .find_map(|s| extent(&s.warmup_messages, &s.warmup))
    }
    /// The longest warm-up where its end depends on the series; not for a number of messages.
    pub(crate) fn settle(&self) -> Option<Option<Nanos>> {
        let longest = self.pick(|s| &s.settle)?.value;
        // Lost messages of the warm-up must leave time for the window.
        let longest = Nanos(longest.0.min(self.pick(|s| &s.deadline)?.value.0 / 4));
        Some(match self.warmup()?.value {
            Extent::Duration(least) if longest > least => Some(longest),
            _ => None,
        })
    }
}

fn extent(count: &Option<At<u64>>, time: &Option<At<Nanos>>) -> Option<At<Extent>> {
    match (count, time) {
        (Some(n), _) => Some(At {
            value: Extent::Messages(n.value),
            at: n.at.clone(),
        }),
        (None, Some(t)) => Some(At {
            value: Extent::Duration(t.value),
            at: t.at.clone(),
        }),
        (None, None) => None,
    }
}

fn factor<T: Quantity>(
    key: &str,
    node: &Node,
    form: Form,
    problems: &mut Problems,
) -> Option<Vec<At<T>>> {
    match form {
        Form::Single => one(key, node, problems).map(|v| vec![v]),
        Form::Several => several(key, node, problems),
    }
}

/// Plain numbers of a factor that is counted like a group.
fn numbers(all: Option<Vec<At<GroupSize>>>) -> Option<Vec<At<u32>>> {
    let plain = |v: At<GroupSize>| At {
        value: v.value.0,
        at: v.at,
    };
    Some(all?.into_iter().map(plain).collect())
}

fn count<T: TryFrom<u64>>(
    key: &str,
    node: &Node,
    least: u64,
    most: u64,
    problems: &mut Problems,
) -> Option<At<T>> {
    let value = node.whole(&format!("`{key}`"), least, most, problems)?;
    Some(At {
        value: T::try_from(value).ok()?,
        at: node.at.clone(),
    })
}

/// The longest time that a suite may ask for: a day.
const MOST_TIME: Nanos = Nanos::from_secs(24 * 60 * 60);

pub(crate) fn time(
    key: &str,
    node: &Node,
    least: Nanos,
    problems: &mut Problems,
) -> Option<At<Nanos>> {
    let value = one(key, node, problems)?;
    refuse_outside(key, &value, least, problems);
    Some(value)
}

fn times(
    key: &str,
    node: &Node,
    form: Form,
    least: Nanos,
    problems: &mut Problems,
) -> Option<Vec<At<Nanos>>> {
    let values = factor(key, node, form, problems)?;
    for value in &values {
        refuse_outside(key, value, least, problems);
    }
    Some(values)
}

fn refuse_outside(key: &str, value: &At<Nanos>, least: Nanos, problems: &mut Problems) {
    let wanted = if value.value > MOST_TIME {
        "at most a day, 1440 min".to_owned()
    } else if value.value < least && least == Nanos(1) {
        "longer than nothing".to_owned()
    } else if value.value < least {
        format!("at least {least}")
    } else {
        return;
    };
    problems.push(
        Problem::at(&value.at, format!("`{key}` must be {wanted}"))
            .label(format!("this is {}", value.value))
            .help("write for example \"250 ms\""),
    );
}
