//! What silence looks like: what each participant takes, and what all of them take together.

use crate::common::summary;
use dyno_kit::runs::idle::idle;
use dyno_model::TrialFigure;
use dyno_report::{Columns, Format, RenderOptions, render};

fn show(format: Format, columns: Columns) -> String {
    let options = RenderOptions {
        columns,
        color: false,
        ..RenderOptions::default()
    };
    render(&summary(&idle()), format, &options)
}

#[test]
fn silence_has_a_table_of_its_own_without_quantiles() {
    insta::assert_snapshot!(show(Format::Table, Columns::All));
    let brief = show(Format::Markdown, Columns::Brief);
    assert!(
        brief.contains("wake-ups/s") && !brief.contains("| p50"),
        "{brief}"
    );
}

#[test]
fn figures_are_there_for_each_stack_and_number_of_participants() {
    let summary = summary(&idle());
    let found = summary.experiments.iter().filter_map(|e| {
        let n = e.median(TrialFigure::Participants)?;
        let cpu = e.median(TrialFigure::CpuEach)?;
        Some((e.experiment.stack.as_str(), n, (cpu / 1e3).round()))
    });
    let found: Vec<_> = found.collect();
    let expected = [("udp", 2.0, 41.0), ("udp", 16.0, 328.0)];
    assert_eq!(found[..2], expected);
    assert_eq!(found.len(), 4, "one was never matched");
}
