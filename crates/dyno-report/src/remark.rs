//! One remark below a table: whoever has something to say makes it, and `notes` gathers them.

/// One remark, with lines that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) text: String,
    pub(crate) lines: Vec<String>,
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item {
            text,
            lines: Vec::new(),
        }
    }
}
