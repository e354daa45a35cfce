//! The columns of a table of stacks: their titles, and which of them are shown.

use dyno_model::metric::BesideColumn;
use dyno_model::{Metric, TrialFigure};
use std::str::FromStr;

/// Title of the column with the machine's own delay beside the p99.
pub(crate) const HOST_P99: &str = "host p99";

/// Title of the column with the CPU time of the whole host.
pub(crate) const HOST_CPU: &str = "host CPU/msg";

/// Title of the column with the p50 over that of the floor.
pub(crate) const FLOOR_RATIO: &str = "× floor";

/// Title of the column with the p50 over the time of one copy of the payload.
pub(crate) const COPY_RATIO: &str = "× copy";
pub(crate) const CACHED_COPY_RATIO: &str = "× cached copy";

/// The same where something is faster than that.
pub(crate) const REFERENCE_RATIO: &str = "× reference";

/// Title of the column with the share of messages that arrived.
pub(crate) const DELIVERED: &str = "delivered/offered";

/// Title of the column with the CPU time of a participant that is idle.
pub(crate) const IDLE_CPU: &str = "idle CPU";

/// The other columns of idle experiments: title, rank, and what they show the median trial of.
pub(crate) const IDLE: [(&str, u8, TrialFigure); 9] = [
    ("busy CPUs", 5, TrialFigure::BusyCpus),
    ("wake-ups/s", 1, TrialFigure::WakeUpsHz),
    ("switches/s", 9, TrialFigure::SwitchesHz),
    ("packets/s", 2, TrialFigure::PacketsHz),
    ("link bytes/s", 8, TrialFigure::PacketBytesPerS),
    ("PSS each", 1, TrialFigure::PssEach),
    ("shared", 7, TrialFigure::SharedBytes),
    ("threads", 3, TrialFigure::Threads),
    ("files", 4, TrialFigure::OpenFiles),
];

/// The head of a column that a reader may choose.
struct Head {
    /// What `--columns` calls it.
    key: &'static str,
    /// Its title in one line.
    title: &'static str,
    /// Its title in narrow lines.
    short: &'static str,
    /// Whether a table has it unless more is asked for.
    brief: bool,
}

const fn head(key: &'static str, title: &'static str, short: &'static str, brief: bool) -> Head {
    Head {
        key,
        title,
        short,
        brief,
    }
}

/// Every such head; one key may have several titles, of which a table has one.
static HEADS: [Head; 45] = [
    head("p50", "p50", "p50", true),
    head("p90", "p90", "p90", false),
    head("p99", "p99", "p99", true),
    head("p99.9", "p99.9", "p99.9", false),
    head("max", "max", "max", false),
    head("host-p99", HOST_P99, "host\np99", false),
    head("open", "open", "open", true),
    head("match", "match", "match", true),
    head("delivery", "delivery", "delivery", true),
    head("floor", FLOOR_RATIO, "×\nfloor", true),
    head("floor", REFERENCE_RATIO, "×\nrefer.", true),
    head("copy", COPY_RATIO, "×\ncopy", true),
    head("cached-copy", CACHED_COPY_RATIO, "× cached\ncopy", true),
    head("load", "load", "load", true),
    head("in-window", "in window", "in\nwindow", false),
    head("delivered", DELIVERED, "deliv.\n/offer.", true),
    head("rate", "delivered/s", "deliv.\n/s", true),
    head("bytes", "bytes/s", "bytes\n/s", false),
    head("cpu", "CPU/msg", "CPU\n/msg", true),
    head("cpu", "CPU", "CPU", true),
    head("host-cpu", HOST_CPU, "host\nCPU", false),
    head("trials", "trials", "trials", true),
    head("trials", "trials (failed)", "trials\n(fail.)", true),
    head("recovered", "recovered", "recov-\nered", true),
    head("silence", "silence", "silence", true),
    head("silence-max", "silence max", "silence\nmax", false),
    head("recovery", "recovery", "recovery", true),
    head("worst", "worst", "worst", true),
    head("steady", "steady again", "steady\nagain", true),
    head("detection", "detection", "detec-\ntion", true),
    head("told-by", "told by", "told by", false),
    head("lost", "lost", "lost", true),
    head("repeated", "repeated", "repeat-\ned", false),
    head("stated", "stated", "stated", true),
    head("burst", "burst", "burst", false),
    head("idle-cpu", IDLE_CPU, "idle\nCPU", true),
    head("busy-cpus", "busy CPUs", "busy\nCPUs", false),
    head("wake-ups", "wake-ups/s", "wake-\nups/s", true),
    head("switches", "switches/s", "switch\n/s", false),
    head("packets", "packets/s", "packets\n/s", true),
    head("link-bytes", "link bytes/s", "link B\n/s", false),
    head("pss", "PSS each", "PSS\neach", true),
    head("shared", "shared", "shared", false),
    head("threads", "threads", "threads", true),
    head("files", "files", "files", true),
];

