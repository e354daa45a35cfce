//! The factors: one table of what may differ between two experiments. Tables, exports, names, judgements, the page
//! and the settings of suites are loops over it, so a factor is added by a row here and by its field in [`Experiment`].

use crate::factor::{Pacing, Start};
use crate::flow::Flow;
use crate::plan::{Experiment, ExperimentId, Extent, Scheduling};
use crate::unit::Nanos;
use std::fmt;

/// Static properties of a factor.
#[derive(Debug, Clone, Copy)]
pub struct Factor {
    /// Title of its column in tables; no other factor has the same.
    pub title: &'static str,
    /// The text before its value in a heading.
    pub lead: &'static str,
    /// Its value as tables print it; empty: it does not apply.
    pub text: fn(&Experiment) -> String,
    /// Its value in a list of words, where that is not lead and value.
    pub phrase: Option<fn(&Experiment) -> String>,
    /// The text of the value that goes without saying; `None`: every value is named.
    pub default: Option<&'static str>,
    /// Its role in a comparison of two runs.
    pub between_runs: BetweenRuns,
    /// Whether it is a part of the load, whose columns stand first in exports.
    pub is_load: bool,
    /// Its place among the columns of tables, from left to right.
    pub place: u8,
    /// When its column is left out of a narrow table; the highest goes first, 0 never.
    pub rank: u8,
    /// Its values in files.
    pub columns: &'static [Column],
    /// The text that distinguishes two values if its columns do not.
    pub key: Option<fn(&Experiment) -> String>,
    /// How a suite sets it for all cells of an experiment, where the planner has nothing to work out.
    pub setting: Option<Setting>,
}

/// A key of suites that sets a factor.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name.
    pub key: &'static str,
    /// The values that it accepts, and the field that stores them.
    pub set: Set,
    /// Whose it is.
    pub scope: Scope,
}

/// Whose a setting is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// That of all flows of an experiment.
    All,
    /// A flow's, or that of all flows.
    Flow,
    /// As [`Flow`](Self::Flow), of its sinks: a flow that reads what another one sends has its own.
    Sink,
}

/// Puts the value of a setting into an experiment.
#[derive(Debug, Clone, Copy)]
pub enum Set {
    /// A time above zero.
    Time(fn(&mut Experiment, Nanos)),
    /// Yes or no.
    Flag(fn(&mut Experiment, bool)),
    /// What participants are started as.
    Start(fn(&mut Experiment, Start)),
    /// How senders wait for due times.
    Pacing(fn(&mut Experiment, Pacing)),
}

/// How a comparison treats experiments of two runs that differ in a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetweenRuns {
    /// Different questions, whose figures are not compared.
    Apart,
    /// Compared, and the difference is named.
    Named,
}

/// A value of a factor in files: its name, with the unit, and what it is in an experiment.
pub type Column = (&'static str, Of);

/// How the value of a column comes from an experiment; `None`: it does not apply.
#[derive(Debug, Clone, Copy)]
pub enum Of {
    /// As text.
    Text(fn(&Experiment) -> Option<String>),
    /// As a whole number.
    Count(fn(&Experiment) -> Option<u64>),
    /// As a number.
    Number(fn(&Experiment) -> Option<f64>),
    /// As yes or no.
    Flag(fn(&Experiment) -> Option<bool>),
    /// As a whole number that only files with typed columns have.
    Detail(fn(&Experiment) -> Option<u64>),
}

/// The value of a column.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Text.
    Text(String),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Text(text) => f.write_str(text),
            Value::Count(n) => write!(f, "{n}"),
            Value::Number(n) => write!(f, "{n}"),
            Value::Flag(is) => write!(f, "{is}"),
        }
    }
}

impl Of {
    /// The value in an experiment.
    pub fn value(&self, e: &Experiment) -> Option<Value> {
        match self {
            Of::Text(of) => of(e).map(Value::Text),
            Of::Count(of) | Of::Detail(of) => of(e).map(Value::Count),
            Of::Number(of) => of(e).map(Value::Number),
            Of::Flag(of) => of(e).map(Value::Flag),
        }
    }
}

impl Factor {
    /// The defaults of a factor's row.
    pub const PLAIN: Factor = Factor {
        title: "",
        lead: "",
        text: |_| String::new(),
        phrase: None,
        default: Some(""),
        between_runs: BetweenRuns::Apart,
        is_load: false,
        place: u8::MAX,
        rank: 0,
        columns: &[],
        key: None,
        setting: None,
    };

    /// Its value in a list of words: `access all`, `64 B`.
    pub fn words(&self, e: &Experiment) -> String {
        match self.phrase {
            Some(phrase) => phrase(e),
            None => format!("{}{}", self.lead, (self.text)(e)),
        }
    }

