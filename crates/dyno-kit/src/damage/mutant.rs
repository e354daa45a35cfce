//! A run directory, changed as an attacker or bad luck would: by a seed, so that each mutant can be made again.

use serde_json::{Map, Value};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Draws by SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): the same everywhere for a seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Texts that a terminal, a spreadsheet or a browser would obey, and that are too long.
fn text(draw: &mut Draw) -> String {
    const HOSTILE: [&str; 13] = [
        "\u{1b}]0;owned\u{7}\u{1b}[2J",
        "a\u{9b}31mb\u{85}c\u{90}d",
        "user\u{202e}gpj.exe\u{2066}x\u{2069}",
        "a\u{200b}b\u{2060}c\u{feff}d\u{e0041}e",
        "a\rb\u{8}\u{7f}\u{0}c",
        "line\nline\u{2028}line\t|\\|`*_<b>",
        "=cmd|' /C calc'!A0",
        "<script>alert(1)</script></script>",
        "",
        "../../../../etc/passwd",
        "-1e999 NaN ∞",
        "HISTFAAAACN42pNpmSzMwMDAzQABzFCaEYyAwP4DREBE+N9/KAAAhbgLow==",
        "HISTFAAAACh4nJNpmSzMwMDAzgABzFCaEch0M9ixgMH+A0Sg0YOFaa0AEwB02gXg",
    ];
    match draw.below(15) {
        0 => "\u{1b}[31mÜ".repeat(200_000),
        1 => "name-".repeat(20_000),
        n => HOSTILE[n - 2].to_owned(),
    }
}

fn number(draw: &mut Draw) -> Value {
    let all = [
        "0",
        "-1",
        "1",
        "4294967295",
        "4294967296",
        "9007199254740992",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "18446744073709551614",
        "1e30",
        "-1e30",
        "1e308",
        "-0.0",
        "5e-324",
        "0.5",
        "65535",
        "1000000",
        "3600000000000",
    ];
    // Each is a JSON number.
    serde_json::from_str(draw.of::<&str>(&all)).unwrap_or(Value::Null)
}

/// One of these numbers of copies of a value, or as many as have some megabytes as text.
fn copies(draw: &mut Draw, value: &Value, numbers: &[usize]) -> usize {
    const MOST_BYTES: usize = 8 << 20;
    let drawn = *draw.of(numbers);
    drawn.min(MOST_BYTES / value.to_string().len().max(1))
}

fn extreme(draw: &mut Draw, old: &Value) -> Value {
    match draw.below(10) {
        0..=2 => number(draw),
        3..=5 => Value::String(text(draw)),
        6 => Value::Null,
        7 => Value::Array(vec![old.clone(); copies(draw, old, &[0, 1, 2, 1_000])]),
        8 => {
            let depth = *draw.of(&[10, 100, 200]);
            (0..depth).fold(old.clone(), |inner, _| Value::Array(vec![inner]))
        }
        _ => Value::Object(Map::from_iter([(text(draw), old.clone())])),
    }
}

/// How many values there are in a document.
fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(table) => table.values().map(size).sum(),
        _ => 0,
    }
}

/// The value at a place in the order in which the document is written, with its path.
fn at<'a>(value: &'a mut Value, mut place: usize, path: &mut String) -> Option<&'a mut Value> {
    if place == 0 {
        return Some(value);
    }
    place -= 1;
    let inner: Box<dyn Iterator<Item = (String, &'a mut Value)>> = match value {
        Value::Array(list) => {
            Box::new(list.iter_mut().enumerate().map(|(i, v)| (i.to_string(), v)))
        }
        Value::Object(table) => Box::new(table.iter_mut().map(|(k, v)| (k.clone(), v))),
        _ => return None,
    };
    for (name, inner) in inner {
        let own = size(inner);
        if place < own {
            path.push('.');
            path.push_str(&name);
            return at(inner, place, path);
        }
        place -= own;
    }
    None
}

/// Changes one value: another of its type, of another type, many of it, a key of another name.
fn change(draw: &mut Draw, document: &mut Value) -> String {
    let (mut path, place) = (String::new(), draw.below(size(document)));
    let Some(value) = at(document, place, &mut path) else {
        return "nothing".to_owned();
    };
    let what = match (draw.below(4), &mut *value) {
        // The type stays, so that more of it is read.
        (0..=2, Value::Number(_)) => {
            *value = number(draw);
            "another number"
        }
        (0..=2, Value::String(_)) => {
            *value = Value::String(text(draw));
            "another text"
        }
        (0, Value::Array(list)) if !list.is_empty() => {
            let one = list[draw.below(list.len())].clone();
            let copies = copies(draw, &one, &[1, 100, 5_000]);
            list.extend(vec![one; copies]);
            "a longer list"
        }
        (1, Value::Array(list)) => {
            list.clear();
            "an empty list"
        }
        (0, Value::Object(table)) if !table.is_empty() => {
            let key = table.keys().nth(draw.below(table.len())).cloned();
            key.and_then(|key| table.remove(&key));
            "a key less"
        }
        (1, Value::Object(table)) if !table.is_empty() => {
            let key = table.keys().nth(draw.below(table.len())).cloned();
            if let Some(old) = key.and_then(|key| table.remove(&key)) {
                table.insert(text(draw), old);
            }
            "a key of another name"
        }
        _ => {
            *value = extreme(draw, value);
            "another value"
        }
    };
    path.truncate(
        path.char_indices()
            .nth(120)
            .map_or(path.len(), |(at, _)| at),
    );
    format!("{what} at {path:?}")
}

