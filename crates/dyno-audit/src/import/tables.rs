//! Tools whose output is lines of a few forms, declared as data: what begins a set of figures, what is said of it, its rows, and what each field of
//! a row is. One reader serves them all, and finds lines wherever they stand.

use super::error::Imported;
use super::json::Node;
use super::lines::Lines;
use super::number::{Number, with_suffix};
use super::out::{Data, FIGURES, Out, Spot, percent, time, unit};
use crate::Statements;
use crate::statement::{Dimension, Of, Quantity, Samples, Statistic, Unit};
use std::collections::BTreeMap;

/// What a tool prints.
pub(super) struct Table {
    /// Forms of lines, of which the first that fits counts: words between blanks, without a comma or a semicolon at their end. `{x}` is a
    /// number with what stands around it, `{x*}` a word, `{x**}` all words up to the next of the form. More may stand behind a form, unless
    /// a point ends it.
    pub(super) lines: &'static [(Role, &'static str)],
    /// Fields that are figures. Others may be statistics of the set by their names (`mean`, `p99`), `{p}` with `{at}` a percentile, `{raw}` a
    /// measured value; what is left says something of the set.
    pub(super) fields: &'static [Field],
    /// What a set is called, with what is said of it: the first of these between bars of which all is said.
    pub(super) name: &'static str,
    /// The field that says of how many values a set is.
    pub(super) n: &'static str,
    pub(super) quantity: Quantity,
    /// Of numbers without one.
    pub(super) unit: &'static str,
    pub(super) known: Known,
    /// Conditions of a set of which all is said.
    pub(super) conditions: &'static [(&'static str, &'static str)],
    /// How the tool measures.
    pub(super) describe: fn(&mut Data, &Said),
    /// What more is open of statistics of the set.
    pub(super) adjust: fn(&Said, &mut Number),
    /// What holds between the figures of a set, with what is said of it.
    pub(super) holds: &'static [&'static str],
    /// What a set without its end lacks, and whether somebody may have left that out of a copy.
    pub(super) lacks: fn(&[Line]) -> Option<(&'static str, bool)>,
    /// Whether a form may stand behind other words of a line.
    pub(super) anywhere: bool,
}

/// A table to be filled.
pub(super) const PLAIN: Table = Table {
    lines: &[],
    fields: &[],
    name: "{name}",
    n: "n",
    quantity: Quantity::Latency,
    unit: "µs",
    known: Known::Rounded,
    conditions: &[("payload", "{size} B")],
    describe: |_, _| {},
    adjust: |_, _| {},
    holds: &[],
    lacks: |_| None,
    anywhere: false,
};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// Begins a set, of which nothing is said yet but what `Stays` said.
    Begin,
    /// Says something of all that follow, and is no figure.
    Stays,
    /// Belongs to the set that began.
    Row,
    /// Is a set of its own.
    Set,
}

pub(super) struct Field {
    name: &'static str,
    /// In the figure's name; empty: what quantity and statistic make of it.
    part: &'static str,
    quantity: Quantity,
    statistic: Statistic,
    /// Empty: it stands at the end of the number.
    unit: &'static str,
    known: Known,
    /// Behind the name of the set, where it is of other data.
    of: &'static str,
    /// What holds of this figure alone.
    condition: Option<(&'static str, &'static str)>,
    /// To which it is rounded in JSON, whose numbers do not show it.
    decimals: Option<usize>,
}

pub(super) const fn field(
    name: &'static str,
    quantity: Quantity,
    statistic: Statistic,
    unit: &'static str,
    known: Known,
) -> Field {
    Field {
        name,
        part: "",
        quantity,
        statistic,
        unit,
        known,
        of: "",
        condition: None,
        decimals: None,
    }
}

/// Fields, each in a line: its name in forms or its key, what it is, its unit, what it leaves open, and what is particular to it.
macro_rules! fields {
    ($($name:literal: $quantity:ident $statistic:ident$(($rank:literal))? $unit:literal $known:ident $(.$more:ident($($of:expr),*))*;)*) => {
        &[$($crate::import::tables::field(
            $name,
            $crate::statement::Quantity::$quantity,
            $crate::statement::Statistic::$statistic$(($rank))?,
            $unit,
            $crate::import::tables::Known::$known,
        )$(.$more($($of),*))*,)*]
    };
}

pub(super) use fields;

impl Field {
    pub(super) const fn part(self, part: &'static str) -> Field {
        Field { part, ..self }
    }

