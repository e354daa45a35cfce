//! Every figure of every pair of cells, with intervals that hold together.

use super::ratio::{geometric_mean, ratio_of};
use super::{CompareOptions, Compared, ComparedCell, Finding, LeftOut, Row};
use crate::cell::{self, Factors};
use crate::figure::{Figure, Trials};
use dyno_model::record::Run;
use dyno_model::{Experiment, Metric};
use dyno_report::{add_counts, missing_messages};
use dyno_stats::{Pairing, Verdict, simultaneous, verdict};

/// The values of one figure on both sides.
struct Values {
    figure: Figure,
    /// New, base.
    sides: Result<(Vec<f64>, Vec<f64>), String>,
}

/// The compared cells and those without anything to compare.
pub(super) struct Table {
    pub(super) cells: Vec<ComparedCell>,
    pub(super) failed: Vec<LeftOut>,
    pub(super) statements: usize,
    pub(super) each: f64,
}

impl Table {
    pub(super) fn new(
        base: &Run,
        new: &Run,
        pairs: &[(&Experiment, &Experiment)],
        pairing: Pairing,
        how: &CompareOptions,
    ) -> Table {
        let (mut open, mut failed) = (Vec::new(), Vec::new());
        for (x, y) in pairs {
            let metrics = x.workload.kind().info().headline;
            let a = Trials::read(base, x.id, metrics);
            let b = Trials::read(new, y.id, metrics);
            let remarks = both_remarks(&a, &b);
            if a.records().is_empty() || b.records().is_empty() {
                let side = match (a.records().is_empty(), b.records().is_empty()) {
                    (true, true) => "no trial of either side completed",
                    (true, false) => "no trial of the base completed",
                    _ => "no trial of the new side completed",
                };
                failed.push(LeftOut {
                    cell: pair_label(x, y),
                    reason: [vec![side.to_owned()], remarks].concat().join("; "),
                    new_failed: !a.records().is_empty(),
                });
                continue;
            }
            let others = x.workload.kind().info().metrics.iter();
            let others = others.filter(|m| m.info().compares_its_tail && !metrics.contains(m));
            let of = |run, id, metric: &Metric| Trials::read(run, id, std::slice::from_ref(metric));
            let beside: Vec<_> = others
                .map(|m| (of(base, x.id, m), of(new, y.id, m)))
                .collect();
            open.push((
                (*x).clone(),
                (*y).clone(),
                values(&a, &b, &beside, pairing, how),
                remarks,
            ));
        }
        let statements = open
            .iter()
            .flat_map(|(_, _, values, _)| values)
            .filter(|v| v.sides.is_ok())
            .count();
        let each = simultaneous(how.confidence, statements.max(1));
        let cells = open
            .into_iter()
            .map(|(x, y, values, remarks)| ComparedCell {
                is_floor: cell::is_floor(&base.manifest.plan, &x)
                    && cell::is_floor(&new.manifest.plan, &y),
                base: x,
                new: y,
                rows: values
                    .into_iter()
                    .map(|v| v.judge(pairing, how.margin, each))
                    .collect(),
                remarks,
            })
            .collect();
        Table {
            cells,
            failed,
            statements,
            each,
        }
    }
}

impl Values {
    fn judge(self, pairing: Pairing, margin: f64, each: f64) -> Row {
        let result = self.sides.and_then(|(new, base)| {
            let ratio = ratio_of(self.figure, &new, &base, pairing, each)?;
            let finding = match verdict(&ratio, margin, each) {
                Verdict::Lower => Finding::Lower,
                Verdict::Higher => Finding::Higher,
                Verdict::Same => Finding::Same,
                Verdict::Undecided { more } => Finding::Undecided {
                    more: more.map(|n| n.max(1)),
                },
            };
            Ok(Compared {
                base: geometric_mean(&base),
                new: geometric_mean(&new),
                ratio,
                finding,
            })
        });
        Row {
            figure: self.figure,
            result,
        }
    }
}