    /// Whether its value goes without saying.
    pub fn is_default(&self, e: &Experiment) -> bool {
        self.default.is_some_and(|usual| (self.text)(e) == usual)
    }

    /// Whether it numbers identical experiments: of flows, of machines.
    pub fn is_name(&self) -> bool {
        matches!(self.title, "machine" | "flow")
    }

    /// Its columns without those of typed files alone.
    pub fn plain(&self) -> impl Iterator<Item = &'static Column> {
        self.columns
            .iter()
            .filter(|(_, of)| !matches!(of, Of::Detail(_)))
    }

    /// A text that two experiments share if and only if they have the same value.
    pub fn key(&self, e: &Experiment) -> String {
        match self.key {
            Some(key) => key(e),
            None => {
                let values = self.columns.iter().map(|(_, of)| of.value(e));
                let texts = values.map(|v| v.map_or_else(String::new, |v| v.to_string()));
                texts.collect::<Vec<_>>().join("\u{1f}")
            }
        }
    }
}

#[cfg(feature = "testing")]
thread_local! {
    static MADE_UP: std::cell::Cell<Option<&'static Factor>> = const { std::cell::Cell::new(None) };
}

/// Runs a test with one more factor, which is there in this thread only.
#[cfg(feature = "testing")]
pub fn with_made_up<T>(factor: &'static Factor, test: impl FnOnce() -> T) -> T {
    MADE_UP.set(Some(factor));
    let result = test();
    MADE_UP.set(None);
    result
}

/// Every factor, in the order of lists of words.
pub fn all() -> impl Iterator<Item = &'static Factor> {
    #[cfg(feature = "testing")]
    let made_up = MADE_UP.get();
    #[cfg(not(feature = "testing"))]
    let made_up: Option<&Factor> = None;
    FACTORS.iter().chain(made_up)
}

/// Every factor, in the order of columns and headings.
pub fn in_tables() -> Vec<&'static Factor> {
    let mut factors: Vec<_> = all().collect();
    factors.sort_by_key(|f| f.place);
    factors
}

/// The settings that the table has.
pub fn settings() -> impl Iterator<Item = Setting> {
    all().filter_map(|f| f.setting)
}

/// Every factor in the order of columns of files, the load first. Without machine and flow, which stand beside the
/// experiment's name.
pub fn in_files() -> impl Iterator<Item = &'static Factor> {
    let of = |is_load| all().filter(move |f| f.is_load == is_load && !f.is_name());
    of(true).chain(of(false))
}

/// The factors that distinguish questions.
pub fn apart() -> impl Iterator<Item = &'static Factor> {
    all().filter(|f| f.between_runs == BetweenRuns::Apart)
}

/// A text that two experiments share if and only if they are the same question, whatever their stacks are and make of
/// a call.
pub fn question(e: &Experiment) -> String {
    let keys: Vec<String> = apart().map(|f| f.key(e)).collect();
    format!("{}\n{}", e.name, keys.join("\n"))
}

macro_rules! factors {
    ($($title:literal { $($field:ident: $value:expr),+ $(,)? })+) => {
        const FACTORS: &[Factor] = &[$(Factor {
            title: $title,
            $($field: $value,)+
            ..Factor::PLAIN
        }),+];
    };
}

