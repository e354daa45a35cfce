//! Interval logs: the format of `HistogramLogWriter` of the Java library, which is the reference.
//! The histograms are the stored texts themselves.

use super::head::{Head, lost, not_in_log, one_line};
use crate::ExportError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_model::TrialRecord;
use dyno_model::plan::Extent;
use dyno_model::record::{Distribution, HdrText};
use dyno_stats::SampleError;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::fmt::Write as _;
use std::io;

/// What `HistogramLogWriter` divides the column `Interval_Max` by: nanoseconds in a millisecond.
const MAX_VALUE_UNIT: f64 = 1e6;

/// Which trials a log is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those that count.
    Counted,
    /// Those that do not, because of the host.
    Disturbed,
}

/// The log of these trials of one experiment and metric. Those that cannot be decoded are left out and
/// named.
pub(super) fn render(
    trials: &[&TrialRecord],
    head: &Head<'_>,
    kind: Kind,
    left_out: &mut Vec<String>,
) -> Result<String, ExportError> {
    let mut out = String::new();
    for line in head.lines() {
        comment(&mut out, &line);
    }
    comment(
        &mut out,
        match kind {
            Kind::Counted => "trials: those that count",
            Kind::Disturbed => "trials: those that the host disturbed, which do not count",
        },
    );
    let lost = lost(trials, head.metric);
    if lost > 0 {
        comment(
            &mut out,
            &format!("lost: {lost} messages, infinitely late, which no histogram can hold"),
        );
    }
    comment(
        &mut out,
        "unit of histograms: nanoseconds; Interval_Max: ms",
    );
    comment(&mut out, "[Histogram log format version 1.3]");
    let mut trials: Vec<&TrialRecord> = trials.to_vec();
    trials.sort_by_key(|t| (t.started_unix_ms, t.position, t.id));
    let start = trials.first().map_or(0, |t| t.started_unix_ms);
    comment(
        &mut out,
        &format!(
            "[StartTime: {} (seconds since epoch)]",
            seconds(start as f64 / 1e3)
        ),
    );
    out.push_str(
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    );
    for trial in trials {
        let Some(distribution) = trial.distributions.get(&head.metric) else {
            continue;
        };
        let histograms = decoded(distribution);
        match histograms {
            Ok(histograms) => lines(&mut out, head, trial, distribution, kind, &histograms)?,
            Err(reason) => {
                let reason = format!("{}: {reason}", head.metric);
                left_out.push(not_in_log(trial, &reason));
            }
        }
    }
    Ok(out)
}

/// The histogram of each block, with the text that it was stored as; without blocks the window is one.
fn decoded(distribution: &Distribution) -> Result<Vec<(&HdrText, Histogram<u64>)>, SampleError> {
    let blocks = match distribution.blocks.as_slice() {
        [] => std::slice::from_ref(&distribution.total),
        blocks => blocks,
    };
    let histograms = dyno_stats::histograms(distribution)?;
    Ok(blocks.iter().zip(histograms).collect())
}

/// A trial's remarks and intervals.
fn lines(
    out: &mut String,
    head: &Head<'_>,
    trial: &TrialRecord,
    distribution: &Distribution,
    kind: Kind,
    blocks: &[(&HdrText, Histogram<u64>)],
) -> Result<(), ExportError> {
    let (mut start, length) = window(head, trial, blocks.len());
    let mut remark = format!("trial {}", trial.id.number);
    if distribution.infinite > 0 {
        let lost = distribution.infinite;
        let _ = write!(remark, ", {lost} messages lost: not in its histograms");
    }
    let tag = match kind {
        Kind::Counted => "",
        Kind::Disturbed => {
            let causes: Vec<String> = trial.disturbed.iter().map(ToString::to_string).collect();
            let _ = write!(remark, ", disturbed: {}", causes.join("; "));
            "Tag=disturbed,"
        }
    };
    comment(out, &one_line(&remark));
    for (text, histogram) in blocks {
        let text = match text.0.as_str() {
            "" => encode(histogram)?,
            text => text.to_owned(),
        };
        let max = histogram.max() as f64 / MAX_VALUE_UNIT;
        let _ = writeln!(
            out,
            "{tag}{},{},{max:.6},{text}",
            seconds(start),
            seconds(length)
        );
        start += length;
    }
    Ok(())
}

/// When the first block began, in seconds since the epoch, and how long each is. The record does not say
/// when the window began: it is put where it would be had the participants been started in no time.
fn window(head: &Head<'_>, trial: &TrialRecord, blocks: usize) -> (f64, f64) {
    let before = [trial.open, trial.matching, trial.warmup];
    let before: f64 = before.iter().map(|n| n.as_secs_f64()).sum();
    let start = trial.started_unix_ms as f64 / 1e3 + before;
    let length = match (head.e.experiment.window, &trial.noise.window) {
        _ if head.metric.is_one_per_trial() => trial.wall.as_secs_f64() - before,
        (Extent::Duration(d), _) => d.as_secs_f64(),
        (Extent::Messages(_), Some(load)) => load.wall.as_secs_f64(),
        (Extent::Messages(_), None) => trial.wall.as_secs_f64() - before,
    };
    (start, length.max(0.0) / blocks.max(1) as f64)
}

/// To the microsecond: blocks may be shorter than the millisecond that the Java writer prints.
fn seconds(s: f64) -> String {
    format!("{s:.6}")
}

fn comment(out: &mut String, line: &str) {
    out.push('#');
    out.push_str(line);
    out.push('\n');
}

fn encode(histogram: &Histogram<u64>) -> Result<String, ExportError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|e| io::Error::other(e.to_string()))?;
    Ok(STANDARD.encode(bytes))
}
