//! A table keeps to the width that it is given, and to plain text where it must.

use dyno_report::{Format, RenderOptions, render};

#[test]
fn without_colour_nothing_but_text_is_printed() {
    for (name, run) in crate::common::all() {
        let summary = crate::common::summary(&run);
        for format in [Format::Table, Format::Markdown] {
            let text = render(&summary, format, &RenderOptions::default());
            let odd = text.chars().find(|c| c.is_control() && *c != '\n');
            assert_eq!(odd, None, "{name} as {format}");
        }
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let summary = crate::common::summary(&crate::common::quick());
    let shown = |color| {
        let options = RenderOptions {
            width: Some(100),
            color,
            ..RenderOptions::default()
        };
        render(&summary, Format::Table, &options)
    };
    let coloured = shown(true);
    assert!(coloured.contains("\x1b["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, shown(false).lines().collect::<Vec<_>>());
}

#[test]
fn every_condition_stands_in_every_table() {
    for (name, run) in crate::common::all() {
        let summary = crate::common::summary(&run);
        for format in [Format::Table, Format::Markdown] {
            let text = render(&summary, format, &RenderOptions::default());
            for e in &summary.experiments {
                let x = &e.experiment;
                for factor in [x.wait.as_str(), x.access.as_str(), x.placement.as_str()] {
                    assert!(text.contains(factor), "{name} as {format}: {factor}");
                }
            }
        }
    }
}

#[test]
fn a_terminal_with_room_shows_the_shape_of_each_distribution() {
    let summary = crate::common::summary(&crate::common::quick());
    let shown = |width, sparklines| {
        let options = RenderOptions {
            width,
            color: false,
            sparklines,
            ..RenderOptions::default()
        };
        render(&summary, Format::Table, &options)
    };
    let is_bar = |c: char| ('▁'..='█').contains(&c);
    let wide = shown(Some(250), true);
    let rows = wide.lines().filter(|l| l.contains(is_bar)).count();
    let measured = |e: &&dyno_report::ExperimentSummary| e.headline_metric().is_some();
    assert_eq!(rows, summary.experiments.iter().filter(measured).count());
    assert!(wide.contains("shape: samples from the smallest"), "{wide}");
    // What has no room for it, and what is no terminal, is as it was.
    for width in [Some(80), None] {
        assert_eq!(shown(width, true), shown(width, false));
        assert!(!shown(width, true).contains(is_bar));
    }
}

#[test]
fn the_shape_is_explained_where_a_table_shows_it() {
    let summary = crate::common::summary(&crate::common::iceperf());
    let mut explained = 0;
    for width in 40..200 {
        let options = RenderOptions {
            width: Some(width),
            color: false,
            sparklines: true,
            ..RenderOptions::default()
        };
        let text = render(&summary, Format::Table, &options);
        let is_shown = text.contains("Shape");
        assert_eq!(
            text.contains("shape: samples"),
            is_shown,
            "{width}:\n{text}"
        );
        explained += usize::from(is_shown);
    }
    assert!(explained > 0 && explained < 160, "{explained}");
}
