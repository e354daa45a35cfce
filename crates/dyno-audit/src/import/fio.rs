//! fio's JSON, from version 3: times in nanoseconds. Percentiles come from buckets of which 64 lie in each doubling, so they are
//! known to one part in 128 (`stat.h` of fio, `FIO_IO_U_PLAT_BITS`).

use super::error::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Out, ns, per_second, percent};
use super::tables::{Field, fields, of_members};
use crate::Statements;
use crate::statement::FAILED;
use crate::statement::{Clock, Of, Quantity, Statistic};
use serde_json::Value;
use std::collections::BTreeMap;

/// All that is longer is in the last bucket, by which fio prints this (`stat.h`, `plat_idx_to_val`).
const LAST_BUCKET: f64 = 17_112_760_320.0;

const TIMES: &[Field] = fields! {
    "min": Time Min "ns" Exact;
    "max": Time Max "ns" Exact;
    "mean": Time Mean "ns" Rounded .decimals(6);
    "stddev": Time Sd "ns" Rounded .decimals(6);
};

const TOTALS: &[Field] = fields! {
    "iops": Rate Rate "1/s" Rounded .decimals(6);
    "bw_bytes": Bandwidth Rate "B/s" Rounded .decimals(0);
    "total_ios": Count Count "operations" Exact;
    "io_bytes": Size Sum "B" Exact;
    "runtime": Duration Value "ms" Exact;
};

const SHARES: &[Field] = fields! {
    "usr_cpu": CpuShare Share "%" Rounded .part("usr_cpu").decimals(6);
    "sys_cpu": CpuShare Share "%" Rounded .part("sys_cpu").decimals(6);
};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    json::each(input, document)
}

fn document(out: &mut Out, root: &Node<'_>) -> Imported<()> {
    for key in ["fio version", "time"] {
        if let Some(node) = root.find(key) {
            out.banner_value(&node.path, &format!("{key}: {}", node.text()?));
        }
    }
    if let Some(time) = root.find("time") {
        out.tested(time.text()?);
    }
    // Of a client the jobs of its servers.
    let jobs = root
        .find("client_stats")
        .map_or_else(|| root.get("jobs"), Ok)?;
    for job in jobs.items()? {
        let mut name = job.get("jobname")?.text()?.to_owned();
        if let Some(host) = job.find("hostname").filter(|_| root.find("jobs").is_none()) {
            name = format!("{name} on {}", host.text()?);
        }
        let error = match job.find("error") {
            Some(node) => node.count()?,
            None => 0,
        };
        let failed = (error != 0).then(|| format!("error {error}"));
        if let Some(failed) = &failed {
            out.note(format!("the job {name} failed: {failed}"));
        }
        for direction in ["read", "write", "trim", "mixed", "sync"] {
            let Some(node) = job.find(direction) else {
                continue;
            };
            if node.get("total_ios")?.count()? > 0 {
                let block = job.find("job options").and_then(|o| o.find("bs"));
                let block = block.map(|b| b.text()).transpose()?;
                let mut conditions = BTreeMap::new();
                if let Some(block) = block {
                    conditions.insert("block".to_owned(), block.to_owned());
                }
                conditions.extend(failed.clone().map(|how| (FAILED.to_owned(), how)));
                let data = format!("{name}/{direction}");
                of_direction(out, &data, &node, &conditions)?;
                if node.find("iops").is_none() {
                    continue;
                }
                let options = ["global options", "job options"].map(|key| match key {
                    "job options" => job.find(key),
                    _ => root.find(key),
                });
                between(out, &data, &node, &options.map(|o| o.map(|o| o.value)))?;
            }
        }
        let data = out.data(&format!("{name}/cpu"), Quantity::CpuShare, percent());
        of_members(out, &data, &job, SHARES)?;
    }
    Ok(())
}