factors! {
    "flow" {
        place: 2,
        lead: "flow ",
        text: Experiment::flow_text,
        columns: &[("flow", Of::Text(|e| e.flow.is_some().then(|| e.flow_text())))],
        key: Some(|e| {
            // Its place in the plan is no factor.
            let alike = |f: &Flow| Flow { group: ExperimentId(0), alone: None, ..f.clone() };
            format!("{:?}", e.flow.as_ref().map(alike))
        }),
    }
    "workload" {
        place: 3,
        text: Experiment::exchange,
        default: None,
        is_load: true,
        columns: &[
            ("workload", Of::Text(|e| Some(e.workload.kind().to_string()))),
            ("paired", Of::Flag(|e| Some(e.paired))),
            ("rate_hz", Of::Number(|e| Some(e.workload.numbers().rate?.hz()))),
            ("arrivals", Of::Text(|e| Some(e.workload.numbers().arrivals?.to_string()))),
            ("burst_messages", Of::Count(|e| e.workload.numbers().messages.map(u64::from))),
            ("period_ns", Of::Count(|e| Some(e.workload.numbers().period?.0))),
            ("gap_ns", Of::Count(|e| Some(e.workload.numbers().gap?.0))),
            ("timeout_ns", Of::Detail(|e| Some(e.workload.numbers().timeout?.0))),
            ("probe", Of::Text(|e| e.workload.probe_text())),
        ],
        // Whether a call takes a pair of channels is the stack's own, like its options.
        key: Some(|e| format!("{:?}", e.workload)),
    }
    "payload" {
        place: 5,
        lead: "payload ",
        text: Experiment::payload_text,
        phrase: Some(Experiment::payload_text),
        default: None,
        columns: &[("payload_bytes", Of::Count(|e| Some(e.payload.bytes() as u64)))],
    }
    "wait" {
        place: 4,
        lead: "wait ",
        text: |e| e.wait.to_string(),
        phrase: Some(|e| e.wait.to_string()),
        default: None,
        columns: &[("wait", Of::Text(|e| Some(e.wait.to_string())))],
    }
    "access" {
        place: 6,
        lead: "access ",
        text: |e| e.access.to_string(),
        default: Some("stamp"),
        columns: &[("access", Of::Text(|e| Some(e.access.to_string())))],
    }
    "placement" {
        place: 8,
        lead: "placement ",
        text: |e| e.placement.to_string(),
        default: Some("process"),
        columns: &[("placement", Of::Text(|e| Some(e.placement.to_string())))],
    }
    "topology" {
        place: 7,
        lead: "topology ",
        text: |e| e.topology.to_string(),
        phrase: Some(|e| e.topology.to_string()),
        default: Some("1-1"),
        columns: &[
            ("topology", Of::Text(|e| Some(e.topology.to_string()))),
            ("senders", Of::Detail(|e| Some(e.topology.senders.into()))),
            ("receivers", Of::Detail(|e| Some(e.topology.receivers.into()))),
        ],
    }
    "CPUs" {
        place: 9,
        text: Experiment::cpus_text,
        default: None,
        between_runs: BetweenRuns::Named,
        columns: &[("cpus", Of::Text(|e| {
            let cpus: Vec<String> = e.cpus.iter().map(u32::to_string).collect();
            (!cpus.is_empty()).then(|| cpus.join(" "))
        }))],
    }
    "scheduling" {
        place: 10,
        text: |e| match e.scheduling {
            Scheduling::Other => "SCHED_OTHER".into(),
            Scheduling::Fifo(priority) => format!("SCHED_FIFO {priority}"),
            Scheduling::Deadline => "SCHED_DEADLINE".into(),
        },
        phrase: Some(scheduling),
        default: Some("SCHED_OTHER"),
        columns: &[("scheduling", Of::Text(|e| Some(scheduling(e))))],
    }
    "memory" {
        place: 11,
        lead: "memory ",
        text: |e| if e.mlock { "locked" } else { "not locked" }.into(),
        default: Some("not locked"),
        between_runs: BetweenRuns::Named,
        columns: &[("mlock", Of::Flag(|e| Some(e.mlock)))],
        setting: Some(Setting { key: "mlock", set: Set::Flag(|e, is| e.mlock = is), scope: Scope::All }),
    }
    "echo" {
        place: 12,
        lead: "echo ",
        text: |e| e.echo_poll.map_or(String::new(), |t| format!("sleeps {t} after each answer")),
        is_load: true,
        columns: &[("echo_poll_ns", Of::Count(|e| Some(e.echo_poll?.0)))],
        setting: Some(Setting { key: "echo_poll", set: Set::Time(|e, t| e.echo_poll = Some(t)), scope: Scope::Flow }),
    }
    "sink" {
        place: 13,
        lead: "sink ",
        text: |e| e.sink_pause.map_or(String::new(), |t| format!("sleeps {t} after each message")),
        is_load: true,
        columns: &[("sink_pause_ns", Of::Count(|e| Some(e.sink_pause?.0)))],
        setting: Some(Setting { key: "sink_pause", set: Set::Time(|e, t| e.sink_pause = Some(t)), scope: Scope::Sink }),
    }
    "cyclic sink" {
        place: 14,
        lead: "sink ",
        text: |e| e.sink_cycle.map_or(String::new(), |t| format!("takes all messages every {t}")),
        is_load: true,
        columns: &[("sink_cycle_ns", Of::Count(|e| Some(e.sink_cycle?.0)))],
        setting: Some(Setting { key: "sink_cycle", set: Set::Time(|e, t| e.sink_cycle = Some(t)), scope: Scope::Sink }),
    }
    "host" {
        place: 15,
        lead: "on ",
        text: |e| host_number(e).map_or(String::new(), |n| format!("host {n} of the testbed")),
        columns: &[("on_host", Of::Count(host_number))],
    }
    "start" {
        place: 16,
        lead: "started as a ",
        text: |e| e.start.map_or(String::new(), |start| start.to_string()),
        between_runs: BetweenRuns::Named,
        columns: &[("start", Of::Text(|e| Some(e.start?.to_string())))],
        setting: Some(Setting { key: "start", set: Set::Start(|e, start| e.start = Some(start)), scope: Scope::All }),
    }
    "reboot" {
        place: 17,
        lead: "reboot ",
        text: |e| if e.reboot { "before each trial" } else { "" }.into(),
        between_runs: BetweenRuns::Named,
        columns: &[("reboot", Of::Flag(|e| e.reboot.then_some(true)))],
        setting: Some(Setting { key: "reboot", set: Set::Flag(|e, is| e.reboot = is), scope: Scope::All }),
    }
    "fault" {
        place: 18,
        text: |e| e.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then "),
        columns: &[("fault", Of::Text(|e| {
            let faults: Vec<_> = e.faults.iter().map(ToString::to_string).collect();
            (!faults.is_empty()).then(|| faults.join(", then "))
        }))],
        key: Some(|e| format!("{:?}", e.faults)),
    }
    "pacer" {
        place: 19,
        lead: "pacer ",
        text: |e| pacer(e).unwrap_or_default(),
        columns: &[("pacer", Of::Text(pacer))],
        setting: Some(Setting { key: "pacer", set: Set::Pacing(|e, pacer| e.pacer = pacer), scope: Scope::Flow }),
    }
    "window" {
        place: 20,
        lead: "window ",
        text: |e| e.window.to_string(),
        phrase: Some(|e| match e.window {
            Extent::Duration(time) => format!("window {time}"),
            Extent::Messages(_) => e.window.to_string(),
        }),
        default: None,
        between_runs: BetweenRuns::Named,
        rank: 8,
        columns: &[
            ("window_ns", Of::Count(|e| match e.window {
                Extent::Duration(time) => Some(time.0),
                Extent::Messages(_) => None,
            })),
            ("window_messages", Of::Count(|e| match e.window {
                Extent::Duration(_) => None,
                Extent::Messages(n) => Some(n),
            })),
        ],
    }
    "slices" {
        place: 21,
        lead: "slices of ",
        text: |e| e.slices.map_or(String::new(), |s| s.length.to_string()),
        between_runs: BetweenRuns::Named,
        columns: &[("slices_ns", Of::Count(|e| Some(e.slices?.length.0)))],
    }
    "machine" {
        place: 1,
        lead: "machine ",
        text: |e| e.machine.clone().unwrap_or_default(),
        phrase: Some(|e| format!("on {}", e.machine.as_deref().unwrap_or_default())),
        columns: &[("machine", Of::Text(|e| e.machine.clone()))],
    }
}