/// Every figure of a cell, with the values of the trials that are compared.
fn values<'a>(
    a: &'a Trials<'a>,
    b: &'a Trials<'a>,
    beside: &'a [(Trials<'a>, Trials<'a>)],
    pairing: Pairing,
    how: &CompareOptions,
) -> Vec<Values> {
    let metric = |a: &Trials<'_>, b: &Trials<'_>| a.metric().filter(|m| b.metric() == Some(*m));
    let mut figures: Vec<(Figure, &Trials<'_>, &Trials<'_>)> = Vec::new();
    if let Some(metric) = metric(a, b) {
        // The one sample of a trial is its p50 and nothing else.
        let one = metric.is_one_per_trial() && how.quantiles.contains(&0.5);
        let quantiles = how.quantiles.iter().filter(|q| !one || **q == 0.5);
        figures.extend(quantiles.map(|q| (Figure::Quantile { metric, q: *q }, a, b)));
    }
    for (a, b) in beside {
        let Some(metric) = metric(a, b) else { continue };
        let tail = how.quantiles.iter().filter(|q| **q > 0.5);
        figures.extend(tail.map(|q| (Figure::Quantile { metric, q: *q }, a, b)));
    }
    // A first message has no rate, that of a closed loop is its round trip once more, and that of a probe its piece.
    let rateless = [Metric::FirstMessage, Metric::Rtt, Metric::Probe];
    if !a.metric().is_some_and(|metric| rateless.contains(&metric)) {
        figures.push((Figure::Delivered, a, b));
    }
    figures.push((Figure::CpuPerMessage, a, b));
    let figures = figures.into_iter().map(|(figure, a, b)| Values {
        figure,
        sides: sides(a, b, figure, pairing).and_then(|(new, base)| {
            ratio_of(figure, &new, &base, pairing, how.confidence)?;
            Ok((new, base))
        }),
    });
    figures.collect()
}

/// Whether both sides have a trial that the host did not disturb; or why there is no ratio.
fn undisturbed(a: &Trials<'_>, b: &Trials<'_>) -> Result<(), String> {
    let sides = match (a.all_disturbed(), b.all_disturbed()) {
        (false, false) => return Ok(()),
        (true, true) => "both sides",
        (true, false) => "the base",
        (false, true) => "the new side",
    };
    Err(format!("the host disturbed every trial of {sides}"))
}

/// The values of one figure: new, base. In pairs only where both trials of a number count.
fn sides(
    a: &Trials<'_>,
    b: &Trials<'_>,
    figure: Figure,
    pairing: Pairing,
) -> Result<(Vec<f64>, Vec<f64>), String> {
    undisturbed(a, b)?;
    let base = a.values(figure).map_err(|e| format!("base: {e}"))?;
    let new = b.values(figure).map_err(|e| format!("new: {e}"))?;
    let (base, new): (Vec<f64>, Vec<f64>) = match pairing {
        Pairing::Paired => base
            .iter()
            .filter_map(|(number, x)| {
                let (_, y) = new.iter().find(|(other, _)| other == number)?;
                Some((*x, *y))
            })
            .unzip(),
        Pairing::Independent => (
            base.into_iter().map(|(_, v)| v).collect(),
            new.into_iter().map(|(_, v)| v).collect(),
        ),
    };
    if base.len().min(new.len()) < 2 {
        return Err(match pairing {
            Pairing::Paired => format!(
                "it takes two pairs of trials in which both sides count, there {} {}",
                if base.len() == 1 { "is" } else { "are" },
                base.len()
            ),
            Pairing::Independent => format!(
                "it takes two trials of each side, there are {} and {}",
                base.len(),
                new.len()
            ),
        });
    }
    Ok((new, base))
}

/// Remarks on the trials of both sides, and on messages that did not arrive.
fn both_remarks(a: &Trials<'_>, b: &Trials<'_>) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    for (name, trials) in [("base", a), ("new", b)] {
        remarks.extend(trials.remarks.iter().map(|r| format!("{name}: {r}")));
    }
    let [la, lb] = [a, b].map(|t| add_counts(t.records().iter().map(|r| &r.counts)));
    if la.lost > 0 || lb.lost > 0 {
        let [la, lb] = [la, lb].map(|counts| {
            let missing = missing_messages(&counts).unwrap_or_else(|| "none".into());
            format!("{missing} of {}", counts.offered)
        });
        remarks.push(format!("messages that did not arrive: base {la}, new {lb}"));
    }
    remarks
}

/// Names a cell whose stack may differ between the sides.
fn pair_label(base: &Experiment, new: &Experiment) -> String {
    match base.stack == new.stack {
        true => cell::label(new),
        false => format!(
            "{} → {}: {}",
            base.stack,
            new.stack,
            Factors::between(base, new).text()
        ),
    }
}
