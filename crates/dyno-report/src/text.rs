//! Text that is safe to print: measured in terminal cells, wrapped to a width, and free of what
//! could move a cursor. Names and messages come from suite files and from foreign libraries.
//!
//! Text of others is cleaned where it enters a layout ([`clean`]), and once more where it leaves the program ([`printable`]).

use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Width in terminal cells of the widest line.
pub(crate) fn width(text: &str) -> usize {
    text.split('\n')
        .map(UnicodeWidthStr::width)
        .max()
        .unwrap_or(0)
}

/// What stands for a character that no reader may meet raw.
const SHOWN: char = '\u{fffd}';

/// Whether a character moves, hides or turns what stands around it instead of showing itself: those of C0 but newline and tab, DEL
/// and C1 (ECMA-48), the line and paragraph separators, what changes the direction of text (Unicode annex 9, table 1), and what has no
/// width: blanks, joiners, fillers, marks of annotations and tags, by which two names that differ look the same.
pub fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// `text` in one line, as it stands in a table or a sentence: without the control sequences (colours) that libraries print, with
/// blanks for white space, and U+FFFD for every other character that [`is_hidden`].
pub fn clean(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text.trim_end();
    while let Some(c) = rest.chars().next() {
        let sequence = sequence(rest);
        if !sequence.is_empty() {
            rest = &rest[sequence.len()..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        shown.push(match c {
            c if c.is_whitespace() => ' ',
            c if is_hidden(c) => SHOWN,
            c => c,
        });
    }
    shown
}

/// The most characters of a cell.
const CELL: usize = 2_000;

/// [`clean`] text of a table's cell, of which the beginning is shown where it is longer than 2,000 characters: a table takes time with
/// the square of its longest word.
pub fn cell(text: &str) -> String {
    let mut text = clean(text);
    if let Some((end, _)) = text.char_indices().nth(CELL) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// `text` of any number of lines with U+FFFD for what [`is_hidden`]; `styles`: sequences that set a colour or a weight (SGR,
/// ECMA-48, section 8.3.117) stay. CR LF ends a line.
pub fn printable(text: &str, styles: bool) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_hidden) {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let sequence = sequence(rest);
        let style = sequence.ends_with('m')
            && sequence[2..sequence.len() - 1]
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b';');
        let kept = match rest.starts_with("\r\n") {
            true => "\r\n",
            false if styles && style => sequence,
            false => "",
        };
        shown.push_str(kept);
        rest = &rest[kept.len()..];
        if kept.is_empty() {
            shown.push(SHOWN);
            let mut chars = rest.chars();
            chars.next();
            rest = chars.as_str();
        }
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// The control sequence that `text` begins with, or nothing: ESC [, parameters, intermediates, and a final byte (ECMA-48, section
/// 5.4).
fn sequence(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("\u{1b}[") else {
        return "";
    };
    let before = inner.trim_start_matches(|c| ('\u{30}'..='\u{3f}').contains(&c));
    let before = before.trim_start_matches(|c| ('\u{20}'..='\u{2f}').contains(&c));
    match before.chars().next() {
        Some('\u{40}'..='\u{7e}') => &text[..text.len() - before.len() + 1],
        _ => "",
    }
}

/// Cleans `text` and breaks it at blanks into lines of at most `width` cells, inside a word only where the word
/// alone is too long. Lines after the first start with `indent` blanks. No width: one line.
pub fn wrap(text: &str, width: Option<usize>, indent: usize) -> Vec<String> {
    let text = clean(text);
    let Some(width) = width else {
        return vec![text];
    };
    let indent = indent.min(width / 2);
    let margin = " ".repeat(indent);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let bare = UnicodeWidthStr::width(word.trim_end());
        let start = if lines.is_empty() { 0 } else { indent };
        if used + bare > width && used > start {
            lines.push(std::mem::replace(&mut line, margin.clone()));
            used = indent;
        }
        for c in word.chars() {
            let cells = c.width().unwrap_or(0);
            if used + cells > width {
                if c == ' ' {
                    continue;
                }
                lines.push(std::mem::replace(&mut line, margin.clone()));
                used = indent;
            }
            line.push(c);
            used += cells;
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_blanks_and_hang() {
        let lines = wrap("one two three four", Some(9), 2);
        assert_eq!(lines, ["one two", "  three", "  four"]);
        assert_eq!(wrap("one two", None, 2), ["one two"]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken() {
        assert_eq!(
            wrap("ab 0123456789", Some(6), 1),
            ["ab", " 01234", " 56789"]
        );
        assert_eq!(wrap("通信通信", Some(5), 0), ["通信", "通信"]);
    }

    #[test]
    fn a_cell_has_an_end() {
        assert_eq!(cell("a\tb"), "a b");
        let long = cell(&"ü".repeat(1_000_000));
        assert_eq!(long.chars().count(), CELL + 1);
        assert!(long.ends_with("ü…"));
    }

    #[test]
    fn nothing_that_moves_the_cursor_survives() {
        let hostile = "a\x1b[31m\r\nb\u{202e}c\x07d\u{9b}2J\n";
        assert_eq!(clean(hostile), "a  b\u{fffd}c\u{fffd}d\u{fffd}2J");
        assert_eq!(clean("\x1b[1;31"), "\u{fffd}[1;31");
        assert_eq!(
            clean("\x1b[1é\x1b]0;t\x07"),
            "\u{fffd}[1é\u{fffd}]0;t\u{fffd}"
        );
        assert_eq!(
            printable(hostile, false),
            "a\u{fffd}[31m\r\nb\u{fffd}c\u{fffd}d\u{fffd}2J\n"
        );
    }

    #[test]
    fn styles_stay_where_they_are_wanted_and_no_other_sequence_does() {
        let text = "\x1b[1;31mred\x1b[0m \x1b[2J \x1b[?25l \x1b]8;;x\x07 \x1b[";
        let shown = printable(text, true);
        assert_eq!(
            shown,
            "\x1b[1;31mred\x1b[0m \u{fffd}[2J \u{fffd}[?25l \u{fffd}]8;;x\u{fffd} \u{fffd}["
        );
        assert!(!printable(text, false).contains('\x1b'));
        assert!(matches!(
            printable("é 通信 e\u{301}\n\t", false),
            Cow::Borrowed(_)
        ));
    }

    proptest::proptest! {
        #[test]
        fn no_text_gets_through(text in proptest::prelude::any::<String>()) {
            proptest::prop_assert!(!clean(&text).contains(|c| is_hidden(c) || c == '\n' || c == '\t'));
            let shown = printable(&text, false);
            proptest::prop_assert!(!shown.replace("\r\n", "").contains(is_hidden));
            proptest::prop_assert_eq!(printable(&shown, false), shown.as_ref());
        }
    }
}
