//! The tables of the RWTH comparison (Klüner et al., 2025), from a run: message types and stacks as in
//! its Tables I and II, first message as in Fig. 3 b, communication time as in Fig. 4 b, scaling and
//! resources as in Fig. 5, and the paper's figures beside ours where they are of the same thing.
//!
//! What the paper calls communication time is Dyno's service time: from the real send to the arrival.
//! It says nothing of messages that were lost or that the sender held up, so delivered share and
//! response time stand in the same block, and a cell that delivers less than [`latency::ENOUGH`] is not marked as
//! the fastest.

mod latency;
mod lines;
mod order;
mod resources;

pub(crate) use lines::shows;

use crate::columns::Columns;
use crate::notes;
use crate::page::Page;
use crate::published::Study;
use crate::settings;
use crate::summary::Summary;
use crate::view::View;
use lines::{Reasons, Table};

/// How the titles of sections begin that would say again, cell by cell, what the tables say.
const SAID_ABOVE: [&str; 3] = ["Failed", "Counts", "Unstable"];

/// Heading, all tables, legend and remarks. With `markdown` tables and headings are Markdown's and the
/// width is ignored.
pub(crate) fn render(summary: &Summary, limit: Option<usize>, markdown: bool) -> String {
    let study = Study::rwth();
    let table = Table::new(summary, study);
    let mut out = Page::new(limit, markdown);
    out.head(&notes::title(&summary.run), &notes::origin(&summary.run));
    let mut reasons = Reasons::default();
    out.part(
        "Message types (the paper's Table I)",
        &latency::message_types(&table),
    );
    out.list("Stacks (its Table II)", &latency::configurations(&table));
    let first = latency::first_message(&table, &mut reasons);
    out.part("Time to first message [ms] (its Fig. 3 b)", &first);
    for (title, grid) in latency::communication(&table, &mut reasons) {
        out.part(
            &format!("Communication time of {title} [ms] (its Fig. 4 b)"),
            &grid,
        );
    }
    let scaling = resources::scaling(&table, &mut reasons);
    out.part("Scaling factor S (its Fig. 5 a)", &scaling);
    out.part(
        "Memory and CPU (its Fig. 5 b, c)",
        &resources::resources(&table),
    );
    out.list("Order of the middlewares", &order::sentences(&table));
    out.list("How to read this", &legend(&table));
    out.list(
        "Cells without a figure, or with failed trials",
        &reasons.lines(),
    );
    let flaws = study
        .flaws
        .iter()
        .map(|f| format!("{}: {}", f.about, f.says));
    let source = &study.source;
    let title = format!(
        "Before comparing with the paper ({}, {})",
        source.title, source.place
    );
    out.list(&title, &flaws.collect::<Vec<_>>());
    let view = View::new(summary, shows, &Columns::All);
    let remarks: Vec<_> = notes::sections(&view)
        .into_iter()
        .filter(|section| {
            !SAID_ABOVE
                .iter()
                .any(|said| section.title.starts_with(said))
        })
        .collect();
    out.remarks(&remarks);
    out.lines.text
}

fn legend(table: &Table<'_>) -> Vec<String> {
    let mut lines = vec![
        "C: all participants on one host; D: each on a host of its own; 3-1: three senders, one receiver."
            .to_owned(),
        "p50: service time, from the call that sends to the callback that receives, with its 95 % interval; a \
         lost message counts as infinitely late. max: of the messages that arrived."
            .into(),
        "response: from the due time of the message, so that a delayed sender is visible. \
         delivered: share of the offered messages that arrived intact."
            .into(),
        format!(
            "↓ smallest and ↑ largest of a column, without floors; a stack that delivers less than \
             {:.0} % is not marked as the smallest.",
            100.0 * latency::ENOUGH
        ),
        "~: the p50 of a repeated run may differ; --format json says by how much.".into(),
        "its parts: medians of opening, matching and first delivery in ms; starts: number of samples, one per fresh start."
            .into(),
        "–: withheld, too few samples (samples measured/samples needed).".into(),
    ];
    if let Some(base) = resources::baseline(table) {
        lines.push(format!(
            "memory: proportional set size of all processes of the stack at the end of the window; CPU: their time from \
             the window's start to its end, 100 % is one CPU kept busy; both medians over topologies. baseline: {}. The paper's memory and CPU are those of the system.",
            base.label
        ));
    }
    if table.has_paper() {
        lines.push(
            "paper: median / max as published for the same message type, placement and topology; – \
             if the paper has none."
                .into(),
        );
    }
    lines.extend(settings::lines(
        &table.summary.run,
        &table.summary.experiments,
    ));
    lines
}
