//! The factors: one table of what may differ between two experiments. Tables, exports, names, judgements and the page
//! are loops over it, so a factor is added by a row here and by its field in [`Experiment`].

use crate::plan::{Experiment, ExperimentId, Extent, Scheduling};
use std::fmt;

/// Static properties of a factor.
#[derive(Debug, Clone, Copy)]
pub struct Factor {
    /// Title of its column in tables; no other factor has the same.
    pub title: &'static str,
    /// What stands before its value in a heading.
    pub lead: &'static str,
    /// Its value as tables print it; empty: it does not apply.
    pub text: fn(&Experiment) -> String,
    /// Its value in a list of words, where that is not lead and value.
    pub phrase: Option<fn(&Experiment) -> String>,
    /// The text of the value that goes without saying; `None`: every value is named.
    pub default: Option<&'static str>,
    /// What it means for a comparison of two runs.
    pub between_runs: BetweenRuns,
    /// Whether it is a part of the load, whose columns stand first in exports.
    pub is_load: bool,
    /// Its place among the columns of tables, from left to right.
    pub place: u8,
    /// When its column is left out of a narrow table; the highest goes first, 0 never.
    pub rank: u8,
    /// Its values in files.
    pub columns: &'static [Column],
    /// What tells two values apart, where its columns do not.
    pub key: Option<fn(&Experiment) -> String>,
}

/// What experiments of two runs are to each other that differ in a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetweenRuns {
    /// Different questions, whose figures are not compared.
    Apart,
    /// Compared, and the difference is named.
    Named,
}

/// A value of a factor in files.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name, with the unit.
    pub key: &'static str,
    /// Its value; `None`: it does not apply.
    pub of: Of,
    /// Whether other columns say the same, so that it stands only in files with typed columns.
    pub is_detail: bool,
}

/// How the value of a column comes from an experiment.
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

impl Column {
    const fn of(key: &'static str, of: Of) -> Column {
        Column {
            key,
            of,
            is_detail: false,
        }
    }

    /// A column of texts.
    pub const fn text(key: &'static str, of: fn(&Experiment) -> Option<String>) -> Column {
        Column::of(key, Of::Text(of))
    }

    /// A column of whole numbers.
    pub const fn count(key: &'static str, of: fn(&Experiment) -> Option<u64>) -> Column {
        Column::of(key, Of::Count(of))
    }

    const fn number(key: &'static str, of: fn(&Experiment) -> Option<f64>) -> Column {
        Column::of(key, Of::Number(of))
    }

    const fn flag(key: &'static str, of: fn(&Experiment) -> Option<bool>) -> Column {
        Column::of(key, Of::Flag(of))
    }

    const fn detail(self) -> Column {
        Column {
            is_detail: true,
            ..self
        }
    }

    /// Its value in an experiment; `None`: it does not apply.
    pub fn value(&self, e: &Experiment) -> Option<Value> {
        match self.of {
            Of::Text(of) => of(e).map(Value::Text),
            Of::Count(of) => of(e).map(Value::Count),
            Of::Number(of) => of(e).map(Value::Number),
            Of::Flag(of) => of(e).map(Value::Flag),
        }
    }
}

impl Factor {
    /// What a factor is where its row says nothing else.
    pub const PLAIN: Factor = Factor {
        title: "",
        lead: "",
        text: |_| String::new(),
        phrase: None,
        default: None,
        between_runs: BetweenRuns::Apart,
        is_load: false,
        place: u8::MAX,
        rank: 0,
        columns: &[],
        key: None,
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

    /// Whether it says which of several alike the experiment is: of flows, of machines.
    pub fn is_name(&self) -> bool {
        matches!(self.title, "machine" | "flow")
    }

    /// A text that two experiments share if and only if they have the same value.
    pub fn key(&self, e: &Experiment) -> String {
        match self.key {
            Some(key) => key(e),
            None => {
                let values = self.columns.iter().map(|c| c.value(e));
                let texts = values.map(|v| v.map_or_else(String::new, |v| v.to_string()));
                texts.collect::<Vec<_>>().join("\u{1f}")
            }
        }
    }
}

/// Every factor, in the order of lists of words.
pub fn all() -> impl Iterator<Item = &'static Factor> {
    FACTORS.iter().chain(made_up())
}

#[cfg(not(feature = "testing"))]
const fn made_up() -> Option<&'static Factor> {
    None
}

#[cfg(feature = "testing")]
thread_local! {
    static MADE_UP: std::cell::Cell<Option<&'static Factor>> = const { std::cell::Cell::new(None) };
}

#[cfg(feature = "testing")]
fn made_up() -> Option<&'static Factor> {
    MADE_UP.get()
}

