//! Every table in every width, which takes long.

use dyno_report::{Format, RenderOptions, render};
use unicode_width::UnicodeWidthStr;

#[test]
fn no_line_is_wider_than_asked() {
    for (name, run) in crate::common::all() {
        let summary = crate::common::summary(&run);
        for width in 80..260 {
            let options = RenderOptions {
                width: Some(width),
                color: false,
                sparklines: true,
                ..RenderOptions::default()
            };
            for line in render(&summary, Format::Table, &options).lines() {
                assert!(
                    line.width() <= width,
                    "{name} at {width}: {} in {line:?}",
                    line.width()
                );
            }
        }
    }
}
