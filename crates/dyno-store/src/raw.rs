//! Raw samples as CSV: one line per sample, in arrival order, all whole numbers.

use dyno_model::Nanos;
use dyno_model::record::RawSample;
use std::fmt::Write;
use std::io::{BufRead, Read};

const HEADER: &str = "channel,receiver,sequence,intended_ns,sent_ns,arrival_ns";
/// Bytes of the longest line: two numbers of five digits, four of twenty, six separators.
const LONGEST: u64 = 96;

/// The largest file of raw samples.
const RAW_BYTES: u64 = 4 << 30;

/// Bytes that the file of so many samples has at most.
pub(crate) fn most(samples: u64) -> u64 {
    samples
        .saturating_add(1)
        .saturating_mul(LONGEST)
        .min(RAW_BYTES)
}

pub(crate) fn encode(samples: &[RawSample]) -> String {
    let mut text = String::with_capacity(HEADER.len() + 1 + samples.len() * 56);
    text.push_str(HEADER);
    text.push('\n');
    for s in samples {
        let RawSample {
            channel,
            receiver,
            sequence,
            intended,
            sent,
            arrival,
        } = s;
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "{channel},{receiver},{sequence},{},{},{}",
            intended.0, sent.0, arrival.0
        );
    }
    text
}

/// Reads `expected` samples; the error is what is wrong and where.
pub(crate) fn decode(mut text: impl BufRead, expected: u64) -> Result<Vec<RawSample>, String> {
    let mut line = String::new();
    let mut next = |line: &mut String| {
        line.clear();
        let read = text.by_ref().take(LONGEST).read_line(line);
        read.map_err(|e| e.to_string())
    };
    next(&mut line)?;
    if line.trim_end() != HEADER {
        return Err(format!("its first line is not `{HEADER}`"));
    }
    let mut samples = Vec::new();
    while next(&mut line)? > 0 {
        let line = line.trim_end();
        samples.push(
            sample(line)
                .ok_or_else(|| format!("line {} is not a sample: {line:?}", samples.len() + 2))?,
        );
    }
    if samples.len() as u64 != expected {
        return Err(format!(
            "it has {} samples where the trial has {expected}",
            samples.len()
        ));
    }
    Ok(samples)
}

fn sample(line: &str) -> Option<RawSample> {
    let mut fields = line.split(',');
    let sample = RawSample {
        channel: fields.next()?.parse().ok()?,
        receiver: fields.next()?.parse().ok()?,
        sequence: fields.next()?.parse().ok()?,
        intended: Nanos(fields.next()?.parse().ok()?),
        sent: Nanos(fields.next()?.parse().ok()?),
        arrival: Nanos(fields.next()?.parse().ok()?),
    };
    fields.next().is_none().then_some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<RawSample> {
        let sample = |i: u64| RawSample {
            channel: 1,
            receiver: 2,
            sequence: i,
            intended: Nanos(1_000 * i),
            sent: Nanos(1_000 * i + 3),
            arrival: Nanos(u64::MAX - i),
        };
        (0..3).map(sample).collect()
    }

    #[test]
    fn samples_round_trip() {
        assert_eq!(decode(encode(&samples()).as_bytes(), 3), Ok(samples()));
        assert_eq!(decode(encode(&[]).as_bytes(), 0), Ok(Vec::new()));
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let text = encode(&samples());
        let cut = &text[..text.len() - 25];
        assert!(decode(cut.as_bytes(), 3).unwrap_err().contains("line 4"));
        let fewer: String = text.lines().take(3).map(|l| format!("{l}\n")).collect();
        assert!(
            decode(fewer.as_bytes(), 3)
                .unwrap_err()
                .contains("2 samples")
        );
        assert!(decode(&b""[..], 0).unwrap_err().contains("first line"));
    }
}
