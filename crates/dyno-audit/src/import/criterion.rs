//! criterion: its console, `estimates.json` and `sample.json`. Its intervals are of the measurements within one process and say
//! nothing of another, so they are no figures; each holds its estimate, which is a mean or a slope.

use super::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, ns, time, unit};
use crate::Statements;
use crate::statement::{Clock, Dimension, Of, Quantity, Statistic, Unit};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => document(input),
        false => console(input),
    }
}

fn document(input: &mut Lines<'_>) -> Imported<Statements> {
    let documents = json::documents(input)?;
    let mut out = Out::new(input.tool());
    for root in Node::roots(&documents) {
        match root.find("reason") {
            Some(reason) if reason.text()? == "benchmark-complete" => message(&mut out, &root)?,
            // `group-complete` and others of cargo-criterion have no figures.
            Some(_) => {}
            None => file(&mut out, &root)?,
        }
    }
    Ok(out.done())
}

/// The measurements of a benchmark: so many iterations took so long.
fn measurements(out: &mut Out, data: &Data, iters: &Node<'_>, times: &Node<'_>) -> Imported<()> {
    let (counts, totals) = (iters.items()?, times.items()?);
    if counts.len() != totals.len() {
        return Err(iters.error(format!(
            "has {} numbers of iterations for {} times",
            counts.len(),
            totals.len()
        )));
    }
    let mut raw = out.raw(data, "time", 1);
    for (iterations, total) in counts.iter().zip(&totals) {
        let (n, total) = (iterations.float()?, total.float()?);
        if n < 1.0 || total < 0.0 {
            return Err(iterations.error("is no number of iterations"));
        }
        out.add(&mut raw, data, &Number::of(total / n, 0.0), n as u64);
    }
    out.keep(raw);
    Ok(())
}

/// A message of `cargo criterion --message-format=json`.
fn message(out: &mut Out, root: &Node<'_>) -> Imported<()> {
    let unit = |node: &Node<'_>| {
        let word = node.get("unit")?.text()?;
        time(word).ok_or_else(|| node.error(format!("is in `{word}`, which is no unit of time")))
    };
    let mut data = out.data(root.get("id")?.text()?, Quantity::Time, unit(root)?);
    data.method.time = Some(Clock::Wall);
    measurements(
        out,
        &data,
        &root.get("iteration_count")?,
        &root.get("measured_values")?,
    )?;
    for (key, statistic) in [
        ("typical", Statistic::Value),
        ("mean", Statistic::Mean),
        ("median", Statistic::Percentile(50.0)),
    ] {
        if let Some(node) = root.find(key) {
            let of = Data {
                unit: unit(&node)?,
                ..data.clone().of(Of::Means, None)
            };
            let estimate = node.get("estimate")?;
            out.put(&of, statistic, estimate.exact()?, estimate.spot())?;
        }
    }
    Ok(())
}

/// `estimates.json` or `sample.json`.
fn file(out: &mut Out, root: &Node<'_>) -> Imported<()> {
    let data = out.data("criterion", Quantity::Time, ns());
    if root.find("sampling_mode").is_some() {
        return measurements(out, &data, &root.get("iters")?, &root.get("times")?);
    }
    let data = data.of(Of::Means, None);
    for (key, statistic) in [
        ("mean", Statistic::Mean),
        ("median", Statistic::Percentile(50.0)),
        ("std_dev", Statistic::Sd),
    ] {
        let point = root.get(key)?.get("point_estimate")?;
        out.put(&data, statistic, point.exact()?, point.spot())?;
    }
    // Of other estimators the resampled ones may all lie on one side.
    if let Some(bounds) = root.get("mean")?.find("confidence_interval") {
        let end = |key: &str| Ok((bounds.get(key)?.exact()?, ns()));
        between(
            out,
            &data,
            "{mean}",
            [end("lower_bound")?, end("upper_bound")?],
        );
    }
    if let Some(slope) = root.find("slope") {
        let point = slope.get("point_estimate")?;
        out.put_named(
            &data,
            "slope",
            Statistic::Value,
            point.exact()?,
            point.spot(),
        )?;
    }
    Ok(())
}

