//! The list of runs: filtered and sorted here, so that it works without JavaScript.

use crate::name;
use crate::shelf::{Listing, Look};
use jiff::Timestamp;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ffi::OsStr;

/// The most runs that one page shows; a filter finds the others.
const MOST: usize = 500;
/// Stacks of one run that are named; the others are counted.
const STACKS: usize = 6;

/// What the list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Name,
    Suite,
    Testbed,
    Started,
    Trials,
    Failed,
    State,
}

/// Columns that can be sorted by: key, heading, and whether the largest is what one looks for first.
const COLUMNS: [(Sort, &str, &str, bool); 7] = [
    (Sort::Name, "name", "Run", false),
    (Sort::Started, "started", "Started (UTC)", true),
    (Sort::Suite, "suite", "Suite", false),
    (Sort::Testbed, "testbed", "Testbed", false),
    (Sort::Trials, "trials", "Trials", true),
    (Sort::Failed, "failed", "Failed", true),
    (Sort::State, "state", "State", false),
];

/// What is asked of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    text: String,
    suite: String,
    stack: String,
    sort: Sort,
    descending: bool,
}

impl Query {
    /// From the query of the address. What it does not know it leaves alone.
    pub(crate) fn parse(query: &str) -> Query {
        let value = |key| {
            name::values(query, key)
                .next()
                .map(name::text)
                .unwrap_or_default()
        };
        let asked = value("sort");
        let column = COLUMNS.iter().find(|(_, key, _, _)| *key == asked);
        let (sort, _, _, first) = column.copied().unwrap_or(COLUMNS[1]);
        Query {
            text: value("text").trim().to_owned(),
            suite: value("suite"),
            stack: value("stack"),
            sort,
            descending: match value("order").as_str() {
                "asc" => false,
                "desc" => true,
                _ => first,
            },
        }
    }

    /// The address of the same list in another order.
    fn address(&self, sort: &str, descending: bool) -> String {
        let mut address = String::from("/?");
        for (key, value) in [
            ("text", &self.text),
            ("suite", &self.suite),
            ("stack", &self.stack),
        ] {
            if !value.is_empty() {
                address += &format!("{key}={}&", name::encode(OsStr::new(value)));
            }
        }
        let order = if descending { "desc" } else { "asc" };
        address + &format!("sort={sort}&order={order}")
    }

    fn matches(&self, row: &Row) -> bool {
        let text = self.text.to_lowercase();
        let within = |field: &str| field.to_lowercase().contains(&text);
        let fields = [
            &row.name,
            &row.id,
            &row.suite,
            &row.title,
            &row.testbed,
            &row.host,
        ];
        (text.is_empty()
            || fields.into_iter().any(|f| within(f))
            || row.all_stacks.iter().any(|s| within(s)))
            && (self.suite.is_empty() || row.suite == self.suite)
            && (self.stack.is_empty() || row.all_stacks.contains(&self.stack))
    }

    fn order(&self, a: &Row, b: &Row) -> Ordering {
        let order = match self.sort {
            Sort::Name => a.name.cmp(&b.name),
            Sort::Suite => a.suite.cmp(&b.suite),
            Sort::Testbed => a.testbed.cmp(&b.testbed),
            Sort::Started => a.started_unix_ms.cmp(&b.started_unix_ms),
            Sort::Trials => a.done.cmp(&b.done),
            Sort::Failed => a.failed.cmp(&b.failed),
            Sort::State => a.state.cmp(b.state),
        };
        let order = if self.descending {
            order.reverse()
        } else {
            order
        };
        // Where they are equal, the newest first.
        order
            .then_with(|| b.started_unix_ms.cmp(&a.started_unix_ms))
            .then_with(|| a.name.cmp(&b.name))
    }
}

