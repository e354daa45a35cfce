//! The keys of `[defaults]`, `[[experiment]]`, `[experiment.matrix]` and `--set`: one table of
//! them, and how levels lie over each other.

use crate::parallel::Parallel;
use crate::quantity::{
    At, GroupSize, Quantity, SchedulingClass, Span, WaitChoice, Way, one, several,
};
use crate::sets::{self, Cpus};
use dyno_model::factors::{self, Scope, Set};
use dyno_model::plan::Extent;
use dyno_model::probe::{ProbeKind, Rest, Sides};
use dyno_model::unit::{Nanos, PayloadSize, RateHz};
use dyno_model::{Access, Arrivals, Experiment, Placement, Plan, Topology, WorkloadKind};
use dyno_toml::{Entry, Node, Problem, Problems, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an experiment with flows makes of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flows {
    /// It is one of one exchange alone: there it has no place.
    No,
    /// Each flow has its own.
    Own,
    /// A flow has its own, or all have that of the experiment.
    OwnOrAll,
    /// As before, and a matrix may vary it for all of them.
    OwnOrVaried,
    /// All have it in common.
    All,
}

/// Puts what a level says of a factor into an experiment.
type Sets = Arc<dyn Fn(&mut Experiment) + Send + Sync>;

/// A row of the table of settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) key: &'static str,
    /// A matrix may vary it; else it holds for all cells of an experiment.
    pub(crate) varies: bool,
    pub(crate) flows: Flows,
}

macro_rules! settings {
    (matrix { $($factor:ident: $of:ty = $several:expr, $of_flows:ident;)+ }
     experiment { $($key:ident: $value:ty = $one:expr, $flows:ident;)+ }) => {
        /// What one level says; what it does not say is `None`.
        #[derive(Clone, Default)]
        pub(crate) struct Settings {
            factors: BTreeMap<&'static str, Sets>,
            $(pub(crate) $factor: Option<Vec<At<$of>>>,)+
            $(pub(crate) $key: Option<At<$value>>,)+
        }

        const SETTINGS: &[Setting] = &[
            $(Setting { key: stringify!($factor), varies: true, flows: Flows::$of_flows },)+
            $(Setting { key: stringify!($key), varies: false, flows: Flows::$flows },)+
        ];

        impl Settings {
            fn take(&mut self, key: &str, node: &Node, form: Form, p: &mut Problems) {
                match key {
                    $(stringify!($factor) => self.$factor = $several(key, node, form, p),)+
                    $(stringify!($key) => self.$key = $one(key, node, p),)+
                    _ => self.take_factor(key, node, p),
                }
            }
        }
    };
}

settings! {
    matrix {
        payload: PayloadSize = factor, OwnOrAll;
        wait: WaitChoice = factor, All;
        access: Access = factor, All;
        placement: Placement = factor, OwnOrVaried;
        topology: Topology = factor, OwnOrAll;
        scheduling: SchedulingClass = factor, All;
        rate: RateHz = factor, Own;
        arrivals: Arrivals = factor, OwnOrAll;
        gap: Nanos = times(Nanos::ZERO), Own;
        group: GroupSize = factor, Own;
        period: Nanos = times(Nanos(10)), Own;
        probe: ProbeKind = factor, No;
        by: Way = factor, No;
        sides: Sides = factor, No;
        rest: Rest = factor, No;
        on: Span = factor, No;
        parallel: Parallel = factor, No;
        threads: u32 = numbers, No;
        batch: u32 = numbers, No;
    }
    experiment {
        timeout: Nanos = time(Nanos(1)), OwnOrAll;
        slack: Nanos = time(Nanos(1)), No;
        trials: u32 = count(1, Plan::MOST_TRIALS as u64), All;
        warmup: Nanos = time(Nanos::ZERO), All;
        warmup_messages: u64 = count(0, MOST_MESSAGES), No;
        settle: Nanos = time(Nanos::ZERO), All;
        window: Nanos = time(Nanos(1)), All;
        round_trips: u64 = count(1, MOST_MESSAGES), No;
        messages: u64 = count(1, MOST_MESSAGES), No;
        drain: Nanos = time(Nanos::ZERO), All;
        deadline: Nanos = time(Nanos(1)), All;
        cpus: Cpus = |_, node, p| sets::read(node, p), All;
        host: String = text, All;
        raw_samples: u32 = count(0, 10_000_000), All;
    }
}

