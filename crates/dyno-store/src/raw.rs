//! Raw samples as CSV: one line per sample, in arrival order, all whole numbers.

use dyno_model::Nanos;
use dyno_model::record::RawSample;
use std::fmt::Write;

const HEADER: &str = "channel,receiver,sequence,intended_ns,sent_ns,arrival_ns";

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
pub(crate) fn decode(text: &str, expected: u64) -> Result<Vec<RawSample>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(format!("its first line is not `{HEADER}`"));
    }
    let samples = lines
        .enumerate()
        .map(|(i, line)| {
            sample(line).ok_or_else(|| format!("line {} is not a sample: {line:?}", i + 2))
        })
        .collect::<Result<Vec<_>, _>>()?;
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
        assert_eq!(decode(&encode(&samples()), 3), Ok(samples()));
        assert_eq!(decode(&encode(&[]), 0), Ok(Vec::new()));
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let text = encode(&samples());
        let cut = &text[..text.len() - 25];
        assert!(decode(cut, 3).unwrap_err().contains("line 4"));
        let fewer: String = text.lines().take(3).map(|l| format!("{l}\n")).collect();
        assert!(decode(&fewer, 3).unwrap_err().contains("2 samples"));
        assert!(decode("", 0).unwrap_err().contains("first line"));
    }
}
