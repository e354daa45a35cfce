//! CSV with a header: a column of times whose name has the unit, such as `time_s`, a column `topic`, and a column `size` in bytes.

use crate::format::Failed;
use crate::quantity::nanos;
use crate::read::lines;
use crate::traffic::{Place, Traffic};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use std::io::BufRead;

/// So many columns of a line are read.
const MOST_COLUMNS: usize = 256;

/// Names of the column of times, with their unit in nanoseconds.
const TIMES: [(&str, i64); 8] = [
    ("time_s", 1_000_000_000),
    ("time_ms", 1_000_000),
    ("time_us", 1_000),
    ("time_ns", 1),
    ("timestamp_s", 1_000_000_000),
    ("timestamp_ms", 1_000_000),
    ("timestamp_us", 1_000),
    ("timestamp_ns", 1),
];
const TOPICS: [&str; 2] = ["topic", "name"];
const SIZES: [&str; 4] = ["size", "size_b", "size_bytes", "bytes"];

/// Where the columns are.
struct Columns {
    time: usize,
    unit: i64,
    topic: usize,
    size: usize,
}

/// The separator of this header: the one of comma, semicolon and tab that is most frequent.
pub(crate) fn separator(header: &str) -> Option<u8> {
    let count = |c: &u8| header.bytes().filter(|b| b == c).count();
    b";\t,"
        .iter()
        .copied()
        .filter(|c| count(c) > 0)
        .max_by_key(count)
}

pub(crate) fn read(source: &mut dyn BufRead, traffic: &mut Traffic) -> Result<(), Failed> {
    let mut parser = None;
    lines::each(source, traffic, |traffic, number, line| {
        let place = Place::Line(number);
        let Some((reader, columns)) = &mut parser else {
            let separator = separator(line).unwrap_or(b',');
            let mut reader = ReaderBuilder::new().delimiter(separator).build();
            let names = fields(&mut reader, line).unwrap_or_default();
            let columns = columns(&names).map_err(|what| Failed::Wrong(place, what))?;
            parser = Some((reader, columns));
            return Ok(());
        };
        let fields = fields(reader, line).unwrap_or_default();
        let at = |column: usize| fields.get(column).map(String::as_str);
        let time = at(columns.time).and_then(|text| nanos(text, columns.unit));
        let size = at(columns.size).and_then(|text| text.trim().parse::<u64>().ok());
        match (time, at(columns.topic), size) {
            (Some(time), Some(topic), Some(size)) => {
                traffic.message(place, topic.trim(), time, size)
            }
            _ => traffic.problem(
                place,
                "a line without a time, a topic and a whole number of bytes; it is left out",
            ),
        }
        Ok(())
    })
}

fn columns(names: &[String]) -> Result<Columns, String> {
    let names: Vec<String> = names
        .iter()
        .map(|n| n.trim().to_ascii_lowercase())
        .collect();
    let place = |known: &[&str]| names.iter().position(|n| known.contains(&n.as_str()));
    let time = names.iter().enumerate().find_map(|(at, name)| {
        let (_, unit) = TIMES.iter().find(|(known, _)| known == name)?;
        Some((at, *unit))
    });
    match (time, place(&TOPICS), place(&SIZES)) {
        (Some((time, unit)), Some(topic), Some(size)) => Ok(Columns {
            time,
            unit,
            topic,
            size,
        }),
        (None, ..) => Err(
            "no column of times with a unit: name it time_s, time_ms, time_us or time_ns".into(),
        ),
        (_, None, _) => Err("no column of names: name it topic".into()),
        (.., None) => Err("no column of sizes in bytes: name it size".into()),
    }
}

/// The fields of one line; `None` where a quotation has no end.
fn fields(reader: &mut Reader, line: &str) -> Option<Vec<String>> {
    reader.reset();
    // Unescaped fields are never longer than the line.
    let mut text = vec![0; line.len() + 1];
    let mut ends = [0; MOST_COLUMNS];
    let (_, used, _, mut count) = reader.read_record(line.as_bytes(), &mut text, &mut ends);
    let (result, _, _, more) =
        reader.read_record(&[], text.get_mut(used..)?, ends.get_mut(count..)?);
    count += more;
    if !matches!(result, ReadRecordResult::Record | ReadRecordResult::End) {
        return None;
    }
    let mut from = 0;
    let of = |end: &usize| {
        let field = text.get(from..*end).unwrap_or_default();
        from = *end;
        String::from_utf8_lossy(field).into_owned()
    };
    Some(ends.get(..count)?.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_fields() {
        let mut reader = ReaderBuilder::new().build();
        let of = |reader: &mut Reader, line: &str| fields(reader, line).unwrap();
        assert_eq!(of(&mut reader, "1.5,a,3"), ["1.5", "a", "3"]);
        assert_eq!(
            of(&mut reader, "\"1,5\",\"a \"\"b\"\"\",3"),
            ["1,5", "a \"b\"", "3"]
        );
        // The next line is one of its own.
        of(&mut reader, "1,\"a,2");
        assert_eq!(of(&mut reader, "1,a,2"), ["1", "a", "2"]);
    }

    #[test]
    fn a_header_needs_a_unit_of_time() {
        let of =
            |names: &[&str]| columns(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        let found = of(&["Size", "x", " time_us", "topic"]).ok().unwrap();
        assert_eq!(
            (found.time, found.unit, found.topic, found.size),
            (2, 1_000, 3, 0)
        );
        assert!(
            of(&["time", "topic", "size"])
                .err()
                .unwrap()
                .contains("time_s")
        );
        assert!(of(&["time_s", "size"]).err().unwrap().contains("topic"));
        assert_eq!(separator("a;b;c,d"), Some(b';'));
        assert_eq!(separator("time"), None);
    }
}
