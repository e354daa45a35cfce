//! The workloads: one table of what each is. Planner, agents, runner, summaries, exports, judgements, the page and
//! the reference read it; what a workload *does* is its roles in the agent.

use crate::factor::Arrivals;
use crate::metric::Metric;
use crate::probe::Probe;
use crate::role::Role;
use crate::unit::{Nanos, RateHz};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What makes a participant send its next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loop {
    /// The reply to the last one.
    Closed,
    /// A schedule, or that the stack took the last one: it waits for no reply.
    Open,
    /// There is one only, the first of fresh participants, and no window.
    Start,
    /// Nothing: there are no messages, and one participant measures the machine itself.
    Nothing,
    /// Nothing: all are matched, and silent for the whole window.
    Silent,
}

/// A key of suite files that only some workloads have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it sets.
    pub meaning: &'static str,
    /// What it is measured in: `time`, `rate`, `count` or `word`.
    pub unit: &'static str,
    /// Its value where nobody says one, as TOML has it.
    pub default: KeyDefault,
}

/// What holds where a key is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyDefault {
    /// This value, as TOML has it.
    Value(&'static str),
    /// It must be given.
    Required,
    /// It stands in the place of this key, and is not set.
    InPlaceOf(&'static str),
}

/// Static properties of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WorkloadInfo {
    /// In files, flags and tables.
    pub name: &'static str,
    /// In a sentence.
    pub title: &'static str,
    /// One line that says what it is.
    pub meaning: &'static str,
    /// What makes a participant send.
    #[serde(rename = "loop")]
    pub loop_kind: Loop,
    /// Whether each message has a due time that does not depend on the stack.
    pub has_due_times: bool,
    /// Whether what arrives per second is what it is for.
    pub is_of_rates: bool,
    /// Whether it uses request and response of the stack's own, where the stack has them.
    pub is_request_response: bool,
    /// What senders play, and what receivers play.
    pub roles: [Role; 2],
    /// The metrics that may stand for it, the best first. Never empty.
    pub headline: &'static [Metric],
    /// The metrics that it has and no limit may miss, beside those of the start, which all have.
    pub metrics: &'static [Metric],
    /// The keys that it has and not all have.
    pub keys: &'static [Key],
    /// What to do instead of writing a key that it does not have: key and advice; an empty key is any other.
    #[serde(skip)]
    pub instead: &'static [(&'static str, &'static str)],
    /// Why it has one receiver only, if it has.
    pub one_receiver: Option<&'static str>,
    /// What it needs a second participant for, where an adapter that plays both sides itself will not do.
    #[serde(skip)]
    pub needs_peer: Option<&'static str>,
}

const fn key(
    name: &'static str,
    meaning: &'static str,
    unit: &'static str,
    default: &'static str,
) -> Key {
    Key {
        name,
        meaning,
        unit,
        default: KeyDefault::Value(default),
    }
}

const fn required(name: &'static str, meaning: &'static str, unit: &'static str) -> Key {
    Key {
        name,
        meaning,
        unit,
        default: KeyDefault::Required,
    }
}

const fn in_place_of(window: &'static str, name: &'static str, meaning: &'static str) -> Key {
    Key {
        name,
        meaning,
        unit: "count",
        default: KeyDefault::InPlaceOf(window),
    }
}