    pub(super) const fn of(self, of: &'static str) -> Field {
        Field { of, ..self }
    }

    pub(super) const fn decimals(self, decimals: usize) -> Field {
        Field {
            decimals: Some(decimals),
            ..self
        }
    }

    pub(super) const fn with(self, name: &'static str, value: &'static str) -> Field {
        Field {
            condition: Some((name, value)),
            ..self
        }
    }
}

/// What a printed number leaves open.
#[derive(Clone, Copy)]
pub(super) enum Known {
    Rounded,
    Cut,
    Exact,
}

impl Known {
    fn of(self, number: Number) -> Number {
        match self {
            Known::Rounded => number,
            Known::Cut => number.cut(),
            Known::Exact => number.exact(),
        }
    }
}

impl Table {
    /// A figure of this field, of a number that does not stand in a line of the table.
    pub(super) fn put(
        &self,
        out: &mut Out,
        data: &Data,
        (name, number): (&str, Number),
        spot: Spot<'_>,
    ) -> Imported<()> {
        match self.fields.iter().find(|f| f.name == name) {
            Some(field) => {
                let own = unit_of(field.quantity, field.unit);
                field.put(out, data, field.known.of(number), own, spot)
            }
            None => Ok(()),
        }
    }

    /// What holds between the figures of this data.
    pub(super) fn hold(&self, out: &mut Out, data: &Data, said: &Said) {
        for relation in self.holds {
            if let Some(relation) = relation_of(relation, said) {
                out.holds(data, &relation);
            }
        }
    }
}

/// A line of a set.
pub(super) struct Line {
    number: u64,
    pub(super) text: String,
    fields: Fields,
}

impl Line {
    fn spot(&self) -> Spot<'_> {
        Spot::Line(self.number, &self.text)
    }
}

/// What is said of a set, by field.
pub(super) type Said = BTreeMap<&'static str, String>;

/// Lines that a set keeps until it ends.
const LINES: usize = 1_000;

pub(super) struct Reader {
    table: &'static Table,
    stays: Said,
    lines: Vec<Line>,
    begun: bool,
    raw: BTreeMap<String, (Data, Samples)>,
    /// The set that ended last.
    pub(super) last: Option<Data>,
}

/// All of a file by one table.
pub(super) fn read(input: &mut Lines<'_>, table: &'static Table) -> Imported<Statements> {
    let (mut out, mut reader) = (Out::new(input.tool()), Reader::new(table));
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        if !reader.line(&mut out, input, &line)? {
            input.own(&line)?;
        }
    }
    reader.done(&mut out, input)?;
    Ok(out.done())
}

impl Reader {
    pub(super) fn new(table: &'static Table) -> Reader {
        Reader {
            table,
            stays: Said::new(),
            lines: Vec::new(),
            begun: false,
            raw: BTreeMap::new(),
            last: None,
        }
    }

