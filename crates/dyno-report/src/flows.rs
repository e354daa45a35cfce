//! Flows that run at the same time: what all of them moved together and at what cost, and what the others cost each.

use crate::counts::{add_counts, missing_messages};
use crate::number::{Measured, duration, sig3};
use crate::precision::{OwnQuantiles, own_quantiles};
use crate::remark::Item;
use crate::summary::{AGAINST_ALONE, AloneRatio, ExperimentSummary};
use crate::view::View;
use dyno_model::plan::Scheduling;
use dyno_model::{Experiment, ExperimentId, TrialFigure};
use dyno_stats::{Bootstrap, Estimate, Latency, Pairing, TrialSamples, WIDEST, ratio};

/// Holds the trials of a flow beside the others against those of it by itself; trials of the same number are a pair.
pub(crate) fn against_alone(
    id: ExperimentId,
    beside: &[(u32, &TrialSamples)],
    alone: &[(u32, TrialSamples)],
    how: &Bootstrap,
) -> AloneRatio {
    let of = |q: f64| {
        // The quantile of a trial needs a message beyond it.
        let least = (1.0 / (1.0 - q)).round() as u64;
        let enough = |samples: &TrialSamples| samples.n() >= least;
        let new = beside.iter().filter(|(_, s)| enough(s));
        let base = alone.iter().filter(|(_, s)| enough(s));
        let new = own_quantiles(new.map(|(n, s)| (*n, *s)), q);
        let base = own_quantiles(base.map(|(n, s)| (*n, s)), q);
        paired(&new, &base, how)
    };
    AloneRatio {
        id,
        ratios: AGAINST_ALONE.map(|(_, q)| of(q)),
    }
}

fn paired(new: &OwnQuantiles, base: &OwnQuantiles, how: &Bootstrap) -> Option<Estimate> {
    let partner = |number| base.iter().find(|(n, _)| *n == number);
    let pairs = new
        .iter()
        .filter_map(|(number, value)| Some((*value, partner(*number)?.1)));
    let (new, base): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let found = ratio(&new, &base, Pairing::Paired, how.confidence)?.estimate;
    // As of every ratio: too wide is no figure, but a loss is never hidden.
    let is_wide = match (found.value, found.lo, found.hi) {
        (Latency::Infinite, _, _) => false,
        (_, Latency::Finite(lo), Latency::Finite(hi)) => hi > WIDEST * lo,
        _ => true,
    };
    (!is_wide).then_some(found)
}

/// A sentence for all flows of each trial together.
pub(crate) fn remarks(view: &View<'_>) -> Vec<Item> {
    let groups = groups(view).into_iter().map(|(text, _)| Item::from(text));
    groups.collect()
}

/// A sentence for each flow that was also measured by itself.
pub(crate) fn costs(view: &View<'_>) -> Vec<Item> {
    let costs = groups(view).into_iter().flat_map(|(_, costs)| costs);
    costs.collect()
}

/// For the flows of each trial: all together, and each against itself alone.
fn groups(view: &View<'_>) -> Vec<(String, Vec<Item>)> {
    let mut leads: Vec<ExperimentId> = Vec::new();
    for e in &view.rows {
        let together = e.experiment.flow.as_ref().filter(|f| !f.by_itself);
        if let Some(flow) = together.filter(|f| !leads.contains(&f.group)) {
            leads.push(flow.group);
        }
    }
    leads
        .into_iter()
        .filter_map(|lead| of_group(view, lead))
        .collect()
}

fn of_group(view: &View<'_>, lead: ExperimentId) -> Option<(String, Vec<Item>)> {
    let all = view.summary.experiments.iter();
    let flows: Vec<&ExperimentSummary> = all
        .filter(|e| e.experiment.flow.is_some() && e.experiment.lead() == lead)
        .collect();
    let first = flows.first()?;
    let x = &first.experiment;
    let mut name = format!("{} on {}, {}", x.name, x.stack, x.wait);
    let is_twin = |y: &Experiment| {
        let beside = y.flow.as_ref().is_some_and(|f| !f.by_itself) && y.lead() != lead;
        beside && (&y.name, &y.stack, y.wait) == (&x.name, &x.stack, x.wait)
    };
    let mut others = view.summary.experiments.iter();
    if others.any(|e| is_twin(&e.experiment)) {
        name.push_str(&format!(", {}, access {}", x.placement, x.access));
        match x.scheduling {
            Scheduling::Other => {}
            Scheduling::Fifo(priority) => name.push_str(&format!(", fifo {priority}")),
            Scheduling::Deadline => name.push_str(", deadline"),
        }
    }
    let alike = |e: &&ExperimentSummary| usize::from(e.experiment.topology.copies);
    let sum = |figure| {
        let of = |e: &&ExperimentSummary| e.figure(figure).map(|s| s.median);
        flows.iter().map(of).sum::<Option<f64>>()
    };
    let mut text = format!(
        "{name}: {} flows at once",
        flows.iter().map(alike).sum::<usize>()
    );
    let rates = sum(TrialFigure::DeliveredHz).zip(sum(TrialFigure::DeliveredBytesPerS));
    if let Some((messages, bytes)) = rates {
        text.push_str(&format!(
            ", together {} messages/s and {} MB/s delivered",
            sig3(messages),
            sig3(bytes / 1e6)
        ));
    }
    let counts = add_counts(flows.iter().map(|e| &e.counts));
    let missing = missing_messages(&counts).unwrap_or_else(|| "none lost".into());
    text.push_str(&format!(", {missing} of {}", counts.offered));
    if let Some(cpu) = first.figure(TrialFigure::CpuPerMessage) {
        let cpu = duration(cpu.median);
        text.push_str(&format!(
            "; CPU/msg, {cpu}, covers all processes and the messages of all flows"
        ));
    }
    let costs = flows.iter().filter_map(|e| {
        let alone = e.alone.as_ref()?;
        let ratios = AGAINST_ALONE.iter().zip(&alone.ratios);
        let known: Vec<String> = ratios
            .map(|((quantile, _), ratio)| match ratio {
                Some(ratio) => format!("{quantile} × {}", Measured::ratio(ratio).line()),
                None => format!("{quantile} not known: too few messages or undisturbed trials, or an interval wider than a factor of ten"),
            })
            .collect();
        Some(Item::from(format!(
            "{name}: {} with the other flows divided by the same flow alone: {}; paired by trial",
            e.experiment.flow_text(),
            known.join(", ")
        )))
    });
    Some((text, costs.collect()))
}