const GAP: Key = key(
    "gap",
    "least time from one ping or request to the next",
    "time",
    "\"0 s\"",
);
const TIMEOUT: Key = key(
    "timeout",
    "a reply that takes longer is lost",
    "time",
    "\"1 s\"",
);
const ECHO_POLL: Key = key(
    "echo_poll",
    "how long the echo sleeps after each answer, as polling servers do; left out: not at all",
    "time",
    "\"\"",
);
const SINK_PAUSE: Key = key(
    "sink_pause",
    "how long the sink sleeps after each message, as slow consumers do; left out: not at all",
    "time",
    "\"\"",
);
const SINK_CYCLE: Key = key(
    "sink_cycle",
    "the period at which the sink takes all messages that are there, as cyclic tasks do; left out: it takes each message at once",
    "time",
    "\"\"",
);
const PACER: Key = key(
    "pacer",
    "how the source waits until a message is due: `spin` sleeps, and spins at the end; `sleep` only sleeps",
    "word",
    "\"spin\"",
);
const ROUND_TRIPS: Key = in_place_of("window", "round_trips", "of each initiator or caller");
const MESSAGES: Key = in_place_of("window", "messages", "of each source");
const RATE: Key = required("rate", "messages per second of each sender", "rate");
const ARRIVALS: Key = key(
    "arrivals",
    "when messages are due: `fixed` or `poisson`",
    "word",
    "\"fixed\"",
);
const GROUP: Key = required("group", "messages back to back", "count");
const PERIOD: Key = required("period", "time from group to group", "time");
const ATTEMPTS: Key = key(
    "period",
    "time from one attempt of a sender to the next",
    "time",
    "\"1 ms\"",
);
const PROBE: Key = required(
    "probe",
    "what is measured: `syscall`, `switch`, `timer`, `ipi`, `copy`, `share` or `fault`",
    "word",
);
const BY: Key = key(
    "by",
    "the mechanism; left out: the first one of the kind",
    "word",
    "\"\"",
);
const ON: Key = key(
    "on",
    "`one` CPU or `two` for the sides of a switch",
    "word",
    "\"one\"",
);
const THREADS: Key = key("threads", "spinning threads of a share", "count", "2");
const BATCH: Key = key(
    "batch",
    "system calls between two readings of the clock",
    "count",
    "1",
);
const SLACK: Key = key(
    "slack",
    "what the kernel may add to a nanosleep; left out: its default",
    "time",
    "\"\"",
);
const TIMER_PERIOD: Key = key("period", "time between two due times", "time", "\"100 us\"");
const SAMPLES: Key = in_place_of("window", "messages", "samples of each copy");
const PROBE_WARMUP: Key = key(
    "warmup",
    "the same before the window, not recorded",
    "time",
    "\"50 ms\"",
);
const WARMUP: Key = key(
    "warmup",
    "least time before the window",
    "time",
    "\"50 ms\"",
);
const WARMUP_MESSAGES: Key = in_place_of(
    "warmup",
    "warmup_messages",
    "of each sender; round trips in closed loops",
);
const SETTLE: Key = key("settle", "longest warm-up", "time", "\"1 s\"");
const WINDOW: Key = key("window", "the measured time", "time", "\"300 ms\"");
/// How long an idle window is where nobody says: renewals of leases and announcements recur every few seconds.
pub const IDLE_WINDOW: Nanos = Nanos::from_secs(10);
/// How long participants rest before an idle window where nobody says: what follows the match is over then.
pub const IDLE_WARMUP: Nanos = Nanos::from_secs(1);
const WINDOW_OF_IDLE: Key = key(
    "window",
    "the measured time, in which nobody sends",
    "time",
    "\"10 s\"",
);
const WARMUP_OF_IDLE: Key = key(
    "warmup",
    "time from the match to the window",
    "time",
    "\"1 s\"",
);
const DRAIN: Key = key(
    "drain",
    "how long receivers wait after the last send",
    "time",
    "\"1 s\"",
);
const RAW_SAMPLES: Key = key(
    "raw_samples",
    "raw samples kept per participant and trial",
    "count",
    "0",
);

/// What a workload is where its row says nothing else.
const ONE_WAY: WorkloadInfo = WorkloadInfo {
    name: "",
    title: "",
    meaning: "",
    loop_kind: Loop::Open,
    has_due_times: false,
    is_of_rates: false,
    is_request_response: false,
    roles: [Role::Source, Role::Sink],
    headline: &[Metric::Response, Metric::Service],
    metrics: &[],
    keys: &[],
    instead: &[("round_trips", "write `messages` for one-way workloads")],
    one_receiver: None,
    needs_peer: None,
};

macro_rules! workloads {
    ($($variant:ident = $name:literal, $meaning:literal { $($field:ident: $value:expr),+ $(,)? })+) => {
        choice! {
            /// The shape of an exchange, without its numbers.
            WorkloadKind, "workload" { $(#[doc = $meaning] $variant = $name),+ }
        }

        impl WorkloadKind {
            /// Its row of the table.
            #[allow(
                clippy::needless_update,
                reason = "a row may say everything itself"
            )]
            pub const fn info(self) -> &'static WorkloadInfo {
                match self {
                    $(WorkloadKind::$variant => const { &WorkloadInfo {
                        name: $name,
                        meaning: $meaning,
                        $($field: $value,)+
                        ..ONE_WAY
                    } },)+
                }
            }
        }
    };
}