    /// Takes a line, if it is one of the table's.
    pub(super) fn line(
        &mut self,
        out: &mut Out,
        input: &mut Lines<'_>,
        text: &str,
    ) -> Imported<bool> {
        match fitting(self.table, text) {
            Ok(Some((role, fields))) => {
                let line = Line {
                    number: input.number(),
                    text: text.to_owned(),
                    fields,
                };
                self.take(out, input, role, line)?;
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(reason) => Err(input.error(reason)),
        }
    }

    /// Says something of all sets that follow.
    pub(super) fn say(&mut self, field: &'static str, value: String) {
        self.stays.insert(field, value);
    }

    fn take(
        &mut self,
        out: &mut Out,
        input: &mut Lines<'_>,
        role: Role,
        line: Line,
    ) -> Imported<()> {
        match role {
            Role::Stays => self.stays.extend(line.fields),
            Role::Set => {
                self.lines.push(line);
                self.put(out)?;
            }
            Role::Begin => {
                self.end(out, input)?;
                self.begun = true;
                self.lines.push(line);
            }
            Role::Row if self.begun && self.lines.len() < LINES => self.lines.push(line),
            Role::Row if self.begun => {
                let tool = input.tool().as_str();
                return Err(input.error(format!("a set of {tool} has no more than {LINES} lines")));
            }
            Role::Row => {}
        }
        Ok(())
    }

    /// Ends the set that began, if one did.
    pub(super) fn end(&mut self, out: &mut Out, input: &mut Lines<'_>) -> Imported<()> {
        if !std::mem::take(&mut self.begun) {
            return Ok(());
        }
        match (self.table.lacks)(&self.lines) {
            Some((mark, false)) => return Err(input.cut(mark)),
            Some((mark, true)) => input.note_cut(mark),
            None => {}
        }
        self.put(out)
    }

    pub(super) fn done(mut self, out: &mut Out, input: &mut Lines<'_>) -> Imported<()> {
        self.end(out, input)?;
        let mut all: Vec<Samples> = self.raw.into_values().map(|(_, raw)| raw).collect();
        all.sort_by_key(|raw| raw.line);
        all.into_iter().for_each(|raw| out.keep(raw));
        Ok(())
    }

    /// The figures of a set, of which all lines are known.
    fn put(&mut self, out: &mut Out) -> Imported<()> {
        let (table, lines) = (self.table, std::mem::take(&mut self.lines));
        let mut said = self.stays.clone();
        said.extend(lines.iter().flat_map(|l| l.fields.iter().cloned()));
        let mut n = None;
        for line in &lines {
            for (_, text) in line.fields.iter().filter(|(field, _)| *field == table.n) {
                n = Some(Number::count(text).map_err(|e| line.spot().error(e))?);
            }
        }
        if let (None, Some(text)) = (n, said.get(table.n)) {
            n = text.parse().ok();
        }
        let mut names = table.name.split('|').filter_map(|name| filled(name, &said));
        let name = names.next().ok_or_else(|| {
            let at = lines.first().map_or(Spot::Line(0, ""), Line::spot);
            at.error(
                "the output does not say what these figures describe; is it from another version of the tool?",
            )
        })?;
        // Of how many events a rate is, n would not say.
        let of = match table.quantity {
            Quantity::Rate => Of::Unknown,
            _ => Of::Samples,
        };
        let mut data: Option<Data> = None;
        let mut start = |out: &mut Out, own: Unit| {
            let made = || {
                let data = out.data(&name, table.quantity, own.clone());
                described(table, data.of(of, n), &said)
            };
            let data = data.get_or_insert_with(made);
            Data {
                unit: own,
                ..data.clone()
            }
        };
        for line in &lines {
            let mut percentile = None;
            for (field, text) in &line.fields {
                let fail = |e: String| line.spot().error(e);
                if let Some(field) = table.fields.iter().find(|f| f.name == *field) {
                    let (number, own) =
                        measured(field.quantity, field.unit, field.known, text).map_err(fail)?;
                    let data = start(out, unit_of(table.quantity, table.unit));
                    field.put(out, &data, number, own, line.spot())?;
                    continue;
                }
                let statistic = match *field {
                    "p" => {
                        percentile = Some(Number::parse(text).map_err(fail)?.value);
                        continue;
                    }
                    "at" => match percentile {
                        Some(100.0) => Some(Statistic::Max),
                        Some(p) if (0.0..=100.0).contains(&p) => Some(Statistic::Percentile(p)),
                        _ => return Err(fail("this is not a percentile".to_owned())),
                    },
                    "raw" => None,
                    word => match Statistic::from_word(word) {
                        Some(statistic) => Some(statistic),
                        None => continue,
                    },
                };
                let (mut number, own) =
                    measured(table.quantity, table.unit, table.known, text).map_err(fail)?;
                (table.adjust)(&said, &mut number);
                match statistic {
                    Some(statistic) => {
                        let data = start(out, own);
                        out.put(&data, statistic, number, line.spot())?;
                    }
                    None => self.raw_value(out, (&name, &said), number, own, line)?,
                }
            }
        }
        if let Some(data) = &data {
            table.hold(out, data, &said);
        }
        self.last = data.or(self.last.take());
        Ok(())
    }

    fn raw_value(
        &mut self,
        out: &mut Out,
        (name, said): (&str, &Said),
        number: Number,
        own: Unit,
        line: &Line,
    ) -> Imported<()> {
        if self.raw.len() >= FIGURES && !self.raw.contains_key(name) {
            return Err(line
                .spot()
                .error(format!("there are more than {FIGURES} series")));
        }
        let table = self.table;
        let (data, samples) = self.raw.entry(name.to_owned()).or_insert_with(|| {
            let data = out.data(name, table.quantity, own.clone());
            let data = described(table, data, said);
            let samples = out.raw(&data, "latency", line.number);
            (data, samples)
        });
        let data = Data {
            unit: own,
            ..data.clone()
        };
        out.add(samples, &data, &number, 1);
        Ok(())
    }
}

fn described(table: &Table, mut data: Data, said: &Said) -> Data {
    for (condition, value) in table.conditions {
        if let Some(value) = filled(value, said) {
            data = data.with(condition, value);
        }
    }
    data.method.payload_bytes = said.get("size").and_then(|size| size.parse().ok());
    (table.describe)(&mut data, said);
    data
}

impl Field {
    fn put(
        &self,
        out: &mut Out,
        data: &Data,
        number: Number,
        own: Unit,
        spot: Spot<'_>,
    ) -> Imported<()> {
        let mut data = Data {
            name: format!("{}{}", data.name, self.of),
            ..match self.quantity == data.quantity && self.of.is_empty() {
                true => Data {
                    unit: own,
                    ..data.clone()
                },
                false => data.other(self.quantity, own),
            }
        };
        if let Some((name, value)) = self.condition {
            data = data.with(name, value);
        }
        match self.part {
            "" => out.put(&data, self.statistic, number, spot),
            part => out.put_named(&data, part, self.statistic, number, spot),
        }
    }
}

/// The figures of fields that are members of a JSON object. One that is not there has none, and neither has one that is `null`, which is said.
pub(super) fn of_members(
    out: &mut Out,
    data: &Data,
    node: &Node<'_>,
    fields: &[Field],
) -> Imported<()> {
    for field in fields {
        if node.value.get(field.name).is_none() {
            continue;
        }
        let Some(member) = node.measured(out, field.name)? else {
            continue;
        };
        let number = match (field.known, field.decimals) {
            (Known::Exact, _) => member.exact()?,
            (Known::Rounded, None) => member.written()?,
            (known, decimals) => known.of(member.rounded(decimals.unwrap_or(0))?),
        };
        let own = unit_of(field.quantity, field.unit);
        field.put(out, data, number, own, member.spot())?;
    }
    Ok(())
}

/// A template with what is said in place of each `{field}`, where all of it is.
fn filled(template: &str, said: &Said) -> Option<String> {
    let parts = template.split(['{', '}']).enumerate();
    let part = |(i, part): (usize, &str)| match i % 2 {
        0 => Some(part.to_owned()),
        _ => said.get(part).cloned(),
    };
    parts.map(part).collect()
}

/// A relation with what is said in place of each `$field`, where all of it is.
fn relation_of(relation: &str, said: &Said) -> Option<String> {
    let mut parts = relation.split('$');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric());
        let (field, rest) = part.split_at(end.unwrap_or(part.len()));
        text += said.get(field)?;
        text += rest;
    }
    Some(text)
}

