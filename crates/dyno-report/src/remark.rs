//! One remark below a table: other modules create them, and `notes` collects them.

/// One remark, with lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) lines: Vec<String>,
}

impl Item {
    /// Puts a line below its text, which stands among the items once.
    pub(crate) fn add(items: &mut Vec<Item>, text: String, line: String) {
        match items.iter_mut().find(|item| item.text == text) {
            Some(item) => item.lines.push(line),
            None => items.push(Item {
                text,
                lines: vec![line],
            }),
        }
    }

    /// In one sentence: a text that announces lines is followed by the first of them.
    pub(crate) fn short(&self) -> String {
        match (self.text.ends_with(':'), self.lines.as_slice()) {
            (true, [first]) => format!("{} {first}", self.text),
            (true, [first, ..]) => format!("{} {first}; more with --notes all", self.text),
            _ => self.text.clone(),
        }
    }
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item {
            text,
            lines: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_remark_never_ends_in_a_colon() {
        let mut item = Item::from("the modes differ in frequency:".to_owned());
        item.lines.push("tcp: p50 1.00 µs and 2.00 µs".to_owned());
        let one = "the modes differ in frequency: tcp: p50 1.00 µs and 2.00 µs";
        assert_eq!(item.short(), one);
        item.lines.push("udp: p50 3.00 µs and 5.00 µs".to_owned());
        assert_eq!(item.short(), format!("{one}; more with --notes all"));
        // Lines of a text that does not announce them are details.
        item.text = "trials failed".to_owned();
        assert_eq!(item.short(), "trials failed");
    }
}