workloads! {
    PingPong = "ping-pong", "Closed loop: send, wait for the reply of every echo, repeat." {
        title: "ping-pong",
        loop_kind: Loop::Closed,
        roles: [Role::Initiator, Role::Echo],
        headline: &[Metric::Rtt],
        metrics: &[Metric::Rtt],
        keys: &[GAP, TIMEOUT, ECHO_POLL, ROUND_TRIPS, WARMUP, WARMUP_MESSAGES, SETTLE, WINDOW, DRAIN, RAW_SAMPLES],
        instead: &[
            ("messages", "write `round_trips` for a ping-pong"),
            ("rate", "the next ping waits for the last reply; `gap` sets the least time between two pings"),
        ],
    }
    Stream = "stream", "Open loop on a schedule of due times." {
        title: "stream",
        loop_kind: Loop::Open,
        has_due_times: true,
        metrics: &[Metric::Response, Metric::Service, Metric::Lateness, Metric::Send, Metric::Gap],
        keys: &[RATE, ARRIVALS, PACER, SINK_PAUSE, SINK_CYCLE, MESSAGES, WARMUP, WARMUP_MESSAGES, SETTLE, WINDOW, DRAIN, RAW_SAMPLES],
    }
    Flood = "flood", "Open loop: as fast as the stack accepts." {
        title: "flood",
        loop_kind: Loop::Open,
        is_of_rates: true,
        metrics: &[Metric::Service, Metric::Gap],
        keys: &[SINK_PAUSE, SINK_CYCLE, MESSAGES, WARMUP, WARMUP_MESSAGES, SETTLE, WINDOW, DRAIN, RAW_SAMPLES],
    }
    Burst = "burst", "Open loop: groups of messages back to back, the groups on a schedule." {
        title: "burst",
        loop_kind: Loop::Open,
        has_due_times: true,
        is_of_rates: true,
        metrics: &[Metric::Response, Metric::Service, Metric::Lateness, Metric::Send, Metric::Gap],
        keys: &[GROUP, PERIOD, PACER, SINK_PAUSE, SINK_CYCLE, MESSAGES, WARMUP, WARMUP_MESSAGES, SETTLE, WINDOW, DRAIN, RAW_SAMPLES],
        instead: &[
            ("round_trips", "write `messages` for one-way workloads"),
            ("rate", "`group` and `period` set the load of a burst"),
        ],
    }
    Call = "call", "Closed loop: request, wait for the response of the one provider, repeat." {
        title: "call",
        loop_kind: Loop::Closed,
        is_request_response: true,
        roles: [Role::Initiator, Role::Echo],
        headline: &[Metric::Rtt],
        metrics: &[Metric::Rtt],
        keys: &[GAP, TIMEOUT, ECHO_POLL, ROUND_TRIPS, WARMUP, WARMUP_MESSAGES, SETTLE, WINDOW, DRAIN, RAW_SAMPLES],
        instead: &[
            ("messages", "write `round_trips` for a call"),
            ("rate", "the next request waits for the last response; `gap` sets the least time between two requests"),
        ],
        one_receiver: Some("a call has one provider"),
        needs_peer: Some("could answer a call"),
    }
    Probe = "probe", "No messages: the cost of the kernel and the processor, on which every stack depends." {
        title: "probe",
        loop_kind: Loop::Nothing,
        has_due_times: false,
        is_of_rates: false,
        is_request_response: false,
        roles: [Role::Probe, Role::Probe],
        headline: &[Metric::Probe],
        metrics: &[Metric::Probe, Metric::Within, Metric::Served],
        keys: &[PROBE, BY, ON, THREADS, BATCH, SLACK, TIMER_PERIOD, SAMPLES, PROBE_WARMUP, WINDOW],
        instead: &[
            ("rate", "`period` sets the time between two due times of a timer"),
            ("round_trips", "write `messages` for the samples of a probe"),
        ],
        one_receiver: None,
        needs_peer: None,
    }
    FirstMessage = "first-message", "From the common start of all participants to the first message at every receiver." {
        title: "first message",
        loop_kind: Loop::Start,
        headline: &[Metric::FirstMessage],
        metrics: &[],
        keys: &[ATTEMPTS],
        instead: &[
            ("round_trips", "write `messages` for one-way workloads"),
            (
                "",
                "its trial ends with the first message: `period` sets the time between two attempts, \
                 `trials` the number of starts",
            ),
        ],
        needs_peer: Some("a first message could reach"),
    }
    Idle = "idle", "All participants are matched, and nobody sends: what a stack takes while it waits." {
        title: "idle",
        loop_kind: Loop::Silent,
        headline: &[Metric::IdleCpu],
        metrics: &[Metric::IdleCpu],
        keys: &[WARMUP_OF_IDLE, WINDOW_OF_IDLE],
        instead: &[
            ("rate", "nobody sends; write `workload = \"stream\"` for messages at a rate"),
            ("settle", "`warmup` sets the time before the window"),
            ("", "nobody sends: `warmup` and `window` are times"),
        ],
        needs_peer: Some("could be matched"),
    }
}

