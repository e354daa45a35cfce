//! Judgements as JUnit XML: one test case for each limit or figure on each experiment. A broken one is a
//! `failure`; an undecided one is an `error`, because it is not a pass and not a failure either.

use super::report::{CheckReport, Checked, Status};
use crate::cell;
use dyno_report::{JunitCase, JunitKind, JunitResult, JunitSuite};
use std::io;

impl CheckReport {
    /// The check as a JUnit XML document, ended by a newline.
    ///
    /// # Errors
    /// None in practice: it is written into memory; what the XML writer reports is passed on.
    pub fn junit(&self) -> io::Result<String> {
        let cases = self.results.iter().map(case).collect();
        junit_suite(
            self.limits.clone(),
            &self.run,
            &self.suite,
            Some(self.started_unix_ms),
            cases,
        )
        .xml()
    }
}

/// The JUnit XML document of a check that ended with an error before it judged anything: one test case with that error.
///
/// # Errors
/// As for [`CheckReport::junit`].
pub fn junit_of_error(limits: &str, run: &str, message: String) -> io::Result<String> {
    let result = JunitResult {
        kind: JunitKind::Error,
        what: "not checked".to_owned(),
        text: message.clone(),
        message,
    };
    let case = JunitCase {
        class: limits.to_owned(),
        name: format!("check of {run}"),
        results: vec![result],
        ..JunitCase::default()
    };
    junit_suite(limits.to_owned(), run, "", None, vec![case]).xml()
}

/// A suite of judgements of a run.
pub(crate) fn junit_suite(
    name: String,
    run: &str,
    suite: &str,
    started_unix_ms: Option<u64>,
    cases: Vec<JunitCase>,
) -> JunitSuite<'static> {
    JunitSuite {
        tool: "dyno check",
        name,
        started_unix_ms,
        host: None,
        properties: vec![("run", run.to_owned()), ("suite", suite.to_owned())],
        is_timed: false,
        cases,
    }
}

/// One judgement; `message` is for one that does not pass.
pub(crate) fn junit_case(
    class: String,
    name: String,
    status: Status,
    message: String,
    lines: &[String],
) -> JunitCase {
    let text = lines.join("\n");
    let (kind, what) = match status {
        Status::Pass => {
            return JunitCase {
                class,
                name,
                out: Some(text),
                ..JunitCase::default()
            };
        }
        Status::Fail => (JunitKind::Failure, "limit".to_owned()),
        Status::Undecided => (JunitKind::Error, "undecided".to_owned()),
    };
    let result = JunitResult {
        kind,
        what,
        message,
        text,
    };
    JunitCase {
        class,
        name,
        results: vec![result],
        ..JunitCase::default()
    }
}

fn case(r: &Checked) -> JunitCase {
    let required = r.limit.required();
    let mut lines = vec![
        format!("required: {required}"),
        format!("found: {}", r.found_text()),
        r.reason.clone(),
    ];
    lines.extend(r.remarks.iter().cloned());
    let message = format!("{required}: {}", r.reason);
    junit_case(
        r.limit.name.clone(),
        cell::label(&r.experiment),
        r.status,
        message,
        &lines,
    )
}
