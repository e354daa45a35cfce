//! `--search`: the ladder of values that a search may try, in the place of the one value that the suite gives.
//!
//! Rungs stand [`RUNGS`] to a doubling, so that neighbours are 4.4 % apart: the finest answer that a search gives.

use crate::matrix::Matrix;
use crate::spec::ExperimentSpec;
use crate::suite::Suite;
use dyno_model::unit::{PayloadSize, RateHz};
use dyno_model::{Raised, Request, Topology, Workload};
use dyno_toml::{Place, Problem, Problems};

/// Rungs from a value to its double.
const RUNGS: i32 = 16;

/// The highest rate that is tried, in messages per second of each sender: no participant sends as fast.
const MOST_HZ: f64 = 1e7;

/// The largest payload that is tried, in bytes.
const MOST_BYTES: f64 = (64 << 20) as f64;

/// Refuses what a ladder cannot be made of: flows, faults, and runs that measure something beside each experiment.
pub(crate) fn refuse(raise: Raised, request: &Request, suite: &Suite, problems: &mut Problems) {
    let place = Place::flag("--search", raise.as_str());
    if let Some(spec) = suite.experiments.iter().find(|e| e.flow.is_some()) {
        Problem::at(&place, format!("`{}` has flows, and a search raises one workload", spec.name))
                .label("a ladder belongs to one experiment")
                .help("name experiments without flows with --experiment, or write the flow as an experiment of its own").note(problems);
    }
    if let Some(spec) = suite.experiments.iter().find(|e| !e.faults.is_empty()) {
        Problem::at(
            &place,
            format!("`{}` has faults, and a search looks for a load", spec.name),
        )
        .label("each of its trials is disturbed on purpose")
        .help("name experiments without faults with --experiment, or leave --search out")
        .note(problems);
    }
    let beside = [
        ("--against", request.against.is_some()),
        ("--legs", request.legs),
        ("--ground", request.ground),
        ("--alone", request.alone),
        ("--precision", request.precision.is_some()),
    ];
    if let Some((flag, _)) = beside.iter().find(|(_, asked)| *asked) {
        Problem::at(
            &place,
            format!("a search measures only its ladders, but the run has {flag}"),
        )
        .label("of the command line, or of the run that --like names")
        .help(format!(
            "leave {flag} out, or name the suite instead of --like"
        ))
        .note(problems);
    }
}

/// Replaces the one value of the raised factor by its ladder.
pub(crate) fn climb(
    matrix: &mut Matrix<'_>,
    raise: Raised,
    spec: &ExperimentSpec,
    problems: &mut Problems,
) {
    let place = Place::flag("--search", raise.as_str());
    let kind = spec.workload.value;
    let applies = match raise {
        Raised::Rate => kind.key("rate").is_some(),
        Raised::Payload | Raised::Clients => !kind.is_probe(),
    };
    if !applies {
        let advice = kind.info().instead.iter().find(|(key, _)| *key == "rate");
        let advice = advice.map_or(String::new(), |(_, advice)| format!("{advice}; "));
        Problem::at(
            &place,
            format!("{} has no {raise} to raise", kind.with_article()),
        )
        .label(format!("the suite's experiment `{}` is one", spec.name))
        .help(format!(
            "{advice}name the experiments to search with --experiment, or raise payload or clients"
        ))
        .note(problems);
        return;
    }
    let mut starts: Vec<f64> = match raise {
        Raised::Rate => matrix.workloads.iter().filter_map(rate).collect(),
        Raised::Payload => {
            let bytes = |size: &PayloadSize| size.bytes() as f64;
            matrix.payloads.iter().map(bytes).collect()
        }
        Raised::Clients => {
            let side = |t: &Topology| f64::from(side(*t, kind.is_closed_loop()));
            matrix.topologies.iter().map(side).collect()
        }
    };
    starts.sort_by(f64::total_cmp);
    starts.dedup();
    if let [_, _, ..] = starts.as_slice() {
        let all: Vec<String> = starts.iter().map(|start| raise.text(*start)).collect();
        let example = match raise {
            Raised::Rate => "--set rate='1 kHz'",
            Raised::Payload => "--set payload='64 B'",
            Raised::Clients => "--set topology=1-1",
        };
        Problem::at(
            &place,
            format!(
                "`{}` has {} values of the searched factor: {}",
                spec.name,
                all.len(),
                all.join(", ")
            ),
        )
        .label("a search begins at one value")
        .help(format!(
            "give the first value, such as {example}; the search goes up from there"
        ))
        .note(problems);
        return;
    }
    replace(matrix, raise, kind.is_closed_loop());
}