impl WorkloadKind {
    /// Whether it measures the machine itself: one participant, no channel, and no stack but the ground.
    pub const fn is_probe(self) -> bool {
        matches!(self.info().loop_kind, Loop::Nothing)
    }

    /// Whether the next message waits for the reply to the last one.
    pub const fn is_closed_loop(self) -> bool {
        matches!(self.info().loop_kind, Loop::Closed)
    }

    /// Whether it measures the start of a trial and nothing else, so that it has no window.
    pub const fn is_start(self) -> bool {
        matches!(self.info().loop_kind, Loop::Start)
    }

    /// Whether all are matched and nobody sends.
    pub const fn is_idle(self) -> bool {
        matches!(self.info().loop_kind, Loop::Silent)
    }

    /// Whether messages are sent in its window, or at its start.
    pub const fn has_messages(self) -> bool {
        !self.is_probe() && !self.is_idle()
    }

    /// Whether trials of it have samples of the metric: all start once.
    pub fn has(self, metric: Metric) -> bool {
        let of_start = metric.is_one_per_trial() && !metric.info().of_idle;
        of_start || self.info().metrics.contains(&metric)
    }

    /// With its article: `a stream`.
    pub fn with_article(self) -> String {
        match self {
            WorkloadKind::Idle => "an idle workload".to_owned(),
            other => format!("a {other}"),
        }
    }

    /// Its key of that name.
    pub fn key(self, name: &str) -> Option<&'static Key> {
        self.info().keys.iter().find(|k| k.name == name)
    }

    /// The workloads that have a key, where not all have it.
    pub fn having(key: &str) -> Vec<WorkloadKind> {
        let all = WorkloadKind::ALL.iter().copied();
        all.filter(|kind| kind.key(key).is_some()).collect()
    }
}

/// The shape of an exchange with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Closed loop; one sample is the time from the send to the reply of the last echo.
    PingPong {
        /// The least time from one ping to the next; zero means back to back.
        gap: Nanos,
        /// A reply that takes longer is lost and counts as infinitely late.
        timeout: Nanos,
    },
    /// Open loop; response time counts from the due time.
    Stream {
        /// Messages per second of each sender.
        rate: RateHz,
        /// The arrival process.
        arrivals: Arrivals,
    },
    /// Sends as fast as the stack accepts; measures delivered throughput.
    Flood,
    /// `messages` back to back every `period`; all messages of a group are due at once.
    Burst {
        /// Messages in one group.
        messages: u32,
        /// From the start of one group to the start of the next.
        period: Nanos,
    },
    /// Closed loop of request and response; one sample is the time from the request to its
    /// response. A stack without request-response of its own carries both over a pair of channels.
    Call {
        /// The least time from one request to the next; zero means back to back.
        gap: Nanos,
        /// A response that takes longer is lost and counts as infinitely late.
        timeout: Nanos,
    },
    /// The machine itself, without messages.
    Probe {
        /// What is measured.
        probe: Probe,
        /// CPUs of each copy, 1 or 2: the experiment's are cut into so many.
        each: u32,
        /// Copies at once, as many as the CPUs of the experiment make.
        copies: u32,
    },
    /// Fresh participants start together; one sample per trial: the time until every receiver has a
    /// message of every sender. Each sender sends as soon as it is matched, again and again.
    FirstMessage {
        /// From one attempt of a sender to the next.
        period: Nanos,
    },
    /// All are matched, and nobody sends in the window.
    Idle,
}

/// The numbers of a workload: each is `None` where the workload has none of the kind.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Numbers {
    /// Messages per second of each sender.
    pub rate: Option<RateHz>,
    /// The arrival process.
    pub arrivals: Option<Arrivals>,
    /// Messages in one group.
    pub messages: Option<u32>,
    /// From one group or attempt to the next.
    pub period: Option<Nanos>,
    /// The least time from one ping or request to the next.
    pub gap: Option<Nanos>,
    /// A reply that takes longer is lost.
    pub timeout: Option<Nanos>,
}

