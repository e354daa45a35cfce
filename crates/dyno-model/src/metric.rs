//! The metrics: one table of what each is. Planner, agents, runner, summaries, exports, judgements, the page and the
//! reference read it, so a new metric needs a row here and the code that records it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Static properties of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MetricInfo {
    /// In files and in JSON: a word and the unit, such as `rtt_ns`.
    pub name: &'static str,
    /// In headings and lists of figures, such as `response`.
    pub short: &'static str,
    /// Where it stands alone, such as `response time`.
    pub title: &'static str,
    /// The text in brackets after the title.
    pub gist: &'static str,
    /// One line that says what it is.
    pub meaning: &'static str,
    /// Unit of its values.
    pub unit: &'static str,
    /// Whether it ends on another host than it began on, where the two sides are on different hosts.
    pub between_hosts: bool,
    /// Whether a trial has one sample of it and no quantiles of its own: of its start, or of the results of its faults.
    pub one_per_trial: bool,
    /// Whether it describes the result of a fault, so that only experiments with faults have it.
    pub of_faults: bool,
    /// Whether it is of a window in which nobody sends, so that only idle experiments have it.
    pub of_idle: bool,
    /// Whether each message has one, so that a lost message is an infinite sample.
    pub of_each_message: bool,
    /// The part of it that tables of stacks show beside the headline, if it is no headline itself.
    pub beside: &'static [BesideColumn],
    /// Whether it is compared beside the headline: its quantiles above the median, or, where a trial has one sample of it, that
    /// sample.
    pub compares_its_tail: bool,
    /// What it is a part of: parts follow each other and add up to the whole.
    pub part_of: Option<Metric>,
    /// Which of two values is the better one.
    pub better: Better,
}

/// A column of tables of stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BesideColumn {
    /// Its title.
    pub title: &'static str,
    /// Its title in narrow lines.
    #[serde(skip)]
    pub short: &'static str,
    /// What it shows.
    pub shows: Shows,
}

/// What a column shows of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shows {
    /// The median with its interval.
    P50,
    /// The p99 with its interval.
    P99,
    /// The largest sample.
    Max,
}

const fn column(title: &'static str, short: &'static str, shows: Shows) -> BesideColumn {
    BesideColumn {
        title,
        short,
        shows,
    }
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
    /// Neither: it is a condition or a part of something else.
    Neither,
}

/// What a metric is where its row says nothing else.
const PLAIN: MetricInfo = MetricInfo {
    name: "",
    short: "",
    title: "",
    gist: "",
    meaning: "",
    unit: "ns",
    between_hosts: false,
    one_per_trial: false,
    of_faults: false,
    of_idle: false,
    of_each_message: false,
    beside: &[],
    compares_its_tail: false,
    part_of: None,
    better: Better::Lower,
};

macro_rules! metrics {
    ($($variant:ident = $name:literal, $meaning:literal { $($field:ident: $value:expr),+ $(,)? })+) => {
        /// A latency metric; its distribution is in nanoseconds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Metric {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)+
        }

        impl Metric {
            /// Every metric, in the order of tables.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant),+];

            /// Its row of the table.
            #[allow(
                clippy::needless_update,
                reason = "a row may say everything itself"
            )]
            pub const fn info(self) -> &'static MetricInfo {
                match self {
                    $(Metric::$variant => const { &MetricInfo {
                        name: $name,
                        meaning: $meaning,
                        $($field: $value,)+
                        ..PLAIN
                    } },)+
                }
            }
        }
    };
}