fn measured(
    quantity: Quantity,
    own: &str,
    known: Known,
    text: &str,
) -> Result<(Number, Unit), String> {
    let (number, unit) = match with_suffix(text)? {
        (number, "") if !own.is_empty() => (number, unit_of(quantity, own)),
        (number, suffix) => {
            let unit = suffixed(quantity, suffix);
            (
                number,
                unit.ok_or_else(|| format!("`{text}` has no unit that the tool prints"))?,
            )
        }
    };
    Ok((known.of(number), unit))
}

/// A unit that a table names.
fn unit_of(quantity: Quantity, word: &str) -> Unit {
    let (dimension, factor) = match (quantity, word) {
        (_, "%") => return percent(),
        (Quantity::Bandwidth, "bit/s") => (Dimension::Bandwidth, 0.125),
        (Quantity::Bandwidth, "B/s") => (Dimension::Bandwidth, 1.0),
        (Quantity::Size, "B") => (Dimension::Size, 1.0),
        (Quantity::Bandwidth, "MBps") => (Dimension::Bandwidth, 1048576.0),
        (Quantity::Bandwidth, "Mb/s" | "Mbps") => (Dimension::Bandwidth, 125e3),
        (_, "kS/s") => (Dimension::Rate, 1e3),
        (_, "1/s") => (Dimension::Rate, 1.0),
        (_, word) => match time(word) {
            Some(unit) => return unit,
            None => (Dimension::One, 1.0),
        },
    };
    unit(word, dimension, factor)
}

