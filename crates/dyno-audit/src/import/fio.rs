//! fio's JSON, from version 3: times in nanoseconds. Percentiles come from buckets of which 64 lie in each doubling, so they are
//! known to one part in 128 (`stat.h` of fio, `FIO_IO_U_PLAT_BITS`).

use super::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Out, Spot, ns, per_second, percent, unit};
use crate::Statements;
use crate::statement::{Clock, Dimension, Of, Quantity, Statistic};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    let document = json::document(input)?;
    let root = Node::root(&document);
    let mut out = Out::new(input.tool());
    for key in ["fio version", "time"] {
        if let Some(node) = root.find(key) {
            out.banner_value(&node.path, &format!("{key}: {}", node.text()?));
        }
    }
    if let Some(time) = root.find("time") {
        out.tested(time.text()?);
    }
    for job in root.get("jobs")?.items()? {
        let name = job.get("jobname")?.text()?;
        for direction in ["read", "write", "trim"] {
            let Some(node) = job.find(direction) else {
                continue;
            };
            if node.get("total_ios")?.count()? > 0 {
                let block = job.find("job options").and_then(|o| o.find("bs"));
                let block = block.map(|b| b.text()).transpose()?;
                of_direction(&mut out, &format!("{name}/{direction}"), &node, block)?;
            }
        }
        let data = out.data(&format!("{name}/cpu"), Quantity::CpuShare, percent());
        for key in ["usr_cpu", "sys_cpu"] {
            if let Some(node) = job.find(key) {
                out.put_named(
                    &data,
                    key,
                    Statistic::Share,
                    node.rounded(6)?,
                    Spot::Path(&node.path),
                )?;
            }
        }
    }
    Ok(out.done())
}

fn of_direction(out: &mut Out, name: &str, node: &Node<'_>, block: Option<&str>) -> Imported<()> {
    for part in ["lat_ns", "clat_ns", "slat_ns"] {
        let Some(times) = node.find(part) else {
            continue;
        };
        let n = times.get("N")?.count()?;
        if n == 0 {
            continue;
        }
        let mut data = out
            .data(&format!("{name}/{part}"), Quantity::Time, ns())
            .of(Of::Samples, Some(n));
        data.method.time = Some(Clock::Wall);
        if let Some(block) = block {
            data = data.with("block", block);
        }
        for (key, statistic, decimals) in [
            ("min", Statistic::Min, 0),
            ("max", Statistic::Max, 0),
            ("mean", Statistic::Mean, 6),
            ("stddev", Statistic::Sd, 6),
        ] {
            let value = times.get(key)?;
            let number = match decimals {
                0 => value.exact()?,
                decimals => value.rounded(decimals)?,
            };
            out.put(&data, statistic, number, Spot::Path(&value.path))?;
        }
        if let Some(percentiles) = times.find("percentile") {
            let mut all = Vec::new();
            for (key, value) in percentiles.members()? {
                let p = key
                    .parse::<f64>()
                    .ok()
                    .filter(|p| (0.0..=100.0).contains(p));
                all.push((p.ok_or_else(|| value.error("is no percentile"))?, value));
            }
            all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            for (p, value) in all {
                let ns = value.float()?;
                let number = Number::of(ns, (ns / 128.0).abs());
                out.put(
                    &data,
                    Statistic::Percentile(p),
                    number,
                    Spot::Path(&value.path),
                )?;
            }
        }
    }
    let mut data = out.data(name, Quantity::Rate, per_second());
    data.method.time = Some(Clock::Wall);
    let bytes = unit("B/s", Dimension::Bandwidth, 1.0);
    for (key, of, decimals) in [
        ("iops", data.clone(), 6),
        ("bw_bytes", data.other(Quantity::Bandwidth, bytes), 0),
    ] {
        let value = node.get(key)?;
        out.put(
            &of,
            Statistic::Rate,
            value.rounded(decimals)?,
            Spot::Path(&value.path),
        )?;
    }
    let count = node.get("total_ios")?;
    let of = data.other(Quantity::Count, unit("operations", Dimension::One, 1.0));
    out.put(
        &of,
        Statistic::Count,
        count.exact()?,
        Spot::Path(&count.path),
    )
}