/// Runs a test with one more factor, which is there in this thread only.
#[cfg(feature = "testing")]
pub fn with_made_up<T>(factor: &'static Factor, test: impl FnOnce() -> T) -> T {
    MADE_UP.set(Some(factor));
    let result = test();
    MADE_UP.set(None);
    result
}

/// Every factor, in the order of columns and headings.
pub fn in_tables() -> Vec<&'static Factor> {
    let mut factors: Vec<_> = all().collect();
    factors.sort_by_key(|f| f.place);
    factors
}

/// The columns of factors in files, the load's first. Without those of machine and flow, which stand beside the
/// experiment's name.
pub fn columns() -> impl Iterator<Item = &'static Column> {
    let of = |is_load| all().filter(move |f| f.is_load == is_load && !f.is_name());
    of(true).chain(of(false)).flat_map(|f| f.columns)
}

const FACTORS: &[Factor] = &[
    Factor {
        title: "flow",
        lead: "flow ",
        text: Experiment::flow_text,
        default: Some(""),
        place: 2,
        columns: &[Column::text("flow", |e| {
            e.flow.is_some().then(|| e.flow_text())
        })],
        key: Some(|e| {
            // Its place in the plan is no factor.
            let flow = e.flow.as_ref().map(|flow| crate::Flow {
                group: ExperimentId(0),
                alone: None,
                ..flow.clone()
            });
            format!("{flow:?}")
        }),
        ..Factor::PLAIN
    },
    Factor {
        title: "workload",
        text: Experiment::exchange,
        is_load: true,
        place: 3,
        columns: &[
            Column::text("workload", |e| Some(e.workload.kind().to_string())),
            Column::flag("paired", |e| Some(e.paired)),
            Column::number("rate_hz", |e| Some(e.workload.numbers().rate?.hz())),
            Column::text("arrivals", |e| {
                Some(e.workload.numbers().arrivals?.to_string())
            }),
            Column::count("burst_messages", |e| {
                e.workload.numbers().messages.map(u64::from)
            }),
            Column::count("period_ns", |e| Some(e.workload.numbers().period?.0)),
            Column::count("gap_ns", |e| Some(e.workload.numbers().gap?.0)),
            Column::count("timeout_ns", |e| Some(e.workload.numbers().timeout?.0)).detail(),
            Column::text("probe", |e| e.workload.probe_text()),
        ],
        // Whether a call takes a pair of channels is the stack's own, like its options.
        key: Some(|e| format!("{:?}", e.workload)),
        ..Factor::PLAIN
    },
    Factor {
        title: "payload",
        lead: "payload ",
        text: Experiment::payload_text,
        phrase: Some(Experiment::payload_text),
        place: 5,
        columns: &[Column::count("payload_bytes", |e| {
            Some(e.payload.bytes() as u64)
        })],
        ..Factor::PLAIN
    },
    Factor {
        title: "wait",
        lead: "wait ",
        text: |e| e.wait.to_string(),
        phrase: Some(|e| e.wait.to_string()),
        place: 4,
        columns: &[Column::text("wait", |e| Some(e.wait.to_string()))],
        ..Factor::PLAIN
    },
    Factor {
        title: "access",
        lead: "access ",
        text: |e| e.access.to_string(),
        default: Some("stamp"),
        place: 6,
        columns: &[Column::text("access", |e| Some(e.access.to_string()))],
        ..Factor::PLAIN
    },
    Factor {
        title: "placement",
        lead: "placement ",
        text: |e| e.placement.to_string(),
        default: Some("process"),
        place: 8,
        columns: &[Column::text("placement", |e| Some(e.placement.to_string()))],
        ..Factor::PLAIN
    },
    Factor {
        title: "topology",
        lead: "topology ",
        text: |e| e.topology.to_string(),
        phrase: Some(|e| e.topology.to_string()),
        default: Some("1-1"),
        place: 7,
        columns: &[
            Column::text("topology", |e| Some(e.topology.to_string())),
            Column::count("senders", |e| Some(e.topology.senders.into())).detail(),
            Column::count("receivers", |e| Some(e.topology.receivers.into())).detail(),
        ],
        ..Factor::PLAIN
    },
    Factor {
        title: "CPUs",
        text: Experiment::cpus_text,
        between_runs: BetweenRuns::Named,
        place: 9,
        columns: &[Column::text("cpus", |e| {
            let cpus: Vec<String> = e.cpus.iter().map(u32::to_string).collect();
            (!cpus.is_empty()).then(|| cpus.join(" "))
        })],
        ..Factor::PLAIN
    },
    Factor {
        title: "scheduling",
        text: |e| match e.scheduling {
            Scheduling::Other => "SCHED_OTHER".into(),
            Scheduling::Fifo(priority) => format!("SCHED_FIFO {priority}"),
            Scheduling::Deadline => "SCHED_DEADLINE".into(),
        },
        phrase: Some(scheduling),
        default: Some("SCHED_OTHER"),
        place: 10,
        columns: &[Column::text("scheduling", |e| Some(scheduling(e)))],
        ..Factor::PLAIN
    },
    Factor {
        title: "memory",
        lead: "memory ",
        text: |e| match e.mlock {
            true => "locked".into(),
            false => "not locked".into(),
        },
        default: Some("not locked"),
        between_runs: BetweenRuns::Named,
        place: 11,
        columns: &[Column::flag("mlock", |e| Some(e.mlock))],
        ..Factor::PLAIN
    },
    Factor {
        title: "echo",
        lead: "echo ",
        text: |e| {
            let poll = e.echo_poll;
            poll.map_or(String::new(), |t| format!("sleeps {t} after each answer"))
        },
        default: Some(""),
        is_load: true,
        place: 12,
        columns: &[Column::count("echo_poll_ns", |e| Some(e.echo_poll?.0))],
        ..Factor::PLAIN
    },
    Factor {
        title: "sink",
        lead: "sink ",
        text: |e| {
            let pause = e.sink_pause;
            pause.map_or(String::new(), |t| format!("sleeps {t} after each message"))
        },
        default: Some(""),
        is_load: true,
        place: 13,
        columns: &[Column::count("sink_pause_ns", |e| Some(e.sink_pause?.0))],
        ..Factor::PLAIN
    },
    Factor {
        title: "host",
        lead: "on ",
        text: |e| host_number(e).map_or(String::new(), |n| format!("host {n} of the testbed")),
        default: Some(""),
        place: 14,
        columns: &[Column::count("on_host", host_number)],
        ..Factor::PLAIN
    },
    Factor {
        title: "start",
        lead: "started as a ",
        text: |e| e.start.map_or(String::new(), |start| start.to_string()),
        default: Some(""),
        between_runs: BetweenRuns::Named,
        place: 15,
        columns: &[Column::text("start", |e| Some(e.start?.to_string()))],
        ..Factor::PLAIN
    },
    Factor {
        title: "reboot",
        lead: "reboot ",
        text: |e| match e.reboot {
            true => "before each trial".into(),
            false => String::new(),
        },
        default: Some(""),
        between_runs: BetweenRuns::Named,
        place: 16,
        columns: &[Column::flag("reboot", |e| e.reboot.then_some(true))],
        ..Factor::PLAIN
    },
    Factor {
        title: "window",
        lead: "window ",
        text: |e| e.window.to_string(),
        phrase: Some(|e| match e.window {
            Extent::Duration(time) => format!("window {time}"),
            Extent::Messages(_) => e.window.to_string(),
        }),
        between_runs: BetweenRuns::Named,
        place: 17,
        rank: 8,
        columns: &[
            Column::count("window_ns", |e| match e.window {
                Extent::Duration(time) => Some(time.0),
                Extent::Messages(_) => None,
            }),
            Column::count("window_messages", |e| match e.window {
                Extent::Duration(_) => None,
                Extent::Messages(n) => Some(n),
            }),
        ],
        ..Factor::PLAIN
    },
    Factor {
        title: "machine",
        lead: "machine ",
        text: |e| e.machine.clone().unwrap_or_default(),
        phrase: Some(|e| format!("on {}", e.machine.as_deref().unwrap_or_default())),
        default: Some(""),
        place: 1,
        columns: &[Column::text("machine", |e| e.machine.clone())],
        ..Factor::PLAIN
    },
];

/// `other`, `deadline`, or `fifo` with its priority.
fn scheduling(e: &Experiment) -> String {
    match e.scheduling {
        Scheduling::Other => "other".into(),
        Scheduling::Fifo(priority) => format!("fifo {priority}"),
        Scheduling::Deadline => "deadline".into(),
    }
}

/// Counted from 1; `None`: it is the testbed's first.
fn host_number(e: &Experiment) -> Option<u64> {
    (e.on_host != 0).then_some(e.on_host as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_rows_have_the_same_title_place_or_column() {
        let titles: BTreeSet<&str> = FACTORS.iter().map(|f| f.title).collect();
        let places: BTreeSet<u8> = FACTORS.iter().map(|f| f.place).collect();
        assert_eq!([titles.len(), places.len()], [FACTORS.len(); 2]);
        let columns = || FACTORS.iter().flat_map(|f| f.columns);
        let keys: BTreeSet<&str> = columns().map(|c| c.key).collect();
        assert_eq!(keys.len(), columns().count());
    }
}