/// One line of the list.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// The name for addresses and forms.
    address: String,
    /// Whether a form can carry the name; all but those that are not UTF-8.
    plain: bool,
    id: String,
    suite: String,
    title: String,
    testbed: String,
    host: String,
    #[serde(skip)]
    started_unix_ms: u64,
    started: String,
    started_iso: String,
    /// Those that are shown.
    stacks: Vec<String>,
    /// How many more there are.
    more_stacks: usize,
    #[serde(skip)]
    all_stacks: Vec<String>,
    done: usize,
    planned: usize,
    failed: usize,
    disturbed: usize,
    unreadable: usize,
    part: Option<String>,
    state: &'static str,
}

impl Row {
    fn of(directory: &OsStr, look: &Look) -> Row {
        let head = &look.head;
        let (started, started_iso) = time(head.started_unix_ms);
        Row {
            name: directory.to_string_lossy().into_owned(),
            address: name::encode(directory),
            plain: directory.to_str().is_some(),
            id: head.id.clone(),
            suite: head.suite.clone(),
            title: head.title.clone(),
            testbed: head.testbed.clone(),
            host: head.host.clone(),
            started_unix_ms: head.started_unix_ms,
            started,
            started_iso,
            stacks: head.stacks.iter().take(STACKS).cloned().collect(),
            more_stacks: head.stacks.len().saturating_sub(STACKS),
            all_stacks: head.stacks.clone(),
            done: look.done(),
            planned: head.planned,
            failed: look.count.failed,
            disturbed: look.count.disturbed,
            unreadable: look.count.unreadable,
            part: head.part.clone(),
            state: match look.runner {
                Some(true) => "running",
                _ if look.is_complete() => "complete",
                _ => "incomplete",
            },
        }
    }
}

/// A start time for people and for programs; a number where the clock was beyond the year 9999.
fn time(unix_ms: u64) -> (String, String) {
    let time = i64::try_from(unix_ms)
        .ok()
        .and_then(|ms| Timestamp::from_millisecond(ms).ok());
    match time {
        Some(t) => (
            t.strftime("%Y-%m-%d %H:%M").to_string(),
            t.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        ),
        None => (format!("{unix_ms} ms"), String::new()),
    }
}

#[derive(Debug, Serialize)]
struct Column {
    title: &'static str,
    /// The address of the list sorted by this column.
    address: String,
    /// `ascending`, `descending` or `none`, as ARIA's `aria-sort` has it.
    sorted: &'static str,
}

#[derive(Debug, Serialize)]
struct Closed {
    name: String,
    reason: String,
}

/// What the template shows.
#[derive(Debug, Serialize)]
pub(crate) struct List {
    folder: String,
    text: String,
    suite: String,
    stack: String,
    sort: &'static str,
    order: &'static str,
    filtered: bool,
    suites: BTreeSet<String>,
    stacks: BTreeSet<String>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// Runs that match, shown or not.
    matching: usize,
    /// All runs of the folder.
    total: usize,
    unreadable: Vec<Closed>,
}