/// Puts the rungs above each value of the raised factor in its place.
fn replace(matrix: &mut Matrix<'_>, raise: Raised, closed: bool) {
    match raise {
        Raised::Rate => {
            let of = |workload: &Workload| match *workload {
                Workload::Stream { rate, arrivals } => rungs(rate.hz(), MOST_HZ)
                    .into_iter()
                    .filter_map(|hz| RateHz::new(hz).ok())
                    .map(|rate| Workload::Stream { rate, arrivals })
                    .collect(),
                other => vec![other],
            };
            matrix.workloads = matrix.workloads.iter().flat_map(of).collect();
        }
        Raised::Payload => {
            let of = |size: &PayloadSize| rungs(size.bytes() as f64, MOST_BYTES);
            let all = matrix.payloads.iter().flat_map(of);
            matrix.payloads = all
                .filter_map(|bytes| PayloadSize::new(bytes as u64).ok())
                .collect();
        }
        Raised::Clients => {
            let of = |t: &Topology| {
                let t = *t;
                let all = rungs(f64::from(side(t, closed)), f64::from(Topology::MAX_SIDE));
                // No rung lies above MAX_SIDE.
                all.into_iter().map(move |n| match closed {
                    true => Topology {
                        senders: n as u16,
                        ..t
                    },
                    false => Topology {
                        receivers: n as u16,
                        ..t
                    },
                })
            };
            matrix.topologies = matrix.topologies.iter().flat_map(of).collect();
        }
    }
}

fn rate(workload: &Workload) -> Option<f64> {
    workload.numbers().rate.map(RateHz::hz)
}

/// The side that clients stand on: they call, or they receive.
fn side(topology: Topology, is_closed_loop: bool) -> u16 {
    match is_closed_loop {
        true => topology.senders,
        false => topology.receivers,
    }
}

/// From `start` to at most `most`, in ascending order: doublings exactly, what lies between with three significant
/// digits and whole where `start` is.
fn rungs(start: f64, most: f64) -> Vec<f64> {
    let whole = start.fract() == 0.0;
    let mut all = vec![start];
    for n in 1.. {
        let exact = start * 2f64.powf(f64::from(n) / f64::from(RUNGS));
        if exact > most * (1.0 + 1e-9) {
            break;
        }
        let value = match n % RUNGS {
            0 => start * 2f64.powi(n / RUNGS),
            _ => {
                let scale = 10f64.powf(exact.log10().floor() - 2.0);
                let scale = if whole { scale.max(1.0) } else { scale };
                (exact / scale).round() * scale
            }
        };
        if all.last().is_some_and(|last| value > *last) {
            all.push(value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::rungs;

    #[test]
    fn rungs_double_exactly_and_stand_close_together() {
        let all = rungs(1_000.0, 1e6);
        for doubling in [1_000.0, 2_000.0, 4_000.0, 512_000.0] {
            assert!(all.contains(&doubling), "{doubling}");
        }
        for pair in all.windows(2) {
            let step = pair[1] / pair[0];
            assert!((1.03..1.06).contains(&step), "{pair:?}");
            assert_eq!(pair[1].fract(), 0.0, "{pair:?}");
        }
        assert!(all.iter().all(|hz| *hz <= 1e6));
    }

    #[test]
    fn whole_numbers_stay_whole_and_none_is_left_out() {
        let all = rungs(1.0, 64.0);
        let first: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(all[..20], first[..]);
        assert_eq!(all.last(), Some(&64.0));
        assert_eq!(rungs(64.0, 64.0), [64.0]);
        assert_eq!(rungs(0.5, 1.0).len(), 17);
    }
}
