//! Common parts of the tables of studies: titles, tables and lists below each other, for a terminal or as Markdown.

use crate::grid::Grid;
use crate::markdown::escape;
use crate::notes::Section;
use crate::table::Lines;

/// The text under construction, for a terminal or as Markdown.
pub(crate) struct Page {
    pub(crate) lines: Lines,
    markdown: bool,
}

impl Page {
    /// Nothing yet; with `markdown` the width is ignored.
    pub(crate) fn new(limit: Option<usize>, markdown: bool) -> Page {
        Page {
            lines: Lines {
                text: String::new(),
                width: if markdown { None } else { limit },
            },
            markdown,
        }
    }

    /// What was run, and where.
    pub(crate) fn head(&mut self, title: &str, origin: &str) {
        match self.markdown {
            true => {
                self.lines.add(&format!("## {}", escape(title)), 0);
                self.lines.blank();
                self.lines.add(&escape(origin), 0);
            }
            false => {
                self.lines.add(title, 2);
                self.lines.add(origin, 2);
            }
        }
    }

    fn title(&mut self, title: &str, banner: bool) {
        self.lines.blank();
        match (self.markdown, banner) {
            (true, _) => {
                self.lines.add(&format!("### {}", escape(title)), 0);
                self.lines.blank();
            }
            (false, true) => self.lines.add(&format!("****** {title} ********"), 7),
            (false, false) => self.lines.add(&format!("{title}:"), 2),
        }
    }

    /// A titled table with paragraphs above and below it; nothing where it has no rows.
    pub(crate) fn part(
        &mut self,
        title: &str,
        banner: bool,
        [above, below]: &[Vec<String>; 2],
        grid: &Grid,
    ) {
        if grid.is_empty() {
            return;
        }
        self.title(title, banner);
        if !self.markdown && !above.is_empty() {
            self.lines.blank();
        }
        for text in above {
            // A heading stays one.
            match self.markdown && !text.starts_with('#') {
                true => self.lines.add(&escape(text), 0),
                false => self.lines.add(text, 0),
            }
            if self.markdown {
                self.lines.blank();
            }
        }
        if !self.markdown && !above.is_empty() {
            self.lines.blank();
        }
        for line in grid.lines(self.lines.width, self.markdown) {
            self.lines.text.push_str(&line);
            self.lines.text.push('\n');
        }
        if !below.is_empty() {
            self.lines.blank();
        }
        for text in below {
            match self.markdown {
                true => self.lines.add(&escape(text), 0),
                false => self.lines.add(text, 2),
            }
        }
    }

    /// The remarks on a run.
    pub(crate) fn remarks(&mut self, sections: &[Section]) {
        if self.markdown {
            crate::markdown::sections(&mut self.lines.text, sections);
        } else {
            self.lines.sections(sections);
        }
    }

    /// A titled list; nothing where it is empty.
    pub(crate) fn list(&mut self, title: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.title(title, false);
        for item in items {
            match self.markdown {
                true => self
                    .lines
                    .add(&format!("- {}", escape(&item.to_string())), 0),
                false => self.lines.add(&format!("  {}", item), 4),
            }
        }
    }
}