impl List {
    /// The list as it is asked for; `folder` is how the user calls what is served.
    pub(crate) fn of(listing: &Listing, query: &Query, folder: &str) -> List {
        let all: Vec<Row> = listing
            .runs
            .iter()
            .map(|(n, look)| Row::of(n, look))
            .collect();
        let total = all.len();
        let suites = all.iter().map(|r| r.suite.clone()).collect();
        let stacks = all.iter().flat_map(|r| r.all_stacks.clone()).collect();
        let mut rows: Vec<Row> = all.into_iter().filter(|r| query.matches(r)).collect();
        rows.sort_by(|a, b| query.order(a, b));
        let matching = rows.len();
        rows.truncate(MOST);
        let mut current = "";
        let mut columns = Vec::new();
        for (sort, key, title, first) in COLUMNS {
            let is_current = sort == query.sort;
            if is_current {
                current = key;
            }
            columns.push(Column {
                title,
                address: query.address(key, if is_current { !query.descending } else { first }),
                sorted: match (is_current, query.descending) {
                    (true, true) => "descending",
                    (true, false) => "ascending",
                    (false, _) => "none",
                },
            });
        }
        let closed = |(name, reason): &(std::ffi::OsString, String)| Closed {
            name: name.to_string_lossy().into_owned(),
            reason: reason.clone(),
        };
        List {
            folder: folder.to_owned(),
            text: query.text.clone(),
            suite: query.suite.clone(),
            stack: query.stack.clone(),
            sort: current,
            order: if query.descending { "desc" } else { "asc" },
            filtered: matching < total,
            suites,
            stacks,
            columns,
            rows,
            matching,
            total,
            unreadable: listing.unreadable.iter().map(closed).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::Head;
    use dyno_store::Count;
    use std::sync::Arc;

    fn look(suite: &str, stacks: &[&str], started_unix_ms: u64, stored: usize) -> Look {
        Look {
            directory: "/runs/x".into(),
            head: Arc::new(Head {
                id: format!("{suite}-{started_unix_ms}"),
                suite: suite.into(),
                title: "A title".into(),
                testbed: "local".into(),
                host: "lab1".into(),
                started_unix_ms,
                stacks: stacks.iter().map(|s| (*s).to_owned()).collect(),
                planned: 4,
                part: None,
            }),
            count: Count {
                stored,
                ..Count::default()
            },
            runner: Some(stored == 2),
            version: 0,
        }
    }

    fn listing() -> Listing {
        Listing {
            runs: vec![
                ("a".into(), look("quick", &["pipe", "tcp"], 1_000, 4)),
                ("b".into(), look("quick", &["udp"], 3_000, 2)),
                ("C".into(), look("rwth", &["tcp"], 2_000, 1)),
            ],
            unreadable: vec![("d".into(), "it has no run.json".into())],
        }
    }

    fn names(query: &str) -> Vec<String> {
        let list = List::of(&listing(), &Query::parse(query), "runs");
        list.rows.into_iter().map(|r| r.name).collect()
    }

    #[test]
    fn the_newest_is_first_unless_asked_otherwise() {
        assert_eq!(names(""), ["b", "C", "a"]);
        assert_eq!(names("sort=started&order=asc"), ["a", "C", "b"]);
        assert_eq!(names("sort=trials"), ["a", "b", "C"]);
        assert_eq!(names("sort=suite&order=desc"), ["C", "b", "a"]);
        assert_eq!(names("sort=nonsense&order=sideways"), ["b", "C", "a"]);
    }

    #[test]
    fn filters_apply_together() {
        assert_eq!(names("stack=tcp"), ["C", "a"]);
        assert_eq!(names("stack=tcp&suite=quick"), ["a"]);
        assert_eq!(names("text=UDP"), ["b"]);
        assert_eq!(names("text=rwth-2"), ["C"]);
        assert_eq!(names("text=lab1&stack=udp"), ["b"]);
        assert_eq!(names("text=a+title&suite=rwth"), ["C"]);
        assert_eq!(names("text=none+of+it"), [""; 0]);
    }

    #[test]
    fn a_heading_sorts_by_its_column_and_then_the_other_way() {
        let list = List::of(&listing(), &Query::parse("text=a%26b&sort=name"), "runs");
        assert_eq!(list.columns[0].sorted, "ascending");
        assert_eq!(list.columns[0].address, "/?text=a%26b&sort=name&order=desc");
        assert_eq!(list.columns[1].sorted, "none");
        assert_eq!(
            list.columns[1].address,
            "/?text=a%26b&sort=started&order=desc"
        );
    }

    #[test]
    fn a_run_is_running_complete_or_incomplete() {
        let list = List::of(&listing(), &Query::parse("sort=name"), "runs");
        let states: Vec<&str> = list.rows.iter().map(|r| r.state).collect();
        assert_eq!(states, ["incomplete", "complete", "running"]);
        assert_eq!(list.unreadable[0].reason, "it has no run.json");
        assert_eq!((list.total, list.matching), (3, 3));
    }
}