impl Workload {
    /// The shape alone.
    pub const fn kind(&self) -> WorkloadKind {
        match self {
            Workload::PingPong { .. } => WorkloadKind::PingPong,
            Workload::Stream { .. } => WorkloadKind::Stream,
            Workload::Flood => WorkloadKind::Flood,
            Workload::Burst { .. } => WorkloadKind::Burst,
            Workload::Call { .. } => WorkloadKind::Call,
            Workload::FirstMessage { .. } => WorkloadKind::FirstMessage,
            Workload::Probe { .. } => WorkloadKind::Probe,
            Workload::Idle => WorkloadKind::Idle,
        }
    }

    /// From one message to the next where a trial with faults has a schedule of them: of a stream, and of calls with a gap,
    /// which is the period there. `None`: the stack or the other side sets the pace.
    pub fn due_period(&self) -> Option<Nanos> {
        match *self {
            Workload::Stream { rate, .. } => Some(Nanos(rate.period_ns().ceil() as u64)),
            Workload::Call { gap, .. } if gap > Nanos::ZERO => Some(gap),
            _ => None,
        }
    }

    /// The numbers alone.
    pub fn numbers(&self) -> Numbers {
        let none = Numbers::default();
        match *self {
            Workload::PingPong { gap, timeout } | Workload::Call { gap, timeout } => Numbers {
                gap: Some(gap),
                timeout: Some(timeout),
                ..none
            },
            Workload::Stream { rate, arrivals } => Numbers {
                rate: Some(rate),
                arrivals: Some(arrivals),
                ..none
            },
            Workload::Flood | Workload::Probe { .. } | Workload::Idle => none,
            Workload::Burst { messages, period } => Numbers {
                messages: Some(messages),
                period: Some(period),
                ..none
            },
            Workload::FirstMessage { period } => Numbers {
                period: Some(period),
                ..none
            },
        }
    }

    /// What a probe measures and on how many CPUs, as tables print it; `None` of an exchange.
    pub fn probe_text(&self) -> Option<String> {
        self.kind().is_probe().then(|| self.to_string())
    }

    /// Whether receivers only receive, so that latency is one way.
    pub const fn is_one_way(&self) -> bool {
        !self.kind().is_closed_loop()
    }
}

/// The workload with its numbers, as tables show it.
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Workload::Probe {
            probe,
            each,
            copies,
        } = self
        {
            write!(f, "{probe}")?;
            if *each > 1 {
                write!(f, " on {each} cpus")?;
            }
            return match copies {
                1 => Ok(()),
                n => write!(f, ", {n} at once"),
            };
        }
        write!(f, "{}", self.kind())?;
        let n = self.numbers();
        if let Some(rate) = n.rate {
            write!(f, " {rate}")?;
        }
        if let Some(messages) = n.messages {
            write!(f, " {messages}")?;
        }
        if let Some(every) = n.period.or(n.gap).filter(|t| *t != Nanos::ZERO) {
            write!(f, " every {every}")?;
        }
        match n.arrivals {
            Some(Arrivals::Poisson) => write!(f, " poisson"),
            Some(Arrivals::Fixed) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_has_what_stands_for_it() {
        for kind in WorkloadKind::ALL {
            let info = kind.info();
            assert!(!info.headline.is_empty(), "{kind}");
            assert!(info.headline.iter().any(|m| kind.has(*m)), "{kind}");
            let is_own = |m: &Metric| !m.is_one_per_trial() || (m.info().of_idle && kind.is_idle());
            assert!(info.metrics.iter().all(is_own), "{kind}");
            assert!(!info.keys.is_empty(), "{kind}");
            let text = serde_json::to_string(kind).unwrap();
            assert_eq!(text, format!("\"{kind}\""));
        }
    }

    #[test]
    fn an_idle_workload_has_the_times_of_its_row() {
        let idle = WorkloadKind::Idle;
        for (key, time) in [("window", IDLE_WINDOW), ("warmup", IDLE_WARMUP)] {
            let default = idle.key(key).unwrap().default;
            let KeyDefault::Value(text) = default else {
                panic!("{default:?}");
            };
            assert_eq!(text.trim_matches('"').parse(), Ok(time));
        }
        assert!(idle.has(Metric::IdleCpu) && idle.has(Metric::Match) && !idle.has_messages());
        assert!(!WorkloadKind::Stream.has(Metric::IdleCpu));
    }

    #[test]
    fn advice_is_given_for_keys_that_a_workload_does_not_have() {
        for kind in WorkloadKind::ALL {
            for (key, _) in kind.info().instead {
                assert!(kind.key(key).is_none(), "{kind} has {key}");
            }
        }
    }
}