metrics! {
    Rtt = "rtt_ns", "From the send to the reply of the last echo, never halved." {
        short: "round trip",
        title: "round trip",
        gist: "not halved",
        of_each_message: true,
    }
    Response = "response_ns", "Arrival minus due time: the headline of open loops." {
        short: "response",
        title: "response time",
        gist: "arrival minus due time",
        between_hosts: true,
        of_each_message: true,
    }
    Service = "service_ns", "Arrival minus real send time." {
        short: "service",
        title: "service time",
        gist: "arrival minus real send",
        between_hosts: true,
        of_each_message: true,
        beside: &[
            column("service p50", "service\np50", Shows::P50),
            column("service p99", "service\np99", Shows::P99),
        ],
    }
    Lateness = "lateness_ns", "Real send time minus due time: how late the source was." {
        short: "lateness",
        title: "lateness of sending",
        gist: "real send minus due time",
    }
    Send = "send_ns", "Duration of the send call, from the stamp of an accepted message until the call returns, including the time to get its memory and to fill it." {
        short: "send call",
        title: "send call",
        gist: "from the stamp of a message until its send returns",
    }
    Gap = "gap_ns", "Time without a newer message: from one arrival of a channel to the next newer one at a receiver." {
        short: "arrival gap",
        title: "arrival gap",
        gist: "from one arrival of a channel to the next",
        beside: &[
            column("gap p50", "gap\np50", Shows::P50),
            column("gap p99", "gap\np99", Shows::P99),
            column("gap max", "gap\nmax", Shows::Max),
        ],
        compares_its_tail: true,
    }
    Read = "read_ns", "For stacks whose readers ask: from the question to its answer, whether the value is new or not." {
        short: "read",
        title: "read",
        gist: "from a reader's question to its answer",
    }
    Probe = "probe_ns", "Duration of one operation of a probe (a call, a round trip of hand-overs, a copy, a first touch), or how late it was, or how long it was kept off the CPU." {
        short: "probe",
        title: "probe",
        gist: "one operation of the probe",
        between_hosts: false,
        one_per_trial: false,
        of_each_message: false,
        beside: &[],
        part_of: None,
    }
    Within = "within_ns", "For a timer: duration of its handler. For reaching another CPU: duration of the call." {
        short: "within",
        title: "own time",
        gist: "of the handler, or of the call",
        between_hosts: false,
        one_per_trial: false,
        of_each_message: false,
        beside: &[],
        compares_its_tail: false,
        part_of: None,
    }
    Served = "served_ns", "For a timer: from its due time until its handler was done. This is the sum for each timer; its quantiles are not the sums of the quantiles of its parts." {
        short: "served",
        title: "lateness and own time",
        gist: "from the due time of a timer until its handler was done",
    }
    FirstMessage = "first_message_ns", "From go until a message of every sender is at every receiver." {
        short: "first message",
        title: "first message",
        gist: "from go until it is at every receiver",
        between_hosts: true,
        one_per_trial: true,
    }
    Open = "open_ns", "The part of it from go until the last participant has its endpoints." {
        short: "open",
        title: "opening",
        gist: "the part from go until all endpoints exist",
        one_per_trial: true,
        part_of: Some(Metric::FirstMessage),
    }
    Match = "match_ns", "The part from then until the last participant sees its peers." {
        short: "match",
        title: "matching",
        gist: "the part from then until all are matched",
        between_hosts: true,
        one_per_trial: true,
        part_of: Some(Metric::FirstMessage),
    }
    FirstDelivery = "first_delivery_ns", "The part from then until the first message is at every receiver." {
        short: "first delivery",
        title: "first delivery",
        gist: "the part from then until the first message is at every receiver",
        between_hosts: true,
        one_per_trial: true,
        part_of: Some(Metric::FirstMessage),
    }
    Recovery = "recovery_ns", "From the end of a fault until a newer message has arrived at every receiver; infinite where one stays deaf." {
        short: "recovery",
        title: "recovery",
        gist: "from the end of the fault until every receiver has a newer message",
        between_hosts: true,
        one_per_trial: true,
        of_faults: true,
    }
    RecoveryFirst = "recovery_first_ns", "From the end of a fault until a newer message has arrived at any receiver." {
        short: "first recovery",
        title: "first recovery",
        gist: "from the end of the fault until any receiver has a newer message",
        between_hosts: true,
        one_per_trial: true,
        of_faults: true,
    }
    Steady = "steady_ns", "From the end of a fault until rate and latency are as before it at every receiver." {
        short: "steady again",
        title: "steady state",
        gist: "from the end of the fault until rate and latency are as before at every receiver",
        one_per_trial: true,
        of_faults: true,
    }
    Silence = "silence_ns", "The longest time without a newer message at any receiver, from the start of a fault on; infinite where none came after it." {
        short: "silence",
        title: "silence",
        gist: "the longest time without a newer message from the start of the fault on",
        one_per_trial: true,
        of_faults: true,
        compares_its_tail: true,
    }
    Detection = "detection_ns", "From the start of a fault until the library first reported it at an end whose process it did not strike; infinite where it never told." {
        short: "detection",
        title: "detection",
        gist: "from the start of the fault until the library reports it",
        one_per_trial: true,
        of_faults: true,
    }
    Boot = "boot_ns", "Of a virtual machine that is booted for the trial: from the start of its monitor until an agent answers in it. Of processes or containers whose start is measured: from the start of each until its agent answers, the slowest." {
        short: "boot",
        title: "agent of what is started",
        gist: "from the start of monitor, container or process",
        one_per_trial: true,
    }
    BootMonitor = "boot_monitor_ns", "The part of the boot until the clock of the machine's kernel begins: monitor, firmware, unpacking of the kernel." {
        short: "monitor",
        title: "machine's kernel",
        gist: "the part until the kernel's clock begins",
        one_per_trial: true,
        part_of: Some(Metric::Boot),
    }
    BootKernel = "boot_kernel_ns", "The part from then until the machine's first process." {
        short: "kernel",
        title: "machine's first process",
        gist: "the part from then until the first process",
        one_per_trial: true,
        part_of: Some(Metric::Boot),
    }
    BootInit = "boot_init_ns", "The part from then until the machine has its drivers and its address, and says so." {
        short: "init",
        title: "machine's address",
        gist: "the part from then until drivers and address are there",
        one_per_trial: true,
        part_of: Some(Metric::Boot),
    }
    BootAgent = "boot_agent_ns", "The part from then until an agent answers in the machine." {
        short: "agent",
        title: "answer of an agent",
        gist: "the part from then until an agent answers",
        one_per_trial: true,
        part_of: Some(Metric::Boot),
    }
    IdleCpu = "idle_cpu_ns", "User and system time per participant and second of a window in which nobody sends, daemons included." {
        short: "idle CPU",
        title: "idle CPU",
        gist: "CPU time per participant and second, nobody sends",
        one_per_trial: true,
        of_idle: true,
    }
}