/// What holds between the parts of a direction. Operations under way when a ramp ends are counted as done and not as begun.
fn between(
    out: &mut Out,
    name: &str,
    node: &Node<'_>,
    options: &[Option<&Value>; 2],
) -> Imported<()> {
    let has = |key: &str| options.iter().flatten().any(|o| o.get(key).is_some());
    let mut counts = Vec::new();
    for part in ["slat_ns", "clat_ns", "lat_ns"] {
        let n = node.find(part).and_then(|p| p.find("N"));
        let n = n.map(|n| n.count()).transpose()?.unwrap_or(0);
        if n > 0 && !has("ramp_time") {
            out.holds_of(&format!("{n} <= {{{name}/count}}"));
        }
        counts.push(n);
    }
    let mean = |part: &str| format!("{{{name}/{part}_ns/mean}}");
    match counts[..] {
        [a, b, c] if a == b && b == c => {
            out.holds_of(&format!(
                "{} = {} + {}",
                mean("lat"),
                mean("slat"),
                mean("clat")
            ));
        }
        [_, b, c] if b == c => out.holds_of(&format!("{} <= {}", mean("clat"), mean("lat"))),
        _ => {}
    }
    Ok(())
}

fn of_direction(
    out: &mut Out,
    name: &str,
    node: &Node<'_>,
    conditions: &BTreeMap<String, String>,
) -> Imported<()> {
    let total = node.get("total_ios")?;
    for part in ["lat_ns", "clat_ns", "slat_ns"] {
        let Some(times) = node.find(part) else {
            continue;
        };
        // Versions before 3.16 do not print of how many values these are: of each operation, if of any.
        let n = match times.find("N") {
            Some(n) => n.count()?,
            None => total.count()?,
        };
        if n == 0 || times.get("max")?.float()? == 0.0 {
            continue;
        }
        let mut data = out
            .data(&format!("{name}/{part}"), Quantity::Time, ns())
            .of(Of::Samples, Some(n));
        data.method.time = Some(Clock::Wall);
        data.conditions.extend(conditions.clone());
        of_members(out, &data, &times, TIMES)?;
        // What `json+` prints beside its percentiles.
        if let Some(bins) = times.find("bins") {
            let mut all = 0u64;
            for (_, count) in bins.members()? {
                all = all.saturating_add(count.count()?);
            }
            let of = (Quantity::Count, "operations");
            out.count(&data, of, ("in-bins", all), bins.spot())?;
            out.holds(&data, &format!("{{in-bins}} = {n}"));
        }
        if let Some(percentiles) = times.find("percentile") {
            let mut all = Vec::new();
            for (key, value) in percentiles.members()? {
                let p = key
                    .parse::<f64>()
                    .ok()
                    .filter(|p| (0.0..=100.0).contains(p));
                all.push((p.ok_or_else(|| value.error("is not a percentile"))?, value));
            }
            all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            for (p, value) in all {
                let ns = value.float()?;
                if ns >= LAST_BUCKET {
                    out.note(format!(
                        "{name}/{part}: p{p} is 17.1 s or more, for which fio has one bucket; it is left out"
                    ));
                    continue;
                }
                let number = Number::of(ns, (ns / 128.0).abs());
                out.put(&data, Statistic::Percentile(p), number, value.spot())?;
            }
        }
    }
    // Of what `fsync` and its like wait for there are no rates.
    if node.find("iops").is_none() {
        return Ok(());
    }
    let mut data = out.data(name, Quantity::Rate, per_second());
    data.method.time = Some(Clock::Wall);
    data.conditions.extend(conditions.clone());
    of_members(out, &data, node, TOTALS)?;
    // Within its first millisecond it divides by nothing and prints rates of zero.
    if node
        .find("runtime")
        .is_some_and(|r| r.value.as_f64() > Some(0.0))
    {
        out.holds(&data, "{count} = {rate} * {duration-value}");
        out.holds(&data, "{size-sum} = {bandwidth-rate} * {duration-value}");
    }
    Ok(())
}