/// The table, and after it the settings of the table of factors.
fn all() -> impl Iterator<Item = Setting> {
    let of_factors = factors::settings().map(|s| Setting {
        key: s.key,
        varies: false,
        flows: match s.scope {
            Scope::Flow | Scope::Sink => Flows::OwnOrAll,
            Scope::All => Flows::All,
        },
    });
    SETTINGS.iter().copied().chain(of_factors)
}

/// The row of a key.
pub(crate) fn setting(key: &str) -> Option<Setting> {
    all().find(|s| s.key == key)
}

/// The keys of those settings that are wanted, in the order of the table.
pub(crate) fn keys(wanted: impl Fn(Setting) -> bool) -> Vec<&'static str> {
    all().filter(|s| wanted(*s)).map(|s| s.key).collect()
}

/// Whether `key` means something for `workload`.
pub(crate) fn applies(key: &str, workload: WorkloadKind) -> bool {
    workload.key(key).is_some() || WorkloadKind::having(key).is_empty()
}

/// Refuses a key that the experiment's workload does not have.
pub(crate) fn check_workload(
    entry: &Entry,
    workload: Option<&At<WorkloadKind>>,
    problems: &mut Problems,
) {
    let Some(workload) = workload else { return };
    if applies(&entry.key, workload.value) {
        return;
    }
    let mut advice = workload.value.info().instead.iter();
    let instead = advice.find(|(key, _)| key.is_empty() || *key == entry.key);
    let instead = instead.map_or("remove it, or change the workload", |(_, advice)| *advice);
    Problem::at(
        &entry.key_at,
        format!("{} has no `{}`", workload.value.with_article(), entry.key),
    )
    .label(belongs(&entry.key))
    .help(instead)
    .note(problems);
}

/// The workloads that have a key.
pub(crate) fn belongs(key: &str) -> String {
    let having = WorkloadKind::having(key);
    let names: Vec<&str> = having.iter().map(|w| w.as_str()).collect();
    format!("belongs to {}", names.join(", "))
}

/// Whether a factor may have several values where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Single,
    Several,
}

impl Settings {
    /// Reads one entry. Returns whether its key is that of a setting.
    pub(crate) fn read(&mut self, entry: &Entry, form: Form, problems: &mut Problems) -> bool {
        // `$` without the name of a parameter is a problem already.
        if !matches!(&entry.node.value, Value::Text(t) if t.starts_with('$')) {
            self.take(&entry.key, &entry.node, form, problems);
        }
        setting(&entry.key).is_some()
    }

    /// Says nothing of a setting of the table of factors any more.
    pub(crate) fn forget(&mut self, key: &str) {
        self.factors.remove(key);
    }

    fn take_factor(&mut self, key: &str, node: &Node, p: &mut Problems) {
        let Some(of) = factors::settings().find(|s| s.key == key) else {
            return;
        };
        let sets: Option<Sets> = match of.set {
            Set::Time(set) => time(Nanos(1))(key, node, p)
                .map(|t| Arc::new(move |e: &mut Experiment| set(e, t.value)) as Sets),
            Set::Flag(set) => {
                let is = node.bool(&format!("`{key}`"), p);
                is.map(|is| Arc::new(move |e: &mut Experiment| set(e, is)) as Sets)
            }
            Set::Start(set) => one(key, node, p)
                .map(|v| Arc::new(move |e: &mut Experiment| set(e, v.value)) as Sets),
            Set::Pacing(set) => one(key, node, p)
                .map(|v| Arc::new(move |e: &mut Experiment| set(e, v.value)) as Sets),
        };
        self.factors.extend(sets.map(|sets| (of.key, sets)));
    }

