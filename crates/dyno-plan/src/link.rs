//! `[link]` of a testbed: how fast its hosts are joined, and how much may wait for that.

use crate::overrides::Override;
use crate::quantity::{At, Quantity, one};
use dyno_model::PayloadSize;
use dyno_model::plan::Link;
use dyno_model::unit::UnitError;
use dyno_toml::{Entry, Problem, Problems, Table};

/// Begins the keys of `--set` that change a testbed's link.
const PREFIX: &str = "link.";
const KEYS: [&str; 2] = ["rate", "buffer"];
/// Where the file does not say.
const BUFFER: Buffer = Buffer(256 * 1024);

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BitRate(pub(crate) u64);

impl Quantity for BitRate {
    fn read(text: &str) -> Result<Self, UnitError> {
        let error = |reason: &str| UnitError {
            what: "bit rate",
            found: text.to_owned(),
            reason: reason.into(),
            example: "\"1 Gbit/s\" or \"100 Mbit/s\"",
        };
        const UNITS: [(&str, f64); 4] = [
            ("Gbit/s", 1e9),
            ("Mbit/s", 1e6),
            ("kbit/s", 1e3),
            ("bit/s", 1.0),
        ];
        let text = text.trim();
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
        let (unit, scale) = unit.ok_or_else(|| error("it does not end in bits per second"))?;
        let number = text.trim_end_matches(unit).trim();
        match number.parse::<f64>().map(|n| n * scale) {
            Ok(rate) if (1e5..=1e11).contains(&rate) => Ok(BitRate(rate.round() as u64)),
            Ok(_) => Err(error("a link has 100 kbit/s to 100 Gbit/s")),
            Err(_) => Err(error("it must start with a number")),
        }
    }
}

/// Bytes that may wait.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Buffer(u64);

impl Quantity for Buffer {
    fn read(text: &str) -> Result<Self, UnitError> {
        let error = |reason: String| UnitError {
            what: "buffer size",
            found: text.to_owned(),
            reason,
            example: "\"256 KiB\"",
        };
        let size: PayloadSize = text.parse().map_err(|e: UnitError| error(e.reason))?;
        match size.bytes() as u64 {
            bytes @ 4_096.. => Ok(Buffer(bytes)),
            _ => Err(error("two frames must fit: at least 4 KiB".into())),
        }
    }
}

/// Takes `link.KEY` out of the settings of the command line: they change the testbed, not the suite.
pub(crate) fn take_overrides(set: Vec<Override>) -> (Vec<Override>, Vec<Override>) {
    set.into_iter()
        .partition(|o| o.entry.key.starts_with(PREFIX))
}

/// Reads the `[link]` of a testbed whose hosts have a link, with `--set link.KEY=…` over it.
pub(crate) fn read(
    testbed: &Table,
    overrides: &[Override],
    problems: &mut Problems,
) -> Option<Link> {
    let entry = testbed.entry("link");
    let table = entry.and_then(|e| e.node.table("`link`", problems));
    if let Some(table) = table {
        table.refuse_unknown("a link", &KEYS, problems);
    }
    let (mut rate, mut buffer): (Option<At<BitRate>>, Option<At<Buffer>>) = (None, None);
    let mut has_rate = false;
    let given = table.into_iter().flat_map(|t| &t.0);
    // Of two the later one holds.
    for Entry { key, key_at, node } in given.chain(overrides.iter().map(|o| &o.entry)) {
        match key.strip_prefix(PREFIX).unwrap_or(key) {
            "rate" => {
                has_rate = true;
                rate = one("rate", node, problems).or(rate);
            }
            "buffer" => buffer = one("buffer", node, problems).or(buffer),
            _ if key.starts_with(PREFIX) => {
                Problem::at(key_at, format!("--set cannot change `{key}`"))
                    .label("a link has no such setting")
                    .help("keys: link.rate, link.buffer")
                    .note(problems)
            }
            _ => {}
        }
    }
    let Some(rate) = rate else {
        let at = entry
            .map(|e| &e.key_at)
            .or(overrides.first().map(|o| &o.entry.key_at))
            .filter(|_| !has_rate)?;
        return Problem::at(at, "the link has no `rate`")
            .label("`rate` is missing")
            .help("write for example `rate = \"1 Gbit/s\"`")
            .refuse(problems);
    };
    Some(Link {
        rate_bits: rate.value.0,
        buffer_bytes: buffer.map_or(BUFFER, |b| b.value).0,
    })
}

/// Refuses a link where no host has one. With `machines` the hosts are joined, and what joins them is what is measured.
pub(crate) fn refuse(
    testbed: &Table,
    overrides: &[Override],
    machines: bool,
    problems: &mut Problems,
) {
    let (what, label, help) = match machines {
        true => (
            "a testbed with virtual machines has no `[link]`",
            "would hide what the machine's border costs",
            "remove it: nothing but the devices stands between the hosts",
        ),
        false => (
            "the one host of this testbed has no link",
            "nothing to set",
            "links join several hosts: choose for example --testbed netns-1gbe",
        ),
    };
    let in_file = testbed.entry("link").map(|e| &e.key_at);
    for at in in_file
        .into_iter()
        .chain(overrides.iter().map(|o| &o.entry.key_at))
    {
        problems.push(Problem::at(at, what).label(label).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_buffers_read() {
        for (text, bits) in [
            ("1 Gbit/s", 1_000_000_000),
            ("2.5Gbit/s", 2_500_000_000),
            ("100 Mbit/s", 100_000_000),
            ("500 kbit/s", 500_000),
            ("100000 bit/s", 100_000),
        ] {
            assert_eq!(BitRate::read(text), Ok(BitRate(bits)), "{text}");
        }
        for text in ["1 GB/s", "1", "Gbit/s", "-1 Gbit/s", "1 kbit/s", "1 Tbit/s"] {
            assert!(BitRate::read(text).is_err(), "{text}");
        }
        assert_eq!(Buffer::read("512 KiB"), Ok(Buffer(524_288)));
        for text in ["1 KiB", "512", "2 GiB"] {
            assert!(Buffer::read(text).is_err(), "{text}");
        }
    }
}
