//! Stored runs as one page that answers, at a glance, which stack, at what cost, how sure, and why the
//! tail.
//!
//! [`Document::of`] computes everything that the page shows and prints nothing; [`render`] turns it into
//! one HTML file that needs no network: the script and the style sheet are inlined, the data lies in the
//! page as JSON, and its content security policy allows nothing else. [`Document::to_json`] is that data
//! alone, for whoever shows a run that is still written.
//!
//! [`answers()`] says the answers of one run in a sentence each, for the head of all formats, and [`brief`] in a few lines for a
//! terminal.
//!
//! The words and the table of the answers are in the HTML itself, so that they are there without
//! JavaScript, for search and for screen readers. Plots, selection and drill-down are `web/`'s, whose
//! bundle is checked in as `assets/page.js` and `assets/page.css`.
//!
//! Names of stacks and suites, messages and host facts come from elsewhere. They reach the page as text
//! only: through the template's escaping, and as JSON strings without a character that HTML could take for
//! markup.

#![warn(clippy::too_many_lines)]

mod answer;
mod beside;
mod brief;
mod curves;
mod document;
mod facts;
mod number;
mod page;
mod question;
mod ranking;
mod trials;
mod verdicts;
mod words;

pub use answer::{Answer, AnswerRow};
pub use beside::{Flaw, Published, Study};
pub use brief::{answers, brief};
pub use curves::BoxPlot;
pub use document::{
    Comparison, DOCUMENT_FORMAT, Details, Document, Options, RunPage, Source, Step, Unreadable,
    inert,
};
pub use number::Number;
pub use page::{PageError, render, render_live};
pub use trials::{HostShares, Process, Trial, TrialMetric};
