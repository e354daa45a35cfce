//! What an importer gathers: figures with unique names, samples, banners; all of them bounded.

use super::error::{ImportError, Imported};
use super::number::Number;
use super::tool::Tool;
use crate::Statements;
use crate::statement::{
    Banner, Dimension, Figure, Method, Of, Place, Quantity, Relation, RelationKind, Samples,
    Statistic, Unit,
};
use std::collections::BTreeMap;

/// The most figures of one file.
pub const FIGURES: usize = 100_000;

/// The most raw values of one file that are kept; what is beyond is counted.
pub const SAMPLES: usize = 1_000_000;

/// The most banners of one file that are kept.
const BANNERS: usize = 200;

/// The most characters of a line that a place repeats.
const SHOWN: usize = 200;

/// Where a figure is read from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spot<'a> {
    /// A line with its number.
    Line(u64, &'a str),
    /// A value of a JSON document.
    Path(&'a str),
}

impl Spot<'_> {
    fn place(self, row: &str, column: String) -> Place {
        let (section, text) = match self {
            Spot::Line(line, text) => (format!("line {line}"), text.trim()),
            Spot::Path(path) => (path.to_owned(), ""),
        };
        Place {
            section,
            row: row.to_owned(),
            column,
            text: text.chars().take(SHOWN).collect(),
        }
    }

    pub(super) fn error(self, reason: impl Into<String>) -> ImportError {
        match self {
            Spot::Line(line, _) => ImportError::line(line, reason),
            Spot::Path(path) => ImportError::path(path, reason),
        }
    }
}

/// Values that belong together: what figures are statistics of.
#[derive(Debug, Clone)]
pub(super) struct Data {
    pub(super) name: String,
    pub(super) quantity: Quantity,
    pub(super) unit: Unit,
    pub(super) n: Option<u64>,
    pub(super) of: Of,
    pub(super) each: Option<u64>,
    pub(super) conditions: BTreeMap<String, String>,
    pub(super) method: Method,
}

impl Data {
    pub(super) fn of(mut self, of: Of, n: Option<u64>) -> Data {
        (self.of, self.n) = (of, n);
        self
    }

    pub(super) fn with(mut self, condition: &str, value: impl Into<String>) -> Data {
        self.conditions.insert(condition.to_owned(), value.into());
        self
    }

    /// Another quantity of the same run: a single value of it.
    pub(super) fn other(&self, quantity: Quantity, unit: Unit) -> Data {
        Data {
            quantity,
            unit,
            n: None,
            of: Of::Unknown,
            each: None,
            ..self.clone()
        }
    }
}

pub(super) struct Out {
    tool: Tool,
    statements: Statements,
    /// How often a name of data or figures was used.
    names: BTreeMap<String, u32>,
    /// The quantity of the first figure of each data.
    main: BTreeMap<String, Quantity>,
    /// The data that was made last under a name, within a document.
    last: BTreeMap<String, String>,
    samples: usize,
}

impl Out {
    pub(super) fn new(tool: Tool) -> Out {
        Out {
            tool,
            statements: Statements::default(),
            names: BTreeMap::new(),
            main: BTreeMap::new(),
            last: BTreeMap::new(),
            samples: 0,
        }
    }

    /// New data under this name, or under `NAME (2)` where there is one of it.
    pub(super) fn data(&mut self, name: &str, quantity: Quantity, unit: Unit) -> Data {
        let asked = name.trim();
        let times = self.names.entry(asked.to_owned()).or_insert(0);
        *times += 1;
        let name = match *times {
            1 => asked.to_owned(),
            more => format!("{asked} ({more})"),
        };
        self.last.insert(asked.to_owned(), name.clone());
        self.main.insert(name.clone(), quantity);
        Data {
            conditions: BTreeMap::from([("benchmark".to_owned(), name.clone())]),
            name,
            quantity,
            unit,
            n: None,
            of: Of::Unknown,
            each: None,
            method: Method {
                tool: Some(self.tool.as_str().to_owned()),
                ..Method::default()
            },
        }
    }

    /// This data as of no quantity, by which no check judges it.
    pub(super) fn unjudged(&mut self, data: Data) -> Data {
        self.main.insert(data.name.clone(), Quantity::Other);
        Data {
            quantity: Quantity::Other,
            ..data
        }
    }

    /// A figure named `NAME/STATISTIC`, or `NAME/QUANTITY-STATISTIC` where it is not of the data's main quantity.
    pub(super) fn put(
        &mut self,
        data: &Data,
        statistic: Statistic,
        number: Number,
        spot: Spot<'_>,
    ) -> Imported<()> {
        let (word, quantity) = (statistic.to_string(), data.quantity.as_str());
        let main = self.main.get(&data.name) == Some(&data.quantity);
        let part = match main || word == quantity {
            true => word,
            false => format!("{quantity}-{word}"),
        };
        self.put_named(data, &part, statistic, number, spot)
    }

    /// A figure named `NAME/PART`.
    pub(super) fn put_named(
        &mut self,
        data: &Data,
        part: &str,
        statistic: Statistic,
        number: Number,
        spot: Spot<'_>,
    ) -> Imported<()> {
        if self.statements.figures.len() >= FIGURES {
            return Err(spot.error(format!(
                "there are more than {FIGURES} figures; split the file"
            )));
        }
        let id = format!("{}/{part}", data.name);
        let times = self.names.entry(id.clone()).or_insert(0);
        *times += 1;
        let id = match *times {
            1 => id,
            more => format!("{id} ({more})"),
        };
        self.statements.figures.push(Figure {
            id,
            place: spot.place(&data.name, part.to_owned()),
            printed: number.printed(data.unit.clone()),
            quantity: data.quantity,
            statistic,
            n: data.n,
            of: data.of,
            each: data.each,
            data: data.name.clone(),
            conditions: data.conditions.clone(),
            method: data.method.clone(),
        });
        Ok(())
    }

