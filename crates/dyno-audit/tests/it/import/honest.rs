//! Real outputs of real tools: the checks object to nothing but what is true of the output, which stands here with why.

use crate::import::samples::{SAMPLES, figure, imported};
use dyno_audit::statement::{Statistic, Trip};
use dyno_audit::{Audit, Outcome, Statements};

/// What is true of a file, held to its figures without the check that says it.
#[derive(Debug, Clone, Copy)]
enum True {
    /// The tool divides a round trip by two and prints it as latency.
    Halved,
    /// The tool prints ranks that so few values do not reach.
    Ranks,
}

/// Files that are objected to. ddsperf (`lat` of its source), iceperf, rtiperftest ("One way Latency") and sockperf without
/// `--full-rtt` halve; ddsperf, sockperf and wrk2 print fixed ranks, however few values there were.
const TRUE: &[(&str, &[True])] = &[
    ("ddsperf/ping.txt", &[True::Halved]),
    ("ddsperf/pub.txt", &[True::Halved, True::Ranks]),
    ("iceoryx2/made-up.txt", &[True::Halved]),
    ("iceperf/leader.txt", &[True::Halved]),
    ("iceperf/made-up-newer.md", &[True::Halved]),
    ("fastdds-latencytest/made-up.txt", &[True::Ranks]),
    ("rtiperftest/documented-publisher.csv", &[True::Halved]),
    ("rtiperftest/documented-publisher.txt", &[True::Halved]),
    ("rtiperftest/documented.json", &[True::Halved]),
    ("sockperf/full-log.csv", &[True::Halved, True::Ranks]),
    ("sockperf/full-rtt.txt", &[True::Ranks]),
    ("sockperf/ping-pong.txt", &[True::Halved, True::Ranks]),
    ("sockperf/under-load.txt", &[True::Halved, True::Ranks]),
    ("wrk/documented-wrk2.txt", &[True::Ranks]),
];

fn is(what: True, outcome: &Outcome, statements: &Statements) -> bool {
    let figures = || outcome.figures.iter().map(|id| figure(statements, id));
    match what {
        True::Halved => {
            outcome.check == "half-trip" && figures().all(|f| f.method.trip == Some(Trip::Half))
        }
        True::Ranks => {
            outcome.check == "tail-samples"
                && figures().all(|f| match (f.statistic, f.n) {
                    (Statistic::Percentile(p), Some(n)) => n as f64 * (100.0 - p) < 100.0,
                    _ => false,
                })
        }
    }
}

#[test]
fn nothing_is_objected_to_but_what_is_true() {
    let mut files = 0;
    for (name, _) in SAMPLES {
        let statements = imported(name);
        let audit = Audit::of(&statements);
        let known = TRUE.iter().find(|(file, _)| file == name);
        let known = known.map_or(&[] as &[True], |(_, known)| known);
        let objections = || audit.outcomes.iter().filter(|o| o.verdict.objects());
        for outcome in objections() {
            assert!(
                known.iter().any(|k| is(*k, outcome, &statements)),
                "{name}: {outcome:#?}"
            );
        }
        for k in known {
            assert!(
                objections().any(|o| is(*k, o, &statements)),
                "{name}: {k:?}"
            );
        }
        // A file of rates alone may give the checks nothing to do; most must.
        files += usize::from(!audit.outcomes.is_empty());
    }
    assert!(4 * files > 3 * SAMPLES.len(), "{files}");
}
