//! Whether the first sample of a trial is like all others: its rank, and how often it stands out.

use super::bench::{Place, list};
use crate::{Outcome, files};
use std::path::Path;

const SUITE: &str = r#"
title = "the first sample of a trial"
[defaults]
raw_samples = 100
[[experiment]]
name = "round-trip"
workload = "ping-pong"
round_trips = 100
warmup = "20 ms"
stacks = ["floor-spin", "iceoryx2", "pipe"]
[[experiment]]
name = "stream"
workload = "stream"
rate = "10 kHz"
window = "10 ms"
warmup = "20 ms"
stacks = ["floor-spin", "iceoryx2", "pipe"]
"#;

/// A mean rank that is farther than this from a half is not that of any other sample, if chance does not explain it.
const EVEN: f64 = 0.05;
/// Ten cells of even ranks stay within so many standard errors of a half, all of them, in 95 % of studies.
const CHANCE: f64 = 2.8;
/// The share of trials in which the first sample may be more than twice as slow as all others.
const OUTLIERS: f64 = 0.02;

/// The first sample of one trial.
struct First {
    /// The share of the others that were faster, ties by half.
    rank: f64,
    /// Over the median of the others.
    ratio: f64,
    is_outlier: bool,
}

pub(super) fn study(trials: u32) -> Outcome {
    let place = Place::new("first")?;
    place.file("suites/first.toml", SUITE)?;
    place.dyno(&format!("run first --trials {trials} --out out --quiet"))?;
    let run = place.dir.join("out");
    let shown = place.show("out")?;
    let mut uneven = Vec::new();
    for e in list(&shown, "experiments") {
        let name = [&e["experiment"], &e["stack"], &e["wait"]]
            .map(|v| v.as_str().unwrap_or_default())
            .join(" ");
        let id = e["id"]
            .as_u64()
            .ok_or("`dyno show --format json` names no id")?;
        let firsts = firsts(&run, id)?;
        let n = firsts.len().max(1) as f64;
        let rank = firsts.iter().map(|f| f.rank).sum::<f64>() / n;
        let outliers = firsts.iter().filter(|f| f.is_outlier).count();
        let error = (1.0 / 12.0 / n).sqrt();
        println!(
            "{name}: mean rank {rank:.3} of {} trials (± {:.3} by chance), first over median {:.2}, \
             {outliers} more than twice as slow as all others",
            firsts.len(),
            1.96 * error,
            median(firsts.iter().map(|f| f.ratio).collect()),
        );
        if (rank - 0.5).abs() > EVEN.max(CHANCE * error) || outliers as f64 > OUTLIERS * n {
            uneven.push(name);
        }
    }
    match uneven.as_slice() {
        [] => Ok(()),
        _ => Err(format!(
            "the first sample is not as the others (mean rank farther than {EVEN} from 0.5 and farther than chance \
             explains in ten cells, or an outlier in more than {:.0} % of trials): {}",
            100.0 * OUTLIERS,
            uneven.join(", ")
        )),
    }
}

/// Of every stored trial of an experiment, disturbed ones too.
fn firsts(run: &Path, id: u64) -> Result<Vec<First>, String> {
    let mut all = Vec::new();
    for path in files::list(&run.join("raw"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&format!("e{id:04}-")) {
            all.extend(first(&files::read(&path)?));
        }
    }
    Ok(all)
}

fn first(csv: &str) -> Option<First> {
    let mut lines = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let head = lines.next()?;
    let column = |name: &str| head.iter().position(|h| *h == name);
    let (sent, arrival) = (column("sent_ns")?, column("arrival_ns")?);
    let number = |line: &[&str], at: usize| line.get(at)?.parse::<f64>().ok();
    let latencies: Option<Vec<f64>> = lines
        .map(|l| Some(number(&l, arrival)? - number(&l, sent)?))
        .collect();
    let latencies = latencies?;
    let (first, others) = latencies.split_first()?;
    let share = |is: fn(&f64, &f64) -> bool| {
        others.iter().filter(|other| is(other, first)).count() as f64 / others.len().max(1) as f64
    };
    let slowest = others.iter().copied().fold(0.0, f64::max);
    Some(First {
        rank: share(|other, first| other < first) + share(|other, first| other == first) / 2.0,
        ratio: first / median(others.to_vec()),
        is_outlier: *first > 2.0 * slowest,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(latencies: &[u32]) -> String {
        let rows = latencies.iter().map(|l| format!("100,{}\n", 100 + l));
        format!("sent_ns,arrival_ns\n{}", rows.collect::<String>())
    }

    #[test]
    fn the_rank_is_the_share_of_faster_samples() {
        let slowest = first(&csv(&[9, 1, 2, 3, 4])).unwrap();
        assert_eq!((slowest.rank, slowest.is_outlier), (1.0, true));
        let middle = first(&csv(&[3, 1, 2, 4, 5])).unwrap();
        assert_eq!((middle.rank, middle.is_outlier), (0.5, false));
        assert_eq!(first(&csv(&[1, 1, 1])).unwrap().rank, 0.5);
        assert!(first("").is_none());
    }
}