/// `NAME  time:   [4.7869 ns 5.0351 ns 5.2968 ns]`, with a long name on a line before it.
fn console(input: &mut Lines<'_>) -> Imported<Statements> {
    let mut out = Out::new(input.tool());
    let mut before = String::new();
    let mut data = None;
    while let Some(line) = input.next()? {
        let line = line.to_owned();
        let spot = Spot::Line(input.number(), &line);
        let fail = |e: String| spot.error(e);
        // What changed since another run, in percent, stands in lines of the same marks.
        let is_change = ["time:   [", "thrpt:  ["].iter().any(|mark| {
            line.split_once(mark)
                .is_some_and(|(_, rest)| rest.contains('%'))
        });
        if is_change {
        } else if let Some((name, rest)) = line.split_once("time:   [") {
            let name = match name.trim() {
                "" => before.trim(),
                name => name,
            };
            let [lower, estimate, upper] = bounds(rest).map_err(fail)?;
            let unit = |word: &str| {
                time(word).ok_or_else(|| spot.error(format!("`{word}` is no unit of time")))
            };
            let mut of = out.data(name, Quantity::Time, unit(estimate.1)?);
            of.method.time = Some(Clock::Wall);
            out.put(&of, Statistic::Value, estimate.0, spot)?;
            let ends = [(lower.0, unit(lower.1)?), (upper.0, unit(upper.1)?)];
            between(&mut out, &of, "{value}", ends);
            data = Some(of);
        } else if let Some((_, rest)) = line.split_once("thrpt:  [") {
            let [_, (number, word), _] = bounds(rest).map_err(fail)?;
            if let Some(of) = &data {
                let (quantity, unit) = throughput(word)
                    .ok_or_else(|| spot.error(format!("`{word}` is no throughput of criterion")))?;
                out.put(&of.other(quantity, unit), Statistic::Rate, number, spot)?;
            }
        } else {
            input.own(&line)?;
        }
        before = line;
    }
    Ok(out.done())
}

/// A figure lies between the ends of its interval, as far as their digits are known.
fn between(out: &mut Out, data: &Data, figure: &str, [lower, upper]: [(Number, Unit); 2]) {
    let [lower, upper] = [(lower, -2.0), (upper, 2.0)]
        .map(|((n, unit), steps)| (n.value + steps * n.half_step) * unit.factor);
    out.holds(data, &format!("{lower} <= {figure}"));
    out.holds(data, &format!("{figure} <= {upper}"));
}

/// The estimate between its two bounds.
fn bounds(rest: &str) -> Result<[(Number, &str); 3], String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [lower, a, value, b, upper, c] = words[..] else {
        return Err("the line has no `[lower estimate upper]`; the file is cut off".to_owned());
    };
    let Some(c) = c.strip_suffix(']') else {
        return Err("the line does not end with `]`; the file is cut off".to_owned());
    };
    let number = |text| Number::parse(text);
    Ok([
        (number(lower)?, a),
        (number(value)?, b),
        (number(upper)?, c),
    ])
}

fn throughput(word: &str) -> Option<(Quantity, Unit)> {
    let word_of = word.strip_suffix("/s")?;
    let bandwidth = |factor| {
        Some((
            Quantity::Bandwidth,
            unit(word, Dimension::Bandwidth, factor),
        ))
    };
    let rate = |factor| Some((Quantity::Rate, unit(word, Dimension::Rate, factor)));
    match word_of {
        "B" => bandwidth(1.0),
        "KiB" => bandwidth(1024.0),
        "MiB" => bandwidth(1048576.0),
        "GiB" => bandwidth(1073741824.0),
        "TiB" => bandwidth(1024f64.powi(4)),
        "KB" => bandwidth(1e3),
        "MB" => bandwidth(1e6),
        "GB" => bandwidth(1e9),
        "elem" => rate(1.0),
        "Kelem" => rate(1e3),
        "Melem" => rate(1e6),
        "Gelem" => rate(1e9),
        _ => None,
    }
}
