//! Judgements as JUnit XML: one test case for each limit or figure on each experiment. A broken one is a
//! `failure`; an undecided one is an `error`, because it is not a pass and not a failure either.
//!
//! Written with quick-xml: the form is a dozen lines, and the crates that know it whole bring a clock,
//! a random generator and a terminal parser with them.

use super::{CheckReport, Checked, Status};
use crate::cell;
use crate::when::iso;
use dyno_report::escaped_xml;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// One document with one suite.
pub(crate) struct JunitSuite<'a> {
    pub(crate) name: String,
    pub(crate) run: &'a str,
    pub(crate) suite: &'a str,
    /// `None` where it is not known.
    pub(crate) started_unix_ms: Option<u64>,
    pub(crate) cases: Vec<JunitCase>,
}

/// One judgement.
pub(crate) struct JunitCase {
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) status: Status,
    /// In one line, of what does not pass.
    pub(crate) message: String,
    pub(crate) lines: Vec<String>,
}

impl CheckReport {
    /// The check as a JUnit XML document, ended by a newline.
    ///
    /// # Errors
    /// None in practice: it is written into memory; what the XML writer reports is passed on.
    pub fn junit(&self) -> io::Result<String> {
        JunitSuite {
            name: self.limits.clone(),
            run: &self.run,
            suite: &self.suite,
            started_unix_ms: Some(self.started_unix_ms),
            cases: self.results.iter().map(case).collect(),
        }
        .xml()
    }
}

fn case(r: &Checked) -> JunitCase {
    let required = r.limit.required();
    let lines = [
        format!("required: {required}"),
        format!("found: {}", r.found_text()),
        r.reason.clone(),
    ];
    JunitCase {
        class: r.limit.name.clone(),
        name: cell::label(&r.experiment),
        status: r.status,
        message: format!("{required}: {}", r.reason),
        lines: lines.into_iter().chain(r.remarks.iter().cloned()).collect(),
    }
}

impl JunitSuite<'_> {
    pub(crate) fn xml(&self) -> io::Result<String> {
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let of = |status| self.cases.iter().filter(|c| c.status == status).count();
        let counts = [
            ("tests", self.cases.len()),
            ("failures", of(Status::Fail)),
            ("errors", of(Status::Undecided)),
        ]
        .map(|(key, n)| (key, n.to_string()));
        let counts = || counts.iter().map(|(key, n)| (*key, n.as_str()));
        let timestamp = self.started_unix_ms.map(iso);
        xml.create_element("testsuites")
            .with_attribute(("name", "dyno check"))
            .with_attributes(counts())
            .write_inner_content(|xml| {
                xml.create_element("testsuite")
                    .with_attribute(("name", self.name.as_str()))
                    .with_attributes(counts())
                    .with_attributes(timestamp.as_deref().map(|t| ("timestamp", t)))
                    .write_inner_content(|xml| {
                        xml.create_element("properties")
                            .write_inner_content(|xml| {
                                for (key, value) in [("run", self.run), ("suite", self.suite)] {
                                    xml.create_element("property")
                                        .with_attribute(("name", key))
                                        .with_attribute(("value", value))
                                        .write_empty()?;
                                }
                                Ok(())
                            })?;
                        self.cases.iter().try_for_each(|c| c.write(xml))
                    })?;
                Ok(())
            })?;
        let text = String::from_utf8(xml.into_inner()).map_err(io::Error::other)?;
        Ok(escaped_xml(&text) + "\n")
    }
}

impl JunitCase {
    fn write(&self, xml: &mut Writer<Vec<u8>>) -> io::Result<()> {
        let text = self.lines.join("\n");
        xml.create_element("testcase")
            .with_attribute(("classname", self.class.as_str()))
            .with_attribute(("name", self.name.as_str()))
            .write_inner_content(|xml| {
                let (element, kind) = match self.status {
                    Status::Pass => {
                        xml.create_element("system-out")
                            .write_text_content(BytesText::new(&text))?;
                        return Ok(());
                    }
                    Status::Fail => ("failure", "limit"),
                    Status::Undecided => ("error", "undecided"),
                };
                xml.create_element(element)
                    .with_attribute(("message", self.message.as_str()))
                    .with_attribute(("type", kind))
                    .write_text_content(BytesText::new(&text))?;
                Ok(())
            })?;
        Ok(())
    }
}