/// A unit at the end of a number: of times, and as wrk writes it (`src/units.c`).
fn suffixed(quantity: Quantity, word: &str) -> Option<Unit> {
    let power = |words: &[&str]| words.iter().position(|w| *w == word).map(|i| i as i32);
    let bytes = || Some(1024f64.powi(power(&["B", "KB", "MB", "GB", "TB"])?));
    match quantity {
        Quantity::Size => Some(unit(word, Dimension::Size, bytes()?)),
        Quantity::Bandwidth => Some(unit(&format!("{word}/s"), Dimension::Bandwidth, bytes()?)),
        Quantity::Rate => {
            let factor = 1e3f64.powi(power(&["", "k", "M", "G"])?);
            Some(unit(&format!("{word}/s"), Dimension::Rate, factor))
        }
        _ => time(word),
    }
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line
        .split_whitespace()
        .map(|w| w.trim_end_matches([',', ';']));
    words.filter(|w| !w.is_empty())
}

type Fields = Vec<(&'static str, String)>;

/// The first form that a line fits, with its fields; `before` are the words that stand before it.
pub(super) fn fitting(table: &Table, text: &str) -> Result<Option<(Role, Fields)>, &'static str> {
    let words: Vec<&str> = words(text).collect();
    let mut cut = false;
    for start in 0..if table.anywhere { words.len() } else { 1 } {
        for (role, form) in table.lines {
            match fit(form, &words[start..]) {
                Fit::Whole(mut fields) => {
                    fields.push(("before", words[..start].join(" ")));
                    return Ok(Some((*role, fields)));
                }
                Fit::Cut => cut = true,
                Fit::Other => {}
            }
        }
    }
    if cut {
        return Err("the line is shorter than the tool prints it");
    }
    let pointed = with_points(text);
    match pointed != text && matches!(fitting(table, &pointed), Ok(Some(_))) {
        true => Err(
            "a number has a comma where a point belongs; run the tool with LC_ALL=C, commas are not interpreted",
        ),
        false => Ok(None),
    }
}

/// With a point in place of each comma between two digits.
fn with_points(line: &str) -> String {
    let digit = |i: Option<usize>| {
        let byte = i.and_then(|i| line.as_bytes().get(i));
        byte.is_some_and(u8::is_ascii_digit)
    };
    let point =
        |(i, c): (usize, char)| match c == ',' && digit(i.checked_sub(1)) && digit(Some(i + 1)) {
            true => '.',
            false => c,
        };
    line.char_indices().map(point).collect()
}

enum Fit {
    Whole(Fields),
    /// The words are the beginning of the form.
    Cut,
    Other,
}

fn fit(form: &'static str, words: &[&str]) -> Fit {
    let mut found = Vec::new();
    let mut rest = words;
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '|';
    let mut literal = false;
    let mut parts = form.split(' ').peekable();
    while let Some(part) = parts.next() {
        if part == "." {
            return if rest.is_empty() {
                Fit::Whole(found)
            } else {
                Fit::Other
            };
        }
        let Some((word, more)) = rest.split_first() else {
            // One word alone may be anybody's.
            let cut = literal && words.len() > 1;
            return if cut { Fit::Cut } else { Fit::Other };
        };
        let Some((before, field, after)) = split_field(part) else {
            if part != *word {
                let cut = literal && more.is_empty() && part.starts_with(word);
                return if cut { Fit::Cut } else { Fit::Other };
            }
            literal |= part.contains(is_letter);
            rest = more;
            continue;
        };
        if let Some(field) = field.strip_suffix("**") {
            let end = match parts.peek() {
                Some(next) => rest.iter().position(|word| word == next),
                None => Some(rest.len()),
            };
            let Some(end) = end else {
                return Fit::Other;
            };
            found.push((field, rest[..end].join(" ")));
            rest = &rest[end..];
            continue;
        }
        let Some(value) = word.strip_prefix(before) else {
            return Fit::Other;
        };
        literal |= before.contains(is_letter);
        let is_number = value
            .trim_start_matches('-')
            .starts_with(|c: char| c.is_ascii_digit());
        if !field.ends_with('*') && !is_number {
            let cut = literal && more.is_empty() && value.is_empty();
            return if cut { Fit::Cut } else { Fit::Other };
        }
        let Some(value) = value.strip_suffix(after) else {
            return if literal && more.is_empty() {
                Fit::Cut
            } else {
                Fit::Other
            };
        };
        found.push((field.trim_end_matches('*'), value.to_owned()));
        rest = more;
    }
    Fit::Whole(found)
}

/// `rtt={raw}` in three.
fn split_field(part: &'static str) -> Option<(&'static str, &'static str, &'static str)> {
    let (before, rest) = part.split_once('{')?;
    let (field, after) = rest.split_once('}')?;
    Some((before, field, after))
}