/// The columns of metrics that stand beside the headline; their keys are their titles with hyphens.
fn beside() -> impl Iterator<Item = &'static BesideColumn> {
    Metric::ALL.iter().flat_map(|m| m.info().beside)
}

/// A title in narrow lines.
pub(crate) fn short(title: &'static str) -> &'static str {
    let of_head = HEADS.iter().find(|h| h.title == title).map(|h| h.short);
    let of_metric = || beside().find(|c| c.title == title).map(|c| c.short);
    of_head.or_else(of_metric).unwrap_or(title)
}

/// What `--columns` calls the column of that title, and whether a brief table has it; `None` for what tells
/// the rows apart.
fn key(title: &str) -> Option<(String, bool)> {
    let of_head = HEADS.iter().find(|h| h.title == title);
    let of_metric = || beside().find(|c| c.title == title);
    match of_head {
        Some(head) => Some((head.key.to_owned(), head.brief)),
        None => of_metric().map(|c| (c.title.replace(' ', "-"), false)),
    }
}

/// Which columns a table of stacks has. What tells a row from the others is always there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Columns {
    /// All that there are.
    #[default]
    All,
    /// Those that most readers want: p50, p99, × floor, what became of the load, CPU, trials; and what was
    /// delivered where anything is missing.
    Brief,
    /// The ones with these keys, in the order of the table; see [`Columns::keys`].
    Named(Vec<String>),
}

impl Columns {
    /// Every key that [`Columns::Named`] may hold.
    pub fn keys() -> Vec<String> {
        let titles = HEADS
            .iter()
            .map(|h| h.title)
            .chain(beside().map(|c| c.title));
        let mut keys: Vec<String> = titles.filter_map(|t| Some(key(t)?.0)).collect();
        keys.dedup();
        keys
    }

    /// Whether the column of that title is shown; one that tells rows apart always is.
    pub(crate) fn shows(&self, title: &str) -> bool {
        let Some((key, brief)) = key(title) else {
            return true;
        };
        match self {
            Columns::All => true,
            Columns::Brief => brief,
            Columns::Named(keys) => keys.contains(&key),
        }
    }
}

/// A list of columns names one that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no column {found:?}; there are {}", Columns::keys().join(", "))]
pub struct UnknownColumn {
    /// The text that was found.
    pub found: String,
}

/// Keys with commas between them.
impl FromStr for Columns {
    type Err = UnknownColumn;
    fn from_str(text: &str) -> Result<Self, UnknownColumn> {
        let known = Columns::keys();
        let key = |word: &str| match known.iter().find(|key| *key == word.trim()) {
            Some(key) => Ok(key.clone()),
            None => Err(UnknownColumn {
                found: word.to_owned(),
            }),
        };
        text.split(',')
            .map(key)
            .collect::<Result<_, _>>()
            .map(Columns::Named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_has_a_key_that_can_be_named() {
        let keys = Columns::keys();
        for key in &keys {
            assert_eq!(key.parse(), Ok(Columns::Named(vec![key.clone()])));
        }
        assert!(keys.contains(&"service-p99".to_owned()), "{keys:?}");
        let e = "p50,p98".parse::<Columns>().unwrap_err().to_string();
        assert!(e.contains("\"p98\"") && e.contains("p99.9"), "{e}");
    }

    #[test]
    fn what_tells_rows_apart_is_always_shown() {
        let named: Columns = "p50, trials".parse().unwrap();
        for columns in [Columns::All, Columns::Brief, named.clone()] {
            assert!(columns.shows("stack") && columns.shows("p50"));
        }
        assert!(named.shows("trials (failed)") && !named.shows("p99"));
        assert!(!Columns::Brief.shows("p90") && Columns::All.shows("p90"));
    }
}
