//! A stored run of Dyno as statements, so that it is held to the same checks as any other source.

use crate::parse::labelled;
use crate::statement::{
    Access, Bound, Dimension, Figure, Loop, Method, Of, Place, Printed, Quantity, Source,
    Statements, Statistic, Trip, Unit, Wait,
};
use dyno_model::{Metric, TrialFigure, Workload};
use dyno_report::{ExperimentSummary, QUANTILES, Summary};
use dyno_stats::{Latency, Quantile};
use std::collections::BTreeMap;

/// Digits of a histogram: a value is known to a thousandth of itself.
const RESOLUTION: f64 = 1e-3;

impl Statements {
    /// What a run says of each experiment and metric. A quantile that the run refuses is left out.
    pub fn of_run(summary: &Summary) -> Statements {
        let run = &summary.run;
        let mut statements = Statements {
            source: Source {
                title: format!("run {} of the suite {}", run.id, run.suite),
                authors: Vec::new(),
                year: None,
                place: run.environment.host.clone(),
                tested: None,
            },
            ..Statements::default()
        };
        for (i, experiment) in summary.experiments.iter().enumerate() {
            add(&mut statements, i, experiment);
        }
        statements
    }
}

fn add(statements: &mut Statements, number: usize, e: &ExperimentSummary) {
    let experiment = &e.experiment;
    let name = format!(
        "{}.{}.{number}",
        labelled(&experiment.name),
        labelled(&experiment.stack)
    );
    let conditions: BTreeMap<String, String> = [
        ("stack", experiment.stack.clone()),
        ("payload", format!("{} B", experiment.payload.bytes())),
        ("placement", experiment.placement.to_string()),
        ("topology", experiment.topology.to_string()),
        ("wait", experiment.wait.to_string()),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    let figure = |id: &str, quantity, statistic, value: f64, unit: Unit, exact: bool, n| Figure {
        id: format!("{name}/{id}"),
        place: Place {
            section: experiment.name.clone(),
            row: format!("{} {}", experiment.stack, experiment.payload),
            column: id.to_owned(),
            text: String::new(),
        },
        printed: Printed {
            text: crate::interval::short(value),
            value,
            half_step: match exact {
                true => 0.0,
                false => RESOLUTION * value.abs(),
            },
            bound: Bound::Rounded,
            unit,
        },
        quantity,
        statistic,
        n,
        of: Of::Samples,
        each: None,
        data: format!("{name}/{}", id.split('-').next().unwrap_or(id)),
        conditions: conditions.clone(),
        method: method(e),
    };
    let ns = || unit("ns", Dimension::Time, 1e-9);
    for (metric, of) in &e.metrics {
        let word = metric.as_str();
        let samples = of.n + of.infinite;
        let mut push = |statistic: Statistic, value: f64| {
            let id = format!("{word}-{statistic}");
            let quantity = match metric {
                Metric::Rtt | Metric::Response | Metric::Service => Quantity::Latency,
                _ => Quantity::Time,
            };
            let mut made = figure(&id, quantity, statistic, value, ns(), false, Some(samples));
            made.data = format!("{name}/{word}");
            made.method.trip = Some(match metric {
                Metric::Rtt => Trip::Round,
                _ => Trip::OneWay,
            });
            made.method.clocks = Some(1 + u8::from(e.clock_bound.is_some()));
            made.method.clock_bound = e.clock_bound.map(|b| b.0 as f64 * 1e-9);
            statements.figures.push(made);
        };
        for (statistic, value) in [
            (Statistic::Min, of.min.map(|v| v as f64)),
            (Statistic::Mean, of.mean),
        ] {
            if let Some(value) = value {
                push(statistic, value);
            }
        }
        for ((_, _, rank), quantile) in QUANTILES.iter().zip(&of.quantiles) {
            if let Quantile::Estimated(estimate) = quantile
                && let Latency::Finite(value) = estimate.value
            {
                push(Statistic::Percentile(rank * 100.0), value);
            }
        }
        // The largest finite sample is none of all where messages were lost.
        if let (Some(max), 0) = (of.max, of.infinite) {
            push(Statistic::Max, max as f64);
        }
    }
    if let Some(delivered) = e.median(TrialFigure::DeliveredHz) {
        let hz = unit("1/s", Dimension::Rate, 1.0);
        let headline = e.headline().as_str();
        let mut rate = figure(
            "delivered",
            Quantity::Rate,
            // That of the median trial: with the mean over all trials it is not of one set of values.
            Statistic::Percentile(50.0),
            delivered,
            hz,
            false,
            None,
        );
        rate.data = format!("{name}/{headline}");
        statements.figures.push(rate);
    }
}

pub(crate) fn method(e: &ExperimentSummary) -> Method {
    let experiment = &e.experiment;
    let topology = experiment.topology;
    let all = |of_one: u16| u64::from(of_one) * u64::from(topology.copies);
    let closed = experiment.workload.kind().is_closed_loop();
    let alone = closed && topology.senders == 1 && topology.copies == 1;
    Method {
        load: Some(match closed {
            true => Loop::Closed,
            false => Loop::Open,
        }),
        clients: alone.then_some(1),
        wait: Some(match experiment.wait {
            dyno_model::Wait::Spin => Wait::Poll,
            dyno_model::Wait::Block => Wait::Block,
            dyno_model::Wait::Callback => Wait::Callback,
        }),
        access: Some(match experiment.access {
            dyno_model::Access::Stamp => Access::Untouched,
            dyno_model::Access::All => Access::Touched,
        }),
        tool: Some("dyno".to_owned()),
        sender_rate: match &experiment.workload {
            Workload::Stream { .. } => experiment.workload.messages_per_second(),
            _ => None,
        },
        senders: Some(all(topology.senders)),
        receivers: Some(all(topology.receivers)),
        payload_bytes: Some(experiment.payload.bytes() as f64),
        loss_stated: Some(true),
        ..Method::default()
    }
}

fn unit(text: &str, dimension: Dimension, factor: f64) -> Unit {
    Unit {
        text: text.to_owned(),
        dimension,
        factor,
    }
}
