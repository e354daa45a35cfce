//! criterion: its console, `estimates.json` and `sample.json`. Its intervals are of the measurements within one process and say
//! nothing of another, so they are no figures; each holds its estimate, which is a mean or a slope.

use super::error::Imported;
use super::json::{self, Node};
use super::lines::Lines;
use super::number::Number;
use super::out::{Data, Out, Spot, ns, time, unit};
use crate::Statements;
use crate::statement::{Clock, Dimension, Of, Quantity, Statistic, Unit};

pub(super) fn read(input: &mut Lines<'_>) -> Imported<Statements> {
    match input.is_json() {
        true => json::each(input, |out, root| match root.find("reason") {
            Some(reason) if reason.text()? == "benchmark-complete" => message(out, root),
            // `group-complete` and others of cargo-criterion have no figures.
            Some(_) => Ok(()),
            None => file(out, root),
        }),
        false => console(input),
    }
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
            return Err(iterations.error("is not a number of iterations"));
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
        time(word).ok_or_else(|| node.error(format!("is in `{word}`, which is not a unit of time")))
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
        if let Some(point) = root.get(key)?.measured(out, "point_estimate")? {
            out.put(&data, statistic, point.exact()?, point.spot())?;
        }
    }
    // Of other estimators the resampled ones may all lie on one side.
    if let Some(bounds) = root.get("mean")?.find("confidence_interval")
        && let Some(lower) = bounds.measured(out, "lower_bound")?
        && let Some(upper) = bounds.measured(out, "upper_bound")?
    {
        between(
            out,
            &data,
            "{mean}",
            [(lower.exact()?, ns()), (upper.exact()?, ns())],
        );
    }
    if let Some(slope) = root.find("slope")
        && let Some(point) = slope.measured(out, "point_estimate")?
    {
        let number = point.exact()?;
        out.put_named(&data, "slope", Statistic::Value, number, point.spot())?;
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
        let marks = ["time:   [", "thrpt:  ["];
        let interval = marks.iter().find_map(|mark| line.split_once(mark));
        // What changed since another run, in percent, stands in lines of the same marks.
        if interval.is_some_and(|(_, rest)| rest.contains('%')) {
        } else if let Some((name, rest)) = line.split_once("time:   [") {
            let name = match name.trim() {
                "" => before.trim(),
                name => name,
            };
            let [lower, (number, word), upper] = bounds(rest).map_err(fail)?;
            let own = time(word);
            let mut of = out.data(name, Quantity::Time, own.clone().unwrap_or_else(ns));
            of.method.time = Some(Clock::Wall);
            let end = |(number, word): (Option<Number>, &str)| Some((number?, time(word)?));
            match (number, own) {
                (Some(number), Some(_)) => {
                    out.put(&of, Statistic::Value, number, spot)?;
                    if let (Some(lower), Some(upper)) = (end(lower), end(upper)) {
                        between(&mut out, &of, "{value}", [lower, upper]);
                    }
                }
                (_, own) => left_out(&mut out, spot, word, own.is_some()),
            }
            data = Some(of);
        } else if let Some((_, rest)) = line.split_once("thrpt:  [") {
            let [_, (number, word), _] = bounds(rest).map_err(fail)?;
            match (&data, number, throughput(word)) {
                (Some(of), Some(number), Some((quantity, unit))) => {
                    out.put(&of.other(quantity, unit), Statistic::Rate, number, spot)?;
                }
                (_, _, own) => left_out(&mut out, spot, word, own.is_some()),
            }
        } else {
            input.own(&line)?;
        }
        before = line;
    }
    Ok(out.done())
}

fn left_out(out: &mut Out, spot: Spot<'_>, word: &str, is_known: bool) {
    let why = match is_known {
        true => "its estimate is not a number".to_owned(),
        false => format!("`{word}` is not a unit of criterion"),
    };
    if let Spot::Line(line, _) = spot {
        out.note(format!("line {line}: {why}, so it gives no figure"));
    }
}

/// A figure lies between the ends of its interval, as far as their digits are known.
fn between(out: &mut Out, data: &Data, figure: &str, [lower, upper]: [(Number, Unit); 2]) {
    let [lower, upper] = [(lower, -2.0), (upper, 2.0)]
        .map(|((n, unit), steps)| (n.value + steps * n.half_step) * unit.factor);
    out.holds(data, &format!("{lower} <= {figure}"));
    out.holds(data, &format!("{figure} <= {upper}"));
}

/// The estimate between its two bounds, each with its unit; without a number where it is none.
fn bounds(rest: &str) -> Result<[(Option<Number>, &str); 3], String> {
    let whole = rest.split_once(']').map(|(words, _)| words);
    let words: Vec<&str> = whole.unwrap_or_default().split_whitespace().collect();
    let [lower, a, value, b, upper, c] = words[..] else {
        return Err("three numbers, each with its unit, belong between `[` and `]`".to_owned());
    };
    let number = |text: &str| {
        (!text.contains("NaN"))
            .then(|| Number::parse(text))
            .transpose()
    };
    Ok([
        (number(lower)?, a),
        (number(value)?, b),
        (number(upper)?, c),
    ])
}

/// `MiB/s`, `Gb/s` or `Kelem/s`.
fn throughput(word: &str) -> Option<(Quantity, Unit)> {
    let (quantity, dimension) = (Quantity::Bandwidth, Dimension::Bandwidth);
    let (base, quantity, dimension, step, factor) = [
        ("elem/s", Quantity::Rate, Dimension::Rate, 1e3, 1.0),
        ("iB/s", quantity, dimension, 1024.0, 1.0),
        ("B/s", quantity, dimension, 1e3, 1.0),
        ("b/s", quantity, dimension, 1e3, 0.125f64),
    ]
    .into_iter()
    .find(|(base, ..)| word.ends_with(base))?;
    let prefix = word.strip_suffix(base)?;
    let power = ["", "K", "M", "G", "T"].iter().position(|p| *p == prefix)?;
    let factor = factor * f64::powi(step, power as i32);
    Some((quantity, unit(word, dimension, factor)))
}
