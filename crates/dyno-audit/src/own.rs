//! A stored run of Dyno as statements, so that it is held to the same checks as any other source.

use crate::parse::labelled;
use crate::statement::{
    Access, Bound, Dimension, Figure, Loop, Method, Of, Place, Printed, Quantity, Source,
    Statements, Statistic, Trip, Unit, Wait,
};
use dyno_model::{Metric, TrialFigure, Workload};
use dyno_report::{ExperimentSummary, QUANTILES, Summary};
use dyno_stats::Quantile;
use std::collections::BTreeMap;

/// Digits of a histogram: a value is known to a thousandth of itself.
const RESOLUTION: f64 = 1e-3;

impl Statements {
    /// The figures of a run for each experiment and metric. A quantile that the run refuses is left out.
    pub fn of_run(summary: &Summary) -> Statements {
        let run = &summary.run;
        let mut statements = Statements {
            source: Source {
                title: format!("run {} of the suite {}", run.id, run.suite),
                place: run.environment.host.clone(),
                ..Source::default()
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
    let own = Own::new(number, e);
    for metric in e.metrics.keys() {
        statements.figures.extend(own.of_metric(*metric));
    }
    if let Some(delivered) = e.median(TrialFigure::DeliveredHz) {
        // That of the median trial: with the mean over all trials it is not of one set of values.
        let statistic = Statistic::Percentile(50.0);
        let hz = unit("1/s", Dimension::Rate, 1.0);
        let mut rate = own.figure("delivered", Quantity::Rate, statistic, delivered, hz);
        rate.data = format!("{}/{}", own.name, e.headline().as_str());
        statements.figures.push(rate);
    }
}

/// An experiment whose figures are stated.
struct Own<'a> {
    e: &'a ExperimentSummary,
    /// What the names of its figures begin with.
    name: String,
    conditions: BTreeMap<String, String>,
}

impl Own<'_> {
    fn new(number: usize, e: &ExperimentSummary) -> Own<'_> {
        let experiment = &e.experiment;
        let conditions = [
            ("stack", experiment.stack.clone()),
            ("payload", format!("{} B", experiment.payload.bytes())),
            ("placement", experiment.placement.to_string()),
            ("topology", experiment.topology.to_string()),
            ("wait", experiment.wait.to_string()),
        ];
        let (name, stack) = (labelled(&experiment.name), labelled(&experiment.stack));
        Own {
            e,
            name: format!("{name}.{stack}.{number}"),
            conditions: conditions
                .map(|(key, value)| (key.to_owned(), value))
                .into(),
        }
    }

    fn figure(
        &self,
        id: &str,
        quantity: Quantity,
        statistic: Statistic,
        value: f64,
        unit: Unit,
    ) -> Figure {
        let experiment = &self.e.experiment;
        Figure {
            id: format!("{}/{id}", self.name),
            place: Place {
                section: experiment.name.clone(),
                row: format!("{} {}", experiment.stack, experiment.payload),
                column: id.to_owned(),
                text: String::new(),
            },
            printed: Printed {
                text: crate::interval::short(value),
                value,
                half_step: RESOLUTION * value.abs(),
                bound: Bound::Rounded,
                unit,
            },
            quantity,
            statistic,
            n: None,
            of: Of::Samples,
            each: None,
            data: String::new(),
            conditions: self.conditions.clone(),
            method: method(self.e),
        }
    }

    /// The figures of a metric. The largest finite sample is none of all where messages were lost.
    fn of_metric(&self, metric: Metric) -> Vec<Figure> {
        let Some(of) = self.e.metrics.get(&metric) else {
            return Vec::new();
        };
        let word = metric.as_str();
        let quantity = match metric {
            Metric::Rtt | Metric::Response | Metric::Service => Quantity::Latency,
            _ => Quantity::Time,
        };
        let ranks = QUANTILES.iter().zip(&of.quantiles);
        let ranks = ranks.map(|((_, _, rank), quantile)| match quantile {
            Quantile::Estimated(of) => (Statistic::Percentile(rank * 100.0), of.value.finite()),
            _ => (Statistic::Percentile(rank * 100.0), None),
        });
        let max = of.max.filter(|_| of.infinite == 0).map(|v| v as f64);
        let all = [
            (Statistic::Min, of.min.map(|v| v as f64)),
            (Statistic::Mean, of.mean),
        ];
        let all = all.into_iter().chain(ranks).chain([(Statistic::Max, max)]);
        all.filter_map(|(statistic, value)| {
            let ns = unit("ns", Dimension::Time, 1e-9);
            let id = format!("{word}-{statistic}");
            let mut made = self.figure(&id, quantity, statistic, value?, ns);
            made.n = Some(of.n + of.infinite);
            made.data = format!("{}/{word}", self.name);
            made.method.trip = Some(match metric {
                Metric::Rtt => Trip::Round,
                _ => Trip::OneWay,
            });
            made.method.clocks = Some(1 + u8::from(self.e.clock_bound.is_some()));
            made.method.clock_bound = self.e.clock_bound.map(|b| b.0 as f64 * 1e-9);
            Some(made)
        })
        .collect()
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
