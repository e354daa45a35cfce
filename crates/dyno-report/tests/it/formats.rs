//! What each format looks like.

use dyno_model::record::Run;
use dyno_report::{Columns, Format, Notes, RenderOptions, Summary, render};
use dyno_stats::{Estimate, Latency, Quantile};

/// A summary whose intervals have four digits, so that a snapshot shows a change of form and not
/// one in the last places of a bootstrap.
fn summary(run: &Run) -> Summary {
    let mut summary = crate::common::summary(run);
    let four = |v: f64| format!("{v:.3e}").parse().unwrap();
    let tidy = |e: &mut Estimate| {
        for end in [&mut e.value, &mut e.lo, &mut e.hi] {
            if let Latency::Finite(v) = end {
                *v = four(*v);
            }
        }
    };
    for e in &mut summary.experiments {
        for quantile in e.metrics.values_mut().flat_map(|m| &mut m.quantiles) {
            if let Quantile::Estimated(estimate) = quantile {
                tidy(estimate);
            }
        }
        if let Some(ratio) = e.floor.as_mut().and_then(|f| f.p50_ratio.as_mut()) {
            tidy(ratio);
        }
        if let Some(stability) = &mut e.stability {
            stability.repeat_within = four(stability.repeat_within);
        }
    }
    summary
}

fn show(run: &Run, format: Format, width: Option<usize>) -> String {
    let options = RenderOptions {
        width,
        color: false,
        ..RenderOptions::default()
    };
    render(&summary(run), format, &options)
}

#[test]
fn a_table_without_a_width_has_every_column_in_one_line() {
    insta::assert_snapshot!(show(&crate::common::quick(), Format::Table, None));
}

/// As a terminal of that width shows it unless more is asked for.
fn brief(run: &Run, width: usize) -> String {
    let options = RenderOptions {
        width: Some(width),
        columns: Columns::Brief,
        notes: Notes::Short,
        ..RenderOptions::default()
    };
    render(&summary(run), Format::Table, &options)
}

#[test]
fn a_terminal_of_eighty_columns_has_what_most_want_in_one_line_each() {
    insta::assert_snapshot!(brief(&crate::common::quick(), 80));
}

#[test]
fn a_brief_table_without_a_terminal_has_120_cells_and_says_what_it_leaves_out() {
    let summary = summary(&crate::common::quick());
    let of = |columns| {
        let options = RenderOptions {
            columns,
            ..RenderOptions::default()
        };
        render(&summary, Format::Table, &options)
    };
    let widest = |text: &str| {
        let rule = text.lines().position(|l| l.starts_with('─')).unwrap();
        let rows = text.lines().skip(rule - 1).take_while(|l| !l.is_empty());
        rows.map(|l| l.chars().count()).max().unwrap()
    };
    let (brief, all) = (of(Columns::Brief), of(Columns::All));
    assert!(widest(&brief) <= 120 && widest(&all) > 120, "{brief}");
    assert!(brief.contains("Not shown: p90, "), "{brief}");
    assert!(
        brief.contains("; `dyno show --wide` shows all columns."),
        "{brief}"
    );
    assert!(!all.contains("Not shown"), "{all}");
    // A sentence is one line, so that programs find it.
    let longest = brief.lines().map(|l| l.chars().count()).max();
    assert!(longest > Some(120), "{brief}");
}

#[test]
fn below_a_brief_table_stand_at_most_twelve_lines_and_how_many_more_there_are() {
    let stacks = |run: &Run| {
        let plan = &run.manifest.plan;
        plan.table == "stacks" && !plan.experiments.is_empty()
    };
    for (name, run) in crate::common::all()
        .into_iter()
        .filter(|(_, run)| stacks(run))
    {
        for width in [80, 100, 120] {
            let text = brief(&run, width);
            // Heading, table, what stands below.
            let below = text.split("\n\n").last().unwrap();
            let (lines, rest) = below.trim_end().rsplit_once('\n').unwrap_or(("", below));
            assert!(lines.lines().count() <= 12, "{name} at {width}:\n{text}");
            assert!(rest.contains("--notes all"), "{name} at {width}:\n{text}");
        }
    }
}