    /// A count with a name of its own.
    pub(super) fn count(
        &mut self,
        data: &Data,
        (quantity, what): (Quantity, &str),
        (part, n): (&str, u64),
        spot: Spot<'_>,
    ) -> Imported<()> {
        let of = data.other(quantity, counted(what));
        self.put_named(&of, part, Statistic::Count, Number::of(n as f64, 0.0), spot)
    }

    /// An empty list of raw values of `data`, whose first stands on `line`.
    pub(super) fn raw(&self, data: &Data, part: &str, line: u64) -> Samples {
        Samples {
            id: format!("{}/{part}", data.name),
            data: data.name.clone(),
            conditions: data.conditions.clone(),
            quantity: Some(data.quantity),
            method: data.method.clone(),
            line,
            ..Samples::default()
        }
    }

    /// Adds a value, in the unit of `data`, while there is room for it.
    pub(super) fn add(
        &mut self,
        raw: &mut Samples,
        data: &Data,
        value: &Number,
        each: u64,
    ) -> bool {
        if self.samples >= SAMPLES {
            raw.left_out += 1;
            return false;
        }
        self.samples += 1;
        raw.values.push(value.value * data.unit.factor);
        raw.each.push(each);
        raw.step = raw.step.max(2.0 * value.half_step * data.unit.factor);
        true
    }

    pub(super) fn keep(&mut self, raw: Samples) {
        if !raw.values.is_empty() {
            self.statements.samples.push(raw);
        }
    }

    pub(super) fn banner(&mut self, spot: Spot<'_>) {
        if self.statements.banners.len() < BANNERS {
            let place = spot.place("", String::new());
            self.statements.banners.push(Banner {
                line: match spot {
                    Spot::Line(line, _) => line,
                    Spot::Path(_) => 1,
                },
                text: place.text,
                place: place.section,
            });
        }
    }

    /// A banner that a JSON document has as a value.
    pub(super) fn banner_value(&mut self, path: &str, text: &str) {
        if self.statements.banners.len() < BANNERS {
            self.statements.banners.push(Banner {
                place: path.to_owned(),
                line: 1,
                text: text.chars().take(SHOWN).collect(),
            });
        }
    }

    /// The date of the measurement, as printed.
    pub(super) fn tested(&mut self, date: &str) {
        let date = date.trim().chars().take(SHOWN).collect();
        self.statements.source.tested.get_or_insert(date);
    }

    /// What the tool says of itself, such as a failure.
    pub(super) fn note(&mut self, note: String) {
        if self.statements.notes.len() < BANNERS {
            self.statements.notes.push(note);
        }
    }

    /// A relation between figures, each named `{DATA/PART}` or, of this data, `{PART}`. One whose figures are not all there is none.
    pub(super) fn holds(&mut self, data: &Data, relation: &str) {
        self.relation(&data.name, relation);
    }

    /// Another document begins, whose relations are between its own figures.
    pub(super) fn document(&mut self) {
        self.last.clear();
    }

    /// The same, where each figure has its data named, which is the last of that name.
    pub(super) fn holds_of(&mut self, relation: &str) {
        self.relation("", relation);
    }

    fn relation(&mut self, data: &str, relation: &str) {
        let mut formula = String::new();
        for (i, part) in relation.split(['{', '}']).enumerate() {
            let id = match (i % 2, part.contains('/')) {
                (0, _) => {
                    formula.push_str(part);
                    continue;
                }
                (_, true) if data.is_empty() => {
                    let Some((name, figure)) = part.rsplit_once('/') else {
                        return;
                    };
                    let Some(name) = self.last.get(name) else {
                        return;
                    };
                    format!("{name}/{figure}")
                }
                (_, true) => part.to_owned(),
                (_, false) => format!("{data}/{part}"),
            };
            // These two mean something in a formula.
            if !self.names.contains_key(&id) || id.contains(['*', '`']) {
                return;
            }
            formula.push_str(&format!("`{id}`"));
        }
        self.statements.relations.push(Relation {
            place: String::new(),
            kind: RelationKind::Formula(formula),
        });
    }

    pub(super) fn done(self) -> Statements {
        self.statements
    }
}

/// A unit as printed.
pub(super) fn unit(text: &str, dimension: Dimension, factor: f64) -> Unit {
    Unit {
        text: text.to_owned(),
        dimension,
        factor,
    }
}

/// Things that are counted.
pub(super) fn counted(what: &str) -> Unit {
    unit(what, Dimension::One, 1.0)
}

pub(super) fn second() -> Unit {
    unit("s", Dimension::Time, 1.0)
}

pub(super) fn ns() -> Unit {
    unit("ns", Dimension::Time, 1e-9)
}

pub(super) fn us() -> Unit {
    unit("µs", Dimension::Time, 1e-6)
}

pub(super) fn ms() -> Unit {
    unit("ms", Dimension::Time, 1e-3)
}

pub(super) fn percent() -> Unit {
    unit("%", Dimension::One, 0.01)
}

pub(super) fn per_second() -> Unit {
    unit("1/s", Dimension::Rate, 1.0)
}

/// A unit of time by what tools call it.
pub(super) fn time(text: &str) -> Option<Unit> {
    let factor = match text {
        "ps" => 1e-12,
        "ns" => 1e-9,
        "us" | "µs" | "μs" | "usec" => 1e-6,
        "ms" | "msec" => 1e-3,
        "s" | "sec" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Some(unit(text, Dimension::Time, factor))
}