fn garbled(draw: &mut Draw, bytes: &mut Vec<u8>) -> &'static str {
    if bytes.is_empty() {
        return "nothing";
    }
    match draw.below(5) {
        0 => {
            for _ in 0..=draw.below(8) {
                let at = draw.below(bytes.len());
                bytes[at] ^= 1 << draw.below(8);
            }
            "bits flipped"
        }
        1 => {
            bytes.truncate(draw.below(bytes.len()));
            "cut short"
        }
        2 => {
            let at = draw.below(bytes.len());
            let hostile = *draw.of(&[
                &b"\x1b[2J"[..],
                b"\0",
                b"\xc2\x9b31m",
                b"\xff\xfe",
                b"\"",
                b"}{",
            ]);
            bytes.splice(at..at, hostile.iter().copied());
            "bytes put in"
        }
        3 => {
            let from = draw.below(bytes.len());
            let to = from + draw.below(bytes.len() - from);
            let piece = bytes[from..to].to_vec();
            bytes.splice(from..from, piece);
            "a piece twice"
        }
        _ => {
            // A key twice: what stands in the first braces, put into them again with another number behind it.
            let text = String::from_utf8_lossy(bytes).into_owned();
            let keys: Vec<(usize, &str)> = text
                .match_indices("\":")
                .filter_map(|(end, _)| Some((text[..end].rfind('"')?, end)))
                .filter_map(|(begin, end)| Some((begin, text.get(begin..end + 2)?)))
                .collect();
            if let Some((at, key)) = (!keys.is_empty()).then(|| draw.of(&keys)) {
                let twice = format!("{key}{},", number(draw));
                bytes.splice(at..at, twice.into_bytes());
            }
            "a key twice"
        }
    }
}

/// Puts something that is no file in the place of one.
fn impostor(draw: &mut Draw, path: &Path) -> io::Result<&'static str> {
    let folder = path.is_dir();
    match folder {
        true => fs::remove_dir_all(path)?,
        false => fs::remove_file(path)?,
    }
    Ok(match draw.below(8) {
        0 => {
            let made = Command::new("mkfifo").arg(path).status()?;
            if made.success() { "a pipe" } else { "no pipe" }
        }
        1 => {
            symlink("/dev/zero", path)?;
            "a link to a device"
        }
        2 => {
            symlink(path, path)?;
            "a link to itself"
        }
        3 => {
            symlink("/", path)?;
            "a link to a folder"
        }
        4 => {
            fs::create_dir(path)?;
            "a folder"
        }
        5 => {
            File::create(path)?.set_len(20 << 30)?;
            "20 GB that take no space"
        }
        6 => {
            File::create(path)?;
            "an empty file"
        }
        _ => "nothing",
    })
}

/// The files and folders of a run, in an order.
fn entries(run: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let mut left = vec![run.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => {
                    folders.push(entry.path());
                    left.push(entry.path());
                }
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    files.sort();
    folders.sort();
    Ok((files, folders))
}

/// Changes the run in `run` in one to three places, and says in which.
///
/// # Errors
///
/// When it cannot be read or written to.
pub(crate) fn mutate(draw: &mut Draw, run: &Path) -> io::Result<String> {
    let mut said = Vec::new();
    for _ in 0..=draw.below(3) {
        let (files, folders) = entries(run)?;
        if files.is_empty() {
            break;
        }
        let (path, what) = match draw.below(20) {
            0 | 1 => {
                let path = draw.of(&files);
                (path, impostor(draw, path)?.to_owned())
            }
            2 if !folders.is_empty() => {
                let path = draw.of(&folders);
                (path, impostor(draw, path)?.to_owned())
            }
            kind => {
                let path = draw.of(&files);
                let mut bytes = Vec::new();
                // It may be one of 20 GB.
                File::open(path)?.take(64 << 20).read_to_end(&mut bytes)?;
                let document = serde_json::from_slice::<Value>(&bytes);
                let what = match document {
                    Ok(mut document) if kind > 6 => {
                        let what = change(draw, &mut document);
                        bytes = serde_json::to_vec(&document)?;
                        what
                    }
                    _ => garbled(draw, &mut bytes).to_owned(),
                };
                fs::write(path, bytes)?;
                (path, what)
            }
        };
        let name = path.strip_prefix(run).unwrap_or(path).display();
        said.push(format!("{name}: {what}"));
    }
    Ok(said.join("; "))
}