#[test]
fn the_columns_that_are_named_are_there_and_no_others() {
    let options = |columns: &str| RenderOptions {
        columns: columns.parse().unwrap(),
        ..RenderOptions::default()
    };
    let head = |text: &str| {
        text.split("\n\n")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let shown = |columns| {
        head(&render(
            &summary(&crate::common::quick()),
            Format::Table,
            &options(columns),
        ))
    };
    let words = |text: String| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        words(shown("p90,trials")),
        ["stack", "p90", "µs", "trials", "(failed)"]
    );
    let markdown = render(
        &summary(&crate::common::quick()),
        Format::Markdown,
        &options("p50"),
    );
    assert!(markdown.contains("| stack | p50 µs |\n"), "{markdown}");
}

#[test]
fn a_table_in_a_wide_terminal() {
    insta::assert_snapshot!(show(&crate::common::quick(), Format::Table, Some(140)));
}

#[test]
fn a_table_in_eighty_columns() {
    insta::assert_snapshot!(show(&crate::common::quick(), Format::Table, Some(80)));
}

#[test]
fn open_loops_show_response_service_loss_and_rates() {
    insta::assert_snapshot!(show(&crate::common::streams(), Format::Table, None));
}

#[test]
fn open_loops_in_a_hundred_columns() {
    insta::assert_snapshot!(show(&crate::common::streams(), Format::Table, Some(100)));
}

#[test]
fn markdown_has_the_same_columns() {
    insta::assert_snapshot!(show(&crate::common::quick(), Format::Markdown, Some(80)));
}

#[test]
fn iceperfs_sections() {
    insta::assert_snapshot!(show(&crate::common::iceperf(), Format::Table, None));
}

#[test]
fn iceperfs_sections_in_eighty_columns() {
    insta::assert_snapshot!(show(&crate::common::iceperf(), Format::Table, Some(80)));
}

#[test]
fn iceperfs_sections_as_markdown() {
    insta::assert_snapshot!(show(&crate::common::iceperf(), Format::Markdown, None));
}

#[test]
fn l4res_tables() {
    insta::assert_snapshot!(show(&crate::common::l4re::l4re(), Format::Table, Some(110)));
}

#[test]
fn the_counter_of_arms_timer_has_no_ticks_beside_core_cycles() {
    let mut run = crate::common::l4re::l4re();
    run.manifest.environment.clock.source = "cntvct".into();
    run.manifest.environment.cpu_model = "Cortex-A76".into();
    let text = show(&run, Format::Table, None);
    assert!(
        text.contains("No ticks: the run's clock is cntvct"),
        "{text}"
    );
    let ours = text.lines().find(|l| l.contains("Linux, futex")).unwrap();
    let cells: Vec<&str> = ours.split('|').map(str::trim).collect();
    assert_eq!(cells[2..4], ["–", "–"], "{ours}");
}

#[test]
fn l4res_tables_as_markdown() {
    insta::assert_snapshot!(show(&crate::common::l4re::l4re(), Format::Markdown, None));
}

#[test]
fn json_is_complete_for_a_run_that_is_not() {
    insta::assert_snapshot!(show(&crate::common::small(), Format::Json, None));
}

#[test]
fn csv_has_a_row_per_experiment_and_metric() {
    insta::assert_snapshot!(
        show(&crate::common::streams(), Format::Csv, None).replace("\r\n", "\n")
    );
}

#[test]
fn what_may_be_trusted_stands_below_the_table() {
    insta::assert_snapshot!(show(&crate::common::held::held(), Format::Table, None));
}

#[test]
fn what_may_be_trusted_in_a_hundred_columns() {
    insta::assert_snapshot!(show(&crate::common::held::held(), Format::Table, Some(100)));
}

#[test]
fn what_may_be_trusted_as_markdown() {
    insta::assert_snapshot!(show(&crate::common::held::held(), Format::Markdown, None));
}

#[test]
fn a_base_is_marked() {
    insta::assert_snapshot!(show(&crate::common::held::against(), Format::Table, None));
}

#[test]
fn an_empty_run_is_shown_as_one() {
    let run = crate::common::empty();
    let all: Vec<String> = Format::ALL
        .iter()
        .map(|f| format!("--- {f}\n{}", show(&run, *f, Some(80))))
        .collect();
    insta::assert_snapshot!(all.concat().replace("\r\n", "\n"));
}

#[test]
fn a_run_that_was_interrupted_says_what_is_missing() {
    insta::assert_snapshot!(show(&crate::common::small(), Format::Table, Some(100)));
}
