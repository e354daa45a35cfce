//! How the formats for programs carry text of others: each by its own rules, and so that a terminal shows the file as it is.

use crate::text::{is_hidden, printable};
use serde::Serialize;

/// Indented JSON, ended by a newline.
pub fn json_text(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document)
        .expect("all map keys are strings and no field's Serialize fails");
    let mut text = escaped_json(text);
    text.push('\n');
    text
}

/// JSON that means the same, with an escape for each character that [`is_hidden`]: outside of strings there is none, and those of
/// C0 are escaped already (RFC 8259, section 7).
pub fn escaped_json(json: String) -> String {
    if !json.contains(is_hidden) {
        return json;
    }
    let mut text = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match is_hidden(c) {
            // Beyond the plane of four digits, as two surrogates.
            true => {
                let units = &mut [0; 2];
                for unit in c.encode_utf16(units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => text.push(c),
        }
    }
    text
}

/// XML that means the same, with a reference for each character that [`is_hidden`], and U+FFFD for what no XML document can hold, not
/// even as a reference (XML 1.0, production 2).
pub fn escaped_xml(xml: &str) -> String {
    let mut text = String::with_capacity(xml.len());
    for c in xml.chars() {
        match c {
            '\r' => text.push_str("&#xd;"),
            '\0'..'\u{20}' if !matches!(c, '\t' | '\n') => text.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => text.push('\u{fffd}'),
            c if is_hidden(c) => text.push_str(&format!("&#x{:x};", u32::from(c))),
            c => text.push(c),
        }
    }
    text
}

/// One record of CSV, ended by CR LF. Fields with a separator, a quote or a line break are quoted (RFC 4180, section 2). A
/// character that [`is_hidden`] is U+FFFD. A text that a spreadsheet would compute as a formula has an apostrophe before it.
pub fn csv_line(fields: impl IntoIterator<Item = String>) -> String {
    let shown = |field: String| {
        let text = printable(&field, false);
        let computed = text.starts_with(['=', '+', '-', '@', '\t']) && text.parse::<f64>().is_err();
        let text = match computed {
            true => format!("'{text}"),
            false => text.into_owned(),
        };
        match text.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text,
        }
    };
    let fields: Vec<String> = fields.into_iter().map(shown).collect();
    fields.join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_need_it_are_quoted() {
        let fields = ["a", "b,c", "d \"e\"", "f\ng"].map(str::to_owned);
        assert_eq!(csv_line(fields), "a,\"b,c\",\"d \"\"e\"\"\",\"f\ng\"\r\n");
    }

    #[test]
    fn a_field_is_no_formula_and_a_number_stays_one() {
        let fields = ["=1+1", "@a", "-x", "-1.5", "+inf", "\u{1b}[2J\u{9b}"].map(str::to_owned);
        assert_eq!(
            csv_line(fields),
            "'=1+1,'@a,'-x,-1.5,+inf,\u{fffd}[2J\u{fffd}\r\n"
        );
    }

    #[test]
    fn json_and_xml_say_the_same_without_a_hidden_character() {
        let hostile = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}é🚗\n";
        let text = json_text(&[hostile]);
        assert!(!text.contains(is_hidden), "{text:?}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [hostile]);
        assert_eq!(
            escaped_xml("a\u{1b}\0\u{ffff}\u{7f}\u{9b}\u{202e}\u{2028}é🚗\r\n"),
            "a\u{fffd}\u{fffd}\u{fffd}&#x7f;&#x9b;&#x202e;&#x2028;é🚗&#xd;\n"
        );
    }
}
