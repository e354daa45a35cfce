//! Text that is safe to print: measured in terminal cells, wrapped to a width, and free of what
//! could move a cursor. Names and messages come from suite files and from foreign libraries.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Width in terminal cells of the widest line.
pub(crate) fn width(text: &str) -> usize {
    text.split('\n')
        .map(UnicodeWidthStr::width)
        .max()
        .unwrap_or(0)
}

/// `text` in one line, without escape sequences, control characters and marks that change the
/// direction of what follows.
pub fn clean(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' if chars.peek() == Some(&'[') => {
                // ECMA-48, section 5.4: a control sequence ends with a byte from 0x40 to 0x7e.
                chars.next();
                while chars
                    .next()
                    .is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c))
                {}
            }
            c if c.is_whitespace() || c.is_control() => shown.push(' '),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.push('\u{fffd}');
            }
            c => shown.push(c),
        }
    }
    shown
}

/// Breaks `text` at blanks into lines of at most `width` cells, inside a word only where the word
/// alone is too long. Lines after the first start with `indent` blanks. No width: one line.
pub fn wrap(text: &str, width: Option<usize>, indent: usize) -> Vec<String> {
    let Some(width) = width else {
        return vec![text.to_owned()];
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
    fn nothing_that_moves_the_cursor_survives() {
        assert_eq!(clean("a\x1b[31m\r\nb\u{202e}c\x07d\n"), "a  b\u{fffd}c d");
        assert_eq!(clean("\x1b[1;31"), "");
    }
}