/// `other`, `deadline`, or `fifo` with its priority.
fn scheduling(e: &Experiment) -> String {
    match e.scheduling {
        Scheduling::Other => "other".into(),
        Scheduling::Fifo(priority) => format!("fifo {priority}"),
        Scheduling::Deadline => "deadline".into(),
    }
}

/// Where it is not as usual.
fn pacer(e: &Experiment) -> Option<String> {
    (e.pacer != Pacing::default()).then(|| e.pacer.to_string())
}

/// Counted from 1; `None`: it is the testbed's first.
fn host_number(e: &Experiment) -> Option<u64> {
    (e.on_host != 0).then_some(e.on_host as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::PayloadSize;
    use crate::workload::Workload;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_rows_have_the_same_title_place_or_column() {
        let titles: BTreeSet<&str> = FACTORS.iter().map(|f| f.title).collect();
        let places: BTreeSet<u8> = FACTORS.iter().map(|f| f.place).collect();
        assert_eq!([titles.len(), places.len()], [FACTORS.len(); 2]);
        let columns = || FACTORS.iter().flat_map(|f| f.columns);
        let keys: BTreeSet<&str> = columns().map(|(key, _)| *key).collect();
        assert_eq!(keys.len(), columns().count());
    }

    #[test]
    fn a_flow_asks_the_same_wherever_its_group_stands_in_a_plan() {
        let of = |flow: &str| {
            let payload = PayloadSize::new(64).unwrap();
            let mut e = Experiment::blank(ExperimentId(0), "s", Workload::Flood, payload);
            e.flow = Some(serde_json::from_str(flow).unwrap());
            question(&e)
        };
        let first = of(r#"{"name":"a","group":0,"processes":"per-side"}"#);
        let same = of(r#"{"name":"a","group":5,"processes":"per-side","alone":7}"#);
        let other = of(r#"{"name":"b","group":0,"processes":"per-side"}"#);
        assert_eq!(first, same);
        assert_ne!(first, other);
    }
}
