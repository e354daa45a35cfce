//! Readers of files: each recognises its format by the first bytes and hands messages to a [`Traffic`].

mod asc;
mod candump;
mod csv;
mod dbc;
mod lines;
mod packet;
mod pcap;
mod someip;

use crate::format::{Failed, Format, LearnError};
use crate::traffic::Traffic;
use std::io::BufRead;

/// Formats of which only the first bytes are known: these bytes, the format, and what to convert it to.
const NOT_YET: [(&[u8], &str, &str); 5] = [
    (
        b"\x89MCAP",
        "MCAP",
        "CSV with the columns time_s,topic,size",
    ),
    (
        b"#ROSBAG",
        "a rosbag",
        "CSV with the columns time_s,topic,size",
    ),
    (
        b"SQLite format 3",
        "an SQLite file such as a rosbag2",
        "CSV with the columns time_s,topic,size",
    ),
    (b"LOGG", "Vector BLF", "Vector ASC or a candump log"),
    (
        b"\x1f\x8b",
        "compressed with gzip",
        "its plain form with `gunzip`",
    ),
];

/// Reads one file to its end, and adds its messages to `traffic`. `name` is the file's name for messages.
///
/// # Errors
/// Nothing of it could be used. If something could, problems are in the [`Traffic`] instead.
pub fn read(
    source: &mut dyn BufRead,
    name: &str,
    traffic: &mut Traffic,
) -> Result<Format, LearnError> {
    let io = |cause| LearnError::Io {
        name: name.to_owned(),
        cause,
    };
    let head = source.fill_buf().map_err(io)?;
    if head.is_empty() {
        return Err(LearnError::Empty(name.to_owned()));
    }
    if let Some((_, format, instead)) = NOT_YET.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return Err(LearnError::NotYet {
            name: name.to_owned(),
            format,
            instead,
        });
    }
    let format = recognise(head).ok_or_else(|| LearnError::Unknown(name.to_owned()))?;
    traffic.begin(name, format.as_str());
    let done = match format {
        Format::Candump => candump::read(source, traffic),
        Format::Asc => asc::read(source, traffic),
        Format::Csv => csv::read(source, traffic),
        Format::Dbc => dbc::read(source, traffic),
        Format::Pcap | Format::PcapNg => pcap::read(source, format, traffic),
    };
    match done {
        Ok(()) if traffic.is_fruitful() => Ok(format),
        Ok(()) => Err(LearnError::Nothing {
            name: name.to_owned(),
            format,
            why: reasons(traffic),
        }),
        Err(Failed::Io(cause)) => Err(io(cause)),
        Err(Failed::Wrong(place, what)) => Err(LearnError::Wrong {
            name: name.to_owned(),
            format,
            place,
            what,
        }),
    }
}

/// Why the latest file gave nothing, as the end of a sentence.
fn reasons(traffic: &Traffic) -> String {
    let Some(file) = traffic.files.last() else {
        return String::new();
    };
    let problems = file
        .problems
        .iter()
        .map(|p| format!("{}: {} ({} in all)", p.first, p.what, p.times));
    let left = file
        .left
        .iter()
        .map(|(what, n)| format!("left out: {what} ({n})"));
    let all: Vec<String> = problems.chain(left).take(3).collect();
    match all.is_empty() {
        true => String::new(),
        false => format!(": {}", all.join("; ")),
    }
}

fn recognise(head: &[u8]) -> Option<Format> {
    match head {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => return Some(Format::PcapNg),
        [0xa1, 0xb2, 0xc3, 0xd4, ..] | [0xd4, 0xc3, 0xb2, 0xa1, ..] => return Some(Format::Pcap),
        [0xa1, 0xb2, 0x3c, 0x4d, ..] | [0x4d, 0x3c, 0xb2, 0xa1, ..] => return Some(Format::Pcap),
        _ => {}
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = String::from_utf8_lossy(head.get(..4096).unwrap_or(head));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    let lower = first.to_ascii_lowercase();
    let words = ["VERSION", "NS_", "BS_", "BU_", "BO_ ", "CM_ "];
    if first.starts_with('(') {
        Some(Format::Candump)
    } else if words.iter().any(|word| first.starts_with(word)) {
        Some(Format::Dbc)
    } else if lower.starts_with("date ")
        || lower.starts_with("base ")
        || lower.starts_with("// version")
    {
        Some(Format::Asc)
    } else if lower.contains("time") && csv::separator(&lower).is_some() {
        Some(Format::Csv)
    } else {
        None
    }
}
