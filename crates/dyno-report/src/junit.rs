//! JUnit XML, in the form that CI servers agree on: one writer for runs, checks and nightly gates.
//!
//! Written with quick-xml: the form is a few dozen lines, and the crates that know it whole bring a clock, a random generator and
//! a terminal parser with them.

use crate::carry::escaped_xml;
use crate::when::iso;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// A document with one suite.
#[derive(Debug, Clone, PartialEq)]
pub struct JunitSuite<'a> {
    /// The command that wrote it, such as `dyno check`.
    pub tool: &'static str,
    /// What the suite is called.
    pub name: String,
    /// When it was measured, in milliseconds since the Unix epoch; `None`: not known.
    pub started_unix_ms: Option<u64>,
    /// Where it was measured, where that is said.
    pub host: Option<String>,
    /// Of the whole suite, by name.
    pub properties: Vec<(&'a str, String)>,
    /// Whether the cases took time and may have been skipped.
    pub is_timed: bool,
    /// One after the other.
    pub cases: Vec<JunitCase>,
}

/// A test case. It passed if it has no results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JunitCase {
    /// The group that it is shown in.
    pub class: String,
    /// Its name within the group.
    pub name: String,
    /// How long it took, where the suite is timed.
    pub seconds: f64,
    /// By name.
    pub properties: Vec<(String, String)>,
    /// How it ended other than well.
    pub results: Vec<JunitResult>,
    /// What it says beside; `None`: nothing.
    pub out: Option<String>,
}

/// A way to end other than well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JunitResult {
    /// Which.
    pub kind: JunitKind,
    /// The attribute `type`; that of a skipped case is not written.
    pub what: String,
    /// In one line.
    pub message: String,
    /// In full; that of a skipped case is not written.
    pub text: String,
}

/// How a test case can end other than well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JunitKind {
    /// The case found a violation.
    Failure,
    /// It could not tell.
    Error,
    /// It was not done.
    Skipped,
}

impl JunitKind {
    const fn element(self) -> &'static str {
        match self {
            JunitKind::Failure => "failure",
            JunitKind::Error => "error",
            JunitKind::Skipped => "skipped",
        }
    }
}

impl JunitSuite<'_> {
    /// The document, ended by a newline.
    ///
    /// # Errors
    /// None in practice: it is written into memory; what the XML writer reports is passed on.
    pub fn xml(&self) -> io::Result<String> {
        let counts = self.counts();
        let counts = || counts.iter().map(|(key, text)| (*key, text.as_str()));
        let timestamp = self.started_unix_ms.map(iso);
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        xml.create_element("testsuites")
            .with_attribute(("name", self.tool))
            .with_attributes(counts())
            .write_inner_content(|xml| {
                xml.create_element("testsuite")
                    .with_attribute(("name", self.name.as_str()))
                    .with_attributes(counts())
                    .with_attributes(timestamp.as_deref().map(|t| ("timestamp", t)))
                    .with_attributes(self.host.as_deref().map(|host| ("hostname", host)))
                    .write_inner_content(|xml| {
                        properties(xml, &self.properties)?;
                        let mut cases = self.cases.iter();
                        cases.try_for_each(|case| case.write(xml, self.is_timed))
                    })?;
                Ok(())
            })?;
        let text = String::from_utf8(xml.into_inner()).map_err(io::Error::other)?;
        Ok(escaped_xml(&text) + "\n")
    }

    fn counts(&self) -> Vec<(&'static str, String)> {
        let of = |kind: JunitKind| {
            let has = |c: &&JunitCase| c.results.iter().any(|r| r.kind == kind);
            self.cases.iter().filter(has).count().to_string()
        };
        let mut counts = vec![
            ("tests", self.cases.len().to_string()),
            ("failures", of(JunitKind::Failure)),
            ("errors", of(JunitKind::Error)),
        ];
        if self.is_timed {
            let seconds: f64 = self.cases.iter().map(|c| c.seconds).sum();
            counts.push(("skipped", of(JunitKind::Skipped)));
            counts.push(("time", format!("{seconds:.3}")));
        }
        counts
    }
}

impl JunitCase {
    fn write(&self, xml: &mut Writer<Vec<u8>>, is_timed: bool) -> io::Result<()> {
        let time = is_timed.then(|| format!("{:.3}", self.seconds));
        xml.create_element("testcase")
            .with_attribute(("classname", self.class.as_str()))
            .with_attribute(("name", self.name.as_str()))
            .with_attributes(time.as_deref().map(|time| ("time", time)))
            .write_inner_content(|xml| {
                properties(xml, &self.properties)?;
                for r in &self.results {
                    let element = xml
                        .create_element(r.kind.element())
                        .with_attribute(("message", r.message.as_str()));
                    if r.kind == JunitKind::Skipped {
                        element.write_empty()?;
                        continue;
                    }
                    element
                        .with_attribute(("type", r.what.as_str()))
                        .write_text_content(BytesText::new(&r.text))?;
                }
                if let Some(text) = &self.out {
                    xml.create_element("system-out")
                        .write_text_content(BytesText::new(text))?;
                }
                Ok(())
            })?;
        Ok(())
    }
}

fn properties<K: AsRef<str>>(xml: &mut Writer<Vec<u8>>, all: &[(K, String)]) -> io::Result<()> {
    // An empty list is not allowed by every reader's schema.
    if all.is_empty() {
        return Ok(());
    }
    xml.create_element("properties")
        .write_inner_content(|xml| {
            for (name, value) in all {
                xml.create_element("property")
                    .with_attribute(("name", name.as_ref()))
                    .with_attribute(("value", value.as_str()))
                    .write_empty()?;
            }
            Ok(())
        })?;
    Ok(())
}