impl Metric {
    /// The name in files and in JSON, with its unit.
    pub const fn as_str(self) -> &'static str {
        self.info().name
    }

    /// The name without its unit: the word of limits files and flags.
    pub fn word(self) -> &'static str {
        let info = self.info();
        let word = info.name.strip_suffix(info.unit);
        word.map_or(info.name, |w| w.trim_end_matches('_'))
    }

    /// The metric of a [word](Metric::word).
    pub fn of_word(word: &str) -> Option<Metric> {
        Metric::ALL.iter().copied().find(|m| m.word() == word)
    }

    /// What it is called within a sentence.
    pub fn phrase(self) -> String {
        let info = self.info();
        match info.one_per_trial && !info.of_faults && !info.of_idle {
            true => format!("time to the {}", info.title),
            false => info.title.to_owned(),
        }
    }

    /// Whether a trial has one sample of it and no quantiles of its own.
    pub const fn is_one_per_trial(self) -> bool {
        self.info().one_per_trial
    }

    /// Whether times of it end on another host than they began on, where the two sides are on different hosts.
    pub const fn is_between_hosts(self) -> bool {
        self.info().between_hosts
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_flags_name_the_metrics_of_the_table() {
        for metric in Metric::ALL {
            let text = serde_json::to_string(metric).unwrap();
            assert_eq!(text, format!("\"{metric}\""));
            assert_eq!(Metric::of_word(metric.word()), Some(*metric));
            assert!(!metric.word().contains("_ns"), "{metric}");
        }
    }

    #[test]
    fn parts_are_of_the_start_like_their_whole() {
        for info in Metric::ALL.iter().map(|m| m.info()) {
            let whole = info.part_of.map(Metric::info);
            assert!(
                whole.is_none_or(|w| w.one_per_trial == info.one_per_trial && w.part_of.is_none())
            );
        }
    }
}