    /// Refuses a time and a count for the same thing, which within one experiment are a mistake.
    pub(crate) fn refuse_both_extents(&self, problems: &mut Problems) {
        let counts = [&self.round_trips, &self.messages];
        for count in counts.into_iter().flatten() {
            if self.window.is_some() {
                Problem::at(&count.at, "the window is given as a time and as a count")
                    .label("and `window` as well")
                    .help("keep one of the two")
                    .note(problems);
            }
        }
        if let (Some(_), Some(count)) = (&self.warmup, &self.warmup_messages) {
            Problem::at(&count.at, "the warm-up is given as a time and as a count")
                .label("and `warmup` as well")
                .help("keep one of the two")
                .note(problems);
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
    /// The time of the first level that says one, but for what is built in; else the `usual` one.
    pub(crate) fn said(&self, get: fn(&Settings) -> &Option<At<Nanos>>, usual: Nanos) -> Nanos {
        let said = self.0.split_last().map_or(&[][..], |(_, said)| said);
        let first = said.iter().find_map(|s| get(s).as_ref());
        first.map_or(usual, |time| time.value)
    }

    /// Sets the factors that the levels say and the workload has.
    pub(crate) fn set_factors(&self, e: &mut Experiment, workload: WorkloadKind) {
        for of in factors::settings().filter(|of| applies(of.key, workload)) {
            let said = self.0.iter().find_map(|s| s.factors.get(of.key));
            said.into_iter().for_each(|set| set(e));
        }
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
        (Some(n), _) => Some(At::new(Extent::Messages(n.value), &n.at)),
        (None, Some(t)) => Some(At::new(Extent::Duration(t.value), &t.at)),
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
fn numbers(key: &str, node: &Node, form: Form, problems: &mut Problems) -> Option<Vec<At<u32>>> {
    let plain = |v: At<GroupSize>| At {
        value: v.value.0,
        at: v.at,
    };
    Some(
        factor(key, node, form, problems)?
            .into_iter()
            .map(plain)
            .collect(),
    )
}

fn text(key: &str, node: &Node, problems: &mut Problems) -> Option<At<String>> {
    let text = node.text(&format!("`{key}`"), problems)?;
    Some(At::new(text.to_owned(), &node.at))
}

fn count<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str, &Node, &mut Problems) -> Option<At<T>> {
    move |key, node, problems| {
        let value = node.whole(&format!("`{key}`"), least, most, problems)?;
        Some(At::new(T::try_from(value).ok()?, &node.at))
    }
}

/// The longest time that a suite may ask for: a day.
const MOST_TIME: Nanos = Nanos::from_secs(24 * 60 * 60);

pub(crate) fn time(least: Nanos) -> impl Fn(&str, &Node, &mut Problems) -> Option<At<Nanos>> {
    move |key, node, problems| {
        let value = one(key, node, problems)?;
        refuse_outside(key, &value, least, problems);
        Some(value)
    }
}

fn times(least: Nanos) -> impl Fn(&str, &Node, Form, &mut Problems) -> Option<Vec<At<Nanos>>> {
    move |key, node, form, problems| {
        let values = factor(key, node, form, problems)?;
        for value in &values {
            refuse_outside(key, value, least, problems);
        }
        Some(values)
    }
}

pub(crate) fn refuse_outside(key: &str, value: &At<Nanos>, least: Nanos, problems: &mut Problems) {
    let wanted = if value.value > MOST_TIME {
        "at most a day, 1440 min".to_owned()
    } else if value.value < least && least == Nanos(1) {
        "longer than nothing".to_owned()
    } else if value.value < least {
        format!("at least {least}")
    } else {
        return;
    };
    Problem::at(&value.at, format!("`{key}` must be {wanted}"))
        .label(format!("this is {}", value.value))
        .help("write for example \"250 ms\"")
        .note(problems);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_in_the_reference() {
        let text = include_str!("../../../docs/reference/suite-files.md");
        for key in keys(|_| true) {
            assert!(text.contains(&format!("| `{key}`")), "{key}");
        }
    }
}
