//! A check as JUnit XML: one test case for each limit on each experiment. A broken limit is a
//! `failure`; an undecided one is an `error`, because it is not a pass and not a failure either.
//!
//! Written with quick-xml: the form is a dozen lines, and the crates that know it whole bring a clock,
//! a random generator and a terminal parser with them.

use super::{CheckReport, Checked, Status};
use crate::cell;
use crate::page::clean;
use crate::when::iso;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

impl CheckReport {
    /// The check as a JUnit XML document, ended by a newline.
    ///
    /// # Errors
    /// None in practice: it is written into memory; what the XML writer reports is passed on.
    pub fn junit(&self) -> io::Result<String> {
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let counts = [
            ("tests", self.results.len()),
            ("failures", self.count(Status::Fail)),
            ("errors", self.count(Status::Undecided)),
        ]
        .map(|(key, n)| (key, n.to_string()));
        let counts = || counts.iter().map(|(key, n)| (*key, n.as_str()));
        let timestamp = iso(self.started_unix_ms);
        let (run, name) = (clean(&self.run), clean(&self.limits));
        xml.create_element("testsuites")
            .with_attribute(("name", "dyno check"))
            .with_attributes(counts())
            .write_inner_content(|xml| {
                xml.create_element("testsuite")
                    .with_attribute(("name", name.as_str()))
                    .with_attributes(counts())
                    .with_attribute(("timestamp", timestamp.as_str()))
                    .write_inner_content(|xml| {
                        xml.create_element("properties")
                            .write_inner_content(|xml| {
                                for (key, value) in [("run", &run), ("suite", &clean(&self.suite))]
                                {
                                    xml.create_element("property")
                                        .with_attribute(("name", key))
                                        .with_attribute(("value", value.as_str()))
                                        .write_empty()?;
                                }
                                Ok(())
                            })?;
                        self.results.iter().try_for_each(|r| case(xml, r))
                    })?;
                Ok(())
            })?;
        let mut text = String::from_utf8(xml.into_inner()).map_err(io::Error::other)?;
        text.push('\n');
        Ok(text)
    }
}

fn case(xml: &mut Writer<Vec<u8>>, r: &Checked) -> io::Result<()> {
    let required = r.limit.required();
    let lines: Vec<String> = [
        format!("required: {required}"),
        format!("found: {}", r.found_text()),
        r.reason.clone(),
    ]
    .into_iter()
    .chain(r.remarks.iter().cloned())
    .map(|line| clean(&line))
    .collect();
    let text = lines.join("\n");
    let message = clean(&format!("{required}: {}", r.reason));
    xml.create_element("testcase")
        .with_attribute(("classname", clean(&r.limit.name).as_str()))
        .with_attribute(("name", clean(&cell::label(&r.experiment)).as_str()))
        .write_inner_content(|xml| {
            let (element, kind) = match r.status {
                Status::Pass => {
                    xml.create_element("system-out")
                        .write_text_content(BytesText::new(&text))?;
                    return Ok(());
                }
                Status::Fail => ("failure", "limit"),
                Status::Undecided => ("error", "undecided"),
            };
            xml.create_element(element)
                .with_attribute(("message", message.as_str()))
                .with_attribute(("type", kind))
                .write_text_content(BytesText::new(&text))?;
            Ok(())
        })?;
    Ok(())
}
